// SPDX-License-Identifier: GPL-2.0-only

#include "textflag.h"

// `make bench-profile` counts from the first of these instructions, which do nothing, to the second: nopl with a
// displacement that spells "qwk", as in ../../device/bench.h.
#define MARK_BEGIN	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $0x6b777101
#define MARK_END	BYTE $0x0f; BYTE $0x1f; BYTE $0x80; LONG $0x6b777102

// func tscBegin() uint64
TEXT ·tscBegin(SB), NOSPLIT, $0-8
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	MARK_BEGIN
	RET

// func tscEnd() uint64
TEXT ·tscEnd(SB), NOSPLIT, $0-8
	MARK_END
	RDTSC
	SHLQ	$32, DX
	ORQ	DX, AX
	MOVQ	AX, ret+0(FP)
	RET
