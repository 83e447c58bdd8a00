"""A stub of the device API (docs/api/device.md), and the site whose page uses it. Each has an origin of its own."""

import http.server
import json
import pathlib
import threading
import time
import urllib.parse
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
WEB = ROOT / "SDK" / "Web"
# A P-256 public key: any point will do, nothing is encrypted here.
VAPID_KEY = "BNcRdreALRFXTkOOUHK1EtK2wtaz5Ry4YfYCA_0QTpQtUbVlUls0VJXg7A8u-Ts1XbjhazAkj7I99e8QcYP7DkM"
# Another one.
NEXT_VAPID_KEY = "BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8"
KEY = "device-key"

PAGE = b"""<!doctype html><meta charset="utf-8"><title>Page</title>
<script type="module" nonce="page">
import * as peal from "/sdk/peal.js";
window.peal = peal;
navigator.serviceWorker.onmessage = (event) => (window.messages ??= []).push(event.data);
</script>"""


class Server:
    """An HTTP server on a free port of the loopback interface."""

    def __init__(self, handle):
        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do(self):
                length = int(self.headers.get("content-length") or 0)
                status, headers, body = handle(self.command, self.path, self.headers, self.rfile.read(length))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_GET = do_POST = do_PUT = do_DELETE = do_OPTIONS = do

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def site(policy=None):
    """The site: a page, and the two files of the SDK as the server delivers them.

    `policy` is the Content-Security-Policy of all of them.
    """
    policies = {"content-security-policy": policy} if policy else {}

    def handle(method, path, headers, body):
        path = path.split("?")[0]
        # A worker controls the pages below its own address: a site serves it at its root.
        path = path.replace("/peal-worker.js", "/sdk/peal-worker.js") if path == "/peal-worker.js" else path
        script, page = ({"content-type": f"text/{name}", **policies} for name in ["javascript", "html"])
        if path.startswith("/sdk/") and (WEB / path[5:]).is_file():
            return 200, script, (WEB / path[5:]).read_bytes()
        if path == "/worker.js":
            return 200, script, b'import "/sdk/peal-worker.js";'
        if path == "/broken.js":
            return 200, script, b"let x ="
        return 200, page, PAGE

    return Server(handle)


class DeviceAPI:
    """The part of the device API that a browser uses."""

    def __init__(self):
        self.lock = threading.Lock()
        self.devices = {}
        self.events = {}
        self.registrations = []
        # Each request as method and path, when it arrives.
        self.requests = []
        self.held = {}
        self.is_down = False
        # The paths that a login page of the network answers, and those that get a status with `Retry-After`.
        self.login_pages, self.busy = set(), {}
        self.login_status = 200
        # Events about this content are refused, and so is a proof of this user.
        self.refused, self.expired_user = None, "mallory"
        self.refused_topic = None
        self.vapid_key = VAPID_KEY
        # Whether a registration names the app's newest key, and whether one with another key is refused.
        self.names_key, self.has_one_key = True, False
        self.server = Server(self.handle)
        self.url = self.server.url
        self.key = KEY

    def stop(self):
        for path in list(self.held):
            self.release(path)
        self.server.stop()

    def hold(self, path):
        """Holds the next request to this path back: it is read and answered after `release`."""
        self.held[path] = [threading.Event(), False]

    def release(self, path):
        self.held.pop(path)[0].set()

    def count(self, method, path):
        with self.lock:
            return self.requests.count((method, path))

    def end_tokens(self):
        with self.lock:
            for device in self.devices.values():
                device["token"] = None

    def receipts(self, message):
        """The kinds of events that were reported for a message, in order."""
        with self.lock:
            return [event["type"] for event in self.events.values() if event.get("message") == message]

    def event(self, message, kind):
        with self.lock:
            return next(e for e in self.events.values() if e.get("message") == message and e["type"] == kind)

    def topics(self, device):
        with self.lock:
            return sorted(self.devices[device]["topics"])

    def handle(self, method, path, headers, body):
        cors = {"access-control-allow-origin": "*", "access-control-expose-headers": "Retry-After"}
        if method == "OPTIONS":
            return 204, {
                **cors,
                "access-control-allow-methods": "GET, POST, PUT, DELETE",
                "access-control-allow-headers": "authorization, content-type",
                "access-control-max-age": "0",
            }, b""
        path = path.removeprefix("/peal/device/v1/")
        with self.lock:
            self.requests.append((method, path))
            if self.is_down:
                return 503, cors, b"{}"
            if path in self.login_pages:
                return self.login_status, {**cors, "content-type": "text/html"}, PAGE
            if path in self.busy:
                return 429, {**cors, "retry-after": self.busy[path]}, b"{}"
            gate = self.held.get(path)
            is_held = gate is not None and not gate[1]
            if is_held:
                gate[1] = True
        if is_held:
            gate[0].wait()
        with self.lock:
            status, answer = self.answer(method, path, headers, body)
        return status, {**cors, "content-type": "application/json"}, json.dumps(answer).encode() if answer else b""

    def answer(self, method, path, headers, body):
        bearer = (headers.get("authorization") or "").removeprefix("Bearer ")
        if (method, path) == ("GET", "web"):
            return (200, {"application_server_key": self.vapid_key}) if bearer == KEY else unauthorized()
        if (method, path) == ("POST", "register"):
            return self.register(json.loads(body)) if bearer == KEY else unauthorized()
        device = next((name for name, one in self.devices.items() if bearer and one["token"] == bearer), None)
        if device is None:
            return unauthorized()
        if (method, path) == ("DELETE", "registration"):
            del self.devices[device]
            return 204, None
        if path.startswith("topics/"):
            topic = urllib.parse.unquote(path.removeprefix("topics/"))
            if topic == self.refused_topic:
                return 400, {"error": {"code": "invalid_field", "message": "no", "field": "topic"}}
            change = self.devices[device]["topics"].add if method == "PUT" else self.devices[device]["topics"].discard
            change(topic)
            return 204, None
        if (method, path) == ("POST", "events"):
            events = json.loads(body)
            if self.refused and any(event.get("content") == self.refused for event in events):
                return 400, {"error": {"code": "invalid_field", "message": "no", "field": "content"}}
            for event in events:
                self.events.setdefault(event["event_id"], {**event, "device": device})
            return 202, {"now": now()}
        return 404, {"error": {"code": "not_found", "message": path}}

    def register(self, given):
        assert given["platform"] == "web" and given["address"]["application_server_key"] in (
            VAPID_KEY, NEXT_VAPID_KEY)
        if self.has_one_key and given["address"]["application_server_key"] != self.vapid_key:
            error = {"code": "invalid_field", "message": "no such key", "field": "address.application_server_key"}
            return 400, {"error": error}
        if given.get("user_id") == self.expired_user:
            return 403, {"error": {"code": "forbidden", "message": "wrong proof", "field": "user_proof"}}
        self.registrations.append(given)
        endpoint, present = given["address"]["endpoint"], given.get("device_token")
        known = next(
            (name for name, one in self.devices.items()
             if present and one["token"] == present or one["endpoint"] == endpoint), None)
        device = known or str(uuid.uuid4())
        entry = self.devices.setdefault(device, {"topics": set(), "token": None})
        if not present or entry["token"] != present:
            entry["token"] = f"pdt_{uuid.uuid4()}"
            # What the registration does not contain is lost without the token.
            entry["facts"] = {}
        entry["endpoint"] = endpoint
        if not given.get("keep_user"):
            entry["facts"].pop("user_id", None)
        entry["facts"].update({
            name: given[name] for name in ["attributes", "identifiers", "user_id"] if given.get(name) is not None})
        if given.get("topics") is not None:
            entry["topics"] = set(given["topics"])
        answer = {"device": device, "device_token": entry["token"], "app": "com.example", "now": now()}
        return (200 if known else 201), answer | (
            {"application_server_key": self.vapid_key} if self.names_key else {})


def unauthorized():
    return 401, {"error": {"code": "unauthorized", "message": "the token is not valid"}}


def now():
    """An hour ahead of the browser: reports must be in the server's time."""
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(time.time() + 3600))
