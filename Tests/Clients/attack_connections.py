"""Attacks by connections: very many, and very slow ones."""

import concurrent.futures
import contextlib
import socket
import threading
import time

import frames
from attack_target import read_all

SILENT = 600
EMPTY_SETTINGS = frames.frame(frames.SETTINGS)
# How long the server waits for the client's part of the end of TLS.
TLS_CLOSE_SECONDS = 5


def seconds_open(connection, patience):
    """For how long the server keeps a connection on which nothing happens; infinite beyond `patience`."""
    start = time.monotonic()
    connection.settimeout(patience)
    try:
        while connection.recv(65536):
            connection.settimeout(max(0.1, patience - (time.monotonic() - start)))
    except TimeoutError:
        return float("inf")
    except OSError:
        pass
    return time.monotonic() - start


def seconds_written(connection, patience):
    """For how long the server takes bytes after it has ended its half of a connection; infinite beyond `patience`."""
    start = time.monotonic()
    read_all(connection)
    with contextlib.suppress(OSError):
        while time.monotonic() - start < patience:
            connection.send(b" ")
            time.sleep(0.2)
        return float("inf")
    return time.monotonic() - start


def dribble(connection, seconds):
    """Sends a byte every half second."""
    end = time.monotonic() + seconds
    with contextlib.suppress(OSError):
        while time.monotonic() < end:
            connection.send(b" ")
            time.sleep(0.5)


def silent_connections(target, seconds, report):
    """Twice as many silent connections as the server may have files, renewed as they are closed."""
    held, surplus, slowest, failed, checks = [], 0, 0.0, 0, 0
    end = time.monotonic() + seconds
    try:
        while time.monotonic() < end and target.peal.is_running:
            while len(held) < SILENT:
                try:
                    connection = socket.create_connection(target.address, timeout=2)
                except OSError:
                    break
                connection.setblocking(False)
                held.append(connection)
            took = target.health()
            checks += 1
            failed += took == float("inf")
            slowest = max(slowest, took if took != float("inf") else 0)
            still = []
            for connection in held:
                try:
                    answer = connection.recv(4096)
                except BlockingIOError:
                    still.append(connection)
                    continue
                except OSError:
                    answer = b""
                parts = (b"Connection: close", b'"request_id":"', b'"doc_url":"/docs/errors#unavailable"')
                surplus += answer.startswith(b"HTTP/1.1 503") and all(part in answer for part in parts)
                connection.close()
            held = still
            time.sleep(0.2)
    finally:
        for connection in held:
            connection.close()
    kind = "TLS" if target.tls else "plain"
    report.note(target.peal.is_running, f"{kind}: {SILENT} silent connections for {seconds} s: the process lives")
    if not target.tls:
        report.note(surplus > 0, f"{kind}: surplus connections got 503 and Connection: close ({surplus} times)")
    report.note(
        failed == 0 and slowest < report.patience,
        f"{kind}: /healthz answered {checks - failed} of {checks} times, at most after {slowest:.2f} s",
    )


def slow_clients(target, deadlines, report):
    """Clients that stop in the middle, each on a connection of its own."""
    kind = "TLS" if target.tls else "plain"
    margin = 1 + report.patience

    def judge(name, limit, start, measure=seconds_open):
        connection = start()
        with contextlib.closing(connection):
            took = measure(connection, limit + margin)
        return name, limit, took

    def sending(*pieces, protocols=("http/1.1",)):
        def start():
            connection = target.connect(protocols)
            for piece in pieces:
                connection.sendall(piece)
            return connection

        return start

    post = f"POST /peal/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {target.peal.admin_token}\r\n".encode()
    post += b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n"
    refused = b"POST /peal/v1/apps HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer x\r\nConnection: close\r\n"
    refused += b"Content-Type: application/json\r\nContent-Length: 4000000\r\n\r\n"
    whole = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"

    def dribbling():
        connection = target.connect()
        connection.sendall(post)
        threading.Thread(target=dribble, args=(connection, limit_of_dribble + margin), daemon=True).start()
        return connection

    limit_of_dribble = deadlines["grace"] + 2
    limit_of_refused = deadlines["grace"] + (1 + TLS_CLOSE_SECONDS if target.tls else 1)
    attacks = [
        ("sends a body byte by byte", limit_of_dribble, dribbling),
        ("says nothing", deadlines["head"], sending()),
        ("sends half a head", deadlines["head"], sending(b"GET /healthz HTTP/1.1\r\nHo")),
        ("stops within a body", deadlines["grace"] + 1, sending(post, b"{")),
        ("sends a refused body on", limit_of_refused, sending(refused, b" " * 300_000), seconds_written),
        ("stays after an answer", deadlines["idle"], sending(whole)),
        ("sends half a second head", deadlines["idle"], sending(whole, b"GET /he")),
    ]
    if target.tls:
        attacks += [
            ("starts no handshake", deadlines["handshake"], lambda: socket.create_connection(target.address)),
            (
                "speaks HTTP/2 and says nothing", deadlines["idle"] + deadlines["close"],
                sending(frames.PREFACE, EMPTY_SETTINGS, protocols=("h2",)),
            ),
        ]
    with concurrent.futures.ThreadPoolExecutor(len(attacks) + 1) as pool:
        if target.tls:
            stream = pool.submit(open_stream, target, limit_of_dribble, margin)
        for name, limit, took in pool.map(lambda attack: judge(*attack), attacks):
            report.note(took <= limit + margin, f"{kind}: a client that {name} is gone after {took:.1f} s ({limit} s)")
        if target.tls:
            took = stream.result()
            report.note(
                took <= limit_of_dribble + margin,
                f"{kind}: an HTTP/2 request without its body ends after {took:.1f} s ({limit_of_dribble} s)",
            )


def open_stream(target, limit, margin):
    """How long an HTTP/2 request without a body stays open."""

    def text(prefix, value):
        return prefix + bytes([len(value)]) + value

    # HPACK (RFC 7541): POST, https, and literals whose names are in the static table.
    block = b"\x83\x87" + text(b"\x04", b"/peal/v1/apps") + text(b"\x01", b"localhost")
    block += text(b"\x0f\x08", f"Bearer {target.peal.admin_token}".encode()) + text(b"\x0f\x10", b"application/json")
    head = len(block).to_bytes(3, "big") + b"\x01\x04" + (1).to_bytes(4, "big") + block
    start = time.monotonic()
    with contextlib.closing(target.connect(("h2",))) as connection, contextlib.suppress(OSError):
        connection.settimeout(limit + margin)
        connection.sendall(frames.PREFACE + EMPTY_SETTINGS + head)
        received = b""
        while piece := connection.recv(65536):
            received += piece
            while len(received) >= 9 and len(received) >= 9 + int.from_bytes(received[:3], "big"):
                # An answer or a reset of stream 1.
                if received[3] in (1, 3) and received[5:9] == (1).to_bytes(4, "big"):
                    return time.monotonic() - start
                received = received[9 + int.from_bytes(received[:3], "big") :]
    return float("inf")
