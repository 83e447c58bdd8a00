"""All five push networks at once: no network affects another."""

import itertools
import socket
import time

import pytest
from push_service import Browser, PushService
from test_webpush import GREETING, put_key, register
from waiting import wait_until

PLATFORMS = ("ios", "android", "windows", "windows_phone", "web")


class NetworksFixture:
    """A server that uses the simulator for all push networks, and an app with credentials for each."""

    def __init__(self, simulate, serve):
        self.simulator = simulate()
        self.urls = self.simulator.description
        self.peal = serve(self.simulator.environment)
        self.app = self.peal.app()
        self.peal.connect(self.app, self.simulator, "apns/production", "fcm", "wns", "mpns")
        self.server_key = put_key(self.peal, self.app)["public_key"]

    def address(self, platform, number):
        if platform == "web":
            body = {"application_server_key": self.server_key}
            subscription = self.simulator.control("POST", "/webpush/subscriptions", body)[1]
            return {name: subscription[name] for name in ("endpoint", "keys")}
        return {
            "ios": f"{number:064x}",
            "android": f"device-{number}",
            "windows": f"{self.urls['wns_url']}/?token={number}",
            "windows_phone": f"{self.urls['mpns_url']}/throttledthirdparty/01.00/{number}",
        }[platform]

    def register(self, count):
        """Returns the devices' ids by platform."""
        return {
            platform: self.peal.devices(
                self.app,
                [{"platform": platform, "address": self.address(platform, number)} for number in range(count)],
            )
            for platform in PLATFORMS
        }


@pytest.fixture
def networks(simulate, serve):
    return NetworksFixture(simulate, serve)


def test_one_message_reaches_every_platform_and_its_counts_add_up(networks):
    devices = networks.register(4)
    gone = "\n".join(
        f"  - {{match: {{provider: {name}}}, status: {status}, times: 1}}"
        for name, status in {"apns": 410, "fcm": 404, "wns": 410, "mpns": 404, "webpush": 410}.items()
    )
    gone = gone.replace("status: 410, times: 1}", "status: 410, reason: Unregistered, times: 1}", 1)
    gone = gone.replace("status: 404", "error_code: UNREGISTERED", 1)
    assert networks.simulator.control("POST", "/script", f"rules:\n{gone}")[0] == 200
    peal, app = networks.peal, networks.app
    message = peal.send(app)
    report = peal.wait(app, message)
    assert report["audience"] == {"devices": 20, "platforms": dict.fromkeys(PLATFORMS, 4)}
    assert (report["counts"]["accepted"], report["counts"]["retired"]) == (15, 5)
    for platform in PLATFORMS:
        assert report["by_platform"][platform]["retired"] == 1, report
        trails = [peal.deliveries(app, message, device=device) for device in devices[platform]]
        assert sorted(trail[-1]["event"] for trail in trails) == ["accepted"] * 3 + ["retired"]
    assert networks.simulator.summary()["accepted"] == 15


def test_validation_shows_where_each_request_goes(networks):
    networks.register(1)
    body = {"audience": {"all": True}, "content": GREETING, "options": {"ttl_seconds": 3600}}
    shown = networks.peal.post(f"/apps/{networks.app}/messages:validate", body)
    assert shown["valid"] and shown["audience"]["devices"] == 5
    requests = {request["platform"]: request for request in shown["requests"]}
    assert {platform for platform in PLATFORMS if requests[platform]["path"] == "{address}"} == {
        "windows",
        "windows_phone",
        "web",
    }
    assert requests["windows_phone"]["headers"]["x-notificationclass"] == "22"
    assert requests["web"]["body"] == GREETING


def test_hosts_that_are_removed_from_the_list_get_nothing(networks):
    devices = networks.register(1)
    peal, app = networks.peal, networks.app
    peal.stop()
    for name in ("WNS", "MPNS", "WEBPUSH"):
        del peal.environment[f"PEAL_PROVIDERS_{name}_ALLOWED_HOSTS"]
    peal.start()
    report = peal.wait(app, peal.send(app))
    assert report["reasons"] == {"HostNotAllowed": 3}
    assert (report["counts"]["accepted"], report["counts"]["rejected"]) == (2, 3)
    assert peal.get(f"/apps/{app}/devices/{devices['windows'][0]}")["state"] == "active"
    assert {item["provider"] for item in networks.simulator.inbox()} == {"apns", "fcm"}


def test_silent_push_services_do_not_delay_others(serve, certificate):
    silent = [socket.create_server(("127.0.0.1", 0), backlog=512) for _ in range(3)]
    service = PushService(*certificate)
    hosts = [f"localhost:{listener.getsockname()[1]}" for listener in silent]
    try:
        listed = ",".join([*hosts, service.host])
        peal = serve({**service.environment, "PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS": listed})
        app = peal.app()
        put_key(peal, app)
        register(peal, app, *[Browser(f"https://{host}/{number}") for host in hosts for number in range(150)])
        register(peal, app, *[service.browser(f"/{number}") for number in range(150)])
        begun = time.monotonic()
        peal.send(app, content=GREETING)
        wait_until(lambda: len(service.requests) >= 150)
        assert len(service.requests) == 150
        # Connection attempts to the silent ones time out after 10 seconds. Requests that waited for them would come so
        # long after the request before.
        times = [begun, *sorted(request.at for request in service.requests)]
        assert max(later - earlier for earlier, later in itertools.pairwise(times)) < 9
    finally:
        for listener in silent:
            listener.close()
        service.stop()


def test_a_long_pause_of_one_push_service_costs_nobody_an_attempt(serve, certificate):
    service = PushService(*certificate)
    try:
        peal = serve(service.environment)
        app = peal.app()
        put_key(peal, app)
        register(peal, app, *[service.browser(f"/{number}") for number in range(120)])
        for number in range(120):
            service.answers[f"/{number}"] = [(429, {"Retry-After": "1"}, b"")]
        message = peal.send(app, content=GREETING)
        # Long enough for several pauses of a second that the service asks for.
        time.sleep(5)
        service.answers.clear()
        report = peal.wait(app, message, seconds=45)
        assert report["counts"]["accepted"] == 120, report
    finally:
        service.stop()
