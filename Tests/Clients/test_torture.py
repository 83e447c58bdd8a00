"""The sender against a server that does everything that RFC 9113 allows, and much that it forbids.

One `peal serve` sends for all scenarios at the same time, each with an app and a key of its own (and so with a pool and
a route of its own), while `torture_server` plays one script per scenario.
"""

import collections
import threading

import pytest
from peal_server import Peal, SigningKey
from scenarios import EARLY, SCENARIOS, UNPROCESSED
from torture_server import TortureServer

import torture_offences  # noqa: F401 (fills the table)
import torture_scenarios  # noqa: F401

DEVICES = 300
BUNDLE_ID = "com.example.torture"
# A request whose answer was lost is sent again after 30 seconds, and all scenarios share the machine.
SECONDS_MAX = 150


class Run:
    """One scenario's app, its devices and its two messages."""

    def __init__(self, peal, scenario, environment):
        self.peal, self.scenario = peal, scenario
        self.app = peal.app(scenario.name, bundle_id=BUNDLE_ID)
        peal.apns(self.app, SigningKey(scenario.key_id), BUNDLE_ID, environment)
        self.devices = set(peal.phones(self.app, DEVICES, environment))

    def send(self, text):
        content = {"body": text, "data": {"filling": "x" * self.scenario.body_bytes}}
        return self.peal.send(self.app, content=content)

    def reached(self, text):
        """How often each device was reached, and with how many ids."""
        times, ids = collections.Counter(), collections.defaultdict(set)
        for device, identity in self.scenario.reached[text]:
            times[device] += 1
            ids[device].add(identity)
        assert all(len(each) == 1 for each in ids.values()), "a repetition with another apns-id"
        return times


class Torture:
    def __init__(self, directory):
        self.server = TortureServer(directory)
        environment = {
            "PEAL_PROVIDERS_APNS_PRODUCTION_URL": self.server.url,
            "PEAL_PROVIDERS_APNS_SANDBOX_URL": self.server.early_url,
            "PEAL_PROVIDERS_CA_FILE": self.server.ca_file,
        }
        self.peal = Peal(directory / "peal", environment)
        self.runs = {}
        for environment, scenarios in (("production", SCENARIOS), ("sandbox", EARLY)):
            for scenario in scenarios:
                self.server.scenarios[scenario.key_id] = scenario
                self.runs[scenario.name] = Run(self.peal, scenario, environment)

    def start(self):
        for scenario in SCENARIOS:
            self.runs[scenario.name].first = self.runs[scenario.name].send("first")
        self.thread = threading.Thread(target=self.start_early)
        self.thread.start()

    def start_early(self):
        """One after the other: a connection identifies its app only with its first request."""
        for scenario in EARLY:
            run = self.runs[scenario.name]
            self.server.armed = scenario
            run.first = run.send("first")
            run.report = self.peal.wait(run.app, run.first, seconds=SECONDS_MAX)

    def close(self):
        self.thread.join()
        self.server.close()
        return self.peal.stop()


@pytest.fixture(scope="module")
def torture(tmp_path_factory):
    torture = Torture(tmp_path_factory.mktemp("torture"))
    torture.start()
    yield torture
    assert torture.close() == 0


def check(run, report, text):
    scenario = run.scenario
    retired = getattr(scenario, "retired", set()) if text == "first" else set()
    assert report["counts"]["accepted"] == report["audience"]["devices"] - len(retired), report
    times = run.reached(text)
    expected = run.devices if text == "first" else run.devices - getattr(scenario, "retired", set())
    assert set(times) == expected, "a device was not reached"
    repeated = {device for device, count in times.items() if count > 1}
    assert repeated <= (scenario.lost if text == "first" else set()), "sent again without need"


def finish(torture, run):
    scenario = run.scenario
    second = run.send("second")
    check(run, torture.peal.wait(run.app, second, seconds=SECONDS_MAX), "second")
    check(run, torture.peal.wait(run.app, run.first, seconds=SECONDS_MAX), "first")
    assert [each for each in torture.server.violations if each.startswith(scenario.name + ":")] == []
    assert scenario.finished.is_set(), "the script was cut short"
    check_loss(run, torture.peal.message(run.app, run.first))


def check_loss(run, report):
    """If the client knows what was not processed, no device waits half a minute; otherwise the deliveries say so."""
    lost = run.scenario.lost
    if run.scenario.kind == UNPROCESSED:
        assert not lost
        assert report["resent"] == 0
        for device in sorted(run.devices)[::50]:
            events = [item["event"] for item in run.peal.deliveries(run.app, run.first, address=device)]
            assert "deferred" not in events, events
    for device in list(lost)[:1]:
        events = [item["event"] for item in run.peal.deliveries(run.app, run.first, address=device)]
        assert "deferred" in events
        assert events[-1] == "accepted"


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda each: each.name)
def test_everybody_is_reached_and_the_rest_goes_on(torture, scenario):
    finish(torture, torture.runs[scenario.name])


@pytest.mark.parametrize("scenario", EARLY, ids=lambda each: each.name)
def test_a_connection_that_never_begins_is_replaced(torture, scenario):
    torture.thread.join(timeout=len(EARLY) * SECONDS_MAX)
    finish(torture, torture.runs[scenario.name])


def test_the_server_survives_and_the_client_keeps_to_the_protocol(torture):
    torture.thread.join(timeout=len(EARLY) * SECONDS_MAX)
    assert torture.peal.is_running
    assert torture.server.violations == []
