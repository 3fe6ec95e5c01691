"""perftest's programs: their command lines, and the parsing of their tables."""
import re

from plan import Case

MIB = 1 << 20


class NoTable(Exception):
    """The output has no table of results, or not one that is understood."""


def options(case: Case, device: str, gid_index: str, port: int) -> list[str]:
    """The options of both perftest's programs and ours, at both ends."""
    given = ["-d", device, "-x", gid_index, "-p", str(port), "-n", str(case.iterations)]
    if case.benchmark != "atomic":
        given += ["-s", str(case.size)]
    if case.benchmark in ("send", "write"):
        # The defaults differ: perftest recognises only some of the devices that can do it.
        given += ["-I", "0"]
    if case.benchmark == "send":
        given += ["-r", str(case.receives)]
    # 1 s, and not 67 ms: emulation takes so long for large messages that they would be sent again.
    given += ["-u", "18"]
    if case.kind == "bw":
        given += ["-t", str(case.depth), "-Q", str(case.moderation)]
    return given


def command(case: Case, device: str, gid_index: str, port: int) -> list[str]:
    # Without -F it refuses processors whose frequency may change; without -N it takes the time of
    # every single post, for its peak.
    extra = ["-F", *(["-N"] if case.kind == "bw" else [])]
    return [f"ib_{case.benchmark}_{case.kind}", *options(case, device, gid_index, port), *extra]


def table(output: str) -> dict[str, float]:
    """The one row of results, by the words of its header."""
    lines = output.splitlines()
    for number, line in enumerate(lines[:-1]):
        if line.strip().startswith("#bytes"):
            break
    else:
        raise NoTable("perftest printed no table of results")
    # "99% percentile[usec]" and "BW average[MB/sec]" have blanks in their names.
    names = re.findall(r"#\w+|[\w%. ]*?\S+\[[^\]]*\]", line)
    names = [name.strip() for name in names]
    values = lines[number + 1].split()
    if len(names) != len(values):
        raise NoTable(f"perftest's table has {len(names)} columns and {len(values)} values")
    return {name: float(value) for name, value in zip(names, values)}


def result(case: Case, output: str) -> float:
    """Microseconds of the median for a latency, bytes a second for a bandwidth."""
    row = table(output)
    if row["#bytes"] != case.size or row["#iterations"] != case.iterations:
        raise NoTable(f"perftest's table is not of {case}")
    if case.kind == "lat":
        return row["t_typical[usec]"]
    by_bytes = row["BW average[MB/sec]"] * MIB
    by_messages = row["MsgRate[Mpps]"] * 1e6 * case.size
    # Each is rounded, to 2 and to 6 digits after the point: the one that loses less is taken.
    bytes_digits = row["BW average[MB/sec]"] / 0.01
    message_digits = row["MsgRate[Mpps]"] / 0.000001
    return by_bytes if bytes_digits > message_digits else by_messages
