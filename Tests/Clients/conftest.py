"""Starts `peal-sim` and `peal` for client libraries and programs of other authors."""

import collections
import contextlib
import itertools
import json
import os
import pathlib
import signal
import subprocess
import urllib.error
import urllib.request

import pytest
from peal_server import OPENER, Peal
from waiting import PATIENCE_SECONDS, wait_until

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("PEAL_SIM", str(ROOT / ".build" / "debug" / "peal-sim"))
# Files whose tests take longest, most of them by waiting. They start first, so that no process ends alone with one.
LONG_FILES = [
    "test_trouble", "test_torture", "test_attack", "test_alerts", "test_guides", "test_life", "test_contextpush",
    "test_lost_commits",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    """Long files first, then those with the most tests. xdist hands files out in this order."""
    counts = collections.Counter(item.path for item in items)

    def rank(item):
        name = item.path.stem
        return (LONG_FILES.index(name) if name in LONG_FILES else len(LONG_FILES), -counts[item.path], name)

    items.sort(key=rank)


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

    def control(self, method, path, body=None):
        """Sends a request to the control interface. Returns the status and the decoded answer."""
        data = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.description["control_url"] + path, data, method=method)
        try:
            with OPENER.open(request, timeout=PATIENCE_SECONDS) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            return error.code, json.load(error)

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


@pytest.fixture
def simulate(tmp_path):
    """Starts simulators with the given arguments, and stops them after the test."""
    numbers = itertools.count()
    # Stops the others too if one does not stop.
    with contextlib.ExitStack() as running:

        def start(*arguments, environment=None):
            simulator = Simulator(tmp_path / str(next(numbers)), *arguments, environment=environment)
            running.callback(simulator.stop)
            return simulator

        yield start


@pytest.fixture
def serve(tmp_path):
    """Starts `peal serve` with the given environment, and stops it after."""
    numbers = itertools.count()
    with contextlib.ExitStack() as running:

        def start(environment=None):
            peal = Peal(tmp_path / f"peal-{next(numbers)}", environment)
            running.callback(peal.stop)
            return peal

        yield start


@pytest.fixture(params=["strict", "fast"])
def either_mode(request, simulate):
    return simulate("--mode", request.param)
