"""The life of a message as one trace, at a collector that a test plays."""

import datetime
import json

import pytest
from local_server import Handler, Server
from moved_clock import MovedClock
from waiting import wait_until


class Collector:
    """Receives OTLP over HTTP with JSON."""

    def __init__(self, status=200):
        self.spans, self.requests = [], []
        self.is_gone = False
        collector = self

        class Collecting(Handler):
            def do_POST(self):
                body = json.loads(self.body())
                if collector.is_gone:
                    self.close_connection = True
                    return
                collector.requests.append((self.path, dict(self.headers), body))
                for resource in body["resourceSpans"]:
                    for scope in resource["scopeSpans"]:
                        collector.spans += scope["spans"]
                self.answer(status, b"{}")

        self.server = Server(Collecting)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def leave(self):
        """Ends as a killed collector does: no new connections, and no answer on those that are kept open."""
        self.is_gone = True
        self.server.stop()

    def of(self, message):
        """The spans of a message, by name."""
        found = {}
        for span in list(self.spans):
            if span["traceId"] == message.replace("-", ""):
                found.setdefault(span["name"], []).append(span)
        return found


@pytest.fixture
def collect():
    collectors = []

    def start(status=200):
        collectors.append(Collector(status))
        return collectors[-1]

    yield start
    for collector in collectors:
        collector.server.stop()


def start(simulate, serve, collector, **more):
    """`more` is added to the server's environment. The simulator gets what does not configure Peal, such as a clock."""
    simulator = simulate(environment={name: value for name, value in more.items() if not name.startswith("PEAL")})
    peal = serve({**simulator.environment, "PEAL_TRACING_OTLP_URL": collector.url, **more})
    app = peal.app(bundle_id=simulator.description["apns"]["bundle_id"])
    peal.connect(app, simulator, "apns/production")
    peal.phones(app, 40)
    return peal, app


NAMES = {"peal.request", "peal.accept", "peal.page", "peal.provider", "peal.settle"}


def test_a_message_is_one_trace_from_the_request_to_the_settled_answer(simulate, serve, collect):
    collector = collect()
    peal, app = start(simulate, serve, collector)
    caller = {
        "Authorization": f"Bearer {peal.admin_token}",
        "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    }
    body = {"audience": {"all": True}, "content": {"title": "Traced"}}
    message = peal.request("POST", f"/peal/v1/apps/{app}/messages", body, caller)["id"]
    peal.wait(app, message)
    wait_until(lambda: set(collector.of(message)) == NAMES, failure=lambda: f"{collector.of(message)}")
    spans = collector.of(message)
    (root,) = spans["peal.request"]
    assert "parentSpanId" not in root
    assert root["links"] == [{"traceId": "4bf92f3577b34da6a3ce929d0e0e4736", "spanId": "00f067aa0ba902b7"}]
    attributes = {item["key"]: item["value"] for item in root["attributes"]}
    assert attributes["http.route"] == {"stringValue": "/peal/v1/apps/:app/messages"}
    assert attributes["http.response.status_code"] == {"intValue": "202"}
    assert spans["peal.accept"][0]["parentSpanId"] == root["spanId"]
    pages = {span["spanId"]: span for span in spans["peal.page"]}
    assert all(page["parentSpanId"] == root["spanId"] for page in pages.values())
    devices = sum(
        int(item["value"]["intValue"])
        for page in pages.values()
        for item in page["attributes"]
        if item["key"] == "peal.devices"
    )
    assert devices == 40
    for name in ("peal.provider", "peal.settle"):
        for span in spans[name]:
            page = pages[span["parentSpanId"]]
            assert int(page["startTimeUnixNano"]) <= int(span["startTimeUnixNano"])
            assert int(span["endTimeUnixNano"]) <= int(page["endTimeUnixNano"])
    assert len({span["spanId"] for each in spans.values() for span in each}) == sum(map(len, spans.values()))
    path, headers, document = collector.requests[0]
    assert path == "/v1/traces" and headers["content-type"] == "application/json"
    names = [item["key"] for item in document["resourceSpans"][0]["resource"]["attributes"]]
    assert names == ["service.name", "service.version"]
    # No text, address or user of the message.
    assert "Traced" not in json.dumps([entry[2] for entry in collector.requests])


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_a_scheduled_message_continues_its_trace_after_a_restart(simulate, serve, collect, tmp_path):
    collector = collect()
    clock = MovedClock(tmp_path)
    peal, app = start(simulate, serve, collector, **clock.environment)
    at = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
    message = peal.send(app, schedule={"at": at.strftime("%Y-%m-%dT%H:%M:%SZ")})
    # What waits is sent before the server ends.
    assert peal.stop() == 0
    assert set(collector.of(message)) == {"peal.request", "peal.accept"}
    peal.start()
    clock.advance(3600)
    peal.wait(app, message)
    wait_until(lambda: set(collector.of(message)) == NAMES, failure=lambda: f"{collector.of(message)}")
    (root,) = collector.of(message)["peal.request"]
    assert {page["parentSpanId"] for page in collector.of(message)["peal.page"]} == {root["spanId"]}


def test_a_collector_that_refuses_or_is_gone_loses_only_spans(simulate, serve, collect):
    collector = collect(status=503)
    peal, app = start(simulate, serve, collector)
    assert peal.wait(app, peal.send(app))["counts"]["accepted"] == 40
    wait_until(lambda: "the collector refused spans" in peal.log)
    collector.leave()
    assert peal.wait(app, peal.send(app))["counts"]["accepted"] == 40
    wait_until(lambda: "spans could not be sent" in peal.log)
    assert peal.stop() == 0


def test_zero_percent_records_no_trace(simulate, serve, collect):
    collector = collect()
    peal, app = start(simulate, serve, collector, PEAL_TRACING_PERCENT=0)
    peal.wait(app, peal.send(app))
    assert peal.stop() == 0
    assert collector.requests == []
