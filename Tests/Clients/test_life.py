"""`peal` sends to `peal-sim` while credentials change, are revoked, or are valid for some devices only."""

import pathlib
import time
import urllib.parse

import pytest
from moved_clock import MovedClock
from peal_server import SigningKey
from waiting import wait_until

BUNDLE = "com.example.demo"
COUNT = 5000
YEAR_SECONDS = 365 * 86_400


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
    peal = serve(simulator.environment)
    app = peal.app(bundle_id=BUNDLE)
    peal.connect(app, simulator, "apns/production")
    return simulator, peal, app


def test_a_credential_changes_during_delivery_and_everybody_is_reached_once(simulate, serve):
    simulator = simulate("--mode", "fast")
    peal = serve(simulator.environment)
    app = peal.app(bundle_id=BUNDLE)
    peal.connect(app, simulator, "apns/production")
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
    apns = simulator.description["apns"]
    key = SigningKey(apns["key_id"], apns["team_id"], simulator.private_key)
    simulator.control("DELETE", f"/keys/{key.key_id}")
    message = peal.send(app)
    wait_until(lambda: health(peal, app)["state"] == "stopped")
    assert health(peal, app)["reason"] == "InvalidProviderToken"
    assert "InvalidProviderToken" in peal.deliveries(app, message, address=address)[-1]["detail"]
    allow(simulator, key)
    # The answer to the probe concerns only the device. That is enough to know that the credential is valid again.
    fault = {"status": 410, "reason": "Unregistered", "timestamp": int(time.time() * 1000) + 600_000}
    simulator.fault(address, fault)
    assert peal.wait(app, message)["counts"]["retired"] == 1
    assert health(peal, app)["state"] == "ok"


def test_devices_without_a_push_key_in_firebase_do_not_delay_others(simulate, serve):
    simulator = simulate()
    peal = serve(simulator.environment)
    app = peal.app()
    peal.connect(app, simulator, "fcm")
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
    peal.connect(app, simulator, "apns/sandbox")
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
    simulator.fault(address, fault)
    message = peal.send(app)
    assert peal.wait(app, message)["counts"]["accepted"] == 1
    ids = [item["apns_id"] for item in simulator.inbox(f"?device={address}")]
    assert len(ids) == 2 and len(set(ids)) == 1
    trail = [(item["event"], item["detail"]) for item in peal.deliveries(app, message, address=address)]
    assert ("deferred", "LostAnswer StreamReset") in trail


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_sending_continues_after_the_clock_was_a_year_ahead_for_a_while(simulate, serve, tmp_path):
    simulator, clock = simulate(), MovedClock(tmp_path, is_of_day_only=True)
    peal = serve({**simulator.environment, **clock.environment})
    app = peal.app(bundle_id=BUNDLE)
    peal.connect(app, simulator, "apns/production")
    peal.phones(app, 1)
    messages = [peal.send(app)]
    peal.wait(app, messages[0])
    clock.advance(YEAR_SECONDS)
    messages.append(peal.send(app))
    wait_until(lambda: health(peal, app)["state"] == "stopped")
    # The server looks at the clock every second. When it has noticed the change, it probes the stopped route.
    wait_until(lambda: simulator.summary()["refused"].get("InvalidProviderToken", 0) > 1)
    clock.advance(-YEAR_SECONDS)
    messages.append(peal.send(app))
    for message in messages:
        assert peal.wait(app, message)["counts"]["accepted"] == 1
    assert "TooManyProviderTokenUpdates" not in simulator.summary()["refused"]


def test_verification_distinguishes_missing_trust_from_no_connection(simulate, serve, tmp_path):
    simulator = simulate()
    trusting_nobody = simulator.environment
    del trusting_nobody["PEAL_PROVIDERS_CA_FILE"]
    nobody_there = {**simulator.environment, "PEAL_PROVIDERS_APNS_PRODUCTION_URL": "https://127.0.0.1:1"}
    for configuration, reason in [(trusting_nobody, "NoTLS"), (nobody_there, "NoConnection")]:
        peal = serve(configuration)
        app = peal.app(bundle_id=BUNDLE)
        peal.connect(app, simulator, "apns/production")
        said = peal.post(f"/apps/{app}/credentials/apns/production/verify")
        assert (said["result"], said["reason"]) == ("unreachable", reason)
        assert health(peal, app)["state"] == "unknown"
