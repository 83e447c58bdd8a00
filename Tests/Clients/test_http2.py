"""What APNs does at the level of HTTP/2, read with the h2 library."""

import json
import signal
import socket
import ssl
import urllib.parse

import h2.connection
import h2.events
import h2.settings
import pytest
from test_commands import provider_token

DEVICE = "c0" * 32
STREAMS = h2.settings.SettingCodes.MAX_CONCURRENT_STREAMS


class Connection:
    """A connection that records everything the simulator sends."""

    def __init__(self, simulator):
        address = urllib.parse.urlsplit(simulator.description["apns_url"])
        context = ssl.create_default_context(cafile=simulator.ca_file)
        context.set_alpn_protocols(["h2"])
        plain = socket.create_connection((address.hostname, address.port), timeout=10)
        self.socket = context.wrap_socket(plain, server_hostname=address.hostname)
        self.h2 = h2.connection.H2Connection()
        self.h2.initiate_connection()
        self.events = []
        self.simulator = simulator
        self.authorization = f"bearer {provider_token(simulator)}"
        self.flush()

    def flush(self):
        self.socket.sendall(self.h2.data_to_send())

    def request(self, stream, body=b'{"aps":{"alert":"Hi"}}', device=DEVICE, **extra):
        headers = [
            (":method", "POST"),
            (":scheme", "https"),
            (":authority", "localhost"),
            (":path", f"/3/device/{device}"),
            ("authorization", self.authorization),
            ("apns-topic", self.simulator.description["apns"]["bundle_id"]),
            ("apns-push-type", "alert"),
            *extra.items(),
        ]
        while self.h2.open_outbound_streams >= self.h2.remote_settings.max_concurrent_streams:
            self.read()
        self.h2.send_headers(stream, headers)
        self.h2.send_data(stream, body, end_stream=True)
        self.flush()

    def read(self):
        data = self.socket.recv(65_536)
        assert data, "the connection has ended"
        self.events += self.h2.receive_data(data)
        self.flush()

    def wait(self, kind, stream=None):
        """The next event of `kind` (on `stream`)."""
        while True:
            for event in self.events:
                if isinstance(event, kind) and stream in (None, getattr(event, "stream_id", None)):
                    self.events.remove(event)
                    return event
            self.read()

    def status(self, stream):
        return dict(self.wait(h2.events.ResponseReceived, stream).headers)[b":status"].decode()

    def limit(self):
        return self.wait(h2.events.RemoteSettingsChanged).changed_settings[STREAMS].new_value


def test_one_stream_until_a_good_provider_token_came(simulate):
    connection = Connection(simulate())
    assert connection.limit() == 1
    connection.request(1)
    assert connection.status(1) == "200"
    assert connection.limit() == 1_000


def test_an_answer_of_the_sandbox_has_its_own_id(simulate):
    simulator = simulate()
    simulator.description["apns_url"] = simulator.description["apns_sandbox_url"]
    connection = Connection(simulator)
    connection.request(1)
    headers = dict(connection.wait(h2.events.ResponseReceived).headers)
    assert len(headers[b"apns-unique-id"]) == 36


def test_the_end_is_announced_with_a_reason(either_mode):
    connection = Connection(either_mode)
    connection.request(1)
    assert connection.status(1) == "200"
    either_mode.process.send_signal(signal.SIGTERM)
    farewell = connection.wait(h2.events.ConnectionTerminated)
    assert (farewell.error_code, farewell.last_stream_id) == (0, 1)
    assert json.loads(farewell.additional_data) == {"reason": "Shutdown"}
    assert either_mode.stop() == 0


@pytest.mark.parametrize(
    "rule, event, field, value",
    [
        ("action: reset, code: 2", h2.events.StreamReset, "error_code", 2),
        ("action: refuse", h2.events.StreamReset, "error_code", 7),
        ("action: goaway, reason: IdleTimeout", h2.events.ConnectionTerminated, "last_stream_id", 1),
    ],
)
def test_faults_on_the_wire(either_mode, rule, event, field, value):
    status, _ = either_mode.control("POST", "/script", f"rules: [{{match: {{nth: 2}}, {rule}}}]")
    assert status == 200
    connection = Connection(either_mode)
    connection.request(1)
    assert connection.status(1) == "200"
    connection.request(3)
    assert getattr(connection.wait(event), field) == value
    summary = either_mode.summary()
    assert (summary["received"], summary["accepted"], sum(summary["disturbed"].values())) == (2, 1, 1)


def test_a_late_answer_does_not_delay_others(either_mode):
    slow = "5a" * 32
    either_mode.fault(slow, {"delay_ms": 300, "status": 500, "reason": "InternalServerError"})
    connection = Connection(either_mode)
    connection.request(1)
    assert connection.status(1) == "200"
    connection.request(3, device=slow)
    connection.request(5)
    first = connection.wait(h2.events.ResponseReceived)
    assert first.stream_id == 5
    assert connection.status(3) == "500"


def test_a_fault_may_lower_the_stream_limit(either_mode):
    either_mode.fault(DEVICE, {"action": "stream_limit", "streams": 7, "times": 1})
    connection = Connection(either_mode)
    connection.request(1)
    while connection.limit() != 7:
        pass
    assert connection.status(1) == "200"


def test_too_many_errors_end_a_connection(simulate):
    connection = Connection(simulate("--errors-per-connection-max", "3"))
    for stream, expected in [(1, "200"), (3, "400"), (5, "400")]:
        connection.request(stream, device=DEVICE if expected == "200" else "abc")
        assert connection.status(stream) == expected
    farewell = connection.wait(h2.events.ConnectionTerminated)
    assert (farewell.error_code, farewell.last_stream_id) == (0, 5)


def test_a_refusal_may_close_the_streams_until_the_next_success(simulate):
    connection = Connection(simulate("--stream-limit-after-refusal"))
    connection.request(1)
    assert [connection.limit(), connection.status(1), connection.limit()] == [1, "200", 1_000]
    connection.request(3, device="abc")
    assert (connection.status(3), connection.limit()) == ("400", 1)
    connection.request(5)
    assert (connection.status(5), connection.limit()) == ("200", 1_000)


def test_the_control_interface_names_wrong_fields(simulate):
    simulator = simulate()
    for method, path, body, status, field in [
        ("GET", "/nothing", None, 404, "no such path"),
        ("GET", "/inbox?limit=0", None, 400, "limit"),
        ("PUT", "/faults/devices/" + "x" * 4_097, {"status": 410}, 400, "device"),
        ("PUT", "/devices/xyz", {}, 400, "device"),
        ("PUT", f"/faults/devices/{DEVICE}", {"status": 1}, 400, "status"),
        ("PUT", f"/faults/devices/{DEVICE}", {"stats": 410}, 400, "stats"),
        ("PUT", f"/faults/devices/{DEVICE}", "{", 400, "body"),
        ("PUT", f"/devices/{DEVICE}", {"environment": "moon"}, 400, "environment"),
        ("PUT", "/keys/K", {"team_id": "T", "public_key": "x", "bundle_ids": []}, 400, "public_key"),
        ("DELETE", f"/faults/devices/{DEVICE}", None, 404, "not found"),
        ("GET", "/inbox?provider=pigeon", None, 400, "provider"),
        ("PUT", "/channels?uri=x", {"state": "odd"}, 400, "state"),
        ("PUT", "/channels", {"state": "expired"}, 400, "uri"),
        ("DELETE", "/channels?uri=x", None, 404, "not found"),
        ("POST", "/webpush/subscriptions", {"application_server_key": "AAAA"}, 400, "application_server_key"),
        ("DELETE", "/webpush/subscriptions?endpoint=x", None, 404, "not found"),
        ("DELETE", "/access-tokens?provider=x", None, 400, "provider"),
        ("POST", "/script", "rules: 5", 400, "rules"),
        ("POST", "/script", "x" * (1 << 20) + "y", 413, "body"),
    ]:
        got, answer = simulator.control(method, path, body)
        assert (got, answer["error"].startswith(field)) == (status, True), (path, answer)
