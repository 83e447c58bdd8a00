"""Shows a day in the lives of twenty people, in a minute: simulated phones with the real SDK.

They are in front of a second server, whose clock is moved.
"""
import pathlib
import secrets
import sqlite3
import subprocess
import sys
import uuid

from demo_api import Native
from demo_programs import Programs

sys.path.append(str(pathlib.Path(__file__).resolve().parent.parent / "Tests" / "Clients"))
from moved_clock import MovedClock

PHONES = 20


def show_phones(stage, root, folder):
    """Returns whether all invariants held; also where the clock cannot be moved, so that nothing is shown."""
    if not MovedClock.is_possible():
        stage.say("leaving out the phones: moving the clock needs Linux and a C compiler")
        return True
    folder = folder / "phones"
    folder.mkdir()
    clock = MovedClock(folder)
    stage.say(f"running {PHONES} simulated phones with the SDK through a day, in about a minute")
    with Programs(root, folder) as programs:
        simulator = programs.start_simulator(clock.environment)
        admin_token = secrets.token_hex(24)
        server_url = programs.start_server(simulator, admin_token, clock.environment)
        app = Native(server_url, admin_token).make_app("Phones", simulator)
        calibrate(folder / "peal.db", app)
        print()
        code = subprocess.run([
            str(programs.binaries / "peal-sim"), "phones", "--count", str(PHONES), "--days", "1",
            "--step-minutes", "30", "--story", "--seed", "4", "--cancelled", "0", "--server", server_url, "--app", app,
            "--key", admin_token, "--simulator", str(folder / "simulator"), "--clock", str(clock.file),
            "--directory", str(folder / "ledgers")], cwd=folder).returncode
        print()
    return code == 0


def calibrate(database, app):
    """A campaign begins with random moments, from which the server learns. This one has had its share of them."""
    connection = sqlite3.connect(database, timeout=30)
    try:
        with connection:
            number, = connection.execute("SELECT app FROM app WHERE id = ?", (uuid.UUID(app).bytes,)).fetchone()
            connection.execute(
                """INSERT INTO learning
                    (app, campaign_id, displays, opens, labels, failures, own_model, drifted, objections)
                VALUES (?, 'phones', 2000, 100, 0, 0, 0, 0, '')""", (number,))
    finally:
        connection.close()
