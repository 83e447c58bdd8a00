"""Attacks on what callers may do: ids of others, guessed and weak keys, and addresses that aim the server at others."""

import json
import re

from attack_target import call
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

GUESSES = 200


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
