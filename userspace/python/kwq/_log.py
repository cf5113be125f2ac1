# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The log of the package."""
from __future__ import annotations

import contextlib
import logging
import sys

_log = logging.getLogger("kwq")


def say(level: int, text: str, *values: object, exc_info: BaseException | None = None) -> None:
    """Logs. A filter, a handler or a repr() that raises must not end what a thread does with its key."""
    try:
        _log.log(level, text, *values, exc_info=exc_info)
    except KeyboardInterrupt:
        raise
    except BaseException as failure:  # pylint: disable=broad-except
        with contextlib.suppress(Exception):  # stderr may be a closed pipe
            print(f"kwq: {text!r} cannot be logged: {type(failure).__name__}", file=sys.stderr)
