#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Prints the SHA-256 of files that have changed. Any number of workers and producers share a queue.

checksums.py work QUEUE          a worker; SIGTERM or Ctrl-C stops it
checksums.py add QUEUE FILE...   says that these files have changed

A file that is reported several times before a worker comes to it is read once. One worker at a time reads a file. If it
is reported meanwhile, a worker reads it once more. A file that cannot be read is tried again, later and later. If a
worker is killed, another one gets its file.
"""
import hashlib
import logging
import sys

import kwq

# Two seconds after the first failure, then four, up to ten minutes; a dead letter after 20 retries.
RETRIES = kwq.Config((kwq.Exponential(base=2, max=600),), dead_after=20)


def checksum(item: kwq.Item) -> None:
    """Works on one key. An exception makes it a failure."""
    with open(item.key, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    print(digest, item.text, flush=True)


def main(arguments: list[str]) -> int:
    if len(arguments) == 2 and arguments[0] == "work":
        logging.basicConfig(format="%(message)s")
        with kwq.Queue.create(arguments[1], or_open=True, config=RETRIES) as queue:
            return 0 if kwq.Worker(queue, checksum, concurrency=1, grace=30).run() else 1
    if len(arguments) > 2 and arguments[0] == "add":
        with kwq.Queue.create(arguments[1], or_open=True, config=RETRIES) as queue:
            # The last of several changes counts: wait until the file has been quiet for 10 ms.
            queue.add_many(kwq.Add(file, delay=0.01, debounce=1) for file in arguments[2:])
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
