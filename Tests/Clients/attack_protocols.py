"""Attacks with HTTP itself: floods of HTTP/2 frames, and HTTP/1 requests that two readers would read differently."""

import concurrent.futures
import contextlib
import time

import frames
from attack_target import call, read_all, wave

FLOOD_BYTES = 24 * 1024 * 1024
PIECE = 64 * 1024
GROWTH_MAX = 100


def literal(name, value):
    """A header field of HPACK without indexing (RFC 7541 §6.2.2)."""
    return b"\x00" + size(len(name)) + name + size(len(value)) + value


def size(value):
    """The length of a text as HPACK writes it (RFC 7541 §5.1)."""
    if value < 127:
        return bytes([value])
    out, value = b"\x7f", value - 127
    while value >= 128:
        out, value = out + bytes([value % 128 + 128]), value // 128
    return out + bytes([value])


def head(method=b"GET", path=b"/healthz", *fields):
    pseudo = [(b":method", method), (b":scheme", b"https"), (b":path", path), (b":authority", b"localhost")]
    return b"".join(literal(name, value) for name, value in [*pseudo, *fields])


def request(stream, block, ends=True):
    flags = frames.END_HEADERS | (frames.END_STREAM if ends else 0)
    return frames.frame(frames.HEADERS, flags, stream, block)


def settings(*pairs):
    payload = b"".join(key.to_bytes(2, "big") + frames.number(value) for key, value in pairs)
    return frames.frame(frames.SETTINGS, payload=payload)


# Each flood yields pieces until somebody stops it.


def resets():
    stream = 1
    while stream < 2**31:
        piece = b""
        while len(piece) < PIECE:
            piece += request(stream, head())
            piece += frames.frame(frames.RST_STREAM, 0, stream, frames.number(frames.CANCEL))
            stream += 2
        yield piece


def continuations(block=literal(b"x-a", b"a" * 100)):
    yield frames.frame(frames.HEADERS, 0, 1, head())
    while True:
        yield frames.frame(frames.CONTINUATION, 0, 1, block * 100)


def empty_continuations():
    yield frames.frame(frames.HEADERS, 0, 1, head())
    while True:
        yield frames.frame(frames.CONTINUATION, 0, 1) * 5000


def repeated(frame, before=b""):
    yield before
    while True:
        yield frame * (PIECE // len(frame))


def references():
    """A field of 4,000 bytes in the table, and a header block of many references to it (RFC 7541 §7.3)."""
    entry = b"\x40" + size(3) + b"x-a" + size(4000) + b"a" * 4000
    stream = 1
    while True:
        yield request(stream, head() + (entry if stream == 1 else b"") + b"\xbe" * 10_000)
        stream += 2


def promises():
    yield frames.frame(frames.PUSH_PROMISE, frames.END_HEADERS, 1, frames.number(2) + head())
    yield from repeated(frames.frame(frames.PING, payload=bytes(8)))


def priorities():
    stream = 1
    while True:
        piece = b""
        while len(piece) < PIECE:
            piece += frames.frame(frames.PRIORITY, 0, stream, frames.number(0) + b"\x10")
            stream += 2
        yield piece


def open_post():
    fields = (b"content-type", b"application/json")
    return request(1, head(b"POST", b"/api/v1/push/send", fields), ends=False)


FLOODS = {
    "resets each of its requests": resets,
    "continues a head without end": continuations,
    "continues a head by empty frames": empty_continuations,
    "sends pings and reads nothing": lambda: repeated(frames.frame(frames.PING, payload=bytes(8))),
    "sends settings and reads nothing": lambda: repeated(settings((frames.WINDOW, 65_535))),
    "repeats a long field by references": references,
    "sends priorities": priorities,
    "sends empty data": lambda: repeated(frames.frame(frames.DATA, 0, 1), open_post()),
    "widens a window byte by byte": lambda: repeated(frames.frame(frames.WINDOW_UPDATE, payload=frames.number(1))),
    "sends frames of unknown kinds": lambda: repeated(frames.frame(0xFA, payload=bytes(1000))),
    "promises a push": promises,
}
# The server must end these connections, because their clients ask for nothing and could go on for ever.
CUT_OFF = {"widens a window byte by byte", "sends frames of unknown kinds"}


def flood(target, pieces, seconds):
    """Sends a flood until the server ends the connection. Returns the bytes sent, and whether it ended it."""
    with contextlib.closing(target.connect(("h2",))) as connection:
        # From here on: a busy machine may be slow to shake hands.
        connection.settimeout(seconds)
        sent, end = 0, time.monotonic() + seconds
        try:
            connection.sendall(frames.PREFACE + settings())
            for piece in pieces:
                if sent >= FLOOD_BYTES or time.monotonic() > end:
                    return sent, False
                connection.sendall(piece)
                sent += len(piece)
        except TimeoutError:
            # The server no longer reads: it holds back a client that does not read either.
            return sent, False
        except OSError:
            return sent, True
    return sent, True


def floods(target, report, seconds):
    """Floods of frames, one kind after the other, from four connections at a time, each for some seconds."""
    before = target.watched_memory()
    for name, pieces in FLOODS.items():
        # A busy machine may read for long until it has read what it does not accept.
        patience = 10 * seconds if name in CUT_OFF else seconds
        slowest, results = wave(target, 4, lambda _: flood(target, pieces(), patience))
        sent = sum(sent for sent, _ in results) / 4 / 1024 / 1024
        ended = sum(ended for _, ended in results)
        report.note(
            target.peal.is_running and slowest < report.patience and (ended == 4 or name not in CUT_OFF),
            f"HTTP/2: a client that {name}: {ended} of 4 were cut off after {sent:.2f} MB, "
            f"/healthz at most after {slowest:.2f} s")
    growth = target.memory("VmHWM") - before
    report.note(growth < GROWTH_MAX, f"HTTP/2: memory grew by {growth:.0f} MB (at most {GROWTH_MAX})")


def closed_windows(target, deadlines, report):
    """Clients that ask for answers and leave no room for them; their connections must not stay for ever."""
    limit = deadlines["grace"] + deadlines["idle"] + deadlines["close"]
    # The part of an answer that waits for room, of at most 64 KiB, may also take a second for each kilobyte
    # (RequestDeadlines.swift).
    margin = 64 + report.patience

    def stall(path):
        start = time.monotonic()
        with contextlib.closing(target.connect(("h2",))) as connection:
            connection.sendall(frames.PREFACE + settings((frames.WINDOW, 0)))
            connection.sendall(b"".join(request(2 * number + 1, head(path=path)) for number in range(50)))
            connection.settimeout(limit + margin + 1)
            with contextlib.suppress(TimeoutError):
                while time.monotonic() - start < limit + margin + 1 and connection.recv(65_536):
                    pass
        return time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for path, took in zip(["/openapi.json", "/healthz"], pool.map(stall, [b"/openapi.json", b"/healthz"])):
            report.note(
                took <= limit + margin,
                f"HTTP/2: a client without room for {path} is gone after {took:.1f} s ({limit} s)")


HOST = b"Host: x\r\n"
SMUGGLED = b"GET /healthz?smuggled HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /api/v1/push/send HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"


def ambiguous():
    """Requests whose end two readers find at different places. Only one answer may come, then the end."""
    chunked = b"0\r\n\r\n"
    length = b"Content-Length: %d\r\n" % (len(chunked) + len(SMUGGLED))
    cases = {
        "length and chunks": b"Transfer-Encoding: chunked\r\n" + length,
        "chunks and length": length + b"Transfer-Encoding: chunked\r\n",
        "two lengths": length + b"Content-Length: 5\r\n",
        "two lengths in one line": b"Content-Length: 5, 45\r\n",
        "a length with a sign": b"Content-Length: +5\r\n",
        "a negative length": b"Content-Length: -5\r\n",
        "a length with letters": b"Content-Length: 5a\r\n",
        "an enormous length": b"Content-Length: 99999999999999999999\r\n",
        "an unknown coding": b"Transfer-Encoding: xchunked\r\n",
        "a coding after chunks": b"Transfer-Encoding: chunked, identity\r\n",
        "two codings": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
        "a blank before the colon": b"Transfer-Encoding : chunked\r\n" + length,
        "a folded line": b"Transfer-Encoding:\r\n chunked\r\n" + length,
        "a vertical tab": b"Transfer-Encoding:\x0bchunked\r\n" + length,
        "a NUL in a field": b"X-A: a\x00b\r\n" + length,
        "a bare CR in a field": b"X-A: a\rTransfer-Encoding: chunked\r\n" + length,
    }
    for name, fields in cases.items():
        yield name, POST + fields + b"\r\n" + chunked + SMUGGLED
    chunks = POST + b"Transfer-Encoding: chunked\r\n\r\n"
    for name, text in {
        "a chunk of 2^64 bytes": b"10000000000000000\r\nx\r\n0\r\n\r\n",
        "a chunk of negative size": b"-1\r\nx\r\n0\r\n\r\n",
        "a chunk without digits": b"\r\nx\r\n0\r\n\r\n",
        "a chunk size in 0x": b"0x5\r\n12345\r\n0\r\n\r\n",
        "a chunk that is longer than it says": b"1\r\nxyz\r\n0\r\n\r\n",
    }.items():
        yield name, chunks + text + SMUGGLED


def large_heads():
    get = b"GET /healthz HTTP/1.1\r\n" + HOST
    yield "100,000 header fields", get + b"".join(b"X-%d: a\r\n" % number for number in range(100_000)) + b"\r\n"
    yield "a header field of 8 MB", get + b"X-A: " + b"a" * 8_000_000 + b"\r\n\r\n"
    yield "a path of 8 MB", b"GET /" + b"a" * 8_000_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    yield "a path of 60,000 segments", b"GET " + b"/a" * 30_000 + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    query = b"&".join(b"a%d=b" % number for number in range(7000))
    yield "a query of 7,000 names", b"GET /peal/v1/apps?" + query + b" HTTP/1.1\r\n" + HOST + b"\r\n"
    yield "a query without a head's end", b"GET /healthz?" + b"%" * 8_000_000
    extension = b"5;" + b"a" * 8_000_000 + b"\r\n12345\r\n0\r\n\r\n"
    yield "a chunk extension of 8 MB", POST + b"Transfer-Encoding: chunked\r\n\r\n" + extension
    trailers = b"".join(b"X-%d: a\r\n" % number for number in range(100_000))
    yield "100,000 trailers", POST + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + trailers + b"\r\n"
    extensions = b"1;" + b"a" * 40 + b"\r\nx\r\n"
    yield "200,000 chunk extensions", POST + b"Transfer-Encoding: chunked\r\n\r\n" + extensions * 200_000 + b"0\r\n\r\n"


def read_some(connection):
    """The first part of an answer, with the status."""
    with contextlib.suppress(OSError):
        return connection.recv(65536)
    return b""


def exchange(target, text, wait=20, read=read_all):
    """Sends what the server takes, while reading. Returns everything that came back.

    read: what reads; `read_all` waits until the server closes the connection, or `wait` seconds in vain.
    """
    with contextlib.closing(target.connect(wait=wait)) as connection, concurrent.futures.ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read, connection)
        with contextlib.suppress(OSError):
            connection.sendall(text)
        return reading.result()


def statuses(answer):
    return [int(piece[:3]) for piece in answer.split(b"HTTP/1.1 ")[1:]]


def odd_requests(target, report):
    """HTTP/1: smuggled requests, and heads without measure."""
    before = target.watched_memory()

    def tried(case):
        (name, text), wait, read = case
        start = time.monotonic()
        return name, statuses(exchange(target, text, wait, read)), time.monotonic() - start

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(tried, ((case, 3, read_all) for case in ambiguous())))
        large = list(pool.map(tried, ((case, 20, read_some) for case in large_heads())))
    smuggled = [name for name, codes, _ in answers if 200 in codes]
    report.note(not smuggled, f"HTTP/1: smuggled requests that were answered: {smuggled or 'none'}")
    wrong = [f"{name}: {codes}" for name, codes, _ in answers if any(code >= 500 for code in codes)]
    refusals = {400, 401, 404, 413, 414, 429, 431}
    wrong += [
        f"{name}: {codes} after {took:.1f} s" for name, codes, took in large
        if not codes or not set(codes) <= refusals or took > 4 * report.patience]
    report.note(not wrong, f"HTTP/1: heads and chunks without measure are refused with 4xx: {wrong or 'all'}")
    growth = target.memory("VmHWM") - before
    report.note(growth < GROWTH_MAX, f"HTTP/1: memory grew by {growth:.0f} MB (at most {GROWTH_MAX})")


def unread_answers(target, report):
    """Clients that send requests without end and read no answer."""
    before = target.watched_memory()
    piece = b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 500

    def push(_):
        sent, end = 0, time.monotonic() + 5
        with contextlib.closing(target.connect(wait=5)) as connection, contextlib.suppress(OSError):
            while time.monotonic() < end and sent < FLOOD_BYTES:
                connection.sendall(piece)
                sent += len(piece)
        return sent

    slowest, results = wave(target, 16, push)
    growth = target.memory("VmHWM") - before
    report.note(
        slowest < report.patience and growth < GROWTH_MAX,
        f"HTTP/1: 16 clients that read no answer were held after {sum(results) / 1024 / 1024:.1f} MB of requests, "
        f"memory grew by {growth:.0f} MB (at most {GROWTH_MAX}), /healthz at most after {slowest:.2f} s")
    status, _ = call(target, "GET", "/peal/v1/apps")
    report.note(status == 200, f"afterwards the API answers: {status}")
