"""Starts `peal-sim` and `peal` for client libraries and programs of other authors."""

import collections
import contextlib
import itertools

import pytest
from certificates import write_certificate
from local_server import Receiver
from peal_server import Peal
from peal_simulator import Simulator

# Files whose tests take longest, most of them by waiting. They start first, so that no process ends alone with one.
LONG_FILES = [
    "test_openapi", "test_trouble", "test_torture", "test_attack", "test_alerts", "test_guides", "test_life",
    "test_contextpush", "test_lost_commits",
]  # fmt: skip


def pytest_collection_modifyitems(items):
    """Long files first, then those with the most tests. xdist hands files out in this order."""
    counts = collections.Counter(item.path for item in items)

    def rank(item):
        name = item.path.stem
        return (LONG_FILES.index(name) if name in LONG_FILES else len(LONG_FILES), -counts[item.path], name)

    items.sort(key=rank)


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


@pytest.fixture
def certificate(tmp_path):
    """The files of a certificate for `localhost` and its key."""
    files = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    write_certificate(*files)
    return files


@pytest.fixture
def receive():
    """Starts receivers of webhooks, and stops them after the test."""
    with contextlib.ExitStack() as running:

        def start(*statuses, identity=()):
            receiver = Receiver(statuses, identity)
            running.callback(receiver.stop)
            return receiver

        yield start


@pytest.fixture(params=["strict", "fast"])
def either_mode(request, simulate):
    return simulate("--mode", request.param)
