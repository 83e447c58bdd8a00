"""Runs the SDK's page and service worker in Debian's Chromium, against a real `peal serve` and, where a test needs a
server that fails or looks into what was sent, against a stub of the device API."""

import json
import os
import pathlib
import shutil
import sys
import uuid

import pytest
from console_server import ConsoleFixture
from console_visitor import Visitor
from device_server import ROOT, DeviceAPI, site
from playwright.sync_api import expect, sync_playwright

sys.path.append(str(ROOT / "Tests" / "Clients"))
from peal_server import PROGRAM, Peal  # noqa: E402
from waiting import wait_until  # noqa: E402, F401: for the tests

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
# A busy machine may need long for what is usually there at once.
expect.set_options(timeout=60_000)

# Headless Chromium has no push service, so the page gets a subscription that only looks like one. Pushes arrive through
# the DevTools protocol, which hands them to the worker as the push service would.
SUBSCRIPTION = """
(() => {
  let current = null;
  PushManager.prototype.getSubscription = async () => current;
  PushManager.prototype.subscribe = async (options) => (current = {
    options: {applicationServerKey: options.applicationServerKey.buffer},
    toJSON: () => ({endpoint: ENDPOINT, expirationTime: null, keys: {p256dh: P256DH, auth: AUTH}}),
    unsubscribe: async () => { current = null; return true; },
  });
})();
"""
P256DH = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
AUTH = "BTBZMqHH6r4Tts7J_aSIgg"


# A browser for each file: one that has shown many pages may drop notifications.
@pytest.fixture(scope="module")
def chromium():
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="session")
def pages():
    server = site()
    yield server
    server.stop()


@pytest.fixture
def api():
    stub = DeviceAPI()
    yield stub
    stub.stop()


@pytest.fixture(scope="session")
def fixture(tmp_path_factory):
    fixture = ConsoleFixture(tmp_path_factory.mktemp("console"), {
        "PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": "127.0.0.1:9", "PEAL_WEBHOOKS_ALLOWED_HOSTS": "127.0.0.1"})
    yield fixture
    fixture.stop()


@pytest.fixture(scope="session")
def cheese(fixture):
    return fixture.app()


@pytest.fixture
def visit(chromium, fixture):
    visitors = []

    def begin(**options):
        visitors.append(Visitor(chromium, fixture, **options))
        return visitors[-1]

    yield begin
    for visitor in visitors:
        visitor.close()


@pytest.fixture
def admin(visit):
    return visit().sign_in()


class RealServer:
    """A running `peal serve` with an app that browsers may register in."""

    def __init__(self, directory):
        # The subscriptions of these tests lead nowhere: nothing listens on port 9.
        self.peal = Peal(directory, {"PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": "127.0.0.1:9"})
        self.url = self.peal.url
        self.app = self.peal.app("Browser")
        self.peal.put(f"/apps/{self.app}/credentials/webpush", {"subject": "mailto:push@example.com"})
        key = self.peal.post(f"/apps/{self.app}/keys", {"dialect": "device"})
        self.key, self.shared_secret = key["token"], key["shared_secret"]

    def device(self, device):
        return self.peal.get(f"/apps/{self.app}/devices/{device}")

    def send(self, **content):
        """Sends a message to every browser. Gives its id."""
        body = {"audience": {"all": True}, "content": content}
        return self.peal.post(f"/apps/{self.app}/messages", body)["id"]

    def receipts(self, message):
        return self.peal.get(f"/apps/{self.app}/messages/{message}")["receipts"]


@pytest.fixture(scope="session")
def real_server(tmp_path_factory):
    if not pathlib.Path(PROGRAM).exists():
        pytest.skip("peal is not built")
    server = RealServer(tmp_path_factory.mktemp("peal"))
    yield server
    server.peal.stop()


# Makes the worker count what it has shown, and returns how much that is.
COUNT_SHOWN = """() => {
  if (self.shownCount === undefined) {
    self.shownCount = 0;
    const { registration } = self, show = registration.showNotification;
    registration.showNotification = (...all) => show.apply(registration, all).finally(() => { self.shownCount += 1; });
  }
  return self.shownCount;
}"""


class Browser:
    """One browser profile with the site's page open."""

    def __init__(self, context, origin):
        self.context, self.origin = context, origin
        self.page = context.new_page()
        self.page.goto(origin)
        self.page.wait_for_function("window.peal !== undefined")

    def connect(self, server, key, **options):
        options = {"server": server, "key": key, "worker": "/peal-worker.js", **options}
        return self.page.evaluate(
            """async (options) => {
              try {
                window.connection = await peal.connect(options);
                return {device: connection.device};
              } catch (error) {
                return {error: error.code, status: error.status, field: error.field, message: error.message};
              }
            }""",
            options,
        )

    @property
    def worker(self):
        wait_until(lambda: self.context.service_workers)
        return self.context.service_workers[-1]

    def push(self, data):
        """Delivers a push to the worker, as the browser's push service does."""
        session = self.context.new_cdp_session(self.page)
        found = []
        session.on("ServiceWorker.workerRegistrationUpdated", lambda event: found.extend(event["registrations"]))
        session.send("ServiceWorker.enable")
        wait_until(lambda: self.page.evaluate("1") and found)
        registration = next(r for r in reversed(found) if not r["isDeleted"])
        text = data if isinstance(data, str) else json.dumps(data)
        self.shown_before = self.worker.evaluate(COUNT_SHOWN)
        session.send(
            "ServiceWorker.deliverPushMessage",
            {"origin": self.origin, "registrationId": registration["registrationId"], "data": text},
        )
        session.detach()

    def shown(self):
        """Waits until the last push has shown something, and returns what is on the screen."""
        def has_shown():
            count = self.worker.evaluate("() => self.shownCount ?? null")
            # None: the worker has started again.
            return count is None or count > self.shown_before

        wait_until(has_shown)
        return wait_until(self.notifications)

    def notifications(self):
        """What is on the screen. Chromium forgets a notification if this is called while it is being shown: it takes
        one that is stored but not yet displayed for one that was closed."""
        return self.page.evaluate(
            """async () => (await (await navigator.serviceWorker.ready).getNotifications()).map(
              ({title, body, tag, data, silent, icon}) => ({title, body, tag, data, silent, icon}))"""
        )

    def act(self, kind, action=""):
        """Clicks or closes the first notification."""
        self.worker.evaluate(
            """async ([kind, action]) => {
              const [notification] = await registration.getNotifications();
              const event = new NotificationEvent(kind, {notification, action});
              if (kind === "notificationclose") notification.close();
              self.dispatchEvent(event);
            }""",
            [kind, action],
        )


def open_browser(chromium, origin, **options):
    """A new profile that allows notifications, on the page of a site."""
    context = chromium.new_context(locale="de-AT", timezone_id="Europe/Vienna", **options)
    context.grant_permissions(["notifications"], origin=origin)
    endpoint = f"http://127.0.0.1:9/push/{uuid.uuid4()}"
    script = SUBSCRIPTION
    for name, value in {"ENDPOINT": endpoint, "P256DH": P256DH, "AUTH": AUTH}.items():
        script = script.replace(name, json.dumps(value))
    context.add_init_script(script)
    return Browser(context, origin)


@pytest.fixture
def browser(chromium, pages):
    browser = open_browser(chromium, pages.url)
    yield browser
    browser.context.close()
