"""Receivers of a real server's webhooks, which verify them with the reference library of Standard Webhooks."""

import base64
import datetime
import json
import secrets

import pytest
from certificates import write_certificate
from doc_examples import examples
from peal_server import OPENER, Refused
from standardwebhooks.webhooks import Webhook
from waiting import wait_until


def signed(receiver):
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    return secret, {"url": receiver.url, "kind": "events", "authentication": {"type": "signature", "secret": secret}}


def wait_for_state(peal, path, state):
    def delivery():
        newest = peal.get(path)["items"][0]
        return newest["state"] == state and newest

    return wait_until(delivery, failure=lambda: f"not {state}: {peal.get(path)}")


def test_a_sent_message_is_reported_with_a_valid_signature(simulate, serve, receive):
    simulator = simulate()
    peal = serve({**simulator.environment, "PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost"})
    receiver = receive()
    app = peal.app(bundle_id=simulator.description["apns"]["bundle_id"])
    peal.connect(app, simulator, "apns/production")
    peal.phones(app, 3)
    secret, body = signed(receiver)
    peal.put(f"/apps/{app}/webhooks/main", body)
    message = peal.send(app)
    ((headers, bytes_received),) = receiver.wait(1)
    # Raises when id, time, signature and body do not match.
    event = Webhook(secret).verify(bytes_received, headers)
    assert event["type"] == "message.sent"
    # The code in the documentation agrees.
    (code,) = (block.text for block in examples("docs/api/native.md", "python"))
    names = {}
    exec(code, names)
    names["verify"](secret, headers, bytes_received)
    earlier = str(int(headers["webhook-timestamp"]) - 301)
    sent_at = datetime.datetime.fromtimestamp(int(earlier), datetime.timezone.utc)
    resigned = Webhook(secret).sign(headers["webhook-id"], sent_at, "{}")
    for altered, body, problem in (
        (headers, b"{}", "invalid"), (dict(headers, **{"webhook-id": "another"}), bytes_received, "invalid"),
        (dict(headers, **{"webhook-timestamp": earlier, "webhook-signature": resigned}), b"{}", "too old"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=problem):
            names["verify"](secret, altered, body)
    # The API's own answer also has what the author sent.
    shown = peal.message(app, message)
    assert {name: shown[name] for name in event["data"]} == event["data"]
    assert set(shown) - set(event["data"]) == {"audience_summary", "request", "title"}
    assert event["data"]["counts"]["accepted"] == 3
    delivery = wait_for_state(peal, f"/apps/{app}/webhooks/main/deliveries", "delivered")
    assert (delivery["attempts"], delivery["last_status"], delivery["id"]) == (1, 204, headers["webhook-id"])
    with OPENER.open(peal.url + "/metrics", timeout=10) as answer:
        metrics = answer.read().decode()
    assert 'peal_webhook_deliveries_total{outcome="delivered"} 1' in metrics


@pytest.mark.parametrize("ending", ["stop", "kill"])
def test_a_delivery_outlives_refusals_and_a_restart(serve, receive, ending):
    peal = serve({"PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost"})
    receiver = receive(503, 500)
    app = peal.app()
    secret, body = signed(receiver)
    peal.put(f"/apps/{app}/webhooks/main", body)
    path = f"/apps/{app}/webhooks/main/deliveries"
    message = peal.send(app)
    receiver.wait(1)
    delivery = wait_for_state(peal, path, "pending")
    getattr(peal, ending)()
    peal.start()
    receiver.wait(2)
    wait_until(lambda: peal.get(path)["items"][0]["last_status"] == 500)
    retried = peal.post(f"{path}/{delivery['id']}/retry")
    assert retried["state"] == "pending"
    requests = receiver.wait(3)
    delivered = wait_for_state(peal, path, "delivered")
    assert delivered["id"] == delivery["id"]
    assert {headers["webhook-id"] for headers, _ in requests} == {delivery["id"]}
    assert len({bytes_received for _, bytes_received in requests}) == 1
    for headers, bytes_received in requests:
        assert Webhook(secret).verify(bytes_received, headers)["data"]["id"] == message
    with pytest.raises(Refused) as refusal:
        peal.post(f"{path}/{delivery['id']}/retry")
    assert refusal.value.status == 409


def test_a_private_host_that_is_not_listed_is_refused(serve, receive):
    peal = serve()
    app = peal.app()
    _, body = signed(receive())
    with pytest.raises(Refused) as refusal:
        peal.put(f"/apps/{app}/webhooks/main", body)
    assert refusal.value.status == 400
    assert json.loads(refusal.value.text)["error"]["field"] == "url"


@pytest.mark.parametrize("name, is_trusted", [("localhost", True), ("localhost", False), ("elsewhere", True)])
def test_https_needs_a_trusted_certificate_of_the_host(serve, receive, tmp_path, name, is_trusted):
    identity = tmp_path / "certificate.pem", tmp_path / "key.pem"
    write_certificate(*identity, host=name)
    environment = {"PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost"}
    if is_trusted:
        environment["PEAL_PROVIDERS_CA_FILE"] = identity[0]
    peal = serve(environment)
    receiver = receive(identity=identity)
    app = peal.app()
    secret, body = signed(receiver)
    peal.put(f"/apps/{app}/webhooks/main", body)
    peal.send(app)
    path = f"/apps/{app}/webhooks/main/deliveries"
    if is_trusted and name == "localhost":
        ((headers, bytes_received),) = receiver.wait(1)
        assert Webhook(secret).verify(bytes_received, headers)["type"] == "message.sent"
        return
    wait_until(lambda: any(delivery["attempts"] for delivery in peal.get(path)["items"]))
    assert peal.get(path)["items"][0]["last_error"] == "TLSFailed"
    assert receiver.requests == []
