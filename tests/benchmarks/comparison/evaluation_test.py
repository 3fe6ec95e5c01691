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


def compare(ours, reference, control, lower_is_better=True):
    return Comparison(ours, reference, control, lower_is_better)


def names(case):
    return case.benchmark, case.kind, case.size


class Ratios(unittest.TestCase):
    def test_of_medians_over_all_runs_of_the_reference(self):
        found = compare([9, 8, 700], [10, 10, 10], [20, 20, 10])
        self.assertAlmostEqual(found.ratio, 9 / 10)
        self.assertEqual(found.reference_median, 10)

    def test_spread_is_of_runs_that_followed_each_other(self):
        self.assertEqual(compare([10, 30], [20, 10], [1, 1]).spread, (0.5, 3))

    def test_nothing_over_nothing_is_equal(self):
        self.assertEqual(compare([0, 0], [0, 0], [0, 0]).ratio, 1)
        self.assertEqual(compare([1, 1], [0, 0], [0, 0]).ratio, math.inf)


class Noise(unittest.TestCase):
    def test_none_where_all_runs_are_equal(self):
        self.assertEqual(evaluation.noise_of([5.0] * 12), 0)

    def test_two_runs_are_split_in_one_way(self):
        self.assertAlmostEqual(evaluation.noise_of([10.0, 11.0]), 0.1)

    def test_the_widest_splits_count(self):
        # Of the 20 splits of six, the widest puts the three least against the three greatest.
        self.assertAlmostEqual(evaluation.noise_of([1.0, 1.01, 1.02, 1.03, 1.04, 1.05]), 1.04 / 1.01 - 1)

    def test_one_run_that_went_astray_does_not_make_it(self):
        self.assertEqual(evaluation.noise_of([5.0] * 11 + [50.0]), 0)

    def test_many_runs_are_split_by_lot_and_always_alike(self):
        values = [100.0 + number % 7 for number in range(40)]
        self.assertEqual(evaluation.noise_of(values), evaluation.noise_of(values))
        self.assertTrue(0 < evaluation.noise_of(values) < 0.05)

    def test_more_runs_make_less_of_it(self):
        few = evaluation.noise_of([100.0 + number % 7 for number in range(10)])
        many = evaluation.noise_of([100.0 + number % 7 for number in range(60)])
        self.assertLess(many, few)


class Verdicts(unittest.TestCase):
    STEADY = [100.0, 101.0, 99.0, 100.0, 101.0]  # Noise of 1 to 2 percent.

    def verdict(self, ours, lower_is_better):
        return compare([ours] * 5, self.STEADY, self.STEADY, lower_is_better).verdict

    def test_latency(self):
        self.assertIs(self.verdict(100.0, True), Verdict.HOLDS)
        self.assertIs(self.verdict(60.0, True), Verdict.HOLDS)
        self.assertIs(self.verdict(100.5, True), Verdict.WITHIN_NOISE)
        self.assertIs(self.verdict(105.0, True), Verdict.MISSES)

    def test_bandwidth(self):
        self.assertIs(self.verdict(100.0, False), Verdict.HOLDS)
        self.assertIs(self.verdict(160.0, False), Verdict.HOLDS)
        self.assertIs(self.verdict(99.5, False), Verdict.WITHIN_NOISE)
        self.assertIs(self.verdict(95.0, False), Verdict.MISSES)

    def test_noise_is_no_excuse(self):
        wild = [100.0, 150.0, 60.0, 130.0, 80.0]
        for ours in (50.0, 100.0, 200.0):
            found = compare([ours] * 5, wild, wild).verdict
            self.assertIs(found, Verdict.TOO_NOISY)
            self.assertFalse(found.passes)

    def test_what_passes(self):
        self.assertEqual([each.passes for each in Verdict], [True, True, False, False])


class Order(unittest.TestCase):
    def test_ours_has_every_place_equally_often(self):
        places = [plan.order(number, True).index(plan.OURS) for number in range(6)]
        self.assertEqual(sorted(places), [0, 0, 1, 1, 2, 2])
        places = [plan.order(number, False).index(plan.OURS) for number in range(4)]
        self.assertEqual(sorted(places), [0, 0, 1, 1])

    def test_every_test_and_size_is_measured(self):
        steps = plan.perf_steps(6, quick=False)
        for kind in ("lat", "bw"):
            for benchmark in ("send", "write", "read"):
                for size in (2, 4096, 65536, 1048576):
                    wanted = (benchmark, kind, size)
                    found = [step for step in steps if wanted == names(step.case)]
                    self.assertEqual(len(found), 18)
                    self.assertEqual(sum(step.program == plan.OURS for step in found), 6)
        self.assertEqual(sum(step.case.benchmark == "atomic" for step in steps), 18)


class Files(unittest.TestCase):
    def results(self, runs, failures=()):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "runs.jsonl"
            lines = [{"machine": {"kernel": "6.1", "place": "loop", "processor": "P"}}]
            for (benchmark, kind, size), program, values in runs:
                lines.append({
                    "benchmark": benchmark, "kind": kind, "size": size, "iterations": 100,
                    "round": 0, "program": program, "values": values, "failures": list(failures),
                })
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))
            return Results(path)

    def latencies(self, size, ours, reference, control=()):
        case = ("send", "lat", size)
        return (
            [(case, plan.OURS, {"latency": value}) for value in ours]
            + [(case, plan.REFERENCE, {"latency": value}) for value in reference]
            + [(case, plan.CONTROL, {"latency": value}) for value in control]
        )

    def test_rows_are_what_has_a_control_and_points_are_all(self):
        results = self.results(
            self.latencies(4096, [50.0], [51.0], [52.0]) + self.latencies(16, [19.0], [20.0])
        )
        rows = tables.rows_of(results)
        self.assertEqual([row.name for row in rows], ["send lat, 4 KiB"])
        self.assertTrue(rows[0].passes)
        self.assertEqual(tables.points(results, "send", "lat", plan.REFERENCE), [(16, 20), (4096, 51.5)])
        self.assertEqual(tables.points(results, "send", "lat", plan.OURS), [(16, 19), (4096, 50)])

    def test_the_page_shows_each_row(self):
        results = self.results(self.latencies(4096, [54.0, 54.0], [51.0, 51.0], [51.0, 52.0]))
        section = tables.perf_section(results)
        self.assertIn("| send | 4 KiB | 54.00 | 51.00 | 1.059 | 1.06 to 1.06 |", section)
        self.assertIn("| misses |", section)
        self.assertIn("Measured 2 times each on Soft-RoCE", section)
        self.assertNotIn("repeated", section)

    def test_repeated_runs_are_told(self):
        results = self.results(self.latencies(2, [5.0], [5.0], [5.0]), failures=["it hung"])
        self.assertIn("3 runs failed and had to be repeated.", tables.perf_section(results))

    def test_many_queue_pairs(self):
        values = {
            "pairs_per_second": 900.0, "messages_per_second": 30000.0,
            "heap_bytes_per_pair": 488.0, "resident_bytes_per_pair": 17000.0,
        }
        worse = values | {"heap_bytes_per_pair": 500.0, "resident_bytes_per_pair": 18000.0}
        case = ("queue_pairs", "scale", 1024)
        results = self.results([
            (case, plan.OURS, worse), (case, plan.REFERENCE, values), (case, plan.CONTROL, values),
        ])
        failing = [row.name for row in tables.rows_of(results) if not row.passes]
        self.assertEqual(failing, ["1,024 queue pairs, heap, bytes a pair"])
        self.assertIn(
            "| messages a second | 1,024 | 30,000 | 30,000 | 1.000 |", tables.scale_section(results)
        )


if __name__ == "__main__":
    unittest.main()
