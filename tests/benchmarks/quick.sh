#!/usr/bin/env bash
# benchmarks/run works from end to end: every program runs on a device, every row is judged. How it is
# judged is another matter: one run of each, on a machine that may be busy, says nothing.
set -euo pipefail
cd "$(dirname "$0")/../.."

results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
page=$(sha256sum docs/performance.md)

fail() {
  printf '%s\n%s\n' "$1" "$said"
  exit 1
}

status=0
said=$(benchmarks/run --quick --built "$ADVERB_BENCHMARKS" --results "$results" 2>&1) || status=$?
[[ $status -eq 0 || $status -eq 1 ]] || fail "status $status"
for row in 'send lat, 2 B' 'send lat, 4 KiB' 'send bw, 2 B' 'send bw, 4 KiB' \
  '1 queue pairs, messages a second' '16 queue pairs, heap, bytes a pair'; do
  grep -qE "^$row +[0-9.,]+ : +[0-9.,]+ = [0-9.]+ .*(holds|misses|too noisy)" <<<"$said" ||
    fail "nothing is said of '$row'"
done
# Bytes are counted, not timed: these do not depend on how busy the machine is.
grep -qE '^16 queue pairs, heap, bytes a pair .* holds$' <<<"$said" ||
  fail "a queue pair has more heap than in C"
[[ $page == "$(sha256sum docs/performance.md)" ]] || fail "a quick run changed the page"

if /usr/bin/python3 -c 'import matplotlib' 2>/dev/null; then
  benchmarks/comparison/plot "$results/perf.jsonl" "$results/once"
  benchmarks/comparison/plot "$results/perf.jsonl" "$results/twice"
  [[ -s $results/once/latency.svg && -s $results/once/bandwidth.svg ]] || fail "no plots"
  diff -r "$results/once" "$results/twice" || fail "equal results make different plots"
else
  echo "adverb-skip: benchmarks.quick, plots: python3-matplotlib is not installed"
fi
