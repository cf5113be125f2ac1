// SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
module kwq.example/kwq

go 1.19
