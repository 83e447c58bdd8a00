"""`peal.js` and `peal-worker.js` in a browser."""

import datetime
import uuid

import pytest
from conftest import wait_until


@pytest.fixture
def message():
    return str(uuid.uuid4())


def shown(browser):
    return wait_until(browser.notifications)


def test_a_registration_has_what_the_contract_says(browser, api):
    device = browser.connect(api.url, api.key, user_id="ann", user_proof="a.b.c", topics=["news"])["device"]
    given = api.registrations[0]
    assert given["platform"] == "web" and given["user_id"] == "ann" and given["user_proof"] == "a.b.c"
    assert given["locale"] == "de-AT" and given["time_zone"] == "Europe/Vienna"
    assert set(given["address"]) == {"endpoint", "keys", "application_server_key"}
    assert "device_token" not in given
    assert api.topics(device) == ["news"]
    browser.connect(api.url, api.key)
    assert api.registrations[1]["device_token"].startswith("pdt_")


def test_topics_change(browser, api):
    device = browser.connect(api.url, api.key)["device"]
    browser.page.evaluate("connection.subscribe('news & more/ü')")
    assert api.topics(device) == ["news & more/ü"]
    browser.page.evaluate("connection.unsubscribe('news & more/ü')")
    assert api.topics(device) == []


def test_a_push_is_shown_and_reported(browser, api, message):
    device = browser.connect(api.url, api.key)["device"]
    browser.push({"title": "Hello", "body": "World", "data": {"offer": 15}, "peal": {"message": message}})
    notification = shown(browser)[0]
    assert (notification["title"], notification["body"], notification["tag"]) == ("Hello", "World", message)
    wait_until(lambda: api.receipts(message) == ["received", "shown"])
    event = api.event(message, "shown")
    assert event["device"] == device
    at = datetime.datetime.fromisoformat(event["at"]).timestamp()
    ahead = at - datetime.datetime.now().timestamp()
    assert 3500 < ahead < 3700, "reports are in the server's time"


def test_a_click_is_reported_with_its_button_and_opens_the_page(browser, api, message):
    browser.connect(api.url, api.key)
    browser.push({
        "title": "Hello", "url": "/offer", "peal": {"message": message},
        "actions": [{"action": "like", "title": "Like", "url": "/liked"}],
    })
    shown(browser)
    browser.act("notificationclick", "like")
    wait_until(lambda: "opened" in api.receipts(message))
    assert api.event(message, "opened")["button"] == "like"
    wait_until(lambda: browser.page.evaluate("window.messages?.length"))
    assert browser.page.evaluate("messages[0]")["message"] == message
    assert browser.notifications() == []


def test_a_dismissal_is_reported(browser, api, message):
    browser.connect(api.url, api.key)
    browser.push({"body": "Hello", "peal": {"message": message}})
    shown(browser)
    browser.act("notificationclose")
    wait_until(lambda: "dismissed" in api.receipts(message))


def test_a_repeated_push_makes_no_second_sound(browser, api, message):
    browser.connect(api.url, api.key)
    push = {"title": "Hello", "peal": {"message": message}}
    browser.push(push)
    wait_until(lambda: "shown" in api.receipts(message))
    assert not browser.notifications()[0]["silent"]
    browser.push(push)
    wait_until(lambda: "suppressed" in api.receipts(message))
    assert api.event(message, "suppressed")["reason"] == "duplicate"
    notifications = browser.notifications()
    assert len(notifications) == 1 and notifications[0]["silent"]


def test_receipts_wait_for_a_server_that_is_down(browser, api, message):
    browser.connect(api.url, api.key)
    api.is_down = True
    browser.push({"title": "Hello", "peal": {"message": message}})
    shown(browser)
    assert api.receipts(message) == []
    api.is_down = False
    other = str(uuid.uuid4())
    browser.push({"title": "Again", "peal": {"message": other}})
    wait_until(lambda: sorted(api.receipts(message)) == ["received", "shown"])
    wait_until(lambda: len(api.receipts(other)) == 2)


def test_an_ended_token_is_replaced(browser, api, message):
    device = browser.connect(api.url, api.key)["device"]
    api.end_tokens()
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: len(api.receipts(message)) == 2)
    assert len(api.registrations) == 2 and api.event(message, "shown")["device"] == device


@pytest.mark.parametrize("data,body", [("just text", "just text"), ("[1]", "1"), ('{"title":"T","body":5}', "5")])
def test_any_payload_is_shown(browser, api, data, body):
    browser.connect(api.url, api.key)
    browser.push(data)
    assert shown(browser)[0]["body"] == body


@pytest.mark.parametrize("member", ["_k", "receiptId", "task_id"])
def test_pushes_of_every_api_are_recognized(browser, api, message, member):
    browser.connect(api.url, api.key)
    browser.push({"title": "Hello", member: message.upper()})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])


@pytest.mark.parametrize("odd", [{"actions": "x"}, {"actions": [5]}, {"image": {}, "icon": 7}, {"data": {"url": "http://"}}])
def test_a_push_with_odd_members_is_shown(browser, api, message, odd):
    browser.connect(api.url, api.key)
    browser.push({"title": "Hello", "body": "World", "peal": {"message": message}, **odd})
    assert shown(browser)[0]["body"] == "World"
    wait_until(lambda: api.receipts(message) == ["received", "shown"])
    browser.act("notificationclick")
    wait_until(lambda: "opened" in api.receipts(message))


def test_a_push_after_the_permission_ended_is_not_reported_as_shown(browser, api, message):
    browser.connect(api.url, api.key)
    browser.worker.evaluate(
        "() => { ServiceWorkerRegistration.prototype.showNotification = () => Promise.reject(TypeError()); }")
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received", "suppressed"])
    assert api.event(message, "suppressed")["reason"] == "no_permission"


def test_an_event_that_is_refused_costs_no_other(browser, api, message):
    browser.connect(api.url, api.key)
    api.is_down = True
    for content in ["bad", "good"]:
        browser.page.evaluate("([content, message]) => connection.opened(content, message)", [content, message])
    api.is_down, api.refused = False, "bad"
    browser.page.evaluate("(message) => connection.opened('better', message)", message)
    wait_until(lambda: api.receipts(message) == ["content_opened"] * 2)


def test_a_new_subscription_reaches_a_server_that_was_down(browser, api, message):
    browser.connect(api.url, api.key)
    endpoint = "http://127.0.0.1:9/push/new"
    api.is_down = True
    browser.worker.evaluate(
        """(endpoint) => {
          PushManager.prototype.getSubscription = async () => null;
          PushManager.prototype.subscribe = async () => (
            {toJSON: () => ({endpoint, keys: {p256dh: "p", auth: "a"}})});
          self.dispatchEvent(new ExtendableEvent("pushsubscriptionchange"));
        }""", endpoint)
    browser.push({"title": "Hello", "peal": {"message": message}})
    shown(browser)
    assert len(api.registrations) == 1
    api.is_down = False
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: len(api.registrations) == 2)
    assert api.registrations[1]["address"]["endpoint"] == endpoint
    assert api.registrations[1]["device_token"].startswith("pdt_")
    browser.page.evaluate("connection.opened('article-8')")
    assert len(api.registrations) == 2, "once is enough"


def test_an_expired_proof_costs_the_user_and_not_the_device(browser, api, message):
    browser.connect(api.url, api.key, user_id="ann", user_proof="a.b.c")
    api.end_tokens()
    api.expired_user = "ann"
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])
    assert "user_id" not in api.registrations[-1]


def test_content_opens_are_reported(browser, api, message):
    browser.connect(api.url, api.key)
    browser.page.evaluate("(message) => connection.opened('article-7', message)", message)
    assert api.event(message, "content_opened")["content"] == "article-7"


def test_disconnecting_deletes_the_device(browser, api):
    browser.connect(api.url, api.key)
    browser.page.evaluate("connection.disconnect()")
    assert api.devices == {}
    assert browser.page.evaluate("navigator.serviceWorker.ready.then(r => r.pushManager.getSubscription())") is None


def test_a_worker_of_the_site_may_import_it(browser, api, message):
    browser.connect(api.url, api.key, worker="/worker.js")
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])


def test_refusals_name_what_is_wrong(browser, api):
    assert browser.connect(api.url, "wrong")["error"] == "refused"
    refused = browser.connect(api.url, api.key, user_id="mallory", user_proof="x")
    assert (refused["error"], refused["status"], refused["field"]) == ("refused", 403, "user_proof")
    assert browser.connect("http://127.0.0.1:9", api.key)["error"] == "unreachable"


def test_a_person_may_say_no(chromium, pages, api):
    context = chromium.new_context()
    try:
        page = context.new_page()
        page.goto(pages.url)
        page.wait_for_function("window.peal !== undefined")
        page.evaluate("Notification.requestPermission = async () => 'denied'")
        code = page.evaluate(
            "([server, key]) => peal.connect({server, key, worker: '/worker.js'}).catch((error) => error.code)",
            [api.url, api.key])
        assert code == "denied" and api.registrations == []
    finally:
        context.close()


def test_the_token_never_reaches_the_page(browser, api):
    browser.connect(api.url, api.key)
    assert "pdt_" not in browser.page.evaluate("JSON.stringify([connection, {...localStorage}, {...sessionStorage}])")
