"""What RFC 9113 and 7541 allow servers, and faults of single streams.

Each scenario is a few lines that a server plays on one connection, named after the clause that it is about.
"""

import hpack
from frames import *  # noqa: F403
from scenarios import AMBIGUOUS, headers, scenario, start, window_update


# Going away


@scenario("6.8 GOAWAY in the middle")
def _(c):
    batch = start(c)
    c.goaway(batch[9].stream)
    c.answers(batch[:10])
    c.until_closed()


@scenario("6.8 GOAWAY in two steps")
def _(c):
    batch = start(c)
    c.goaway(WINDOW_MAX)
    c.answers(batch[:5])
    c.idle()
    c.goaway(batch[14].stream)
    c.answers(batch[5:15])
    c.until_closed()


@scenario("6.8 GOAWAY with APNs' reason")
def _(c):
    batch = start(c)
    c.answers(batch[:10])
    c.goaway(batch[9].stream, reason="IdleTimeout")
    c.until_closed()


@scenario("6.8 GOAWAY that says nothing was processed")
def _(c):
    start(c)
    c.goaway(c.first.stream, ENHANCE_YOUR_CALM)
    c.until_closed()


@scenario("6.8 GOAWAY again and again, its id falling and rising")
def _(c):
    batch = start(c)
    for index in (19, 12, 15, 9):
        c.goaway(batch[index].stream)
    c.answers(batch[:10])
    c.until_closed()


@scenario("6.8 GOAWAY, but some below its id are never answered", AMBIGUOUS)
def _(c):
    batch = start(c)
    c.goaway(batch[9].stream)
    c.answers(batch[:5])


# Settings


@scenario("6.5.2 MAX_CONCURRENT_STREAMS falls to 1 and rises again", is_alone=True)
def _(c):
    batch = start(c)
    c.settled((STREAMS, 1))
    c.answers(batch)
    for _ in range(3):
        c.answers(c.take(1))
    c.settled((STREAMS, 50))


@scenario("6.5.2 MAX_CONCURRENT_STREAMS falls to 0 and rises again", is_alone=True)
def _(c):
    batch = start(c)
    c.settled((STREAMS, 0))
    c.answers(batch)
    c.idle()
    c.settled((STREAMS, 50))


@scenario("6.9.2 INITIAL_WINDOW_SIZE shrinks below what is used")
def _(c):
    c.refills = False
    c.settled((STREAMS, 11), (WINDOW, 30))
    c.answers(c.take(1))
    c.until(lambda: len(c.open) == 10)
    c.settled((WINDOW, 10))
    for stream in list(c.open):
        c.grant(stream, 15)
    c.idle()
    for stream in list(c.open):
        c.grant(stream, 1000)
    c.settled((WINDOW, 65_535))
    c.refills = True


@scenario("6.9.2 INITIAL_WINDOW_SIZE from 0 to the most")
def _(c):
    c.refills = False
    c.settled((STREAMS, 11), (WINDOW, 0))
    c.answers(c.take(1))
    c.until(lambda: len(c.open) == 10)
    c.idle()
    c.settled((WINDOW, WINDOW_MAX))
    c.refills = True


@scenario("6.5.2 HEADER_TABLE_SIZE 0, small, and back", is_alone=True)
def _(c):
    batch = start(c)
    for size in (0, 64, 4096, 200, 65_536, 0, 4096):
        c.settled((TABLE, size))
        c.answers(batch)
        batch = c.take(10)
    c.settled((TABLE, 0))
    c.settled((TABLE, 4096))
    c.answers(batch)


@scenario("6.5.2 MAX_FRAME_SIZE raised to the most and lowered", body_bytes=3500)
def _(c):
    c.settled((FRAME, 2**24 - 1))
    c.answers(start(c))
    c.settled((FRAME, 16_384))


@scenario("6.5.2 unknown settings, extended CONNECT, and one setting many times")
def _(c):
    c.settled((0xABCD, 7), (8, 1), (9, 1), (6, 0), *[(STREAMS, count) for count in range(1, 100)])
    c.answers(start(c))


@scenario("6.5 thousands of SETTINGS are all acknowledged")
def _(c):
    batch = start(c)
    acks = c.acks
    c.settings((STREAMS, 20), count=3000)
    c.until(lambda: c.acks - acks == 3000)
    c.answers(batch)


# Answers


@scenario("6.10 header blocks split byte by byte, empty frames between")
def _(c):
    for request in start(c):
        fields = block(200, ("apns-id", request.id))
        parts = [fields[index : index + 1] for index in range(len(fields))] + [b""]
        frames = [frame(HEADERS, END_STREAM, request.stream)]
        frames += [frame(CONTINUATION, 0, request.stream, part) for part in parts]
        c.answer(request, *frames, frame(CONTINUATION, END_HEADERS, request.stream))


@scenario("6.2 padding and priority on HEADERS")
def _(c):
    for count, request in enumerate(start(c)):
        content = b"\0\0\0\0\x10" + block()
        payload = bytes([count * 12]) + content + bytes(count * 12)
        c.answer(request, headers(request.stream, payload, END_HEADERS | END_STREAM | PADDED | PRIORITIZED))


@scenario("RFC 7541 4.2 answers that change the table's size")
def _(c):
    updates = [b"\x20", b"\x3f\xe1\x1f", b"\x20\x3f\xe1\x1f", b"\x3e", b"\x20\x3f\x03"]
    for count, request in enumerate(start(c)):
        # The entry has 34 bytes: it is in the table if that is large enough.
        fields = updates[count % 5] + b"\x88\x40\x01a\x01b" + b"\xbe" * (count % 5 in (1, 2, 4))
        c.answer(request, headers(request.stream, fields))


@scenario("RFC 7541 answers with Huffman strings and indexed fields")
def _(c):
    encoder = hpack.Encoder()
    for count, request in enumerate(start(c)):
        fields = [(":status", "200"), ("apns-id", request.id), ("server", "torture"), ("x", "y" * count * 40)]
        c.answer(request, headers(request.stream, encoder.encode(fields, huffman=True)))


@scenario("8.1 informational answers before the final one")
def _(c):
    for request in start(c):
        first = [headers(request.stream, block(status), END_HEADERS) for status in (100, 103, 103, 199)]
        c.answer(request, *first, c.ok(request))


@scenario("8.1 trailers")
def _(c):
    for request in start(c):
        trailers = headers(request.stream, b"\x00\x01t\x01u")
        c.answer(request, headers(request.stream, flags=END_HEADERS), frame(DATA, 0, request.stream, b"x"), trailers)


@scenario("6.1 bodies of many small padded frames, also empty ones")
def _(c):
    for request in start(c):
        small = frame(DATA, PADDED, request.stream, b"\x03x\0\0\0") + frame(DATA, 0, request.stream)
        end = frame(DATA, END_STREAM, request.stream)
        c.answer(request, headers(request.stream, flags=END_HEADERS), small * 40, end)


@scenario("6.9 a body of 200 larger than the stream's window")
def _(c):
    request, *others = start(c, 5)
    c.answers(others)
    c.answer(request, headers(request.stream, flags=END_HEADERS), frame(DATA, 0, request.stream, bytes(16_000)) * 4)
    c.until(lambda: request.stream in c.resets)


@scenario("6.9 the body of an error larger than the stream's window")
def _(c):
    batch = start(c, 5)
    c.answers(batch[1:])
    refused = batch[0]
    text = b'{"reason":"Unregistered","timestamp":4000000000000}'
    body = frame(DATA, 0, refused.stream, text.ljust(16_000))
    c.answer(refused, headers(refused.stream, block(410), END_HEADERS), body * 4)
    c.scenario.retired = {refused.device}
    c.until(lambda: refused.stream in c.resets)


@scenario("8.1 answers before the request's body, and a reset with NO_ERROR")
def _(c):
    c.refills = False
    c.settled((STREAMS, 11), (WINDOW, 20))
    c.answers(c.take(1))
    c.until(lambda: len(c.open) == 10)
    for request in list(c.open.values()):
        request.body = b'{"aps":{"alert":{"body":"first"}}}'
        request.complete = True
        c.answer(request)
        c.send(frame(RST_STREAM, 0, request.stream, number(NO_ERROR)))
    c.refills = True
    c.settled((WINDOW, 65_535))


@scenario("every byte by itself")
def _(c):
    for request in start(c, 5):
        c.close(request)
        c.processed(request)
        for byte in c.ok(request):
            c.send(bytes([byte]))


# Windows


@scenario("6.9 a stream window of one byte")
def _(c):
    c.refills = False
    c.settled((STREAMS, 11), (WINDOW, 1))
    c.answers(c.take(1))
    c.until(lambda: len(c.open) == 10)

    def granted():
        for request in list(c.open.values()):
            if not request.complete and request.window == 0:
                c.grant(request.stream, 1)
        return len(c.complete) >= 10

    c.until(granted, 120)
    c.answers([c.complete.popleft() for _ in range(10)])
    c.settled((WINDOW, 65_535))
    c.refills = True


@scenario("6.9 a connection window without updates until little is left", body_bytes=3500, is_alone=True)
def _(c):
    c.refills = False
    c.answers(c.take(1))
    c.until(lambda: c.window < 12_000)
    c.idle()
    for _ in range(30):
        c.grant(0, 1000)
        c.idle(0.01)
    c.grant(0, WINDOW_MAX - c.window)
    c.refills = True


@scenario("6.9.1 WINDOW_UPDATE to the limit, and after the stream's end")
def _(c):
    batch = start(c)
    c.grant(0, WINDOW_MAX - c.window)
    for request in batch:
        c.grant(request.stream, WINDOW_MAX - request.window)
        c.answer(request)
        c.grant(request.stream, 1)


def stream_fault(name, code, *frames):
    """A table row: faults of one stream end only that one; the client resets it with `code`."""

    def script(c):
        batch = start(c)
        wronged = batch[:3]
        for request in wronged:
            c.lose(request)
            c.send(*(each(request.stream) for each in frames))
        c.answers(batch[3:])
        c.until(lambda: all(request.stream in c.resets for request in wronged))
        c.demand({c.resets[request.stream] for request in wronged} == {code}, f"{c.resets}")

    scenario(name, AMBIGUOUS)(script)


stream_fault("6.9.1 WINDOW_UPDATE beyond a stream's limit", FLOW_CONTROL_ERROR, lambda s: window_update(s, WINDOW_MAX))
stream_fault("6.9 WINDOW_UPDATE of 0 on a stream", PROTOCOL_ERROR, lambda s: window_update(s, 0))
stream_fault("8.1 DATA before HEADERS", PROTOCOL_ERROR, lambda s: frame(DATA, END_STREAM, s, b"x"))
stream_fault("8.3.2 an answer without status", PROTOCOL_ERROR, lambda s: headers(s, b"\x00\x01a\x01b"))
stream_fault("8.3.2 a status that is no number", PROTOCOL_ERROR, lambda s: headers(s, b"\x08\x032x0"))
stream_fault("8.3.2 an empty status", PROTOCOL_ERROR, lambda s: headers(s, b"\x08\x00"))
stream_fault("8.3.2 a status below 100", PROTOCOL_ERROR, lambda s: headers(s, b"\x08\x03099"))
stream_fault("8.1 an informational answer that ends the stream", PROTOCOL_ERROR, lambda s: headers(s, block(103)))


# Resets and surprises


@scenario("7 RST_STREAM of every code instead of an answer", AMBIGUOUS)
def _(c):
    batch = start(c)
    codes = [*range(14), 0xDEADBEEF]
    for code, request in zip(codes, batch):
        c.reset(request, code, lost=code != REFUSED_STREAM)
    c.answers(batch[len(codes) :])


@scenario("8.7 RST_STREAM with REFUSED_STREAM: sent again at once")
def _(c):
    batch = start(c)
    for request in batch[::2]:
        c.reset(request, REFUSED_STREAM, lost=False)
    c.answers(batch[1::2])


@scenario("5.4.2 RST_STREAM of every code after the status")
def _(c):
    for code, request in enumerate(start(c, 15)):
        reset = frame(RST_STREAM, 0, request.stream, number(code))
        c.answer(request, headers(request.stream, flags=END_HEADERS), reset)


@scenario("5.4.2 RST_STREAM of every code after the answer")
def _(c):
    for code, request in enumerate(start(c, 15)):
        c.answer(request, c.ok(request), frame(RST_STREAM, 0, request.stream, number(code)) * 2)


@scenario("5.1 HEADERS, DATA, WINDOW_UPDATE and PRIORITY after END_STREAM")
def _(c):
    for request in start(c):
        late = [c.ok(request), headers(request.stream, block(503)), frame(DATA, END_STREAM, request.stream, b"x")]
        priority = frame(PRIORITY, 0, request.stream, b"\0\0\0\0\x01")
        c.answer(request, *late, window_update(request.stream, 1), priority)


@scenario("5.3.2, 5.5 PRIORITY, unknown frames, ALTSVC and ORIGIN anywhere")
def _(c):
    batch = start(c)
    strange = [frame(kind, 0xFF, stream, b"abc") for kind in (0xA, 0xC, 0x10, 0x77, 0xFF) for stream in (0, 1, 2, 999)]
    priorities = [frame(PRIORITY, 0, stream, b"\0\0\0\0\x01") for stream in (1, 2, batch[0].stream, 2**31 - 1)]
    for request in batch:
        c.answer(request, *strange, *priorities, c.ok(request))


@scenario("4.1 the reserved bit and unknown flags are passed over")
def _(c):
    for request in start(c):
        answer = bytearray(headers(request.stream, flags=END_HEADERS | END_STREAM | 0xD2))
        answer[5] |= 0x80
        c.answer(request, frame(WINDOW_UPDATE, 0xFF, 0, number(1 | 1 << 31)), bytes(answer))
        c.window += 1


@scenario("6.7 thousands of PINGs are all answered, unasked answers passed over")
def _(c):
    batch = start(c)
    c.send(frame(PING, ACK, 0, b"12345678") * 3000, frame(PING, 0, 0, b"abcdefgh") * 3000)
    c.until(lambda: c.pongs == 3000)
    c.answers(batch)
