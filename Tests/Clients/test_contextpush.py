"""ContextPush's documented requests, from HTTP to the simulated phone and back to a webhook receiver."""

import concurrent.futures
import contextlib
import datetime
import hashlib
import json
import pathlib
import secrets
import sqlite3
import time

import pytest
from doc_examples import run_examples
from moved_clock import MovedClock
from peal_server import Peal, Refused
from peal_simulator import Simulator
from waiting import wait_until

SEEDS = pathlib.Path(__file__).resolve().parents[1] / "Fixtures" / "seeds" / "contextpush"
BUNDLE = "com.contextsdk.demo"
USER = "user@contextsdk.com"
SCHEDULE = "/v1/campaigns/schedule_message_for_user"
CANCEL = "/v1/campaigns/cancel_message_for_user"
# Of messages without a window, where the clock is moved: longer than a few requests take anywhere.
HOLD_SECONDS = 60


def seed(name, **changes):
    body = json.loads((SEEDS / f"{name}.json").read_text())
    return {name: value for name, value in {**body, **changes}.items() if value is not None}


class ContextPushFixture:
    """A server with one app, its credentials and a ContextPush key, in front of a simulator."""

    def __init__(self, simulate, serve, hold=1):
        self.simulator = simulate()
        self.bundle = self.simulator.description["apns"]["bundle_id"]
        self.peal = serve({
            **self.simulator.environment,
            "PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost",
            "PEAL_CONTEXTPUSH_TRADITIONAL_HOLD_SECONDS": hold,
        })
        # The app has the bundle id of the documentation, and the credential that of the simulator.
        self.app = self.peal.app(bundle_id=BUNDLE)
        self.peal.connect(self.app, self.simulator, "apns/production", "fcm")
        self.key = self.peal.post(f"/apps/{self.app}/keys", {"dialect": "contextpush"})["token"]

    def phone(self, user=USER, platform="ios", **fields):
        address = secrets.token_hex(32) if platform == "ios" else f"android:{secrets.token_hex(16)}"
        self.peal.devices(self.app, [{"platform": platform, "address": address, "user_id": user, **fields}])
        return address

    def call(self, path, body, key=None):
        return self.peal.request("POST", path, body, {"Authorization": f"Token {key or self.key}"})

    def schedule(self, body):
        return self.call(SCHEDULE, body)

    def inbox(self, address, count=1):
        def items():
            found = self.simulator.inbox(f"?device={address}")
            return len(found) >= count and found

        return wait_until(items, failure=lambda: f"fewer than {count} pushes were received")

    def webhook(self, receiver):
        self.peal.put(
            f"/apps/{self.app}/webhooks/ctx",
            {"url": receiver.url, "kind": "contextpush", "authentication": {"type": "secret", "secret": "s3cret"}},
        )


@pytest.fixture
def contextpush(simulate, serve):
    return ContextPushFixture(simulate, serve)


@pytest.fixture
def moved(tmp_path):
    """A fixture with a clock that the test moves, and the clock."""
    if not MovedClock.is_possible():
        pytest.skip("the clock of programs cannot be moved here")
    clock = MovedClock(tmp_path)
    with programs(tmp_path, clock.environment, HOLD_SECONDS) as fixture:
        yield fixture, clock


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """For requests that change nothing."""
    with programs(tmp_path_factory.mktemp("refusing")) as fixture:
        yield fixture


@contextlib.contextmanager
def programs(directory, more=None, hold=1):
    """A fixture whose programs get the environment `more`, and are stopped at the end."""
    with contextlib.ExitStack() as running:

        def start(program):
            running.callback(program.stop)
            return program

        yield ContextPushFixture(
            lambda: start(Simulator(directory / "simulator", environment=more)),
            lambda environment: start(Peal(directory / "peal", {**environment, **(more or {})})),
            hold,
        )


def items_of(receiver, count):
    """The items of all requests so far, once there are `count`."""

    def items():
        found = [item for _, body in receiver.requests for item in json.loads(body)]
        return len(found) >= count and found

    return wait_until(items, failure=lambda: f"fewer than {count} items in {receiver.requests}")


@pytest.mark.parametrize("name", ["schedule_context_aware", "schedule_localized", "schedule_all_fields"])
def test_every_documented_request_reaches_the_phone(contextpush, name):
    address = contextpush.phone(locale="de-AT")
    answer = contextpush.schedule(seed(name, delivery_method="traditional"))
    assert answer["status"] == "scheduled"
    assert answer["delivery_method"] == "traditional"
    assert datetime.datetime.fromisoformat(answer["deliver_until"]).tzinfo
    (item,) = contextpush.inbox(address)
    alert = item["payload"]["aps"]["alert"]
    content = seed(name)["content"]
    expected = {
        part: text if isinstance(text, str) else text["de"]
        for part, text in content.items()
        if part in ("title", "subtitle", "body")
    }
    assert alert == expected
    assert item["payload"]["aps"]["mutable-content"] == 1
    assert item["payload"]["ctx_idempotency_key"] == answer["idempotency_key"]


@pytest.mark.parametrize("name", ["schedule_context_aware", "schedule_localized"])
def test_an_example_as_it_is_arrives_at_the_end_of_its_three_hours(moved, name):
    contextpush, clock = moved
    address = contextpush.phone(locale="fr")
    answer = contextpush.schedule(seed(name))
    assert (answer["status"], answer["delivery_method"]) == ("scheduled", "context_aware")
    clock.advance(3 * 3600 - 30)
    # Nothing must happen, and nothing announces that: the scheduler looks every second.
    time.sleep(1)
    assert not contextpush.simulator.inbox(f"?device={address}")
    clock.advance(40)
    (item,) = contextpush.inbox(address)
    content = seed(name)["content"]
    parts = {part: content[part] for part in ("title", "body")}
    assert item["payload"]["aps"]["alert"] == {
        part: text if isinstance(text, str) else text["en"] for part, text in parts.items()
    }
    until = datetime.datetime.fromisoformat(answer["deliver_until"])
    # The app's `contextpush.grace_minutes` are 60.
    assert int(item["headers"]["apns-expiration"]) == int(until.timestamp()) + 3600


def test_all_fields_arrive_as_apple_names_them_under_the_message_id(contextpush):
    address = contextpush.phone()
    contextpush.schedule(seed("schedule_all_fields"))
    (item,) = contextpush.inbox(address)
    payload = item["payload"]
    assert payload["aps"]["sound"] == "sosumi.caf"
    assert payload["aps"]["badge"] == 1
    assert payload["aps"]["thread-id"] == "courses"
    assert payload["key"] == "value"
    assert payload["ctx_image_url"] == "https://example.com/course.jpg"
    assert payload["ctx_idempotency_key"] == "1234567890abcdef"
    (message,) = contextpush.peal.get(f"/apps/{contextpush.app}/messages")["items"]
    assert item["headers"]["apns-collapse-id"] == message["id"]
    assert message["dialect"] == "contextpush"
    assert message["audience"]["devices"] == 1


def test_a_context_aware_message_goes_out_when_its_window_ends(moved):
    contextpush, clock = moved
    address = contextpush.phone()
    until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    body = seed("schedule_context_aware", deliver_within_hours=None, target_delivery_time=until.isoformat())
    assert contextpush.schedule(body)["delivery_method"] == "context_aware"
    (message,) = contextpush.peal.get(f"/apps/{contextpush.app}/messages")["items"]
    assert message["state"] == "scheduled"
    assert not contextpush.simulator.inbox(f"?device={address}")
    clock.advance(3600)
    (item,) = contextpush.inbox(address)
    assert item["at"] >= until.timestamp() * 1000
    contextpush.peal.wait(contextpush.app, message["id"])


def test_the_last_request_counts_and_a_cancelled_one_never_comes(moved):
    contextpush, clock = moved
    address = contextpush.phone()
    key = seed("cancel")["idempotency_key"]
    body = seed("schedule_context_aware", delivery_method="traditional", idempotency_key=key)
    contextpush.schedule(body)
    newer = {**body, "content": {"title": "Newer", "body": "This one"}}
    contextpush.schedule(newer)
    clock.advance(HOLD_SECONDS)
    (item,) = contextpush.inbox(address)
    assert item["payload"]["aps"]["alert"]["title"] == "Newer"
    (message,) = contextpush.peal.get(f"/apps/{contextpush.app}/messages")["items"]
    contextpush.peal.wait(contextpush.app, message["id"])
    with pytest.raises(Refused) as refusal:
        contextpush.call(CANCEL, seed("cancel"))
    assert refusal.value.status == 409
    assert json.loads(refusal.value.text)["error"]["state"] == "sent"
    # The same request again is a repetition; after a cancellation, it is a new message.
    assert contextpush.schedule(newer)["status"] == "delivered"
    # Another message is cancelled in time, twice.
    other = {**body, "idempotency_key": "other"}
    contextpush.schedule(other)
    for _ in range(2):
        assert contextpush.call(CANCEL, seed("cancel", idempotency_key="other"))["status"] == "cancelled"
    clock.advance(HOLD_SECONDS)
    # Nothing must happen, and nothing announces that: the scheduler looks every second.
    time.sleep(2)
    assert len(contextpush.simulator.inbox(f"?device={address}")) == 1
    with pytest.raises(Refused) as refusal:
        contextpush.call(CANCEL, seed("cancel", idempotency_key="unknown"))
    assert refusal.value.status == 404


def test_one_of_several_devices_is_reached_and_after_a_dead_one_the_next(contextpush, receive):
    receiver = receive()
    contextpush.webhook(receiver)
    older, newer = contextpush.phone(), contextpush.phone()
    fault = {"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 5000}
    contextpush.simulator.fault(newer, fault)
    content = {"title": "t", "body": "b", "userInfo": {"order": 17, "ratio": 1.0}}
    body = seed("schedule_context_aware", delivery_method="traditional", idempotency_key="k", content=content)
    contextpush.schedule(body)
    items = contextpush.inbox(older)
    assert len(items) == 1
    # The device that failed is not reported, because the message was delivered on another one.
    pending, item = items_of(receiver, 2)
    assert (pending["delivery_status"], pending["device_token"]) == ("pending", newer)
    assert (item["delivery_status"], item["device_token"]) == ("delivered", older)
    # What became of the device that failed is in its trail.
    (message,) = contextpush.peal.get(f"/apps/{contextpush.app}/messages")["items"]
    trail = contextpush.peal.deliveries(contextpush.app, message["id"], user=USER)
    assert {"retired", "accepted"} <= {event["event"] for event in trail}
    failed = next(event for event in trail if event["event"] == "retired")
    assert failed["detail"] == "Unregistered"
    timeline = contextpush.peal.get(f"/apps/{contextpush.app}/devices/{failed['device']}/deliveries")["items"]
    assert "retired" in {event["event"] for event in timeline}
    headers = receiver.requests[0][0]
    assert headers["X-CTX-Secret"] == "s3cret"
    assert headers["X-CTX-Event-Type"] == "message_status"
    assert headers["X-Idempotency-Key"]
    assert item["user_id"] == USER
    assert item["campaign_id"] == "daily-reminder"
    assert item["idempotency_key"] == "k"
    assert item["delivery_method"] == item["planned_delivery_method"] == "traditional"
    assert item["content"] == content
    assert item["timestamp"].endswith("Z") and "." in item["timestamp"]


def test_a_message_fails_once_all_devices_of_the_user_failed(contextpush, receive):
    receiver = receive()
    contextpush.webhook(receiver)
    phones = [contextpush.phone(), contextpush.phone()]
    fault = {"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 5000}
    for phone in phones:
        contextpush.simulator.fault(phone, fault)
    body = seed("schedule_context_aware", delivery_method="traditional", idempotency_key="k")
    contextpush.schedule(body)
    items = [item for item in items_of(receiver, 3) if item["delivery_status"] != "pending"]
    assert {item["device_token"] for item in items} == set(phones)
    assert {item["delivery_status"] for item in items} == {"failed"}
    assert contextpush.schedule(body)["status"] == "failed"
    # Another body is another message.
    assert contextpush.schedule({**body, "deliver_within_hours": 2})["status"] == "scheduled"


def test_an_app_may_alert_all_devices_of_a_user(contextpush):
    contextpush.peal.patch(f"/apps/{contextpush.app}", {"settings": {"contextpush": {"all_devices": True}}})
    phones = [contextpush.phone(), contextpush.phone()]
    contextpush.schedule(seed("schedule_context_aware", delivery_method="traditional"))
    for phone in phones:
        assert len(contextpush.inbox(phone)) == 1


def test_webhooks_report_a_cancellation_without_a_device(contextpush, receive):
    receiver = receive()
    contextpush.webhook(receiver)
    phone = contextpush.phone()
    contextpush.schedule(seed("schedule_context_aware", idempotency_key="k"))
    contextpush.call(CANCEL, seed("cancel", idempotency_key="k"))
    pending, item = items_of(receiver, 2)
    assert (pending["delivery_status"], pending["device_token"]) == ("pending", phone)
    assert item["delivery_status"] == item["delivery_method"] == "cancelled"
    assert item["planned_delivery_method"] == "context_aware"
    assert "device_token" not in item


def test_a_user_who_registers_inside_the_window_is_reached(contextpush):
    contextpush.schedule(seed("schedule_context_aware", delivery_method="traditional"))
    # The device registers after the hold of a second.
    time.sleep(2)
    address = contextpush.phone()
    assert len(contextpush.inbox(address)) == 1


def test_twenty_requests_at_once_with_one_key_are_one_message(moved):
    contextpush, clock = moved
    address = contextpush.phone()
    bodies = [
        seed("schedule_context_aware", delivery_method="traditional", idempotency_key="k", content={"body": f"b{n}"})
        for n in range(20)
    ]
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(contextpush.schedule, bodies))
    assert {answer["status"] for answer in answers} == {"scheduled"}
    assert len(contextpush.peal.get(f"/apps/{contextpush.app}/messages")["items"]) == 1
    clock.advance(HOLD_SECONDS)
    contextpush.inbox(address)
    # A second push would follow the first one at once.
    time.sleep(2)
    assert len(contextpush.inbox(address)) == 1


def test_a_cancellation_that_races_the_send_is_exact(contextpush):
    address = contextpush.phone()

    def race(number):
        key = f"k{number}"
        contextpush.schedule(seed("schedule_context_aware", delivery_method="traditional", idempotency_key=key))
        # Around the end of the hold, which is a second.
        time.sleep(0.8 + number % 10 * 0.06)
        try:
            return key, contextpush.call(CANCEL, seed("cancel", idempotency_key=key))["status"]
        except Refused as refusal:
            assert refusal.status == 409
            return key, json.loads(refusal.text)["error"]["state"]

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        answers = dict(pool.map(race, range(40)))
    expected = sorted(key for key, answer in answers.items() if answer != "cancelled")
    contextpush.inbox(address, len(expected))
    # Nothing else must come: all holds have ended by then.
    time.sleep(3)
    came = [item["payload"]["ctx_idempotency_key"] for item in contextpush.simulator.inbox(f"?device={address}")]
    assert sorted(came) == expected
    assert set(answers.values()) <= {"cancelled", "sent"}


def test_a_repetition_may_change_method_and_window(moved):
    contextpush, clock = moved
    address = contextpush.phone()
    body = seed("schedule_context_aware", delivery_method="traditional", idempotency_key="k")
    contextpush.schedule(body)
    answer = contextpush.schedule({**body, "delivery_method": "context_aware", "deliver_within_hours": 1})
    assert (answer["status"], answer["delivery_method"]) == ("scheduled", "context_aware")
    clock.advance(HOLD_SECONDS)
    # Nothing must happen, and nothing announces that: the scheduler looks every second.
    time.sleep(2)
    assert not contextpush.simulator.inbox(f"?device={address}")
    # A refused request changes nothing.
    with pytest.raises(Refused):
        contextpush.schedule({**body, "content": {"title": "no body"}})
    contextpush.schedule({**body, "content": {"body": "now"}})
    clock.advance(HOLD_SECONDS)
    (item,) = contextpush.inbox(address)
    assert item["payload"]["aps"]["alert"] == {"body": "now"}


def test_a_user_without_a_method_gets_the_documented_one(contextpush):
    """SHA-256 of a version, app, salt, campaign and user; its first 8 bytes as a fraction: below 0.5 context_aware."""
    body = seed("schedule_context_aware", delivery_method=None)
    users = [f"user-{number}" for number in range(30)]
    answers = [contextpush.schedule({**body, "user_id": user})["delivery_method"] for user in users]
    with sqlite3.connect(f"file:{contextpush.peal.directory / 'peal.db'}?mode=ro", uri=True) as store:
        ((salt,),) = store.execute("SELECT salt FROM experiment WHERE campaign_id = ?", [body["campaign_id"]])
    for user, answer in zip(users, answers):
        text = "\x1f".join(["ab1", BUNDLE, salt, body["campaign_id"], user])
        unit = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") / 2**64
        assert answer == ("context_aware" if unit < 0.5 else "traditional")
    assert len(set(answers)) == 2


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_native_spelling_gives_the_same_request(contextpush, platform):
    address = contextpush.phone(platform=platform, locale="de-AT")
    until = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=6)).isoformat()
    content = {**seed("schedule_all_fields")["content"], **seed("schedule_localized")["content"]}
    content["subtitle"] = {"en": "Now!", "de": "Jetzt!"}
    content["userInfo"] = {"key": "value", "ratio": 1.0, "nested": {"list": [1, None]}}
    contextpush.schedule(seed("schedule_all_fields", platform=platform, target_delivery_time=until, content=content))
    (first,) = contextpush.inbox(address)
    parts = ("default_locale", "title", "subtitle", "body", "sound", "badge")
    own = {"ctx_image_url": content["imageUrl"], "ctx_idempotency_key": "1234567890abcdef"}
    spelled = {
        **{name: content[name] for name in parts},
        "thread_id": content["thread-id"],
        "data": {**content["userInfo"], **own},
    }
    if platform == "ios":
        spelled["ios"] = {"payload": {"aps": {"mutable-content": 1}}}
    else:
        spelled["image_url"] = content["imageUrl"]
    contextpush.peal.send(
        contextpush.app,
        {
            "audience": {"users": [USER], "platforms": [platform]},
            "method": "traditional",
            "schedule": {"window": {"until": until}},
            "content": spelled,
        },
    )
    _, second = contextpush.inbox(address, 2)
    for item in (first, second):
        # FCM gets the remaining time.
        item["payload"].get("android", {}).pop("ttl", None)
    assert json.dumps(second["payload"]) == json.dumps(first["payload"])
    made = {"apns-id", "apns-collapse-id"}
    assert {k: v for k, v in first["headers"].items() if k not in made} == {
        k: v for k, v in second["headers"].items() if k not in made
    }
    if platform == "android":
        assert first["payload"]["data"]["nested"] == '{"list":[1,null]}'
        assert first["payload"]["notification"] == {
            "title": content["title"]["de"], "body": content["body"]["de"], "image": content["imageUrl"]
        }


@pytest.mark.parametrize(
    "changes, status",
    [
        ({"platform": "toaster"}, 422),
        ({"deliver_within_hours": "0"}, 400),
        ({"deliver_within_hours": 169}, 400),
        ({"deliver_within_hours": None}, 400),
        ({"target_delivery_time": "2020-01-01T00:00:00Z"}, 400),
        ({"delivery_method": "pigeon"}, 400),
        ({"bundle_id": "com.example.other"}, 403),
        ({"content": {"title": "t"}}, 400),
        ({"content": {"title": {"en": "t"}, "body": {"en": "b"}}}, 400),
        ({"content": {"title": {"en": "t"}, "body": {"en": "b", "de": "b"}, "default_locale": "en"}}, 400),
    ],
)
def test_an_invalid_request_is_refused(refusing, changes, status):
    with pytest.raises(Refused) as refusal:
        refusing.schedule(seed("schedule_context_aware", **changes))
    assert refusal.value.status == status, refusal.value.text
    assert json.loads(refusal.value.text)["error"]["code"]


def test_an_unknown_key_is_refused(refusing):
    with pytest.raises(Refused) as refusal:
        refusing.call(SCHEDULE, seed("schedule_context_aware"), key="CTX-" + secrets.token_hex(8))
    assert refusal.value.status == 401


def test_the_documentation_works(contextpush, receive, tmp_path):
    address = secrets.token_hex(32)
    outputs = run_examples(
        "docs/api/contextpush.md",
        {"HOST": contextpush.peal.url, "PEAL": contextpush.peal.url + "/peal/v1", "APP": contextpush.app, "BUNDLE_ID": BUNDLE,
         "TOKEN": contextpush.peal.admin_token, "OWN_TOKEN": "CTX-1234567890abcdef", "REPORTS": receive().url,
         "DEVICE_TOKEN": address},
        tmp_path,
    )
    assert '"status":"scheduled"' in "".join(outputs)
    assert '"status":"cancelled"' in "".join(outputs)
    assert contextpush.inbox(address)
