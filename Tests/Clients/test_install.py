"""The commands of docs/operations.md that install Peal and make its PostgreSQL database."""

import base64
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import tempfile

import pytest
from certificates import write_certificate
from doc_examples import ROOT, examples
from free_port import free_port
from peal_server import PROGRAM
from waiting import wait_until

PAGE = "docs/operations.md"
PROGRAMS = [pathlib.Path("/usr/lib/postgresql"), pathlib.Path("/usr/local/bin")]
# A program like `peal` that packs in seconds: it only runs the one that was built.
STAND_IN = "#include <unistd.h>\nint main(int argc, char **argv) { return execv(%s, argv); }\n"


def block(beginning):
    return next(block.text for block in examples(PAGE) if beginning in block.text)


def run(*command, **options):
    ended = subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL, **options)
    assert ended.returncode == 0, f"{command}: {ended.stdout}{ended.stderr}"
    return ended.stdout


@pytest.mark.skipif(
    any(shutil.which(program) is None for program in ("apt-get", "cc", "dh")), reason="not a Debian system with debhelper")
def test_the_package_can_be_installed_as_the_page_says(tmp_path):
    """`apt-get` only simulates the installation; `Scripts/try_package.py` installs the package in a clean Debian."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "peal.c").write_text(STAND_IN % f'"{PROGRAM}"')
    run("cc", "-o", tmp_path / "bin" / "peal", tmp_path / "peal.c")
    run("python3", ROOT / "Scripts/package.py", tmp_path / "bin", "--out", tmp_path / "dist")
    install, secret, status = block("apt-get install").splitlines()
    command = install.removeprefix("sudo ").replace("amd64", run("dpkg", "--print-architecture").strip())
    assert command != install and command.startswith("apt-get install ./dist/")
    shown = run("bash", "-c", command.replace("install", "install --simulate", 1), cwd=tmp_path)
    assert "Inst peal (" in shown and "Conf peal (" in shown
    # What the other commands read: a unit, and a file that the package writes when it is installed.
    package = next((tmp_path / "dist").glob("*.deb"))
    files = run("dpkg-deb", "--contents", package)
    assert status == "systemctl status peal" and "/systemd/system/peal.service" in files
    run("dpkg-deb", "--control", package, tmp_path / "control")
    written = re.search(r"sudo cat (\S+)", secret)[1]
    assert written in (tmp_path / "control/postinst").read_text()


class Postgres:
    """A PostgreSQL server of one test on loopback, with TLS and a superuser `peal` whose password is `secret`."""

    def __init__(self, directory):
        self.programs = next(
            (path.parent for folder in PROGRAMS for path in sorted(folder.rglob("initdb"), reverse=True)), None)
        if self.programs is None:
            pytest.skip("PostgreSQL is not installed")
        # PostgreSQL refuses to run as root, and other users may not look into the folder of a test.
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="peal-postgres-", dir="/tmp"))
        self.port, self.ca_file = free_port(), directory / "db-ca.pem"
        self.user = ["setpriv", "--reuid=nobody", "--regid=nogroup", "--clear-groups"] if os.getuid() == 0 else []
        key = self.directory / "key.pem"
        write_certificate(self.ca_file, key)
        shutil.copy(self.ca_file, self.directory / "certificate.pem")
        (self.directory / "password").write_text("secret\n")
        key.chmod(0o600)
        if self.user:
            run("chown", "-R", "nobody:nogroup", self.directory)
        data = self.directory / "data"
        run(*self.user, self.programs / "initdb", "-D", data, "-A", "scram-sha-256", "-U", "peal", "--no-sync",
            f"--pwfile={self.directory}/password", cwd="/")  # fmt: skip
        settings = {
            "listen_addresses": "localhost", "port": self.port, "unix_socket_directories": "", "fsync": "off", "ssl": "on",
            "ssl_cert_file": self.directory / "certificate.pem", "ssl_key_file": key,
            "max_pred_locks_per_transaction": 256,
        }  # fmt: skip
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.log = (directory / "postgres.log").open("wb")
        self.process = subprocess.Popen(
            [*self.user, str(self.programs / "postgres"), "-D", str(data), *options], cwd="/", stdin=subprocess.DEVNULL,
            stdout=self.log, stderr=self.log)
        wait_until(self.is_ready, 60, lambda: (directory / "postgres.log").read_text())

    def is_ready(self):
        return not subprocess.run(
            [self.programs / "pg_isready", "-q", "-h", "localhost", "-p", str(self.port)], capture_output=True).returncode

    @property
    def environment(self):
        """What its own programs read."""
        return {
            "PATH": f"{self.programs}:{os.environ['PATH']}", "PGHOST": "localhost", "PGPORT": str(self.port),
            "PGUSER": "peal", "PGPASSWORD": "secret",
        }

    def stop(self):
        # At once, whoever is still connected.
        self.process.send_signal(signal.SIGINT)
        self.process.wait(30)
        self.log.close()
        shutil.rmtree(self.directory)


@pytest.fixture
def postgres(tmp_path):
    server = Postgres(tmp_path)
    yield server
    server.stop()


def test_a_database_is_created_and_used_as_the_page_says(postgres, tmp_path):
    """With TLS, of which the server checks the certificate, as in the page's URL."""
    (tmp_path / "master.key").write_text(base64.b64encode(secrets.token_bytes(32)).decode())
    (tmp_path / "master.key").chmod(0o600)
    port = free_port()
    text = block("createdb")
    for old, new in {
        "db.example.com": f"localhost:{postgres.port}", "/etc/peal/db-ca.pem": postgres.ca_file,
        "/etc/peal/master.key": tmp_path / "master.key", " && peal serve": "\npeal serve &\nwait_for_peal",
    }.items():  # fmt: skip
        assert old in text
        text = text.replace(old, str(new))
    ready = "wait_for_peal() { for i in $(seq 1000); do peal app list && return; sleep 0.1; done; return 1; }"
    end = "trap 'jobs=$(jobs -p); [ -z \"$jobs\" ] || kill $jobs; wait' EXIT"
    own = {
        "PEAL_ADMIN_TOKEN": secrets.token_hex(24), "PEAL_SERVER_URL": f"http://127.0.0.1:{port}", "PEAL_HTTP_PORT": str(port),
    }  # fmt: skip
    path = f"{pathlib.Path(PROGRAM).parent}:{postgres.environment['PATH']}"
    shown = run(
        "bash", "-c", f"set -eu\n{end}\n{ready}\n{text}\npeal app create --name Shared\npsql -Atc "
        "\"SELECT pg_encoding_to_char(encoding) FROM pg_database WHERE datname = 'peal'\" postgres\n"
        "psql -Atc 'SELECT name FROM app' peal", cwd=tmp_path, env={**os.environ, **postgres.environment, **own, "PATH": path})
    assert "fail" not in shown and shown.splitlines()[-2:] == ["UTF8", "Shared"], shown
