"""The Richie Push API, from a documented request to the inbox of the device and the analytics callback."""

import json
import pathlib
import secrets
import time

import pytest
from doc_examples import run_examples
from peal_server import Refused, basic
from waiting import wait_until

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "Fixtures" / "seeds" / "richie"
ACCOUNT = ("publisher", "a-password")
TASKS = "/push/v2/admin/task"
# What differs between two messages: generated ids, and authentication.
PER_MESSAGE = {"apns-id", "apns-unique-id", "apns-collapse-id", "authorization"}


def fixture(name):
    return (FIXTURES / name).read_text()


class RichieFixture:
    """A server with an app for Richie's clients, `app_id`, and a simulator."""

    def __init__(self, simulator, peal, app_id):
        self.simulator, self.peal = simulator, peal
        self.app = peal.app(bundle_id=simulator.description["apns"]["bundle_id"], richie_app_id=app_id)
        peal.connect(self.app, simulator, "apns/production", "fcm")
        username, password = ACCOUNT
        peal.post(f"/apps/{self.app}/keys", {"dialect": "richie", "username": username, "password": password})
        self.seen = 0

    def devices(self, **fields):
        """An iPhone and an Android phone. Returns their addresses."""
        ios, android = secrets.token_hex(32), f"android:{secrets.token_hex(16)}"
        phones = [{"platform": "ios", "address": ios}, {"platform": "android", "address": android}]
        self.peal.devices(self.app, [{**phone, **fields} for phone in phones])
        return ios, android

    def task(self, body, **headers):
        """Sends a task, text or JSON. Returns its id."""
        data = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        answer = self.peal.request("POST", TASKS, data, {"Authorization": basic(*ACCOUNT), **headers})
        assert list(answer) == ["task_id"]
        return answer["task_id"]

    def arrived(self, message):
        """What devices received since the last call, once `message` is sent."""
        self.peal.wait(self.app, message)
        items = self.simulator.inbox(f"?after={self.seen}")
        self.seen = max([item["seq"] for item in items], default=self.seen)
        return {item["device"]: item for item in items}


@pytest.fixture
def richie(simulate, serve):
    simulator = simulate()
    peal = serve({**simulator.environment, "PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost"})
    return RichieFixture(simulator, peal, "your-app-id")


def expected_data(alert, task):
    """The data for Android: the keys as JSON text, and each one as a string."""
    texts = {name: value if isinstance(value, str) else json.dumps(value) for name, value in alert.items()}
    return {**texts, "alert": json.dumps(alert, separators=(",", ":"), ensure_ascii=False), "task_id": task}


# The fixture of an example; which devices it is for.
EXAMPLES = {
    "topics.json": {"topics": ["sports"]},
    "users.json": {"user_id": "abcde..."},
    "analytics.json": {"topics": ["breaking-news"]},
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_reaches_the_devices_it_names_and_no_others(richie, name):
    ios, android = richie.devices(**EXAMPLES[name])
    richie.devices(topics=["weather"], user_id="somebody else")
    payloads = json.loads(fixture(name))["payloads"]
    task = richie.task(fixture(name))
    inbox = richie.arrived(task)
    assert set(inbox) == {ios, android}
    sent = payloads["ios"]
    sent["aps"]["task_id"] = task
    assert json.dumps(inbox[ios]["payload"]) == json.dumps(sent)
    assert inbox[ios]["headers"]["apns-push-type"] == "alert"
    message = inbox[android]["payload"]
    assert message["data"] == expected_data(payloads["android"]["data"], task)
    assert "notification" not in message and message["android"]["priority"] == "HIGH"


@pytest.mark.parametrize("name, position", [("topics-broken.txt", (15, 9)), ("users-broken.txt", (14, 9))])
def test_a_broken_example_is_refused_with_its_position(richie, name, position):
    richie.peal.patch(f"/apps/{richie.app}", {"settings": {"richie": {"lenient_json": False}}})
    with pytest.raises(Refused) as refusal:
        richie.task(fixture(name))
    assert refusal.value.status == 400
    error = json.loads(refusal.value.text)["error"]
    assert "line {}, column {}".format(*position) in error, error
    assert richie.peal.get(f"/apps/{richie.app}/messages")["items"] == []


def test_a_broken_example_is_accepted_as_it_is(richie):
    ios, android = richie.devices(user_id="12345...", topics=["sports"])
    for name in ["users-broken.txt", "topics-broken.txt"]:
        assert set(richie.arrived(richie.task(fixture(name)))) == {ios, android}


def test_all_users_is_everybody_and_one_payload_one_platform(richie):
    first, second = richie.devices(topics=["food"]), richie.devices()
    payloads = json.loads(fixture("users.json"))["payloads"]
    task = {"app_id": "your-app-id", "topics": ["all_users", "food"], "payloads": payloads}
    assert set(richie.arrived(richie.task(task))) == {*first, *second}
    del task["payloads"]["ios"]
    assert set(richie.arrived(richie.task(task))) == {first[1], second[1]}


def padded(payloads, platform, count):
    """`payloads` with a body that makes the platform's one `count` bytes of compact JSON."""
    alert = payloads[platform]["aps"]["alert"] if platform == "ios" else payloads[platform]["data"]["alert"]
    alert["body"] = ""
    alert["body"] = "x" * (count - len(json.dumps(payloads[platform], separators=(",", ":"))))
    return payloads


@pytest.mark.parametrize("platform", ["ios", "android"])
def test_the_size_of_the_sent_payload_counts_without_what_is_added(richie, platform):
    device = richie.devices()[platform == "android"]
    shape = {"ios": {"aps": {"alert": {}}}} if platform == "ios" else {"android": {"data": {"alert": {}}}}
    task = {"app_id": "your-app-id", "topics": ["all_users"], "payloads": padded(shape, platform, 4096)}
    sent = json.loads(json.dumps(shape[platform]))
    item = richie.arrived(richie.task(task))[device]
    if platform == "ios":
        assert item["payload"] == sent
    else:
        # The two forms together are too large; the one that was sent has room for the id.
        assert set(item["payload"]["data"]) - {"task_id"} == {"alert"}
        assert json.loads(item["payload"]["data"]["alert"]) == sent["data"]["alert"]
    task["payloads"] = padded(shape, platform, 4097)
    with pytest.raises(Refused) as refusal:
        richie.task(task)
    assert refusal.value.status == 413 and f"payloads.{platform}" in refusal.value.text


def test_what_is_unusual_about_a_task_is_logged_without_its_text(richie):
    odd = {"my-key": "v", "publisher-item-id": "1", "external-browser-url": "https://e.com"}
    payloads = {"ios": {"body": "A secret"}, "android": {"data": {"body": "A secret", **odd}}}
    task = richie.task({"app_id": "your-app-id", "topics": ["nobody follows"], "payloads": payloads})
    expected = ("no aps.alert", "a dash", "both publisher-item-id and external-browser-url", "reaches no device")
    # The log may be written after the answer.
    wait_until(lambda: all(words in richie.peal.log for words in expected), failure=lambda: richie.peal.log[-2000:])
    entries = [json.loads(line) for line in richie.peal.log.splitlines() if "about a Richie task" in line]
    assert {entry["level"] for entry in entries} == {"warning"}
    assert {entry["metadata.message"] for entry in entries} == {task}
    told = "\n".join(entry["message"] for entry in entries)
    assert all(words in told for words in expected), told
    assert "secret" not in told and "nobody follows" not in told


def documented_report():
    """The documented callback, and a task that must cause one of its shape."""
    report = json.loads(fixture("report.json"))
    payloads = json.loads(fixture("report.json"))["payloads"]
    del payloads["android"]["data"]["task_id"], payloads["ios"]["aps"]["task_id"]
    return report, {"app_id": report["app_id"], "topics": report["topics"], "payloads": payloads}


def test_analytics_come_in_the_documented_shape_authenticated_and_again_after_a_failure(richie, receive):
    report, task = documented_report()
    richie.peal.patch(f"/apps/{richie.app}", {"richie_app_id": report["app_id"]})
    receiver = receive(500)
    authentication = {"type": "basic", "username": "analytics", "password": "of the receiver"}
    webhook = {"url": receiver.url, "kind": "richie_report", "authentication": authentication}
    richie.peal.put(f"/apps/{richie.app}/webhooks/analytics", webhook)
    _, gone = richie.devices()
    refused, _ = richie.devices()
    richie.simulator.fault(gone, {"error_code": "UNREGISTERED"})
    richie.simulator.fault(refused, {"status": 413, "reason": "PayloadTooLarge"})
    started = time.monotonic()
    task_id = richie.task(task)
    (first, body), (second, again) = receiver.wait(2)
    told = json.loads(body)
    report.update(successes=2, failures=1, deletions=1, completion_time_ms=told["completion_time_ms"])
    report["payloads"]["android"]["data"]["task_id"] = report["payloads"]["ios"]["aps"]["task_id"] = task_id
    assert told == report
    assert list(told) == list(report)
    assert 0 <= told["completion_time_ms"] <= (time.monotonic() - started) * 1000
    assert again == body and first["X-Idempotency-Key"] == second["X-Idempotency-Key"]
    assert first["authorization"] == second["authorization"] == basic("analytics", "of the receiver")
    assert first["content-type"] == "application/json"


def test_analytics_of_a_task_to_users_name_them(richie, receive):
    receiver = receive()
    webhook = {"url": receiver.url, "kind": "richie_report", "authentication": {"type": "bearer", "token": "secret"}}
    richie.peal.put(f"/apps/{richie.app}/webhooks/analytics", webhook)
    richie.task(fixture("users.json"))
    ((headers, body),) = receiver.wait(1)
    told = json.loads(body)
    assert told["external_user_ids"] == ["abcde...", "12345..."] and "topics" not in told
    assert (told["successes"], told["failures"], told["deletions"]) == (0, 0, 0)
    assert headers["authorization"] == "Bearer secret"


def spelled(task, task_id, expires_at):
    """The same task in the native API: the dialect's own keys are in the platforms' objects."""
    payloads = json.loads(json.dumps(task["payloads"]))
    audience = {"platforms": sorted(payloads)}
    for theirs, ours in (("topics", "topics"), ("external_user_ids", "users")):
        if theirs in task:
            audience[ours] = task[theirs]
    payloads["ios"]["aps"]["task_id"] = task_id
    data = expected_data(payloads["android"]["data"], task_id)
    content = {"ios": {"payload": payloads["ios"]}, "android": {"data": data, "data_only": True}}
    return {"audience": audience, "content": content, "options": {"expires_at": expires_at}}


def comparable(item):
    """An inbox item as JSON text in its own order, without what differs between messages; seconds left apart."""
    item = json.loads(json.dumps(item))
    headers = {name: value for name, value in item["headers"].items() if name not in PER_MESSAGE}
    seconds = int(item["payload"].get("android", {}).pop("ttl", "0s").removesuffix("s"))
    return json.dumps([headers, item["payload"]]), seconds


@pytest.mark.parametrize("name", EXAMPLES)
def test_one_truth_the_native_api_gives_the_same_requests(richie, name):
    ios, android = richie.devices(**EXAMPLES[name])
    task_id = richie.task(fixture(name))
    theirs = richie.arrived(task_id)
    expires_at = richie.peal.message(richie.app, task_id)["expires_at"]
    ours = richie.arrived(richie.peal.send(richie.app, spelled(json.loads(fixture(name)), task_id, expires_at)))
    assert set(theirs) == set(ours) == {ios, android}
    for device, item in theirs.items():
        (text, seconds), (native, native_seconds) = comparable(item), comparable(ours[device])
        assert text == native
        # FCM gets the remaining time.
        assert 0 <= seconds - native_seconds <= 60


def test_the_examples_of_the_page_work(richie, receive, tmp_path):
    peal, receiver = richie.peal, receive()
    app = peal.app(name="News")
    key = peal.post(f"/apps/{app}/keys", {"dialect": "native", "scopes": ["send", "read", "devices", "manage"]})
    peal.patch(f"/apps/{richie.app}", {"richie_app_id": None})
    variables = {
        "HOST": peal.url,
        "PEAL": f"{peal.url}/peal/v1",
        "TOKEN": key["token"],
        "APP": app,
        "USERNAME": "docs",
        "PASSWORD": secrets.token_urlsafe(24),
        "DEVICE_TOKEN": secrets.token_hex(32),
        "REPORTS": receiver.url,
    }
    outputs = run_examples("docs/api/richie.md", variables, tmp_path)
    assert len(outputs) == 5
    assert all("task_id" in json.loads(output) for output in outputs[1:3])
    dialects = [message["dialect"] for message in peal.get(f"/apps/{app}/messages")["items"]]
    assert dialects == ["native", "richie", "richie", "richie"]
    receiver.wait(3)
