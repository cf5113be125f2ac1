# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A worker: calls a function for each key of a queue, for several at once, until it is told to stop."""
from __future__ import annotations

import asyncio
import collections.abc
import concurrent.futures
import errno
import functools
import inspect
import logging
import os
import queue as queues
import select
import signal
import socket
import sys
import threading
import time
from types import FrameType
from typing import Any, Awaitable, Callable, Iterable, Union, get_args

from ._item import Item, OnError
from ._log import say as _say
from ._queue import Queue
from ._values import Added, Rights, Seconds, from_ns, nanoseconds
from .errors import Empty, Error, ShutDown

#: The function of a worker. A coroutine function makes tasks of asyncio do the work, and any other one threads.
Handler = Union[Callable[[Item], object], Callable[[Item], Awaitable[object]]]

_SIGNALS: tuple[signal.Signals, ...] = (signal.SIGTERM, signal.SIGINT)
_FATES = get_args(OnError)
# All of these are in seconds. A handler without a timeout counts as hanging after so long. That is also how often the
# worker says that handlers hang, and it looks more often.
_LONG_RUN, _LOOK = 600.0, 10.0
# A cancelled task has so long to clean up.
_CLEAN_UP = 5.0
# If the queue refuses the end of an item, its key waits for so long before it goes back. So does a get that was refused
# because memory is short.
_PAUSE = 1.0
_SHORT = (errno.ENOMEM, errno.EDQUOT)


class Worker:
    """Calls handler(item) for each key of a queue, for up to concurrency keys at once: in threads, or in asyncio tasks
    if the handler is a coroutine function.

    The end of the handler finishes the item, and its requeues are forgotten. Any exception is logged, SystemExit
    included, and then on_error decides as in Item: by default the key is added again after the delay of the queue's
    limiters. on_error may also be a function, which gets the item and the exception and returns one of these words.
    A handler may finish its item itself.

    In a queue with values a key that is retried or buried gets a note: the type and the text of the exception, and the
    last lines of its traceback, up to 1 KiB. It takes the place of a note that the handler has left. If there is no
    room for it, the key is retried or buried without a note, and only a debug message tells that.

    A task awaits what its handler returns. In a thread nobody can, so a handler that returns a coroutine, an iterator
    or a future has failed, and so has one that returns a list with one of these, because its work was not done.

    KeyboardInterrupt gives the key back and stops the worker. So do SIGTERM, SIGINT and stop(), after which the worker
    gets no more keys, and run() returns when the handlers have ended. After grace seconds asyncio tasks are cancelled,
    and their keys are given back. A thread cannot be cancelled, and a task can ignore it: run() then returns False, and
    the end of the process gives the keys back. A second signal acts as if there was no worker.

    timeout limits the time for one key. A task is then cancelled, and the key has failed. Threads need a queue with a
    lease for that: the worker extends the leases of its items up to the timeout, and then the queue takes the key back.
    The worker warns of handlers that run for longer than their timeout, or than ten minutes without one.

    notify tells systemd by sd_notify(3) when the worker is ready, stops, and is alive. A worker whose handlers all run
    for longer than their timeout does not count as alive.
    """

    def __init__(self, queue: Queue, handler: Handler, *, concurrency: int = 1,
                 on_error: OnError | Callable[[Item, BaseException], OnError] = "retry",
                 timeout: Seconds | None = None, grace: Seconds | None = None, notify: bool = False,
                 signals: bool = True) -> None:
        if concurrency < 1:
            raise ValueError(f"concurrency is at least 1, not {concurrency}")
        if not queue.rights & Rights.READ:
            raise ValueError("a worker needs a handle with Rights.READ")
        if _is_coroutine_function(on_error):
            raise TypeError("on_error is a plain function: nobody would await a coroutine")
        if not callable(on_error) and on_error not in _FATES:
            raise ValueError(f"on_error is a function or one of {_FATES}, not {on_error!r}")
        if on_error == "retry" and not queue.rights & Rights.WRITE:
            raise ValueError("a retry is an add, which needs a handle with Rights.WRITE: choose another on_error")
        self._is_async = _is_coroutine_function(handler)
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
        # The items of handlers that hang which the last warning named, and when to warn of them again.
        self._warned: set[Item] = set()
        self._warn_at = 0.0
        # The task of arun(), the cancels that it had got before, and whether it has cancelled those of the handlers.
        self._main: asyncio.Task[Any] | None = None
        self._old_cancels = 0
        self._has_cancelled = False
        self._old_wakeup = -1
        # A byte wakes the thread of run(): from stop(), from a handler that has ended, and from a signal.
        self._wake_reader, self._wake_writer = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        #: How many keys were finished, failed, given back, and lost by their leases. Each end of a handler counts once.
        self.done = self.failed = self.returned = self.lost = 0

    def __reduce__(self) -> tuple[object, ...]:
        # The end of a copy would close the descriptors of the original.
        raise TypeError("a Worker cannot be copied or pickled: make another one with the same queue")

    def __del__(self) -> None:
        for fd in (getattr(self, "_wake_reader", -1), getattr(self, "_wake_writer", -1)):
            if fd >= 0:
                os.close(fd)

    def stop(self) -> None:
        """Stops the worker gracefully. Any thread and any signal handler may call it, also before run()."""
        self._stopping.set()
        self._wake()

    def run(self) -> bool:
        """Works until it is stopped, or until the queue is shut down and empty. Returns False if a handler outlived
        grace.

        A worker runs once.
        """
        if not self._is_async:
            return self._run_threads()
        runner = asyncio.Runner()
        try:
            return runner.run(self.arun())
        finally:
            # It waits for all tasks, so it would wait for ever for a handler that ignores its cancel.
            if not (self._has_cancelled and self._running):
                runner.close()

    # ---- What threads and tasks share ----

    def _ended(self, item: Item, exception: BaseException | None) -> bool:
        """Finishes an item, whose handler has ended. Returns False if the queue refuses that.

        It raises nothing, because the thread has to live on.
        """
        end = "returned" if exception is None else "failed"
        if isinstance(exception, KeyboardInterrupt):
            self.stop()
        try:
            if not item.lost:
                end = self._finish(item, exception)
        except BaseException as failure:  # pylint: disable=broad-except
            if not item.lost:
                _say(logging.ERROR, "%s: the end of %r fails: %r", self._queue.name, item.key, failure,
                     exc_info=failure)
        if item.lost:
            end = "lost"
            _say(logging.WARNING, "%s: %r was lost: its lease has expired, or it was revoked", self._queue.name,
                 item.key, exc_info=exception)
        with self._lock:
            setattr(self, end, getattr(self, end) + 1)
        return item.finished

    def _finish(self, item: Item, exception: BaseException | None) -> str:
        """Finishes an item, and returns the name of its end."""
        if exception is None:
            if not item.finished:
                item.done()
            return "done"
        if isinstance(exception, KeyboardInterrupt) or self._is_own_cancel(exception):
            _say(logging.WARNING, "%s: %r is given back: %r", self._queue.name, item.key, exception)
            if not item.finished:
                item.give_back()
            return "returned"
        _say(logging.ERROR, "%s: %r failed after %d retries: %r", self._queue.name, item.key, item.requeues, exception,
             exc_info=exception)
        fate = None if item.finished else self._fate(item, exception)
        if item.finished:
            pass  # by the handler, or by on_error
        elif fate == "give_back":
            item.give_back()
        elif fate == "bury":
            item._retry_or_bury(True, exception)
        elif fate == "done":
            item.done(forget=False)
        else:
            try:
                if item._retry_or_bury(False, exception) is Added.DEAD:
                    _say(logging.ERROR, "%s: %r is a dead letter", self._queue.name, item.key)
            except ShutDown:
                _say(logging.WARNING, "%s: %r has no retry: the queue is shut down", self._queue.name, item.key)
        return "failed"

    def _is_own_cancel(self, exception: BaseException) -> bool:
        """Whether the worker itself has cancelled the handler, and not somebody else a task that the handler awaits."""
        # A coroutine whose loop is gone ends with GeneratorExit. A runner cancels the task of arun() with all others.
        return isinstance(exception, (asyncio.CancelledError, GeneratorExit)) and (
            self._has_cancelled or self._is_cancelled())

    def _is_cancelled(self) -> bool:
        """Whether arun() is being cancelled. Its task may have survived a cancel before, which still counts there."""
        return self._main is not None and self._main.cancelling() > self._old_cancels

    def _fate(self, item: Item, exception: BaseException) -> OnError:
        """The word of on_error. If that fails itself, the key is retried, which loses nothing."""
        if not callable(self._on_error):
            return self._on_error
        try:
            fate = self._on_error(item, exception)
            if fate in _FATES or item.finished:
                return fate
            raise ValueError(f"on_error returned {fate!r}, which is none of {_FATES}")
        except KeyboardInterrupt:
            self.stop()
            return "give_back"
        except BaseException as failure:  # pylint: disable=broad-except
            _say(logging.ERROR, "%s: %r is retried, because on_error failed: %r", self._queue.name, item.key, failure,
                 exc_info=failure)
        return "retry"

    def _extend_leases(self) -> float | None:
        """Extends the leases of running items that are within the timeout. Returns when to do so again, in seconds."""
        if self._lease is None:
            return None
        now = self._queue.now()
        with self._lock:
            running = list(self._running.items())
        for item, began in running:
            if item.finished or self._timeout is not None and now - began + self._lease / 3 > self._timeout:
                continue
            try:
                # Not item.extend(): only the handler's own thread may change the item.
                self._queue._extend(item.ticket)
            except Error:
                pass  # it has just ended, or is lost: its end tells
        return self._lease / 3

    def _warn_of_hangs(self) -> bool:
        """Warns of handlers that run for too long. Returns whether no other one could run."""
        now = self._queue.now()
        limit = _LONG_RUN if self._timeout is None else self._timeout
        with self._lock:
            late = [item for item, began in self._running.items() if now - began > limit]
        if late and (now >= self._warn_at or not self._warned.issuperset(late)):
            self._warned, self._warn_at = set(late), now + _LONG_RUN
            _say(logging.WARNING, "%s: %d of %d handlers have run for more than %g s: %s", self._queue.name, len(late),
                 self._concurrency, limit, _keys(late))
        return self._timeout is not None and len(late) == self._concurrency

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
        again_at = 0.0  # when to get again, after memory was short
        while not self._stopping.is_set():
            pause = max(0.0, again_at - time.monotonic())
            free = 0 if pause else self._concurrency - len(self._running)
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
                except Error as refusal:
                    self._tell_of_refusal(refusal)
                    again_at = time.monotonic() + _PAUSE
                    continue
                else:
                    self._start(items, jobs, threads)
                    continue
            if free and ended_with < 0:
                poller.register(self._queue, select.POLLIN)
            poller.poll(_milliseconds(min(self._next_duty(), pause or _LOOK)))
            if free and ended_with < 0:
                poller.unregister(self._queue)
            self._read_wakes()

    def _start(self, items: list[Item], jobs: queues.SimpleQueue[Item | None], threads: list[threading.Thread]) -> None:
        while len(threads) < min(self._concurrency, len(self._running) + len(items)):
            thread = threading.Thread(target=self._work, args=(jobs, threads), name=f"kwq-{len(threads)}",
                                      daemon=True)
            thread.start()
            threads.append(thread)
        for item in items:
            began = self._queue.now()
            with self._lock:
                self._running[item] = began
            jobs.put(item)

    def _work(self, jobs: queues.SimpleQueue[Item | None], threads: list[threading.Thread]) -> None:
        """A thread."""
        while (item := jobs.get()) is not None:
            exception: BaseException | None = None
            try:
                try:
                    _check_done(item, self._handler(item))
                except BaseException as raised:  # pylint: disable=broad-except
                    exception = raised
                if not self._ended(item, exception):
                    self._stopping.wait(_PAUSE)
            except BaseException:
                # Another thread has raised it in this one (PyThreadState_SetAsyncExc), which ends, and counts no more.
                threads.remove(threading.current_thread())
                raise
            finally:
                if not item.finished:
                    self._queue._undo_get([item])
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
                    self._tell_of_late()
                    return False
                duty = min(duty, left)
            poller.poll(_milliseconds(duty))
            self._read_wakes()
        return True

    def _tell_of_late(self) -> None:
        with self._lock:
            late = list(self._running)
        _say(logging.ERROR, "%s: handlers outlive grace, and keep their keys: %s", self._queue.name, _keys(late))

    def _idle(self) -> bool:
        with self._lock:
            return not self._running

    def _read_wakes(self) -> None:
        try:
            while os.read(self._wake_reader, 4096):
                pass
        except BlockingIOError:
            pass

    def _next_duty(self) -> float:
        """Extends leases, warns of handlers that hang, and tells systemd that the worker is alive. Returns when that is
        due again, in seconds.
        """
        duties = [_LOOK, self._extend_leases()]
        all_hang = self._warn_of_hangs()
        if self._notify:
            duties.append(self._notify.period)
            if not all_hang:
                self._notify.alive()
        return min(due for due in duties if due)

    def _tell_of_refusal(self, refusal: Error) -> None:
        """Says that a get has to wait. An error that does not pass by itself ends the worker."""
        if refusal.errno not in _SHORT:
            raise refusal
        _say(logging.WARNING, "%s: no keys for %g s, because memory is short: %s", self._queue.name, _PAUSE, refusal)

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
        loop = asyncio.get_running_loop()
        self._main = asyncio.current_task()
        self._old_cancels = self._main.cancelling() if self._main else 0
        stopper: asyncio.Future[None] = loop.create_future()

        def stop() -> None:
            loop.remove_reader(self._wake_reader)
            stopper.set_result(None)

        loop.add_reader(self._wake_reader, stop)
        caught = self._catch_signals_of(loop)
        duties = asyncio.create_task(self._duties())
        tasks: set[asyncio.Task[None]] = set()
        try:
            self._tell("READY=1")
            await self._spawn(stopper, tasks)
            self._tell("STOPPING=1")
            if tasks:
                await asyncio.wait(tasks, timeout=self._grace)
        finally:
            try:
                # The late tasks, or all of them if this one was cancelled.
                await self._cancel(tasks)
            finally:
                self._main = None
                duties.cancel()
                loop.remove_reader(self._wake_reader)
                for number in caught:
                    loop.remove_signal_handler(number)
        return not tasks

    async def _spawn(self, stopper: asyncio.Future[None], tasks: set[asyncio.Task[None]]) -> None:
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
                if stopper.done() and not self._is_cancelled():
                    return
                raise
            except ShutDown:
                if idle:
                    return
                if tasks:
                    await asyncio.wait({*tasks, stopper}, return_when=asyncio.FIRST_COMPLETED)
                continue
            except Error as refusal:
                self._tell_of_refusal(refusal)
                await asyncio.wait({stopper}, timeout=_PAUSE)
                continue
            if stopper.done():
                self._queue._undo_get(items)
                return
            for item in items:
                self._running[item] = self._queue.now()
                task = asyncio.create_task(self._work_async(item))
                tasks.add(task)
                task.add_done_callback(functools.partial(self._task_ended, tasks, item))

    async def _work_async(self, item: Item) -> None:
        exception: BaseException | None = None
        try:
            async with asyncio.timeout(self._timeout):
                result = self._handler(item)
                while inspect.isawaitable(result):
                    result = await result
            _check_done(item, result)
        except BaseException as raised:  # pylint: disable=broad-except
            exception = raised
        try:
            # A coroutine that is being destroyed cannot wait.
            if not self._ended(item, exception) and not isinstance(exception, GeneratorExit):
                await asyncio.sleep(_PAUSE)
        finally:
            if not item.finished:
                self._queue._undo_get([item])
            del self._running[item]
        if isinstance(exception, KeyboardInterrupt):
            raise exception

    def _task_ended(self, tasks: set[asyncio.Task[None]], item: Item, task: asyncio.Task[None]) -> None:
        tasks.discard(task)
        if not task.cancelled():
            task.exception()  # or asyncio logs KeyboardInterrupt, which ends run() anyway
        if item in self._running:
            # It was cancelled before it began.
            self._ended(item, asyncio.CancelledError())
            del self._running[item]

    async def _cancel(self, tasks: set[asyncio.Task[None]]) -> None:
        """Cancels tasks, and waits for them, but not for ever."""
        self._has_cancelled = True
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=_CLEAN_UP)
        if tasks:
            self._tell_of_late()

    async def _duties(self) -> None:
        while True:
            await asyncio.sleep(self._next_duty())

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
        #: How often to call alive(), in seconds; None without a watchdog. One call may be missing.
        self.period = int(period) / 4e6 if self._address and period.isdigit() and ours else None

    def tell(self, state: str) -> None:
        """Sends a state."""
        if not self._address:
            return
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection:
                connection.sendto(state.encode(), self._address)
        except OSError as failure:
            _say(logging.WARNING, "sd_notify: %s", failure.strerror)

    def alive(self) -> None:
        """Tells the watchdog."""
        if self.period:
            self.tell("WATCHDOG=1")


def _is_coroutine_function(function: object) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))


def _check_done(item: Item, result: object) -> None:
    """A handler that returns work instead of doing it has failed, so that its key does not count as done."""
    if item.finished or not (_is_work(result) or isinstance(result, (list, tuple, set)) and any(map(_is_work, result))):
        return
    if inspect.iscoroutine(result):
        result.close()  # Python need not warn as well
    raise TypeError(f"the handler returned {result!r}, and nobody does its work: let an 'async def' await it, or wait "
                    "for it in the handler")


def _is_work(result: object) -> bool:
    """Whether somebody would have to await it, iterate over it or wait for it."""
    return (inspect.isawaitable(result) or inspect.isasyncgen(result)
            or isinstance(result, (collections.abc.Iterator, concurrent.futures.Future))
            # A result of multiprocessing.Pool, whose module is imported by those who have one.
            or isinstance(result, getattr(sys.modules.get("multiprocessing.pool"), "AsyncResult", ())))


def _keys(items: Iterable[Item]) -> str:
    """The first keys, for a log."""
    keys = [repr(item.key) for item in items]
    return ", ".join(keys[:10]) + (", ..." if len(keys) > 10 else "")


def _milliseconds(seconds: float) -> int:
    return max(1, round(seconds * 1000))
