"""Attacks on what operators rely on: quotas, the listener for admins, the audit log and the master key."""

import concurrent.futures
import contextlib
import json
import secrets
import sqlite3
import ssl
import subprocess
import urllib.error
import urllib.request

from attack_target import Target, call
from certificates import write_certificate
from waiting import wait_until

QUOTAS = {
    "PEAL_LOG_LEVEL": "info", "PEAL_LIMITS_REQUESTS_PER_KEY_PER_SECOND": 20,
    "PEAL_LIMITS_REQUESTS_PER_APP_PER_SECOND": 40, "PEAL_LIMITS_DEVICES_PER_APP": 5,
    "PEAL_LIMITS_TOPICS_PER_DEVICE": 3,
}


def peal(target, *arguments):
    """Runs a command of `peal` on the server's store. Returns the exit code and everything that it printed."""
    # The program is chosen when the attack begins.
    from peal_server import PROGRAM, inherited_environment

    environment = inherited_environment() | {
        "PEAL_STORE_URL": f"sqlite:{target.peal.directory / 'peal.db'}", "PEAL_SERVER_URL": target.peal.url,
        "PEAL_ADMIN_TOKEN": target.peal.admin_token,
    }
    done = subprocess.run([PROGRAM, *arguments], env=environment, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout + done.stderr


def quotas(target, report):
    """A key that asks too often, an app with too many devices, and a device with too many topics."""
    app, other = target.peal.app("Quotas"), target.peal.app("Other")

    def key(app):
        return json.loads(call(target, "POST", f"/peal/v1/apps/{app}/keys", {"dialect": "native"})[1])["token"]

    def topics(app, token):
        return call(target, "GET", f"/peal/v1/apps/{app}/topics", headers={"Authorization": f"Bearer {token}"})

    greedy, modest = key(app), key(other)
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: topics(app, greedy), range(200)))
    limited = [text for status, text in answers if status == 429]
    report.note(
        {status for status, _ in answers} == {200, 429} and all("retry-after" in text.lower() for text in limited),
        f"200 requests with one key: {len(limited)} times 429, each with Retry-After")
    status, _ = topics(other, modest)
    report.note(status == 200, f"another app's key meanwhile: {status}")

    def register(topics):
        device = {"platform": "ios", "environment": "production", "address": secrets.token_hex(32), "topics": topics}
        return call(target, "POST", f"/peal/v1/apps/{app}/devices", device)[0]

    status = register(["a", "b", "c", "d"])
    report.note(status in (400, 429), f"a device with more topics than allowed: {status}")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        statuses = list(pool.map(lambda _: register(["a"]), range(12)))
    report.note(
        statuses.count(201) == 5 and set(statuses) == {201, 429},
        f"12 devices at once where 5 are allowed: {statuses.count(201)} times 201, {statuses.count(429)} times 429")
    _, text = call(target, "POST", f"/peal/v1/apps/{app}/devices:batch", {
        "devices": [{"platform": "ios", "environment": "production", "address": secrets.token_hex(32)}]})
    report.note('"status"' not in text, "nor one more in a batch")


def listeners(directory, start, report):
    """What admins do is not on the main port, and their listener wants a certificate of its clients."""
    own, client, stranger = ((directory / f"{name}.pem", directory / f"{name}-key.pem") for name in (
        "admin", "client", "stranger"))
    for pair in (own, client, stranger):
        write_certificate(*pair)
    port_file = directory / "admin-port"
    target = Target(start(directory / "admins", {
        "PEAL_LOG_LEVEL": "info", "PEAL_ADMIN_LISTEN_PORT": 0, "PEAL_ADMIN_LISTEN_PORT_FILE": port_file,
        "PEAL_ADMIN_LISTEN_TLS_CERTIFICATE": own[0], "PEAL_ADMIN_LISTEN_TLS_KEY": own[1],
        "PEAL_ADMIN_LISTEN_TLS_CLIENT_CA": client[0],
    }, None))
    port = wait_until(lambda: port_file.exists() and port_file.read_text().strip())

    def get(path, certificate=None, address=f"https://localhost:{port}"):
        context = ssl.create_default_context(cafile=str(own[0]))
        if certificate:
            context.load_cert_chain(*certificate)
        request = urllib.request.Request(
            address + path, headers={"Authorization": f"Bearer {target.peal.admin_token}"})
        handlers = urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler({})
        try:
            with urllib.request.build_opener(*handlers).open(request, timeout=10) as answer:
                return answer.status
        except urllib.error.HTTPError as error:
            return error.code
        except OSError:
            return None

    paths = ["/metrics", "/peal/v1/admins", "/peal/v1/audit"]
    main = [call(target, "GET", path)[0] for path in paths]
    report.note(set(main) == {404}, f"what admins do is not on the main port, with the admin token: {main}")
    _, text = call(target, "GET", "/readyz")
    report.note("version" not in text, "the main port's /readyz has no details")
    refused = [get(path, certificate) for certificate in (None, stranger) for path in paths]
    report.note(set(refused) == {None}, f"the listener for admins refuses other certificates: {refused}")
    served = [get(path, client) for path in paths]
    report.note(set(served) == {200}, f"and serves those with the right one: {served}")
    status, _ = call(target, "GET", "/healthz")
    report.note(status == 200, f"/healthz on the main port: {status}")


def changed_rows(target, report):
    """Rows of the audit log that somebody with the database changes."""
    app = target.peal.app("Audit")
    for number in range(8):
        call(target, "PUT", f"/peal/v1/apps/{app}/topics/topic-{number}", {})
    status, _ = peal(target, "audit", "verify")
    report.note(status == 0, f"peal audit verify of an untouched log: exit code {status}")
    target.peal.stop()
    file = target.peal.directory / "peal.db"
    with contextlib.closing(sqlite3.connect(file)) as database:
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    untouched = file.read_bytes()
    changes = {
        "a changed row": ["UPDATE audit SET actor = 'nobody' WHERE number = 4"],
        "a deleted row": ["DELETE FROM audit WHERE number = 4"],
        "a deleted last row": ["DELETE FROM audit WHERE number = (SELECT max(number) FROM audit)"],
        "two exchanged rows": [
            "UPDATE audit SET number = -1 WHERE number = 4", "UPDATE audit SET number = 4 WHERE number = 5",
            "UPDATE audit SET number = 5 WHERE number = -1"],
        "a row that was added": [
            "INSERT INTO audit SELECT number + 1, hash, at, app_id, actor, actor_name, address, request_id, action, "
            "object, outcome FROM audit ORDER BY number DESC LIMIT 1"],
        "an empty log": ["DELETE FROM audit", "DELETE FROM audit_mark"],
    }
    for name, statements in changes.items():
        file.write_bytes(untouched)
        for suffix in ("-wal", "-shm"):
            file.with_name(file.name + suffix).unlink(missing_ok=True)
        with contextlib.closing(sqlite3.connect(file)) as database, database:
            for statement in statements:
                database.execute(statement)
        target.peal.start()
        status, text = peal(target, "audit", "verify")
        target.peal.stop()
        report.note(status == 1 and "broken" in text, f"peal audit verify finds {name}: exit code {status}")


def replaced_key(directory, start, simulator, report, phones=5000):
    """The master key is replaced in the middle of a send: refused while the server runs, and afterwards the rest is
    sent with the new key."""
    target = Target(start(directory / "replaced", {"PEAL_LOG_LEVEL": "info", **simulator.environment}, None))
    server = target.peal
    app = server.app("Replaced", bundle_id=simulator.description["apns"]["bundle_id"])
    server.connect(app, simulator, "apns/production")
    addresses = server.phones(app, phones)
    message = server.send(app, options={"rate_per_second": 1000})
    wait_until(lambda: server.message(app, message)["counts"]["accepted"] > 0, pause=0.05)
    status, _ = peal(target, "key", "rotate-master")
    report.note(status == 1 and server.is_running, f"the master key of a running server is not replaced: {status}")
    server.kill()
    status, _ = peal(target, "key", "rotate-master")
    report.note(status == 0, f"that of a server that was killed while it sent is: exit code {status}")
    server.start()
    counts = server.wait(app, message)["counts"]
    received = {item["device"] for item in simulator.inbox(f"?limit={2 * phones}")}
    report.note(
        counts["accepted"] == phones and not set(addresses) - received,
        f"with the new key the rest is sent: {counts['accepted']} of {phones}, "
        f"{len(set(addresses) - received)} phones without the message")
