"""The console with the keyboard alone: what Tab reaches, in which order, and that the focus can be seen and is not lost."""

import pytest
from playwright.sync_api import expect

TABS_MAX = 250
# The focused element: what it is called, where it is, and whether one sees that it has the focus.
FOCUSED = """() => {
  const element = document.activeElement;
  if (!element || element === document.body) return null;
  const box = element.getBoundingClientRect();
  const style = getComputedStyle(element);
  const ring = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 1 && style.outlineColor;
  const text = element.getAttribute("aria-label") || element.labels?.[0]?.textContent || element.textContent;
  return {
    name: (text || element.name || "").trim().slice(0, 60), tag: element.tagName, id: element.id,
    left: box.left, top: box.top + scrollY, bottom: box.bottom + scrollY,
    isVisible: element.checkVisibility() && box.width > 1 && box.height > 1,
    ring, ground: getComputedStyle(document.body).backgroundColor,
    part: element.closest("header.side") ? "navigation" : element.closest("#check") ? "preview" : "main",
  };
}"""
# Clicks have moved the place from which Tab goes on.
TO_THE_TOP = """() => {
  const first = document.createElement("i");
  first.tabIndex = -1;
  document.body.prepend(first);
  first.focus();
}"""
PAGES = [
    "sign-in", "", "operations", "new-app", "apps/{app}/", "apps/{app}/compose?topics=news&title=Hello",
    "apps/{app}/drafts", "apps/{app}/messages", "apps/{app}/messages/{message}", "apps/{app}/calendar",
    "apps/{app}/campaigns", "apps/{app}/campaigns/plain", "apps/{app}/devices", "apps/{app}/devices/{device}",
    "apps/{app}/users/user-0", "apps/{app}/topics", "apps/{app}/topics/news", "apps/{app}/segments",
    "apps/{app}/import", "apps/{app}/credentials", "apps/{app}/keys", "apps/{app}/webhooks",
    "apps/{app}/webhooks/main", "apps/{app}/audit",
]


def luminance(color):
    """The relative luminance of `rgb(r, g, b)` (WCAG 2.2)."""
    parts = [int(part) / 255 for part in color[color.index("(") + 1 : -1].split(",")[:3]]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other):
    light, dark = sorted([luminance(one), luminance(other)], reverse=True)
    return (light + 0.05) / (dark + 0.05)


def walk(page):
    """Presses Tab until the focus has left the page. Returns the stops."""
    stops = []
    for _ in range(TABS_MAX):
        page.keyboard.press("Tab")
        stop = page.evaluate(FOCUSED)
        # Without its own controls, the browser goes on at the beginning.
        if stop is None or stops and stop["name"] == stops[0]["name"] == "Skip to content":
            return stops
        stops.append(stop)
    raise AssertionError(f"the focus never leaves the page; the last stops: {[stop['name'] for stop in stops[-6:]]}")


def check(stops, path):
    for stop in stops:
        where = f"{path}: {stop['tag']} {stop['name']}"
        assert stop["isVisible"], f"{where} is not visible"
        assert stop["ring"], f"{where} shows no focus"
        assert contrast(stop["ring"], stop["ground"]) >= 3, f"{where} shows its focus in {stop['ring']}"
    for part in ("navigation", "main", "preview"):
        tops = [stop for stop in stops if stop["part"] == part and stop["name"] != "Skip to content"]
        for one, other in zip(tops, tops[1:]):
            # From top to bottom, or to the right in the same row, or on to the next column.
            is_later = other["bottom"] > one["top"] - 4 or other["left"] > one["left"]
            assert is_later, f"{path}: {other['name']} follows {one['name']}, which is below it"


@pytest.fixture(scope="module")
def furnished(fixture):
    app, devices = fixture.app("Keyboard", devices=6)
    fixture.peal.put(f"/apps/{app}/segments/readers", {"where": {"topic": "news"}})
    fixture.peal.put(f"/apps/{app}/templates/weekly", {"request": {"content": {"title": "Week"}}})
    fixture.peal.put(f"/apps/{app}/webhooks/main", {
        "url": "http://127.0.0.1:9/", "kind": "events", "authentication": {"type": "bearer", "token": "x" * 24}})
    message = fixture.peal.post(f"/apps/{app}/messages", {
        "audience": {"topics": ["news"]}, "content": {"title": "Plain"}, "campaign_id": "plain"})["id"]
    fixture.finished(app, message)
    return {"app": app, "device": devices[0], "message": message}


@pytest.mark.parametrize("options", [
    {"viewport": {"width": 1280, "height": 800}},
    {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}], ids=["wide", "phone-dark"])
def test_tab_reaches_everything_in_order_and_the_focus_is_visible(visit, fixture, furnished, options):
    visitor = visit(**options)
    page = visitor.page
    for path in PAGES:
        path = path.format(**furnished)
        page.goto(fixture.url + path)
        if path == "sign-in":
            # The field has the focus; Tab goes on from it.
            assert page.evaluate(FOCUSED)["name"] == "Key"
            check(walk(page), path)
            visitor.sign_in()
            continue
        for summary in page.locator("main summary").all():
            if summary.is_visible():
                summary.click()
        page.evaluate(TO_THE_TOP)
        stops = walk(page)
        assert stops[0]["name"] == "Skip to content", path
        check(stops, path)
        reachable = page.locator("main :is(a[href], button, input:not([type=hidden]), select, textarea, summary)")
        expected = reachable.evaluate_all(
            "(all) => all.filter((e) => e.checkVisibility() && !e.disabled && e.tabIndex >= 0).length")
        # The parts of a date are stops of their own.
        assert len([stop for stop in stops if stop["part"] != "navigation"]) > expected, path


def test_the_skip_link_leads_to_the_content(admin):
    page = admin.page
    admin.open("operations")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main') !== null")


def test_the_menu_of_a_phone_opens_and_closes_by_key(visit, furnished):
    visitor = visit(viewport={"width": 390, "height": 844}).sign_in()
    page = visitor.page
    visitor.open(f"apps/{furnished['app']}/messages")
    menu = page.locator("details.menu")
    menu.locator("summary").focus()
    page.keyboard.press("Enter")
    expect(menu.get_by_role("link", name="Devices")).to_be_visible()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('details.menu') !== null")
    menu.locator("summary").focus()
    page.keyboard.press("Space")
    expect(menu.get_by_role("link", name="Devices")).to_be_hidden()


def test_a_declined_dialog_changes_nothing_and_returns_the_focus(admin, fixture, furnished):
    page = admin.page
    admin.open(f"apps/{furnished['app']}/segments")
    button = page.get_by_role("button", name="Delete")
    questions = []
    page.on("dialog", lambda dialog: (questions.append(dialog.message), dialog.dismiss()))
    button.focus()
    page.keyboard.press("Enter")
    assert len(questions) == 1
    expect(button).to_be_focused()
    assert len(fixture.peal.get(f"/apps/{furnished['app']}/segments")["items"]) == 1


def test_a_key_is_copied_and_the_button_keeps_the_focus(admin, fixture):
    app, _ = fixture.app("Copied", devices=0)
    page = admin.page
    page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=fixture.peal.url)
    admin.open(f"apps/{app}/keys")
    page.get_by_label("Name", exact=True).fill("newsletter")
    page.get_by_role("button", name="Create key").click()
    button = page.get_by_role("button", name="Copy")
    button.focus()
    for _ in range(2):
        page.keyboard.press("Enter")
        expect(button).to_have_text("Copy ✓")
        expect(button).to_be_focused()
    assert page.evaluate("navigator.clipboard.readText()") == page.locator("#secret").inner_text()


def test_a_refused_form_puts_the_focus_on_the_invalid_field(admin, furnished):
    page = admin.page
    admin.open(f"apps/{furnished['app']}/compose?topics=news&title=Hello")
    page.get_by_text("Subtitle, image, data, badge, sound, group").click()
    page.get_by_label("Data (JSON)").fill("{")
    page.get_by_role("button", name="Review").click()
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Data (JSON)")).to_be_focused()
    admin.check()


def test_the_focus_stays_while_a_message_changes_below_it(admin, fixture):
    app, _ = fixture.app("Focus", devices=0)
    message = fixture.send_slowly(app, devices=40)
    page = admin.page
    admin.open(f"apps/{app}/messages/{message}")
    expect(page.locator("[data-state=sending]")).to_be_visible(timeout=30_000)
    platforms = page.get_by_role("region", name="Platforms")
    platforms.focus()
    before = page.locator("[data-count=accepted]").inner_text()
    expect(page.locator("[data-count=accepted]")).not_to_have_text(before, timeout=30_000)
    expect(platforms).to_be_focused()
    # Screen readers hear that it is over, and what has the focus is removed.
    page.get_by_role("button", name="Pause").focus()
    expect(page.locator("[data-state=sent]")).to_be_visible(timeout=60_000)
    expect(page.locator("#said")).to_contain_text("Sent: 40 of 40 devices")
    assert page.evaluate("document.activeElement.id") == "main"
    admin.check()
