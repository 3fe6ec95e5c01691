"""Counts instructions by function with callgrind, for the benchmarks that compare adverb with C."""
import pathlib
import re
import shutil
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "performance.md"
COMPILERS = ["g++-12", "clang++-14", "clang++-19"]
NOT_INSTALLED = 77


class Problem(Exception):
    """Something that keeps the benchmark from running; one sentence."""

    def __init__(self, sentence, status=1):
        super().__init__(sentence)
        self.status = status


def output_of(*command):
    done = subprocess.run([str(each) for each in command], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise Problem(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}".rstrip())
    return done.stdout


def check_valgrind():
    if shutil.which("valgrind") is None:
        raise Problem("valgrind is not installed: scripts/install-packages overhead")


def build(benchmark, compiler, targets, options=(), tree_suffix=""):
    """Builds programs of benchmarks/BENCHMARK, and returns where they are."""
    if shutil.which(compiler) is None:
        raise Problem(f"adverb-skip: {benchmark}.{compiler}: {compiler} is not installed", NOT_INSTALLED)
    tree = ROOT / "build" / "overhead" / (compiler + tree_suffix)
    output_of(
        "cmake", "-S", ROOT, "-B", tree, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={compiler}",
        "-DCMAKE_BUILD_TYPE=", "-DADVERB_TESTS=OFF", "-DADVERB_EXAMPLES=OFF", *options,
    )  # fmt: skip
    output_of("cmake", "--build", tree, "--target", *targets)
    return [tree / "benchmarks" / benchmark / name for name in targets]


class Part:
    """What callgrind wrote down of one run: instructions by function, and calls."""

    def __init__(self, text, provider):
        self.job, self.side, count = re.search(r"^desc: Trigger: .*: (.*)$", text, re.M)[1].split("\t")
        self.count = int(count)
        self.total = int(re.search(r"^totals: (\d+)$", text, re.M)[1])
        self.own = {}  # by function, without what it calls
        self.calls = {}  # by called function
        self.provider = provider
        function, called, calls = None, None, False
        for line in text.splitlines():
            if line.startswith("fn="):
                function = line[3:].split("'")[0]  # 'N counts recursions
            elif line.startswith("cfn="):
                called = line[4:].split("'")[0].split("@")[0]  # @ is a version
            elif line.startswith("calls="):
                if self.is_providers(function) and "idle" not in function:
                    raise Problem(f"{function} of the provider calls something")
                self.calls[called] = self.calls.get(called, 0) + int(line[6:].split()[0])
                calls = True
            elif line[:1].isdigit():
                if not calls:  # else it is the cost of the call
                    self.own[function] = self.own.get(function, 0) + int(line.split()[1])
                calls = False

    def is_providers(self, function):
        return re.match(self.provider, function) is not None

    @property
    def outside_provider(self):
        return self.total - sum(own for name, own in self.own.items() if self.is_providers(name))


class Counted:
    """What one operation takes: the difference of two runs, divided by that of their operations."""

    def __init__(self, fewer, more):
        self.fewer, self.more = fewer, more
        # What memset takes depends on where the stack is, once in a while.
        self.instructions = round(self.each(lambda part: part.outside_provider))
        self.functions = [name for name in more.own if not more.is_providers(name)]

    def each(self, figure):
        return (figure(self.more) - figure(self.fewer)) / (self.more.count - self.fewer.count)

    def calls_of(self, functions):
        """Calls of the functions whose symbols match."""
        return self.each(lambda part: sum(calls for name, calls in part.calls.items() if re.match(functions, name)))

    def own_of(self, function):
        return self.each(lambda part: part.own.get(function, 0))


def count_instructions(program, provider=r"_ZN8provider", options=()):
    """By job and side: what one operation takes. `provider` matches the symbols of the functions
    whose own instructions are left out."""
    with tempfile.TemporaryDirectory() as folder:
        output_of(
            "valgrind", "--tool=callgrind", "--quiet", "--demangle=no", "--compress-strings=no",
            "--compress-pos=no", f"--callgrind-out-file={folder}/out", *options, program, "count",
        )  # fmt: skip
        parts = [Part(path.read_text(), provider) for path in pathlib.Path(folder).glob("out.*")]
    runs = {}
    for part in parts:
        runs.setdefault((part.job, part.side), []).append(part)
    return {key: Counted(*sorted(pair, key=lambda part: part.count)) for key, pair in runs.items()}


def put_section(name, text):
    subprocess.run([ROOT / "benchmarks" / "support" / "put_section", name], input=text, text=True, check=True)
