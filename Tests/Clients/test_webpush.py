"""What peal sends to browsers, read by http_ece, py_vapid, MockPost and the simulator."""

import json
import time
import urllib.parse

import pytest
from cryptography.hazmat.primitives import serialization
from peal_server import Refused, SigningKey
from push_service import MockPost, PushService, base64url
from waiting import wait_until

SUBJECT = "mailto:push@example.com"
GREETING = {"title": "Grüße", "body": "Hello"}

# The message, what the browser reads, and the headers for the push service.
MESSAGES = {
    "a greeting": ({}, GREETING, {"ttl": None, "urgency": "high"}),
    "with every common field": (
        {"content": {**GREETING, "image_url": "https://example.com/i.png", "data": {"n": 1.0}}},
        {**GREETING, "image": "https://example.com/i.png", "data": {"n": 1.0}},
        {},
    ),
    "with an own payload": (
        {"content": {**GREETING, "web": {"payload": {"own": [1, 2]}, "topic": "t-1", "urgency": "very-low"}}},
        {"own": [1, 2]},
        {"topic": "t-1", "urgency": "very-low"},
    ),
    "with every option": (
        {"options": {"priority": "low", "ttl_seconds": 600, "collapse_key": "news"}},
        GREETING,
        {"ttl": "600", "urgency": "low", "topic": "news"},
    ),
    "now or never": (
        {"options": {"ttl_seconds": 0, "priority": "normal"}},
        GREETING,
        {"ttl": "0", "urgency": "normal"},
    ),
    "in the background": (
        {"content": {"data": {"sync": 1}}, "options": {"background": True}},
        {"data": {"sync": 1}},
        {"urgency": "normal"},
    ),
    "as large as can be": (
        {"content": {"body": "x" * (3993 - 11)}},
        {"body": "x" * (3993 - 11)},
        {"content-length": "4096"},
    ),
}


@pytest.fixture
def service(certificate):
    running = PushService(*certificate)
    yield running
    running.stop()


@pytest.fixture
def app(serve, service):
    """A server that may send to `service`, an app of it, and the app's public key."""
    peal = serve(service.environment)
    app = peal.app()
    return peal, app, put_key(peal, app)["public_key"]


def put_key(peal, app, **fields):
    return peal.put(f"/apps/{app}/credentials/webpush", {"subject": SUBJECT, **fields})


def register(peal, app, *browsers):
    """Returns the devices' ids in order."""
    return peal.devices(app, [{"platform": "web", "address": browser.address} for browser in browsers])


def report(peal, app, **fields):
    """Sends a greeting, or `fields`, and returns the report once every outcome is known."""
    return peal.wait(app, peal.send(app, **{"content": GREETING, **fields}))


@pytest.mark.parametrize("name", MESSAGES)
def test_messages_decrypt_and_their_tokens_verify(app, service, name):
    (peal, app, public_key), (fields, text, headers) = app, MESSAGES[name]
    browser = service.browser("/push/a")
    register(peal, app, browser)
    assert report(peal, app, **fields)["counts"]["accepted"] == 1
    (request,) = service.requests
    assert json.loads(browser.read(request.body)) == text
    assert request.headers["content-encoding"] == "aes128gcm"
    assert request.headers["content-length"] == str(len(request.body))
    assert (request.claims["aud"], request.claims["sub"]) == (service.url, SUBJECT)
    assert 0 < request.claims["exp"] - time.time() <= 12 * 3600
    assert request.server_key == public_key
    assert {name: request.headers.get(name) for name, value in headers.items() if value} == {
        name: value for name, value in headers.items() if value
    }
    if headers.get("ttl", "") is None:
        assert 28 * 86_400 - 60 <= int(request.headers["ttl"]) <= 28 * 86_400
    if "topic" not in headers:
        assert "topic" not in request.headers


@pytest.mark.parametrize("padding, lengths", [("", {2744 + 103}), ("false", {27 + 103, 32 + 103})])
def test_the_length_of_a_text_is_hidden_unless_that_is_switched_off(serve, service, padding, lengths):
    peal = serve({**service.environment, "PEAL_PROVIDERS_WEBPUSH_PADDING": padding})
    app = peal.app()
    put_key(peal, app)
    browser = service.browser("/push/a")
    register(peal, app, browser)
    for body in ["", "12345"]:
        assert report(peal, app, content={"title": "Hello", "body": body})["counts"]["accepted"] == 1
    assert {len(request.body) for request in service.requests} == lengths
    assert [json.loads(browser.read(request.body))["title"] for request in service.requests] == ["Hello"] * 2


def test_an_empty_background_message_has_no_body(app, service):
    peal, app, _ = app
    register(peal, app, service.browser("/push/a"))
    report(peal, app, content={}, options={"background": True})
    (request,) = service.requests
    assert request.body == b"" and "content-encoding" not in request.headers
    assert request.claims["aud"] == service.url


def test_each_browser_gets_its_own_message_under_one_token(app, service):
    peal, app, _ = app
    browsers = {f"/push/{number}": service.browser(f"/push/{number}") for number in range(60)}
    register(peal, app, *browsers.values())
    assert report(peal, app)["counts"]["accepted"] == 60
    assert {json.loads(browsers[request.path].read(request.body))["title"] for request in service.requests} == {"Grüße"}
    assert len({request.body[:16] for request in service.requests}) == 60
    assert len({request.body[21:86] for request in service.requests}) == 60
    assert len({request.headers["authorization"] for request in service.requests}) == 1


def test_a_subscription_keeps_its_key_while_newer_ones_come(app, service):
    peal, app, first = app
    register(peal, app, service.browser("/push/old"), service.browser("/push/named", first))
    second = put_key(peal, app)["public_key"]
    assert first != second
    register(peal, app, service.browser("/push/new"))
    assert report(peal, app)["counts"]["accepted"] == 3
    assert {request.path: request.server_key for request in service.requests if request.claims} == {
        "/push/old": first,
        "/push/named": first,
        "/push/new": second,
    }


def test_a_key_is_accepted_in_pem_and_only_its_public_half_is_shown(app):
    peal, app, _ = app
    key = SigningKey()
    record = put_key(peal, app, private_key=key.private_key)
    public = serialization.load_pem_public_key(key.public_key.encode())
    point = public.public_bytes(serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint)
    assert record["public_key"] == base64url(point)
    assert "private_key" not in json.dumps(peal.get(f"/apps/{app}/credentials"))


ANSWERS = {
    "gone": (410, {}, b'{"errno": 106}', "retired", "Errno106"),
    "never there": (404, {}, b"", "retired", "Status404"),
    "of another key": (400, {}, b'{"reason": "VapidPkHashMismatch"}', "retired", "VapidPkHashMismatch"),
    "refused": (400, {}, b'{"errno": 113}', "rejected", "Errno113"),
    "too large": (413, {}, b"", "rejected", "Status413"),
    "elsewhere": (307, {"Location": "/push/other"}, b"", "rejected", "Status307"),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_retires_the_device_or_ends_the_message(app, service, name):
    (peal, app, _), (*answer, outcome, reason) = app, ANSWERS[name]
    service.answers["/push/a"] = [answer]
    (device,) = register(peal, app, service.browser("/push/a"))
    ended = report(peal, app)
    assert (ended["counts"][outcome], ended["reasons"]) == (1, {reason: 1})
    assert [request.path for request in service.requests] == ["/push/a"]
    state = peal.get(f"/apps/{app}/devices/{device}")["state"]
    assert state == ("retired" if outcome == "retired" else "active")


def test_a_push_service_that_throttles_is_retried_later(app, service):
    peal, app, _ = app
    service.answers["/push/a"] = [(429, {"Retry-After": "1"}, b""), (201, {}, b"")]
    register(peal, app, service.browser("/push/a"))
    assert report(peal, app)["counts"]["accepted"] == 1
    assert len(service.requests) == 2


def test_a_refused_token_is_replaced_once(app, service):
    peal, app, _ = app
    service.answers["/push/a"] = [(403, {}, b'{"reason": "BadJwtToken"}'), (201, {}, b"")]
    register(peal, app, service.browser("/push/a"))
    assert report(peal, app)["counts"]["accepted"] == 1
    assert len({request.headers["authorization"] for request in service.requests}) == 2
    assert all(request.claims for request in service.requests)


def test_tokens_that_are_refused_again_stop_the_app_and_lose_nothing(app, service):
    peal, app, _ = app
    service.answers["/push/a"] = [(403, {}, b'{"reason": "BadJwtToken"}')]
    (device,) = register(peal, app, service.browser("/push/a"))
    message = peal.send(app, content=GREETING)

    def stopped():
        health = peal.get(f"/apps/{app}/credentials")["items"][0]["health"]
        return health["state"] == "stopped" and health

    assert wait_until(stopped)["reason"] == "BadJwtToken"
    assert peal.message(app, message)["counts"]["pending"] == 1
    assert peal.get(f"/apps/{app}/devices/{device}")["state"] == "active"
    assert len(service.requests) == 2


def test_a_browser_whose_push_service_refuses_only_it_stops_no_other(app, service):
    peal, app, _ = app
    browsers = [service.browser(f"/push/{number}") for number in range(20)]
    register(peal, app, *browsers)
    assert report(peal, app)["counts"]["accepted"] == 20
    # Edge's push service answers so for some old subscriptions.
    service.answers["/push/7"] = [(401, {}, b"")]
    for _ in range(2):
        message = peal.send(app, content=GREETING)
        wait_until(lambda: peal.message(app, message)["counts"]["accepted"] == 19)
    assert peal.get(f"/apps/{app}/credentials")["items"][0]["health"]["state"] == "ok"


BAD_ADDRESSES = {
    "on a host that is not listed": ({"endpoint": "https://push.example.com/x"}, "address.endpoint"),
    "in the clear": ({"endpoint": "http://fcm.googleapis.com/x"}, "address.endpoint"),
    "with a key that is no point": ({"p256dh": "B" + "A" * 86}, "address.keys.p256dh"),
    "with a short key": ({"p256dh": "BAAA"}, "address.keys.p256dh"),
    "with a short secret": ({"auth": "AAAA"}, "address.keys.auth"),
    "made with a key that the app has not": ({"server_key": "B" + "A" * 86}, "address.application_server_key"),
}


@pytest.mark.parametrize("name", BAD_ADDRESSES)
def test_a_subscription_that_cannot_be_sent_to_is_refused(app, service, name):
    (peal, app, _), (changes, field) = app, BAD_ADDRESSES[name]
    browser = service.browser("/push/a", changes.pop("server_key", None))
    address = {**browser.address, "endpoint": changes.pop("endpoint", browser.endpoint)}
    address["keys"] = {**address["keys"], **changes}
    with pytest.raises(Refused) as refusal:
        peal.post(f"/apps/{app}/devices", {"platform": "web", "address": address})
    assert refusal.value.status == 400
    assert json.loads(refusal.value.text)["error"]["field"] == field


@pytest.mark.parametrize(
    "subject", ["push@example.com", "mailto:<push@example.com>", "mailto:push@localhost", "https://localhost/"]
)
def test_a_subject_that_apple_refuses_is_refused_first(app, subject):
    peal, app, _ = app
    with pytest.raises(Refused) as refusal:
        put_key(peal, app, subject=subject)
    assert json.loads(refusal.value.text)["error"]["field"] == "subject"


def test_a_payload_that_is_too_large_is_refused_by_its_largest_field(app, service):
    peal, app, _ = app
    register(peal, app, service.browser("/push/a"))
    with pytest.raises(Refused) as refusal:
        peal.send(app, content={"title": "x", "body": "y" * 3990}, audience={"all": True, "platforms": ["web"]})
    error = json.loads(refusal.value.text)["error"]
    assert (error["code"], error["field"]) == ("payload_too_large", "content.body")


def test_a_payload_that_bridges_may_truncate_causes_a_warning(app, service):
    peal, app, _ = app
    register(peal, app, service.browser("/push/a"))
    for count, is_warned in ((2744, False), (2745, True)):
        body = {"audience": {"all": True, "platforms": ["web"]}, "content": {"body": "y" * (count - 11)}}
        (request,) = peal.post(f"/apps/{app}/messages:validate", body)["requests"]
        assert request["body_bytes"] == count
        assert ("2744" in request.get("warning", "")) == is_warned


def test_mockpost_accepts_what_is_sent(serve, certificate, tmp_path):
    mockpost = MockPost(tmp_path / "mockpost", *certificate)
    try:
        peal = serve(mockpost.environment)
        app = peal.app()
        put_key(peal, app)
        subscription = mockpost.request("POST", "/webpush/subscribe")
        address = {"endpoint": subscription["endpoint"], "keys": subscription["keys"]}
        (device,) = peal.devices(app, [{"platform": "web", "address": address}])
        options = {"collapse_key": "news", "ttl_seconds": 300}
        assert report(peal, app, options=options)["counts"]["accepted"] == 1
        (message,) = mockpost.messages()
        assert json.loads(message["raw_payload"]) == GREETING
        meta = message["meta"] if isinstance(message["meta"], dict) else json.loads(message["meta"])
        assert (meta["decryption"], meta["topic"], meta["ttl"], meta["urgency"]) == ("decrypted", "news", "300", "high")
        mockpost.request("POST", f"/webpush/subscriptions/{subscription['id']}/expire")
        assert report(peal, app)["counts"]["retired"] == 1
        assert peal.get(f"/apps/{app}/devices/{device}")["state"] == "retired"
    finally:
        mockpost.stop()


def test_the_simulator_accepts_what_is_sent(serve, simulate):
    simulator = simulate()
    peal = serve(simulator.environment)
    app = peal.app()
    key = put_key(peal, app)["public_key"]
    status, subscription = simulator.control("POST", "/webpush/subscriptions", {"application_server_key": key})
    assert status == 201
    address = {name: subscription[name] for name in ("endpoint", "keys")}
    peal.devices(app, [{"platform": "web", "address": address}])
    assert report(peal, app)["counts"]["accepted"] == 1
    query = urllib.parse.urlencode({"provider": "webpush", "device": subscription["endpoint"]})
    (item,) = simulator.inbox("?" + query)
    assert item["payload"] == GREETING
    query = urllib.parse.urlencode({"endpoint": subscription["endpoint"]})
    assert simulator.control("DELETE", "/webpush/subscriptions?" + query)[0] == 200
    assert report(peal, app)["counts"]["retired"] == 1
