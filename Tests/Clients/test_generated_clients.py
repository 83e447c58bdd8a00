"""Clients in TypeScript and Go that OpenAPI Generator makes from the running server's document. Each is compiled as it
is, and a program of a page creates an app, registers a device and sends with it."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
from doc_examples import examples
from openapi_fixture import OpenAPIFixture

PROGRAMS = pathlib.Path(__file__).parent / "generated"
GENERATOR = pathlib.Path(sys.executable).parent / "openapi-generator-cli"
# The generated code needs this package of other authors, which Debian does not have. It checks patterns when an answer
# may be one of several types, and the server is the one that is trusted here.
VALIDATOR = "package validator\n\n// Validate accepts everything.\nfunc Validate(v interface{}) error { return nil }\n"


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    fixture = OpenAPIFixture(tmp_path_factory.mktemp("clients"))
    yield fixture
    fixture.stop()


def run(*command, cwd, environment=None):
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**os.environ, **(environment or {})}, capture_output=True,
        text=True, timeout=600,
    )
    assert result.returncode == 0, f"{command}:\n{(result.stdout + result.stderr)[-4000:]}"
    return result.stdout


def generate(fixture, directory, generator, **properties):
    """Generates a client of the native API into `directory`."""
    (native,) = (block.text for block in examples("docs/openapi.md", "jq"))
    (directory / "openapi.json").write_text(json.dumps(fixture.document()))
    document = directory / "native.json"
    document.write_text(run("jq", native, "openapi.json", cwd=directory))
    text = ",".join(f"{name}={value}" for name, value in properties.items())
    command = [GENERATOR, "generate", "-i", document, "-g", generator, "-o", directory / "client"]
    run(*command, "--additional-properties", text, cwd=directory)
    return directory / "client"


def environment(fixture):
    apns = fixture.urls["apns"]
    return {
        "PEAL_URL": fixture.peal.url, "PEAL_TOKEN": fixture.peal.admin_token, "BUNDLE_ID": apns["bundle_id"],
        "KEY_ID": apns["key_id"], "TEAM_ID": apns["team_id"], "PRIVATE_KEY": fixture.simulator.private_key,
    }


def check(fixture, printed, address):
    facts = json.loads(printed)
    assert facts["kind"] == "token" and facts["device"]
    assert (facts["user"], facts["topics"], facts["accepted"]) == ("ann", ["news"], 1)
    (item,) = fixture.simulator.inbox(f"?device={address}")
    assert item["payload"]["aps"]["alert"]["title"] == "Hello"


def test_typescript(fixture, tmp_path):
    client = generate(fixture, tmp_path, "typescript-fetch", supportsES6="true", importFileExtension=".js")
    shutil.copy(PROGRAMS / "main.ts", client)
    # TypeScript 4.8, Debian's, does not narrow `name in value`, which 4.9 does: hence the last option.
    options = "--strict --target es2020 --module es2020 --moduleResolution node --lib es2020,dom".split()
    run("tsc", *options, "--suppressImplicitAnyIndexErrors", "--outDir", tmp_path / "built", "main.ts", cwd=client)
    (tmp_path / "built" / "package.json").write_text('{"type": "module"}')
    check(fixture, run("node", "main.js", cwd=tmp_path / "built", environment=environment(fixture)), "cd" * 32)


def test_go(fixture, tmp_path):
    # By default, the generated code refuses answers with members that the document does not name.
    client = generate(
        fixture, tmp_path, "go", packageName="peal", enumClassPrefix="true",
        disallowAdditionalPropertiesIfNotPresent="false",
    )
    # Without a module proxy, the checksums of modules are of no use.
    shutil.rmtree(client / "test", ignore_errors=True)
    (client / "go.sum").unlink(missing_ok=True)
    (client / "go.mod").write_text("module peal.example/peal\n\ngo 1.19\n")
    for name, files in {
        "validator": {"go.mod": "module gopkg.in/validator.v2\n\ngo 1.19\n", "validator.go": VALIDATOR},
        "program": {
            "go.mod": "module peal.example/program\n\ngo 1.19\n",
            "main.go": (PROGRAMS / "main.go.txt").read_text(),
        },
    }.items():
        (tmp_path / name).mkdir()
        for file, text in files.items():
            (tmp_path / name / file).write_text(text)
    (tmp_path / "go.work").write_text("go 1.19\n\nuse (\n\t./client\n\t./program\n\t./validator\n)\n")
    offline = {"GOPROXY": "off", "GOFLAGS": "", "GOCACHE": str(tmp_path / "cache"), "GOPATH": str(tmp_path / "go")}
    offline["GOWORK"] = str(tmp_path / "go.work")
    run("go", "vet", ".", cwd=client, environment=offline)
    run("go", "build", "-o", tmp_path / "sends", ".", cwd=tmp_path / "program", environment=offline)
    check(fixture, run(tmp_path / "sends", cwd=tmp_path, environment=environment(fixture)), "ce" * 32)
