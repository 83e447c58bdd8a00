"""How the server keeps and closes HTTP/1 connections, byte by byte."""

import contextlib
import socket
import urllib.parse

import pytest


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
def test_a_client_that_reads_to_the_end_comes_to_one(serve, request_line, header):
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


def test_a_client_that_waits_for_no_answer_is_cut_off(serve):
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
