#!/usr/bin/env python3
"""Measures the CPU time of `peal` per user of a delivery window, and compares it with plain messages to the same users.

Starts `peal-sim` in fast mode and `peal serve` on loopback and registers one device per user. Each round sends plain
messages to all users, and as many `traditional` messages with a delivery window, so that every user has a moment that is
due at once. Compare only figures of one run. Prints a line per round, and the figures as JSON on the last line. Exits
with 1 if a notification was lost or duplicated, or if the ratio exceeds its limit.

Usage: Benchmarks/windows.py [--binaries .build/release] [--users 1000] [--messages 10] [--rounds 3]
"""
import argparse
import datetime
import statistics
import sys
import time

from fanout import ROOT, Setup, call, cpu_seconds, run


class WindowSetup(Setup):
    """One device per user, and messages to these users."""

    def fields(self, number):
        return {"user_id": f"user-{number}"}

    def body(self, has_window):
        body = {
            "audience": {"users": [f"user-{number}" for number in range(self.options.devices)], "platforms": ["ios"]},
            "content": {"title": "Town hall", "body": "x" * 180, "data": {"story": "1234567890"}, "badge": 1}}
        if has_window:
            until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
            body |= {"method": "traditional", "schedule": {"window": {"until": until.isoformat()}}}
        return body

    def send(self, has_window):
        """Sends `--messages` messages and waits until they have ended; returns (CPU µs per user, seconds)."""
        expected = self.options.devices
        before, started = cpu_seconds(self.peal.pid), time.monotonic()
        waiting = [
            call("POST", f"{self.app}/messages", self.body(has_window))["id"] for _ in range(self.options.messages)]
        deadline = time.monotonic() + 600
        for message in waiting:
            path = f"{self.app}/messages/{message}"
            while (report := call("GET", path))["state"] not in ("sent", "failed", "expired"):
                if time.monotonic() > deadline:
                    sys.exit(f"not sent in time: {report}")
                time.sleep(0.1)
            if report["state"] != "sent" or report["counts"]["accepted"] != expected:
                sys.exit(f"expected {expected} accepted, got {report}")
        seconds = time.monotonic() - started
        return (cpu_seconds(self.peal.pid) - before) / expected / self.options.messages * 1e6, seconds


def measure(setup, options):
    setup.send(False)
    rounds = []
    for number in range(options.rounds):
        plain, plain_seconds = setup.send(False)
        setup.inbox("DELETE")
        window, window_seconds = setup.send(True)
        setup.check_received(options.messages)
        sent = options.devices * options.messages
        # A few users need less time than the system's clock of CPU time counts.
        ratio = window / plain if plain else 0.0
        rounds.append((plain, window, ratio, sent / plain_seconds, sent / window_seconds))
        print(f"round {number + 1}: plain {plain:.1f} µs/user, window {window:.1f} µs/user, "
              f"ratio {ratio:.2f}, window {sent / window_seconds:,.0f} users/s", flush=True)
    middle = [statistics.median(column) for column in zip(*rounds)]
    return {
        "users": options.devices, "messages": options.messages, "rounds": options.rounds,
        "plain_cpu_us": round(middle[0], 1), "window_cpu_us": round(middle[1], 1), "ratio": round(middle[2], 2),
        "plain_per_second": round(middle[3]), "window_per_second": round(middle[4])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", dest="devices", type=int, default=1000)
    parser.add_argument("--messages", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--ratio-max", type=float, default=20.0)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider = "apns"
    result = run(WindowSetup, measure, options)
    if result["ratio"] > options.ratio_max:
        sys.exit("a figure exceeds its limit")


if __name__ == "__main__":
    main()
