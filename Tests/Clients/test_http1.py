"""How the server keeps and closes HTTP/1 connections, byte by byte."""

import contextlib
import socket
import time
import urllib.parse

import pytest
from peal_server import Peal


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """One server for tests that do not harm it."""
    peal = Peal(tmp_path_factory.mktemp("peal"))
    yield peal
    peal.stop()


def connect(peal):
    address = urllib.parse.urlsplit(peal.url)
    return socket.create_connection((address.hostname, address.port), timeout=10)


def answer(file):
    """Status line, headers in lower case, body."""
    status = file.readline().decode().strip()
    headers = {}
    while line := file.readline().decode().strip():
        name, value = line.split(":", 1)
        headers[name.lower()] = value.strip()
    return status, headers, file.read(int(headers.get("content-length", "0")))


@pytest.mark.parametrize(
    "request_line, header",
    [
        ("GET /healthz HTTP/1.0", ""),
        ("GET /healthz HTTP/1.0", "Connection: keep-alive\r\n"),
        ("GET /healthz HTTP/1.1", "Connection: close\r\n"),
        ("GET /healthz HTTP/1.1", "Connection: Close\r\n"),
    ],
)
def test_a_client_that_reads_to_the_end_gets_a_complete_response(serve, request_line, header):
    with connect(serve()) as connection, connection.makefile("rb") as file:
        connection.sendall(f"{request_line}\r\nHost: x\r\n{header}\r\n".encode())
        status, _, body = answer(file)
        assert "200" in status and body
        assert file.read() == b""


def test_a_connection_is_kept_for_the_next_request(serve):
    with connect(serve()) as connection, connection.makefile("rb") as file:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            assert "200" in answer(file)[0]


def test_a_client_that_reads_no_answers_is_disconnected(serve):
    server, received = serve(), b""
    with connect(server) as connection:
        with contextlib.suppress(OSError):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 200_000)
        with contextlib.suppress(ConnectionError):
            while len(received) < 10_000_000 and (piece := connection.recv(65_536)):
                received += piece
    assert received.count(b"HTTP/1.1 200") < 5000
    assert server.get("/apps")["items"] == []


def test_pipelined_requests_are_answered_in_order(serve):
    with connect(serve()) as connection, connection.makefile("rb") as file:
        connection.sendall(
            b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        assert [answer(file)[0].split(" ")[1] for _ in range(3)] == ["200", "404", "200"]
        assert file.read() == b""


def test_the_answer_to_head_of_a_stream_has_no_length_and_ends_with_its_head(server):
    head = (
        "HEAD /peal/v1/audit HTTP/1.1\r\nHost: x\r\nAccept: application/x-ndjson\r\n"
        f"Authorization: Bearer {server.admin_token}\r\n"
    ).encode()
    with connect(server) as connection, connection.makefile("rb") as file:
        get = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.sendall(head + b"\r\n" + get + head + b"\r\n" + b"GET /healthz HTTP/1.1\r\n\r\n")
        for is_head in (True, False, True):
            status, headers, body = answer(file)
            assert "200" in status and ("content-length" not in headers) == is_head == (not body)
        # The last request has no Host, so its refusal ends the connection.
        assert "400" in answer(file)[0]
        assert file.read() == b""


HOSTS = {
    "none": "",
    "two": "Host: a\r\nHost: a\r\n",
    "two, spelled differently": "HOST: a\r\nhost: b\r\n",
    "a blank": "Host: a b\r\n",
    "a path": "Host: a/b\r\n",
    "a user": "Host: a@b\r\n",
    "a port of letters": "Host: a:b\r\n",
    "two ports": "Host: a:1:2\r\n",
    "an open bracket": "Host: [::1\r\n",
    "text after a bracket": "Host: [::1]a\r\n",
    "half an escape": "Host: a%2\r\n",
    "not ASCII": "Host: \u00fc.example\r\n",
}


@pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS.keys())
def test_a_request_without_exactly_one_valid_host_is_refused(server, host):
    with connect(server) as connection, connection.makefile("rb") as file:
        valid = "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        connection.sendall(f"{valid}GET /healthz HTTP/1.1\r\n{host}\r\n{valid}".encode())
        assert [answer(file)[0].split(" ")[1] for _ in range(2)] == ["200", "400"]
        assert file.read() == b""


@pytest.mark.parametrize("host", ["", "x", "x:80", "x:", "127.0.0.1:8080", "[::1]", "[fe80::1]:80", "a_b.c", "a%41"])
def test_any_valid_host_is_served(server, host):
    with connect(server) as connection, connection.makefile("rb") as file:
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        assert "200" in answer(file)[0]


MARKS = "a" + "\u0301\u0316" * 15_000


@pytest.mark.parametrize("field", ["Cookie", "Accept-Language", "Authorization", "Expect", "X-Own"])
def test_a_field_with_very_many_combining_marks_is_refused(server, field):
    with connect(server) as connection, connection.makefile("rb") as file:
        # Comparing the value would take most of a second.
        connection.sendall(f"GET /healthz HTTP/1.1\r\nHost: x\r\n{field}: {MARKS}\r\n\r\n".encode())
        assert "400" in answer(file)[0]
        assert file.read() == b""


def test_a_field_with_an_accent_is_served(server):
    with connect(server) as connection, connection.makefile("rb") as file:
        connection.sendall("GET /healthz HTTP/1.1\r\nHost: x\r\nX-Own: cafe\u0301\r\n\r\n".encode())
        assert "200" in answer(file)[0]


def test_http_1_0_needs_no_host(server):
    with connect(server) as connection, connection.makefile("rb") as file:
        connection.sendall(b"GET /healthz HTTP/1.0\r\n\r\n")
        assert "200" in answer(file)[0]


@pytest.mark.parametrize("version, status", [("1.0", "401"), ("1.1", "100")])
def test_http_1_0_gets_no_interim_answer(server, version, status):
    head = f"POST /peal/v1/apps HTTP/{version}\r\nHost: x\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n"
    with connect(server) as connection, connection.makefile("rb") as file:
        connection.sendall(head.encode())
        assert file.readline().split(b" ")[1] == status.encode()


@pytest.mark.parametrize("kind", ["reads no answer", "sends half a body"])
def test_a_hanging_client_delays_the_stop_by_seconds(tmp_path, kind):
    peal = Peal(tmp_path)
    fields = f"Host: x\r\nAuthorization: Bearer {peal.admin_token}\r\nContent-Type: application/json\r\n".encode()
    text = {
        "reads no answer": b"GET /openapi.json HTTP/1.1\r\nHost: x\r\n\r\n" * 50,
        "sends half a body": b"POST /peal/v1/apps HTTP/1.1\r\n" + fields + b"Content-Length: 1000\r\n\r\n{",
    }[kind]
    with connect(peal) as client:
        client.sendall(text)
        time.sleep(1)
        begun = time.monotonic()
        assert peal.stop() == 0
        assert time.monotonic() - begun < 18
