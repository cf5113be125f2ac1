# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""What the numbers of _abi.py mean to Python and to ioctl()."""
from __future__ import annotations

import os
import struct
from typing import Final


class Layout(struct.Struct):
    """A structure of the header: "member:format ..." with the formats of struct."""

    def __init__(self, name: str, members: str) -> None:
        pairs = [member.split(":") for member in members.split()]
        super().__init__("=" + "".join(form for _, form in pairs))
        self.name = name
        self.offsets: dict[str, int] = {}
        offset = 0
        for member, form in pairs:
            self.offsets[member] = offset
            offset += struct.calcsize("=" + form)


RESULT: Final = struct.Struct("=i")

_MAGIC: Final = 0xBB
# <asm/ioctl.h> of these machines differs from the generic one.
if os.uname().machine.startswith(("alpha", "mips", "ppc", "sparc")):
    _DIRECTIONS, _SHIFT = (1, 4, 2, 6), 29
else:
    _DIRECTIONS, _SHIFT = (0, 1, 2, 3), 30


def request(direction: int, number: int) -> int:
    """The number of a request. Its direction has bit 0 if the kernel reads an argument, and bit 1 if it writes one."""
    return _DIRECTIONS[direction] << _SHIFT | (4 if direction else 0) << 16 | _MAGIC << 8 | number
