"""The examples of docs/api/native.md, run against `peal` and the simulator."""

import json
import secrets

from doc_examples import run_examples


def test_the_examples_of_the_page_work(simulate, serve, tmp_path):
    simulator = simulate()
    apns = simulator.description["apns"]
    peal = serve(simulator.environment)
    variables = {
        "PEAL": f"{peal.url}/peal/v1",
        "TOKEN": peal.admin_token,
        "KEY_FILE": apns["private_key_file"],
        "KEY_ID": apns["key_id"],
        "TEAM_ID": apns["team_id"],
        "BUNDLE_ID": apns["bundle_id"],
        "DEVICE_TOKEN": secrets.token_hex(32),
    }
    outputs = run_examples("docs/api/native.md", variables, tmp_path)
    assert '"result":"accepted"' in outputs[1]
    (trail,) = [output for output in outputs if '"matched"' in output]
    assert json.loads(trail)["items"][0]["event"] == "matched"
    app = peal.get("/apps")["items"][0]["id"]
    assert len(peal.get(f"/apps/{app}/messages")["items"]) == 4
