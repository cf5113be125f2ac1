/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * The state of kwq run, and what its files use of each other. Nobody else includes this.
 */
#ifndef KWQ_WORKER_RUN_H
#define KWQ_WORKER_RUN_H

#include <stdbool.h>
#include <stdint.h>

#include <kwq.h>

#include "kwq/job/child.h"
#include "kwq/control/control.h"
#include "kwq/job/job.h"
#include "lease.h"
#include "kwq/job/log_folder.h"
#include "base/progress.h"
#include "kwq/job/retry.h"
#include "settings.h"
#include "queue/tell_limit.h"
#include "timeouts.h"
#include "worker.h"

/* The first pause before asking whether the queue is empty. */
enum { EMPTY_MS_FIRST = 10 };

struct run {
	struct run_options options;	/* in force: see worker_change.c */
	struct run_options command_line;	/* as given, without --config */
	struct kwq *q;		/* for polling and inspecting; never holds an item */
	struct kwq *spare;	/* the handle of the next job, if opened already */
	struct job *jobs;	/* array of JOBS_MAX, of which so many were in use: */
	unsigned int slots;
	int epoll, signals;
	int watchdog;		/* a timer; -1: the service manager has no watchdog */
	uint64_t began;		/* monotonic ns */
	int room;		/* of output_open_room(); -1: output is not stored */
	int urgent;		/* an epoll for signals, losses and requests, which cannot wait */
	int losses;		/* in it: an epoll for jobs whose items were taken back */
	struct control control;
	struct log_folder log;	/* of --log */
	struct lease_timer leases;
	struct timeouts timeouts;
	bool has_extras;	/* the module has values or groups */
	bool watching;		/* the queue is in the epoll */
	bool removed;		/* there is no queue of that name: see follow_name.c */
	bool stopping;		/* take no more items: a signal or an error came */
	bool over;		/* shut down and empty, or empty */
	bool halted;		/* the bound of --halt was reached */
	bool no_start;		/* the command could not be started */
	bool no_room;		/* output could not be stored: see settle.c */
	int stopped_by;		/* the first signal; 0: none */
	int signal;		/* the second signal: the jobs get killed */
	int status;		/* the exit status of the error that ended the run */
	int empty_ms;		/* the pause before the next check_empty() */
	unsigned long long seq;
	struct progress_counts counts;
	uint64_t ended_well, ended_badly;	/* jobs that count for --halt */
	struct progress progress;
	bool has_watcher;	/* who is told why nothing runs: see tell_of_idle() */
	uint64_t idle_since;	/* or since the last look; monotonic ns, 0: a job runs */
	const char *idle_told;	/* the last reason that was told */
	struct tell_limit told;	/* the lines about keys that are retried */
	struct retry_table failures;
	struct child_inheritance inherited;
};

/* The cause of an event: a kind, and for some kinds the index of a job. */
enum source { SOURCE_URGENT, SOURCE_QUEUE, SOURCE_END, SOURCE_OUTPUT, SOURCE_ERRORS };

/* ---- worker.c ---- */

/* The part of the options that concerns each job. */
static inline struct job_form job_form(const struct run *run)
{
	return (struct job_form){
		.command = run->options.command,
		.inherited = &run->inherited,
		.mode = run->options.output,
		.input = run->options.input,
		.many = run->options.many,
		.tag = run->options.tag,
	};
}

/* ---- worker_message.c ---- */

/*
 * Handles an error that concerns no single job: nothing new starts, and running jobs
 * may end.
 */
void stop_for(struct run *run, int status, const char *what, const char *why);

/* Prints a message about a key, unless --quiet is given. */
void tell_of(struct run *run, const struct job_item *it, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Says how many failures had no line, if some had none. */
void tell_of_untold(struct run *run);

/* Prints "exit status 3" or "killed by signal 9 (Killed)" to @to, and returns it. */
const char *describe_end(int status, char *to, size_t size);

/* ---- worker_epoll.c ---- */

/* Return 0 or a negative errno value. */
int watch_in(int epoll, int fd, enum source source, size_t job);
int watch(struct run *run, int fd, enum source source, size_t job);

/*
 * Closing @fd is not enough: the epoll watches file descriptions, and a forked child
 * has a copy until it calls exec().
 */
void unwatch(struct run *run, int fd);

/* Watches the queue only while another job may start. */
void watch_queue(struct run *run);

int watch_job(struct run *run, const struct job *job);
void unwatch_job(struct run *run, const struct job *job);

/* ---- worker_output.c ---- */

/* Whether output that jobs wrote until now could be stored. If not, says so and stops. */
bool is_output_stored(struct run *run);

/*
 * Writes the rest of the output. Returns false if any output, now or before, could not
 * be written.
 */
bool write_output(struct run *run, struct job *job);

/* Writes what a stream, 0 or 1, of a running job has. */
void pump_output(struct run *run, struct job *job, int i);

/* ---- settle.c ---- */

/*
 * Returns an item to the queue, as if it had not been handed out. If even that fails, it goes
 * back when its handle is closed.
 */
void give_back(struct run *run, struct job_item *it);

/* Returns all items of the job. The first one comes first again. */
void give_back_all(struct run *run, struct job *job);

/*
 * Settles an item that no try can help: it becomes a dead letter, or is dropped with --on-fail
 * drop.
 */
void give_up(struct run *run, struct job_item *it, const char *why);

/* Writes a line for each item to the --log, with its output. @status is as of wait(2). */
void log_job(struct run *run, const struct job *job, int status);

/* The command of the job has ended: prints its output, settles its keys, frees the job. */
void end_job(struct run *run, struct job *job);

/* ---- worker_halt.c ---- */

/* Ends the run if the bound of --halt is reached. The caller has settled the job. */
void check_halt(struct run *run);

/* ---- start.c ---- */

/* Starts jobs until nothing is ready or no further job may start. */
void start_jobs(struct run *run);

/* ---- signals.c ---- */

/*
 * Blocks the signals that end or change the run. Returns a descriptor to read them from, or a
 * negative number.
 */
int open_signals(struct run *run);

/* Handles signals, leases and requests that are there. Never waits. */
void take_urgent(struct run *run);

/* For write_watch(): the same. Returns false after the second signal. */
bool take_urgent_in_write(void *arg);

/* After the second signal or --halt now: kills the jobs. Their items go back. */
void kill_jobs(struct run *run);

/* Ends the process by the signal, so that a waiting parent sees the cause. */
void die_of_signal(const struct run *run);

/* ---- follow_name.c ---- */

/* Lets go of a queue that was removed and is empty. */
void leave_queue(struct run *run);

/*
 * Lets go of a queue that was removed and has items which this worker cannot get now, if another
 * queue has its name.
 */
void leave_for_next_queue(struct run *run, const struct kwq_stat *st);

/* Opens the queue of that name, if there is one again. */
void find_queue(struct run *run);

/* ---- worker_setup.c ---- */

/* Opens the queue. Returns 0 or a negative errno value. */
int attach_queue(struct run *run);

/* Returns the exit status of an error, or STATUS_OK. */
int set_up(struct run *run);

/* ---- worker_change.c ---- */

/* The number of descriptors that so many slots need. */
uint64_t descriptors_for(unsigned int slots);

/* Returns 0, -EMFILE if the hard limit forbids so many jobs, or a negative errno value. */
int raise_descriptor_limit(unsigned int jobs);

/* Makes the slots of jobs. Returns 0 or a negative errno value. */
int reserve_slots(struct run *run);

/* Adds slots after options.jobs has grown. */
void add_slots(struct run *run);

/* Whether one more job may be started, as far as --jobs is concerned. */
bool has_free_slot(const struct run *run);

/*
 * Changes the number of jobs. Jobs that run are left alone. Returns 0, or a negative errno value
 * and its text.
 */
int change_jobs(struct run *run, unsigned int jobs, char why[SETTINGS_WHY]);

/*
 * Reads the file of --config again. Returns 0, or a negative errno value and its text. Then
 * nothing is changed.
 */
int reload(struct run *run, char why[SETTINGS_WHY]);

/* ---- worker_service.c ---- */

/* Opens the timer of the watchdog. Returns 0 or a negative errno value. */
int service_open(struct run *run);

/* Tells the service manager how many jobs run, and @state such as READY=1, or NULL. */
void service_tell(struct run *run, const char *state);

void service_reloading(void);

/* Feeds the watchdog if that is due. */
void service_take(struct run *run);

/* ---- worker_control.c ---- */

/* Answers the requests that are there. Never waits. */
void take_requests(struct run *run);

#endif /* KWQ_WORKER_RUN_H */
