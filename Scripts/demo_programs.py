"""Starts the programs of the demo and stops them at its end."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time
import urllib.parse

START_SECONDS = 60
STOP_SECONDS = 30


class Problem(Exception):
    """A failure with a message for the user."""


def die_with_parent():
    """Makes the kernel end the child if this process is killed (Linux)."""
    if sys.platform == "linux":
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGTERM)


def exit_on(signum, frame):
    raise KeyboardInterrupt


class Programs:
    def __init__(self, root, folder):
        self.binaries = root / ".build" / "debug"
        self.folder = folder
        self.running = []

    def __enter__(self):
        # SIGINT too: a shell that starts this script in the background ignores it.
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, exit_on)
        return self

    def __exit__(self, *_):
        for process, _ in reversed(self.running):
            process.terminate()
        for process, _ in self.running:
            try:
                process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def start_simulator(self, environment=None):
        directory = self.folder / "simulator"
        directory.mkdir()
        self.start("peal-sim", ["--directory", str(directory)], environment or {})
        return json.loads(self.appears(directory / "simulator.json", is_complete=is_json))

    def start_server(self, simulator, admin_token, environment=None):
        port_file = self.folder / "port"
        self.start("peal", ["serve"], {
            "PEAL_STORE_URL": f"sqlite:{self.folder / 'peal.db'}",
            "PEAL_HTTP_PORT": "0",
            "PEAL_HTTP_PORT_FILE": str(port_file),
            "PEAL_ADMIN_TOKEN": admin_token,
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": simulator["apns_url"],
            "PEAL_PROVIDERS_APNS_SANDBOX_URL": simulator["apns_sandbox_url"],
            "PEAL_PROVIDERS_FCM_URL": simulator["fcm_url"],
            "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": urllib.parse.urlsplit(simulator["fcm"]["token_url"]).netloc,
            "PEAL_PROVIDERS_CA_FILE": simulator["ca_file"],
            "PEAL_CONTEXTPUSH_TRADITIONAL_HOLD_SECONDS": "1",
            **(environment or {}),
        })
        port = self.appears(port_file, is_complete=lambda text: text.strip().isdigit()).strip()
        return f"http://127.0.0.1:{port}"

    def start(self, name, arguments, environment):
        binary = self.binaries / name
        if not binary.exists():
            raise Problem(f"{binary} is not built; run make demo")
        log = self.folder / f"{name}.log"
        # PEAL_ variables from the user's shell would point to another server or database.
        inherited = {key: value for key, value in os.environ.items() if not key.startswith("PEAL_")}
        with log.open("wb") as output:
            process = subprocess.Popen(
                [str(binary), *arguments], env={**inherited, **environment}, stdin=subprocess.DEVNULL, stdout=output,
                stderr=subprocess.STDOUT, cwd=self.folder, start_new_session=True, preexec_fn=die_with_parent)
        self.running.append((process, log))

    def appears(self, path, is_complete):
        """Waits for a file that a program writes when it is ready; returns its text."""
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            self.check()
            if path.exists() and is_complete(path.read_text()):
                return path.read_text()
            time.sleep(0.02)
        raise Problem(f"{path.name} did not appear within {START_SECONDS} seconds")

    def check(self):
        """Raises a problem with the end of its log if a program has ended."""
        for process, log in self.running:
            if process.poll() is not None:
                said = "\n".join(log.read_text(errors="replace").splitlines()[-10:])
                raise Problem(f"{os.path.basename(process.args[0])} ended with {process.returncode}:\n{said}")

    def wait(self):
        """Waits until it is interrupted or a program ends."""
        while True:
            self.check()
            time.sleep(0.5)


def is_json(text):
    try:
        json.loads(text)
        return True
    except ValueError:
        return False
