"""Receivers of a real server's webhooks, which verify them with the reference library of Standard Webhooks."""

import base64
import datetime
import http.server
import json
import secrets
import ssl
import threading

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from doc_examples import examples
from peal_server import OPENER, Refused, SigningKey
from standardwebhooks.webhooks import Webhook
from waiting import wait_until



class Receiver:
    """An HTTP server on loopback that keeps its requests, and answers with `statuses` in turn and then with 204."""

    def __init__(self, statuses=(), identity=None):
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
        if identity:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(identity)
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        scheme = "https" if identity else "http"
        self.url = f"{scheme}://localhost:{self.server.server_port}/peal?from=test"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def wait(self, count):
        wait_until(
            lambda: len(self.requests) >= count, failure=
            lambda: f"{len(self.requests)} of {count} requests were received",
        )  # fmt: skip
        return self.requests[:count]

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receive():
    running = []

    def start(*statuses, identity=None):
        running.append(Receiver(statuses, identity))
        return running[-1]

    yield start
    for receiver in running:
        receiver.stop()


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


def certificate(directory, name):
    """A self-signed certificate for `name` with its key, as one PEM file."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(hours=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = directory / f"{name}.pem"
    file.write_bytes(
        made.public_bytes(serialization.Encoding.PEM)
        + key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
    )
    return file


@pytest.mark.parametrize("name, is_trusted", [("localhost", True), ("localhost", False), ("elsewhere", True)])
def test_https_needs_a_trusted_certificate_of_the_host(serve, receive, tmp_path, name, is_trusted):
    identity = certificate(tmp_path, name)
    environment = {"PEAL_WEBHOOKS_ALLOWED_HOSTS": "localhost"}
    if is_trusted:
        environment["PEAL_PROVIDERS_CA_FILE"] = identity
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
