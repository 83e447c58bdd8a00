#!/usr/bin/env python3
"""Tries the Debian package in a clean Debian: installs it, starts it and sends, upgrades, removes and purges it.

usage: Scripts/try_package.py [dist/peal_*.deb] [--suite bookworm] [--keep FOLDER]     as root

Makes the Debian with debootstrap in a temporary folder (network access and 1 GB of space), or in FOLDER, which it
keeps and uses again. The server and the simulator run inside it as the package's user. There is no systemd inside:
`systemd-analyze` checks the unit. Prints what holds, and exits with 1 at the first thing that does not.
"""
import argparse
import contextlib
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
MIRROR = "http://deb.debian.org/debian"
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    if done.returncode != 0:
        sys.exit(f"failed: {' '.join(map(str, command))}\n{done.stdout[-3000:]}")
    return done.stdout


def check(holds, text):
    if not holds:
        sys.exit(f"does not hold: {text}")
    print(f"holds: {text}", flush=True)


def wait_for(path, process, seconds=60):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            sys.exit(f"{process.args[-1]} ended with {process.returncode}")
        if path.exists() and path.read_text().strip():
            return path.read_text()
        time.sleep(0.05)
    sys.exit(f"{path} did not appear")


class Debian:
    """A folder with a Debian, whose programs run with that folder as their root."""

    def __init__(self, folder, suite):
        self.root = folder
        if not (folder / "etc/debian_version").exists():
            run("debootstrap", "--variant=minbase", suite, str(folder), MIRROR)
        # What an installer writes, but debootstrap does not.
        (folder / "etc/hosts").write_text("127.0.0.1 localhost\n::1 localhost\n")

    @contextlib.contextmanager
    def mounted(self):
        targets = [self.root / name for name in ("proc", "dev")]
        for target in targets:
            run("mount", "--bind", f"/{target.name}", str(target))
        try:
            yield
        finally:
            for target in targets:
                subprocess.run(["umount", str(target)])

    def run(self, *command):
        return run("chroot", str(self.root), "env", "-i", "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LC_ALL=C.UTF-8",
                   "DEBIAN_FRONTEND=noninteractive", *command)

    def succeeds(self, *command):
        return subprocess.run(["chroot", str(self.root), *command], capture_output=True).returncode == 0

    def start(self, environment, *command):
        """Starts a program as the package's user."""
        words = [f"{name}={value}" for name, value in environment.items()]
        with (self.root / "var/log/tried.log").open("a") as log:
            return subprocess.Popen(
                ["chroot", "--userspec=peal:peal", str(self.root), "env", "-i", "PATH=/usr/bin:/bin",
                 "HOME=/var/lib/peal", *words, *command], stdout=log, stderr=log)

    def install(self, package):
        target = self.root / "var/cache/peal.deb"
        shutil.copy(package, target)
        self.run("apt-get", "update", "-qq")
        # The answer to the question about a changed configuration file is the usual one: keep it.
        self.run("apt-get", "install", "-y", "--no-install-recommends", "-o", "Dpkg::Options::=--force-confold",
                 "/var/cache/peal.deb")
        target.unlink()

    def mode(self, path):
        return oct((self.root / path).stat().st_mode & 0o7777)

    def owner(self, path):
        return self.run("stat", "-c", "%U:%G", "/" + path).strip()


class Running:
    """The installed server and simulator."""

    def __init__(self, debian):
        self.folder = debian.root / "var/lib/peal"
        self.token = (debian.root / "etc/peal/environment").read_text().strip().split("=", 1)[1]
        # A simulator that is started again keeps its keys, so the stored credential stays valid.
        (self.folder / "sim/simulator.json").unlink(missing_ok=True)
        self.simulator = debian.start({}, "/usr/bin/peal-sim", "--directory", "/var/lib/peal/sim")
        self.sim = json.loads(wait_for(self.folder / "sim/simulator.json", self.simulator))
        (self.folder / "port").unlink(missing_ok=True)
        # As the unit does, but on a free port and with the simulator as push network.
        self.peal = debian.start(
            {"PEAL_ADMIN_TOKEN": self.token, "PEAL_HTTP_PORT": 0, "PEAL_HTTP_PORT_FILE": "/var/lib/peal/port",
             "PEAL_PROVIDERS_APNS_PRODUCTION_URL": self.sim["apns_url"],
             "PEAL_PROVIDERS_CA_FILE": self.sim["ca_file"]},
            "/usr/bin/peal", "serve", "--config", "/etc/peal/peal.yaml")
        self.url = f"http://127.0.0.1:{wait_for(self.folder / 'port', self.peal).strip()}"

    def call(self, method, path, body=None):
        request = urllib.request.Request(
            self.url + path, None if body is None else json.dumps(body).encode(), method=method,
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        with OPENER.open(request, timeout=30) as answer:
            text = answer.read()
        return json.loads(text) if "json" in answer.headers.get("Content-Type", "") else text.decode()

    def app(self, root):
        apns = self.sim["apns"]
        key = (root / apns["private_key_file"].lstrip("/")).read_text()
        app = self.call("POST", "/peal/v1/apps", {"name": "Tried"})["id"]
        self.call("PUT", f"/peal/v1/apps/{app}/credentials/apns/production", {
            "kind": "token", "key_id": apns["key_id"], "team_id": apns["team_id"], "bundle_id": apns["bundle_id"],
            "private_key": key})
        self.call("POST", f"/peal/v1/apps/{app}/devices", {"platform": "ios", "address": "ab" * 32})
        return app

    def send(self, app):
        message = self.call("POST", f"/peal/v1/apps/{app}/messages", {
            "audience": {"all": True}, "content": {"title": "From the package"}})["id"]
        end = time.monotonic() + 60
        while time.monotonic() < end:
            report = self.call("GET", f"/peal/v1/apps/{app}/messages/{message}")
            if report["state"] == "sent":
                return report["counts"]["accepted"]
            time.sleep(0.1)
        log = (self.folder.parent.parent / "log/tried.log").read_text()
        sys.exit(f"the message was not sent: {report}\n{log[-3000:]}")

    def stop(self):
        for process in (self.peal, self.simulator):
            process.terminate()
            process.wait(60)


def newer(package, folder):
    """The same package with a higher version."""
    tree = folder / "newer"
    run("dpkg-deb", "--raw-extract", str(package), str(tree))
    control = tree / "DEBIAN/control"
    lines = control.read_text().splitlines()
    lines = [line + "+next" if line.startswith("Version:") else line for line in lines]
    control.write_text("\n".join(lines) + "\n")
    target = folder / "newer.deb"
    run("dpkg-deb", "--build", "--root-owner-group", "-Znone", str(tree), str(target))
    shutil.rmtree(tree)
    return target


def try_install(debian, package):
    debian.install(package)
    check(debian.mode("var/lib/peal") == "0o700" and debian.owner("var/lib/peal") == "peal:peal",
          "/var/lib/peal belongs to peal and has mode 0700")
    check(debian.mode("etc/peal/environment") == "0o600" and debian.owner("etc/peal/environment") == "root:root",
          "/etc/peal/environment belongs to root and has mode 0600")
    check((debian.root / "lib/systemd/system/peal.service").exists(), "the unit is installed")
    if shutil.which("systemd-analyze"):
        text = run("systemd-analyze", "security", "--offline=true",
                   str(debian.root / "lib/systemd/system/peal.service"))
        print(f"holds: {text.strip().splitlines()[-1].removeprefix('→ ')}")
    check(debian.run("/usr/bin/peal", "--version").strip() != "", "the program prints its version")


def try_run(debian, app=None):
    """Starts the server, and sends to the app, which is made if there is none."""
    running = Running(debian)
    try:
        check(running.call("GET", "/healthz") is not None, "the server answers /healthz")
        check("<h1" in running.call("GET", "/console/sign-in"), "the console is served")
        app = app or running.app(debian.root)
        check(running.send(app) == 1, "a message is sent and accepted")
        return app
    finally:
        running.stop()


def try_everything(debian, package, folder):
    if shutil.which("lintian"):
        found = subprocess.run(["lintian", "--allow-root", str(package)], text=True, capture_output=True).stdout
        check(found == "", f"lintian has no findings{found and ': ' + found}")
    try_install(debian, package)
    app = try_run(debian)
    modes = {path.name: debian.mode(path.relative_to(debian.root))
             for path in (debian.root / "var/lib/peal").iterdir() if path.is_file() and path.name != "port"}
    check(set(modes.values()) == {"0o600"}, f"database and key have mode 0600: {', '.join(sorted(modes))}")
    settings = debian.root / "etc/peal/peal.yaml"
    token = (debian.root / "etc/peal/environment").read_text()
    settings.write_text(settings.read_text() + "\n# changed by the operator\n")
    debian.install(newer(package, folder))
    check("+next" in debian.run("dpkg-query", "-W", "-f=${Version}", "peal"), "the package is upgraded")
    check("changed by the operator" in settings.read_text(), "an upgrade keeps the changed configuration")
    check((debian.root / "etc/peal/environment").read_text() == token, "an upgrade keeps the admin's token")
    try_run(debian, app)
    debian.run("apt-get", "remove", "-y", "peal")
    check(not (debian.root / "usr/bin/peal").exists(), "remove deletes the program")
    check((debian.root / "var/lib/peal/peal.db").exists() and settings.exists(),
          "remove keeps the database and the configuration")
    debian.install(package)
    try_run(debian, app)
    debian.run("apt-get", "purge", "-y", "peal")
    left = [str(path.relative_to(debian.root)) for top in ("etc", "usr", "var/lib", "lib/systemd")
            for path in (debian.root / top).rglob("*peal*")]
    check(left == [], "purge leaves nothing behind")
    check(not debian.succeeds("getent", "passwd", "peal"), "purge deletes the user")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("package", type=pathlib.Path, nargs="?")
    parser.add_argument("--suite", default="bookworm")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    package = options.package or max((ROOT / "dist").glob("peal_*.deb"), default=None)
    if package is None:
        sys.exit("there is no package in dist/: run make package")
    with tempfile.TemporaryDirectory(prefix="peal-package-") as temporary:
        folder = pathlib.Path(temporary)
        root = (options.keep or folder / "root").resolve()
        root.mkdir(parents=True, exist_ok=True)
        debian = Debian(root, options.suite)
        with debian.mounted():
            try_everything(debian, package, folder)
    print("the package was installed, upgraded, removed and purged")


if __name__ == "__main__":
    main()
