"""A message's progress as server-sent events, as a browser or a script reads it, and the statistics that remain."""

import gzip
import http.client
import json
import time
import urllib.parse

import pytest
from waiting import wait_until


class Stream:
    """One open stream of events."""

    def __init__(self, peal, app, message, token=None):
        self.connection = http.client.HTTPConnection(urllib.parse.urlsplit(peal.url).netloc, timeout=60)
        headers = {"Authorization": f"Bearer {token or peal.admin_token}", "Accept": "text/event-stream"}
        self.connection.request("GET", f"/peal/v1/apps/{app}/messages/{message}/events", headers=headers)
        self.answer = self.connection.getresponse()

    def event(self):
        """The next event's name and data; None at the end of the stream."""
        name = data = None
        while line := self.answer.readline().decode():
            if line.startswith("event: "):
                name = line[7:].strip()
            if line.startswith("data: "):
                data = json.loads(line[6:])
            if line == "\n" and name:
                return name, data
        return None

    def close(self):
        self.connection.close()


def waiting_message(peal, app):
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    return peal.send(app, schedule={"at": at})


def test_a_stream_begins_at_once_follows_changes_and_ends(serve):
    peal = serve()
    app = peal.app()
    message = waiting_message(peal, app)
    stream = Stream(peal, app, message)
    assert stream.answer.status == 200
    assert stream.answer.headers["Content-Type"].startswith("text/event-stream")
    name, data = stream.event()
    assert (name, data["state"], data["rate"]) == ("progress", "scheduled", 0)
    assert set(data["counts"]) == {"accepted", "rejected", "retired", "expired", "suppressed", "pending"}
    peal.post(f"/apps/{app}/messages/{message}/cancel")
    assert stream.event()[1]["state"] == "cancelled"
    name, data = stream.event()
    assert (name, data["state"]) == ("end", "cancelled")
    assert data["request"]["audience"] == {"all": True}
    assert stream.event() is None
    stream.close()


def test_a_stream_ends_with_its_key(serve):
    peal = serve()
    app = peal.app()
    message = waiting_message(peal, app)
    key = peal.post(f"/apps/{app}/keys", {"dialect": "native", "scopes": ["read"]})
    stream = Stream(peal, app, message, key["token"])
    assert stream.event()[1]["state"] == "scheduled"
    peal.delete(f"/apps/{app}/keys/{key['id']}")
    begun = time.monotonic()
    assert stream.event() is None and time.monotonic() - begun < 15
    stream.close()


def test_clients_that_disconnect_make_room_for_others(serve):
    peal = serve()
    app = peal.app()
    message = waiting_message(peal, app)
    streams = [Stream(peal, app, message) for _ in range(32)]
    assert [stream.answer.status for stream in streams] == [200] * 32
    surplus = Stream(peal, app, message)
    assert surplus.answer.status == 429 and surplus.answer.headers["Retry-After"]
    for stream in streams:
        stream.close()
        stream.answer.close()

    def admitted():
        one = Stream(peal, app, message)
        status = one.answer.status
        one.close()
        return status == 200

    wait_until(admitted, failure=lambda: "no room after the others have left")


@pytest.mark.parametrize("arguments", [[], ["--paused"]], ids=["running", "paused"])
def test_a_stop_ends_streams_at_once(serve, arguments):
    peal = serve()
    app = peal.app()
    message = waiting_message(peal, app)
    peal.stop()
    peal.arguments = arguments
    peal.start()
    streams = [Stream(peal, app, message) for _ in range(5)]
    for stream in streams:
        assert stream.event()[0] == "progress"
    began = time.monotonic()
    assert peal.stop() == 0
    # Otherwise it would wait 20 seconds for them.
    assert time.monotonic() - began < 15
    for stream in streams:
        # Streams end as they do otherwise: nothing is cut off.
        assert stream.event() is None


def test_a_stop_ends_streams_although_requests_to_a_push_network_are_not_answered(simulate, serve):
    """While the server waits for answers, its streams have ended already."""
    simulator = simulate()
    peal = serve(simulator.environment)
    app = peal.app(bundle_id=simulator.description["apns"]["bundle_id"])
    peal.connect(app, simulator, "apns/production")
    peal.phones(app, 3)
    rules = "rules:\n  - match: {provider: apns, every: 1}\n    delay_ms: 10000\n"
    assert simulator.control("POST", "/script", rules)[0] == 200
    stream = Stream(peal, app, peal.send(app))
    assert stream.event()[1]["state"] == "sending"
    wait_until(lambda: simulator.summary()["received"] >= 1)
    began = time.monotonic()
    peal.process.terminate()
    while stream.event() is not None:
        pass
    ended = time.monotonic() - began
    assert peal.stop() == 0
    assert time.monotonic() - began > ended + 1, "nothing was under way when the server was stopped"


@pytest.mark.parametrize("step", ["minute", "hour", "day"])
def test_statistics_count_what_was_not_sent(serve, step):
    peal = serve()
    app = peal.app()
    peal.phones(app, 5)
    peal.wait(app, peal.send(app))
    test = {"test": True, "audience": {"users": ["nobody"]}, "content": {"body": "x"}}
    peal.post(f"/apps/{app}/messages", test)
    items = peal.get(f"/apps/{app}/stats", step=step)["items"]
    assert sum(item["suppressed"] for item in items) == 5
    assert sum(item["accepted"] for item in items) == 0
    assert items[-1]["suppressed"] + items[-2]["suppressed"] == 5


def test_bodies_may_be_compressed(serve):
    peal = serve()
    app = peal.app()
    body = {"audience": {"topics": ["nobody"]}, "content": {"title": "x" * 1000}}
    connection = http.client.HTTPConnection(urllib.parse.urlsplit(peal.url).netloc, timeout=60)
    headers = {
        "Authorization": f"Bearer {peal.admin_token}",
        "Content-Type": "application/json",
        "Content-Encoding": "gzip",
    }
    for data, status in [(gzip.compress(json.dumps(body).encode()), 202), (gzip.compress(b" " * 50_000_000), 413)]:
        connection.request("POST", f"/peal/v1/apps/{app}/messages", data, headers)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == status
        if status != 202:
            break
