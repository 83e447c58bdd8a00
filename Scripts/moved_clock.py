"""What a run of simulated phones needs: a clock that moves, and an app."""
import json
import pathlib
import shutil
import struct
import subprocess
import sys

from demo_api import Native
from demo_programs import Problem

ROOT = pathlib.Path(__file__).resolve().parent.parent


class MovedClock:
    """The file that moves the clock, and the library that programs load for it."""

    def __init__(self, folder):
        self.file = folder / "clock-offset"
        self.file.write_bytes(struct.pack("=q", 0))
        library = folder / "moved_clock.so"
        source = ROOT / "Tests" / "Clients" / "moved_clock.c"
        compiler = shutil.which("cc") or shutil.which("clang")
        if sys.platform != "linux" or not compiler:
            raise Problem("moving the clock needs Linux and a C compiler")
        subprocess.run([compiler, "-O1", "-shared", "-fPIC", "-o", str(library), str(source)], check=True)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self.file)}


def prepare(server_url, admin_token, simulator):
    """Creates an app with the simulator's APNs key and service account; returns its id."""
    native, apns = Native(server_url, admin_token), simulator["apns"]
    app = native.post("/apps", {"name": "Phones", "bundle_id": apns["bundle_id"]})["id"]
    credential = {name: apns[name] for name in ("key_id", "team_id", "bundle_id")}
    credential["kind"] = "token"
    credential["private_key"] = pathlib.Path(apns["private_key_file"]).read_text()
    native.put(f"/apps/{app}/credentials/apns/production", credential)
    account = json.loads(pathlib.Path(simulator["fcm"]["service_account_file"]).read_text())
    native.put(f"/apps/{app}/credentials/fcm", {"service_account": account})
    return app
