"""Forms of the console: what Back, a reload, a new session, a second press and a slow server do to what was typed."""

import re

import pytest
from conftest import wait_until
from playwright.sync_api import expect


def heading(page):
    return page.get_by_role("heading", level=1)


def sign_in_again(page, fixture):
    page.get_by_label("Key").fill(fixture.peal.admin_token)
    page.get_by_role("button", name="Sign in").click()


def kept(page):
    """What the window has stored of forms."""
    page.wait_for_load_state()
    return page.evaluate("JSON.stringify([history.state, {...sessionStorage}])")


def go_back(page):
    """Goes back to a form, which the page's script asks the server for again. Until it has asked, the test must not
    look at the page: Playwright looks as a user who acts, and then the browser adds an entry to the history for the
    answer instead of replacing the one that it went back to."""
    with page.expect_request_finished(lambda request: request.method == "POST"):
        page.go_back(wait_until="commit")
    page.wait_for_load_state()


def messages(fixture, app):
    return fixture.peal.get(f"/apps/{app}/messages")["items"]


def test_back_after_sending_shows_what_was_sent_and_sends_nothing(admin, fixture):
    app, _ = fixture.app("Back")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news")
    page.get_by_label("Title", exact=True).fill("Only once")
    page.get_by_role("button", name="Review").click()
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_url("**/messages/*")
    message = page.url
    go_back(page)
    expect(heading(page)).to_have_text("Review")
    expect(page.get_by_role("status").filter(has_text="already sent this message")).to_be_visible()
    expect(page.get_by_role("button", name="Send", exact=True)).to_have_count(0)
    admin.shoot("review-sent")
    page.go_forward()
    page.wait_for_url(message)
    go_back(page)
    expect(heading(page)).to_have_text("Review")
    page.get_by_role("link", name="Open the message").click()
    page.wait_for_url(message)
    assert len(messages(fixture, app)) == 1
    # The entry before the review has the text.
    go_back(page)
    expect(heading(page)).to_have_text("Review")
    go_back(page)
    expect(heading(page)).to_have_text("Compose")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Only once")


def test_a_result_that_is_loaded_again_keeps_what_was_typed(admin, fixture):
    app, _ = fixture.app("Reload")
    page = admin.page
    admin.open(f"apps/{app}/compose?topics=news")
    page.get_by_label("Title", exact=True).fill("Not lost")
    page.get_by_role("group", name="Row 1").get_by_label("Value").fill("news")
    page.get_by_role("button", name="Add a row").click()
    expect(page.get_by_role("group", name="Row 2")).to_be_visible()
    page.reload(wait_until="commit")
    page.get_by_role("group", name="Row 2").get_by_label("Value").fill("sport")
    expect(page.get_by_role("group", name="Row 1").get_by_label("Value")).to_have_value("news")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Not lost")
    page.get_by_role("button", name="Review").click()
    expect(heading(page)).to_have_text("Review")
    page.reload(wait_until="commit")
    expect(heading(page)).to_have_text("Review")
    page.get_by_role("button", name="Edit").click()
    expect(page.get_by_role("group", name="Row 2").get_by_label("Value")).to_have_value("sport")
    # The link to the same page begins a new message.
    page.get_by_role("link", name="Compose", exact=True).first.click()
    expect(page.get_by_role("group", name="Row 2")).to_have_count(0)
    expect(page.get_by_label("Title", exact=True)).to_have_value("")
    assert messages(fixture, app) == []


def refuse_a_webhook(admin, app):
    """Fills in the form of a webhook to a host that is not allowed, and sends it."""
    page = admin.page
    admin.open(f"apps/{app}/webhooks")
    page.get_by_label("Name", exact=True).fill("crm")
    page.get_by_label("URL").fill("http://elsewhere.example.com/hook")
    page.get_by_label("Secret").fill("typed-once")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_refused_form_is_loaded_again_without_its_secret(admin, fixture):
    app, _ = fixture.app("Reload refused", devices=0)
    page = admin.page
    refuse_a_webhook(admin, app)
    page.reload(wait_until="commit")
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_label("URL")).to_have_value("http://elsewhere.example.com/hook")
    expect(page.get_by_label("Secret")).to_have_value("")
    assert "crm" in kept(page) and "typed-once" not in kept(page)


@pytest.mark.parametrize("ends", ["the session ends", "a new session began"])
def test_what_was_typed_survives_another_session(admin, fixture, ends):
    app, _ = fixture.app(f"Session {ends}", devices=0)
    page = admin.page
    admin.open(f"apps/{app}/webhooks")
    page.get_by_label("Name", exact=True).fill("crm")
    page.get_by_label("URL").fill("http://127.0.0.1:9/hook")
    page.get_by_label("Authentication").select_option("bearer")
    page.get_by_label("Secret").fill("typed-once-and-long-enough")
    page.context.clear_cookies()
    if ends == "the session ends":
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("status")).to_contain_text("session has ended")
        sign_in_again(page, fixture)
    else:
        other = page.context.new_page()
        other.goto(fixture.url)
        sign_in_again(other, fixture)
        other.wait_for_url(lambda url: "sign-in" not in url)
        other.close()
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("alert")).to_contain_text("this form is no longer valid")
        admin.shoot("form-of-another-session")
    expect(page.get_by_label("Name", exact=True)).to_have_value("crm")
    expect(page.get_by_label("URL")).to_have_value("http://127.0.0.1:9/hook")
    expect(page.get_by_label("Authentication")).to_have_value("bearer")
    expect(page.get_by_label("Secret")).to_have_value("")
    assert "typed-once" not in page.content() + page.evaluate("JSON.stringify({...sessionStorage})")
    assert fixture.peal.get(f"/apps/{app}/webhooks")["items"] == []
    page.get_by_label("Secret").fill("typed-twice-and-long-enough")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("link", name="crm")).to_be_visible()


def test_reloading_keeps_one_copy_of_what_was_typed(admin, fixture):
    app, _ = fixture.app("Reloaded", devices=0)
    page = admin.page

    def key():
        return page.evaluate("history.state?.key ?? null")

    refuse_a_webhook(admin, app)
    copies = kept(page).count("elsewhere")
    for _ in range(3):
        former = key()
        page.reload(wait_until="commit")
        expect(page.get_by_label("URL")).to_have_value("http://elsewhere.example.com/hook")
        wait_until(lambda: key() not in (None, former))
        assert kept(page).count("elsewhere") == copies


def test_signing_out_forgets_what_was_typed(admin, fixture):
    app, _ = fixture.app("Forgotten", devices=0)
    page = admin.page
    refuse_a_webhook(admin, app)
    assert "elsewhere" in kept(page)
    page.get_by_role("button", name="Sign out").filter(visible=True).click()
    page.wait_for_url("**/sign-in")
    assert "elsewhere" not in kept(page)
    sign_in_again(page, fixture)
    expect(heading(page)).to_have_text("Apps")
    page.go_back()
    page.go_back(wait_until="commit")
    expect(heading(page)).to_have_text("Webhooks")
    expect(page.get_by_label("URL")).to_have_value("")
    assert "elsewhere" not in kept(page)


def test_another_person_does_not_see_what_was_typed(admin, fixture):
    app, _ = fixture.app("Another person", devices=0)
    key = fixture.key(app, "read", "manage")
    page = admin.page
    admin.open(f"apps/{app}/webhooks")
    page.get_by_label("URL").fill("http://elsewhere.example.com/hook")
    page.get_by_label("Name", exact=True).fill("crm")
    page.get_by_label("Secret").fill("typed-once-and-long-enough")
    page.context.clear_cookies()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_contain_text("session has ended")
    assert "elsewhere" in kept(page)
    page.get_by_label("Key").fill(key)
    page.get_by_role("button", name="Sign in").click()
    expect(heading(page)).to_have_text("Webhooks")
    expect(page.get_by_label("URL")).to_have_value("")
    assert "elsewhere" not in kept(page)


def test_a_button_that_is_pressed_twice_acts_once(admin, fixture):
    app, _ = fixture.app("Twice", devices=0)
    page = admin.page
    sent = []
    page.on("request", lambda request: request.method == "POST" and sent.append(request.url))
    admin.open(f"apps/{app}/keys")
    page.get_by_label("Name", exact=True).fill("newsletter")
    is_busy = page.get_by_role("button", name="Create key").evaluate(
        "button => { button.click(); const isBusy = button.form.matches('[aria-busy]'); button.click(); return isBusy; }")
    assert is_busy
    expect(page.get_by_text("Your new key")).to_be_visible()
    assert len(sent) == 1
    assert len(fixture.peal.get(f"/apps/{app}/keys")["items"]) == 1


def test_a_broken_connection_is_explained(admin, fixture):
    app, _ = fixture.app("Broken", devices=0)
    page = admin.page
    page.route("**/export/devices", lambda route: route.abort())
    admin.open(f"apps/{app}/import")
    page.get_by_role("link", name="Download devices").click()
    expect(page.locator("#export").get_by_role("status")).to_have_text("The download failed. Try it again.")
    page.route("**/import", lambda route: route.abort() if route.request.method == "POST" else route.fallback())
    page.locator("#devices").fill("\n".join(['{"platform":"toaster"}'] * 1500))
    page.locator("#import button.primary").click()
    expect(page.locator("#import-progress").get_by_role("status")).to_contain_text("The import stopped at line 1.")
    admin.complaints.clear()


def test_signing_in_on_a_page_that_was_open_for_hours_asks_for_the_key_again(visit, fixture):
    visitor = visit()
    page = visitor.page
    page.goto(fixture.url + "operations")
    page.evaluate("document.querySelector('[name=csrf]').value = 'old'")
    sign_in_again(page, fixture)
    expect(page.get_by_text("this form is no longer valid")).to_be_visible()
    visitor.check()
    sign_in_again(page, fixture)
    expect(heading(page)).to_have_text("Operations")
    assert re.search(r"/console/operations$", page.url)
