"""Running a server: backups, pauses, reloads, the listener for admins, the master key, and what the log must not show."""

import base64
import contextlib
import http.client
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import sqlite3
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request

import pytest
from certificates import write_certificate
from moved_clock import MovedClock
from peal_server import OPENER, PROGRAM, ROOT, Peal, Refused, inherited_environment
from promtool import promtool
from waiting import PATIENCE_SECONDS, wait_until


def peal(*arguments, server=None, environment=None):
    """Runs a command of `peal` on the store of `server`. Returns the exit code, standard output and standard error."""
    own = inherited_environment()
    if server:
        own["PEAL_STORE_URL"] = f"sqlite:{server.directory / 'peal.db'}"
        own["PEAL_ADMIN_TOKEN"] = server.admin_token
        own["PEAL_SERVER_URL"] = getattr(server, "url", "")
    done = subprocess.run(
        [PROGRAM, *map(str, arguments)], env={**own, **(environment or {})}, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stdout, done.stderr


def mode(path):
    return stat.S_IMODE(os.stat(path).st_mode)


@pytest.fixture
def sending(simulate, serve):
    """A server that sends to simulated phones, with an app."""
    simulator = simulate()
    server = serve(simulator.environment)
    app = server.app()
    server.connect(app, simulator, "apns/production")
    server.phones(app, 20)
    return server, app, simulator


def test_a_backup_under_load_is_restored_paused_and_goes_on(sending, tmp_path):
    server, app, simulator = sending
    sent, stop = [], threading.Event()

    def load():
        while not stop.is_set():
            sent.append(server.send(app))

    thread = threading.Thread(target=load)
    thread.start()
    wait_until(lambda: len(sent) > 20)
    code, out, error = peal("backup", "--to", tmp_path / "backup", server=server)
    before = len(sent)
    stop.set()
    thread.join()
    assert code == 0, error
    assert {path.name for path in (tmp_path / "backup").iterdir()} == {"peal.db", "backup.json"}
    assert all(mode(path) == 0o600 for path in (tmp_path / "backup").iterdir())
    assert mode(tmp_path / "backup") == 0o700
    assert peal("backup", "--to", tmp_path / "backup", server=server)[0] == 1
    for message in sent[:10]:
        server.wait(app, message)
    server.stop()

    code, _, error = peal("restore", "--from", tmp_path / "backup", server=server)
    assert code == 1 and "exists" in error
    key = (server.directory / "peal.db.key").read_bytes()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.rename(server.directory, tmp_path / "former")
    server.directory.mkdir()
    assert peal("restore", "--from", tmp_path / "nowhere", server=server)[0] == 1
    code, out, error = peal("restore", "--from", tmp_path / "backup", server=server)
    assert code == 0, error
    assert mode(server.directory / "peal.db") == 0o600
    key_file = server.directory / "peal.db.key"
    key_file.write_bytes(key)
    key_file.chmod(0o600)

    server.arguments = ["--paused"]
    server.start()
    assert peal("status", server=server)[0] == 0
    assert "paused" in peal("status", server=server)[1]
    known = {item["id"] for item in server.get(f"/apps/{app}/messages", limit=200)["items"]}
    assert known and known <= set(sent[: before + 1])
    count = simulator.summary()
    accepted = server.send(app)
    assert server.message(app, accepted)["state"] == "sending"
    device = server.get(f"/apps/{app}/devices")["items"][0]["id"]
    event = server.get(f"/apps/{app}/messages/{accepted}/deliveries", device=device)["items"][-1]
    assert event["event"] == "pending" and "--paused" in event["detail"]
    with pytest.raises(AssertionError):
        wait_until(lambda: simulator.summary() != count, 2)
    server.stop()
    server.arguments = []
    server.start()
    server.wait(app, accepted)
    for message in known:
        server.wait(app, message)


def test_a_dry_run_of_what_concerns_the_store_changes_nothing(serve, tmp_path):
    server = serve()
    server.app()
    server.stop()
    backup, new, copy = tmp_path / "backup", tmp_path / "new.db", tmp_path / "copy.db"

    def files():
        """Their contents. The header of a database also changes when it is only read."""
        here = sorted(path for path in tmp_path.rglob("*") if path.suffix not in {".db-wal", ".db-shm"})
        return {path: rows(path) if path.suffix == ".db" else path.is_file() and path.read_bytes() for path in here}

    def rows(path):
        with contextlib.closing(sqlite3.connect(path)) as database:
            return list(database.iterdump())

    def dry(expected, *arguments, environment=None):
        before = files()
        code, out, error = peal(*arguments, "--dry-run", server=server, environment=environment)
        assert code == 0 and expected in out, out + error
        assert files() == before

    dry("Would back up", "backup", "--to", backup)
    assert peal("backup", "--to", backup, server=server)[0] == 0
    dry("nothing to do", "migrate")
    dry("Would replace the master key with a new key", "key", "rotate-master")
    dry("Would make both keys valid", "key", "rotate-master", "--prepare")
    dry("Would copy", "store", "copy", "--from", f"sqlite:{server.directory / 'peal.db'}", "--to", f"sqlite:{copy}")
    elsewhere = {"PEAL_STORE_URL": f"sqlite:{new}"}
    dry("Would restore the backup of", "restore", "--from", backup, environment=elsewhere)
    dry("Would create", "migrate", environment=elsewhere)
    # What would fail fails.
    assert peal("backup", "--to", backup, "--dry-run", server=server)[0] == 1
    assert peal("restore", "--from", backup, "--dry-run", server=server)[0] == 1
    assert peal("key", "rotate-master", "--dry-run", server=server, environment=elsewhere)[0] == 2
    code, _, error = peal("key", "rotate-master", server=server, environment=elsewhere)
    assert code == 2 and "there is no database at" in error and not new.exists(), error
    with (backup / "peal.db").open("ab") as file:
        file.write(b"x")
    assert peal("restore", "--from", backup, "--dry-run", server=server, environment=elsewhere)[0] == 1
    assert not new.exists()
    missing = {"PEAL_MASTER_KEY_FILE": tmp_path / "none.key"}
    code, _, error = peal("migrate", "--dry-run", server=server, environment=missing)
    assert code == 2 and f"the master key {tmp_path / 'none.key'} cannot be read: No such file" in error, error
    other = {"PEAL_MASTER_KEY": base64.b64encode(bytes(32)).decode()}
    code, _, error = peal("migrate", "--dry-run", server=server, environment=other)
    assert code == 2 and "the master key is not the one" in error, error
    with contextlib.closing(sqlite3.connect(server.directory / "peal.db")) as database:
        database.execute("INSERT INTO migration SELECT MAX(version) + 1 FROM migration")
        database.commit()
    code, _, error = peal("migrate", "--dry-run", server=server)
    assert code == 2 and "use a newer program" in error, error


def test_a_copy_for_which_there_is_no_space_leaves_nothing_behind_and_says_so(serve, tmp_path):
    server = serve()
    server.app()
    backup, new = tmp_path / "backup", tmp_path / "new.db"

    def small():
        """As on a full disk: no file may have more than 100,000 bytes."""
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    def run(*arguments, store):
        done = subprocess.run(
            [PROGRAM, *map(str, arguments)], env={**inherited_environment(), "PEAL_STORE_URL": f"sqlite:{store}"},
            capture_output=True, text=True, timeout=60, preexec_fn=small, restore_signals=False)
        assert done.returncode == 1, done.stdout
        return done.stderr

    error = run("backup", "--to", backup, store=server.directory / "peal.db")
    assert "cannot be copied" in error and error.count("\n") == 1, error
    assert not list(backup.glob("peal.db*"))
    server.stop()
    code, _, error = peal("backup", "--to", backup, server=server)
    assert code == 0, error
    error = run("restore", "--from", backup, store=new)
    assert error == f"peal: {backup}/peal.db cannot be copied to {new}.restoring: File too large\n"
    assert [path.name for path in tmp_path.glob("new.db*")] == ["new.db.lock"]


def certificate_of(server):
    address = urllib.parse.urlsplit(server.url)
    return ssl.get_server_certificate((address.hostname, address.port))


@pytest.mark.skipif(os.getuid() != 0, reason="every other test already runs without root's rights")
def test_a_server_without_the_rights_of_root_sends(simulate):
    # Outside of the test's own folder, which only root may enter.
    folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-user-", dir="/tmp"))
    nobody = 65534
    simulator = simulate()
    shutil.copy(simulator.ca_file, folder / "ca.pem")
    os.chown(folder, nobody, nobody)
    (folder / "ca.pem").chmod(0o644)
    server = Peal(folder, {**simulator.environment, "PEAL_PROVIDERS_CA_FILE": folder / "ca.pem"}, user=nobody)
    try:
        app = server.app()
        server.connect(app, simulator, "apns/production", "fcm")
        server.devices(app, [
            {"platform": "ios", "address": "ab" * 32}, {"platform": "android", "address": "android-token"}])
        assert server.wait(app, server.send(app))["counts"]["accepted"] == 2
    finally:
        server.stop()
        shutil.rmtree(folder)


@pytest.mark.skipif(os.getuid() != 0, reason="only root leaves files that the server's user cannot open")
def test_what_root_runs_on_a_stopped_store_leaves_no_file_that_the_server_cannot_open():
    folder = pathlib.Path(tempfile.mkdtemp(prefix="peal-user-", dir="/tmp"))
    nobody = 65534
    os.chown(folder, nobody, nobody)
    server = Peal(folder, user=nobody)
    try:
        for number, command in enumerate([
            ["doctor", "--offline"], ["migrate", "--dry-run"], ["migrate"], ["key", "rotate-master", "--dry-run"],
            ["key", "rotate-master"], ["backup", "--to", folder / "backup"],
            ["store", "copy", "--from", f"sqlite:{folder / 'peal.db'}", "--to", f"sqlite:{folder / 'copy.db'}"],
        ]):
            server.stop()
            # As after a manual copy of the database.
            (folder / "peal.db.lock").unlink()
            code, out, error = peal(*command, server=server)
            assert code == 0, (command, out, error)
            owners = {path.name: path.stat().st_uid for path in folder.glob("peal.db*")}
            assert set(owners.values()) == {nobody}, (command, owners)
            server.start()
            assert server.app(f"App {number}")
    finally:
        server.stop()
        shutil.rmtree(folder)


def test_sighup_reloads_and_never_ends_the_process(tmp_path):
    files = tmp_path / "certificate.pem", tmp_path / "key.pem"
    write_certificate(*files)
    configuration = tmp_path / "peal.yaml"
    configuration.write_text("log: {level: info}\n")
    server = Peal(tmp_path / "peal", {
        "PEAL_HTTP_TLS_CERTIFICATE": files[0], "PEAL_HTTP_TLS_KEY": files[1], "PEAL_CONFIG": configuration,
        "PEAL_LOG_LEVEL": "",
    })
    try:
        first = certificate_of(server)
        write_certificate(*files)
        configuration.write_text("log: {level: debug}\nproviders: {webpush: {allowed_hosts: push.example.com}}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "the configuration was reloaded" in server.log)
        assert certificate_of(server) != first
        second = certificate_of(server)
        configuration.write_text("log: {level: loud}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "was not reloaded" in server.log)
        files[0].write_text("not a certificate")
        configuration.write_text("log: {level: info}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: f"{files[0]} contains no PEM certificates" in server.log)
        for _ in range(5):
            server.process.send_signal(signal.SIGHUP)
        assert certificate_of(server) == second
        assert server.is_running
        assert "take effect after a restart" not in server.log
        write_certificate(*files)
        configuration.write_text("log: {level: info, format: text}\nlimits: {devices_per_app: 5}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "take effect after a restart" in server.log)
        entry = json.loads(next(line for line in server.log.splitlines() if "take effect after a restart" in line))
        assert sorted(entry["keys"]) == ["PEAL_LIMITS_DEVICES_PER_APP", "PEAL_LOG_FORMAT"]
        assert "the server is stopping" not in server.log
    finally:
        assert server.stop() == 0
    # Without this line, a log does not show whether the server was stopped or has crashed.
    assert server.log.count("the server is stopping") == 1


def test_sighup_applies_hosts_trust_roots_and_the_log_level(simulate, tmp_path):
    simulator = simulate()
    trust, configuration = tmp_path / "ca.pem", tmp_path / "peal.yaml"
    write_certificate(trust, tmp_path / "key.pem")
    configuration.write_text("log: {level: info}\n")
    server = Peal(tmp_path / "peal", {
        "PEAL_CONFIG": configuration, "PEAL_LOG_LEVEL": "", "PEAL_PROVIDERS_CA_FILE": trust,
        "PEAL_PROVIDERS_APNS_PRODUCTION_URL": simulator.description["apns_url"],
    })
    try:
        app = server.app()
        server.connect(app, simulator, "apns/production")
        phone = {"platform": "windows", "address": "https://push.example.com/?token=1"}

        def reload(text):
            count = server.log.count("the configuration was reloaded")
            configuration.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: server.log.count("the configuration was reloaded") > count)

        with pytest.raises(Refused):
            server.post(f"/apps/{app}/devices", phone)
        assert server.post(f"/apps/{app}/credentials/apns/production/verify")["result"] == "unreachable"
        assert '"level":"debug"' not in server.log
        shutil.copy(simulator.ca_file, trust)
        reload("log: {level: debug}\nproviders: {wns: {allowed_hosts: push.example.com}}\n")
        server.post(f"/apps/{app}/devices", phone)
        # All or nothing: with broken trust roots the hosts stay as they are.
        trust.write_text("no certificates")
        configuration.write_text("providers: {wns: {allowed_hosts: other.example.com}}\n")
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: f"{trust} contains no PEM certificates" in server.log)
        server.post(f"/apps/{app}/devices", phone)
        with pytest.raises(Refused):
            server.post(f"/apps/{app}/devices", phone | {"address": "https://other.example.com/?token=1"})
        shutil.copy(simulator.ca_file, trust)
        assert server.post(f"/apps/{app}/credentials/apns/production/verify")["result"] == "accepted"
        assert '"level":"debug"' in server.log
        reload("log: {level: info}\n")
        with pytest.raises(Refused):
            server.post(f"/apps/{app}/devices", {**phone, "address": "https://push.example.com/?token=2"})
    finally:
        server.stop()


def test_status_shows_admins_more_and_its_exit_code_is_the_state(serve):
    server = serve()
    code, out, _ = peal("status", server=server)
    assert code == 0 and "ready" in out and "database" in out
    code, out, _ = peal("status", "--json", environment={"PEAL_SERVER_URL": server.url})
    document = json.loads(out)
    assert code == 0 and document["status"] == "ok" and "version" not in document
    server.stop()
    assert peal("status", environment={"PEAL_SERVER_URL": server.url})[0] == 3


def test_admin_requests_need_the_listener_with_client_certificates(tmp_path):
    own = tmp_path / "certificate.pem", tmp_path / "key.pem"
    client = tmp_path / "client.pem", tmp_path / "client-key.pem"
    write_certificate(*own)
    write_certificate(*client)
    port_file = tmp_path / "admin-port"
    server = Peal(tmp_path / "peal", {
        "PEAL_ADMIN_LISTEN_PORT": 0, "PEAL_ADMIN_LISTEN_PORT_FILE": port_file,
        "PEAL_ADMIN_LISTEN_TLS_CERTIFICATE": own[0], "PEAL_ADMIN_LISTEN_TLS_KEY": own[1],
        "PEAL_ADMIN_LISTEN_TLS_CLIENT_CA": client[0],
    })
    try:
        # A key may list its apps on the main port.
        for method, path, status in [("GET", "/metrics", 404), ("POST", "/peal/v1/apps", 405),
                                     ("GET", "/peal/v1/audit", 404), ("GET", "/peal/v1/admins", 404)]:
            with pytest.raises(Refused) as refusal:
                server.request(method, path, {} if method == "POST" else None)
            assert refusal.value.status == status, path
        assert "version" not in server.request("GET", "/readyz")
        port = wait_until(lambda: port_file.exists() and port_file.read_text().strip())
        context = ssl.create_default_context(cafile=str(own[0]))
        url = f"https://localhost:{port}"

        def get(path):
            request = urllib.request.Request(url + path, headers={"Authorization": f"Bearer {server.admin_token}"})
            handlers = urllib.request.HTTPSHandler(context=context), urllib.request.ProxyHandler({})
            return urllib.request.build_opener(*handlers).open(request, timeout=10).read()

        with pytest.raises(OSError):
            get("/readyz")
        context.load_cert_chain(*client)
        assert json.loads(get("/readyz"))["version"]
        assert b"peal_build_info" in get("/metrics")
        assert json.loads(get("/peal/v1/admins")) == {"items": [], "next_cursor": None}

        known = {"PEAL_SERVER_URL": url, "PEAL_CA_FILE": own[0], "PEAL_ADMIN_TOKEN": server.admin_token}
        assert peal("status", environment=known)[0] == 3
        certificate, key = ("--client-cert-file", client[0]), ("--client-key-file", client[1])
        code, out, _ = peal("status", *certificate, *key, environment=known)
        assert code == 0 and "version" in out
        code, _, error = peal("status", *certificate, environment=known)
        assert code == 2 and "--client-key-file" in error
        code, _, error = peal("status", *certificate, "--client-key-file", client[0], environment=known)
        assert code == 2 and "no unencrypted private key" in error
    finally:
        server.stop()


def test_the_master_key_is_replaced_and_everything_still_works(serve):
    server = serve()
    app = server.app()
    key = server.post(f"/apps/{app}/keys", {"dialect": "native", "name": "backend"})
    pivotal = server.post(f"/apps/{app}/keys", {"dialect": "pivotal"})
    server.put(f"/apps/{app}/webhooks/main", {
        "url": "https://hooks.example.com/", "kind": "events", "authentication": {"type": "bearer", "token": "t" * 20}})
    server.put(f"/apps/{app}/credentials/wns", {"package_sid": "ms-app://s-1-15-2-1", "client_secret": "s" * 32})
    assert peal("key", "rotate-master", server=server)[0] == 1, "the server uses the database"
    server.stop()
    file = server.directory / "peal.db.key"
    former = file.read_bytes()
    code, out, error = peal("key", "rotate-master", server=server)
    assert code == 0, error
    assert "3 secrets" in out
    assert file.read_bytes() != former and mode(file) == 0o600
    assert (server.directory / "peal.db.key.former").read_bytes() == former
    server.start()
    server.request("GET", f"/peal/v1/apps/{app}", headers={"Authorization": f"Bearer {key['token']}"})
    assert len(server.get(f"/apps/{app}/webhooks")["items"]) == 1
    assert server.get(f"/apps/{app}/credentials")["items"][0]["provider"] == "wns"
    assert server.post("/audit:verify")["ok"]
    assert pivotal["shared_secret"] not in server.log
    server.stop()
    code, out, error = peal("doctor", "--offline", server=server)
    assert code == 0, out + error
    # Backups need the keys of their time.
    second = file.read_bytes()
    code, out, error = peal("key", "rotate-master", server=server)
    assert code == 0 and "peal.db.key.former.2" in out, out + error
    assert (server.directory / "peal.db.key.former").read_bytes() == former
    assert (server.directory / "peal.db.key.former.2").read_bytes() == second
    shutil.copy(server.directory / "peal.db.key.former", file)
    code, _, error = peal("migrate", server=server)
    assert code != 0 and "master key" in error


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_backups_restored_databases_and_keys_keep_their_names_if_the_machine_crashes(serve, tmp_path):
    library, log = tmp_path / "durable_names.so", tmp_path / "names.log"
    source = pathlib.Path(__file__).with_name("durable_names.c")
    subprocess.run(["cc", "-O1", "-shared", "-fPIC", "-o", library, source], check=True)
    server = serve()
    server.app()
    server.stop()

    def names(*arguments):
        """The files that a command names, after which it must flush their folder."""
        log.write_text("")
        code, _, error = peal(
            *arguments, server=server, environment={"LD_PRELOAD": str(library), "DURABLE_NAMES_LOG": str(log)})
        assert code == 0, error
        lines = [line.split(" ", 1) for line in log.read_text().splitlines()]
        for number, (action, path) in enumerate(lines):
            if action == "name":
                assert ["flush", os.path.dirname(path)] in lines[number:], (arguments, lines)
        return {os.path.basename(path) for action, path in lines if action == "name"}

    assert names("backup", "--to", tmp_path / "backup") == {"peal.db", "backup.json"}
    (tmp_path / "moved").mkdir()
    for name in ("peal.db", "peal.db-wal", "peal.db-shm"):
        if (server.directory / name).exists():
            (server.directory / name).rename(tmp_path / "moved" / name)
    assert names("restore", "--from", tmp_path / "backup") == {"peal.db"}
    assert names("key", "rotate-master") == {"peal.db.key", "peal.db.key.former"}


def test_a_file_that_is_not_a_store_of_peal_is_neither_backed_up_nor_copied_readably(serve, tmp_path):
    server = serve()
    app = server.app()
    server.phones(app, 3)
    server.stop()
    with contextlib.closing(sqlite3.connect(tmp_path / "other.db")) as other:
        other.execute("CREATE TABLE t (a)")
        other.commit()
    elsewhere = {"PEAL_STORE_URL": f"sqlite:{tmp_path / 'other.db'}"}
    code, _, error = peal("backup", "--to", tmp_path / "backup", server=server, environment=elsewhere)
    assert code == 1 and "not a Peal database" in error
    assert not list((tmp_path / "backup").glob("peal.db*"))
    code, _, error = peal("backup", "--to", tmp_path / "other.db" / "backup", "--dry-run", server=server)
    assert code == 1 and "is not a folder" in error
    source, copy = server.directory / "peal.db", tmp_path / "copy.db"

    def copied(source, copy):
        return peal("store", "copy", "--from", source, "--to", copy, server=server)

    code, _, error = copied(f"sqlite:{tmp_path / 'none.db'}", f"sqlite:{copy}")
    assert code and f"--from: there is no database at {tmp_path / 'none.db'} that this user can read" in error
    missing = {"PEAL_STORE_URL": f"sqlite:{tmp_path / 'none.db'}"}
    code, _, error = peal("backup", "--to", tmp_path / "backup", server=server, environment=missing)
    assert code == 1 and f"there is no database at {tmp_path / 'none.db'} that this user can read" in error
    code, _, error = copied(f"sqlite:{source}", "mysql:peal")
    assert code and "--to: must be sqlite:PATH or postgres://" in error
    code, out, error = copied(f"sqlite:{source}", f"sqlite:{copy}")
    assert code == 0, error
    assert out.endswith(f"The copy in {copy} is complete. It needs the master key of the original.\n"), out
    assert [mode(path) for path in tmp_path.glob("copy.db*")] == [0o600] * len(list(tmp_path.glob("copy.db*")))


def test_sighup_replaces_the_admin_token_and_restores_it(tmp_path):
    configuration = tmp_path / "peal.yaml"
    configuration.write_text("log: {level: info}\n")
    server = Peal(tmp_path / "peal", {"PEAL_CONFIG": configuration, "PEAL_LOG_LEVEL": "", "PEAL_ADMIN_TOKEN": ""})
    try:
        generated = re.search(r"admin token of this server \(shown only once\): (\S+)", server.log)[1]
        configured = "configured-token-0123456789abcdef"

        def opens(token):
            try:
                server.request("GET", "/peal/v1/apps", headers={"Authorization": f"Bearer {token}"})
            except Refused as refused:
                assert refused.status == 401
                return False
            return True

        for text, expected in ((f"admin: {{token: {configured}}}\n", configured), ("log: {level: info}\n", generated)):
            count = server.log.count("the configuration was reloaded")
            configuration.write_text(text)
            server.process.send_signal(signal.SIGHUP)
            wait_until(lambda: server.log.count("the configuration was reloaded") > count)
            assert [token for token in (generated, configured) if opens(token)] == [expected]
    finally:
        server.stop()


def test_no_secret_is_logged_at_any_level(serve):
    server = serve({"PEAL_LOG_LEVEL": "trace"})
    app = server.app()
    key = server.post(f"/apps/{app}/keys", {"dialect": "native", "name": "backend"})
    pivotal = server.post(f"/apps/{app}/keys", {"dialect": "pivotal"})
    admin = server.post("/admins", {"name": "Ada"})
    secrets = [server.admin_token, key["token"], pivotal["api_key"], pivotal["shared_secret"], admin["token"],
               "w" * 24, "secret-user", "secret-title"]
    server.put(f"/apps/{app}/webhooks/main", {
        "url": "https://hooks.example.com/", "kind": "events", "authentication": {"type": "bearer", "token": "w" * 24}})
    address = server.phones(app, 1, user_id="secret-user")[0]
    server.send(app, content={"title": "secret-title"})
    server.request("DELETE", f"/peal/v1/apps/{app}/users/secret-user",
                   headers={"Authorization": f"Bearer {key['token']}"})
    with pytest.raises(Refused):
        server.request("GET", f"/peal/v1/apps/{app}", headers={"Authorization": "Bearer guessed-secret-0123456789"})
    server.process.send_signal(signal.SIGHUP)
    wait_until(lambda: "the configuration was reloaded" in server.log)
    server.stop()
    log = server.log
    for secret in [*secrets, address, "guessed-secret-0123456789"]:
        assert secret not in log
    for name in ["adminTokenHash", "secretHash", "masterKey"]:
        assert name not in log
    line = next(json.loads(line) for line in log.splitlines() if '"DELETE"' in line)
    assert line["route"] == "/peal/v1/apps/:app/users/:user" and line["actor"].endswith("(backend)")
    assert line["status"] == 200 and line["duration_ms"] >= 0 and line["request_id"]
    first = json.loads(log.splitlines()[0])
    version = subprocess.run([PROGRAM, "version", "--json"], capture_output=True, text=True).stdout
    assert first["message"] == "the server is starting" and first["version"] == json.loads(version)["version"]


def test_a_log_that_nobody_reads_does_not_stop_the_server(tmp_path):
    port_file = tmp_path / "port"
    own = {"PEAL_HTTP_PORT": "0", "PEAL_HTTP_PORT_FILE": str(port_file), "PEAL_ADMIN_TOKEN": "x" * 40}
    process = subprocess.Popen(
        [PROGRAM, "serve"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, cwd=tmp_path,
        env={**inherited_environment(), **own})
    try:
        port = wait_until(lambda: port_file.exists() and port_file.read_text().strip())
        connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=60)
        for _ in range(1000):
            connection.request("GET", "/healthz")
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_SECONDS) == 0
        process.stderr.close()


def test_the_metrics_count_what_is_planned_apart_from_what_is_late(serve, simulate):
    server, simulator = serve(), simulate()
    app = server.app()
    server.connect(app, simulator, "apns/production")

    def count(name):
        request = urllib.request.Request(server.url + "/metrics")
        with OPENER.open(request, timeout=10) as answer:
            text = answer.read().decode()
        return float(re.search(rf"^{name} (\S+)$", text, re.M)[1])

    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 30 * 86_400))
    server.send(app, schedule={"at": later})
    server.send(app, schedule={"at": later, "in": "recipient_time_zone"})
    assert (count("peal_messages_scheduled"), count("peal_messages_unfinished")) == (2, 0)
    assert count("peal_oldest_pending_seconds") == 0
    # Devices that wait for the end of quiet hours are not late either.
    server.patch(f"/apps/{app}", {"settings": {
        "quiet_hours": {"from": "00:00", "to": "23:59"}, "default_time_zone": midday_zone()}})
    server.devices(app, [{"platform": "ios", "address": "ab" * 32}])
    message = server.send(app)
    wait_until(lambda: "QuietHours" in json.dumps(server.get(
        f"/apps/{app}/messages/{message}/deliveries?address={'ab' * 32}")))
    time.sleep(1.2)
    assert count("peal_messages_unfinished") == 1
    assert count("peal_oldest_pending_seconds") == 0
    assert "oldest_pending_at" not in json.dumps(server.get(f"/apps/{app}/routes"))


def midday_zone():
    """A time zone in which it is around noon, far from the minute that is not quiet."""
    offset = 12 - time.gmtime().tm_hour
    return f"Etc/GMT{-offset:+d}" if offset else "Etc/GMT"


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_a_message_that_fails_says_why(serve, tmp_path):
    clock = MovedClock(tmp_path)
    server = serve(clock.environment)
    app = server.app()
    server.put(f"/apps/{app}/segments/z", {"where": {"topic": "news"}})
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    [device] = server.devices(app, [{"platform": "ios", "address": "ab" * 32, "topics": ["news"]}])
    message = server.send(app, audience={"where": {"segment": "z"}}, schedule={"at": later})
    server.delete(f"/apps/{app}/segments/z")
    clock.advance(3600)
    report = server.wait(app, message, "failed")
    assert "segment" in report["failure"], report
    trail = server.get(f"/apps/{app}/messages/{message}/deliveries?device={device}")["items"]
    assert [event["detail"] for event in trail] == [f"MessageFailed: {report['failure']}"], trail
    assert "PealError" not in server.log


def test_the_metrics_are_clean(sending):
    server, app, _ = sending
    server.wait(app, server.send(app))
    text = OPENER.open(server.url + "/metrics", timeout=10).read().decode()
    for name in ["peal_http_requests_total", "peal_provider_answer_seconds_bucket", "peal_app_notifications_total",
                 "process_resident_memory_bytes", "peal_store_bytes"]:
        assert f"\n{name}" in text, name
    assert f'app="{app}"' in text
    done = promtool("check", "metrics", input=text)
    assert done.returncode == 0 and not done.stderr.strip(), done.stdout + done.stderr


def test_the_dockerfile_has_no_findings():
    hadolint = pathlib.Path(sys.executable).with_name("hadolint")
    done = subprocess.run([hadolint, ROOT / "Packaging/docker/Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
