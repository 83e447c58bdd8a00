#!/usr/bin/env bash
# Builds everything, runs every test and ends with a summary of each test runner. Exits with 1 when anything failed.
# Many tests use real servers, which a busy machine can delay beyond a test's patience. So up to three failed tests of a
# runner are repeated once, by themselves, and the summary names those that passed then. Such a test needs a fix too.
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
unstable=()
repeatedMax=3

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

# The tests that failed, from a report in JUnit's format: "class/function" of Swift tests, without arguments.
failed_tests() {
    python3 - "$1" <<'PYTHON'
import sys
import xml.etree.ElementTree as tree

for case in tree.parse(sys.argv[1]).iter("testcase"):
    if case.find("failure") is not None or case.find("error") is not None:
        print(case.get("classname") + "/" + case.get("name").split("(")[0])
PYTHON
}

# Runs Swift tests as the named step, and repeats a few that failed. The rest of the arguments goes to `swift test`.
swift_step() {
    local name=$1 failed
    shift
    step "$name" "$@" --xunit-output "$logs/$name.xml" && return
    [ -s "$logs/$name.xml" ] || return
    mapfile -t failed < <(failed_tests "$logs/$name.xml")
    [ ${#failed[@]} -gt 0 ] && [ ${#failed[@]} -le $repeatedMax ] || return
    # A filter of the step would be joined with this one by "or", so only its command without filters is repeated.
    local command=()
    while [ $# -gt 0 ]; do
        if [ "$1" = --filter ]; then shift 2; else command+=("$1") && shift; fi
    done
    local each
    # Dots also match the slashes between nested suites.
    for each in "${failed[@]}"; do command+=(--filter "^${each//\//.}"); done
    repeat "$name" "${failed[*]}" 'Test run with [1-9]' "${command[@]}"
}

# Repeats failed tests of a step. If they pass, and the output proves that they ran, the step counts as passed.
repeat() {
    local name=$1 tests=$2 proof=$3
    shift 3
    step "$name-repeated" "$@" || return
    grep -qE "$proof" "$logs/$name-repeated" || return
    unset "failures[-1]"
    unstable+=("$tests")
}

clients() {
    [ -x .venv/bin/python ] || python3 -m venv .venv || return
    .venv/bin/python -m pip install --quiet --requirement Tests/Clients/requirements.txt || return
    # Three processes, each with whole files: many tests wait, and their servers have ports of their own. conftest.py
    # has the order of the files.
    .venv/bin/python -m pytest -rfE --numprocesses "${PYTEST_PROCESSES:-3}" --dist loadfile --no-loadscope-reorder \
        Tests/Clients
}

# The SDK's web files, in Chromium.
browser() {
    .venv/bin/python -m pip install --quiet --requirement Tests/Browser/requirements.txt || return
    .venv/bin/python -m pytest -rfE --numprocesses "${PYTEST_PROCESSES:-2}" --dist loadfile Tests/Browser
}

# Runs Python tests as the named step, and repeats a few that failed.
python_step() {
    local name=$1 command=$2 folder=$3 count
    step "$name" "$command" && return
    count=$(grep -cE '^(FAILED|ERROR) ' "$logs/$name")
    [ "$count" -gt 0 ] && [ "$count" -le $repeatedMax ] || return
    repeat "$name" "$(complaints "$name" '^(FAILED|ERROR) ' | tr '\n' ' ')" '[1-9][0-9]* passed' \
        .venv/bin/python -m pytest -rfE --last-failed --last-failed-no-failures none "$folder"
}

# Run eight tests at a time: with more, tests that use real sockets and programs starve, and it is no faster.
export SWT_EXPERIMENTAL_MAXIMUM_PARALLELIZATION_WIDTH=8

# The compiler's driver leaves a temporary folder for each module that it builds.
if step build env TMPDIR="$logs" \
    swift build --build-tests "${options[@]}" --explicit-target-dependency-import-check error; then
    step dependencies Scripts/check_dependencies.py
    swift_step swift-test swift test --skip-build "${options[@]}" --disable-xctest
    # Suites that run on one engine at a time. RulesTests, which are slow, have run on both.
    swift_step postgres-test env PEAL_TEST_STORE=postgres swift test --skip-build "${options[@]}" --disable-xctest \
        --filter 'PealDeliveryTests|PealReportsTests|PealServerTests.(FanOutTests|PushTests)' \
        --skip PealDeliveryTests.RulesTests
    if [ -f SDK/Package.swift ]; then swift_step sdk-test swift test --package-path SDK "${options[@]}" --disable-xctest; fi
    python_step pytest clients Tests/Clients
    python_step browser browser Tests/Browser
fi

echo "== result"
closing swift-test '(Test run with|error:)'
closing postgres-test '(Test run with|error:)'
closing sdk-test '(Test run with|error:)'
closing pytest '(passed|failed|error|no tests ran)'
closing browser '(passed|failed|error|no tests ran)'
for each in "${unstable[@]}"; do echo "UNSTABLE, passed when repeated: $each"; done
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
