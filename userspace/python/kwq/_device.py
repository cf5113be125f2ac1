# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Requests on /dev/kwq itself: named queues, and what the module offers."""
from __future__ import annotations

import errno
import fcntl
import os
from array import array
from dataclasses import dataclass
from typing import Callable, cast

from . import _abi as abi
from ._values import field_name, name_field
from .errors import error

# For a number, or memory that it may write to, fcntl.ioctl() returns a number. Its declared types do not say so.
ioctl = cast(Callable[[int, int, "bytearray | int"], int], fcntl.ioctl)
_PATH = "/dev/kwq"
_PAGE = 64


@dataclass(frozen=True)
class Info:
    """Limits and features of the module, and what the caller's queues have used up; kwq(4) explains each member."""

    key_max: int
    features: int
    max_items: int
    max_bytes: int
    max_queues: int
    name_max: int
    batch_max: int
    priority_min: int
    priority_max: int
    user_queues: int
    user_queues_left: int
    max_user_bytes: int
    max_total_bytes: int
    user_bytes: int
    user_bytes_left: int


@dataclass(frozen=True)
class Named:
    """A named queue in a list."""

    name: str
    uid: int
    gid: int
    mode: int


def device_call(request: int, args: bytearray, name: str | None = None) -> int:
    """Does a request on /dev/kwq, and repeats it after a signal."""
    try:
        fd = os.open(_PATH, os.O_RDWR | os.O_CLOEXEC)
    except OSError as failure:
        # Without the module a static node of udev, or no node, is there.
        number = failure.errno or errno.EIO
        raise error(errno.ENODEV if number in (errno.ENOENT, errno.ENXIO) else number, name or _PATH) from None
    try:
        while True:
            try:
                return ioctl(fd, request, args)
            except InterruptedError:
                continue
            except OSError as failure:
                raise error(failure.errno or errno.EIO, name) from None
    finally:
        os.close(fd)


def info() -> Info:
    """The features of the loaded module, and the use of the caller's limits."""
    args = bytearray(abi.INFO.size)
    abi.INFO.pack_into(args, 0, abi.INFO.size, *[0] * (len(abi.INFO.offsets) - 1))
    device_call(abi.IOC_INFO, args)
    members = dict(zip(abi.INFO.offsets, abi.INFO.unpack(args)))
    del members["size"], members["pad"]
    return Info(**members)


def queues() -> list[Named]:
    """The named queues, sorted by name, whether the caller may open them or not."""
    found: list[Named] = []
    after = b""
    while True:
        entries = array("B", bytes(_PAGE * abi.LIST_ENTRY.size))
        args = bytearray(abi.LIST_ARGS.pack(
            abi.LIST_ARGS.size, 0, entries.buffer_info()[0], _PAGE, abi.LIST_ENTRY.size, after))
        nr = device_call(abi.IOC_LIST, args)
        for at in range(nr):
            uid, gid, mode, _, raw = abi.LIST_ENTRY.unpack_from(entries, at * abi.LIST_ENTRY.size)
            after = raw.rstrip(b"\0")
            found.append(Named(field_name(raw), uid, gid, mode))
        if not nr:
            return found


def unlink(name: str | bytes) -> None:
    """Removes the name of a queue. The queue itself ends with its last handle."""
    raw = name_field(name)
    device_call(abi.IOC_UNLINK, bytearray(abi.UNLINK_ARGS.pack(abi.UNLINK_ARGS.size, 0, raw)), os.fsdecode(raw))
