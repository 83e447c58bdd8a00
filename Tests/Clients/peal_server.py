"""Runs `peal serve` for tests that send through it, and speaks its native API."""

import json
import os
import pathlib
import secrets
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PEAL", str(ROOT / ".build" / "debug" / "peal"))
START_SECONDS_MAX = 30
STOP_SECONDS_MAX = 40
# Only loopback is talked to: a proxy of the environment must not stand in between.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ENDED = {"sent", "cancelled", "expired", "failed"}


class Refused(AssertionError):
    """The server answered with anything but 2xx."""

    def __init__(self, method, path, status, text):
        super().__init__(f"{method} {path} answered {status}: {text}")
        self.status = status
        self.text = text


class SigningKey:
    """A P-256 key as Apple gives them out: the `.p8` text, and the public key that verifies its tokens."""

    def __init__(self, key_id="KEY1234567", team_id="TEAM123456"):
        self.key_id, self.team_id = key_id, team_id
        key = ec.generate_private_key(ec.SECP256R1())
        self.private_key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        self.public_key = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()


class Peal:
    """A running `peal serve` on a new SQLite database in `directory`.

    `environment` adds to its configuration, for example `PEAL_PROVIDERS_APNS_PRODUCTION_URL`. Paths of `get`, `put`,
    `post`, `patch` and `delete` are below `/peal/v1`; they return the decoded answer and raise `Refused` for anything
    but 2xx. `log` is the text that the program wrote so far.
    """

    def __init__(self, directory, environment=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.environment = {key: str(value) for key, value in (environment or {}).items()}
        self.admin_token = secrets.token_hex(24)
        self.start()

    def start(self):
        """Starts the program, also again on the same database after `stop` or `kill`."""
        port_file = self.directory / "port"
        port_file.unlink(missing_ok=True)
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("PEAL")}
        own = {
            "PEAL_STORE_URL": f"sqlite:{self.directory / 'peal.db'}",
            "PEAL_HTTP_PORT": "0",
            "PEAL_HTTP_PORT_FILE": str(port_file),
            "PEAL_ADMIN_TOKEN": self.admin_token,
            "PEAL_LOG_LEVEL": "debug",
        }
        with (self.directory / "peal.log").open("ab") as output:
            self.process = subprocess.Popen(
                [PROGRAM, "serve"],
                env={**inherited, **own, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
            )
        end = time.monotonic() + START_SECONDS_MAX
        while not (port_file.exists() and port_file.read_text().strip()):
            assert self.is_running, f"peal ended before it was ready:\n{self.log[-2000:]}"
            assert time.monotonic() < end, "peal was not ready in time"
            time.sleep(0.02)
        self.url = f"http://127.0.0.1:{port_file.read_text().strip()}"

    @property
    def is_running(self):
        return self.process.poll() is None

    @property
    def log(self):
        return (self.directory / "peal.log").read_text(errors="replace")

    def stop(self):
        """Asks the program to end, and gives its exit status."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        """Ends the program as a crash would."""
        self.process.kill()
        self.process.wait(timeout=STOP_SECONDS_MAX)

    # Requests

    def request(self, method, path, body=None, headers=None, url=None):
        """One request to any path of the server. Gives the decoded answer (None when there is no body)."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        fields = {"Content-Type": "application/json", "Authorization": f"Bearer {self.admin_token}", **(headers or {})}
        request = urllib.request.Request((url or self.url) + path, data, fields, method=method)
        try:
            with OPENER.open(request, timeout=30) as answer:
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise Refused(method, path, error.code, error.read().decode(errors="replace")) from None

    def get(self, path, **query):
        return self.request("GET", "/peal/v1" + path + ("?" + urllib.parse.urlencode(query) if query else ""))

    def post(self, path, body=None):
        return self.request("POST", "/peal/v1" + path, {} if body is None else body)

    def put(self, path, body):
        return self.request("PUT", "/peal/v1" + path, body)

    def patch(self, path, body):
        return self.request("PATCH", "/peal/v1" + path, body)

    def delete(self, path):
        return self.request("DELETE", "/peal/v1" + path)

    # Apps, devices, messages

    def app(self, name="Test", **fields):
        """Makes an app (`bundle_id=…`, `settings=…`). Gives its id."""
        return self.post("/apps", {"name": name, **fields})["id"]

    def apns(self, app, key, bundle_id, environment="production"):
        """Puts an APNs credential: `key` is a `SigningKey`."""
        body = {"kind": "token", "key_id": key.key_id, "team_id": key.team_id, "private_key": key.private_key}
        return self.put(f"/apps/{app}/credentials/apns/{environment}", {**body, "bundle_id": bundle_id})

    def devices(self, app, devices):
        """Registers devices, given as the API takes them, in batches. Gives their ids in order."""
        ids = []
        for start in range(0, len(devices), 1000):
            results = self.post(f"/apps/{app}/devices:batch", {"devices": devices[start : start + 1000]})["results"]
            assert all("id" in result for result in results), [r for r in results if "id" not in r][:3]
            ids += [result["id"] for result in results]
        return ids

    def phones(self, app, count, environment="production", **fields):
        """Registers iOS devices with addresses of their own. Gives the addresses."""
        addresses = [secrets.token_hex(32) for _ in range(count)]
        shared = {"platform": "ios", "environment": environment, **fields}
        self.devices(app, [{**shared, "address": address} for address in addresses])
        return addresses

    def send(self, app, body=None, **fields):
        """Sends a message: a whole `body`, or members that replace those of a greeting to everybody. Gives its id."""
        greeting = {"audience": {"all": True}, "content": {"title": "Hello", "body": "From a test"}}
        return self.post(f"/apps/{app}/messages", {**greeting, **fields} if body is None else body)["id"]

    def message(self, app, message):
        return self.get(f"/apps/{app}/messages/{message}")

    def wait(self, app, message, state="sent", seconds=30):
        """The message once it is in `state`; fails when it ends as another or not in time."""
        end = time.monotonic() + seconds
        while True:
            report = self.message(app, message)
            if report["state"] == state:
                return report
            assert report["state"] not in ENDED, report
            assert time.monotonic() < end, f"not {state} after {seconds} s: {report}"
            assert self.is_running, self.log[-2000:]
            time.sleep(0.05)

    def deliveries(self, app, message, **query):
        """The trail of one delivery (`device=…`, `user=…` or `address=…`), oldest first."""
        return self.get(f"/apps/{app}/messages/{message}/deliveries", **query)["items"]
