"""A running Peal with simulated push networks, an app and devices, for the console's tests."""

import json
import os
import pathlib
import secrets
import subprocess
import sys
import time
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Clients"))

from peal_server import OPENER, Peal  # noqa: E402
from waiting import wait_until  # noqa: E402

SIMULATOR = os.environ.get("PEAL_SIM", str(ROOT / ".build" / "debug" / "peal-sim"))


class ConsoleFixture:
    """The server, the simulator, and an app `Cheese` with five devices, three of them in the topic `news`."""

    def __init__(self, folder, environment=None):
        folder = pathlib.Path(folder)
        simulator = folder / "simulator"
        simulator.mkdir(parents=True)
        self.log = (folder / "peal-sim.log").open("wb")
        self.process = subprocess.Popen(
            [SIMULATOR, "--directory", str(simulator)], stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)
        description = simulator / "simulator.json"
        self.simulator = wait_until(lambda: self.read(description))
        self.peal = Peal(folder / "peal", {
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": self.simulator["apns_url"],
            "PEAL_PROVIDERS_APNS_SANDBOX_URL": self.simulator["apns_sandbox_url"],
            "PEAL_PROVIDERS_FCM_URL": self.simulator["fcm_url"],
            "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": urllib.parse.urlsplit(self.simulator["fcm"]["token_url"]).netloc,
            "PEAL_PROVIDERS_CA_FILE": self.simulator["ca_file"],
            **(environment or {}),
        })
        self.url = self.peal.url + "/console/"

    @staticmethod
    def read(path):
        try:
            return json.loads(path.read_text())
        except (OSError, ValueError):
            return None

    def stop(self):
        self.peal.stop()
        self.process.terminate()
        self.process.wait(20)
        self.log.close()

    @property
    def credential(self):
        apns = self.simulator["apns"]
        return {
            "kind": "token", "key_id": apns["key_id"], "team_id": apns["team_id"], "bundle_id": apns["bundle_id"],
            "private_key": pathlib.Path(apns["private_key_file"]).read_text(),
        }

    def app(self, name="Cheese", devices=5, subscribed=3):
        """Makes an app that can send. Returns its id and the ids of its devices, the subscribed ones first."""
        app = self.peal.post("/apps", {"name": name, "bundle_id": self.simulator["apns"]["bundle_id"]})["id"]
        self.peal.put(f"/apps/{app}/credentials/apns/production", self.credential)
        found = []
        for number in range(devices):
            found.append(self.peal.post(f"/apps/{app}/devices", {
                "platform": "ios", "address": secrets.token_hex(32), "user_id": f"user-{number}",
                "alias": f"Phone {number}", "locale": "en", "topics": ["news"] if number < subscribed else [],
            })["id"])
        return app, found

    def send_slowly(self, app, devices, title="Slowly"):
        """Registers that many devices, and sends them a message of five devices a second. Returns its id."""
        self.peal.post(f"/apps/{app}/devices:batch", {"devices": [
            {"platform": "ios", "address": secrets.token_hex(32), "topics": ["all"]} for _ in range(devices)]})
        return self.peal.post(f"/apps/{app}/messages", {
            "audience": {"topics": ["all"]}, "content": {"title": title}, "options": {"rate_per_second": 5}})["id"]

    def fault(self, device, fault):
        """Makes the simulated network answer a device in that way."""
        request = urllib.request.Request(
            f"{self.simulator['control_url']}/faults/devices/{device}", json.dumps(fault).encode(), method="PUT")
        OPENER.open(request, timeout=30).close()

    def key(self, app, *scopes):
        return self.peal.post(f"/apps/{app}/keys", {"dialect": "native", "scopes": list(scopes)})["token"]

    def finished(self, app, message):
        def ended():
            report = self.peal.get(f"/apps/{app}/messages/{message}")
            return report if report["state"] in ("sent", "cancelled", "expired", "failed") else None

        return wait_until(ended)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
