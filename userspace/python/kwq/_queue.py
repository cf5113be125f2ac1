# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A handle of a queue."""
from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import select
import struct
import time
import warnings
import weakref
from array import array
from dataclasses import dataclass
from types import TracebackType
from typing import Iterable, Iterator, Sequence

from . import _abi as abi
from . import _fork
from ._aio import Side
from ._changes import Follower
from ._device import device_call, ioctl, unlink
from ._item import Item, OnError
from ._layout import RESULT
from ._limiters import Config, unpack_config
from ._listed import Listed, pack_restored, unpack_listed
from ._stat import Stat, unpack_stat
from ._values import (
    Added, Clock, Finished, Key, Mode, Rights, Seconds, State, from_ns, key_bytes, limit_ns, name_field, nanoseconds,
    note_bytes)
from .errors import (
    BatchError, Changed, Closed, Empty, Error, Full, InvalidArgument, NotEmpty, NotFound, ShutDown, Stale, TimedOut,
    error)

# Room for one key with its group, for its value, too, and in a listing also for its note.
_KEY_ROOM = abi.KEY_MAX + abi.GROUP_MAX
_VALUE_ROOM = _KEY_ROOM + abi.VALUE_MAX
_NOTE_ROOM = _VALUE_ROOM + abi.NOTE_MAX
# The first room for the keys of a batch or a page, for each entry. Longer ones come with the next call.
_ROOM_EACH = 128
_PAGE = 256
# A batch of adds copies no more bytes at once, unless one key has more.
_CHUNK_BYTES = 1 << 20
# The kernel replaces it, unless it does not come to the entry.
_UNTAKEN = RESULT.pack(-errno.ECANCELED)
# A handle keeps the memory of so many gets for the next ones.
_SPARE_BLOCKS = 4
# How often adrain() looks while items are ready, in seconds.
_FIRST_LOOK, _LONGEST_LOOK = 0.001, 0.05

# The flags of an add that need an extra.
_EXTRAS = abi.ADD_VALUE | abi.ADD_KEEP_VALUE | abi.ADD_GROUP | abi.ADD_AT_MOST | abi.ADD_NOTE
# A listing that has values has notes, too.
_LIST_BOTH = abi.LIST_VALUES | abi.LIST_NOTES
# What comes before the entry of a batch of one: its result.
_HEAD = _UNTAKEN + bytes(4)
# A look-up in another module costs as much as a small call. These are used by each add, get and done.
_pack_batch_args = abi.BATCH_ARGS.pack
_BATCH_ARGS_SIZE = abi.BATCH_ARGS.size
_pack_add_entry = abi.ADD_ENTRY.pack
_pack_done_entry = abi.DONE_ENTRY.pack
_unpack_result = RESULT.unpack_from
_unpack_got = abi.GOT.unpack_from
_GOT_SIZE = abi.GOT.size
_EXTRA_SIZE = abi.GOT_EXTRA.size
# Enums are slow to make.
_ADDED = {int(result): result for result in Added}
_FINISHED = [Finished(bits) for bits in range(16)]


@dataclass(frozen=True)
class Add:
    """One key of add_many(), with the arguments of Queue.add()."""

    key: Key
    delay: Seconds | None = None
    at: Seconds | None = None
    mode: Mode = Mode.EARLIER
    priority: int | None = None
    rate_limited: bool = False
    value: Key | None = None
    keep_value: bool = False
    group: Key | None = None
    debounce: Seconds | None = None
    end_wait: bool = False
    note: Key | None = None


class _Entry:
    """An entry of an add, an extension or a restore, as the kernel has it."""

    __slots__ = ("entry", "key", "value", "group", "at_most", "has_extra", "token", "note")

    def __init__(self, entry: bytes, key: bytes, value: bytes = b"", group: bytes = b"", at_most: int = 0,
                 has_extra: bool = False, token: int = 0, note: bytes = b"") -> None:
        self.entry = entry
        self.key = key
        self.value = value
        self.group = group
        self.at_most = at_most
        # An empty value, group or note is a wish, too: it takes away what the key has.
        self.has_extra = has_extra
        self.token = token
        self.note = note

    @property
    def size(self) -> int:
        """About the bytes that it takes in a batch."""
        return (len(self.entry) + len(self.key) + len(self.value) + len(self.group) + len(self.note)
                + abi.ADD_EXTRA.size)


def _entry_of(key: Key, delay: Seconds | None = None, at: Seconds | None = None, mode: Mode = Mode.EARLIER,
              priority: int | None = None, rate_limited: bool = False, value: Key | None = None,
              keep_value: bool = False, group: Key | None = None, debounce: Seconds | None = None,
              end_wait: bool = False, note: Key | None = None) -> _Entry:
    """The entry of an add with the arguments of Queue.add()."""
    flags = int(mode)
    when = at_most = 0
    raw_value = raw_group = raw_note = b""
    if delay is not None:
        flags |= abi.ADD_AFTER
        when = nanoseconds(delay, "delay")
    if at is not None:
        if delay is not None:
            raise ValueError("an add has a delay or a time, not both")
        flags |= abi.ADD_AT
        when = nanoseconds(at, "at")
    if rate_limited:
        if delay is not None or at is not None:
            raise ValueError("a rate-limited add gets its delay from the limiters: leave out delay and at")
        flags |= abi.ADD_RATE_LIMITED
    if debounce is not None:
        if delay is None or mode not in (Mode.EARLIER, Mode.REPLACE):
            raise ValueError("debounce is the longest wait: it needs a delay, the quiet time, and no other mode")
        at_most = nanoseconds(debounce, "debounce")
        flags |= abi.ADD_REPLACE | abi.ADD_AT_MOST
    if priority is not None:
        if not abi.PRIORITY_MIN <= priority <= abi.PRIORITY_MAX:
            raise ValueError(f"a priority is from {abi.PRIORITY_MIN} to {abi.PRIORITY_MAX}, not {priority}")
        flags |= abi.ADD_PRIORITY
    if end_wait:
        flags |= abi.ADD_END_WAIT
    if value is not None:
        raw_value = key_bytes(value)
        flags |= abi.ADD_VALUE
    if keep_value:
        if value is None:
            raise ValueError("keep_value says what to do with a value: pass a value")
        flags |= abi.ADD_KEEP_VALUE
    if group is not None:
        raw_group = key_bytes(group)
        flags |= abi.ADD_GROUP
    if note is not None:
        raw_note = note_bytes(note)
        flags |= abi.ADD_NOTE
    raw = key_bytes(key)
    return _Entry(abi.ADD_ENTRY.pack(len(raw), flags, priority or 0, 0, when), raw, raw_value, raw_group, at_most,
                  bool(flags & _EXTRAS), note=raw_note)


def _entry_of_add(add: Add) -> _Entry:
    return _entry_of(add.key, add.delay, add.at, add.mode, add.priority, add.rate_limited, add.value, add.keep_value,
                     add.group, add.debounce, add.end_wait, add.note)


class Queue:
    """A handle of a queue: create(), unnamed(), open(), from_fd() and reopen() make one.

    The handle holds the items that it got. When it is closed, by close(), at the end of a with block or by the end of
    the process, the queue takes back the items that are not finished.

    Any number of threads may use a handle at once, but close() must be the last call. After a fork the child has
    handles of its own for all open queues.
    """

    def __init__(self, fd: int, rights: Rights) -> None:
        self._fd = -1
        self._rights = rights
        self._broken: str | None = None
        self._blocks: list[array[int]] = []
        self._orphans: list[int] = []
        self._sides: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, tuple[Side, Side]] = \
            weakref.WeakKeyDictionary()
        self._followers: weakref.WeakSet[Follower] = weakref.WeakSet()
        self._label: str | None = None
        #: The effect of an exception in the block of an item: see Item.
        self.on_error: OnError = "retry"
        stat = _stat_of(fd)
        self._name = self._label = stat.name
        self._clock = stat.clock
        self._lease = stat.lease
        self._has_values = stat.has_values
        self._extras = stat.has_values or stat.has_groups or stat.has_changes
        self._room = _KEY_ROOM
        self._fd = fd
        _fork.queues.add(self)

    # ---- Beginning and end ----

    @classmethod
    def create(cls, name: str | bytes, *, or_open: bool = False, mode: int = 0o700, rights: Rights = Rights.ALL,
               config: Config | None = None, values: bool = False, groups: bool = False, group_limit: int | None = None,
               lease: Seconds | None = None, aging: Seconds | None = None, durations: bool = True,
               changes: bool = False, sync: bool = False, outbox: Queue | None = None, clock: Clock = Clock.MONOTONIC,
               max_items: int | None = None, max_bytes: int | None = None) -> Queue:
        """Creates a named queue, which lives until it is unlinked and its last handle is closed.

        or_open opens the queue, unchanged, if it exists and check_owner() accepts it. mode is less the umask; its bits
        r, w and x mean the rights.
        values allows values and notes, and groups allows groups. lease is how long an item may be held. With aging a
        ready key counts as one priority higher after each such time. Without durations the queue is faster, and does
        not know how long a key was ready or processing; it has neither lease nor aging then. With changes a handle may
        follow(). With sync, too, calls that change a key return only when the follower has kept the change; only the
        end of the process ends their wait. Adds go to outbox, if there is one: its manager decides what comes into this
        queue, and puts it there by restore(). The outbox has the same clock, and no outbox. Its handle may be closed
        afterwards.
        """
        return cls._create(name_field(name), or_open, mode, rights, config, values, groups, group_limit, lease, aging,
                           durations, changes, sync, outbox, clock, max_items, max_bytes)

    @classmethod
    def unnamed(cls, *, config: Config | None = None, values: bool = False, groups: bool = False,
                group_limit: int | None = None, lease: Seconds | None = None, aging: Seconds | None = None,
                durations: bool = True, changes: bool = False, sync: bool = False, outbox: Queue | None = None,
                clock: Clock = Clock.MONOTONIC, max_items: int | None = None, max_bytes: int | None = None) -> Queue:
        """Creates a queue for this process, its children, and those that get its descriptor."""
        return cls._create(b"", False, 0, Rights.ALL, config, values, groups, group_limit, lease, aging, durations,
                           changes, sync, outbox, clock, max_items, max_bytes)

    @classmethod
    def _create(cls, name: bytes, or_open: bool, mode: int, rights: Rights, config: Config | None, values: bool,
                groups: bool, group_limit: int | None, lease: Seconds | None, aging: Seconds | None, durations: bool,
                changes: bool, sync: bool, outbox: Queue | None, clock: Clock, max_items: int | None,
                max_bytes: int | None) -> Queue:
        address = 0
        if config is not None:
            packed, limiters = config.pack()  # limiters has to live until the call has returned
            settings = array("B", packed)
            address = settings.buffer_info()[0]
        for number, what in ((group_limit, "group_limit"), (max_items, "max_items"), (max_bytes, "max_bytes")):
            if number is not None and number < 1:
                raise ValueError(f"{what} is at least 1; use None for no limit")
        if group_limit is not None and not groups:
            raise ValueError("group_limit needs groups=True")
        if not durations and (lease is not None or aging is not None):
            raise ValueError("a lease and aging need durations=True")
        if sync and not changes:
            raise ValueError("sync needs changes=True")
        args = bytearray(abi.CREATE_ARGS.pack(
            abi.CREATE_ARGS.size,
            (abi.CREATE_OR_OPEN if or_open else 0) | (abi.CREATE_VALUES if values else 0)
            | (abi.CREATE_GROUPS if groups else 0) | (0 if durations else abi.CREATE_NO_DURATIONS)
            | (abi.CREATE_CHANGES if changes else 0) | (abi.CREATE_SYNC if sync else 0)
            | (abi.CREATE_OUTBOX if outbox else 0),
            os.O_CLOEXEC, mode, clock, rights, max_items or 0, max_bytes or 0, name, address, limit_ns(lease, "lease"),
            limit_ns(aging, "aging"), group_limit or 0, outbox.fileno() if outbox else 0))
        queue = cls._own(device_call(abi.IOC_CREATE, args, os.fsdecode(name) or None), rights)
        if or_open:
            try:
                queue.check_owner()
            except BaseException:
                queue.close()
                raise
        return queue

    @classmethod
    def open(cls, name: str | bytes, *, rights: Rights = Rights.ALL) -> Queue:
        """Opens a queue by its name. Ask only for the rights that the queue's mode gives, such as Rights.WRITE."""
        raw = name_field(name)
        args = bytearray(abi.OPEN_ARGS.pack(abi.OPEN_ARGS.size, os.O_CLOEXEC, rights, 0, raw))
        return cls._own(device_call(abi.IOC_OPEN, args, os.fsdecode(raw)), rights)

    @classmethod
    def from_fd(cls, fd: int) -> Queue:
        """Makes a Queue of a descriptor that was inherited or received. The Queue owns it from now on.

        A descriptor with O_NONBLOCK never waits.
        """
        for number in range(Rights.ALL, 0, -1):
            try:
                os.close(_reopen(fd, number, None))
            except OSError as failure:
                if failure.errno != errno.EACCES:
                    raise
            else:
                return cls(fd, Rights(number))
        raise error(errno.EACCES)

    @classmethod
    def _own(cls, fd: int, rights: Rights) -> Queue:
        try:
            return cls(fd, rights)
        except BaseException:
            os.close(fd)
            raise

    def reopen(self, *, rights: Rights | None = None) -> Queue:
        """Opens a second handle of the queue, which holds its own items. It has no right that this one lacks."""
        wanted = self._rights if rights is None else rights
        return type(self)._own(_reopen(self.fileno(), wanted, self._label), wanted)

    def close(self) -> None:
        """Closes the handle. The queue takes back the items that it holds, and counts them as abandoned."""
        fd, self._fd = self._fd, -1
        if fd < 0:
            return
        _fork.queues.discard(self)
        for loop, sides in list(self._sides.items()):
            for side in sides:
                self._end_waits(loop, side)
        for follower in list(self._followers):
            for loop, side in follower._end():
                self._end_waits(loop, side)
        os.close(fd)

    def _end_waits(self, loop: asyncio.AbstractEventLoop, side: Side) -> None:
        if loop.is_closed() or not side.busy:
            return
        if loop.is_running() and loop is not _running_loop():
            loop.call_soon_threadsafe(side.fail, loop, self._closed_error)
        else:
            side.fail(loop, self._closed_error)

    @property
    def closed(self) -> bool:
        """Whether the handle is closed."""
        return self._fd < 0

    def fileno(self) -> int:
        """The descriptor, for poll(2): readable when a get would not wait, writable when a new key would find room."""
        if self._fd < 0:
            raise self._closed_error()
        return self._fd

    def __enter__(self) -> Queue:
        self.fileno()
        return self

    def __exit__(self, kind: type[BaseException] | None, exception: BaseException | None,
                 traceback: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_fd", -1) >= 0:
            text = f"{self!r} was not closed"
            self.close()
            warnings.warn(text, ResourceWarning, source=self)

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"fd={self._fd}"
        return f"<kwq.Queue {self._name or 'unnamed'} {state}>"

    def __reduce__(self) -> tuple[object, ...]:
        raise TypeError("a Queue cannot be copied or pickled: open it by its name in the other process, or pass on its "
                        "descriptor")

    @property
    def name(self) -> str | None:
        """The name, None for an unnamed queue."""
        return self._name

    @property
    def rights(self) -> Rights:
        """The rights of this handle."""
        return self._rights

    @property
    def clock(self) -> Clock:
        """The clock of the queue."""
        return self._clock

    def _closed_error(self) -> Error:
        return error(errno.EBADF, self._label, Closed, self._broken or "the queue was closed in this process")

    def _after_fork(self) -> None:
        """In the child: replaces the shared handle by an own one under the same number."""
        fd = self._fd
        self._blocks = []
        self._orphans = []
        self._sides = weakref.WeakKeyDictionary()
        if fd < 0:
            return
        try:
            own = _reopen(fd, self._rights, None, fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_NONBLOCK)
            inheritable = os.get_inheritable(fd)
            os.dup2(own, fd, inheritable)
            os.close(own)
        except OSError as failure:
            self._broken = f"the queue could not be opened for this forked process: {failure.strerror}"
            self._fd = -1
            os.close(fd)

    # ---- Requests ----

    def _call(self, request: int, args: bytearray | int) -> int:
        """Does a request. After a signal whose handler raised nothing it goes on, with the deadline that it had."""
        while True:
            if self._fd < 0:
                raise self._closed_error()
            try:
                return ioctl(self._fd, request, args)
            except InterruptedError:
                continue
            except OSError as failure:
                raise error(failure.errno or errno.EIO, self._label) from None

    def _one(self, request: int, entry: bytes, key: bytes = b"") -> int:
        """Does a batch of one entry, and returns its result."""
        block = array("B", _HEAD + entry + key)
        address, _ = block.buffer_info()
        entry_size = len(entry)
        self._call(request, bytearray(_pack_batch_args(
            _BATCH_ARGS_SIZE, 0, address + 8, address + 8 + entry_size if key else 0, address, 0, len(key), 1,
            entry_size, 0)))
        result: int = _unpack_result(block)[0]
        if result < 0:
            raise error(-result, self._label)
        return result

    def _key_call(self, request: int, key: Key) -> int:
        raw = key_bytes(key)
        return self._one(request, abi.KEY_ENTRY.pack(len(raw), 0), raw)

    # ---- Adding ----

    def add(self, key: Key, *, delay: Seconds | None = None, at: Seconds | None = None, mode: Mode = Mode.EARLIER,
            priority: int | None = None, rate_limited: bool = False, value: Key | None = None, keep_value: bool = False,
            group: Key | None = None, debounce: Seconds | None = None, end_wait: bool = False,
            note: Key | None = None, timeout: Seconds | None = 0) -> Added:
        """Adds a key: at once, after a delay, at a time on the queue's clock, or when the limiters say (rate_limited).

        mode decides the time of a key that is waiting already. With debounce the delay is a quiet time: each such add
        postpones the key, but not beyond debounce after the first. end_wait also ends the wait of a waiting key.

        A value belongs to the key, and b"" takes it away; keep_value leaves a value that is there. group moves the key
        to a group, and b"" out of its group. A note of up to 4096 bytes says something of the key, such as why its last
        run failed, to whoever lists the queue; b"" takes it away. It needs a queue with values: see Item.note().

        If the queue is full the add fails with Full, by default at once. With a timeout it waits for room, with None
        for ever.
        """
        entry = _entry_of(key, delay, at, mode, priority, rate_limited, value, keep_value, group, debounce, end_wait,
                          note)
        if timeout == 0 and not entry.has_extra:
            return _ADDED[self._one(abi.IOC_ADD, entry.entry, entry.key)]
        if timeout is None:
            results = self._add_batch([entry], abi.ADD_WAIT, abi.NO_DEADLINE)
        elif timeout == 0:
            results = self._add_batch([entry], 0, 0)
        else:
            results = self._add_batch([entry], abi.ADD_WAIT | abi.ADD_RELATIVE, nanoseconds(timeout, "timeout"))
        return self._added(results[0])

    def add_many(self, keys: Iterable[Key | Add], *, timeout: Seconds | None = 0) -> list[Added]:
        """Adds keys, or Add objects with further arguments, in as few calls as possible. Returns the result of each.

        An error of one key leaves the others unaffected: BatchError comes at the end, and has all results. timeout is
        as in add(), for all keys together.
        """
        entries = [_entry_of_add(key) if isinstance(key, Add) else _entry_of(key) for key in keys]
        flags = deadline = 0
        if timeout is None:
            flags, deadline = abi.ADD_WAIT, abi.NO_DEADLINE
        elif timeout != 0:
            flags, deadline = abi.ADD_WAIT, self._now_ns() + nanoseconds(timeout, "timeout")
        return self._all_added(self._in_chunks(abi.IOC_ADD, entries, flags, deadline))

    def restore(self, items: Iterable[Listed]) -> list[Added]:
        """Puts keys back as a listing with values had them, in this order; sort them by Listed.sort_key before.

        Their notes come back with them. A key that the queue has already is only added, and gets the token if there is
        one. The handle needs the rights to write and to manage.
        """
        entries = []
        for item in items:
            if item.value is None and item.value_len:
                raise ValueError(f"the listing of {item.key!r} lacks its value: list with values=True")
            if item.note is None and item.note_len:
                raise ValueError(f"the listing of {item.key!r} lacks its note: list with values=True")
            if not 0 <= item.token < 2**64:
                raise ValueError(f"a token is from 0 to 2**64 - 1, not {item.token}")
            flags = (abi.ADD_VALUE if item.value else 0) | (abi.ADD_GROUP if item.group else 0) \
                | (abi.ADD_TOKEN if item.token else 0) | (abi.ADD_NOTE if item.note else 0)
            entries.append(_Entry(pack_restored(item, flags), item.key, item.value or b"", item.group, 0, bool(flags),
                                  item.token, note_bytes(item.note or b"")))
        return self._all_added(self._in_chunks(abi.IOC_RESTORE, entries, 0, 0))

    def kick(self, key: Key) -> Added:
        """Brings a dead letter back; NotFound if the key is none."""
        raw = key_bytes(key)
        entry = _Entry(abi.ADD_ENTRY.pack(len(raw), abi.ADD_KICK, 0, 0, 0), raw)
        return self._added(self._add_batch([entry], 0, 0)[0])

    def _added(self, result: int) -> Added:
        if result >= 0:
            return _ADDED[result]
        if result == -errno.ETIMEDOUT:
            raise error(errno.ETIMEDOUT, self._label, Full, "the queue was full for all of the time")
        raise error(-result, self._label)

    def _all_added(self, results: Sequence[int]) -> list[Added]:
        if all(result >= 0 for result in results):
            return [_ADDED[result] for result in results]
        outcome: list[Added | Error] = []
        for result in results:
            try:
                outcome.append(self._added(result))
            except Error as failure:
                outcome.append(failure)
        failures = [failure for failure in outcome if isinstance(failure, Error)]
        raise BatchError(failures[0].errno or errno.EIO,
                         f"{len(failures)} of {len(results)} keys failed, the first one: {failures[0].strerror}",
                         self._label, outcome)

    def _in_chunks(self, request: int, entries: Sequence[_Entry], flags: int, deadline: int) -> list[int]:
        results: list[int] = []
        at = 0
        while at < len(entries):
            end, size = at, 0
            while end < len(entries) and end - at < abi.BATCH_MAX and (end == at or size < _CHUNK_BYTES):
                size += entries[end].size
                end += 1
            results += self._add_batch(entries[at:end], flags, deadline, request)
            at = end
        return results

    def _add_batch(self, entries: Sequence[_Entry], flags: int, deadline: int, request: int = abi.IOC_ADD) -> list[int]:
        """Returns the results: -ETIMEDOUT for those that found no room in time."""
        nr = len(entries)
        results_size = 8 * ((nr + 1) // 2)
        extras = any(entry.has_extra for entry in entries)
        extra_size = abi.ADD_EXTRA.size if extras else 0
        entry_size = len(entries[0].entry)
        keys = b"".join([entry.key for entry in entries])
        parts = [_UNTAKEN * nr, bytes(results_size - 4 * nr), b"".join([entry.entry for entry in entries]),
                 bytes(nr * extra_size), keys]
        if extras:
            parts += [part for entry in entries for part in (entry.value, entry.group, entry.note)]
        block = array("B", b"".join(parts))
        address = block.buffer_info()[0]
        extras_at = results_size + nr * entry_size
        keys_at = extras_at + nr * extra_size
        if extras:
            at = keys_at + len(keys)
            for index, entry in enumerate(entries):
                group_at = at + len(entry.value)
                note_at = group_at + len(entry.group)
                abi.ADD_EXTRA.pack_into(
                    block, extras_at + index * extra_size, address + at if entry.value else 0,
                    address + group_at if entry.group else 0, address + note_at if entry.note else 0, entry.at_most,
                    len(entry.value), len(entry.group), len(entry.note), 0, entry.token)
                at = note_at + len(entry.note)
        taken, keys_taken = 0, 0
        while taken < nr:
            batch = (address + results_size + taken * entry_size, address + keys_at + keys_taken if keys else 0,
                     address + 4 * taken, address + extras_at + taken * extra_size if extras else 0,
                     len(keys) - keys_taken, nr - taken, entry_size, extra_size)
            if request == abi.IOC_ADD:
                args = abi.ADD_ARGS.pack(abi.ADD_ARGS.size, flags, *batch, deadline, 0)
            else:
                args = abi.BATCH_ARGS.pack(abi.BATCH_ARGS.size, 0, *batch)
            try:
                count = self._call(request, bytearray(args))
            except TimedOut:
                break
            except Empty:
                # Here EAGAIN is that of a descriptor with O_NONBLOCK.
                break
            keys_taken += sum(len(entry.key) for entry in entries[taken:taken + count])
            taken += count
            if not flags & abi.ADD_WAIT and taken < nr:
                # Memory became inaccessible, or the process is being killed.
                break
        results = list(struct.unpack_from(f"={nr}i", block))
        return results[:taken] + [-errno.ETIMEDOUT if flags & abi.ADD_WAIT else -errno.EFAULT] * (nr - taken)

    # ---- Getting ----

    def get(self, timeout: Seconds | None = None, *, on_error: OnError | None = None) -> Item:
        """Takes the first ready key. Waits for one for ever, or up to a timeout; 0 does not wait.

        Raises Empty if none came in time, and ShutDown if the queue is shut down and has none left.
        """
        return self._fetch(1, timeout, on_error)[0]

    def get_many(self, count: int, timeout: Seconds | None = None, *, on_error: OnError | None = None) -> list[Item]:
        """Takes up to so many ready keys, at least one. Waits for the first one only, as get() does."""
        if count < 1:
            raise ValueError(f"count is at least 1, not {count}")
        return self._fetch(min(count, abi.BATCH_MAX), timeout, on_error)

    def _fetch(self, nr: int, timeout: Seconds | None, on_error: OnError | None) -> list[Item]:
        if timeout is None:
            flags, deadline = 0, abi.NO_DEADLINE
        elif timeout == 0:
            flags, deadline = abi.GET_NONBLOCK, 0
        else:
            flags, deadline = abi.GET_RELATIVE, nanoseconds(timeout, "timeout")
        if self._orphans:
            self._return_orphans()
        while True:
            try:
                return self._fetch_into(nr, flags, deadline, on_error or self.on_error)
            except InvalidArgument as failure:
                if failure.errno != errno.EMSGSIZE or self._room == _VALUE_ROOM:
                    raise
                # The first item has a large value.
                self._room = _VALUE_ROOM
            except TimedOut:
                raise error(errno.ETIMEDOUT, self._label, Empty, "nothing was ready in time") from None

    def _fetch_into(self, nr: int, flags: int, deadline: int, on_error: OnError) -> list[Item]:
        entries_size = nr * _GOT_SIZE
        keys_at = entries_size + nr * _EXTRA_SIZE
        room = self._room + (nr - 1) * _ROOM_EACH
        # A block that is in use belongs to one call. Its tickets tell what the kernel has handed out, even if the call
        # itself ends with an exception of a signal handler.
        block = array("B", bytes(keys_at + room)) if nr > 1 else self._spare_block(keys_at + room)
        address = block.buffer_info()[0]
        extras = self._extras
        args = bytearray(abi.GET_ARGS.pack(
            abi.GET_ARGS.size, flags, deadline, *_ABSENT, *_ABSENT, address, address + keys_at, 0,
            address + entries_size if extras else 0, room, nr, _GOT_SIZE, _EXTRA_SIZE if extras else 0,
            0, 0, 0))
        items: list[Item] = []
        complete = False
        try:
            count = self._call(abi.IOC_GET, args)
            at = keys_at
            for index in range(count):
                ticket, key_len, priority, abandoned, requeues = _unpack_got(block, index * _GOT_SIZE)
                end = at + key_len
                key = block[at:end].tobytes()
                value = group = b""
                token = 0
                if extras:
                    value_len, group_len, token = abi.GOT_EXTRA.unpack_from(
                        block, entries_size + index * abi.GOT_EXTRA.size)
                    group = block[end:end + group_len].tobytes()
                    value = block[end + group_len:end + group_len + value_len].tobytes()
                    end += group_len + value_len
                items.append(Item(self, ticket, key, value, priority, group, requeues, abandoned, token, on_error))
                at = end
            complete = True
            if nr == 1 and len(self._blocks) < _SPARE_BLOCKS:
                self._blocks.append(block)
            return items
        except BaseException:
            # Once all items are made, another thread may have the block.
            self._disown(items, _tickets(block, nr) if not complete else [item.ticket for item in items])
            raise

    def _spare_block(self, size: int) -> array[int]:
        """A block for one item, whose ticket is 0."""
        try:
            block = self._blocks.pop()
        except IndexError:
            return array("B", bytes(size))
        if len(block) < size:
            return array("B", bytes(size))
        struct.pack_into("=Q", block, 0, 0)
        return block

    def _disown(self, items: Sequence[Item], tickets: Sequence[int]) -> None:
        """Gives back what an interrupted get was handed out."""
        if not tickets:
            return
        # The kernel may have taken some of them back itself. Their tickets are stale, and no other hand-out has them.
        self._orphans += tickets
        for item in items:
            item._end = "finished"
        self._return_orphans()

    def _return_orphans(self) -> None:
        # The last one that is given back comes first.
        while self._orphans:
            ticket = self._orphans[-1]
            try:
                self._done(ticket, abi.DONE_RETURN)
            except Error:
                pass
            try:
                self._orphans.remove(ticket)
            except ValueError:
                pass

    def _undo_get(self, items: Sequence[Item]) -> None:
        for item in reversed(items):
            try:
                item.give_back()
            except Error:
                pass

    def __iter__(self) -> Iterator[Item]:
        return self

    def __next__(self) -> Item:
        try:
            return self.get()
        except ShutDown:
            raise StopIteration from None

    # ---- Finishing ----

    def done(self, item: int | Key, *, forget: bool = True) -> Finished:
        """Finishes an item that this handle holds, by its ticket or its key. Item.done() is the usual way."""
        return self._finish(item, abi.DONE_FORGET if forget else 0)

    def done_many(self, items: Iterable[Item], *, forget: bool = True) -> list[Finished]:
        """Finishes items of this handle in as few calls as possible. Returns the result of each.

        An error of one item leaves the others unaffected: BatchError comes at the end, and has all results.
        """
        outcome: list[Finished | Error] = []
        pending = list(items)
        for item in pending:
            if item.queue is not self:
                raise ValueError(f"{item!r} is not of this handle")
            item._check()
        for at in range(0, len(pending), abi.BATCH_MAX):
            chunk = pending[at:at + abi.BATCH_MAX]
            outcome += self._done_chunk(chunk, abi.DONE_FORGET if forget else 0)
        results = [result for result in outcome if isinstance(result, Finished)]
        if len(results) == len(outcome):
            return results
        first = next(failure for failure in outcome if isinstance(failure, Error))
        raise BatchError(first.errno or errno.EIO, f"{len(outcome) - len(results)} of {len(outcome)} items failed, "
                         f"the first one: {first.strerror}", self._label, outcome)

    def _done_chunk(self, items: Sequence[Item], flags: int) -> list[Finished | Error]:
        nr = len(items)
        entries_at = 8 * ((nr + 1) // 2)
        entries = b"".join([_pack_done_entry(item.ticket, 0, flags) for item in items])
        block = array("B", _UNTAKEN * nr + bytes(entries_at - 4 * nr) + entries)
        address, _ = block.buffer_info()
        self._call(abi.IOC_DONE, bytearray(_pack_batch_args(
            _BATCH_ARGS_SIZE, 0, address + entries_at, 0, address, 0, 0, nr, abi.DONE_ENTRY.size, 0)))
        outcome: list[Finished | Error] = []
        for item, result in zip(items, struct.unpack_from(f"={nr}i", block)):
            item._end = "finished" if result >= 0 else "lost" if result == -errno.ESTALE else ""
            outcome.append(_FINISHED[result] if result >= 0 else error(-result, self._label))
        return outcome

    def give_back(self, item: int | Key) -> Finished:
        """Returns an item that this handle holds, by its ticket or its key, as Item.give_back() does."""
        return self._finish(item, abi.DONE_RETURN)

    def bury(self, item: int | Key) -> Finished:
        """Makes an item that this handle holds a dead letter, by its ticket or its key, as Item.bury() does."""
        return self._finish(item, abi.DONE_DEAD)

    def extend(self, item: int | Key) -> None:
        """Begins the lease of an item again that this handle holds, by its ticket or its key."""
        if isinstance(item, int):
            self._extend(item)
            return
        raw = key_bytes(item)
        self._one(abi.IOC_EXTEND, abi.EXTEND_ENTRY.pack(0, len(raw), 0), raw)

    def _finish(self, item: int | Key, flags: int) -> Finished:
        if isinstance(item, int):
            if item < 1:
                raise ValueError(f"a ticket is at least 1, not {item}")
            return self._done(item, flags)
        raw = key_bytes(item)
        return _FINISHED[self._one(abi.IOC_DONE, abi.DONE_ENTRY.pack(0, len(raw), flags), raw)]

    def _done(self, ticket: int, flags: int) -> Finished:
        return _FINISHED[self._one(abi.IOC_DONE, _pack_done_entry(ticket, 0, flags))]

    def _extend(self, ticket: int) -> None:
        self._one(abi.IOC_EXTEND, abi.EXTEND_ENTRY.pack(ticket, 0, 0))

    def _note(self, ticket: int, note: bytes) -> None:
        """An extension with a note."""
        entry = _Entry(abi.EXTEND_ENTRY.pack(ticket, 0, abi.EXTEND_NOTE), b"", has_extra=True, note=note)
        result = self._add_batch([entry], 0, 0, abi.IOC_EXTEND)[0]
        if result == -errno.EOPNOTSUPP:
            raise error(errno.EOPNOTSUPP, self._label, None, "a note needs a queue that was created with values")
        if result < 0:
            raise error(-result, self._label)

    def forget(self, key: Key) -> int:
        """Sets the requeues of a key to 0. Returns what they were."""
        return self._key_call(abi.IOC_FORGET, key)

    def num_requeues(self, key: Key) -> int:
        """How often a key was retried since it was last forgotten."""
        return self._key_call(abi.IOC_REQUEUES, key)

    def remove(self, key: Key, *, revoke: bool = False, unchanged: int | None = None) -> State:
        """Takes a key out, whatever its state. Returns what it was; NotFound if the queue has no such key.

        revoke takes it from its worker, too: it is gone at once, and the worker's done raises Stale. unchanged is
        Listed.change of the key, as the queue's follower has read it. If the key has changed or was added since then,
        the call raises Changed, and the follower reads the key again. It needs a queue with changes.
        """
        flags = abi.REMOVE_REVOKE if revoke else 0
        if unchanged is None:
            return State(self._remove(key, flags))
        if not 0 <= unchanged < 2**64:
            raise ValueError(f"unchanged is the number of a change, not {unchanged}")
        try:
            return State(self._remove(key, flags | abi.REMOVE_UNCHANGED, unchanged))
        except Stale:
            raise error(errno.ESTALE, self._label, Changed, "the key has changed since") from None

    def _remove(self, key: Key, flags: int, change: int = 0) -> int:
        raw = key_bytes(key)
        return self._one(abi.IOC_REMOVE, abi.REMOVE_ENTRY.pack(len(raw), flags, change), raw)

    def drop(self, key: Key) -> None:
        """Takes a dead letter out; NotFound if the key is none."""
        self._remove(key, abi.REMOVE_DEAD)

    # ---- The queue as a whole ----

    def __len__(self) -> int:
        """How many keys are ready."""
        return self._call(abi.IOC_LEN, 0)

    def __bool__(self) -> bool:
        """True: a queue without ready keys is still a queue."""
        return True

    def __contains__(self, key: Key) -> bool:
        """Whether the key is ready, waiting, being processed or dead."""
        found = self.find(key)
        return found is not None and found.state != State.REMEMBERED

    @property
    def shutting_down(self) -> bool:
        """Whether the queue is shut down."""
        return bool(self._call(abi.IOC_SHUTTING_DOWN, 0))

    def shut_down(self) -> None:
        """Refuses all later adds, and drops waiting times and dead letters. Ready keys are still handed out."""
        self._call(abi.IOC_SHUT_DOWN, bytearray(abi.SHUT_DOWN_ARGS.pack(abi.SHUT_DOWN_ARGS.size, 0)))

    def drain(self, timeout: Seconds | None = None) -> None:
        """Shuts the queue down, and waits until nothing is ready or being processed, by anybody.

        Raises TimedOut, or DrainEnded if somebody calls shut_down() meanwhile.
        """
        flags, deadline = 0, abi.NO_DEADLINE
        if timeout is not None:
            flags, deadline = abi.DRAIN_RELATIVE, nanoseconds(timeout, "timeout")
        self._call(abi.IOC_DRAIN, bytearray(abi.DRAIN_ARGS.pack(abi.DRAIN_ARGS.size, flags, deadline, 0, 0)))

    def pause(self, seconds: Seconds | None = None) -> None:
        """Hands nothing out until resume(), or for some time. A second pause takes the place of the first."""
        flags = 0 if seconds is None else abi.PAUSE_FOR
        span = 0 if seconds is None else nanoseconds(seconds, "seconds")
        self._call(abi.IOC_PAUSE, bytearray(abi.PAUSE_ARGS.pack(abi.PAUSE_ARGS.size, flags, span)))

    def resume(self) -> None:
        """Ends a pause."""
        self._call(abi.IOC_RESUME, bytearray(abi.RESUME_ARGS.pack(abi.RESUME_ARGS.size, 0)))

    def bpf_token(self) -> int:
        """A random number, by which BPF programs name the queue in bpf_kwq_add() and bpf_kwq_add_value().

        Whoever knows it may add keys, until this handle is closed. All calls return the same number. It raises OSError
        with EOPNOTSUPP on a kernel that has not what BPF programs need.
        """
        args = bytearray(abi.BPF_ARGS.pack(abi.BPF_ARGS.size, 0, 0))
        self._call(abi.IOC_BPF, args)
        _, _, token = abi.BPF_ARGS.unpack(args)
        return int(token)

    def set_term(self, seconds: Seconds | None = None, *, at: Seconds | None = None) -> None:
        """Ends all hand-outs after some time, or at a time on the queue's clock, unless it is called again before.

        From then on the queue hands nothing out, takes back what is handed out, and refuses later dones. So a manager
        that may be stopped calls this again and again. A later term ends all that. Without arguments hand-outs have no
        end, as at first. 0 ends them now. If the old or the new term is over, all is taken back before this returns.
        """
        if seconds is not None and at is not None:
            raise ValueError("seconds and at= exclude each other")
        flags, until = 0, abi.NO_DEADLINE
        if seconds is not None:
            flags, until = abi.TERM_RELATIVE, nanoseconds(seconds, "seconds")
        elif at is not None:
            until = nanoseconds(at, "at")
        self._call(abi.IOC_TERM, bytearray(abi.TERM_ARGS.pack(abi.TERM_ARGS.size, flags, until)))

    def configure(self, config: Config) -> None:
        """Sets the limiters and the retry rules."""
        packed, limiters = config.pack()
        self._call(abi.IOC_CONFIGURE, bytearray(packed))
        del limiters  # lives until here

    def config(self) -> Config:
        """The limiters and the retry rules."""
        limiters = array("B", bytes(abi.LIMITERS_MAX * abi.LIMITER.size))
        args = bytearray(abi.CONFIG.pack(
            abi.CONFIG.size, 0, 0, 0, 0, abi.LIMITERS_MAX, limiters.buffer_info()[0], abi.LIMITER.size, 0))
        self._call(abi.IOC_CONFIG, args)
        return unpack_config(args, limiters.tobytes())

    def stat(self) -> Stat:
        """The state and the counters."""
        return _stat_of(self.fileno(), self._label)

    def check_owner(self) -> None:
        """Raises Forbidden unless the caller's effective user or root has created the queue.

        Everybody who may use /dev/kwq can create a queue of a name that is free, and read, change or take out what
        others add to it then. So a program that makes a queue unless it exists asks this before it trusts one that
        exists. create() with or_open does so itself, and open() does not, because a program may mean the queue of
        another user.
        """
        if self.stat().uid not in (0, os.geteuid()):
            raise error(errno.EPERM, self._label,
                        text="another user has created the queue, and can do anything with its keys")

    def now(self) -> float:
        """The time on the queue's clock, in seconds, as at= of add() takes it."""
        return from_ns(self._now_ns())

    def _now_ns(self) -> int:
        if self._clock == Clock.MANUAL:
            return round(self.stat().now * 1e9)
        return time.clock_gettime_ns(self._clock)

    def advance(self, seconds: Seconds) -> None:
        """Moves a manual clock on. Afterwards all keys that are due are ready."""
        self._advance(0, nanoseconds(seconds, "seconds"))

    def advance_to(self, when: Seconds) -> None:
        """Moves a manual clock on to a time."""
        self._advance(abi.ADVANCE_TO, nanoseconds(when, "time"))

    def _advance(self, flags: int, span: int) -> None:
        self._call(abi.IOC_ADVANCE, bytearray(abi.ADVANCE_ARGS.pack(abi.ADVANCE_ARGS.size, flags, span)))

    def unlink(self, *, shut_down: bool = False, empty: bool = False) -> None:
        """Removes the name of the queue. The queue itself ends with its last handle.

        shut_down also shuts the queue down, so that no producer goes on adding to a queue that nobody can open. With
        empty a queue that has keys keeps its name: NotEmpty.
        """
        stat = self.stat()
        if stat.name is None:
            raise error(errno.EINVAL, None, InvalidArgument, "an unnamed queue has no name to remove")
        if stat.unlinked:
            raise error(errno.ENOENT, self._label, NotFound, "the name was removed already")
        if empty:
            _check_empty(stat)
        if shut_down:
            self.shut_down()
            if empty:
                _check_empty(self.stat())
        unlink(stat.name)

    # ---- Looking inside ----

    def items(self, states: State = State.ALL, *, values: bool = False) -> Iterator[Listed]:
        """Lists the keys that have one of the states, in pages, in no order; sorted() with Listed.sort_key sorts them.

        The queue works meanwhile. A key that has one of the states all the time is listed exactly once. values fetches
        the values and the notes, too.
        """
        after = 0
        flags = _LIST_BOTH if values else 0
        room = _NOTE_ROOM if values else _KEY_ROOM + _PAGE * _ROOM_EACH
        while True:
            page, after = self._page(flags, after, states, b"", _PAGE, room)
            yield from page
            if not after:
                return

    def find(self, key: Key, *, value: bool = False) -> Listed | None:
        """The state of one key, with its value and its note if value is true; None if the queue does not know it."""
        try:
            page, _ = self._page(abi.LIST_KEY | (_LIST_BOTH if value else 0), 0, State.ALL, key_bytes(key), 1,
                                 _NOTE_ROOM if value else _KEY_ROOM)
        except NotFound:
            return None
        return page[0] if page else None

    def _page(self, flags: int, after: int, states: State, key: bytes, nr: int, room: int) -> tuple[list[Listed], int]:
        entries_size = nr * abi.LISTED.size
        block = array("B", bytes(entries_size + room) + key)
        address = block.buffer_info()[0]
        args = bytearray(abi.LIST_ITEMS_ARGS.pack(
            abi.LIST_ITEMS_ARGS.size, flags, after, states, len(key), address + entries_size + room if key else 0,
            address, address + entries_size, 0, 0, room, nr, abi.LISTED.size, 0))
        count = self._call(abi.IOC_LIST_ITEMS, args)
        data = block[entries_size:entries_size + room].tobytes()
        page, at = [], 0
        for index in range(count):
            raw = block[index * abi.LISTED.size:(index + 1) * abi.LISTED.size].tobytes()
            listed, at = unpack_listed(raw, data, at, bool(flags & abi.LIST_VALUES))
            page.append(listed)
        return page, struct.unpack_from("=Q", args, abi.LIST_ITEMS_ARGS.offsets["after"])[0]

    def dead(self, *, values: bool = False) -> list[Listed]:
        """The dead letters, the oldest death first. values fetches their values, and their notes, which say why."""
        return sorted(self.items(State.DEAD, values=values), key=lambda item: item.sort_key)

    # ---- Changes ----

    def follow(self) -> Follower:
        """Lets this handle follow the changes of the queue: see Follower. Raises Busy if a handle follows already."""
        args = bytearray(abi.FOLLOW_ARGS.pack(abi.FOLLOW_ARGS.size, 0, 0))
        self._call(abi.IOC_FOLLOW, args)
        follower = Follower(self, struct.unpack_from("=Q", args, abi.FOLLOW_ARGS.offsets["number"])[0])
        self._followers.add(follower)
        return follower

    def sync(self, timeout: Seconds | None = None) -> None:
        """Waits until the follower has kept all changes so far: see Follower.keep(). Raises TimedOut.

        This is os.fsync() for a queue. Without a follower it waits for one.
        """
        flags, deadline = 0, abi.NO_DEADLINE
        if timeout is not None:
            flags, deadline = abi.SYNC_RELATIVE, nanoseconds(timeout, "timeout")
        self._sync(flags, deadline)

    def _sync(self, flags: int, deadline: int) -> None:
        self._call(abi.IOC_SYNC, bytearray(abi.SYNC_ARGS.pack(abi.SYNC_ARGS.size, flags, deadline, 0)))

    # ---- asyncio ----

    async def aget(self, timeout: Seconds | None = None, *, on_error: OnError | None = None) -> Item:
        """get() for asyncio. A cancelled wait loses no item and no wake-up.

        A timeout is on the clock of the event loop.
        """
        return (await self._afetch(1, timeout, on_error))[0]

    async def aget_many(self, count: int, timeout: Seconds | None = None, *, on_error: OnError | None = None
                        ) -> list[Item]:
        """get_many() for asyncio."""
        if count < 1:
            raise ValueError(f"count is at least 1, not {count}")
        return await self._afetch(min(count, abi.BATCH_MAX), timeout, on_error)

    async def _afetch(self, nr: int, timeout: Seconds | None, on_error: OnError | None) -> list[Item]:
        span = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))
        reader = self._side(0)
        if not reader.busy or span == 0:
            # Other tasks have a turn, and a cancel takes effect, even if items are always ready.
            await asyncio.sleep(0)
        if not reader.busy or span == 0:
            try:
                return self._fetch(nr, 0, on_error)
            except Empty:
                if span == 0:
                    raise
        return await reader.wait(
            lambda: self._fetch(nr, 0, on_error), span,
            lambda: error(errno.ETIMEDOUT, self._label, Empty, "nothing was ready in time"), self._undo_get)

    async def aadd(self, key: Key, *, delay: Seconds | None = None, at: Seconds | None = None,
                   mode: Mode = Mode.EARLIER, priority: int | None = None, rate_limited: bool = False,
                   value: Key | None = None, keep_value: bool = False, group: Key | None = None,
                   debounce: Seconds | None = None, end_wait: bool = False, note: Key | None = None,
                   timeout: Seconds | None = None) -> Added:
        """add() for asyncio. It waits for room by default, for ever; add() itself never waits without a timeout.

        If it is cancelled the key may have been added all the same. Adds of blocked threads may overtake it.
        """
        entry = _entry_of(key, delay, at, mode, priority, rate_limited, value, keep_value, group, debounce, end_wait,
                          note)
        span = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))

        def attempt() -> Added:
            # With a deadline of now the kernel tells "no room now" from "never".
            return self._added(self._add_batch([entry], abi.ADD_WAIT | abi.ADD_RELATIVE, 0)[0])

        writer = self._side(1)
        if not writer.busy or span == 0:
            try:
                return attempt()
            except Full as full:
                if full.errno != errno.ETIMEDOUT or span == 0:
                    raise
        return await writer.wait(
            attempt, span,
            lambda: error(errno.ETIMEDOUT, self._label, Full, "the queue was full for all of the time"), lambda _: None)

    async def adrain(self, timeout: Seconds | None = None) -> None:
        """drain() for asyncio, except that a shut_down() by somebody else does not end it.

        While keys are ready it looks for the end at least every 50 ms. While others only finish theirs it sleeps.
        """
        span = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))
        loop = asyncio.get_running_loop()
        end = None if span is None else loop.time() + span
        look = _FIRST_LOOK
        # A handle that holds nothing is readable if a key is ready, and at the end.
        with self.reopen(rights=self._rights & Rights.READ | Rights.MANAGE) as watcher:
            poller = select.poll()
            poller.register(watcher, select.POLLIN)
            while True:
                try:
                    watcher.drain(0)
                    return
                except TimedOut:
                    left = None if end is None else end - loop.time()
                    if left is not None and left <= 0:
                        raise
                if not Rights.READ & self._rights or any(event & select.POLLIN for _, event in poller.poll(0)):
                    await asyncio.sleep(look if left is None else min(look, left))
                    look = min(look * 2, _LONGEST_LOOK)
                else:
                    await _readable(loop, watcher.fileno(), left)

    async def async_sync(self, timeout: Seconds | None = None) -> None:
        """sync() for asyncio. It looks for the end at least every 50 ms."""
        span = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))
        loop = asyncio.get_running_loop()
        end = None if span is None else loop.time() + span
        look = _FIRST_LOOK
        number = self.stat().last_change
        while True:
            try:
                self._sync(0, 0)
                return
            except TimedOut:
                stat = self.stat()
                # It waits for no later change. Those of an outbox only a sync sees.
                if stat.kept >= number and not stat.has_outbox:
                    return
                left = None if end is None else end - loop.time()
                if left is not None and left <= 0:
                    raise
            await asyncio.sleep(look if left is None else min(look, left))
            look = min(look * 2, _LONGEST_LOOK)

    def __aiter__(self) -> Queue:
        return self

    async def __anext__(self) -> Item:
        try:
            return await self.aget()
        except ShutDown:
            raise StopAsyncIteration from None

    def _side(self, index: int) -> Side:
        loop = asyncio.get_running_loop()
        fd = self.fileno()
        sides = self._sides.get(loop)
        if sides is None:
            sides = self._sides.setdefault(loop, (Side(fd, True), Side(fd, False)))
        return sides[index]


# A batch that a get does not have.
_ABSENT = (0,) * 8


def _tickets(block: array[int], nr: int) -> list[int]:
    """The hand-outs that the kernel has written into the memory of a get."""
    tickets = [struct.unpack_from("=Q", block, index * abi.GOT.size)[0] for index in range(nr)]
    return [ticket for ticket in tickets if ticket]


def _reopen(fd: int, rights: int, name: str | None, flags: int = 0) -> int:
    args = bytearray(abi.OPEN_ARGS.pack(abi.OPEN_ARGS.size, os.O_CLOEXEC | flags, rights, 0, b""))
    try:
        return ioctl(fd, abi.IOC_OPEN, args)
    except OSError as failure:
        if failure.errno == errno.EBADF:
            raise error(errno.EBADF, name, Closed, f"descriptor {fd} is not open") from None
        raise error(failure.errno or errno.EIO, name) from None


def _stat_of(fd: int, name: str | None = None) -> Stat:
    args = bytearray(abi.STAT.size)
    struct.pack_into("=I", args, 0, abi.STAT.size)
    try:
        ioctl(fd, abi.IOC_STAT, args)
    except OSError as failure:
        raise error(failure.errno or errno.EIO, name) from None
    return unpack_stat(args)


def _check_empty(stat: Stat) -> None:
    keys = ", ".join(f"{getattr(stat, state)} {state}" for state in ("ready", "waiting", "processing", "dead")
                     if getattr(stat, state))
    if keys:
        raise error(errno.ENOTEMPTY, stat.name, NotEmpty, f"the queue has keys, which would be lost: {keys}")


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _readable(loop: asyncio.AbstractEventLoop, fd: int, timeout: float | None) -> None:
    """Waits until a descriptor is readable, or for the time."""
    ready = asyncio.Event()
    loop.add_reader(fd, ready.set)
    try:
        await asyncio.wait_for(ready.wait(), timeout)
    except asyncio.TimeoutError:
        pass
    finally:
        loop.remove_reader(fd)
