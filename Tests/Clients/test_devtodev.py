"""The devtodev Push API, from a documented request to the inbox of the device."""

import concurrent.futures
import datetime
import json
import pathlib
import secrets
import time
import urllib.parse
import urllib.request
import xml.etree.ElementTree as ElementTree

import pytest
from doc_examples import run_examples
from peal_server import OPENER, Refused

FIXTURES = pathlib.Path(__file__).resolve().parents[1] / "Fixtures" / "seeds" / "devtodev"
SEND = "/api/v1/push/send"
# What differs between two messages: generated ids, and authentication.
PER_MESSAGE = {"apns-id", "apns-unique-id", "authorization", "ms-cv"}
USER_TOKEN = "0123456789abcdef0123456789abcdef"
APP_ID = "0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"


class DevtodevFixture:
    """A server with an app for devtodev's clients, and a simulator of its three push networks."""

    def __init__(self, simulate, serve):
        self.simulator = simulate()
        description = self.simulator.description
        self.peal = serve(self.simulator.environment)
        self.app = self.peal.app(bundle_id=description["apns"]["bundle_id"], devtodev_app_id=APP_ID)
        self.peal.connect(self.app, self.simulator, "apns/production", "apns/sandbox", "fcm", "wns")
        self.peal.post(f"/apps/{self.app}/keys", {"dialect": "devtodev", "user_token": USER_TOKEN})
        self.channel = f"{description['wns_url']}/?token=AQE%3d"
        self.seen = 0

    def fixture(self, name):
        return (FIXTURES / name).read_text().replace("WINDOWS_CHANNEL", self.channel)

    def push(self, body, path=SEND):
        """Sends a request, text or JSON; returns the answer. Only the body authenticates it."""
        data = (body if isinstance(body, str) else json.dumps(body, ensure_ascii=False)).encode()
        return self.peal.request("POST", path, data, {"Authorization": ""})

    def message(self, audience, **platforms):
        return {"user_token": USER_TOKEN, "app_id": APP_ID, "audience": audience, **platforms}

    def arrived(self):
        """What devices received since the last call."""
        items = self.simulator.inbox(f"?after={self.seen}")
        self.seen = max([item["seq"] for item in items], default=self.seen)
        return items

    def only(self):
        (item,) = self.arrived()
        return item


@pytest.fixture
def devtodev(simulate, serve):
    return DevtodevFixture(simulate, serve)


def counts(answer):
    """The four counts, which are in the answer twice."""
    names = ("audience", "successful", "erroneous", "error_details")
    assert answer["status_code"] == 200
    assert {name: answer[name] for name in names} == {name: answer["data"][name] for name in names}
    return answer["audience"], answer["successful"], answer["erroneous"], answer["error_details"]


# Examples of the documents


def test_the_ios_example_arrives_as_the_sdk_reads_it(devtodev):
    body = devtodev.fixture("ios-push.json")
    answer = devtodev.push(body)
    assert counts(answer) == (1, 1, 0, [])
    item = devtodev.only()
    assert item["device"] == json.loads(body)["audience"][0]["token"]
    assert item["environment"] == "production"
    assert json.dumps(item["payload"]) == json.dumps(
        {
            "aps": {
                "alert": {"title": "Title of the notification", "body": "Notification content."},
                "badge": 11,
                "sound": "bingbong.aiff",
                "category": "dtd_accept.open_decline.dismiss",
                "mutable-content": 1,
            },
            "key1": "value",
            "key2": "15",
            "_u": "http://www.domain.com",
            "_interactive": {"buttons": [{"id": "accept", "_u": "http://www.domain.com/accept"}]},
            "_mediaAttachments": [{"type": "image", "url": "https://domain.com/pic.png"}],
            "_k": answer["data"]["message_id"],
        }
    )
    headers = item["headers"]
    assert (headers["apns-priority"], headers["apns-push-type"]) == ("5", "alert")
    assert headers["apns-collapse-id"] == "qwerqwer"
    assert 0 <= item["at"] / 1000 + 36000 - int(headers["apns-expiration"]) < 30


def test_the_hidden_example_wakes_the_app(devtodev):
    answer = devtodev.push(devtodev.fixture("ios-hidden.json"))
    assert counts(answer) == (1, 1, 0, [])
    item = devtodev.only()
    message = answer["data"]["message_id"]
    sent = {"aps": {"content-available": 1, "badge": 11}, "key1": "value", "key2": "15", "_k": message}
    assert item["payload"] == sent
    assert (item["headers"]["apns-priority"], item["headers"]["apns-push-type"]) == ("5", "alert")


MADE = {
    "data": {"my_key": "value", "my_another_key": 15},
    "attachment": {"_mediaAttachments": [{"type": "image", "url": "https://domain.com/pic.gif"}]},
    "action-url": {"_u": "http://www.domain.com"},
    "action-deeplink": {"_d": "your-url-scheme://host/path"},
    "action-share": {"_s": "Happy holidays!"},
    "interactive": {"_interactive": {"buttons": [{"id": "accept", "_u": "http://www.domain.com/accept"}]}},
}


@pytest.mark.parametrize("name", MADE)
def test_the_example_of_a_member_arrives(devtodev, name):
    members = json.loads(devtodev.fixture("payload-members.json"))[name]
    token = secrets.token_hex(32)
    body = devtodev.message([{"token": token}], ios={"payload": {"text": "Hi", **members}})
    assert counts(devtodev.push(body)) == (1, 1, 0, [])
    payload = devtodev.only()["payload"]
    aps = payload.pop("aps")
    assert aps.get("mutable-content") == (1 if name == "attachment" else None)
    assert aps.get("category") == ("dtd_accept.open_decline.dismiss" if name == "interactive" else None)
    del payload["_k"]
    assert payload == MADE[name]


def test_the_android_example_arrives_as_texts_the_sdk_reads(devtodev):
    answer = devtodev.push(devtodev.fixture("android-push.json"))
    assert counts(answer) == (1, 1, 0, [])
    item = devtodev.only()
    accept = {"id": "accept", "text": "Accept", "activationMode": "foreground", "_u": "http://www.domain.com/accept"}
    decline = {"id": "decline", "text": "Decline", "activationMode": "background"}
    data = item["payload"]["data"]
    assert json.loads(data.pop("_interactive")) == {"buttons": [accept, decline]}
    assert json.loads(data.pop("data")) == {"key1": "value", "key2": "15"}
    assert data == {
        "key1": "value",
        "key2": "15",
        "title": "Title of the notification",
        "alert": "Notification content.",
        "icon": "smallicon",
        "_largeIcon": "midicon",
        "color": "#ff0000",
        "sound": "bingbong",
        "_banner": "https://domain.com/pic.png",
        "_led": "#ff0000",
        "_vibration": "true",
        "_u": "http://www.domain.com",
        "_k": answer["data"]["message_id"],
    }
    assert "notification" not in item["payload"]
    android = item["payload"]["android"]
    assert (android["priority"], android["collapseKey"]) == ("NORMAL", "qwerqwer")
    assert 35970 <= int(android["ttl"].rstrip("s")) <= 36000


def test_the_hidden_android_example_arrives(devtodev):
    answer = devtodev.push(devtodev.fixture("android-hidden.json"))
    assert counts(answer) == (1, 1, 0, [])
    message = devtodev.only()["payload"]
    own = {"key1": "value", "key2": "15"}
    assert json.loads(message["data"].pop("data")) == own
    assert message["data"] == {**own, "_h": "1", "_k": answer["data"]["message_id"]}
    assert message["android"]["priority"] == "HIGH"


@pytest.mark.parametrize("name, template", [("uwp-toast.json", "ToastGeneric"), ("win-toast.json", "ToastText04")])
def test_the_windows_examples_arrive_as_toasts(devtodev, name, template):
    assert counts(devtodev.push(devtodev.fixture(name))) == (1, 1, 0, [])
    item = devtodev.only()
    toast = ElementTree.fromstring(item["payload"]["text"])
    binding = toast.find("visual/binding")
    assert binding.get("template") == template
    texts = ["Notification title", "First notification string", "Second notification string"]
    assert [text.text for text in binding.findall("text")] == texts
    assert json.loads(toast.get("launch")) == {"key1": "value", "key2": "15"}
    assert item["headers"]["x-wns-type"] == "wns/toast"
    assert 35970 <= int(item["headers"]["x-wns-ttl"]) <= 36000


@pytest.mark.parametrize(
    "windows, kind",
    [
        ({"toast": {"scenario": "reminder", "title": "a & <b>", "text": '"c"', "image": "https://x/?a=1&b"}}, "toast"),
        ({"tile": {"small": {"text": "a"}, "wide": {"title": "b", "text": "c", "image": "https://x/i.png"}}}, "tile"),
        ({"tile": {"title": "a", "text": "b"}}, "tile"),
        ({"tile": '<tile><visual><binding template="TileMedium"/></visual></tile>'}, "tile"),
        ({"badge": {"value": "7"}}, "badge"),
        ({"badge": "newMessage"}, "badge"),
        ({"raw": "by itself"}, "raw"),
        ({"raw": {"data": {"key1": "value"}}}, "raw"),
    ],
)
def test_every_windows_object_is_accepted(devtodev, windows, kind):
    answer = devtodev.push(devtodev.message([{"token": devtodev.channel}], uwp=windows))
    assert counts(answer) == (1, 1, 0, [])
    item = devtodev.only()
    assert item["headers"]["x-wns-type"] == f"wns/{kind}"
    if kind != "raw":
        assert ElementTree.fromstring(item["payload"]["text"]).tag == kind


@pytest.mark.parametrize("toast", ["<toast", "<tile/>", '<!DOCTYPE x><toast/>'])
def test_a_document_that_windows_would_refuse_is_refused(devtodev, toast):
    with pytest.raises(Refused) as refusal:
        devtodev.push(devtodev.message([{"token": devtodev.channel}], uwp={"toast": toast}))
    (error,) = json.loads(refusal.value.text)["errors"]
    assert (refusal.value.status, error["code"]) == (400, 1007)
    assert "uwp" in error["msg"]


# One truth


def same(item):
    """What is equal in two messages."""
    headers = {name: value for name, value in item["headers"].items() if name not in PER_MESSAGE}
    # Relative to different instants.
    headers.pop("x-wns-ttl", None)
    payload = json.loads(json.dumps(item["payload"]))
    payload.get("android", {}).pop("ttl", None)
    return item["device"], headers, json.dumps(payload)


def test_the_native_api_makes_the_same_requests(devtodev):
    android, ios = "fcm:" + secrets.token_hex(16), secrets.token_hex(32)
    expire = 1_999_999_999
    options = {"priority": "high", "expire": expire, "collapse_key": "news"}
    button = {"id": "yes", "action": {"deeplink": "app://yes"}}
    body = devtodev.message(
        [{"token": ios}, {"token": android}, {"token": devtodev.channel}],
        ios={
            "payload": {
                "title": "Grüße",
                "text": "Hallo",
                "badge": "3",
                "data": {"n": 15, "list": [1, None]},
                "action": {"share": "s"},
                "interactive": {"template": "dtd_yes.open_no.dismiss", "buttons": [button]},
                "attachment": {"type": "video", "url": "https://x/v.mp4"},
            },
            "options": options,
        },
        android={"payload": {"text": "Hallo", "vibration": 0, "data": {"n": 15}}, "options": options},
        uwp={"toast": {"title": "Grüße", "text": "Hallo", "launch": "l"}, "options": options},
    )
    answer = devtodev.push(body)
    assert counts(answer) == (3, 3, 0, [])
    key = answer["data"]["message_id"]
    first = sorted(same(item) for item in devtodev.arrived())
    own = {"priority": "high", "expires_at": "2033-05-18T03:33:19Z", "collapse_key": "news"}
    aps = {"alert": {"title": "Grüße", "body": "Hallo"}, "badge": 3, "category": "dtd_yes.open_no.dismiss"}
    native = {
        "ios": {
            "payload": {
                "aps": {**aps, "mutable-content": 1},
                "n": 15,
                "list": [1, None],
                "_s": "s",
                "_interactive": {"buttons": [{"id": "yes", "_d": "app://yes"}]},
                "_mediaAttachments": [{"type": "video", "url": "https://x/v.mp4"}],
                "_k": key,
            },
            "options": own,
        },
        "android": {
            "data": {"n": "15", "alert": "Hallo", "_vibration": "false", "_k": key, "data": '{"n":15}'},
            "data_only": True,
            "options": own,
        },
        "windows": {"type": "toast", "fields": {"text": ["Grüße", "Hallo"]}, "launch": "l", "options": own},
    }
    addresses = [("ios", ios), ("android", android), ("windows", devtodev.channel)]
    audience = {"addresses": [{"platform": platform, "address": address} for platform, address in addresses]}
    devtodev.peal.wait(devtodev.app, devtodev.peal.send(devtodev.app, {"audience": audience, "content": native}))
    assert sorted(same(item) for item in devtodev.arrived()) == first


# Audiences, answers, repetitions


def test_identifiers_find_registered_devices_each_once(devtodev):
    tokens = [secrets.token_hex(32) for _ in range(3)]
    names = [{"idfa": "A-1", "devtodev_id": "77"}, {"idfv": "V-2"}, {"idfa": "A-3"}]
    shared = {"platform": "ios", "environment": "production"}
    devices = [{**shared, "address": token, "identifiers": own} for token, own in zip(tokens, names)]
    devices[1]["user_id"] = "ada"
    devtodev.peal.devices(devtodev.app, devices)
    audience = [{"idfa": "A-1", "devtodevId": 77}, {"userId": "ada", "idfv": "V-2"}, {"userId": "nobody"}]
    answer = devtodev.push(devtodev.message(audience, ios={"payload": {"text": "Hi"}}))
    assert counts(answer) == (2, 2, 0, [])
    assert {item["device"] for item in devtodev.arrived()} == set(tokens[:2])
    # Only the token of an element counts.
    audience = [{"token": tokens[2], "userId": "ada", "idfa": "A-1"}]
    assert counts(devtodev.push(devtodev.message(audience, ios={"payload": {"text": "Hi"}})))[0] == 1
    assert devtodev.only()["device"] == tokens[2]


def test_the_token_may_follow_the_largest_audience(devtodev):
    """As clients write it that sort the members of JSON objects by their names."""
    names = [{"advertisingId": secrets.token_hex(64), "userId": secrets.token_hex(64)} for _ in range(999)]
    body = devtodev.message([{"token": secrets.token_hex(32)}, *names], ios={"payload": {"text": "Hi"}})
    text = json.dumps(body, sort_keys=True)
    assert 256 * 1024 < text.index('"user_token"') < 1024 * 1024
    assert counts(devtodev.push(text))[1] == 1


def test_an_unauthenticated_client_cannot_fill_memory(devtodev):
    body = json.dumps({"audience": [{"userId": secrets.token_hex(64)}] * 10_000, "user_token": USER_TOKEN})
    assert body.index('"user_token"') > 1024 * 1024
    with pytest.raises(Refused) as refusal:
        devtodev.push(body)
    assert refusal.value.status == 401


def test_the_sandbox_is_another_gateway(devtodev):
    token = secrets.token_hex(32)
    ios = {"payload": {"text": "Hi"}, "options": {"sandbox": True, "expire": 0}}
    assert counts(devtodev.push(devtodev.message([{"token": token}], ios=ios))) == (1, 1, 0, [])
    item = devtodev.only()
    assert item["environment"] == "sandbox"
    assert item["headers"]["apns-expiration"] == "0"


def test_the_answer_tells_what_the_networks_refused(devtodev):
    good, bad, gone = secrets.token_hex(32), secrets.token_hex(32), "fcm:" + secrets.token_hex(8)
    devtodev.simulator.fault(bad, {"status": 400, "reason": "BadDeviceToken"})
    devtodev.simulator.fault(gone, {"error_code": "UNREGISTERED"})
    text = {"payload": {"text": "Hi"}}
    audience = [{"token": token} for token in (good, bad, gone, "http://nowhere/")]
    body = devtodev.message(audience, ios=text, android=text, campaign_tag="spring")
    audience, successful, erroneous, details = counts(devtodev.push(body))
    assert (audience, successful, erroneous) == (3, 1, 2)
    assert details[0] == "audience[3].token: malformed"
    assert "BadDeviceToken" in details and any("UNREGISTERED" in detail.upper() for detail in details), details
    campaign = devtodev.peal.get(f"/apps/{devtodev.app}/campaigns/spring")
    assert (campaign["audience"], campaign["accepted"], campaign["failed"]) == (3, 1, 2)
    assert (campaign["received"], campaign["opened"]) == (0, 0)


def test_what_has_expired_is_not_sent(devtodev):
    ios = {"payload": {"text": "Hi"}, "options": {"expire": "1459468800"}}
    audience, successful, erroneous, details = counts(
        devtodev.push(devtodev.message([{"token": secrets.token_hex(32)}], ios=ios))
    )
    assert (audience, successful, erroneous) == (1, 0, 1)
    assert details == ["Expired"]
    assert devtodev.arrived() == []


def test_a_push_in_quiet_hours_is_answered_before_they_end(devtodev):
    now = datetime.datetime.now(datetime.timezone.utc)
    hours = {name: f"{now + datetime.timedelta(hours=shift):%H:%M}" for name, shift in (("from", -2), ("to", 2))}
    devtodev.peal.patch(f"/apps/{devtodev.app}", {"settings": {"quiet_hours": hours}})
    began = time.monotonic()
    answer = devtodev.push(devtodev.message([{"token": secrets.token_hex(32)}], ios={"payload": {"text": "Hi"}}))
    # The server waits up to 30 seconds for networks, and the rules of an app are read once a second.
    assert time.monotonic() - began < 25
    assert counts(answer) == (1, 0, 0, ["queued"])
    assert devtodev.arrived() == []


def test_a_pack_is_sent_once_however_often_it_comes(devtodev):
    body = devtodev.fixture("ios-push.json")
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: devtodev.push(body), range(8)))
    assert all(answer == answers[0] for answer in answers)
    assert counts(answers[0]) == (1, 1, 0, [])
    assert len(devtodev.arrived()) == 1
    with pytest.raises(Refused) as refusal:
        devtodev.push(body.replace("Notification content.", "Another"))
    assert refusal.value.status == 409
    assert json.loads(refusal.value.text)["errors"][0]["code"] == 1009


def test_a_pack_survives_a_restart_of_the_server(devtodev):
    body = devtodev.fixture("ios-push.json")
    first = devtodev.push(body)
    devtodev.peal.kill()
    devtodev.peal.start()
    assert devtodev.push(body) == first
    assert len(devtodev.arrived()) == 1


# The categories, and the documents


def test_categories_need_no_key_and_speak_the_language_asked_for(devtodev):
    url = devtodev.peal.url + "/v1/devtodev/categories"
    request = urllib.request.Request(url, headers={"Accept-Language": "fr-FR, en;q=0.5"})
    with OPENER.open(request, timeout=10) as answer:
        assert "max-age" in answer.headers["Cache-Control"]
        categories = json.load(answer)
    assert len(categories) == 21
    assert categories[0]["buttons"][0] == {"id": "yes", "text": "Oui", "activationMode": "foreground"}
    with OPENER.open(url + "?locale=ja", timeout=10) as answer:
        assert json.load(answer)[0]["buttons"][0]["text"] == "はい"


def test_the_documents_examples_work(devtodev, tmp_path):
    peal = devtodev.peal
    variables = {
        "HOST": peal.url,
        "PEAL": peal.url + "/peal/v1",
        "APP": devtodev.app,
        "TOKEN": peal.admin_token,
        "APP_ID": APP_ID,
        "USER_TOKEN": secrets.token_hex(16),
        "DEVICE_TOKEN": secrets.token_hex(32),
        "REGISTRATION_TOKEN": "fcm:" + secrets.token_hex(16),
        "CHANNEL_URI": devtodev.channel,
    }
    outputs = run_examples("docs/api/devtodev.md", variables, tmp_path)
    assert outputs
    providers = [item["provider"] for item in devtodev.arrived()]
    assert {"apns", "fcm", "wns"} <= set(providers)
