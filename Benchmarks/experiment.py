#!/usr/bin/env python3
"""Measures how long a campaign's experiment takes to read, and what it costs other requests.

Starts `peal serve`, and writes `--users` users with one message on each of `--days` days directly into the database,
because real ones would take as many days. The last windows ended so recently that their messages are not added to the
experiment's sums. After the server has added the others, it is started again and reads `GET …/campaigns/{id}` `--reads`
times, one after another. Prints the first and the median of the others in seconds; how long a request for another page
took meanwhile; and the first read of a server that has added nothing yet. The figures are repeated as JSON on the last
line. Exits with 1 if the figures of the experiment are wrong, or if a read takes longer than `--limit-ms`.
"""
import argparse
import json
import pathlib
import random
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
import urllib.request

from fanout import ADMIN, ROOT, call, start_peal, stop

DAY = 86_400_000
# How long after its window a message is added to the experiment's sums.
FINALITY = 30 * 3_600_000
USERS_PER_MESSAGE = 1000
OPENED = 2
MOMENT_SENT, MESSAGE_SENT = 5, 5


def start(options, folder):
    return start_peal(options.binaries, folder / "port", PEAL_STORE_URL=f"sqlite:{folder / 'peal.db'}")


def copies(database, table, where, **values):
    """A statement that copies the only such row of a table with other values, given by name as `:name`."""
    columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
    row = dict(zip(columns, database.execute(f"SELECT * FROM {table} WHERE {where}").fetchone()))
    row.update(values)
    names = ", ".join(columns)
    return f"INSERT INTO {table} ({names}) VALUES ({', '.join(':' + name for name in columns)})", row


def fill(options, path, campaign="c", first_user="user-"):
    """Ages the one message with a window and copies it for all users and days. Every fourth or eighth message was
    opened."""
    database = sqlite3.connect(path)
    now = int(time.time() * 1000)
    # As the server stores it when a message ends.
    counts = database.execute("SELECT counts FROM message WHERE counts IS NOT NULL LIMIT 1").fetchone()[0]
    windowed = f"campaign_id = '{campaign}' AND window_until IS NOT NULL"
    message, message_row = copies(database, "message", windowed, state=MESSAGE_SENT, slices_open=0, counts=counts)
    moment, moment_row = copies(
        database, "moment", "1", state=MOMENT_SENT, had_device=1, request_key=None, name_key=None)
    arm, arm_row = copies(database, "experiment_arm", "1")
    receipts, opened = [], [0, 0]
    database.execute(f"DELETE FROM message WHERE {windowed}")
    for table in ("moment", "experiment_arm"):
        database.execute(f"DELETE FROM {table}")
    database.executemany(arm, ({**arm_row, "user_id": f"{first_user}{n}", "arm": n % 2} for n in range(options.users)))
    for day in range(options.days):
        # The last windows ended 25 hours ago.
        deadline = now - (options.days - day) * DAY - 3_600_000
        for first in range(0, options.users, USERS_PER_MESSAGE):
            id = random.randbytes(16)
            times = {"created_at": deadline - DAY // 4, "expires_at": deadline, "window_until": deadline,
                     "ended_at": deadline}
            database.execute(message, {**message_row, **times, "message": id})
            users = range(first, min(options.users, first + USERS_PER_MESSAGE))
            database.executemany(moment, ({
                **moment_row, "message": id, "user_id": f"{first_user}{n}", "arm": n % 2, "deadline": deadline,
                "fallback_at": deadline, "due_at": deadline, "device": n + 1} for n in users))
            for n in users:
                if (n // 2 + day) % (4 if n % 2 else 8) == 0:
                    opened[n % 2] += 1
                    receipts.append((message_row["app"], id, n + 1, OPENED, deadline - 1000))
    database.executemany("INSERT INTO receipt (app, message, seq, kind, at) VALUES (?, ?, ?, ?, ?)", receipts)
    database.commit()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()
    return opened


def unsummed(path):
    """How many messages the server has not added to the experiment although it could."""
    database = sqlite3.connect(path)
    final = int(time.time() * 1000) - FINALITY
    count, = database.execute(
        "SELECT COUNT(*) FROM message WHERE window_method = 'ab_test' AND campaign_id IS NOT NULL AND ending < 2"
        " AND window_until <= ?", (final,)).fetchone()
    database.close()
    return count


def timed(url):
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {ADMIN}"})
    begun = time.monotonic()
    with urllib.request.urlopen(request, timeout=600) as answer:
        body = json.loads(answer.read())
    return time.monotonic() - begun, body


def measure(options, folder):
    peal, base = start(options, folder)
    app = call("POST", f"{base}/apps", {"name": "Experiment"})["id"]
    call("POST", f"{base}/apps/{app}/devices:batch", {
        "devices": [{"platform": "ios", "address": "1" * 64, "user_id": "user-0"}]})
    plain = call("POST", f"{base}/apps/{app}/messages", {"audience": {"users": ["user-0"]}, "content": {"title": "Hi"}})
    while call("GET", f"{base}/apps/{app}/messages/{plain['id']}")["state"] != "sent":
        time.sleep(0.1)
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))
    call("POST", f"{base}/apps/{app}/messages", {
        "audience": {"users": ["user-0"]}, "content": {"title": "Hello"}, "campaign_id": "c",
        "schedule": {"window": {"until": until}}})
    stop(peal)
    opened = fill(options, folder / "peal.db")
    peal, base = start(options, folder)
    try:
        unsummed_read, _ = timed(f"{base}/apps/{app}/campaigns/c")
        begun = time.monotonic()
        while unsummed(folder / "peal.db"):
            time.sleep(0.2)
        summing = time.monotonic() - begun
    finally:
        stop(peal)
    peal, base = start(options, folder)
    try:
        others, isOver = [], threading.Event()

        def read_others():
            while not isOver.is_set():
                others.append(timed(f"{base}/apps/{app}")[0])
                time.sleep(0.02)

        thread = threading.Thread(target=read_others)
        thread.start()
        reads = [timed(f"{base}/apps/{app}/campaigns/c") for _ in range(options.reads)]
        isOver.set()
        thread.join()
    finally:
        stop(peal)
    arms = reads[-1][1]["experiment"]["arms"]
    found = sorted((arm["users"], arm["messages"], arm["opens"]) for arm in arms.values())
    half = options.users // 2
    expected = sorted((half, half * options.days, count) for count in opened)
    if found != expected:
        sys.exit(f"the arms are {found}, not {expected}")
    if len(reads[-1][1]["experiment"]["looks"]) != min(options.days, 60):
        sys.exit("looks are missing")
    return [seconds for seconds, _ in reads], others, unsummed_read, summing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--reads", type=int, default=5)
    parser.add_argument("--limit-ms", type=float, default=1000)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        reads, others, unsummed_read, summing = measure(options, pathlib.Path(folder))
    figures = {
        "users": options.users, "days": options.days, "first_s": round(reads[0], 3),
        "later_s": round(statistics.median(reads[1:] or reads), 4),
        "others_ms_max": round(max(others, default=0) * 1000, 1), "unsummed_s": round(unsummed_read, 3),
        "summing_s": round(summing, 1)}
    print(f"experiment with {options.users} users and {options.days} days: first read {figures['first_s']} s, "
          f"later ones {figures['later_s']} s; other requests meanwhile at most {figures['others_ms_max']} ms; "
          f"before the sums {figures['unsummed_s']} s, which take {figures['summing_s']} s in the background")
    print(json.dumps(figures))
    sys.exit(1 if max(figures["first_s"], figures["later_s"]) * 1000 > options.limit_ms else 0)


if __name__ == "__main__":
    main()
