"""The plan of the measurements: the cases, the length of each, and the order of the programs."""
import dataclasses

# The programs of a comparison.
OURS, REFERENCE = "adverb", "reference"

# The sizes that have to hold the bars, and those that only give the plots more points.
TABLE_SIZES = (2, 4 << 10, 64 << 10, 1 << 20)
PLOT_SIZES = (16, 64, 256, 1 << 10, 16 << 10, 256 << 10)
ATOMIC_SIZE = 8

QUEUE_PAIRS = (1, 16, 256, 1024)
# The cost of a pair may not grow over that with so many pairs: fewer share the costs that are the same
# for any number of them.
FEW_QUEUE_PAIRS = 16
CONNECTIONS_AT_ONCE = 16


@dataclasses.dataclass(frozen=True)
class Case:
    """A case of one run, independent of the program."""

    benchmark: str  # send, write, read, atomic; or queue_pairs; or connections
    kind: str  # lat, bw; or scale; or in_a_row, at_once
    size: int  # bytes of a message; or the number of queue pairs; or of connections at once
    iterations: int  # messages; or connections

    def __str__(self) -> str:
        return f"{self.benchmark} {self.kind} {self.size}"

    @property
    def is_judged(self) -> bool:
        """Returns whether the case has a bar to hold; otherwise it is a point of a plot."""
        always = ("atomic", "queue_pairs", "connections")
        return self.benchmark in always or self.size in TABLE_SIZES

    @property
    def depth(self) -> int:
        """The number of messages in flight. It is lower for large messages, because emulation takes long
        for them, and a message without a timely answer is sent again."""
        return max(1, min(128, (512 << 10) // self.size)) if self.kind == "bw" else 1

    @property
    def receives(self) -> int:
        """The number of receives that are posted in advance. perftest posts no more for the last
        messages, which must not be most of them; for bandwidth, the default."""
        return 512 if self.kind == "bw" else 16

    @property
    def runs(self) -> int:
        """The number of runs whose median is one value: setting up few queue pairs is so short that one
        interrupt of the timer changes it by a fiftieth."""
        return 7 if self.kind == "scale" and self.size <= FEW_QUEUE_PAIRS else 1

    @property
    def moderation(self) -> int:
        """The number of messages for each completion; perftest's default."""
        return 100 if self.size <= 8192 else 1


@dataclasses.dataclass(frozen=True)
class Step:
    case: Case
    round: int
    program: str


def iterations(kind: str, size: int, quick: bool) -> int:
    """Instructions repeat, so a few messages are enough: of bandwidth some more, for the queues have
    to be full for most of them."""
    if quick:
        return 100
    for limit, count in ((4 << 10, 400), (16 << 10, 100), (64 << 10, 40)):
        if size <= limit:
            return count * (1 if kind == "lat" else 3)
    return 16 if size <= 256 << 10 else 8


def perf_cases(benchmarks, kinds, sizes, quick: bool = False) -> list[Case]:
    return [
        Case(benchmark, kind, size, iterations(kind, size, quick))
        for kind in kinds
        for benchmark in benchmarks
        for size in sizes
    ]


def order(round_number: int) -> tuple[str, ...]:
    """Each is first in turn, so that no drift is in favour of one."""
    return ((REFERENCE, OURS), (OURS, REFERENCE))[round_number % 2]


def steps_of(cases, rounds: int) -> list[Step]:
    return [
        Step(case, number, program)
        for case in cases
        for number in range(rounds)
        for program in order(number)
    ]


def only(steps: list[Step], beginning: str) -> list[Step]:
    """The cases whose names begin with these texts."""
    return [step for step in steps if str(step.case).startswith(beginning)]


BENCHMARKS = ("send", "write", "read")
KINDS = ("lat", "bw")


def perf_steps(rounds: int, quick: bool) -> list[Step]:
    if quick:
        return steps_of(perf_cases(["send"], KINDS, TABLE_SIZES[:2], quick), rounds)
    atomics = perf_cases(["atomic"], ["lat"], [ATOMIC_SIZE])
    compared = perf_cases(BENCHMARKS, KINDS, TABLE_SIZES) + atomics
    plotted = perf_cases(BENCHMARKS, KINDS, PLOT_SIZES)
    return steps_of(compared, rounds) + steps_of(plotted, 1)


def scale_steps(rounds: int, quick: bool) -> list[Step]:
    counts = QUEUE_PAIRS[:2] if quick else QUEUE_PAIRS
    messages = 1000 if quick else 16384
    cases = [Case("queue_pairs", "scale", count, messages) for count in counts]
    return steps_of(cases, rounds)


def connection_steps(rounds: int, quick: bool) -> list[Step]:
    in_a_row, at_once = (8, 32) if quick else (1000, 512)
    cases = [
        Case("connections", "in_a_row", 1, in_a_row),
        Case("connections", "at_once", CONNECTIONS_AT_ONCE, at_once),
    ]
    return steps_of(cases, rounds)


STEPS = {"perf": perf_steps, "scale": scale_steps, "connections": connection_steps}
