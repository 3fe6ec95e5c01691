"""Counts instructions by function with callgrind, for the benchmarks that compare adverb with C."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
from typing import NamedTuple

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILDS = pathlib.Path(os.environ.get("ADVERB_BUILD") or ROOT / "build")
PAGE = ROOT / "docs" / "performance.md"
COMPILERS = ["g++-12", "clang++-14", "clang++-19"]
NOT_INSTALLED = 77
# By the guest's clock: an instruction is 4 ns.
INSTRUCTIONS_A_MICROSECOND = 250


class Problem(Exception):
    """Something that keeps the benchmark from running; one sentence."""

    def __init__(self, sentence, status=1):
        super().__init__(sentence)
        self.status = status


def output_of(*command, environment=None):
    done = subprocess.run(
        [str(each) for each in command], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def check_valgrind():
    if shutil.which("valgrind") is None:
        raise Problem("valgrind is not installed: scripts/install-packages overhead")


def run_in_guest(out, timeout, script, *arguments):
    """Runs a script in the virtual machine, whose clock counts instructions. It writes to the folder
    `out`, which is made if it is not there. The guest ends with this program, however that ends."""
    out.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        [ROOT / "softrdma" / "run", "--clock", "instructions", "--timeout", str(timeout), "--out", out, "--",
         script, *map(str, arguments)],
        stdin=subprocess.DEVNULL, check=True,
    )  # fmt: skip


def build_in(folder, benchmark, compiler, targets, *options):
    """Builds targets in build/FOLDER, and returns the folder of the built benchmarks."""
    if shutil.which(compiler) is None:
        raise Problem(f"adverb-skip: {benchmark}.{compiler}: {compiler} is not installed", NOT_INSTALLED)
    tree = BUILDS / folder
    output_of(
        "cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DADVERB_TESTS=OFF", "-DADVERB_EXAMPLES=OFF", *options,
    )  # fmt: skip
    output_of("cmake", "--build", tree, "--target", *targets)
    return tree / "benchmarks"


def build(benchmark, compiler, targets, options=(), tree_suffix=""):
    """Builds programs of benchmarks/BENCHMARK, and returns where they are."""
    folder = f"overhead/{compiler}{tree_suffix}"
    built = build_in(folder, benchmark, compiler, targets, "-DCMAKE_BUILD_TYPE=", *options)
    return [built / benchmark / name for name in targets]


class Function(NamedTuple):
    object: str  # the file of the program or library
    name: str


class Call(NamedTuple):
    caller: Function
    callee: Function
    count: int
    instructions: int  # including those of the callee's callees


class ProviderFunctions:
    """The functions whose symbols match. Except for `idle`, they call nothing."""

    def __init__(self, pattern):
        self.pattern = pattern

    def includes(self, function):
        return re.match(self.pattern, function.name) is not None

    def check(self, call):
        if self.includes(call.caller) and "idle" not in call.caller.name:
            raise Problem(f"{call.caller.name} of the provider calls something")


class ProviderLibrary:
    """The functions of an object file, and all that they call."""

    def __init__(self, path):
        self.path = str(path)

    def includes(self, function):
        return function.object == self.path

    def check(self, call):
        """Allows every call."""


class Part:
    """The record of one run by callgrind: instructions by function, and calls."""

    def __init__(self, text, provider):
        self.job, self.side, count = re.search(r"^desc: Trigger: .*: (.*)$", text, re.M)[1].split("\t")
        self.count = int(count)
        self.total = int(re.search(r"^totals: (\d+)$", text, re.M)[1])
        self.own = {}  # by function, without what it calls
        self.calls = []
        self.provider = provider
        self._read(text.splitlines())

    def _read(self, lines):
        here, function, called_object, callee, count = "", None, None, None, 0
        for line in lines:
            key, _, value = line.partition("=")
            if key == "ob":
                here = value
            elif key == "fn":
                function = Function(here, value.split("'")[0])  # 'N counts recursions
            elif key == "cob":
                called_object = value
            elif key == "cfn":
                callee = Function(called_object or here, value.split("'")[0])
                called_object = None
            elif key == "calls":
                count = int(value.split()[0])
            elif line[:1].isdigit():
                instructions = int(line.split()[1])
                if callee is None:
                    self.own[function] = self.own.get(function, 0) + instructions
                else:  # it is the cost of the call
                    self.calls.append(Call(function, callee, count, instructions))
                    self.provider.check(self.calls[-1])
                callee = None

    def enters_provider(self, call):
        return self.provider.includes(call.callee) and not self.provider.includes(call.caller)

    def leaves_provider(self, call):
        return self.provider.includes(call.caller) and not self.provider.includes(call.callee)

    @property
    def outside_provider(self):
        own = sum(own for function, own in self.own.items() if self.provider.includes(function))
        called = sum(call.instructions for call in self.calls if self.leaves_provider(call))
        return self.total - own - called

    @property
    def calls_of_provider(self):
        return sum(call.count for call in self.calls if self.enters_provider(call))


class Counted:
    """The cost of one operation: the difference of two runs, divided by that of their operations."""

    def __init__(self, fewer, more):
        self.fewer, self.more = fewer, more
        # The cost of memset sometimes depends on the address of the stack.
        self.instructions = round(self.each(lambda part: part.outside_provider))
        self.calls_of_provider = round(self.each(lambda part: part.calls_of_provider))
        outside = [function.name for function in more.own if not more.provider.includes(function)]
        self.functions = list(dict.fromkeys(outside))

    def each(self, figure):
        return (figure(self.more) - figure(self.fewer)) / (self.more.count - self.fewer.count)

    def calls_of(self, functions):
        """Calls of the functions whose symbols match, without their versions."""

        def calls(part):
            return sum(each.count for each in part.calls if re.match(functions, each.callee.name.split("@")[0]))

        return self.each(calls)

    def own_of(self, name):
        return self.each(lambda part: sum(own for function, own in part.own.items() if function.name == name))


def count_instructions(*command, provider=ProviderFunctions(r"_ZN8provider"), options=(), environment=None):
    """By job and side: what one operation takes, without the provider. `options` are callgrind's."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(
            "valgrind", "--tool=callgrind", "--quiet", "--demangle=no", "--compress-strings=no",
            "--compress-pos=no", f"--callgrind-out-file={folder}/out", *options, *command,
            environment=environment,
        )  # fmt: skip
        parts = [Part(path.read_text(), provider) for path in pathlib.Path(folder).glob("out.*")]
    runs = {}
    for part in parts:
        runs.setdefault((part.job, part.side), []).append(part)
    return {key: Counted(*sorted(pair, key=lambda part: part.count)) for key, pair in runs.items()}


def put_section(name, text):
    subprocess.run([ROOT / "benchmarks" / "support" / "put_section", name], input=text, text=True, check=True)
