"""Attacks by bodies: documents that are expensive to read, and values that are not what they should be."""

import base64
import concurrent.futures
import contextlib
import gzip
import http.client
import json
import threading
import time

from attack_target import call, read_all, wave

BODY_BYTES = 4 * 1024 * 1024
MEMORY_GROWTH_MAX = 150


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


class Poster:
    """Posts documents on connections that stay open, one for each thread."""

    def __init__(self, target):
        self.target = target
        self.local = threading.local()

    def post(self, path, body, headers):
        """Returns status and seconds."""
        fields = {
            "Content-Type": "application/json", "Authorization": f"Bearer {self.target.peal.admin_token}", **headers}
        start = time.monotonic()
        for _ in range(2):
            if getattr(self.local, "connection", None) is None:
                self.local.connection = http.client.HTTPConnection(*self.target.address, timeout=60)
            try:
                self.local.connection.request("POST", path, body, fields)
                answer = self.local.connection.getresponse()
                answer.read()
                return answer.status, time.monotonic() - start
            except (OSError, http.client.HTTPException):
                # The server ends the connection of a request that it refuses early.
                self.local.connection.close()
                self.local.connection = None
        return 0, time.monotonic() - start


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
        "a million combining marks": (('{"name":"a' + "\u0301\u0316" * 500_000 + '"}').encode(), {}, {400}),
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
    poster = Poster(target)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for (path, _, name, kind, _), (status, took) in zip(
                work, pool.map(lambda each: poster.post(each[0], each[4], each[1]), work)):
            count += 1
            if not 200 <= status < 500 or took > report.patience:
                wrong.append(f"{kind} in {name} of {path}: {status} after {took:.1f} s")
    report.note(not wrong, f"{count} odd documents got an answer below 500: {wrong[:5] or 'all'}")
