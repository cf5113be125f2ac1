// SPDX-License-Identifier: GPL-2.0-only
/*
 * PID 1 of the test machine. The end of the kernel's command line, "-- run ...", is one of these:
 *
 *   run kselftest SECONDS [PATTERN]  run each program of /kselftest, for up to SECONDS of pace.h
 *   run kunit                        load kwq.ko and print the results of its KUnit suites
 *   run bench                        load kwq_bench.ko and print its figures; then run the
 *                                    program /bench/run; with $KWQ_ROW only that row
 *   run bench PROGRAM                run only that program of /bench
 *   run demo                         run the demo's own program
 *   run shell                        run a shell on the console
 *
 * The console is the kernel's. The output of the programs goes to the second serial port. Lines
 * that begin with "@kwq " come from init only. results.py reads them:
 *
 *   @kwq kernel RELEASE MACHINE VERSION   as in uname
 *   @kwq begin NAME
 *   @kwq end NAME exit CODE after SECONDS s | signal NUMBER after SECONDS s | timeout
 *   @kwq pace SPEED              how fast the machine works; 1 is normal: pace.h
 *   @kwq problem TEXT            a failure outside of the programs
 *   @kwq counts FILE             the counters of a profiled object follow, in hexadecimal, up to
 *   @kwq counted FILE
 *   @kwq races                   KCSAN's statistics follow
 *   @kwq verdict pass | fail     the last line; without it the machine did not reach its end
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <termios.h>
#include <time.h>
#include <unistd.h>

#include "pace.h"

/* boot.sh connects them. */
#if defined(KWQ_UML)
#define CONSOLE		"/dev/tty0"
#define REPORT		"/dev/ttyS0"
#elif defined(__aarch64__)
#define CONSOLE		"/dev/ttyAMA0"
#define REPORT		"/dev/ttyS0"
#elif defined(__s390x__)
#define CONSOLE		"/dev/ttysclp0"
#define REPORT		"/dev/hvc0"
#else
#define CONSOLE		"/dev/ttyS0"
#define REPORT		"/dev/ttyS1"
#endif
#define KMEMLEAK	"/sys/kernel/debug/kmemleak"
#define TRACING		"/sys/kernel/tracing"
#define FAILSLAB	"/sys/kernel/debug/failslab"
#define KUNIT_RESULTS	"/sys/kernel/debug/kunit"
#define BENCH_RESULTS	"/sys/kernel/debug/kwq_bench"
#define GCOV		"/sys/kernel/debug/gcov"
#define KCSAN		"/sys/kernel/debug/kcsan"

/* include/linux/panic.h: a module from outside the tree, an unsigned one, a KUnit test. */
#define TAINTS_EXPECTED	(1UL << 12 | 1UL << 13 | 1UL << 18)

/* kmemleak skips objects younger than 5 s: their only pointer may still be in a register. */
#define KMEMLEAK_AGE_SECONDS	6

/* Deferred work of the boot has ended by then, so a system call always costs the same. */
#define SETTLED_SECONDS	5

/*
 * How long a killed program may take to die before the machine counts as stuck. The program may
 * be unloading a module, which waits for RCU many times on the debug kernel.
 */
#define DEATH_SECONDS	60

/* The time this takes on an emulated processor that has a processor of the host to itself. */
#define PACE_STEPS	10000000UL
#define PACE_OUGHT	0.020

static int report_fd = STDOUT_FILENO;
static bool report_mid_line;
static bool failed;
static struct pace *pace;

/* QEMU exits at a reboot. Powering off would need ACPI. */
static void end_machine(void)
{
	sync();
	tcdrain(report_fd);
#ifdef KWQ_UML
	/* A reboot would run the kernel again. */
	reboot(RB_POWER_OFF);
#endif
	reboot(RB_AUTOBOOT);
	_exit(1);
}

static void report_bytes(const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = write(report_fd, bytes, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return;
		report_mid_line = bytes[n - 1] != '\n';
		bytes += n;
		len -= n;
	}
}

/* A program may end in the middle of a line. A line of init begins on a new one. */
static void __attribute__((format(printf, 1, 2))) report(const char *fmt, ...)
{
	char line[512];
	va_list args;

	if (report_mid_line)
		report_bytes("\n", 1);
	report_bytes("@kwq ", 5);
	va_start(args, fmt);
	vsnprintf(line, sizeof(line), fmt, args);
	va_end(args);
	report_bytes(line, strlen(line));
	report_bytes("\n", 1);
}

#define problem(...)					\
	do {						\
		failed = true;				\
		report("problem " __VA_ARGS__);		\
	} while (0)

static void finish(void)
{
	report("verdict %s", failed ? "fail" : "pass");
	end_machine();
}

static void must(int ret, const char *what)
{
	if (ret >= 0)
		return;
	problem("%s: %m", what);
	finish();
}

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) >= 0;
	close(fd);
	return ok;
}

/* Prints the file unchanged. Returns the number of bytes. */
static size_t report_file(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t total = 0;
	char buf[4096];
	ssize_t n;

	if (fd < 0) {
		problem("%s: %m", path);
		return 0;
	}
	while ((n = read(fd, buf, sizeof(buf))) > 0) {
		report_bytes(buf, n);
		total += n;
	}
	close(fd);
	return total;
}

static void mount_at(const char *type, const char *dir, const char *options)
{
	mkdir(dir, 0755);
	if (mount(type, dir, type, 0, options) && errno != EBUSY)
		problem("mount %s on %s: %m", type, dir);
}

#define CPU		"/sys/devices/system/cpu/cpu%d/online"

/*
 * QEMU 7.2 emulates two processors in two threads. One may continue with code that the
 * other has just overwritten. The kernel overwrites its code when it switches a static key,
 * with a breakpoint in between. An old breakpoint then looks unexpected ("Oops: int3").
 *
 * The kernel switches most of its keys when it boots. So boot.sh starts it with one processor
 * on x86, and the others start here.
 */
static void start_all_processors(void)
{
	char path[sizeof(CPU) + 10];

	for (int cpu = 1;; cpu++) {
		snprintf(path, sizeof(path), CPU, cpu);
		if (access(path, F_OK))
			break;
		if (!write_file(path, "1"))
			problem("%s: %m", path);
	}
	if (get_nprocs() != get_nprocs_conf())
		problem("%d of %d processors work", get_nprocs(), get_nprocs_conf());
}

/*
 * The scheduler always runs, and has such a key: tracing events turns on a probe there, which
 * notes the names of processes. So turn that probe off.
 */
static void leave_the_scheduler_alone(void)
{
	if (!write_file(TRACING "/options/record-cmd", "0"))
		problem(TRACING "/options/record-cmd: %m");
}

static void report_kernel(void)
{
	struct utsname name;

	must(uname(&name), "uname");
	report("kernel %s %s %s", name.release, name.machine, name.version);
}

static void set_up(void)
{
	struct termios raw;

	mkdir("/dev", 0755);
	mount("devtmpfs", "/dev", "devtmpfs", 0, NULL);

	/* There is no initial console: the initramfs was made without root, so without devices. */
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open(CONSOLE, O_RDWR | O_NOCTTY) != fd)
			end_machine();

	report_fd = open(REPORT, O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (report_fd < 0)
		end_machine();
	tcgetattr(report_fd, &raw);
	cfmakeraw(&raw);
	tcsetattr(report_fd, TCSANOW, &raw);
	report_kernel();

	mount_at("proc", "/proc", NULL);
	mount_at("sysfs", "/sys", NULL);
	start_all_processors();
	mount_at("tmpfs", "/tmp", "mode=1777");
	mount_at("tmpfs", "/run", "mode=755");
	mount_at("tmpfs", "/dev/shm", "mode=1777");
	mount_at("devpts", "/dev/pts", "ptmxmode=0666");
	mount_at("mqueue", "/dev/mqueue", NULL);
	mount_at("cgroup2", "/sys/fs/cgroup", NULL);
	mount_at("debugfs", "/sys/kernel/debug", NULL);
	mount_at("tracefs", TRACING, NULL);
	leave_the_scheduler_alone();

	sethostname("kwq", 3);
	setenv("HOME", "/tmp", 1);
	setenv("PATH", "/bin:/sbin", 1);
	setenv("TERM", "linux", 0);
}

static void load_with(const char *path, const char *parameters)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	must(fd, path);
	must(syscall(SYS_finit_module, fd, parameters, 0), path);
	close(fd);
}

static void load(const char *path)
{
	load_with(path, "");
}

static void unload(const char *module)
{
	if (syscall(SYS_delete_module, module, O_NONBLOCK))
		problem("unloading %s: %m", module);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec + ts.tv_nsec / 1e9;
}

/* Seconds of the clock that time limits use. */
static double worked(void)
{
	return atomic_load(&pace->ms) / 1e3;
}

/*
 * The processor time of this thread, not the time of day, because it leaves out the other
 * programs of this machine. Both include the time that the host spends on something else.
 */
static void *keep_pace(void *unused)
{
	(void)unused;
	/* In the first round QEMU translates the code. */
	pace_work(PACE_STEPS);
	for (;;) {
		pace_go_on(pace, CLOCK_THREAD_CPUTIME_ID, PACE_STEPS, PACE_OUGHT);
		sleep(1);
	}
	return NULL;
}

/* The programs see this clock too. Benchmarks run without it: they have no limit. */
static void start_pace(void)
{
	int fd = open(PACE_FILE, O_RDWR | O_CREAT | O_CLOEXEC, 0644);
	pthread_t thread;

	must(fd, PACE_FILE);
	must(ftruncate(fd, sizeof(*pace)), PACE_FILE);
	pace = mmap(NULL, sizeof(*pace), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(pace == MAP_FAILED ? -1 : 0, "mmap");
	close(fd);
	must(pthread_create(&thread, NULL, keep_pace, NULL) ? -1 : 0, "pthread_create");
}

/* Reaps dead children and orphans. Returns true once the program itself has died. */
static bool reap(pid_t pid, int *status)
{
	bool found = false;
	int st;

	for (pid_t p; (p = waitpid(-1, &st, WNOHANG)) > 0;) {
		if (p == pid) {
			*status = st;
			found = true;
		}
	}
	return found;
}

/*
 * Kills everything except init: the children of a program must not live on during the next
 * one. Orphans become children of init, so all are gone when init has no child.
 */
static void kill_everyone(void)
{
	double deadline = pace ? worked() + DEATH_SECONDS : 0;

	while (!pace || worked() < deadline) {
		pid_t pid;

		kill(-1, SIGKILL);
		do {
			pid = waitpid(-1, NULL, WNOHANG);
		} while (pid > 0);
		if (pid < 0)
			return;
		usleep(1000);
	}
	write_file("/proc/sysrq-trigger", "w");
	problem("processes that do not die of SIGKILL (their stacks are in the console's log)");
	finish();
}

static void run_child(const char *path, int output)
{
	int input = open("/dev/null", O_RDONLY);
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	setsid();
	if (chdir("/tmp"))
		_exit(127);
	dup2(input, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(output, STDERR_FILENO);
	execl(path, path, NULL);
	dprintf(STDERR_FILENO, "# %s: %m\n", path);
	_exit(127);
}

/* Prints the content of the pipe. Does not wait for its end: an orphan may hold it open. */
static void drain(int fd)
{
	char buf[4096];
	ssize_t n;

	while ((n = read(fd, buf, sizeof(buf))) > 0)
		report_bytes(buf, n);
}

/* Returns true if the program exited with 0. With @seconds 0 there is no limit. */
static bool run_program(const char *path, const char *name, int seconds)
{
	double begin = now(), deadline = seconds ? worked() + seconds : 0;
	bool done = false, late = false;
	int fds[2], status = 0;
	sigset_t chld;
	pid_t pid;

	report("begin %s", name);
	must(pipe2(fds, O_CLOEXEC), "pipe2");
	must(fcntl(fds[0], F_SETFL, O_NONBLOCK), "fcntl");

	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, NULL);

	pid = fork();
	must(pid, "fork");
	if (!pid)
		run_child(path, fds[1]);
	close(fds[1]);

	while (!done && !late) {
		struct pollfd pfd = { .fd = fds[0], .events = POLLIN };

		/* If a program closes its output before it ends, poll no longer waits. */
		if (poll(&pfd, 1, 20) > 0 && !(pfd.revents & POLLIN))
			usleep(20000);
		done = reap(pid, &status);
		late = seconds && worked() > deadline;
		drain(fds[0]);
	}
	if (!done)
		write_file("/proc/sysrq-trigger", "w");
	kill_everyone();
	drain(fds[0]);
	close(fds[0]);

	if (!done)
		report("end %s timeout", name);
	else if (WIFSIGNALED(status))
		report("end %s signal %d after %.1f s", name, WTERMSIG(status), now() - begin);
	else
		report("end %s exit %d after %.1f s", name, WEXITSTATUS(status), now() - begin);
	if (pace)
		report("pace %.2f", pace->speed);
	return done && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

static void run_kselftests(int seconds, const char *pattern)
{
	struct dirent **entries;
	int n = scandir("/kselftest", &entries, visible, alphasort);

	must(n, "/kselftest");
	load("/kwq.ko");
	for (int i = 0; i < n; i++) {
		const char *name = entries[i]->d_name;
		char path[512];

		if (fnmatch(pattern, name, FNM_EXTMATCH))
			continue;
		snprintf(path, sizeof(path), "/kselftest/%s", name);
		run_program(path, name, seconds);
	}
	unload("kwq");
}

/*
 * Loading the module runs the suites. debugfs keeps their results until it is unloaded.
 * A task of a suite may make its allocations fail, including those that may wait.
 */
static void run_kunit(void)
{
	struct dirent **entries;
	int n;

	write_file(FAILSLAB "/ignore-gfp-wait", "N");
	load("/kwq.ko");
	n = scandir(KUNIT_RESULTS, &entries, visible, alphasort);
	must(n, KUNIT_RESULTS);
	for (int i = 0; i < n; i++) {
		char path[512];

		snprintf(path, sizeof(path), KUNIT_RESULTS "/%s/results", entries[i]->d_name);
		report("begin %s", entries[i]->d_name);
		report_file(path);
		report("end %s exit 0", entries[i]->d_name);
	}
	unload("kwq");
}

/* Loading the module runs its benchmarks. */
static void run_bench_module(void)
{
	const char *row = getenv("KWQ_ROW");
	char only[128] = "";

	if (row)
		snprintf(only, sizeof(only), "only=%s", row);
	report("begin bench");
	load_with("/kwq_bench.ko", only);
	report_file(BENCH_RESULTS);
	report("end bench exit 0");
	unload("kwq_bench");
}

static void run_bench(const char *program)
{
	char path[512];

	load("/kwq.ko");
	while (now() < SETTLED_SECONDS)
		usleep(100000);
	if (!program)
		run_bench_module();
	snprintf(path, sizeof(path), "/bench/%s", program ?: "run");
	if (!run_program(path, "programs", 0))
		problem("%s failed", path);
	unload("kwq");
}

static void run_demo(void)
{
	load("/kwq.ko");
	if (!run_program("/demo/run", "demo", 0))
		failed = true;
	unload("kwq");
}

static void run_shell(void)
{
	pid_t pid;

	load("/kwq.ko");
	pid = fork();
	must(pid, "fork");
	if (!pid) {
		setsid();
		ioctl(STDIN_FILENO, TIOCSCTTY, 1);
		/* A server of NATS at the prompt listens there. */
		if (system("ip link set lo up") || chdir("/tmp"))
			_exit(127);
		execl("/bin/sh", "-sh", NULL);
		_exit(127);
	}
	while (waitpid(-1, NULL, 0) != pid)
		;
}

static void look_for_leaks(void)
{
	if (access(KMEMLEAK, F_OK))
		return;
	sleep(KMEMLEAK_AGE_SECONDS);

	/* A stale pointer may hide a leak from one scan. Two scans make that unlikely. */
	for (int i = 0; i < 2; i++)
		if (!write_file(KMEMLEAK, "scan"))
			problem("kmemleak does not scan");
	/* results.py sees from the stacks whose leaks they are. */
	report("leaks");
	report_file(KMEMLEAK);
}

static void look_for_taints(void)
{
	FILE *file = fopen("/proc/sys/kernel/tainted", "re");
	unsigned long taints = 0;

	if (!file || fscanf(file, "%lu", &taints) != 1)
		problem("/proc/sys/kernel/tainted cannot be read");
	if (file)
		fclose(file);
	if (taints & ~TAINTS_EXPECTED)
		problem("the kernel is tainted: %#lx", taints & ~TAINTS_EXPECTED);
}

/* The kernel keeps the counters of a module after it is unloaded. */
static int pass_on_counts(const char *path, const struct stat *st, int type, struct FTW *unused)
{
	static const char digits[] = "0123456789abcdef";
	size_t len = strlen(path);
	unsigned char bytes[64];
	ssize_t n;
	int fd;

	(void)st;
	(void)unused;
	if (type != FTW_F || len < 5 || strcmp(path + len - 5, ".gcda"))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC);
	must(fd, path);
	report("counts %s", path + strlen(GCOV));
	while ((n = read(fd, bytes, sizeof(bytes))) > 0) {
		char line[2 * sizeof(bytes) + 1];

		for (ssize_t i = 0; i < n; i++) {
			line[2 * i] = digits[bytes[i] >> 4];
			line[2 * i + 1] = digits[bytes[i] & 15];
		}
		line[2 * n] = '\n';
		report_bytes(line, 2 * n + 1);
	}
	must(n, path);
	close(fd);
	report("counted %s", path + strlen(GCOV));
	return 0;
}

static void tell_of_coverage(void)
{
	if (!access(GCOV, F_OK))
		nftw(GCOV, pass_on_counts, 8, FTW_PHYS);
}

/* KCSAN's reports are on the console. */
static void tell_of_races(void)
{
	if (access(KCSAN, F_OK))
		return;
	report("races");
	report_file(KCSAN);
}

int main(int argc, char **argv)
{
	const char *mode;

	set_up();
	write_file(KCSAN, "on");
	/* The unknown words of the kernel's command line come before them. */
	while (argc && strcmp(*argv, "run")) {
		argc--;
		argv++;
	}
	mode = argc > 1 ? argv[1] : "shell";
	if (strcmp(mode, "bench"))
		start_pace();
	if (!strcmp(mode, "kselftest")) {
		run_kselftests(argc > 2 ? atoi(argv[2]) : 60, argc > 3 ? argv[3] : "*");
	} else if (!strcmp(mode, "kunit")) {
		run_kunit();
	} else if (!strcmp(mode, "bench")) {
		run_bench(argc > 2 ? argv[2] : NULL);
	} else if (!strcmp(mode, "demo")) {
		run_demo();
	} else if (!strcmp(mode, "shell")) {
		run_shell();
		end_machine();
	} else {
		problem("init does not know the mode %s", mode);
	}
	look_for_leaks();
	look_for_taints();
	tell_of_races();
	tell_of_coverage();
	finish();
}
