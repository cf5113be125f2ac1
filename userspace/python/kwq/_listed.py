# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""All that a listing shows of a key, and that a restore puts back."""
from __future__ import annotations

from dataclasses import dataclass

from . import _abi as abi
from ._values import State, from_ns, key_text, nanoseconds

# The order of the states in a sorted list, as kwq keys has it.
_RANKS = {abi.IS_PROCESSING: 0, abi.IS_READY: 1, abi.IS_WAITING: 2, abi.IS_DEAD: 3}


@dataclass(frozen=True)
class Listed:
    """One key in a listing. Durations are in seconds, and 0 where they do not apply.

    dirty_for, processing_for and dead_for are None if the queue does not know them: it measures no durations.
    """

    key: bytes
    state: State = State.READY
    priority: int = 0
    group: bytes = b""
    #: None if the listing was to leave the values out.
    value: bytes | None = None
    value_len: int = 0
    #: A worker has said this of the key: why its last run failed, for example. None if the listing left values out.
    note: bytes | None = None
    note_len: int = 0
    requeues: int = 0
    abandoned: int = 0
    #: The process that works on the key, 0 if it cannot be seen.
    pid: int = 0
    #: The priority of the next run, if the key is dirty.
    next_priority: int = 0
    #: The priority that a waiting key will have; None if the add named none.
    wait_priority: int | None = None
    dirty_for: float | None = 0
    processing_for: float | None = 0
    waiting_for: float = 0
    due_in: float = 0
    dead_for: float | None = 0
    lease_left: float = 0
    order: int = 0
    order_of: State = State(0)
    #: The number of its first change that the follower has not read, else of the last one. 0 without changes.
    change: int = 0
    #: A number that the queue's manager gave with the key for the next get, by a restore: see Item.token. A key that is
    #: gone has that of its last one. 0 for none, and without changes.
    token: int = 0

    @property
    def text(self) -> str:
        """The key as text."""
        return key_text(self.key)

    @property
    def gone(self) -> bool:
        """Whether the key is no longer in the queue: only among changes."""
        return not self.state

    @property
    def sort_key(self) -> tuple[int, int, int, int]:
        """Sorts a listing as `kwq keys` does: processing, ready as they will be handed out, waiting, dead."""
        rank = _RANKS.get(self.order_of, 4)
        if rank != 1:
            return rank, 0, 0, self.order
        return rank, -self.priority, 0 if self.state & State.RETURNED else 1, self.order


def age_from_ns(ns: int) -> float | None:
    """An age in seconds, None if the queue does not know it."""
    return None if ns == abi.AGE_UNKNOWN else from_ns(ns)


def unpack_listed(raw: bytes, data: bytes, at: int, with_values: bool) -> tuple[Listed, int]:
    """An entry of a listing, with or without its value and note. Its key begins at an offset of data.

    Returns also the end of what it has there.
    """
    (order, dirty_for, processing_for, waiting_for, due_in, dead_for, lease_left, state, order_of, key_len, group_len,
     value_len, note_len, priority, next_priority, wait_priority, requeues, abandoned, pid, change,
     token) = abi.LISTED.unpack(raw)
    group_at = at + key_len
    value_at = group_at + group_len
    note_at = value_at + (value_len if with_values else 0)
    end = note_at + (note_len if with_values else 0)
    return Listed(
        key=data[at:group_at], state=State(state), priority=priority, group=data[group_at:value_at],
        value=data[value_at:note_at] if with_values else None, value_len=value_len,
        note=data[note_at:end] if with_values else None, note_len=note_len, requeues=requeues, abandoned=abandoned,
        pid=pid, next_priority=next_priority,
        wait_priority=wait_priority if state & abi.IS_WAITING and wait_priority != abi.PRIORITY_NONE else None,
        dirty_for=age_from_ns(dirty_for), processing_for=age_from_ns(processing_for), waiting_for=from_ns(waiting_for),
        due_in=from_ns(due_in), dead_for=age_from_ns(dead_for), lease_left=from_ns(lease_left), order=order,
        order_of=State(order_of), change=change, token=token), end


def pack_restored(item: Listed, flags: int) -> bytes:
    """The entry of a restore. It leaves out what the state does not have."""
    state = int(item.state)
    waiting = bool(state & abi.IS_WAITING)
    ready = bool(state & (abi.IS_READY | abi.IS_PROCESSING))
    if not waiting:
        wait_priority = 0
    elif item.wait_priority is None:
        wait_priority = abi.PRIORITY_NONE
    else:
        wait_priority = item.wait_priority

    def span(seconds: float, has_it: bool, what: str) -> int:
        return nanoseconds(seconds, what) if has_it else 0

    def age(seconds: float | None, has_it: bool, what: str) -> int:
        return abi.AGE_UNKNOWN if seconds is None and has_it else span(seconds or 0, has_it, what)

    return abi.RESTORE_ENTRY.pack(
        len(item.key), flags, state, item.priority, wait_priority, item.requeues, item.abandoned, 0,
        age(item.dirty_for, ready, "dirty_for"), span(item.waiting_for, waiting, "waiting_for"),
        span(item.due_in, waiting, "due_in"), age(item.dead_for, bool(state & abi.IS_DEAD), "dead_for"))
