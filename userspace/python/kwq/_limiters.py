# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Limiters: how long a key waits for its next try."""
from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import Union

from . import _abi as abi
from ._values import Seconds, from_ns, limit_ns, nanoseconds


@dataclass(frozen=True)
class Exponential:
    """The delay is base * 2 ** requeues, at most max."""

    base: Seconds = 0.005
    max: Seconds = 1000

    def pack(self) -> bytes:
        return abi.LIMITER.pack(abi.LIMITER_EXPONENTIAL, 0, abi.EXPONENTIAL.pack(
            nanoseconds(self.base, "base"), nanoseconds(self.max, "max")))


@dataclass(frozen=True)
class FastSlow:
    """The delay is fast for the first tries requeues of a key, then slow."""

    fast: Seconds
    slow: Seconds
    tries: int

    def pack(self) -> bytes:
        return abi.LIMITER.pack(abi.LIMITER_FAST_SLOW, 0, abi.FAST_SLOW.pack(
            nanoseconds(self.fast, "fast"), nanoseconds(self.slow, "slow"), _count(self.tries, "tries"), 0))


@dataclass(frozen=True)
class Bucket:
    """A bucket holds up to burst tokens, and gets events new ones each period. A retry takes one, or waits for it."""

    events: int = 10
    burst: int = 100
    period: Seconds = 1

    def pack(self) -> bytes:
        return abi.LIMITER.pack(abi.LIMITER_BUCKET, 0, abi.BUCKET.pack(
            nanoseconds(self.period, "period"), _count(self.events, "events"), _count(self.burst, "burst")))


@dataclass(frozen=True)
class Backoff:
    """Pauses that grow by a factor, for some steps or up to a cap. jitter is the largest random part of a pause."""

    duration: Seconds
    factor: float = 2.0
    jitter: float = 0.0
    steps: int = abi.LIMITER_STEPS_MAX
    cap: Seconds | None = None

    def pack(self) -> bytes:
        return abi.LIMITER.pack(abi.LIMITER_BACKOFF, 0, abi.BACKOFF.pack(
            nanoseconds(self.duration, "duration"), limit_ns(self.cap, "cap"),
            _fixed(self.factor, "factor") or 1, _fixed(self.jitter, "jitter"), _count(self.steps, "steps"), 0))


Limiter = Union[Exponential, FastSlow, Bucket, Backoff]


@dataclass(frozen=True)
class Config:
    """How a queue limits retries. Of several limiters the longest delay counts."""

    #: Empty for client-go's default: Exponential() and Bucket().
    limiters: tuple[Limiter, ...] = ()
    #: No delay of the limiters is longer.
    max_wait: Seconds | None = None
    #: A key that is idle for so long loses its count of requeues.
    forget_after: Seconds | None = None
    #: After so many requeues the next retry makes the key a dead letter.
    dead_after: int | None = None
    #: After so many losses without a done the key is a dead letter.
    dead_after_lost: int | None = None
    #: Retries of waiting keys take no token and raise no count.
    coalesce: bool = False

    def pack(self) -> tuple[bytes, array[int]]:
        """The structure, and the array at the address in it."""
        if len(self.limiters) > abi.LIMITERS_MAX:
            raise ValueError(f"a queue has up to {abi.LIMITERS_MAX} limiters, not {len(self.limiters)}")
        limiters = array("B", b"".join(limiter.pack() for limiter in self.limiters))
        nr = len(self.limiters)
        return abi.CONFIG.pack(
            abi.CONFIG.size, abi.CONFIG_COALESCE if self.coalesce else 0, limit_ns(self.max_wait, "max_wait"),
            limit_ns(self.forget_after, "forget_after"), _limit(self.dead_after, "dead_after"), nr,
            limiters.buffer_info()[0] if nr else 0, abi.LIMITER.size if nr else 0,
            _limit(self.dead_after_lost, "dead_after_lost")), limiters


def unpack_limiter(raw: bytes) -> Limiter:
    """A limiter that the kernel has filled in."""
    kind, _, u = abi.LIMITER.unpack(raw)
    if kind == abi.LIMITER_EXPONENTIAL:
        base, longest = abi.EXPONENTIAL.unpack_from(u)
        return Exponential(from_ns(base), from_ns(longest))
    if kind == abi.LIMITER_FAST_SLOW:
        fast, slow, tries, _ = abi.FAST_SLOW.unpack_from(u)
        return FastSlow(from_ns(fast), from_ns(slow), tries)
    if kind == abi.LIMITER_BUCKET:
        period, events, burst = abi.BUCKET.unpack_from(u)
        return Bucket(events, burst, from_ns(period))
    if kind == abi.LIMITER_BACKOFF:
        duration, cap, factor, jitter, steps, _ = abi.BACKOFF.unpack_from(u)
        return Backoff(from_ns(duration), (factor or abi.ONE) / abi.ONE, jitter / abi.ONE, steps,
                       from_ns(cap) if cap else None)
    raise ValueError(f"this version of the package does not know limiters of kind {kind}")


def unpack_config(raw: bytes | bytearray, limiters: bytes) -> Config:
    """A configuration that the kernel has filled in."""
    _, flags, max_wait, forget_after, dead_after, nr, _, _, dead_after_lost = abi.CONFIG.unpack(raw)
    size = abi.LIMITER.size
    return Config(
        tuple(unpack_limiter(limiters[at * size:(at + 1) * size]) for at in range(nr)),
        from_ns(max_wait) if max_wait else None, from_ns(forget_after) if forget_after else None,
        dead_after or None, dead_after_lost or None, bool(flags & abi.CONFIG_COALESCE))


def _count(number: int, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise TypeError(f"{what} is an int, not {type(number).__name__}")
    if not 0 <= number < 2**32:
        raise ValueError(f"{what} is from 0 to 2**32 - 1, not {number}")
    return number


def _limit(number: int | None, what: str) -> int:
    if number is None:
        return 0
    if not _count(number, what):
        raise ValueError(f"{what} is 0: use None for never")
    return number


def _fixed(number: float, what: str) -> int:
    if not 0 <= number < 2**16:
        raise ValueError(f"{what} is from 0 to 65536, not {number!r}")
    return round(number * abi.ONE)
