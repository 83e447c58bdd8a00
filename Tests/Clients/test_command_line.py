"""`peal` as a shell uses it: every list against a real server, and outputs that cannot be written."""

import http.server
import json
import os
import signal
import ssl
import subprocess
import threading

import pytest
from certificates import write_certificate
from peal_server import PROGRAM, Peal, inherited_environment

LISTS = ["app", "credential", "key", "device", "topic", "segment", "message", "schedule", "campaign", "webhook", "admin"]


def environment(peal, app):
    own = {"PEAL_SERVER_URL": peal.url, "PEAL_API_KEY": peal.admin_token, "PEAL_APP": app}
    return {**inherited_environment(), **own}


def run(peal, app, *arguments, **options):
    return subprocess.run(
        [PROGRAM, *arguments], env=environment(peal, app), timeout=60, **{"capture_output": True, "text": True, **options})


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    peal = Peal(tmp_path_factory.mktemp("peal"))
    app = peal.app()
    devices = [{"platform": "ios", "address": f"{number:064x}"} for number in range(500)]
    peal.post(f"/apps/{app}/devices:batch", {"devices": devices})
    yield peal, app
    peal.stop()


@pytest.mark.parametrize("name", LISTS)
def test_every_list_can_be_shown_as_a_table_and_as_json(running, name):
    peal, app = running
    table = run(peal, app, name, "list", "--limit", "5")
    assert (table.returncode, table.stderr) == (0, "")
    shown = run(peal, app, name, "list", "--json")
    assert shown.returncode == 0 and isinstance(json.loads(shown.stdout)["items"], list)


def test_keys_and_admins_are_listed_in_pages(running):
    peal, app = running
    made = [run(peal, app, "key", "create", "native", "--json") for _ in range(5)]
    assert [each.returncode for each in made] == [0] * 5
    ids, cursor = [], None
    while True:
        page = peal.get(f"/apps/{app}/keys", limit=2, **({"cursor": cursor} if cursor else {}))
        assert len(page["items"]) <= 2
        ids += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if not cursor:
            break
    assert sorted(ids) == sorted(json.loads(each.stdout)["id"] for each in made)
    assert len(json.loads(run(peal, app, "key", "list", "--limit", "3", "--json").stdout)["items"]) == 3


@pytest.mark.parametrize("arguments", [("export",), ("device", "list", "--limit", "400"), ("app", "list", "--json")])
def test_a_closed_pipe_ends_a_command_quietly(running, arguments):
    peal, app = running
    reading, writing = os.pipe()
    process = subprocess.Popen(
        [PROGRAM, *arguments], env=environment(peal, app), stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    os.close(reading)
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (-signal.SIGPIPE, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_is_named(running):
    peal, app = running
    with open("/dev/full", "w") as full:
        ended = run(peal, app, "app", "list", capture_output=False, stdout=full, stderr=subprocess.PIPE)
        assert ended.returncode == 1 and "cannot write to standard output: No space" in ended.stderr
        # Nobody can read this, so it does not matter.
        assert run(peal, app, "app", "show", "nonsense", capture_output=False, stderr=full).returncode == 2


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_full_disk_is_named_for_files_too(running, tmp_path):
    peal, app = running
    (tmp_path / "devices.jsonl").write_text('{"platform": "ios"}\n')
    ended = run(peal, app, "import", tmp_path / "devices.jsonl", "--errors", "/dev/full")
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1] == "cannot write /dev/full: No space left on device"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no /dev/full")
def test_a_server_goes_on_when_its_log_cannot_be_written(tmp_path):
    (tmp_path / "peal.log").symlink_to("/dev/full")
    peal = Peal(tmp_path)
    try:
        app = peal.app()
        for number in range(20):
            peal.post(f"/apps/{app}/devices:batch", {"devices": [{"platform": "ios", "address": f"{number:064x}"}]})
        assert len(peal.get(f"/apps/{app}/devices")["items"]) == 20
    finally:
        assert peal.stop() == 0


def test_the_port_of_this_machine_is_the_configured_one(running):
    peal, app = running
    own = environment(peal, app)
    del own["PEAL_SERVER_URL"]
    own["PEAL_HTTP_PORT"] = peal.url.rsplit(":", 1)[1]
    status = subprocess.run([PROGRAM, "status"], env=own, capture_output=True, text=True, timeout=60)
    assert status.returncode == 0, status.stderr


def test_files_may_be_pipes(running):
    peal, app = running
    (reads, writes), (key, key_in) = os.pipe(), os.pipe()
    os.write(writes, json.dumps({"audience": {"all": True}, "content": {"title": "x"}}).encode())
    os.write(key_in, peal.admin_token.encode())
    os.close(writes)
    os.close(key_in)
    arguments = ["message", "validate", "--file", f"/dev/fd/{reads}", "--api-key-file", f"/dev/fd/{key}", "--json"]
    shown = run(peal, app, *arguments, pass_fds=(reads, key))
    os.close(reads)
    os.close(key)
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "audience" in shown.stdout


def test_a_certificate_for_another_host_is_named(tmp_path):
    certificate = tmp_path / "certificate.pem", tmp_path / "key.pem"
    write_certificate(*certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(*certificate)
    # The certificate is for 127.0.0.1.
    server = http.server.HTTPServer(("127.0.0.2", 0), http.server.BaseHTTPRequestHandler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        ended = subprocess.run(
            [PROGRAM, "status", "--server", f"https://127.0.0.2:{server.server_port}", "--ca-file", certificate[0]],
            env={}, timeout=60, capture_output=True, text=True)
    finally:
        server.shutdown()
        server.server_close()
    assert ended.returncode == 3
    assert "its certificate is for another host; use a host name that it contains" in ended.stderr
