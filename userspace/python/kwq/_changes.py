# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The changes of a queue, and the handle that follows them."""
from __future__ import annotations

import asyncio
import errno
import select
import struct
import threading
import weakref
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING

from . import _abi as abi
from ._aio import Side
from ._listed import Listed, unpack_listed
from ._values import Seconds, from_ns, nanoseconds
from .errors import Empty, Error, TimedOut, error

if TYPE_CHECKING:
    from ._queue import Queue

_PAGE = 256
_ROOM = abi.KEY_MAX + abi.GROUP_MAX + _PAGE * 128


@dataclass(frozen=True)
class Changes:
    """The result of Follower.changes()."""

    #: The keys that have changed, each once, in the order of their first changes since they were read. Listed.gone
    #: tells that a key is no longer in the queue.
    keys: list[Listed]
    #: The number of the last change that was read, for Follower.keep().
    number: int
    #: The queue itself may have changed: its configuration, or by a pause, a resume or a shut down.
    of_queue: bool


class Follower:
    """Reads the keys of a queue that have changed: Queue.follow() makes one. It follows until its queue is closed.

    The queue does not store changes, but which keys have changed since they were read. So a slow follower costs no
    memory, and sees the last state of each key. A key that is gone counts as an item until the follower has read that.

    To know all keys: follow(), then Queue.items(), then changes() again and again.
    """

    def __init__(self, queue: Queue, number: int) -> None:
        self._queue = queue
        self._lock = threading.Lock()
        # The caller has used all changes up to here when it calls again, and had so before the last call.
        self._next = self._last = number
        self._kept = 0
        self._of_queue = 0
        self._epoll: select.epoll | None = None
        self._sides: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Side] = weakref.WeakKeyDictionary()

    @property
    def queue(self) -> Queue:
        """The queue that it follows."""
        return self._queue

    def changes(self, timeout: Seconds | None = None, *, values: bool = False) -> Changes:
        """Reads the keys that have changed. Waits for a change for ever, or up to a timeout; 0 does not wait.

        values fetches the values and the notes, too. The call says that the caller has used what the last one returned.
        Raises Empty if nothing changed in time.
        """
        if timeout is None:
            return self._read(0, abi.NO_DEADLINE, values)
        if timeout == 0:
            return self._read(abi.CHANGES_NONBLOCK, 0, values)
        return self._read(abi.CHANGES_RELATIVE, nanoseconds(timeout, "timeout"), values)

    async def achanges(self, timeout: Seconds | None = None, *, values: bool = False) -> Changes:
        """changes() for asyncio. A cancelled wait loses no change. A timeout is on the clock of the event loop."""
        span = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))
        # Other tasks have a turn, and a cancel takes effect, even if something always changes.
        await asyncio.sleep(0)
        try:
            return self.changes(0, values=values)
        except Empty:
            if span == 0:
                raise
        return await self._side().wait(lambda: self.changes(0, values=values), span, self._late, lambda _: self.again())

    def again(self) -> None:
        """Lets the next call read once more what the last one returned, or what has become of it."""
        with self._lock:
            self._next = self._last

    def keep(self, number: int) -> None:
        """Says that all changes up to a Changes.number are kept somewhere else, for Queue.sync().

        The next call of changes() tells the queue.
        """
        with self._lock:
            self._kept = max(self._kept, number)

    def _read(self, flags: int, deadline: int, values: bool) -> Changes:
        room = _ROOM + (abi.VALUE_MAX + abi.NOTE_MAX if values else 0)
        entries_size = _PAGE * abi.LISTED.size
        block = array("B", bytes(entries_size + room))
        address = block.buffer_info()[0]
        with self._lock:
            before, of_queue = self._next, self._of_queue
            # After again() less may be read than is kept.
            kept = min(self._kept, before)
        args = bytearray(abi.CHANGES_ARGS.pack(
            abi.CHANGES_ARGS.size, flags | (abi.CHANGES_VALUES | abi.CHANGES_NOTES if values else 0), before, kept,
            of_queue, deadline, 0, address, address + entries_size, 0, 0, room, _PAGE, abi.LISTED.size, 0))
        try:
            count = self._queue._call(abi.IOC_CHANGES, args)
        except (Empty, TimedOut):
            raise self._late() from None
        data = block[entries_size:].tobytes()
        keys, at = [], 0
        for index in range(count):
            raw = block[index * abi.LISTED.size:(index + 1) * abi.LISTED.size].tobytes()
            listed, at = unpack_listed(raw, data, at, values)
            keys.append(listed)
        number, now_of_queue = (struct.unpack_from("=Q", args, abi.CHANGES_ARGS.offsets[name])[0]
                                for name in ("after", "of_queue"))
        with self._lock:
            self._last, self._next, self._of_queue = before, number, now_of_queue
        return Changes(keys, number, now_of_queue != of_queue)

    def _late(self) -> Error:
        return error(errno.ETIMEDOUT, self._queue.name, Empty, "nothing changed in time")

    def _side(self) -> Side:
        """The tasks of the running loop that wait. asyncio does not watch for EPOLLPRI, so an epoll descriptor does."""
        fd = self._queue.fileno()
        if self._epoll is None:
            self._epoll = select.epoll()
            self._epoll.register(fd, select.EPOLLPRI)
        loop = asyncio.get_running_loop()
        side = self._sides.get(loop)
        if side is None:
            side = self._sides.setdefault(loop, Side(self._epoll.fileno(), True))
        return side

    def _end(self) -> list[tuple[asyncio.AbstractEventLoop, Side]]:
        """The waits that the end of the queue has to end."""
        return list(self._sides.items())
