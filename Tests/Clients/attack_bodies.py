"""Attacks by bodies: archives that ask for much work, and documents that are expensive to read."""

import base64
import concurrent.futures
import contextlib
import gzip
import json
import pathlib
import tempfile
import time

from attack_target import call, read_all, wave
from certificates import write_certificate

BODY_BYTES = 4 * 1024 * 1024
MEMORY_GROWTH_MAX = 150


def der(tag, *parts):
    """An element of ASN.1 in DER."""
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


def iterations(count_bytes):
    """PBKDF2 with so many iterations (RFC 8018 §A.2)."""
    return der(0x30, oid("1.2.840.113549.1.5.12"), der(0x30, der(0x04, b"saltsalt"), der(0x02, count_bytes)))


def long_archive(derivation, mac=b""):
    """An archive whose private key asks for much work: only the structure is valid."""
    cipher = der(0x30, oid("2.16.840.1.101.3.4.1.42"), der(0x04, bytes(16)))
    algorithm = der(0x30, oid("1.2.840.113549.1.5.13"), der(0x30, derivation, cipher))
    key = der(0x30, algorithm, der(0x04, bytes(64)))
    bag = der(0x30, oid("1.2.840.113549.1.12.10.1.2"), der(0xA0, key))
    data = oid("1.2.840.113549.1.7.1")
    inner = der(0x30, der(0x30, data, der(0xA0, der(0x04, der(0x30, bag)))))
    return der(0x30, der(0x02, b"\x03"), der(0x30, data, der(0xA0, der(0x04, inner))), mac)


def mac_data(algorithm, *iterations):
    """The `MacData` of an archive (RFC 7292 §4)."""
    return der(0x30, der(0x30, algorithm, der(0x04, bytes(32))), der(0x04, b"saltsalt"), *iterations)


def scrypt(cost):
    """scrypt with so many blocks of 1 KiB (RFC 7914 §7.1)."""
    numbers = der(0x02, cost) + der(0x02, b"\x08") + der(0x02, b"\x01")
    return der(0x30, oid("1.3.6.1.4.1.11591.4.11"), der(0x30, der(0x04, b"saltsalt"), numbers))


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

    huge = b"\x7f\xff\xff\xff"
    status, text, took = put(long_archive(iterations(huge)))
    report.note(
        status == 400 and "iterations" in text and took < report.patience,
        f"an archive that asks for 2,147,483,647 iterations: {status} after {took:.2f} s, naming them",
    )
    sha256 = der(0x30, oid("2.16.840.1.101.3.4.2.1"))
    pbmac1 = der(0x30, oid("1.2.840.113549.1.5.14"), der(
        0x30, iterations(huge), der(0x30, oid("1.2.840.113549.2.9"))))
    few = iterations(b"\x10")
    for name, archive in {
        "asks for 100,000,000": long_archive(iterations(b"\x05\xf5\xe1\x00")),
        "asks for 1,000,001": long_archive(iterations(b"\x0f\x42\x41")),
        "asks for -1": long_archive(iterations(b"\xff")),
        "asks for 2^64": long_archive(iterations(b"\x01" + bytes(8))),
        "asks for scrypt with 2^30 blocks": long_archive(scrypt(b"\x40\x00\x00\x00")),
        "asks for it in its MAC": long_archive(few, mac_data(sha256, der(0x02, huge))),
        "asks for 2^64 in its MAC": long_archive(few, mac_data(sha256, der(0x02, b"\x01" + bytes(8)))),
        "asks for it in PBMAC1": long_archive(few, mac_data(pbmac1, der(0x02, b"\x01"))),
        "is nested 100,000 times": b"\x30\x80" * 100_000,
    }.items():
        status, text, took = put(archive)
        report.note(status == 400 and took < report.patience, f"one that {name}: {status} after {took:.2f} s")
    slowest, results = wave(target, 8, lambda _: put(long_archive(iterations(b"\x0f\x42\x40"))))
    statuses = {status for status, _, _ in results}
    report.note(
        slowest < report.patience and statuses <= {400, 429, 503},
        f"8 archives of 1,000,000 iterations at once: {sorted(statuses)}, /healthz at most after {slowest:.2f} s",
    )
    report.note(peal.is_running, "the process lives")


def strangers_bodies(target, report):
    """Bodies that are expensive to parse, from callers that nobody knows."""
    before = target.watched_memory()
    filler = b'{"app_id":"x","user_token":"' + b"0" * 64 + b'","audience":[' + b"[]," * (BODY_BYTES // 3 - 64) + b"[]]}"

    def post_filler(_):
        start = time.monotonic()
        status, _ = call(target, "POST", "/api/v1/push/send", filler, {"Authorization": ""})
        return status, time.monotonic() - start

    slowest_health, results = wave(target, 12, post_filler)
    statuses = {status for status, _ in results}
    slowest = max(took for _, took in results)
    growth = target.memory("VmHWM") - before
    # A refused client may see the connection close while it is still sending.
    report.note(
        statuses <= {0, 401, 413, 429} and slowest < report.patience,
        f"12 bodies of 4 MiB from strangers: {sorted(statuses)}, at most after {slowest:.2f} s",
    )
    report.note(growth < MEMORY_GROWTH_MAX, f"memory grew by {growth:.0f} MB (at most {MEMORY_GROWTH_MAX})")
    report.note(slowest_health < report.patience, f"/healthz meanwhile at most after {slowest_health:.2f} s")
    fields = b"&".join(b"a%d=b" % number for number in range(400_000))

    def sign_in(_):
        start = time.monotonic()
        form = {"Authorization": "", "Content-Type": "application/x-www-form-urlencoded"}
        return call(target, "POST", "/console/sign-in", fields, form)[0], time.monotonic() - start

    slowest_health, results = wave(target, 12, sign_in)
    slowest = max(took for _, took in results)
    report.note(
        {status for status, _ in results} <= {0, 403, 413} and max(slowest, slowest_health) < report.patience,
        f"12 sign-in forms of 4 MB: at most after {slowest:.2f} s, /healthz after {slowest_health:.2f} s")
    values = b'{"name":[' + b"1," * 1_000_000 + b"1]}"
    status, text = call(target, "POST", "/peal/v1/apps", values)
    report.note(status == 413 and "values" in text, f"a million JSON values with a valid key: {status}")


def post(target, path, body, headers=None):
    """A request with the admin token. Returns status, text and seconds."""
    start = time.monotonic()
    status, text = call(target, "POST", path, body, headers)
    return status, text, time.monotonic() - start


def members(count):
    """Chunks of a body of empty gzip members, which decode to nothing."""
    empty = gzip.compress(b"", mtime=0) * 3000
    chunk = b"%x\r\n%s\r\n" % (len(empty), empty)
    for _ in range(count // len(empty)):
        yield chunk


def bombs(target, report):
    """Small bodies that decode to large ones, and documents that are deep or have very many values."""
    before = target.watched_memory()
    encoded = {"Content-Encoding": "gzip"}
    zeros = gzip.compress(b"[" + b" " * 200_000_000 + b"]")
    values = gzip.compress(b'{"name":[' + b"1," * 1_900_000 + b"1]}")
    documents = {
        "200 MB of blanks": (zeros, encoded, {413}),
        "200 MB of blanks, gzipped twice": (gzip.compress(zeros), encoded, {400, 413}),
        "two million values": (values, encoded, {413}),
        "half a gzip member": (gzip.compress(b'{"name":"x"}')[:-6], encoded, {400}),
        "data after a gzip member": (gzip.compress(b'{"name":"x"}') + b"{}", encoded, {400}),
        "gzip that is none": (b'{"name":"x"}', encoded, {400}),
        "deflate": (b'{"name":"x"}', {"Content-Encoding": "deflate"}, {415}),
        "gzip twice by name": (b'{"name":"x"}', {"Content-Encoding": "gzip, gzip"}, {415}),
        "a depth of 65": (b'{"name":' + b"[" * 64 + b"]" * 64 + b"}", {}, {400}),
        "a depth of a million": (b"[" * 1_000_000, {}, {400}),
        "a depth of a million in objects": (b'{"a":' * 800_000, {}, {400}),
        "a million equal names": (b"{" + b'"a":1,' * 690_000 + b'"a":1}', {}, {400, 413}),
        "a number of a million digits": (b'{"name":' + b"9" * 1_000_000 + b"}", {}, {400}),
        "a text of four million escapes": (b'{"name":"' + b"\\u0061" * 690_000 + b'"}', {}, {400}),
    }
    answers = {}
    for name, (body, headers, expected) in documents.items():
        for path in ["/peal/v1/apps", "/api/v1/push/send"]:
            status, _, took = post(target, path, body, headers)
            if path == "/peal/v1/apps" and status not in expected or status >= 500 or took > report.patience:
                answers[f"{name} to {path}"] = f"{status} after {took:.1f} s"
    report.note(not answers, f"{len(documents)} bombs are refused with 400, 413 or 415: {answers or 'all'}")
    head = b"POST /api/v1/push/send HTTP/1.1\r\nHost: x\r\nContent-Encoding: gzip\r\n"
    head += b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    sent, ended = 0, False
    with contextlib.closing(target.connect(wait=5)) as connection:
        try:
            connection.sendall(head)
            for chunk in members(5 * BODY_BYTES):
                connection.sendall(chunk)
                sent += len(chunk)
        except OSError:
            ended = True
        connection.settimeout(1)
        ended = ended or b"413" in read_all(connection)[:20]
    report.note(ended, f"a body of gzip members that decode to nothing was refused after {sent / 1024 / 1024:.1f} MB")
    growth = target.memory("VmHWM") - before
    report.note(growth < MEMORY_GROWTH_MAX, f"memory grew by {growth:.0f} MB (at most {MEMORY_GROWTH_MAX})")


ODD = {
    "invalid UTF-8": b'"\xff\xfe"', "an overlong form": b'"\xc0\xaf"', "a surrogate in UTF-8": b'"\xed\xa0\x80"',
    "half a surrogate": b'"\\ud800"', "a surrogate's second half": b'"\\udc00"', "a NUL": b'"a\\u0000b"',
    "a raw NUL": b'"a\x00b"', "a raw line end": b'"a\nb"', "an unknown escape": b'"\\x41"', "a number": b"1",
    "a large exponent": b"1e999999999", "a small exponent": b"1e-999999999", "a large number": b"9" * 400,
    "a NaN": b"NaN", "an infinity": b"-Infinity", "a hexadecimal number": b"0x10", "a leading zero": b"01",
    "a plus sign": b"+1", "a single quote": b"'a'", "a list": b"[]", "an object": b"{}", "null": b"null",
    "nothing": b"", "an open string": b'"a', "a byte order mark": b'\xef\xbb\xbf"a"',
    "a million spaces": b" " * 1_000_000, "two documents": b'"a"}{', "a right-to-left mark": b'"\xe2\x80\xae"',
    "a text of a million": b'"' + b"a" * 1_000_000 + b'"',
}


MARK = b'"the odd one"'


def marked(whole, name=""):
    """A document with a mark in place of each of its values. Yields the name of the value and the text."""
    yield name or "the body", MARK
    for key, value in whole.items() if isinstance(whole, dict) else enumerate(whole) if isinstance(whole, list) else ():
        for inner, text in marked(value, f"{name}.{key}" if name else str(key)):
            other = dict(whole) if isinstance(whole, dict) else list(whole)
            other[key] = "the hole"
            yield inner, json.dumps(other).encode().replace(b'"the hole"', text)


def odd_documents(target, report):
    """Values that are not what they should be, in every member of requests of every API."""
    app = target.peal.app("Odd", bundle_id="com.example.odd", devtodev_app_id="odd", richie_app_id="odd", settings={
        "pivotal": {"verify_custom_user_id": False}, "device": {"verify_user_id": False}})

    def key(dialect, **fields):
        return json.loads(call(target, "POST", f"/peal/v1/apps/{app}/keys", {"dialect": dialect, **fields})[1])

    def basic(name, secret):
        return {"Authorization": "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()}

    pivotal, richie = key("pivotal"), key("richie")
    platform = key("pivotal-platform", platform="ios", environment="production")
    device, devtodev = key("device")["token"], key("devtodev")["user_token"]
    context = {"Authorization": "Token " + key("contextpush")["token"]}
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    address = "ab" * 32
    push = {"token": address, "userId": "u", "idfa": "i"}
    requests = {
        f"/peal/v1/apps/{app}/messages": ({}, {
            "audience": {"users": ["u"], "platforms": ["ios"], "where": {"topic": "t"}},
            "content": {"title": "x", "body": {"en": "x"}, "default_locale": "en", "data": {"a": 1}, "badge": 1,
                        "ios": {"payload": {"aps": {"sound": "s"}}}, "android": {"data": {"a": "b"}}},
            "options": {"ttl_seconds": 60, "priority": "low"}, "schedule": {"at": tomorrow},
            "campaign_id": "c", "test": False}),
        f"/peal/v1/apps/{app}/devices": ({}, {
            "platform": "ios", "environment": "sandbox", "address": address, "user_id": "u", "topics": ["t"],
            "attributes": {"a": 1}, "locale": "de", "time_zone": "Europe/Vienna", "identifiers": {"idfa": "i"}}),
        f"/peal/v1/apps/{app}/audience:count": ({}, {
            "audience": {"where": {"attribute": {"name": "n", "is": 1}}}}),
        f"/peal/v1/apps/{app}/keys": ({}, {
            "dialect": "native", "name": "n", "scopes": ["send"], "expires_at": "2099-01-01T00:00:00Z"}),
        "/peal/v1/apps": ({}, {
            "name": "n", "bundle_id": "com.example.odd",
            "settings": {"quiet_hours": {"from": "22:00", "to": "07:00"}}}),
        "/peal/device/v1/register": ({"Authorization": f"Bearer {device}"}, {
            "platform": "ios", "environment": "sandbox", "address": address, "user_id": "u", "topics": ["t"]}),
        "/v1/push": (basic(pivotal["application_uuid"], pivotal["api_key"]), {
            "message": {"body": "x", "custom": {"ios": {"alert": {"body": "x"}, "badge": 1, "extra": {"a": 1}},
                                                "android": {"collapse_key": "k"}}},
            "target": {"topics": ["t"], "platforms": ["ios"]}, "scheduleIn": 7200, "expiryTime": 4_000_000_000_000}),
        "/v1/registration": (basic(platform["platform_uuid"], platform["platform_secret"]), {
            "registration_token": address, "device_alias": "a", "os": "ios", "tags": ["t"], "custom_user_id": "u"}),
        "/push/v2/admin/task": (basic(richie["username"], richie["password"]), {
            "app_id": "odd", "topics": ["t"], "external_user_ids": ["u"], "payloads": {
                "ios": {"aps": {"alert": {"title": "x", "body": "x", "issue-page": 1}, "content-available": 1}},
                "android": {"data": {"body": "x"}}}}),
        f"/api/v1/push/send?user_token={devtodev}": ({}, {
            "app_id": "odd", "audience": [push], "campaign_tag": "c", "pack_id": "p", "ios": {
                "payload": {"text": "x", "badge": 1, "data": {"a": "b"}}, "options": {"expire": "36000"}}}),
        "/v1/campaigns/schedule_message_for_user": (context, {
            "bundle_id": "com.example.odd", "platform": "ios", "user_id": "u", "campaign_id": "c",
            "deliver_within_hours": 3, "idempotency_key": "k", "content": {
                "title": "x", "body": "x", "badge": 1, "userInfo": {"a": 1}, "thread-id": "t"}}),
    }
    wrong, count = [], 0
    work = [
        (path, headers, name, kind, body.replace(MARK, value))
        for path, (headers, whole) in requests.items() for name, body in marked(whole) for kind, value in ODD.items()
    ]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for (path, _, name, kind, _), (status, _, took) in zip(
                work, pool.map(lambda each: post(target, each[0], each[4], each[1]), work)):
            count += 1
            if not 200 <= status < 500 or took > report.patience:
                wrong.append(f"{kind} in {name} of {path}: {status} after {took:.1f} s")
    report.note(not wrong, f"{count} odd documents got an answer below 500: {wrong[:5] or 'all'}")


def locked_keys(target, report):
    """Encrypted keys in PEM that ask for an enormous number of iterations, or for scrypt with gigabytes."""
    app = target.peal.app("Locked")

    def text(derivation):
        cipher = der(0x30, oid("2.16.840.1.101.3.4.1.42"), der(0x04, bytes(16)))
        algorithm = der(0x30, oid("1.2.840.113549.1.5.13"), der(0x30, derivation, cipher))
        body = base64.encodebytes(der(0x30, algorithm, der(0x04, bytes(64)))).decode()
        return f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{body}-----END ENCRYPTED PRIVATE KEY-----\n"

    keys = {
        "PBKDF2 with 2,147,483,647 iterations": text(iterations(b"\x7f\xff\xff\xff")),
        "scrypt with 2^30 blocks": text(scrypt(b"\x40\x00\x00\x00")),
        "the older kind of encryption": (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,"
            + "00" * 16 + "\n\n" + base64.encodebytes(bytes(64)).decode() + "-----END RSA PRIVATE KEY-----\n"),
    }
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "certificate.pem"
        write_certificate(file, pathlib.Path(directory) / "key.pem")
        certificate = file.read_text()
    account = {"type": "service_account", "project_id": "p", "client_email": "a@b.example"}
    account["token_uri"] = "https://oauth2.googleapis.com/token"
    wrong, slowest = {}, 0.0
    for name, pem in keys.items():
        for path, body in {
            "apns/production": {"kind": "token", "key_id": "K", "team_id": "T", "private_key": pem, "bundle_id": "a.b"},
            "apns/sandbox": {
                "kind": "certificate", "certificate": certificate, "private_key": pem, "bundle_id": "a.b"},
            "fcm": {"service_account": {**account, "private_key": pem}},
            "mpns": {"certificate": certificate, "private_key": pem},
            "webpush": {"subject": "mailto:a@b.example", "private_key": pem},
        }.items():
            start = time.monotonic()
            status, answer = call(target, "PUT", f"/peal/v1/apps/{app}/credentials/{path}", body)
            slowest = max(slowest, time.monotonic() - start)
            if status != 400 or "private_key" not in answer and "certificate" not in answer:
                wrong[f"{name} in {path}"] = status
    report.note(
        not wrong and slowest < report.patience,
        f"encrypted keys of {len(keys)} kinds are refused with 400, at most after {slowest:.2f} s: {wrong or 'all'}")
