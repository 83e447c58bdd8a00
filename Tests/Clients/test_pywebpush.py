"""pywebpush accepts the simulator as a browser's push service."""

import base64
import json
import urllib.parse

import pytest
import requests
from cryptography.hazmat.primitives import serialization
from py_vapid import Vapid
from pywebpush import WebPushException, webpush

CONTACT = "mailto:push@example.com"


@pytest.fixture
def key():
    made = Vapid()
    made.generate_keys()
    return made


def public_key(key):
    point = key.public_key.public_bytes(
        serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
    )
    return base64.urlsafe_b64encode(point).decode().rstrip("=")


def subscribe(simulator, **body):
    status, subscription = simulator.control("POST", "/webpush/subscriptions", body)
    assert status == 201
    return subscription


def push(simulator, subscription, data="Hello", claims=None, **options):
    """Sends; returns the status and the answer, also of refusals."""
    session = requests.Session()
    session.verify, session.trust_env = simulator.ca_file, False
    try:
        answer = webpush(
            subscription, data, vapid_claims=dict({"sub": CONTACT} | (claims or {})), requests_session=session, **options
        )
    except WebPushException as refusal:
        answer = refusal.response
    finally:
        session.close()
    return answer.status_code, answer


@pytest.mark.parametrize(
    "data, payload",
    [
        ('{"title": "Grüße", "n": [1, 2.50]}', {"title": "Grüße", "n": [1, 2.5]}),
        ("Hello", {"text": "Hello"}),
        (b"\xff\x00", {"base64": "/wA="}),
        ("x" * 3_993, {"text": "x" * 3_993}),
    ],
)
def test_a_message_is_decrypted_into_the_inbox(simulate, key, data, payload):
    simulator = simulate()
    subscription = subscribe(simulator, application_server_key=public_key(key))
    assert subscription["application_server_key"] == public_key(key)
    status, answer = push(
        simulator, subscription, data, vapid_private_key=key, ttl=60, headers={"urgency": "high", "topic": "talk"}
    )
    assert (status, answer.headers["ttl"]) == (201, "60")
    query = urllib.parse.urlencode({"provider": "webpush", "device": subscription["endpoint"]})
    (item,) = simulator.inbox("?" + query)
    assert (item["payload"], item["id"]) == (payload, answer.headers["location"])
    assert (item["headers"]["urgency"], item["headers"]["topic"]) == ("high", "talk")
    assert "authorization" not in item["headers"]


def test_a_message_that_is_too_large_is_refused(simulate, key):
    simulator = simulate()
    status, answer = push(simulator, subscribe(simulator), "x" * 3_994, vapid_private_key=key, ttl=60)
    assert (status, answer.json()["errno"]) == (413, 104)


def test_an_abandoned_endpoint_is_gone_and_an_unknown_one_is_not_found(simulate, key):
    simulator = simulate()
    subscription = subscribe(simulator)
    assert push(simulator, subscription, vapid_private_key=key, ttl=60)[0] == 201
    query = urllib.parse.urlencode({"endpoint": subscription["endpoint"]})
    assert simulator.control("DELETE", "/webpush/subscriptions?" + query)[0] == 200
    status, answer = push(simulator, subscription, vapid_private_key=key, ttl=60)
    assert (status, answer.json()["errno"]) == (410, 106)
    assert push(simulator, subscription | {"endpoint": simulator.description["webpush_url"] + "/push/x"},
                vapid_private_key=key, ttl=60)[0] == 404


def test_a_key_other_than_the_subscriptions_is_refused(simulate, key):
    simulator = simulate()
    other = Vapid()
    other.generate_keys()
    subscription = subscribe(simulator, application_server_key=public_key(other))
    status, answer = push(simulator, subscription, vapid_private_key=key, ttl=60)
    assert (status, answer.json()["reason"]) == (403, "VapidPkHashMismatch")
    assert push(simulator, subscription, vapid_private_key=other, ttl=60)[0] == 201


@pytest.mark.parametrize(
    "claims",
    [
        {"aud": "https://example.com"},
        {"exp": 99_999_999_999},
        {"sub": "mailto:<push@example.com>"},
        {"sub": "mailto:push@localhost"},
    ],
)
def test_a_token_with_wrong_claims_is_refused(simulate, key, claims):
    simulator = simulate()
    status, answer = push(simulator, subscribe(simulator), vapid_private_key=key, ttl=60, claims=claims)
    assert (status, answer.json()["reason"]) == (403, "BadJwtToken")


def test_a_message_for_another_subscription_is_refused(simulate, key):
    simulator = simulate()
    one, other = subscribe(simulator), subscribe(simulator)
    status, answer = push(simulator, one | {"keys": other["keys"]}, vapid_private_key=key, ttl=60)
    assert (status, answer.json()["errno"]) == (400, 110)


def test_a_fault_may_slow_a_sender_down(simulate, key):
    simulator = simulate()
    subscription = subscribe(simulator)
    simulator.fault(subscription["endpoint"], {"status": 429, "retry_after": 120, "times": 1})
    status, answer = push(simulator, subscription, vapid_private_key=key, ttl=60)
    assert (status, answer.headers["retry-after"]) == (429, "120")
    assert push(simulator, subscription, vapid_private_key=key, ttl=60)[0] == 201


def test_the_fast_mode_accepts_anything(simulate, key):
    simulator = simulate("--mode", "fast")
    subscription = subscribe(simulator)
    subscription["endpoint"] = simulator.description["webpush_url"] + "/push/nobody"
    assert push(simulator, subscription, json.dumps({"a": 1}), vapid_private_key=key, ttl=60)[0] == 201
    assert "base64" in simulator.inbox()[0]["payload"]
