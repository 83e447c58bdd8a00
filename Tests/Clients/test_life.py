"""`peal` sends to `peal-sim` while credentials change, are revoked, or are valid for some devices only."""

import json
import pathlib
import time
import urllib.parse

import pytest
from cryptography.hazmat.primitives import serialization
from moved_clock import MovedClock
from peal_server import SigningKey
from waiting import wait_until

BUNDLE = "com.example.demo"
COUNT = 5000
YEAR_SECONDS = 365 * 86_400


def account_of(simulator):
    return json.loads(pathlib.Path(simulator.description["fcm"]["service_account_file"]).read_text())


def environment(simulator, **more):
    description = simulator.description
    return {
        "PEAL_PROVIDERS_APNS_PRODUCTION_URL": description["apns_url"],
        "PEAL_PROVIDERS_APNS_SANDBOX_URL": description["apns_sandbox_url"],
        "PEAL_PROVIDERS_FCM_URL": description["fcm_url"],
        "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": urllib.parse.urlparse(description["fcm"]["token_url"]).netloc,
        "PEAL_PROVIDERS_CA_FILE": simulator.ca_file,
        **more,
    }


def known_key(simulator):
    """The simulator's own key, with its private and its public half."""
    key = SigningKey(simulator.description["apns"]["key_id"], simulator.description["apns"]["team_id"])
    key.private_key = simulator.private_key
    private_key = serialization.load_pem_private_key(key.private_key.encode(), None)
    key.public_key = private_key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    ).decode()
    return key


def allow(simulator, key):
    body = {"team_id": key.team_id, "public_key": key.public_key, "bundle_ids": [BUNDLE]}
    assert simulator.control("PUT", f"/keys/{key.key_id}", body)[0] == 200


def health(peal, app, provider="apns"):
    items = peal.get(f"/apps/{app}/credentials")["items"]
    return next(item["health"] for item in items if item["provider"] == provider)


def connections(simulator):
    """Established connections to the production listener, as the system sees them."""
    port = urllib.parse.urlparse(simulator.description["apns_url"]).port
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return {row[1] for row in rows if row[2].endswith(f":{port:04X}") and row[3] == "01"}


@pytest.fixture
def app(simulate, serve):
    simulator = simulate()
    peal = serve(environment(simulator))
    app = peal.app(bundle_id=BUNDLE)
    peal.apns(app, known_key(simulator), BUNDLE)
    return simulator, peal, app


def test_a_credential_changes_during_delivery_and_everybody_is_reached_once(simulate, serve):
    simulator = simulate("--mode", "fast")
    peal = serve(environment(simulator))
    app = peal.app(bundle_id=BUNDLE)
    peal.apns(app, known_key(simulator), BUNDLE)
    peal.phones(app, COUNT)
    simulator.control("POST", "/script", "rules:\n  - match: {provider: apns}\n    delay_ms: 300\n")
    message = peal.send(app)
    wait_until(lambda: simulator.summary()["received"] >= COUNT // 5)
    before = connections(simulator)
    assert before
    peal.apns(app, SigningKey("KEY2222222", "SIMTEAM001"), BUNDLE)
    report = peal.wait(app, message)
    assert report["counts"]["accepted"] == COUNT
    summary = simulator.summary()
    assert (summary["accepted"], summary["devices"], summary["devices_with_more_than_one"]) == (COUNT, COUNT, 0)
    wait_until(
        lambda: not before & connections(simulator),
        failure=lambda: "a connection with the old credential is still open",
    )


def test_a_stopped_app_says_why_and_recovers_once_its_key_is_valid_again(app):
    simulator, peal, app = app
    address = peal.phones(app, 1)[0]
    key = known_key(simulator)
    simulator.control("DELETE", f"/keys/{key.key_id}")
    message = peal.send(app)
    wait_until(lambda: health(peal, app)["state"] == "stopped")
    assert health(peal, app)["reason"] == "InvalidProviderToken"
    assert "InvalidProviderToken" in peal.deliveries(app, message, address=address)[-1]["detail"]
    allow(simulator, key)
    # The answer to the probe concerns only the device. That is enough to know that the credential is valid again.
    fault = {"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 600_000}
    simulator.control("PUT", f"/faults/devices/{address}", fault)
    assert peal.wait(app, message)["counts"]["retired"] == 1
    assert health(peal, app)["state"] == "ok"


def test_devices_without_a_push_key_in_firebase_do_not_delay_others(simulate, serve):
    simulator = simulate()
    peal = serve(environment(simulator))
    app = peal.app()
    peal.put(f"/apps/{app}/credentials/fcm", {"service_account": account_of(simulator)})
    names = [f"{kind}-{number}" for number in range(100) for kind in ("ios", "android")]
    peal.devices(app, [{"platform": "android", "address": name} for name in names])
    rule = "rules:\n  - match: {provider: fcm, device_prefix: ios}\n    error_code: THIRD_PARTY_AUTH_ERROR\n"
    simulator.control("POST", "/script", rule)
    first = peal.send(app)
    wait_until(lambda: peal.message(app, first)["counts"]["accepted"] >= 100, seconds=20)
    second = peal.send(app, audience={"addresses": [{"platform": "android", "address": "android-new"}]})
    assert peal.wait(app, second, seconds=20)["counts"]["accepted"] == 1
    assert peal.message(app, first)["counts"]["pending"] == 100
    assert health(peal, app, "fcm")["state"] == "ok"


def test_a_device_of_the_other_environment_is_reached_and_moved(app):
    simulator, peal, app = app
    peal.apns(app, known_key(simulator), BUNDLE, "sandbox")
    address = peal.phones(app, 1)[0]
    simulator.control("PUT", f"/devices/{address}", {"environment": "sandbox"})
    for _ in range(2):
        assert peal.wait(app, peal.send(app))["counts"]["accepted"] == 1
    assert simulator.summary()["refused"] == {"BadDeviceToken": 1}
    assert [item["environment"] for item in peal.get(f"/apps/{app}/devices")["items"]] == ["sandbox"]
    assert "device.environment" in {entry["action"] for entry in peal.get(f"/apps/{app}/audit")["items"]}


def test_a_lost_answer_is_sent_again_with_the_same_id_and_the_trail_says_so(app):
    simulator, peal, app = app
    address = peal.phones(app, 1)[0]
    fault = {"action": "reset", "code": 2, "processed": True, "times": 1}
    simulator.control("PUT", f"/faults/devices/{address}", fault)
    message = peal.send(app)
    assert peal.wait(app, message)["counts"]["accepted"] == 1
    ids = [item["apns_id"] for item in simulator.inbox(f"?device={address}")]
    assert len(ids) == 2 and len(set(ids)) == 1
    trail = [(item["event"], item["detail"]) for item in peal.deliveries(app, message, address=address)]
    assert ("deferred", "LostAnswer StreamReset") in trail


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_sending_continues_after_the_clock_was_a_year_ahead_for_a_while(simulate, serve, tmp_path):
    simulator, clock = simulate(), MovedClock(tmp_path, is_of_day_only=True)
    peal = serve({**environment(simulator), **clock.environment})
    app = peal.app(bundle_id=BUNDLE)
    peal.apns(app, known_key(simulator), BUNDLE)
    peal.phones(app, 1)
    messages = [peal.send(app)]
    peal.wait(app, messages[0])
    clock.advance(YEAR_SECONDS)
    messages.append(peal.send(app))
    wait_until(lambda: health(peal, app)["state"] == "stopped")
    clock.advance(-YEAR_SECONDS)
    messages.append(peal.send(app))
    for message in messages:
        assert peal.wait(app, message)["counts"]["accepted"] == 1
    assert "TooManyProviderTokenUpdates" not in simulator.summary()["refused"]


def test_verification_distinguishes_missing_trust_from_no_connection(simulate, serve, tmp_path):
    simulator = simulate()
    trusting_nobody = environment(simulator)
    del trusting_nobody["PEAL_PROVIDERS_CA_FILE"]
    nobody_there = environment(simulator, PEAL_PROVIDERS_APNS_PRODUCTION_URL="https://127.0.0.1:1")
    for configuration, reason in [(trusting_nobody, "NoTLS"), (nobody_there, "NoConnection")]:
        peal = serve(configuration)
        app = peal.app(bundle_id=BUNDLE)
        peal.apns(app, known_key(simulator), BUNDLE)
        said = peal.post(f"/apps/{app}/credentials/apns/production/verify")
        assert (said["result"], said["reason"]) == ("unreachable", reason)
        assert health(peal, app)["state"] == "unknown"
