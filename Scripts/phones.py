#!/usr/bin/env python3
"""Runs `peal-sim phones`: simulated phones with the real SDK, in front of a real server whose clock is moved.

usage: Scripts/phones.py [--build debug] [--kills N] [--store postgres://…] [options of peal-sim phones]

Starts the simulated push networks and `peal serve`, both with the clock of Tests/Clients/moved_clock.c, creates an app,
and lets the phones live. With --kills N the server is killed with SIGKILL N times, at random instants of the whole run,
and started again each time. The state of the invariants is printed after each simulated day. At the end `peal-lab
campaign` predicts the lift of the same world, and the experiment as the server reports it (`GET
/peal/v1/apps/{app}/campaigns/phones`) is shown beside the prediction. Exits with 1 if an invariant does not hold, or if
the prediction is not in the report's interval although both arms have at least 30 opens.
"""
import argparse
import json
import pathlib
import random
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time

from demo_api import Native
from demo_programs import Problem, Programs
from lab_prediction import judge, predict

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "Tests" / "Clients"))
from moved_clock import MovedClock

# Seconds from the step of the run in which a kill is due to the kill: it should not always hit the step's beginning.
KILL_DELAY = 1.5


class Reaper(threading.Thread):
    """Kills the server at random instants of the run, and starts it again on the same port."""

    def __init__(self, programs, start, count, progress):
        super().__init__(daemon=True)
        self.programs, self.start_server, self.progress = programs, start, progress
        self.shares = sorted(random.random() for _ in range(count))
        self.done, self.stopped, self.failure = 0, threading.Event(), None

    def share(self):
        """Which share of the run is done; 0 before it begins."""
        try:
            return float(self.progress.read_text())
        except (OSError, ValueError):
            return 0

    def run(self):
        for share in self.shares:
            while self.share() < share and not self.stopped.wait(0.1):
                pass
            if self.stopped.wait(random.uniform(0, KILL_DELAY)):
                break
            server = self.programs.running.pop()[0]
            server.send_signal(signal.SIGKILL)
            server.wait()
            try:
                self.start_server()
            except Problem as problem:
                self.failure = problem
                return
            self.done += 1
        # The server is terminated when the thread that started it ends (prctl(2), PR_SET_PDEATHSIG).
        self.stopped.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--build", default="debug", help="folder in .build with the programs")
    parser.add_argument("--kills", type=int, default=0)
    parser.add_argument("--store")
    arguments, rest = parser.parse_known_args()
    if not MovedClock.is_possible():
        raise Problem("moving the clock needs Linux and a C compiler")
    with tempfile.TemporaryDirectory(prefix="peal-phones-") as name, Programs(ROOT, pathlib.Path(name)) as programs:
        folder = pathlib.Path(name)
        programs.binaries = ROOT / ".build" / arguments.build
        clock = MovedClock(folder)
        simulator = programs.start_simulator(clock.environment)
        admin_token = secrets.token_hex(24)
        more = dict(clock.environment)
        if arguments.store:
            more |= {"PEAL_STORE_URL": arguments.store, "PEAL_MASTER_KEY": "A" * 43 + "="}
        server_url = programs.start_server(simulator, admin_token, more)
        app = Native(server_url, admin_token).make_app("Phones", simulator)

        def start_again():
            (folder / "port").unlink(missing_ok=True)
            programs.start_server(simulator, admin_token, more | {"PEAL_HTTP_PORT": server_url.rsplit(":", 1)[1]})

        progress = folder / "progress"
        reaper = Reaper(programs, start_again, arguments.kills, progress)
        reaper.start()
        started = time.monotonic()
        code = subprocess.run([
            str(programs.binaries / "peal-sim"), "phones", "--server", server_url, "--app", app,
            "--key", admin_token, "--simulator", str(folder / "simulator"), "--clock", str(clock.file),
            "--report", str(folder / "report.json"), "--progress", str(progress), *rest]).returncode
        reaper.stopped.set()
        reaper.join()
        if reaper.failure:
            raise reaper.failure
        # Raises a problem with the end of its log if the server has ended.
        programs.check()
        if code != 0:
            print((folder / "peal.log").read_text(errors="replace")[-4000:], file=sys.stderr)
        if arguments.kills:
            print(f"The server was killed {reaper.done} times in {time.monotonic() - started:.0f} s.", flush=True)
        if not (folder / "report.json").exists():
            return code
        report = json.loads((folder / "report.json").read_text())
        text, agree = judge(report, predict(programs.binaries, report))
        # After a run with --json, only JSON is on the standard output.
        print(text, file=sys.stderr if "--json" in rest else sys.stdout, flush=True)
        return 1 if agree is False else code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        sys.exit(f"phones: {problem}")
    except KeyboardInterrupt:
        sys.exit(130)
