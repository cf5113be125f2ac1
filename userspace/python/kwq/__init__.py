# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""kwq: keyed work queues of the Linux kernel.

A queue holds each key once, however often it is added, and hands it to one worker at a time. A key that is added during
the work is handed out once more. If a worker dies, its keys come back. kwq(7) has the terms and the guarantees, and
docs/python.md of the sources shows how to use this package.
"""
from ._changes import Changes, Follower
from ._device import Info, Named, info, queues, unlink
from ._item import Item, OnError
from ._limiters import Backoff, Bucket, Config, Exponential, FastSlow, Limiter
from ._listed import Listed
from ._queue import Add, Queue
from ._stat import Histogram, Stat
from ._values import Added, Clock, Finished, Key, Mode, Rights, Seconds, State
from .errors import (
    BatchError, Busy, Changed, Closed, DrainEnded, Empty, Error, Exists, Forbidden, Full, InvalidArgument, NoDevice,
    NotEmpty, NotFound, NotSupported, QuotaExceeded, ShutDown, Stale, TimedOut, WrongProcess)
from .worker import Handler, Worker

__all__ = [
    "Add", "Added", "Backoff", "BatchError", "Bucket", "Busy", "Changed", "Changes", "Clock", "Closed", "Config",
    "DrainEnded", "Empty", "Error", "Exists", "Exponential", "FastSlow", "Finished", "Follower",
    "Forbidden", "Full", "Handler", "Histogram", "Info", "InvalidArgument", "Item", "Key", "Limiter", "Listed",
    "Mode", "Named", "NoDevice", "NotEmpty", "NotFound", "NotSupported", "OnError", "Queue", "QuotaExceeded",
    "Rights", "Seconds", "ShutDown", "Stale", "Stat", "State", "TimedOut", "WrongProcess", "Worker", "info",
    "queues", "unlink"]
