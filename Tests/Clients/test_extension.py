"""The SDK's notification service extension, compiled against stubs of Apple's classes and run with real downloads."""

import json
import pathlib
import shutil
import subprocess
import sys
import time

import pytest
from local_server import Handler, Server
from test_sdk_sources import run

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "SDK" / "Sources" / "PealNotifications"
HERE = pathlib.Path(__file__).with_name("extension")
SETTINGS = ["-swift-version", "6", "-enable-upcoming-feature", "ExistentialAny"]
SETTINGS += ["-enable-upcoming-feature", "InternalImportsByDefault"]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("swiftc") is None, reason="Apple's own framework is there, or no compiler"
)


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    """The extension in a program."""
    folder = tmp_path_factory.mktemp("extension")
    framework = ["-emit-module", "-emit-library", "-parse-as-library", "-module-name", "UserNotifications"]
    run(folder, "swiftc", *framework, "-static", "-o", "libUserNotifications.a", str(HERE / "UserNotifications.swift"))
    files = [*sorted(SOURCES.glob("*.swift")), HERE / "main.swift"]
    run(folder, "swiftc", *SETTINGS, "-I", ".", "-L", ".", "-lUserNotifications", "-o", "push", *map(str, files))
    return folder / "push"


@pytest.fixture(scope="module")
def images():
    class Images(Handler):
        def do_GET(self):
            if "slow" in self.path:
                time.sleep(3)
            self.answer(404 if "missing" in self.path else 200, b"image")

    server = Server(Images)
    yield f"http://127.0.0.1:{server.server_port}"
    server.stop()


@pytest.mark.parametrize(
    "path, key, end, shown",
    [
        ("/cat.jpg", "1234567890abcdef", None, "1234567890abcdef.jpg 1234567890abcdef.jpg"),
        ("/cat", "k", None, "k.jpg k.jpg"),
        ("/cat.png?size=2", "a/b", None, "a_b.png a_b.png"),
        ("/missing.jpg", "k", None, ""),
        ("/slow.jpg", "k", "0.3", ""),
        ("/cat.jpg", "k", "1.5", "k.jpg k.jpg"),
        # A subclass that was delayed begins when the time is over.
        ("/slow.jpg", "k", "-1", ""),
        (None, "k", None, ""),
        ("/cat.jpg", None, None, "request-1.jpg request-1.jpg"),
    ],
)
def test_a_push_is_shown_once_with_its_image_if_it_comes_in_time(program, images, path, key, end, shown):
    info = {"aps": {"alert": "Hi"}}
    if path:
        info["ctx_image_url"] = images + path
    if key:
        info["ctx_idempotency_key"] = key
    ended = subprocess.run(
        [program, json.dumps(info), *([end] if end else [])],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1"},
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.splitlines() == [f"shown {shown}"]
