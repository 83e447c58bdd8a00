"""Receivers that verify with the reference library of Standard Webhooks, told by a real server."""

import base64
import http.server
import json
import secrets
import threading
import time

import pytest
from peal_server import OPENER, Refused, SigningKey
from standardwebhooks.webhooks import Webhook

WAIT_SECONDS_MAX = 30


class Receiver:
    """An HTTP server on loopback that keeps what it got, and answers with `statuses` in turn and then with 204."""

    def __init__(self, statuses=()):
        self.statuses = list(statuses)
        self.requests = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append((dict(self.headers.items()), body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://localhost:{self.server.server_port}/peal?from=test"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        end = time.monotonic() + WAIT_SECONDS_MAX
        while len(self.requests) < count:
            assert time.monotonic() < end, f"{len(self.requests)} of {count} requests came"
            time.sleep(0.02)
        return self.requests[:count]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receive():
    running = []

    def start(*statuses):
        running.append(Receiver(statuses))
        return running[-1]

    yield start
    for receiver in running:
        receiver.stop()


def signed(receiver):
    secret = "whsec_" + base64.b64encode(secrets.token_bytes(32)).decode()
    return secret, {"url": receiver.url, "kind": "events", "authentication": {"type": "signature", "secret": secret}}


def wait_for_state(peal, path, state):
    end = time.monotonic() + WAIT_SECONDS_MAX
    while True:
        delivery = peal.get(path)["items"][0]
        if delivery["state"] == state:
            return delivery
        assert time.monotonic() < end, delivery
        time.sleep(0.05)


def test_a_sent_message_is_told_and_its_signature_is_good(simulate, serve, receive):
    simulator = simulate()
    apns = simulator.description["apns"]
    peal = serve(
        {
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": simulator.description["apns_url"],
            "PEAL_PROVIDERS_CA_FILE": simulator.ca_file,
            "PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost",
        }
    )
    receiver = receive()
    app = peal.app(bundle_id=apns["bundle_id"])
    key = SigningKey(apns["key_id"], apns["team_id"])
    key.private_key = simulator.private_key
    peal.apns(app, key, apns["bundle_id"])
    peal.phones(app, 3)
    secret, body = signed(receiver)
    peal.put(f"/apps/{app}/webhooks/main", body)
    message = peal.send(app)
    ((headers, bytes_received),) = receiver.wait(1)
    # Raises where id, time, signature and body do not fit together.
    event = Webhook(secret).verify(bytes_received, headers)
    assert event["type"] == "message.sent"
    assert event["data"] == peal.message(app, message)
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
    end = time.monotonic() + WAIT_SECONDS_MAX
    while peal.get(path)["items"][0]["last_status"] != 500:
        assert time.monotonic() < end
        time.sleep(0.05)
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
