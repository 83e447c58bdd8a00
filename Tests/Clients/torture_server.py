"""An APNs-like HTTP/2 server that plays a script on a connection.

Each connection has a thread. The first request's key id (of its provider token) names the scenario; the scenario's
script has the first such connection, all later ones are answered cleanly.
"""

import socket
import ssl
import threading

from certificates import write_certificate
from torture_connection import Connection


class TortureServer:
    """Listens on two ports: one for scripts that begin with a request, one for those that begin with `accept`."""

    def __init__(self, directory):
        self.ca_file = str(directory / "ca.pem")
        self.key_file = str(directory / "key.pem")
        write_certificate(self.ca_file, self.key_file)
        self.violations, self.scenarios, self.armed = [], {}, None
        self.lock = threading.Lock()
        self.listeners = [socket.create_server(("127.0.0.1", 0), backlog=256) for _ in range(2)]
        self.url, self.early_url = (f"https://localhost:{each.getsockname()[1]}" for each in self.listeners)
        self.is_early = threading.local()
        for listener in self.listeners:
            threading.Thread(target=self.listen, args=[listener], daemon=True).start()

    def listen(self, listener):
        while True:
            try:
                plain, _ = listener.accept()
            except OSError:
                return
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self.run, args=[listener, plain], daemon=True).start()

    def run(self, listener, plain):
        self.is_early.value = listener is self.listeners[1]
        Connection(self, plain).run()

    def accept_script(self):
        """The script for the next connection on the second port."""
        if not self.is_early.value:
            return None
        with self.lock:
            armed, self.armed = self.armed, None
        return armed

    def join(self, connection):
        return self.scenarios[connection.first.key_id]

    def context(self, alpn):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.ca_file, self.key_file)
        if alpn:
            context.set_alpn_protocols(["h2"])
        return context

    def close(self):
        for listener in self.listeners:
            listener.close()
