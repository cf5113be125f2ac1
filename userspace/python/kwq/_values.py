# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Results, states and rights, and the conversions of keys and times."""
from __future__ import annotations

import enum
import math
import os
from datetime import timedelta
from typing import Union

from . import _abi as abi

Key = Union[bytes, bytearray, memoryview, str]
Seconds = Union[int, float, timedelta]

# No delay, time or lease of the device is longer.
_LONGEST = 2**63 - 1


class Added(enum.IntEnum):
    """The result of an add."""

    ADDED = abi.ADDED                  # the key is ready
    COALESCED = abi.COALESCED          # it was ready already; a delayed add: it was waiting already
    DIRTIED = abi.DIRTIED              # it is being processed, and its done makes it ready again
    WAITING = abi.WAITING              # it waits for its time
    DEAD = abi.DEAD                    # a retry: the key is a dead letter, now or at its done
    DIRTY = abi.DIRTY                  # it is being processed, and had been added again before
    RESTORED = abi.RESTORED            # restore() only: the key is as it was


class Finished(enum.IntFlag):
    """The result of a done, a bury or a give back. 0: nothing is left to do."""

    REQUEUED = abi.REQUEUED            # the key was added meanwhile, and is ready again
    STILL_WAITING = abi.STILL_WAITING  # it waits for a time
    BURIED = abi.BURIED                # it is a dead letter
    RETURNED = abi.RETURNED            # it is ready again, as before the get


class State(enum.IntFlag):
    """The states of a key. A waiting key can have another state as well."""

    READY = abi.IS_READY
    WAITING = abi.IS_WAITING
    PROCESSING = abi.IS_PROCESSING
    DIRTY = abi.IS_DIRTY               # added during the work
    DEAD = abi.IS_DEAD
    REMEMBERED = abi.IS_REMEMBERED     # idle, and kept for its requeues
    RETURNED = abi.IS_RETURNED         # ready, and ahead: it lost its holder
    DYING = abi.IS_DYING               # processing, and dead at its done

    ALL = READY | WAITING | PROCESSING | DEAD | REMEMBERED


class Rights(enum.IntFlag):
    """The rights of a handle."""

    READ = abi.RIGHT_READ              # get, done, forget, list
    WRITE = abi.RIGHT_WRITE            # add
    MANAGE = abi.RIGHT_MANAGE          # remove, configure, pause, shut down, drain

    ALL = READ | WRITE | MANAGE


class Clock(enum.IntEnum):
    """The clock of a queue."""

    MONOTONIC = 1                      # CLOCK_MONOTONIC: time asleep does not count
    BOOTTIME = 7                       # CLOCK_BOOTTIME: time asleep counts
    MANUAL = abi.CLOCK_ID_MANUAL       # for tests: only advance() moves it


class Mode(enum.IntEnum):
    """The time of a key that is waiting already, after another delayed add."""

    EARLIER = 0
    REPLACE = abi.ADD_REPLACE          # the new time
    KEEP = abi.ADD_KEEP                # the old time
    LATER = abi.ADD_LATER              # the later time


def key_bytes(key: Key, what: str = "a key") -> bytes:
    """A key as bytes: text becomes UTF-8, with lone surrogates for other bytes as in file names."""
    if isinstance(key, bytes):
        return key
    if isinstance(key, str):
        return key.encode("utf-8", "surrogateescape")
    if isinstance(key, (bytearray, memoryview)):
        return bytes(key)
    raise TypeError(f"{what} is bytes or str, not {type(key).__name__}")


def note_bytes(note: Key) -> bytes:
    """A note as bytes."""
    raw = key_bytes(note, "a note")
    if len(raw) > abi.NOTE_MAX:
        raise ValueError(f"a note has up to {abi.NOTE_MAX} bytes, not {len(raw)}: shorten it")
    return raw


def key_text(key: bytes) -> str:
    """The key as text. key_bytes() of it gives the same bytes, whatever they are."""
    return key.decode("utf-8", "surrogateescape")


def nanoseconds(seconds: Seconds, what: str) -> int:
    """The time span in ns. Longer ones than the clock's 292 years mean its end."""
    if isinstance(seconds, timedelta):
        ns = seconds // timedelta(microseconds=1) * 1000
    elif isinstance(seconds, bool) or not isinstance(seconds, (int, float)):
        raise TypeError(f"{what} is a number of seconds or a timedelta, not {type(seconds).__name__}")
    elif isinstance(seconds, int):
        ns = seconds * 1_000_000_000
    elif math.isnan(seconds):
        raise ValueError(f"{what} is not a number")
    elif math.isinf(seconds * 1e9):
        ns = _LONGEST if seconds > 0 else -1
    else:
        ns = round(seconds * 1e9)
    if ns < 0:
        raise ValueError(f"{what} is negative: {seconds!r}")
    return min(ns, _LONGEST)


def limit_ns(seconds: Seconds | None, what: str) -> int:
    """A setting in which the device takes 0 for "never" or "no limit": None."""
    if seconds is None:
        return 0
    ns = nanoseconds(seconds, what)
    if not ns:
        raise ValueError(f"{what} is 0: use None for no {what}")
    return ns


def from_ns(ns: int) -> float:
    """ns as seconds."""
    return ns / 1e9


def name_field(name: str | bytes) -> bytes:
    """The name of a queue, for a structure."""
    raw = os.fsencode(name)
    if not 0 < len(raw) <= abi.NAME_MAX:
        raise ValueError(f"the name of a queue has 1 to {abi.NAME_MAX} bytes, not {len(raw)}")
    if b"/" in raw or b"\0" in raw:
        raise ValueError(f"the name of a queue has no slash and no NUL: {name!r}")
    return raw


def field_name(field: bytes) -> str:
    """The name in a structure."""
    return os.fsdecode(field.rstrip(b"\0"))
