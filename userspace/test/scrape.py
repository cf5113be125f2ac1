# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""The HTTP requests of test-exporter.sh.

scrape.py http PORT METHOD PATH   prints status, Content-Type and Allow, then the body
scrape.py many PORT PID           many scrapes: no descriptor and no memory that stays
scrape.py idle PORT               silent connections beside a scrape
scrape.py prometheus PID QUERY... waits until the server has scraped, and prints what the
                                  queries give, a line each
scrape.py dashboard PID FILE PREFIX   asks the server all queries of Grafana's dashboard that name
                                  metrics with this prefix
scrape.py terminal COMMAND...     tables on a terminal of 60 columns, and of 50, until q
"""
import fcntl
import http.client
import json
import os
import pty
import re
import socket
import struct
import sys
import termios
import time
import urllib.parse

DEADLINE = time.monotonic() + 100


def wait_for(what, condition):
    """The deadline is for what hangs, not for what is slow."""
    while time.monotonic() < DEADLINE:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    sys.exit(f"no {what}")


def request(connection, method, path):
    connection.request(method, path, body="x" * 100000 if method == "POST" else None)
    response = connection.getresponse()
    return response, response.read()


def connect(port):
    return http.client.HTTPConnection("127.0.0.1", port, timeout=100)


def ask(port, method, path):
    response, body = request(connect(port), method, path)
    print(response.status, response.getheader("Content-Type"), response.getheader("Allow") or "-")
    sys.stdout.write(body.decode())


def memory(pid):
    with open(f"/proc/{pid}/status") as status:
        fields = dict(line.split(":", 1) for line in status)
    return int(fields["RssAnon"].split()[0])


def scrape(port, times):
    kept = connect(port)
    for i in range(times):
        response, body = request(kept if i % 2 else connect(port), "GET", "/metrics")
        assert response.status == 200 and body.endswith(b"\n"), response.status


def many(port, pid):
    scrape(port, 200)
    before = memory(pid)
    scrape(port, 2000)
    after = memory(pid)
    print(f"memory {before} kB, after 2000 scrapes {after} kB")
    # A body has 10 kB. If one in a hundred leaked, 200 kB would remain.
    if after > before + 128:
        sys.exit("it grows")
    # Connections that are closing disappear by themselves.
    wait_for("end of the connections", lambda: len(os.listdir(f"/proc/{pid}/fd")) < 16)


def idle(port):
    silent = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
    ask(port, "GET", "/")
    for one in silent:
        one.close()


def listening_port(pid):
    """The port that a process listens on, whatever it was told."""
    inodes = set()
    for fd in os.listdir(f"/proc/{pid}/fd"):
        try:
            inodes.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
        except OSError:
            pass
    for table in "tcp", "tcp6":
        with open(f"/proc/net/{table}") as lines:
            for line in list(lines)[1:]:
                fields = line.split()
                if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                    return int(fields[1].rsplit(":", 1)[1], 16)
    return None


def api(port, path):
    try:
        response, body = request(connect(port), "GET", "/api/v1/" + path)
    except OSError:
        return None
    return json.loads(body)["data"] if response.status == 200 else None


def target_is_up(port):
    targets = (api(port, "targets") or {}).get("activeTargets", [])
    for target in targets:
        if target["health"] == "down":
            sys.exit(f"the server does not take it: {target['lastError']}")
    return targets and all(target["health"] == "up" for target in targets)


def prometheus(pid, queries):
    port = wait_for("server", lambda: listening_port(pid))
    wait_for("target that is up", lambda: target_is_up(port))
    for query in queries:
        path = "query?" + urllib.parse.urlencode({"query": query})
        data = wait_for(query, lambda p=path: (api(port, p) or {}).get("result"))
        print(" ".join(sorted(f"{r['metric'].get('name', '')}={r['value'][1]}" for r in data)))


def dashboard(pid, path, prefix):
    """Asks these queries of a dashboard for all queues until each has a series."""
    with open(path) as file:
        panels = json.load(file)["panels"]
    queries = [target["expr"] for panel in panels for target in panel["targets"] if prefix in target["expr"]]
    port = wait_for("server", lambda: listening_port(pid))
    for query in queries:
        query = query.replace("$__rate_interval", "1m").replace("$name", ".*").replace("$instance", ".*")
        path = "query?" + urllib.parse.urlencode({"query": query})
        wait_for(query, lambda p=path: (api(port, p) or {}).get("result"))
    print(len(queries), "queries")
    if not queries:
        sys.exit("no query")


TIOCGPTPEER = 0x5441  # in Python's termios from 3.13 on


def resize(fd, columns):
    fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 10, columns, 0, 0))


def columns(table):
    lines = re.sub(rb"\033\[\d*[Km]|\r", b"", table).split(b"\n")
    return max(map(len, lines))


def widths(output):
    """Of the tables that were drawn to their end."""
    return [columns(table.split(b"\033[J")[0]) for table in output.split(b"\033[H") if b"\033[J" in table]


def terminal(command):
    pid, fd = pty.fork()
    if not pid:
        resize(sys.stdout.fileno(), 60)
        os.execve(command[0], command, dict(os.environ, TERM="xterm"))
    # Keep this side open: a terminal may lose its last output when its other side closes.
    fcntl.ioctl(fd, TIOCGPTPEER, os.O_RDWR | os.O_NOCTTY)
    output = b""
    while not widths(output):
        output += os.read(fd, 4096)
    resize(fd, 50)
    while widths(output)[-1] != 50:
        output += os.read(fd, 4096)
    os.write(fd, b"q")
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    os.set_blocking(fd, False)
    try:
        while True:
            output += os.read(fd, 4096)
    except BlockingIOError:
        pass
    print(*dict.fromkeys(widths(output)), "columns; left" if b"\033[?1049l" in output else "stayed",
          status)


if sys.argv[1] == "http":
    ask(int(sys.argv[2]), sys.argv[3], sys.argv[4])
elif sys.argv[1] == "many":
    many(int(sys.argv[2]), int(sys.argv[3]))
elif sys.argv[1] == "idle":
    idle(int(sys.argv[2]))
elif sys.argv[1] == "dashboard":
    dashboard(int(sys.argv[2]), sys.argv[3], sys.argv[4])
elif sys.argv[1] == "terminal":
    terminal(sys.argv[2:])
else:
    prometheus(int(sys.argv[2]), sys.argv[3:])
