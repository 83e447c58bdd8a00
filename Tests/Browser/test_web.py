"""`peal.js` and `peal-worker.js` in a browser."""

import datetime
import email.utils
import time
import uuid

import pytest
from conftest import AUTH, P256DH, Browser, wait_until
from device_server import NEXT_VAPID_KEY, VAPID_KEY


@pytest.fixture
def message():
    return str(uuid.uuid4())


def stored(browser, name):
    """What the worker keeps under this name."""
    return browser.page.evaluate(
        """(name) => new Promise((resolve, reject) => {
          const opening = indexedDB.open("peal");
          opening.onerror = reject;
          opening.onsuccess = () => {
            const reading = opening.result.transaction("values").objectStore("values").get(name);
            reading.onsuccess = () => { opening.result.close(); resolve(reading.result ?? null); };
          };
        })""", name)


def fill_queue(browser, types):
    """Puts an event of each type into the queue, the oldest first."""
    browser.page.evaluate(
        """(types) => new Promise((resolve, reject) => {
          const opening = indexedDB.open("peal");
          opening.onerror = reject;
          opening.onsuccess = () => {
            const writing = opening.result.transaction("events", "readwrite");
            types.forEach((type, queued) =>
              writing.objectStore("events").put({event_id: crypto.randomUUID(), type, queued, content: `${queued}`}));
            writing.oncomplete = () => { opening.result.close(); resolve(); };
          };
        })""", types)


def begin(browser, code, given=None):
    """Runs code of the page without waiting for its end."""
    browser.page.evaluate(
        f"(given) => {{ (window.running ??= []).push(({code}).then(() => 'done', (error) => error.code)); }}", given)


def ended(browser):
    """How everything ended that was begun."""
    return browser.page.evaluate("Promise.all(running)")


def options(api, **more):
    return {"server": api.url, "key": api.key, "worker": "/peal-worker.js", **more}


def break_storage(browser, name):
    """The browser's storage is full or damaged."""
    browser.worker.evaluate(
        """(name) => {
          IDBFactory.prototype.open = () => { throw new DOMException("The disk is full.", name); };
        }""", name)


def subscribe_elsewhere(browser, endpoint, key):
    """The browser has another subscription than the registered one, without an event."""
    browser.worker.evaluate(
        """([endpoint, p256dh, auth, key]) => {
          const bytes = Uint8Array.from(
            atob(key.replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
          PushManager.prototype.getSubscription = async () => ({
            endpoint, options: {applicationServerKey: bytes.buffer},
            toJSON: () => ({endpoint, keys: {p256dh, auth}}),
          });
        }""", [endpoint, P256DH, AUTH, key])


def replace_subscription(browser, endpoint):
    """The browser ends the subscription; the worker gets another one when it asks for it."""
    browser.worker.evaluate(
        """([endpoint, p256dh, auth]) => {
          let current = null;
          PushManager.prototype.getSubscription = async () => current;
          PushManager.prototype.subscribe = async () => (
            current = {endpoint, toJSON: () => ({endpoint, keys: {p256dh, auth}})});
          self.dispatchEvent(new ExtendableEvent("pushsubscriptionchange"));
        }""", [endpoint, P256DH, AUTH])


def test_a_registration_follows_the_contract(browser, api):
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


def renew_by_a_token(browser, api):
    """The device's token ends; the worker registers again when it reports something."""
    api.end_tokens()
    browser.page.evaluate("connection.opened('article-7')")


def renew_by_an_address(browser, api):
    """The browser replaces the subscription; the worker registers the new one."""
    replace_subscription(browser, "http://127.0.0.1:9/push/new")


RENEWALS = [renew_by_a_token, renew_by_an_address]


@pytest.mark.parametrize("given", [{}, {"topics": ["news"]}])
@pytest.mark.parametrize("renew", RENEWALS)
def test_a_renewed_registration_leaves_the_topics_to_the_server(browser, api, renew, given):
    device = browser.connect(api.url, api.key, **given)["device"]
    browser.page.evaluate("connection.subscribe('sport')")
    # A backend may have changed them.
    api.devices[device]["topics"] = {"vip"}
    renew(browser, api)
    wait_until(lambda: len(api.registrations) == 2)
    assert "topics" not in api.registrations[1] and api.topics(device) == ["vip"]


def report_something(browser, api):
    browser.page.evaluate("connection.opened('article-7')")


def connect_again(browser, api):
    browser.connect(api.url, api.key)


@pytest.mark.parametrize("given", [{}, {"topics": ["news", "chess"]}])
@pytest.mark.parametrize("renew", [report_something, connect_again])
def test_a_new_device_gets_the_topics_of_one_that_the_server_deleted(browser, api, renew, given):
    former = browser.connect(api.url, api.key, **given)["device"]
    for topic in ["news", "chess", "sport"]:
        browser.page.evaluate("(topic) => connection.subscribe(topic)", topic)
    browser.page.evaluate("connection.unsubscribe('chess')")
    del api.devices[former]
    # The worker tries again after the pause, and one that is refused costs no other.
    api.busy["topics/sport"], api.refused_topic = "1", "news"
    renew(browser, api)
    wait_until(lambda: len(api.devices) == 1 and api.count("PUT", "topics/sport") == 2)
    (device,) = api.devices
    api.devices[device]["topics"].add("vip")
    api.busy.clear()
    wait_until(lambda: api.topics(device) == ["sport", "vip"])
    wait_until(lambda: stored(browser, "device")["lacking"] == [])
    assert stored(browser, "device")["registration"]["topics"] == ["sport"]


def test_attributes_are_part_of_the_registration(browser, api):
    browser.connect(api.url, api.key, attributes={"plan": "pro", "age": 30})
    browser.connect(api.url, api.key)
    assert [one.get("attributes") for one in api.registrations] == [{"plan": "pro", "age": 30}, None]


FACTS = {"attributes": {"plan": "pro"}, "identifiers": {"devtodev_id": "7"}}


def test_a_new_address_keeps_what_a_backend_set(browser, api):
    device = browser.connect(api.url, api.key, **FACTS)["device"]
    others = {"attributes": {"age": 30}, "identifiers": {"devtodev_id": "8"}, "user_id": "ann"}
    api.devices[device]["facts"] = dict(others)
    renew_by_an_address(browser, api)
    wait_until(lambda: len(api.registrations) == 2)
    assert api.devices[device]["facts"] == others


def test_a_visit_keeps_what_a_backend_set(browser, api):
    device = browser.connect(api.url, api.key)["device"]
    others = {"attributes": {"age": 30}, "identifiers": {"devtodev_id": "8"}, "user_id": "ann"}
    api.devices[device]["facts"] = dict(others)
    browser.connect(api.url, api.key)
    assert api.devices[device]["facts"] == others


def test_a_visit_that_states_the_same_keeps_what_a_backend_set(browser, api):
    device = browser.connect(api.url, api.key, **FACTS)["device"]
    others = {"attributes": {"age": 30}, "identifiers": {"devtodev_id": "8"}}
    api.devices[device]["facts"] = dict(others)
    browser.connect(api.url, api.key, **FACTS)
    assert api.devices[device]["facts"] == others
    browser.connect(api.url, api.key, attributes={"plan": "free"})
    assert api.devices[device]["facts"] == {**others, "attributes": {"plan": "free"}}


def test_a_visit_that_states_nothing_explicitly_removes_what_a_backend_set(browser, api):
    device = browser.connect(api.url, api.key)["device"]
    api.devices[device]["facts"] = dict(FACTS)
    browser.connect(api.url, api.key, attributes={}, identifiers={})
    assert api.devices[device]["facts"] == {"attributes": {}, "identifiers": {}}


def test_a_page_takes_back_a_fact_that_got_no_answer(browser, api):
    device = browser.connect(api.url, api.key, **FACTS)["device"]
    lose_answers(browser)
    assert browser.connect(api.url, api.key, attributes={"plan": "free"}).get("error") == "unreachable"
    assert api.devices[device]["facts"] == {**FACTS, "attributes": {"plan": "free"}}
    browser.worker.evaluate("() => self.restore?.()")
    # A renewal states nothing, so it settles nothing.
    renew_by_an_address(browser, api)
    wait_until(lambda: len(api.registrations) == 3)
    browser.connect(api.url, api.key, **FACTS)
    assert api.devices[device]["facts"] == FACTS
    assert stored(browser, "device")["unsure"] == []


@pytest.mark.parametrize("names_key", [True, False])
def test_a_visit_needs_one_request_if_the_server_names_its_key(browser, api, names_key):
    api.names_key = names_key
    browser.connect(api.url, api.key)
    count = len(api.requests)
    browser.connect(api.url, api.key)
    assert api.requests[count:] == [("POST", "register")] + ([] if names_key else [("GET", "web")])


@pytest.mark.parametrize("names_key,has_one_key", [(True, False), (False, False), (True, True)])
def test_a_new_vapid_key_replaces_the_subscription(browser, api, names_key, has_one_key):
    device = browser.connect(api.url, api.key, **FACTS)["device"]
    api.vapid_key, api.names_key, api.has_one_key = NEXT_VAPID_KEY, names_key, has_one_key
    assert browser.connect(api.url, api.key)["device"] == device
    assert api.registrations[-1]["address"]["application_server_key"] == NEXT_VAPID_KEY
    assert stored(browser, "device")["registration"]["address"]["application_server_key"] == NEXT_VAPID_KEY
    assert api.devices[device]["facts"] == FACTS


@pytest.mark.parametrize("is_deleted", [False, True])
@pytest.mark.parametrize("given", [{}, {"attributes": {"plan": "free"}}])
def test_a_token_that_ended_loses_no_fact_of_an_earlier_connect(browser, api, given, is_deleted):
    browser.connect(api.url, api.key, **FACTS)
    device = browser.connect(api.url, api.key, **given)["device"]
    if is_deleted:
        del api.devices[device]
    api.end_tokens()
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: [one["facts"] for one in api.devices.values()] == [{**FACTS, **given}])
    assert stored(browser, "device")["registration"]["identifiers"] == FACTS["identifiers"]
    count = len(api.registrations)
    browser.page.evaluate("connection.opened('article-8')")
    assert len(api.registrations) == count, "once is enough"


def lose_registration(browser, number):
    """The registration of this number, from now on, does not reach the server."""
    browser.worker.evaluate(
        """(number) => {
          const real = self.fetch;
          let count = 0;
          self.fetch = (url, options) => {
            const isLost = `${url}`.endsWith("/register") && ++count === number;
            return isLost ? Promise.reject(new TypeError("no network")) : real(url, options);
          };
        }""", number)


def test_facts_are_restored_after_an_answer_that_was_lost(browser, api):
    browser.connect(api.url, api.key, **FACTS)
    api.end_tokens()
    lose_registration(browser, 2)
    for number in range(2):
        browser.page.evaluate("(content) => connection.opened(content)", f"article-{number}")
    wait_until(lambda: [one["facts"] for one in api.devices.values()] == [FACTS])


def lose_answers(browser):
    """The server gets what the worker sends, and the worker gets no answer until `restore()`."""
    browser.worker.evaluate(
        """() => {
          const real = self.fetch;
          self.fetch = async (...given) => { await real(...given); throw new TypeError("no network"); };
          self.restore = () => { self.fetch = real; };
        }""")


def test_a_page_takes_back_a_user_whose_registration_got_no_answer(browser, api):
    device = browser.connect(api.url, api.key)["device"]
    api.devices[device]["facts"]["user_id"] = "ann"
    lose_answers(browser)
    assert browser.connect(api.url, api.key, user_id="bob", user_proof="d.e.f").get("error") == "unreachable"
    assert api.devices[device]["facts"] == {"user_id": "bob"}
    browser.worker.evaluate("() => self.restore?.()")
    assert browser.connect(api.url, api.key)["device"] == device
    assert api.devices[device]["facts"] == {}


def test_a_topic_that_the_server_refuses_is_not_kept(browser, api):
    browser.connect(api.url, api.key, topics=["news"])
    api.is_down = True
    begin(browser, "connection.subscribe('sport')")
    begin(browser, "connection.unsubscribe('news')")
    assert ended(browser) == ["refused", "refused"]
    assert stored(browser, "device")["registration"]["topics"] == ["news"]


def test_a_topic_changes_after_a_renewal_that_is_under_way(browser, api):
    device = browser.connect(api.url, api.key, topics=["news"])["device"]
    api.hold("register")
    replace_subscription(browser, "http://127.0.0.1:9/push/new")
    wait_until(lambda: api.count("POST", "register") == 2)
    begin(browser, "connection.subscribe('sport')")
    for _ in range(20):
        # Long enough for the topic, if it does not wait for the renewal.
        browser.page.evaluate("(server) => fetch(`${server}/peal/device/v1/unknown`).then((it) => it.text())", api.url)
    api.release("register")
    assert ended(browser) == ["done"]
    assert api.topics(device) == ["news", "sport"]
    assert stored(browser, "device")["registration"]["topics"] == ["news", "sport"]


def test_a_push_is_shown_and_reported(browser, api, message):
    device = browser.connect(api.url, api.key)["device"]
    browser.push({"title": "Hello", "body": "World", "data": {"offer": 15}, "peal": {"message": message}})
    notification = browser.shown()[0]
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
    browser.shown()
    browser.act("notificationclick", "like")
    wait_until(lambda: "opened" in api.receipts(message))
    assert api.event(message, "opened")["button"] == "like"
    wait_until(lambda: browser.page.evaluate("window.messages?.length"))
    assert browser.page.evaluate("messages[0]")["message"] == message
    assert browser.notifications() == []


def test_a_dismissal_is_reported(browser, api, message):
    browser.connect(api.url, api.key)
    browser.push({"body": "Hello", "peal": {"message": message}})
    browser.shown()
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
    browser.shown()
    assert api.receipts(message) == []
    api.is_down = False
    other = str(uuid.uuid4())
    browser.push({"title": "Again", "peal": {"message": other}})
    wait_until(lambda: sorted(api.receipts(message)) == ["received", "shown"])
    wait_until(lambda: len(api.receipts(other)) == 2)


def test_an_expired_token_is_replaced(browser, api, message):
    device = browser.connect(api.url, api.key)["device"]
    api.end_tokens()
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: len(api.receipts(message)) == 2)
    assert len(api.registrations) == 2 and api.event(message, "shown")["device"] == device


@pytest.mark.parametrize("data,body", [("just text", "just text"), ("[1]", "1"), ('{"title":"T","body":5}', "5")])
def test_any_payload_is_shown(browser, api, data, body):
    browser.connect(api.url, api.key)
    browser.push(data)
    assert browser.shown()[0]["body"] == body


def leave_the_page(browser):
    """The person looks at something else. Playwright's pages always have the focus."""
    browser.worker.evaluate(
        "() => Object.defineProperty(WindowClient.prototype, 'focused', {configurable: true, get: () => false})")


@pytest.mark.parametrize("push", [{"data": {"story": 17}}, {"title": "", "body": ""}, {"title": None, "body": None}, ""])
def test_a_push_without_text_shows_a_quiet_notification(browser, api, message, push):
    browser.connect(api.url, api.key)
    for _ in range(2):
        # Each time, because a worker that was stopped starts without it.
        leave_the_page(browser)
        browser.push(push and {**push, "peal": {"message": message}})
        notification = browser.shown()[0]
    host = browser.origin.removeprefix("http://")
    assert (notification["title"], notification["body"], notification["tag"]) == (host, "", "peal")
    assert notification["silent"] and len(browser.notifications()) == 1
    # The person has not seen the message, so nothing but its arrival is reported.
    browser.act("notificationclick")
    wait_until(lambda: browser.notifications() == [])
    if push:
        wait_until(lambda: api.receipts(message) == ["received", "suppressed"])
        assert api.event(message, "suppressed")["reason"] == "duplicate"


def test_a_push_without_text_shows_nothing_beside_the_page_in_chromium(browser, api, message):
    browser.connect(api.url, api.key)
    browser.push({"data": {"story": 17}, "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received"])
    assert browser.notifications() == []


def test_a_push_without_text_is_shown_beside_the_page_in_other_browsers(browser, api, message):
    browser.connect(api.url, api.key)
    browser.worker.evaluate("() => { delete WorkerNavigator.prototype.userAgentData; }")
    browser.push({"data": {"story": 17}, "peal": {"message": message}})
    assert browser.shown()[0]["tag"] == "peal"


@pytest.mark.parametrize("member", ["_k", "receiptId", "task_id"])
def test_pushes_of_every_api_are_recognized(browser, api, message, member):
    browser.connect(api.url, api.key)
    browser.push({"title": "Hello", member: message.upper()})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])


@pytest.mark.parametrize("odd", [{"actions": "x"}, {"actions": [5]}, {"image": {}, "icon": 7}, {"data": {"url": "http://"}}])
def test_a_push_with_odd_members_is_shown(browser, api, message, odd):
    browser.connect(api.url, api.key)
    browser.push({"title": "Hello", "body": "World", "peal": {"message": message}, **odd})
    assert browser.shown()[0]["body"] == "World"
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


def test_a_refused_event_does_not_lose_the_others(browser, api, message):
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
    replace_subscription(browser, endpoint)
    browser.push({"title": "Hello", "peal": {"message": message}})
    browser.shown()
    assert len(api.registrations) == 1
    api.is_down = False
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: len(api.registrations) == 2)
    assert api.registrations[1]["address"]["endpoint"] == endpoint
    assert api.registrations[1]["device_token"].startswith("pdt_")
    browser.page.evaluate("connection.opened('article-8')")
    assert len(api.registrations) == 2, "once is enough"


def test_a_new_subscription_during_a_connect_reaches_the_server(browser, api):
    browser.connect(api.url, api.key)
    api.hold("register")
    begin(browser, "peal.connect(given)", options(api))
    wait_until(lambda: api.count("POST", "register") == 2)
    api.is_down = True
    replace_subscription(browser, "http://127.0.0.1:9/push/new")
    wait_until(lambda: stored(browser, "device").get("isStale"))
    api.release("register")
    assert ended(browser) == ["done"]
    wait_until(lambda: api.count("POST", "register") == 3)
    api.is_down = False
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: api.registrations[-1]["address"]["endpoint"] == "http://127.0.0.1:9/push/new")


def test_a_subscription_that_the_browser_replaced_silently_is_registered(browser, api):
    browser.connect(api.url, api.key)
    subscribe_elsewhere(browser, "http://127.0.0.1:9/push/new", VAPID_KEY)
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: len(api.registrations) == 2)
    assert api.registrations[1]["address"]["endpoint"] == "http://127.0.0.1:9/push/new"
    browser.page.evaluate("connection.opened('article-8')")
    assert len(api.registrations) == 2, "once is enough"


def test_a_subscription_under_a_key_of_others_is_not_registered(browser, api, message):
    browser.connect(api.url, api.key)
    subscribe_elsewhere(browser, "http://127.0.0.1:9/push/new", NEXT_VAPID_KEY)
    browser.page.evaluate("(message) => connection.opened('article-7', message)", message)
    assert api.receipts(message) == ["content_opened"] and len(api.registrations) == 1


def test_a_subscription_that_an_unanswered_connect_replaced_is_registered_with_its_own_key(browser, api):
    browser.connect(api.url, api.key)
    endpoint = "http://127.0.0.1:9/push/new"
    api.vapid_key = NEXT_VAPID_KEY
    browser.page.evaluate(
        """([endpoint, p256dh, auth]) => {
          PushManager.prototype.subscribe = async () => ({toJSON: () => ({endpoint, keys: {p256dh, auth}})});
        }""", [endpoint, P256DH, AUTH])
    subscribe_elsewhere(browser, endpoint, NEXT_VAPID_KEY)
    # It names the new key, and the registration with the new subscription is lost.
    lose_registration(browser, 2)
    assert browser.connect(api.url, api.key).get("error") == "unreachable"
    browser.page.evaluate("connection.opened('article-7')")
    wait_until(lambda: len(api.registrations) == 3)
    address = api.registrations[2]["address"]
    assert (address["endpoint"], address["application_server_key"]) == (endpoint, NEXT_VAPID_KEY)


@pytest.mark.parametrize("person", [{"user_id": "bob", "user_proof": "d.e.f"}, {}])
def test_an_upload_with_an_expired_token_keeps_the_current_user(browser, api, message, person):
    browser.connect(api.url, api.key, user_id="ann", user_proof="a.b.c")
    api.hold("events")
    begin(browser, "connection.opened('article-7', given)", message)
    wait_until(lambda: api.count("POST", "events") == 1)
    api.end_tokens()
    browser.connect(api.url, api.key, **person)
    api.release("events")
    assert ended(browser) == ["done"]
    wait_until(lambda: api.receipts(message) == ["content_opened"])
    assert [one.get("user_id") for one in api.registrations] == ["ann", person.get("user_id")]
    assert stored(browser, "device")["registration"].get("user_id") == person.get("user_id")


def test_the_last_connect_wins(browser, api):
    api.hold("web")
    begin(browser, "peal.connect(given)", options(api, user_id="ann", user_proof="a.b.c"))
    wait_until(lambda: api.count("GET", "web") == 1)
    # By another name: a browser asks one address only once at a time.
    other = api.url.replace("127.0.0.1", "localhost")
    begin(browser, "peal.connect(given)", options(api, server=other, user_id="bob", user_proof="d.e.f"))
    for _ in range(20):
        # Long enough for the second one, if it does not wait for the first.
        browser.page.evaluate("(server) => fetch(`${server}/peal/device/v1/unknown`).then((it) => it.text())", api.url)
    api.release("web")
    assert ended(browser) == ["done", "done"]
    assert api.registrations[-1]["user_id"] == "bob"
    assert stored(browser, "device")["registration"]["user_id"] == "bob"


def test_tabs_connect_and_disconnect_one_after_the_other(browser, api):
    browser.connect(api.url, api.key)
    api.hold("registration")
    begin(browser, "connection.disconnect()")
    wait_until(lambda: api.count("DELETE", "registration") == 1)
    other = Browser(browser.context, browser.origin)
    begin(other, "peal.connect(given)", options(api))
    for _ in range(20):
        # Long enough for the second tab, if it does not wait for the first.
        other.page.evaluate("(server) => fetch(`${server}/peal/device/v1/unknown`).then((it) => it.text())", api.url)
    assert api.count("GET", "web") == 1
    api.release("registration")
    assert ended(browser) == ended(other) == ["done"]
    assert list(api.devices) == [stored(browser, "device")["device"]]


def test_an_upload_does_not_bring_a_disconnected_device_back(browser, api):
    browser.connect(api.url, api.key)
    api.hold("events")
    begin(browser, "connection.opened('article-7')")
    wait_until(lambda: api.count("POST", "events") == 1)
    browser.page.evaluate("connection.disconnect()")
    api.release("events")
    assert ended(browser) == ["done"]
    assert api.devices == {} and len(api.registrations) == 1
    assert stored(browser, "device") is None


def test_a_registration_that_gets_no_answer_does_not_hold_back_the_next(browser, api, message):
    browser.connect(api.url, api.key)
    browser.worker.evaluate(
        "() => { const { timeout } = AbortSignal; AbortSignal.timeout = () => timeout.call(AbortSignal, 1000); }")
    api.end_tokens()
    api.hold("register")
    begin(browser, "connection.opened('article-7', given)", message)
    wait_until(lambda: api.count("POST", "register") == 2)
    device = browser.connect(api.url, api.key)["device"]
    assert ended(browser) == ["done"]
    wait_until(lambda: api.receipts(message) == ["content_opened"])
    assert api.event(message, "content_opened")["device"] == device


@pytest.mark.parametrize("is_date", [False, True])
def test_a_busy_server_gets_no_request_for_as_long_as_it_asks(browser, api, message, is_date):
    browser.connect(api.url, api.key)
    # The stub's clock is an hour ahead.
    later = email.utils.formatdate(time.time() + 3660, usegmt=True)
    api.busy["events"] = later if is_date else "60"
    for _ in range(5):
        begin(browser, "connection.opened('article-7', given)", message)
    assert ended(browser) == ["done"] * 5
    browser.page.evaluate("(message) => connection.opened('article-8', message)", message)
    assert api.count("POST", "events") == 1
    assert 50 < stored(browser, "pause")["until"] / 1000 - time.time() < 62
    api.busy.clear()
    # What the person does is tried, and its success ends the pause.
    browser.page.evaluate("connection.subscribe('news')")
    assert stored(browser, "pause") is None
    browser.page.evaluate("(message) => connection.opened('article-9', message)", message)
    assert len(api.receipts(message)) == 7


def test_a_pause_doubles_and_then_sends_what_waits(browser, api, message):
    browser.connect(api.url, api.key)
    api.is_down = True
    begun = time.time()
    browser.page.evaluate("(message) => connection.opened('article-7', message)", message)
    first = stored(browser, "pause")["until"] / 1000
    assert begun + 2 <= first + 0.01 <= time.time() + 2.01
    wait_until(lambda: stored(browser, "pause")["failures"] == 2)
    assert api.count("POST", "events") == 2
    # The next attempt was made after the first pause.
    assert first + 4 <= stored(browser, "pause")["until"] / 1000 + 0.01 <= time.time() + 4.01
    api.is_down = False
    wait_until(lambda: api.receipts(message) == ["content_opened"])
    assert api.count("POST", "events") == 3


def test_a_full_queue_first_drops_events_that_prove_no_display(browser, api):
    browser.connect(api.url, api.key)
    api.busy["events"] = "60"
    fill_queue(browser, ["shown", "opened", "received", "received"] + ["dismissed"] * 996)
    browser.page.evaluate("connection.opened('article-7')")
    api.busy.clear()
    browser.connect(api.url, api.key)
    wait_until(lambda: len(api.events) == 1000)
    contents = [event["content"] for event in api.events.values()]
    assert contents == ["0", "1", "3", *map(str, range(4, 1000)), "article-7"]


def test_a_captive_portals_page_is_not_taken_for_an_answer(browser, api, message):
    for path in ["web", "register"]:
        api.login_pages = {path}
        for api.login_status in [200, 401, 403]:
            assert browser.connect(api.url, api.key).get("error") == "unreachable", (path, api.login_status)
    api.login_pages = {"events"}
    browser.connect(api.url, api.key)
    for api.login_status in [200, 400, 401, 403]:
        browser.page.evaluate("(message) => connection.opened('article-7', message)", message)
        assert api.receipts(message) == []
    api.login_pages = set()
    browser.page.evaluate("(message) => connection.opened('article-8', message)", message)
    assert api.receipts(message) == ["content_opened"] * 5


@pytest.mark.parametrize("address", ["", "push.example.com", "/push", "ftp://example.com", "https://example.com?a=b"])
def test_an_invalid_server_address_is_refused(browser, api, address):
    answer = browser.connect(address, api.key)
    assert answer.get("error") == "refused" and "is not the address of a server" in answer["message"]


def test_an_expired_proof_removes_the_user_and_keeps_the_device(browser, api, message):
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


@pytest.mark.parametrize("character", ["a", "\U0001f9c0"])
def test_long_content_is_cut_between_characters(browser, api, message, character):
    browser.connect(api.url, api.key)
    given = [f"x{character * 300}", message]
    browser.page.evaluate("([content, message]) => connection.opened(content, message)", given)
    assert api.event(message, "content_opened")["content"] == f"x{character * 254}"


@pytest.mark.parametrize("days", [-3, 3])
def test_reports_are_in_the_servers_time_after_the_clock_was_set(browser, api, message, days):
    browser.connect(api.url, api.key)
    browser.worker.evaluate(
        "(days) => { const now = Date.now.bind(Date); Date.now = () => now() + days * 86_400_000; }", days)
    # The first answer after that has the server's time.
    browser.page.evaluate("connection.opened('article-7')")
    browser.page.evaluate("(message) => connection.opened('article-8', message)", message)
    at = datetime.datetime.fromisoformat(api.event(message, "content_opened")["at"]).timestamp()
    assert 3500 < at - datetime.datetime.now().timestamp() < 3700


def test_disconnecting_deletes_the_device(browser, api):
    browser.connect(api.url, api.key)
    browser.page.evaluate("connection.disconnect()")
    assert api.devices == {}
    assert browser.page.evaluate("navigator.serviceWorker.ready.then(r => r.pushManager.getSubscription())") is None


def test_what_happens_after_disconnecting_is_not_reported_for_the_next_device(browser, api, message):
    browser.connect(api.url, api.key, user_id="ann", user_proof="a.b.c")
    browser.page.evaluate("connection.disconnect()")
    browser.push({"title": "Hello", "peal": {"message": message}})
    assert browser.shown()[0]["title"] == "Hello"
    browser.connect(api.url, api.key, user_id="bob", user_proof="d.e.f")
    browser.page.evaluate("connection.opened('article-7')")
    assert [event["type"] for event in api.events.values()] == ["content_opened"]


def test_a_browser_that_does_not_end_the_subscription_is_unreachable(browser, api):
    browser.connect(api.url, api.key)
    browser.page.evaluate(
        """async () => {
          const subscription = await (await navigator.serviceWorker.ready).pushManager.getSubscription();
          subscription.unsubscribe = () => Promise.reject(new DOMException("There is no network.", "AbortError"));
        }""")
    api.vapid_key = NEXT_VAPID_KEY
    answer = browser.connect(api.url, api.key)
    assert answer.get("error") == "unreachable" and "There is no network" in answer["message"], answer
    begin(browser, "connection.disconnect()")
    assert ended(browser) == ["unreachable"]
    assert api.devices == {}


def test_options_may_be_proxies_of_a_framework(browser, api):
    device = browser.page.evaluate(
        """async (given) => {
          const options = {...given, topics: new Proxy(["news"], {}), identifiers: new Proxy({devtodev_id: "7"}, {})};
          return (await peal.connect(new Proxy(options, {}))).device;
        }""", options(api))
    assert api.topics(device) == ["news"] and api.registrations[0]["identifiers"] == {"devtodev_id": "7"}


def test_a_worker_of_the_site_may_import_it(browser, api, message):
    browser.connect(api.url, api.key, worker="/worker.js")
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])


@pytest.mark.parametrize("data", ["{url: '/own'}", "'text'", "null"])
def test_a_notification_of_the_site_is_not_handled_by_peal(browser, api, message, data):
    browser.connect(api.url, api.key, worker="/worker.js")
    browser.worker.evaluate(
        f"""() => {{
          self.visited = [];
          Clients.prototype.openWindow = async (url) => void visited.push(url);
          WindowClient.prototype.focus = async function () {{ visited.push(this.url); return this; }};
          return registration.showNotification("Site", {{data: {data}}});
        }}""")
    wait_until(browser.notifications)
    browser.act("notificationclick")
    # What is handled after the click.
    browser.push({"title": "Hello", "peal": {"message": message}})
    wait_until(lambda: api.receipts(message) == ["received", "shown"])
    assert sorted(one["title"] for one in browser.notifications()) == ["Hello", "Site"]
    assert browser.worker.evaluate("visited") == []
    assert browser.page.evaluate("window.messages ?? []") == []
    browser.page.evaluate(
        """async () => {
          const shown = await (await navigator.serviceWorker.ready).getNotifications();
          shown.filter((one) => one.title === "Hello").forEach((one) => one.close());
        }""")
    wait_until(lambda: len(browser.notifications()) == 1)
    browser.act("notificationclose")
    browser.page.evaluate("connection.opened('article-7')")
    assert [event["type"] for event in api.events.values()] == ["received", "shown", "content_opened"]


def test_a_click_without_a_message_id_is_handled_by_peal(browser, api):
    browser.connect(api.url, api.key, worker="/worker.js")
    browser.push("just text")
    browser.shown()
    browser.act("notificationclick")
    wait_until(lambda: browser.notifications() == [])


@pytest.mark.parametrize("name,state", [("worker.js", "waiting"), ("peal-worker.js", "active")])
def test_only_its_own_file_replaces_a_worker_under_open_pages(browser, api, name, state):
    browser.connect(api.url, api.key, worker=f"/{name}")
    browser.page.reload()
    browser.page.wait_for_function("window.peal !== undefined && navigator.serviceWorker.controller !== null")
    browser.page.evaluate("(url) => navigator.serviceWorker.register(url, {type: 'module'})", f"/{name}?2")
    states = """() => navigator.serviceWorker.ready.then((it) => Object.fromEntries(
      ["installing", "waiting", "active"].map((state) => [state, it[state]?.scriptURL.split("/").pop()])))"""
    wait_until(lambda: (found := browser.page.evaluate(states)) and not found.get("installing") and
               f"{name}?2" in found.values())
    if state == "active":
        wait_until(lambda: browser.page.evaluate(states)["active"] == f"{name}?2")
    else:
        time.sleep(0.5)
        assert browser.page.evaluate(states)["waiting"] == f"{name}?2"
        assert browser.page.evaluate("navigator.serviceWorker.controller.scriptURL").endswith(f"/{name}")


def test_refusals_name_what_is_wrong(browser, api):
    answer = browser.connect(api.url, "wrong")
    assert (answer["error"], answer["status"], answer["message"]) == ("refused", 401, "the token is not valid")
    refused = browser.connect(api.url, api.key, user_id="mallory", user_proof="x")
    assert (refused["error"], refused["status"], refused["field"]) == ("refused", 403, "user_proof")
    assert browser.connect("http://127.0.0.1:9", api.key)["error"] == "unreachable"


@pytest.mark.parametrize("name", ["QuotaExceededError", "UnknownError"])
def test_a_browser_that_cannot_store_anything_is_unsupported(browser, api, name):
    browser.connect(api.url, api.key)
    break_storage(browser, name)
    answer = browser.connect(api.url, api.key)
    assert answer["error"] == "unsupported" and "disk is full" in answer["message"], answer


def test_a_browser_without_locks_is_unsupported(browser, api):
    browser.page.evaluate("delete Navigator.prototype.locks")
    assert not browser.page.evaluate("peal.isSupported()")
    assert browser.connect(api.url, api.key)["error"] == "unsupported"


def test_a_person_may_decline_notifications(chromium, pages, api):
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
