"""`peal` sends to push services and receivers of webhooks whose answers no HTTP server would give."""

import contextlib
import http.client
import socket
import ssl
import threading

import pytest
from certificates import write_certificate
from push_service import Browser
from waiting import wait_until

SUBJECT = "mailto:push@example.com"
# A status below 100 once ended the process at the end of the answer.
ANSWERS = {
    "status 000": [b"HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n"],
    "status 099 with a body": [b"HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\nxx"],
    "interim answers without end": iter(lambda: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, None),
}


class RawPeer:
    """A TLS server for `localhost` that answers every request with the bytes of the answer that its path names, and
    201 to others."""

    def __init__(self, directory):
        self.ca_file, key_file = str(directory / "certificate.pem"), str(directory / "key.pem")
        write_certificate(self.ca_file, key_file)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.ca_file, key_file)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.host = f"localhost:{self.listener.getsockname()[1]}"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                threading.Thread(target=self.serve, args=self.listener.accept()[:1], daemon=True).start()

    def serve(self, connection):
        with contextlib.suppress(OSError), self.context.wrap_socket(connection, server_side=True) as stream:
            requests = stream.makefile("rb")
            while line := requests.readline():
                fields = http.client.parse_headers(requests)
                requests.read(int(fields.get("content-length", 0)))
                name = line.split()[1].decode()[1:].replace("-", " ")
                for piece in ANSWERS.get(name, [b"HTTP/1.1 201 Created\r\nContent-Length: 0\r\n\r\n"]):
                    stream.sendall(piece)
                if name in ANSWERS:
                    return

    def stop(self):
        self.listener.close()


@pytest.fixture
def peer(tmp_path):
    peer = RawPeer(tmp_path)
    yield peer
    peer.stop()


@pytest.mark.parametrize("answer", ANSWERS)
def test_no_answer_of_a_push_service_or_a_receiver_ends_the_server(serve, peer, answer):
    peal = serve({
        "PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": peer.host, "PEAL_WEBHOOKS_ALLOWED_HOSTS": peer.host,
        "PEAL_PROVIDERS_CA_FILE": peer.ca_file,
    })  # fmt: skip
    path = answer.replace(" ", "-")
    app = peal.app()
    key = peal.put(f"/apps/{app}/credentials/webpush", {"subject": SUBJECT})["public_key"]
    secret = {"type": "bearer", "token": "t" * 40}
    hook = {"url": f"https://{peer.host}/{path}", "kind": "events", "authentication": secret}
    peal.put(f"/apps/{app}/webhooks/hostile", hook)
    peal.devices(app, [{"platform": "web", "address": Browser(f"https://{peer.host}/{path}", key).address}])
    message = peal.send(app, options={"ttl_seconds": 0})
    # A message without a lifetime is not retried.
    assert peal.wait(app, message)["counts"]["accepted"] == 0
    failed = wait_until(lambda: [
        item for item in peal.get(f"/apps/{app}/webhooks/hostile/deliveries")["items"] if item["attempts"]
    ])  # fmt: skip
    assert failed[0]["last_error"] == "ConnectionLost"
    other = peal.devices(app, [{"platform": "web", "address": Browser(f"https://{peer.host}/fine", key).address}])
    assert peal.wait(app, peal.send(app, audience={"devices": other}))["counts"]["accepted"] == 1
    assert peal.is_running
