# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The state and the counters of a queue."""
from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from . import _abi as abi
from ._values import Clock, field_name, from_ns

_BOUNDS = tuple(10.0 ** power for power in range(-6, 4)) + (float("inf"),)

# The members of the structure that are the same here, and those that are in ns there.
_COUNTS = (
    "uid", "gid", "mode", "handles", "max_items", "max_bytes", "ready", "waiting", "processing", "dirty", "dead",
    "remembered", "items", "bytes", "values", "groups", "blocked", "adds", "coalesced", "gets", "dones", "abandoned",
    "posted", "refused", "expired", "returned", "removed", "dropped", "retries", "rate_limited", "died", "id",
    "last_change", "kept", "unread", "getters")
_AGES = ("oldest_waiting", "oldest_dead")
_DURATIONS = ("oldest_ready", "longest_running", "unfinished")


@dataclass(frozen=True)
class Histogram:
    """Counts of durations: counts[n] of those up to bounds[n] seconds and above bounds[n - 1]."""

    sum: float
    counts: tuple[int, ...]
    bounds: tuple[float, ...] = _BOUNDS

    @property
    def count(self) -> int:
        """How many durations there were."""
        return sum(self.counts)


@dataclass(frozen=True)
class Stat:
    """A queue's state and counters. Durations and ages are in seconds; kwq(4) explains each member."""

    name: str | None
    shut_down: bool
    unlinked: bool
    paused: bool
    #: None until it is resumed, 0 if it is not paused.
    paused_for: float | None
    #: The queue hands nothing out, as its term is over.
    term_over: bool
    #: When all hand-outs end, on the queue's clock. None for never.
    term: float | None
    uid: int
    gid: int
    mode: int
    clock: Clock
    handles: int
    has_values: bool
    has_groups: bool
    has_durations: bool
    has_changes: bool
    has_sync: bool
    #: Adds go to another queue.
    has_outbox: bool
    #: None for no lease.
    lease: float | None
    aging: float | None
    group_limit: int | None
    max_items: int
    max_bytes: int
    now: float

    ready: int
    waiting: int
    processing: int
    dirty: int
    dead: int
    remembered: int
    items: int
    bytes: int
    values: int
    groups: int
    blocked: int

    adds: int
    coalesced: int
    #: Adds that programs of libkwq answered by the board, as far as they have told.
    posted: int
    #: Adds of drivers that were refused.
    refused: int
    gets: int
    dones: int
    abandoned: int
    expired: int
    returned: int
    removed: int
    dropped: int
    retries: int
    rate_limited: int
    died: int

    #: A random number, different in each queue of this and of all other boots. 0 in a queue without changes.
    id: int
    #: The number of the last change, and that up to which all are kept.
    last_change: int
    kept: int
    #: Changed keys that the follower has not read, or may read again. Those that are gone count in items.
    unread: int
    followed: bool
    #: Gets that wait. With changes also handles whose last get or poll found nothing.
    getters: int

    oldest_waiting: float
    oldest_dead: float
    #: These three are None in a queue without durations.
    oldest_ready: float | None
    longest_running: float | None
    unfinished: float | None
    queue_duration: Histogram
    work_duration: Histogram
    lateness: Histogram


def _histogram(raw: bytes) -> Histogram:
    low, high, counts = abi.HISTOGRAM.unpack(raw)
    return Histogram((high << 64 | low) / 1e9, struct.unpack(f"={abi.HISTOGRAM_BUCKETS}Q", counts))


def unpack_stat(raw: bytes | bytearray) -> Stat:
    """The structure that the kernel has filled in."""
    s = dict(zip(abi.STAT.offsets, abi.STAT.unpack(raw)))
    has_durations = not s["create_flags"] & abi.CREATE_NO_DURATIONS
    members: dict[str, Any] = {name: s[name] for name in _COUNTS} | {name: from_ns(s[name]) for name in _AGES}
    members |= {name: from_ns(s[name]) if has_durations else None for name in _DURATIONS}
    return Stat(
        name=field_name(s["name"]) or None,
        shut_down=bool(s["state"] & abi.STATE_SHUT_DOWN),
        unlinked=bool(s["state"] & abi.STATE_UNLINKED),
        paused=bool(s["state"] & abi.STATE_PAUSED),
        paused_for=None if s["paused_for"] == abi.NO_DEADLINE else from_ns(s["paused_for"]),
        term_over=bool(s["state"] & abi.STATE_TERM_OVER),
        term=None if s["term"] == abi.NO_DEADLINE else from_ns(s["term"]),
        clock=Clock(s["clockid"]),
        has_values=bool(s["create_flags"] & abi.CREATE_VALUES),
        has_groups=bool(s["create_flags"] & abi.CREATE_GROUPS),
        has_durations=has_durations,
        has_changes=bool(s["create_flags"] & abi.CREATE_CHANGES),
        has_sync=bool(s["create_flags"] & abi.CREATE_SYNC),
        has_outbox=bool(s["create_flags"] & abi.CREATE_OUTBOX),
        followed=bool(s["followers"]),
        lease=from_ns(s["lease"]) if s["lease"] else None,
        aging=from_ns(s["aging"]) if s["aging"] else None,
        group_limit=s["group_limit"] or None,
        now=from_ns(s["now"]),
        queue_duration=_histogram(s["queue_duration"]),
        work_duration=_histogram(s["work_duration"]),
        lateness=_histogram(s["lateness"]),
        **members)
