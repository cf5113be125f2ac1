// SPDX-License-Identifier: GPL-2.0-only
module peer

go 1.19
