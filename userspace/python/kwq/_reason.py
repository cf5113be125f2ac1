# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Why a run has failed, for the note of its key."""
from __future__ import annotations

import os
import traceback
from pathlib import Path
from typing import Iterable

# So many bytes at most. The exception itself has no more than half of them, because the traceback needs room as well.
_LONGEST = 1024
_HERE = str(Path(__file__).parent) + os.sep


def reason_of(exception: BaseException) -> bytes | None:
    """The type and the text of an exception, and then the last lines of its traceback, in UTF-8."""
    try:
        # The calls of the worker, which come first, are the same for all keys.
        place = exception.__traceback__
        while place and place.tb_frame.f_code.co_filename.startswith(_HERE):
            place = place.tb_next
        described = traceback.TracebackException(type(exception), exception, place)
        said = "".join(described.format_exception_only())
        before = "".join(described.format()).removesuffix(said)
    except Exception:  # pylint: disable=broad-except
        return None
    head = _fitting(_lines(said), _LONGEST // 2)
    tail = _fitting(reversed(_lines(before)), _LONGEST - sum(map(len, head)))
    return b"".join([*head, *reversed(tail)])


def _lines(text: str) -> list[bytes]:
    """Text may have lone surrogates, for bytes that are no UTF-8."""
    return [line + b"\n" for line in text.encode("utf-8", "backslashreplace").split(b"\n") if line]


def _fitting(lines: Iterable[bytes], room: int) -> list[bytes]:
    """The first lines that fit into the room. If not even one does, its beginning."""
    fitting: list[bytes] = []
    for line in lines:
        if len(line) > room:
            if not fitting:
                fitting.append(line[:room - 1].decode("utf-8", "ignore").encode() + b"\n")
            break
        fitting.append(line)
        room -= len(line)
    return fitting
