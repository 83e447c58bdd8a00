"""Push services for browsers: one of our own that reads messages with http_ece and py_vapid, which
others wrote, and MockPost, which others wrote altogether."""

import base64
import dataclasses
import json
import os
import secrets
import ssl
import subprocess
import sys
import time
import urllib.request

import http_ece
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from free_port import free_port
from local_server import Handler, Server
from py_vapid import Vapid02
from waiting import wait_until


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def from_base64url(text):
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class Browser:
    """A subscription with its private keys."""

    def __init__(self, endpoint, server_key=None):
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.secret = secrets.token_bytes(16)
        point = self.key.public_key().public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
        self.endpoint = endpoint
        self.address = {"endpoint": endpoint, "keys": {"p256dh": base64url(point), "auth": base64url(self.secret)}}
        if server_key:
            self.address["application_server_key"] = server_key

    def read(self, body):
        """The text of a message, decrypted by http_ece."""
        return http_ece.decrypt(body, private_key=self.key, auth_secret=self.secret, version="aes128gcm").decode()


@dataclasses.dataclass
class Received:
    """A received request."""

    path: str
    headers: dict
    body: bytes
    at: float = dataclasses.field(default_factory=time.monotonic)

    @property
    def claims(self):
        """The claims of the VAPID token, verified by py_vapid."""
        authorization = self.headers["authorization"]
        assert Vapid02.verify(authorization)
        return json.loads(from_base64url(authorization.split(" t=")[1].split(",")[0].split(".")[1]))

    @property
    def server_key(self):
        return self.headers["authorization"].split("k=")[1]


class PushService:
    """An HTTPS server with a certificate for `localhost`. `answers` maps a path to a list of (status, headers, body),
    of which the last one stays; everything else is answered 201."""

    def __init__(self, certificate_file, key_file):
        self.requests, self.answers = [], {}
        self.ca_file = certificate_file
        service = self

        class Answering(Handler):
            def do_POST(self):
                fields = {name.lower(): value for name, value in self.headers.items()}
                service.requests.append(Received(self.path, fields, self.body()))
                planned = service.answers.get(self.path) or [(201, {"Location": "/message/1"}, b"")]
                status, headers, text = planned.pop(0) if len(planned) > 1 else planned[0]
                self.answer(status, text, headers)

        self.server = Server(Answering, (certificate_file, key_file))
        self.host = f"localhost:{self.server.server_port}"
        self.url = f"https://{self.host}"
        self.stop = self.server.stop

    @property
    def environment(self):
        """The environment of a server that sends here."""
        return {"PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": self.host, "PEAL_PROVIDERS_CA_FILE": self.ca_file}

    def browser(self, path, server_key=None):
        return Browser(self.url + path, server_key)

    def to(self, path):
        return [request for request in self.requests if request.path == path]


class MockPost:
    """MockPost under uvicorn, over HTTPS, in its strictest mode."""

    def __init__(self, directory, certificate_file, key_file):
        directory.mkdir()
        self.ca_file = certificate_file
        self.context = ssl.create_default_context(cafile=certificate_file)
        names = ("HTTP", "SMTP", "FTP", "FTPS", "FTPS_IMPLICIT", "SFTP")
        ports = {name: free_port() for name in names}
        self.host = f"localhost:{ports['HTTP']}"
        self.url = f"https://{self.host}"
        own = {f"MOCKPOST_{name}_PORT": str(port) for name, port in ports.items()}
        own |= {"MOCKPOST_DB_PATH": str(directory / "mockpost.db"), "MOCKPOST_STRICT_AUTH": "1"}
        own |= {"MOCKPOST_URL": self.url, "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-m", "uvicorn", "mockpost.main:app", "--host", "127.0.0.1"]
        command += ["--port", str(ports["HTTP"]), "--ssl-certfile", certificate_file, "--ssl-keyfile", key_file]
        self.log_file = directory / "log"
        with self.log_file.open("wb") as output:
            self.process = subprocess.Popen(
                command, cwd=directory, env={**os.environ, **own}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT,
            )  # fmt: skip

        def is_ready():
            assert self.process.poll() is None, self.log_file.read_text()
            return self.answers()

        wait_until(is_ready, failure=self.log_file.read_text)

    def answers(self):
        try:
            return self.request("GET", "/health")["status"] == "ok"
        except OSError:
            return False

    def request(self, method, path):
        request = urllib.request.Request(self.url + path, method=method)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=self.context)
        )
        with opener.open(request, timeout=30) as answer:
            return json.load(answer)

    @property
    def environment(self):
        return {"PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": self.host, "PEAL_PROVIDERS_CA_FILE": self.ca_file}

    def messages(self):
        """The accepted messages, oldest first."""
        found = self.request("GET", "/api/messages?channel=webpush&limit=100")
        items = found if isinstance(found, list) else found.get("items") or found.get("messages")
        return sorted(items, key=lambda item: item["created_at"])

    def stop(self):
        self.process.terminate()
        try:
            self.process.wait(timeout=40)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait(timeout=40)
