#!/usr/bin/env bash
# Builds everything, runs every test and ends with a summary of each test runner. Exits with 1 when anything failed.
# PEAL_TEST_CONFIGURATION=release builds and tests optimized programs: a trap may happen only in these.
set -uo pipefail
cd "$(dirname "$0")/.."

configuration=${PEAL_TEST_CONFIGURATION:-debug}
# Tests import internal symbols, also from optimized modules.
options=(--configuration "$configuration")
if [ "$configuration" = release ]; then options+=(-Xswiftc -enable-testing); fi
# For the Python tests.
export PEAL="$PWD/.build/$configuration/peal" PEAL_SIM="$PWD/.build/$configuration/peal-sim"

logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
failures=()

# Runs a command as the named step: shows its output, keeps it for the summary, and notes whether it failed.
step() {
    local name=$1
    shift
    echo "== $name"
    "$@" </dev/null 2>&1 | tee "$logs/$name"
    local status=${PIPESTATUS[0]}
    if [ "$status" -ne 0 ]; then failures+=("$name ($status)"); fi
    return "$status"
}

# The last line of a step's output that matches: its summary.
closing() { grep -E "$2" "$logs/$1" 2>/dev/null | tail -n 1 || true; }

# The lines of a step's output that say what failed and why, because readers may see only the end of the output.
complaints() { grep -hE "$2" "$logs/$1" 2>/dev/null | cut -c 1-400 | head -n 20 || true; }

clients() {
    [ -x .venv/bin/python ] || python3 -m venv .venv || return
    .venv/bin/python -m pip install --quiet --requirement Tests/Clients/requirements.txt || return
    # Two processes, each with whole files: most tests wait for servers, which have ports of their own.
    .venv/bin/python -m pytest -rfE --numprocesses "${PYTEST_PROCESSES:-2}" --dist loadfile Tests/Clients
}

# The SDK's web files, in Chromium.
browser() {
    .venv/bin/python -m pip install --quiet --requirement Tests/Browser/requirements.txt || return
    .venv/bin/python -m pytest -rfE Tests/Browser
}

# Run eight tests at a time: with more, tests that use real sockets and programs starve, and it is no faster.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

if step build swift build --build-tests "${options[@]}" --explicit-target-dependency-import-check error; then
    step dependencies Scripts/check_dependencies.py
    step swift-test swift test --skip-build "${options[@]}" --disable-xctest
    # The store's own suites run on both engines; these on one at a time.
    step postgres-test env PEAL_TEST_STORE=postgres swift test --skip-build "${options[@]}" --disable-xctest \
        --filter 'PealDeliveryTests|PealReportsTests|PealServerTests.(FanOutTests|PushTests)'
    if [ -f SDK/Package.swift ]; then step sdk-test swift test --package-path SDK "${options[@]}" --disable-xctest; fi
    step pytest clients
    step browser browser
fi

echo "== result"
closing swift-test '(Test run with|error:)'
closing postgres-test '(Test run with|error:)'
closing sdk-test '(Test run with|error:)'
closing pytest '(passed|failed|error|no tests ran)'
closing browser '(passed|failed|error|no tests ran)'
if [ ${#failures[@]} -gt 0 ]; then
    complaints build 'error:'
    complaints dependencies '^error:'
    complaints swift-test '(recorded an issue|✘ Test ".*failed)'
    complaints postgres-test '(recorded an issue|✘ Test ".*failed)'
    complaints sdk-test '(recorded an issue|✘ Test ".*failed)'
    complaints pytest '^(FAILED|ERROR) '
    complaints browser '^(FAILED|ERROR) '
    echo "FAILED: ${failures[*]}"
    exit 1
fi
echo "All tests passed."
