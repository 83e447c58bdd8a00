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


@pytest.mark.skipif(shutil.which("tsc") is None, reason="TypeScript is not installed")
def test_the_declarations_for_typescript_are_those_of_the_page(tmp_path):
    """`peal.d.ts` against what TypeScript reads in the comments of `peal.js`, in both directions."""
    for name in ["peal.js", "peal.d.ts"]:
        folder = tmp_path / name.replace(".", "-")
        folder.mkdir()
        shutil.copy(WEB / name, folder)
    names = ["ConnectOptions", "Connection", "PealError"]
    same = [f"export const from{name} = (given: Required<js.{name}>): Required<ts.{name}> => given;" for name in names]
    back = [f"export const to{name} = (given: Required<ts.{name}>): Required<js.{name}> => given;" for name in names]
    (tmp_path / "compare.ts").write_text("\n".join([
        'import * as js from "./peal-js/peal.js"; import * as ts from "./peal-d-ts/peal.js";',
        "export const values: typeof ts = js, declared: typeof js = ts;", *same, *back]))
    options = ["--noEmit", "--allowJs", "--strict", "--target", "es2022", "--module", "es2022"]
    ended = subprocess.run(
        ["tsc", *options, "--lib", "es2022,dom", "compare.ts"], cwd=tmp_path, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stdout


def test_the_worker_has_no_imports_or_exports():
    assert not re.search(r"^\s*(import|export)\b", (WEB / "peal-worker.js").read_text(), re.MULTILINE)
