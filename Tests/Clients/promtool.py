"""Finds promtool: installed, or from Debian's package, which is unpacked and not installed because it starts a server."""

import shutil
import subprocess

import pytest
from peal_server import ROOT

FOLDER = ROOT / ".build" / "promtool"


def promtool(*arguments, **options):
    """Runs promtool. Skips the test when there is none."""
    unpacked = FOLDER / "usr/bin/promtool"
    if shutil.which("promtool") is None and not unpacked.exists():
        unpack()
    program = shutil.which("promtool") or unpacked
    return subprocess.run([program, *arguments], text=True, capture_output=True, timeout=60, **options)


def unpack():
    FOLDER.mkdir(parents=True, exist_ok=True)
    if shutil.which("apt-get") is None or subprocess.run(
            ["apt-get", "download", "prometheus"], cwd=FOLDER, capture_output=True).returncode != 0:
        pytest.skip("promtool is not installed")
    subprocess.run(["dpkg", "--extract", next(FOLDER.glob("prometheus_*.deb")), FOLDER], check=True)
