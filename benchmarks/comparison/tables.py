"""The results as tables for the page, and as the list of what misses its bar."""
import dataclasses

from evaluation import Comparison, Results, Verdict
from plan import OURS, Case


@dataclasses.dataclass(frozen=True)
class Quantity:
    """Something that is measured, and how it is shown."""

    name: str
    title: str
    lower_is_better: bool
    scale: float = 1
    digits: int = 2
    has_bar: bool = True

    def shown(self, value: float) -> str:
        return f"{value * self.scale:,.{self.digits}f}"


LATENCY = Quantity("latency", "µs", lower_is_better=True)
BANDWIDTH = Quantity("bandwidth", "MB/s", lower_is_better=False, scale=1e-6)
SET_UP = Quantity("pairs_per_second", "pairs set up a second", lower_is_better=False, digits=0)
MESSAGES = Quantity("messages_per_second", "messages a second", lower_is_better=False, digits=0)
HEAP = Quantity("heap_bytes_per_pair", "heap, bytes a pair", lower_is_better=True, digits=0)
# Code that runs for the first time, and whole pages, make it too coarse for a bar.
RESIDENT = Quantity(
    "resident_bytes_per_pair", "resident, bytes a pair", lower_is_better=True, digits=0, has_bar=False
)
QUANTITIES = {"lat": (LATENCY,), "bw": (BANDWIDTH,), "scale": (SET_UP, MESSAGES, HEAP, RESIDENT)}


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
        return f"{self.case.benchmark} {self.case.kind}, {size_name(self.case.size)}"


def size_name(size: int) -> str:
    for unit, name in ((1 << 20, "MiB"), (1 << 10, "KiB")):
        if size >= unit:
            return f"{size // unit} {name}"
    return f"{size} B"


def comparison_of(results: Results, case: Case, quantity: Quantity) -> Comparison:
    return results.comparison(case, quantity.name, quantity.lower_is_better)


def rows_of(results: Results) -> list[Row]:
    return [
        Row(case, quantity, comparison_of(results, case, quantity))
        for case in results.cases
        for quantity in QUANTITIES[case.kind]
        if results.is_compared(case, quantity.name)
    ]


def table(head: list[str], lines: list[list[str]]) -> str:
    marks = ["---"] + ["--:"] * (len(head) - 2) + ["---"]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [head, marks, *lines])


def judged(row: Row) -> list[str]:
    """The cells that say how ours compares."""
    comparison = row.comparison
    least, greatest = comparison.spread
    return [
        f"{comparison.ratio:.3f}",
        f"{least:.2f} to {greatest:.2f}",
        f"±{comparison.noise * 100:.1f} %",
        row.verdict.value if row.verdict else "",
    ]


def values(row: Row) -> list[str]:
    results = row.comparison
    return [row.quantity.shown(results.ours_median), row.quantity.shown(results.reference_median)]


def perf_table(rows: list[Row], quantity: Quantity) -> str:
    unit = quantity.title
    head = ["", "size", f"adverb, {unit}", f"perftest, {unit}", "ratio", "of pairs", "noise", "bar"]
    return table(
        head,
        [
            [row.case.benchmark, size_name(row.case.size), *values(row), *judged(row)]
            for row in rows
            if row.quantity is quantity
        ],
    )


def scale_table(rows: list[Row]) -> str:
    head = ["", "queue pairs", "adverb", "C", "ratio", "of runs", "noise", "bar"]
    return table(
        head,
        [
            [quantity.title, f"{row.case.size:,}", *values(row), *judged(row)]
            for quantity in QUANTITIES["scale"]
            for row in rows
            if row.quantity is quantity
        ],
    )


def where(results: Results, rounds: int) -> str:
    machine = results.machine
    place = {
        "host": "the RDMA device of this machine",
        "loop": "Soft-RoCE in the virtual machine, one device that speaks to itself",
    }.get(machine["place"], machine["place"])
    text = f"Measured {rounds} times each on {place}; Linux {machine['kernel']}, {machine['processor']}"
    if "perftest" in machine:
        text += f", perftest {machine['perftest']}"
    return text + "."


def repeated(results: Results) -> str:
    """Nothing, or what is to be said of runs that failed."""
    count = len(results.failures)
    if count == 0:
        return ""
    return f"{count} run{'s' if count > 1 else ''} failed and had to be repeated."


def section(results: Results, rows: list[Row], *parts: str) -> str:
    """What was measured where, and then the parts."""
    parts = (where(results, rounds=len(rows[0].comparison.ours)), repeated(results), *parts)
    return "\n\n".join(part for part in parts if part)


def perf_section(results: Results) -> str:
    rows = rows_of(results)
    return section(
        results,
        rows,
        "Latency, the median:",
        perf_table(rows, LATENCY),
        "![Latency against size](performance/latency.svg)",
        "Bandwidth:",
        perf_table(rows, BANDWIDTH),
        "![Bandwidth against size](performance/bandwidth.svg)",
    )


def scale_section(results: Results) -> str:
    rows = rows_of(results)
    return section(results, rows, scale_table(rows))


SECTIONS = {"perf": perf_section, "scale": scale_section}


def points(results: Results, benchmark: str, kind: str, program: str) -> list[tuple[int, float]]:
    """What a plot shows of one program: its medians by size."""
    (quantity,) = QUANTITIES[kind]
    found = []
    for case in sorted(results.cases, key=lambda case: case.size):
        if (case.benchmark, case.kind) != (benchmark, kind):
            continue
        runs = comparison_of(results, case, quantity)
        median = runs.ours_median if program == OURS else runs.reference_median
        found.append((case.size, median * quantity.scale))
    return found
