"""The SDK's code for Apple's frameworks, type-checked against stubs, and its documentation, built by DocC."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = ROOT / "SDK" / "Sources"
STUBS = pathlib.Path(__file__).with_name("extension") / "full"
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


def compile_all(folder, *modules, sources=SOURCES):
    for module in modules:
        files = sorted(map(str, (sources / module).glob("*.swift")))
        run(folder, "swiftc", *SETTINGS, "-I", ".", "-wmo", "-emit-module", "-module-name", module, *files)


def compile_stubs(folder, *frameworks):
    for framework in frameworks:
        options = ["-emit-module", "-parse-as-library", "-swift-version", "6", "-I", ".", "-module-name", framework]
        run(folder, "swiftc", *options, str(STUBS / f"{framework}.swift"))


def sources_for(system, folder):
    """The sources with the conditions that hold on one of Apple's systems."""

    def condition(line):
        if not line.strip().startswith(("#if", "#elseif")):
            return line
        return re.sub(r"os\((\w+)\)", lambda name: "true" if name[1] == system else "false", line)

    for file in SOURCES.rglob("*.swift"):
        copy = folder / file.relative_to(SOURCES)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text("\n".join(map(condition, file.read_text().split("\n"))))
    return folder


@pytest.mark.parametrize(
    "system,frameworks", [("macOS", []), ("iOS", ["UIKit", "CoreMotion", "AVFAudio", "Network"]), ("tvOS", ["UIKit"])]
)
def test_code_for_apples_frameworks_fits_them(tmp_path, system, frameworks):
    compile_stubs(tmp_path, "UserNotifications", *frameworks)
    modules = ["PealWire", "PealMoments", "PealDevice", "PealNotifications", "PealSDK", "PealExtension"]
    compile_all(tmp_path, *modules, sources=sources_for(system, tmp_path / "sources"))


@pytest.mark.parametrize("system,folder", [("iOS", ".local/share/Peal"), ("tvOS", ".cache/Peal")])
def test_an_apple_tv_keeps_its_ledger_where_it_may_write(tmp_path, system, folder):
    """Apps cannot write to Application Support there, which only a real Apple TV shows."""
    file = sources_for(system, tmp_path / "sources") / "PealDevice" / "DeviceFolder.swift"
    (tmp_path / "main.swift").write_text("import Foundation\nprint(DeviceFolder.own.path)\n")
    settings = [option for option in SETTINGS if option != "-parse-as-library"]
    run(tmp_path, "swiftc", *settings, "-o", "own", "main.swift", str(file))
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    shown = subprocess.run([tmp_path / "own"], env=environment, capture_output=True, text=True, timeout=60)
    assert shown.stdout.strip().endswith(f"/{folder}"), shown


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
