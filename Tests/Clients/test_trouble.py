"""`peal` sends to `peal-sim` while it is killed or stopped, and while its database is locked, full or damaged."""

import contextlib
import os
import pathlib
import signal
import socket
import sqlite3
import subprocess
import time
import urllib.error

import pytest
from peal_server import OPENER, PROGRAM, Peal, Refused
from waiting import wait_until, wait_until_steady

# No answer before its request times out, which is sent again half a minute later.
SLOW_MILLISECONDS = 20_000


def start(simulate, serve, *arguments, **more):
    simulator = simulate(*arguments)
    peal = serve({**simulator.environment, "PEAL_LOG_LEVEL": "info", **more})
    app = peal.app()
    peal.connect(app, simulator, "apns/production")
    return simulator, peal, app


def register(peal, app, count, **fields):
    """Registers devices with numbered addresses. Returns their ids."""
    return peal.devices(
        app, [{"platform": "ios", "address": f"{number:064x}", **fields} for number in range(count)]
    )


def slow(simulator, numbers):
    for number in numbers:
        simulator.fault(f"{number:064x}", {"delay_ms": SLOW_MILLISECONDS, "times": 100})


def received(simulator):
    return simulator.summary()["received"]


def repeated(simulator):
    return simulator.summary()["duplicates"]


def is_ready(peal):
    try:
        with OPENER.open(peal.url + "/readyz", timeout=30) as answer:
            return answer.status == 200
    except urllib.error.HTTPError:
        return False


def metric(peal, name):
    with OPENER.open(peal.url + "/metrics", timeout=30) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith(name + " "))


def settled(peal, app, messages):
    return sum(peal.message(app, message)["counts"]["accepted"] for message in messages)


def test_killed_with_slow_answers_in_small_messages_only_the_unanswered_repeat(simulate, serve):
    simulator, peal, app = start(simulate, serve)
    ids = register(peal, app, 7 * 128)
    slow(simulator, range(64, 7 * 128, 128))
    messages = [
        peal.send(app, audience={"devices": ids[start : start + 128]}) for start in range(0, len(ids), 128)
    ]
    wait_until(lambda: settled(peal, app, messages) == 7 * 127, 40, lambda: str(settled(peal, app, messages)))
    peal.kill()
    simulator.control("DELETE", "/faults")
    peal.start()
    reports = [peal.wait(app, message) for message in messages]
    assert [report["counts"]["accepted"] for report in reports] == [128] * 7
    assert repeated(simulator) <= 7
    assert repeated(simulator) <= sum(report["resent"] for report in reports) <= 7


def test_killed_while_small_messages_are_answered_few_devices_repeat(simulate, serve):
    simulator, peal, app = start(simulate, serve)
    ids = register(peal, app, 7 * 128)
    for number in range(7 * 128):
        simulator.fault(f"{number:064x}", {"delay_ms": 5 * number, "times": 1})
    messages = [
        peal.send(app, audience={"devices": ids[start : start + 128]}) for start in range(0, len(ids), 128)
    ]
    wait_until(lambda: received(simulator) >= 300, failure=lambda: str(received(simulator)))
    answered = received(simulator)
    stored = settled(peal, app, messages)
    peal.kill()
    assert stored <= answered
    peal.start()
    reports = [peal.wait(app, message) for message in messages]
    assert sum(report["counts"]["accepted"] for report in reports) == 7 * 128
    assert simulator.summary()["devices"] == 7 * 128
    assert repeated(simulator) <= sum(report["resent"] for report in reports)


def test_a_window_settles_its_alerts_as_they_are_answered(simulate, serve):
    simulator, peal, app = start(simulate, serve)
    users = [f"user-{number}" for number in range(400)]
    peal.devices(
        app,
        [{"platform": "ios", "address": f"{n:064x}", "user_id": user} for n, user in enumerate(users)],
    )
    slow(simulator, [60, 130, 260, 390])
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    body = {"content": {"body": "Now"}, "audience": {"users": users}, "method": "traditional"}
    message = peal.send(app, {**body, "schedule": {"window": {"until": until}}})
    wait_until(lambda: settled(peal, app, [message]) == 396, 40, lambda: str(peal.message(app, message)))
    peal.kill()
    simulator.control("DELETE", "/faults")
    peal.start()
    report = peal.wait(app, message)
    assert report["counts"]["accepted"] == 400
    assert repeated(simulator) <= 4


def test_a_locked_store_repeats_nothing_and_readiness_says_so(simulate, serve):
    simulator, peal, app = start(simulate, serve, "--mode", "fast")
    register(peal, app, 20_000)
    lock = sqlite3.connect(peal.directory / "peal.db", isolation_level=None, timeout=10)
    message = peal.send(app)
    wait_until(lambda: received(simulator) >= 1000, failure=lambda: "nothing was sent", pause=0.001)
    lock.execute("BEGIN IMMEDIATE")
    wait_until(lambda: not is_ready(peal), failure=lambda: "still ready")
    # The pages on the wire are received.
    before = wait_until_steady(lambda: received(simulator))
    # A lease lasts 30 s.
    time.sleep(45)
    assert received(simulator) == before
    assert not is_ready(peal)
    lock.execute("ROLLBACK")
    wait_until(lambda: is_ready(peal), failure=lambda: "not ready again")
    assert peal.wait(app, message)["counts"]["accepted"] == 20_000
    assert repeated(simulator) == 0
    assert simulator.summary()["devices"] == 20_000


def test_a_process_that_is_stopped_for_40_seconds_repeats_nothing(simulate, serve):
    simulator, peal, app = start(simulate, serve, "--mode", "fast")
    ids = register(peal, app, 20_000)
    message = peal.send(app)
    small = [peal.send(app, audience={"devices": ids[:40]}) for _ in range(5)]
    wait_until(lambda: received(simulator) >= 2000, failure=lambda: "nothing was sent", pause=0.001)
    peal.process.send_signal(signal.SIGSTOP)
    # Longer than a lease and a request may last.
    time.sleep(40)
    peal.process.send_signal(signal.SIGCONT)
    assert peal.wait(app, message)["counts"]["accepted"] == 20_000
    for one in small:
        assert peal.wait(app, one)["counts"]["accepted"] == 40
    assert repeated(simulator) == 0
    assert metric(peal, "peal_leases_taken_back_total") == 0


def damage(database, *names):
    """Overwrites the first page of the tables or indexes with zeros."""
    with sqlite3.connect(database) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        marks = ",".join("?" * len(names))
        query = f"SELECT rootpage FROM sqlite_master WHERE name IN ({marks})"
        roots = [row[0] for row in connection.execute(query, names)]
    connection.close()
    with open(database, "r+b") as file:
        for root in roots:
            file.seek((root - 1) * size)
            file.write(bytes(size))


def test_a_damaged_log_repeats_nothing_and_names_the_message(simulate, serve):
    simulator, peal, app = start(simulate, serve)
    register(peal, app, 300)
    peal.wait(app, peal.send(app))
    peal.stop()
    damage(peal.directory / "peal.db", "delivery_page")
    peal.start()
    message = peal.send(app)
    wait_until(
        lambda: "quarantined" in peal.message(app, message)["reasons"], failure=lambda: str(peal.message(app, message))
    )
    # Longer than a lease: nobody takes the slice back and sends again.
    time.sleep(50)
    assert received(simulator) == 600
    assert metric(peal, "peal_slices_quarantined") == 1
    report = peal.message(app, message)
    assert report["state"] == "sending" and report["counts"]["accepted"] == 300
    assert is_ready(peal)
    doctor = [os.environ.get("PEAL", str(pathlib.Path(__file__).resolve().parents[2] / ".build/debug/peal")), "doctor"]
    peal.stop()
    store = {"PEAL_STORE_URL": f"sqlite:{peal.directory / 'peal.db'}"}
    output = subprocess.run(
        doctor, env={**os.environ, **peal.environment, **store}, capture_output=True, text=True, timeout=60
    )
    assert output.returncode == 1
    assert message in output.stdout and "quarantined" in output.stdout, output.stdout + output.stderr


def test_a_request_that_needs_a_damaged_page_is_in_the_log_with_the_reason(serve):
    peal = serve()
    app = peal.app()
    register(peal, app, 1)
    peal.stop()
    damage(peal.directory / "peal.db", "device")
    peal.start()
    with pytest.raises(Refused) as refusal:
        peal.get(f"/apps/{app}/devices")
    assert refusal.value.status == 500 and "the database is damaged" in refusal.value.text
    wait_until(lambda: "a request failed" in peal.log, 15, lambda: peal.log[-2000:])
    line = next(line for line in peal.log.splitlines() if "a request failed" in line)
    assert "the database is damaged: SQLite error 11" in line and "request_id" in line


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 64 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True).returncode != 0:
        pytest.skip("needs to mount a file system")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def fill(folder, seconds):
    """Keeps a file system full, also when the server gives room back."""
    end = time.monotonic() + seconds
    filler = folder / "filler"
    with filler.open("ab", buffering=0) as file:
        while time.monotonic() < end:
            try:
                file.write(bytes(4096))
            except OSError:
                time.sleep(0.05)
    filler.unlink()


def test_a_full_disk_repeats_nothing_and_recovers_by_itself(simulate, small_disk, tmp_path):
    simulator = simulate("--mode", "fast")
    store = {"PEAL_STORE_URL": f"sqlite:{small_disk / 'peal.db'}", "PEAL_LOG_LEVEL": "warning"}
    peal = Peal(tmp_path / "peal", {**simulator.environment, **store})
    try:
        app = peal.app()
        peal.connect(app, simulator, "apns/production")
        register(peal, app, 20_000)
        message = peal.send(app)
        wait_until(lambda: received(simulator) >= 1000, failure=lambda: "nothing was sent", pause=0.001)
        fill(small_disk, 45)
        assert peal.wait(app, message)["counts"]["accepted"] == 20_000
        wait_until(lambda: is_ready(peal), failure=lambda: "not ready again")
        assert repeated(simulator) == 0
        assert simulator.summary()["devices"] == 20_000
        assert "the database does not accept writes: SQLite error" in peal.log
        assert peal.log.rfind("the database accepts writes again") > peal.log.rfind("the database does not accept writes")
    finally:
        peal.stop()


def test_a_first_start_on_a_full_disk_does_not_prevent_the_next_one(small_disk, tmp_path):
    filler = small_disk / "filler"
    with contextlib.suppress(OSError), filler.open("ab", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    store = {"PEAL_STORE_URL": f"sqlite:{small_disk / 'peal.db'}"}
    environment = {**os.environ, **store, "PEAL_HTTP_PORT": "0"}
    ended = subprocess.run([PROGRAM, "serve"], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode != 0 and "No space left on device" in ended.stderr, ended
    filler.unlink()
    peal = Peal(tmp_path / "peal", store)
    try:
        peal.app()
    finally:
        peal.stop()


def test_a_second_server_is_refused_although_the_file_of_the_lock_was_deleted(serve):
    peal = serve()
    (peal.directory / "peal.db.lock").unlink()
    environment = {**os.environ, "PEAL_STORE_URL": f"sqlite:{peal.directory / 'peal.db'}", "PEAL_HTTP_PORT": "0"}
    second = subprocess.run([PROGRAM, "serve"], env=environment, capture_output=True, text=True, timeout=60)
    assert second.returncode == 1, second.stderr
    assert "is in use by another process" in second.stderr
    peal.app()


def test_a_port_that_is_in_use_is_named_with_its_key(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for key in ("PEAL_HTTP_PORT", "PEAL_METRICS_PORT", "PEAL_ADMIN_LISTEN_PORT"):
            environment = {**os.environ, "PEAL_STORE_URL": f"sqlite:{tmp_path / 'peal.db'}", "PEAL_HTTP_PORT": "0"}
            second = subprocess.run(
                [PROGRAM, "serve"], env=environment | {key: str(port)}, capture_output=True, text=True, timeout=60)
            assert second.returncode == 1, second.stderr
            assert f"{key}: cannot listen on 127.0.0.1:{port}" in second.stderr, second.stderr


@pytest.mark.parametrize("listener", ["PEAL_HTTP", "PEAL_ADMIN_LISTEN"])
def test_an_address_of_another_machine_is_named_with_its_key(tmp_path, listener):
    host, port = f"{listener}_HOST", f"{listener}_PORT"
    # TEST-NET-1 (RFC 5737).
    environment = {
        **os.environ, "PEAL_STORE_URL": f"sqlite:{tmp_path / 'peal.db'}", "PEAL_HTTP_PORT": "0", port: "0",
        host: "192.0.2.1"}
    ended = subprocess.run([PROGRAM, "serve"], env=environment, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 1, ended.stderr
    assert f"{host}: cannot listen on 192.0.2.1:0: " in ended.stderr, ended.stderr


def test_a_server_whose_database_was_moved_accepts_nothing(serve):
    peal = serve()
    peal.app("before")
    moved = peal.directory / "moved"
    moved.mkdir()
    environment = {**os.environ, "PEAL_STORE_URL": f"sqlite:{peal.directory / 'peal.db'}"}
    backup = [PROGRAM, "backup", "--to", peal.directory / "backup"]
    assert subprocess.run(backup, env=environment, capture_output=True, timeout=60).returncode == 0
    for file in peal.directory.glob("peal.db*"):
        if file.suffix != ".key":
            file.rename(moved / file.name)
    with pytest.raises(Refused) as refusal:
        peal.app("lost")
    assert refusal.value.status == 503 and "was moved" in refusal.value.text
    restore = [PROGRAM, "restore", "--from", peal.directory / "backup"]
    restored = subprocess.run(restore, env=environment, capture_output=True, text=True, timeout=60)
    assert restored.returncode == 0, restored.stderr
    with pytest.raises(Refused) as refusal:
        peal.app("lost too")
    assert refusal.value.status == 503
    peal.stop()
    peal.start()
    assert [app["name"] for app in peal.get("/apps")["items"]] == ["before"]


def test_a_server_whose_write_ahead_log_was_deleted_accepts_nothing_and_loses_nothing(serve):
    peal = serve()
    peal.app("before")
    (peal.directory / "peal.db-wal").unlink()
    with pytest.raises(Refused) as refusal:
        peal.app("lost")
    assert refusal.value.status == 503 and "write-ahead log was moved, deleted or replaced" in refusal.value.text
    peal.kill()
    peal.start()
    assert [app["name"] for app in peal.get("/apps")["items"]] == ["before"]
    peal.app("after")


def test_a_database_that_another_program_locks_may_be_free_later(serve):
    peal = serve()
    peal.stop()
    database = peal.directory / "peal.db"
    with contextlib.closing(sqlite3.connect(database)) as other:
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN EXCLUSIVE")
        environment = {**os.environ, "PEAL_STORE_URL": f"sqlite:{database}", "PEAL_HTTP_PORT": "0"}
        ended = subprocess.run([PROGRAM, "serve"], env=environment, capture_output=True, text=True, timeout=120)
    # Not 2, after which systemd does not start it again.
    assert ended.returncode == 1 and "cannot be opened" in ended.stderr, ended
