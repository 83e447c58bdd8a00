#!/usr/bin/env python3
"""Sends random requests to a server that it starts itself, and prints how its memory develops. Exits with 1 if it does
not stay flat, or if a request was answered with a 5xx other than 503.

    python3 Tests/Clients/fuzz_memory.py [--seconds 3600] [--seed 1] [--program .build/release/peal]
"""

import argparse
import collections
import contextlib
import gzip
import http.client
import json
import os
import pathlib
import random
import re
import secrets
import socket
import statistics
import sys
import tempfile
import threading
import time
import urllib.parse

THREADS = 4
# Memory in the last quarter may exceed that of the second quarter by this share and these MB.
GROWTH_SHARE, GROWTH_MEGABYTES = 0.1, 8
METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS", "TRACE", "BREW"]
HOSTILE = ["", " ", "\x00", "ä" * 300, "../..", "%00", "1e999", "true", "null", "😀", "a" * 5000, "-1", "NaN", "[[[["]


class Fuzzer:
    """One client with a connection of its own."""

    def __init__(self, fixture, seed, counts):
        self.random = random.Random(seed)
        self.url = urllib.parse.urlsplit(fixture.peal.url)
        self.app = fixture.own
        self.headers = list(fixture.authorizations().values())
        self.document = fixture.document()
        operations = [
            (path, method.upper(), operation)
            for path, item in self.document["paths"].items() for method, operation in item.items()
        ]
        # Without its app or the token, nothing else would be tested.
        kept = ("deleteApp", "rotateAdminToken", "watchMessage")
        self.operations = [each for each in operations if each[2].get("operationId") not in kept]
        self.kept = {(path, method) for path, method, operation in operations if operation.get("operationId") in kept}
        self.counts = counts
        self.connection = None

    def run(self, end):
        while time.monotonic() < end:
            step = self.random.random()
            try:
                if step < 0.02:
                    self.garbage()
                elif step < 0.12:
                    self.register()
                else:
                    self.call()
            except (OSError, http.client.HTTPException):
                self.counts["broken"] += 1
                self.close()
        self.close()

    def close(self):
        if self.connection:
            self.connection.close()
        self.connection = None

    def send(self, method, path, body, headers):
        if self.connection is None:
            self.connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=30)
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        answer.read()
        self.counts[answer.status] += 1
        if answer.headers.get("Connection", "").lower() == "close":
            self.close()

    def call(self):
        """An operation of the document, or one beside it, as somebody."""
        path, method, operation = self.random.choice(self.operations)
        if self.random.random() < 0.1:
            method = self.random.choice([other for other in METHODS if (path, other) not in self.kept])
        path = re.sub(r"\{(\w+)\}", lambda match: urllib.parse.quote(self.segment(match[1]), safe=""), path)
        if self.random.random() < 0.3:
            path += "?" + urllib.parse.urlencode({self.word(): self.text() for _ in range(self.random.randint(1, 3))})
        headers = {"Content-Type": self.random.choice(["application/json"] * 9 + [self.word()])}
        headers |= self.authorization()
        if self.random.random() < 0.1:
            headers["Idempotency-Key"] = secrets.token_hex(8)
        body = None
        if method not in ("GET", "HEAD"):
            body = self.body(operation)
            if self.random.random() < 0.1:
                body, headers["Content-Encoding"] = gzip.compress(body), self.random.choice(["gzip", "br"])
        self.send(method, path, body, headers)

    def authorization(self):
        choice = self.random.random()
        if choice < 0.7:
            return self.random.choice(self.headers)
        if choice < 0.9:
            return {"Authorization": self.random.choice(["Bearer ", "Token ", "Basic "]) + secrets.token_hex(16)}
        return {}

    def register(self):
        """Devices on many hosts, for users, topics and locales that nobody has had: what caches are kept by."""
        name = secrets.token_hex(6)
        device = self.random.choice(
            [
                {"platform": "ios", "address": secrets.token_hex(32)},
                {"platform": "android", "address": secrets.token_hex(40)},
                {"platform": "windows", "address": f"https://{name}.notify.windows.com/?token={name}"},
                {"platform": "windows_phone", "address": f"https://{name}.notify.live.net/u/{name}"},
            ]
        )
        device |= {"user_id": name, "topics": [name], "locale": f"de-x-{name[:8]}", "time_zone": f"Etc/{name}"}
        headers = {"Content-Type": "application/json", **self.headers[0]}
        self.send("POST", f"/peal/v1/apps/{self.app}/devices", json.dumps(device).encode(), headers)
        message = {"audience": {"users": [name]}, "content": {"title": name, "body": self.text()}}
        self.send("POST", f"/peal/v1/apps/{self.app}/messages", json.dumps(message).encode(), headers)

    def garbage(self):
        """Bytes that are no HTTP."""
        with socket.create_connection((self.url.hostname, self.url.port), timeout=10) as connection:
            with contextlib.suppress(OSError):
                connection.sendall(self.random.randbytes(self.random.randint(1, 4000)))
                connection.settimeout(1)
                connection.recv(4096)
        self.counts["garbage"] += 1

    # Values

    def word(self):
        return self.random.choice(["limit", "cursor", "state", "a", secrets.token_hex(4)])

    def text(self):
        return self.random.choice([*HOSTILE, secrets.token_hex(8), "news"])

    def segment(self, name):
        if name == "app":
            return self.app
        return self.random.choice([secrets.token_hex(4), "news", "ann", "production", "sandbox", *HOSTILE[3:]])

    def body(self, operation):
        content = operation.get("requestBody", {}).get("content", {})
        schema = next(iter(content.values()), {}).get("schema", {})
        choice = self.random.random()
        if choice < 0.05:
            return self.random.randbytes(self.random.randint(0, 2000))
        if choice < 0.07:
            return b"[" * self.random.randint(1, 100_000)
        if choice < 0.09:
            return json.dumps(["x" * 100] * self.random.randint(1, 5000)).encode()
        return json.dumps(self.value(schema, 0)).encode()

    def value(self, schema, depth):
        """A value that the schema may allow, or not."""
        if self.random.random() < 0.05 or depth > 6:
            return self.random.choice([None, True, 0, -1, 1.5, self.text(), [], {}, [self.text()]])
        if "$ref" in schema:
            schema = self.document["components"]["schemas"].get(schema["$ref"].split("/")[-1], {})
        for word in ("anyOf", "oneOf"):
            if word in schema:
                return self.value(self.random.choice(schema[word]), depth + 1)
        if "allOf" in schema:
            schema = {**schema, **schema["allOf"][0]}
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        if "properties" in schema:
            required = schema.get("required", [])
            return {
                name: self.value(inner, depth + 1)
                for name, inner in schema["properties"].items()
                if name in required or self.random.random() < 0.3
            }
        kind = schema.get("type", "string")
        kind = self.random.choice(kind) if isinstance(kind, list) else kind
        if kind == "array":
            return [self.value(schema.get("items", {}), depth + 1) for _ in range(self.random.randint(0, 3))]
        if kind == "object":
            return {self.word(): self.text()}
        return {"integer": self.random.randint(-1, 100), "number": 0.5, "boolean": True, "null": None}.get(kind, self.text())


def memory(process, name="RssAnon"):
    """In MB. Pages of files, such as the database's, are not counted: the system takes them back."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024


def run(fixture, seconds, seed):
    """Fuzzes the server of `fixture`. Returns its findings, of which there should be none."""
    counts = collections.Counter()
    start = time.monotonic()
    end = start + seconds
    threads = [
        threading.Thread(target=Fuzzer(fixture, seed * THREADS + number, counts).run, args=[end], daemon=True)
        for number in range(THREADS)
    ]
    for thread in threads:
        thread.start()
    samples = []
    print(f"seed {seed}\n seconds  requests  own memory in MB  resident in MB", flush=True)
    rows = 0
    while (now := time.monotonic()) < end and fixture.peal.is_running:
        samples.append((now - start, memory(fixture.peal.process)))
        if now - start >= rows * seconds / 30:
            rows += 1
            resident = memory(fixture.peal.process, "VmRSS")
            print(f"{now - start:8.0f}  {sum(counts.values()):8}  {samples[-1][1]:16.1f}  {resident:14.1f}", flush=True)
        time.sleep(min(1, seconds / 100))
    for thread in threads:
        thread.join(timeout=60)
    findings = []
    if not fixture.peal.is_running:
        return ["the server has ended"]

    def quarter(number):
        within = [size for at, size in samples if number * seconds / 4 <= at < (number + 1) * seconds / 4]
        return statistics.median(within)

    second, last = quarter(1), quarter(3)
    print(f"median of the second quarter {second:.1f} MB, of the last {last:.1f} MB; {dict(counts)}")
    if last > second * (1 + GROWTH_SHARE) + GROWTH_MEGABYTES:
        findings.append(f"memory grew from {second:.1f} to {last:.1f} MB")
    failures = {status: count for status, count in counts.items() if isinstance(status, int) and status >= 500}
    failures.pop(503, None)
    if failures:
        findings.append(f"answers with {failures}")
    if not sum(count for status, count in counts.items() if isinstance(status, int) and status < 300):
        findings.append("no request was accepted")
    return findings


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--program", default=".build/release/peal")
    parser.add_argument("--simulator", default=".build/release/peal-sim")
    options = parser.parse_args()
    os.environ["PEAL"] = str(pathlib.Path(options.program).resolve())
    os.environ["PEAL_SIM"] = str(pathlib.Path(options.simulator).resolve())
    from openapi_fixture import OpenAPIFixture  # It reads the programs from the environment.

    with tempfile.TemporaryDirectory() as directory:
        fixture = OpenAPIFixture(pathlib.Path(directory))
        try:
            findings = run(fixture, options.seconds, options.seed)
        finally:
            fixture.stop()
    print("\n".join(findings) or "Memory stayed flat.")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
