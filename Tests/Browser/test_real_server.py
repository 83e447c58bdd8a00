"""A page and its service worker with a real server: registration, topics, receipts, and the files under `/sdk/`."""

import base64
import hashlib
import hmac
import json

import pytest
from conftest import wait_until
from device_server import WEB


def proof(server, user):
    def encoded(data):
        return base64.urlsafe_b64encode(data).rstrip(b"=").decode()

    text = ".".join(encoded(json.dumps(part).encode()) for part in [{"alg": "HS256"}, {"user_id": user}])
    code = hmac.new(bytes.fromhex(server.shared_secret), text.encode(), hashlib.sha256).digest()
    return f"{text}.{encoded(code)}"


def test_a_page_registers_once(browser, real_server):
    device = browser.connect(real_server.url, real_server.key, topics=["news"])["device"]
    assert browser.connect(real_server.url, real_server.key)["device"] == device
    stored = real_server.device(device)
    assert stored["platform"] == "web" and stored["topics"] == ["news"] and stored["locale"] == "de-AT"
    assert stored["address"]["application_server_key"]


def test_a_user_needs_a_proof(browser, real_server):
    refused = browser.connect(real_server.url, real_server.key, user_id="ann", user_proof="a.b.c")
    assert (refused["error"], refused["status"], refused["field"]) == ("refused", 403, "user_proof")
    device = browser.connect(real_server.url, real_server.key, user_id="ann", user_proof=proof(real_server, "ann"))
    assert real_server.device(device["device"])["user_id"] == "ann"
    assert browser.connect(real_server.url, "peald_wrong")["error"] == "refused"


def test_topics_change(browser, real_server):
    device = browser.connect(real_server.url, real_server.key)["device"]
    browser.page.evaluate("connection.subscribe('news & more/ü')")
    assert real_server.device(device)["topics"] == ["news & more/ü"]
    browser.page.evaluate("connection.unsubscribe('news & more/ü')")
    assert real_server.device(device)["topics"] == []


def test_a_renewed_registration_keeps_the_topics_of_page_and_backend(browser, real_server):
    device = browser.connect(real_server.url, real_server.key)["device"]
    browser.page.evaluate("connection.subscribe('news')")
    path = f"/apps/{real_server.app}/devices/{device}"
    real_server.peal.put(f"{path}/topics/vip", None)
    # A registration of the same address without the token ends it.
    registration = {"platform": "web", "address": real_server.device(device)["address"]}
    authorization = {"Authorization": f"Bearer {real_server.key}"}
    real_server.peal.request("POST", "/peal/device/v1/register", registration, authorization)
    browser.page.evaluate("connection.opened('article-7')")
    assert real_server.device(device)["topics"] == ["news", "vip"]
    real_server.peal.delete(path)
    browser.page.evaluate("connection.opened('article-7')")
    device = browser.connect(real_server.url, real_server.key)["device"]
    wait_until(lambda: real_server.device(device)["topics"] == ["news"])


def test_a_visit_keeps_what_a_backend_set(browser, real_server):
    device = browser.connect(real_server.url, real_server.key)["device"]
    facts = {"attributes": {"plan": "pro"}, "identifiers": {"devtodev_id": "7"}, "user_id": "ann"}
    real_server.peal.patch(f"/apps/{real_server.app}/devices/{device}", facts)
    browser.connect(real_server.url, real_server.key)
    stored = real_server.device(device)
    assert {name: stored.get(name) for name in facts} == facts


def test_attributes_and_identifiers_survive_the_end_of_the_token(browser, real_server):
    facts = {"attributes": {"plan": "pro"}, "identifiers": {"devtodev_id": "7"}}
    device = browser.connect(real_server.url, real_server.key, **facts)["device"]
    browser.connect(real_server.url, real_server.key)
    # A registration of the same address without the token ends it.
    registration = {"platform": "web", "address": real_server.device(device)["address"]}
    authorization = {"Authorization": f"Bearer {real_server.key}"}
    real_server.peal.request("POST", "/peal/device/v1/register", registration, authorization)
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: {name: real_server.device(device).get(name) for name in facts} == facts)


def test_attributes_are_stored_or_refused(browser, real_server):
    device = browser.connect(real_server.url, real_server.key, attributes={"plan": "pro", "age": 30})["device"]
    assert real_server.device(device)["attributes"] == {"plan": "pro", "age": 30}
    refused = browser.connect(real_server.url, real_server.key, attributes={"plan": "x" * 4096})
    assert (refused["error"], refused["status"], refused["field"]) == ("refused", 400, "attributes")


def test_a_push_and_a_click_are_counted(browser, real_server):
    browser.connect(real_server.url, real_server.key)
    message = real_server.send(title="Hello", body="World")
    browser.push({"title": "Hello", "body": "World", "peal": {"message": message}})
    browser.shown()
    wait_until(lambda: real_server.receipts(message)["shown"] == 1)
    assert real_server.receipts(message)["received"] == 1
    browser.act("notificationclick")
    wait_until(lambda: real_server.receipts(message)["opened"] == 1)


def test_disconnecting_deletes_the_device(browser, real_server):
    device = browser.connect(real_server.url, real_server.key)["device"]
    browser.page.evaluate("connection.disconnect()")
    with pytest.raises(AssertionError, match="404"):
        real_server.device(device)


@pytest.mark.parametrize("name", ["peal.js", "peal-1.0.0.js"])
def test_a_page_of_any_origin_loads_the_module_with_its_integrity(browser, real_server, name):
    digest = base64.b64encode(hashlib.sha384((WEB / "peal.js").read_bytes()).digest()).decode()
    load = """([src, integrity]) => new Promise((resolve) => {
      const script = Object.assign(document.createElement("script"), {type: "module", src, integrity});
      script.crossOrigin = "anonymous";
      script.onload = () => resolve("loaded");
      script.onerror = () => resolve("refused");
      document.head.append(script);
    })"""
    url = f"{real_server.url}/sdk/{name}"
    assert browser.page.evaluate(load, [url, f"sha384-{digest}"]) == "loaded"
    assert browser.page.evaluate("async (url) => (await import(url)).version", url) == "1.0.0"
