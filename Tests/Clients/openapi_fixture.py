"""A server with everything in it that its OpenAPI document speaks of, and the settings with which schemathesis runs."""

import json
import os
import subprocess
import sys

from peal_server import OPENER, ROOT, Peal, basic
from peal_simulator import Simulator

# Deterministic; raise the examples to search longer: OPENAPI_EXAMPLES=500 OPENAPI_SEED=7 pytest test_openapi.py
USUAL_EXAMPLES = 3
EXAMPLES = int(os.environ.get("OPENAPI_EXAMPLES", str(USUAL_EXAMPLES)))
# Bodies like those of sendMessage and countAudience. Each takes a minute to cover, so only a longer search covers them too.
ALIKE = ["validateMessage", "changeMessage", "putDraft", "putTemplate", "putSegment"]
SEED = int(os.environ.get("OPENAPI_SEED", "1"))
# What schemathesis may not be asked, with the reasons: the file that `st run` also finds by itself.
EXCEPTIONS = ROOT / "schemathesis.toml"
DEVICE = "10000000-0000-4000-8000-000000000001"


class OpenAPIFixture:
    """A simulator, a server and an app that every dialect reaches; `check` runs schemathesis on one tag."""

    def __init__(self, directory):
        self.directory = directory
        self.simulator = Simulator(directory / "simulator")
        self.urls = self.simulator.description
        self.peal = Peal(directory / "peal", {"PEAL_LOG_LEVEL": "warning", **self.simulator.environment})
        bundle = self.urls["apns"]["bundle_id"]
        self.app = self.equipped(bundle_id=bundle, richie_app_id="your-app-id", devtodev_app_id="your-app-id")
        # The native API changes and empties the app that it is tried on, so that one is nobody else's; and it deletes one.
        self.own, self.spare = self.equipped(bundle_id=bundle), self.peal.app("Spare")
        self.keys = {
            name: self.peal.post(f"/apps/{self.app}/keys", {"dialect": name, **more})
            for name, more in {
                "contextpush": {},
                "richie": {},
                "devtodev": {},
                "pivotal": {},
                "pivotal-platform": {"platform": "ios"},
                "device": {},
            }.items()
        }
        # A device of its own, whose token every operation of the device API uses but the one that deletes it.
        self.phone, self.gone = self.registered("ef" * 32), self.registered("fe" * 32)

        self.pivotal = self.pivotal_objects()

    def registered(self, address):
        """Registers a device as its app does. Gives its id and token."""
        return self.peal.request(
            "POST", "/peal/device/v1/register", {"platform": "ios", "address": address},
            {"Authorization": "Bearer " + self.keys["device"]["token"]},
        )

    def pivotal_objects(self):
        """What operations of the Pivotal API find by an id that none of them answers under that name: by a pattern of their
        names, the id."""
        keys = self.keys
        application = (keys["pivotal"]["application_uuid"], keys["pivotal"]["api_key"])
        platform = (keys["pivotal-platform"]["platform_uuid"], keys["pivotal-platform"]["platform_secret"])

        def post(path, body, pair=application):
            return self.peal.request("POST", path, body, {"Authorization": basic(*pair)})

        push = {"message": {"body": "Hello"}, "target": {"topics": ["news"]}}
        device = post("/v1/registration", {"registration_token": "cd" * 32}, platform)["device_uuid"]
        found = {
            "(Get|Change)Device": device,
            "(Get|Change)Schedule": post("/v1/push", {**push, "scheduleIn": 86400})["schedule_id"],
            "Receipt": post("/v1/push", push)["receipt_id"],
        }
        return {f"^pivotal{name}(Alias)?$": id for name, id in found.items()}

    def equipped(self, **fields):
        """Makes an app with credentials of every network and a device. Gives its id."""
        app = self.peal.app(**fields)
        self.peal.connect(app, self.simulator, *self.simulator.credentials)
        self.peal.put(
            f"/apps/{app}/devices/{DEVICE}",
            {"platform": "ios", "address": "ab" * 32, "user_id": "ann", "topics": ["news"]},
        )
        return app

    def document_bytes(self):
        with OPENER.open(self.peal.url + "/openapi.json", timeout=30) as answer:
            return answer.read()

    def document(self):
        return json.loads(self.document_bytes())

    def credentials(self):
        """By the name of the security scheme."""
        keys = self.keys
        accounts = {
            "richie": (keys["richie"]["username"], keys["richie"]["password"]),
            "pivotal": (keys["pivotal"]["application_uuid"], keys["pivotal"]["api_key"]),
            "pivotal-platform": (
                keys["pivotal-platform"]["platform_uuid"],
                keys["pivotal-platform"]["platform_secret"],
            ),
        }
        return {
            "native": {"bearer": self.peal.admin_token},
            "contextpush": {"api_key": "Token " + keys["contextpush"]["token"]},
            "devtodev": {"api_key": keys["devtodev"]["user_token"]},
            "device": {"bearer": keys["device"]["token"]},
            "device-token": {"bearer": self.phone["device_token"]},
            **{name: {"username": user, "password": secret} for name, (user, secret) in accounts.items()},
        }

    def authorizations(self):
        """Headers that open an operation, by the name of the security scheme."""
        headers = {}
        for name, values in self.credentials().items():
            if "username" in values:
                headers[name] = {"Authorization": basic(values["username"], values["password"])}
            else:
                value = values.get("api_key") or "Bearer " + values["bearer"]
                headers[name] = {"Authorization": value}
        return headers

    def settings(self):
        """The configuration of schemathesis: the project's own, with the credentials of this server."""
        lines = [f'[parameters]\n"path.app" = "{self.own}"']
        # The app that everything else needs must stay.
        lines.append(f'[[operations]]\ninclude-operation-id = "deleteApp"\nparameters = {{"path.app" = "{self.spare}"}}')
        for name, values in self.credentials().items():
            lines.append(f"[auth.openapi.{name}]")
            lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        if EXAMPLES <= USUAL_EXAMPLES:
            lines += ["[[operations]]", f"include-operation-id = {json.dumps(ALIKE)}", "phases.coverage.enabled = false"]
        for pattern, id in self.pivotal.items():
            lines += ["[[operations]]", f"include-operation-id-regex = {json.dumps(pattern)}"]
            lines.append(f"parameters = {{ \"path.id\" = {json.dumps(str(id))} }}")
        return "\n".join([EXCEPTIONS.read_text(), *lines]) + "\n"

    def check(self, tag, *arguments, examples=EXAMPLES, seed=SEED):
        """Runs all checks on the operations of `tag`. Gives the exit status and what was printed."""
        file = self.directory / f"{tag}.toml"
        file.write_text(self.settings())
        command = [sys.executable, "-m", "schemathesis.cli", "--config-file", str(file), "run"]
        command += [self.peal.url + "/openapi.json", "--include-tag", tag, "--checks", "all", "--no-color"]
        command += ["--max-examples", str(examples), "--seed", str(seed), "--generation-database", "none"]
        inherited = {key: value for key, value in os.environ.items() if not key.lower().endswith("_proxy")}
        result = subprocess.run(
            [*command, *arguments],
            cwd=self.directory,
            env={**inherited, "NO_PROXY": "127.0.0.1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=3600,
        )
        return result.returncode, result.stdout

    def stop(self):
        self.peal.stop()
        self.simulator.stop()
