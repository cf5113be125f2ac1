# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""A fork: the child gets handles of its own, and none of the parent's items.

Descriptors that fork(2) copies share one handle, which lives until both processes have ended. So in the child each open
queue is opened once more, under the same descriptor number. The death of either process then gives back its own items.
"""
from __future__ import annotations

import os
import weakref
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._queue import Queue

#: The open queues of this process.
queues: weakref.WeakSet[Queue] = weakref.WeakSet()
#: How many forks lead to this process. An item of another generation belongs to a parent.
generation = 0


def _in_child() -> None:
    global generation
    generation += 1
    for queue in list(queues):
        queue._after_fork()


os.register_at_fork(after_in_child=_in_child)
