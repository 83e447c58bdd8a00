"""The console's flows beyond the first message: experiments, audiences by rows, drafts, messages while they are sent,
topics, webhooks, exports and sign-in links; with the rules and screenshots of `test_console.py`."""

import json
import re
import sqlite3
import sys
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from console_server import ROOT, wait_until
from playwright.sync_api import expect

sys.path.append(str(ROOT / "Scripts"))
from demo_history import History  # noqa: E402


@pytest.fixture(scope="session")
def lessons(fixture):
    """An app with an experiment of two weeks."""
    app, _ = fixture.app("Lessons", devices=0)
    History(fixture.peal, app, fixture.peal.directory / "peal.db").write(users=300, days=14)
    return app


def test_an_experiment_shows_its_result(admin, lessons):
    page = admin.page
    admin.open(f"apps/{lessons}/campaigns")
    page.get_by_role("link", name="daily-reminder").click()
    verdict = page.locator("[data-verdict]")
    expect(verdict).to_be_visible()
    assert verdict.get_attribute("data-verdict") in ("promote", "undecided")
    expect(verdict).to_contain_text(re.compile(r"\+\d+(\.\d)?\s% opens, between"))
    expect(page.get_by_text("Arms in balance")).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="At a good moment").first).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Lift over time"))).to_be_visible()
    page.get_by_text("Show as a table").first.click()
    assert page.locator("figure.chart table tbody tr").count() >= 10
    expect(page.get_by_text("Without the SDK")).to_be_visible()
    # The server may have trained a model by now.
    trained = re.compile("Not trained on this campaign|This campaign's own, version")
    expect(page.get_by_text(trained).first).to_be_visible()
    guard = page.get_by_role("row").filter(has_text="App removed")
    expect(guard).to_contain_text("not worse")
    expect(guard).to_contain_text(re.compile(r"0 of \d+"))
    heat = page.get_by_role("table", name="Where and when people open").first
    expect(heat.get_by_role("row", name=re.compile("Using the phone"))).to_be_visible()
    assert heat.locator("td[class^=heat]").count() >= 6
    visits = page.get_by_role("row").filter(has_text="App not opened for 24 h")
    expect(visits).to_contain_text(re.compile(r"\d+ of \d\d+"))
    diagram = page.get_by_role("img", name=re.compile(r"Predicted and actual share of opens, from [\d,]+ displays"))
    expect(diagram).to_be_visible()
    assert diagram.locator("circle").count() == 10
    weights = page.get_by_role("table", name="What the model looks at")
    expect(weights.get_by_role("row", name=re.compile("Unlocked")).first).to_be_visible()
    strips = page.get_by_role("img", name=re.compile(r"\d+ wakes in 6 h: Moment chosen"))
    assert strips.count() >= 3
    admin.shoot("experiment")


@pytest.mark.parametrize("locale", ["en-GB", "de-DE"])
def test_the_tables_of_an_experiment_fit_the_window(visit, fixture, lessons, locale):
    visitor = visit(locale=locale, extra_http_headers={"Accept-Language": locale}).sign_in()
    page = visitor.page
    for width in (320, 761, 901, 1101, 1280):
        page.set_viewport_size({"width": width, "height": 900})
        visitor.open(f"apps/{lessons}/campaigns/daily-reminder")
        page.evaluate("for (const part of document.querySelectorAll('main details')) part.open = true")
        widths = page.locator(".table").evaluate_all("all => all.map(e => [e.scrollWidth, e.clientWidth])")
        assert len(widths) > 4 and all(inner <= outer for inner, outer in widths), f"{width}: {widths}"
        visitor.check()


def test_an_experiment_says_which_model_phones_use_and_what_is_known(admin, fixture):
    """The numbers that the server writes when it trains; meanwhile the model is the one that phones come with."""
    app, _ = fixture.app("Model", devices=0)
    fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"users": ["ann"]}, "content": {"title": "Hello"}, "campaign_id": "model", "method": "ab_test",
        "schedule": {"window": {"until": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))}}})

    def known(displays, opens):
        connection = sqlite3.connect(fixture.peal.directory / "peal.db", timeout=30)
        try:
            with connection:
                connection.execute("DELETE FROM learning WHERE campaign_id = 'model'")
                connection.execute(
                    """INSERT INTO learning
                        (app, campaign_id, displays, opens, labels, failures, own_model, drifted, objections)
                    SELECT app, 'model', ?, ?, 0, 0, 0, 0, '' FROM app WHERE id = ?""",
                    (displays, opens, uuid.UUID(app).bytes))
        finally:
            connection.close()
        admin.open(f"apps/{app}/campaigns/model")
        return admin.page.locator("section").filter(has=admin.page.get_by_role("heading", name="Moment model"))

    card = known(0, 0)
    expect(card).to_contain_text("The one built into the SDK")
    expect(card).to_contain_text("Not trained on this campaign")
    expect(card).not_to_contain_text("displays")
    expect(known(2000, 100)).to_contain_text("2,000 displays, 100 opens")
    admin.check()


def test_the_calendar_uses_the_viewers_time_zone(visit, fixture):
    app, _ = fixture.app("Days", devices=1)
    now = time.time()
    late = time.strftime("%Y-%m-%d", time.gmtime(now + 5 * 86_400)) + "T23:30:00Z"
    fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"all": True}, "content": {"title": "Good night"}, "schedule": {"at": late}})
    for zone, hour, days in (("Europe/London", "23:30", 5), ("Asia/Tokyo", "08:30", 6)):
        visitor = visit(timezone_id=zone).sign_in()
        visitor.open(f"apps/{app}/calendar")
        section = visitor.page.locator(".day")
        day = time.gmtime(now + days * 86_400)
        expect(section.get_by_role("heading")).to_contain_text(time.strftime(f"{day.tm_mday} %B %Y", day))
        expect(section.locator("time")).to_have_text(hour)
        assert late[:16] in section.locator("time").get_attribute("title")
        visitor.check()
    visitor.shoot("calendar")


def test_the_calendar_lists_a_local_time_under_that_time(visit, fixture):
    app, _ = fixture.app("Own days", devices=1)
    day = time.gmtime(time.time() + 5 * 86_400)
    fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"all": True}, "content": {"title": "Good morning"},
        "schedule": {"at": time.strftime("%Y-%m-%dT08:30:00Z", day), "in": "recipient_time_zone"}})
    for zone in ("America/Los_Angeles", "Asia/Tokyo"):
        visitor = visit(timezone_id=zone).sign_in()
        visitor.open(f"apps/{app}/calendar")
        section = visitor.page.locator(".day")
        expect(section.get_by_role("heading")).to_contain_text(time.strftime(f"{day.tm_mday} %B %Y", day))
        expect(section.locator("li time")).to_have_text("08:30")
        expect(section).to_contain_text("In each recipient's own time")
        visitor.check()


def test_an_expired_session_says_so(admin, fixture):
    fixture_cookie = admin.context.cookies()[0]
    admin.context.add_cookies([{**fixture_cookie, "value": fixture_cookie["value"][:-4] + "0000"}])
    admin.open("operations")
    expect(admin.page.get_by_text("Your session has ended.")).to_be_visible()
    admin.check()
    admin.page.get_by_label("Key").fill(fixture.peal.admin_token)
    admin.page.get_by_role("button", name="Sign in").click()
    expect(admin.page.get_by_role("heading", level=1, name="Operations")).to_be_visible()


def test_an_experiment_without_data_says_so(admin, fixture):
    app, _ = fixture.app("Young", devices=3)
    until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))
    fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"users": ["user-0", "user-1"]}, "content": {"title": "Soon"}, "campaign_id": "young",
        "schedule": {"window": {"until": until}}})
    admin.open(f"apps/{app}/campaigns/young")
    expect(admin.page.get_by_text("Not decided yet")).to_be_visible()
    expect(admin.page.get_by_text("No message counts yet.")).to_be_visible()
    expect(admin.page.get_by_text("Nothing to show yet")).to_be_visible()
    admin.shoot("experiment-young")
    card = admin.page.locator("#experiment-share")
    share = card.get_by_label("Users whose phones choose the moment, in %")
    expect(share).to_have_value("50")
    share.fill("a lot")
    admin.page.once("dialog", lambda dialog: dialog.accept())
    card.get_by_role("button", name="Change the share").click()
    expect(card.get_by_text("must be a number from 0 to 100")).to_be_visible()
    expect(share).to_have_value("a lot")
    share.fill("95")
    admin.page.once("dialog", lambda dialog: dialog.accept())
    card.get_by_role("button", name="Change the share").click()
    expect(admin.page.locator("#experiment-share").get_by_role("row").nth(1)).to_contain_text("50.0\u00a0%")
    expect(share).to_have_value("95")
    admin.shoot("experiment-share")
    fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"users": ["user-0"]}, "content": {"title": "Plain"}, "campaign_id": "plain"})
    admin.open(f"apps/{app}/campaigns/plain")
    expect(admin.page.get_by_text("This campaign has no experiment.")).to_be_visible()
    admin.check()


def test_rows_select_an_audience(admin, fixture):
    app, _ = fixture.app("Rows")
    page = admin.page
    admin.open(f"apps/{app}/compose")
    page.get_by_label("Title", exact=True).fill("Rows")
    row = page.get_by_role("group", name="Row 1")
    row.get_by_label("Value").fill("news")
    expect(page.get_by_text("3 devices", exact=True)).to_be_visible()
    page.get_by_role("button", name="Add a row").click()
    second = page.get_by_role("group", name="Row 2")
    second.get_by_label("not").check()
    second.get_by_label("What").select_option("user")
    second.get_by_label("Value").fill("user-0")
    expect(page.get_by_text("2 devices", exact=True)).to_be_visible()
    page.get_by_role("button", name="Add a row").click()
    third = page.get_by_role("group", name="Row 3")
    third.get_by_label("Joined by").select_option("or")
    third.get_by_label("What").select_option("user")
    third.get_by_label("Value").fill("user-4")
    expect(page.get_by_text("3 devices", exact=True)).to_be_visible()
    admin.shoot("compose-rows")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("(topic news and not user user-0) or user user-4")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    message = fixture.finished(app, page.url.rsplit("/", 1)[1])
    assert message["counts"]["accepted"] == 3
    assert message["request"]["audience"]["where"]["or"][1] == {"user": "user-4"}


def test_rows_work_without_scripts(visit, fixture):
    app, _ = fixture.app("Plain rows")
    visitor = visit(java_script_enabled=False).sign_in()
    page = visitor.page
    page.goto(fixture.url + f"apps/{app}/compose")
    page.get_by_label("Title", exact=True).fill("Plain")
    page.get_by_role("group", name="Row 1").get_by_label("Value").fill("news")
    page.get_by_role("button", name="Add a row").click()
    page.get_by_role("group", name="Row 2").get_by_label("What").select_option("platform")
    page.get_by_role("group", name="Row 2").get_by_label("Value").fill("toaster")
    page.get_by_label("Title", exact=True).press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("toaster is not valid here")
    page.get_by_role("group", name="Row 2").get_by_label("Value").fill("iOS")
    page.get_by_label("Title", exact=True).press("Enter")
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    expect(page.get_by_text("3 devices")).to_be_visible()


def test_deleting_needs_a_confirmation_without_scripts(visit, fixture):
    app, _ = fixture.app("Asked")
    fixture.peal.put(f"/apps/{app}/segments/readers", {"where": {"topic": "news"}})
    visitor = visit(java_script_enabled=False).sign_in()
    page = visitor.page
    page.goto(fixture.url + f"apps/{app}/segments")
    page.get_by_role("button", name="Delete").click()
    expect(page.get_by_text("Delete this segment?")).to_be_visible()
    assert len(fixture.peal.get(f"/apps/{app}/segments")["items"]) == 1
    page.get_by_role("button", name="Yes, continue").click()
    expect(page.get_by_role("status")).to_have_text("Deleted.")
    assert fixture.peal.get(f"/apps/{app}/segments")["items"] == []


def test_compose_measures_bytes_by_field(admin, fixture):
    app, _ = fixture.app("Bytes")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news&title=Offer")
    page.get_by_label("Text", exact=True).fill("x" * 100)
    first = page.locator("#check .preview").first
    expect(first.locator(".meter")).to_contain_text(re.compile(r"^1\d\d of 4,096 bytes$"))
    first.get_by_text("Bytes by field").click()
    expect(first.get_by_role("row", name="body 100")).to_be_visible()
    page.get_by_label("Text", exact=True).fill("x" * 5000)
    expect(first.locator(".error")).to_contain_text("body")
    # Screen readers hear it.
    expect(page.locator("#problem[role=status]")).to_contain_text("body")
    expect(first.locator(".meter")).to_contain_text(re.compile(r"^5,0\d\d of 4,096 bytes: 9\d\d too many$"))
    # What was open stays open while one writes.
    expect(first.get_by_role("row", name="body 5,000")).to_be_visible()
    expect(first.get_by_role("row", name="title 5")).to_be_visible()
    admin.check()
    admin.shoot("compose-too-large")
    page.get_by_label("Text", exact=True).fill("x" * 100)
    expect(page.locator("#problem")).to_have_text("")


def test_what_was_written_survives_the_end_of_the_session(admin, fixture):
    app, _ = fixture.app("Ended")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news")
    page.get_by_label("Title", exact=True).fill("Written for an hour")
    page.get_by_text("Campaign, priority, lifetime").click()
    page.get_by_label("Campaign", exact=True).fill("autumn")
    # Fields that a new form does not have.
    page.get_by_role("group", name="Row 1").get_by_label("Value").fill("news")
    page.get_by_role("button", name="Add a row").click()
    page.get_by_role("group", name="Row 2").get_by_label("not").check()
    page.get_by_role("group", name="Row 2").get_by_label("Value").fill("sport")
    page.context.clear_cookies()
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("status")).to_contain_text("session has ended")
    page.get_by_label("Key").fill(fixture.peal.admin_token)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(re.compile(f"/apps/{app}/compose"))
    expect(page.get_by_label("Title", exact=True)).to_have_value("Written for an hour")
    expect(page.get_by_label("Campaign", exact=True)).to_have_value("autumn")
    expect(page.get_by_role("group", name="Row 2").get_by_label("not")).to_be_checked()
    expect(page.get_by_role("group", name="Row 2").get_by_label("Value")).to_have_value("sport")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    # The review keeps the message too.
    page.context.clear_cookies()
    page.get_by_role("button", name="Send", exact=True).click()
    page.get_by_label("Key").fill(fixture.peal.admin_token)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Review")).to_be_visible()
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("group", name="Row 2").get_by_label("Value")).to_have_value("sport")
    # It arrived, so the next message starts empty.
    admin.open(f"apps/{app}/compose")
    expect(page.get_by_label("Title", exact=True)).to_have_value("")
    # On a slow machine, the live count may ask without a session.
    admin.complaints.clear()


def test_compose_has_fields_for_single_platforms(admin, fixture):
    app, _ = fixture.app("Platforms")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news&title=Offer")
    page.get_by_text("Fields for one platform").click()
    page.get_by_label("Interruption level").select_option("passive")
    page.get_by_label("iOS, more fields (JSON)").fill('{"pyload": {}}')
    expect(page.locator("#check .notice")).to_contain_text("ios has no member pyload")
    page.get_by_label("iOS, more fields (JSON)").fill('{"payload": {"aps": {"relevance-score": 0.5}}}')
    expect(page.locator("#check pre").first).to_contain_text('"interruption-level":"passive"')
    page.get_by_label("Web, more fields (JSON)").fill("{")
    admin.shoot("compose-platforms")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_contain_text("web must be a JSON object")
    page.get_by_label("Web, more fields (JSON)").fill("")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("Fields for one platform")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    message = page.url.rsplit("/", 1)[1]
    assert fixture.finished(app, message)["request"]["content"]["ios"] == {
        "payload": {"aps": {"relevance-score": 0.5, "interruption-level": "passive"}}}
    page.get_by_role("link", name="Duplicate").click()
    expect(page.get_by_label("Interruption level")).to_have_value("passive")


def test_the_overview_says_why_devices_got_nothing(admin, fixture):
    app, _ = fixture.app("Reasons")
    fixture.peal.post(f"/apps/{app}/devices:batch", {"devices": [
        {"platform": "android", "address": f"token-{n}", "topics": ["news"]} for n in range(2)]})
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Why"}})["id"]
    fixture.finished(app, message)
    admin.open(f"apps/{app}/")
    row = admin.page.locator("#reasons tbody tr")
    expect(row).to_contain_text("NoCredential")
    expect(row).to_contain_text("The app has no credential for this network and environment.")
    expect(row).to_contain_text("2")
    admin.shoot("overview-reasons")


def test_local_time_rate_and_window(admin, fixture):
    app, _ = fixture.app("Times")
    page = admin.page
    admin.open(f"apps/{app}/compose?users=user-0&title=Later")
    day = time.gmtime(time.time() + 2 * 86_400)
    tomorrow = time.strftime("%Y-%m-%dT08:00", day)
    page.get_by_label("Send at").fill(tomorrow)
    page.get_by_label("In each recipient's own time").check()
    page.get_by_label("Even in quiet hours").check()
    page.get_by_label("At most, per second").fill("none")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_contain_text("the rate must be a number")
    page.get_by_label("At most, per second").fill("20")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("In each recipient's own time")).to_be_visible()
    shown = re.compile(rf"^{day.tm_mday} \w+ {day.tm_year}, 08:00$")
    expect(page.locator("dd time").filter(has_text=shown)).to_be_visible()
    expect(page.get_by_text("First recipients")).to_be_visible()
    expect(page.get_by_text("20 per second")).to_be_visible()
    admin.shoot("review-local")
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    message = fixture.peal.get(f"/apps/{app}/messages/{page.url.rsplit('/', 1)[1]}")
    assert message["request"]["schedule"] == {"at": tomorrow + ":00Z", "in": "recipient_time_zone"}
    assert message["request"]["options"] == {"transactional": True, "rate_per_second": 20}
    assert message["state"] == "scheduled"
    # A message with a delivery window and both arms.
    admin.open(f"apps/{app}/compose?users=user-0&title=Moment&campaign_id=moments")
    page.get_by_text("Delivery window", exact=True).click()
    page.get_by_label("Delivery window ends").fill(
        time.strftime("%Y-%m-%dT%H:%M", time.gmtime(time.time() + 86_400)))
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_text("Compare both (A/B test)")).to_be_visible()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    assert "experiment" in fixture.peal.get(f"/apps/{app}/campaigns/moments")


def test_a_draft_is_saved_finished_and_sent(admin, fixture):
    app, _ = fixture.app("Drafts")
    page = admin.page
    admin.open(f"apps/{app}/drafts")
    expect(page.get_by_role("heading", name="Nothing saved yet")).to_be_visible()
    admin.check()
    page.get_by_role("link", name="Compose").last.click()
    page.get_by_label("Title", exact=True).fill("Half a thought")
    page.get_by_text("Save for later").click()
    page.get_by_label("Name of the draft or template").fill("thought")
    page.get_by_role("button", name="Save as draft").click()
    expect(page.get_by_role("cell", name="thought", exact=True)).to_be_visible()
    assert fixture.peal.get(f"/apps/{app}/drafts/thought")["request"] == {"content": {"title": "Half a thought"}}
    fixture.peal.put(f"/apps/{app}/templates/weekly", {"request": {
        "audience": {"topics": ["news"]}, "content": {"title": {"en": "Week", "de": "Woche"}, "body": "b"}}})
    page.reload()
    admin.shoot("drafts")
    page.get_by_role("link", name="thought").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("Half a thought")
    page.get_by_label("Topics", exact=True).fill("news")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url(re.compile("/messages/[0-9a-f-]{36}$"))
    assert fixture.peal.get(f"/apps/{app}/drafts")["items"] == []
    admin.open(f"apps/{app}/compose?template=weekly")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Week")
    expect(page.get_by_label("Translated title").first).to_have_value("Woche")
    expect(page.get_by_text("3 devices", exact=True)).to_be_visible()


def test_the_rate_changes_while_a_message_is_sent(admin, fixture):
    app, _ = fixture.app("Pace", devices=0)
    message = fixture.send_slowly(app, devices=400)
    page = admin.page
    admin.open(f"apps/{app}/messages/{message}")
    expect(page.locator("[data-state=sending]")).to_be_visible(timeout=30_000)
    expect(page.get_by_text("left", exact=False).first).to_be_visible(timeout=30_000)
    expect(page.locator(".rate path")).to_be_visible(timeout=30_000)
    # The numbers behind the line; the table stays open while the page changes.
    page.locator("#pace summary").click()
    rows = page.locator("#pace tbody tr")
    expect(rows.nth(3)).to_be_visible(timeout=30_000)
    assert re.fullmatch(r"\d+", rows.first.locator("td").last.inner_text().strip())
    admin.shoot("message-sending")
    page.get_by_label("At most, per second").fill("0")
    page.get_by_role("button", name="Change rate").click()
    expect(page.get_by_text("the rate must be a number")).to_be_visible()
    page.get_by_label("At most, per second").fill("10000")
    page.get_by_role("button", name="Change rate").click()
    expect(page.get_by_role("status").first).to_have_text("Saved.")
    expect(page.locator("[data-state=sent]")).to_be_visible(timeout=60_000)
    expect(page.locator("[data-count=accepted]")).to_have_text("400")
    assert page.get_by_role("button", name="Change rate").count() == 0
    page.get_by_role("link", name="Duplicate").click()
    expect(page.get_by_label("Title", exact=True)).to_have_value("Slowly")
    expect(page.get_by_label("Topics", exact=True)).to_have_value("all")


def test_a_message_that_has_ended_has_no_rate_while_its_last_outcomes_arrive(admin, fixture):
    app, _ = fixture.app("Last outcomes", devices=0)
    message = fixture.send_slowly(app, devices=200)
    page = admin.page
    live = ('<section class="card progress" data-final data-settled="1" data-devices="2">'
            '<span data-state="cancelled">Cancelled</span><p class="figure">1 of 2 devices</p></section>')
    page.route("**/events", lambda route: route.fulfill(
        content_type="text/event-stream", body=f"event: progress\ndata: {live}\n\n"))
    assert "Change rate" in admin.open(f"apps/{app}/messages/{message}").text()
    expect(page.get_by_role("button", name="Change rate")).to_have_count(0)
    page.unroute_all()
    fixture.peal.post(f"/apps/{app}/messages/{message}/cancel")


def test_a_message_page_follows_what_others_do_and_how_it_ends(admin, fixture):
    app, _ = fixture.app("Followed", devices=0)
    message = fixture.send_slowly(app, devices=100)
    page = admin.page
    admin.open(f"apps/{app}/messages/{message}")
    expect(page.locator("#details")).to_contain_text("First sent")
    expect(page.locator(".remaining")).to_have_text("less than a minute left")
    # Somebody else pauses and resumes it.
    page.get_by_role("button", name="Pause").focus()
    fixture.peal.post(f"/apps/{app}/messages/{message}/pause")
    expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert page.evaluate("document.activeElement.id") == "main"
    expect(page.locator(".remaining")).to_have_count(0)
    page.get_by_role("button", name="Cancel").focus()
    fixture.peal.post(f"/apps/{app}/messages/{message}/resume")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel")).to_be_focused()
    expect(page.locator("[data-state=sent]")).to_be_visible()
    for name in ("Ended", "Average pace"):
        expect(page.locator("#details")).to_contain_text(name)
    expect(page.locator(".top").get_by_role("button")).to_have_count(0)
    expect(page.get_by_role("link", name="Duplicate")).to_be_visible()
    admin.check()


def test_a_message_that_is_cancelled_while_it_is_sent_counts_to_the_end(admin, fixture):
    app, _ = fixture.app("Cancelled", devices=0)
    message = fixture.send_slowly(app, devices=200, title="No")
    page = admin.page
    page.on("dialog", lambda dialog: dialog.accept())
    admin.open(f"apps/{app}/messages/{message}")
    expect(page.locator("[data-state=sending]")).to_be_visible()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("[data-state=cancelled]")).to_be_visible()
    # The server notes later what it did not send.
    expect(page.locator("[data-count=pending]")).to_have_text("0")
    counts = [int(page.locator(f"[data-count={name}]").inner_text()) for name in ("accepted", "suppressed")]
    assert sum(counts) == 200 and counts[1] > 0
    admin.check()


def test_a_message_explains_any_device(admin, fixture, cheese):
    app, devices = cheese
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Why"}})["id"]
    fixture.finished(app, message)
    page = admin.page
    for search, expected in [(devices[0], "by topic news"), ("user-1", "by topic news"), ("user-4", "Not matched")]:
        admin.open(f"apps/{app}/messages/{message}")
        page.get_by_label("Device, user or address").fill(search)
        page.locator("#explain").get_by_role("button", name="Show").click()
        expect(page.locator("#explain .events")).to_contain_text(expected)
    admin.shoot("explain")
    page.get_by_label("Device, user or address").fill("nobody")
    page.locator("#explain").get_by_role("button", name="Show").click()
    expect(page.locator("#explain").get_by_role("status")).to_contain_text("No device, user or address")
    admin.check()


def test_a_topic_shows_its_growth(admin, lessons):
    page = admin.page
    admin.open(f"apps/{lessons}/topics")
    page.get_by_role("link", name="courses", exact=True).click()
    expect(page.get_by_role("img", name=re.compile("subscribers"))).to_be_visible()
    page.get_by_text("Show as a table").click()
    assert page.locator("figure.chart table tbody tr").count() == 30
    expect(page.locator("figure.chart tbody time").first).to_have_text(re.compile(r"^\d{1,2} \w+ \d{4}$"))
    admin.shoot("topic")


class Receiver(ThreadingHTTPServer):
    """Answers webhooks with `status` and remembers their bodies."""

    def __init__(self):
        self.bodies, self.status = [], 500

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.server.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(self.server.status)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/hook"


def reload_until(page, row, text):
    """Reloads the page until its row has the text."""

    def has_text():
        if row.filter(has_text=text).count():
            return True
        page.reload()

    wait_until(has_text, pause=0.1)
    expect(row).to_contain_text(text)


def test_a_webhook_is_tested_and_retried(admin, fixture):
    app, _ = fixture.app("Hooks", devices=0)
    receiver = Receiver()
    try:
        fixture.peal.put(f"/apps/{app}/webhooks/main", {
            "url": receiver.url, "kind": "events", "authentication": {"type": "bearer", "token": "x" * 24}})
        page = admin.page
        admin.open(f"apps/{app}/webhooks/main")
        expect(page.get_by_text("Nothing has been delivered to this webhook yet.")).to_be_visible()
        page.get_by_role("button", name="Send test event").click()
        expect(page.get_by_role("status")).to_contain_text("The test event will be sent now.")
        row = page.get_by_role("row").filter(has_text="test")
        reload_until(page, row, "500")
        admin.shoot("webhook")
        receiver.status = 204
        row.get_by_role("button", name="Retry").click()
        reload_until(page, row, "Delivered")
        assert receiver.bodies[-1]["type"] == "test" and receiver.bodies[-1]["data"] == {"test": True}
    finally:
        receiver.shutdown()
        receiver.server_close()


def test_devices_are_exported_and_imported_again(admin, fixture):
    app, devices = fixture.app("Export", devices=5)
    page = admin.page
    admin.open(f"apps/{app}/import")
    with page.expect_download() as download:
        page.get_by_role("link", name="Download devices").click()
    expect(page.locator("#export").get_by_role("status")).to_have_text("5 of 5 devices")
    lines = open(download.value.path()).read().splitlines()
    assert sorted(json.loads(line)["id"] for line in lines) == sorted(devices)
    admin.shoot("export")
    other, _ = fixture.app("Import again", devices=0)
    admin.open(f"apps/{other}/import")
    page.get_by_label("Devices", exact=True).first.fill("\n".join(lines))
    page.get_by_role("button", name="Import").click()
    expect(page.get_by_role("status").first).to_contain_text("5 created, 0 updated, 0 refused.")
    first = fixture.peal.get(f"/apps/{app}/devices/{devices[0]}")
    again = fixture.peal.get(f"/apps/{other}/devices/{devices[0]}")
    for name in ("address", "user_id", "topics", "locale", "alias", "platform"):
        assert first[name] == again[name]


def test_a_link_signs_in_once(visit, fixture, cheese):
    app, _ = cheese
    link = fixture.peal.post("/sign-in-links", {})["path"]
    first, second = visit(), visit()
    first.page.goto(fixture.peal.url + link + f"&next=%2Fconsole%2Fapps%2F{app}%2F")
    expect(first.page.get_by_text("This link signs you in once.")).to_be_visible()
    first.check()
    first.page.get_by_role("button", name="Sign in").click()
    first.page.wait_for_url(f"**/console/apps/{app}/")
    second.page.goto(fixture.peal.url + link)
    second.page.get_by_role("button", name="Sign in").click()
    expect(second.page.get_by_text("This link was used before or is too old.")).to_be_visible()
    second.shoot("sign-in-used")


@pytest.mark.parametrize("path", ["compose", "drafts", "campaigns/daily-reminder", "topics/courses", "import"])
def test_the_new_pages_speak_german(visit, lessons, path):
    visitor = visit(locale="de-DE").sign_in()
    visitor.open(f"apps/{lessons}/{path}")
    assert visitor.page.locator("html").get_attribute("lang") == "de"
    visitor.shoot("german-" + path.replace("/", "-"))
