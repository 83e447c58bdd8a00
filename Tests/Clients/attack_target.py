"""What attacks have in common: the server that they attack, and what they report."""

import concurrent.futures
import contextlib
import json
import pathlib
import re
import socket
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request


def unverified():
    """TLS with any certificate. Does not read the system's, which takes longer than a request."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


OPENER = urllib.request.build_opener(
    urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=unverified()))


class Report:
    """Collects what was tried; a finding that does not hold makes the whole attack fail."""

    def __init__(self, patience, write=None):
        self.failures = []
        # How many seconds an answer may take.
        self.patience = patience
        self.write = write or (lambda line: print(line, flush=True))

    def begin(self, title):
        self.write(f"\n{title}")

    def note(self, holds, text):
        self.write(f"{'held  ' if holds else 'FAILED'}  {text}")
        if not holds:
            self.failures.append(text)

    @contextlib.contextmanager
    def beside(self, attack):
        """Runs `attack(report)` while the block runs. Writes what it reported after the block."""
        lines = []
        report = Report(self.patience, lines.append)
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(attack, report)
            yield
            waiting.result()
        for line in lines:
            self.write(line)
        self.failures += report.failures


class Target:
    """A server under attack: a `Peal` of peal_server, reached by plain sockets."""

    def __init__(self, peal, tls=False):
        self.peal = peal
        self.address = (urllib.parse.urlsplit(peal.url).hostname, urllib.parse.urlsplit(peal.url).port)
        self.tls = tls

    def connect(self, protocols=("http/1.1",), wait=60):
        connection = socket.create_connection(self.address, timeout=wait)
        if not self.tls:
            return connection
        context = unverified()
        context.set_alpn_protocols(list(protocols))
        return context.wrap_socket(connection, server_hostname="localhost")

    def request(self, text, wait=30):
        """Sends bytes on a connection of its own. Returns everything that comes back."""
        with self.connect(wait=wait) as connection:
            connection.sendall(text)
            return read_all(connection)

    def health(self):
        """How long a health check took; infinite if it failed."""
        start = time.monotonic()
        try:
            answer = self.request(b"GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", wait=10)
        except OSError:
            return float("inf")
        return time.monotonic() - start if answer.startswith(b"HTTP/1.1 200") else float("inf")

    def watched_memory(self):
        """The memory now; its peak, `VmHWM`, counts from here on (proc(5), clear_refs)."""
        pathlib.Path(f"/proc/{self.peal.process.pid}/clear_refs").write_text("5")
        return self.memory()

    def memory(self, name="VmRSS"):
        status = pathlib.Path(f"/proc/{self.peal.process.pid}/status").read_text()
        return int(re.search(rf"{name}:\s+(\d+)", status)[1]) / 1024


def read_all(connection):
    received = b""
    with contextlib.suppress(OSError):
        while piece := connection.recv(65536):
            received += piece
    return received


def call(target, method, path, body=None, headers=None):
    """A request on the native API with the admin token. Returns status and text."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    fields = {"Content-Type": "application/json", "Authorization": f"Bearer {target.peal.admin_token}"}
    request = urllib.request.Request(target.peal.url + path, data, {**fields, **(headers or {})}, method=method)
    try:
        with OPENER.open(request, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, str(error.headers) + error.read().decode(errors="replace")
    except OSError as error:
        return 0, str(error)


def wave(target, count, attack):
    """Runs an attack in threads, with the number of each. Returns the slowest health check and the results."""
    slowest = 0.0
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        pending = [pool.submit(attack, number) for number in range(count)]
        while not all(one.done() for one in pending):
            slowest = max(slowest, target.health())
            time.sleep(0.05)
    return slowest, [one.result() for one in pending]
