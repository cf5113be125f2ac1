# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""asyncio without threads: tasks wait for the descriptor of a queue.

All waits of an event loop for one queue share one reader and one writer of the loop. The callback itself does the get
or the add, and hands the result to the first task. So no wake-up belongs to a task that may be cancelled, and none is
lost.
"""
from __future__ import annotations

import asyncio
import errno
from collections import deque
from typing import Any, Callable, Generic, Optional, TypeVar

from .errors import Empty, Error, Full, TimedOut

T = TypeVar("T")

# A key may find no room though the descriptor is writable, because the key is larger than the room. The next tries are
# this far apart, in seconds.
_FIRST_PAUSE, _LONGEST_PAUSE = 0.001, 0.1


class _Waiter(Generic[T]):
    def __init__(self, loop: asyncio.AbstractEventLoop, attempt: Callable[[], T]) -> None:
        self.future: asyncio.Future[T] = loop.create_future()
        self.attempt = attempt


class Side:
    """The tasks of one loop that wait for one direction of a queue."""

    # It does not refer to the loop, of which the queue has only a weak reference.
    def __init__(self, fd: int, reads: bool) -> None:
        self._fd = fd
        self._reads = reads
        self._waiters: deque[_Waiter[Any]] = deque()
        self._armed = False
        self._pause = _FIRST_PAUSE
        self._timer: Optional[asyncio.TimerHandle] = None

    @property
    def busy(self) -> bool:
        """Whether a task waits here. A newcomer must not overtake it."""
        return bool(self._waiters)

    async def wait(self, attempt: Callable[[], T], timeout: float | None, late: Callable[[], Error],
                   undo: Callable[[T], object]) -> T:
        """Waits until an attempt succeeds. If the task is cancelled with the result on its way, undo gets it."""
        loop = asyncio.get_running_loop()
        waiter: _Waiter[T] = _Waiter(loop, attempt)
        timer = None
        if timeout is not None:
            timer = loop.call_later(timeout, self._late, waiter, late)
        try:
            self._waiters.append(waiter)
            self._arm(loop)
            return await waiter.future
        except BaseException:
            if waiter.future.done() and not waiter.future.cancelled() and not waiter.future.exception():
                undo(waiter.future.result())
            raise
        finally:
            if timer:
                timer.cancel()
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            if not self._waiters:
                self._disarm(loop)

    def fail(self, loop: asyncio.AbstractEventLoop, make: Callable[[], Error]) -> None:
        """Ends all waits: the queue is being closed."""
        while self._waiters:
            waiter = self._waiters.popleft()
            if not waiter.future.done():
                waiter.future.set_exception(make())
        self._disarm(loop)

    def _late(self, waiter: _Waiter[T], late: Callable[[], Error]) -> None:
        if not waiter.future.done():
            waiter.future.set_exception(late())

    def _arm(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._armed or self._timer:
            return
        if self._reads:
            loop.add_reader(self._fd, self._ready)
        else:
            loop.add_writer(self._fd, self._ready)
        self._armed = True

    def _disarm(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._timer:
            self._timer.cancel()
            self._timer = None
        if not self._armed:
            return
        self._armed = False
        if self._reads:
            loop.remove_reader(self._fd)
        else:
            loop.remove_writer(self._fd)

    def _rest(self) -> None:
        """Tries again after a pause, and not at once as the descriptor says."""
        loop = asyncio.get_running_loop()
        self._disarm(loop)
        self._timer = loop.call_later(self._pause, self._rested)
        self._pause = min(self._pause * 2, _LONGEST_PAUSE)

    def _rested(self) -> None:
        self._timer = None
        if self._waiters:
            self._arm(asyncio.get_running_loop())

    def _ready(self) -> None:
        while self._waiters:
            waiter = self._waiters[0]
            if not waiter.future.done():
                try:
                    result = waiter.attempt()
                except Empty:
                    return
                except (Full, TimedOut) as full:
                    if full.errno == errno.ETIMEDOUT:
                        self._rest()
                        return
                    waiter.future.set_exception(full)
                except Exception as exception:  # pylint: disable=broad-except
                    waiter.future.set_exception(exception)
                else:
                    self._pause = _FIRST_PAUSE
                    waiter.future.set_result(result)
            self._waiters.popleft()
        self._disarm(asyncio.get_running_loop())
