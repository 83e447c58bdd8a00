"""Errors that must end a connection, and connections that end or fail by themselves."""

import contextlib
import socket
import struct
import time

from frames import *  # noqa: F403
from scenarios import AMBIGUOUS, POISONED, early, headers, poison, scenario, setting, start, window_update


# What must end the connection

poison("4.2 a frame larger than allowed", FRAME_SIZE_ERROR, lambda s: frame(DATA, 0, s, bytes(16_385)))
poison("6.1 DATA on stream 0", PROTOCOL_ERROR, frame(DATA, 0, 0, b"x"))
poison("6.1 more padding than payload", PROTOCOL_ERROR, lambda s: frame(DATA, PADDED, s, b"\x05x"))
poison("6.2 HEADERS on stream 0", PROTOCOL_ERROR, headers(0))
poison("6.3 PRIORITY of another size", FRAME_SIZE_ERROR, lambda s: frame(PRIORITY, 0, s, b"x"))
poison("6.4 RST_STREAM on stream 0", PROTOCOL_ERROR, frame(RST_STREAM, 0, 0, number(8)))
poison("6.4 RST_STREAM of another size", FRAME_SIZE_ERROR, lambda s: frame(RST_STREAM, 0, s, b"x"))
poison("6.5 SETTINGS on a stream", PROTOCOL_ERROR, lambda s: frame(SETTINGS, 0, s))
poison("6.5 SETTINGS cut short", FRAME_SIZE_ERROR, frame(SETTINGS, 0, 0, b"\0\x03\0"))
poison("6.5 an acknowledgement with a payload", FRAME_SIZE_ERROR, frame(SETTINGS, ACK, 0, b"\0\x03\0\0\0\1"))
poison("6.5.2 ENABLE_PUSH from a server", PROTOCOL_ERROR, setting(2, 1))
poison("6.5.2 INITIAL_WINDOW_SIZE beyond the limit", FLOW_CONTROL_ERROR, setting(WINDOW, 2**31))
poison("6.9.2 INITIAL_WINDOW_SIZE lifts a stream beyond the limit", FLOW_CONTROL_ERROR,
       lambda s: window_update(s, 2**31 - 70_000), setting(WINDOW, 2**30))  # fmt: skip
poison("6.5.2 MAX_FRAME_SIZE below the least", PROTOCOL_ERROR, setting(FRAME, 16_383))
poison("6.5 a flood of SETTINGS", ENHANCE_YOUR_CALM, frame(SETTINGS) * 12_000)
poison("6.6 PUSH_PROMISE", PROTOCOL_ERROR, lambda s: frame(PUSH_PROMISE, END_HEADERS, s, number(2) + block()))
poison("6.7 PING on a stream", PROTOCOL_ERROR, lambda s: frame(PING, 0, s, bytes(8)))
poison("6.7 PING of another size", FRAME_SIZE_ERROR, frame(PING, 0, 0, bytes(7)))
poison("6.7 a flood of PINGs", ENHANCE_YOUR_CALM, frame(PING, 0, 0, bytes(8)) * 12_000)
poison("6.9 a flood of WINDOW_UPDATEs", ENHANCE_YOUR_CALM, window_update(0, 1) * 12_000)
poison("5.3.2 a flood of PRIORITYs", ENHANCE_YOUR_CALM, lambda s: frame(PRIORITY, 0, s, number(0) + b"\x10") * 12_000)
poison("8.1 informational answers without end", ENHANCE_YOUR_CALM,
       lambda s: headers(s, block(103), END_HEADERS) * 12_000)  # fmt: skip
poison("6.8 GOAWAY on a stream", PROTOCOL_ERROR, lambda s: frame(GOAWAY, 0, s, bytes(8)))
poison("6.9 WINDOW_UPDATE of 0 on the connection", PROTOCOL_ERROR, window_update(0, 0))
poison("6.9.1 WINDOW_UPDATE beyond the connection's limit", FLOW_CONTROL_ERROR, window_update(0, WINDOW_MAX))
poison("6.10 CONTINUATION of nothing", PROTOCOL_ERROR, lambda s: frame(CONTINUATION, END_HEADERS, s, block()))
poison("6.10 a header block interrupted", PROTOCOL_ERROR, lambda s: headers(s, flags=0), frame(PING, 0, 0, bytes(8)))
poison("6.10 a header block without end", ENHANCE_YOUR_CALM,
       lambda s: headers(s, b"", 0), lambda s: frame(CONTINUATION, 0, s, b"a" * 1000) * 80)  # fmt: skip
poison("6.10 empty CONTINUATION frames without end", ENHANCE_YOUR_CALM,
       lambda s: headers(s, b"", 0), lambda s: frame(CONTINUATION, 0, s) * 12_000)  # fmt: skip
poison("5.1 HEADERS on an idle stream", PROTOCOL_ERROR, headers(20_001))
poison("5.1 RST_STREAM on an idle stream", PROTOCOL_ERROR, frame(RST_STREAM, 0, 20_001, number(8)))
poison("5.1 WINDOW_UPDATE on an idle stream", PROTOCOL_ERROR, window_update(20_001, 1))
poison("5.1.1 HEADERS on an even stream", PROTOCOL_ERROR, headers(2))
poison("RFC 7541 2.3.3 an index outside the tables", COMPRESSION_ERROR, lambda s: headers(s, b"\xff\xff\x7f"))
poison("RFC 7541 4.2 a table larger than ours", COMPRESSION_ERROR, lambda s: headers(s, b"\x3f\xff\xff\x03\x88"))
poison("RFC 7541 5.2 Huffman with wrong padding", COMPRESSION_ERROR, lambda s: headers(s, b"\x08\x81\x00"))
poison("RFC 7541 6.1 a block cut within a string", COMPRESSION_ERROR, lambda s: headers(s, b"\x88\x00\x01a\x7f"))
poison("RFC 7541 7.3 a long field repeated by references", COMPRESSION_ERROR,
       lambda s: headers(s, b"\x88\x40\x01a\x7f\xa1\x1e" + b"a" * 4000 + b"\xbe" * 10_000))  # fmt: skip
poison("garbage between frames", FRAME_SIZE_ERROR, b"HTTP/1.1 400 Bad Request\r\n\r\n")


# Connections that just end


@scenario("RFC 8446 6.1 an end without close_notify", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.answers(batch[:10])
    c.plain = socket.socket(fileno=c.socket.detach())
    c.socket = c.plain
    c.socket.shutdown(socket.SHUT_WR)
    c.until_closed()


@scenario("a TCP reset", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.answers(batch[:10])
    c.idle()
    c.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.end()


@scenario("a frame cut short by the end", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.answers(batch[:10])
    c.send(frame(HEADERS, END_HEADERS | END_STREAM, batch[10].stream, bytes(40))[:20])
    with contextlib.suppress(OSError):
        c.plain = c.socket = c.socket.unwrap()
    c.end()


@scenario("silence in the middle: the connection is replaced", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.answers(batch[:10])
    # Longer than the client waits for a stalled connection. It closes when its requests have timed out.
    time.sleep(12)
    c.until_closed()


@scenario("requests that are never answered, on a connection that lives", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.answers(batch[3:])
    c.scenario.lost |= {request.device for request in batch[:3]}


# From the first byte on


@early("3.4 garbage instead of the server's preface", POISONED)
def _(c):
    c.secure()
    c.send(b"\x16\x03\x01garbage garbage garbage")
    c.until_closed()


@early("3.4 the first frame is not SETTINGS", POISONED)
def _(c):
    c.secure()
    c.send(frame(PING, 0, 0, bytes(8)))
    c.expect_goaway(PROTOCOL_ERROR)


@early("3.2 an answer of HTTP/1.1", POISONED)
def _(c):
    c.secure()
    c.send(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")
    c.until_closed()


@early("3.2 HTTP/2 without ALPN")
def _(c):
    c.begin(alpn=False)


@early("an end right after the handshake")
def _(c):
    c.secure()
    c.end()


@early("a TCP reset instead of TLS")
def _(c):
    c.plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    c.end()


@early("6.8 GOAWAY before any request")
def _(c):
    c.begin()
    c.goaway(0, reason="Shutdown")
    c.until_closed()


@early("6.5.2 MAX_CONCURRENT_STREAMS of 0 at first")
def _(c):
    c.begin(((STREAMS, 0),))
    c.idle()
    c.settings((STREAMS, 10))


@early("6.5.3 our SETTINGS and PINGs are never acknowledged")
def _(c):
    c.acknowledges = False
    c.begin()


@early("6.5.2 MAX_CONCURRENT_STREAMS of 0 for ever: the connection is replaced")
def _(c):
    c.begin(((STREAMS, 0),))
    c.until_closed()


@early("silence instead of SETTINGS: the connection is replaced")
def _(c):
    c.secure()
    c.until_closed()


@early("silence instead of TLS: the connection is replaced")
def _(c):
    c.plain.settimeout(60)
    while c.plain.recv(65_536):
        pass
