"""`peal` sends through FCM HTTP v1: to the simulator, against the official schema, and to a server of other authors."""

import json
import time

import jsonschema
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from fcm_schema import validator
from mockpost_server import MockPost, TokenEndpoint
from peal_server import Refused
from waiting import wait_until

RICH = {
    "notification": {"body": "Ten o'clock", "image": "https://example.com/i.png"},
    "data": {"count": 3, "list": [1, "a"], "flag": True},
    "fcmOptions": {"analyticsLabel": "seminar"},
    "android": {
        "restrictedPackageName": "com.example.app",
        "directBootOk": True,
        "fcm_options": {"analytics_label": "android"},
        "data": {"only": 5.5},
        "notification": {
            "title_loc_key": "TITLE",
            "title_loc_args": ["a", "b"],
            "channelId": "talks",
            "color": "#ff8800",
            "tag": "seminar",
            "eventTime": "2026-05-04T10:00:00Z",
            "notificationPriority": "PRIORITY_MAX",
            "visibility": "PUBLIC",
            "vibrateTimings": ["0.1s", "0.25s"],
            "light_settings": {
                "color": {"red": 0, "green": 1, "blue": 0.5, "alpha": 1},
                "light_on_duration": "0.3s",
                "lightOffDuration": "0.7s",
            },
            "proxy": "DENY",
        },
    },
    "apns": {"headers": {"apns-priority": 5}, "payload": {"aps": {"badge": 3}}, "fcmOptions": {"image": "https://e/i"}},
    "webpush": {
        "headers": {"TTL": 60, "Urgency": "high"},
        "notification": {"title": "Web", "requireInteraction": True},
        "fcm_options": {"link": "https://example.com/talk"},
    },
}
V2 = {"androidV2": {"remoteNotification": {"mutableContent": True, "notification": {"id": 4, "channelId": "c"}}}}
COMMON = {
    "title": {"en": "Seminar", "de": "Seminar?"},
    "body": "Starts at ten",
    "default_locale": "en",
    "image_url": "https://example.com/common.png",
    "badge": 2,
    "sound": "chime",
    "category": "OPEN",
    "data": {"talk": 42, "nested": {"a": [None]}},
}


@pytest.fixture
def connected(simulate, serve):
    """A simulator, a server that sends to it, and an app with the simulator's service account."""

    def start(*arguments, **more):
        simulator = simulate(*arguments)
        peal = serve({**simulator.environment, **more})
        app = peal.app()
        peal.connect(app, simulator, "fcm")
        return simulator, peal, app

    return start


def phones(peal, app, count, **fields):
    """Registers Android devices. Returns their addresses."""
    addresses = [f"phone-{number}:APA91b-{number:05}" for number in range(count)]
    peal.devices(app, [{"platform": "android", "address": address, **fields} for address in addresses])
    return addresses


def wait_for_health(peal, app, reason):
    wait_until(lambda: reason in json.dumps(peal.get(f"/apps/{app}/credentials")))


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_every_device_gets_the_message_once(connected, mode):
    simulator, peal, app = connected("--mode", mode)
    addresses = phones(peal, app, 1500)
    report = peal.wait(app, peal.send(app))
    assert report["counts"]["accepted"] == 1500
    summary = simulator.summary()
    assert (summary["accepted"], summary["devices"]) == (1500, 1500)
    assert simulator.inbox("?limit=1")[0]["device"] in addresses


@pytest.mark.parametrize(
    "android, options",
    [
        (None, {}),
        (RICH, {"priority": "normal", "collapse_key": "seminar", "ttl_seconds": 90}),
        ({"data_only": True, "data": {"k": "v"}}, {"ttl_seconds": 0}),
        (V2, {"collapse_key": "v2"}),
        ({"target": "fid", "android": {"ttl": "3.5s", "priority": "high", "collapse_key": "own"}}, {}),
        (None, {"background": True}),
    ],
)
def test_messages_follow_the_official_schema(connected, android, options):
    simulator, peal, app = connected()
    phones(peal, app, 1)
    content = COMMON | ({"android": android} if android else {})
    report = peal.wait(app, peal.send(app, content=content, options=options))
    assert report["counts"]["accepted"] == 1, report["reasons"]
    (item,) = simulator.inbox()
    message = item["payload"]
    validator("Message").validate(message)
    data = message.get("data", {})
    assert data["talk"] == "42" and data["nested"] == '{"a":[null]}'
    if android is RICH:
        assert message["notification"] == {"title": "Seminar", **RICH["notification"]}
        assert (data["count"], data["list"], data["flag"]) == ("3", '[1,"a"]', "true")
        assert message["android"]["collapseKey"] == "seminar" and message["android"]["priority"] == "NORMAL"
        assert 85 <= int(message["android"]["ttl"].removesuffix("s")) <= 90
        assert message["android"]["notification"]["sound"] == "chime"
        assert message["apns"]["headers"] == {"apns-priority": "5"}


def test_the_schema_refuses_what_it_does_not_know():
    for wrong in [{"tokens": "a"}, {"data": {"a": 1}}, {"android": {"priority": "high"}}, {"android": {"ttl": "90"}}]:
        with pytest.raises(jsonschema.ValidationError):
            validator("Message").validate({"token": "a", **wrong})


def test_a_message_that_fcm_would_refuse_is_refused_at_once(connected):
    _, peal, app = connected()
    phones(peal, app, 1)
    for content, field in [
        ({"data": {"from": "me"}}, "content.data.from"),
        ({"data": {"large": "x" * 4_096}}, "content.data"),
        ({"android": {"android": {"ttl": "29d"}}}, "content.android.android.ttl"),
    ]:
        with pytest.raises(Refused) as caught:
            peal.send(app, content=content)
        assert caught.value.status == (413 if "large" in content.get("data", {}) else 400)
        assert json.loads(caught.value.text)["error"]["field"] == field


def test_a_dead_registration_is_retired_and_the_others_stay(connected):
    simulator, peal, app = connected()
    addresses = phones(peal, app, 5)
    simulator.fault(addresses[2], {"error_code": "UNREGISTERED"})
    report = peal.wait(app, peal.send(app))
    assert (report["counts"]["accepted"], report["counts"]["retired"]) == (4, 1)
    assert report["reasons"] == {"UNREGISTERED": 1}
    report = peal.wait(app, peal.send(app))
    assert report["counts"]["accepted"] == report["audience"]["devices"] == 4


def test_an_access_token_that_was_revoked_is_renewed(connected):
    simulator, peal, app = connected()
    phones(peal, app, 3)
    peal.wait(app, peal.send(app))
    simulator.control("DELETE", "/access-tokens?provider=fcm")
    report = peal.wait(app, peal.send(app))
    assert report["counts"]["accepted"] == 3
    assert set(simulator.summary()["refused"]) == {"UNAUTHENTICATED"}


def test_a_refused_service_account_stops_the_app_with_a_reason(connected):
    simulator, peal, app = connected("--clock-skew-seconds", "7200")
    phones(peal, app, 3)
    message = peal.send(app)
    wait_for_health(peal, app, "invalid_grant")
    assert peal.message(app, message)["state"] == "sending"
    assert simulator.summary()["received"] == 0
    assert len(peal.get(f"/apps/{app}/devices")["items"]) == 3


def test_a_credential_is_verified(connected):
    simulator, peal, app = connected()
    assert peal.post(f"/apps/{app}/credentials/fcm/verify")["result"] == "accepted"
    assert simulator.summary()["accepted"] == 0


def test_a_credential_may_not_aim_the_server_elsewhere(connected):
    simulator, peal, app = connected()
    for uri in ["https://169.254.169.254/token", "http://127.0.0.1:1/token", "https://example.com/token"]:
        account = simulator.service_account | {"token_uri": uri}
        with pytest.raises(Refused) as caught:
            peal.put(f"/apps/{app}/credentials/fcm", {"service_account": account})
        assert json.loads(caught.value.text)["error"]["field"] == "service_account.token_uri"


def test_the_rate_of_a_project_is_kept(connected):
    rate = {"PEAL_PROVIDERS_FCM_RATE_PER_SECOND": 200, "PEAL_PROVIDERS_FCM_START_RATE_PER_SECOND": 200}
    simulator, peal, app = connected(**rate)
    phones(peal, app, 600)
    begin = time.monotonic()
    report = peal.wait(app, peal.send(app))
    assert report["counts"]["accepted"] == simulator.summary()["accepted"] == 600
    assert time.monotonic() - begin >= 2.9


@pytest.fixture
def mockpost(tmp_path):
    peer = MockPost(tmp_path / "mockpost")
    yield peer
    peer.stop()


@pytest.fixture
def token_endpoint():
    endpoint = TokenEndpoint()
    yield endpoint
    endpoint.stop()


def made_account(token_uri):
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()
    return {
        "type": "service_account",
        "project_id": "mock-project",
        "private_key_id": "key1",
        "private_key": pem,
        "client_email": "push@mock-project.iam.gserviceaccount.com",
        "token_uri": token_uri,
    }


def test_mockpost_accepts_what_is_sent(mockpost, token_endpoint, serve):
    peal = serve(
        {
            "PEAL_PROVIDERS_FCM_URL": mockpost.url + "/fcm",
            "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": token_endpoint.host,
            "PEAL_PROVIDERS_CA_FILE": mockpost.ca_file,
        }
    )
    app = peal.app()
    peal.put(f"/apps/{app}/credentials/fcm", {"service_account": made_account(token_endpoint.url)})
    addresses = phones(peal, app, 40)
    mockpost.ask("POST", "/fcm/simulate/unregister", {"token": addresses[7]})
    report = peal.wait(app, peal.send(app, content=COMMON | {"android": RICH}))
    assert (report["counts"]["accepted"], report["counts"]["retired"]) == (39, 1)
    assert report["reasons"] == {"UNREGISTERED": 1}
    payloads = [
        json.loads(item["raw_payload"]) for item in mockpost.ask("GET", "/api/messages?channel=fcm&limit=100")
    ]
    assert {payload["message"]["token"] for payload in payloads} == set(addresses) - {addresses[7]}
    for payload in payloads:
        validator().validate(payload)
    assert len(token_endpoint.requests) == 1
