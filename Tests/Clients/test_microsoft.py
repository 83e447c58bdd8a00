"""curl uses the simulator as WNS and MPNS."""

import json
import subprocess
import urllib.parse
import uuid

import pytest

TOAST = '<toast><visual><binding template="ToastGeneric"><text>Grüße &amp; mehr</text></binding></visual></toast>'
PHONE_TOAST = (
    '<?xml version="1.0" encoding="utf-8"?><wp:Notification xmlns:wp="WPNotification"><wp:Toast>'
    "<wp:Text1>Seminar</wp:Text1><wp:Text2>at ten</wp:Text2></wp:Toast></wp:Notification>"
)


def curl(simulator, url, body, headers=(), *arguments):
    """Posts `body`; returns the status, the answer's headers and its body."""
    options = [part for header in headers for part in ("-H", header)]
    command = ["curl", "-sS", "--http1.1", "--cacert", simulator.ca_file, "-i", url, "--data-binary", body]
    out = subprocess.run(
        [*command, *options, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout
    head, _, answer = out.replace("\r", "").partition("\n\n")
    lines = head.split("\n")
    return int(lines[0].split()[1]), dict(line.lower().split(": ", 1) for line in lines[1:]), answer


def access_token(simulator, generation="store", **changes):
    """Asks for an access token as an app of either generation does; returns the status and the answer."""
    wns = simulator.description["wns"]
    form = {"grant_type": "client_credentials"}
    if generation == "store":
        form |= {"client_id": wns["package_sid"], "client_secret": wns["client_secret"], "scope": "notify.windows.com"}
    else:
        scope = "https://wns.windows.com/.default"
        form |= {"client_id": wns["client_id"], "client_secret": wns["tenant_client_secret"], "scope": scope}
    url = wns["token_url" if generation == "store" else "tenant_token_url"]
    status, _, answer = curl(simulator, url, urllib.parse.urlencode(form | changes))
    return status, json.loads(answer)


def channel(simulator, name="AQE%3d"):
    return f"{simulator.description['wns_url']}/?token={name}"


def notify(simulator, token, body=TOAST, name="AQE%3d", **changes):
    headers = {"content-type": "text/xml", "x-wns-type": "wns/toast", "authorization": f"Bearer {token}"} | {
        key.replace("_", "-"): value for key, value in changes.items()
    }
    lines = [f"{key}: {value}" for key, value in headers.items() if value is not None]
    return curl(simulator, channel(simulator, name), body, lines)


@pytest.mark.parametrize("generation, seconds", [("store", 86_400), ("tenant", "86399")])
def test_wns_accepts_a_toast_with_an_access_token(simulate, generation, seconds):
    simulator = simulate()
    status, grant = access_token(simulator, generation)
    assert (status, grant["expires_in"]) == (200, seconds)
    status, headers, _ = notify(simulator, grant["access_token"], ms_cv="cv.1", x_wns_requestforstatus="true")
    assert (status, headers["x-wns-status"], headers["ms-cv"]) == (200, "received", "cv.1")
    assert headers["x-wns-deviceconnectionstatus"] == "connected"
    (item,) = simulator.inbox("?provider=wns&device=" + urllib.parse.quote(channel(simulator), safe=""))
    assert item["payload"] == {"text": TOAST}
    assert item["id"].lower() == headers["x-wns-msg-id"]


@pytest.mark.parametrize(
    "generation, change, status, error",
    [
        ("store", {"client_secret": "x"}, 400, "invalid_client"),
        ("store", {"scope": "x"}, 400, "invalid_scope"),
        ("store", {"grant_type": "x"}, 400, "unsupported_grant_type"),
        ("tenant", {"client_secret": "x"}, 401, "invalid_client"),
        ("tenant", {"client_id": "x"}, 400, "unauthorized_client"),
    ],
)
def test_wns_gives_no_access_token_for_wrong_credentials(simulate, generation, change, status, error):
    got, answer = access_token(simulate(), generation, **change)
    assert (got, answer["error"]) == (status, error)


def test_wns_refuses_wrong_requests(simulate):
    simulator = simulate()
    token = access_token(simulator)[1]["access_token"]
    for change, status in [
        ({"authorization": None}, 401),
        ({"authorization": "Bearer x"}, 401),
        ({"content_type": "application/octet-stream"}, 400),
        ({"x_wns_type": "wns/poster"}, 400),
        ({"x_wns_tag": "a" * 17}, 400),
        ({"x_wns_priority": "5"}, 400),
        ({"x_wns_ttl": "soon"}, 400),
        ({"x_wns_cache_policy": "maybe"}, 400),
        ({"transfer_encoding": "chunked"}, 400),
        ({"body": "<toast>"}, 400),
        ({"body": "<tile/>"}, 400),
        ({"body": TOAST + " " * 5_000}, 413),
        ({"x_wns_type": "wns/badge", "body": '<badge value="loud"/>'}, 400),
        ({"x_wns_type": "wns/badge", "body": '<badge value="alert"/>'}, 200),
        ({"x_wns_type": "wns/badge", "body": '<badge value="7"/>', "x_wns_ttl": "0"}, 400),
    ]:
        got, headers, _ = notify(simulator, token, **change)
        assert got == status, (change, headers)
        assert status == 200 or headers["x-wns-error-description"]


@pytest.mark.parametrize(
    "state, status, word",
    [
        ("expired", 410, "dropped"),
        ("unknown", 404, "dropped"),
        ("other_app", 403, "dropped"),
        ("limited", 406, "dropped"),
        ("throttled", 200, "channelthrottled"),
        ("dropped", 200, "dropped"),
        ("disconnected", 200, "received"),
    ],
)
def test_a_channel_of_wns_can_be_set_to_fail(simulate, state, status, word):
    simulator = simulate()
    token = access_token(simulator)[1]["access_token"]
    path = "/channels?uri=" + urllib.parse.quote(channel(simulator), safe="")
    assert simulator.control("PUT", path, {"state": state})[0] == 200
    got, headers, _ = notify(simulator, token, x_wns_requestforstatus="true")
    assert (got, headers["x-wns-status"]) == (status, word)
    assert (headers["x-wns-deviceconnectionstatus"] == "disconnected") == (state == "disconnected")
    assert len(simulator.inbox()) == (1 if state == "disconnected" else 0)
    assert simulator.control("DELETE", path)[0] == 200
    assert notify(simulator, token)[0] == 200


def test_access_tokens_of_wns_can_be_revoked(simulate):
    simulator = simulate()
    token = access_token(simulator)[1]["access_token"]
    assert notify(simulator, token)[0] == 200
    simulator.control("DELETE", "/access-tokens")
    assert notify(simulator, token)[0] == 401


def test_a_fault_of_wns_has_its_own_headers(simulate):
    simulator = simulate()
    token = access_token(simulator)[1]["access_token"]
    fault = {"status": 503, "retry_after": 9, "headers": {"X-Extra": "yes"}, "body": "later"}
    simulator.fault(channel(simulator), fault)
    status, headers, body = notify(simulator, token)
    assert (status, headers["retry-after"], headers["x-extra"], body) == (503, "9", "yes", "later")


def phone_channel(simulator, secure=False):
    base = simulator.description["mpns_secure_url" if secure else "mpns_url"]
    return base + "/throttledthirdparty/01.00/AQE-channel"


def phone(simulator, body=PHONE_TOAST, *arguments, secure=False, **changes):
    headers = {"content-type": "text/xml", "x-windowsphone-target": "toast", "x-notificationclass": "2"} | {
        key.replace("_", "-"): value for key, value in changes.items()
    }
    lines = [f"{key}: {value}" for key, value in headers.items() if value is not None]
    return curl(simulator, phone_channel(simulator, secure), body, lines, *arguments)


def test_mpns_accepts_a_toast(either_mode):
    name = str(uuid.uuid4())
    status, headers, _ = phone(either_mode, x_messageid=name)
    assert (status, headers["x-notificationstatus"], headers["x-messageid"]) == (200, "received", name)
    assert (headers["x-deviceconnectionstatus"], headers["x-subscriptionstatus"]) == ("connected", "active")
    (item,) = either_mode.inbox("?provider=mpns&contains=Seminar")
    assert (item["device"], item["id"]) == (phone_channel(either_mode), name)
    assert item["payload"] == {"text": PHONE_TOAST}


def test_mpns_refuses_wrong_requests(simulate):
    simulator = simulate()
    for change, status in [
        ({"x_notificationclass": "1"}, 400),
        ({"x_windowsphone_target": "poster"}, 400),
        ({"x_windowsphone_target": "token", "x_notificationclass": "1"}, 400),
        ({"content_type": "text/plain"}, 400),
        ({"x_messageid": "x"}, 400),
        ({"body": "<wp:Notification/>"}, 400),
        ({"x_windowsphone_target": None, "x_notificationclass": "3", "body": "x" * 1_025}, 400),
        ({"x_windowsphone_target": None, "x_notificationclass": "3", "body": "x" * 1_024}, 200),
    ]:
        assert phone(simulator, **change)[0] == status, change


@pytest.mark.parametrize(
    "state, status, word, device, subscription",
    [
        ("expired", 404, "dropped", "disconnected", "expired"),
        ("disconnected", 412, "dropped", "disconnected", "n/a"),
        ("throttled", 200, "queuefull", "connected", "active"),
        ("dropped", 200, "suppressed", "connected", "active"),
        ("limited", 406, "dropped", "connected", "active"),
        ("other_app", 401, "n/a", "n/a", "n/a"),
    ],
)
def test_a_channel_of_mpns_can_be_set_to_fail(simulate, state, status, word, device, subscription):
    simulator = simulate()
    path = "/channels?uri=" + urllib.parse.quote(phone_channel(simulator), safe="")
    simulator.control("PUT", path, {"state": state})
    got, headers, _ = phone(simulator)
    assert (got, headers["x-notificationstatus"]) == (status, word)
    assert (headers["x-deviceconnectionstatus"], headers["x-subscriptionstatus"]) == (device, subscription)
    assert simulator.inbox() == []


def test_mpns_recognizes_authenticated_services_by_their_certificate(simulate):
    simulator = simulate()
    apns = simulator.description["apns"]
    certificate = ["--cert", apns["certificate_file"], "--key", apns["certificate_key_file"]]
    assert phone(simulator, PHONE_TOAST, *certificate, secure=True)[0] == 200
