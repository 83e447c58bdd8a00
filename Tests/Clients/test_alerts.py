"""Each alert fires because its cause is there: a server is attacked, its push network, its database or its credential
fails, and what `/metrics` then reports goes through the alert rules."""

import datetime
import re
import socket
import sqlite3
import urllib.error
import urllib.request

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from local_server import Handler, Server
from moved_clock import MovedClock
from peal_server import OPENER, Peal, Refused
from promtool import promtool
from test_trouble import damage, metric
from time_lapse import RULES, TimeLapse, check_firing
from waiting import wait_until

# Enough minutes for a rate over five minutes that lasts for five more.
MINUTES = 13


@pytest.fixture
def watch(tmp_path):
    """A time lapse of a server, which begins with three scrapes of it as it is."""
    return lambda server: TimeLapse(server, tmp_path).scrape(3)


@pytest.fixture
def sending(simulate, serve):
    """A simulator, a server that sends to it, and an app with a credential."""
    simulator = simulate()
    server = serve(simulator.environment)
    app = server.app()
    server.connect(app, simulator, "apns/production")
    return simulator, server, app


def address(peal):
    host, _, port = peal.url.removeprefix("http://").partition(":")
    return host, int(port)


def refused(peal, path="/peal/v1/apps", token="wrong-wrong-wrong-wrong-wrong-wrong"):
    request = urllib.request.Request(peal.url + path, headers={"Authorization": f"Bearer {token}"})
    with pytest.raises(urllib.error.HTTPError):
        OPENER.open(request, timeout=20)


def test_a_server_that_ended_is_down(serve, watch):
    server = serve()
    lapse = watch(server)
    server.stop()
    lapse.scrape(4).fires("PealDown", healthy=3)


def test_keys_are_guessed(serve, watch):
    server = serve({"PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": 5})
    lapse = watch(server)
    lapse.scrape(MINUTES, lambda: [refused(server) for _ in range(80)]).fires("PealGuessing", healthy=3)


def test_too_many_connections_are_refused(serve, watch):
    server = serve({"PEAL_HTTP_CONNECTIONS_PER_ADDRESS_MAX": 4})
    lapse = watch(server)

    def crowd():
        connections = [
            socket.create_connection(address(server), timeout=20, source_address=("127.0.0.2", 0)) for _ in range(80)]
        connections[-1].sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b"503" in connections[-1].recv(64)
        for connection in connections:
            connection.close()

    lapse.scrape(MINUTES, crowd).fires("PealConnectionsRefused", healthy=3)


def test_file_descriptors_run_out(serve, tmp_path, watch):
    own = int(TimeLapse.sum("process_open_fds", TimeLapse(serve(), tmp_path).read()))
    # The connections must stay, however long the scrapes take.
    server = Peal(tmp_path / "scarce", {"PEAL_HTTP_HEAD_SECONDS": 300}, descriptors=int(own / 0.5))
    try:
        lapse = watch(server)
        connections = [socket.create_connection(address(server), timeout=20) for _ in range(int(own * 0.8))]
        lapse.scrape(7).fires("PealDescriptorsScarce", healthy=3)
        for connection in connections:
            connection.close()
    finally:
        server.stop()


def test_a_server_stays_paused(serve, watch, tmp_path):
    server = serve()
    lapse = watch(server)
    server.stop()
    server.arguments = ["--paused"]
    server.start()
    lapse.scrape(62).fires("PealPaused", healthy=3)


def test_a_push_network_refuses_the_credential(sending, watch):
    simulator, server, app = sending
    server.phones(app, 1)
    lapse = watch(server)
    wrong = {**simulator.credentials["apns/production"], "team_id": "WRONGTEAM1"}
    server.put(f"/apps/{app}/credentials/apns/production", wrong)
    server.send(app)
    lapse.wait("peal_apps_stopped", lambda value: value == 1).scrape(3).fires("PealAppStopped", healthy=3)


def test_a_push_network_does_not_answer(sending, watch):
    simulator, server, app = sending
    server.phones(app, 100)
    lapse = watch(server)
    simulator.stop()
    server.send(app)
    lapse.wait("peal_route_closed", lambda value: value == 1).scrape(17).fires("PealRouteClosed", healthy=3)


@pytest.mark.skipif(not MovedClock.is_possible(), reason="needs Linux and a C compiler")
def test_a_message_waits_for_a_quarter_of_an_hour(simulate, serve, watch, tmp_path):
    clock = MovedClock(tmp_path)
    simulator = simulate()
    server = serve({**simulator.environment, **clock.environment})
    app = server.app()
    server.connect(app, simulator, "apns/production")
    server.phones(app, 1)
    lapse = watch(server)
    simulator.stop()
    server.send(app)
    clock.advance(20 * 60)
    lapse.wait("peal_oldest_pending_seconds", lambda value: value > 900).scrape(7).fires("PealMessagesLate", healthy=3)


def test_a_push_network_rejects_notifications(sending, watch):
    simulator, server, app = sending
    server.phones(app, 2)
    devices = server.phones(app, 2, topics=["wrong"])
    for device in devices:
        simulator.fault(device, {"status": 400, "reason": "PayloadEmpty", "times": 1000})
    lapse = watch(server)
    lapse.scrape(33, lambda: server.send(app))
    lapse.fires("PealNotificationsRejected", healthy=3)


def test_a_credential_ends_soon(serve, watch):
    server = serve()
    app, bundle = server.app(), "com.example.demo"
    lapse = watch(server)
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([
        x509.NameAttribute(x509.NameOID.COMMON_NAME, f"Apple Push Services: {bundle}"),
        x509.NameAttribute(x509.NameOID.USER_ID, bundle)])
    now = datetime.datetime.now(datetime.timezone.utc)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=350))
        .not_valid_after(now + datetime.timedelta(days=10)).sign(key, hashes.SHA256()))
    pem, form = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
    server.put(f"/apps/{app}/credentials/apns/production", {
        "kind": "certificate", "bundle_id": bundle, "certificate": certificate.public_bytes(pem).decode(),
        "private_key": key.private_bytes(pem, form, serialization.NoEncryption()).decode()})
    lapse.wait("peal_credential_expires_at_seconds", lambda value: value != 0)
    lapse.scrape(12).fires("PealCredentialEnding", healthy=3)


def test_a_webhook_is_given_up(sending, watch):
    class Gone(Handler):
        def do_POST(self):
            self.body()
            self.answer(410)

    receiver = Server(Gone)
    _, server, app = sending
    server.stop()
    server.environment["PEAL_WEBHOOKS_ALLOWED_HOSTS"] = "127.0.0.1"
    server.start()
    try:
        server.put(f"/apps/{app}/webhooks/main", {
            "url": f"http://127.0.0.1:{receiver.server_port}/", "kind": "events",
            "authentication": {"type": "bearer", "token": "x" * 24}})
        lapse = watch(server)
        server.post(f"/apps/{app}/webhooks/main/test")
        lapse.wait("peal_webhook_deliveries_total", lambda value: value > 0).scrape(2).fires("PealWebhooksFailing", healthy=3)
    finally:
        receiver.stop()


def test_a_killed_server_sends_twice(simulate, serve, watch):
    simulator = simulate("--mode", "fast")
    server = serve(simulator.environment)
    app = server.app()
    server.connect(app, simulator, "apns/production")
    server.phones(app, 8_000)
    lapse = watch(server)
    # The network takes the requests and does not answer before the server dies.
    simulator.control("POST", "/script", "rules:\n  - match: {provider: apns}\n    delay_ms: 20000\n")
    server.send(app)
    wait_until(lambda: metric(server, "peal_pages_total") >= 4)
    server.kill()
    simulator.control("POST", "/script", "rules: []\n")
    server.start()
    lapse.wait("peal_resent_total", lambda value: value > 1000).fires("PealSendingTwice", healthy=3)


def test_results_cannot_be_stored(sending, watch):
    _, server, app = sending
    server.phones(app, 20)
    server.wait(app, server.send(app))
    lapse = watch(server)
    server.stop()
    damage(server.directory / "peal.db", "delivery_page")
    server.start()
    server.send(app)
    lapse.wait("peal_slices_quarantined", lambda value: value == 1).fires("PealSlicesQuarantined", healthy=3)


def test_results_cannot_be_written_for_minutes(sending, watch):
    simulator, server, app = sending
    server.phones(app, 20)
    server.wait(app, server.send(app))
    lapse = watch(server)
    # Answers arrive when the store is locked already.
    simulator.control("POST", "/script", "rules:\n  - match: {provider: apns}\n    delay_ms: 3000\n")
    server.send(app)
    wait_until(lambda: simulator.summary()["received"] >= 40)
    lock = sqlite3.connect(server.directory / "peal.db", isolation_level=None, timeout=10)
    lock.execute("BEGIN IMMEDIATE")

    def fail():
        before = metric(server, "peal_settles_failed_total")
        wait_until(lambda: metric(server, "peal_settles_failed_total") > before)

    # A write waits for the lock for long, so it does not fail again in every minute.
    for _ in range(3):
        lapse.scrape(1, fail).scrape()
    lapse.fires("PealSettlementsFailing", healthy=3)
    lock.execute("ROLLBACK")


def test_the_store_fails(serve, watch):
    server = serve()
    app = server.app()
    lapse = watch(server)
    server.stop()
    damage(server.directory / "peal.db", "slice", "message", "credential")
    server.start()

    def fail():
        for _ in range(3):
            with pytest.raises(Refused) as refusal:
                server.get(f"/apps/{app}/messages")
            assert refusal.value.status >= 500

    lapse.scrape(MINUTES, fail)
    lapse.fires("PealStoreDown", healthy=3)
    lapse.fires("PealRequestsFailing", healthy=3)


def test_a_locked_store_refuses_writes(sending, watch):
    _, server, app = sending
    server.phones(app, 20)
    server.wait(app, server.send(app))
    lapse = watch(server)
    assert metric(server, "peal_store_writable") == 1
    lock = sqlite3.connect(server.directory / "peal.db", isolation_level=None, timeout=10)
    lock.execute("BEGIN IMMEDIATE")
    lapse.wait("peal_store_writable", lambda value: value == 0).scrape(2).fires("PealStoreDown", healthy=3)
    lock.execute("ROLLBACK")
    lapse.wait("peal_store_writable", lambda value: value == 1)


def notifications(**outcomes):
    return {
        f'peal_notifications_total{{job="peal",instance="a",provider="apns",outcome="{outcome}"}}': values
        for outcome, values in outcomes.items()}


def every_minute(first, last, value):
    return {minute: value for minute in range(first, last)}


def test_a_campaign_that_is_rejected_within_a_second(tmp_path):
    series = notifications(accepted=[0] * 60, rejected=[0] * 5 + [100_000] * 55)
    expected = {**every_minute(0, 7, False), **every_minute(7, 30, True), **every_minute(40, 60, False)}
    check_firing("PealNotificationsRejected", series, expected, tmp_path)


@pytest.mark.parametrize(
    "outcomes", [
        {"accepted": [0] * 60, "rejected": [0] * 5 + [1] * 55},
        {"accepted": [0] * 5 + [95_000] * 55, "rejected": [0] * 5 + [5_000] * 55},
        {"accepted": [100_000] * 60, "rejected": [100_000] * 60},
    ], ids=["one", "few", "long ago"])
def test_few_rejections_are_no_reason_for_an_alert(tmp_path, outcomes):
    check_firing("PealNotificationsRejected", notifications(**outcomes), every_minute(0, 60, False), tmp_path)


@pytest.mark.parametrize("name", ["peal_store_up", "peal_store_writable"])
def test_a_store_without_reads_or_writes_is_down(tmp_path, name):
    others = {f'{other}{{job="peal",instance="a"}}': [1] * 12 for other in ("peal_store_up", "peal_store_writable")}
    series = {**others, f'{name}{{job="peal",instance="a"}}': [1] * 3 + [0] * 5 + [1] * 4}
    expected = {**every_minute(0, 4, False), **every_minute(4, 8, True), **every_minute(8, 12, False)}
    check_firing("PealStoreDown", series, expected, tmp_path)


def test_writes_that_failed_for_two_minutes_are_no_reason_for_an_alert(tmp_path):
    failed = 'peal_settles_failed_total{job="peal",instance="a"}'
    series = {failed: [0] * 3 + [40, 80] + [80] * 25}
    check_firing("PealSettlementsFailing", series, every_minute(0, 30, False), tmp_path)


def test_writes_that_fail_for_longer_are_one(tmp_path):
    failed = 'peal_settles_failed_total{job="peal",instance="a"}'
    series = {failed: [0] * 3 + [40 * minute for minute in range(1, 16)] + [600] * 12}
    expected = {**every_minute(0, 8, False), **every_minute(8, 18, True), **every_minute(22, 30, False)}
    check_firing("PealSettlementsFailing", series, expected, tmp_path)


def test_the_rules_are_valid_and_each_has_its_cause_here():
    checked = promtool("check", "rules", RULES)
    assert checked.returncode == 0, checked.stdout + checked.stderr
    alerts = set(re.findall(r"alert: (\w+)", RULES.read_text()))
    with open(__file__) as file:
        assert set(re.findall(r'fires\("(\w+)"', file.read())) == alerts
