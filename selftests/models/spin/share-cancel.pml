/* SPDX-License-Identifier: GPL-2.0-only */
/* N9: a person removes the key while it is added, granted and worked on, and while a master takes over. */
#define CANCELS		true
#ifndef DEATHS
#define DEATHS		0
#endif
#include "share.pml"
