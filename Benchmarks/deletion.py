#!/usr/bin/env python3
"""Measures what the deletion of a large app costs another app.

Starts `peal-sim` and `peal serve`, fills one app with `--devices` devices in two topics each (directly in the database,
because registering them is not what is measured), and lets a second app send messages to one device each, `--rate` a
second. It measures them before the deletion of the large app, and from the request for it until its last row is gone:
how long each message's request took, and how long it was until the push network had it. Prints p50, p99, p99.9 and the
maximum of both, the ratio, and the figures as JSON on the last line. Exits with 1 if a message was lost or doubled, if
rows are left, or if p99.9 of the requests during the deletion exceeds `--limit-ms`.
"""
import argparse
import concurrent.futures
import json
import sqlite3
import sys
import threading
import time
import urllib.request

from fanout import ROOT, call, run
from programs import Programs

TOPICS = ["all", "half"]
ROWS = """
    INSERT INTO device (app, seq, id, route, state, address, address_key, address_rev, locale, zone, interactive,
        registered_at, since)
    SELECT :app, value, randomblob(16), route, state, randomblob(32), randomblob(16), 1, locale, zone, interactive,
        registered_at, since
    FROM device, generate WHERE device.app = :app AND device.seq = 1"""


class Setup(Programs):
    log_level = "warning"

    def prepare(self):
        self.apps, self.device = [], None
        for name in ("large", "other"):
            app = call("POST", f"{self.base}/apps", {"name": name})["id"]
            call("PUT", f"{self.base}/apps/{app}/credentials/apns/production", self.credential())
            device = call("POST", f"{self.base}/apps/{app}/devices:batch", {
                "devices": [{"platform": "ios", "address": "1" * 64, "topics": TOPICS}]})
            self.device = device["results"][0]["id"]
            self.apps.append(app)
        self.stop_server()
        started = time.monotonic()
        self.fill()
        print(f"filled {self.options.devices} devices in {time.monotonic() - started:.1f} s", flush=True)
        self.start()

    def fill(self):
        """Copies the large app's only device, with another id and address each time."""
        database = sqlite3.connect(self.database)
        numbers = {"app": 1, "count": self.options.devices}
        series = """WITH RECURSIVE generate(value) AS (
            SELECT 2 UNION ALL SELECT value + 1 FROM generate WHERE value < :count)"""
        database.execute(series + ROWS, numbers)
        for topic in (1, 2):
            numbers["topic"] = topic
            database.execute(series + """ INSERT INTO device_topic (app, seq, topic, since)
                SELECT :app, value, :topic, 1 FROM generate""", numbers)
            database.execute(series + """ INSERT INTO topic_member (app, topic, route, seq, since)
                SELECT :app, :topic, route, value, 1 FROM device, generate
                WHERE device.app = :app AND device.seq = 1""", numbers)
        database.execute("UPDATE app SET device_seq = :count WHERE app = :app", numbers)
        database.commit()
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        database.close()

    def send(self, number, results):
        begun = time.time()
        call("POST", f"{self.base}/apps/{self.apps[1]}/messages", {
            "audience": {"devices": [self.device]},
            "content": {"title": "Your code", "data": {"n": str(number)}}})
        results[number] = (begun, time.time() - begun)

    def traffic(self, first, until):
        """Sends at a steady rate until `until()`; returns start and duration of each request by number."""
        results, number, begun = {}, first, time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            pending = []
            while not until():
                pending.append(pool.submit(self.send, number, results))
                number += 1
                time.sleep(max(0, begun + (number - first) / self.options.rate - time.monotonic()))
            for each in pending:
                each.result()
        return results

    def arrivals(self):
        """When each message reached the push network, in seconds since 1970."""
        arrived, after, url = {}, 0, f"{self.sim['control_url']}/inbox"
        while True:
            with urllib.request.urlopen(f"{url}?after={after}&limit=10000", timeout=60) as answer:
                items = json.loads(answer.read())["items"]
            if not items:
                return arrived
            after = items[-1]["seq"]
            for item in items:
                arrived.setdefault(int(item["payload"]["n"]), []).append(item["at"] / 1000)

    def rows_left(self):
        """Rows of the large app, and what its deletion has left to do."""
        database = sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=10)
        now = int(time.time() * 1000)
        left = sum(
            database.execute(f"SELECT EXISTS (SELECT 1 FROM {table} WHERE app = 1)").fetchone()[0]
            for table in ("device", "device_topic", "topic_member", "topic"))
        if database.execute("SELECT 1 FROM sqlite_master WHERE name = 'remainder'").fetchone():
            left += database.execute("SELECT COUNT(*) FROM remainder WHERE due_at <= ?", (now,)).fetchone()[0]
        database.close()
        return left


def percentiles(seconds):
    ordered = sorted(seconds)
    return [ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.99, 0.999, 1)]


def summary(name, results, arrived):
    wire = [arrived[number][0] - begun for number, (begun, _) in results.items()]
    accept = percentiles([took for _, took in results.values()])
    rows = {f"{name}_accept_ms": accept, f"{name}_wire_ms": percentiles(wire)}
    for row, values in rows.items():
        print(f"{row:>20}  p50 {values[0]:7.1f}  p99 {values[1]:7.1f}  p99.9 {values[2]:7.1f}  max {values[3]:7.1f}"
              f"  ({len(results)} messages)", flush=True)
    return {row: [round(value, 1) for value in values] for row, values in rows.items()}


def measure(setup, options):
    end = time.monotonic() + options.seconds
    before = setup.traffic(0, lambda: time.monotonic() > end)
    finished, answered = threading.Event(), []

    def delete():
        begun = time.monotonic()
        call("DELETE", f"{setup.base}/apps/{setup.apps[0]}")
        answered.append(time.monotonic() - begun)
        while setup.rows_left() and time.monotonic() - begun < options.deletion_seconds_max:
            time.sleep(0.25)
        answered.append(time.monotonic() - begun)
        finished.set()

    deletion = threading.Thread(target=delete)
    deletion.start()
    during = setup.traffic(len(before), finished.is_set)
    deletion.join()
    time.sleep(2)
    arrived = setup.arrivals()
    expected = set(before) | set(during)
    if set(arrived) != expected or any(len(times) != 1 for times in arrived.values()):
        sys.exit(f"not exactly once: {len(expected)} messages, {len(arrived)} arrived")
    result = {"devices": options.devices, "rate": options.rate}
    result |= summary("before", before, arrived) | summary("during", during, arrived)
    result["ratio_accept_p999"] = round(result["during_accept_ms"][2] / result["before_accept_ms"][2], 2)
    result["ratio_wire_p99"] = round(result["during_wire_ms"][1] / result["before_wire_ms"][1], 2)
    result["delete_answer_ms"], result["deletion_s"] = round(answered[0] * 1000, 1), round(answered[1], 1)
    result["rows_left"] = setup.rows_left()
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--rate", type=float, default=100, help="messages a second of the other app")
    parser.add_argument("--seconds", type=float, default=20, help="of traffic before the deletion")
    parser.add_argument("--deletion-seconds-max", type=float, default=1800)
    parser.add_argument("--limit-ms", type=float, default=100)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    result = run(Setup, measure, options)
    if result["rows_left"] or result["during_accept_ms"][2] > options.limit_ms:
        sys.exit("a figure exceeds its limit")


if __name__ == "__main__":
    main()
