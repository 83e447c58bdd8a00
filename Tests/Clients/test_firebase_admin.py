"""firebase-admin accepts the simulator as FCM and as Google's token endpoint."""

import asyncio
import contextlib
import datetime
import urllib.parse

import firebase_admin
import pytest
from firebase_admin import credentials, exceptions, messaging

TOKEN = "dGVzdA:APA91bExample_registration-token"


@pytest.fixture
def connect(monkeypatch):
    """Creates apps of firebase-admin that send to a simulator. The library has no setting for that."""
    made = []

    def start(simulator, project_id=None):
        url = simulator.description["fcm_url"] + "/v1/projects/{0}/messages:send"
        monkeypatch.setattr(messaging._MessagingService, "FCM_URL", url)
        monkeypatch.setenv("REQUESTS_CA_BUNDLE", simulator.ca_file)
        monkeypatch.setenv("SSL_CERT_FILE", simulator.ca_file)
        account = credentials.Certificate(simulator.description["fcm"]["service_account_file"])
        options = {"httpTimeout": 10} | ({"projectId": project_id} if project_id else {})
        made.append(firebase_admin.initialize_app(account, options, name=f"app {len(made)}"))
        return made[-1]

    yield start
    for app in made:
        # Its asynchronous client belongs to the event loop of a finished test.
        with contextlib.suppress(RuntimeError):
            firebase_admin.delete_app(app)


def message(token=TOKEN, **parts):
    standard = {"notification": messaging.Notification(title="Seminar", body="Starts at ten")}
    return messaging.Message(token=token, **(standard | parts))


def test_a_message_reaches_the_inbox_as_it_was_sent(simulate, connect):
    simulator = simulate()
    android = messaging.AndroidConfig(
        ttl=datetime.timedelta(seconds=90),
        priority="high",
        collapse_key="seminar",
        notification=messaging.AndroidNotification(
            channel_id="talks",
            color="#ff8800",
            notification_count=3,
            event_timestamp=datetime.datetime(2026, 5, 4, 10, tzinfo=datetime.timezone.utc),
            vibrate_timings_millis=[100, 250],
            light_settings=messaging.LightSettings("#00ff00", 300, 700),
            visibility="public",
            priority="max",
        ),
    )
    apns = messaging.APNSConfig(payload=messaging.APNSPayload(aps=messaging.Aps(badge=3)))
    webpush = messaging.WebpushConfig(fcm_options=messaging.WebpushFCMOptions(link="https://example.com/talk"))
    sent = message(data={"talk": "42"}, android=android, apns=apns, webpush=webpush)
    name = messaging.send(sent, app=connect(simulator))
    assert name.startswith("projects/peal-demo/messages/")
    (item,) = simulator.inbox(f"?provider=fcm&contains=Starts&device={urllib.parse.quote(TOKEN)}")
    assert (item["provider"], item["device"], item["id"]) == ("fcm", TOKEN, name)
    assert item["payload"] == messaging._MessagingService.encode_message(sent)
    assert "authorization" not in item["headers"]
    assert simulator.summary()["by_provider"]["fcm"]["accepted"] == 1


def test_a_topic_and_a_condition_are_targets_too(simulate, connect):
    simulator = simulate()
    app = connect(simulator)
    messaging.send(messaging.Message(topic="talks", data={"a": "b"}), app=app)
    messaging.send(messaging.Message(condition="'a' in topics && 'b' in topics", data={"a": "b"}), app=app)
    assert [item["device"] for item in simulator.inbox()] == ["/topics/talks", "'a' in topics && 'b' in topics"]


def test_a_dry_run_delivers_nothing(simulate, connect):
    simulator = simulate()
    assert messaging.send(message(), dry_run=True, app=connect(simulator))
    assert (simulator.inbox(), simulator.summary()["received"]) == ([], 0)


@pytest.mark.parametrize(
    "code, expected",
    [
        ("UNREGISTERED", messaging.UnregisteredError),
        ("SENDER_ID_MISMATCH", messaging.SenderIdMismatchError),
        ("THIRD_PARTY_AUTH_ERROR", messaging.ThirdPartyAuthError),
        ("INVALID_ARGUMENT", exceptions.InvalidArgumentError),
        ("QUOTA_EXCEEDED", messaging.QuotaExceededError),
    ],
)
def test_an_error_code_is_understood(simulate, connect, code, expected):
    simulator = simulate()
    simulator.fault(TOKEN, {"error_code": code})
    app = connect(simulator)
    with pytest.raises(expected):
        messaging.send(message(), app=app)
    assert set(simulator.summary()["refused"]) == {code}
    simulator.control("DELETE", "/faults")
    assert messaging.send(message(), app=app)


def test_the_library_waits_as_a_quota_error_asks_and_tries_again(simulate, connect):
    simulator = simulate()
    simulator.fault(TOKEN, {"error_code": "QUOTA_EXCEEDED", "retry_after": 1, "times": 1})
    assert messaging.send(message(), app=connect(simulator))
    assert simulator.summary()["refused"] == {"QUOTA_EXCEEDED": 1}


def test_the_library_tries_again_by_itself_when_the_service_is_unavailable(simulate, connect):
    simulator = simulate()
    simulator.fault(TOKEN, {"sequence": [{"error_code": "UNAVAILABLE"}, {"status": 500, "reason": "INTERNAL"}]})
    assert messaging.send(message(), app=connect(simulator))
    assert simulator.summary()["refused"] == {"INTERNAL": 1, "UNAVAILABLE": 1}


@pytest.mark.parametrize(
    "wrong, field",
    [
        ({"data": {"from": "me"}}, "Invalid data payload key: from"),
        ({"data": {"large": "x" * 4_096}}, "message is too big"),
        ({"android": messaging.AndroidConfig(ttl=datetime.timedelta(days=29))}, "ttl"),
    ],
)
def test_a_wrong_message_is_refused(simulate, connect, wrong, field):
    with pytest.raises(exceptions.InvalidArgumentError) as caught:
        messaging.send(message(**wrong), app=connect(simulate()))
    assert field in str(caught.value)


def test_a_wrong_project_does_not_retire_the_token(simulate, connect):
    with pytest.raises(exceptions.NotFoundError) as caught:
        messaging.send(message(), app=connect(simulate(), project_id="somebody-else"))
    assert not isinstance(caught.value, messaging.UnregisteredError)


def test_a_clock_that_is_wrong_gets_no_access_token(simulate, connect):
    from google.auth import exceptions as auth

    with pytest.raises((auth.RefreshError, exceptions.FirebaseError)) as caught:
        messaging.send(message(), app=connect(simulate("--clock-skew-seconds", "7200")))
    assert "invalid_grant" in str(caught.value)


def test_an_access_token_that_was_revoked_is_renewed(simulate, connect):
    simulator = simulate()
    app = connect(simulator)
    messaging.send(message(), app=app)
    simulator.control("DELETE", "/access-tokens?provider=fcm")
    messaging.send(message(), app=app)
    assert simulator.summary()["refused"] == {"UNAUTHENTICATED": 1}


def test_an_access_token_that_expires_early_is_renewed(simulate, connect):
    simulator = simulate()
    simulator.control("POST", "/script", "rules: [{match: {provider: fcm, nth: 2}, action: expire_provider_token}]")
    app = connect(simulator)
    for _ in range(3):
        messaging.send(message(), app=app)
    assert simulator.summary()["refused"] == {"UNAUTHENTICATED": 1}


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_many_concurrent_messages_each_have_their_own_result(simulate, connect, mode):
    simulator = simulate("--mode", mode)
    simulator.fault("token-3", {"error_code": "UNREGISTERED"})
    sent = [message(f"token-{number}") for number in range(20)]
    batch = messaging.send_each(sent, app=connect(simulator))
    failed = [index for index, response in enumerate(batch.responses) if not response.success]
    assert (batch.success_count, failed) == (19, [3])
    assert isinstance(batch.responses[3].exception, messaging.UnregisteredError)
    assert {item["device"] for item in simulator.inbox()} == {f"token-{number}" for number in range(20)} - {"token-3"}


@pytest.mark.parametrize("mode", ["strict", "fast"])
def test_many_concurrent_messages_over_http_2(simulate, connect, mode):
    simulator = simulate("--mode", mode)
    app = connect(simulator)
    sent = [message(f"token-{number}") for number in range(200)]
    batch = asyncio.run(messaging.send_each_async(sent, app=app, dry_run=False))
    assert batch.success_count == 200, [response.exception for response in batch.responses if not response.success][:3]
    summary = simulator.summary()
    assert (summary["accepted"], summary["devices"]) == (200, 200)
    assert simulator.inbox("?limit=1")[0]["payload"]["notification"]["title"] == "Seminar"
