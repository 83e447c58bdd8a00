#!/usr/bin/env python3
"""Shows Peal with simulated push networks, devices and pushes.

Starts `peal-sim` and `peal serve` (debug builds) with a database in a temporary folder, registers devices, sends pushes
through the APIs, prints what every device received, and keeps the server running. With DEMO_EXIT=1 it exits instead,
with 0 if every device received exactly what it should. All programs that it started are stopped at the end.
"""
import json
import os
import pathlib
import secrets
import sys
import tempfile
import time
import urllib.parse

from demo_programs import Programs, Problem
from demo_console import Courses, Receiver, Visit
from demo_api import Devtodev, Native, Pivotal, Richie, request
from demo_phones import show_phones

ROOT = pathlib.Path(__file__).resolve().parent.parent
TOPIC = "local_seminars"
SUBSCRIBED = ["Ada's phone", "Ben's phone", "Cleo's tablet"]
OTHERS = ["Dan's phone", "Eve's phone"]
# The complete example from Pivotal's documentation, with its expiry on 1 April 2016.
SEED_PUSH = {
    "message": {"body": "Town Hall This Thursday: Forging, Cheese, And You"},
    "target": {"topics": [TOPIC]},
    "expiryTime": 1459468800000,
}
# The newer example from ContextPush's documentation, to be sent at once.
SEED_MOMENT = {
    "platform": "ios",
    "user_id": "user@contextsdk.com",
    "content": {
        "title": "James, it's time for your english course!",
        "body": "Start your english course now!",
    },
    "deliver_within_hours": 3,
    "campaign_id": "daily-reminder",
    "delivery_method": "traditional",
}
ARRIVAL_SECONDS = 30


class Stage:
    """Prints progress, one line per step."""

    def __init__(self):
        self.started = time.monotonic()

    def say(self, text):
        print(f"[{time.monotonic() - self.started:5.1f} s] {text}", flush=True)


class Inbox:
    """What the simulated network delivered to each device."""

    def __init__(self, control_url, devices):
        self.control_url = control_url
        self.devices = devices
        self.seen = {name: 0 for name in devices}

    def items(self, name):
        answer = request("GET", f"{self.control_url}/inbox?device={self.devices[name]}")
        return answer["items"] if isinstance(answer, dict) else answer

    def new(self, name):
        """The items that arrived since the last call."""
        items = self.items(name)
        fresh = items[self.seen[name]:]
        self.seen[name] = len(items)
        return fresh

    def wait(self, names):
        """Returns when each of `names` has an unseen item."""
        deadline = time.monotonic() + ARRIVAL_SECONDS
        while time.monotonic() < deadline:
            if all(len(self.items(name)) > self.seen[name] for name in names):
                return
            time.sleep(0.02)


def text_of(payload):
    """Title and body as the device shows them."""
    alert = payload.get("aps", {}).get("alert", "")
    if isinstance(alert, str):
        return alert
    return ": ".join(alert[part] for part in ("title", "body") if alert.get(part))


def table(rows):
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        print("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip())
        if number == 0:
            print("  " + "  ".join("-" * width for width in widths))


class Demonstration:
    def __init__(self, stage, server_url, admin_token, simulator):
        self.stage = stage
        self.native = Native(server_url, admin_token)
        self.simulator = simulator
        self.devices = {name: secrets.token_hex(32) for name in SUBSCRIBED + OTHERS}
        self.inbox = Inbox(simulator["control_url"], self.devices)
        self.rows = [("API", "device", "received", "after")]
        self.problems = []

    def prepare(self):
        self.stage.say("creating an app with its credentials and keys")
        self.app = self.native.make_app("Demonstration", self.simulator)
        key = self.native.post(f"/apps/{self.app}/keys", {"dialect": "pivotal"})
        phones = self.native.post(
            f"/apps/{self.app}/keys",
            {"dialect": "pivotal-platform", "platform": "ios", "environment": "production"})
        self.pivotal = Pivotal(self.native.server_url, (key["application_uuid"], key["api_key"]))
        platform = Pivotal(self.native.server_url, (phones["platform_uuid"], phones["platform_secret"]))
        self.stage.say(f"registering {len(self.devices)} devices, {len(SUBSCRIBED)} of them subscribed to {TOPIC}")
        for name, token in self.devices.items():
            platform.post("/v1/registration", {
                "os": "ios", "os_version": "18.1", "device_alias": name, "device_manufacturer": "Apple",
                "device_model": "iPhone", "registration_token": token.upper(),
                "tags": [TOPIC] if name in SUBSCRIBED else []})

    def push(self, api, send, receivers, others="not addressed"):
        """Sends, waits until the message has ended, and records what each device received, or why it did not (`others`)."""
        before = time.time()
        message = send()
        self.inbox.wait(receivers)
        report = self.native.finished(self.app, message, ARRIVAL_SECONDS)
        if report["state"] != "sent":
            self.problems.append(f"{api}: the message ended as {report['state']}")
        for name in self.devices:
            items = self.inbox.new(name)
            expected = 1 if name in receivers else 0
            if len(items) != expected:
                self.problems.append(f"{api}: {name} received {len(items)} pushes, expected {expected}")
            if not items:
                self.rows.append((api, name, f"nothing ({others})" if expected == 0 else "NOTHING", ""))
            for item in items:
                took = max(0.0, item["at"] - before * 1000)
                self.rows.append((api, name, text_of(item["payload"]), f"{took:.0f} ms"))

    def push_expired(self):
        """Sends the example verbatim: it is accepted, and every device counts as expired."""
        answer = self.pivotal.post("/v1/push", SEED_PUSH)
        report = self.native.finished(self.app, answer["receipt_id"], ARRIVAL_SECONDS)
        expired = report["counts"]["expired"]
        received = sum(len(self.inbox.new(name)) for name in self.devices)
        if expired != len(SUBSCRIBED) or received != 0:
            self.problems.append(f"Pivotal, verbatim: {expired} expired and {received} received")
        self.rows.append((
            "Pivotal, verbatim", f"{expired} subscribed", f"nothing: expired in 2016, {expired} counted as expired", ""))

    def push_richie(self):
        """Sends a task to the same topic, with an app id and a key that the app had at Richie."""
        self.native.call("PATCH", f"/apps/{self.app}", {"richie_app_id": "cheese-news"})
        key = self.native.post(f"/apps/{self.app}/keys", {"dialect": "richie"})
        richie = Richie(self.native.server_url, (key["username"], key["password"]))
        alert = {"title": "Cheese news", "body": "The seminar begins", "publisher-item-id": "100200"}
        task = {"app_id": "cheese-news", "topics": [TOPIC], "payloads": {"ios": {"aps": {"alert": alert}}}}
        self.push("Richie", lambda: richie.task(task), SUBSCRIBED, "not subscribed")

    def push_to_user(self):
        """Sends ContextPush's example to a phone of its user; the server holds it for a second."""
        name, apns = "James's phone", self.simulator["apns"]
        self.devices[name] = secrets.token_hex(32)
        self.inbox.seen[name] = 0
        self.native.post(f"/apps/{self.app}/devices", {
            "platform": "ios", "address": self.devices[name], "user_id": SEED_MOMENT["user_id"]})
        key = self.native.post(f"/apps/{self.app}/keys", {"dialect": "contextpush"})["token"]
        body = dict(SEED_MOMENT, bundle_id=apns["bundle_id"])
        url = f"{self.native.server_url}/v1/campaigns/schedule_message_for_user"
        # The key that the server generates is the message's id.
        self.push("ContextPush", lambda: request(
            "POST", url, body, {"Authorization": f"Token {key}"})["idempotency_key"], [name])

    def push_devtodev(self):
        """Sends to one phone by token and one by user, with an app id and a key that the app had at devtodev."""
        app_id, (first, second) = "0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3", SUBSCRIBED[:2]
        self.native.call("PATCH", f"/apps/{self.app}", {"devtodev_app_id": app_id})
        key = self.native.post(f"/apps/{self.app}/keys", {"dialect": "devtodev"})
        phone = {"platform": "ios", "address": self.devices[second], "user_id": "ben", "topics": [TOPIC]}
        self.native.post(f"/apps/{self.app}/devices", phone)
        devtodev = Devtodev(self.native.server_url, key["user_token"], app_id)
        audience = [{"token": self.devices[first]}, {"userId": "ben"}]
        payload = {"title": "Cheese shop", "text": "Only today", "badge": "1"}
        self.push("devtodev", lambda: devtodev.push(audience, {"payload": payload}), [first, second])

    def expect_silence(self):
        """Waits for duplicates."""
        time.sleep(1)
        for name in self.devices:
            for item in self.inbox.new(name):
                self.problems.append(f"{name} received a duplicate: {text_of(item['payload'])}")

    def run(self):
        self.prepare()
        fresh = dict(SEED_PUSH, expiryTime=int(time.time() * 1000) + 3_600_000)
        self.stage.say("pushing through Pivotal's API: the documentation's example with a later expiry")
        receipt = lambda: self.pivotal.post("/v1/push", fresh)["receipt_id"]
        self.push("Pivotal", receipt, SUBSCRIBED, "not subscribed")
        self.stage.say("pushing the same example verbatim: it expired in 2016")
        self.push_expired()
        self.stage.say("pushing through Richie's API")
        self.push_richie()
        self.stage.say("pushing through the native API to every device")
        hello = {"audience": {"all": True}, "content": {"title": "Hello", "body": "Peal speaks."}}
        self.push("native", lambda: self.native.post(f"/apps/{self.app}/messages", hello)["id"], list(self.devices))
        self.stage.say("scheduling through ContextPush's API: the documentation's example, traditional")
        self.push_to_user()
        self.stage.say("pushing through devtodev's API, which answers after the push network has")
        self.push_devtodev()
        self.expect_silence()
        print()
        table(self.rows)
        print()
        print("  'after' is the time from the HTTP request to the device's inbox.")
        for problem in self.problems:
            print(f"  PROBLEM: {problem}")


def sign_in_link(native):
    return native.post("/sign-in-links", {})["path"]


def show_console(stage, native):
    """Opens every page that the console links to, signed in by a link."""
    count, size, took = Visit(native.server_url, sign_in_link(native)).everywhere()
    stage.say(f"the console has {count} pages, the largest of {size // 1000} kB, the slowest after {took:.0f} ms")


def invite(demonstration, courses, admin_token):
    """Prints how to continue by hand."""
    server, app = demonstration.native.server_url, demonstration.app
    slow = courses.send_slowly()
    link = sign_in_link(demonstration.native)
    page = urllib.parse.quote(f"/console/apps/{courses.app}/", safe="")
    account = ":".join(demonstration.pivotal.account)
    device = next(iter(demonstration.devices.values()))
    push = json.dumps({"message": {"body": "Hello again"}, "target": {"topics": [TOPIC]}})
    print(f"""
Serving at {server}   (stop with Ctrl-C)

The console, to see all of it in a browser. This link signs in once, within five minutes:
  {server}{link}&next={page}
Later: {server}/console/   (key: {admin_token})
  a message while it is sent:  {server}/console/apps/{courses.app}/messages/{slow}
  an experiment:               {server}/console/apps/{courses.app}/campaigns/daily-reminder

Push through the native API:
  curl -s {server}/peal/v1/apps/{app}/messages \\
    -H 'Authorization: Bearer {admin_token}' -H 'Content-Type: application/json' \\
    -d '{{"audience":{{"all":true}},"content":{{"title":"Hello","body":"By hand"}}}}'

Push through Pivotal's:
  curl -s {server}/v1/push -u {account} -H 'Content-Type: application/json' \\
    -d '{push}'

What a device received:
  curl -s '{demonstration.simulator["control_url"]}/inbox?device={device}'

The command line:
  export PEAL_SERVER_URL={server} PEAL_ADMIN_TOKEN={admin_token} PEAL_APP={app}
  .build/debug/peal message list
""", flush=True)


def main():
    stage = Stage()
    with tempfile.TemporaryDirectory(prefix="peal-demo-") as folder, Programs(ROOT, pathlib.Path(folder)) as programs:
        stage.say("starting the simulated push networks")
        simulator = programs.start_simulator()
        stage.say("starting peal on a new SQLite database")
        admin_token = secrets.token_hex(24)
        receiver = Receiver()
        server_url = programs.start_server(simulator, admin_token, {"PEAL_WEBHOOKS_ALLOWED_HOSTS": "127.0.0.1"})
        demonstration = Demonstration(stage, server_url, admin_token, simulator)
        demonstration.run()
        if not show_phones(stage, ROOT, pathlib.Path(folder)):
            demonstration.problems.append("the phones showed what they must not")
        stage.say("adding a made-up history for the console: an app with an experiment of two weeks and 300 users")
        courses = Courses(demonstration.native, simulator, pathlib.Path(folder) / "peal.db")
        courses.furnish(receiver.url)
        show_console(stage, demonstration.native)
        invite(demonstration, courses, admin_token)
        if os.environ.get("DEMO_EXIT") == "1":
            stage.say("done" if not demonstration.problems else "failed")
            return 1 if demonstration.problems else 0
        programs.wait()
        return 1 if demonstration.problems else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        sys.exit(f"demo: {problem}")
    except KeyboardInterrupt:
        print("\nStopped.")
        sys.exit(130 if os.environ.get("DEMO_EXIT") == "1" else 0)
