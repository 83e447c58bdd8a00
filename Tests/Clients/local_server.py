"""HTTP servers in the process of the test, for Peal to send requests to."""

import http.server
import ssl
import sys
import threading

from waiting import wait_until


class Handler(http.server.BaseHTTPRequestHandler):
    """Answers requests of one connection; subclasses have `do_GET` or `do_POST`."""

    protocol_version = "HTTP/1.1"

    def body(self):
        return self.rfile.read(int(self.headers["Content-Length"]))

    def answer(self, status, body=b"", headers=None):
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        """Prints nothing."""


class Server(http.server.ThreadingHTTPServer):
    """Serves on a free port of loopback until `stop`; with `identity`, the files of a certificate and key, over TLS."""

    def __init__(self, handler, identity=()):
        super().__init__(("127.0.0.1", 0), handler)
        if identity:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*identity)
            # The handshake is left to the connection's thread.
            self.socket = context.wrap_socket(self.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def handle_error(self, request, client_address):
        """Ignores connections that clients close."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def stop(self):
        self.shutdown()
        self.server_close()


class Receiver:
    """A receiver of webhooks. It keeps its requests, and answers with `statuses` in turn and then with 204.

    With `identity`, the files of a certificate and its key, it serves HTTPS.
    """

    def __init__(self, statuses=(), identity=()):
        self.statuses = list(statuses)
        self.requests = []
        receiver = self

        class Receiving(Handler):
            def do_POST(self):
                receiver.requests.append((dict(self.headers.items()), self.body()))
                self.answer(receiver.statuses.pop(0) if receiver.statuses else 204)

        self.server = Server(Receiving, identity)
        scheme = "https" if identity else "http"
        self.url = f"{scheme}://localhost:{self.server.server_port}/peal?from=test"
        self.stop = self.server.stop

    def wait(self, count):
        wait_until(
            lambda: len(self.requests) >= count, failure=
            lambda: f"{len(self.requests)} of {count} requests were received",
        )  # fmt: skip
        return self.requests[:count]
