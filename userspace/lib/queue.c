// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
/*
 * The queue as a whole: length, state, shut down and drain.
 */
#include "internal.h"

int kwq_len(const struct kwq *q)
{
	return kwq_ioctl(q->fd, KWQ_IOC_LEN, NULL);
}

int kwq_stat(const struct kwq *q, struct kwq_stat *st)
{
	/* So that a program finds all its own adds. */
	kwq_board_tell(q);
	return kwq_ioctl(q->fd, KWQ_IOC_STAT, st);
}

int kwq_pause(struct kwq *q)
{
	struct kwq_pause_args req = { .size = sizeof(req) };

	return kwq_ioctl(q->fd, KWQ_IOC_PAUSE, &req);
}

int kwq_pause_for(struct kwq *q, uint64_t time_ns)
{
	struct kwq_pause_args req = {
		.size = sizeof(req),
		.flags = KWQ_PAUSE_FOR,
		.time = time_ns,
	};

	return kwq_ioctl(q->fd, KWQ_IOC_PAUSE, &req);
}

int kwq_resume(struct kwq *q)
{
	struct kwq_resume_args req = { .size = sizeof(req) };

	return kwq_ioctl(q->fd, KWQ_IOC_RESUME, &req);
}

int kwq_bpf_token(struct kwq *q, uint64_t *token)
{
	struct kwq_bpf_args req = { .size = sizeof(req) };
	int ret = kwq_ioctl(q->fd, KWQ_IOC_BPF, &req);

	if (!ret)
		*token = req.token;
	return ret;
}

int kwq_set_term(struct kwq *q, uint64_t until)
{
	struct kwq_term_args req = { .size = sizeof(req), .until = until };

	return kwq_ioctl(q->fd, KWQ_IOC_TERM, &req);
}

int kwq_set_term_within(struct kwq *q, uint64_t timeout_ns)
{
	struct kwq_term_args req = {
		.size = sizeof(req),
		.flags = KWQ_TERM_RELATIVE,
		.until = timeout_ns,
	};

	return kwq_ioctl(q->fd, KWQ_IOC_TERM, &req);
}

int kwq_shut_down(struct kwq *q)
{
	struct kwq_shut_down_args req = { .size = sizeof(req) };

	return kwq_ioctl(q->fd, KWQ_IOC_SHUT_DOWN, &req);
}

int kwq_shut_down_with_drain(struct kwq *q, uint64_t deadline)
{
	struct kwq_drain_args req = { .size = sizeof(req), .deadline = deadline };

	return kwq_ioctl(q->fd, KWQ_IOC_DRAIN, &req);
}

int kwq_shut_down_with_drain_within(struct kwq *q, uint64_t timeout_ns)
{
	struct kwq_drain_args req = {
		.size = sizeof(req),
		.flags = KWQ_DRAIN_RELATIVE,
		.deadline = timeout_ns,
	};

	return kwq_ioctl(q->fd, KWQ_IOC_DRAIN, &req);
}

int kwq_shutting_down(const struct kwq *q)
{
	return kwq_ioctl(q->fd, KWQ_IOC_SHUTTING_DOWN, NULL);
}
