"""Runs `peal serve` for tests that send through it, and uses its native API."""

import base64
import json
import os
import pathlib
import resource
import secrets
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from waiting import PATIENCE_SECONDS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PEAL", str(ROOT / ".build" / "debug" / "peal"))
# Requests only go to loopback, never through a proxy from the environment.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
ENDED = {"sent", "cancelled", "expired", "failed"}


class Refused(AssertionError):
    """The server answered with a status other than 2xx."""

    def __init__(self, method, path, status, text):
        super().__init__(f"{method} {path} answered {status}: {text}")
        self.status = status
        self.text = text


class SigningKey:
    """A P-256 key as Apple issues them: the `.p8` text, and the public key that verifies its tokens.

    A new one, or the one whose text is `private_key`.
    """

    def __init__(self, key_id="KEY1234567", team_id="TEAM123456", private_key=None):
        self.key_id, self.team_id = key_id, team_id
        if private_key:
            key = serialization.load_pem_private_key(private_key.encode(), None)
        else:
            key = ec.generate_private_key(ec.SECP256R1())
        self.private_key = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        ).decode()
        self.public_key = key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ).decode()


def basic(name, secret):
    """The value of `Authorization` (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{name}:{secret}".encode()).decode()


def inherited_environment():
    """The environment of this process, without configuration of Peal."""
    return {key: value for key, value in os.environ.items() if not key.startswith("PEAL")}


class Peal:
    """A running `peal serve` on a new SQLite database in `directory`.

    `environment` adds to its configuration, for example `PEAL_PROVIDERS_APNS_PRODUCTION_URL`. Paths of `get`, `put`,
    `post`, `patch` and `delete` are below `/peal/v1`; they return the decoded answer and raise `Refused` for anything
    but 2xx. `log` is the text that the program wrote so far. With `descriptors`, the program may open only so many files.
    """

    def __init__(self, directory, environment=None, descriptors=None, user=None):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        self.descriptors = descriptors
        # The number of the user that the program runs as, if not the one of the test.
        self.user = user
        # Options of `peal serve`.
        self.arguments = []
        self.environment = {key: str(value) for key, value in (environment or {}).items()}
        self.admin_token = secrets.token_hex(24)
        self.start()

    def start(self):
        """Starts the program; after `stop` or `kill`, again on the same database."""
        port_file = self.directory / "port"
        port_file.unlink(missing_ok=True)
        own = {
            "PEAL_STORE_URL": f"sqlite:{self.directory / 'peal.db'}",
            "PEAL_HTTP_PORT": "0",
            "PEAL_HTTP_PORT_FILE": str(port_file),
            "PEAL_ADMIN_TOKEN": self.admin_token,
            "PEAL_LOG_LEVEL": "debug",
            # Tests may fail to authenticate as often as they like; attack.py sets the limit.
            "PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": "100000",
        }
        with (self.directory / "peal.log").open("ab") as output:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", *self.arguments],
                env={**inherited_environment(), **own, **self.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                cwd=self.directory,
                preexec_fn=self.limit_descriptors if self.descriptors else None,
                user=self.user,
                extra_groups=None if self.user is None else [],
            )

        def port():
            assert self.is_running, f"peal ended before it was ready:\n{self.log[-2000:]}"
            return port_file.exists() and port_file.read_text().strip()

        scheme = "https" if "PEAL_HTTP_TLS_KEY" in self.environment else "http"
        try:
            self.url = f"{scheme}://127.0.0.1:{wait_until(port, pause=0.02)}"
        except AssertionError:
            self.kill()
            raise

    def limit_descriptors(self):
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.descriptors, self.descriptors))

    @property
    def is_running(self):
        return self.process.poll() is None

    @property
    def log(self):
        return (self.directory / "peal.log").read_text(errors="replace")

    def stop(self):
        """Stops the program. Returns its exit status."""
        if self.is_running:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.kill()
            raise

    def kill(self):
        """Kills the program."""
        self.process.kill()
        self.process.wait(timeout=PATIENCE_SECONDS)

    # Requests

    def request(self, method, path, body=None, headers=None, url=None):
        """Sends a request to any path of the server. Returns the decoded answer, or None without a body."""
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        fields = {"Content-Type": "application/json", "Authorization": f"Bearer {self.admin_token}", **(headers or {})}
        request = urllib.request.Request((url or self.url) + path, data, fields, method=method)
        try:
            with OPENER.open(request, timeout=PATIENCE_SECONDS) as answer:
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
        """Creates an app (`bundle_id=…`, `settings=…`). Returns its id."""
        return self.post("/apps", {"name": name, **fields})["id"]

    def apns(self, app, key, bundle_id, environment="production"):
        """Stores an APNs credential; `key` is a `SigningKey`."""
        body = {"kind": "token", "key_id": key.key_id, "team_id": key.team_id, "private_key": key.private_key}
        return self.put(f"/apps/{app}/credentials/apns/{environment}", {**body, "bundle_id": bundle_id})

    def connect(self, app, simulator, *names):
        """Stores credentials of the simulator: `apns/production`, `fcm`, …"""
        for name in names:
            self.put(f"/apps/{app}/credentials/{name}", simulator.credentials[name])

    def devices(self, app, devices):
        """Registers devices in batches. Returns their ids in order."""
        ids = []
        for start in range(0, len(devices), 1000):
            results = self.post(f"/apps/{app}/devices:batch", {"devices": devices[start : start + 1000]})["results"]
            assert all("id" in result for result in results), [r for r in results if "id" not in r][:3]
            ids += [result["id"] for result in results]
        return ids

    def phones(self, app, count, environment="production", **fields):
        """Registers iOS devices with random addresses. Returns the addresses."""
        addresses = [secrets.token_hex(32) for _ in range(count)]
        shared = {"platform": "ios", "environment": environment, **fields}
        self.devices(app, [{**shared, "address": address} for address in addresses])
        return addresses

    def send(self, app, body=None, **fields):
        """Sends a message: a whole `body`, or a greeting to all devices with some members replaced. Returns its id."""
        greeting = {"audience": {"all": True}, "content": {"title": "Hello", "body": "From a test"}}
        return self.post(f"/apps/{app}/messages", {**greeting, **fields} if body is None else body)["id"]

    def message(self, app, message):
        return self.get(f"/apps/{app}/messages/{message}")

    def wait(self, app, message, state="sent", seconds=PATIENCE_SECONDS):
        """The message once it is in `state`; fails when it ends in another state, or not in time."""

        def reached():
            report = self.message(app, message)
            if report["state"] == state:
                return report
            assert report["state"] not in ENDED, report
            assert self.is_running, self.log[-2000:]

        return wait_until(reached, seconds, lambda: f"not {state} after {seconds} s: {self.message(app, message)}")

    def deliveries(self, app, message, **query):
        """The trail of one delivery (`device=…`, `user=…` or `address=…`), oldest first."""
        return self.get(f"/apps/{app}/messages/{message}/deliveries", **query)["items"]
