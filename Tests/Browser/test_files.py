"""The files that the server delivers, against what the documents say of them."""

import base64
import hashlib
import re
import shutil
import subprocess

import pytest
from device_server import ROOT, WEB

DOCUMENT = (ROOT / "docs" / "api" / "device.md").read_text()


@pytest.mark.parametrize("name", ["peal.js", "peal-worker.js"])
def test_the_integrity_hash_is_documented(name):
    digest = base64.b64encode(hashlib.sha384((WEB / name).read_bytes()).digest()).decode()
    assert f"sha384-{digest}" in DOCUMENT, f"docs/api/device.md: the integrity of {name} is sha384-{digest}"


def test_the_versions_agree():
    version = re.search(r'version = "([\d.]+)"', (WEB / "peal.js").read_text())[1]
    swift = (ROOT / "SDK" / "Sources" / "PealSDK" / "Peal.swift").read_text()
    assert re.search(r'version = "([\d.]+)"', swift)[1] == version
    assert f"peal-{version}.js" in DOCUMENT and f"peal-worker-{version}.js" in DOCUMENT


@pytest.mark.skipif(shutil.which("tsc") is None, reason="TypeScript is not installed")
@pytest.mark.parametrize("name,library", [("peal.js", "dom"), ("peal-worker.js", "webworker")])
def test_the_types_are_right(name, library):
    options = ["--noEmit", "--allowJs", "--checkJs", "--strict", "--target", "es2022", "--lib", f"es2022,{library}"]
    ended = subprocess.run(["tsc", *options, str(WEB / name)], capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_the_worker_has_no_imports_or_exports():
    assert not re.search(r"^\s*(import|export)\b", (WEB / "peal-worker.js").read_text(), re.MULTILINE)
