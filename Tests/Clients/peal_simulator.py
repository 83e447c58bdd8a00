"""Runs `peal-sim`, which simulates the push networks, and connects servers with it."""

import json
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.parse
import urllib.request

from peal_server import OPENER, ROOT
from waiting import PATIENCE_SECONDS, wait_until

PROGRAM = os.environ.get("PEAL_SIM", str(ROOT / ".build" / "debug" / "peal-sim"))


class Simulator:
    """A running `peal-sim` and its control interface."""

    def __init__(self, directory, *arguments, environment=None):
        command = [PROGRAM, "--directory", str(directory), *arguments]
        self.process = subprocess.Popen(command, env={**os.environ, **(environment or {})})
        description = pathlib.Path(directory) / "simulator.json"

        def is_ready():
            assert self.process.poll() is None, "peal-sim ended before it was ready"
            return description.exists()

        try:
            wait_until(is_ready, failure=lambda: "peal-sim was not ready in time", pause=0.02)
        except AssertionError:
            self.process.kill()
            raise
        self.description = json.loads(description.read_text())

    @property
    def ca_file(self):
        return self.description["ca_file"]

    @property
    def private_key(self):
        return pathlib.Path(self.description["apns"]["private_key_file"]).read_text()

    @property
    def service_account(self):
        return json.loads(pathlib.Path(self.description["fcm"]["service_account_file"]).read_text())

    @property
    def environment(self):
        """The configuration of a server that sends to the simulator and to nothing else."""
        urls, wns = self.description, self.description["wns"]

        def hosts(*names):
            return ",".join(urllib.parse.urlsplit(urls[name]).netloc for name in names)

        return {
            "PEAL_PROVIDERS_CA_FILE": self.ca_file,
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": urls["apns_url"],
            "PEAL_PROVIDERS_APNS_SANDBOX_URL": urls["apns_sandbox_url"],
            "PEAL_PROVIDERS_APNS_PRODUCTION_MANAGEMENT_URL": urls["apns_management_url"],
            "PEAL_PROVIDERS_APNS_SANDBOX_MANAGEMENT_URL": urls["apns_sandbox_management_url"],
            "PEAL_PROVIDERS_FCM_URL": urls["fcm_url"],
            "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": hosts("fcm_url"),
            "PEAL_PROVIDERS_WNS_TOKEN_URL": wns["token_url"],
            "PEAL_PROVIDERS_WNS_TENANT_TOKEN_URL": wns["tenant_token_url"].replace(wns["tenant_id"], "{tenant_id}"),
            "PEAL_PROVIDERS_WNS_ALLOWED_HOSTS": hosts("wns_url"),
            "PEAL_PROVIDERS_MPNS_ALLOWED_HOSTS": hosts("mpns_url", "mpns_secure_url"),
            "PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": hosts("webpush_url"),
        }

    @property
    def credentials(self):
        """The credentials that it accepts: bodies by what follows `/credentials/` in the native API."""
        apns, wns = self.description["apns"], self.description["wns"]
        token = {"kind": "token", "private_key": self.private_key}
        token |= {name: apns[name] for name in ("key_id", "team_id", "bundle_id")}
        return {
            "apns/production": token,
            "apns/sandbox": token,
            "fcm": {"service_account": self.service_account},
            "wns": {name: wns[name] for name in ("package_sid", "client_secret")},
            "mpns": {},
            "webpush": {"subject": "mailto:push@example.com"},
        }

    def control(self, method, path, body=None):
        """Sends a request to the control interface. Returns the status and the decoded answer."""
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.description["control_url"] + path, data, method=method)
        try:
            with OPENER.open(request, timeout=PATIENCE_SECONDS) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

    def fault(self, device, fault):
        """Makes the simulator answer a device in that way."""
        status, answer = self.control("PUT", "/faults/devices/" + urllib.parse.quote(device, safe=""), fault)
        assert status == 200, answer

    def inbox(self, query=""):
        return self.control("GET", "/inbox" + query)[1]["items"]

    def summary(self):
        return self.control("GET", "/inbox/summary")[1]

    def stop(self):
        """Stops the program. Returns its exit status."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(timeout=PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise
