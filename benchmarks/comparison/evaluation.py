"""What the runs of two programs say: a ratio, how far chance alone goes, and a verdict."""
import dataclasses
import enum
import functools
import itertools
import json
import math
import pathlib
import random
from statistics import median

from plan import CONTROL, OURS, REFERENCE, Case

# A row whose noise is above this shows nothing, and does not hold.
LIMIT_OF_NOISE = 0.10
# So many ways of splitting are looked at one by one; of more, so many by lot.
SPLITS = 4000
# This share of the splits lies within the noise. Where both programs are equal, about one row in
# fifty misses all the same: runs that are few know little of their own noise.
CERTAINTY = 0.998


class Verdict(enum.Enum):
    HOLDS = "holds"
    WITHIN_NOISE = "holds within noise"
    MISSES = "misses"
    TOO_NOISY = "too noisy to tell"

    @property
    def passes(self) -> bool:
        return self in (Verdict.HOLDS, Verdict.WITHIN_NOISE)


def halves(values: list[float]):
    """The ways to split the values in two halves: all of them, or many by lot, always the same."""
    half = len(values) // 2
    indices = range(len(values))
    if math.comb(len(values), half) <= SPLITS:
        chosen = itertools.combinations(indices, half)
    else:
        lots = random.Random(0)
        chosen = (lots.sample(indices, half) for _ in range(SPLITS))
    for one in map(set, chosen):
        yield [values[i] for i in one], [values[i] for i in indices if i not in one]


def noise_of(values: list[float]) -> float:
    """How far the medians of two halves of these lie apart by chance: 0.02 is 2 percent.

    The runs of one program are split into two halves in every way, as if these were two programs:
    998 of 1000 ratios of their medians are no more than this above 1.
    """
    if len(values) < 2 or min(values) <= 0:
        return 0.0
    ratios = sorted(
        max(median(one) / median(other), median(other) / median(one)) for one, other in halves(values)
    )
    return ratios[math.ceil(CERTAINTY * len(ratios)) - 1] - 1


@dataclasses.dataclass(frozen=True)
class Comparison:
    """One quantity of one case: ours and the reference's, by rounds."""

    ours: list[float]
    reference: list[float]
    control: list[float]
    lower_is_better: bool

    @property
    def ours_median(self) -> float:
        return median(self.ours)

    @property
    def reference_median(self) -> float:
        return median(self.reference + self.control)

    @property
    def ratio(self) -> float:
        """Ours over the reference's, of the medians of all runs."""
        return quotient(self.ours_median, self.reference_median)

    @property
    def spread(self) -> tuple[float, float]:
        """The least and the greatest ratio of runs that followed each other."""
        ratios = [quotient(*both) for both in zip(self.ours, self.reference)]
        return min(ratios), max(ratios)

    @functools.cached_property
    def noise(self) -> float:
        return noise_of(self.reference + self.control)

    @property
    def verdict(self) -> Verdict:
        if self.noise > LIMIT_OF_NOISE:
            return Verdict.TOO_NOISY
        worse = self.ratio if self.lower_is_better else quotient(1, self.ratio)
        if worse <= 1:
            return Verdict.HOLDS
        return Verdict.WITHIN_NOISE if worse <= 1 + self.noise else Verdict.MISSES


def quotient(over: float, under: float) -> float:
    """1 for nothing over nothing: neither program uses any."""
    if under == 0:
        return 1.0 if over == 0 else math.inf
    return over / under


class Results:
    """What measure wrote."""

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

    def is_compared(self, case: Case, quantity: str) -> bool:
        """Whether the reference was measured against itself: without, there is no noise to know."""
        return CONTROL in self.values.get((case, quantity), {})

    def comparison(self, case: Case, quantity: str, lower_is_better: bool) -> Comparison:
        runs = self.values[case, quantity]
        return Comparison(runs[OURS], runs[REFERENCE], runs.get(CONTROL, []), lower_is_better)
