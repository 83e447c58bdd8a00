#!/usr/bin/env python3
"""Measures how fast `peal` sends to APNs over a network with a long round trip, and compares it with h2load.

Between the clients and nghttpd is a proxy that delays each direction by half a round trip. There a connection is limited
by the server's window of 65,535 bytes, so the rate grows with the connections. nghttpd answers 200 to every device that
has a file. First a message to few devices shows how many connections the pool opens without need, and one to many
devices how many it opens when the windows are full. Then h2load and peal take turns with as many connections. Prints a
line per round, and the figures as JSON on the last line. Exits with 1 if a notification was not accepted, or if the
ratio of the rates is below its limit.

Usage: Benchmarks/wan.py [--binaries .build/release] [--devices 200000] [--round-trip-ms 50] [--connections 16]
"""
import argparse
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys

from fanout import ROOT, Setup, device_token, pinned, run, stop, wait_for
from programs import make_certificate

HERE = pathlib.Path(__file__).resolve().parent
FEW = 64


class WANSetup(Setup):
    """nghttpd behind the proxy in place of the simulator's APNs."""

    def networks(self, sim):
        make_certificate(self.folder)
        devices = self.folder / "htdocs" / "3" / "device"
        devices.mkdir(parents=True)
        # h2load sends to the first 20,000 of the addresses.
        for number in range(max(self.options.devices, 20_000)):
            (devices / device_token(number)).touch()
        with socket.create_server(("127.0.0.1", 0)) as probe:
            port = probe.getsockname()[1]
        program = shutil.which("nghttpd", path="/usr/sbin:/usr/bin:/usr/local/bin") or sys.exit("nghttpd is missing")
        files = [str(self.folder / "key.pem"), str(self.folder / "cert.pem")]
        self.server = subprocess.Popen(
            pinned(0, [program, "-a", "127.0.0.1", "-m", "1000", "-d", str(self.folder / "htdocs"), str(port), *files]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.lines = self.folder / "proxy"
        with self.lines.open("w") as lines:
            self.proxy = subprocess.Popen(
                pinned(0, [sys.executable, str(HERE / "delay.py"), "--to", str(port), "--round-trip-ms",
                           str(self.options.round_trip_ms)]), stdout=lines)
        port = int(wait_for(self.lines, self.proxy).split()[0])
        return sim | {"apns_url": f"https://localhost:{port}", "ca_file": str(self.folder / "cert.pem")}

    def connections(self):
        """The connections so far, without those of h2load."""
        return self.lines.read_text().count("connection")

    def streams(self):
        return 1000

    def fields(self, number):
        return {"topics": ["all", "few"] if number < FEW else ["all"]}

    def stop(self):
        stop(self.peal, self.simulator, self.server, self.proxy)


def measure(setup, options):
    setup.push("few", FEW)
    few = setup.connections()
    # The pool opens its connections one by one; they stay open for the measurement.
    setup.push("all", options.devices)
    many = setup.connections()
    rounds = []
    for number in range(options.rounds):
        tool_cpu, tool_seconds = setup.h2load(options.devices)
        cpu, seconds = setup.push("all", options.devices)
        rounds.append((options.devices / tool_seconds, options.devices / seconds, tool_seconds / seconds, tool_cpu, cpu))
        print(f"round {number + 1}: h2load {options.devices / tool_seconds:,.0f}/s, "
              f"peal {options.devices / seconds:,.0f}/s, ratio {tool_seconds / seconds:.2f}", flush=True)
    middle = [statistics.median(column) for column in zip(*rounds)]
    return {
        "devices": options.devices, "connections": options.connections, "round_trip_ms": options.round_trip_ms,
        "rounds": options.rounds, "connections_for_few": few, "connections_for_many": many,
        "h2load_per_second": round(middle[0]), "peal_per_second": round(middle[1]), "rate_ratio": round(middle[2], 2),
        "h2load_cpu_us": round(middle[3], 2), "peal_cpu_us": round(middle[4], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--round-trip-ms", type=float, default=50)
    parser.add_argument("--ratio-min", type=float, default=0.5)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.locales = "apns", 1
    if run(WANSetup, measure, options)["rate_ratio"] < options.ratio_min:
        sys.exit("the ratio is below its limit")


if __name__ == "__main__":
    main()
