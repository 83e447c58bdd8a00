"""The guides in docs/guides: every command runs, configurations work, and code uses names that exist."""

import json
import os
import pathlib
import re
import secrets
import shutil
import subprocess
import sys
import urllib.parse
import urllib.request

import pytest
from certificates import write_certificate
from doc_examples import ROOT, examples, run_examples
from foreign_servers import ForeignServer
from free_port import free_port
from peal_server import PROGRAM, Refused
from test_sdk_sources import compile_all, compile_stubs, run
from waiting import wait_until

GUIDES = "docs/guides"
GETTING_STARTED = "SDK/Sources/PealSDK/PealSDK.docc/GettingStarted.md"
# A browser's keys, from RFC 8291's appendix.
BROWSER_KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
IPHONE = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"
ANDROID = "cheese:APA91bExample"
needs_swiftc = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("swiftc") is None, reason="Apple's own framework is there, or no compiler"
)


class GuideFixture:
    """A simulator, a server that sends to it, and the variables that the guides expect."""

    def __init__(self, simulate, serve, tmp_path):
        self.simulator = simulate()
        self.directory = tmp_path
        description = self.simulator.description
        self.environment = {**self.simulator.environment, "PEAL_WEBHOOKS_ALLOWED_HOSTS": "127.0.0.1"}
        self.serve = serve
        self.peal = serve(self.environment)
        apns = description["apns"]
        self.variables = {
            "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}",
            "PEAL_SERVER_URL": self.peal.url,
            "PEAL_ADMIN_TOKEN": self.peal.admin_token,
            "HOST": self.peal.url,
            "KEY_FILE": apns["private_key_file"],
            "KEY_ID": apns["key_id"],
            "TEAM_ID": apns["team_id"],
            "BUNDLE_ID": apns["bundle_id"],
            "ACCOUNT_FILE": description["fcm"]["service_account_file"],
            "REPORTS": "https://127.0.0.1:9/reports",
        }

    def run(self, guide, replacements=None, **variables):
        """Runs a guide's blocks. Returns what they wrote."""
        return run_examples(f"{GUIDES}/{guide}.md", {**self.variables, **variables}, self.directory, replacements)

    def wait_for(self, device, count=1):
        """What a device received, once there are `count` notifications that people see."""
        device = urllib.parse.quote(device)

        def received():
            items = self.simulator.inbox(f"?device={device}")
            return len(items) >= count and items

        return wait_until(received, failure=lambda: f"{device} received less than {count}")

    @property
    def app(self):
        return self.peal.get("/apps")["items"][0]["id"]


@pytest.fixture
def fixture(simulate, serve, tmp_path):
    return GuideFixture(simulate, serve, tmp_path)


# The guides from top to bottom


def first_push_replacements(tmp_path):
    """The first steps start programs of their own, on ports that other tests may have taken."""
    return {
        'make build && export PATH="$PWD/.build/debug:$PATH"': f'export PATH="{pathlib.Path(PROGRAM).parent}:$PATH"',
        "/tmp/sim": tmp_path / "sim",
        "/tmp/peal.log": tmp_path / "peal.log",
        "2197": free_port(),
        "2198": free_port(),
    }


def run_first_push(page, tmp_path):
    port = free_port()
    variables = {"PEAL_HTTP_PORT": port, "PEAL_SERVER_URL": f"http://127.0.0.1:{port}"}
    return run_examples(page, variables, tmp_path, {**first_push_replacements(tmp_path), "127.0.0.1:8080": f"127.0.0.1:{port}"})


def test_the_first_push(tmp_path):
    outputs = run_first_push(f"{GUIDES}/first-push.md", tmp_path)
    assert "result  accepted" in outputs[3]
    answer, shown = json.loads(outputs[6]), json.loads(examples(f"{GUIDES}/first-push.md", "json")[0].text)
    assert {**answer, "id": shown["id"], "state": shown["state"]} == shown
    assert "by its user" in outputs[7] and "accepted" in outputs[7]
    assert "Peal speaks." in outputs[8] and "Your order is on its way." in outputs[8]
    assert "retired" in outputs[9]
    assert "fail" not in outputs[10]


def test_the_page_of_the_simulator(tmp_path):
    path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
    inbox, doctor, fault = run_examples("docs/simulator.md", {"PATH": path}, tmp_path, {"/tmp/sim": tmp_path / "sim"})
    assert json.loads(inbox) == {"items": [], "count": 0}
    # Both environments of APNs, FCM, and both token endpoints of WNS: none is a vendor's.
    assert doctor.count("127.0.0.1") == doctor.count("reachable") == 5 and "fail" not in doctor
    assert json.loads(fault) == {"ok": True}


def test_an_iphone(fixture):
    token = secrets.token_hex(32)
    outputs = fixture.run("iphone", DEVICE_TOKEN=token)
    assert outputs[0].count("result  accepted") == 2
    assert "peald_" in outputs[1]
    assert fixture.wait_for(token)[0]["payload"]["aps"]["alert"]["body"] == "It is ready."
    assert "accepted" in outputs[-1]


def test_an_android_phone(fixture):
    outputs = fixture.run("android", REGISTRATION_TOKEN=ANDROID)
    assert "result  accepted" in outputs[0]
    assert "pdt_" in outputs[1] and "android" in outputs[1]
    # The backend's way works too, and ends the device token of the app's.
    assert "ann" in outputs[2]
    assert "accepted" in outputs[3]
    shown, data_only = (item["payload"] for item in fixture.wait_for(ANDROID, 2))
    assert shown["notification"]["body"] == "It is ready."
    assert "notification" not in data_only and data_only["data"]["story"] == "17"


def test_a_web_page(fixture):
    _, subscription = fixture.simulator.control("POST", "/webpush/subscriptions", {})
    outputs = fixture.run("web", SUBSCRIPTION=json.dumps(subscription))
    assert "public_key" in outputs[0] and "peald_" in outputs[0]
    assert (fixture.directory / "peal-worker.js").read_bytes() == (ROOT / "SDK/Web/peal-worker.js").read_bytes()
    assert "accepted" in outputs[2]
    (item,) = fixture.simulator.inbox("?provider=webpush")
    assert item["payload"]["title"] == "Cheese" and item["payload"]["data"]["url"] == "https://example.com/cheese/17"


def test_the_move_from_pivotal(fixture):
    """The old server is another `peal` with the same API, which the guide cannot tell from Pivotal's."""
    old = fixture.serve(fixture.environment)
    ids = {name: secrets.token_hex(16) for name in ("API_KEY", "SHARED_SECRET", "IOS_SECRET", "ANDROID_SECRET")}
    for name in ("APPLICATION_UUID", "IOS_UUID", "ANDROID_UUID"):
        ids[name] = f"5ca1ab1e-0000-4000-8000-{secrets.token_hex(6)}"
    app = old.app(settings={"pivotal": {"verify_custom_user_id": False}})
    keys = f"/apps/{app}/keys"
    old.post(keys, {"dialect": "pivotal", "application_uuid": ids["APPLICATION_UUID"], "api_key": ids["API_KEY"],
                    "shared_secret": ids["SHARED_SECRET"]})  # fmt: skip
    for platform in ("ios", "android"):
        values = {"platform_uuid": ids[f"{platform.upper()}_UUID"], "platform_secret": ids[f"{platform.upper()}_SECRET"]}
        old.post(keys, {"dialect": "pivotal-platform", "platform": platform, **values})
    devices = [
        {"platform": "ios", "address": IPHONE, "user_id": "ann", "topics": ["news", "sports"]},
        {"platform": "android", "address": ANDROID, "user_id": "ben", "topics": ["news"]},
    ]
    phone = old.devices(app, devices)[0]
    content = {"message": {"body": "Later"}, "target": {"topics": ["news"]}, "scheduleIn": 7200}
    basic = subprocess.run(
        ["curl", "-sf", "--noproxy", "*", f"{old.url}/v1/push", "-u", f"{ids['APPLICATION_UUID']}:{ids['API_KEY']}",
         "-d", json.dumps(content)], capture_output=True, text=True, check=True)  # fmt: skip
    assert "schedule_id" in basic.stdout
    outputs = fixture.run("from-pivotal", OLD=old.url, DEVICE=phone, **ids)
    counts = outputs[3].split()
    assert counts[:2] == ['"totalRegistrations":2', '"totalTopics":2'] and counts[2:4] == counts[:2]
    moved = fixture.peal.get(f"/apps/{fixture.app}/devices/{phone}")
    assert (moved["address"], moved["user_id"], sorted(moved["topics"])) == (IPHONE, "ann", ["news", "sports"])
    assert "accepted" in outputs[4]
    assert fixture.wait_for(IPHONE)[0]["payload"]["aps"]["alert"]["body"] == "From Peal"
    (schedule,) = json.loads(outputs[5][outputs[5].index("[") :])
    assert schedule["push"]["message"]["body"] == "Later"


def test_the_move_from_richie(fixture):
    outputs = fixture.run("from-richie", RICHIE_APP="news-1", USERNAME="backend", PASSWORD="a-password-of-theirs-17")
    assert "counts.accepted" in outputs[3]
    assert fixture.wait_for(IPHONE)[-1]["payload"]["aps"]["alert"]["body"] == "From Peal"
    assert fixture.wait_for(ANDROID)


def test_the_move_from_devtodev(fixture):
    outputs = fixture.run("from-devtodev", DEVTODEV_APP="11111111-2222-4333-8444-555555555555", USER_TOKEN=secrets.token_hex(16))
    assert '"successful":1' in outputs[2]
    assert '"accepted":1' in outputs[3]


def test_the_move_from_contextpush(fixture):
    outputs = fixture.run("from-contextpush", CTX="CTX-" + secrets.token_hex(16))
    assert '"status":"scheduled"' in outputs[3]
    assert '"status":"cancelled"' in outputs[4]


ONESIGNAL = """id,identifier,session_count,language,timezone,game_version,device_os,device_type,device_model,ad_id,tags,\
last_active,playtime,amount_spent,created_at,invalid_identifier,badge_count,external_user_id,timezone_id,notification_types,\
web_auth,web_p256
10000000-0000-4000-8000-000000000001,{iphone},3,de,3600,4.2,18.1,0,"iPhone14,2",,"{{""news"":""1"",""level"":""5""}}",\
2026-01-01 00:00:00,0,0,2025-01-01 00:00:00,f,0,ann,Europe/Vienna,1,,
10000000-0000-4000-8000-000000000002,{android},3,en,0,4.2,15,1,Pixel 9,,"{{}}",2026-01-01,0,0,2025-01-01,f,0,ben,Europe/London,1,,
10000000-0000-4000-8000-000000000003,ffff,3,en,0,4.2,15,0,,,"{{}}",2026-01-01,0,0,2025-01-01,t,0,eve,,-2,,
10000000-0000-4000-8000-000000000004,eve@example.com,3,en,0,4.2,15,11,,,"{{}}",2026-01-01,0,0,2025-01-01,f,0,eve,,1,,
10000000-0000-4000-8000-000000000005,{endpoint},3,en,0,,120,5,,,"{{}}",2026-01-01,0,0,2025-01-01,f,0,web,,1,{auth},{p256dh}
"""


def test_the_move_from_onesignal(fixture):
    endpoint = fixture.simulator.description["webpush_url"] + "/push/browser-1"
    text = ONESIGNAL.format(iphone=IPHONE, android=ANDROID, endpoint=endpoint, **BROWSER_KEYS)
    (fixture.directory / "users.csv").write_text(text)
    outputs = fixture.run("from-onesignal")
    lines = (fixture.directory / "devices.jsonl").read_text().splitlines()
    assert [json.loads(line)["platform"] for line in lines] == ["ios", "android", "web"]
    assert "skipped" not in outputs[1] and (fixture.directory / "devices.refused").read_text() == ""
    ann = fixture.peal.get(f"/apps/{fixture.app}/devices/10000000-0000-4000-8000-000000000001")
    assert (ann["user_id"], ann["topics"], ann["time_zone"]) == ("ann", ["news"], "Europe/Vienna")
    assert ann["attributes"] == {"news": "1", "level": "5"}
    assert fixture.wait_for(IPHONE)[0]["payload"]["aps"]["alert"]["title"] == "Käse"


def onesignal(tmp_path, data):
    """What the guide's script does with an export: the exit code, the devices and what it wrote to standard error."""
    (tmp_path / "onesignal.py").write_text(heredoc("from-onesignal", "onesignal.py"))
    environment = {**os.environ, "TOPIC_TAGS": "news"}
    done = subprocess.run([sys.executable, "onesignal.py"], input=data, cwd=tmp_path, capture_output=True, env=environment)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr.decode()


def test_malformed_rows_of_onesignal_do_not_stop_the_import(tmp_path):
    header = "id,identifier,device_type,tags,invalid_identifier,notification_types"
    rows = [
        'with-tags,aa,0,"{""news"":""1""}",f,1', "null-tags,ab,0,null,f,1", "list-tags,ac,0,[],f,1", "text-tags,ad,0,{news,f,1",
        "no-tags,ae,0,,,", "no-permission,af,0,{},f,0", "unsubscribed,b0,0,{},f,-2", "invalid,b1,0,{},t,1", "no-address,,0,{},f,1",
        ",,,,,", "more,b2,1,{},f,1,x,y", "", "cut,b3,0,{}",
    ]  # fmt: skip
    text = "\n".join([header, *rows])
    code, devices, problems = onesignal(tmp_path, b"\xef\xbb\xbf" + text.encode())
    assert code == 0, problems
    assert [device["id"] for device in devices] == ["with-tags", "null-tags", "list-tags", "text-tags", "no-tags", "more"]
    assert devices[0] == {
        "id": "with-tags", "platform": "ios", "address": "aa", "topics": ["news"], "attributes": {"news": "1"}}
    assert all(set(device) == {"id", "platform", "address"} for device in devices[1:])
    assert "'unsubscribed': 3" in problems and "'incomplete': 1" in problems and "'no address': 1" in problems
    # Columns that the request did not name.
    code, devices, problems = onesignal(tmp_path, b"id,identifier,device_type\na,aa,0\n")
    assert (code, devices) == (0, [{"id": "a", "platform": "ios", "address": "aa"}]), problems


@pytest.mark.parametrize("data", [b"", b"<html>Not found</html>\n", b'id,identifier,device_type\na,"' + b"x" * (1 << 21)])
def test_a_file_that_is_not_an_export_of_onesignal_is_not_imported(tmp_path, data):
    assert onesignal(tmp_path, data)[0] != 0
    convert = next(block.text for block in examples(f"{GUIDES}/from-onesignal.md") if "onesignal.py < users" in block.text)
    (tmp_path / "users.csv").write_bytes(data)
    script = f'peal() {{ echo "$*" >> called; }}\npython3() {{ "{sys.executable}" "$@"; }}\n{convert}'
    subprocess.run(["bash", "-c", script], cwd=tmp_path, capture_output=True)
    assert "import" not in (tmp_path / "called").read_text()


def test_a_message_of_onesignal_with_every_mapped_field(serve):
    program = re.search(r"cat > onesignal.jq <<'END'\n(.*?)\nEND\n", guide("from-onesignal"), re.DOTALL)[1]
    body = {
        "include_aliases": {"external_id": ["ann"]}, "excluded_segments": ["quiet"], "contents": {"en": "x"},
        "ios_attachments": {"id": "https://example.com/a.png"}, "send_after": "2099-09-24 14:00:00 GMT",
        "collapse_id": "c", "ios_sound": "bell.caf", "throttle_rate_per_minute": 90,
    }  # fmt: skip
    assert jq(program, body) == [{
        "audience": {"users": ["ann"], "not_topics": ["quiet"]},
        "content": {"body": {"en": "x"}, "image_url": "https://example.com/a.png", "sound": "bell.caf"},
        "options": {"collapse_key": "c", "rate_per_second": 1}, "schedule": {"at": "2099-09-24T14:00:00Z"},
    }]  # fmt: skip
    for written, at in {"2099-09-24 14:00:00 GMT-0730": "2099-09-24T14:00:00-07:30", "2099-09-24 14:00:00":
                        "2099-09-24T14:00:00Z"}.items():
        assert jq(program, {**body, "send_after": written})[0]["schedule"] == {"at": at}
    for given, options in {0: {"collapse_key": "c"}, "90": {"collapse_key": "c", "rate_per_second": 1}}.items():
        assert jq(program, {**body, "throttle_rate_per_minute": given})[0]["options"] == options
    # One notification per second would be more than the author asked for.
    with pytest.raises(subprocess.CalledProcessError):
        jq(program, {**body, "throttle_rate_per_minute": 10})
    # Without it, everybody would get the message at the same time.
    with pytest.raises(subprocess.CalledProcessError):
        jq(program, {**body, "delayed_option": "timezone", "delivery_time_of_day": "9:00AM"})
    tag = {"field": "tag", "key": "level", "relation": "=", "value": "10"}
    filters = [tag, {"field": "tag", "key": "vip", "relation": "exists"}, {"operator": "OR"}, {**tag, "relation": "!="}]
    (converted,) = jq(program, {"filters": filters, "contents": {"en": "x"}})
    is_ten = {"attribute": {"name": "level", "is": "10"}}
    assert converted["audience"]["where"] == {
        "or": [{"and": [is_ten, {"attribute": {"name": "vip", "exists": True}}]}, {"and": [{"not": is_ten}]}]
    }
    for unknown in ({"field": "session_count"}, {**tag, "relation": ">"}):
        with pytest.raises(subprocess.CalledProcessError):
            jq(program, {"filters": [unknown], "contents": {"en": "x"}})
    peal = serve()
    assert peal.post(f"/apps/{peal.app()}/messages:validate", converted)["valid"]


def test_the_move_from_firebase(fixture):
    page = {"documents": [
        {"name": f"projects/p/databases/(default)/documents/fcmTokens/{user}", "fields": {"token": {"stringValue": token}}}
        for user, token in (("ann", ANDROID), ("ben", "ben:token"))
    ]}  # fmt: skip
    # Documents without a token, in front of the others.
    empty = {"name": "projects/p/databases/(default)/documents/fcmTokens/eve"}
    page["documents"][:0] = [empty, {**empty, "fields": {}}, {**empty, "fields": {"token": {"nullValue": None}}}]
    (fixture.directory / "page.json").write_text(json.dumps(page))
    info = {"token": ANDROID, "info": {"platform": "ANDROID", "rel": {"topics": {"news": {"addDate": "2024-07-30"}}}}}
    infos = [info, {"token": "ben:token", "info": {"error": "InvalidToken"}}, {"token": None, "info": {}}, {"token": "x"}]
    (fixture.directory / "infos.jsonl").write_text("\n".join(map(json.dumps, infos)))
    outputs = fixture.run("from-firebase")
    devices = [json.loads(line) for line in (fixture.directory / "with-topics.jsonl").read_text().splitlines()]
    assert [(device["user_id"], device["topics"]) for device in devices] == [("ann", ["news"]), ("ben", [])]
    assert re.search(r"news +1", outputs[3])
    payload = fixture.wait_for(ANDROID)[0]["payload"]
    assert payload["notification"]["body"] == "It is ready." and payload["data"] == {"story": "17"}
    assert payload["android"]["notification"]["color"] == "#ff8800"
    assert not fixture.simulator.inbox("?device=ben%3Atoken")


def test_the_move_from_gorush(fixture):
    outputs = fixture.run("from-gorush")
    aps = fixture.wait_for(IPHONE)[0]["payload"]
    assert aps["story"] == 17 and aps["aps"]["sound"] == {"name": "default", "critical": 0, "volume": 0.5}
    assert aps["aps"]["mutable-content"] == 1 and aps["aps"]["badge"] == 1
    payload = fixture.wait_for(ANDROID)[0]["payload"]
    assert payload["android"]["notification"]["color"] == "#112244"
    assert "accepted" in outputs[3]
    assert fixture.wait_for(IPHONE, 2)[1]["payload"]["aps"]["alert"]["body"] == "Now by user."


def heredoc(page, file):
    """The file that a guide writes."""
    return re.search(rf"cat > {re.escape(file)} <<'END'\n(.*?)\nEND\n", guide(page), re.DOTALL)[1]


def test_an_empty_page_of_firebase_and_devices_without_a_token_do_not_stop_the_filter(tmp_path):
    tokens, topics = (
        re.search(r"jq -c .*?(?:'(.*?)')", block.text, re.DOTALL)[1]
        for block in examples(f"{GUIDES}/from-firebase.md") if block.text.startswith("jq -c"))
    assert jq(tokens, {}) == []
    lines = [{"platform": "android", "address": None}, {"platform": "android", "address": "a"}]
    out = subprocess.run(["jq", "-c", "-s", topics], input="\n".join(map(json.dumps, lines)), capture_output=True, text=True)
    assert [json.loads(line)["topics"] for line in out.stdout.splitlines()] == [[], []], out.stderr


def test_requests_of_gorush_with_every_mapped_field(serve):
    peal = serve()
    app = peal.app()

    def convert(**notification):
        (message,) = jq(heredoc("from-gorush", "gorush.jq"), {"notifications": [notification]})
        assert peal.post(f"/apps/{app}/messages:validate", message)["valid"], message
        return message

    iphone = {"platform": "ios", "environment": "production", "address": IPHONE}
    # For each platform `to` is a token, and on iOS `topic` is the bundle id.
    message = convert(platform=1, to=IPHONE, topic="com.example.cheese", message="x", title="", notif_id="")
    assert message == {"audience": {"addresses": [iphone]}, "content": {"body": "x"}}
    phones = [{"platform": "android", "address": address} for address in (IPHONE, ANDROID)]
    assert convert(platform=2, tokens=[IPHONE, ""], to=ANDROID, message="x")["audience"] == {"addresses": phones}
    assert convert(platform=2, to="/topics/news", message="x")["audience"] == {"topics": ["news"]}
    assert convert(platform=2, topic="news", tokens=[], message="x")["audience"] == {"topics": ["news"]}
    assert convert(platform=2, topic="/topics/news", tokens=[IPHONE], message="x")["audience"] == {
        "addresses": phones[:1], "topics": ["news"]}
    assert convert(platform=1, tokens=[IPHONE], development=True, message="x")["audience"]["addresses"] == [
        {**iphone, "environment": "sandbox"}]
    assert convert(platform=1, tokens=[IPHONE], development=True, production=True, message="x")["audience"]["addresses"] == [
        iphone]
    # The notification of FCM, which title, message and image override.
    fcm = {"title": "T", "body": "B", "image": "https://example.com/a.png"}
    assert convert(platform=2, tokens=[IPHONE], notification=fcm)["content"] == {
        "title": "T", "body": "B", "image_url": "https://example.com/a.png"}
    assert convert(platform=2, tokens=[IPHONE], notification=fcm, title="U", message="C")["content"]["title"] == "U"

    def sound(**fields):
        content = convert(platform=1, tokens=[IPHONE], message="x", **fields)["content"]
        return content.get("sound"), content.get("ios", {}).get("payload", {}).get("aps", {}).get("sound")

    assert sound(sound="bell.caf") == ("bell.caf", None)
    assert sound(name="alarm.caf") == (None, {"critical": 1, "name": "alarm.caf", "volume": 1})
    assert sound(sound="bell.caf", volume=0.5) == (None, {"critical": 1, "name": "default", "volume": 0.5})
    assert sound(sound={"name": "bell.caf"}) == (None, {"name": "bell.caf"})
    assert sound(sound="bell.caf", volume=0) == ("bell.caf", None)
    # 0: once, now.
    assert convert(platform=1, tokens=[IPHONE], message="x", expiration=0)["options"] == {"ttl_seconds": 0}
    assert convert(platform=1, tokens=[IPHONE], message="x", expiration=4102444800)["options"] == {
        "expires_at": "2100-01-01T00:00:00Z"}
    assert convert(platform=1, tokens=[IPHONE], content_available=True)["options"] == {"background": True}
    assert "options" not in convert(platform=2, tokens=[ANDROID], content_available=True, notification=fcm)
    assert convert(platform=1, tokens=[IPHONE], content_available=True, notification=fcm)["content"] == {}
    shown = convert(platform=1, tokens=[IPHONE], content_available=True, title="x")
    assert "options" not in shown and shown["content"]["ios"] == {"payload": {"aps": {"content-available": 1}}}


@pytest.mark.parametrize("notification, problem", [
    ({"platform": 2, "condition": "'a' in topics"}, "audience.where"),
    ({"platform": 1, "topic": "com.example.cheese"}, "no tokens"),
    ({"platform": 1, "to": "/topics/news"}, "no tokens"),
    ({"platform": 3, "tokens": ["aa"]}, "no counterpart"),
])  # fmt: skip
def test_a_request_of_gorush_without_a_counterpart_is_named(notification, problem):
    with pytest.raises(subprocess.CalledProcessError) as failure:
        jq(heredoc("from-gorush", "gorush.jq"), {"notifications": [{**notification, "message": "x"}]})
    assert problem in failure.value.stderr


def test_production(tmp_path):
    """The configuration of the page is used, with free ports and another folder; a server is backed up and restored."""
    port = free_port()
    text = next(block.text for block in examples(f"{GUIDES}/production.md", "yaml"))
    for old, new in {"/var/lib/peal": tmp_path / "data", "port: 8080": f"port: {port}", "port: 9180": "port: 0"}.items():
        assert old in text
        text = text.replace(old, str(new))
    (tmp_path / "data").mkdir()
    (tmp_path / "peal.yaml").write_text(text)
    variables = {
        "PATH": f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}", "CONFIG": tmp_path / "peal.yaml",
        "DATA": tmp_path / "data", "PEAL_ADMIN_TOKEN": secrets.token_hex(24),
    }  # fmt: skip
    replacements = {"127.0.0.1:8080": f"127.0.0.1:{port}", "sudo ": ""}
    outputs = run_examples(f"{GUIDES}/production.md", variables, tmp_path, replacements)
    assert "http_host" in outputs[0] and "fail" not in outputs[0]
    assert (tmp_path / "data" / "peal.db").exists(), outputs[1]


def test_the_backup_of_operations(tmp_path):
    """The commands of the page: a copy while the server runs, and a restored server that sends nothing."""
    (tmp_path / "data").mkdir()
    config, port = tmp_path / "peal.yaml", free_port()
    config.write_text(f"store: {{url: 'sqlite:{tmp_path}/data/peal.db'}}\nhttp: {{port: {port}}}\n")
    backup, restore, paused = [
        block.text for block in examples("docs/operations.md") if " --config /etc/peal" in block.text]
    path = f"{pathlib.Path(PROGRAM).parent}:{os.environ['PATH']}"
    variables = {
        "PATH": path, "PEAL_ADMIN_TOKEN": secrets.token_hex(24), "PEAL_SERVER_URL": f"http://127.0.0.1:{port}"}

    def sh(text):
        changes = {
            "sudo ": "", "/backup/": f"{tmp_path}/backup-", "2026-11-22": "$(date +%F)", "/etc/peal/peal.yaml": config}
        for old, new in changes.items():
            text = text.replace(old, str(new))
        # Until the server that the commands start is ready.
        ready = "for i in $(seq 1000); do peal status > status.txt && break; sleep 0.1; done; cat status.txt\n"
        text = re.sub(r"^(peal serve .*)$", rf"\1 2> serve.log &\n{ready}", text, flags=re.MULTILINE)
        script = f"set -eu\ntrap 'jobs=$(jobs -p); [ -z \"$jobs\" ] || kill $jobs; wait' EXIT\n{text}"
        done = subprocess.run(
            ["bash", "-c", script], env={**os.environ, **variables}, cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    sh(f"peal serve --config /etc/peal/peal.yaml\npeal app create --name Kept\n{backup}")
    (tmp_path / "former").mkdir()
    for file in (tmp_path / "data").glob("peal.db*"):
        if file.name != "peal.db.key":
            file.rename(tmp_path / "former" / file.name)
    shown = sh(f"{restore}\n{paused}\npeal app list")
    assert "paused" in shown and "Kept" in shown


def test_operating(fixture):
    # `peal doctor` has the server's configuration, as on the server's machine.
    config = fixture.directory / "peal.yaml"
    config.write_text(f"store: {{url: 'sqlite:{fixture.peal.directory}/peal.db'}}\n")
    replacements = {"/etc/peal/peal.yaml": config, "sudo --preserve-env=PEAL_ADMIN_TOKEN ": ""}
    outputs = fixture.run("operating", replacements, **fixture.environment, PEAL_APP=fixture.peal.app())
    assert "in use by a running server" in outputs[0]


@pytest.mark.parametrize("page", ["docs/operations.md", *(f"{GUIDES}/{name}.md" for name in ("operating", "production"))])
def test_every_configuration_file_that_a_page_names_is_the_packages(page):
    named = set(re.findall(r"/etc/[\w/.-]*\.yaml", (ROOT / page).read_text()))
    assert named <= {"/etc/peal/peal.yaml"}


def test_operating_lists_every_metric_and_no_other(fixture):
    with urllib.request.urlopen(fixture.peal.url + "/metrics", timeout=10) as answer:
        exist = set(re.findall(r"^# TYPE (\w+)", answer.read().decode(), re.MULTILINE))
    metric = r"`((?:peal|process)_\w+)"
    assert exist and set(re.findall(metric, guide("operating"))) == exist
    assert set(re.findall(metric, (ROOT / "docs/operations.md").read_text())) <= exist


# Configurations


class Proxy(ForeignServer):
    """nginx with the configuration of the guide, in front of a server."""

    def __init__(self, directory, peal, certificate, key):
        self.http_port, self.peal_port = free_port(), urllib.parse.urlsplit(peal.url).port
        super().__init__(directory, "nginx", str(certificate), str(key))

    def arguments(self, directory):
        text = next(block.text for block in examples(f"{GUIDES}/production.md", "nginx"))
        for old, new in {
            "listen 80;": f"listen 127.0.0.1:{self.http_port};",
            "listen 443 ssl http2;": f"listen 127.0.0.1:{self.port} ssl http2;",
            "127.0.0.1:8080": f"127.0.0.1:{self.peal_port}",
            "push.example.com;": "localhost;",
            "/etc/letsencrypt/live/push.example.com/fullchain.pem": self.ca_file,
            "/etc/letsencrypt/live/push.example.com/privkey.pem": self.key_file,
        }.items():
            assert old in text, f"the configuration does not contain {old}"
            text = text.replace(old, new)
        temporary = "".join(
            f"{name}_temp_path {directory / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (directory / "nginx.conf").write_text(f"""
            daemon off; master_process off; worker_processes 1; pid {directory / "pid"};
            error_log {self.log_file} warn;
            events {{ worker_connections 256; }}
            http {{ access_log off; {temporary} {text} }}
            """)
        return ["-p", str(directory), "-e", str(self.log_file), "-c", str(directory / "nginx.conf")]


def fetch(proxy, path, *arguments):
    """The status, the protocol and the body of a response through the proxy."""
    command = ["curl", "-s", "--noproxy", "*", "--cacert", proxy.ca_file, "-w", "\n%{http_code} %{http_version}"]
    ended = subprocess.run([*command, proxy.url + path, *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, (ended.returncode, ended.stderr, proxy.log_file.read_text())
    body, _, last = ended.stdout.rpartition("\n")
    status, protocol = last.split()
    return int(status), protocol, body


@pytest.fixture
def behind_nginx(simulate, serve, tmp_path):
    write_certificate(tmp_path / "certificate.pem", tmp_path / "key.pem")
    limits = {"PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": 3, "PEAL_HTTP_TRUSTED_PROXIES": "127.0.0.1"}
    peal = serve(limits)
    proxy = Proxy(tmp_path / "nginx", peal, tmp_path / "certificate.pem", tmp_path / "key.pem")
    yield peal, proxy
    proxy.stop()


def test_nginx_serves_http_2_and_hides_the_metrics(behind_nginx):
    peal, proxy = behind_nginx
    assert fetch(proxy, "/readyz")[:2] == (200, "2")
    assert fetch(proxy, "/readyz", "--http1.1")[:2] == (200, "1.1")
    # Peal ignores doubled and trailing slashes.
    with urllib.request.urlopen(f"{peal.url}/metrics/", timeout=10) as answer:
        assert b"peal_store_up" in answer.read()
    for path in ("/metrics", "/metrics/", "/metrics//", "//metrics", "/%6Detrics/", "/metrics%2F", "/metrics?x=1"):
        assert fetch(proxy, path)[0] == 404, path
    assert peal.request("GET", "/readyz")["status"] == "ok"


def test_nginx_redirects_plain_http(behind_nginx):
    _, proxy = behind_nginx
    command = ["curl", "-s", "--noproxy", "*", "-o", "/dev/null", "-w", "%{http_code} %{redirect_url}"]
    out = subprocess.run([*command, f"http://localhost:{proxy.http_port}/readyz"], capture_output=True, text=True).stdout
    assert out == "301 https://localhost/readyz"


def test_behind_nginx_every_client_has_its_own_limits_and_cannot_invent_an_address(behind_nginx):
    _, proxy = behind_nginx
    wrong = ["-H", "Authorization: Bearer wrong-wrong-wrong-wrong-wrong-wrong"]
    statuses = [fetch(proxy, "/peal/v1/apps", "--interface", "127.0.0.2", *wrong)[0] for _ in range(5)]
    assert statuses == [401, 401, 401, 429, 429]
    # Another client is not affected, and the first one is not freed by a header.
    assert fetch(proxy, "/peal/v1/apps", "--interface", "127.0.0.3", *wrong)[0] == 401
    invented = ["-H", "X-Forwarded-For: 127.0.0.9"]
    assert fetch(proxy, "/peal/v1/apps", "--interface", "127.0.0.2", *wrong, *invented)[0] == 429


def test_behind_nginx_peal_itself_refuses_large_bodies(behind_nginx, tmp_path):
    peal, proxy = behind_nginx
    app = peal.app()
    headers = ["-H", f"Authorization: Bearer {peal.admin_token}", "-H", "Content-Type: application/json"]
    devices = [{"platform": "ios", "address": f"{number:0400x}", "alias": "x" * 250} for number in range(1000)]
    (tmp_path / "batch").write_text(json.dumps({"devices": devices}))
    status, _, body = fetch(proxy, f"/peal/v1/apps/{app}/devices:batch", *headers, "-d", f"@{tmp_path / 'batch'}")
    assert status == 200 and len(json.loads(body)["results"]) == 1000
    (tmp_path / "large").write_text('"' + "x" * (4 * 1024 * 1024 + 1) + '"')
    status, _, body = fetch(proxy, f"/peal/v1/apps/{app}/devices", *headers, "-d", f"@{tmp_path / 'large'}")
    assert status == 413 and json.loads(body)["error"]["code"] == "body_too_large"


def test_caddy_hides_the_metrics_with_and_without_a_slash():
    (caddy,) = examples(f"{GUIDES}/production.md", "caddy")
    assert re.search(r"^ *@metrics path (.*)$", caddy.text, re.MULTILINE)[1].split() == ["/metrics", "/metrics/*"]


@pytest.mark.skipif(shutil.which("caddy") is None, reason="caddy is not installed")
def test_the_caddyfile_is_valid(tmp_path):
    (tmp_path / "Caddyfile").write_text(next(b.text for b in examples(f"{GUIDES}/production.md", "caddy")) + "\n")
    run(tmp_path, "caddy", "validate", "--adapter", "caddyfile", "--config", "Caddyfile")


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_the_unit_is_as_hardened_as_the_guide_says():
    unit = str(ROOT / "Packaging" / "peal.service")
    command = ["systemd-analyze", "security", "--offline=true", unit]
    rated = subprocess.run(command, capture_output=True, text=True, timeout=60).stdout
    said = float(re.search(r"rates it ([\d.]+)", guide("production"))[1])
    # Versions of systemd weigh the settings differently.
    assert float(re.search(r"Overall exposure level for peal\.service: ([\d.]+)", rated)[1]) <= said + 0.3


# Code


def guide(name):
    return (ROOT / GUIDES / f"{name}.md").read_text()


def jq(program, body):
    """What a jq program writes for a body."""
    out = subprocess.run(["jq", "-c", program], input=json.dumps(body), capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in out.splitlines()]


@needs_swiftc
def test_the_swift_code_fits_the_sdk(tmp_path):
    compile_stubs(tmp_path, "UserNotifications", "UIKit", "SwiftUI")
    compile_all(tmp_path, "PealWire", "PealMoments", "PealDevice", "PealNotifications", "PealSDK", "PealExtension")
    *app, statements, extension = (block.text for block in examples(f"{GUIDES}/iphone.md", "swift"))
    function = f"import PealSDK\nfunc people(peal: Peal, proof: String) async throws {{\n{statements}\n}}\n"
    *started, started_extension = (block.text for block in examples(GETTING_STARTED, "swift"))
    assert len(app) == len(started) == 4
    views = "struct ContentView: View {}"
    own = """import PealSDK
    func others(peal: Peal) async throws {
        try await peal.setAttributes(["plan": "pro", "age": 30])
        if case .notPeal(let status) = await peal.status { print(status) }
        await peal.setIdentifiers(DeviceIdentifiers())
        await peal.registerCategories([NotificationCategory(id: "own", buttons: [])])
    }"""
    for name, text in {"App": "\n".join([*app, views]), "People": function, "Own": own, "Extension": extension,
                       "Started": "\n".join([*started, views]), "StartedExtension": started_extension}.items():  # fmt: skip
        # The asynchronous methods return on the wrong thread.
        assert not re.search(r"nonisolated func [^{]*\) async", text), name
        (tmp_path / f"{name}.swift").write_text(text)
        # As in new projects of Xcode 26, and as in earlier ones.
        new = ["-default-isolation", "MainActor"]
        for feature in ("MemberImportVisibility", "NonisolatedNonsendingByDefault"):
            new += ["-enable-upcoming-feature", feature]
        for options in (new, []):
            options += ["-parse-as-library", "-swift-version", "6", "-I", "."]
            run(tmp_path, "swiftc", "-typecheck", *options, f"{name}.swift")


def test_the_iphone_guide_calls_members_of_the_sdk():
    sdk = GETTING_STARTED

    def called(page):
        return set(re.findall(r"\bpeal\.(\w+)\(", "\n".join(block.text for block in examples(page, "swift"))))

    assert "registerCategories" in called(sdk)
    assert called(sdk) <= called(f"{GUIDES}/iphone.md")
    for method in ("didBecomeActive()", "didGetBackgroundTime()"):
        assert method in (ROOT / sdk).read_text() and method in guide("iphone")
    for said in ("environment: .sandbox", "requestAuthorization", "Leave `group` out", "iOS 16"):
        assert said in (ROOT / sdk).read_text() and said in guide("iphone"), said
    for page in (sdk, f"{GUIDES}/iphone.md"):
        start = next(block.text for block in examples(page, "swift") if "didFinishLaunching" in block.text)
        assert "requestAuthorization" not in start, page


def test_a_proof_of_the_device_api_registers_its_user(serve):
    (code,) = (block.text for block in examples("docs/api/device.md", "python"))
    names = {}
    exec(code, names)
    server = serve()
    key = server.post(f"/apps/{server.app()}/keys", {"dialect": "device"})

    def register(user, secret, **more):
        proof = names["user_proof"]("ann", secret, **more)
        body = {"platform": "ios", "address": IPHONE, "user_id": user, "user_proof": proof}
        return server.request("POST", "/peal/device/v1/register", body, {"Authorization": f"Bearer {key['token']}"})

    assert register("ann", key["shared_secret"])["user_id"] == "ann"
    for user, secret, more in (
        ("bob", key["shared_secret"], {}), ("ann", "00" * 32, {}), ("ann", key["shared_secret"], {"seconds": -5}),
    ):  # fmt: skip
        with pytest.raises(Refused, match="403.*user_proof"):
            register(user, secret, **more)


def test_the_kotlin_code_survives_an_outage_and_keeps_the_user():
    (code,) = (block.text for block in examples(f"{GUIDES}/android.md", "kotlin"))
    callbacks = code[code.index("class PealMessagingService") :].split("override fun ")[1:]
    assert [re.match(r"\w+", callback)[0] for callback in callbacks] == ["onNewToken", "onMessageReceived"]
    for callback in callbacks:
        before, _, after = callback.partition("runCatching {")
        assert after and "PealDevice(" not in before, callback
    # `inputStream` throws for a refusal, so the status comes first.
    assert code.index("responseCode") < code.index("connection.inputStream")
    (parameters,) = re.findall(r"fun register\((.*?)\)", code)
    assert parameters.startswith("address: String, user: String?, proof: String?")
    assert '.put("user_id", user)' in code and '.put("user_proof", proof)' in code
    # A registration does not fail because of its token, and a login page of the network must not cost it.
    (condition,) = re.findall(r'if \((.*)\) store\.edit\(\)\.remove\("device_token"\)', code)
    assert condition == "refusal.status == 401 && refusal.code != null" and code.count('remove("device_token")') == 1
    assert "instanceFollowRedirects = false" in code
    assert "WorkManager" in guide("android")
    # Two phones with one token would take the registration from each other.
    (name,) = re.findall(r'getSharedPreferences\("(\w+)"', code)
    rules = "".join(block.text for block in examples(f"{GUIDES}/android.md", "xml"))
    for element in ("cloud-backup", "device-transfer", "full-backup-content"):
        assert f'<{element}><exclude domain="sharedpref" path="{name}.xml" /></{element}>' in rules, element


def test_the_kotlin_code_uses_members_of_the_device_api():
    (code,) = (block.text for block in examples(f"{GUIDES}/android.md", "kotlin"))
    contract = (ROOT / "docs/api/device.md").read_text()
    names = set(re.findall(r'\.put\("(\w+)"', code)) | set(re.findall(r'getString\("(\w+)"\)', code))
    assert {"platform", "address", "device_token", "user_id", "user_proof", "event_id", "type", "at", "message"} <= names
    for name in names:
        assert f"`{name}`" in contract or f'"{name}"' in contract, name
    assert "POST register" in contract and "POST messages/{id}/events" in contract
    assert code.count("{") == code.count("}") and code.count("(") == code.count(")")


@pytest.mark.skipif(shutil.which("node") is None, reason="node is not installed")
def test_the_javascript_code_uses_what_peal_js_exports(tmp_path):
    (page,) = (block.text for block in examples(f"{GUIDES}/web.md", "html"))
    script = re.search(r'<script type="module">\n(.*)</script>', page, re.DOTALL)[1]
    module = (ROOT / "SDK/Web/peal.js").read_text()
    for name in re.search(r"import \{ (.*?) \} from", script)[1].split(", "):
        assert re.search(rf"export (async function|function|class|const) {name}\b", module), name
    options = set(re.findall(r"^ {8}(\w+):", script, re.MULTILINE))
    assert options and options <= set(re.findall(r"@property \{[^}]+\} \[?(\w+)", module)), options
    for method in re.findall(r"connection\.(\w+)\(", script):
        assert re.search(rf"@property .* {method} ", module), method
    (tmp_path / "page.mjs").write_text(script)
    run(tmp_path, "node", "--check", "page.mjs")


def test_the_readme_links_every_guide():
    readme = (ROOT / "README.md").read_text()
    guides = [path.name for path in (ROOT / GUIDES).glob("*.md")]
    assert guides
    assert [name for name in guides if f"]({GUIDES}/{name})" not in readme] == []
