"""A client that `openapi-python-client` generates from the running server's document: without a warning, with every
operation and every model, and good enough to send a message with nothing else."""

import importlib
import pkgutil
import subprocess
import sys
import time

import pytest
from openapi_fixture import OpenAPIFixture

PACKAGE = "generated_peal"


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    fixture = OpenAPIFixture(tmp_path_factory.mktemp("generated"))
    yield fixture
    fixture.stop()


@pytest.fixture(scope="module")
def generated(fixture, tmp_path_factory):
    """What the generator printed, and the package that it made."""
    directory = tmp_path_factory.mktemp("client")
    document, settings = directory / "openapi.json", directory / "settings.yml"
    document.write_bytes(fixture.document_bytes())
    settings.write_text(f"package_name_override: {PACKAGE}\npost_hooks: []\n")
    command = [sys.executable, "-m", "openapi_python_client", "generate", "--path", str(document)]
    command += ["--config", str(settings), "--meta", "none", "--output-path", str(directory / PACKAGE)]
    result = subprocess.run([*command, "--fail-on-warning"], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    sys.path.insert(0, str(directory))
    yield importlib.import_module(PACKAGE), result.stdout + result.stderr
    sys.path.remove(str(directory))


def modules(package):
    """Every module of the package, imported."""
    found = pkgutil.walk_packages(package.__path__, package.__name__ + ".")
    return {name: importlib.import_module(name) for _, name, _ in found}


def squeezed(name):
    return "".join(letter for letter in name if letter.isalnum()).lower()


def test_the_generator_gives_no_warning(generated):
    assert "WARNING" not in generated[1].upper()


def test_every_operation_can_be_called(fixture, generated):
    made = {squeezed(name.split(".")[-1]) for name in modules(generated[0]) if ".api." in name}
    operations = [operation for item in fixture.document()["paths"].values() for operation in item.values()]
    assert {squeezed(operation["operationId"]) for operation in operations} - made == set()


def test_every_object_and_enumeration_is_a_model(fixture, generated):
    models = importlib.import_module(f"{PACKAGE}.models")
    made = {squeezed(name) for name in models.__all__}
    components = fixture.document()["components"]["schemas"]
    wanted = {
        squeezed(name)
        for name, schema in components.items()
        if "enum" in schema or "properties" in schema or schema.get("type") == "object"
    }
    assert wanted - made == set()


def test_it_sends_a_message(fixture, generated):
    client = importlib.import_module(PACKAGE).AuthenticatedClient(
        base_url=fixture.peal.url, token=fixture.peal.admin_token, raise_on_unexpected_status=True
    )
    models = importlib.import_module(f"{PACKAGE}.models")
    api = {name.split(".")[-1]: module for name, module in modules(generated[0]).items() if ".api." in name}
    apns = fixture.urls["apns"]

    app = api["create_app"].sync(
        client=client, body=models.NativeAppDraft(name="Generated", bundle_id=apns["bundle_id"])
    )
    assert isinstance(app, models.NativeApp)
    credential = models.NativeAPNsToken(
        kind="token",
        key_id=apns["key_id"],
        team_id=apns["team_id"],
        private_key=fixture.simulator.private_key,
        bundle_id=apns["bundle_id"],
    )
    put = api["put_ap_ns_credential"].sync(app.id, models.NativeEnvironment("production"), client=client, body=credential)
    assert put.kind == "token"
    device = api["create_device"].sync(
        app.id,
        client=client,
        body=models.NativeDeviceWithID(platform=models.NativePlatform("ios"), address="cd" * 32, user_id="ann"),
    )
    assert isinstance(device, models.NativeDevice)
    draft = models.NativeMessageDraft(
        audience=models.NativeAudience(users=["ann"]),
        content=models.NativeContent(title="Hello", body=models.NativeTexts.from_dict({"en": "From a client"})),
        options=models.NativeOptions(ttl_seconds=600),
    )
    accepted = api["send_message"].sync(app.id, client=client, body=draft)
    assert accepted.audience_estimate == 1
    end = time.monotonic() + 30
    while True:
        message = api["get_message"].sync(app.id, accepted.id, client=client)
        if message.state == models.NativeMessageState("sent"):
            break
        assert time.monotonic() < end, message
        time.sleep(0.05)
    assert message.counts.accepted == 1
