"""curl and h2load use the simulator as an HTTP/2 server."""

import json
import pathlib
import re
import shutil
import socket
import subprocess
import time
import urllib.parse

import jwt
import pytest
from peal_simulator import PROGRAM

DEVICE = "5e" * 32
H2LOAD_MISSING = "h2load is missing: apt-get install nghttp2-client"


def provider_token(simulator):
    apns = simulator.description["apns"]
    return jwt.encode(
        {"iss": apns["team_id"], "iat": int(time.time())}, simulator.private_key, "ES256", {"kid": apns["key_id"]}
    )


def headers(simulator):
    return [
        f"authorization: bearer {provider_token(simulator)}",
        f"apns-topic: {simulator.description['apns']['bundle_id']}",
        "apns-push-type: alert",
        "apns-priority: 10",
    ]


def options(simulator):
    return [part for header in headers(simulator) for part in ("-H", header)]


def curl(simulator, path, body, *arguments):
    """Sends one request; returns the status, the answer's headers and its body."""
    url = simulator.description["apns_url"] + path
    command = ["curl", "-sS", "--http2", "--cacert", simulator.ca_file, "-i", "-X", "POST", url, "-d", body]
    out = subprocess.run([*command, *arguments], capture_output=True, text=True, check=True, timeout=60).stdout
    head, _, answer = out.replace("\r", "").partition("\n\n")
    lines = head.split("\n")
    assert lines[0].startswith("HTTP/2 ")
    return int(lines[0].split()[1]), dict(line.split(": ", 1) for line in lines[1:]), answer


def test_curl_is_accepted_and_gets_an_id(either_mode):
    body = '{"aps":{"alert":"Grüße"}}'
    status, answer, text = curl(either_mode, f"/3/device/{DEVICE}", body, *options(either_mode))
    assert (status, text) == (200, "")
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", answer["apns-id"])
    (item,) = either_mode.inbox()
    assert (item["device"], item["apns_id"]) == (DEVICE, answer["apns-id"])
    assert item["payload"] == json.loads(body)


def test_curl_reads_the_reason_of_a_fault(either_mode):
    either_mode.fault(DEVICE, {"status": 503, "reason": "ServiceUnavailable"})
    status, _, text = curl(either_mode, f"/3/device/{DEVICE}", "{}", *options(either_mode))
    assert (status, json.loads(text)) == (503, {"reason": "ServiceUnavailable"})


def test_curl_without_a_provider_token_is_refused(simulate):
    status, _, text = curl(simulate(), f"/3/device/{DEVICE}", "{}")
    assert (status, json.loads(text)) == (403, {"reason": "MissingProviderToken"})


def test_curl_with_a_body_of_a_megabyte_is_refused(either_mode, tmp_path):
    large = tmp_path / "large"
    large.write_bytes(b"x" * (1 << 20))
    status, _, text = curl(either_mode, f"/3/device/{DEVICE}", f"@{large}", *options(either_mode))
    assert (status, json.loads(text)) == (413, {"reason": "PayloadTooLarge"})


def test_curl_over_http_1_gets_no_answer(either_mode):
    url = either_mode.description["apns_url"] + f"/3/device/{DEVICE}"
    command = ["curl", "-sS", "--http1.1", "--no-alpn", "--cacert", either_mode.ca_file, "-m", "5", url, "-d", "{}"]
    assert subprocess.run(command, capture_output=True, timeout=60).returncode != 0
    assert either_mode.summary()["received"] == 0


@pytest.mark.skipif(shutil.which("h2load") is None, reason=H2LOAD_MISSING)
@pytest.mark.parametrize("streams", [1, 50])
def test_h2load_gets_every_answer(either_mode, tmp_path, streams):
    requests, devices = 2_000, 500
    base = either_mode.description["apns_url"] + "/3/device/"
    (tmp_path / "uris").write_text("".join(f"{base}{number:064x}\n" for number in range(devices)))
    (tmp_path / "body").write_text('{"aps":{"alert":"Seminar"}}')
    command = ["h2load", "-i", tmp_path / "uris", "-n", str(requests), "-c", "4", "-m", str(streams)]
    command += ["-d", tmp_path / "body", *options(either_mode)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"{requests} succeeded, 0 failed, 0 errored" in out, out
    summary = either_mode.summary()
    assert (summary["accepted"], summary["devices"], summary["refused"]) == (requests, devices, {})


def fcm_access_token(simulator):
    """Exchanges an assertion for an access token, as Google's clients do."""
    account = json.loads(pathlib.Path(simulator.description["fcm"]["service_account_file"]).read_text())
    now = int(time.time())
    claims = {"iss": account["client_email"], "aud": account["token_uri"], "iat": now, "exp": now + 3_600}
    claims["scope"] = "https://www.googleapis.com/auth/firebase.messaging"
    assertion = jwt.encode(claims, account["private_key"], "RS256", {"kid": account["private_key_id"]})
    command = ["curl", "-sS", "--http2", "--cacert", simulator.ca_file, account["token_uri"]]
    command += ["--data-urlencode", "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer"]
    command += ["--data-urlencode", f"assertion={assertion}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return json.loads(out)["access_token"]


def fcm_url(simulator):
    return simulator.description["fcm_url"] + "/v1/projects/peal-demo/messages:send"


@pytest.mark.parametrize("version", ["--http2", "--http1.1"])
def test_curl_sends_to_fcm(either_mode, version):
    body = {"message": {"token": "a:b", "notification": {"title": "Grüße"}}}
    command = ["curl", "-sS", version, "--cacert", either_mode.ca_file, fcm_url(either_mode), "-d", json.dumps(body)]
    command += ["-H", f"authorization: Bearer {fcm_access_token(either_mode)}", "-w", "%{http_version} %{http_code}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert out.startswith('{"name":"projects/') and out.endswith({"--http2": "}2 200", "--http1.1": "}1.1 200"}[version])
    (item,) = either_mode.inbox("?provider=fcm&device=a:b")
    assert item["payload"] == body["message"]


@pytest.mark.skipif(shutil.which("h2load") is None, reason=H2LOAD_MISSING)
def test_h2load_gets_every_answer_of_fcm(either_mode, tmp_path):
    requests = 2_000
    (tmp_path / "body").write_text('{"message":{"token":"a","data":{"b":"c"}}}')
    command = ["h2load", fcm_url(either_mode), "-n", str(requests), "-c", "2", "-m", "50", "-d", tmp_path / "body"]
    command += ["-H", f"authorization: Bearer {fcm_access_token(either_mode)}"]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    assert f"{requests} succeeded, 0 failed, 0 errored" in out, out
    assert either_mode.summary()["by_provider"]["fcm"]["accepted"] == requests


@pytest.mark.parametrize("signalled_mode", ["strict", "fast"])
def test_the_program_ends_cleanly(simulate, signalled_mode):
    simulator = simulate("--mode", signalled_mode)
    assert simulator.stop() == 0


def test_the_program_ends_although_a_client_says_nothing(simulate):
    simulator = simulate()
    address = urllib.parse.urlsplit(simulator.description["fcm_url"])
    with socket.create_connection((address.hostname, address.port), timeout=10):
        assert simulator.control("GET", "/healthz")[0] == 200
        assert simulator.stop() == 0


def test_a_wrong_script_stops_the_start(tmp_path):
    script = tmp_path / "script.yaml"
    script.write_text("rules:\n  - match: {rate: 2}\n    status: 503\n")
    command = [PROGRAM, "--directory", tmp_path / "simulator", "--script", script]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode != 0
    assert "rules[0].match.rate" in run.stderr
    assert not pathlib.Path(tmp_path / "simulator" / "simulator.json").exists()
