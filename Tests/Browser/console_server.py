"""A running Peal with simulated push networks, an app and devices, for the console's tests."""

import pathlib
import secrets
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Tests" / "Clients"))

from peal_server import Peal  # noqa: E402
from peal_simulator import Simulator  # noqa: E402
from waiting import wait_until  # noqa: E402


class ConsoleFixture:
    """The server, the simulator, and an app `Cheese` with five devices, three of them in the topic `news`."""

    def __init__(self, folder, environment=None):
        folder = pathlib.Path(folder)
        self.networks = Simulator(folder / "simulator")
        self.simulator = self.networks.description
        self.credential = self.networks.credentials["apns/production"]
        self.peal = Peal(folder / "peal", {**self.networks.environment, **(environment or {})})
        self.url = self.peal.url + "/console/"

    def stop(self):
        self.peal.stop()
        self.networks.stop()

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
        self.networks.fault(device, fault)

    def key(self, app, *scopes):
        return self.peal.post(f"/apps/{app}/keys", {"dialect": "native", "scopes": list(scopes)})["token"]

    def finished(self, app, message):
        def ended():
            report = self.peal.get(f"/apps/{app}/messages/{message}")
            return report if report["state"] in ("sent", "cancelled", "expired", "failed") else None

        return wait_until(ended)


def now():
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
