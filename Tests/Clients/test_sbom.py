"""`make sbom`: valid CycloneDX by the standard's own schema, complete, and the same each time."""

import json
import pathlib
import shutil
import subprocess
import sys

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "Scripts" / "sbom.py"


def write_sbom(path):
    subprocess.run([sys.executable, str(SCRIPT), str(path)], check=True, stdin=subprocess.DEVNULL, timeout=300)
    return path.read_text()


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    return write_sbom(tmp_path_factory.mktemp("sbom") / "sbom.json")


@pytest.fixture(scope="module")
def sbom(text):
    return json.loads(text)


def flat(components):
    return [part for item in components for part in [item, *flat(item.get("components", []))]]


def test_validates_against_the_schema(text):
    assert JsonStrictValidator(SchemaVersion.V1_5).validate_str(text) is None


def test_lists_every_resolved_package_and_no_other(sbom):
    pins = json.loads((ROOT / "Package.resolved").read_text())["pins"]
    resolved = {pin["identity"]: pin["state"]["version"] for pin in pins}
    listed = {
        item["name"]: item["version"] for item in sbom["components"] if item["purl"].startswith("pkg:swift/")}
    assert listed == resolved


def test_lists_the_libraries_that_peal_links(sbom):
    names = {item["name"] for item in sbom["components"]}
    assert {"libsqlite3-0", "zlib1g", "swift-runtime"} <= names


def test_every_component_has_a_licence_and_a_package_url(sbom):
    for item in flat(sbom["components"]):
        assert item["licenses"], item["name"]
        assert item["purl"].startswith("pkg:"), item["name"]
        assert item.get("version") or not shutil.which("dpkg-query"), item["name"]


def test_every_component_is_reachable_from_peal(sbom):
    edges = {item["ref"]: item["dependsOn"] for item in sbom["dependencies"]}
    reached, waiting = set(), [sbom["metadata"]["component"]["bom-ref"]]
    while waiting:
        reference = waiting.pop()
        if reference not in reached:
            reached.add(reference)
            waiting += edges[reference]
    assert reached == {"peal"} | {item["bom-ref"] for item in flat(sbom["components"])}


def test_is_the_same_each_time(text, tmp_path):
    assert write_sbom(tmp_path / "again.json") == text
