"""The server's side of one HTTP/2 connection, frame by frame, for scripts.

What the client may not do (windows, stream limit, frame sizes, stream ids, header table) is checked on every connection
and noted in `violations`.
"""

import base64
import collections
import json
import struct
import time

import hpack
from frames import *  # noqa: F403


class Ended(Exception):
    """The client closed the connection."""


class Request:
    """One request: `device` and `id` identify it, `message` is its text."""

    def __init__(self, stream, fields, window):
        self.stream, self.fields, self.window = stream, fields, window
        self.body, self.complete = b"", False
        self.device = fields[":path"].rpartition("/")[2]
        self.id = fields.get("apns-id")

    @property
    def message(self):
        return json.loads(self.body)["aps"]["alert"]["body"] if self.complete else None

    @property
    def key_id(self):
        head = self.fields["authorization"].removeprefix("bearer ").split(".")[0]
        return json.loads(base64.urlsafe_b64decode(head + "=" * (-len(head) % 4)))["kid"]


class Connection:
    """The server's side of one connection, for scripts."""

    def __init__(self, server, plain):
        self.server, self.plain, self.socket = server, plain, plain
        self.open, self.complete = {}, collections.deque()
        self.goaways, self.resets, self.pongs, self.acks, self.pings = [], {}, 0, 0, 0
        self.input, self.has_preface = b"", False
        self.decoder, self.block = hpack.Decoder(), None
        self.window, self.initial_window, self.streams_max, self.frame_max = 65_535, 65_535, 2**31, 16_384
        self.unacknowledged = collections.deque()
        self.last_stream, self.refused_above = 0, None
        self.refills = self.acknowledges = True
        self.scenario, self.first, self.is_over, self.closed = None, None, False, set()

    # Life

    def run(self):
        try:
            script = self.server.accept_script()
            if script:
                script.play(self)
            else:
                self.begin()
            if not self.is_over:
                self.serve()
        except (Ended, OSError):
            pass
        except Exception as error:  # Whatever a script trips over shows in its test
            self.violation(repr(error))
        finally:
            self.end()

    def begin(self, settings=((STREAMS, 1000),), alpn=True):
        """TLS and our SETTINGS."""
        self.secure(alpn)
        self.settings(*settings)

    def secure(self, alpn=True):
        self.plain.settimeout(60)
        self.socket = self.server.context(alpn).wrap_socket(self.plain, server_side=True)

    def serve(self):
        """Answers everything with 200 until the client closes, unless a scenario's script takes over."""
        while True:
            while not self.complete and not (self.first and not self.scenario):
                try:
                    self.read(60)
                except Ended:
                    return
            if not self.scenario:
                self.scenario = self.server.join(self)
                if self.scenario.claims():
                    self.scenario.play(self)
                elif self.scenario.is_alone:
                    self.scenario.finished.wait(60)
                if self.is_over:
                    return
            while self.complete:
                self.answer(self.complete.popleft())
            self.refill()

    def end(self):
        if not self.is_over:
            self.is_over = True
            for request in self.open.values():
                self.lose(request)
        self.plain.close() if self.socket is self.plain else self.socket.close()

    def lose(self, request):
        """The client cannot know whether the request was processed, unless it was refused."""
        if self.scenario and not (self.refused_above is not None and request.stream > self.refused_above):
            self.scenario.lost.add(request.device)

    # Writing

    def send(self, *frames):
        self.socket.settimeout(60)
        self.socket.sendall(b"".join(frames))

    def settings(self, *values, count=1):
        payload = b"".join(struct.pack(">HI", name, value) for name, value in values)
        for _ in range(count):
            self.unacknowledged.append(dict(values))
        self.send(frame(SETTINGS, 0, 0, payload) * count)

    def settled(self, *values):
        """Sends SETTINGS and waits until they are acknowledged."""
        self.settings(*values)
        self.until(lambda: not self.unacknowledged)

    def answer(self, request, *frames):
        """Answers and notes that the device was reached. Without `frames` a plain 200."""
        self.close(request)
        self.processed(request)
        self.send(*(frames or [self.ok(request)]))

    def answers(self, requests, *frames):
        for request in requests:
            self.answer(request, *frames)

    def ok(self, request):
        return frame(HEADERS, END_HEADERS | END_STREAM, request.stream, block(200, ("apns-id", request.id)))

    def close(self, request):
        self.closed.add(request.stream)
        self.open.pop(request.stream, None)

    def processed(self, request):
        self.scenario.note(request)

    def reset(self, request, code, lost=True):
        self.close(request)
        if lost:
            self.lose(request)
        self.send(frame(RST_STREAM, 0, request.stream, number(code)))

    def grant(self, stream, increment):
        if stream == 0:
            self.window += increment
        elif stream in self.open:
            self.open[stream].window += increment
        self.send(frame(WINDOW_UPDATE, 0, stream, number(increment)))

    def goaway(self, last, code=NO_ERROR, reason=None):
        self.refused_above = min(last, WINDOW_MAX if self.refused_above is None else self.refused_above)
        debug = json.dumps({"reason": reason}).encode() if reason else b""
        self.send(frame(GOAWAY, 0, 0, number(last) + number(code) + debug))
        kept = [request for request in self.complete if request.stream <= last]
        self.complete = collections.deque(kept)
        for stream in [stream for stream in self.open if stream > last]:
            self.close(self.open[stream])

    def refill(self):
        """Returns consumed flow-control credit."""
        if not self.refills:
            return
        if self.window < 40_000:
            self.grant(0, 65_535 - self.window)
        for request in list(self.open.values()):
            if not request.complete and request.window < 1000:
                self.grant(request.stream, 60_000)

    # Reading

    def take(self, count=1, seconds=60):
        """The next complete requests."""
        self.until(lambda: len(self.complete) >= count, seconds)
        return [self.complete.popleft() for _ in range(count)]

    def until(self, condition, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise AssertionError(f"the client did not do this: {condition.__code__.co_names}")
            self.read(0.2)

    def idle(self, seconds=0.3):
        """Reads what arrives in this time."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.read(0.05)

    def until_closed(self, seconds=60):
        """Waits until the client closes."""
        try:
            self.until(lambda: False, seconds)
        except (Ended, OSError):
            self.complete.clear()

    def expect_goaway(self, code):
        self.until_closed()
        if not self.goaways or self.goaways[-1] != code:
            self.violation(f"expected GOAWAY {code}, not {self.goaways}")

    def read(self, seconds):
        self.socket.settimeout(seconds)
        try:
            data = self.socket.recv(65_536)
        except TimeoutError:
            return
        if not data:
            raise Ended
        self.input += data
        if not self.has_preface and len(self.input) >= len(PREFACE):
            self.demand(self.input.startswith(PREFACE), "preface")
            self.input, self.has_preface = self.input[len(PREFACE) :], True
        offset = 0
        while self.has_preface and len(self.input) - offset >= 9:
            length = int.from_bytes(self.input[offset : offset + 3], "big")
            if len(self.input) - offset < 9 + length:
                break
            kind, flags, stream = struct.unpack(">BBI", self.input[offset + 3 : offset + 9])
            payload = self.input[offset + 9 : offset + 9 + length]
            offset += 9 + length
            self.demand(length <= self.frame_max, f"frame of {length}")
            self.received(kind, flags, stream, payload)
        self.input = self.input[offset:]

    def received(self, kind, flags, stream, payload):
        self.demand((kind == CONTINUATION) == (self.block is not None), "header block interrupted")
        if kind == HEADERS:
            self.demand(stream % 2 == 1 and stream > self.last_stream, f"stream {stream} after {self.last_stream}")
            self.demand(not flags & PRIORITIZED, "priority")
            self.last_stream = stream
            self.block = payload
        elif kind == CONTINUATION:
            self.block += payload
        elif kind == DATA:
            self.received_data(flags, stream, payload)
        elif kind == SETTINGS and flags & ACK:
            self.acks += 1
            self.apply(self.unacknowledged.popleft() if self.unacknowledged else {})
        elif kind == SETTINGS:
            if self.acknowledges:
                self.send(frame(SETTINGS, ACK))
        elif kind == PING:
            self.pongs, self.pings = self.pongs + (flags & ACK), self.pings + (not flags & ACK)
            if not flags & ACK and self.acknowledges:
                self.send(frame(PING, ACK, 0, payload))
        elif kind == GOAWAY:
            self.goaways.append(int.from_bytes(payload[4:8], "big"))
        elif kind == RST_STREAM:
            self.received_reset(stream, int.from_bytes(payload, "big"))
        else:
            self.demand(kind == WINDOW_UPDATE, f"frame of kind {kind}")
        if kind in (HEADERS, CONTINUATION) and flags & END_HEADERS:
            self.received_block(stream)

    def received_block(self, stream):
        fields = {name: value for name, value in self.decoder.decode(self.block)}
        self.block = None
        request = Request(stream, fields, self.initial_window)
        self.first = self.first or request
        if self.refused_above is not None and stream > self.refused_above:
            self.closed.add(stream)
            return
        self.open[stream] = request
        self.demand(len(self.open) <= self.streams_max, f"{len(self.open)} streams of {self.streams_max}")

    def received_data(self, flags, stream, payload):
        self.window -= len(payload)
        self.demand(self.window >= 0, f"connection window {self.window}")
        request = self.open.get(stream)
        if not request:
            return self.demand(stream in self.closed, f"data on stream {stream}")
        request.window -= len(payload)
        self.demand(request.window >= 0 or not payload, f"window {request.window} of stream {stream}")
        request.body += payload
        if flags & END_STREAM:
            request.complete = True
            self.complete.append(request)
        if self.window < 20_000 and self.refills:
            self.refill()

    def received_reset(self, stream, code):
        self.resets[stream] = code
        request = self.open.get(stream)
        if request:
            self.lose(request)
            self.close(request)
            if request in self.complete:
                self.complete.remove(request)

    def apply(self, values):
        """Settings apply to the client from its acknowledgement on."""
        change = values.get(WINDOW, self.initial_window) - self.initial_window
        self.initial_window += change
        for request in self.open.values():
            request.window += change
        self.streams_max = values.get(STREAMS, self.streams_max)
        self.frame_max = values.get(FRAME, self.frame_max)
        if TABLE in values:
            self.decoder.max_allowed_table_size = values[TABLE]

    def demand(self, holds, what):
        if not holds:
            self.violation(what)

    def violation(self, what):
        self.server.violations.append(f"{self.scenario.name if self.scenario else '?'}: {what}")
