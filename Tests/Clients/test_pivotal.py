"""The Pivotal API with the real programs: the vendor's SDKs byte by byte, and every example to the inbox."""

import concurrent.futures
import copy
import json
import time

import pytest
from doc_examples import run_examples
from moved_clock import MovedClock
from pivotal_fixture import FIXTURES, PivotalFixture, signed_user

EXAMPLES = sorted(path.name for path in FIXTURES.glob("[0-9]*.json"))
# The published vector of the vendor's signing tool.
VECTOR_SECRET = "6173657630314C356B4161393134357A4A355A67336F303849384F494E4E384C"
VECTOR_SIGNATURE = "I_ebQ-2NZjzTRWE-nuwgZfGNtz_4m6Bh9TlLFs06GU4"


@pytest.fixture(scope="module")
def pivotal(tmp_path_factory):
    directory = tmp_path_factory.mktemp("pivotal")
    pivotal = PivotalFixture(directory, MovedClock(directory) if MovedClock.is_possible() else None)
    pivotal.addresses = pivotal.register_cast()
    yield pivotal
    pivotal.stop()


@pytest.fixture
def inbox(pivotal):
    """The simulator's inbox, emptied."""
    pivotal.simulator.control("DELETE", "/inbox")
    return pivotal.simulator.inbox


def filled(value, receipt):
    """The expectation with the receipt in its place."""
    return json.loads(json.dumps(value).replace("{receipt}", receipt))


def received(pivotal, items):
    """What each device received; with FCM, what reaches the app."""
    shown = {}
    for item in items:
        payload = item["payload"]
        if item["provider"] == "fcm":
            payload = {"data": payload["data"]}
            if key := item["payload"].get("android", {}).get("collapseKey"):
                payload["collapse_key"] = key
        name = pivotal.addresses[item["device"]]
        assert name not in shown, f"{name} was sent to twice"
        shown[name] = payload
    return shown


# Examples


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_arrives_as_documented(pivotal, inbox, name):
    example = json.loads((FIXTURES / name).read_text())
    if example.get("delay_seconds") and pivotal.clock is None:
        pytest.skip("the clock of programs cannot be moved here")
    if settings := example.get("settings"):
        pivotal.peal.patch(pivotal.path, {"settings": {"pivotal": settings}})
    reply = pivotal.push(example["push"])
    if settings:
        pivotal.peal.patch(pivotal.path, {"settings": {"pivotal": {setting: False for setting in settings}}})
    receipt = reply.json.get("receipt_id") or scheduled(pivotal, reply.json["schedule_id"], example, inbox)
    ended = pivotal.ended(receipt)
    assert received(pivotal, inbox()) == filled(example["receives"], receipt)
    assert ended["counts"]["accepted"] == len(example["receives"])
    assert ended["counts"]["expired"] == example.get("expires", 0)
    assert ended["devices"] == len(example["receives"]) + example.get("expires", 0)


def scheduled(pivotal, schedule, example, inbox):
    """Checks that the push waits, and moves the clock until it is due. Returns the receipt."""
    path = f"/v1/schedules/{schedule}"
    shown = pivotal.call("GET", path).json
    assert {"message": shown["push"]["message"], "target": shown["push"]["target"]} == {
        "message": example["push"]["message"],
        "target": example["push"]["target"],
    }
    assert shown in pivotal.call("GET", "/v1/schedules").json
    (message,) = pivotal.peal.get(f"{pivotal.path}/messages", state="scheduled")["items"]
    assert message["id"].replace("-", "").startswith(schedule)
    pivotal.clock.advance(example["delay_seconds"] - 30)
    # Nothing must happen, and nothing announces that: the scheduler looks every second.
    time.sleep(2)
    assert inbox() == [] and pivotal.call("GET", path).status == 200
    pivotal.clock.advance(31)
    return message["id"]


# The SDKs


def test_the_ios_sdk_registers_changes_and_leaves(pivotal):
    authorization = pivotal.authorization("ios")
    head = (
        "Host: push.example.com\r\nAccept: application/json\r\nContent-Type: application/json\r\n"
        f"Authorization: {authorization}\r\nX-Custom: 1\r\nUser-Agent: Example/1 CFNetwork/811.5.4 Darwin/16.6.0\r\n"
        "Accept-Language: en-us\r\nAccept-Encoding: gzip, deflate\r\nConnection: close\r\n"
    )
    user = signed_user("Bond.007", pivotal.application["shared_secret"])
    body = json.dumps(
        {
            "registration_token": "EF" * 32,
            "device_manufacturer": "Apple",
            "os": "ios",
            "os_version": "10.3.1",
            "device_model": "iPhone 6S",
            "device_alias": "Müller",
            "custom_user_id": user,
            "tags": ["cheese"],
        },
        ensure_ascii=False,
    ).encode()
    request = f"POST /v1/registration HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n"
    made = pivotal.exchange(request.encode() + body)
    assert made.status == 200, made.body
    assert made.json["registration_token"] == "EF" * 32
    assert made.json["custom_user_id"] == "Bond.007"
    assert made.json["active"] is True and made.json["tags"] == [{"text": "cheese"}]
    path = f"/v1/registration/{made.json['device_uuid']}"
    difference = {"registration_token": "EF" * 32, "os": "ios", "custom_user_id": "", "tags": {"subscribe": ["x"]}}
    change = json.dumps(difference)
    changed = pivotal.exchange(f"PUT {path} HTTP/1.1\r\n{head}Content-Length: {len(change)}\r\n\r\n{change}")
    assert changed.status == 200 and changed.json["device_uuid"] == made.json["device_uuid"]
    assert changed.json["custom_user_id"] == "" and changed.json["device_alias"] == "Müller"
    assert changed.json["tags"] == [{"text": "cheese"}, {"text": "x"}]
    gone = pivotal.exchange(f"DELETE {path} HTTP/1.1\r\n{head}\r\n")
    assert gone.status == 204 and gone.body == b""
    assert pivotal.exchange(f"DELETE {path} HTTP/1.1\r\n{head}\r\n").status == 404


@pytest.mark.parametrize("prefix", ["/v1", "/v1/v1", "//v1"])
def test_the_android_sdk_registers_in_chunks(pivotal, prefix):
    head = (
        f"Host: push.example.com\r\nAuthorization: {pivotal.authorization('android')}\r\n"
        "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\nAccept-Encoding: gzip\r\n"
        "User-Agent: Dalvik/2.1.0 (Linux; U; Android 7.0)\r\nConnection: close\r\n\r\n"
    )

    def chunks(body):
        text = json.dumps(body).encode()
        parts = [text[:7], text[7:]]
        return b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in parts) + b"0\r\n\r\n"

    body = {
        "device_alias": "",
        "device_manufacturer": "LGE",
        "device_model": "Nexus 5",
        "os": "android-fcm",
        "os_version": "7.0",
        "registration_token": "fcm:chunked",
        "custom_user_id": "",
        "tags": [],
    }
    made = pivotal.exchange(f"POST {prefix}/registration HTTP/1.1\r\n{head}".encode() + chunks(body))
    assert made.status == 200, made.body
    assert made.json["os"] == "android-fcm" and made.json["device_alias"] == ""
    path = f"{prefix}/registration/{made.json['device_uuid']}"
    change = {name: value for name, value in body.items() if name != "os"}
    change["tags"] = {"subscribe": [], "unsubscribe": []}
    changed = pivotal.exchange(f"PUT {path} HTTP/1.1\r\n{head}".encode() + chunks(change))
    assert changed.status == 200 and changed.json == made.json
    assert pivotal.call("DELETE", path, platform="android").status == 204


def test_a_device_that_moved_from_another_server_is_created_by_its_put(pivotal):
    uuid = "0C0C0C0C-1111-4222-8333-444444444444"
    body = {"os": "ios", "registration_token": "0C" * 32, "tags": {"subscribe": ["Moved"]}}
    made = pivotal.call("PUT", f"/v1/registration/{uuid}", body, "ios")
    assert made.status == 200 and made.json["device_uuid"] == uuid.lower()
    assert pivotal.call("GET", f"/v1/registration/{uuid.lower()}", platform="ios").json == made.json
    assert pivotal.call("GET", f"/v1/registration/{uuid.lower()}", platform="android").status == 404
    assert pivotal.call("DELETE", f"/v1/registration/{uuid}", platform="ios").status == 204


def test_users_are_signed_as_the_vendors_tool_does(pivotal):
    signed = signed_user("bond007", VECTOR_SECRET)
    assert signed.endswith("." + VECTOR_SIGNATURE)
    app = pivotal.peal.app()
    keys = f"/apps/{app}/keys"
    pivotal.peal.post(keys, {"dialect": "pivotal", "shared_secret": VECTOR_SECRET})
    platform = pivotal.peal.post(keys, {"dialect": "pivotal-platform", "platform": "ios"})
    pivotal.platforms["vector"] = platform
    try:
        body = {"os": "ios", "registration_token": "0D" * 32, "custom_user_id": signed}
        assert pivotal.call("POST", "/v1/registration", body, "vector").json["custom_user_id"] == "bond007"
        body["custom_user_id"] = signed.replace(".I_eb", ".J_eb")
        assert pivotal.call("POST", "/v1/registration", body, "vector").status == 400
        body["custom_user_id"] = "bond007"
        assert pivotal.call("POST", "/v1/registration", body, "vector").status == 400
        pivotal.peal.patch(f"/apps/{app}", {"settings": {"pivotal": {"verify_custom_user_id": False}}})
        assert pivotal.call("POST", "/v1/registration", body, "vector").json["custom_user_id"] == "bond007"
    finally:
        del pivotal.platforms["vector"]


def test_the_versions_and_the_health_need_no_key(pivotal):
    ask = lambda path: pivotal.exchange(f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    assert ask("/v1/version").json == {"version": "1.8.1"}
    health = ask("/healthcheck")
    assert health.status == 200
    assert set(health.json) == {"database", "rabbitmq", "scheduler-backend"}
    assert all(part["healthy"] is True and part["message"] for part in health.json.values())


# What becomes of devices


def test_a_device_that_left_is_inactive_until_it_registers_again(pivotal, inbox):
    body = {"os": "ios", "registration_token": "0E" * 32, "tags": ["leaving"]}
    made = pivotal.call("POST", "/v1/registration", body, "ios").json
    fault = {"status": 410, "reason": "Unregistered", "timestamp": 4102444800000, "times": 1}
    pivotal.simulator.fault("0e" * 32, fault)
    push = {"message": {"body": "x"}, "target": {"topics": ["leaving"]}}
    assert pivotal.ended(pivotal.push(push).json["receipt_id"])["counts"]["retired"] == 1
    path = f"/v1/registration/{made['device_uuid']}"
    assert pivotal.call("GET", path, platform="ios").json["active"] is False
    listed = pivotal.call("GET", f"/v2/registrations?q={made['device_uuid']}").json
    assert [device["active"] for device in listed["registrations"]] == [False]
    assert pivotal.call("POST", "/v1/registration", body, "ios").json == made
    assert pivotal.ended(pivotal.push(push).json["receipt_id"])["counts"]["accepted"] == 1
    assert pivotal.call("DELETE", path, platform="ios").status == 204


def test_a_topic_that_has_expired_gets_no_pushes(pivotal, inbox):
    if pivotal.clock is None:
        pytest.skip("the clock of programs cannot be moved here")
    pivotal.call("POST", "/v2/topics", {"name": "Fair", "timeToLive": 60})
    body = {"os": "ios", "registration_token": "0F" * 32, "tags": ["FAIR"]}
    made = pivotal.call("POST", "/v1/registration", body, "ios").json
    push = {"message": {"body": "x"}, "target": {"topics": ["fair"]}}
    assert pivotal.ended(pivotal.push(push).json["receipt_id"])["devices"] == 1
    pivotal.clock.advance(61)
    assert pivotal.ended(pivotal.push(push).json["receipt_id"])["devices"] == 0
    shown = pivotal.call("GET", f"/v1/registration/{made['device_uuid']}", platform="ios").json
    assert shown["tags"] == []
    assert pivotal.call("GET", "/v2/topics?q=fair").json["totalTopics"] == 0
    assert pivotal.call("DELETE", f"/v1/registration/{made['device_uuid']}", platform="ios").status == 204


def test_a_schedule_that_several_requests_start_is_started_by_one(pivotal):
    push = {"message": {"body": "x"}, "target": {"topics": ["nobody"]}, "scheduleIn": 3600}
    for _ in range(10):
        path = f"/v1/schedules/{pivotal.push(push).json['schedule_id']}"
        start = lambda _, path=path: pivotal.call("PUT", path, {"scheduleIn": 1})
        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(start, range(8)))
        assert sorted(reply.status for reply in replies) == [200] + 7 * [404], [reply.body for reply in replies]


# One truth


PUSH = {
    "body": "Hello",
    "custom": {
        "ios": {"alert": {"title": "T"}, "badge": 3, "sound": "s", "content-available": True, "extra": {"k": [1]}},
        "android": {"n": 1, "collapse_key": "c"},
        "windows8": {
            "type": "toast",
            "template_name": "ToastText02",
            "template_fields": {"textField2": "two", "textField1": "one"},
        },
        "windowsPhone": {"template": "flipTile", "template_fields": {"title": "t", "count": 7}},
    },
}


def native_spelling(receipt):
    """PUSH in the native API."""
    aps = {"alert": {"title": "T", "body": "Hello"}, "badge": 3, "sound": "s", "content-available": 1}
    return {
        "body": "Hello",
        "ios": {"payload": {"k": [1], "aps": aps, "receiptId": receipt}},
        "android": {
            "data_only": True,
            "data": {"message": "Hello", "n": "1", "receiptId": receipt},
            "options": {"collapse_key": "c"},
        },
        "windows": {"type": "toast", "template": "ToastText02", "fields": {"text": ["one", "two"]}},
        "windows_phone": {"type": "tile", "template": "flip", "fields": {"title": "t", "count": 7}},
    }


def bare(item):
    """An item of the inbox without what differs between notifications."""
    item = copy.deepcopy(item)
    for name in ("seq", "at", "id", "apns_id"):
        item.pop(name, None)
    for name in ("apns-id", "x-messageid", "ms-cv", "x-wns-ttl", "date"):
        item["headers"].pop(name, None)
    if item["provider"] == "fcm":
        item["payload"].get("android", {}).pop("ttl", None)
        item["headers"].pop("content-length", None)
    return item


def test_a_push_and_its_native_spelling_are_the_same_notifications(pivotal, inbox):
    expiry = 4102444800
    push = {"message": PUSH, "target": {"platform": "all"}, "expiryTime": expiry * 1000}
    receipt = pivotal.push(push).json["receipt_id"]
    pivotal.ended(receipt)
    by_device = lambda items: sorted(map(bare, items), key=lambda item: item["device"])
    vendors = by_device(inbox())
    assert len(vendors) == len(pivotal.addresses)
    pivotal.simulator.control("DELETE", "/inbox")
    message = pivotal.peal.send(
        pivotal.app,
        {
            "audience": {"all": True},
            "content": native_spelling(receipt),
            "options": {"expires_at": "2100-01-01T00:00:00Z"},
        },
    )
    pivotal.peal.wait(pivotal.app, message)
    assert by_device(inbox()) == vendors


# The documentation


def test_the_examples_of_the_documentation_run(pivotal, tmp_path):
    application, platform = pivotal.application, pivotal.platforms["ios"]
    app = pivotal.peal.app()
    variables = {
        "PEAL": pivotal.peal.url + "/peal/v1",
        "TOKEN": pivotal.peal.admin_token,
        "APP": app,
        "HOST": pivotal.peal.url,
        "APPLICATION_UUID": application["application_uuid"],
        "API_KEY": application["api_key"],
        "PLATFORM_UUID": platform["platform_uuid"],
        "PLATFORM_SECRET": platform["platform_secret"],
        "SHARED_SECRET": application["shared_secret"],
    }
    run_examples("docs/api/pivotal.md", variables, tmp_path)
