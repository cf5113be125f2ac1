# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The errors. Each is an OSError with errno, strerror and, in filename, the name of the queue."""
from __future__ import annotations

import errno
import os
from typing import Sequence


class Error(OSError):
    """An error of kwq. Its subclasses have names; errno tells those without one."""


class Empty(Error, TimeoutError):
    """Nothing was ready, at once or within the time."""


class Full(Error):
    """The queue has no room for the key, or had none within the time."""


class QuotaExceeded(Full):
    """The owner of the queue has too many queues, or too much memory in them."""


class ShutDown(Error, BrokenPipeError):
    """The queue is shut down: it takes no key, or has none left to get."""


class TimedOut(Error, TimeoutError):
    """The time passed before the queue was drained."""


class DrainEnded(Error):
    """Somebody shut the queue down during the wait of a drain, which ended it."""


class Stale(Error):
    """The item is no longer held: it is finished, or its lease has expired."""


class Changed(Error):
    """The key has changed, or was added, since the change that a remove named."""


class NotFound(Error, FileNotFoundError):
    """There is no such queue, or no such key in the state that the call needs."""


class Exists(Error, FileExistsError):
    """A queue has this name already."""


class NotEmpty(Error):
    """The queue has keys, so it was not unlinked."""


class Forbidden(Error, PermissionError):
    """A mode or the rights of the handle forbid it, or another handle holds the item."""


class WrongProcess(Forbidden):
    """The item belongs to the parent of this forked process."""


class InvalidArgument(Error, ValueError):
    """The kernel refuses an argument, such as a key that is too long."""


class Busy(Error):
    """The queue has a follower already, or another thread reads its changes."""


class Closed(Error, ValueError):
    """The queue was closed in this process."""


class NotSupported(Error):
    """The queue or the module lacks what the call needs."""


class NoDevice(Error, FileNotFoundError):
    """There is no /dev/kwq: the module is not loaded."""


class BatchError(Error):
    """Some keys of a batch failed. results has, for each key, its result or its error."""

    # The defaults are for pickle, which calls the class with the arguments of an OSError, and then sets the results.
    def __init__(self, number: int, text: str, filename: str | None = None, results: Sequence[object] = ()) -> None:
        super().__init__(number, text, filename)
        self.results = list(results)


# errno: the class and the text.
_ERRORS: dict[int, tuple[type[Error], str]] = {
    errno.E2BIG: (NotSupported, "the loaded module is too old for this argument"),
    errno.EACCES: (Forbidden, "permission denied by the mode, or a right that the handle lacks"),
    errno.EAGAIN: (Empty, "nothing is ready"),
    errno.EBADF: (Forbidden, "the handle lacks the right for this call"),
    errno.EBUSY: (Busy, "the queue has a follower already, or another thread reads its changes"),
    errno.ECANCELED: (DrainEnded, "a shut down ended the wait"),
    errno.EDQUOT: (QuotaExceeded, "the owner's quota, or that of the caller's calls, is used up"),
    errno.EEXIST: (Exists, "a queue has this name already"),
    errno.EINVAL: (InvalidArgument, "an argument is not valid"),
    errno.EMSGSIZE: (InvalidArgument, "too long: a key has 1 to 4096 bytes, a value up to 65536, a note up to"
                     " 4096, a group up to 255"),
    errno.ENAMETOOLONG: (InvalidArgument, "a name has 1 to 255 bytes"),
    errno.ENODEV: (NoDevice, "there is no /dev/kwq: load the module with 'modprobe kwq'"),
    errno.ENOENT: (NotFound, "there is no such queue or key"),
    errno.ENOSPC: (Full, "the queue is full"),
    errno.ENOTEMPTY: (NotEmpty, "the queue has keys"),
    errno.ENOTTY: (NotSupported, "the loaded module lacks this call, or the descriptor is not a queue"),
    errno.EOPNOTSUPP: (NotSupported, "the queue was created without this feature, or the kernel lacks it"),
    errno.EPERM: (Forbidden, "another handle holds the item, or another user owns the queue"),
    errno.ESHUTDOWN: (ShutDown, "the queue is shut down"),
    errno.ESTALE: (Stale, "the item is not held any more: it is finished, or its lease has expired"),
    errno.ETIMEDOUT: (TimedOut, "the time has passed"),
}


def error(number: int, name: str | None = None, kind: type[Error] | None = None, text: str | None = None) -> Error:
    """The error of an errno number. kind and text replace those of the table."""
    known, known_text = _ERRORS.get(number, (Error, os.strerror(number)))
    return (kind or known)(number, text or known_text, name)
