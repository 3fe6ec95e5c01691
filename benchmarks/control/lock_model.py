"""Models the one lock of the lifetime checker, with many threads that make and destroy objects.

Each thread in turn makes calls of the kernel and takes the lock. This is a closed queue with one
server: mean value analysis gives its throughput, exactly for holds of exponential length. Holds of
one length wait for less.
"""

# The assumptions. Each favours waiting: the calls of real devices take longer, and not all lines
# change their processor each time.
NANOSECONDS_AN_INSTRUCTION = 1.0
NANOSECONDS_A_LINE = 100.0  # a cache line that another processor changed last
THREADS = [1, 16, 64]


class Load:
    """The use of the lock by threads: instructions and cache lines a hold, microseconds in the kernel
    between two holds."""

    def __init__(self, name, instructions, lines, kernel):
        self.name = name
        self.kernel = kernel
        self.hold = (instructions * NANOSECONDS_AN_INSTRUCTION + lines * NANOSECONDS_A_LINE) / 1000

    def with_threads(self, threads):
        """Utilisation of the lock, and the wait for it in microseconds."""
        queue = 0.0
        for present in range(1, threads + 1):
            # The one that comes finds the queue of one thread less.
            at_lock = self.hold * (1 + queue)
            rate = present / (self.kernel + at_lock)
            queue = rate * at_lock
        return rate * self.hold, at_lock - self.hold


def loads(pair_held, region_held):
    """A queue pair moves the mutex, the domain and the completion queue between processors; a region
    moves the mutex and the domain."""
    return [
        Load("queue pair to RTS and destroyed, 100 µs in the kernel", pair_held / 2, 3, 50),
        Load("region registered and deregistered, 50 µs in the kernel", region_held / 2, 2, 25),
        Load("region registered and deregistered, 20 µs in the kernel", region_held / 2, 2, 10),
    ]


def table(pair_held, region_held):
    lines = [
        "| each thread repeats | held, ns | threads | lock in use | wait, ns a hold | slower by |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for load in loads(pair_held, region_held):
        for threads in THREADS:
            used, wait = load.with_threads(threads)
            slower = wait / (load.kernel + load.hold)
            lines.append(
                f"| {load.name} | {load.hold * 1000:.0f} | {threads} | {used:.1%} | {wait * 1000:.0f} | {slower:.2%} |"
            )
    return "\n".join(lines) + "\n"
