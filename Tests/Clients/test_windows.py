"""Windows and Windows Phone: `peal` sends to the simulator, and xml.etree reads what arrives."""

import base64
import pathlib
import urllib.parse
import xml.etree.ElementTree as ElementTree

import pytest

from peal_server import Refused

PHONE = "{WPNotification}"
NASTY = "Grüße & <mehr> \"so\" 'oder' ]]> anders\n👋🏽"


class Windows:
    """A server whose WNS and MPNS are the simulator's, and an app with credentials for both."""

    def __init__(self, simulate, serve, generation="store"):
        self.simulator = simulate()
        self.peal = serve(self.simulator.environment)
        self.app = self.peal.app()
        self.put_credential(generation)
        self.peal.put(f"/apps/{self.app}/credentials/mpns", {})

    def put_credential(self, generation="store", **changes):
        wns = self.simulator.description["wns"]
        if generation == "store":
            body = {"package_sid": wns["package_sid"], "client_secret": wns["client_secret"]}
        else:
            body = {"tenant_id": wns["tenant_id"], "client_id": wns["client_id"]}
            body["client_secret"] = wns["tenant_client_secret"]
        return self.peal.put(f"/apps/{self.app}/credentials/wns", {**body, **changes})

    def channel(self, name="AQE%3d"):
        return f"{self.simulator.description['wns_url']}/?token={name}"

    def phone_channel(self, name="AQE", key="mpns_url"):
        return f"{self.simulator.description[key]}/throttledthirdparty/01.00/{name}"

    def register(self, *addresses, platform="windows"):
        self.peal.devices(self.app, [{"platform": platform, "address": address} for address in addresses])

    def send(self, content, **fields):
        """Sends to all devices and waits. Returns the message."""
        message = self.peal.send(self.app, {"audience": {"all": True}, "content": content, **fields})
        return self.peal.wait(self.app, message)

    def only(self, query=""):
        """The only notification in the inbox."""
        (item,) = self.simulator.inbox(query)
        return item

    def state(self, address, state):
        path = "/channels?uri=" + urllib.parse.quote(address, safe="")
        assert self.simulator.control("PUT", path, {"state": state})[0] == 200


def text(item):
    return item["payload"]["text"]


@pytest.fixture
def windows(simulate, serve):
    return lambda generation="store": Windows(simulate, serve, generation)


@pytest.mark.parametrize("generation", ["store", "tenant"])
def test_a_toast_arrives_as_it_was_written(windows, generation):
    fixture = windows(generation)
    fixture.register(fixture.channel())
    content = {"title": NASTY, "body": NASTY + " 2", "image_url": "https://x/i.png?a=1&b=2", "data": {"k": [1, "<&>"]}}
    report = fixture.send(content, options={"ttl_seconds": 600, "priority": "normal"})
    assert report["counts"]["accepted"] == 1
    item = fixture.only()
    toast = ElementTree.fromstring(text(item))
    assert toast.tag == "toast"
    assert toast.get("launch") == '{"k":[1,"<&>"]}'
    binding = toast.find("visual/binding")
    assert binding.get("template") == "ToastGeneric"
    assert [element.text for element in binding.findall("text")] == [NASTY, NASTY + " 2"]
    assert binding.find("image").get("src") == "https://x/i.png?a=1&b=2"
    headers = item["headers"]
    assert (headers["x-wns-type"], headers["content-type"]) == ("wns/toast", "text/xml")
    assert (headers["x-wns-priority"], headers["x-wns-requestforstatus"]) == ("2", "true")
    assert 560 <= int(headers["x-wns-ttl"]) <= 600
    assert int(headers["content-length"]) == len(text(item).encode())
    assert "transfer-encoding" not in headers and "expect" not in headers
    assert len(headers["ms-cv"]) == 18


@pytest.mark.parametrize(
    "windows_object, kind, root",
    [
        ({"template": "ToastImageAndText02", "fields": {"text": ["a", "b"], "image": ["u"]}}, "toast", "toast"),
        ({"type": "tile"}, "tile", "tile"),
        ({"type": "tile", "template": "TileWide310x150Text03", "fields": {"text": [NASTY]}}, "tile", "tile"),
        ({"type": "badge", "value": 7}, "badge", "badge"),
        ({"type": "badge", "value": "99+"}, "badge", "badge"),
        ({"type": "badge", "value": "newMessage"}, "badge", "badge"),
        ({"xml": '<toast><visual><binding template="ToastText01"/></visual></toast>'}, "toast", "toast"),
        ({"type": "raw", "value": {"base64": base64.b64encode(NASTY.encode()).decode()}}, "raw", None),
    ],
)
def test_every_kind_is_accepted(windows, windows_object, kind, root):
    fixture = windows()
    fixture.register(fixture.channel())
    report = fixture.send({"title": "T", "body": "B", "windows": windows_object})
    assert report["counts"]["accepted"] == 1, report
    item = fixture.only()
    assert item["headers"]["x-wns-type"] == f"wns/{kind}"
    if root:
        assert ElementTree.fromstring(text(item)).tag == root
    else:
        assert text(item) == NASTY


def test_what_is_tried_once_is_not_kept(windows):
    fixture = windows()
    fixture.register(fixture.channel())
    assert fixture.send({"body": "now"}, options={"ttl_seconds": 0})["counts"]["accepted"] == 1
    headers = fixture.only()["headers"]
    assert (headers["x-wns-ttl"], headers["x-wns-cache-policy"]) == ("0", "no-cache")


@pytest.mark.parametrize(
    "state, count, reason",
    [
        ("expired", "retired", "Gone"),
        ("unknown", "retired", "NotFound"),
        ("other_app", "retired", "Forbidden"),
        ("dropped", "accepted", "Dropped"),
        ("disconnected", "accepted", "Disconnected"),
    ],
)
def test_a_failing_channel_does_not_affect_the_others(windows, state, count, reason):
    fixture = windows()
    fixture.register(*[fixture.channel(f"c{number}") for number in range(20)])
    fixture.state(fixture.channel("c7"), state)
    report = fixture.send({"body": "B"})
    expected = {"accepted": 19, "retired": 0}
    expected[count] += 1
    assert {key: report["counts"][key] for key in expected} == expected
    assert report["reasons"] == {reason: 1}


def test_an_access_token_that_was_revoked_is_replaced(windows):
    fixture = windows()
    fixture.register(fixture.channel())
    fixture.send({"body": "1"})
    fixture.simulator.control("DELETE", "/access-tokens")
    assert fixture.send({"body": "2"})["counts"]["accepted"] == 1
    assert len(fixture.simulator.inbox()) == 2


def test_verify_says_what_microsoft_answered(windows):
    fixture = windows()
    path = f"/apps/{fixture.app}/credentials/wns/verify"
    good = fixture.peal.post(path)
    assert good["result"] == "accepted" and "access token was granted" in good["detail"]
    fixture.put_credential("tenant", client_secret="wrong")
    bad = fixture.peal.post(path)
    assert (bad["result"], bad["status"], bad["reason"]) == ("refused", 401, "invalid_client")
    assert fixture.simulator.inbox() == []
    phone = fixture.peal.post(f"/apps/{fixture.app}/credentials/mpns/verify")
    assert phone["result"] == "unverifiable"


@pytest.mark.parametrize(
    "address",
    [
        "https://evil.example/?token=a",
        "http://db5.notify.windows.com/?token=a",
        "https://db5.notify.windows.com:8443/?token=a",
        "https://user@db5.notify.windows.com/?token=a",
        "https://db5.notify.windows.com.evil.example/?token=a",
        "https://db5.notify.windows.com/?token=a#b",
        "https://127.0.0.1/?token=a",
        "https://db5.notify.windows.com/?token=" + "a" * 2048,
    ],
)
def test_a_channel_of_another_host_is_refused(windows, address):
    fixture = windows()
    with pytest.raises(Refused) as refused:
        fixture.peal.post(f"/apps/{fixture.app}/devices", {"platform": "windows", "address": address})
    assert refused.value.status == 400 and '"address"' in refused.value.text


def test_a_phone_gets_its_toast(windows):
    fixture = windows()
    fixture.register(fixture.phone_channel(), platform="windows_phone")
    report = fixture.send({"title": NASTY, "body": "B & C"})
    assert report["counts"]["accepted"] == 1
    item = fixture.only("?provider=mpns")
    root = ElementTree.fromstring(text(item).encode())
    toast = root.find(PHONE + "Toast")
    assert [(part.tag, part.text) for part in toast] == [(PHONE + "Text1", NASTY), (PHONE + "Text2", "B & C")]
    headers = item["headers"]
    assert (headers["x-windowsphone-target"], headers["x-notificationclass"]) == ("toast", "2")
    assert headers["x-messageid"] == item["id"]


@pytest.mark.parametrize(
    "phone, options, number",
    [
        ({"type": "tile"}, {"priority": "high"}, "1"),
        ({"type": "tile", "template": "flip", "fields": {"title": "T", "count": 3}}, {"priority": "normal"}, "11"),
        ({"type": "tile", "template": "cycle", "fields": {"cycle_image1": "u"}}, {"priority": "low"}, "21"),
        ({"type": "tile", "template": "iconic", "fields": {"title": None}}, {"priority": "high"}, "1"),
        ({"type": "raw", "value": "any"}, {"priority": "low", "ttl_seconds": 600}, "13"),
        ({"type": "toast"}, {"priority": "low", "ttl_seconds": 300}, "2"),
        ({"type": "toast"}, {"ttl_seconds": 3600}, "22"),
        ({"type": "toast"}, {"ttl_seconds": 600}, "12"),
        ({"type": "toast"}, {"ttl_seconds": 60}, "2"),
    ],
)
def test_a_phone_accepts_every_kind_and_class(windows, phone, options, number):
    fixture = windows()
    fixture.register(fixture.phone_channel(), platform="windows_phone")
    report = fixture.send({"title": "T", "body": "B", "windows_phone": phone}, options=options)
    assert report["counts"]["accepted"] == 1, report
    item = fixture.only("?provider=mpns")
    assert item["headers"]["x-notificationclass"] == number
    if phone["type"] != "raw":
        assert ElementTree.fromstring(text(item).encode()).tag == PHONE + "Notification"


@pytest.mark.parametrize(
    "state, count, reason",
    [("expired", "retired", "SubscriptionExpired"), ("dropped", "accepted", "Suppressed")],
)
def test_a_failing_phone_does_not_affect_the_others(windows, state, count, reason):
    fixture = windows()
    fixture.register(*[fixture.phone_channel(f"c{number}") for number in range(9)], platform="windows_phone")
    fixture.state(fixture.phone_channel("c3"), state)
    report = fixture.send({"body": "B"})
    assert report["counts"]["accepted"] == (9 if count == "accepted" else 8)
    assert report["reasons"] == {reason: 1}


def test_an_authenticated_service_shows_its_certificate(windows):
    fixture = windows()
    apns = fixture.simulator.description["apns"]
    certificate = pathlib.Path(apns["certificate_file"]).read_text()
    private_key = pathlib.Path(apns["certificate_key_file"]).read_text()
    body = {"certificate": certificate, "private_key": private_key}
    record = fixture.peal.put(f"/apps/{fixture.app}/credentials/mpns", body)
    assert record["expires_at"]
    fixture.register(fixture.phone_channel(key="mpns_secure_url"), platform="windows_phone")
    assert fixture.send({"body": "B"})["counts"]["accepted"] == 1
    assert "BEGIN" not in str(record)
