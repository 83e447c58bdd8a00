#!/usr/bin/env bash
# Builds everything, runs every test and ends with the closing lines of both runners. Non-zero when anything failed.
set -uo pipefail
cd "$(dirname "$0")/.."

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=()

# Runs one step under its name; what it prints is shown and kept.
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" </dev/null 2>&1 | tee "$logs/$name"
    local status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then failures+=("$name ($status)"); fi
    return "$status"
}

# The last line of a step that looks like its summary.
closing() { grep -E "$2" "$logs/$1" 2>/dev/null | tail -n 1 || true; }

# What failed in a step, by name and with the line that says why, for those who see only the end of the output.
complaints() { grep -hE "$2" "$logs/$1" 2>/dev/null | cut -c 1-400 | head -n 20 || true; }

clients() {
    [ -x .venv/bin/python ] || python3 -m venv .venv || return
    .venv/bin/python -m pip install --quiet --requirement Tests/Clients/requirements.txt || return
    .venv/bin/python -m pytest -rfE Tests/Clients
}

# A thousand tests at once on a few cores starve those that talk to real sockets and programs: eight at a time are as fast.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

if step build swift build --build-tests --explicit-target-dependency-import-check error; then
    step swift-test swift test --skip-build --disable-xctest
    if [ -f SDK/Package.swift ]; then step sdk-test swift test --package-path SDK --disable-xctest; fi
    step pytest clients
fi

echo "== result"
closing swift-test '(Test run with|error:)'
closing sdk-test '(Test run with|error:)'
closing pytest '(passed|failed|error|no tests ran)'
if [ ${#failures[@]} -gt 0 ]; then
    complaints build 'error:'
    complaints swift-test '(recorded an issue|✘ Test ".*failed)'
    complaints sdk-test '(recorded an issue|✘ Test ".*failed)'
    complaints pytest '^(FAILED|ERROR) '
    echo "FAILED: ${failures[*]}"
    exit 1
fi
echo "All tests passed."
