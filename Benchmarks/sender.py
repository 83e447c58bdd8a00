#!/usr/bin/env python3
"""Measures the CPU time of Peal's APNs sender alone: pages that are already rendered, no database. Compares it with h2load.

Starts `peal-sim` in fast mode on one core; `peal-lab bench sender` and h2load take turns on another. Prints the figures
as JSON on the last line. Exits with 1 if a notification was not accepted, or if the ratio exceeds its limit.
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

from fanout import ROOT, Setup, pinned, run


class SenderSetup(Setup):
    """A simulator and a server that does nothing, so that both benchmarks share everything else."""

    def prepare(self):
        pass

    def send(self, rounds):
        """CPU µs per notification of each round."""
        lab = str(pathlib.Path(self.options.binaries) / "peal-lab")
        result = subprocess.run(
            pinned(1, [lab, "bench", "sender", "--simulator", str(self.folder / "sim" / "simulator.json"), "--devices",
                       str(self.options.devices), "--connections", str(self.options.connections), "--rounds",
                       str(rounds)]), capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stdout + result.stderr)
        return json.loads(result.stdout)["cpu_us"]


def measure(setup, options):
    tool, sender = [], []
    for _ in range(options.rounds):
        tool.append(setup.h2load(options.devices)[0])
        sender.append(statistics.median(setup.send(3)))
    middle = statistics.median(sender), statistics.median(tool)
    return {
        "devices": options.devices, "connections": options.connections, "rounds": options.rounds,
        "h2load_cpu_us": round(middle[1], 2), "sender_cpu_us": round(middle[0], 2),
        "ratio": round(statistics.median(own / other for own, other in zip(sender, tool)), 3)}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--ratio-max", type=float, default=2.0)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.locales = "apns", 1
    if run(SenderSetup, measure, options)["ratio"] > options.ratio_max:
        sys.exit("the ratio exceeds its limit")


if __name__ == "__main__":
    main()
