# SPDX-License-Identifier: LGPL-2.1-or-later OR MIT
"""Runs the cases of unittest, and prints TAP."""
import sys
import traceback
import unittest


class Result(unittest.TestResult):
    """Prints a line for each case when it ends. The name of a case is the first line of its docstring."""

    def __init__(self):
        super().__init__()
        self.number = 0

    def _line(self, word, case, end=""):
        self.number += 1
        print(f"{word} {self.number} - {case.shortDescription() or case.id()}{end}", flush=True)

    def addSuccess(self, test):
        self._line("ok", test)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self._line("ok", test, f" # SKIP {reason}")

    def _failed(self, test, err):
        self._line("not ok", test)
        for line in "".join(traceback.format_exception(*err)).rstrip().split("\n"):
            print(f"# {line}", flush=True)

    def addError(self, test, err):
        super().addError(test, err)
        self._failed(test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self._failed(test, err)

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._failed(subtest, err)


def main(*suites):
    """Runs the cases of this program, and the suites."""
    result = Result()
    suite = unittest.TestSuite([unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]), *suites])
    suite.run(result)
    print(f"1..{result.number}")
    sys.exit(0 if result.wasSuccessful() else 1)
