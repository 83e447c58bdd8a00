#!/usr/bin/env python3
"""Compares the stores: the CPU time of `peal` per notification on SQLite and on PostgreSQL, and the rates of one and of
three servers that share a PostgreSQL.

Starts PostgreSQL itself. It, `peal-sim` and the second and third server run on the machine's other cores; the first
server is pinned to one. Rounds on the two stores alternate. Three servers can only be faster than one where there are
enough cores. Prints a line for each round, and the figures as JSON on the last line. Exits with 1 if the ratio of CPU
times exceeds --ratio-max, or if a notification was lost or duplicated.
"""
import argparse
import glob
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from fanout import ROOT, Setup, pinned, start_peal


class Postgres:
    """A PostgreSQL server in a folder, on a socket there, with its default durability."""

    def __init__(self):
        programs = pathlib.Path(sorted(glob.glob("/usr/lib/postgresql/*/bin"))[-1])
        # A path of a socket is at most 107 bytes long.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-pg-", dir="/tmp"))
        user = []
        if os.getuid() == 0:
            subprocess.run(["chown", "nobody:nogroup", str(self.folder)], check=True)
            user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        data = str(self.folder / "data")
        subprocess.run(
            [*user, str(programs / "initdb"), "-D", data, "-A", "trust", "-U", "peal", "-E", "UTF8", "--locale=C"],
            check=True, stdout=subprocess.DEVNULL)
        options = [
            "listen_addresses=", f"unix_socket_directories={self.folder}", "max_connections=200",
            "max_pred_locks_per_transaction=256", "shared_buffers=256MB"]
        self.process = subprocess.Popen(
            pinned(0, [*user, str(programs / "postgres"), "-D", data, *(f for each in options for f in ("-c", each))]),
            stderr=subprocess.DEVNULL)
        for _ in range(200):
            ready = subprocess.run(
                [str(programs / "createdb"), "-h", str(self.folder), "-U", "peal", "peal"], stderr=subprocess.DEVNULL)
            if ready.returncode == 0:
                break
            time.sleep(0.1)
        else:
            sys.exit("PostgreSQL did not start")
        self.url = f"postgresql:///peal?host={self.folder}&user=peal"

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        shutil.rmtree(self.folder, ignore_errors=True)


class SharedSetup(Setup):
    """A server on PostgreSQL, to which others may be added."""

    postgres = None

    def store(self):
        # Servers that share a database share a key.
        return {"PEAL_STORE_URL": self.postgres.url, "PEAL_MASTER_KEY": "A" * 43 + "="}

    def add(self, number):
        return start_peal(self.options.binaries, self.folder / f"port-{number}", **self.environment())[0]


def pushed(setup):
    cpu, seconds = setup.push("all", setup.options.devices)
    setup.check_received()
    setup.inbox("DELETE")
    return cpu, setup.options.devices / seconds


def measure(lite, shared, options):
    for setup in (lite, shared):
        setup.prepare()
        setup.push("tenth", options.devices // 10)
        setup.inbox("DELETE")
    rounds = []
    for number in range(options.rounds):
        one, other = pushed(lite), pushed(shared)
        rounds.append((one[0], other[0], other[0] / one[0], one[1], other[1]))
        print(f"round {number + 1}: SQLite {one[0]:.2f} µs, PostgreSQL {other[0]:.2f} µs per notification, "
              f"ratio {other[0] / one[0]:.2f}", flush=True)
    middle = [statistics.median(column) for column in zip(*rounds)]
    more = [shared.add(number) for number in (2, 3)]
    try:
        # Each server learns of the others within a few seconds.
        time.sleep(5)
        three = statistics.median(pushed(shared)[1] for _ in range(options.rounds))
    finally:
        for process in more:
            process.terminate()
            process.wait(60)
    return {
        "devices": options.devices, "rounds": options.rounds, "cores": os.cpu_count(),
        "sqlite_cpu_us": round(middle[0], 2), "postgres_cpu_us": round(middle[1], 2), "ratio": round(middle[2], 2),
        "sqlite_per_second": round(middle[3]), "postgres_per_second": round(middle[4]),
        "three_servers_per_second": round(three), "three_to_one": round(three / middle[4], 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--ratio-max", type=float, default=1.3)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.locales = "apns", 1
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        folders = [pathlib.Path(folder) / name for name in ("sqlite", "postgres")]
        for each in folders:
            each.mkdir()
        running = []
        try:
            SharedSetup.postgres = Postgres()
            running.append(SharedSetup.postgres)
            lite = Setup(options, folders[0])
            running.insert(0, lite)
            shared = SharedSetup(options, folders[1])
            running.insert(0, shared)
            result = measure(lite, shared, options)
        finally:
            for each in running:
                each.stop()
    for name, value in result.items():
        print(f"{name:>26}  {value}")
    print(json.dumps(result))
    if result["ratio"] > options.ratio_max:
        sys.exit("the ratio exceeds its limit")


if __name__ == "__main__":
    main()
