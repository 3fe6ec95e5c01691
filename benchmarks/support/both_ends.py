# SPDX-License-Identifier: MIT
"""Runs the two ends of a measurement in the virtual machine: programs of benchmarks/, and those of others."""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "comparison")]
from turns import PROGRAM_PRIORITY, in_turns  # noqa: E402

SECONDS_A_RUN = 120
SECONDS_OF_A_PEER = 90


class Failed(Exception):
    pass


def scheduled(command, is_busy, take_turns):
    # Programs that poll do not run in real time: librdmacm needs threads of the kernel meanwhile.
    if is_busy:
        return in_turns(take_turns, command)[3:]
    return ["chrt", "--fifo", str(PROGRAM_PRIORITY), *command]


def run_both_ends(command, port, take_turns, seconds=SECONDS_A_RUN):
    """Returns what both report: the words that start a server and a client, and their job. The server
    is gone when this returns."""
    server, client, job = command
    rest = [os.environ["SOFTRDMA_ADDRESS"], str(port), *job]

    def words(program, role):
        return scheduled([*program, role, *rest], job[-1] == "busy", take_turns)

    serving = subprocess.Popen(
        words(server, "server"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        if "ready\n" not in serving.stdout:
            raise Failed(f"{server[-1]} does not listen")
        done = subprocess.run(
            words(client, "client"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            timeout=seconds, check=False,
        )  # fmt: skip
        says, _ = serving.communicate(timeout=seconds)
        if done.returncode != 0 or serving.returncode != 0:
            raise Failed(f"{server[-1]} or {client[-1]} failed: {' '.join(job)}")
        # A library may print lines of its own.
        server_report, client_report = (
            json.loads(next(line for line in lines.splitlines() if line.startswith("{")))
            for lines in (says, done.stdout)
        )
        return server_report | client_report
    finally:
        if serving.poll() is None:
            serving.kill()
            serving.wait()


# Programs of others.


def number_in(pattern):
    def result(says):
        found = re.search(pattern, says, re.M)
        if not found:
            raise Failed(f"the output is not understood: {says}")
        return float(found[1])

    return result


class Peer:
    """The commands of a program: `server` and `client` return one for a port. `result` finds the
    microseconds of a message in the output of the client."""

    def __init__(self, name, case, server, client, result, is_busy):
        self.name, self.case, self.server, self.client = name, case, server, client
        self.result, self.is_busy = result, is_busy
        self.program = next(each for each in client(1) if each != "env" and "=" not in each)


def version_of(package):
    done = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", package], capture_output=True, text=True, check=False
    )
    return done.stdout or "of unknown version"


def of_rsockets(case, address):
    """The case has a mode (echo, or one-way: all in one direction, then all back), a size, and the
    number of messages."""
    # Calls block; calls that do not block keep the processor from the kernel's threads.
    counts = ["-C", "1", "-I", str(case.messages)]
    if case.mode == "one-way":
        counts = ["-C", str(case.messages), "-I", "1"]

    def words(port):
        return ["rstream", "-p", str(port), "-T", "b", "-S", str(case.size), *counts]

    # The last column: microseconds for a message.
    return Peer(
        f"rsockets (`rstream -T b`, rdmacm-utils {version_of('rdmacm-utils')})", case,
        lambda port: [*words(port), "-b", address], lambda port: [*words(port), "-s", address],
        number_in(r"^\S+ .* ([\d.]+)\s*$"), False,
    )  # fmt: skip


def run_peer(peer, port, take_turns):
    """Returns the microseconds of a message."""
    serving_command, command = (
        scheduled(each(port), peer.is_busy, take_turns) for each in (peer.server, peer.client)
    )
    with tempfile.TemporaryFile() as server_says:
        serving = subprocess.Popen(
            serving_command, stdin=subprocess.DEVNULL, stdout=server_says, stderr=subprocess.STDOUT
        )
        try:
            time.sleep(0.5)  # Some do not listen on a TCP port, which would show that they are ready.
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                timeout=SECONDS_OF_A_PEER,
            )  # fmt: skip
            if done.returncode != 0:
                server_says.seek(0)
                said = server_says.read().decode(errors="replace")
                raise Failed(f"{done.stdout}{done.stderr}; the server: {said}")
            return peer.result(done.stdout)
        except subprocess.TimeoutExpired as late:
            raise Failed(f"it did not end in {SECONDS_OF_A_PEER} s") from late
        finally:
            serving.kill()
            serving.wait()
