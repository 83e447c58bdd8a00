"""With TLS the server treats HTTP/1 clients as it does without."""

import socket
import ssl
import urllib.parse

import h2.config
import h2.connection
import h2.events
import pytest
from certificates import write_certificate
from peal_server import Peal


@pytest.fixture(scope="module")
def secure(tmp_path_factory):
    directory = tmp_path_factory.mktemp("secure")
    write_certificate(directory / "certificate.pem", directory / "key.pem")
    peal = Peal(directory / "peal", tls(directory))
    yield peal
    peal.stop()


def tls(directory):
    return {
        "PEAL_HTTP_TLS_CERTIFICATE": directory / "certificate.pem", "PEAL_HTTP_TLS_KEY": directory / "key.pem",
    }


def connect(peal, protocol="http/1.1"):
    address = urllib.parse.urlsplit(peal.url)
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    return context.wrap_socket(socket.create_connection((address.hostname, address.port), timeout=60))


@pytest.mark.parametrize(
    "request_line, header", [("GET /healthz HTTP/1.0", ""), ("GET /healthz HTTP/1.1", "Connection: Close\r\n")]
)
def test_a_client_that_reads_to_the_end_gets_a_complete_response(secure, request_line, header):
    with connect(secure) as connection, connection.makefile("rb") as file:
        connection.sendall(f"{request_line}\r\nHost: x\r\n{header}\r\n".encode())
        answer = file.read()
        assert b" 200 " in answer and answer.endswith(b"}")


def test_a_connection_is_kept_for_the_next_request(secure):
    with connect(secure) as connection:
        for _ in range(3):
            connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
            answer = b""
            while not answer.endswith(b"}"):
                part = connection.recv(4096)
                assert part, answer
                answer += part
            assert b" 200 " in answer


def test_a_client_that_waits_for_100_continue_gets_it(secure):
    with connect(secure) as connection:
        connection.sendall(
            b"POST /peal/v1/apps HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
            + f"Authorization: Bearer {secure.admin_token}\r\n".encode()
            + b"Content-Length: 12\r\nExpect: 100-continue\r\n\r\n"
        )
        assert b"100 Continue" in connection.recv(4096)
        connection.sendall(b'{"name":"a"}')
        assert b" 201 " in connection.recv(4096)


def test_an_old_http2_connection_is_asked_to_leave(serve, tmp_path):
    write_certificate(tmp_path / "certificate.pem", tmp_path / "key.pem")
    peal = serve({**tls(tmp_path), "PEAL_HTTP_AGE_SECONDS": 2})
    with connect(peal, "h2") as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00")
        received = b""
        # GOAWAY: type 7, no flags, stream 0.
        while b"\x07\x00\x00\x00\x00\x00" not in received:
            piece = connection.recv(4096)
            assert piece, received
            received += piece


@pytest.mark.parametrize("host", ["", "Host: a\r\nHost: b\r\n", "Host: a b\r\n"])
def test_a_request_without_exactly_one_valid_host_is_refused(secure, host):
    with connect(secure) as connection, connection.makefile("rb") as file:
        connection.sendall(f"GET /healthz HTTP/1.1\r\n{host}\r\n".encode())
        answer = file.read()
        assert answer.startswith(b"HTTP/1.1 400") and answer.count(b"HTTP/1.1") == 1


def test_an_http2_request_with_very_many_combining_marks_is_refused(secure):
    marks = "a" + "\u0301\u0316" * 500
    with connect(secure, "h2") as connection:
        client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        client.initiate_connection()
        for stream, value in [(1, marks), (3, "cafe\u0301")]:
            fields = [(":method", "GET"), (":scheme", "https"), (":authority", "x"), (":path", "/healthz")]
            client.send_headers(stream, [*fields, ("x-own", value)], end_stream=True)
        connection.sendall(client.data_to_send())
        statuses = {}
        while len(statuses) < 2:
            piece = connection.recv(65536)
            assert piece, statuses
            for event in client.receive_data(piece):
                if isinstance(event, h2.events.ResponseReceived):
                    statuses[event.stream_id] = dict(event.headers)[":status"]
            connection.sendall(client.data_to_send())
        assert statuses == {1: "400", 3: "200"}
