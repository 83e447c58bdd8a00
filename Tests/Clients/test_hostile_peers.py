"""`peal` sends to push services and receivers of webhooks whose answers no HTTP server would give."""

import contextlib
import http.client
import os
import socket
import ssl
import subprocess
import threading

import frames
import pytest
from certificates import write_certificate
from peal_server import PROGRAM
from push_service import Browser
from waiting import wait_until

SUBJECT = "mailto:push@example.com"
# A status below 100 once ended the process at the end of the answer.
ANSWERS = {
    "status 000": [b"HTTP/1.1 000 None\r\nContent-Length: 0\r\n\r\n"],
    "status 099 with a body": [b"HTTP/1.1 099 None\r\nContent-Length: 2\r\n\r\nxx"],
    "a header field of 4 MB": [b"HTTP/1.1 201 Created\r\nX-A: ", *[b"a" * 65_536] * 64],
    "many header fields": [b"HTTP/1.1 201 Created\r\n", *[b"X-A: b\r\n" * 8192] * 64],
    "two lengths": [b"HTTP/1.1 201 Created\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"],
    "interim answers without end": iter(lambda: b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, None),
}
# The same of statuses over HTTP/2 that the library cannot take, and of an answer after a 101 or what looks like one.
STATUSES = [[""], ["0"], ["-5"], ["099"], ["103"], ["1999", "200"], ["101", "200"]]


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


class StreamPeer(RawPeer):
    """A server for `localhost` that speaks HTTP/2, and answers every request with header blocks of `statuses`."""

    def __init__(self, directory):
        super().__init__(directory)
        self.context.set_alpn_protocols(["h2"])
        self.statuses, self.count = [], 0

    def serve(self, connection):
        with contextlib.suppress(OSError), self.context.wrap_socket(connection, server_side=True) as stream:
            stream.sendall(frames.frame(frames.SETTINGS))
            received = stream.makefile("rb")
            received.read(len(frames.PREFACE))
            while head := received.read(9):
                received.read(int.from_bytes(head[:3], "big"))
                if head[3] in (frames.HEADERS, frames.DATA) and head[4] & frames.END_STREAM:
                    self.count += 1
                    stream.sendall(self.answer(int.from_bytes(head[5:], "big")))

    def answer(self, number):
        blocks = [b"\x08" + bytes([len(status)]) + status.encode() for status in self.statuses]
        flags = [frames.END_HEADERS] * (len(blocks) - 1) + [frames.END_HEADERS | frames.END_STREAM]
        return b"".join(frames.frame(frames.HEADERS, flag, number, block) for flag, block in zip(flags, blocks))


@pytest.fixture
def peer(tmp_path):
    peer = RawPeer(tmp_path)
    yield peer
    peer.stop()


@pytest.fixture
def stream_peer(tmp_path):
    peer = StreamPeer(tmp_path)
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


def test_no_answer_of_a_collector_over_http2_ends_the_server(serve, stream_peer):
    peal = serve({
        "PEAL_TRACING_OTLP_URL": f"https://{stream_peer.host}", "PEAL_PROVIDERS_CA_FILE": stream_peer.ca_file,
    })  # fmt: skip
    app = peal.app()
    for count, statuses in enumerate(STATUSES, 1):
        stream_peer.statuses = statuses
        peal.send(app)
        wait_until(lambda: peal.log.count("spans could not be sent") >= count, failure=lambda: peal.log[-2000:])
        assert stream_peer.count >= count
    assert peal.is_running


@pytest.mark.parametrize("statuses", STATUSES, ids=",".join)
def test_no_answer_over_http2_ends_a_command_without_a_reason(stream_peer, statuses):
    stream_peer.statuses = statuses
    command = [PROGRAM, "app", "list", "--server", f"https://{stream_peer.host}", "--ca-file", stream_peer.ca_file]
    environment = {**os.environ, "PEAL_API_KEY": "k" * 40}
    result = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=60)
    assert result.returncode == 3, result.stderr[-2000:]
    assert "not valid HTTP" in result.stderr
