# SPDX-License-Identifier: MIT
"""The command lines of the scripts in Python, which behave as those that use messages.sh."""
import argparse
import sys


class CommandLine(argparse.ArgumentParser):
    """A parser whose --help prints the docstring of the script. A command line that cannot be right
    ends the script with one sentence and status 2."""

    def __init__(self, docstring):
        super().__init__(prog=sys.argv[0], description=docstring.strip(), allow_abbrev=False)

    def format_help(self):
        return f"{self.description}\n"

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}; --help shows how it is used\n")


def without_trace_of_interrupts(kind, value, trace):
    if kind is not KeyboardInterrupt:
        sys.__excepthook__(kind, value, trace)


# Python still removes temporary files, and ends by the signal.
sys.excepthook = without_trace_of_interrupts
