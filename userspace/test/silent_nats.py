# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""silent_nats.py STREAM SUBJECTS: a NATS server whose JetStream has no majority, for test-share.sh.

Prints its port. It answers STREAM.INFO once for each connection, and no other request. A real server does so for a stream
that it led before its peers died.
"""

import json
import socketserver
import sys

INFO = {"server_id": "S", "version": "2.10.27", "headers": True, "jetstream": True, "max_payload": 1 << 20, "proto": 1}
STREAM = {
    "created": "2026-01-01T00:00:00Z",
    "state": {"last_seq": 7, "bytes": 0},
    "config": {
        "name": sys.argv[1],
        "subjects": [sys.argv[2]],
        "max_msgs_per_subject": 1,
        "retention": "limits",
        "storage": "file",
        "num_replicas": 3,
    },
}


class Client(socketserver.StreamRequestHandler):
    def say(self, *lines):
        self.wfile.write("".join(line + "\r\n" for line in lines).encode())

    def handle(self):
        subscriptions = []
        is_first = True
        self.say("INFO " + json.dumps(INFO))
        for line in self.rfile:
            words = line.decode().split()
            if not words:
                continue
            if words[0] == "PING":
                self.say("PONG")
            elif words[0] == "SUB":
                subscriptions.append((words[1], words[-1]))
            elif words[0] in ("PUB", "HPUB"):
                self.rfile.read(int(words[-1]) + 2)
                if is_first and words[1].startswith("$JS.API.STREAM.INFO."):
                    is_first = False
                    self.answer(words[2], subscriptions)

    def answer(self, to, subscriptions):
        text = json.dumps(STREAM)
        for subject, number in subscriptions:
            if subject.endswith("*") and to.startswith(subject[:-1]):
                self.say(f"MSG {to} {number} {len(text)}", text)


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True


with Server(("127.0.0.1", 0), Client) as server:
    print(server.server_address[1], flush=True)
    server.serve_forever()
