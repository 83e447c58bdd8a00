"""The console as people use it who have never seen Peal: the first steps, mistakes and what a page says about them, and
what support does for one user."""

import base64
import json
import pathlib
import re
import secrets
import uuid
from types import SimpleNamespace

import pytest
from conftest import AUTH, P256DH, SUBSCRIPTION
from console_visitor import Visitor
from peal_server import Peal
from playwright.sync_api import expect
from waiting import wait_until


def drop(page, field, name, content):
    """Drops a file with a text or bytes on a field."""
    content = list(content.encode() if isinstance(content, str) else content)
    transfer = page.evaluate_handle(
        """([name, content]) => {
          const transfer = new DataTransfer();
          transfer.items.add(new File([new Uint8Array(content)], name));
          return transfer;
        }""", [name, content])
    field.dispatch_event("drop", {"dataTransfer": transfer})


def test_guessing_a_key_is_stopped_with_a_page_that_explains_it(chromium, tmp_path):
    peal = Peal(tmp_path / "peal", {"PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": 3})
    visitor = Visitor(chromium, SimpleNamespace(peal=peal, url=peal.url + "/console/"))
    try:
        page = visitor.page
        page.goto(peal.url + "/console/")
        for _ in range(3):
            page.get_by_label("Key").fill("not the key")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_text("This key is not valid.")).to_be_visible()
        page.get_by_label("Key").fill("not the key")
        with page.expect_response("**/console/sign-in") as answer:
            page.get_by_role("button", name="Sign in").click()
        assert answer.value.status == 429 and int(answer.value.headers["retry-after"]) > 0
        expect(page.get_by_text("Too many failed attempts.", exact=False)).to_be_visible()
        visitor.check()
    finally:
        visitor.close()
        peal.stop()


def test_the_first_steps_lead_from_nothing_to_the_first_push(visit, fixture):
    visitor = visit().sign_in()
    page = visitor.page
    script = SUBSCRIPTION
    for name, value in {"ENDPOINT": f"http://127.0.0.1:9/{uuid.uuid4()}", "P256DH": P256DH, "AUTH": AUTH}.items():
        script = script.replace(name, json.dumps(value))
    visitor.context.grant_permissions(["notifications"], origin=fixture.peal.url)
    visitor.context.add_init_script(script)
    # The app.
    visitor.open("new-app")
    page.get_by_label("Name").fill("Bakery")
    page.get_by_label("Bundle ID").fill("com example")
    page.get_by_role("button", name="Create app").click()
    expect(page.locator("#bundle_id-error")).to_have_text("bundle_id may contain only letters, digits and . _ : -")
    expect(page.get_by_label("Name")).to_have_value("Bakery")
    page.get_by_label("Bundle ID").fill(fixture.simulator["apns"]["bundle_id"])
    page.get_by_role("button", name="Create app").click()
    page.wait_for_url("**/credentials?done=app-made")
    app = re.search(r"/apps/([^/]+)/", page.url)[1]
    # The .p8 file, whose name has the key's id.
    apns = page.locator("#apns")
    apns.get_by_text("Add a credential").click()
    form = apns.locator("form").first
    drop(page, form.get_by_label("private key").first, "AuthKey_ABC123DEFG.p8", fixture.credential["private_key"])
    expect(form.get_by_label("key id")).to_have_value("ABC123DEFG")
    expect(form.get_by_label("private key").first).to_have_value(fixture.credential["private_key"])
    form.get_by_label("key id").fill(fixture.credential["key_id"])
    form.get_by_label("team id").fill("WRONGTEAM1")
    form.get_by_label("bundle id").fill(fixture.credential["bundle_id"])
    form.get_by_role("button", name="Save").click()
    apns.get_by_role("button", name="Verify").click()
    expect(apns.get_by_text("The network refused the credential.")).to_be_visible()
    expect(apns.get_by_text("InvalidProviderToken").first).to_be_visible()
    expect(apns.get_by_role("status")).to_contain_text("The key id, the team id and the key do not match")
    visitor.shoot("credential-refused")
    apns.get_by_text("Replace").click()
    form = apns.locator("form").filter(has=page.get_by_label("team id"))
    for name in ("key_id", "team_id", "bundle_id", "private_key"):
        form.locator(f"[name={name}]").fill(fixture.credential[name])
    form.get_by_role("button", name="Save").click()
    apns.get_by_role("button", name="Verify").click()
    expect(apns.get_by_text("The network accepted the credential.")).to_be_visible()
    # The key for browsers, and this browser.
    web = page.locator("#webpush")
    web.get_by_text("Add a credential").click()
    web.get_by_label("subject").fill("push@example.com")
    web.get_by_role("button", name="Save").first.click()
    expect(web.get_by_role("alert")).to_contain_text("subject must begin with mailto: or https:")
    web.get_by_label("subject").fill("mailto:push@example.com")
    web.get_by_role("button", name="Save").first.click()
    visitor.open(f"apps/{app}/")
    steps = page.locator(".steps li")
    expect(steps.filter(has_text="Done")).to_have_count(3)
    visitor.shoot("first-steps")
    visitor.open(f"apps/{app}/devices")
    page.evaluate("Notification.requestPermission = async () => 'denied'")
    page.get_by_role("button", name="Register this browser").click()
    expect(page.locator("#browser").get_by_role("alert")).to_contain_text("Allow notifications for this address")
    page.reload()
    page.get_by_role("button", name="Register this browser").click()
    page.wait_for_url("**/devices/*?done=saved")
    # The first push. The push service of this browser is not there, and the page says so.
    visitor.open(f"apps/{app}/compose")
    page.get_by_label("Everyone").check()
    page.get_by_label("Title", exact=True).fill("The bread is ready")
    expect(page.get_by_text("1 device", exact=True)).to_be_visible()
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    visitor.open(f"apps/{app}/")
    expect(page.get_by_text("First steps")).to_have_count(0)


def test_a_service_account_is_dropped_in_and_the_wrong_file_is_named(admin, fixture):
    app, _ = fixture.app("Droid", devices=0)
    account = open(fixture.simulator["fcm"]["service_account_file"]).read()
    page = admin.page
    admin.open(f"apps/{app}/credentials")
    fcm = page.locator("#fcm")
    fcm.get_by_text("Add a credential").click()
    field = fcm.get_by_label("Service account file (JSON)").first
    for name, text, answer in [
        ("google-services.json", json.dumps({"project_info": {"project_id": "x"}}), "belongs in your app"),
        ("photo.png", "no file of ours", "not the JSON file of a service account"),
    ]:
        drop(page, field, name, text)
        fcm.get_by_role("button", name="Save").click()
        expect(fcm.get_by_role("alert")).to_contain_text(answer)
        expect(fcm.get_by_label("Service account file (JSON)").first).to_be_focused()
    admin.shoot("service-account-refused")
    fcm.get_by_label("Service account file (JSON)").nth(1).set_input_files(fixture.simulator["fcm"]["service_account_file"])
    expect(field).to_have_value(account)
    fcm.get_by_role("button", name="Save").click()
    expect(fcm.get_by_text(json.loads(account)["project_id"]).first).to_be_visible()
    fcm.get_by_role("button", name="Verify").click()
    expect(fcm.get_by_text("The network accepted the credential.")).to_be_visible()


def test_a_p12_file_is_dropped_in_picked_or_pasted(admin, fixture):
    app, _ = fixture.app("Archive", devices=0)
    apns = fixture.simulator["apns"]
    path = pathlib.Path(apns["p12_file"])
    wrapped = base64.encodebytes(path.read_bytes()).decode()
    page = admin.page
    admin.open(f"apps/{app}/credentials")
    section = page.locator("#apns")

    def form():
        """The form for archives, opened."""
        for summary in ("Replace", "PKCS#12 archive (.p12)"):
            found = section.locator("summary").filter(has_text=summary)
            if not found.evaluate("summary => summary.parentElement.open"):
                found.click()
        return section.locator("form").filter(has=page.get_by_label("passphrase"))

    def save(passphrase):
        form().get_by_label("passphrase").fill(passphrase)
        form().get_by_label("bundle id").fill(apns["bundle_id"])
        form().get_by_role("button", name="Save").click()

    field = form().get_by_label("PKCS#12 archive (.p12)").first
    drop(page, field, "push.p12", path.read_bytes())
    expect(field).to_have_value("".join(wrapped.split()))
    save("wrong")
    expect(section.get_by_role("alert")).to_contain_text("the passphrase does not open the archive")
    expect(form().get_by_label("passphrase")).to_be_focused()
    admin.shoot("archive-refused")
    drop(page, field, "push.cer", b"\x30\x82 no archive")
    save(apns["p12_passphrase"])
    expect(section.get_by_role("alert")).to_contain_text("not a PKCS#12 archive")
    form().locator("input[type=file]").set_input_files(path)
    expect(field).to_have_value("".join(wrapped.split()))
    save(apns["p12_passphrase"])
    page.wait_for_url("**/credentials?done=saved*")
    # The programs that print base64 wrap it into lines.
    form().get_by_label("PKCS#12 archive (.p12)").first.fill(wrapped)
    assert "\n" in wrapped.strip()
    save(apns["p12_passphrase"])
    page.wait_for_url("**/credentials?done=saved*")
    section.get_by_role("button", name="Verify").first.click()
    expect(section.get_by_text("The network accepted the credential.")).to_be_visible()
    admin.check()


def test_a_refused_webhook_keeps_what_was_typed_except_the_secret(admin, fixture):
    app, _ = fixture.app("Typed", devices=0)
    page = admin.page
    admin.open(f"apps/{app}/webhooks")
    page.get_by_label("Name", exact=True).fill("crm")
    page.get_by_label("URL").fill("http://elsewhere.example.com/hook")
    page.get_by_label("Authentication").select_option("basic")
    page.get_by_label("User name or header").fill("peal")
    page.get_by_label("Secret").fill("typed-once")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Name", exact=True)).to_have_value("crm")
    expect(page.get_by_label("URL")).to_have_value("http://elsewhere.example.com/hook")
    expect(page.get_by_label("Authentication")).to_have_value("basic")
    expect(page.get_by_label("User name or header")).to_have_value("peal")
    expect(page.get_by_label("Secret")).to_have_value("")
    assert "typed-once" not in page.content()
    admin.shoot("webhook-refused")
    page.get_by_label("URL").fill("http://127.0.0.1:9/hook")
    page.get_by_label("Secret").fill("typed-twice")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="crm").click()
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("No webhooks yet")).to_be_visible()


def test_a_user_is_found_explained_and_erased(admin, fixture):
    app, _ = fixture.app("Support")
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Offer"}})["id"]
    fixture.finished(app, message)
    page = admin.page
    admin.open(f"apps/{app}/devices")
    page.get_by_label("Search").fill("user-4")
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name="user-4").click()
    expect(page.get_by_text("None of the latest messages was for this device or user.")).to_be_visible()
    # Why did this person not get it?
    admin.open(f"apps/{app}/messages/{message}")
    page.get_by_label("Device, user or address").fill("user-4")
    page.locator("#explain").get_by_role("button", name="Show").click()
    expect(page.locator("#explain .events")).to_contain_text("Not matched")
    admin.open(f"apps/{app}/users/user-0")
    expect(page.get_by_role("listitem").filter(has_text="Offer").first).to_contain_text("by topic news")
    questions = []
    page.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.accept()))
    page.get_by_role("button", name="Erase user").click()
    page.wait_for_url("**/devices?done=erased")
    assert questions
    assert [d["user_id"] for d in fixture.peal.get(f"/apps/{app}/devices")["items"]].count("user-0") == 0
    assert page.goto(fixture.url + f"apps/{app}/users/user-0").status == 404
    admin.open(f"apps/{app}/audit?action=user.erase")
    expect(page.locator("tbody tr")).to_have_count(1)


@pytest.mark.parametrize("user", [".", "..", "~."])
def test_a_user_whose_id_looks_like_a_relative_path_has_a_page(admin, fixture, user):
    app, _ = fixture.app(f"Dots {user}", devices=0)
    fixture.peal.post(f"/apps/{app}/devices", {
        "platform": "ios", "address": secrets.token_hex(32), "user_id": user, "topics": [user]})
    page = admin.page
    admin.open(f"apps/{app}/devices")
    page.get_by_role("link", name=user, exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(user)
    page.on("dialog", lambda dialog: dialog.accept())
    page.get_by_role("button", name="Erase user").click()
    page.wait_for_url("**/devices?done=erased")
    assert fixture.peal.get(f"/apps/{app}/devices")["items"] == []
    admin.open(f"apps/{app}/topics")
    page.get_by_role("link", name=user, exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text(user)


def test_a_result_can_be_loaded_again(admin, fixture):
    app, _ = fixture.app("Results", devices=0)
    page = admin.page
    admin.open(f"apps/{app}/credentials")
    page.get_by_role("button", name="Verify").first.click()
    page.wait_for_url("**/verify")
    assert page.goto(page.url).status == 200
    assert page.url.endswith("/credentials/")


def test_reasons_lead_to_devices_and_their_timelines(admin, fixture):
    app, devices = fixture.app("Reasons in samples", devices=4, subscribed=4)
    gone = fixture.peal.get(f"/apps/{app}/devices/{devices[0]}")["address"]
    fixture.fault(gone, {"status": 410, "reason": "Unregistered", "times": 5})
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Gone"}, "campaign_id": "plain"})["id"]
    fixture.finished(app, message)
    page = admin.page
    admin.open(f"apps/{app}/messages/{message}")
    row = page.get_by_role("region", name="Reasons").get_by_role("row").filter(has_text="Unregistered")
    admin.shoot("message-reasons")
    row.get_by_role("link", name=devices[0][-8:]).click()
    expect(page.get_by_text("Retired").first).to_be_visible()
    expect(page.locator(".events").first).to_contain_text("Unregistered: The app was removed from the device")
    admin.open(f"apps/{app}/campaigns/plain")
    funnel = page.locator("table.funnel")
    expect(funnel.get_by_role("row").filter(has_text="Accepted")).to_contain_text("75.0 %")
    expect(page.get_by_role("region", name="Reasons")).to_contain_text("Unregistered")


def test_home_shows_every_app_and_what_needs_attention(admin, fixture, cheese):
    page = admin.page
    app, _ = cheese
    fixture.finished(app, fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "For the figures"}})["id"])
    admin.open("")
    expect(page.get_by_role("img", name=re.compile("Sent per hour in"))).to_be_visible()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name="Cheese", exact=True))
    expect(row).to_contain_text("APNs production")
    assert int(row.get_by_role("cell").nth(1).inner_text().replace(",", "")) >= 3
    for column in ("Accepted, 24 h", "Not accepted", "Routes", "Pending", "Oldest waiting"):
        expect(page.get_by_role("columnheader", name=column).first).to_be_attached()
    admin.shoot("home-figures")
    broken, _ = fixture.app("Broken key", devices=1, subscribed=1)
    fixture.peal.put(f"/apps/{broken}/credentials/apns/production", {**fixture.credential, "team_id": "WRONGTEAM1"})
    fixture.peal.post(f"/apps/{broken}/credentials/apns/production/verify")
    admin.open("")
    expect(page.locator(".notice.warn")).to_contain_text("Broken key · APNs production")
    admin.open(f"apps/{broken}/")
    expect(page.locator(".notice.warn")).to_contain_text("Needs attention")
    admin.check()


def test_every_field_of_compose_arrives_in_the_message(admin, fixture):
    app, _ = fixture.app("Everything")
    fixture.peal.put(f"/apps/{app}/segments/readers", {"where": {"topic": "news"}})
    page = admin.page
    admin.open(f"apps/{app}/compose")
    page.get_by_text("Users, devices, exclusions, platforms").click()
    page.get_by_label("Segments").fill("readers")
    page.get_by_label("Topics", exact=True).fill("news")
    page.get_by_label("Users", exact=True).fill("user-0\nuser-4")
    page.get_by_label("Exclude subscribers of").fill("quiet")
    page.get_by_label("iOS", exact=True).check()
    page.get_by_label("Title", exact=True).fill("Hello")
    page.get_by_label("Text", exact=True).fill("World")
    page.get_by_text("Translations", exact=True).click()
    page.get_by_label("Language of the texts above").fill("en")
    translation = page.get_by_role("group", name="Translation 1")
    translation.get_by_label("Locale").fill("de")
    translation.get_by_label("Translated title").fill("Hallo")
    translation.get_by_label("Translated text").fill("Welt")
    page.get_by_text("Subtitle, image, data, badge, sound, group").click()
    page.get_by_label("Subtitle", exact=True).fill("Again")
    page.get_by_label("Image").fill("https://example.com/cheese.jpg")
    page.get_by_label("Data (JSON)").fill('{"order": 7}')
    expect(page.locator("#check pre").first).to_contain_text('"order":7')
    # The author's language comes first, then each translation, each with its image.
    previews = page.locator("#check > .preview")
    expect(previews).to_have_count(2)
    expect(previews.nth(0)).to_contain_text("Hello")
    expect(previews.nth(1)).to_contain_text("Welt")
    expect(previews.nth(1).locator(".image")).to_have_text("Image: cheese.jpg")
    # Segments narrow what topics and users select.
    expect(page.locator("#check").get_by_role("status")).to_have_text("3 devices")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("3 devices")).to_be_visible()
    admin.shoot("review-everything")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    message = fixture.finished(app, page.url.rsplit("/", 1)[1])
    assert message["counts"]["accepted"] == 3
    content = message["request"]["content"]
    assert content["title"] == {"en": "Hello", "de": "Hallo"} and content["body"] == {"en": "World", "de": "Welt"}
    assert (content["subtitle"], content["image_url"], content["data"]) == (
        "Again", "https://example.com/cheese.jpg", {"order": 7})
    admin.check()


def test_a_text_that_is_too_long_is_reported_while_it_is_typed(admin, fixture):
    app, _ = fixture.app("Long")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news&title=Hello")
    page.get_by_label("Text", exact=True).fill("y" * 5000)
    expect(page.locator("#check .error, #check .notice").first).to_contain_text("body")
    expect(page.locator("#check .error, #check .notice").first).to_contain_text("4096")
    admin.shoot("compose-too-long")


def test_long_names_leave_room_for_the_other_columns(admin, fixture):
    name = "Donaudampfschifffahrtselektrizitäten" * 2
    app, _ = fixture.app(name)
    device = fixture.peal.post(f"/apps/{app}/devices", {
        "platform": "ios", "address": secrets.token_hex(32), "user_id": name, "alias": name, "topics": [name]})["id"]
    fixture.peal.put(f"/apps/{app}/segments/{'x' * 100}", {"where": {"topic": "news"}})
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"devices": [device]}, "content": {"title": name}, "campaign_id": name[:64]})["id"]
    fixture.finished(app, message)
    page = admin.page
    page.set_viewport_size({"width": 1100, "height": 800})
    for path in ("", f"apps/{app}/devices", f"apps/{app}/messages", f"apps/{app}/segments"):
        admin.open(path)
        hidden = page.locator(".table").evaluate_all("all => all.map((e) => e.scrollWidth - e.clientWidth)")
        assert hidden and max(hidden) <= 0, path
        admin.check()


def test_the_table_of_keys_fits_a_window_of_800_pixels_in_german(visit, fixture):
    app, _ = fixture.app("Keys", devices=0)
    for dialect in ("native", "pivotal"):
        fixture.peal.post(f"/apps/{app}/keys", {
            "dialect": dialect, "name": "Donaudampfschifffahrtselektrizitäten", "expires_at": "2099-12-31T23:59:59Z"})
    visitor = visit(locale="de-DE").sign_in()
    page = visitor.page
    for width in (800, 1050):
        page.set_viewport_size({"width": width, "height": 800})
        visitor.open(f"apps/{app}/keys")
        assert page.locator(".table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0, width
        visitor.check()


def test_the_deliveries_of_a_webhook_fit_a_window_of_800_pixels_in_german(visit, fixture):
    app, _ = fixture.app("Hooks in German", devices=0)
    # Nothing listens on port 9, so the delivery waits for its next attempt.
    fixture.peal.put(f"/apps/{app}/webhooks/main", {
        "url": "http://127.0.0.1:9/", "kind": "events", "authentication": {"type": "bearer", "token": "x" * 24}})
    fixture.peal.post(f"/apps/{app}/webhooks/main/test")

    def has_tried():
        deliveries = fixture.peal.get(f"/apps/{app}/webhooks/main/deliveries")["items"]
        return deliveries and deliveries[0]["attempts"] > 0

    wait_until(has_tried)
    visitor = visit(locale="de-DE").sign_in()
    page = visitor.page
    for width in (390, 800, 1050, 1280):
        page.set_viewport_size({"width": width, "height": 800})
        visitor.open(f"apps/{app}/webhooks/main")
        assert page.locator(".table").evaluate("e => e.scrollWidth - e.clientWidth") <= 0, width
        expect(page.get_by_text("Nächster Versuch")).to_be_visible()
        expect(page.get_by_role("button", name="Wiederholen")).to_be_visible()
        visitor.check()


def test_a_refused_form_leads_back_to_its_page(admin, fixture):
    app, _ = fixture.app("Stale", devices=0)
    for name in ("first", "second"):
        fixture.peal.put(f"/apps/{app}/webhooks/{name}", {
            "url": "http://127.0.0.1:9/", "kind": "events", "authentication": {"type": "bearer", "token": "x" * 24}})
    page = admin.page
    page.on("dialog", lambda dialog: dialog.accept())
    admin.open(f"apps/{app}/webhooks/first")
    # Meanwhile, someone else deletes it.
    fixture.peal.delete(f"/apps/{app}/webhooks/first")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")
    admin.check()
    # Its page does not exist any more either, so that leads to the list.
    page.get_by_role("link", name="Back").click()
    page.get_by_role("link", name="Back").click()
    page.wait_for_url(re.compile("/webhooks$"))
    expect(page.get_by_role("link", name="second")).to_be_visible()


def test_a_duplicate_has_the_lifetime_of_the_message(admin, fixture):
    app, _ = fixture.app("Lifetime")
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"all": True}, "content": {"title": "Soon"}, "options": {"ttl_seconds": 90}})["id"]
    page = admin.page
    admin.open(f"apps/{app}/compose?from={message}")
    expect(page.get_by_label("Lifetime", exact=True)).to_have_value("90")
    expect(page.get_by_label("Unit of the lifetime")).to_have_value("seconds")
    page.get_by_label("Lifetime", exact=True).fill("15")
    page.get_by_label("Unit of the lifetime").select_option(label="Minutes")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    sent = fixture.finished(app, page.url.rsplit("/", 1)[1])
    assert sent["request"]["options"]["ttl_seconds"] == 900
    admin.check()


def test_paper_shows_neither_navigation_nor_buttons(admin, cheese):
    app, _ = cheese
    page = admin.page
    admin.open(f"apps/{app}/messages")
    page.emulate_media(media="print")
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_role("navigation").filter(visible=True)).to_have_count(0)
    expect(page.get_by_role("button").filter(visible=True)).to_have_count(0)
    page.emulate_media(media="screen")


def test_long_lists_have_several_pages(admin, fixture):
    app, _ = fixture.app("Pages", devices=0)
    fixture.peal.post(f"/apps/{app}/devices:batch", {"devices": [
        {"platform": "ios", "address": secrets.token_hex(32), "topics": [f"topic-{n:02}"]} for n in range(60)]})
    page = admin.page
    for path in ("devices", "topics"):
        admin.open(f"apps/{app}/{path}")
        first = page.locator("tbody tr").first.inner_text()
        page.get_by_role("link", name="Next page").click()
        expect(page.locator("tbody tr").first).not_to_have_text(first)
        page.get_by_role("link", name="Next page").click()
        expect(page.locator("tbody tr")).to_have_count(10)
        assert page.get_by_role("link", name="Next page").count() == 0
        page.get_by_role("link", name="First page").click()
        expect(page.locator("tbody tr").first).to_contain_text(first.split()[0])
    admin.check()


@pytest.mark.parametrize("scopes", [["send"], ["read"], ["devices"], ["manage"], ["read", "send"]], ids="-".join)
def test_nothing_is_offered_that_the_key_may_not_do(visit, fixture, cheese, scopes):
    app, _ = cheese
    visitor = visit().sign_in(fixture.key(app, *scopes))
    page = visitor.page
    links = [link.get_attribute("href") for link in page.locator("header .side-wide nav a").all()]
    assert links
    for link in links:
        answer = page.goto(fixture.peal.url + link)
        assert answer.status == 200, link
        visitor.check()
    expect(page.get_by_role("button", name="Sign out everywhere")).to_be_visible()
