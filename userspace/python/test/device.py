# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Tests with a real queue. Needs /dev/kwq and root. Prints TAP. kwq(7) states the rules.

Nothing here depends on how fast the machine is. A test waits for a state of a process or a queue, or moves a manual
clock.
"""
import asyncio
import concurrent.futures
import contextlib
import copy
import doctest
import errno
import fcntl
import functools
import gc
import io
import itertools
import json
import logging
import multiprocessing.pool
import os
import pickle
import shutil
import signal
import subprocess
import sys
import threading
import time
import unittest
import unittest.mock
import warnings
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import kwq  # noqa: E402
import tap  # noqa: E402
from kwq import Added, Finished, Queue, State  # noqa: E402
from kwq import _abi as abi  # noqa: E402

# A wait that lasts longer is a failure.
LONG = 120


def until(condition):
    """Waits for a state that nothing reports."""
    deadline = time.monotonic() + LONG
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError("the state does not come")
        time.sleep(0.002)


def until_blocked(request, tid, pid="self"):
    """Waits until a thread is in this request."""
    def is_blocked():
        fields = Path(f"/proc/{pid}/task/{tid}/syscall").read_text().split()
        return len(fields) > 2 and int(fields[2], 16) == request
    until(is_blocked)


class Child:
    """A forked process that runs a function. It exits with 0 if the function returns true."""

    def __init__(self, function):
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid:
            return
        status = 1
        try:
            status = 0 if function() else 2
        except BaseException:  # pylint: disable=broad-except
            import traceback
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)

    def status(self):
        """Waits for its end."""
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def kill(self, number=signal.SIGKILL):
        os.kill(self.pid, number)


class Base(unittest.TestCase):
    def queue(self, **options):
        """An unnamed queue that the test closes."""
        queue = Queue.unnamed(**options)
        self.addCleanup(queue.close)
        return queue

    def manual(self, **options):
        return self.queue(clock=kwq.Clock.MANUAL, **options)

    def named(self, name="python-test", **options):
        queue = Queue.create(name, **options)
        self.addCleanup(queue.close)

        def remove():
            try:
                kwq.unlink(name)
            except kwq.NotFound:
                pass
        self.addCleanup(remove)
        return queue

    def note(self, queue, key):
        return queue.find(key, value=True).note

    def keys(self, items):
        return [item.key for item in items]


class Basics(Base):
    def test_add_get_done(self):
        """Q2, Q4, Q6: add, get, done, and their results"""
        queue = self.queue()
        self.assertEqual([queue.add("a"), queue.add(b"a"), queue.add("b")], [Added.ADDED, Added.COALESCED, Added.ADDED])
        self.assertEqual(len(queue), 2)
        item = queue.get()
        self.assertEqual((item.key, item.text, item.value, item.group, item.priority, item.requeues, item.abandoned),
                         (b"a", "a", b"", b"", 0, 0, 0))
        self.assertEqual([queue.add("a"), queue.add("a")], [Added.DIRTIED, Added.DIRTY])
        self.assertEqual(item.done(), Finished.REQUEUED)
        self.assertTrue(item.finished)
        with self.assertRaisesRegex(kwq.Stale, "finished or lost already"):
            item.done()
        self.assertEqual([queue.get().done(), queue.get().done()], [Finished(0), Finished(0)])

    def test_end_of_block(self):
        """Y1: the end of a block is a done, and forgets"""
        queue = self.manual(config=kwq.Config((kwq.FastSlow(0, 0, 1),)))
        queue.add("a", rate_limited=True)
        queue.advance(0)
        with queue.get() as item:
            self.assertEqual(item.requeues, 1)
        self.assertEqual((queue.num_requeues("a"), queue.stat().dones), (0, 1))
        with self.assertRaises(kwq.Stale):
            with item:
                pass

    def test_exception_retries(self):
        """L1: an exception in the block is a retry, and goes on"""
        queue = self.manual(config=kwq.Config((kwq.Exponential(1, 60),)))
        queue.add("a")
        for seconds in (1, 2, 4):
            with self.assertRaisesRegex(RuntimeError, "no luck"):
                with queue.get(0):
                    raise RuntimeError("no luck")
            self.assertEqual(queue.find("a").due_in, seconds)
            queue.advance(seconds)
        self.assertEqual(queue.get(0).requeues, 3)

    def test_exception_by_request(self):
        """O2, L11: an exception gives back, buries or finishes on request"""
        queue = self.queue()
        for on_error, state in (("give_back", State.READY), ("bury", State.DEAD), ("done", None)):
            queue.add("a")
            with self.assertRaises(ValueError):
                with queue.get(0, on_error=on_error):
                    raise ValueError
            found = queue.find("a")
            self.assertEqual(found and found.state, state)
        queue.on_error = "bury"
        queue.add("b")
        with self.assertRaises(ValueError):
            with queue.get(0):
                raise ValueError
        self.assertEqual([dead.text for dead in queue.dead()], ["b"])

    def test_interrupt_gives_back(self):
        """Y1: KeyboardInterrupt, SystemExit and a cancel give back, whatever on_error says"""
        queue = self.queue()
        queue.add("a")
        for exception in (KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit):
            with self.assertRaises(exception):
                with queue.get(0, on_error="bury"):
                    raise exception
        stat = queue.stat()
        self.assertEqual((stat.ready, stat.returned, stat.abandoned), (1, 4, 0))

    def test_block_finishes_itself(self):
        """Y1: a block may finish its item"""
        queue = self.queue()
        queue.add("a")
        with queue.get() as item:
            self.assertEqual(item.bury(), Finished.BURIED)
        with self.assertRaises(ValueError):
            queue.kick("a")
            with queue.get() as item:
                item.give_back()
                raise ValueError
        self.assertEqual(len(queue), 1)

    def test_failure_after_shut_down(self):
        """Q8: a failed key of a queue that is shut down has no retry, and the exception says so"""
        queue = self.queue()
        queue.add("a")
        with self.assertRaises(ValueError) as caught:
            with queue.get():
                queue.shut_down()
                raise ValueError
        self.assertEqual(caught.exception.__notes__, ["kwq: b'a': the queue is shut down"])
        self.assertEqual(queue.stat().processing, 0)

    def test_forgotten_item(self):
        """Y1: an item that nobody finishes goes back, with a warning"""
        queue = self.queue()
        queue.add("a")
        with self.assertWarnsRegex(ResourceWarning, "was not finished: it is given back"):
            queue.get()
        gc.collect()
        self.assertEqual((len(queue), queue.stat().returned), (1, 1))

    def test_detach(self):
        """Q6: a detached item is finished by its ticket or its key"""
        queue = self.queue()
        queue.add_many("abc")
        ticket = queue.get().detach()
        self.assertEqual(queue.done(ticket), Finished(0))
        with self.assertRaises(kwq.Stale):
            queue.done(ticket)
        with self.assertRaises(ValueError):
            queue.done(0)
        queue.get().detach()
        queue.extend("b")
        self.assertEqual(queue.give_back("b"), Finished.RETURNED)
        with self.assertRaises(kwq.NotFound):
            queue.done("b")
        other = queue.reopen()
        self.addCleanup(other.close)
        other.get().detach()
        with self.assertRaisesRegex(kwq.Forbidden, "another handle"):
            queue.bury("b")
        self.assertEqual(other.bury("b"), Finished.BURIED)

    def test_done_many(self):
        """Q13: many dones in one call, each with its result"""
        queue = self.manual(lease=10)
        self.assertEqual(queue.done_many([]), [])
        queue.add_many(str(number) for number in range(1500))
        items = queue.get_many(1024) + queue.get_many(1024)
        queue.add("0")
        self.assertEqual(queue.done_many(items), [Finished.REQUEUED] + [Finished(0)] * 1499)
        with self.assertRaisesRegex(kwq.Stale, "finished or lost already"):
            queue.done_many(items)
        queue.add("a")
        lost, kept = queue.get(), queue.get()
        queue.advance(5)
        kept.extend()
        queue.advance(5)
        with self.assertRaisesRegex(kwq.BatchError, "1 of 2 items failed") as caught:
            queue.done_many([lost, kept])
        self.assertEqual([type(result) for result in caught.exception.results], [kwq.Stale, Finished])
        self.assertTrue(lost.finished and kept.finished)
        self.assertTrue(lost.lost and not kept.lost)
        with queue.reopen() as other, other.get() as item, self.assertRaisesRegex(ValueError, "not of this handle"):
            queue.done_many([item])

    def test_iteration(self):
        """Y1: a for loop ends when the queue is shut down and empty"""
        queue = self.queue()
        queue.add_many(["a", "b", "c"])
        queue.shut_down()
        seen = []
        for item in queue:
            with item:
                seen.append(item.text)
        self.assertEqual(seen, ["a", "b", "c"])

    def test_closed(self):
        """Y1: a closed queue says so"""
        queue = self.queue()
        with queue:
            self.assertGreaterEqual(queue.fileno(), 0)
        self.assertTrue(queue.closed)
        queue.close()
        for call in (queue.get, queue.stat, queue.fileno, lambda: queue.add("a"), lambda: len(queue), queue.reopen,
                     queue.__enter__, lambda: asyncio.run(queue.aget())):
            with self.assertRaisesRegex(kwq.Closed, "closed in this process"):
                call()

    def test_warning_of_queue(self):
        """Y1: a queue that nobody closes is closed, with a warning"""
        queue = Queue.unnamed()
        fd = queue.fileno()
        with self.assertWarnsRegex(ResourceWarning, "was not closed"):
            del queue
            gc.collect()
        with self.assertRaises(OSError):
            fcntl.fcntl(fd, fcntl.F_GETFD)

    def test_pickle(self):
        """Y1: queues and items refuse to be pickled and copied, and say what to do"""
        queue = self.queue()
        queue.add("a")
        item = queue.get()
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "open it by its name"):
                duplicate(queue)
            with self.assertRaisesRegex(TypeError, "pass on its key"):
                duplicate(item)
        gc.collect()
        self.assertEqual((len(queue), item.done()), (0, Finished(0)))


class Adding(Base):
    def test_delays(self):
        """D1, D2: delays, times and modes"""
        queue = self.manual()
        self.assertEqual(queue.add("a", delay=10), Added.WAITING)
        self.assertEqual(queue.add("a", delay=20), Added.COALESCED)
        self.assertEqual(queue.find("a").due_in, 10)
        queue.add("a", delay=20, mode=kwq.Mode.LATER)
        self.assertEqual(queue.find("a").due_in, 20)
        queue.add("a", delay=5, mode=kwq.Mode.KEEP)
        self.assertEqual(queue.find("a").due_in, 20)
        queue.add("a", at=7, mode=kwq.Mode.REPLACE)
        self.assertEqual(queue.find("a").due_in, 7)
        queue.advance_to(6.999999999)
        self.assertEqual(len(queue), 0)
        queue.advance(0.000000001)
        self.assertEqual((len(queue), queue.now()), (1, 7))
        queue.add("b", delay=100)
        self.assertEqual(queue.add("b", end_wait=True), Added.ADDED)
        self.assertEqual(queue.find("b").state, State.READY)

    def test_debounce(self):
        """D9: a debounced add postpones the key, up to a limit"""
        queue = self.manual()
        for _ in range(5):
            queue.add("a", delay=2, debounce=5)
            queue.advance(1)
        self.assertEqual(len(queue), 1)

    def test_priorities(self):
        """Q12: higher priorities come first"""
        queue = self.queue()
        queue.add("low", priority=-32)
        queue.add("normal")
        queue.add("high", priority=31)
        items = queue.get_many(3)
        self.assertEqual([(item.text, item.priority) for item in items], [("high", 31), ("normal", 0), ("low", -32)])
        for item in items:
            item.done()

    def test_values(self):
        """Q18: values, up to the longest"""
        queue = self.queue(values=True)
        queue.add("a", value="one")
        queue.add("a", value="two", keep_value=True)
        with queue.get() as item:
            self.assertEqual(item.value, b"one")
            queue.add("a", value=b"next")
        with queue.get() as item:
            self.assertEqual(item.value, b"next")
        longest = os.urandom(65536)
        queue.add("k" * 4096, value=longest)
        queue.add("b", value="gone")
        queue.add("b", value=b"")
        items = queue.get_many(2)
        self.assertEqual([item.value for item in items], [longest, b""])
        for item in items:
            item.done()
        with self.assertRaisesRegex(kwq.InvalidArgument, "too long"):
            queue.add("a", value=bytes(65537))
        with self.assertRaisesRegex(kwq.NotSupported, "without this feature"):
            self.queue().add("a", value="v")

    def test_notes(self):
        """Q18: notes, which an item, an add and the end of an item bring, and which lists have with the values"""
        queue = self.queue(values=True)
        queue.add("a", value="v", note="of an add")
        with queue.get() as item:
            self.assertEqual(self.note(queue, "a"), b"of an add")
            item.note(b"half way")
            self.assertEqual(self.note(queue, "a"), b"half way")
            item.note("")
            listed = queue.find("a", value=True)
            self.assertEqual((listed.value, listed.note, listed.note_len), (b"v", b"", 0))
        queue.add_many([kwq.Add("a", note="1"), kwq.Add("b", value="v", note=b"22"), "c"])
        self.assertEqual({item.text: (item.value, item.note) for item in queue.items(values=True)},
                         {"a": (b"", b"1"), "b": (b"v", b"22"), "c": (b"", b"")})
        self.assertEqual({item.text: (item.value, item.note, item.note_len) for item in queue.items()},
                         {"a": (None, None, 1), "b": (None, None, 2), "c": (None, None, 0)})
        self.assertEqual(asyncio.run(queue.aadd("c", note="333")), Added.COALESCED)
        self.assertEqual((self.note(queue, "c"), queue.find("c").note), (b"333", None))
        retried, buried, _ = queue.get_many(3)
        self.assertEqual(retried.retry(delay=60, note="later"), Added.WAITING)
        self.assertEqual(buried.bury(note="never"), Finished.BURIED)
        self.assertEqual((self.note(queue, "a"), [(dead.text, dead.note) for dead in queue.dead(values=True)]),
                         (b"later", [("b", b"never")]))
        self.assertEqual([dead.note for dead in queue.dead()], [None])

    def test_longest_note(self):
        """Q15, Q18: the longest note beside the longest value and the longest key"""
        queue = self.queue(values=True, groups=True)
        key, value, note = b"k" * abi.KEY_MAX, os.urandom(abi.VALUE_MAX), os.urandom(abi.NOTE_MAX)
        queue.add(key, value=value, note=note, group="g" * abi.GROUP_MAX)
        for listed in (queue.find(key, value=True), *queue.items(values=True)):
            self.assertEqual((listed.key, listed.value, listed.note), (key, value, note))

    def test_refused_notes(self):
        """O4, Q18: a note that is refused changes nothing, and the item is still held"""
        full, without = self.queue(values=True, max_bytes=20000), self.queue()
        with self.assertRaises(kwq.Full):
            for number in itertools.count():
                full.add(str(number))
        without.add("0")
        for queue, kind, text in ((full, kwq.Full, "the queue is full"), (without, kwq.NotSupported, "without|values")):
            item = queue.get()
            long = "n" * 4096
            for call in (item.note, lambda note: item.retry(note=note), lambda note: item.bury(note=note),
                         lambda note: queue.add(item.key, note=note)):
                with self.assertRaisesRegex(kind, text):
                    call(long)
                with self.assertRaisesRegex(ValueError, "up to 4096 bytes, not 4097: shorten it"):
                    call(long + "n")
                with self.assertRaisesRegex(TypeError, "a note is bytes or str"):
                    call(5)
                found = queue.find(item.key)
                self.assertEqual((item.finished, found.state, found.note_len, found.requeues),
                                 (False, State.PROCESSING, 0, 0))
            item.done()
            with self.assertRaises(kwq.Stale):
                item.note("late")

    def test_note_ends(self):
        """Q18, O3: a note extends the lease, and ends with a run that ends well"""
        queue = self.manual(values=True, lease=10)
        queue.add("a")
        item = queue.get()
        for _ in range(3):
            queue.advance(9)
            item.note("works")
        queue.add("a")
        item.done(forget=False)
        self.assertEqual(self.note(queue, "a"), b"works")
        item = queue.get()
        queue.add("a")
        item.done()
        self.assertEqual(self.note(queue, "a"), b"")
        item = queue.get()
        queue.advance(10)
        with self.assertRaises(kwq.Stale):
            item.note("late")
        self.assertTrue(item.lost)

    def test_note_of_a_block(self):
        """Q18: a block that fails leaves a note with a key that is retried or buried"""
        queue = self.manual(values=True)
        for on_error, note in (("retry", True), ("bury", True), ("give_back", False), ("done", False)):
            queue.add(on_error)
            with self.assertRaises(ValueError), queue.get(on_error=on_error):
                raise ValueError("bad")
            found = queue.find(on_error, value=True)
            if note:
                self.assertRegex(found.note, rb"(?s)^ValueError: bad\n.*test_note_of_a_block\n.*raise ValueError")
            elif found:
                self.assertEqual(found.note, b"")
                queue.remove(on_error)

    def test_groups(self):
        """Q16: groups take turns, and have a limit"""
        queue = self.queue(groups=True, values=True, group_limit=1)
        queue.add_many([kwq.Add("a1", group="a"), kwq.Add("a2", group="a"), kwq.Add("b1", group="b", value="v"),
                        kwq.Add("c", group="b")])
        queue.add("c", group=b"")
        items = queue.get_many(10)
        self.assertEqual([(item.text, item.group, item.value) for item in items],
                         [("a1", b"a", b""), ("b1", b"b", b"v"), ("c", b"", b"")])
        self.assertEqual(queue.stat().blocked, 1)
        for item in items:
            item.done()
        queue.get(0).done()
        with self.assertRaises(kwq.NotSupported):
            self.queue().add("a", group="g")
        with self.assertRaises(kwq.InvalidArgument):
            queue.add("a", group="g" * 256)

    def test_bad_keys(self):
        """O4: keys that are too long, or empty"""
        queue = self.queue()
        queue.add("k" * 4096)
        queue.get().done()
        with self.assertRaisesRegex(kwq.InvalidArgument, "too long"):
            queue.add("k" * 4097)
        with self.assertRaises(kwq.InvalidArgument):
            queue.add("")

    def test_full(self):
        """O4, Q19: a full queue refuses a key, or makes the add wait"""
        queue = self.queue(max_items=1)
        queue.add("a")
        with self.assertRaisesRegex(kwq.Full, "the queue is full"):
            queue.add("b")
        with self.assertRaisesRegex(kwq.Full, "full for all of the time") as caught:
            queue.add("b", timeout=0.01)
        self.assertEqual(caught.exception.errno, errno.ETIMEDOUT)
        self.assertEqual(queue.add("a", timeout=None), Added.COALESCED)
        results = []
        thread = threading.Thread(target=lambda: results.append(queue.add("b", timeout=None)))
        thread.start()
        until_blocked(abi.IOC_ADD, thread.native_id)
        queue.get().done()
        thread.join()
        self.assertEqual(results, [Added.ADDED])

    def test_add_many(self):
        """Q13: many keys in one call, each with its result"""
        queue = self.queue()
        self.assertEqual(queue.add_many([]), [])
        keys = [str(number) for number in range(3000)]
        self.assertEqual(queue.add_many(keys), [Added.ADDED] * 3000)
        self.assertEqual(queue.add_many(["0", kwq.Add("later", delay=9999)]), [Added.COALESCED, Added.WAITING])
        got = []
        while len(got) < 3000:
            items = queue.get_many(5000, 0)
            got += [item.text for item in items]
            for item in items:
                item.done()
        self.assertEqual(got, keys)
        with self.assertRaisesRegex(kwq.BatchError, "2 of 3 keys failed, the first one") as caught:
            queue.add_many(["x" * 5000, "good", ""])
        results = caught.exception.results
        self.assertEqual((type(results[0]), results[1], type(results[2])),
                         (kwq.InvalidArgument, Added.ADDED, kwq.InvalidArgument))

    def test_add_many_waits(self):
        """Q19: many keys wait for room"""
        queue = self.queue(max_items=10)
        with self.assertRaises(kwq.BatchError) as caught:
            queue.add_many([str(number) for number in range(12)], timeout=0.01)
        self.assertEqual([type(result) for result in caught.exception.results[9:]], [Added, kwq.Full, kwq.Full])
        thread = threading.Thread(target=queue.add_many, args=([f"more {n}" for n in range(100)],),
                                  kwargs={"timeout": None})
        thread.start()
        for _ in range(110):
            queue.get(LONG).done()
        thread.join()
        self.assertEqual(queue.stat().items, 0)

    def test_rights(self):
        """U9: a handle without a right says so"""
        queue = self.queue()
        for right, call in ((kwq.Rights.READ, lambda q: q.add("a")), (kwq.Rights.WRITE, lambda q: q.get(0)),
                            (kwq.Rights.READ | kwq.Rights.WRITE, lambda q: q.shut_down())):
            with queue.reopen(rights=right) as other:
                self.assertEqual(other.rights, right)
                with self.assertRaisesRegex(kwq.Forbidden, "lacks the right"):
                    call(other)
                with self.assertRaises(kwq.Forbidden):
                    other.reopen(rights=kwq.Rights.ALL)


class Getting(Base):
    def test_empty(self):
        """Q5: nothing is ready, at once and in time"""
        queue = self.queue()
        with self.assertRaises(kwq.Empty) as caught:
            queue.get(0)
        self.assertEqual(caught.exception.errno, errno.EAGAIN)
        begin = time.monotonic()
        with self.assertRaises(TimeoutError) as caught:
            queue.get(0.02)
        self.assertGreaterEqual(time.monotonic() - begin, 0.02)
        self.assertEqual((type(caught.exception), caught.exception.errno), (kwq.Empty, errno.ETIMEDOUT))
        for wrong in (0, -1):
            with self.assertRaises(ValueError):
                queue.get_many(wrong)
        queue.shut_down()
        with self.assertRaises(kwq.ShutDown):
            queue.get()
        with self.assertRaises(kwq.ShutDown):
            queue.add("a")

    def test_lease(self):
        """O3: a lease takes the item back, and the holder learns it"""
        queue = self.manual(lease=10)
        queue.add("a")
        item = queue.get()
        queue.advance(9)
        item.extend()
        queue.advance(9)
        self.assertEqual(queue.find("a").lease_left, 1)
        queue.advance(1)
        with self.assertRaises(kwq.Stale):
            item.extend()
        self.assertTrue(item.finished and item.lost)
        again = queue.get(0)
        self.assertEqual((again.abandoned, again.ticket > item.ticket), (1, True))
        queue.advance(10)
        with self.assertRaises(kwq.Stale):
            again.done()
        item = queue.get(0)
        queue.advance(10)
        with self.assertRaises(kwq.Stale):
            item.retry()
        self.assertEqual(queue.num_requeues("a"), 0)
        with self.assertRaises(ValueError) as caught:
            with queue.get(0):
                queue.advance(10)
                raise ValueError
        self.assertIn("lease has expired", caught.exception.__notes__[0])
        with self.assertRaises(kwq.Stale):
            with queue.get(0):
                queue.advance(10)

    def test_retry_with_delay(self):
        """D1: a retry after a delay of the worker's own"""
        queue = self.manual()
        queue.add("a")
        self.assertEqual(queue.get().retry(delay=3), Added.WAITING)
        self.assertEqual(queue.find("a").due_in, 3)

    def test_dead_letters(self):
        """L11: dead letters are listed, kicked and dropped"""
        queue = self.manual(config=kwq.Config((kwq.FastSlow(0, 0, 0),), dead_after=1))
        queue.add_many("abc")
        for _ in range(3):
            queue.get(0).retry()
        self.assertEqual([queue.get(0).retry() for _ in range(3)], [Added.DEAD] * 3)
        queue.advance(5)
        self.assertEqual([(letter.text, letter.dead_for, letter.requeues) for letter in queue.dead()],
                         [("a", 5, 1), ("b", 5, 1), ("c", 5, 1)])
        self.assertEqual(queue.kick("a"), Added.ADDED)
        queue.drop("b")
        for call in (queue.kick, queue.drop):
            with self.assertRaises(kwq.NotFound):
                call("b")
        self.assertEqual([letter.text for letter in queue.dead()], ["c"])


    def test_unknown_ages(self):
        """M1, Y1, U8: a queue without durations does not know all ages"""
        queue = self.manual(durations=False)
        queue.add("dead")
        queue.get(0).bury()
        queue.add("held")
        held = queue.get(0)
        queue.add("ready")
        queue.add("later", delay=60)
        queue.advance(5)
        listed = {item.text: item for item in queue.items()}
        self.assertEqual({key: (item.dirty_for, item.processing_for, item.waiting_for, item.dead_for)
                          for key, item in listed.items()},
                         {"dead": (0, 0, 0, None), "held": (0, None, 0, 0), "ready": (None, 0, 0, 0),
                          "later": (0, 0, 5, 0)})
        self.assertEqual([letter.dead_for for letter in queue.dead()], [None])
        for to, age in ((self.manual(durations=False), None), (self.manual(), 7)):
            to.restore(listed.values())
            to.advance(7)
            self.assertEqual((to.find("ready").dirty_for, to.find("dead").dead_for), (age, age))
        stat = queue.stat()
        self.assertEqual((stat.has_durations, stat.oldest_ready, stat.longest_running, stat.unfinished),
                         (False, None, None, None))
        stat = self.manual().stat()
        self.assertEqual((stat.has_durations, stat.oldest_ready, stat.longest_running, stat.unfinished),
                         (True, 0, 0, 0))
        self.assertFalse(self.named("python-fast", durations=False).stat().has_durations)
        held.done()


class Whole(Base):
    def test_keys(self):
        """Q11, L8, L9: remove, forget, the requeues, and the state of a key"""
        queue = self.manual()
        queue.add("a", rate_limited=True)
        self.assertEqual((queue.num_requeues("a"), queue.forget("a"), queue.forget("a")), (1, 1, 0))
        self.assertIn("a", queue)
        self.assertNotIn("b", queue)
        self.assertEqual(queue.remove("a"), State.WAITING)
        with self.assertRaises(kwq.NotFound):
            queue.remove("a")
        self.assertIsNone(queue.find("a"))
        self.assertTrue(queue)

    def test_listing(self):
        """Q15: a listing has each key once, in pages"""
        queue = self.queue(values=True, groups=True)
        wanted = {b"%d" % number: b"v" * number for number in range(1000)}
        queue.add_many([kwq.Add(key, value=value, group="g") for key, value in wanted.items()])
        listed = list(queue.items(values=True))
        self.assertEqual({item.key: item.value for item in listed}, wanted)
        self.assertEqual({item.group for item in listed}, {b"g"})
        self.assertEqual({item.value for item in queue.items()}, {None})
        self.assertEqual([item.key for item in sorted(queue.items(), key=lambda item: item.sort_key)], list(wanted))
        item = queue.get()
        found = queue.find("0")
        self.assertEqual((found.state, found.pid, found.group), (State.PROCESSING, os.getpid(), b"g"))
        self.assertEqual(queue.find("7", value=True).value, b"v" * 7)
        self.assertEqual([item.text for item in queue.items(State.PROCESSING)], ["0"])
        item.done()

    def test_many_dead(self):
        """L11: a long list of dead letters has the oldest death first"""
        queue = self.queue()
        queue.add_many("%0100d" % number for number in range(600))
        for item in queue.get_many(600):
            item.bury()
        self.assertEqual([dead.text for dead in queue.dead()], ["%0100d" % number for number in range(600)])

    def test_restore(self):
        """U8: what a listing had can be put back"""
        options = {"values": True, "groups": True}
        queue, other = self.manual(**options), self.manual(**options)
        queue.add("ready", value="v", group="g", priority=3, note="n")
        queue.add("waits", delay=10, priority=5)
        queue.add("remembered", rate_limited=True)
        queue.add("dead", note="why")
        queue.advance(5)
        for _ in range(3):
            item = queue.get(0)
            if item.text == "dead":
                item.bury()
            elif item.text == "remembered":
                item.done(forget=False)
            else:
                kept = item
        with self.assertRaisesRegex(ValueError, "lacks its value"):
            other.restore([queue.find("ready")])
        with self.assertRaisesRegex(ValueError, "lacks its note"):
            other.restore(queue.dead())
        self.assertEqual(list(other.items()), [])
        items = sorted(queue.items(values=True), key=lambda item: item.sort_key)
        self.assertEqual(set(other.restore(items)), {Added.RESTORED})
        kept.done()
        found = {item.text: item for item in other.items(values=True)}
        self.assertEqual({key: item.state for key, item in found.items()}, {
            "ready": State.READY | State.RETURNED, "waits": State.WAITING, "dead": State.DEAD,
            "remembered": State.REMEMBERED})
        self.assertEqual((found["ready"].value, found["ready"].group, found["ready"].priority), (b"v", b"g", 3))
        self.assertEqual({key: item.note for key, item in found.items()},
                         {"ready": b"n", "waits": b"", "dead": b"why", "remembered": b""})
        self.assertEqual((found["waits"].due_in, found["waits"].wait_priority, found["remembered"].requeues), (5, 5, 1))
        self.assertEqual(set(other.restore(items[:1])), {Added.COALESCED})

    def test_pause(self):
        """Q14: a paused queue hands nothing out"""
        queue = self.manual()
        queue.add("a")
        queue.pause()
        self.assertEqual((queue.stat().paused, queue.stat().paused_for), (True, None))
        with self.assertRaises(kwq.Empty):
            queue.get(0)
        queue.pause(10)
        self.assertEqual(queue.stat().paused_for, 10)
        queue.resume()
        self.assertEqual(queue.stat().paused_for, 0)
        queue.get(0).done()

    def test_term(self):
        """Q20: after its term a queue hands nothing out, and takes back what is handed out"""
        queue = self.manual()
        self.assertEqual((queue.stat().term_over, queue.stat().term), (False, None))
        queue.advance(5)
        queue.set_term(10)
        self.assertEqual((queue.stat().term_over, queue.stat().term), (False, 15))
        queue.add("a")
        item = queue.get(0)
        queue.advance(10)
        self.assertEqual((queue.stat().term_over, queue.stat().term), (True, 15))
        with self.assertRaises(kwq.Stale):
            item.done()
        with self.assertRaises(kwq.Empty):
            queue.get(0)
        queue.set_term(at=16)
        self.assertEqual(queue.get(0).abandoned, 1)
        queue.set_term(0)
        with self.assertRaises(kwq.Empty):
            queue.get(0)
        queue.set_term()
        queue.get(0).done()
        with self.assertRaises(ValueError):
            queue.set_term(1, at=2)

    def test_bpf_token(self):
        """E1: a handle has one token, which another handle has not"""
        queue = self.manual()
        try:
            token = queue.bpf_token()
        except OSError as error:
            if error.errno == errno.EOPNOTSUPP:
                self.skipTest("this kernel, or the module, has no BTF")
            raise
        self.assertEqual(queue.bpf_token(), token)
        self.assertNotEqual(self.manual().bpf_token(), token)

    def test_config(self):
        """L1 to L7: the configuration is set and read"""
        queue = self.queue()
        self.assertEqual(queue.config().limiters, (kwq.Exponential(0.005, 1000), kwq.Bucket(10, 100, 1)))
        config = kwq.Config((kwq.FastSlow(0.5, 60, 3), kwq.Backoff(1, 2, 0.5, 5, 30)), 3600, 86400, 20, 5, True)
        queue.configure(config)
        self.assertEqual(queue.config(), config)
        with self.assertRaises(kwq.InvalidArgument):
            queue.configure(kwq.Config((kwq.Exponential(2, 1),)))
        self.assertEqual(self.queue(config=config).config(), config)

    def test_stat(self):
        """M1, M2: the statistics, in seconds"""
        queue = self.manual(lease=60, aging=30, max_items=5, values=True)
        queue.add("a", value="v")
        queue.advance(2.5)
        item = queue.get()
        queue.add("a")
        queue.advance(0.5)
        stat = queue.stat()
        self.assertEqual((stat.name, stat.clock, stat.lease, stat.aging, stat.max_items, stat.has_values,
                          stat.has_groups),
                         (None, kwq.Clock.MANUAL, 60, 30, 5, True, False))
        self.assertEqual((stat.processing, stat.dirty, stat.adds, stat.now, stat.longest_running, stat.unfinished),
                         (1, 1, 2, 3, 0.5, 0.5))
        self.assertEqual((stat.queue_duration.sum, stat.queue_duration.count, stat.values, stat.handles),
                         (2.5, 1, 1, 1))
        self.assertEqual(stat.queue_duration.counts[stat.queue_duration.bounds.index(10.0)], 1)
        item.done()

    def test_clocks(self):
        """D8, K4: the clocks"""
        queue = self.queue(clock=kwq.Clock.BOOTTIME)
        self.assertEqual(queue.clock, kwq.Clock.BOOTTIME)
        self.assertLessEqual(abs(queue.now() - time.clock_gettime(time.CLOCK_BOOTTIME)), LONG)
        with self.assertRaises(kwq.NotSupported):
            queue.advance(1)
        queue = self.manual()
        queue.advance(5)
        with self.assertRaises(kwq.InvalidArgument):
            queue.advance_to(4)

    def test_drain(self):
        """Q9: a drain waits for the work of others, and can time out or be ended"""
        queue = self.queue()
        self.assertFalse(queue.shutting_down)
        queue.add("a")
        item = queue.get()
        with self.assertRaises(kwq.TimedOut):
            queue.drain(0.01)
        self.assertTrue(queue.shutting_down)
        ended = []

        def drain():
            try:
                queue.drain()
                ended.append("drained")
            except kwq.DrainEnded:
                ended.append("ended")
        for end in (queue.shut_down, item.done):
            thread = threading.Thread(target=drain)
            thread.start()
            until_blocked(abi.IOC_DRAIN, thread.native_id)
            end()
            thread.join()
        self.assertEqual(ended, ["ended", "drained"])

    def test_names(self):
        """O5: named queues are created, opened, listed and unlinked"""
        queue = self.named(mode=0o640)
        self.assertEqual(queue.name, "python-test")
        self.assertEqual(repr(queue), f"<kwq.Queue python-test fd={queue.fileno()}>")
        with self.assertRaises(FileExistsError) as caught:
            Queue.create("python-test")
        self.assertIs(type(caught.exception), kwq.Exists)
        with Queue.create("python-test", or_open=True) as other:
            other.add("a")
        with Queue.open("python-test", rights=kwq.Rights.READ) as other:
            other.get(0).done()
        self.assertIn(("python-test", 0, 0o640 & ~self.umask()), [(q.name, q.uid, q.mode) for q in kwq.queues()])
        with self.assertRaisesRegex(kwq.NotFound, "python-absent"):
            Queue.open("python-absent")
        with self.assertRaises(kwq.NotFound):
            kwq.unlink("python-absent")
        with self.assertRaises(kwq.InvalidArgument):
            Queue.create("python-bad", mode=0o1000)

    @staticmethod
    def umask():
        mask = os.umask(0)
        os.umask(mask)
        return mask

    def test_unlink(self):
        """O5: an unlink may insist on an empty queue, and shut it down"""
        queue = self.named()
        queue.add("a")
        queue.add("b", delay=9999)
        with self.assertRaisesRegex(kwq.NotEmpty, "1 ready, 1 waiting"):
            queue.unlink(empty=True, shut_down=True)
        self.assertFalse(queue.shutting_down)
        queue.remove("a")
        queue.remove("b")
        queue.unlink(empty=True, shut_down=True)
        self.assertTrue(queue.shutting_down)
        with self.assertRaisesRegex(kwq.NotFound, "removed already"):
            queue.unlink()
        with self.assertRaisesRegex(kwq.InvalidArgument, "no name"):
            self.queue().unlink()

    def test_many_names(self):
        """O5: the list of names comes in pages"""
        queues = [self.named(f"python-{number:03}") for number in range(130)]
        names = [named.name for named in kwq.queues() if named.name.startswith("python-")]
        self.assertEqual(names, [queue.name for queue in queues])

    def test_owner(self):
        """U9: a queue that another user has made first is opened, but not taken for an own one"""
        mode = os.stat("/dev/kwq").st_mode & 0o777
        os.chmod("/dev/kwq", 0o666)
        self.addCleanup(os.chmod, "/dev/kwq", mode)
        os.seteuid(12345)
        try:
            theirs = Queue.create("python-theirs", or_open=True, mode=0o777 & ~self.umask())
            theirs.check_owner()
        finally:
            os.seteuid(0)
        self.addCleanup(theirs.close)
        self.addCleanup(kwq.unlink, "python-theirs")
        with self.assertRaisesRegex(kwq.Forbidden, "another user has created the queue"):
            Queue.create("python-theirs", or_open=True)
        with Queue.open("python-theirs") as queue:
            with self.assertRaises(PermissionError):
                queue.check_owner()

    def test_quota(self):
        """O4: the quota of a user"""
        def user():
            os.setgroups([])
            os.setgid(12346)
            os.setuid(12346)
            held = []
            try:
                while len(held) <= kwq.info().max_queues:
                    held.append(Queue.unnamed())
            except kwq.QuotaExceeded as failure:
                return failure.errno == errno.EDQUOT and len(held) == kwq.info().max_queues
            return False
        import resource
        most = kwq.info().max_queues
        if resource.getrlimit(resource.RLIMIT_NOFILE)[1] <= most + 20:
            resource.setrlimit(resource.RLIMIT_NOFILE, (most + 64, most + 64))
        resource.setrlimit(resource.RLIMIT_NOFILE, (most + 64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        mode = os.stat("/dev/kwq").st_mode & 0o777
        os.chmod("/dev/kwq", 0o666)
        self.addCleanup(os.chmod, "/dev/kwq", mode)
        self.assertEqual(Child(user).status(), 0)

    def test_info(self):
        """O9: the limits of the module"""
        info = kwq.info()
        self.assertEqual((info.key_max, info.name_max, info.batch_max, info.priority_min, info.priority_max),
                         (abi.KEY_MAX, abi.NAME_MAX, abi.BATCH_MAX, abi.PRIORITY_MIN, abi.PRIORITY_MAX))
        self.assertTrue(info.features & abi.FEATURE_SETTLE)


class Processes(Base):

    def test_fork_gives_own_handle(self):
        """O1: a forked child has a handle of its own, and its death gives back only its own items"""
        queue = self.queue()
        queue.add_many("ab")
        mine = queue.get()

        def hold():
            item = queue.get()
            signal.pause()
            return bool(item)
        child = Child(hold)
        until(lambda: queue.stat().processing == 2)
        self.assertEqual(queue.stat().handles, 2)
        child.kill()
        child.status()
        with queue.get(LONG) as item:
            self.assertEqual((item.text, item.abandoned), ("b", 1))
        self.assertEqual(mine.done(), Finished(0))

    def test_parent_dies_before_child(self):
        """O1: the items of a parent come back though its child lives"""
        queue = self.named()
        queue.add("a")
        reader, writer = os.pipe()

        def parent():
            with Queue.open("python-test") as own:
                item = own.get()
                grandchild = os.fork()
                if not grandchild:
                    os.read(reader, 1)
                    os._exit(0)
                return bool(item)
        self.assertEqual(Child(parent).status(), 0)
        with queue.get(LONG) as item:
            self.assertEqual((item.text, item.abandoned), ("a", 1))
        os.close(reader)
        os.close(writer)

    def test_items_of_the_parent(self):
        """Y1: a child cannot use its parent's items, is told so, and does not give them back"""
        queue = self.queue()
        queue.add("a")
        item = queue.get()

        def child():
            nonlocal item
            for call in (item.done, item.retry, item.extend, item.give_back, item.bury, item.detach, item.__enter__):
                try:
                    call()
                except kwq.WrongProcess as failure:
                    if "belongs to the parent of this process" not in str(failure):
                        return False
                else:
                    return False
            del item
            gc.collect()
            return queue.stat().returned == 0
        self.assertEqual(Child(child).status(), 0)
        self.assertEqual(queue.stat().processing, 1)
        self.assertEqual(item.done(), Finished(0))

    def test_fork_without_descriptors(self):
        """Y1: a child that could not open its queues says so"""
        queue = self.queue()

        def child():
            try:
                queue.get(0)
            except kwq.Closed as failure:
                return "could not be opened for this forked process" in str(failure)
            return False
        import resource
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (queue.fileno() + 1, limits[1]))
        try:
            blockers = []
            try:
                while True:
                    blockers.append(os.dup(0))
            except OSError:
                pass
            status = Child(child).status()
        finally:
            for fd in blockers:
                os.close(fd)
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
        self.assertEqual(status, 0)

    def test_inherited_descriptor(self):
        """U2: a started program gets a queue by its descriptor"""
        queue = self.queue()
        program = ("import sys; sys.path.insert(0, sys.argv[2]); import kwq\n"
                   "with kwq.Queue.from_fd(int(sys.argv[1])) as queue: queue.add('from a program')")
        with queue.reopen(rights=kwq.Rights.WRITE) as writer:
            subprocess.run([sys.executable, "-c", program, str(writer.fileno()), str(HERE.parent)],
                           pass_fds=[writer.fileno()], check=True)
        queue.get(0).done()

    def test_rights_of_descriptor(self):
        """U9: a Queue of a descriptor knows its rights"""
        queue = self.queue()
        for rights in (kwq.Rights.WRITE, kwq.Rights.READ | kwq.Rights.MANAGE, kwq.Rights.ALL):
            with queue.reopen(rights=rights) as other:
                with Queue.from_fd(os.dup(other.fileno())) as copy:
                    self.assertEqual(copy.rights, rights)


class Alarm(BaseException):
    """What the handler of the storm raises, as Ctrl-C does."""


class Signals(Base):
    def test_ctrl_c(self):
        """Q5: Ctrl-C ends a waiting get, and loses no item"""
        queue = self.queue()

        def wait():
            signal.signal(signal.SIGINT, signal.default_int_handler)
            try:
                queue.get()
            except KeyboardInterrupt:
                return True
            return False
        child = Child(wait)
        until_blocked(abi.IOC_GET, child.pid, child.pid)
        child.kill(signal.SIGINT)
        self.assertEqual(child.status(), 0)
        queue.add("a")
        queue.get(0).done()

    def test_handler_that_returns(self):
        """Q5: after a signal whose handler returns, a get goes on with its deadline"""
        queue = self.manual()
        reader, writer = os.pipe()

        def wait():
            signal.signal(signal.SIGUSR1, lambda number, frame: os.write(writer, b"x"))
            try:
                queue.get(10)
            except kwq.Empty:
                return queue.now() == 10
            return False
        child = Child(wait)
        until_blocked(abi.IOC_GET, child.pid, child.pid)
        queue.advance(6)
        child.kill(signal.SIGUSR1)
        self.assertEqual(os.read(reader, 1), b"x")
        until_blocked(abi.IOC_GET, child.pid, child.pid)
        queue.advance(4)
        self.assertEqual(child.status(), 0)
        os.close(reader)
        os.close(writer)

    def test_drain_goes_on(self):
        """Q9: and so does a drain"""
        queue = self.queue()
        queue.add("a")
        item = queue.get()

        def wait():
            signal.signal(signal.SIGUSR1, lambda number, frame: None)
            queue.drain()
            return True
        child = Child(wait)
        until_blocked(abi.IOC_DRAIN, child.pid, child.pid)
        child.kill(signal.SIGUSR1)
        until_blocked(abi.IOC_DRAIN, child.pid, child.pid)
        item.done()
        self.assertEqual(child.status(), 0)

    def storm(self, work, rounds):
        """Runs work again and again while signals raise an exception in it, at any instruction."""
        def strike(number, frame):
            raise Alarm

        struck = 0
        old = signal.signal(signal.SIGALRM, strike)
        # It may also strike at the end of an object that has nothing left to do.
        hook, sys.unraisablehook = sys.unraisablehook, lambda unraisable: None
        try:
            for number in range(rounds):
                try:
                    # Each time it strikes a little later.
                    signal.setitimer(signal.ITIMER_REAL, 0.00002 + number % 97 * 0.00001)
                    work()
                    signal.setitimer(signal.ITIMER_REAL, 0)
                except Alarm:
                    struck += 1
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, old)
            sys.unraisablehook = hook
        return struck

    def test_storm_of_get(self):
        """Y1: an interrupt at any instruction of a get loses no item, and takes none from another thread"""
        queue = self.queue()
        queue.add_many(["other", *(str(number) for number in range(8))])
        others = queue.get()

        def work():
            queue.get(0).give_back()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            struck = self.storm(work, 1500)
            self.settled(queue, others, struck)

    def test_storm_of_get_many(self):
        """Y1: the same for a get of many"""
        queue = self.queue()
        queue.add_many(["other", *(str(number) for number in range(8))])
        others = queue.get()

        def work():
            for item in reversed(queue.get_many(5, 0)):
                item.give_back()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            struck = self.storm(work, 800)
            self.settled(queue, others, struck)

    def settled(self, queue, others, struck):
        gc.collect()
        # A second alarm in the middle of the return: the next get finishes it.
        queue.get(0).give_back()
        stat = queue.stat()
        self.assertEqual((stat.processing, stat.ready, stat.dones, stat.abandoned), (1, 8, 0, 0))
        self.assertGreater(struck, 0)
        self.assertEqual(others.done(), Finished(0))


class Asyncio(Base):
    def run_async(self, coroutine):
        return asyncio.run(asyncio.wait_for(coroutine, LONG))

    def test_get_and_iterate(self):
        """Y1: tasks get items without threads"""
        queue = self.queue()
        before = threading.active_count()

        async def work(name, seen):
            async for item in queue:
                with item:
                    seen.append((name, item.text))
                    await asyncio.sleep(0)

        async def main():
            seen = []
            tasks = [asyncio.create_task(work(name, seen)) for name in range(5)]
            await asyncio.sleep(0)
            for number in range(50):
                queue.add(str(number))
                if number % 10 == 0:
                    await asyncio.sleep(0)
            await queue.adrain()
            await asyncio.gather(*tasks)
            self.assertEqual(sorted(int(key) for _, key in seen), list(range(50)))
            self.assertGreater(len({name for name, _ in seen}), 1)
            self.assertEqual(threading.active_count(), before)
        self.run_async(main())
        self.run_async(self.ended(queue))

    async def ended(self, queue):
        # The next event loop has a reader of its own.
        with self.assertRaises(kwq.ShutDown):
            await queue.aget()

    def test_timeout(self):
        """Q5: a wait of a task has a timeout"""
        queue = self.queue()

        async def main():
            for timeout, number in ((0, errno.EAGAIN), (0.01, errno.ETIMEDOUT)):
                with self.assertRaises(kwq.Empty) as caught:
                    await queue.aget(timeout)
                self.assertEqual(caught.exception.errno, number)
            with self.assertRaises(ValueError):
                await queue.aget_many(0)
            queue.add_many("abc")
            items = await queue.aget_many(5, 1)
            self.assertEqual(self.keys(items), [b"a", b"b", b"c"])
            for item in items:
                item.done()
        self.run_async(main())

    def test_cancel(self):
        """Y1: a cancelled wait leaves no reader, and the next key goes to another task"""
        queue = self.queue()

        async def main():
            first, second = asyncio.create_task(queue.aget()), asyncio.create_task(queue.aget())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            first.cancel()
            queue.add("a")
            with await second as item:
                self.assertEqual(item.text, "a")
            self.assertTrue(first.cancelled())
            self.assertFalse(asyncio.get_running_loop().remove_reader(queue.fileno()))
        self.run_async(main())

    def test_cancel_with_item(self):
        """Y1: a task that is cancelled with its item on the way loses neither item nor wake-up"""
        queue = self.queue()

        async def main():
            loop = asyncio.get_running_loop()
            first, second = asyncio.create_task(queue.aget()), asyncio.create_task(queue.aget())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            queue.add("a")
            # The callback of the reader, as the loop calls it. The task has its item now, and has not run since.
            reader = queue._sides[loop][0]
            reader._ready()
            self.assertEqual(queue.stat().processing, 1)
            first.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await first
            self.assertEqual(queue.stat().returned, 1)
            with await second as item:
                self.assertEqual(item.text, "a")
            stat = queue.stat()
            self.assertEqual((stat.returned, stat.abandoned, stat.dones), (1, 0, 1))
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            self.run_async(main())
        self.assertEqual(caught, [])  # of an item that was not finished

    def test_cancel_storm(self):
        """Y1: however tasks are cancelled, each key is handed out in the end"""
        queue = self.queue()

        async def main():
            done = set()

            async def work():
                item = await queue.aget()
                with item:
                    done.add(item.key)
            for number in range(150):
                tasks = [asyncio.create_task(work()) for _ in range(3)]
                for _ in range(number % 4):
                    await asyncio.sleep(0)
                queue.add(str(number))
                for _ in range(number % 5):
                    await asyncio.sleep(0)
                tasks[number % 3].cancel()
                await asyncio.sleep(0)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            self.assertEqual(queue.stat().processing, 0)
            while True:
                try:
                    with await queue.aget(0) as item:
                        done.add(item.key)
                except kwq.Empty:
                    break
            self.assertEqual(len(done), 150)
            stat = queue.stat()
            self.assertEqual((stat.dones, stat.abandoned), (150, 0))
        self.run_async(main())

    def test_add_waits(self):
        """Q19: tasks wait for room, in their order"""
        queue = self.queue(max_items=1)

        async def main():
            self.assertEqual(await queue.aadd("0"), Added.ADDED)
            with self.assertRaises(kwq.Full):
                await queue.aadd("1", timeout=0)
            with self.assertRaises(kwq.Full):
                await queue.aadd("1", timeout=0.01)
            tasks = [asyncio.create_task(queue.aadd(str(number))) for number in range(1, 5)]
            await asyncio.sleep(0)
            tasks.pop(1).cancel()
            got = []
            for _ in range(4):
                with await queue.aget() as item:
                    got.append(item.text)
            self.assertEqual(got, ["0", "1", "3", "4"])
            self.assertEqual(await asyncio.gather(*tasks), [Added.ADDED] * 3)
            self.assertFalse(asyncio.get_running_loop().remove_writer(queue.fileno()))
            queue.add("full")
            task = asyncio.create_task(queue.aadd("late"))
            await asyncio.sleep(0)
            queue.shut_down()
            with self.assertRaises(kwq.ShutDown):
                await task
        self.run_async(main())

    def test_add_of_a_large_key(self):
        """Q19: a key that is larger than the room waits, though the descriptor is writable"""
        queue = self.queue(max_bytes=70000, values=True)

        async def main():
            queue.add("a", value=bytes(40000))
            task = asyncio.create_task(queue.aadd("b", value=bytes(40000)))
            side = None
            while side is None or side._timer is None:
                await asyncio.sleep(0)
                side = queue._sides[asyncio.get_running_loop()][1]
            with await queue.aget():
                pass
            self.assertEqual(await task, Added.ADDED)
        self.run_async(main())

    def test_drain(self):
        """Q9: a drain of a task waits for the work of others"""
        queue = self.queue()
        queue.add_many("ab")

        async def main():
            held = queue.get()
            with self.assertRaises(kwq.TimedOut):
                await queue.adrain(0)
            with self.assertRaises(kwq.TimedOut):
                await queue.adrain(0.05)
            drain = asyncio.create_task(queue.adrain())
            await asyncio.sleep(0)
            queue.get(0).done()
            await asyncio.sleep(0)
            self.assertFalse(drain.done())
            held.done()
            await drain
            await queue.adrain()
            self.assertEqual(queue.stat().handles, 1)
        self.run_async(main())

    def test_close_during_wait(self):
        """Y1: the close of a queue ends the waits of its tasks"""
        queue = self.queue()

        async def main():
            task = asyncio.create_task(queue.aget())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            queue.close()
            with self.assertRaises(kwq.Closed):
                await task
        self.run_async(main())

    def test_close_by_thread(self):
        """Y1: also from another thread"""
        queue = self.queue()

        async def main():
            task = asyncio.create_task(queue.aget())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            thread = threading.Thread(target=queue.close)
            thread.start()
            with self.assertRaises(kwq.Closed):
                await task
            thread.join()
        self.run_async(main())

    def test_two_loops(self):
        """Y1: event loops of two threads share a queue"""
        queue = self.queue()
        got = []

        def run():
            async def main():
                async for item in queue:
                    with item:
                        got.append(item.text)
            asyncio.run(main())
        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(40):
            queue.add(str(number))
        queue.drain(LONG)
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(map(int, got)), list(range(40)))


class Grants(Base):
    def test_outbox(self):
        """N3: adds go to the outbox, and a manager puts keys in, with tokens"""
        outbox = self.queue(changes=True)
        queue = self.queue(changes=True, outbox=outbox)
        self.assertEqual((queue.stat().has_outbox, outbox.stat().has_outbox), (True, False))
        follower = outbox.follow()
        queue.add("a")
        with self.assertRaises(kwq.Empty):
            queue.get(timeout=0)
        listed = follower.changes().keys[0]
        self.assertEqual(queue.restore([kwq.Listed(b"a", token=2**64 - 1)]), [Added.RESTORED])
        # An add that the manager does not know keeps the key in the outbox.
        self.assertEqual(queue.add("a"), Added.COALESCED)
        with self.assertRaisesRegex(kwq.Changed, "changed since"):
            outbox.remove("a", unchanged=listed.change)
        listed = follower.changes().keys[0]
        self.assertEqual(outbox.remove("a", unchanged=listed.change), State.READY)
        with self.assertRaises(kwq.NotFound):
            outbox.remove("a", unchanged=listed.change)
        with self.assertRaises(kwq.NotSupported):
            self.queue().remove("a", unchanged=1)
        for wrong in (-1, 2**64):
            with self.assertRaisesRegex(ValueError, "number of a change"):
                outbox.remove("a", unchanged=wrong)
            with self.assertRaisesRegex(ValueError, "a token is"):
                queue.restore([kwq.Listed(b"a", token=wrong)])
        item = queue.get()
        self.assertEqual((item.text, item.token, queue.find("a").token), ("a", 2**64 - 1, 2**64 - 1))
        self.assertEqual(queue.remove("a", revoke=True), State.PROCESSING)
        with self.assertRaises(kwq.Stale):
            item.done()
        with self.assertRaises(kwq.NotFound):
            queue.remove("a", revoke=True)
        # Q11: a forget is for the outbox, and a remove for the queue.
        queue.restore([kwq.Listed(b"a", state=State.REMEMBERED, requeues=2)])
        self.assertEqual(queue.forget("a"), 0)
        self.assertEqual(queue.remove("a"), State.REMEMBERED)
        self.assertIsNone(queue.find("a"))

    def test_tokens_of_many(self):
        """N3: tokens of a get of several keys, and of a queue without them"""
        queue = self.queue(changes=True, values=True, groups=True)
        queue.restore([kwq.Listed(b"a", token=1), kwq.Listed(b"b", value=b"v", group=b"g", token=2), kwq.Listed(b"c")])
        items = queue.get_many(3)
        self.assertEqual([(item.text, item.value, item.group, item.token) for item in items],
                         [("a", b"", b"", 1), ("b", b"v", b"g", 2), ("c", b"", b"", 0)])
        for item in items:
            item.done()
        with self.assertRaises(kwq.BatchError):
            self.queue().restore([kwq.Listed(b"a", token=1)])

    @unittest.skipUnless(shutil.which("kwq"), "the command kwq is not installed")
    def test_command(self):
        """N3: the command kwq shows tokens, and its jobs have them"""
        name = f"python-token-{os.getpid()}"
        queue = Queue.create(name, changes=True)
        self.addCleanup(queue.close)
        self.addCleanup(queue.unlink)
        queue.restore([kwq.Listed(b"a", token=2**64 - 1), kwq.Listed(b"b", token=5)])

        def said(*command):
            return subprocess.run(["kwq", *command], stdout=subprocess.PIPE, text=True, check=True).stdout

        self.assertEqual([json.loads(line)["token"] for line in said("keys", "--json", name).splitlines()],
                         [2**64 - 1, 5])
        self.assertEqual([line.split()[8:] for line in said("keys", "-lH", name).splitlines()],
                         [[str(2**64 - 1), "-", "a"], ["5", "-", "b"]])
        self.assertEqual(json.loads(said("get", "--json", name))["token"], 2**64 - 1)
        self.assertEqual(said("run", "--exit-when-empty", name, "--", "sh", "-c", "echo $KWQ_TOKEN"), "5\n")


class Changes(Base):
    def states(self, changes):
        return {listed.text: listed.state for listed in changes.keys}

    def followed(self, **options):
        queue = self.queue(changes=True, **options)
        worker = queue.reopen()
        self.addCleanup(worker.close)
        return queue, worker, queue.follow()

    def test_follow(self):
        """N8: a follower reads the keys that have changed"""
        queue, worker, follower = self.followed(values=True, groups=True)
        with self.assertRaises(kwq.Busy):
            worker.follow()
        stat = queue.stat()
        self.assertEqual((stat.has_changes, stat.has_sync, stat.followed, stat.last_change), (True, False, True, 1))
        self.assertNotEqual(stat.id, 0)
        # The creation of the queue.
        changes = follower.changes()
        self.assertEqual((changes.keys, changes.number, changes.of_queue), ([], 1, True))
        for timeout in (0, 0.001):
            with self.assertRaisesRegex(kwq.Empty, "nothing changed"):
                follower.changes(timeout)
        worker.add_many("ab")
        self.assertEqual(self.states(follower.changes()), {"a": State.READY, "b": State.READY})
        item = worker.get()
        worker.add("a")
        self.assertEqual(self.states(follower.changes()), {"a": State.PROCESSING | State.DIRTY})
        worker.remove("b")
        gone = follower.changes().keys
        self.assertEqual([(listed.text, listed.gone, listed.state) for listed in gone], [("b", True, State(0))])
        self.assertEqual(queue.stat().items, 2)
        follower.again()
        item.done()
        self.assertEqual(self.states(follower.changes()), {"b": State(0), "a": State.READY})
        worker.pause()
        self.assertTrue(follower.changes().of_queue)
        worker.add("v", value=bytes(abi.VALUE_MAX), group="g", note="n" * abi.NOTE_MAX)
        changes = follower.changes(values=True)
        listed = changes.keys[0]
        self.assertEqual((listed.text, len(listed.value), listed.group, listed.change, changes.of_queue),
                         ("v", abi.VALUE_MAX, b"g", changes.number, False))
        self.assertEqual(listed.note, b"n" * abi.NOTE_MAX)
        worker.add("v", note="why")
        listed = follower.changes().keys[0]
        self.assertEqual((listed.value, listed.note, listed.note_len), (None, None, 3))
        worker.add_many([kwq.Add("w", note="1"), kwq.Add("x", value="2")])
        self.assertEqual([(listed.text, listed.value, listed.note) for listed in follower.changes(values=True).keys],
                         [("w", b"", b"1"), ("x", b"2", b"")])

    def test_refused(self):
        """N8: queues without changes, and handles without rights"""
        with self.assertRaises(kwq.NotSupported):
            self.queue().follow()
        with self.assertRaises(kwq.NotSupported):
            self.queue().sync()
        reader = self.queue(changes=True).reopen(rights=kwq.Rights.READ)
        self.addCleanup(reader.close)
        with self.assertRaises(kwq.Forbidden):
            reader.follow()
        with self.assertRaisesRegex(ValueError, "needs changes=True"):
            self.queue(sync=True)

    def test_wait(self):
        """N8: a call waits for a change, and another thread cannot read meanwhile"""
        queue, worker, follower = self.followed()
        follower.changes()
        got = []
        thread = threading.Thread(target=lambda: got.append(follower.changes()))
        thread.start()
        until_blocked(abi.IOC_CHANGES, thread.native_id)
        with self.assertRaises(kwq.Busy):
            follower.changes(0)
        worker.add("a")
        thread.join()
        self.assertEqual(self.states(got[0]), {"a": State.READY})
        self.assertIs(follower.queue, queue)

    def test_sync(self):
        """N8: a sync waits until the follower has kept all changes"""
        _, worker, follower = self.followed()
        follower.keep(follower.changes().number)
        with self.assertRaises(kwq.TimedOut):
            worker.sync(0)
        with self.assertRaises(kwq.Empty):
            follower.changes(0)
        worker.sync()
        worker.add("a")
        thread = threading.Thread(target=worker.sync)
        thread.start()
        until_blocked(abi.IOC_SYNC, thread.native_id)
        follower.keep(follower.changes().number)
        with self.assertRaises(kwq.Empty):
            follower.changes(0)
        thread.join()

    def test_synced_queue(self):
        """N8: the calls on a queue with sync return once their changes are kept"""
        queue, worker, follower = self.followed(sync=True)
        self.assertTrue(queue.stat().has_sync)
        follower.keep(follower.changes().number)
        # The follower does not wait for itself.
        queue.add("own")
        results = []
        thread = threading.Thread(target=lambda: results.append(worker.add("a")))
        thread.start()
        until_blocked(abi.IOC_ADD, thread.native_id)
        number = follower.changes().number
        self.assertEqual(results, [])
        follower.keep(number)
        with self.assertRaises(kwq.Empty):
            follower.changes(0)
        thread.join()
        self.assertEqual(results, [Added.ADDED])
        self.assertEqual(queue.stat().kept, number)

    def test_fork(self):
        """Y1: the child of a follower does not follow"""
        queue, worker, follower = self.followed()
        follower.changes()

        def child():
            try:
                follower.changes(0)
            except kwq.Forbidden:
                return queue.stat().followed
            return False
        self.assertEqual(Child(child).status(), 0)
        worker.add("a")
        self.assertEqual(self.states(follower.changes()), {"a": State.READY})

    def test_async(self):
        """N8, Y1: a task waits for changes without a thread, and a cancelled wait loses none"""
        queue, worker, follower = self.followed()
        before = threading.active_count()

        async def main():
            self.assertTrue((await follower.achanges()).of_queue)
            for timeout in (0, 0.001):
                with self.assertRaises(kwq.Empty):
                    await follower.achanges(timeout)
            task = asyncio.create_task(follower.achanges())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            worker.add("a")
            self.assertEqual(self.states(await task), {"a": State.READY})
            task = asyncio.create_task(follower.achanges())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            task.cancel()
            worker.add("b")
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(self.states(await follower.achanges()), {"b": State.READY})
            self.assertEqual(threading.active_count(), before)
            task = asyncio.create_task(follower.achanges())
            await asyncio.sleep(0)
            await asyncio.sleep(0)
            queue.close()
            with self.assertRaises(kwq.Closed):
                await task
            with self.assertRaises(kwq.Closed):
                await follower.achanges()
        asyncio.run(asyncio.wait_for(main(), LONG))

    def test_async_sync(self):
        """N8: a task waits until all changes are kept, and for no later ones"""
        _, worker, follower = self.followed()

        async def main():
            with self.assertRaises(kwq.TimedOut):
                await worker.async_sync(0.01)
            worker.add("a")
            task = asyncio.create_task(worker.async_sync())
            await asyncio.sleep(0)
            number = (await follower.achanges()).number
            worker.add("b")
            follower.keep(number)
            await follower.achanges()
            await task
        asyncio.run(asyncio.wait_for(main(), LONG))


class Workers(Base):
    def setUp(self):
        logging.getLogger("kwq").setLevel(logging.CRITICAL + 1)

    def run_to_its_end(self, worker):
        """worker.run(), in a thread: a worker that does not end fails the test, and no other one."""
        result = []
        thread = threading.Thread(target=lambda: result.append(worker.run()), daemon=True)
        thread.start()
        thread.join(LONG / 4)  # a mutant has to be found before the program's own time limit
        self.assertFalse(thread.is_alive(), "run() does not return")
        self.assertTrue(result, "run() raised an exception")
        return result[0]

    @contextlib.contextmanager
    def logged(self):
        """The messages of the workers, as they come."""
        messages = []
        handler = logging.Handler()
        handler.emit = lambda record: messages.append(record.getMessage())
        log = logging.getLogger("kwq")
        log.addHandler(handler)
        log.setLevel(logging.WARNING)
        try:
            yield messages
        finally:
            log.removeHandler(handler)
            log.setLevel(logging.CRITICAL + 1)

    def ends(self, worker):
        return worker.done, worker.failed, worker.returned, worker.lost

    def both(self, handle):
        """A handler for threads, and the same for tasks."""
        async def handle_async(item):
            handle(item)
        yield from ((False, handle), (True, handle_async))

    def test_threads(self):
        """Y2: a worker calls a function in several threads, until the queue is shut down and empty"""
        queue = self.queue()
        queue.add_many(str(number) for number in range(40))
        together = threading.Barrier(4, timeout=LONG)
        seen = set()

        def handle(item):
            if int(item.text) < 4:
                together.wait()
            seen.add(item.text)
        queue.shut_down()
        worker = kwq.Worker(queue, handle, concurrency=4)
        self.assertTrue(worker.run())
        self.assertEqual((len(seen), worker.done, queue.stat().dones), (40, 40, 40))

    def test_dirty_after_shut_down(self):
        """Q8: it also handles a key that becomes ready again at its done"""
        queue = self.queue()
        queue.add("a")
        runs = []
        told = threading.Event()  # the worker knows of the shut down
        get_many = Queue.get_many

        def get_many_and_tell(*arguments, **options):
            try:
                return get_many(*arguments, **options)
            except kwq.ShutDown:
                told.set()
                until(lambda: not worker._running)  # the item ends before the worker looks
                raise

        def handle(item):
            runs.append(item.text)
            if len(runs) == 1:
                queue.add("a")
                queue.shut_down()
                self.assertTrue(told.wait(LONG))
        worker = kwq.Worker(queue, handle, concurrency=2)
        with unittest.mock.patch.object(Queue, "get_many", get_many_and_tell):
            self.assertTrue(worker.run())
        self.assertEqual(runs, ["a", "a"])

    def test_dirty_after_shut_down_async(self):
        """Q8: and so does one with tasks"""
        queue = self.queue()
        queue.add("a")
        runs = []
        aget_many = Queue.aget_many
        told = asyncio.Event()

        async def aget_many_and_tell(*arguments, **options):
            try:
                return await aget_many(*arguments, **options)
            except kwq.ShutDown:
                told.set()
                while worker._running:
                    await asyncio.sleep(0)
                raise

        async def handle(item):
            runs.append(item.text)
            if len(runs) == 1:
                queue.add("a")
                queue.shut_down()
                await told.wait()
        worker = kwq.Worker(queue, handle, concurrency=2)
        with unittest.mock.patch.object(Queue, "aget_many", aget_many_and_tell):
            self.assertTrue(worker.run())
        self.assertEqual(runs, ["a", "a"])

    def test_retries(self):
        """L1, L11: failures are retried by the limiters, or end as on_error says"""
        queue = self.queue(config=kwq.Config((kwq.FastSlow(0, 0, 0),), dead_after=3))
        queue.add("bad")

        def handle(item):
            if item.requeues == 3:
                worker.stop()
            raise ValueError("bad")
        worker = kwq.Worker(queue, handle)
        self.assertTrue(worker.run())
        self.assertEqual((worker.failed, [dead.requeues for dead in queue.dead()]), (4, [3]))

        def fate(item, exception):
            self.assertIsInstance(exception, ValueError)
            stop.stop()
            return fates.pop()

        def fail(item):
            raise ValueError
        fates = ["done", "bury", "give_back", "retry"]
        for state in (State.WAITING, State.READY, State.DEAD, None):
            for item in list(queue.items()):
                queue.remove(item.key)
            queue.configure(kwq.Config((kwq.FastSlow(999, 999, 0),)))
            queue.add("a")
            stop = kwq.Worker(queue, fail, on_error=fate)
            stop.run()
            found = queue.find("a")
            self.assertEqual(found and found.state, state)

    def test_notes(self):
        """Y2, Q18: a key that is retried or buried has a note of the exception, until a run ends well"""
        def handle(item):
            notes.append(self.note(queue, "a"))
            item.note("begins")
            if item.requeues == 2:
                worker.stop()
                return
            raise ValueError(f"try {item.requeues}")
        for _, handler in self.both(handle):
            queue = self.queue(values=True, config=kwq.Config((kwq.FastSlow(0, 0, 0),)))
            queue.add("a")
            notes = []
            worker = kwq.Worker(queue, handler)
            self.assertTrue(self.run_to_its_end(worker))
            self.assertEqual((notes[0], len(notes), self.ends(worker)), (b"", 3, (1, 2, 0, 0)))
            for number, note in enumerate(notes[1:]):
                self.assertRegex(note, rb"(?s)^ValueError: try %d\n.* in handle\n.*raise ValueError" % number)
                self.assertNotIn(b"worker.py", note)
            self.assertIsNone(queue.find("a"))

    def test_notes_of_other_failures(self):
        """Y2, Q18: so has one whose handler was too slow, or has returned work"""
        async def hangs(item):
            await asyncio.sleep(LONG)

        def lost(item):
            return iter("abc")
        for handler, timeout, note in ((hangs, 0.01, rb"^TimeoutError\n(?s:.*) in hangs\n"),
                                       (lost, None, rb"^TypeError: the handler returned <str\w*iterator.*\n$")):
            queue = self.queue(values=True)
            queue.add("a")

            def bury(item, exception):
                worker.stop()
                return "bury"
            worker = kwq.Worker(queue, handler, timeout=timeout, on_error=bury)
            self.assertTrue(self.run_to_its_end(worker))
            self.assertRegex(queue.dead(values=True)[0].note, note)

    def test_refused_notes(self):
        """Y2, Q18: without room for its note, and without notes, a key is retried or buried all the same"""
        def handle(item):
            worker.stop()
            raise ValueError("x" * 600)

        def refuse(number):
            def add_batch(queue, entries, *arguments):
                if any(entry.note for entry in entries):
                    raise kwq.errors.error(number)
                return self.add_batch(queue, entries, *arguments)
            return unittest.mock.patch.object(Queue, "_add_batch", add_batch)
        self.add_batch = Queue._add_batch
        refusals = [(number, refuse(number)) for number in (
            errno.EOPNOTSUPP, errno.ENOSPC, errno.EDQUOT, errno.EINVAL, errno.ENOMEM)]
        for number, patch in [(None, contextlib.nullcontext()), *refusals]:
            for fate, state in (("retry", State.WAITING), ("bury", State.DEAD)):
                queue = self.queue(values=True, max_bytes=20000, config=kwq.Config((kwq.FastSlow(99, 99, 0),)))
                with self.assertRaises(kwq.Full):
                    for key in itertools.count():
                        queue.add(str(key))
                worker = kwq.Worker(queue, handle, on_error=fate)
                with self.logged() as messages, patch:
                    logging.getLogger("kwq").setLevel(logging.DEBUG)
                    self.assertTrue(self.run_to_its_end(worker))
                found = queue.find("0")
                self.assertEqual((found.state, found.note_len, found.requeues, self.ends(worker)),
                                 (state, 0, int(fate == "retry"), (0, 1, 0, 0)), (number, fate))
                self.assertEqual([message for message in messages if "note" in message],
                                 [f"None: b'0' has no note: {kwq.errors.error(number or errno.ENOSPC)}"])

    def test_no_values(self):
        """Y2, Q18: a queue without values is asked for no note, and an outbox without values takes the retry"""
        def handle(item):
            worker.stop()
            raise ValueError
        slow = kwq.Config((kwq.FastSlow(99, 99, 0),))
        plain, outbox = self.queue(config=slow), self.queue(changes=True, config=slow)
        plain.add("a")
        front = self.queue(changes=True, values=True, outbox=outbox, config=slow)
        front.restore([kwq.Listed(b"a")])
        for queue, where, messages_wanted in ((plain, plain, 0), (front, outbox, 1)):
            worker = kwq.Worker(queue, handle)
            with self.logged() as messages:
                logging.getLogger("kwq").setLevel(logging.DEBUG)
                self.assertTrue(self.run_to_its_end(worker))
            self.assertEqual((self.ends(worker), where.find("a").state), ((0, 1, 0, 0), State.WAITING))
            self.assertEqual(sum("has no note" in message for message in messages), messages_wanted)

    def test_each_exception_fails(self):
        """Y2: any exception but KeyboardInterrupt is a failure: counted, logged, retried by the limiters, then dead"""
        def of_a_cancelled_future():
            future = concurrent.futures.Future()
            future.cancel()
            future.result()

        async def of_a_cancelled_task():
            task = asyncio.create_task(asyncio.sleep(LONG))
            task.cancel()
            await task

        async def of_itself():
            asyncio.current_task().cancel()
            await asyncio.sleep(LONG)

        kinds = {kind.__name__: kind for kind in (
            ValueError, MemoryError, OSError, kwq.Stale, kwq.ShutDown, SystemExit, asyncio.CancelledError,
            GeneratorExit, StopIteration, StopAsyncIteration, Alarm, BaseException)}
        cancels = {"of a task": of_a_cancelled_task, "of itself": of_itself}

        def handle(item):
            runs.append(item.text)
            if len(runs) == 3 * len(keys):
                worker.stop()
            if item.text == "of a future":
                of_a_cancelled_future()
            raise kinds[item.text]

        async def handle_async(item):
            if item.text in cancels:
                runs.append(item.text)
                if len(runs) == 3 * len(keys):
                    worker.stop()
                await cancels[item.text]()
            handle(item)
        for handler, keys in ((handle, [*kinds, "of a future"]), (handle_async, [*kinds, *cancels])):
            queue = self.queue(config=kwq.Config((kwq.FastSlow(0, 0, 0),), dead_after=2))
            queue.add_many(keys)
            runs = []
            worker = kwq.Worker(queue, handler)
            with self.logged() as messages:
                self.assertTrue(self.run_to_its_end(worker))
            self.assertEqual({key: runs.count(key) for key in keys}, dict.fromkeys(keys, 3))
            self.assertEqual(self.ends(worker), (0, 3 * len(keys), 0, 0))
            self.assertEqual(sorted(dead.text for dead in queue.dead()), sorted(keys))
            self.assertEqual(sum("failed after" in message for message in messages), 3 * len(keys))
            self.assertEqual(sum("dead letter" in message for message in messages), len(keys))

    def test_keyboard_interrupt(self):
        """Y2: KeyboardInterrupt gives the key back at once, and stops the worker"""
        queue = self.queue()
        queue.add("a")

        def handle(item):
            runs.append(item.text)
            self.assertLess(len(runs), 3)
            raise KeyboardInterrupt
        runs = []
        worker = kwq.Worker(queue, handle)
        with self.logged() as messages:
            self.assertTrue(self.run_to_its_end(worker))
        self.assertEqual((runs, self.ends(worker), queue.stat().returned), (["a"], (0, 0, 1, 0), 1))
        self.assertIn("given back: KeyboardInterrupt()", messages[0])

        async def handle_async(item):
            if item.text == "b":
                raise KeyboardInterrupt
            await asyncio.sleep(LONG)
        queue.add("b")
        worker = kwq.Worker(queue, handle_async, concurrency=2)
        with self.assertRaises(KeyboardInterrupt):
            worker.run()
        self.assertEqual((self.ends(worker), len(queue)), ((0, 0, 2, 0), 2))

    def test_keyboard_interrupt_elsewhere(self):
        """Y2: KeyboardInterrupt also stops a worker when on_error raises it, or when the item is lost"""
        def interrupts(*_):
            self.assertLess(next(calls), 2)
            raise KeyboardInterrupt

        def fails(item):
            raise ValueError

        def is_lost(item):
            queue.advance(5)
            interrupts()
        for handler, ends in ((fails, (0, 1, 0, 0)), (is_lost, (0, 0, 0, 1))):
            queue = self.manual(lease=5)
            queue.add("a")
            calls = itertools.count()
            worker = kwq.Worker(queue, handler, on_error=interrupts)
            self.assertTrue(self.run_to_its_end(worker))
            self.assertEqual((self.ends(worker), len(queue), next(calls)), (ends, 1, 1))

    def test_thread_that_is_ended(self):
        """Y2: an exception that another thread raises in a thread of the worker ends it, and its key goes back"""
        def handle(item):
            runs.append(threading.current_thread())
            if len(runs) == 2:
                worker.stop()

        def ended(item, exception):
            if len(runs) == 1:
                raise SystemExit
            return end(item, exception)
        queue = self.queue()
        queue.add("a")
        runs = []
        worker = kwq.Worker(queue, handle)
        end = worker._ended
        with unittest.mock.patch.object(worker, "_ended", ended):
            self.assertTrue(self.run_to_its_end(worker))
        self.assertEqual((self.ends(worker), len(set(runs)), queue.stat().items), ((1, 0, 0, 0), 2, 0))

    def test_work_that_is_returned(self):
        """Y2: a thread's handler that returns a coroutine, an iterator or a future has failed; a task awaits it"""
        ran = []

        async def send(item):
            await asyncio.sleep(0)
            ran.append(item.text)

        def logged(function):
            @functools.wraps(function)
            def wrapper(item):
                return function(item)
            return wrapper

        def generator(item):
            yield ran.append(item.text)

        async def agenerator(item):
            yield ran.append(item.text)

        def until_shut_down(handler):
            with self.queue() as queue:
                queue.add("a")
                queue.shut_down()
                worker = kwq.Worker(queue, handler)
                with self.logged() as messages:
                    self.assertTrue(self.run_to_its_end(worker))
            return self.ends(worker), "".join(messages)
        pool = unittest.mock.Mock(_cache={})
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            for handler in (lambda item: send(item), logged(send), generator, agenerator,
                            lambda item: map(ran.append, "a"), lambda item: concurrent.futures.Future(),
                            lambda item: [None, concurrent.futures.Future()],
                            lambda item: multiprocessing.pool.AsyncResult(pool, None, None)):
                ends, messages = until_shut_down(handler)
                self.assertEqual((ends, ran), ((0, 1, 0, 0), []), messages)
                self.assertIn("nobody does its work", messages)
        self.assertEqual([str(warning.message) for warning in warned], [])

        class Sender:
            async def __call__(self, item):
                return send(item)

        async def forgets_await(item):
            return send(item)

        async def leaves_a_task(item):
            return asyncio.create_task(send(item))
        for handler in (functools.partial(send), Sender(), forgets_await, leaves_a_task):
            ran.clear()
            self.assertEqual((until_shut_down(handler)[0], ran), ((1, 0, 0, 0), ["a"]))

        async def returns_a_generator(item):
            return generator(item)
        self.assertEqual(until_shut_down(returns_a_generator)[0], (0, 1, 0, 0))

        def detaches(item):
            item.queue.done(item.detach())
            return concurrent.futures.Future()
        self.assertEqual(until_shut_down(detaches)[0], (1, 0, 0, 0))

    def test_on_error_that_fails(self):
        """Y2: a key is retried if on_error raises, or returns no word; on_error may also finish the item"""
        def raises(item, exception):
            raise RuntimeError("a bug in on_error")

        def exits(item, exception):
            sys.exit(1)

        async def coroutine(item, exception):
            pass

        def returns_a_coroutine(item, exception):
            result = coroutine(item, exception)
            self.addCleanup(result.close)
            return result

        def fail(item):
            if item.requeues == 1:
                worker.stop()
            raise ValueError
        for on_error in (raises, exits, returns_a_coroutine, lambda item, exception: "burry"):
            for is_async, handler in self.both(fail):
                with self.subTest(on_error=on_error, is_async=is_async):
                    queue = self.queue(config=kwq.Config((kwq.FastSlow(0, 0, 0),), dead_after=1))
                    queue.add("a")
                    worker = kwq.Worker(queue, handler, on_error=on_error)
                    with self.logged() as messages:
                        self.assertTrue(self.run_to_its_end(worker))
                    self.assertEqual((self.ends(worker), queue.stat().dead), ((0, 2, 0, 0), 1))
                    self.assertEqual(sum("because on_error failed" in message for message in messages), 2)

        def buries(item, exception):
            worker.stop()
            item.bury()
        queue = self.queue()
        queue.add("a")
        worker = kwq.Worker(queue, fail, on_error=buries)
        with self.logged() as messages:
            self.assertTrue(self.run_to_its_end(worker))
        self.assertEqual((self.ends(worker), queue.stat().dead, len(messages)), ((0, 1, 0, 0), 1, 1))

    def test_refused_end(self):
        """Y2: a key goes back after a pause if the queue refuses the end of its item"""
        def handle(item):
            runs.append(item.requeues)
            if len(runs) == 2:
                worker.stop()
            elif fails:
                raise ValueError

        def once(name, number):
            """Replaces a method, whose first call fails."""
            method, failures = getattr(Queue, name), [kwq.errors.error(number)]

            def call(*arguments, **options):
                if failures:
                    raise failures.pop()
                return method(*arguments, **options)
            return unittest.mock.patch.object(Queue, name, call)
        for fails, name, number in ((False, "_done", errno.ENOMEM), (True, "add", errno.ENOSPC)):
            for is_async, handler in self.both(handle):
                queue = self.queue()
                queue.add("a")
                runs = []
                worker = kwq.Worker(queue, handler)
                with once(name, number), self.logged() as messages, \
                        unittest.mock.patch.object(kwq.worker, "_PAUSE", 0.001), \
                        unittest.mock.patch.object(worker._stopping, "wait") as wait:
                    self.assertTrue(self.run_to_its_end(worker))
                self.assertEqual((runs, len(queue)), ([0, 0], 0))
                self.assertEqual(self.ends(worker), (1, 1, 0, 0) if fails else (1, 0, 1, 0))
                self.assertIn("the end of b'a' fails", messages[-1])
                self.assertEqual(wait.call_count, 0 if is_async else 1)

    def test_refused_end_pauses_a_task(self):
        """Y2: and so it does with tasks"""
        queue = self.queue()
        queue.add("a")

        async def handle(item):
            pass

        async def main():
            worker = kwq.Worker(queue, handle)
            with unittest.mock.patch.object(Queue, "_done", side_effect=kwq.errors.error(errno.ENOMEM)):
                task = asyncio.create_task(worker.arun())
                while not worker.returned:
                    await asyncio.sleep(0)
            # It has the key for an hour, unless it is cancelled.
            self.assertEqual((queue.stat().processing, len(queue)), (1, 0))
            task.cancel()
            await asyncio.wait([task])
            self.assertEqual((queue.stat().processing, len(queue)), (0, 1))
        with unittest.mock.patch.object(kwq.worker, "_PAUSE", 3600):
            asyncio.run(main())

    def test_refused_get(self):
        """O9, Y2: a worker waits while memory is short, and ends with any other error of a get"""
        def handle(item):
            queue.shut_down()
        for is_async, handler in self.both(handle):
            for number, ends in ((errno.EDQUOT, False), (errno.ENOMEM, False), (errno.EBADF, True)):
                queue = self.queue()
                queue.add("a")
                worker = kwq.Worker(queue, handler)
                name = "aget_many" if is_async else "get_many"
                get, failures = getattr(Queue, name), [kwq.errors.error(number)] * 2

                def call(*arguments, **options):
                    if failures:
                        raise failures.pop()
                    return get(*arguments, **options)

                async def acall(*arguments, **options):
                    return await call(*arguments, **options)
                with unittest.mock.patch.object(Queue, name, acall if is_async else call), self.logged() as messages, \
                        unittest.mock.patch.object(kwq.worker, "_PAUSE", 0.001):
                    if ends:
                        with self.assertRaises(OSError) as raised:
                            worker.run()
                        self.assertEqual((raised.exception.errno, len(queue)), (number, 1))
                    else:
                        self.assertTrue(worker.run())
                        self.assertEqual((worker.done, len(queue)), (1, 0))
                        self.assertEqual(["memory is short" in message for message in messages], [True] * 2)

    def test_message_that_cannot_be_logged(self):
        """Y2: an exception whose repr() fails, and a filter of the log that fails, end no thread and lose no retry"""
        class Bad(Exception):
            def __repr__(self):
                raise SystemExit

        def handle(item):
            raise Bad

        def fails(record):
            raise ValueError
        log = logging.getLogger("kwq")
        for log_filter in (None, fails):
            for _, handler in self.both(handle):
                queue = self.queue(config=kwq.Config((kwq.FastSlow(0, 0, 0),), dead_after=2))
                queue.add("a")
                worker = kwq.Worker(queue, handler)
                stderr = io.StringIO()
                # What the program logs with, formats each message.
                output = logging.StreamHandler(io.StringIO())
                log.addHandler(output)
                log.setLevel(logging.WARNING)
                if log_filter:
                    log.addFilter(log_filter)
                try:
                    with contextlib.redirect_stderr(stderr):
                        watcher = threading.Thread(target=lambda: (until(lambda: queue.stat().dead), worker.stop()),
                                                   daemon=True)
                        watcher.start()
                        self.assertTrue(self.run_to_its_end(worker))
                        watcher.join()
                finally:
                    log.removeHandler(output)
                    log.setLevel(logging.CRITICAL + 1)
                    if log_filter:
                        log.removeFilter(log_filter)
                self.assertEqual((worker.failed, [dead.requeues for dead in queue.dead()]), (3, [2]))
                self.assertIn("cannot be logged", stderr.getvalue())

    def test_message_that_nobody_can_read(self):
        """Y2: a stderr that is a closed pipe is not an error of the worker"""
        def fails(record):
            raise ValueError
        stderr = unittest.mock.Mock(write=unittest.mock.Mock(side_effect=BrokenPipeError))
        log = logging.getLogger("kwq")
        log.addFilter(fails)
        try:
            with self.logged(), contextlib.redirect_stderr(stderr):
                kwq.worker._say(logging.WARNING, "a message")
        finally:
            log.removeFilter(fails)
        stderr.write.assert_called()

    def test_cancel_before_arun(self):
        """Y2: a task that has survived a cancel before arun() does not take every later one for a cancel of arun()"""
        async def handle(item):
            if item.requeues == 2:
                worker.stop()
            raise asyncio.CancelledError

        async def main():
            asyncio.current_task().cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(LONG)
            async with asyncio.timeout(LONG / 4):
                await worker.arun()
        queue = self.queue(config=kwq.Config((kwq.FastSlow(0, 0, 0),)))
        queue.add("a")
        worker = kwq.Worker(queue, handle)
        asyncio.run(main())
        self.assertEqual(self.ends(worker), (0, 3, 0, 0))

    def test_cancel_between_stop_and_end(self):
        """Y2: a cancel of arun() that comes with a stop is not taken for the end of the get"""
        queue = self.queue()
        aget_many = Queue.aget_many

        async def main():
            async def aget_many_and_cancel(*arguments, **options):
                try:
                    return await aget_many(*arguments, **options)
                except asyncio.CancelledError:
                    task.cancel()
                    raise

            async def handle(item):
                pass
            worker = kwq.Worker(queue, handle)
            with unittest.mock.patch.object(Queue, "aget_many", aget_many_and_cancel):
                task = asyncio.create_task(worker.arun())
                await asyncio.sleep(0)
                worker.stop()
                await asyncio.wait([task])
            self.assertTrue(task.cancelled())
        asyncio.run(main())

    def test_copy(self):
        """Y2: a worker refuses to be copied, because the end of the copy would close its descriptors"""
        worker = kwq.Worker(self.queue(), print)
        for duplicate in (pickle.dumps, copy.copy, copy.deepcopy):
            with self.assertRaisesRegex(TypeError, "make another one"):
                duplicate(worker)

    def test_async(self):
        """Y2: a worker runs coroutines, so many at once"""
        queue = self.queue()
        queue.add_many(str(number) for number in range(30))
        running, most = 0, 0

        async def handle(item):
            nonlocal running, most
            running += 1
            most = max(most, running)
            await asyncio.sleep(0.001)
            running -= 1
            if item.text == "29":
                queue.shut_down()
        worker = kwq.Worker(queue, handle, concurrency=5)
        self.assertTrue(worker.run())
        self.assertEqual((worker.done, most), (30, 5))

    def test_async_timeout(self):
        """Y2: a coroutine that takes too long has failed"""
        queue = self.queue()
        queue.add("slow")

        async def handle(item):
            try:
                await asyncio.sleep(LONG)
            finally:
                worker.stop()
        worker = kwq.Worker(queue, handle, timeout=0.02, on_error="bury")
        self.assertTrue(worker.run())
        self.assertEqual((worker.failed, queue.stat().dead), (1, 1))

    def test_async_grace(self):
        """Y2: after its grace a coroutine is cancelled, and its key goes back"""
        queue = self.queue()
        queue.add("slow")

        async def handle(item):
            worker.stop()
            await asyncio.sleep(LONG)
        worker = kwq.Worker(queue, handle, grace=0.02)
        self.assertTrue(worker.run())
        self.assertEqual((worker.returned, len(queue), queue.stat().abandoned), (1, 1, 0))

    def test_async_ignores_its_cancel(self):
        """Y2: a task that ignores its cancel keeps its key, and the worker says so and ends"""
        async def handle(item):
            tasks.append(asyncio.current_task())
            worker.stop()
            while not go_on.is_set():
                try:
                    await asyncio.sleep(LONG)
                except asyncio.CancelledError:
                    pass
        for own_loop in (False, True):
            queue = self.queue()
            queue.add("stubborn")
            tasks, go_on = [], threading.Event()
            worker = kwq.Worker(queue, handle, grace=0.02)

            async def main():
                self.assertFalse(await worker.arun())
                self.assertEqual(queue.stat().processing, 1)
                go_on.set()
                tasks[0].cancel()
                await tasks[0]
            with unittest.mock.patch.object(kwq.worker, "_CLEAN_UP", 0.02), self.logged() as messages:
                if own_loop:
                    asyncio.run(main())
                else:
                    self.assertFalse(self.run_to_its_end(worker))
                    self.assertEqual(queue.stat().processing, 1)
                    go_on.set()
                    loop = tasks[0].get_loop()
                    loop.call_soon(tasks[0].cancel)
                    loop.run_until_complete(tasks[0])
                    loop.close()
            self.assertIn("outlive grace, and keep their keys: b'stubborn'", messages[0])
            self.assertEqual((self.ends(worker), queue.stat().processing), ((1, 0, 0, 0), 0))

    def test_async_is_destroyed(self):
        """Y2: and the key goes back when the loop of such a task is gone"""
        async def handle(item):
            worker.stop()
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await asyncio.sleep(LONG)
        queue = self.queue()
        queue.add("stubborn")
        worker = kwq.Worker(queue, handle, grace=0.02)
        logging.getLogger("asyncio").setLevel(logging.CRITICAL + 1)
        self.addCleanup(logging.getLogger("asyncio").setLevel, logging.NOTSET)
        with unittest.mock.patch.object(kwq.worker, "_CLEAN_UP", 0.02):
            self.assertFalse(self.run_to_its_end(worker))
        until(lambda: gc.collect() >= 0 and len(queue) == 1)
        self.assertEqual(self.ends(worker), (0, 0, 1, 0))

    def test_async_cleans_up(self):
        """Y2: a task may work after its cancel, and finish its key all the same"""
        queue = self.queue()
        queue.add("slow")

        async def handle(item):
            worker.stop()
            try:
                await asyncio.sleep(LONG)
            except asyncio.CancelledError:
                await asyncio.sleep(0.002)
        worker = kwq.Worker(queue, handle, grace=0.02)
        self.assertTrue(worker.run())
        self.assertEqual(self.ends(worker), (1, 0, 0, 0))

    def test_cancel_of_arun(self):
        """Y2: a cancel of arun() gives the keys back, also if the handlers' tasks are cancelled before it"""
        queue = self.queue()
        queue.add_many(["a", "b"])

        async def handle(item):
            await asyncio.sleep(LONG)

        async def main():
            worker = kwq.Worker(queue, handle, concurrency=2)
            task = asyncio.create_task(worker.arun())
            while len(worker._running) < 2:
                await asyncio.sleep(0)
            await asyncio.sleep(0)
            if with_tasks:
                # As asyncio.run() does at its end, which cancels them in any order.
                for other in asyncio.all_tasks() - {task, asyncio.current_task()}:
                    other.cancel()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            return self.ends(worker)
        for with_tasks in (False, True):
            self.assertEqual(asyncio.run(main()), (0, 0, 2, 0))
            self.assertEqual((len(queue), queue.num_requeues("a")), (2, 0))

    def test_cancelled_before_it_began(self):
        """Y2: a task that somebody cancels before its handler begins has failed"""
        queue = self.queue()
        queue.add_many(["a", "b"])

        async def handle(item):
            worker.stop()
            for task in asyncio.all_tasks():
                if task is not asyncio.current_task() and "_work_async" in repr(task.get_coro()):
                    task.cancel()
        worker = kwq.Worker(queue, handle, concurrency=2, on_error="bury")
        self.assertTrue(self.run_to_its_end(worker))
        self.assertEqual((self.ends(worker), [dead.text for dead in queue.dead()]), ((1, 1, 0, 0), ["b"]))
        self.assertEqual(worker._running, {})

    def test_thread_grace(self):
        """Y2: a thread that outlives its grace keeps its key, and the worker says so"""
        queue = self.queue()
        queue.add("slow")
        go_on = threading.Event()

        def handle(item):
            worker.stop()
            go_on.wait()
        worker = kwq.Worker(queue, handle, grace=0.02)
        self.assertFalse(worker.run())
        self.assertEqual(queue.stat().processing, 1)
        go_on.set()
        until(lambda: queue.stat().processing == 0)

    def test_lease(self):
        """O3: a worker extends its leases, up to the timeout"""
        queue = self.manual(lease=0.03)

        def is_extended():
            return queue.find(key).lease_left == 0.03

        def extended(item):
            for _ in range(5):
                queue.advance(0.02)
                until(is_extended)
            worker.stop()
        key = "a"
        queue.add(key)
        worker = kwq.Worker(queue, extended)
        worker.run()
        self.assertEqual((worker.done, worker.lost, queue.stat().expired), (1, 0, 0))

        def lost(item):
            queue.advance(0.02)
            until(is_extended)
            # Within a third of the lease the timeout is over.
            queue.advance(0.02)
            worker._extend_leases()
            self.assertEqual(queue.find(key).lease_left, 0.01)
            queue.advance(0.01)
            worker.stop()
        key = "b"
        queue.add(key)
        worker = kwq.Worker(queue, lost, timeout=0.04)
        worker.run()
        self.assertEqual((worker.done, worker.failed, worker.lost, queue.stat().expired), (0, 0, 1, 1))
        self.assertEqual(queue.get(0).done(), Finished(0))

        async def extended_async(item):
            for _ in range(5):
                queue.advance(0.02)
                while not is_extended():
                    await asyncio.sleep(0.002)
            worker.stop()
        queue.add(key)
        worker = kwq.Worker(queue, extended_async)
        worker.run()
        self.assertEqual((worker.done, worker.lost), (1, 0))

    def test_lost(self):
        """O3: a lost lease counts as lost, whoever notices it first, and however the handler ends"""
        def returns(item):
            with contextlib.suppress(kwq.Stale):
                item.extend()

        def raises(item):
            item.extend()

        def fails(item):
            returns(item)
            raise ValueError

        def does_not_notice(item):
            pass

        def fails_without_notice(item):
            raise ValueError

        for way in (returns, raises, fails, does_not_notice, fails_without_notice):
            def handle(item):
                if item.abandoned:
                    worker.stop()
                    return
                queue.advance(11)
                worker._extend_leases()
                way(item)
            for is_async, handler in self.both(handle):
                with self.subTest(way=way, is_async=is_async):
                    queue = self.manual(lease=10)
                    queue.add("a")
                    worker = kwq.Worker(queue, handler)
                    with self.logged() as messages:
                        self.assertTrue(self.run_to_its_end(worker))
                    self.assertEqual(self.ends(worker), (1, 0, 0, 1))
                    self.assertIn("was lost", messages[-1])
                    self.assertEqual(len(messages), 2 if way is fails_without_notice else 1)

    def test_extended_at_its_end(self):
        """O3: an item that ends just before the worker extends its lease is not lost; one that is detached is left"""
        queue = self.manual(lease=10)
        queue.add_many(["a", "b"])
        a, b = queue.get_many(2)
        worker = kwq.Worker(queue, print)
        worker._running = {a: 0.0}
        extend = queue._extend

        def done_first(ticket):
            a.done()
            extend(ticket)
        with unittest.mock.patch.object(queue, "_extend", done_first):
            worker._extend_leases()
        worker._ended(a, None)
        self.assertEqual(self.ends(worker), (1, 0, 0, 0))
        worker._running = {b: 0.0}
        b.detach()
        queue.advance(5)
        worker._extend_leases()
        self.assertEqual(queue.find("b").lease_left, 5)

    def test_hang(self):
        """Y2: the worker warns of a handler that hangs, and does not count as alive if all of them hang"""
        queue = self.manual(lease=10)
        queue.add_many(["a", "b"])
        a, b = queue.get_many(2)
        worker = kwq.Worker(queue, print, concurrency=2, timeout=5, notify=True)
        worker._running = {a: 0.0, b: 3.0}

        def is_alive():
            with unittest.mock.patch.object(worker._notify, "alive") as alive:
                worker._next_duty()
            return alive.called
        with self.logged() as messages:
            queue.advance(5)
            self.assertTrue(is_alive())
            self.assertEqual(messages, [])
            queue.advance(1)
            self.assertTrue(is_alive())
            self.assertRegex(messages[0], "1 of 2 handlers have run for more than 5 s: b'a'$")
            self.assertTrue(is_alive())
            self.assertEqual(len(messages), 1)
            queue.advance(3)
            self.assertFalse(is_alive())
            self.assertRegex(messages[1], "2 of 2 handlers have run for more than 5 s: b'a', b'b'$")
            queue.advance(599)
            self.assertFalse(is_alive())
            self.assertEqual(len(messages), 2)
            queue.advance(1)
            self.assertFalse(is_alive())
            self.assertEqual(messages[2:], messages[1:2])
            del worker._running[a]
            self.assertTrue(is_alive())
        worker = kwq.Worker(queue, print, notify=True)
        worker._running = {a: queue.now()}
        with self.logged() as messages:
            queue.advance(601)
            # Without a timeout it may be long work.
            self.assertTrue(is_alive())
            self.assertRegex(messages[0], "more than 600 s")

    def test_hang_of_a_running_worker(self):
        """Y2: it warns while the handler hangs, and works on afterwards"""
        async def ignores_its_timeout(item):
            while not go_on.is_set():
                try:
                    await asyncio.sleep(0.002)
                except asyncio.CancelledError:
                    pass
            worker.stop()

        def hangs(item):
            queue.advance(6)
            go_on.wait(LONG)
            worker.stop()
        for handler in (hangs, ignores_its_timeout):
            queue = self.manual(lease=9) if handler is hangs else self.queue()
            queue.add("a")
            go_on = threading.Event()
            worker = kwq.Worker(queue, handler, timeout=5 if handler is hangs else 0.01)
            with unittest.mock.patch.object(kwq.worker, "_LOOK", 0.01), self.logged() as messages:
                thread = threading.Thread(target=worker.run)
                thread.start()
                until(lambda: messages)
                go_on.set()
                thread.join(LONG)
            self.assertIn("1 of 1 handlers have run", messages[0])
            self.assertEqual(self.ends(worker), (1, 0, 0, 0))

    def test_arguments(self):
        """Y2: arguments that cannot be"""
        queue = self.queue()
        with self.assertRaisesRegex(ValueError, "concurrency is at least 1"):
            kwq.Worker(queue, print, concurrency=0)
        with self.assertRaisesRegex(ValueError, "a thread cannot be interrupted"):
            kwq.Worker(queue, print, timeout=1)
        with self.assertRaisesRegex(TypeError, "needs a coroutine function"):
            asyncio.run(kwq.Worker(queue, print).arun())
        with queue.reopen(rights=kwq.Rights.WRITE) as writer, self.assertRaisesRegex(ValueError, "Rights.READ"):
            kwq.Worker(writer, print)
        with queue.reopen(rights=kwq.Rights.READ) as reader:
            with self.assertRaisesRegex(ValueError, "Rights.WRITE"):
                kwq.Worker(reader, print)
            kwq.Worker(reader, print, on_error="bury")
        with self.assertRaisesRegex(ValueError, "not 'burry'"):
            kwq.Worker(queue, print, on_error="burry")

        async def on_error(item, exception):
            pass
        with self.assertRaisesRegex(TypeError, "on_error is a plain function"):
            kwq.Worker(queue, print, on_error=on_error)

    def stopped_by(self, number, is_async):
        """A signal while a key is being handled and another one is ready."""
        queue = self.queue()
        queue.add_many(["first", "second"])
        reader, writer = os.pipe()

        def child():
            def handle(item):
                os.write(writer, b"x")
                until(lambda: queue.find("go on") is not None)

            async def handle_async(item):
                os.write(writer, b"x")
                while queue.find("go on") is None:
                    await asyncio.sleep(0.002)
            worker = kwq.Worker(queue, handle_async if is_async else handle)
            return worker.run() and worker.done == 1
        process = Child(child)
        os.read(reader, 1)
        process.kill(number)
        until(lambda: not Path(f"/proc/{process.pid}/status").read_text().count(f"SigPnd:\t{1 << number - 1:016x}"))
        queue.add("go on", delay=9999)
        self.assertEqual(process.status(), 0)
        os.close(reader)
        os.close(writer)
        stat = queue.stat()
        self.assertEqual((stat.ready, stat.dones, stat.abandoned, stat.processing), (1, 1, 0, 0))

    def test_signals(self):
        """Y2: SIGTERM and SIGINT let the running keys end, and leave the others"""
        for number in (signal.SIGTERM, signal.SIGINT):
            for is_async in (False, True):
                with self.subTest(number=number, is_async=is_async):
                    self.stopped_by(number, is_async)

    def test_signal_of_an_idle_worker(self):
        """Y2: a worker that waits is stopped at once"""
        queue = self.queue()
        for is_async in (False, True):
            def child(is_async=is_async):
                async def handle_async(item):
                    pass
                return kwq.Worker(queue, handle_async if is_async else print).run()
            process = Child(child)
            until(lambda: Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[0] == "S"
                  and int(Path(f"/proc/{process.pid}/status").read_text().split("SigCgt:\t")[1][:16], 16)
                  & 1 << signal.SIGTERM - 1)
            process.kill(signal.SIGTERM)
            self.assertEqual(process.status(), 0)

    def test_notify(self):
        """Y2: systemd is told of the beginning, the end, and life"""
        import socket
        queue = self.queue()
        queue.shut_down()
        path = f"/tmp/python-notify-{os.getpid()}"
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as receiver:
            receiver.bind(path)
            self.addCleanup(os.unlink, path)
            os.environ |= {"NOTIFY_SOCKET": path, "WATCHDOG_USEC": "2000000"}
            self.addCleanup(os.environ.pop, "NOTIFY_SOCKET")
            self.addCleanup(os.environ.pop, "WATCHDOG_USEC")
            kwq.Worker(queue, print, notify=True).run()
            said = [receiver.recv(99), receiver.recv(99)]
            self.assertEqual(said, [b"READY=1", b"STOPPING=1"])

            def handle(item):
                said.append(receiver.recv(99))
                said.append(receiver.recv(99))
                worker.stop()
            with Queue.unnamed() as other:
                other.add("a")
                worker = kwq.Worker(other, handle, notify=True)
                worker.run()
            self.assertEqual(said[2:], [b"READY=1", b"WATCHDOG=1"])


class Documents(Base):
    def test_doctests(self):
        """Y3: the examples of docs/python.md"""
        page = HERE.parent / "python.md"
        if not page.exists():
            page = HERE.parents[2] / "docs/python.md"
        failed, tried = doctest.testfile(str(page), module_relative=False, verbose=False)
        self.assertGreater(tried, 0)
        self.assertEqual(failed, 0)

    def test_example(self):
        """Y3: the example program"""
        program = [sys.executable, str(HERE.parent / "examples/checksums.py")]
        folder = Path(f"/tmp/python-example-{os.getpid()}")
        folder.mkdir()
        for name in ("a", "b", "c"):
            (folder / name).write_text(name * 1000)
        environment = {**os.environ, "PYTHONPATH": str(HERE.parent)}
        worker = subprocess.Popen([*program, "work", "python-example"], env=environment, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)
        until(lambda: "python-example" in [named.name for named in kwq.queues()])
        subprocess.run([*program, "add", "python-example", *map(str, sorted(folder.iterdir())), str(folder / "absent")],
                       env=environment, check=True)
        with Queue.open("python-example") as queue:
            until(lambda: queue.stat().dones >= 4 and queue.stat().processing == 0)
            self.assertEqual(queue.num_requeues(str(folder / "absent")) > 0, True)
            worker.send_signal(signal.SIGTERM)
            self.assertEqual(worker.wait(LONG), 0)
            lines = worker.stdout.read().split()
            worker.stdout.close()
            self.assertEqual(lines[1::2], [str(folder / name) for name in ("a", "b", "c")])
            queue.unlink()
        for file in folder.iterdir():
            file.unlink()
        folder.rmdir()


if __name__ == "__main__":
    if not os.access("/dev/kwq", os.W_OK):
        print("1..0 # SKIP there is no /dev/kwq for us")
        sys.exit(0)
    tap.main()
