#!/usr/bin/env python3
"""Attacks servers that it starts itself, and prints what it tried and what held. Exits with 1 if something did not.

    python3 Tests/Clients/attack.py [--seconds 120] [--program .build/release/peal]
"""

import argparse
import base64
import concurrent.futures
import contextlib
import json
import os
import pathlib
import re
import resource
import socket
import ssl
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

from certificates import write_certificate
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

DESCRIPTORS = 300
SILENT = 600
BODY_BYTES = 4 * 1024 * 1024
MEMORY_GROWTH_MAX = 150
GUESSES = 200
MAGIC = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
EMPTY_SETTINGS = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"


class Report:
    """Collects what was tried; a finding that does not hold makes the whole attack fail."""

    def __init__(self, patience):
        self.failures = []
        # How many seconds an answer may take.
        self.patience = patience

    def note(self, holds, text):
        print(f"{'held  ' if holds else 'FAILED'}  {text}", flush=True)
        if not holds:
            self.failures.append(text)


class Target:
    """A server under attack: a `Peal` of peal_server, reached by plain sockets."""

    def __init__(self, peal, tls=False):
        self.peal = peal
        self.address = (urllib.parse.urlsplit(peal.url).hostname, urllib.parse.urlsplit(peal.url).port)
        self.tls = tls

    def connect(self, protocols=("http/1.1",), wait=60):
        connection = socket.create_connection(self.address, timeout=wait)
        if not self.tls:
            return connection
        context = ssl.create_default_context()
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(list(protocols))
        return context.wrap_socket(connection, server_hostname="localhost")

    def request(self, text, wait=30):
        """Sends bytes on a connection of its own. Returns everything that comes back."""
        with self.connect(wait=wait) as connection:
            connection.sendall(text)
            return read_all(connection)

    def health(self):
        """How long a health check took; infinite if it failed."""
        start = time.monotonic()
        try:
            answer = self.request(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", wait=10)
        except OSError:
            return float("inf")
        return time.monotonic() - start if answer.startswith(b"HTTP/1.1 200") else float("inf")

    def memory(self, name="VmRSS"):
        status = pathlib.Path(f"/proc/{self.peal.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024


def read_all(connection):
    received = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            received += piece
    return received


def seconds_open(connection, patience):
    """For how long the server keeps a connection on which nothing happens; infinite beyond `patience`."""
    start = time.monotonic()
    connection.settimeout(patience)
    try:
        while connection.recv(65536):
            connection.settimeout(max(0.1, patience - (time.monotonic() - start)))
    except TimeoutError:
        return float("inf")
    except OSError:
        pass
    return time.monotonic() - start


def seconds_written(connection, patience):
    """For how long the server takes bytes after it has ended its half of a connection; infinite beyond `patience`."""
    start = time.monotonic()
    read_all(connection)
    with contextlib.suppress(OSError):
        while time.monotonic() - start < patience:
            connection.send(b" ")
            time.sleep(0.2)
        return float("inf")
    return time.monotonic() - start


def dribble(connection, seconds):
    """Sends a byte every half second."""
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            connection.send(b" ")
            time.sleep(0.5)


# The attacks


def silent_connections(target, seconds, report):
    """Twice as many silent connections as the server may have files, renewed as they are closed."""
    held, surplus, slowest, failed, checks = [], 0, 0.0, 0, 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and target.peal.is_running:
            while len(held) < SILENT:
                try:
                    connection = socket.create_connection(target.address, timeout=2)
                except OSError:
                    break
                connection.setblocking(False)
                held.append(connection)
            took = target.health()
            checks += 1
            failed += took == float("inf")
            slowest = max(slowest, took if took != float("inf") else 0)
            still = []
            for connection in held:
                try:
                    answer = connection.recv(4096)
                except BlockingIOError:
                    still.append(connection)
                    continue
                except OSError:
                    answer = b""
                surplus += answer.startswith(b"HTTP/1.1 503") and b"Connection: close" in answer
                connection.close()
            held = still
            time.sleep(0.2)
    finally:
        for connection in held:
            connection.close()
    report.note(target.peal.is_running, f"{SILENT} silent connections for {seconds} s: the process lives")
    report.note(surplus > 0, f"surplus connections got 503 and Connection: close ({surplus} times)")
    report.note(
        failed == 0 and slowest < report.patience,
        f"/healthz answered {checks - failed} of {checks} times, at most after {slowest:.2f} s",
    )


def long_archive(count_bytes):
    """An archive whose private key asks for an enormous number of iterations: only the structure is valid."""

    def der(tag, *parts):
        body = b"".join(parts)
        size = len(body)
        length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
        return bytes([tag]) + length + body

    def oid(text):
        arcs = [int(part) for part in text.split(".")]
        encoded = bytes([arcs[0] * 40 + arcs[1]])
        for arc in arcs[2:]:
            piece = [arc & 0x7F]
            while arc := arc >> 7:
                piece.insert(0, 0x80 | arc & 0x7F)
            encoded += bytes(piece)
        return der(0x06, encoded)

    derivation = der(0x30, oid("1.2.840.113549.1.5.12"), der(0x30, der(0x04, b"saltsalt"), der(0x02, count_bytes)))
    cipher = der(0x30, oid("2.16.840.1.101.3.4.1.42"), der(0x04, bytes(16)))
    algorithm = der(0x30, oid("1.2.840.113549.1.5.13"), der(0x30, derivation, cipher))
    key = der(0x30, algorithm, der(0x04, bytes(64)))
    bag = der(0x30, oid("1.2.840.113549.1.12.10.1.2"), der(0xA0, key))
    data = oid("1.2.840.113549.1.7.1")
    inner = der(0x30, der(0x30, data, der(0xA0, der(0x04, der(0x30, bag)))))
    return der(0x30, der(0x02, b"\x03"), der(0x30, data, der(0xA0, der(0x04, inner))))


def archives(target, report):
    peal, app = target.peal, target.peal.app("Archives", bundle_id="com.example.attack")
    path = f"/peal/v1/apps/{app}/credentials/apns/production"

    def put(data):
        body = {
            "kind": "p12", "bundle_id": "com.example.attack", "passphrase": "secret",
            "data": base64.b64encode(data).decode(),
        }
        start = time.monotonic()
        status, text = call(target, "PUT", path, body)
        return status, text, time.monotonic() - start

    status, text, took = put(long_archive(b"\x7f\xff\xff\xff"))
    report.note(
        status == 400 and "iterations" in text and took < report.patience,
        f"an archive that asks for 2,147,483,647 iterations: {status} after {took:.2f} s, naming them",
    )
    status, text, took = put(long_archive(b"\x05\xf5\xe1\x00"))
    report.note(status == 400 and took < report.patience, f"one that asks for 100,000,000: {status} after {took:.2f} s")
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        pending = [pool.submit(put, long_archive(b"\x0f\x42\x40")) for _ in range(8)]
        slowest = 0.0
        while not all(one.done() for one in pending):
            slowest = max(slowest, target.health())
            time.sleep(0.05)
    statuses = {one.result()[0] for one in pending}
    report.note(
        slowest < report.patience and statuses <= {400, 429, 503},
        f"8 archives of 1,000,000 iterations at once: {sorted(statuses)}, /healthz at most after {slowest:.2f} s",
    )
    report.note(peal.is_running, "the process lives")


def slow_clients(target, deadlines, report):
    """Clients that stop in the middle, each on a connection of its own."""
    kind = "TLS" if target.tls else "plain"
    margin = 4

    def judge(name, limit, start, measure=seconds_open):
        connection = start()
        with contextlib.closing(connection):
            took = measure(connection, limit + margin)
        return name, limit, took

    def sending(*pieces, protocols=("http/1.1",)):
        def start():
            connection = target.connect(protocols)
            for piece in pieces:
                connection.sendall(piece)
            return connection

        return start

    post = f"POST /peal/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.peal.admin_token}\r\n".encode()
    post += b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    refused = b"POST /peal/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: close\r\n"
    refused += b"Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    def dribbling():
        connection = target.connect()
        connection.sendall(post)
        threading.Thread(target=dribble, args=(connection, limit_of_dribble + margin), daemon=True).start()
        return connection

    limit_of_dribble = deadlines["grace"] + 2
    attacks = [
        ("sends a body byte by byte", limit_of_dribble, dribbling),
        ("says nothing", deadlines["head"], sending()),
        ("sends half a head", deadlines["head"], sending(b"GET /healthz HTTP/1.1\r\nHo")),
        ("stops within a body", deadlines["grace"] + 1, sending(post, b"{")),
        ("sends a refused body on", deadlines["grace"] + 1, sending(refused, b" " * 300_000), seconds_written),
        ("stays after an answer", deadlines["idle"], sending(whole)),
        ("sends half a second head", deadlines["idle"], sending(whole, b"GET /he")),
    ]
    if target.tls:
        attacks += [
            ("starts no handshake", deadlines["handshake"], lambda: socket.create_connection(target.address)),
            (
                "speaks HTTP/2 and says nothing", deadlines["idle"] + deadlines["close"],
                sending(MAGIC, EMPTY_SETTINGS, protocols=("h2",)),
            ),
        ]
    with concurrent.futures.ThreadPoolExecutor(len(attacks) + 1) as pool:
        if target.tls:
            stream = pool.submit(open_stream, target, limit_of_dribble, margin)
        for name, limit, took in pool.map(lambda attack: judge(*attack), attacks):
            report.note(took <= limit + margin, f"{kind}: a client that {name} is gone after {took:.1f} s ({limit} s)")
        if target.tls:
            took = stream.result()
            report.note(
                took <= limit_of_dribble + margin,
                f"{kind}: an HTTP/2 request without its body ends after {took:.1f} s ({limit_of_dribble} s)",
            )


def open_stream(target, limit, margin):
    """How long an HTTP/2 request without a body stays open."""

    def text(prefix, value):
        return prefix + bytes([len(value)]) + value

    # HPACK (RFC 7541): POST, https, and literals whose names are in the static table.
    block = b"\x83\x87" + text(b"\x04", b"/peal/v1/apps") + text(b"\x01", b"localhost")
    block += text(b"\x0f\x08", f"Bearer {target.peal.admin_token}".encode()) + text(b"\x0f\x10", b"application/json")
    head = len(block).to_bytes(3, "big") + b"\x01\x04" + (1).to_bytes(4, "big") + block
    start = time.monotonic()
    with contextlib.closing(target.connect(("h2",))) as connection, contextlib.suppress(OSError):
        connection.settimeout(limit + margin)
        connection.sendall(MAGIC + EMPTY_SETTINGS + head)
        received = b""
        while piece := connection.recv(65536):
            received += piece
            while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3], "big"):
                # An answer or a reset of stream 1.
                if received[3] in (1, 3) and received[5:9] == (1).to_bytes(4, "big"):
                    return time.monotonic() - start
                received = received[9 + int.from_bytes(received[:3], "big") :]
    return float("inf")


def call(target, method, path, body=None, headers=None):
    """A request on the native API with the admin token. Returns status and text."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Authorization": f"Bearer {target.peal.admin_token}"}
    request = urllib.request.Request(target.peal.url + path, data, {**fields, **(headers or {})}, method=method)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, str(error.headers) + error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def strangers_bodies(target, report):
    """Bodies that are expensive to parse, from callers that nobody knows."""
    before = target.memory()
    filler = b'{"app_id":"x","user_token":"' + b"0" * 64 + b'","audience":[' + b"[]," * (BODY_BYTES // 3 - 64) + b"[]]}"

    def post(_):
        start = time.monotonic()
        status, _ = call(target, "POST", "/api/v1/push/send", filler, {"Authorization": ""})
        return status, time.monotonic() - start

    slowest_health = 0.0
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        pending = [pool.submit(post, number) for number in range(12)]
        while not all(one.done() for one in pending):
            slowest_health = max(slowest_health, target.health())
            time.sleep(0.05)
    statuses = {one.result()[0] for one in pending}
    slowest = max(one.result()[1] for one in pending)
    growth = target.memory("VmHWM") - before
    # A refused client may see the connection close while it is still sending.
    report.note(
        statuses <= {0, 401, 413, 429} and slowest < report.patience,
        f"12 bodies of 4 MiB from strangers: {sorted(statuses)}, at most after {slowest:.2f} s",
    )
    report.note(growth < MEMORY_GROWTH_MAX, f"memory grew by {growth:.0f} MB (at most {MEMORY_GROWTH_MAX})")
    report.note(slowest_health < report.patience, f"/healthz meanwhile at most after {slowest_health:.2f} s")
    values = b'{"name":[' + b"1," * 1_000_000 + b"1]}"
    status, text = call(target, "POST", "/peal/v1/apps", values)
    report.note(status == 413 and "values" in text, f"a million JSON values with a valid key: {status}")


def taken_ids(target, report):
    peal = target.peal
    for name in ["devtodev_app_id", "richie_app_id"]:
        victim = peal.app("Victim", **{name: f"victim-{name}"})
        thief = peal.app("Thief")
        status, text = call(target, "PATCH", f"/peal/v1/apps/{thief}", {name: f"victim-{name}"})
        report.note(status == 409 and '"conflict"' in text, f"an app that takes another's {name}: {status}")
        status, _ = call(target, "PATCH", f"/peal/v1/apps/{victim}", {name: f"victim-{name}"})
        report.note(status == 200, f"the owner may state its own again: {status}")


def guesses(target, report):
    call(target, "GET", "/peal/v1/apps")
    answers = [
        call(target, "GET", "/peal/v1/apps", headers={"Authorization": f"Bearer guess-{number}"})
        for number in range(GUESSES)
    ]
    statuses = [status for status, _ in answers]
    limited = statuses.count(429)
    report.note(limited > 0, f"{GUESSES} guesses of a key: {statuses.count(401)} times 401, {limited} times 429")
    report.note(
        all("retry-after" in text.lower() for status, text in answers if status == 429), "each 429 has Retry-After"
    )
    status, _ = call(target, "GET", "/peal/v1/apps")
    report.note(status == 200, f"a client that authenticated before is still served: {status}")
    status, text = call(target, "GET", "/metrics")
    refused = re.search(r"^peal_authentication_refused_total (\d+)", text, re.M)
    report.note(status == 200 and bool(refused) and int(refused[1]) >= limited, "the metrics count the refusals")
    report.note("authentication failed too often" in target.peal.log, "the log warns")


def keys(target, report):
    """A key that takes more rights than it has, after it was revoked too, and what the audit log knows of it."""
    app = target.peal.app("Keys")
    made = json.loads(call(target, "POST", f"/peal/v1/apps/{app}/keys", {"dialect": "native", "scopes": ["read"]})[1])
    own = {"Authorization": f"Bearer {made['token']}"}
    tries = [
        ("POST", "/peal/v1/admins", {"name": "me"}), ("GET", "/peal/v1/audit", None), ("GET", "/peal/v1/admins", None),
        ("POST", f"/peal/v1/apps/{app}/keys", {"dialect": "native", "scopes": ["manage"]}),
        ("DELETE", f"/peal/v1/apps/{app}", None), ("GET", f"/peal/v1/apps/{target.peal.app('Other')}", None),
    ]
    statuses = [call(target, method, path, body, own)[0] for method, path, body in tries]
    report.note(set(statuses) == {403}, f"a key that only reads asks for more: {statuses}")
    _, text = call(target, "GET", f"/peal/v1/apps/{app}/audit")
    refused = [row for row in json.loads(text)["items"] if row["actor"] == made["id"] and row["outcome"] != "ok"]
    report.note(
        bool(refused) and all(row["address"] and row["request_id"] for row in refused),
        f"the audit log has {len(refused)} refusals of the key, with address and request id")
    call(target, "DELETE", f"/peal/v1/apps/{app}/keys/{made['id']}")
    status, _ = call(target, "GET", f"/peal/v1/apps/{app}", headers=own)
    report.note(status == 401, f"after the key was revoked: {status}")


def signing_key():
    return rsa.generate_private_key(public_exponent=65537, key_size=2048).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()).decode()


def aims(target, report):
    """Credentials and webhooks that aim the server at others, and files that others could read."""
    app = target.peal.app("Aims")
    loose = [
        f"{path.name} {path.stat().st_mode & 0o777:o}" for path in target.peal.directory.rglob("peal.db*")
        if path.stat().st_mode & 0o077]
    report.note(not loose, f"database files that others can read: {loose or 'none'}")
    urls = [
        "http://a.example/", "https://127.0.0.1/", "https://[::1]/", "https://169.254.169.254/latest/",
        "https://a.example:8443/", "https://0x7f000001/", "https://2130706433/", "https://[::ffff:10.0.0.1]/"]
    hook = {"kind": "events", "authentication": {"type": "bearer", "token": "t" * 40}}
    statuses = {
        url: call(target, "PUT", f"/peal/v1/apps/{app}/webhooks/w", {"url": url, **hook})[0] for url in urls}
    report.note(set(statuses.values()) == {400}, f"webhooks to private hosts and other ports: {statuses}")
    account = {
        "type": "service_account", "project_id": "p", "client_email": "a@b.example", "private_key": signing_key()}
    answers = {}
    for uri in [
            "https://oauth2.googleapis.com@evil.example/token", "https://oauth2.googleapis.com.evil.example/token",
            "https://oauth2.googleapis.com:444/token", "http://oauth2.googleapis.com/token",
            "https://evil.example/oauth2.googleapis.com"]:
        status, text = call(target, "PUT", f"/peal/v1/apps/{app}/credentials/fcm", {
            "service_account": {**account, "token_uri": uri}})
        answers[uri] = status if "token_uri" in text else f"{status} without token_uri"
    report.note(set(answers.values()) == {400}, f"service accounts with another token_uri: {answers}")


def run(directory, seconds, start, quick=False):
    """Runs every attack. `start(directory, environment, files)` starts a server."""
    # The suite runs beside others, and debug builds are slow.
    report = Report(patience=10 if quick else 3)
    deadlines = {"head": 10, "grace": 10, "idle": 30, "handshake": 10, "close": 20}
    environment = {
        "PEAL_HTTP_IDLE_SECONDS": deadlines["idle"], "PEAL_LOG_LEVEL": "info",
        "PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": 60,
    }
    if quick:
        deadlines |= {"head": 2, "idle": 3, "handshake": 2}
        environment |= {
            "PEAL_HTTP_IDLE_SECONDS": 3, "PEAL_HTTP_HEAD_SECONDS": 2, "PEAL_HTTP_HANDSHAKE_SECONDS": 2,
        }
    directory = pathlib.Path(directory)
    write_certificate(directory / "certificate.pem", directory / "key.pem")
    tls = {
        "PEAL_HTTP_TLS_CERTIFICATE": str(directory / "certificate.pem"),
        "PEAL_HTTP_TLS_KEY": str(directory / "key.pem"),
    }
    small = Target(start(directory / "small", {"PEAL_LOG_LEVEL": "info"}, DESCRIPTORS))
    silent_connections(small, seconds, report)
    status, _ = call(small, "GET", "/peal/v1/apps")
    report.note(status == 200, f"afterwards the API answers: {status}")
    plain = Target(start(directory / "plain", environment, None))
    secure = Target(start(directory / "secure", {**environment, **tls}, None), tls=True)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for waiting in [pool.submit(slow_clients, target, deadlines, report) for target in (plain, secure)]:
            waiting.result()
    strangers_bodies(plain, report)
    archives(plain, report)
    taken_ids(plain, report)
    keys(plain, report)
    aims(plain, report)
    guesses(plain, report)
    for target in (small, plain, secure):
        report.note(target.peal.is_running, f"{target.peal.directory.name}: the process lives")
    return report


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="how long silent connections are held")
    parser.add_argument("--program", default=".build/release/peal")
    parser.add_argument("--quick", action="store_true", help="with short deadlines")
    options = parser.parse_args()
    os.environ["PEAL"] = str(pathlib.Path(options.program).resolve())
    from peal_server import Peal  # It reads the program from the environment.

    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 4096), files[1]))
    servers = []

    def start(directory, environment, descriptors):
        servers.append(Peal(directory, environment, descriptors=descriptors))
        return servers[-1]

    with tempfile.TemporaryDirectory() as directory:
        try:
            report = run(directory, options.seconds, start, options.quick)
        finally:
            for peal in servers:
                peal.stop()
    print(f"{len(report.failures)} findings did not hold." if report.failures else "Everything held.")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
