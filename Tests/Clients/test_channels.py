"""curl manages broadcast channels, and sends to them."""

import json
import subprocess
import uuid

import pytest
from test_commands import provider_token

UPDATE = '{"aps":{"event":"update","timestamp":1,"content-state":{"score":"2:1"}}}'


def curl(simulator, method, url, body=None, *headers):
    """Sends one request over HTTP/2; returns the status, the answer's headers and its body."""
    command = ["curl", "-sS", "--http2", "--cacert", simulator.ca_file, "-i", "-X", method, url]
    command += ["-H", f"authorization: bearer {provider_token(simulator)}"] + (["-d", body] if body else [])
    command += [part for header in headers for part in ("-H", header)]
    out = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    head, _, answer = out.replace("\r", "").partition("\n\n")
    lines = head.split("\n")
    assert lines[0].startswith("HTTP/2 ")
    fields = dict(line.split(": ", 1) for line in lines[1:])
    return int(lines[0].split()[1]), fields, json.loads(answer) if answer else None


@pytest.mark.parametrize("prefix", ["apns", "apns_sandbox"])
def test_the_life_of_a_channel(simulate, prefix):
    simulator = simulate()
    management = simulator.description[f"{prefix}_management_url"] + "/1/apps/com.example.demo"
    body = '{"message-storage-policy": 1, "push-type": "LiveActivity"}'
    request = str(uuid.uuid4())
    status, fields, _ = curl(simulator, "POST", f"{management}/channels", body, f"apns-request-id: {request}")
    assert (status, fields["apns-request-id"]) == (201, request)
    channel = f"apns-channel-id: {fields['apns-channel-id']}"
    policy = {"message-storage-policy": 1, "push-type": "LiveActivity"}
    assert curl(simulator, "GET", f"{management}/channels", None, channel)[::2] == (200, policy)
    assert curl(simulator, "GET", f"{management}/all-channels")[2] == {"channels": [fields["apns-channel-id"]]}

    send = simulator.description[f"{prefix}_url"] + "/4/broadcasts/apps/com.example.demo"
    headers = [channel, "apns-push-type: liveactivity", "apns-priority: 10", "apns-expiration: 0"]
    assert curl(simulator, "POST", send, UPDATE, *headers)[0] == 200
    (item,) = simulator.inbox()
    assert (item["device"], item["channel"], item["payload"]) == (
        fields["apns-channel-id"], True, json.loads(UPDATE),
    )

    assert curl(simulator, "DELETE", f"{management}/channels", None, channel)[0] == 204
    status, _, answer = curl(simulator, "POST", send, UPDATE, *headers)
    assert (status, answer) == (400, {"reason": "ChannelNotRegistered"})


def test_a_broadcast_of_the_fast_mode_is_accepted(simulate):
    simulator = simulate("--mode", "fast")
    url = simulator.description["apns_url"] + "/4/broadcasts/apps/com.example.demo"
    assert curl(simulator, "POST", url, UPDATE)[0] == 200
    management = simulator.description["apns_management_url"] + "/1/apps/com.example.demo/channels"
    body = '{"message-storage-policy": 0, "push-type": "LiveActivity"}'
    assert curl(simulator, "POST", management, body)[0] == 201
