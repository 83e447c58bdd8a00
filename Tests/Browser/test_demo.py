"""What `make demo` leaves in the console: an app with a past, and a link that signs in once."""

import re
import sys

from console_server import ROOT
from playwright.sync_api import expect

sys.path.append(str(ROOT / "Scripts"))
from demo_api import Native  # noqa: E402
from demo_console import UNINSTALLED, Courses, Receiver, Visit  # noqa: E402


def test_the_demo_leaves_something_on_every_page(visit, fixture):
    native = Native(fixture.peal.url, fixture.peal.admin_token)
    courses = Courses(native, fixture.simulator, fixture.peal.directory / "peal.db")
    receiver = Receiver()
    try:
        courses.furnish(receiver.url)
        count, _, _ = Visit(native.server_url, native.post("/sign-in-links", {})["path"]).everywhere()
        assert count > 40
        visitor = visit()
        page = visitor.page
        page.goto(native.server_url + native.post("/sign-in-links", {})["path"])
        page.get_by_role("button", name="Sign in").click()
        own = f"apps/{courses.app}/"
        visitor.open(own)
        expect(page.get_by_role("img", name=re.compile("Sent per hour"))).to_be_visible()
        expect(page.locator("#reasons tbody tr")).to_contain_text(["UNREGISTERED"])
        visitor.shoot("demo-overview")
        visitor.open(own + "messages?text=half+price")
        page.get_by_role("link", name="Half price until Sunday").click()
        expect(page.locator("[data-count=retired]")).to_have_text(str(UNINSTALLED))
        visitor.open(own + "campaigns/daily-reminder")
        expect(page.locator("[data-verdict]")).to_be_visible()
        visitor.open(own + "webhooks/crm")
        expect(page.get_by_role("row").filter(has_text="Delivered").first).to_be_visible()
        for path, text in {"drafts": "weekly", "segments": "german", "keys": "newsletter"}.items():
            visitor.open(own + path)
            expect(page.get_by_role("row").filter(has_text=text).first).to_be_visible()
        visitor.check()
    finally:
        receiver.shutdown()
        receiver.server_close()
