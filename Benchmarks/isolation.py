#!/usr/bin/env python3
"""Measures how long a transactional message takes from its request to the push network while a lot of other work waits.

Each scenario has a server, a simulator and a database of its own. What waits is written into the database directly,
as copies of rows that the server itself wrote:

  empty      nothing: what the others are compared with
  windows    1,000,000 open delivery windows
  history    1,000,000 finished messages
  scheduled  100,000 messages that start in an hour
  apps       5,000 apps, each with one slice that becomes due during the measurement
  parked     20,000 messages of an app whose route is stopped; also measures what they write while they wait
  validate   twelve concurrent `messages:validate` over 1,000,000 devices
  due        5,000 schedules that are due at the same time: how long until all of them are on the wire

Usage: Benchmarks/isolation.py [--binaries .build/release] [--scale 1] [--scenarios empty,history,…]. Debug builds work
with --scale 0.01. Prints a line for each scenario, and the figures as JSON on the last line. Exits with 1 if a figure
exceeds its limit, unless --report-only is given.
"""
import argparse
import concurrent.futures
import datetime
import http.client
import json
import os
import pathlib
import sqlite3
import sys
import tempfile
import threading
import time
import urllib.request
import uuid

from fanout import ADMIN, ROOT, call, device_token
from programs import Programs

TITLE = "x" * 40
# Tables with rows of a message, of an app, and of a device, where the copied rows are.
MESSAGE_TABLES = ["message", "message_content", "message_predicate", "message_keys", "moment", "slice"]
APP_TABLES = ["app", "device", "device_detail", *MESSAGE_TABLES]


def in_seconds(seconds):
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)
    return at.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def count(options, number):
    return max(2, int(number * options.scale))


class Setup(Programs):
    def make_app(self, name, devices, has_credential=True):
        """An app whose devices have the given addresses; returns its URL and the ids of its devices."""
        app = call("POST", f"{self.base}/apps", {"name": name})
        url = f"{self.base}/apps/{app['id']}"
        if has_credential:
            call("PUT", f"{url}/credentials/apns/production", self.credential())
        ids = []
        for number in devices:
            device = str(uuid.uuid4())
            call("PUT", f"{url}/devices/{device}", {
                "platform": "ios", "address": device_token(number), "user_id": f"user-{number}", "topics": ["all"]})
            ids.append(device)
        return url, ids

    def moved(self, url):
        """The same URL after a restart, which takes another port."""
        return self.base + url[url.index("/apps/"):]

    def control(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.sim["control_url"] + path, data=data, method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def arrivals(self, text):
        """When each notification whose payload contains `text` arrived, by its number."""
        found, after = {}, 0
        while True:
            items = self.control("GET", f"/inbox?limit=10000&after={after}&contains={text}")["items"]
            for item in items:
                found.setdefault(item["payload"]["n"], item["at"])
            if not items:
                return found
            after = items[-1]["seq"]

    def written_bytes(self):
        for line in pathlib.Path(f"/proc/{self.peal.pid}/io").read_text().splitlines():
            if line.startswith("write_bytes:"):
                return int(line.split()[1])
        sys.exit("the system does not count written bytes")


def columns(database, table):
    return [row[1] for row in database.execute(f"PRAGMA table_info({table})")]


def clone(database, tables, condition, copies, changes):
    """Copies the rows of `tables` that meet `condition`, `copies` times, with the columns in `changes` replaced by
    SQL in which `n` is the number of the copy, from 1."""
    for table in tables:
        names = columns(database, table)
        values = [changes.get(name, f"t.{name}") for name in names]
        database.execute(
            f"WITH RECURSIVE counter (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM counter WHERE n < {copies}) "
            f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(values)} "
            f"FROM counter CROSS JOIN {table} t WHERE {condition.replace('@', 't.')}")


def edit(setup):
    database = sqlite3.connect(setup.folder / "peal.db", isolation_level=None)
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = -200000")
    database.execute("BEGIN")
    return database


def close(database):
    database.execute("COMMIT")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    # Otherwise the system would write the copied rows to the disk during the measurement.
    os.sync()


def clone_message(setup, id, copies, changes=None):
    """Copies a message. The copies have ids that are as old as the message's."""
    database = edit(setup)
    raw = uuid.UUID(id).hex
    # Text and bytes are joined as bytes: eight of the message, eight digits of the number.
    key = f"CAST(x'{raw[:16]}' || printf('%08d', n) AS BLOB)"
    clone(
        database, MESSAGE_TABLES, f"@message = x'{raw}'", copies, {
            "message": key, "name_key": "randomblob(16)", "user_id": "t.user_id || '-' || n", **(changes or {})})
    close(database)


def send(setup, app, device, numbers, word, rate):
    """Sends a message for each number; returns when each request began, in milliseconds."""
    begun = {}
    path = app[app.index("/peal/"):] + "/messages"
    connection = http.client.HTTPConnection("127.0.0.1", setup.port, timeout=120)
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    next_at = time.monotonic()
    for number in numbers:
        time.sleep(max(0, next_at - time.monotonic()))
        next_at = max(next_at + 1 / rate, time.monotonic())
        body = json.dumps({
            "audience": {"devices": [device]}, "content": {"title": TITLE, "data": {"n": number, "word": word}}})
        begun[number] = time.time() * 1000
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        text = answer.read()
        if answer.status != 202:
            sys.exit(f"refused: {answer.status} {text}")
    connection.close()
    return begun


def delays(setup, app, device, word, samples=None):
    """The milliseconds from request to wire of each sampled message."""
    samples = samples or setup.options.samples
    begun = send(setup, app, device, range(samples), word, setup.options.rate)
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        arrived = setup.arrivals(word)
        if len(arrived) == samples:
            # The simulator counts whole milliseconds.
            return sorted(max(0.0, arrived[number] + 1 - begun[number]) for number in begun)
        time.sleep(0.2)
    sys.exit(f"only {len(arrived)} of {samples} messages arrived")


def percentile(values, share):
    return round(values[min(len(values) - 1, int(len(values) * share))], 1)


def figures(values):
    return {"p50_ms": percentile(values, 0.5), "p99_ms": percentile(values, 0.99), "max_ms": round(values[-1], 1)}


def measured(setup, app, device, word="measured"):
    delays(setup, app, device, "warm", 20)
    return figures(delays(setup, app, device, word))


def scheduled_message(app, device, seconds, n=0):
    return call("POST", f"{app}/messages", {
        "audience": {"devices": [device]}, "content": {"title": TITLE, "data": {"n": n, "word": "due"}},
        "schedule": {"at": in_seconds(seconds)}})["id"]


def empty(setup):
    app, devices = setup.make_app("fast", [1])
    return measured(setup, app, devices[0])


def restarted(setup, app):
    setup.start()
    return setup.moved(app)


def windows(setup):
    app, devices = setup.make_app("fast", [1])
    message = call("POST", f"{app}/messages", {
        "audience": {"users": ["user-1"]}, "content": {"title": TITLE},
        "schedule": {"window": {"until": in_seconds(36_000)}}})
    setup.stop_server()
    copies = count(setup.options, 1_000_000)
    clone_message(setup, message["id"], copies)
    app = restarted(setup, app)
    return {"windows": copies, **measured(setup, app, devices[0])}


def history(setup):
    app, devices = setup.make_app("fast", [1])
    send(setup, app, devices[0], [0], "first", 1)
    deadline = time.monotonic() + 60
    while (items := call("GET", f"{app}/messages")["items"])[0]["state"] != "sent":
        if time.monotonic() > deadline:
            sys.exit(f"not sent: {items[0]}")
        time.sleep(0.1)
    setup.stop_server()
    copies = count(setup.options, 1_000_000)
    clone_message(setup, items[0]["id"], copies)
    app = restarted(setup, app)
    return {"messages": copies, **measured(setup, app, devices[0])}


def scheduled(setup):
    app, devices = setup.make_app("fast", [1])
    message = scheduled_message(app, devices[0], 3600)
    setup.stop_server()
    copies = count(setup.options, 100_000)
    clone_message(setup, message, copies, {"start_at": "t.start_at + n"})
    app = restarted(setup, app)
    return {"messages": copies, **measured(setup, app, devices[0])}


def apps(setup):
    """The apps have no credential, so that each slice costs the server one lease and one settlement."""
    app, devices = setup.make_app("fast", [1])
    other, others = setup.make_app("other", [2])
    setup.control("PUT", f"/faults/devices/{device_token(2)}", {"status": 503, "reason": "ServiceUnavailable"})
    message = call("POST", f"{other}/messages", {
        "audience": {"devices": others}, "content": {"title": TITLE}})["id"]
    time.sleep(2)
    setup.stop_server()
    copies = count(setup.options, 5_000)
    database = edit(setup)
    number = database.execute(
        "SELECT app FROM message WHERE message = ?", (uuid.UUID(message).bytes,)).fetchone()[0]
    waiting = database.execute("SELECT COUNT(*) FROM slice WHERE app = ? AND state = 0", (number,)).fetchone()[0]
    if waiting == 0:
        sys.exit("the template has no waiting slice")
    due = int((time.time() + 8) * 1000)
    clone(database, APP_TABLES, f"@app = {number}", copies, {
        "app": "1000000 + n", "id": "randomblob(16)", "richie_app_id": "NULL", "devtodev_app_id": "NULL",
        "ready_at": f"{due} + n % 1000"})
    close(database)
    app = restarted(setup, app)
    result = {"apps": copies, **measured(setup, app, devices[0])}
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and metric(setup, "peal_slices_waiting") > 1:
        time.sleep(0.2)
    return {**result, "left": metric(setup, "peal_slices_waiting")}


def metric(setup, name):
    with urllib.request.urlopen(f"http://127.0.0.1:{setup.port}/metrics", timeout=60) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + " "):
                return int(line.split()[1])
    return 0


def parked(setup):
    app, devices = setup.make_app("fast", [1])
    stopped, others = setup.make_app("stopped", [2])
    setup.control("PUT", f"/faults/devices/{device_token(2)}", {"status": 403, "reason": "InvalidProviderToken"})
    copies = count(setup.options, 20_000)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        shares = [range(start, copies, 8) for start in range(8)]
        for future in [pool.submit(send, setup, stopped, others[0], share, "parked", 1e9) for share in shares]:
            future.result()
    time.sleep(5)
    state = call("GET", f"{stopped}/routes")["items"][0]
    if state["state"] not in ("stopped", "probing") or state["pending"] == 0:
        sys.exit(f"the route is not stopped: {state}")
    seconds, before = setup.options.quiet_seconds, setup.written_bytes()
    time.sleep(seconds)
    written = (setup.written_bytes() - before) / seconds * 60 / 1e6
    return {"messages": copies, "parked": metric(setup, "peal_slices_parked"),
            "written_mb_per_minute": round(written, 3), **measured(setup, app, devices[0])}


def validate(setup):
    app, devices = setup.make_app("fast", [1])
    large, _ = setup.make_app("large", [3])
    setup.stop_server()
    copies = count(setup.options, 1_000_000)
    database = edit(setup)
    number, last = database.execute("SELECT app, device_seq FROM app ORDER BY app DESC LIMIT 1").fetchone()
    # User ids would make each device a row of one more index, which counting does not read.
    clone(database, ["device", "topic_member"], f"@app = {number}", copies, {
        "seq": f"{last} + n", "id": "randomblob(16)", "address": "randomblob(32)", "address_key": "randomblob(16)",
        "user_id": "NULL"})
    database.execute("UPDATE app SET device_seq = ? WHERE app = ?", (last + copies, number))
    close(database)
    app, large = restarted(setup, app), setup.moved(large)
    alone = measured(setup, app, devices[0], "alone")
    over = threading.Event()
    done = []

    def repeat():
        while not over.is_set():
            answer = call("POST", f"{large}/messages:validate", {
                "audience": {"topics": ["all"]}, "content": {"title": TITLE}})
            done.append(answer)

    threads = [threading.Thread(target=repeat) for _ in range(12)]
    for thread in threads:
        thread.start()
    time.sleep(1)
    beside = figures(delays(setup, app, devices[0], "beside"))
    over.set()
    for thread in threads:
        thread.join()
    return {"devices": copies, "validations": len(done), "alone_p99_ms": alone["p99_ms"], **beside,
            "delay_ms": round(beside["p99_ms"] - alone["p99_ms"], 1)}


def due(setup):
    app, devices = setup.make_app("fast", [1])
    message = scheduled_message(app, devices[0], 3600)
    setup.stop_server()
    copies = count(setup.options, 5_000)
    at = int((time.time() + setup.options.start_seconds) * 1000)
    clone_message(setup, message, copies, {"start_at": str(at)})
    app = restarted(setup, app)
    if time.time() * 1000 > at - 1000:
        sys.exit("the server started too late: give a larger --start-seconds")
    time.sleep(max(0, at / 1000 - time.time()))
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        summary = setup.control("GET", "/inbox/summary")
        if summary["received"] >= copies:
            break
        time.sleep(0.05)
    last = max(item["at"] for item in setup.control("GET", "/inbox?limit=10000")["items"])
    return {"schedules": copies, "received": summary["received"], "seconds": round((last - at) / 1000, 2)}


SCENARIOS = {each.__name__: each for each in (empty, windows, history, scheduled, apps, parked, validate, due)}


def over_limits(results, options):
    """What exceeds its limit, in words."""
    found = []
    base = results.get("empty", {}).get("p99_ms")
    for name, figure in results.items():
        if base and name in ("windows", "history", "scheduled", "apps", "parked"):
            limit = max(2 * base, options.floor_ms)
            if figure["p99_ms"] > limit:
                found.append(f"{name}: p99 {figure['p99_ms']} ms, limit {limit} ms")
    if results.get("parked", {}).get("written_mb_per_minute", 0) > 1:
        found.append("parked: more than 1 MB a minute")
    if results.get("validate", {}).get("delay_ms", 0) > 50:
        found.append("validate: delays a send by more than 50 ms")
    if results.get("due", {}).get("seconds", 0) > 2:
        found.append("due: more than 2 s")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    parser.add_argument("--scale", type=float, default=1.0, help="of all amounts of waiting work")
    parser.add_argument("--samples", type=int, default=500, help="messages measured in each scenario")
    parser.add_argument("--rate", type=float, default=50, help="of them a second")
    parser.add_argument("--quiet-seconds", type=int, default=60, help="how long to watch parked messages")
    parser.add_argument("--start-seconds", type=int, default=20, help="how far ahead schedules are due")
    parser.add_argument("--floor-ms", type=float, default=0, help="a p99 below this is never too long")
    parser.add_argument("--scenarios", type=lambda text: text.split(","), default=list(SCENARIOS))
    parser.add_argument("--report-only", action="store_true")
    options = parser.parse_args()
    if unknown := [name for name in options.scenarios if name not in SCENARIOS]:
        parser.error(f"unknown scenarios: {', '.join(unknown)}")
    results = {}
    for name in options.scenarios:
        with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
            setup = Setup(options, pathlib.Path(folder))
            try:
                results[name] = SCENARIOS[name](setup)
            finally:
                setup.stop()
        print(f"{name:>10}  " + "  ".join(f"{key} {value}" for key, value in results[name].items()), flush=True)
    print(json.dumps(results))
    found = over_limits(results, options)
    for line in found:
        print(line)
    if found and not options.report_only:
        sys.exit(1)


if __name__ == "__main__":
    main()
