# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""One item that was handed out."""
from __future__ import annotations

import errno
import logging
import warnings
from types import TracebackType
from typing import TYPE_CHECKING, Literal

from . import _abi as abi
from . import _fork
from ._log import say
from ._reason import reason_of
from ._values import Added, Finished, Key, key_text, note_bytes
from .errors import Error, ShutDown, Stale, WrongProcess, error

if TYPE_CHECKING:
    from ._queue import Queue

#: The fate of an item whose work raised an exception.
OnError = Literal["retry", "give_back", "bury", "done"]


class Item:
    """A key that this process works on, until the item is finished.

    As a context manager it is done at the end of the block, and its requeues are forgotten. If the block raises an
    exception, on_error decides. "retry" adds the key again after the delay of the queue's limiters. "give_back" returns
    it to the queue as if it had not been handed out. "bury" makes it a dead letter. "done" finishes it all the same.
    KeyboardInterrupt, SystemExit, asyncio.CancelledError and other exceptions that are no Exception always give it
    back. The exception goes on in any case. In a queue with values a key that is retried or buried gets a note, which
    says what the exception was and where. If there is no room for the note, the key is retried or buried without it.

    A block may finish its item itself. An item that is forgotten without an end goes back to the queue, with a
    ResourceWarning.
    """

    __slots__ = ("queue", "key", "value", "priority", "group", "requeues", "abandoned", "ticket", "token",
                 "on_error", "_generation", "_end", "__weakref__")

    def __init__(self, queue: Queue, ticket: int, key: bytes, value: bytes, priority: int, group: bytes, requeues: int,
                 abandoned: int, token: int, on_error: OnError) -> None:
        # Empty while this object holds the item.
        self._end: Literal["", "finished", "lost"] = ""
        self._generation = _fork.generation
        #: The queue that it comes from.
        self.queue = queue
        #: The key.
        self.key = key
        #: The value as of the get; b"" for none.
        self.value = value
        #: The priority.
        self.priority = priority
        #: The name of the key's group; b"" for none.
        self.group = group
        #: How often the key was retried since it was last forgotten.
        self.requeues = requeues
        #: How often the key lost its worker since it was last done.
        self.abandoned = abandoned
        #: The number of this hand-out. Later ones of the queue have higher ones: a fencing token.
        #: If several machines share the queue, the token serves for that.
        self.ticket = ticket
        #: What the queue's manager gave with the key: see Listed.token.
        self.token = token
        #: The effect of an exception in the block.
        self.on_error: OnError = on_error

    def __repr__(self) -> str:
        return f"<kwq.Item {self.key!r} ticket={self.ticket}{' ' if self._end else ''}{self._end}>"

    def __reduce__(self) -> tuple[object, ...]:
        # The end of a copy would give back the item of the original.
        raise TypeError("an Item cannot be copied or pickled: pass on its key, or the ticket from detach()")

    @property
    def text(self) -> str:
        """The key as text: UTF-8, with lone surrogates for other bytes."""
        return key_text(self.key)

    @property
    def finished(self) -> bool:
        """Whether this object has finished the item, or learned that it was lost."""
        return self._end != ""

    @property
    def lost(self) -> bool:
        """Whether this object has learned that the item was lost: another worker may have its key."""
        return self._end == "lost"

    def done(self, *, forget: bool = True) -> Finished:
        """Finishes the item. forget also sets its requeues to 0."""
        return self._settle(abi.DONE_FORGET if forget else 0)

    def retry(self, *, delay: float | None = None, note: Key | None = None) -> Added:
        """Finishes the item and adds its key again, after the delay of the queue's limiters or after another one.

        Returns what the add did: Added.DEAD if the key is a dead letter now. In a queue that is shut down the item is
        finished without an add, as in client-go, and the call raises ShutDown.

        The key gets the note, if there is one: see note(). If the queue refuses that, the item is still held.
        """
        self._check()
        if note is not None:
            note = note_bytes(note)
        if self.queue._lease:
            # Somebody else may have the key already. Then it needs no add.
            self.extend()
        try:
            if delay is None:
                added = self.queue.add(self.key, rate_limited=True, note=note)
            else:
                added = self.queue.add(self.key, delay=delay, note=note)
        except ShutDown:
            self._settle(0)
            raise
        self._settle(0)
        return added

    def give_back(self) -> Finished:
        """Returns the item to the queue as if it had not been handed out."""
        return self._settle(abi.DONE_RETURN)

    def bury(self, *, note: Key | None = None) -> Finished:
        """Finishes the item and makes it a dead letter, unless it was added meanwhile: see kwq(7), L11.

        The key gets the note, if there is one: see note(). If the queue refuses that, the item is still held.
        """
        if note is not None:
            self.note(note)
        return self._settle(abi.DONE_DEAD)

    def extend(self) -> None:
        """Begins the item's lease again. Stale means that the item is lost: stop the work."""
        self._check()
        try:
            self.queue._extend(self.ticket)
        except Stale:
            self._end = "lost"
            raise

    def note(self, text: Key) -> None:
        """Says something of the key to whoever lists the queue, and begins the item's lease again.

        The note has up to 4096 bytes. It takes the place of an earlier one, and an empty one takes it away. The key has
        it until the key leaves the queue, or until its requeues are forgotten, as done() does. The queue needs values,
        else the call raises NotSupported; without room for the note it raises Full or QuotaExceeded. The lease is not
        extended then.
        """
        self._check()
        raw = note_bytes(text)
        try:
            self.queue._note(self.ticket, raw)
        except Stale:
            self._end = "lost"
            raise

    def detach(self) -> int:
        """Leaves the item to the caller, who finishes it with Queue.done(ticket). Returns the ticket."""
        self._check()
        self._end = "finished"
        return self.ticket

    def __enter__(self) -> Item:
        self._check()
        return self

    def __exit__(self, kind: type[BaseException] | None, exception: BaseException | None,
                 traceback: TracebackType | None) -> None:
        if self._end:
            return
        if exception is None:
            self.done()
            return
        try:
            self._failed(exception)
        except (Stale, ShutDown) as ended:
            # The exception of the block tells more.
            exception.add_note(f"kwq: {self.key!r}: {ended.strerror}")

    def _failed(self, exception: BaseException) -> Added | Finished:
        """Does what on_error says."""
        if not isinstance(exception, Exception) or self.on_error == "give_back":
            return self.give_back()
        if self.on_error == "done":
            return self.done(forget=False)
        return self._retry_or_bury(self.on_error == "bury", exception)

    def _retry_or_bury(self, bury: bool, exception: BaseException) -> Added | Finished:
        """Retries or buries the item, and leaves the reason with its key, if the queue takes it."""
        reason = reason_of(exception) if self.queue._has_values else None
        if reason:
            try:
                return self.bury(note=reason) if bury else self.retry(note=reason)
            except (ShutDown, Stale):
                raise
            except Error as refusal:
                # The retry matters more than the note.
                say(logging.DEBUG, "%s: %r has no note: %s", self.queue._label, self.key, refusal)
        return self.bury() if bury else self.retry()

    def _check(self) -> None:
        if self._generation != _fork.generation:
            raise error(errno.EPERM, self.queue._label, WrongProcess,
                        f"the item {self.key!r} belongs to the parent of this process: get items in the child")
        if self._end:
            raise error(errno.ESTALE, self.queue._label, None, f"the item {self.key!r} is finished or lost already")

    def _settle(self, flags: int) -> Finished:
        self._check()
        try:
            result = self.queue._done(self.ticket, flags)
        except Stale:
            self._end = "lost"
            raise
        self._end = "finished"
        return result

    def __del__(self) -> None:
        # An exception in __init__ leaves an object without members.
        if getattr(self, "_end", "finished") or self._generation != _fork.generation or self.queue.closed:
            return
        self._end = "finished"
        try:
            self.queue._done(self.ticket, abi.DONE_RETURN)
        except Error:
            return
        warnings.warn(f"{self!r} was not finished: it is given back", ResourceWarning, source=self)
