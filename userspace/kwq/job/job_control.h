/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * Answers the requests that come through the control socket of kwq run.
 */
#ifndef KWQ_JOB_CONTROL_H
#define KWQ_JOB_CONTROL_H

#include "kwq/control/control.h"
#include "job.h"
#include "base/output.h"

/*
 * Answers a request about one of the jobs, or has job_control_end() answer it. Never waits. Takes
 * message->reply.
 */
void job_control_answer(struct control_message *message, struct job *jobs, unsigned int nr,
			enum output_mode mode);

/* Tells everybody who follows or cancels the job that it has ended. Its items are settled. */
void job_control_end(struct job *job);

#endif /* KWQ_JOB_CONTROL_H */
