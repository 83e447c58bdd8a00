"""What peal sends to APNs, as nghttpd and nginx log it."""

import base64
import datetime
import json
import re
import time
import types

import jwt
import pytest
from certificates import write_certificate
from foreign_servers import Nghttpd, Nginx
from peal_server import Peal, SigningKey

DEVICES = 40
BUNDLE_ID = "com.example.honest"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
EXPIRES_AT = 1_999_999_999
PLAIN = {"content": {"title": "Grüße", "body": "Plain"}}

# The message, and what its requests contain. An expiry of None means 28 days from now.
MESSAGES = {
    "a greeting": (PLAIN, {"apns-push-type": "alert", "apns-priority": "10", "apns-expiration": None}),
    "with every option": (
        {
            **PLAIN,
            "options": {"priority": "normal", "expires_at": "2033-05-18T03:33:19Z", "collapse_key": "news"},
        },
        {"apns-priority": "5", "apns-expiration": None, "apns-collapse-id": "news"},
    ),
    "once or never": (
        {**PLAIN, "options": {"priority": "low", "ttl_seconds": 0}},
        {"apns-priority": "1", "apns-expiration": "0"},
    ),
    "in the background": (
        {"content": {"data": {"sync": 1}}, "options": {"background": True}},
        {"apns-push-type": "background", "apns-priority": "5"},
    ),
    "over the internet": (
        {"content": {"body": "Ring", "ios": {"push_type": "voip"}}},
        {"apns-topic": BUNDLE_ID + ".voip", "apns-push-type": "voip"},
    ),
}


@pytest.fixture(scope="module")
def sent(tmp_path_factory):
    """Every message, sent through nghttpd (production) and nginx (sandbox): their logs by message and device."""
    directory = tmp_path_factory.mktemp("sender")
    certificate = str(directory / "cert.pem"), str(directory / "key.pem")
    write_certificate(*certificate)
    nghttpd, nginx = Nghttpd(directory / "nghttpd", *certificate), Nginx(directory / "nginx", *certificate)
    urls = {
        "PEAL_PROVIDERS_APNS_PRODUCTION_URL": nghttpd.url,
        "PEAL_PROVIDERS_APNS_SANDBOX_URL": nginx.url,
        "PEAL_PROVIDERS_CA_FILE": certificate[0],
    }
    peal = Peal(directory / "peal", urls)
    try:
        yield send_all(peal, nghttpd, nginx)
    finally:
        peal.stop()
        nghttpd.stop()
        nginx.stop()


def send_all(peal, nghttpd, nginx):
    key, devices, messages = SigningKey(), {}, {}
    app = peal.app(bundle_id=BUNDLE_ID)
    for environment in ("production", "sandbox"):
        peal.apns(app, key, BUNDLE_ID, environment)
        devices[environment] = set(peal.phones(app, DEVICES, environment))
    for count, (name, (body, _)) in enumerate(MESSAGES.items(), start=1):
        messages[name] = peal.wait(app, peal.send(app, **body))
        # One message after the other, so that the order of the logs tells them apart.
        nghttpd.requests(DEVICES * count), nginx.requests(DEVICES * count)
    return types.SimpleNamespace(key=key, devices=devices, messages=messages, nghttpd=nghttpd, nginx=nginx)


def part(requests, name):
    start = list(MESSAGES).index(name) * DEVICES
    return requests[start : start + DEVICES]


def expected_fields(sent, name):
    fields = {"apns-topic": BUNDLE_ID, "apns-push-type": "alert", "apns-priority": "10", **MESSAGES[name][1]}
    if fields.get("apns-expiration", None) is None:
        fields["apns-expiration"] = str(expiry(sent, name))
    return fields


def expiry(sent, name):
    """The end of the message in seconds, as asked for or as the server says."""
    if "expires_at" in MESSAGES[name][0].get("options", {}):
        return EXPIRES_AT
    return int(datetime.datetime.fromisoformat(sent.messages[name]["expires_at"]).timestamp())


def verify(key, authorization):
    """Checks a provider token with PyJWT; returns its issue time."""
    scheme, _, text = authorization.partition(" ")
    assert scheme == "bearer"
    claims = jwt.decode(text, key.public_key, algorithms=["ES256"], issuer=key.team_id, options={"require": ["iat"]})
    assert set(claims) == {"iss", "iat"}
    assert type(claims["iat"]) is int
    assert abs(time.time() - claims["iat"]) < 300
    header = jwt.get_unverified_header(text)
    assert header == {"alg": "ES256", "kid": key.key_id}
    # Raw r and s, not DER (RFC 7518 §3.4).
    assert len(base64.urlsafe_b64decode(text.split(".")[2] + "==")) == 64
    return claims["iat"]


@pytest.mark.parametrize("name", MESSAGES)
def test_nghttpd_reads_every_field(sent, name):
    requests = part(sent.nghttpd.requests(DEVICES * len(MESSAGES)), name)
    fields = {
        ":method": "POST",
        ":scheme": "https",
        ":authority": f"localhost:{sent.nghttpd.port}",
        **expected_fields(sent, name),
    }
    for request in requests:
        got = dict(request["fields"])
        assert len(request["names"]) == len(got), "a field came twice"
        assert request["names"][:4] == [":method", ":scheme", ":authority", ":path"]
        assert got.pop(":path").removeprefix("/3/device/") in sent.devices["production"]
        assert re.fullmatch(UUID, got.pop("apns-id"))
        verify(sent.key, got.pop("authorization"))
        assert got == fields
        assert request["sensitive"] == {"authorization"}, "never indexed: RFC 7541 §7.1.3"
    assert {request["fields"][":path"] for request in requests} == {
        f"/3/device/{device}" for device in sent.devices["production"]
    }


@pytest.mark.parametrize("name", MESSAGES)
def test_nginx_logs_every_field(sent, name):
    requests = part(sent.nginx.requests(DEVICES * len(MESSAGES)), name)
    fields = {field.replace("-", "_"): value for field, value in expected_fields(sent, name).items()}
    fields.setdefault("apns_collapse_id", "")
    for request in requests:
        assert (request["method"], request["scheme"], request["host"]) == ("POST", "https", "localhost")
        assert request["protocol"] == "HTTP/2.0"
        assert request["path"].removeprefix("/3/device/") in sent.devices["sandbox"]
        assert {field: request[field] for field in fields} == fields
        assert request["user_agent"] == ""
        verify(sent.key, request["authorization"])
    assert len({request["apns_id"] for request in requests}) == DEVICES
    assert len({request["path"] for request in requests}) == DEVICES


def test_no_frame_states_a_priority(sent):
    """RFC 9113 §5.3.2 removed priorities: no such frames or flags are sent, and nothing is padded."""
    frames = sent.nghttpd.frames()
    assert {name for name, _ in frames} <= {"SETTINGS", "WINDOW_UPDATE", "HEADERS", "DATA", "PING", "GOAWAY"}
    assert {flags for name, flags in frames if name == "HEADERS"} == {0x4}
    assert {flags for name, flags in frames if name == "DATA"} == {0x1}


def test_one_provider_token_serves_all(sent):
    """A key's token is made once for all hosts and messages, because APNs limits new ones."""
    logged = [each["fields"]["authorization"] for each in sent.nghttpd.requests(1)]
    logged += [each["authorization"] for each in sent.nginx.requests(1)]
    assert len(set(logged)) == 1
    with pytest.raises(jwt.InvalidSignatureError):
        verify(SigningKey(), logged[0])


def test_every_request_has_its_own_id(sent):
    ids = [each["fields"]["apns-id"] for each in sent.nghttpd.requests(DEVICES * len(MESSAGES))]
    ids += [each["apns_id"] for each in sent.nginx.requests(DEVICES * len(MESSAGES))]
    assert len(set(ids)) == 2 * DEVICES * len(MESSAGES)


def test_the_answers_are_reported(sent):
    """nginx answered 200, and nghttpd 404 without a reason."""
    for report in sent.messages.values():
        counts = report["counts"]
        assert (counts["accepted"], counts["rejected"]) == (DEVICES, DEVICES), json.dumps(report)
