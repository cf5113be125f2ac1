#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Runs a command whose standard error is a terminal, and prints what the terminal got.

terminal.py [--in] [--out] [--background] [--until TEXT] COMMAND [ARGUMENT...]

--in, --out     standard input or output is that terminal, too
--background    the command runs as a background job of a shell does, and the terminal stops it if it writes (tostop);
                a command that is stopped is killed
--until TEXT    SIGTERM ends the command once the terminal has got TEXT

Escape is printed as \\e, and a carriage return without a newline as \\r. Ends with the status of the command, or 128 and its
signal. The terminal has 24 lines of 100 columns.
"""
import fcntl
import os
import signal
import struct
import sys
import termios


def start(slave, wanted, command):
    """The process of the command, in a session of its own with the terminal."""
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    if '--background' in wanted:
        pid = os.fork()
        if pid:
            # As a shell: in the foreground, while its job is not.
            status = os.waitpid(pid, os.WUNTRACED)[1]
            if os.WIFSTOPPED(status):
                os.write(slave, b'stopped')
                os.kill(pid, signal.SIGKILL)
                status = os.waitpid(pid, 0)[1]
            return os.waitstatus_to_exitcode(status)
        os.setpgid(0, 0)
    for option, descriptor in (('--in', 0), ('--out', 1), ('', 2)):
        if not option or option in wanted:
            os.dup2(slave, descriptor)
    os.execvp(command[0], command)


def main():
    arguments = sys.argv[1:]
    wanted, until = set(), None
    while arguments[0].startswith('--'):
        option = arguments.pop(0)
        wanted.add(option)
        if option == '--until':
            until = arguments.pop(0).encode()
    master, slave = os.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack('HHHH', 24, 100, 0, 0))
    if '--background' in wanted:
        modes = termios.tcgetattr(slave)
        modes[3] |= termios.TOSTOP
        termios.tcsetattr(slave, termios.TCSANOW, modes)
    pid = os.fork()
    if not pid:
        os.close(master)
        os._exit(start(slave, wanted, arguments) & 255)
    os.close(slave)
    got = b''
    while True:
        try:
            some = os.read(master, 65536)
        except OSError:
            break       # the last process that had the terminal has ended
        if not some:
            break
        got += some
        if until and until in got:
            os.kill(pid, signal.SIGTERM)
            until = None
    text = got.decode(errors='replace').replace('\r\n', '\n').replace('\r', '\\r').replace('\x1b', '\\e')
    sys.stdout.write(text)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    return 128 - status if status < 0 else status


if __name__ == '__main__':
    sys.exit(main())
