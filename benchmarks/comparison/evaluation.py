"""The evaluation of the runs of two programs: a ratio, its spread, and a verdict."""
import dataclasses
import enum
import json
import math
import pathlib
from statistics import median

from plan import OURS, REFERENCE, Case

# A row whose noise is above this shows nothing, and does not hold.
LIMIT_OF_NOISE = 0.02
# The resolution of perftest's digits, and the effect of timer interrupts: no row is more exact.
RESOLUTION = 0.001


class Verdict(enum.Enum):
    HOLDS = "holds"
    WITHIN_NOISE = "holds within noise"
    MISSES = "misses"
    TOO_NOISY = "too noisy to tell"

    @property
    def passes(self) -> bool:
        return self in (Verdict.HOLDS, Verdict.WITHIN_NOISE)


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One quantity of one case: ours and the reference's, by rounds."""

    ours: list[float]
    reference: list[float]
    lower_is_better: bool

    @property
    def ours_median(self) -> float:
        return median(self.ours)

    @property
    def reference_median(self) -> float:
        return median(self.reference)

    @property
    def ratio(self) -> float:
        """Ours over the reference's, of the medians of all runs."""
        return quotient(self.ours_median, self.reference_median)

    @property
    def ratios(self) -> list[float]:
        """The ratios of runs that followed each other."""
        return [quotient(*both) for both in zip(self.ours, self.reference)]

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest of these."""
        return min(self.ratios), max(self.ratios)

    @property
    def noise(self) -> float:
        """The largest distance of such ratios from that of the medians, leaving out one of five or more:
        0.02 is 2 percent. One, because both programs may come to need some more from one run on."""
        ratio = self.ratio
        if ratio in (0, math.inf):
            return 0.0
        strays = sorted(abs(each / ratio - 1) for each in self.ratios)
        return max(RESOLUTION, strays[-2] if len(strays) >= 5 else strays[-1])

    @property
    def verdict(self) -> Verdict:
        ratio = self.ratio
        worse = ratio if self.lower_is_better else quotient(1, ratio)
        noise = self.noise
        if noise > LIMIT_OF_NOISE:
            return Verdict.TOO_NOISY
        if worse <= 1:
            return Verdict.HOLDS
        return Verdict.WITHIN_NOISE if worse <= 1 + noise else Verdict.MISSES


def quotient(over: float, under: float) -> float:
    """1 for nothing over nothing: neither program uses any."""
    if under == 0:
        return 1.0 if over == 0 else math.inf
    return over / under


class Results:
    """The records that measure wrote."""

    def __init__(self, path: pathlib.Path):
        first, *lines = (json.loads(line) for line in path.read_text().splitlines())
        self.machine: dict = first["machine"]
        self.failures: list[str] = []
        self.values: dict[tuple[Case, str], dict[str, list[float]]] = {}
        for line in lines:
            self.failures += line["failures"]
            case = Case(*(line[name] for name in ("benchmark", "kind", "size", "iterations")))
            for quantity, value in line["values"].items():
                by_program = self.values.setdefault((case, quantity), {})
                by_program.setdefault(line["program"], []).append(value)

    @property
    def cases(self) -> list[Case]:
        return list(dict.fromkeys(case for case, _ in self.values))

    def median(self, case: Case, quantity: str, program: str) -> float:
        return median(self.values[case, quantity][program])

    def comparison(self, case: Case, quantity: str, lower_is_better: bool) -> Comparison:
        runs = self.values[case, quantity]
        return Comparison(runs[OURS], runs[REFERENCE], lower_is_better)

    def growth(self, small: Case, large: Case, quantity: str) -> Comparison:
        """The growth of a cost from one case to another: ours against the reference's, by rounds."""
        ours, reference = (
            [
                quotient(*both)
                for both in zip(self.values[large, quantity][program], self.values[small, quantity][program])
            ]
            for program in (OURS, REFERENCE)
        )
        return Comparison(ours, reference, lower_is_better=True)
