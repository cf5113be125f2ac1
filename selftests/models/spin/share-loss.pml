/* SPDX-License-Identifier: GPL-2.0-only */
/* N1 to N4: one master. The network loses replies, dones and confirmations, and acknowledgements of adds. */
#define EPOCHS		1
#ifndef ADDS
#define ADDS		2
#endif
#ifndef LOSSES
#define LOSSES		2
#endif
#define LOST_ACKS	1
#include "share.pml"
