#!/usr/bin/env python3
"""Measures what the server promises phones: fast claims, and fallbacks that are on time.

Starts `peal-sim` and `peal serve` on loopback.

- `claims`: with `--open` open messages in the database, phones claim `--claims` of them over HTTP, `--rate` a second on
  eight connections. Prints how long a claim takes.
- `fallbacks`: `--users` users have messages for a good moment whose windows end evenly spread over one minute, and no
  phone claims any. Prints how late the alerts reach the push network, and whether one was early.

The figures are repeated as JSON on the last line. Exits with 1 if a claim was refused or an alert was lost, repeated or
early, if claims exceed 10 ms (p99), or if less than 99.9 % of the alerts arrived within 60 s of their time.

Usage: Benchmarks/moments.py [--binaries .build/release] [--rows claims,fallbacks]
"""
import argparse
import http.client
import json
import pathlib
import queue
import sys
import tempfile
import threading
import time
import uuid

from fanout import ROOT, call
from isolation import Setup, clone_message, count, in_seconds, percentile, restarted

ROWS = ["claims", "fallbacks"]
CONNECTIONS = 8
# The server allows 60 registrations a minute for each key, and 240 requests a minute for each device.
PHONES_PER_KEY = 50
CLAIMS_PER_PHONE = 50
USERS_PER_MESSAGE = 1000
MINUTE = 60_000
# Milliseconds to schedule one message to these users.
SCHEDULING_MAX = 600
LATE_MAX = 60_000


def post(connection, path, body, token):
    connection.request("POST", path, json.dumps(body), {
        "Authorization": f"Bearer {token}", "Content-Type": "application/json"})
    answer = connection.getresponse()
    return answer.status, json.loads(answer.read() or b"null")


def phones(setup, app, number):
    """Registers phones `phone-0` and so on with the device API; returns their ids and tokens."""
    call("PATCH", app, {"settings": {"device": {"verify_user_id": False}}})
    found, connection, key = [], http.client.HTTPConnection("127.0.0.1", setup.port, timeout=60), None
    for n in range(number):
        if n % PHONES_PER_KEY == 0:
            key = call("POST", f"{app}/keys", {"dialect": "device", "name": f"phones {n}"})["token"]
        status, body = post(connection, "/peal/device/v1/register", {
            "platform": "ios", "address": f"{n + 1000:064x}", "user_id": f"phone-{n}",
            "capabilities": {"nse_ledger": True, "background": True, "alerts": True}}, key)
        if status != 201:
            sys.exit(f"refused: {status} {body}")
        found.append((body["device"], body["device_token"]))
    connection.close()
    return found


def claim_all(setup, orders, rate):
    """Sends the claims, `rate` a second; returns the milliseconds that each took."""
    waiting, taken, failures = queue.SimpleQueue(), [], []

    def work():
        connection = http.client.HTTPConnection("127.0.0.1", setup.port, timeout=60)
        while (order := waiting.get()) is not None:
            message, (device, token) = order
            body = {"device": device, "claim_id": str(uuid.uuid4()), "rev": 1, "score": 0.1}
            begun = time.perf_counter()
            status, answer = post(connection, f"/peal/device/v1/messages/{message}/claim", body, token)
            taken.append((time.perf_counter() - begun) * 1000)
            if status != 200 or answer["granted"] is not True:
                failures.append(f"{status} {answer}")
        connection.close()

    threads = [threading.Thread(target=work) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    for number, order in enumerate(orders):
        time.sleep(max(0.0, begun + number / rate - time.monotonic()))
        waiting.put(order)
    for _ in threads:
        waiting.put(None)
    for thread in threads:
        thread.join()
    if failures:
        sys.exit(f"{len(failures)} claims were refused: {failures[0]}")
    return sorted(taken)


def claims(setup):
    options = setup.options
    app, _ = setup.make_app("phones", [1])
    known = phones(setup, app, -(-options.claims // CLAIMS_PER_PHONE))
    message = call("POST", f"{app}/messages", {
        "audience": {"users": ["user-1"]}, "content": {"title": "Now?"}, "method": "context_aware",
        "schedule": {"window": {"until": in_seconds(36_000)}}})["id"]
    setup.stop_server()
    # The first messages are for the phones, the others for users of whom nothing is known.
    clone_message(setup, message, count(options, options.open), {
        "user_id": f"CASE WHEN n <= {options.claims} THEN 'phone-' || (n % {len(known)}) "
                   "ELSE t.user_id || '-' || n END"})
    restarted(setup, app)
    head = uuid.UUID(message).bytes[:8]
    orders = [(uuid.UUID(bytes=head + b"%08d" % n), known[n % len(known)]) for n in range(1, options.claims + 1)]
    taken = claim_all(setup, orders, options.rate)
    figures = {
        "open": count(options, options.open), "claims": len(taken), "rate": options.rate,
        "p50_ms": percentile(taken, 0.5), "p99_ms": percentile(taken, 0.99), "p999_ms": percentile(taken, 0.999),
        "max_ms": round(taken[-1], 1)}
    print(f"claims: {figures['claims']} with {figures['open']} open messages, {options.rate:g} a second: "
          f"p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms, p99.9 {figures['p999_ms']} ms, "
          f"at most {figures['max_ms']} ms", flush=True)
    return figures, figures["p99_ms"] < 10


def arrivals(setup, deadlines, expected):
    """When the alerts of the messages arrived, in milliseconds after their deadlines."""
    late, seen, after = [], set(), 0
    end = time.monotonic() + (max(deadlines.values()) / 1000 - time.time()) + 180
    while len(late) < expected and time.monotonic() < end:
        items = setup.control("GET", f"/inbox?limit=10000&after={after}")["items"]
        for item in items:
            message = item["headers"].get("apns-collapse-id")
            if message not in deadlines:
                continue
            if (message, item["device"]) in seen:
                sys.exit(f"sent twice: {item}")
            seen.add((message, item["device"]))
            late.append(item["at"] - deadlines[message])
        if items:
            after = items[-1]["seq"]
        else:
            time.sleep(0.5)
    return sorted(late)


def fallbacks(setup):
    options = setup.options
    app = f"{setup.base}/apps/" + call("POST", f"{setup.base}/apps", {"name": "Phones"})["id"]
    call("PUT", f"{app}/credentials/apns/production", setup.credential())
    users = count(options, options.users)
    for start in range(0, users, USERS_PER_MESSAGE):
        call("POST", f"{app}/devices:batch", {"devices": [
            {"platform": "ios", "address": f"{n + 1:064x}", "user_id": f"user-{n}"}
            for n in range(start, min(start + USERS_PER_MESSAGE, users))]})
    # Messages are scheduled before the first window ends.
    starts = range(0, users, USERS_PER_MESSAGE)
    first = int(time.time() * 1000) + 20_000 + SCHEDULING_MAX * len(starts)
    deadlines = {}
    for number, start in enumerate(starts):
        if time.time() * 1000 > first - 10_000:
            sys.exit("scheduling takes too long on this machine")
        deadline = first + number * MINUTE // len(starts)
        until = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(deadline / 1000)) + f".{deadline % 1000:03}Z"
        message = call("POST", f"{app}/messages", {
            "audience": {"users": [f"user-{n}" for n in range(start, min(start + USERS_PER_MESSAGE, users))]},
            "content": {"title": "Now?"}, "method": "context_aware", "schedule": {"window": {"until": until}}})
        deadlines[message["id"]] = deadline
    late = arrivals(setup, deadlines, users)
    if len(late) != users:
        sys.exit(f"only {len(late)} of {users} alerts arrived")
    in_time = sum(value <= LATE_MAX for value in late) / users
    figures = {
        "users": users, "early": sum(value < 0 for value in late), "in_time": round(in_time, 5),
        "p50_s": round(late[users // 2] / 1000, 2), "p999_s": round(late[int(users * 0.999)] / 1000, 2),
        "max_s": round(late[-1] / 1000, 2)}
    print(f"fallbacks: {users} in one minute, {figures['early']} early, {100 * in_time:.2f} % within 60 s: "
          f"p50 {figures['p50_s']} s, p99.9 {figures['p999_s']} s, at most {figures['max_s']} s late", flush=True)
    return figures, figures["early"] == 0 and in_time >= 0.999


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--open", type=int, default=1_000_000)
    parser.add_argument("--claims", type=int, default=10_000)
    parser.add_argument("--rate", type=float, default=200)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--scale", type=float, default=1, help="factor for --open and --users")
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    parser.add_argument("--directory", help="where the databases are; default: a temporary one")
    options = parser.parse_args()
    result, holds = {}, True
    for row in options.rows.split(","):
        with tempfile.TemporaryDirectory(prefix="peal-bench-", dir=options.directory) as folder:
            setup = Setup(options, pathlib.Path(folder))
            try:
                result[row], is_kept = {"claims": claims, "fallbacks": fallbacks}[row](setup)
            finally:
                setup.stop()
        holds = holds and is_kept
    print(json.dumps(result))
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
