#!/usr/bin/env python3
"""Runs the benchmarks, writes their figures to `.build/bench.json`, and compares ratios with `Benchmarks/thresholds.json`.

Each row is a benchmark of this folder with options. A threshold limits a ratio of two measurements of one run, because
absolute figures depend on the machine. Exits with 1 if a benchmark failed or a ratio exceeds its threshold.

  bench.py                      all rows
  bench.py --rows sender,intake some of them
  bench.py --smoke              all rows with few requests and without thresholds, for debug builds
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "Benchmarks"
# By name: the program, its options, and those of a smoke test.
ROWS = {
    "sender": ("sender.py", [], ["--devices", "2000", "--rounds", "1"]),
    "apns": ("fanout.py", ["--devices", "100000"], ["--devices", "2000", "--rounds", "1"]),
    "localized": ("fanout.py", ["--devices", "100000", "--locales", "20"],
                  ["--devices", "2000", "--rounds", "1", "--locales", "20"]),
    "fcm": ("fanout.py", ["--provider", "fcm", "--devices", "100000"],
            ["--provider", "fcm", "--devices", "2000", "--rounds", "1"]),
    "webpush": ("webpush.py", [], ["--devices", "200", "--rounds", "1"]),
    "windows": ("windows.py", ["--messages", "3"], ["--messages", "1", "--users", "100", "--rounds", "1"]),
    "intake": ("intake.py", [], ["--count", "200", "--rounds", "1"]),
    "inserts": ("inserts.py", [], ["--count", "100", "--rounds", "1"]),
    "stores": ("stores.py", [], ["--devices", "2000", "--rounds", "1"]),
    "wan": ("wan.py", [], ["--devices", "1000", "--rounds", "1", "--connections", "2", "--round-trip-ms", "10"]),
}
# Only on request: they take minutes.
LONG = {"million": ("fanout.py", ["--devices", "1000000"], None),
        "growth": ("fanout.py", ["--devices", "3000000", "--rounds", "1"], None)}
# Limits of single benchmarks that do not count here: the thresholds do.
OPEN = {"fanout.py": ["--ratio-max", "1000", "--memory-max-mb", "100000"], "windows.py": ["--ratio-max", "100000"],
        "sender.py": ["--ratio-max", "1000"], "stores.py": ["--ratio-max", "1000"], "wan.py": ["--ratio-min", "0"]}


def measure(name, options):
    program, usual, smoke = ROWS.get(name) or LONG[name]
    arguments = smoke if options.smoke else usual
    command = [sys.executable, str(HERE / program), "--binaries", options.binaries, *arguments, *OPEN.get(program, [])]
    print(f"== {name}", flush=True)
    result = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    print(result.stdout, end="", flush=True)
    return json.loads(result.stdout.strip().splitlines()[-1]) if result.returncode == 0 else None


def machine():
    """What the figures were measured on."""
    names = [line.split(":")[1].strip() for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines()
             if line.startswith("model name")]
    return {"platform": platform.platform(), "processor": (names or [platform.machine()])[0], "cores": os.cpu_count(),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat()}


def derived(figures):
    """Ratios between rows."""
    if figures.get("localized") and figures.get("apns"):
        figures["localized"]["cpu_to_plain"] = round(
            figures["localized"]["peal_cpu_us"] / figures["apns"]["peal_cpu_us"], 2)
    if figures.get("growth") and figures.get("apns"):
        growth, plain = figures["growth"], figures["apns"]
        growth["cpu_to_small"] = round(growth["peal_cpu_us"] / plain["peal_cpu_us"], 2)
        growth["memory_above_small_mb"] = round(growth["rss_peak_mb"] - plain["rss_peak_mb"], 1)


def violations(figures, thresholds):
    """What exceeds its threshold, or is below it, in sentences."""
    for row, limits in thresholds.items():
        for name, limit in limits.items():
            value = (figures.get(row) or {}).get(name)
            if value is None:
                continue
            if "max" in limit and value > limit["max"]:
                yield f"{row}.{name} is {value}, above {limit['max']}"
            if "min" in limit and value < limit["min"]:
                yield f"{row}.{name} is {value}, below {limit['min']}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=lambda text: text.split(","), default=list(ROWS), metavar="ROW,…",
                        help=f"of {', '.join([*ROWS, *LONG])}")
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    parser.add_argument("--output", default=str(ROOT / ".build" / "bench.json"))
    options = parser.parse_args()
    if unknown := [name for name in options.rows if name not in ROWS and name not in LONG]:
        parser.error(f"unknown rows: {', '.join(unknown)}")
    figures = {name: measure(name, options) for name in options.rows}
    failed = [name for name, result in figures.items() if result is None]
    derived(figures)
    output = pathlib.Path(options.output)
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps({"machine": machine(), "rows": figures}, indent=2) + "\n")
    print(f"written to {output}")
    problems = [f"{name} failed" for name in failed]
    if not options.smoke:
        problems += violations(figures, json.loads((HERE / "thresholds.json").read_text()))
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
