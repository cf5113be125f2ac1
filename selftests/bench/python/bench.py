# SPDX-License-Identifier: GPL-2.0-only
"""The cost of add, get and done in Python, beside multiprocessing.Queue and a socket to beanstalkd.

Needs a machine with one processor, whose clock advances by 1 ns per instruction. Prints NAME, VALUE and unit, with tabs. A
figure is the median of several rounds of 100 keys, and includes all processes, threads and the kernel.
"""
import multiprocessing
import socket
import statistics
import subprocess
import sys
import time

sys.path.insert(0, "/python")

import kwq  # noqa: E402

KEYS = [b"%08d" % number for number in range(100)]
WARM_UP, ROUNDS, BATCH = 3, 21, 64


def measure(name, work, count=len(KEYS)):
    """Prints the cost of work(), divided by the keys that it takes."""
    costs = []
    for number in range(WARM_UP + ROUNDS):
        begin = time.monotonic_ns()
        work()
        cost = time.monotonic_ns() - begin
        if number >= WARM_UP:
            costs.append(cost / count)
    print(f"{name}\t{statistics.median(costs):.0f}\tinsn", flush=True)


def of_kwq():
    with kwq.Queue.unnamed() as queue:
        def cycle():
            for key in KEYS:
                queue.add(key)
                queue.get(0).done()

        def with_block():
            for key in KEYS:
                queue.add(key)
                with queue.get(0):
                    pass

        def batch():
            queue.add_many(KEYS[:BATCH])
            queue.done_many(queue.get_many(BATCH, 0))

        def coalesced():
            for _ in KEYS:
                queue.add(KEYS[0])
        measure("python.cycle", cycle)
        measure("python.cycle.with", with_block)
        measure("python.cycle.batch64", batch, BATCH)
        queue.add(KEYS[0])
        measure("python.coalesced", coalesced)


def of_multiprocessing():
    # The put is done by a thread of its own, as the class does it.
    queue = multiprocessing.Queue()

    def cycle():
        for key in KEYS:
            queue.put(key)
            queue.get()
    measure("peer.python.queue.cycle", cycle)
    queue.close()
    queue.join_thread()
    simple = multiprocessing.SimpleQueue()

    def simple_cycle():
        for key in KEYS:
            simple.put(key)
            simple.get()
    measure("peer.python.simplequeue.cycle", simple_cycle)
    simple.close()


def of_beanstalkd():
    path = "/tmp/python-beanstalkd"
    with subprocess.Popen(["./beanstalkd", "-l", f"unix:{path}"], env={"LD_LIBRARY_PATH": "/lib"}) as server:
        connection = socket.socket(socket.AF_UNIX)
        while True:
            try:
                connection.connect(path)
                break
            except (FileNotFoundError, ConnectionRefusedError):
                time.sleep(0.1)
        with connection, connection.makefile("rb") as replies:
            def cycle():
                for key in KEYS:
                    connection.sendall(b"put 0 0 60 %d\r\n%b\r\n" % (len(key), key))
                    replies.readline()
                    connection.sendall(b"reserve\r\n")
                    _, number, size = replies.readline().split()
                    replies.read(int(size) + 2)
                    connection.sendall(b"delete %b\r\n" % number)
                    if replies.readline() != b"DELETED\r\n":
                        sys.exit("# beanstalkd did not delete a job")
            measure("peer.python.beanstalkd.cycle", cycle)
        server.kill()


if __name__ == "__main__":
    of_kwq()
    of_multiprocessing()
    of_beanstalkd()
