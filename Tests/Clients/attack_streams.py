"""Attacks that stay within single limits: streams that are held by the hundred, large batches, and odd addresses."""

import collections
import contextlib
import json
import secrets
import threading
import time

from attack_protocols import exchange, statuses
from attack_target import call

STREAMS = 300
STREAMS_PER_APP = 32
# What the largest batch may name: 1,000 topics for each of 180 devices is as many JSON values as a body may have.
BATCH_DEVICES, BATCH_TOPICS = 180, 1000
CONDITION_DEVICES = 1000


def held_streams(target, report):
    """Very many streams of one message's progress, which stay open until the message ends."""
    app = target.peal.app("Streams")
    schedule = {"at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))}
    message = target.peal.send(app, schedule=schedule)
    text = (
        f"GET /peal/v1/apps/{app}/messages/{message}/events HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {target.peal.admin_token}\r\n\r\n"
    ).encode()
    codes = collections.Counter()
    with contextlib.ExitStack() as held:

        def open_stream():
            connection = held.enter_context(contextlib.closing(target.connect(wait=20)))
            connection.sendall(text)
            return connection.recv(4096)[9:12].decode()

        for _ in range(STREAMS):
            codes[open_stream()] += 1
        slowest = target.health()
    report.note(
        codes == {"200": STREAMS_PER_APP, "429": STREAMS - STREAMS_PER_APP} and slowest < report.patience,
        f"{STREAMS} streams of one app: {dict(codes)}, /healthz after {slowest:.2f} s")
    end, served = time.monotonic() + 20, 0.0
    with contextlib.closing(target.connect(wait=20)) as connection:
        while time.monotonic() < end and not served:
            connection.sendall(text)
            if b" 200 " in connection.recv(4096)[:20]:
                served = 20 - (end - time.monotonic())
            else:
                time.sleep(0.5)
    report.note(served > 0, f"a stream is served {served:.1f} s after the others were closed")


def large_batches(target, report):
    """Batches of devices with as many new topics as a body can name, while another client writes."""
    app = target.peal.app("Batches")
    taken, refusals = [], []

    def register(number):
        devices = [
            {"platform": "ios", "address": secrets.token_hex(32), "topics": [f"{number}-{index}-{topic}"
             for topic in range(BATCH_TOPICS)]} for index in range(BATCH_DEVICES)]
        status, text = call(target, "POST", f"/peal/v1/apps/{app}/devices:batch", {"devices": devices})
        results = json.loads(text)["results"] if status == 200 else []
        refusals.append([each["error"].get("field") for each in results if "error" in each])

    attackers = [threading.Thread(target=register, args=(number,)) for number in range(2)]
    for each in attackers:
        each.start()
    while any(each.is_alive() for each in attackers):
        start = time.monotonic()
        status, _ = call(target, "PUT", f"/peal/v1/apps/{app}/topics/other", {})
        taken.append(time.monotonic() - start if status == 200 else float("inf"))
        time.sleep(0.02)
    named = all(fields and all(field.endswith("].topics") for field in fields) for fields in refusals)
    report.note(
        len(refusals) == len(attackers) and named,
        f"{len(attackers)} batches with {BATCH_DEVICES * BATCH_TOPICS:,} new topics: the rest of each is refused by name")
    report.note(max(taken) < 2 * report.patience, f"another write meanwhile took at most {max(taken):.2f} s")


def large_conditions(target, report):
    """Messages whose conditions test very many properties of each device, while another client writes."""
    app = target.peal.app("Conditions")
    devices = [
        {"platform": "ios", "address": secrets.token_hex(32), "topics": ["all"], "attributes": {"n": 1},
         "locale": f"en-x-{number}"} for number in range(CONDITION_DEVICES)]
    call(target, "POST", f"/peal/v1/apps/{app}/devices:batch", {"devices": devices})
    values = ["%060d" % number for number in range(900)]
    call(target, "PUT", f"/peal/v1/apps/{app}/segments/values", {"where": {"attribute": {"name": "n", "in": values}}})
    wheres = {
        "12,000 values": [{"attribute": {"name": "n", "in": list(range(10, 1010))}} for _ in range(12)],
        "rows in 80 places": [
            {"and": [{"topic": "all"}, {"attribute": {"name": "n", "is": -number}}]} for number in range(80)],
        "250 locales": [{"locale": f"en-y-{number}"} for number in range(250)],
        "250 segments of 60 KB": [{"segment": "values"}] * 250,
    }
    answers, taken, ended = {}, [], threading.Event()

    def write():
        while not ended.is_set():
            start = time.monotonic()
            status, _ = call(target, "PUT", f"/peal/v1/apps/{app}/topics/other", {})
            taken.append(time.monotonic() - start if status == 200 else float("inf"))
            time.sleep(0.02)

    writer = threading.Thread(target=write)
    writer.start()
    for name, parts in wheres.items():
        body = {"audience": {"where": {"or": parts}}, "content": {"body": "x"}}
        answers[name], _ = call(target, "POST", f"/peal/v1/apps/{app}/messages", body)
    ended.set()
    writer.join()
    report.note(list(answers.values()) == [202, 202, 202, 400], f"messages with large conditions: {answers}")
    report.note(max(taken) < report.patience, f"another write meanwhile took at most {max(taken):.2f} s")


def odd_addresses(target, report):
    """Requests without one valid host, and paths that would leave their folder."""
    get = b"GET /healthz HTTP/1.1\r\n%s\r\n"
    hosts = [b"", b"Host: a\r\nHost: a\r\n", b"Host: a\r\nhost: b\r\n", b"Host: a b\r\n", b"Host: a/b\r\n", b"Host: u@a\r\n"]
    wrong = {host: codes for host in hosts if (codes := statuses(exchange(target, get % host, wait=3))) != [400]}
    report.note(not wrong, f"{len(hosts)} requests without exactly one valid Host get 400: {wrong or 'all'}")
    ways = ["..", "%2e%2e", "%2E%2E", "..%2f", "%2e%2e%2f", "..%5c", "..;", "%c0%ae%c0%ae", "%00", "....//", "\\.."]
    starts = ["", "/sdk", "/console", "/console/assets", "/docs", "/peal/v1/apps", "/peal/device/v1", "/v1"]
    ends = ["etc/passwd", "peal.db", "peal.db.key"]
    bad = {}
    for start in starts:
        for way in ways:
            for end in ends:
                path = f"{start}/{way}/{way}/{way}/{way}/{end}".encode()
                text = b"GET %s HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nConnection: close\r\n\r\n" % (
                    path, target.peal.admin_token.encode())
                answer = exchange(target, text, wait=5)
                codes = statuses(answer)
                if not set(codes) <= {303, 400, 401, 404, 405} or b"root:" in answer or b"SQLite format" in answer:
                    bad[path] = codes
    count = len(starts) * len(ways) * len(ends)
    report.note(not bad, f"{count} paths with dots, slashes and escapes lead to no file: {bad or 'all'}")
