/* SPDX-License-Identifier: GPL-2.0-only */
/* N1, N2, N4: timed adds on two machines, and a master that grants and deletes meanwhile. */
#ifndef ADDS
#define ADDS		0
#endif
#define TIMED_ADDERS	2
#ifndef DEATHS
#define DEATHS		0
#endif
#include "share.pml"
