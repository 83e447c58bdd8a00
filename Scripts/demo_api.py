"""The HTTP requests of the demo."""
import base64
import json
import pathlib
import time
import urllib.error
import urllib.request

from demo_programs import Problem

# All requests go to loopback: ignore a proxy from the environment.
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def request(method, url, body=None, headers=None):
    """Returns the response's JSON; raises a problem with the response for anything but 2xx."""
    data = None if body is None else json.dumps(body).encode()
    all_headers = {"Content-Type": "application/json", **(headers or {})}
    try:
        with OPENER.open(urllib.request.Request(url, data, all_headers, method=method), timeout=30) as answer:
            return json.loads(answer.read() or b"null")
    except urllib.error.HTTPError as error:
        raise Problem(f"{method} {url} answered {error.code}: {error.read().decode(errors='replace')}")
    except OSError as error:
        raise Problem(f"{method} {url}: {error}")


class Native:
    """The native API, with the admin token."""

    def __init__(self, server_url, admin_token):
        self.server_url = server_url
        self.headers = {"Authorization": f"Bearer {admin_token}"}

    def call(self, method, path, body=None):
        return request(method, f"{self.server_url}/peal/v1{path}", body, self.headers)

    def post(self, path, body):
        return self.call("POST", path, body)

    def put(self, path, body):
        return self.call("PUT", path, body)

    def make_app(self, name, simulator):
        """Creates an app with the simulator's APNs key and service account. Returns its id."""
        apns = simulator["apns"]
        app = self.post("/apps", {"name": name, "bundle_id": apns["bundle_id"]})["id"]
        key = {name: apns[name] for name in ("key_id", "team_id", "bundle_id")}
        key |= {"kind": "token", "private_key": pathlib.Path(apns["private_key_file"]).read_text()}
        self.put(f"/apps/{app}/credentials/apns/production", key)
        account = json.loads(pathlib.Path(simulator["fcm"]["service_account_file"]).read_text())
        self.put(f"/apps/{app}/credentials/fcm", {"service_account": account})
        return app

    def finished(self, app, message, seconds):
        """Returns the message when it has ended, or its state after `seconds`."""
        deadline = time.monotonic() + seconds
        while True:
            report = self.call("GET", f"/apps/{app}/messages/{message}")
            if report["state"] in ("sent", "cancelled", "expired", "failed") or time.monotonic() > deadline:
                return report
            time.sleep(0.02)


class Devtodev:
    """devtodev's API, with an app's key."""

    def __init__(self, server_url, user_token, app_id):
        self.url = f"{server_url}/api/v1/push/send"
        self.fields = {"user_token": user_token, "app_id": app_id, "campaign_tag": "demonstration"}

    def push(self, audience, ios):
        """Sends a push; returns the message's id in the native API."""
        return request("POST", self.url, {**self.fields, "audience": audience, "ios": ios})["data"]["message_id"]


class Pivotal:
    """Pivotal's API, with the credentials of an application or a platform."""

    def __init__(self, server_url, account):
        self.server_url = server_url
        self.account = account
        self.headers = {"Authorization": "Basic " + base64.b64encode(":".join(account).encode()).decode()}

    def post(self, path, body):
        return request("POST", self.server_url + path, body, self.headers)


class Richie(Pivotal):
    """Richie's API, with user name and password."""

    def task(self, body):
        return self.post("/push/v2/admin/task", body)["task_id"]
