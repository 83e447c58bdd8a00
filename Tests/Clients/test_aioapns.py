"""aioapns accepts the simulator as APNs."""

import asyncio
import pathlib
import ssl
import time
import urllib.parse
import uuid

import aioapns
from aioapns.connection import APNsTLSClientProtocol

DEVICE = "a1" * 32
PAYLOAD = {"aps": {"alert": {"title": "Seminar", "body": "Starts at ten"}}}


def client(simulator, *, url="apns_url", **changes):
    """An aioapns client of `simulator`: it has no setting for host and port, so its protocol class gets them."""
    address = urllib.parse.urlsplit(simulator.description[url])

    class Protocol(APNsTLSClientProtocol):
        APNS_SERVER = address.hostname
        APNS_PORT = address.port

    apns = simulator.description["apns"]
    context = ssl.create_default_context(cafile=simulator.ca_file)
    context.set_alpn_protocols(["h2"])
    values = {
        "key": simulator.private_key,
        "key_id": apns["key_id"],
        "team_id": apns["team_id"],
        "topic": apns["bundle_id"],
        "ssl_context": context,
        "max_connections": 1,
    }
    made = aioapns.APNs(**{**values, **changes})
    made.pool.protocol_class = Protocol
    return made


def send(simulator, *requests, url="apns_url", **changes):
    """Sends all `requests` at once over one connection; returns their results in order."""

    async def run():
        apns = client(simulator, url=url, **changes)
        try:
            first = await apns.send_notification(requests[0])
            return [first, *await asyncio.gather(*(apns.send_notification(request) for request in requests[1:]))]
        finally:
            apns.pool.close()
            await asyncio.sleep(0)

    return asyncio.run(asyncio.wait_for(run(), 20))


def notification(device=DEVICE, message=PAYLOAD, **changes):
    return aioapns.NotificationRequest(
        device_token=device, message=message, push_type=aioapns.PushType.ALERT, **changes
    )


def test_a_notification_reaches_the_inbox_as_it_was_sent(simulate):
    simulator = simulate()
    request = notification(time_to_live=60, priority=5, collapse_key="seminar")
    (result,) = send(simulator, request)
    assert result.is_successful
    (item,) = simulator.inbox(f"?device={DEVICE}")
    assert item["payload"] == PAYLOAD
    assert item["apns_id"] == request.notification_id
    assert item["provider"] == "apns" and item["environment"] == "production"
    assert item["headers"]["apns-collapse-id"] == "seminar"
    assert item["headers"]["apns-priority"] == "5"
    assert "authorization" not in item["headers"]
    assert abs(item["at"] - time.time() * 1000) < 20_000


def test_the_sandbox_is_separate(simulate):
    simulator = simulate()
    simulator.control("PUT", f"/devices/{DEVICE}", {"environment": "sandbox"})
    assert send(simulator, notification())[0].description == "BadDeviceToken"
    assert send(simulator, notification(), url="apns_sandbox_url")[0].is_successful
    assert [item["environment"] for item in simulator.inbox()] == ["sandbox"]


def test_many_notifications_at_once(either_mode):
    devices = [f"{number:064x}" for number in range(300)]
    results = send(either_mode, *(notification(device) for device in devices))
    assert all(result.is_successful for result in results)
    summary = either_mode.summary()
    assert (summary["accepted"], summary["devices"], summary["duplicates"]) == (300, 300, 0)
    assert summary["devices_with_more_than_one"] == 0
    assert {item["device"] for item in either_mode.inbox("?limit=1000")} == set(devices)


def test_a_bad_device_token_is_refused(simulate):
    (result,) = send(simulate(), notification("abc"))
    assert (result.status, result.description) == ("400", "BadDeviceToken")


def test_an_unregistered_device_is_refused_with_its_time(either_mode):
    fault = {"status": 410, "reason": "Unregistered", "timestamp": 1_700_000_000_123, "times": 1}
    either_mode.fault(DEVICE, fault)
    first, second = send(either_mode, notification(), notification())
    assert (first.status, first.description, first.timestamp) == ("410", "Unregistered", 1_700_000_000_123)
    assert second.is_successful
    assert either_mode.summary()["refused"] == {"Unregistered": 1}


def test_an_old_provider_token_is_refused(simulate):
    (result,) = send(simulate("--clock-skew-seconds", "3700"), notification())
    assert (result.status, result.description) == ("403", "ExpiredProviderToken")


def test_a_provider_token_of_an_unknown_key_is_refused(simulate):
    (result,) = send(simulate(), notification(), key_id="UNKNOWN001")
    assert (result.status, result.description) == ("403", "InvalidProviderToken")


def test_a_topic_of_another_app_is_refused(simulate):
    (result,) = send(simulate(), notification(), topic="com.example.other")
    assert (result.status, result.description) == ("400", "TopicDisallowed")


def test_a_payload_too_large_is_refused(simulate):
    (result,) = send(simulate(), notification(message={"aps": {"alert": "x" * 4096}}))
    assert (result.status, result.description) == ("413", "PayloadTooLarge")


def test_a_repeated_id_counts_as_duplicate(either_mode):
    same = str(uuid.uuid4())
    assert all(result.is_successful for result in send(either_mode, notification(notification_id=same)))
    assert send(either_mode, notification(notification_id=same))[0].is_successful
    summary = either_mode.summary()
    assert (summary["duplicates"], summary["devices_with_more_than_one"]) == (1, 1)


def certificate_client(simulator, *requests, **changes):
    """Sends over a connection with the app's client certificate."""
    apns = simulator.description["apns"]
    both = pathlib.Path(apns["certificate_file"]).parent / "both.pem"
    names = ["certificate_file", "certificate_key_file"]
    both.write_text("".join(pathlib.Path(apns[name]).read_text() for name in names))
    context = ssl.create_default_context(cafile=simulator.ca_file)
    context.set_alpn_protocols(["h2"])
    context.load_cert_chain(both)
    values = {"client_cert": str(both), "key": None, "key_id": None, "team_id": None, "ssl_context": context}
    return send(simulator, *requests, **(values | changes))


def test_a_client_certificate_replaces_a_provider_token(simulate):
    simulator = simulate()
    results = certificate_client(simulator, *(notification(f"{number:064x}") for number in range(20)))
    assert all(result.is_successful for result in results)
    assert simulator.summary()["accepted"] == 20
    (result,) = certificate_client(simulator, notification(), url="apns_sandbox_url")
    assert result.is_successful


def test_a_client_certificate_is_valid_only_for_its_topics(simulate):
    (result,) = certificate_client(simulate(), notification(), topic="com.example.other")
    assert (result.status, result.description) == ("400", "TopicDisallowed")


def test_an_unknown_client_certificate_is_refused(simulate):
    simulator, other = simulate(), simulate()
    simulator.description["apns"] |= {
        name: other.description["apns"][name] for name in ["certificate_file", "certificate_key_file"]
    }
    (result,) = certificate_client(simulator, notification())
    assert (result.status, result.description) == ("403", "BadCertificate")


def test_a_provider_token_that_expires_early_is_refused_until_a_new_one_comes(simulate):
    simulator = simulate()
    simulator.control("POST", "/script", "rules: [{match: {provider: apns, nth: 2}, action: expire_provider_token}]")

    async def run():
        apns = client(simulator)
        try:
            results = [await apns.send_notification(notification()) for _ in range(3)]
            await asyncio.sleep(1.1)  # the next token must be another: its time has seconds
            apns.pool.connections[0].auth_provider._JWTAuthorizationHeaderProvider__header = None
            return [*results, await apns.send_notification(notification())]
        finally:
            apns.pool.close()
            await asyncio.sleep(0)

    results = asyncio.run(asyncio.wait_for(run(), 20))
    assert [result.description for result in results] == [
        None, "ExpiredProviderToken", "ExpiredProviderToken", None,
    ]
