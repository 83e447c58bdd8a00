"""The console in Debian's Chromium, against a real server and simulated push networks.

Errors on the browser's console, broken content policies and axe's findings fail each test. Screenshots of every page,
in three widths and both themes, go to `.build/screenshots`.
"""

import csv
import json
import pathlib
import re
import secrets
import time
import uuid

import pytest
from conftest import AUTH, P256DH, SUBSCRIPTION
from playwright.sync_api import expect
from waiting import wait_until


def test_people_sign_in_and_out(visit, fixture):
    visitor = visit()
    page = visitor.page
    answer = page.goto(fixture.url + "operations")
    assert "/console/sign-in" in page.url
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff" and answer.headers["cache-control"] == "no-store"
    visitor.shoot("sign-in")
    page.get_by_label("Key").fill("not the key")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_text("This key is not valid.")).to_be_visible()
    page.get_by_label("Key").fill(fixture.peal.admin_token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/console/operations")
    cookie = next(c for c in visitor.context.cookies() if c["name"] == "peal_session")
    assert cookie["httpOnly"] and cookie["sameSite"] == "Strict"
    page.get_by_role("button", name="Sign out", exact=True).click()
    page.wait_for_url("**/console/sign-in")
    # The server, too, has forgotten it.
    visitor.context.add_cookies([cookie])
    page.goto(fixture.url)
    assert "sign-in" in page.url


def test_signing_out_everywhere_ends_other_browsers(visit, fixture):
    one, two = visit().sign_in(), visit().sign_in()
    one.open("operations")
    one.page.on("dialog", lambda dialog: dialog.accept())
    one.page.get_by_role("button", name="Sign out everywhere").click()
    one.page.wait_for_url("**/console/sign-in")
    two.page.goto(fixture.url)
    assert "sign-in" in two.page.url


def test_revoking_a_key_ends_its_session(visit, fixture, cheese):
    app, _ = cheese
    made = fixture.peal.post(f"/apps/{app}/keys", {"dialect": "native", "scopes": ["read"]})
    visitor = visit().sign_in(made["token"])
    expect(visitor.page.get_by_role("heading", name="Cheese")).to_be_visible()
    fixture.peal.delete(f"/apps/{app}/keys/{made['id']}")
    visitor.page.reload()
    assert "sign-in" in visitor.page.url


def test_a_key_is_offered_what_it_may_do(visit, fixture, cheese):
    app, _ = cheese
    visitor = visit().sign_in(fixture.key(app, "read"))
    page = visitor.page
    assert page.url.endswith(f"/console/apps/{app}/")
    links = page.get_by_role("navigation").first
    expect(links.get_by_role("link", name="Messages")).to_be_visible()
    for name in ("Compose", "Keys", "Credentials", "Audit log", "Operations"):
        assert links.get_by_role("link", name=name).count() == 0
    assert page.goto(fixture.url + f"apps/{app}/compose").status == 403
    assert page.goto(fixture.url + "operations").status == 403
    assert page.goto(fixture.url + f"apps/{uuid.uuid4()}/messages").status == 403
    visitor.check()


def test_a_message_is_written_reviewed_and_sent(admin, fixture, cheese):
    app, devices = cheese
    page = admin.page
    admin.open(f"apps/{app}/")
    page.get_by_role("link", name="Compose").first.click()
    page.get_by_label("Title", exact=True).fill("Town hall")
    page.get_by_label("Text", exact=True).fill("This Thursday: <b>cheese</b> & you")
    page.get_by_label("Topics", exact=True).fill("news")
    expect(page.get_by_text("3 devices", exact=True)).to_be_visible()
    expect(page.get_by_text(re.compile(r"\d+ of 4,096 bytes")).first).to_be_visible()
    admin.shoot("compose")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    expect(page.get_by_text("3 devices")).to_be_visible()
    admin.shoot("review")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("Town hall")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    expect(page.locator("[data-state=sent]")).to_be_visible(timeout=30_000)
    expect(page.locator("[data-count=accepted]")).to_have_text("3")
    admin.shoot("message")
    assert fixture.finished(app, page.url.rsplit("/", 1)[1])["counts"]["accepted"] == 3


def test_a_refused_message_says_why(admin, cheese):
    app, _ = cheese
    page = admin.page
    admin.open(f"apps/{app}/compose")
    page.get_by_label("Title", exact=True).fill("x")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_contain_text("choose who gets the message")
    page.get_by_label("Topics", exact=True).fill("news")
    page.get_by_label("Text", exact=True).fill("y" * 5000)
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_contain_text("bytes")
    admin.check()


def test_a_message_can_be_held_and_cancelled(admin, fixture, cheese):
    app, _ = cheese
    later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600))
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Later"}, "schedule": {"at": later}})["id"]
    page = admin.page
    admin.open(f"apps/{app}/messages/{message}")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("[data-state=paused]")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("[data-state=scheduled]")).to_be_visible()
    admin.shoot("scheduled")
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-state=cancelled]")).to_be_visible()
    assert page.get_by_role("button", name="Pause").count() == 0


def test_a_device_shows_its_timeline(admin, fixture, cheese):
    app, devices = cheese
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "For the timeline"}})["id"]
    fixture.finished(app, message)
    page = admin.page
    admin.open(f"apps/{app}/devices")
    admin.shoot("devices")
    page.get_by_label("Search").fill(devices[0])
    page.get_by_label("Search").press("Enter")
    page.wait_for_url(f"**/devices/{devices[0]}")
    entry = page.get_by_role("listitem").filter(has_text="For the timeline").first
    expect(entry).to_contain_text("topic news")
    expect(entry).to_contain_text("Accepted")
    admin.shoot("device")
    page.get_by_role("link", name="user-0").click()
    expect(page.get_by_role("heading", name="user-0")).to_be_visible()
    admin.shoot("user")


def test_a_credential_is_dropped_in_and_verified(admin, fixture):
    page = admin.page
    admin.open("new-app")
    admin.shoot("new-app")
    page.get_by_label("Name").fill("First app")
    page.get_by_label("Bundle ID").fill(fixture.simulator["apns"]["bundle_id"])
    page.get_by_role("button", name="Create app").click()
    page.wait_for_url("**/credentials?done=app-made")
    section = page.locator("#apns")
    section.locator("summary").first.click()
    form = section.locator("form").first
    for name in ("key_id", "team_id", "bundle_id"):
        form.locator(f"[name={name}]").fill(fixture.credential[name])
    form.locator("[name=private_key]").fill("not a key")
    form.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("PEM")
    form = page.locator("#apns form").first
    form.locator("[name=private_key]").fill(fixture.credential["private_key"])
    form.get_by_role("button", name="Save").click()
    page.wait_for_url("**/credentials?done=saved*")
    page.locator("#apns").get_by_role("button", name="Verify").click()
    expect(page.locator("#apns").get_by_text("The network accepted the credential.")).to_be_visible()
    admin.shoot("credentials")


def test_a_key_is_created_and_revoked(admin, cheese):
    app, _ = cheese
    page = admin.page
    admin.open(f"apps/{app}/keys")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#secret")).to_contain_text("peal_")
    admin.shoot("keys")
    page.on("dialog", lambda dialog: dialog.accept())
    count = page.get_by_role("button", name="Revoke").count()
    page.get_by_role("button", name="Revoke").first.click()
    expect(page.get_by_text("The key was revoked.")).to_be_visible()
    assert page.get_by_role("button", name="Revoke").count() == count - 1


def test_rows_are_imported_and_refused(admin, cheese):
    app, _ = cheese
    page = admin.page
    admin.open(f"apps/{app}/import")
    page.get_by_label("Devices", exact=True).first.fill(
        '{"platform":"ios","address":"%s"}\n{"platform":"ios","address":"short"}\nnonsense' % uuid.uuid4().hex)
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status")).to_contain_text("1 created, 0 updated, 2 refused.")
    admin.shoot("import")


def test_a_long_import_shows_its_progress(admin, fixture):
    app, _ = fixture.app("Import", devices=0)
    rows = [json.dumps({"platform": "ios", "address": secrets.token_hex(32)}) for _ in range(2500)]
    rows[1200] = "nonsense"
    page = admin.page
    admin.open(f"apps/{app}/import")
    # To type that much takes Chromium half a minute.
    field = page.get_by_label("Devices", exact=True).first
    field.evaluate("(field, text) => { field.value = text; }", "\n".join(rows))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status")).to_have_text("2,499 created, 0 updated, 1 refused.", timeout=60_000)
    expect(page.get_by_role("row").filter(has_text="1,201")).to_contain_text("not a JSON object")
    admin.check()


def test_an_app_without_devices_leads_to_its_device_key(admin, fixture):
    app, _ = fixture.app("Phones", devices=0)
    page = admin.page
    admin.open(f"apps/{app}/devices")
    page.get_by_role("link", name="Create a device key").click()
    kind, scopes = page.get_by_label("Kind"), page.get_by_role("group", name="Scopes")
    expect(kind).to_have_value("device")
    expect(scopes).to_be_hidden()
    kind.select_option("native")
    expect(scopes).to_be_visible()
    kind.select_option("device")
    page.get_by_label("Name", exact=True).fill("iPhone app")
    page.get_by_role("button", name="Create key").click()
    expect(page.locator("#secret")).to_contain_text("peald_")
    expect(page.locator("#shared-secret")).to_have_text(re.compile("^[0-9a-f]{64}$"))
    admin.shoot("device-key")
    [key] = fixture.peal.get(f"/apps/{app}/keys")["items"]
    assert (key["dialect"], key["name"], key["scopes"]) == ("device", "iPhone app", ["devices"])


def test_refused_rows_that_are_not_listed_are_in_a_file(visit, fixture):
    app, _ = fixture.app("Refused", devices=0)
    visitor = visit(accept_downloads=True).sign_in()
    page = visitor.page
    visitor.open(f"apps/{app}/import")
    rows = ['{"platform":"toaster"}'] * 1203
    rows[5] = '{"=cmd":1,"platform":"ios"}'
    page.locator("#devices").evaluate("(field, text) => { field.value = text; }", "\n".join(rows))
    button = page.locator("#import button.primary")
    button.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("Only the first 200 of 1,203 are shown.")).to_be_visible()
    expect(button).to_be_focused()
    refused = page.get_by_role("region", name="Refused rows")
    expect(refused.get_by_role("row")).to_have_count(201)
    with page.expect_download() as download:
        page.get_by_role("link", name="Download all refused rows").click()
    with open(download.value.path(), encoding="utf-8-sig", newline="") as file:
        lines = list(csv.reader(file))
    assert lines[0] == ["Line", "Reason"] and [line[0] for line in lines[1:]] == [str(n) for n in range(1, 1204)]
    # Spreadsheets would compute it.
    assert lines[6][1].startswith("'=cmd")
    visitor.check()


def test_many_devices_need_a_typed_number(admin, fixture):
    app, _ = fixture.app("Many", devices=0)
    for _ in range(10):
        fixture.peal.post(f"/apps/{app}/devices:batch", {"devices": [
            {"platform": "ios", "address": secrets.token_hex(32), "topics": ["all"]} for _ in range(1000)]})
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=all&title=Everybody")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("10,000 devices")).to_be_visible()
    page.get_by_label("Type 10,000 to confirm").fill("9999")
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.get_by_text("That is not the number of devices.")).to_be_visible()
    admin.check()
    page.get_by_label("Type 10,000 to confirm").fill("10,000")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    expect(page.locator("[data-state=sent]")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-count=accepted]")).to_have_text("10,000")


def test_this_browser_becomes_a_device(admin, fixture):
    app, _ = fixture.app("Web", devices=0)
    fixture.peal.put(f"/apps/{app}/credentials/webpush", {"subject": "mailto:push@example.com"})
    script = SUBSCRIPTION
    for name, value in {"ENDPOINT": f"http://127.0.0.1:9/{uuid.uuid4()}", "P256DH": P256DH, "AUTH": AUTH}.items():
        script = script.replace(name, json.dumps(value))
    admin.context.grant_permissions(["notifications"], origin=fixture.peal.url)
    admin.context.add_init_script(script)
    page = admin.page
    admin.open(f"apps/{app}/devices")
    page.get_by_role("button", name="Register this browser").click()
    page.wait_for_url("**/devices/*?done=saved")
    expect(page.get_by_role("heading", name="This browser")).to_be_visible()
    expect(page.get_by_text("Europe/Berlin")).to_be_visible()
    assert fixture.peal.get(f"/apps/{app}/devices")["items"][0]["platform"] == "web"


def test_a_segment_is_counted_saved_and_sent_to(admin, fixture):
    app, _ = fixture.app("Segments")
    page = admin.page
    admin.open(f"apps/{app}/segments")
    page.get_by_label("Name").fill("readers")
    page.get_by_label("Condition").fill('{"topics": ["news"]}')
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("topics is unknown; did you mean topic?")
    page.get_by_label("Condition").fill('{"and": [{"topic": "news"}, {"locale": "en"}]}')
    page.get_by_role("button", name="Count devices").click()
    expect(page.get_by_role("status")).to_have_text("3 devices")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("cell", name="readers")).to_be_visible()
    admin.shoot("segments")
    page.get_by_role("link", name="Write").click()
    expect(page.get_by_text("3 devices", exact=True)).to_be_visible()


def test_a_test_goes_to_starred_devices_only(admin, fixture):
    app, devices = fixture.app("Stars")
    page = admin.page
    admin.open(f"apps/{app}/devices/{devices[4]}")
    page.get_by_role("button", name="Star for tests").click()
    expect(page.get_by_role("button", name="Remove star")).to_be_visible()
    admin.open(f"apps/{app}/compose?topics=news&title=Only+a+test")
    page.get_by_role("button", name="Send test to 1 device").click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    expect(page.locator("[data-state=sent]")).to_be_visible(timeout=30_000)
    expect(page.locator("[data-count=accepted]")).to_have_text("1")
    admin.open(f"apps/{app}/messages?text=only+A+test")
    expect(page.get_by_role("row").filter(has_text="Only a test")).to_be_visible()
    admin.check()


PAGES = [
    "", "operations", "apps/{app}/", "apps/{app}/messages", "apps/{app}/calendar", "apps/{app}/topics",
    "apps/{app}/campaigns", "apps/{app}/webhooks", "apps/{app}/audit",
]


@pytest.mark.parametrize("path", PAGES)
def test_every_page_is_valid_and_accessible(admin, fixture, cheese, path):
    app, _ = cheese
    assert admin.open(path.format(app=app)).status == 200
    admin.shoot(path.format(app="app").strip("/").replace("/", "-") or "home")


def test_the_console_speaks_german(visit, fixture, cheese):
    app, _ = cheese
    visitor = visit(locale="de-DE")
    page = visitor.page
    page.goto(fixture.url)
    assert page.locator("html").get_attribute("lang") == "de"
    page.get_by_label("Schlüssel").fill(fixture.peal.admin_token)
    page.get_by_role("button", name="Anmelden").click()
    visitor.open(f"apps/{app}/")
    expect(page.get_by_role("link", name="Nachrichten", exact=True)).to_be_visible()
    visitor.shoot("german")


HOSTILE = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>\"\u0301 onload=alert(1) {{x}}"


def test_hostile_text_is_escaped(admin, fixture):
    name = HOSTILE[:200]
    app = fixture.peal.post("/apps", {"name": name, "bundle_id": fixture.simulator["apns"]["bundle_id"]})["id"]
    fixture.peal.put(f"/apps/{app}/credentials/apns/production", fixture.credential)
    device = fixture.peal.post(f"/apps/{app}/devices", {
        "platform": "ios", "address": "ab" * 32, "user_id": HOSTILE, "topics": [HOSTILE], "alias": HOSTILE,
        "model": HOSTILE, "os_version": HOSTILE, "app_version": HOSTILE, "attributes": {HOSTILE: HOSTILE}})["id"]
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": [HOSTILE]}, "campaign_id": HOSTILE[:80],
        "content": {"title": HOSTILE, "body": HOSTILE, "data": {HOSTILE: HOSTILE}}})["id"]
    fixture.finished(app, message)
    page = admin.page
    page.on("dialog", lambda dialog: pytest.fail("a script ran"))
    for path in ("", f"messages/{message}", "messages", f"devices/{device}", "devices", "topics", "campaigns",
                 f"compose?from={message}", "calendar", "audit", "messages?campaign_id=%3Cscript%3E",
                 "devices?search=%22%3E%3Cscript%3Ealert(1)%3C/script%3E"):
        admin.open(f"apps/{app}/{path}")
        assert page.locator("main img, main script, [onerror], [onload]").count() == 0
        admin.check()
    expect(page.get_by_label("Search")).to_have_value("\"><script>alert(1)</script>")


def test_a_phone_shows_every_route_of_an_app(admin, fixture):
    # Home has figures for the first ten apps.
    app = fixture.peal.post("/apps", {
        "id": "00000000-0000-4000-8000-0000000000f1", "name": "Routes", "bundle_id": "com.example.demo"})["id"]
    account = json.loads(pathlib.Path(fixture.simulator["fcm"]["service_account_file"]).read_text())
    for path, credential in (
        ("apns/production", fixture.credential), ("apns/sandbox", fixture.credential),
        ("fcm", {"service_account": account}), ("webpush", {"subject": "mailto:push@example.com"}),
    ):
        fixture.peal.put(f"/apps/{app}/credentials/{path}", credential)
    page = admin.page
    for width in (320, 390):
        page.set_viewport_size({"width": width, "height": 900})
        admin.open("")
        row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Routes", exact=True))
        edge = row.bounding_box()["x"] + row.bounding_box()["width"]
        badges = row.locator(".badge").all()
        assert len(badges) == 4
        for badge in badges:
            box = badge.bounding_box()
            assert box["x"] + box["width"] <= edge and badge.evaluate("e => e.scrollWidth <= e.clientWidth")
        admin.check()


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_tables_are_as_wide_as_the_window_allows(visit, fixture, locale):
    app, _ = fixture.app(f"Widths {locale}")
    for dialect in ("pivotal", "richie", "native"):
        fixture.peal.post(f"/apps/{app}/keys", {"dialect": dialect})
    fixture.peal.put(f"/apps/{app}/webhooks/crm", {
        "url": "http://127.0.0.1:9/", "kind": "events", "authentication": {"type": "bearer", "token": "t" * 24}})
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"all": True}, "content": {"title": "An offer with a long name"}, "campaign_id": "daily-reminder"})
    fixture.finished(app, message["id"])
    deliveries = f"/apps/{app}/webhooks/crm/deliveries"
    wait_until(lambda: any(item["attempts"] for item in fixture.peal.get(deliveries)["items"]))
    visitor = visit(locale=locale, extra_http_headers={"Accept-Language": locale}).sign_in()
    page = visitor.page
    for width in (761, 901, 1101):
        page.set_viewport_size({"width": width, "height": 900})
        for path in ("", f"apps/{app}/", f"apps/{app}/messages", f"apps/{app}/keys", f"apps/{app}/webhooks/crm"):
            visitor.open(path)
            widths = page.locator(".table").evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")
            assert all(inner <= outer for inner, outer in widths), f"{path} at {width}: {widths}"
        visitor.check()


def test_a_message_on_a_stopped_route_says_why_it_waits(admin, fixture):
    app, _ = fixture.app("Refused")
    fixture.peal.put(f"/apps/{app}/credentials/apns/production", {**fixture.credential, "team_id": "WRONGTEAM1"})
    message = fixture.peal.post(f"/apps/{app}/messages", {"audience": {"all": True}, "content": {"title": "Waits"}})
    wait_until(lambda: fixture.peal.get(f"/apps/{app}/routes")["items"][0]["state"] == "stopped")
    page = admin.page
    admin.open(f"apps/{app}/messages/{message['id']}")
    expect(page.locator(".notice.warn")).to_contain_text("APNs production: Stopped. 5 devices")
    expect(page.locator(".remaining")).to_have_count(0)
    admin.open(f"apps/{app}/credentials")
    expect(page.locator("#apns .notice.bad")).to_contain_text("The key id, the team id and the key do not match")
    # The home page has figures of the first apps only: begin with this one.
    admin.open(f"?after={uuid.UUID(int=uuid.UUID(app).int - 1)}")
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Refused", exact=True))
    expect(row).to_contain_text("APNs production: Stopped")
    admin.check()


def test_a_time_in_the_past_is_noticed_before_sending(admin, cheese):
    app, _ = cheese
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news&title=Late")
    page.get_by_label("Send at").fill("2020-01-01T10:00")
    page.get_by_role("button", name="Review").click()
    expect(page.locator(".notice.warn")).to_have_text(
        "The time to send at has passed. The message will be sent at once.")
    admin.check()


# In Hebrew: the exclamation mark belongs at the end, which is on the left.
HEBREW = "\u05d7\u05d3\u05e9\u05d5\u05ea!"
MARK_IS_LEFT = """
element => {
  const range = document.createRange();
  const node = document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode();
  const left = (index) => {
    range.setStart(node, index);
    range.setEnd(node, index + 1);
    return range.getBoundingClientRect().left;
  };
  const mark = node.data.indexOf("!");
  return left(mark) < left(mark - 1);
}
"""


def test_text_from_right_to_left_is_in_order(admin, fixture):
    app = fixture.peal.post("/apps", {"name": HEBREW, "bundle_id": fixture.simulator["apns"]["bundle_id"]})["id"]
    fixture.peal.put(f"/apps/{app}/credentials/apns/production", fixture.credential)
    device = fixture.peal.post(f"/apps/{app}/devices", {
        "platform": "ios", "address": "cd" * 32, "user_id": HEBREW, "topics": [HEBREW], "alias": HEBREW})["id"]
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": [HEBREW]}, "content": {"title": HEBREW, "body": HEBREW}})["id"]
    fixture.finished(app, message)
    page = admin.page
    for path, places in {
        "": ["h1", ".side-wide .app-name", "td .title"], f"messages/{message}": ["h1", "dd >> text=" + HEBREW],
        f"devices/{device}": ["h1", "dd a", "dd .tag", ".timeline .title"], "topics": ["td .title"],
        f"compose?from={message}": [".phone .bold"],
    }.items():
        admin.open(f"apps/{app}/{path}")
        for place in places:
            assert page.locator(place).first.evaluate(MARK_IS_LEFT), f"{path}: {place}"
        admin.check()
    for label in ("Title", "Text"):
        field = page.get_by_label(label, exact=True)
        assert field.evaluate("field => getComputedStyle(field).direction") == "rtl"
        field.fill("Hello!")
        assert field.evaluate("field => getComputedStyle(field).direction") == "ltr"
