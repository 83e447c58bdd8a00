"""`peal` on a PostgreSQL that does not answer, or whose answers to COMMIT are lost, so that nobody knows what became of
the transactions."""

import concurrent.futures
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time
import urllib.error

import pytest
from free_port import free_port
from peal_server import OPENER, Refused
from waiting import wait_until

DEVICES = 20
MESSAGES = 60


class Postgres:
    """A PostgreSQL server on a port of this machine, with a database."""

    def __init__(self, programs):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-pg-", dir="/tmp"))
        # PostgreSQL refuses to run as root.
        user = []
        if os.getuid() == 0:
            shutil.chown(self.folder, "nobody", "nogroup")
            user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"]
        self.port = free_port()
        data = self.folder / "data"
        make = ["-A", "trust", "-U", "peal", "-E", "UTF8", "--locale=C", "--no-sync"]
        subprocess.run([*user, programs / "initdb", "-D", data, *make], check=True, stdout=subprocess.DEVNULL)
        options = [
            f"port={self.port}", "listen_addresses=127.0.0.1", f"unix_socket_directories={self.folder}", "fsync=off",
            "max_pred_locks_per_transaction=256",
        ]  # fmt: skip
        command = [*user, programs / "postgres", "-D", data, *(part for option in options for part in ("-c", option))]
        with (self.folder / "log").open("wb") as log:
            self.process = subprocess.Popen(command, stderr=log)
        create = [programs / "createdb", "-h", self.folder, "-p", str(self.port), "-U", "peal", "peal"]
        wait_until(
            lambda: subprocess.run(create, stderr=subprocess.DEVNULL).returncode == 0,
            failure=lambda: (self.folder / "log").read_text(),
        )

    @contextlib.contextmanager
    def hanging(self):
        """Stops all processes of the server meanwhile."""
        listed = ["ps", "-o", "pid=", "--ppid", str(self.process.pid)]
        children = subprocess.run(listed, capture_output=True, text=True, check=True).stdout.split()
        processes = [self.process.pid, *map(int, children)]
        for process in processes:
            os.kill(process, signal.SIGSTOP)
        try:
            yield
        finally:
            for process in processes:
                os.kill(process, signal.SIGCONT)

    @property
    def url(self):
        return f"postgres://peal@127.0.0.1:{self.port}/peal"

    def stop(self):
        # Ends the connections, even those of a server that was not stopped.
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        shutil.rmtree(self.folder)


class Cutter:
    """Passes connections on to PostgreSQL. Of the write transactions, it ends the connections of a `share`: once their
    COMMIT was carried out, or before it is sent."""

    def __init__(self, port):
        self.upstream, self.share, self.cuts = port, 0.0, 0
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                client = self.listener.accept()[0]
            except OSError:
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        with client, socket.create_connection(("127.0.0.1", self.upstream)) as server:
            ended = threading.Event()
            # Set when the next answer is that to a COMMIT that is to be lost.
            is_lost = threading.Event()
            back = threading.Thread(target=self.answers, args=(server, client, is_lost, ended), daemon=True)
            back.start()
            try:
                self.statements(client, server, is_lost, ended)
            except OSError:
                pass
            for end in (client, server):
                try:
                    end.shutdown(socket.SHUT_RDWR)
                except OSError:
                    pass
            back.join()

    def statements(self, client, server, is_lost, ended):
        writes = False
        while not ended.is_set() and (data := client.recv(1 << 16)):
            if b"BEGIN ISOLATION LEVEL" in data:
                writes = b"SERIALIZABLE" in data
            if b"COMMIT\0" in data and writes and random.random() < self.share:
                self.cuts += 1
                if self.cuts % 4 == 0:
                    return
                is_lost.set()
            server.sendall(data)

    def answers(self, server, client, is_lost, ended):
        try:
            while (data := server.recv(1 << 16)) and not is_lost.is_set():
                client.sendall(data)
        except OSError:
            pass
        ended.set()
        try:
            client.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass


@pytest.fixture
def postgres():
    found = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name))
    if not found:
        pytest.skip("needs PostgreSQL")
    postgres = Postgres(found[-1])
    yield postgres
    postgres.stop()


@pytest.fixture
def cutter(postgres):
    cutter = Cutter(postgres.port)
    yield cutter
    cutter.listener.close()


def insist(peal, app, number):
    """Sends a message with an idempotency key until it is accepted. Returns its id."""
    body = {"audience": {"all": True}, "content": {"body": f"number {number}"}}
    path, header = f"/peal/v1/apps/{app}/messages", {"Idempotency-Key": f"number-{number}"}

    def accepted():
        try:
            return peal.request("POST", path, body, header)["id"]
        except Refused as refusal:
            assert refusal.status == 503, refusal
            return None

    return wait_until(accepted)


def test_a_request_that_is_repeated_is_one_message_and_each_device_gets_it_once(simulate, serve, cutter):
    simulator = simulate("--mode", "fast")
    url = f"postgres://peal@127.0.0.1:{cutter.port}/peal?sslmode=disable&gssencmode=disable"
    more = {"PEAL_STORE_URL": url, "PEAL_MASTER_KEY": "A" * 43 + "=", "PEAL_LOG_LEVEL": "error"}
    peal = serve({**simulator.environment, **more})
    app = peal.app(bundle_id="com.example.demo")
    peal.connect(app, simulator, "apns/production")
    peal.devices(app, [{"platform": "ios", "address": f"{number:064x}"} for number in range(DEVICES)])
    cutter.share = 0.2
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        ids = list(pool.map(lambda number: insist(peal, app, number), range(MESSAGES)))
    cutter.share = 0
    assert cutter.cuts > 10
    for message in ids:
        assert peal.wait(app, message)["counts"]["accepted"] == DEVICES
    assert len(set(ids)) == MESSAGES
    # A second message with the same key would have been sent too.
    assert simulator.summary()["received"] == MESSAGES * DEVICES
    assert simulator.summary()["duplicates"] == 0


def look(peal, path):
    """Returns the status of the answer, and the seconds until it came."""
    begin = time.monotonic()
    try:
        with OPENER.open(peal.url + path, timeout=60) as answer:
            status = answer.status
    except urllib.error.HTTPError as error:
        status = error.code
    return status, time.monotonic() - begin


def test_health_checks_are_answered_while_the_database_hangs(serve, postgres):
    peal = serve({"PEAL_STORE_URL": postgres.url, "PEAL_MASTER_KEY": "A" * 43 + "="})
    wait_until(lambda: look(peal, "/readyz")[0] == 200)
    answers = []
    with postgres.hanging():
        end = time.monotonic() + 25
        while time.monotonic() < end:
            answers += [(path, *look(peal, path)) for path in ("/readyz", "/metrics", "/healthz")]
            time.sleep(0.5)
    # A statement that hangs takes 10 s, and an attempt to connect 5 s.
    assert max(seconds for _, _, seconds in answers) < 5, answers
    assert [status for path, status, _ in answers if path == "/readyz"][-1] == 503, answers
    assert {status for path, status, _ in answers if path != "/readyz"} == {200}, answers
    wait_until(lambda: look(peal, "/readyz")[0] == 200)
