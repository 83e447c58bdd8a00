"""The SDK's code for Apple's frameworks, type-checked against stubs, and its documentation, built by DocC."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "SDK" / "Sources"
STUB = pathlib.Path(__file__).with_name("extension") / "full" / "UserNotifications.swift"
# As in SDK/Package.swift.
SETTINGS = ["-swift-version", "6", "-parse-as-library", "-package-name", "peal-sdk", "-warnings-as-errors"]
for feature in ["ExistentialAny", "InternalImportsByDefault", "MemberImportVisibility"]:
    SETTINGS += ["-enable-upcoming-feature", feature]

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("swiftc") is None, reason="Apple's own framework is there, or no compiler"
)


def run(folder, *arguments):
    # The compiler leaves a temporary folder behind.
    environment = {**os.environ, "TMPDIR": str(folder)}
    ended = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
    assert ended.returncode == 0, ended.stdout + ended.stderr


def compile_all(folder, *modules):
    for module in modules:
        files = sorted(map(str, (SOURCES / module).glob("*.swift")))
        run(folder, "swiftc", *SETTINGS, "-I", ".", "-emit-module", "-module-name", module, *files)


def test_code_for_apples_frameworks_fits_them(tmp_path):
    stub = ["-emit-module", "-parse-as-library", "-module-name", "UserNotifications", str(STUB)]
    run(tmp_path, "swiftc", *stub)
    compile_all(tmp_path, "PealWire", "PealMoments", "PealDevice", "PealNotifications", "PealSDK", "PealExtension")


def test_the_watch_uses_no_sound_of_the_apps_own():
    """`UNNotificationSound(named:)` is unavailable on watchOS, which no compiler here can check."""
    for file in SOURCES.rglob("*.swift"):
        watches = [True]
        for line in file.read_text().splitlines():
            words = line.split()
            if words[:1] == ["#if"]:
                watches.append(watches[-1] and words[1:] != ["!os(watchOS)"] and words[1:] != ["os(iOS)"])
                condition = words[1:]
            elif words == ["#else"]:
                watches[-1] = watches[-2] and condition != ["os(watchOS)"]
            elif words == ["#endif"]:
                watches.pop()
            assert not (watches[-1] and "UNNotificationSound(named:" in line), f"{file}: {line}"


@pytest.mark.skipif(shutil.which("docc") is None, reason="the toolchain has no DocC")
def test_the_documentation_builds_without_warnings(tmp_path):
    compile_all(tmp_path, "PealWire", "PealMoments", "PealDevice")
    (tmp_path / "graphs").mkdir()
    graph = ["-emit-symbol-graph", "-emit-symbol-graph-dir", "graphs"]
    files = sorted(map(str, (SOURCES / "PealSDK").glob("*.swift")))
    run(tmp_path, "swiftc", *SETTINGS, "-I", ".", "-emit-module", *graph, "-module-name", "PealSDK", *files)
    catalogue = str(SOURCES / "PealSDK" / "PealSDK.docc")
    names = ["--fallback-display-name", "PealSDK", "--fallback-bundle-identifier", "peal.sdk"]
    run(tmp_path, "docc", "convert", catalogue, "--additional-symbol-graph-dir", "graphs", *names,
        "--warnings-as-errors", "--output-dir", "out.doccarchive")
    assert (tmp_path / "out.doccarchive" / "data" / "documentation" / "pealsdk" / "peal.json").exists()
