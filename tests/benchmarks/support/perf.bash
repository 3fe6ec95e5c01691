# shellcheck shell=bash
# Sourced by the tests of adverb_perf.
source "$(dirname "${BASH_SOURCE[0]}")/../../support/harness.bash"

perf=$programs/adverb_perf
mkdir -p "$scratch/reports"

# measures OPERATION KIND TRANSPORT ENGINE OPTION…: both ends, with the report of the client kept.
measures() {
  local operation=$1 kind=$2 transport=$3 engine=$4
  shift 4
  local both=("$perf" "$operation" "$kind" -c "$transport" --engine "$engine" "$@")
  works "$operation $kind $transport $engine $*" "${both[@]}" -- "${both[@]}" \
    "--json=$scratch/reports/$operation-$kind-$transport-$engine-$((++reports)).json"
}
reports=0

# reports_are_right: every report that was kept.
reports_are_right() {
  local problem=''
  "$(dirname "${BASH_SOURCE[0]}")/check_reports" "$scratch/reports" >"$scratch/reports.out" 2>&1 ||
    problem="the reports are wrong"
  verdict "the reports" "$problem"
}
