"""Two programs that poll share the guest's one processor."""
import os
import pathlib

# Both ends are of one priority of the real-time scheduler: there, giving way is kept to. Deferred work
# of the kernel runs before them; and so does this program, to end programs that hang.
PROGRAM_PRIORITY, KERNEL_PRIORITY, OWN_PRIORITY = 1, 2, 3


def set_priorities() -> None:
    """Lets packets that are left to the kernel's thread for them go before any program, and takes no
    time away from programs of real-time priority, which are else stopped for 5 % of each second."""
    pathlib.Path("/proc/sys/kernel/sched_rt_runtime_us").write_text("-1")
    own = os.sched_param(OWN_PRIORITY)
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, own)
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        if (folder / "comm").read_text().startswith("ksoftirqd/"):
            priority = os.sched_param(KERNEL_PRIORITY)
            os.sched_setscheduler(int(folder.name), os.SCHED_FIFO, priority)


def in_turns(take_turns: pathlib.Path, command: list[str]) -> list[str]:
    # A program may load libibverbs where take_turns.so does not find it.
    preloaded = f"LD_PRELOAD={take_turns}:libibverbs.so.1"
    return ["chrt", "--fifo", str(PROGRAM_PRIORITY), "env", preloaded, *command]
