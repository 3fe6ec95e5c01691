"""Ratios, spreads, noise and verdicts; the order of the runs; what is read from a file of runs."""
import json
import math
import pathlib
import tempfile
import unittest

import evaluation
import plan
import tables
from evaluation import Comparison, Results, Verdict


def compare(ours, reference, lower_is_better=True):
    return Comparison(ours, reference, lower_is_better)


def names(case):
    return case.benchmark, case.kind, case.size


class Ratios(unittest.TestCase):
    def test_of_medians(self):
        found = compare([9, 8, 700], [10, 10, 20])
        self.assertAlmostEqual(found.ratio, 9 / 10)
        self.assertEqual(found.reference_median, 10)

    def test_spread_is_of_runs_that_followed_each_other(self):
        self.assertEqual(compare([10, 30], [20, 10]).spread, (0.5, 3))

    def test_nothing_over_nothing_is_equal(self):
        self.assertEqual(compare([0, 0], [0, 0]).ratio, 1)
        self.assertEqual(compare([1, 1], [0, 0]).ratio, math.inf)


class Noise(unittest.TestCase):
    def test_is_no_less_than_what_can_be_told_apart(self):
        self.assertEqual(compare([5.0] * 5, [5.0] * 5).noise, evaluation.RESOLUTION)

    def test_the_pair_that_strays_most_makes_it(self):
        self.assertAlmostEqual(compare([100.0, 101.0, 97.0], [100.0] * 3).noise, 0.03)

    def test_one_pair_of_five_may_stray(self):
        found = compare([100.0, 100.0, 101.0, 150.0, 100.0], [100.0] * 5)
        self.assertAlmostEqual(found.noise, 0.01)

    def test_what_both_programs_have_in_common_does_not(self):
        drifting = [100.0, 110.0, 120.0]
        self.assertEqual(compare(drifting, drifting).noise, evaluation.RESOLUTION)


class Verdicts(unittest.TestCase):
    STEADY = [100.0, 100.5, 99.5, 100.0, 100.5]  # Noise of half a percent.

    def verdict(self, ours, lower_is_better):
        return compare([ours] * 5, self.STEADY, lower_is_better).verdict

    def test_latency(self):
        self.assertIs(self.verdict(100.0, True), Verdict.HOLDS)
        self.assertIs(self.verdict(60.0, True), Verdict.HOLDS)
        self.assertIs(self.verdict(100.3, True), Verdict.WITHIN_NOISE)
        self.assertIs(self.verdict(101.0, True), Verdict.MISSES)

    def test_bandwidth(self):
        self.assertIs(self.verdict(100.0, False), Verdict.HOLDS)
        self.assertIs(self.verdict(160.0, False), Verdict.HOLDS)
        self.assertIs(self.verdict(99.7, False), Verdict.WITHIN_NOISE)
        self.assertIs(self.verdict(99.0, False), Verdict.MISSES)

    def test_noise_is_no_excuse(self):
        wild = [100.0, 150.0, 60.0, 130.0, 80.0]
        for ours in (50.0, 100.0, 200.0):
            found = compare([ours] * 5, wild).verdict
            self.assertIs(found, Verdict.TOO_NOISY)
            self.assertFalse(found.passes)

    def test_what_passes(self):
        self.assertEqual([each.passes for each in Verdict], [True, True, False, False])


class Order(unittest.TestCase):
    def test_each_is_first_equally_often(self):
        firsts = [plan.order(number)[0] for number in range(4)]
        self.assertEqual(firsts.count(plan.OURS), 2)
        self.assertTrue(all(set(plan.order(number)) == {plan.OURS, plan.REFERENCE} for number in range(4)))

    def test_every_test_and_size_is_measured(self):
        steps = plan.perf_steps(5, quick=False)
        for kind in ("lat", "bw"):
            for benchmark in ("send", "write", "read"):
                for size in (2, 4096, 65536, 1048576):
                    wanted = (benchmark, kind, size)
                    found = [step for step in steps if wanted == names(step.case)]
                    self.assertEqual(len(found), 10)
                    self.assertEqual(sum(step.program == plan.OURS for step in found), 5)
                    self.assertTrue(found[0].case.is_judged)
        self.assertEqual(sum(step.case.benchmark == "atomic" for step in steps), 10)

    def test_some_cases_can_be_left_out(self):
        found = plan.only(plan.perf_steps(1, quick=False), "write lat")
        self.assertEqual({step.case.benchmark for step in found}, {"write"})
        self.assertEqual({step.case.kind for step in found}, {"lat"})
        self.assertEqual(plan.only(found, ""), found)


class Files(unittest.TestCase):
    def results(self, runs, failures=()):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "runs.jsonl"
            lines = [{"machine": {"kernel": "6.1", "processor": "P"}}]
            for (benchmark, kind, size), program, values in runs:
                lines.append({
                    "benchmark": benchmark, "kind": kind, "size": size, "iterations": 100,
                    "round": 0, "program": program, "values": values, "failures": list(failures),
                })
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return Results(path)

    def latencies(self, size, ours, reference):
        case = ("send", "lat", size)
        return (
            [(case, plan.OURS, {"latency": value}) for value in ours]
            + [(case, plan.REFERENCE, {"latency": value}) for value in reference]
        )

    def test_rows_are_what_has_a_bar_and_points_are_all(self):
        results = self.results(self.latencies(4096, [50.0], [51.5]) + self.latencies(16, [19.0], [20.0]))
        rows = tables.rows_of(results)
        self.assertEqual([row.name for row in rows], ["send lat, 4 KiB"])
        self.assertTrue(rows[0].passes)
        found = tables.points(results, "send", "lat", plan.REFERENCE)
        self.assertEqual(found, [(16, 5000), (4096, 12875)])
        self.assertEqual(tables.points(results, "send", "lat", plan.OURS), [(16, 4750), (4096, 12500)])

    def test_the_page_shows_each_row(self):
        results = self.results(self.latencies(4096, [54.0, 54.0], [51.0, 51.0]))
        section = tables.perf_section(results)
        self.assertIn("| send | 4 KiB | 13,500 | 12,750 | 1.059 | 1.059 to 1.059 | ±0.1 % |", section)
        self.assertIn("| misses |", section)
        self.assertIn("Measured 2 times each; Linux 6.1, P.", section)
        self.assertNotIn("repeated", section)

    def test_repeated_runs_are_told(self):
        results = self.results(self.latencies(2, [5.0], [5.0]), failures=["it hung"])
        self.assertIn("2 runs failed and had to be repeated.", tables.perf_section(results))

    def test_many_queue_pairs(self):
        values = {"set_up": 90e-6, "message": 36.4e-6, "heap": 488.0, "resident": 17000.0}
        worse = values | {"heap": 500.0, "resident": 18000.0}
        case = ("queue_pairs", "scale", 1024)
        results = self.results([(case, plan.OURS, worse), (case, plan.REFERENCE, values)])
        failing = [row.name for row in tables.rows_of(results) if not row.passes]
        self.assertEqual(failing, ["1,024 queue pairs, heap, bytes a pair"])
        self.assertIn(
            "| instructions a message | 1,024 | 9,100 | 9,100 | 1.000 |", tables.scale_section(results)
        )

    def growth(self, ours, reference):
        """Returns the judged rows for the costs of a pair among 1, 16 and 1,024."""
        nothing = {"message": 1.0, "heap": 1.0, "resident": 1.0}
        results = self.results([
            (("queue_pairs", "scale", size), program, nothing | {"set_up": value})
            for program, values in ((plan.OURS, ours), (plan.REFERENCE, reference))
            for size, value in zip((1, 16, 1024), values)
        ])
        return [row for row in tables.rows_of(results) if row.quantity is tables.GROWTH]

    def test_the_cost_of_a_queue_pair_may_not_grow_more_than_in_c(self):
        (row,) = self.growth(ours=(9.0, 2.2, 2.42), reference=(5.0, 2.0, 2.2))
        self.assertEqual(row.name, "1,024 queue pairs, set-up a pair, over that of 16")
        self.assertTrue(row.passes)
        self.assertEqual(tables.values(row), ["1.100", "1.100"])
        (row,) = self.growth(ours=(2.0, 2.0, 2.1), reference=(2.0, 2.0, 2.0))
        self.assertFalse(row.passes)

    def test_connections(self):
        values = {"connected": 1500.0, "connected_p99": 1800.0, "rate": 390.0}
        slower = values | {"connected_p99": 2000.0, "rate": 380.0}
        case = ("connections", "in_a_row", 1)
        results = self.results([(case, plan.OURS, slower), (case, plan.REFERENCE, values)])
        failing = [row.name for row in tables.rows_of(results) if not row.passes]
        rate = "connections for 1,000,000,000 instructions"
        self.assertEqual(failing, [f"one after another, {rate}"])
        self.assertIn(
            "| until connected, instructions, median | one after another | 375,000 | 375,000 | 1.000 |",
            tables.connections_section(results),
        )


if __name__ == "__main__":
    unittest.main()
