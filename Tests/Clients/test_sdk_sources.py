"""The SDK's code for Apple's frameworks, type-checked against stubs, and its documentation, built by DocC."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import threading

import pytest
from local_server import Handler, Server

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


@pytest.mark.parametrize(
    "system,folder", [("iOS", ".local/share/Peal"), ("tvOS", ".cache/Peal"), ("macOS", ".local/share/own/Peal")]
)
def test_the_ledger_is_where_only_this_app_may_write(tmp_path, system, folder):
    """On a real Apple TV, apps cannot write to Application Support. On a Mac, apps without a sandbox share it."""
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


def test_no_request_uses_the_shared_session():
    """On Apple's systems it stores cookies and responses, by which the host of an image could recognize the device."""
    for file in SOURCES.rglob("*.swift"):
        assert "URLSession.shared" not in file.read_text(), file


EXCHANGE = """import Foundation
let exchange = URLSessionExchange(timeoutSeconds: 20, bytesMax: 1_000_000, redirects: .refused)
for path in CommandLine.arguments.dropFirst(2) {
    let request = HTTPRequest("POST", URL(string: CommandLine.arguments[1] + path)!, body: Data("hello".utf8))
    let sending = Task {
        if path == "/early" { withUnsafeCurrentTask { $0?.cancel() } }
        return try await exchange.send(request)
    }
    if path == "/silent" { Task { try await Task.sleep(nanoseconds: 200_000_000); sending.cancel() } }
    do {
        let answer = try await sending.value
        print(path, answer.status, answer.body.count, answer.headers["x-echo"] ?? "-")
    } catch { print(path, (error as? URLError)?.code == .cancelled ? "cancelled" : "none") }
}
"""


def test_a_response_that_is_too_large_is_not_loaded(tmp_path):
    """A phone has little memory in the background, and an extension still less."""
    sent, ended = {}, threading.Event()

    class Echo(Handler):
        # An answer without a length ends with the connection.
        protocol_version = "HTTP/1.0"

        def do_POST(self):
            echo = self.body().decode()
            size = {"/declared": 1_000_000_000, "/endless": 1_000_000_000, "/whole": 1_000_000}.get(self.path, 0)
            if self.path == "/silent":
                ended.wait(20)
                return
            self.send_response(302 if self.path == "/moved" else 200)
            self.send_header("x-echo", echo)
            self.send_header("location", "/whole")
            if self.path != "/endless":
                self.send_header("content-length", str(size))
            self.end_headers()
            sent[self.path] = 0
            try:
                while sent[self.path] < size:
                    sent[self.path] += self.wfile.write(bytes(min(50_000, size - sent[self.path])))
            except ConnectionError:
                pass

    (tmp_path / "main.swift").write_text(EXCHANGE)
    settings = [option for option in SETTINGS if option != "-parse-as-library"]
    run(tmp_path, "swiftc", *settings, "-o", "load", "main.swift", str(SOURCES / "PealDevice" / "HTTPExchange.swift"))
    server = Server(Echo)
    paths = ["/small", "/declared", "/endless", "/whole", "/moved", "/silent", "/early"]
    shown = subprocess.run(
        [tmp_path / "load", f"http://127.0.0.1:{server.server_port}", *paths],
        env={"PATH": "/usr/bin:/bin", "NO_PROXY": "127.0.0.1"}, capture_output=True, text=True, timeout=120)
    ended.set()
    server.stop()
    assert shown.stdout.splitlines() == [
        "/small 200 0 hello", "/declared none", "/endless none", "/whole 200 1000000 hello", "/moved 302 0 hello",
        "/silent cancelled", "/early cancelled",
    ], shown
    # The rest had been sent before the connection was closed.
    assert sent["/declared"] < 500_000_000 and sent["/endless"] < 500_000_000, sent


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
