"""`peal import` and `peal export` against a running server."""

import contextlib
import csv
import json
import random
import sqlite3
import subprocess
import time
import uuid

import pytest
from peal_server import PROGRAM, inherited_environment
from pivotal_server import PivotalServer
from waiting import wait_until

LINES = 10_000


def environment(url, key, app):
    """The environment of a command."""
    return {**inherited_environment(), "PEAL_SERVER_URL": url, "PEAL_API_KEY": key, "PEAL_APP": app}


def command(peal, app, *arguments, wait=True):
    """Runs a command of `peal`; returns its exit status, its output and its warnings."""
    process = subprocess.Popen(
        [PROGRAM, *arguments], env=environment(peal.url, peal.admin_token, app), stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, text=True)
    if not wait:
        return process
    output, errors = process.communicate(timeout=300)
    return process.returncode, output, errors


@pytest.fixture
def serve_pivotal():
    """Starts servers of the Pivotal API, and stops them after the test."""
    with contextlib.ExitStack() as running:

        def start(registrations, **options):
            server = PivotalServer(registrations, **options)
            running.callback(server.stop)
            return server

        yield start


def listed(peal, app):
    """Every device of the app, by id, without what only the server sets."""
    devices, cursor = {}, None
    for _ in range(1000):
        page = peal.get(f"/apps/{app}/devices", limit=200, **({"cursor": cursor} if cursor else {}))
        for device in page["items"]:
            devices[device["id"]] = {key: value for key, value in device.items() if key != "registered_at"}
        cursor = page["next_cursor"]
        if not cursor:
            return devices
    raise AssertionError("the list has no end")


def device(number):
    chance = random.Random(number)
    return {
        "platform": "ios",
        "environment": chance.choice(["production", "sandbox"]),
        "address": f"{number:064x}",
        "user_id": f"user {number}, \"Ä\"",
        "topics": chance.sample(["news", "a;b", "c,d", "été"], 2),
        "locale": "de-AT",
        "time_zone": "Europe/Vienna",
        "os_version": "17.4",
        "attributes": {"number": number, "line": "a\nb"},
    }


def lines_with_bad_ones():
    """Lines of devices without ids, and the numbers of invalid ones."""
    bad = {
        17: "{broken",
        1_000: '{"platform":"ios","address":"xyz"}',
        1_001: "[]",
        5_555: '{"platform":"ios"}',
        LINES: '{"platform":"toaster","address":"00"}',
    }
    lines = [bad.get(number) or json.dumps(device(number)) for number in range(1, LINES + 1)]
    return lines, sorted(bad)


def test_bad_lines_are_reported_and_a_killed_import_resumes_exactly_once(serve, tmp_path):
    peal = serve()
    app = peal.app()
    lines, bad = lines_with_bad_ones()
    file, resume, errors = (str(tmp_path / name) for name in ("devices.jsonl", "resume", "errors"))
    (tmp_path / "devices.jsonl").write_text("\n".join(lines) + "\n")
    arguments = ["import", file, "--resume-file", resume, "--errors", errors, "--json"]

    process = command(peal, app, *arguments, wait=False)

    def has_begun():
        assert process.poll() is None, process.communicate()
        return (tmp_path / "resume").exists() and json.loads((tmp_path / "resume").read_text())["done"] > 0

    wait_until(has_begun, pause=0.001)
    process.kill()
    process.communicate()
    recorded = json.loads((tmp_path / "resume").read_text())
    assert 0 < recorded["done"] < LINES
    # As if the program had ended after the last batch, before it could record that.
    (tmp_path / "resume").write_text(json.dumps({**recorded, "done": 0}))

    status, output, warned = command(peal, app, *arguments)
    assert status == 1, warned
    summary = json.loads(output)
    assert summary["refused"] == len(bad) and summary["created"] == LINES - len(bad)
    assert "line 17: not JSON" in warned and f"line {LINES}: " in warned
    told = {json.loads(line)["line"] for line in (tmp_path / "errors").read_text().splitlines()}
    assert told == set(bad)

    devices = listed(peal, app)
    assert len(devices) == LINES - len(bad)
    assert {d["state"] for d in devices.values()} == {"active"}
    assert {int(d["address"], 16) for d in devices.values()} == set(range(1, LINES + 1)) - set(bad)
    again = command(peal, app, *arguments)
    assert again[0] == 0 and json.loads(again[1])["created"] == 0


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_an_export_is_imported_into_another_app_as_it_was(serve, tmp_path, form):
    peal = serve()
    first, second = peal.app("First"), peal.app("Second")
    peal.devices(first, [device(number) for number in range(1, 450)] + [{"platform": "android", "address": "fcm:x"}])
    file = str(tmp_path / f"devices.{form}")
    status, output, warned = command(peal, first, "export", "--output", file, "--json")
    assert status == 0 and json.loads(output)["devices"] == 450, warned
    status, output, warned = command(peal, second, "import", file, "--json")
    assert status == 0 and json.loads(output)["created"] == 450, warned
    assert listed(peal, second) == listed(peal, first)
    if form == "csv":
        with open(file, newline="", encoding="utf-8") as text:
            rows = list(csv.DictReader(text))
        assert len(rows) == 450 and rows[0]["user_id"] == device(1)["user_id"]


def test_a_resume_file_is_for_one_app_and_one_file(serve, tmp_path):
    peal = serve()
    first, second = peal.app("First"), peal.app("Second")
    file, resume = tmp_path / "devices.jsonl", str(tmp_path / "resume")
    file.write_text("".join(json.dumps(device(number)) + "\n" for number in range(1, 21)))
    arguments = ["import", str(file), "--resume-file", resume, "--json"]
    assert command(peal, first, *arguments)[0] == 0
    status, output, warned = command(peal, second, *arguments)
    assert status == 2 and "belongs to the import of" in warned and first in warned, (output, warned)
    assert listed(peal, second) == {}
    status, output, warned = command(peal, first, *arguments)
    assert status == 0 and json.loads(output)["resumed_after"] == 20, warned
    file.write_text("".join(json.dumps(device(number)) + "\n" for number in range(21, 31)))
    status, output, warned = command(peal, first, *arguments)
    assert status == 2 and "the input has changed" in warned, (output, warned)
    assert len(listed(peal, first)) == 20


def test_an_import_never_writes_to_its_input(serve, tmp_path):
    peal = serve()
    app = peal.app()
    file, link = tmp_path / "devices.jsonl", tmp_path / "link"
    text = "".join(json.dumps(device(number)) + "\n" for number in range(1, 4))
    file.write_text(text)
    link.symlink_to("devices.jsonl")
    for option in ("--errors", "--resume-file"):
        for name in (file, link):
            status, _, warned = command(peal, app, "import", str(file), option, str(name))
            assert status == 2 and "is the input" in warned, warned
    with open(file, encoding="utf-8") as lines:
        arguments = [PROGRAM, "import", "-", "--errors", str(file)]
        piped = subprocess.run(
            arguments, env=environment(peal.url, peal.admin_token, app), stdin=lines, capture_output=True, text=True,
            timeout=300)
    assert piped.returncode == 2 and "is the input" in piped.stderr, piped.stderr
    assert file.read_text() == text and listed(peal, app) == {}


def test_an_export_deletes_nothing(serve, tmp_path):
    peal = serve()
    app = peal.app()
    peal.devices(app, [device(1)])
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "kept").write_text("kept")
    for name in (str(folder), f"{folder}/"):
        status, _, warned = command(peal, app, "export", "--output", name)
        assert status == 2 and "is a folder" in warned, warned
    assert (folder / "kept").read_text() == "kept"
    (folder / "out.csv").write_text("old")
    status, _, warned = command(peal, str(uuid.uuid4()), "export", "--output", str(folder / "out.csv"))
    assert status == 1, warned
    assert sorted(path.name for path in folder.iterdir()) == ["kept", "out.csv"]
    assert (folder / "out.csv").read_text() == "old"


def test_a_pivotal_server_is_paged_and_its_devices_keep_their_ids(serve, serve_pivotal, tmp_path):
    registrations = pivotal_phones(1_233)
    for number, phone in enumerate(registrations, 1):
        phone["os"] = "android-fcm" if number % 10 == 0 else "ios"
        phone["device_alias"] = "" if number % 2 else f"phone {number}"
        phone["active"] = number % 7 != 0
    registrations[4]["os"] = "bb10"
    pivotal = serve_pivotal(registrations)
    peal = serve()
    app = peal.app()
    resume = tmp_path / "resume"
    source = ["--url", pivotal.url + "/v1", "--application-uuid", "app-1", "--api-key"]
    arguments = ["import", "--from", "pivotal", "--json", "--resume-file", str(resume), *source]
    assert command(peal, app, *arguments, "wrong")[0] == 1
    status, output, warned = command(peal, app, *arguments, "key-1")
    assert status == 1 and "registration 5: os" in warned
    summary = json.loads(output)
    gone = sum(1 for r in registrations if not r["active"])
    assert (summary["refused"], summary["skipped"]) == (1, gone)
    devices = listed(peal, app)
    assert set(devices) == {r["device_uuid"] for r in registrations if r["active"] and r["os"] != "bb10"}
    two = devices[str(uuid.UUID(int=2))]
    assert (two["alias"], two["vendor_os"], two["address"]) == ("phone 2", "ios", f"{2:064X}")
    assert devices[str(uuid.UUID(int=10))]["platform"] == "android"
    pages = [path for path in pivotal.requests if path.startswith("/v2/registrations")]
    assert f"page={-(-len(registrations) // 50)}" in pages[-1]


def pivotal_phones(count):
    return [
        {
            "os": "ios",
            "os_version": "10.2",
            "device_model": "",
            "device_manufacturer": "Apple",
            "device_alias": "",
            "device_uuid": str(uuid.UUID(int=number)),
            "registration_token": f"{number:064X}",
            "active": True,
        }
        for number in range(1, count + 1)
    ]


def topics_of(devices, number):
    return sorted(devices[str(uuid.UUID(int=number))]["topics"])


IN_A_YEAR = int(time.time() + 365 * 86400) * 1000


def test_the_topics_of_a_pivotal_server_are_imported_with_their_devices(serve, serve_pivotal, tmp_path):
    phones = pivotal_phones(130)
    phones[1]["active"] = False
    ids = [phone["device_uuid"] for phone in phones]
    members = {"News": ids, "été & co": ids[:3], "sale": ids[2:3]}
    topics = {"News": None, "été & co": None, "sale": IN_A_YEAR, "empty": None}
    topics |= {f"t{number:02}": None for number in range(60)}
    pivotal = serve_pivotal(phones, topics=topics, members=members)
    peal = serve()
    app = peal.app()
    arguments = ["import", "--json", "--resume-file", str(tmp_path / "resume"), *pivotal.source]
    status, output, warned = command(peal, app, *arguments)
    assert status == 0, warned
    summary = json.loads(output)
    assert (summary["created"], summary["topics"], summary["subscriptions"]) == (129, 64, 129 + 2 + 1)
    devices = listed(peal, app)
    assert topics_of(devices, 1) == ["news", "été & co"]
    assert topics_of(devices, 3) == ["news", "sale", "été & co"]
    assert topics_of(devices, 130) == ["news"]
    listing = {item["name"]: item for item in peal.get(f"/apps/{app}/topics", limit=200)["items"]}
    assert listing["news"]["devices"] == 129 and listing["empty"]["devices"] == 0
    assert listing["sale"]["expires_at"].startswith(time.strftime("%Y-%m-%d", time.gmtime(IN_A_YEAR / 1000)))

    # What is done is not requested again.
    pivotal.requests.clear()
    status, output, warned = command(peal, app, *arguments)
    assert status == 0 and json.loads(output)["subscriptions"] == 0, warned
    assert not any("topic=News" in path for path in pivotal.requests)


def test_topics_that_have_expired_are_left_out_and_refused_ones_are_named(serve, serve_pivotal):
    phones = pivotal_phones(3)
    ids = [phone["device_uuid"] for phone in phones]
    long = "x" * 300
    topics = {"aaa": None, "mmm": 1_000_000_000_000, long: None, "zzz": None}
    pivotal = serve_pivotal(phones, topics=topics, members={name: ids for name in topics})
    peal = serve()
    app = peal.app()
    status, output, warned = command(peal, app, "import", "--json", *pivotal.source)
    assert status == 1 and f"topic {long}: " in warned and "1 of 3 topics was refused" in warned, warned
    summary = json.loads(output)
    assert (summary["topics"], summary["refused_topics"], summary["subscriptions"]) == (3, 1, 6)
    assert topics_of(listed(peal, app), 2) == ["aaa", "zzz"]
    assert {item["name"] for item in peal.get(f"/apps/{app}/topics")["items"]} == {"aaa", "zzz"}


def test_an_import_that_is_repeated_changes_what_was_changed_meanwhile(serve, tmp_path):
    peal = serve()
    app = peal.app()
    file = tmp_path / "devices.jsonl"
    given = {**device(1), "id": str(uuid.UUID(int=1))}
    file.write_text(json.dumps(given) + "\n")
    assert command(peal, app, "import", str(file))[0] == 0
    peal.patch(f"/apps/{app}/devices/{given['id']}", {"user_id": "other", "topics": []})
    status, output, _ = command(peal, app, "import", str(file), "--json")
    assert status == 0 and json.loads(output)["updated"] == 1
    (present,) = listed(peal, app).values()
    assert present["user_id"] == given["user_id"] and sorted(present["topics"]) == sorted(given["topics"])
    peal.delete(f"/apps/{app}/devices/{given['id']}")
    status, output, _ = command(peal, app, "import", str(file), "--json")
    assert status == 0 and json.loads(output)["created"] == 1 and len(listed(peal, app)) == 1


@pytest.mark.parametrize(
    "content, arguments, reason",
    [
        (b"\x1f\x8b\x08\x00", [], "compressed with gzip"),
        ('{"platform":"ios"}'.encode("utf-16-le"), [], "not UTF-8"),
        (b"platform;address\nios;00\n", ["--format", "csv"], "separated by commas"),
        (b"{}", ["--environment", "prod"], "environment"),
    ],
)
def test_an_invalid_import_is_refused_as_a_whole(tmp_path, content, arguments, reason):
    file = tmp_path / "devices"
    file.write_bytes(content)
    # No server listens there.
    nowhere = environment("http://127.0.0.1:1", "key", str(uuid.UUID(int=10)))
    ended = subprocess.run(
        [PROGRAM, "import", str(file), *arguments], env=nowhere, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 2 and reason in ended.stderr, ended.stderr


def test_from_a_pivotal_server_that_ignores_the_filter_nobody_is_subscribed_to_everything(serve, serve_pivotal):
    pivotal = serve_pivotal(pivotal_phones(3), topics={"news": None}, ignores_filters=True)
    peal = serve()
    app = peal.app()
    status, output, warned = command(peal, app, "import", "--json", *pivotal.source)
    assert status == 1 and "subscriptions would be lost" in warned, warned
    assert topics_of(listed(peal, app), 1) == []
    without = command(peal, app, "import", "--json", *pivotal.source, "--without-topics")
    assert without[0] == 0, without
    assert "subscriptions" not in json.loads(without[1])


def test_a_platforms_secret_adds_tags_and_custom_user_ids(serve, serve_pivotal):
    phones = pivotal_phones(60)
    details = {
        phones[0]["device_uuid"]: {"custom_user_id": "Bond007", "tags": [{"text": "news"}, {"text": "sale"}]},
        phones[59]["device_uuid"]: {"custom_user_id": "M", "tags": []},
    }
    pivotal = serve_pivotal(phones, details=details, topics={"news": None, "sale": IN_A_YEAR})
    peal = serve()
    app = peal.app()
    platforms = ["--platform", "platform-0:other", "--platform", "platform-1:secret-1"]
    status, output, warned = command(peal, app, "import", "--json", *pivotal.source, *platforms)
    assert status == 0, warned
    assert json.loads(output)["topics"] == 2 and json.loads(output)["subscriptions"] == 2
    devices = listed(peal, app)
    first, last = devices[phones[0]["device_uuid"]], devices[phones[59]["device_uuid"]]
    assert (first["user_id"], sorted(first["topics"])) == ("Bond007", ["news", "sale"])
    assert (last["user_id"], last["topics"]) == ("M", [])
    assert command(peal, app, "import", *pivotal.source, "--platform", "x")[0] == 2


def test_only_imported_devices_need_the_secret_of_their_platform(serve, serve_pivotal):
    phones = pivotal_phones(4)
    phones[0] |= {"os": "bb10"}
    phones[1] |= {"os": "windowsPhone", "active": False}
    pivotal = serve_pivotal(phones, topics={}, hidden={phones[0]["device_uuid"], phones[1]["device_uuid"]})
    peal = serve()
    app = peal.app()
    arguments = ["import", "--json", *pivotal.source, "--platform", "platform-1:secret-1"]
    status, output, warned = command(peal, app, *arguments)
    summary = json.loads(output)
    assert status == 1 and 'registration 1: os "bb10": not supported' in warned, warned
    assert (summary["created"], summary["refused"], summary["skipped"]) == (2, 1, 1)
    # A platform whose secret is wrong is named.
    wrong = command(peal, app, *arguments[:-1], "platform-1:wrong", "--platform", "platform-2:secret-2")
    assert wrong[0] == 1 and "the secret of platform-1, platform-2" in wrong[2], wrong


def test_a_resume_file_without_platforms_is_not_continued_with_them(serve, serve_pivotal, tmp_path):
    phones = pivotal_phones(3)
    details = {phones[0]["device_uuid"]: {"custom_user_id": "Bond007", "tags": [{"text": "news"}]}}
    pivotal = serve_pivotal(phones, details=details, topics={"news": None}, ignores_filters=True)
    peal = serve()
    app = peal.app()
    arguments = ["import", "--json", *pivotal.source, "--resume-file", str(tmp_path / "resume")]
    status, _, warned = command(peal, app, *arguments)
    assert status == 1 and "give --platform" in warned, warned
    # The devices count as imported in that file, although their user ids and topics are missing.
    again = command(peal, app, *arguments, "--platform", "platform-1:secret-1")
    assert again[0] == 2 and "belongs to the import of" in again[2], again
    (tmp_path / "resume").unlink()
    assert command(peal, app, *arguments, "--platform", "platform-1:secret-1")[0] == 0
    assert topics_of(listed(peal, app), 1) == ["news"]


def test_topics_in_capitals_keep_their_devices(serve, serve_pivotal):
    phones = pivotal_phones(3)
    pivotal = serve_pivotal(phones, topics={"News": None}, members={"News": [phones[1]["device_uuid"]]})
    peal = serve()
    app = peal.app()
    status, output, warned = command(peal, app, "import", "--json", *pivotal.source)
    assert status == 0 and json.loads(output)["subscriptions"] == 1, warned
    assert topics_of(listed(peal, app), 2) == ["news"]


def test_rows_that_cannot_be_read_hide_no_others_and_make_an_export_fail(serve, tmp_path):
    peal = serve()
    app, other = peal.app("Damaged"), peal.app("Whole")
    ids = peal.devices(app, [{**device(number), "alias": f"phone {number}"} for number in range(1, 501)])
    peal.devices(other, [device(number) for number in range(1, 4)])
    tomorrow = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 86_400))
    messages = [peal.send(app, schedule={"at": tomorrow}) for _ in range(3)]
    with sqlite3.connect(peal.directory / "peal.db") as connection:
        own = f"app = (SELECT app FROM device WHERE hex(id) = '{ids[0].replace('-', '').upper()}')"
        assert connection.execute(f"UPDATE device SET route = 999 WHERE {own} AND seq IN (3, 301)").rowcount == 2
        assert connection.execute(f"UPDATE device_detail SET detail = x'ff' WHERE {own} AND seq = 7").rowcount == 1
        damaged = messages[1].replace("-", "").upper()
        assert connection.execute(f"UPDATE message SET state = 99 WHERE hex(message) = '{damaged}'").rowcount == 1
    connection.close()
    first = peal.get(f"/apps/{app}/devices", limit=100)
    assert len(first["items"]) == 100 and first["incomplete"] is True
    assert [item["id"] for item in first["items"][:4]] == [ids[0], ids[1], ids[3], ids[4]]
    second = peal.get(f"/apps/{app}/devices", limit=100, cursor=first["next_cursor"])
    assert "incomplete" not in second
    assert set(listed(peal, app)) == set(ids) - {ids[2], ids[300]}
    assert "incomplete" not in peal.get(f"/apps/{other}/devices")
    listed_messages = peal.get(f"/apps/{app}/messages")
    assert {item["id"] for item in listed_messages["items"]} == {messages[0], messages[2]}
    assert listed_messages["incomplete"] is True and "incomplete" not in peal.get("/apps")
    output = tmp_path / "out.jsonl"
    status, summary, errors = command(peal, app, "export", "--output", str(output), "--json")
    assert status == 1 and "items or their details are missing" in errors
    assert json.loads(summary) == {"devices": 498, "output": str(output), "incomplete": True}
    exported = [json.loads(line) for line in output.read_text().splitlines()]
    assert {item["id"] for item in exported} == set(ids) - {ids[2], ids[300]}
    assert [item.get("alias") for item in exported if item["id"] in (ids[6], ids[7])] == [None, "phone 8"]
    status, _, errors = command(peal, other, "export", "--output", str(output))
    assert status == 0 and "missing" not in errors
    wait_until(lambda: peal.log.count("lists omit a row of device") >= 2, failure=lambda: peal.log[-2000:])
