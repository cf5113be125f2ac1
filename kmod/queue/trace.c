// SPDX-License-Identifier: GPL-2.0-only
/*
 * The code that the kernel's macros make of the tracepoints in "trace.h".
 */
#define CREATE_TRACE_POINTS
#include "trace.h"
