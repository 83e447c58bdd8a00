"""The container, the compose file and the unit: no secret enters an image or git, and systemd restarts what may heal."""

import contextlib
import fnmatch
import os
import re
import secrets
import socket
import subprocess
import sys

import pytest
from doc_examples import ROOT
from free_port import free_port
from peal_server import PROGRAM, inherited_environment

sys.path.insert(0, str(ROOT / "Scripts"))
from man_pages import manual_page, program_help  # noqa: E402

COMPOSE = ROOT / "Packaging/docker/compose.yaml"
# The comment at its beginning.
INSTRUCTIONS = COMPOSE.read_text().partition("services:")[0]
INVALID_CONFIGURATION = 2


def is_in_build_context(path):
    """Whether Docker copies a file of the repository. Patterns without `**/` apply to the root only."""
    for pattern in (ROOT / ".dockerignore").read_text().split():
        parts = path.split("/") if pattern.startswith("**/") else path.split("/")[:1]
        if any(fnmatch.fnmatchcase(part, pattern.removeprefix("**/")) for part in parts):
            return False
    return True


def test_secrets_and_databases_do_not_enter_the_image_or_git():
    made = [f"Packaging/docker/{name}" for name in re.findall(r"> (\S+)", INSTRUCTIONS)]
    assert made == ["Packaging/docker/master.key", "Packaging/docker/.env"]
    databases = ["peal.db", "peal.db-wal", "a/peal.db", "a/peal.db-shm", "a/peal.db.key", "peal.db.key.former.2"]
    for path in [*made, *databases, ".env", "a/b/other.key"]:
        assert not is_in_build_context(path), path
    for path in made:
        assert subprocess.run(["git", "-C", ROOT, "check-ignore", "-q", path]).returncode == 0, path
    tracked = subprocess.run(["git", "-C", ROOT, "ls-files", "Sources", "Package.swift"], capture_output=True, text=True)
    needed = tracked.stdout.split()
    assert "Package.swift" in needed and [path for path in needed if not is_in_build_context(path)] == []


def test_the_secrets_of_the_compose_file_are_never_readable_by_others(tmp_path):
    commands = [line.removeprefix("#").strip() for line in INSTRUCTIONS.splitlines()[1:]]
    assert commands[-1].startswith("docker compose up")
    script = re.sub(r"sudo chown \d+ ", "chmod -c u+r ", "\n".join(commands[:-1]))
    # The mode of a file when it is created: nothing changes it later.
    assert "chmod" not in "\n".join(commands)
    done = subprocess.run(["bash", "-euc", f"umask 022\n{script}"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {"master.key": 0o600, ".env": 0o600}
    assert re.fullmatch(r"POSTGRES_PASSWORD=\w{32}\nPEAL_ADMIN_TOKEN=\w{48}\n", (tmp_path / ".env").read_text())


def start(tmp_path, **variables):
    """The exit code of a server that cannot start, and what it wrote."""
    own = inherited_environment() | {
        "PEAL_ADMIN_TOKEN": secrets.token_hex(24), "PEAL_HTTP_PORT": str(free_port()),
        "PEAL_STORE_URL": f"sqlite:{tmp_path}/peal.db"}
    done = subprocess.run(
        [PROGRAM, "serve"], env={**own, **variables}, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_systemd_does_not_restart_a_server_with_an_invalid_configuration(tmp_path):
    unit = (ROOT / "Packaging/peal.service").read_text()
    assert "\nRestart=on-failure\n" in unit and "\nStartLimitIntervalSec=0\n" in unit
    assert f"\nRestartPreventExitStatus={INVALID_CONFIGURATION}\n" in unit
    for invalid in ({"PEAL_HTTP_PORT": "x"}, {"PEAL_MASTER_KEY": "short"}, {"PEAL_STORE_URL": "mysql:x"}):
        code, written = start(tmp_path, **invalid)
        assert (code, written.count("\n")) == (INVALID_CONFIGURATION, 1), written


def test_the_manual_page_has_what_the_help_has():
    page = manual_page(program_help(PROGRAM), "1")
    assert "(values: file, pivotal; default: file)" in page
    # An example keeps its lines.
    assert "\n.nf\n  peal credential put apns production" in page
    assert page.count("\n.nf\n") == page.count("\n.fi\n") > 0


@contextlib.contextmanager
def no_postgresql():
    key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    yield {"PEAL_STORE_URL": f"postgres://127.0.0.1:{free_port()}/peal", "PEAL_MASTER_KEY": key}


@contextlib.contextmanager
def taken_port():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield {"PEAL_HTTP_PORT": str(other.getsockname()[1])}


@pytest.mark.parametrize("cause", [no_postgresql, taken_port])
def test_systemd_restarts_a_server_whose_surroundings_were_not_ready(tmp_path, cause):
    """PostgreSQL may start later than Peal, and a port may be free a moment later."""
    with cause() as variables:
        code, written = start(tmp_path, **variables)
    assert code == 1, written


def test_systemd_restarts_a_server_whose_database_was_still_in_use(tmp_path, serve):
    """The former process may still be ending."""
    running = serve()
    other = {"PEAL_STORE_URL": f"sqlite:{running.directory / 'peal.db'}", "PEAL_HTTP_PORT": str(free_port())}
    done = subprocess.run(
        [PROGRAM, "serve"], env={**os.environ, **running.environment, **other}, cwd=tmp_path, capture_output=True, text=True,
        timeout=60)
    assert done.returncode == 1 and "in use" in done.stderr, done.stderr
