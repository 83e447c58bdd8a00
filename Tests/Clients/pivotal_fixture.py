"""A simulator and a server with an application of the Pivotal API and its four platforms, for tests that speak it."""

import base64
import hashlib
import hmac
import json
import socket

from peal_server import ROOT, Peal, basic
from peal_simulator import Simulator
from waiting import wait_until

FIXTURES = ROOT / "Tests" / "Fixtures" / "seeds" / "pivotal"


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def signed_user(user, shared_secret):
    """A custom user id as the vendor's tool signs it: a compact JWS, HS256, without `typ`."""
    parts = [json.dumps(part, separators=(",", ":")).encode() for part in ({"alg": "HS256"}, {"custom_user_id": user})]
    text = ".".join(map(base64url, parts))
    code = hmac.new(bytes.fromhex(shared_secret), text.encode(), hashlib.sha256).digest()
    return f"{text}.{base64url(code)}"


class Reply:
    """A response from a socket."""

    def __init__(self, data):
        head, _, self.body = data.partition(b"\r\n\r\n")
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:])}

    @property
    def json(self):
        return json.loads(self.body)


class PivotalFixture:
    def __init__(self, directory, clock=None):
        environment = clock.environment if clock else {}
        self.clock = clock
        self.simulator = Simulator(directory / "simulator", environment=environment)
        self.peal = Peal(directory / "peal", {**self.simulator.environment, **environment})
        self.app = self.peal.app(bundle_id=self.simulator.description["apns"]["bundle_id"])
        self.path = f"/apps/{self.app}"
        self.peal.connect(self.app, self.simulator, "apns/production", "fcm", "wns", "mpns")
        self.application = self.peal.post(f"{self.path}/keys", {"dialect": "pivotal"})
        self.platforms = {
            name: self.peal.post(
                f"{self.path}/keys",
                {"dialect": "pivotal-platform", "platform": name, "environment": "production"},
            )
            for name in ("ios", "android", "windows", "windows_phone")
        }

    def stop(self):
        self.peal.stop()
        self.simulator.stop()

    # Requests

    def authorization(self, platform=None):
        """As both SDKs write it, with two spaces after the scheme."""
        if platform is None:
            value = basic(self.application["application_uuid"], self.application["api_key"])
        else:
            value = basic(self.platforms[platform]["platform_uuid"], self.platforms[platform]["platform_secret"])
        return value.replace(" ", "  ")

    def exchange(self, text):
        """Sends bytes to the server and reads until it closes."""
        port = int(self.peal.url.rsplit(":", 1)[1])
        with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
            connection.sendall(text if isinstance(text, bytes) else text.encode())
            data = b""
            while part := connection.recv(65536):
                data += part
        return Reply(data)

    def call(self, method, path, body=None, platform=None):
        """A request of a backend (or of a platform's device)."""
        text = "" if body is None else json.dumps(body)
        head = f"{method} {path} HTTP/1.1\r\nHost: push.example.com\r\nConnection: close\r\n"
        head += f"Authorization: {self.authorization(platform)}\r\n"
        if body is not None:
            head += f"Content-Type: application/json\r\nContent-Length: {len(text.encode())}\r\n"
        return self.exchange(f"{head}\r\n{text}")

    def push(self, body):
        reply = self.call("POST", "/v1/push", body)
        assert reply.status == 200, reply.body
        return reply

    # Devices of the fixtures

    def register_cast(self):
        """Registers the devices of the fixtures under their own uuids. Returns their addresses by name."""
        addresses = {}
        for name, device in json.loads((FIXTURES / "devices.json").read_text()).items():
            registration = device["registration"]
            for url in ("wns_url", "mpns_url"):
                registration["registration_token"] = registration["registration_token"].replace(
                    "{%s}" % url, self.simulator.description[url]
                )
            if user := device.get("custom_user_id"):
                registration["custom_user_id"] = signed_user(user, self.application["shared_secret"])
            reply = self.call("PUT", f"/v1/registration/{device['device_uuid']}", registration, device["platform"])
            assert reply.status == 200, reply.body
            assert reply.json["device_uuid"] == device["device_uuid"]
            token = registration["registration_token"]
            addresses[token.lower() if device["platform"] == "ios" else token] = name
        return addresses

    def ended(self, message):
        """The receipt of a push once every device has its outcome."""

        def receipt():
            shown = self.call("GET", f"/v1/receipts/{message}").json
            return shown["state"] in ("sent", "expired", "failed", "cancelled") and shown

        return wait_until(receipt, failure=lambda: self.peal.log[-2000:])
