"""The output of perftest's programs, recorded from version 4.5, and their command lines."""
import unittest

import perftest
from plan import Case

RULE = "-" * 87 + "\n"
SEND_LAT = RULE + """\
                    Send Latency Test
 Number of qps   : 1		Transport type : IB
 Mtu             : 4096[B]
""" + RULE + """\
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
 2       4000          10.60          8577.46      18.51    	       264.23      	954.35 		4084.72 		8577.46
""" + RULE
SEND_BW = RULE + """\
 CQ Moderation   : 100
""" + RULE + """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 2          4000             0.06               0.05   		   0.025657
""" + RULE
WRITE_BW = """\
 #bytes     #iterations    BW peak[MB/sec]    BW average[MB/sec]   MsgRate[Mpps]
 1048576    24               0.00               68.89  		   0.000069
"""


class Tables(unittest.TestCase):
    def test_every_column_has_its_value(self):
        self.assertEqual(
            perftest.table(SEND_LAT),
            {
                "#bytes": 2,
                "#iterations": 4000,
                "t_min[usec]": 10.60,
                "t_max[usec]": 8577.46,
                "t_typical[usec]": 18.51,
                "t_avg[usec]": 264.23,
                "t_stdev[usec]": 954.35,
                "99% percentile[usec]": 4084.72,
                "99.9% percentile[usec]": 8577.46,
            },
        )

    def test_a_latency_is_the_median(self):
        self.assertEqual(perftest.result(Case("send", "lat", 2, 4000), SEND_LAT), 18.51)

    def test_a_bandwidth_of_small_messages_is_taken_from_their_rate(self):
        self.assertAlmostEqual(perftest.result(Case("send", "bw", 2, 4000), SEND_BW), 51314)

    def test_a_bandwidth_of_large_messages_is_in_units_of_2_to_the_20(self):
        found = perftest.result(Case("write", "bw", 1 << 20, 24), WRITE_BW)
        self.assertAlmostEqual(found, 68.89 * 1048576)

    def test_a_table_of_something_else_is_refused(self):
        for case in (Case("send", "lat", 4, 4000), Case("send", "lat", 2, 200)):
            with self.assertRaisesRegex(perftest.NoTable, "is not of send lat"):
                perftest.result(case, SEND_LAT)

    def test_output_without_a_table_is_refused(self):
        for output in ("", " Couldn't connect to 10.1.0.1:18515\n", " #bytes #iterations\n"):
            with self.assertRaises(perftest.NoTable):
                perftest.table(output)

    def test_a_row_that_is_too_short_is_refused(self):
        with self.assertRaisesRegex(perftest.NoTable, "5 columns and 2 values"):
            perftest.table(SEND_BW.replace("0.06               0.05   		   0.025657", ""))


class Options(unittest.TestCase):
    def command(self, *case):
        return " ".join(perftest.command(Case(*case), "rxe0", "1", 20000))

    def test_latency(self):
        self.assertEqual(
            self.command("send", "lat", 2, 4000),
            "ib_send_lat -d rxe0 -x 1 -p 20000 -n 4000 -s 2 -I 0 -r 16 -u 18 -F",
        )

    def test_atomics_have_no_size(self):
        self.assertEqual(
            self.command("atomic", "lat", 8, 4000), "ib_atomic_lat -d rxe0 -x 1 -p 20000 -n 4000 -u 18 -F"
        )

    def test_bandwidth_says_depth_and_signalling(self):
        self.assertEqual(
            self.command("read", "bw", 4096, 2000),
            "ib_read_bw -d rxe0 -x 1 -p 20000 -n 2000 -s 4096 -u 18 -t 128 -Q 100 -F -N",
        )
        self.assertIn(" -t 8 -Q 1 ", self.command("write", "bw", 64 << 10, 200))


if __name__ == "__main__":
    unittest.main()
