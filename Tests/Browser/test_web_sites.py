"""`peal.js` on sites with a strict policy, and in browsers that refuse what it needs."""

import pytest
from conftest import open_browser, wait_until
from device_server import site

STRICT = "default-src 'none'; script-src 'self' 'nonce-page'; worker-src 'self'; connect-src {}"
TRUSTED = f"{STRICT}; require-trusted-types-for 'script'"


@pytest.fixture
def open_site(chromium, api):
    """Opens the page of a site with this policy, in which {} stands for the server of the device API."""
    opened = []

    def begin(policy=None, **options):
        server = site(policy and policy.format(api.url))
        browser = open_browser(chromium, server.url, **options)
        opened.append((browser, server))
        return browser

    yield begin
    for browser, server in opened:
        browser.context.close()
        server.stop()


def test_a_strict_policy_needs_the_server_alone(open_site, api):
    browser = open_site(STRICT)
    browser.connect(api.url, api.key)
    browser.page.evaluate("connection.opened('article-7')")
    assert [event["type"] for event in api.events.values()] == ["content_opened"]


@pytest.mark.parametrize("directive,code", [("connect-src {}", "unreachable"), ("worker-src 'self'", "unsupported")])
def test_a_policy_without_server_or_worker_is_reported(open_site, api, directive, code):
    browser = open_site(STRICT.replace(directive, f"{directive.split()[0]} 'none'"))
    assert browser.connect(api.url, api.key)["error"] == code


def test_a_site_with_trusted_types_registers_the_worker_itself(open_site, api):
    browser = open_site(TRUSTED)
    refused = browser.connect(api.url, api.key)
    assert refused["error"] == "unsupported" and "TrustedScriptURL" in refused["message"]
    device = browser.page.evaluate(
        """async (given) => {
          const policy = trustedTypes.createPolicy("site", {createScriptURL: (url) => url});
          const url = policy.createScriptURL("/peal-worker.js");
          const worker = await navigator.serviceWorker.register(url, {type: "module"});
          return (await peal.connect({...given, worker})).device;
        }""", {"server": api.url, "key": api.key})
    assert list(api.devices) == [device]


@pytest.mark.parametrize("name", ["nothing.js", "broken.js"])
def test_a_worker_that_does_not_start_is_reported(open_site, api, name):
    answer = open_site().connect(api.url, api.key, worker=f"/{name}")
    assert answer["error"] == "unsupported" and "cannot be registered" in answer["message"]


def test_a_browser_that_blocks_workers_is_unsupported(open_site, api):
    browser = open_site(service_workers="block")
    assert browser.connect(api.url, api.key)["error"] == "unsupported"


def test_a_first_visit_without_a_network_is_unreachable(open_site, api):
    browser = open_site()
    browser.context.set_offline(True)
    assert browser.connect(api.url, api.key)["error"] == "unreachable"
    browser.context.set_offline(False)
    assert browser.connect(api.url, api.key).get("device")


def test_a_later_visit_without_a_network_is_unreachable_and_keeps_the_device(open_site, api):
    browser = open_site()
    device = browser.connect(api.url, api.key)["device"]
    browser.context.set_offline(True)
    assert browser.connect(api.url, api.key)["error"] == "unreachable"
    browser.page.evaluate("connection.opened('article-7')")
    assert api.events == {}
    browser.context.set_offline(False)
    browser.page.evaluate("connection.opened('article-8')")
    wait_until(lambda: [event["content"] for event in api.events.values()] == ["article-7", "article-8"])
    assert list(api.devices) == [device]


@pytest.mark.parametrize("missing", ["navigator.serviceWorker", "PushManager", "Notification", "AbortSignal.timeout"])
def test_a_browser_that_lacks_an_interface_is_unsupported(open_site, api, missing):
    browser = open_site()
    browser.page.evaluate(
        """(missing) => {
          const path = missing.split("."), name = path.pop();
          const owner = path.reduce((one, name) => one[name], globalThis);
          delete (name in Object.getPrototypeOf(owner) ? Object.getPrototypeOf(owner) : owner)[name];
          delete owner[name];
        }""", missing)
    assert not browser.page.evaluate("peal.isSupported()")
    assert browser.connect(api.url, api.key)["error"] == "unsupported"


def test_a_person_who_has_blocked_notifications_is_not_asked(open_site, api):
    browser = open_site()
    browser.context.clear_permissions()
    assert browser.connect(api.url, api.key)["error"] == "denied"
    assert api.requests == []
