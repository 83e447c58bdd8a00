"""One truth: a message through a dialect and its spelling in the native API are the same requests to push networks.

Everything is compared, headers by name and value and payloads as text in their own order. Of what is made for each
message (ids, signatures, dates) the names must agree; of what is left of a life at the moment of sending, the seconds,
but for the few that lie between the two messages.
"""

import copy
import datetime
import json
import secrets

import pytest
from test_contextpush import USER, contextpush, seed  # noqa: F401: a fixture among them
from test_devtodev import counts, devtodev  # noqa: F401: a fixture among them
from test_pivotal import PUSH, inbox, native_spelling, pivotal  # noqa: F401: fixtures among them

MADE_PER_MESSAGE = {"apns-id", "apns-unique-id", "authorization", "date", "ms-cv", "x-messageid"}
SECONDS_BETWEEN = 60


def request(item, message):
    """The request of `item`: its text, and the instants and durations in it."""
    headers, payload = dict(item["headers"]), copy.deepcopy(item["payload"])
    times = {name: int(headers[name]) for name in ("apns-expiration", "x-wns-ttl") if name in headers}
    if ttl := payload.get("android", {}).get("ttl"):
        times["ttl"] = int(ttl.removesuffix("s"))
        payload["android"]["ttl"] = ""
        if "content-length" in headers:
            headers["content-length"] = int(headers["content-length"]) - len(ttl)
    for name in headers:
        if name in MADE_PER_MESSAGE or name in times:
            headers[name] = ""
    if headers.get("apns-collapse-id") == message:
        headers["apns-collapse-id"] = "the message's"
    route = [item["provider"], item["environment"], item["device"]]
    return json.dumps([route, sorted(headers.items()), payload], indent=1), times


def assert_same(theirs, ours):
    """Each side: the inbox's items and the message's id."""
    sides = [
        sorted((request(item, message) for item in items), key=lambda side: json.loads(side[0])[0])
        for items, message in (theirs, ours)
    ]
    assert len(sides[0]) == len(sides[1]) > 0
    for (text, times), (native, native_times) in zip(*sides):
        assert text == native
        assert set(times) == set(native_times)
        for name in times:
            assert abs(times[name] - native_times[name]) <= SECONDS_BETWEEN, name


def test_a_comparison_notices_what_a_dialect_would_drop():
    item = {
        "provider": "apns",
        "environment": "production",
        "device": "d",
        "headers": {"apns-priority": "5", "apns-id": "1", "apns-expiration": "1000"},
        "payload": {"aps": {"alert": "x", "badge": 1}},
    }
    assert_same(([item], "m"), ([item], "n"))
    for change in (
        {"headers": {"apns-priority": "5", "apns-expiration": "1000"}},
        {"headers": {"apns-priority": "5", "apns-id": "1"}},
        {"headers": {**item["headers"], "apns-priority": "10"}},
        {"headers": {**item["headers"], "apns-expiration": "0"}},
        {"payload": {"aps": {"badge": 1, "alert": "x"}}},
        {"environment": "sandbox"},
    ):
        with pytest.raises(AssertionError):
            assert_same(([item], "m"), ([{**item, **change}], "n"))


# devtodev


def devtodev_truth(devtodev, platforms, content, **options):
    """Sends `platforms` through devtodev to one new address each, and `content` natively to the same ones."""
    addresses = {
        "ios": ("ios", secrets.token_hex(32)),
        "android": ("android", "fcm:" + secrets.token_hex(16)),
        "uwp": ("windows", devtodev.channel),
        "win": ("windows", devtodev.channel),
    }
    used = [addresses[name] for name in platforms]
    hosts = [{"environment": "sandbox"} if "sandbox" in of.get("options", {}) else {} for of in platforms.values()]
    answer = devtodev.push(devtodev.message([{"token": address} for _, address in used], **platforms))
    assert counts(answer) == (len(used), len(used), 0, [])
    key = answer["data"]["message_id"]
    theirs = devtodev.arrived()
    named = [{"platform": platform, "address": address} | host for (platform, address), host in zip(used, hosts)]
    audience = {"addresses": named}
    spelled = json.loads(json.dumps(content).replace("{key}", key))
    message = devtodev.peal.send(devtodev.app, {"audience": audience, "content": spelled, **options})
    devtodev.peal.wait(devtodev.app, message)
    assert_same((theirs, key), (devtodev.arrived(), message))


EXPIRE = 1_999_999_999
LIFE = {"expires_at": "2033-05-18T03:33:19Z"}


def test_devtodev_shown(devtodev):  # noqa: F811
    options = {"priority": "high", "expire": EXPIRE, "collapse_key": "news"}
    own = {"priority": "high", "collapse_key": "news", **LIFE}
    devtodev_truth(
        devtodev,
        {
            "ios": {
                "payload": {"title": "Grüße", "text": "Hallo", "badge": "3", "data": {"n": 15}},
                "options": options,
            },
            "android": {"payload": {"text": "Hallo", "data": {"n": 15}}, "options": options},
            "uwp": {"toast": {"title": "Grüße", "text": "Hallo", "launch": "l"}, "options": options},
        },
        {
            "ios": {
                "payload": {
                    "aps": {"alert": {"title": "Grüße", "body": "Hallo"}, "badge": 3},
                    "n": 15,
                    "_k": "{key}",
                },
                "options": own,
            },
            "android": {
                "data": {"n": "15", "alert": "Hallo", "_k": "{key}", "data": '{"n":15}'},
                "data_only": True,
                "options": own,
            },
            "windows": {
                "type": "toast",
                "fields": {"text": ["Grüße", "Hallo"]},
                "launch": "l",
                "options": own,
            },
        },
    )


def test_devtodev_hidden_in_the_sandbox_for_a_week(devtodev):  # noqa: F811
    devtodev_truth(
        devtodev,
        {
            "ios": {"payload": {"data": {"n": "15"}}, "options": {"hidden": True, "sandbox": True}},
            "android": {"payload": {"data": {"n": "15"}}, "options": {"hidden": True}},
        },
        {
            "ios": {"push_type": "background", "payload": {"aps": {"content-available": 1}, "n": "15", "_k": "{key}"}},
            "android": {"data": {"n": "15", "_h": "1", "_k": "{key}", "data": '{"n":"15"}'}, "data_only": True},
        },
        options={"priority": "normal", "ttl_seconds": 604_800, "background": True},
    )


# Pivotal


@pytest.mark.parametrize("expiry", [4102444800, None])
def test_pivotal_on_four_platforms(pivotal, inbox, expiry):  # noqa: F811
    push = {"message": PUSH, "target": {"platform": "all"}, "expiryTime": expiry and expiry * 1000}
    receipt = pivotal.push(push).json["receipt_id"]
    pivotal.ended(receipt)
    theirs = inbox()
    assert {item["provider"] for item in theirs} == {"apns", "fcm", "wns", "mpns"}
    pivotal.simulator.control("DELETE", "/inbox")
    body = {"audience": {"all": True}, "content": native_spelling(receipt)}
    if expiry:
        body["options"] = {"expires_at": "2100-01-01T00:00:00Z"}
    else:
        # Without an expiry, Apple gets the latest possible time; the others have their own.
        body["content"]["ios"]["options"] = {"expires_at": "2038-01-19T03:14:07Z"}
    message = pivotal.peal.send(pivotal.app, body)
    pivotal.peal.wait(pivotal.app, message)
    assert_same((theirs, receipt), (inbox(), message))


# ContextPush


def test_contextpush_in_the_language_of_the_phone(contextpush):  # noqa: F811
    addresses = [contextpush.phone(locale="de-AT")]
    answer = contextpush.schedule(seed("schedule_localized", delivery_method="traditional", idempotency_key="k-1"))
    assert answer["idempotency_key"] == "k-1"
    theirs = [item for address in addresses for item in contextpush.inbox(address)]
    content = seed("schedule_localized")["content"]
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=3)
    message = contextpush.peal.send(
        contextpush.app,
        {
            "audience": {"users": [USER], "platforms": ["ios"]},
            "method": "traditional",
            "schedule": {"window": {"until": until.isoformat()}},
            "content": {
                **content,
                "data": {"ctx_idempotency_key": "k-1"},
                "ios": {"payload": {"aps": {"mutable-content": 1}}},
            },
        },
    )
    ours = [contextpush.inbox(address, 2)[1] for address in addresses]
    assert ours[0]["headers"]["apns-collapse-id"] == message
    assert_same((theirs, theirs[0]["headers"]["apns-collapse-id"]), (ours, message))
