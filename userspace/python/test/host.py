# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The tests that need no queue: arguments, results, errors. Prints TAP."""
import concurrent.futures
import copy
import errno
import os
import pickle
import sys
import unittest
import unittest.mock
from datetime import timedelta
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import kwq  # noqa: E402
import tap  # noqa: E402
from kwq import _abi as abi  # noqa: E402
from kwq import _limiters, _listed, _queue, _reason, _values  # noqa: E402
from kwq.errors import error  # noqa: E402


def fail_as_a_batch():
    """In a process of a pool."""
    raise kwq.BatchError(errno.ENOSPC, "the queue is full", "jobs", [kwq.Added.ADDED])


class Abi(unittest.TestCase):
    def test_small_enough_to_copy(self):
        """Y1: fcntl.ioctl() copies the structures, and so releases the lock of the interpreter"""
        for layout in filter(lambda value: isinstance(value, abi.Layout), vars(abi).values()):
            self.assertLessEqual(layout.size, 1024, layout.name)


class Keys(unittest.TestCase):
    def test_text_and_bytes(self):
        """Y1: text is UTF-8, and any bytes survive the way to text and back"""
        self.assertEqual(_values.key_bytes("größe"), b"gr\xc3\xb6\xc3\x9fe")
        everything = bytes(range(256))
        self.assertEqual(_values.key_bytes(_values.key_text(everything)), everything)
        self.assertEqual(_values.key_bytes(bytearray(b"a")), b"a")
        self.assertEqual(_values.key_bytes(memoryview(b"a")), b"a")

    def test_no_key(self):
        """Y1: other types are no keys"""
        for wrong in (1, None, ["a"], 1.5):
            with self.assertRaisesRegex(TypeError, "a key is bytes or str, not"):
                _values.key_bytes(wrong)

    def test_names(self):
        """Y1: names have 1 to 255 bytes, and neither slash nor NUL"""
        self.assertEqual(_values.name_field("jobs"), b"jobs")
        self.assertEqual(_values.name_field("n" * 255), b"n" * 255)
        for wrong in ("", "n" * 256, "a/b", "a\0b"):
            with self.assertRaisesRegex(ValueError, "the name of a queue has"):
                kwq.Queue.open(wrong)


class Times(unittest.TestCase):
    def test_exact(self):
        """Y1: seconds become nanoseconds, without the errors of floats that seconds with a fraction have"""
        for seconds, ns in ((0, 0), (1, 10**9), (0.1, 10**8), (1.5, 1500000000), (1e-9, 1), (0.000001, 1000),
                            (timedelta(microseconds=1), 1000), (timedelta(days=1), 86400 * 10**9),
                            (10**9, 10**18)):
            self.assertEqual(_values.nanoseconds(seconds, "delay"), ns, seconds)

    def test_ends(self):
        """D7: longer times than the clock has mean its end"""
        for seconds in (float("inf"), 1e300, 10**30):
            self.assertEqual(_values.nanoseconds(seconds, "delay"), 2**63 - 1)

    def test_wrong(self):
        """Y1: negative times, and things that are no times"""
        for wrong in (-1, -0.5, float("-inf"), timedelta(seconds=-1)):
            with self.assertRaisesRegex(ValueError, "delay is negative"):
                _values.nanoseconds(wrong, "delay")
        with self.assertRaisesRegex(ValueError, "not a number"):
            _values.nanoseconds(float("nan"), "delay")
        for wrong in ("1", True, None):
            with self.assertRaisesRegex(TypeError, "delay is a number of seconds or a timedelta"):
                _values.nanoseconds(wrong, "delay")
        with self.assertRaisesRegex(ValueError, "lease is 0: use None"):
            _values.limit_ns(0, "lease")


class Adds(unittest.TestCase):
    def entry(self, **arguments):
        entry = _queue._entry_of_add(kwq.Add("k", **arguments))
        return dict(zip(abi.ADD_ENTRY.offsets, abi.ADD_ENTRY.unpack(entry.entry)))

    def test_flags(self):
        """Y1: the arguments of an add become the flags of the entry"""
        self.assertEqual(self.entry(), {"key_len": 1, "flags": 0, "priority": 0, "pad": 0, "time": 0})
        for arguments, flags, time in (
                ({"delay": 2}, abi.ADD_AFTER, 2 * 10**9), ({"at": 2}, abi.ADD_AT, 2 * 10**9),
                ({"delay": 0}, abi.ADD_AFTER, 0), ({"rate_limited": True}, abi.ADD_RATE_LIMITED, 0),
                ({"delay": 1, "mode": kwq.Mode.REPLACE}, abi.ADD_AFTER | abi.ADD_REPLACE, 10**9),
                ({"delay": 1, "mode": kwq.Mode.KEEP}, abi.ADD_AFTER | abi.ADD_KEEP, 10**9),
                ({"delay": 1, "mode": kwq.Mode.LATER}, abi.ADD_AFTER | abi.ADD_LATER, 10**9),
                ({"delay": 1, "debounce": 5}, abi.ADD_AFTER | abi.ADD_REPLACE | abi.ADD_AT_MOST, 10**9),
                ({"end_wait": True}, abi.ADD_END_WAIT, 0), ({"value": "v"}, abi.ADD_VALUE, 0),
                ({"value": b"", "keep_value": True}, abi.ADD_VALUE | abi.ADD_KEEP_VALUE, 0),
                ({"group": "g"}, abi.ADD_GROUP, 0), ({"note": "n"}, abi.ADD_NOTE, 0),
                ({"note": b"", "rate_limited": True}, abi.ADD_NOTE | abi.ADD_RATE_LIMITED, 0)):
            entry = self.entry(**arguments)
            self.assertEqual((entry["flags"], entry["time"]), (flags, time), arguments)
        entry = self.entry(priority=-32)
        self.assertEqual((entry["flags"], entry["priority"]), (abi.ADD_PRIORITY, -32))

    def test_wrong(self):
        """Y1: arguments that contradict each other say so"""
        for arguments, text in (
                ({"delay": 1, "at": 1}, "a delay or a time, not both"),
                ({"delay": 1, "rate_limited": True}, "leave out delay and at"),
                ({"debounce": 1}, "it needs a delay"),
                ({"delay": 1, "debounce": 1, "mode": kwq.Mode.KEEP}, "no other mode"),
                ({"keep_value": True}, "pass a value"),
                ({"priority": 32}, "a priority is from -32 to 31, not 32"),
                ({"note": "n" * 4097}, "a note has up to 4096 bytes, not 4097: shorten it"),
                ({"delay": -1}, "delay is negative")):
            with self.assertRaisesRegex(ValueError, text):
                self.entry(**arguments)
        with self.assertRaisesRegex(TypeError, "a note is bytes or str, not int"):
            self.entry(note=5)

    def test_restore(self):
        """Y1: an entry of a restore has no more than its state has"""
        listed = kwq.Listed(b"k", kwq.State.WAITING, priority=3, wait_priority=None, waiting_for=2.0, due_in=1.0,
                            dirty_for=9.0, dead_for=9.0)
        entry = dict(zip(abi.RESTORE_ENTRY.offsets, abi.RESTORE_ENTRY.unpack(_listed.pack_restored(listed, 0))))
        self.assertEqual((entry["dirty_for"], entry["dead_for"], entry["waiting_for"], entry["due_in"],
                          entry["wait_priority"]), (0, 0, 2 * 10**9, 10**9, abi.PRIORITY_NONE))
        listed = kwq.Listed(b"k", kwq.State.DEAD, dead_for=9.0, wait_priority=5)
        entry = dict(zip(abi.RESTORE_ENTRY.offsets, abi.RESTORE_ENTRY.unpack(_listed.pack_restored(listed, 0))))
        self.assertEqual((entry["dead_for"], entry["wait_priority"]), (9 * 10**9, 0))

    def test_unknown_ages(self):
        """Y1, U8: an age that is not known is None, in both directions"""
        for name, state in (("dirty_for", kwq.State.READY), ("dead_for", kwq.State.DEAD)):
            for ns, age in ((abi.AGE_UNKNOWN, None), (0, 0), (10**9, 1)):
                fields = dict.fromkeys(abi.LISTED.offsets, 0) | {"state": int(state), "key_len": 1, name: ns}
                listed, _ = _listed.unpack_listed(abi.LISTED.pack(*fields.values()), b"k", 0, False)
                self.assertEqual(getattr(listed, name), age)
                entry = dict(zip(abi.RESTORE_ENTRY.offsets,
                                 abi.RESTORE_ENTRY.unpack(_listed.pack_restored(listed, 0))))
                self.assertEqual(entry[name], ns)
        unknown = kwq.Listed(b"k", kwq.State.WAITING, dirty_for=None, dead_for=None)
        entry = dict(zip(abi.RESTORE_ENTRY.offsets, abi.RESTORE_ENTRY.unpack(_listed.pack_restored(unknown, 0))))
        self.assertEqual((entry["dirty_for"], entry["dead_for"]), (0, 0))


class Reasons(unittest.TestCase):
    @staticmethod
    def reason(exception, depth=0):
        """The reason of an exception that is raised by so many calls of calls."""
        def fail(depth):
            if depth:
                fail(depth - 1)
            raise exception
        try:
            fail(depth)
        except BaseException as raised:  # pylint: disable=broad-except
            return _reason.reason_of(raised)

    def test_reason(self):
        """Y2: a note has the exception first, and then the place where it was raised"""
        first, *before = self.reason(ValueError("bad")).decode().splitlines()
        self.assertEqual((first, before[0]), ("ValueError: bad", "Traceback (most recent call last):"))
        self.assertIn("raise exception", before[-1])
        self.assertEqual(_reason.reason_of(TypeError("no work")), b"TypeError: no work\n")
        cause = KeyError("inner")
        try:
            raise RuntimeError("outer") from cause
        except RuntimeError as raised:
            lines = _reason.reason_of(raised).decode().splitlines()
        self.assertEqual((lines[0], lines[1]), ("RuntimeError: outer", "KeyError: 'inner'"))

    def test_long(self):
        """Y2: a note has the last lines that fit into 1 KiB, and whole ones"""
        for text, depth in (("bad", 500), ("\u00e4" * 3000, 50), ("\n".join(["line"] * 900), 50), ("x" * 5000, 0)):
            reason = self.reason(ValueError(text), depth)
            self.assertLessEqual(len(reason), 1024)
            self.assertTrue(reason.startswith(b"ValueError: " + text.encode()[:3]))
            self.assertTrue(reason.endswith(b"\n"))
            self.assertIn("raise exception", reason.decode())
            # Each later line is one of these, from its beginning to its end.
            for line in reason.decode().splitlines()[1:]:
                self.assertRegex(line, r"^(line|Traceback.*:|  File .*, in \w+|  \[Previous line.*times\]|"
                                 r"    (fail\(depth.*\)|raise exception|[ ~^]+))$")

    def test_any_exception(self):
        """Y2: what cannot be described has no note, and file names that are no text are still UTF-8"""
        class Mute(Exception):
            def __str__(self):
                raise SystemExit
        self.assertIn(b"Mute", self.reason(Mute()))
        self.assertIn(rb"FileNotFoundError: \udcff", self.reason(FileNotFoundError("\udcff")))
        with unittest.mock.patch("traceback.TracebackException", side_effect=RecursionError):
            self.assertIsNone(self.reason(ValueError()))


class Listings(unittest.TestCase):
    def test_values_and_notes(self):
        """Q15, Q18: keys, groups, values and notes stand behind each other, and those not asked for do not"""
        fields = dict.fromkeys(abi.LISTED.offsets, 0) | {
            "state": int(kwq.State.READY), "key_len": 1, "group_len": 2, "value_len": 3, "note_len": 4}
        raw = abi.LISTED.pack(*fields.values())
        listed, end = _listed.unpack_listed(raw, b"-kggvvvnnnn-", 1, True)
        self.assertEqual((listed.key, listed.group, listed.value, listed.note, end), (b"k", b"gg", b"vvv", b"nnnn", 11))
        listed, end = _listed.unpack_listed(raw, b"-kgg-", 1, False)
        self.assertEqual((listed.value, listed.value_len, listed.note, listed.note_len, end), (None, 3, None, 4, 4))


class Limiters(unittest.TestCase):
    def test_there_and_back(self):
        """Y1: the kernel's structure of a limiter says what the limiter says"""
        for limiter in (kwq.Exponential(0.5, 60), kwq.FastSlow(0.1, 30, 3), kwq.Bucket(50, 5, 0.5),
                        kwq.Backoff(1, 1.5, 0.25, 8, 30), kwq.Backoff(1, 0.5, 0, 8)):
            self.assertEqual(_limiters.unpack_limiter(limiter.pack()), limiter)
        with self.assertRaisesRegex(ValueError, "does not know limiters of kind 99"):
            _limiters.unpack_limiter(abi.LIMITER.pack(99, 0, b""))

    def test_config(self):
        """Y1: so does that of a configuration"""
        config = kwq.Config((kwq.Exponential(1, 8), kwq.Bucket()), 60, 3600, 5, 3, True)
        packed, limiters = config.pack()
        self.assertEqual(_limiters.unpack_config(packed, limiters.tobytes()), config)
        packed, _ = kwq.Config().pack()
        self.assertEqual(abi.CONFIG.unpack(packed), (abi.CONFIG.size, 0, 0, 0, 0, 0, 0, 0, 0))

    def test_wrong(self):
        """Y1: limiters and configurations that cannot be"""
        for wrong, kind, text in (
                (kwq.Bucket(events=-1), ValueError, "events is from 0"),
                (kwq.Bucket(burst=2**32), ValueError, "burst is"),
                (kwq.Bucket(events=1.5), TypeError, "events is an int"), (kwq.Bucket(events=True), TypeError, "an int"),
                (kwq.Backoff(1, factor=-1), ValueError, "factor is from 0"),
                (kwq.Backoff(1, jitter=70000), ValueError, "jitter is from 0"),
                (kwq.Backoff(1, cap=0), ValueError, "cap is 0"), (kwq.Exponential(-1), ValueError, "base is negative")):
            with self.assertRaisesRegex(kind, text):
                wrong.pack()
        for wrong, text in ((kwq.Config((kwq.Bucket(),) * 9), "up to 8 limiters, not 9"),
                            (kwq.Config(dead_after=0), "dead_after is 0: use None"),
                            (kwq.Config(max_wait=0), "max_wait is 0: use None")):
            with self.assertRaisesRegex(ValueError, text):
                wrong.pack()


class Errors(unittest.TestCase):
    def test_classes(self):
        """Y1: each error is an OSError with errno, text and the queue's name"""
        for number, kind, builtin in (
                (errno.ENOSPC, kwq.Full, OSError), (errno.EDQUOT, kwq.QuotaExceeded, kwq.Full),
                (errno.EAGAIN, kwq.Empty, TimeoutError), (errno.ETIMEDOUT, kwq.TimedOut, TimeoutError),
                (errno.ESHUTDOWN, kwq.ShutDown, BrokenPipeError), (errno.ESTALE, kwq.Stale, OSError),
                (errno.ENOENT, kwq.NotFound, FileNotFoundError), (errno.EEXIST, kwq.Exists, FileExistsError),
                (errno.ENOTEMPTY, kwq.NotEmpty, OSError), (errno.EACCES, kwq.Forbidden, PermissionError),
                (errno.EPERM, kwq.Forbidden, PermissionError), (errno.EBADF, kwq.Forbidden, PermissionError),
                (errno.EINVAL, kwq.InvalidArgument, ValueError), (errno.EMSGSIZE, kwq.InvalidArgument, ValueError),
                (errno.ENAMETOOLONG, kwq.InvalidArgument, ValueError), (errno.E2BIG, kwq.NotSupported, OSError),
                (errno.ENOTTY, kwq.NotSupported, OSError), (errno.EOPNOTSUPP, kwq.NotSupported, OSError),
                (errno.ENODEV, kwq.NoDevice, FileNotFoundError), (errno.ECANCELED, kwq.DrainEnded, OSError),
                (errno.ENOMEM, kwq.Error, OSError), (errno.EMFILE, kwq.Error, OSError)):
            failure = error(number, "jobs")
            self.assertIs(type(failure), kind)
            self.assertIsInstance(failure, builtin)
            self.assertIsInstance(failure, kwq.Error)
            self.assertEqual((failure.errno, failure.filename), (number, "jobs"))
            self.assertIn("jobs", str(failure))

    def test_no_device(self):
        """Y1: without the module the error says what to do"""
        if os.path.exists("/dev/kwq"):
            self.skipTest("there is a /dev/kwq")
        for call in (kwq.info, kwq.queues, kwq.Queue.unnamed, lambda: kwq.Queue.create("jobs"),
                     lambda: kwq.Queue.open("jobs"), lambda: kwq.unlink("jobs")):
            with self.assertRaisesRegex(kwq.NoDevice, "modprobe kwq"):
                call()

    def test_other_descriptors(self):
        """Y1: a descriptor that is no queue"""
        reader, writer = os.pipe()
        with self.assertRaisesRegex(kwq.NotSupported, "not a queue"):
            kwq.Queue.from_fd(reader)
        os.close(reader)
        os.close(writer)
        with self.assertRaisesRegex(kwq.Closed, "is not open"):
            kwq.Queue.from_fd(reader)

    def test_create_arguments(self):
        """Y1: arguments of a queue that cannot be"""
        for arguments, text in (({"group_limit": 2}, "needs groups=True"),
                                ({"max_items": 0}, "max_items is at least 1"),
                                ({"groups": True, "group_limit": 0}, "group_limit is at least 1"),
                                ({"durations": False, "lease": 1}, "need durations=True"),
                                ({"durations": False, "aging": 1}, "need durations=True"),
                                ({"sync": True}, "needs changes=True"),
                                ({"lease": 0}, "lease is 0: use None"), ({"aging": -1}, "aging is negative")):
            with self.assertRaisesRegex(ValueError, text):
                kwq.Queue.unnamed(**arguments)

    def test_batch_error(self):
        """Y1: the error of a batch has all results"""
        failure = kwq.BatchError(errno.ENOSPC, "1 of 2 keys failed", "jobs", [kwq.Added.ADDED, error(errno.ENOSPC)])
        self.assertEqual((failure.errno, failure.filename, len(failure.results)), (errno.ENOSPC, "jobs", 2))

    def test_pickle(self):
        """Y1: every error survives the way to another process, and a copy, with all that it says"""
        def said(failure):
            return (type(failure), failure.errno, failure.strerror, failure.filename, str(failure), failure.__notes__,
                    [said(result) if isinstance(result, kwq.Error) else result
                     for result in getattr(failure, "results", ())])

        kinds = [kind for kind in vars(kwq.errors).values() if isinstance(kind, type) and issubclass(kind, kwq.Error)]
        self.assertIn(kwq.BatchError, kinds)
        for kind in kinds:
            for name in ("jobs", None):
                failure = kind(errno.ENOSPC, "the queue is full", name)
                failure.add_note("of the test")
                if kind is kwq.BatchError:
                    refused = error(errno.ENOSPC, name)
                    refused.add_note("of a key")
                    failure.results = [kwq.Added.ADDED, refused, kwq.Finished.BURIED]
                for again in (pickle.loads(pickle.dumps(failure)), copy.copy(failure), copy.deepcopy(failure)):
                    self.assertEqual(said(again), said(failure))

    def test_process_pool(self):
        """Y1: an error of a batch comes out of a process pool"""
        with concurrent.futures.ProcessPoolExecutor(1) as pool, self.assertRaises(kwq.BatchError) as caught:
            pool.submit(fail_as_a_batch).result()
        self.assertEqual(caught.exception.results, [kwq.Added.ADDED])


class Notify(unittest.TestCase):
    def test_no_descriptor(self):
        """Y2: a worker without a descriptor for its message to systemd works on"""
        with unittest.mock.patch.dict(os.environ, NOTIFY_SOCKET="/nonexistent"):
            notify = kwq.worker._Notify()
        with unittest.mock.patch("socket.socket", side_effect=OSError(errno.EMFILE, os.strerror(errno.EMFILE))), \
                self.assertLogs("kwq", "WARNING"):
            notify.tell("READY=1")


class Package(unittest.TestCase):
    def test_exports(self):
        """Y1: the package exports what it says"""
        for name in kwq.__all__:
            self.assertTrue(hasattr(kwq, name), name)
        self.assertLessEqual({"Worker", "Handler", "OnError"}, set(kwq.__all__))
        self.assertTrue((HERE.parent / "kwq/py.typed").exists())

    def test_results_pickle(self):
        """Y1: results and statistics can be sent to other processes"""
        for thing in (kwq.Added.DEAD, kwq.State.READY, kwq.Listed(b"k"), kwq.Config((kwq.Bucket(),))):
            self.assertEqual(pickle.loads(pickle.dumps(thing)), thing)

    def test_sort(self):
        """Q15: a sorted listing has the order of kwq keys"""
        def item(key, of, order, priority=0, state=None):
            return kwq.Listed(key, state or of, priority, order=order, order_of=of)

        ready, returned = kwq.State.READY, kwq.State.READY | kwq.State.RETURNED
        wanted = [item(b"p1", kwq.State.PROCESSING, 1), item(b"p2", kwq.State.PROCESSING, 2), item(b"r1", ready, 9, 5),
                  item(b"r2", ready, 8, 0, returned), item(b"r3", ready, 3), item(b"w", kwq.State.WAITING, 4),
                  item(b"d", kwq.State.DEAD, 1), item(b"m", kwq.State.REMEMBERED, 0)]
        self.assertEqual(sorted(reversed(wanted), key=lambda listed: listed.sort_key), wanted)


if __name__ == "__main__":
    tap.main()
