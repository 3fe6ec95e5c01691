"""Runs a server and a client of the echo in the virtual machine."""
import json
import os
import subprocess

from turns import PROGRAM_PRIORITY, in_turns

SECONDS_A_RUN = 120


class Failed(Exception):
    pass


def run_both_ends(command, port, take_turns):
    """Returns what both report: the words that start a server and a client, and their job. The server
    is gone when this returns."""
    rest = [os.environ["SOFTRDMA_ADDRESS"], str(port)]
    server, client, job = command

    def words(program, role, job):
        started = [*program, role, *rest, *job]
        if job[-1] == "busy":
            # Not in real time: librdmacm needs threads of the kernel while both sides poll.
            return in_turns(take_turns, started)[3:]
        return ["chrt", "--fifo", str(PROGRAM_PRIORITY), *started]

    serving = subprocess.Popen(
        words(server, "server", job), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True
    )
    try:
        if "ready\n" not in serving.stdout:
            raise Failed(f"{server[-1]} does not listen")
        done = subprocess.run(
            words(client, "client", job), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            text=True, timeout=SECONDS_A_RUN, check=False,
        )  # fmt: skip
        says, _ = serving.communicate(timeout=SECONDS_A_RUN)
        if done.returncode != 0 or serving.returncode != 0:
            raise Failed(f"{server[-1]} or {client[-1]} failed")
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
