# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the shell tests share. A test file sources this after setting sley, and ends with `finish`.

: "${sley:?set it before sourcing this}"
export COLUMNS=1000 # a line of a report is one line
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
# Of drawn cases one in so many is run, drawn by the seed.
share=${SLEY_TEST_SHARE:-1}
test_seed=${SLEY_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}

fail() {
  echo "FAILED: $*"
  failures=$((failures + 1))
}

# run STATUS words...: runs sley with the words and expects the status; stdout and stderr go to $work/out and $work/err.
run() {
  local expected=$1 got=0
  shift
  "$sley" "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
  if [ "$got" -ne "$expected" ]; then
    fail "sley $*: exit $got, expected $expected"
    sed 's/^/  stderr: /' "$work/err"
  fi
}

# The last run said nothing on stdout (stderr; that a GPU which is installed could not be used does not count).
silent_out() { [ ! -s "$work/out" ] || fail "$1: stdout is not empty: $(head -1 "$work/out")"; }
silent_err() {
  grep -v '; ranks ran on cpu, transport [a-z]*$' "$work/err" >"$work/said" || true
  [ ! -s "$work/said" ] || fail "$1: stderr is not empty: $(head -1 "$work/said")"
}

# The last run's stderr is one line that contains the text.
one_line() {
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "$1: stderr has $(wc -l <"$work/err") lines, expected one"
  grep -qF -- "$2" "$work/err" || fail "$1: stderr lacks \"$2\": $(head -1 "$work/err")"
}

# With json_field set to that program: field FILE NAME [VALUE]: the field is there, and has the value.
field() {
  local got
  got=$("$json_field" "$1" "$2" 2>&1) || { fail "$1: $2: $got"; return; }
  [ $# -lt 3 ] || [ "$got" = "$3" ] || fail "$1: $2 is $got, expected $3"
}

finish() {
  if [ "$failures" -ne 0 ]; then
    echo "$failures failed"
    exit 1
  fi
  echo "all passed"
}

# heads MODEL N: the option of `sley gnn`, where the model has heads.
heads() {
  [ "$1" != gat ] || echo "--heads $2"
}
