# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A worker: calls a function for each key of a queue, for several at once, until it is told to stop."""
from __future__ import annotations

import asyncio
import inspect
import logging
import os
import queue as queues
import select
import signal
import socket
import threading
import time
from types import FrameType
from typing import Any, Awaitable, Callable, Union

from ._item import Item, OnError
from ._queue import Queue
from ._values import Added, Rights, Seconds, from_ns, nanoseconds
from .errors import Empty, Error, ShutDown, Stale

Handler = Union[Callable[[Item], object], Callable[[Item], Awaitable[object]]]

_log = logging.getLogger("kwq")
_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGINT)


class Worker:
    """Calls handler(item) for each key of a queue, for up to concurrency keys at once: in threads, or in asyncio tasks
    if the handler is a coroutine function.

    The end of the handler finishes the item, and its requeues are forgotten. An exception is logged, and then on_error
    decides as in Item: by default the key is added again after the delay of the queue's limiters. on_error may also be
    a function, which gets the item and the exception and returns one of these words. A handler may finish its item
    itself.

    SIGTERM, SIGINT and stop() stop the worker: it gets no more keys, and run() returns when the handlers have ended.
    After grace seconds asyncio tasks are cancelled, and their keys are given back. A thread cannot be cancelled: run()
    then returns False, and the end of the process gives the keys back. A second signal acts as if there was no worker.

    timeout limits the time for one key. A task is then cancelled, and the key has failed. Threads need a queue with a
    lease for that: the worker extends the leases of its items up to the timeout, and then the queue takes the key back.

    notify tells systemd by sd_notify(3) when the worker is ready, stops, and is alive.
    """

    def __init__(self, queue: Queue, handler: Handler, *, concurrency: int = 1,
                 on_error: OnError | Callable[[Item, BaseException], OnError] = "retry",
                 timeout: Seconds | None = None, grace: Seconds | None = None, notify: bool = False,
                 signals: bool = True) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is at least 1, not {concurrency}")
        if not queue.rights & Rights.READ:
            raise ValueError("a worker needs a handle with Rights.READ")
        self._is_async = inspect.iscoroutinefunction(handler) or inspect.iscoroutinefunction(
            getattr(handler, "__call__", None))
        if timeout is not None and not self._is_async and queue.stat().lease is None:
            raise ValueError("a thread cannot be interrupted: a timeout needs an async handler or a queue with a lease")
        self._queue = queue
        self._handler: Callable[[Item], Any] = handler
        self._concurrency = concurrency
        self._on_error = on_error
        self._timeout = None if timeout is None else from_ns(nanoseconds(timeout, "timeout"))
        self._grace = None if grace is None else from_ns(nanoseconds(grace, "grace"))
        self._signals = signals
        self._notify = _Notify() if notify else None
        self._lease = queue.stat().lease
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        # The items that handlers work on, with the times on the queue's clock when they began.
        self._running: dict[Item, float] = {}
        self._stop_task: asyncio.Event | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._old_wakeup = -1
        # A byte wakes the thread of run(): from stop(), from a handler that has ended, and from a signal.
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        #: How many keys were finished, failed, given back, and lost by their leases.
        self.done = self.failed = self.returned = self.lost = 0

    def __del__(self) -> None:
        for fd in (getattr(self, "_wake_reader", -1), getattr(self, "_wake_writer", -1)):
            if fd >= 0:
                os.close(fd)

    def stop(self) -> None:
        """Stops the worker gracefully. Any thread and any signal handler may call it, also before run()."""
        self._stopping.set()
        self._wake()
        loop = self._loop
        if loop is not None and self._stop_task is not None:
            try:
                loop.call_soon_threadsafe(self._stop_task.set)
            except RuntimeError:
                pass  # the loop is closed: the worker has ended

    def run(self) -> bool:
        """Works until it is stopped, or until the queue is shut down and empty. Returns False if a handler outlived
        grace.

        A worker runs once.
        """
        if self._is_async:
            return asyncio.run(self.arun())
        return self._run_threads()

    # ---- What threads and tasks share ----

    def _ended(self, item: Item, exception: BaseException | None) -> None:
        """Finishes an item, whose handler has ended."""
        try:
            if exception is not None:
                self._failed(item, exception)
            elif not item.finished:
                item.done()
            if exception is None:
                self._count("done")
        except Stale:
            self._count("lost")
            _log.warning("%s: %r was lost: its lease has expired", self._queue.name, item.key)
        except Error as failure:
            # The item is still held. It goes back when the object ends.
            _log.error("%s: %r: %s", self._queue.name, item.key, failure)

    def _failed(self, item: Item, exception: BaseException) -> None:
        if not isinstance(exception, Exception):
            self._count("returned")
            if not item.finished:
                item.give_back()
            return
        self._count("failed")
        _log.error("%s: %r failed after %d retries: %s", self._queue.name, item.key, item.requeues,
                   exception or type(exception).__name__, exc_info=exception)
        if item.finished:
            return
        fate = self._on_error(item, exception) if callable(self._on_error) else self._on_error
        if fate == "give_back":
            item.give_back()
        elif fate == "bury":
            item.bury()
        elif fate == "done":
            item.done(forget=False)
        else:
            try:
                if item.retry() is Added.DEAD:
                    _log.error("%s: %r is a dead letter", self._queue.name, item.key)
            except ShutDown:
                _log.warning("%s: %r has no retry: the queue is shut down", self._queue.name, item.key)

    def _count(self, what: str) -> None:
        with self._lock:
            setattr(self, what, getattr(self, what) + 1)

    def _extend_leases(self) -> float | None:
        """Extends the leases of running items that are within the timeout. Returns when to do so again, in seconds."""
        if self._lease is None:
            return None
        now = self._queue.now()
        with self._lock:
            running = list(self._running.items())
        for item, began in running:
            if self._timeout is not None and now - began + self._lease / 3 > self._timeout:
                continue
            try:
                item.extend()
            except Error:
                pass  # it has just ended, or is lost: its end tells
        return self._lease / 3

    # ---- Threads ----

    def _wake(self) -> None:
        try:
            os.write(self._wake_writer, b"\0")
        except BlockingIOError:
            pass  # there are bytes enough

    def _run_threads(self) -> bool:
        jobs: queues.SimpleQueue[Item | None] = queues.SimpleQueue()
        threads: list[threading.Thread] = []
        handlers = self._catch_signals()
        try:
            self._tell("READY=1")
            self._dispatch(jobs, threads)
            self._tell("STOPPING=1")
            return self._await_threads()
        finally:
            for _ in threads:
                jobs.put(None)
            if self._idle():
                for thread in threads:
                    thread.join()
            self._leave_signals(handlers)

    def _dispatch(self, jobs: queues.SimpleQueue[Item | None], threads: list[threading.Thread]) -> None:
        """Gets items while a thread is free for each."""
        poller = select.poll()
        poller.register(self._wake_reader, select.POLLIN)
        ended_with = -1  # how many items ran when the queue had no more
        while not self._stopping.is_set():
            free = self._concurrency - len(self._running)
            if free and len(self._running) != ended_with:
                ended_with = -1
                # An item that runs may be ready again at its done, also while the get fails.
                running = len(self._running)
                try:
                    items = self._queue.get_many(free, 0)
                except Empty:
                    pass
                except ShutDown:
                    if not running:
                        return
                    ended_with = running
                else:
                    self._start(items, jobs, threads)
                    continue
            if free and ended_with < 0:
                poller.register(self._queue, select.POLLIN)
            poller.poll(_milliseconds(self._next_duty()))
            if free and ended_with < 0:
                poller.unregister(self._queue)
            self._read_wakes()

    def _start(self, items: list[Item], jobs: queues.SimpleQueue[Item | None], threads: list[threading.Thread]) -> None:
        while len(threads) < min(self._concurrency, len(self._running) + len(items)):
            thread = threading.Thread(target=self._work, args=(jobs,), name=f"kwq-{len(threads)}", daemon=True)
            thread.start()
            threads.append(thread)
        for item in items:
            began = self._queue.now()
            with self._lock:
                self._running[item] = began
            jobs.put(item)

    def _work(self, jobs: queues.SimpleQueue[Item | None]) -> None:
        """A thread."""
        while (item := jobs.get()) is not None:
            exception: BaseException | None = None
            try:
                self._handler(item)
            except BaseException as raised:  # pylint: disable=broad-except
                exception = raised
            self._ended(item, exception)
            with self._lock:
                del self._running[item]
            del item, exception
            self._wake()

    def _await_threads(self) -> bool:
        end = None if self._grace is None else time.monotonic() + self._grace
        poller = select.poll()
        poller.register(self._wake_reader, select.POLLIN)
        while not self._idle():
            duty = self._next_duty()
            if end is not None:
                left = end - time.monotonic()
                if left <= 0:
                    return False
                duty = left if duty is None else min(duty, left)
            poller.poll(_milliseconds(duty))
            self._read_wakes()
        return True

    def _idle(self) -> bool:
        with self._lock:
            return not self._running

    def _read_wakes(self) -> None:
        try:
            while os.read(self._wake_reader, 4096):
                pass
        except BlockingIOError:
            pass

    def _next_duty(self) -> float | None:
        """Extends leases and tells systemd that the worker is alive. Returns when that is due again."""
        duties = [due for due in (self._extend_leases(), self._notify and self._notify.alive()) if due]
        return min(duties) if duties else None

    def _tell(self, state: str) -> None:
        if self._notify:
            self._notify.tell(state)

    def _catch_signals(self) -> dict[signal.Signals, Any] | None:
        """Lets the signals stop the worker. Only the main thread can do that."""
        if not self._signals or threading.current_thread() is not threading.main_thread():
            return None

        def stop(number: int, frame: FrameType | None) -> None:
            self._restore_signals(handlers)
            self.stop()

        # The byte that Python's own handler writes ends the poll even if the signal came just before it.
        self._old_wakeup = signal.set_wakeup_fd(self._wake_writer, warn_on_full_buffer=False)
        handlers = {number: signal.getsignal(number) for number in _SIGNALS}
        for number in _SIGNALS:
            signal.signal(number, stop)
        return handlers

    def _leave_signals(self, handlers: dict[signal.Signals, Any] | None) -> None:
        if handlers is not None:
            self._restore_signals(handlers)
            signal.set_wakeup_fd(self._old_wakeup)

    @staticmethod
    def _restore_signals(handlers: dict[signal.Signals, Any]) -> None:
        for number, handler in handlers.items():
            signal.signal(number, handler if handler is not None else signal.SIG_DFL)

    # ---- asyncio ----

    async def arun(self) -> bool:
        """run() for a program that has an event loop. The handler is a coroutine function."""
        if not self._is_async:
            raise TypeError("arun() needs a coroutine function as handler: call run() for threads")
        self._loop = loop = asyncio.get_running_loop()
        self._stop_task = stop = asyncio.Event()
        if self._stopping.is_set():
            stop.set()
        caught = self._catch_signals_of(loop)
        stopper: asyncio.Task[Any] = asyncio.create_task(stop.wait())
        duties = asyncio.create_task(self._duties())
        tasks: set[asyncio.Task[Any]] = set()
        try:
            self._tell("READY=1")
            await self._spawn(stopper, tasks)
            self._tell("STOPPING=1")
            return await self._await_tasks(tasks)
        finally:
            for task in (*tasks, stopper, duties):
                task.cancel()
            await asyncio.gather(*tasks, stopper, duties, return_exceptions=True)
            for number in caught:
                loop.remove_signal_handler(number)
            self._loop = None

    async def _spawn(self, stopper: asyncio.Task[Any], tasks: set[asyncio.Task[Any]]) -> None:
        """Gets items while a task is free for each."""
        while not stopper.done():
            if len(tasks) == self._concurrency:
                await asyncio.wait({*tasks, stopper}, return_when=asyncio.FIRST_COMPLETED)
                continue
            # An item that runs may be ready again at its done, also while the get fails.
            idle = not tasks
            fetch: asyncio.Task[Any] = asyncio.create_task(self._queue.aget_many(self._concurrency - len(tasks)))
            try:
                await asyncio.wait({fetch, stopper}, return_when=asyncio.FIRST_COMPLETED)
            finally:
                if not fetch.done():
                    fetch.cancel()
            try:
                items = await fetch
            except asyncio.CancelledError:
                if stopper.done():
                    return
                raise
            except ShutDown:
                if idle:
                    return
                if tasks:
                    await asyncio.wait({*tasks, stopper}, return_when=asyncio.FIRST_COMPLETED)
                continue
            if stopper.done():
                self._queue._undo_get(items)
                return
            for item in items:
                self._running[item] = self._queue.now()
                task = asyncio.create_task(self._work_async(item))
                tasks.add(task)
                task.add_done_callback(tasks.discard)

    async def _work_async(self, item: Item) -> None:
        exception: BaseException | None = None
        try:
            async with asyncio.timeout(self._timeout):
                await self._handler(item)
        except BaseException as raised:  # pylint: disable=broad-except
            exception = raised
        self._ended(item, exception)
        self._running.pop(item, None)

    async def _await_tasks(self, tasks: set[asyncio.Task[Any]]) -> bool:
        if not tasks:
            return True
        _, late = await asyncio.wait(tasks, timeout=self._grace)
        for task in late:
            task.cancel()
        if late:
            await asyncio.wait(late)
        return True

    async def _duties(self) -> None:
        while (due := self._next_duty()) is not None:
            await asyncio.sleep(due)

    def _catch_signals_of(self, loop: asyncio.AbstractEventLoop) -> list[signal.Signals]:
        if not self._signals or threading.current_thread() is not threading.main_thread():
            return []

        def stop() -> None:
            for number in _SIGNALS:
                loop.remove_signal_handler(number)
            caught.clear()
            self.stop()

        caught = list(_SIGNALS)
        for number in _SIGNALS:
            loop.add_signal_handler(number, stop)
        return caught


class _Notify:
    """sd_notify(3). Does nothing outside of systemd."""

    def __init__(self) -> None:
        path = os.environ.get("NOTIFY_SOCKET", "")
        # A name that begins with @ is in the abstract namespace.
        self._address = "\0" + path[1:] if path.startswith("@") else path
        period = os.environ.get("WATCHDOG_USEC", "")
        ours = os.environ.get("WATCHDOG_PID", str(os.getpid())) == str(os.getpid())
        self._period = int(period) / 2e6 if self._address and period.isdigit() and ours else None

    def tell(self, state: str) -> None:
        """Sends a state."""
        if not self._address:
            return
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
            try:
                connection.sendto(state.encode(), self._address)
            except OSError as failure:
                _log.warning("sd_notify: %s", failure.strerror)

    def alive(self) -> float | None:
        """Tells the watchdog. Returns when to do so again, in seconds; None without a watchdog."""
        if self._period:
            self.tell("WATCHDOG=1")
        return self._period


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))
