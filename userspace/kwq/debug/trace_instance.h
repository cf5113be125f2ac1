/* SPDX-License-Identifier: LGPL-2.1-or-later OR MIT */
/*
 * An instance of the kernel's tracing for kwq's tracepoints, apart from what others trace.
 */
#ifndef KWQ_TRACE_INSTANCE_H
#define KWQ_TRACE_INSTANCE_H

struct trace_instance {
	char path[128];
	int pipe;		/* poll it for reading; it does not wait */
};

/*
 * Makes the instance, with @buffer_kb KiB for each processor; 0 for the kernel's size. @filter
 * is a filter of the kernel, or NULL. Instances that a killed kwq debug events left are removed.
 * Returns 0 or a negative errno value: -EACCES without the right, -ENODEV without tracefs, -ENXIO
 * if the kernel has no tracepoints of kwq.
 */
int trace_instance_open(struct trace_instance *instance, const char *filter,
			unsigned long buffer_kb);

/* Switches the tracepoints on. Returns 0 or a negative errno value. */
int trace_instance_begin(const struct trace_instance *instance);

/* Switches the tracepoints off. The contents of the pipe can still be read. */
void trace_instance_stop(const struct trace_instance *instance);

/* Removes the instance. */
void trace_instance_close(struct trace_instance *instance);

#endif /* KWQ_TRACE_INSTANCE_H */
