"""A browser window on the console that checks every page."""

import re

from axe_playwright_python.sync_playwright import Axe
from console_server import ROOT
from playwright.sync_api import expect

WIDTHS = {"phone": 390, "tablet": 820, "wide": 1440}
SHOTS = ROOT / ".build" / "screenshots"
AXE = Axe()
RULES = {"runOnly": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}


class Visitor:
    """A browser window that fails the test when a page complains."""

    def __init__(self, chromium, fixture, **options):
        self.fixture = fixture
        self.context = chromium.new_context(
            **{"reduced_motion": "reduce", "locale": "en-GB", "timezone_id": "Europe/Berlin", **options})
        self.page = self.context.new_page()
        self.complaints = []
        # The status of a refused form is what the page is about.
        self.page.on("console", lambda message: message.type in ("error", "warning") and not re.search(
            "the server responded with a status of 4", message.text) and self.complaints.append(message.text))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("request", lambda request: request.url.startswith(fixture.peal.url) or self.complaints.append(
            f"a request to {request.url}"))

    def sign_in(self, key=None):
        self.page.goto(self.fixture.url)
        # By its fields, because the page may be in another language.
        self.page.locator("[name=key]").fill(key or self.fixture.peal.admin_token)
        self.page.locator(".card button").click()
        self.page.wait_for_url(lambda url: "sign-in" not in url)
        return self

    def open(self, path):
        answer = self.page.goto(self.fixture.url + path)
        assert len(answer.body()) < 100_000
        # What takes long arrives when the page has loaded itself again.
        expect(self.page.locator("[data-pending]")).to_have_count(0, timeout=60_000)
        return answer

    def check(self):
        """The rules for every page."""
        assert self.page.locator("h1").count() == 1 and self.page.locator("main").count() == 1
        found = AXE.run(self.page, options=RULES).response["violations"]
        assert [(v["id"], [n["html"] for n in v["nodes"]]) for v in found] == []
        overflow = self.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert overflow <= 0, "the page is wider than the window"
        assert self.complaints == []

    def shoot(self, name):
        """Screenshots in three widths and both themes, each checked."""
        SHOTS.mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            self.page.emulate_media(color_scheme=theme)
            for window, width in WIDTHS.items():
                self.page.set_viewport_size({"width": width, "height": 900})
                self.page.screenshot(path=SHOTS / f"{name}-{window}-{theme}.png", full_page=True)
                self.check()
        self.page.emulate_media(color_scheme="light")
        self.page.set_viewport_size({"width": 1280, "height": 800})

    def close(self):
        self.context.close()
        assert self.complaints == []
