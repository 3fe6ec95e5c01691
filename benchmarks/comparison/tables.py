"""The results as tables for the page, and as the list of what misses its bar."""
import dataclasses

from evaluation import Comparison, Results, Verdict
from plan import FEW_QUEUE_PAIRS, OURS, REFERENCE, Case


@dataclasses.dataclass(frozen=True)
class Quantity:
    """Something that is measured, and how it is shown."""

    name: str
    title: str
    lower_is_better: bool
    scale: float = 1
    digits: int = 0
    has_bar: bool = True

    def shown(self, value: float) -> str:
        return f"{value * self.scale:,.{self.digits}f}"


# By the guest's clock: an instruction is 4 ns.
A_SECOND = 250e6
LATENCY = Quantity("latency", "instructions", lower_is_better=True, scale=A_SECOND / 1e6)
BANDWIDTH = Quantity(
    "bandwidth", "bytes for 1,000,000 instructions", lower_is_better=False, scale=1e6 / A_SECOND
)
# The bar is on its growth: see below.
SET_UP = Quantity(
    "set_up", "set-up, instructions a pair", lower_is_better=True, scale=A_SECOND, has_bar=False
)
MESSAGE = Quantity("message", "instructions a message", lower_is_better=True, scale=A_SECOND)
HEAP = Quantity("heap", "heap, bytes a pair", lower_is_better=True)
# Code that runs for the first time, and whole pages, make it too coarse for a bar.
RESIDENT = Quantity("resident", "resident, bytes a pair", lower_is_better=True, has_bar=False)
# The ratio of two values of SET_UP: that of so many pairs over that of few.
GROWTH = Quantity(
    "growth", f"set-up a pair, over that of {FEW_QUEUE_PAIRS}", lower_is_better=True, digits=3
)
CONNECTED = Quantity(
    "connected", "until connected, instructions, median", lower_is_better=True, scale=A_SECOND / 1e6
)
# The slowest of a hundred meet the timer and what the kernel has put off, now more, now less.
CONNECTED_P99 = Quantity(
    "connected_p99", "until connected, instructions, 99 % below", lower_is_better=True,
    scale=A_SECOND / 1e6, has_bar=False,
)
RATE = Quantity(
    "rate", "connections for 1,000,000,000 instructions", lower_is_better=False,
    scale=1e9 / A_SECOND,
)
QUANTITIES = {
    "lat": (LATENCY,),
    "bw": (BANDWIDTH,),
    "scale": (SET_UP, MESSAGE, HEAP, RESIDENT),
    "in_a_row": (CONNECTED, CONNECTED_P99, RATE),
    "at_once": (RATE,),
}


@dataclasses.dataclass(frozen=True)
class Row:
    case: Case
    quantity: Quantity
    comparison: Comparison

    @property
    def verdict(self) -> Verdict | None:
        return self.comparison.verdict if self.quantity.has_bar else None

    @property
    def passes(self) -> bool:
        return self.verdict is None or self.verdict.passes

    @property
    def name(self) -> str:
        if self.case.kind == "scale":
            pairs = "queue pair" if self.case.size == 1 else "queue pairs"
            return f"{self.case.size:,} {pairs}, {self.quantity.title}"
        if self.case.benchmark == "connections":
            return f"{connections_at_once(self.case)}, {self.quantity.title}"
        return f"{self.case.benchmark} {self.case.kind}, {size_name(self.case.size)}"


def connections_at_once(case: Case) -> str:
    return "one after another" if case.kind == "in_a_row" else f"{case.size} at once"


def size_name(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def rows_of(results: Results) -> list[Row]:
    return [
        Row(case, quantity, results.comparison(case, quantity.name, quantity.lower_is_better))
        for case in results.cases
        for quantity in QUANTITIES[case.kind]
        if case.is_judged
    ] + growth_rows(results)


def growth_rows(results: Results) -> list[Row]:
    """The cost of setting up a pair among many, over the cost among few: ours and C's."""
    scales = [case for case in results.cases if case.kind == "scale"]
    few = [case for case in scales if case.size == FEW_QUEUE_PAIRS]
    return [
        Row(many, GROWTH, results.growth(few[0], many, SET_UP.name))
        for many in scales
        if few and many.size > FEW_QUEUE_PAIRS
    ]


def table(head: list[str], lines: list[list[str]]) -> str:
    marks = ["---"] + ["--:"] * (len(head) - 2) + ["---"]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *lines])


def judged(row: Row) -> list[str]:
    """The cells that compare ours with the other."""
    comparison = row.comparison
    least, greatest = comparison.spread
    return [
        f"{comparison.ratio:.3f}",
        f"{least:.3f} to {greatest:.3f}",
        f"±{comparison.noise * 100:.1f} %",
        row.verdict.value if row.verdict else "",
    ]


def values(row: Row) -> list[str]:
    results = row.comparison
    return [row.quantity.shown(results.ours_median), row.quantity.shown(results.reference_median)]


def perf_table(rows: list[Row], kind: str) -> str:
    head = ["", "size", "adverb", "perftest", "ratio", "of pairs", "noise", "bar"]
    return table(
        head,
        [
            [row.case.benchmark, size_name(row.case.size), *values(row), *judged(row)]
            for row in rows
            if row.case.kind == kind
        ],
    )


def scale_table(rows: list[Row]) -> str:
    head = ["", "queue pairs", "adverb", "C", "ratio", "of pairs", "noise", "bar"]
    quantities = (GROWTH, *QUANTITIES["scale"])
    return table(
        head,
        [
            [quantity.title, f"{row.case.size:,}", *values(row), *judged(row)]
            for quantity in quantities
            for row in rows
            if row.quantity is quantity
        ],
    )


def where(results: Results, rounds: int) -> str:
    machine = results.machine
    text = f"Measured {rounds} times each; Linux {machine['kernel']}, {machine['processor']}"
    if "perftest" in machine:
        text += f", perftest {machine['perftest']}"
    return text + "."


def repeated(results: Results) -> str:
    """Returns a sentence about runs that failed, or an empty text."""
    count = len(results.failures)
    if count == 0:
        return ""
    return f"{count} run{'s' if count > 1 else ''} failed and had to be repeated."


def perf_section(results: Results) -> str:
    rows = rows_of(results)
    parts = [where(results, rounds_of(rows)), repeated(results)]
    parts += [f"Latency, the median, in {LATENCY.title}:", perf_table(rows, "lat")]
    parts += ["![Latency against size](performance/latency.svg)"]
    parts += [f"Bandwidth, in {BANDWIDTH.title}:", perf_table(rows, "bw")]
    parts += ["![Bandwidth against size](performance/bandwidth.svg)"]
    return "\n\n".join(part for part in parts if part)


def scale_section(results: Results) -> str:
    rows = rows_of(results)
    parts = [where(results, rounds_of(rows)), repeated(results), scale_table(rows)]
    return "\n\n".join(part for part in parts if part)


def connections_table(rows: list[Row]) -> str:
    head = ["", "connections", "adverb", "C", "ratio", "of pairs", "noise", "bar"]
    return table(
        head,
        [
            [row.quantity.title, connections_at_once(row.case), *values(row), *judged(row)]
            for row in rows
        ],
    )


def connections_section(results: Results) -> str:
    rows = rows_of(results)
    parts = [where(results, rounds_of(rows)), repeated(results), connections_table(rows)]
    return "\n\n".join(part for part in parts if part)


def rounds_of(rows: list[Row]) -> int:
    return len(rows[0].comparison.ours) if rows else 0


SECTIONS = {"perf": perf_section, "scale": scale_section, "connections": connections_section}


def points(results: Results, benchmark: str, kind: str, program: str) -> list[tuple[int, float]]:
    """The points of one program in a plot: its medians by size."""
    (quantity,) = QUANTITIES[kind]
    return [
        (case.size, results.median(case, quantity.name, program) * quantity.scale)
        for case in sorted(results.cases, key=lambda case: case.size)
        if (case.benchmark, case.kind) == (benchmark, kind)
    ]


PLOTTED = {OURS: "adverb", REFERENCE: "perftest"}
