#!/usr/bin/env python3
"""Attacks servers that it starts itself, and prints what it tried and what held. Exits with 1 if something did not.

    python3 Tests/Clients/attack.py [--seconds 120] [--program .build/release/peal]
"""

import argparse
import concurrent.futures
import contextlib
import os
import pathlib
import resource
import sys
import tempfile

import attack_bodies
import attack_connections
import attack_credentials
import attack_operators
import attack_protocols
import attack_rights
import attack_streams
from attack_target import Report, Target, call
from certificates import write_certificate

DESCRIPTORS = 300


def run(directory, seconds, start, simulator, quick=False):
    """Runs every attack. `start(directory, environment, files)` starts a server; phones are those of `simulator`."""
    # The suite runs beside others, and debug builds are slow.
    report = Report(patience=10 if quick else 3)
    deadlines = {"head": 10, "grace": 10, "idle": 30, "handshake": 10, "close": 20}
    environment = {
        "PEAL_HTTP_IDLE_SECONDS": deadlines["idle"], "PEAL_LOG_LEVEL": "info",
        "PEAL_LIMITS_AUTHENTICATION_FAILURES_PER_MINUTE": 60,
    }
    if quick:
        deadlines |= {"head": 2, "idle": 3, "handshake": 2}
        environment |= {
            "PEAL_HTTP_IDLE_SECONDS": 3, "PEAL_HTTP_HEAD_SECONDS": 2, "PEAL_HTTP_HANDSHAKE_SECONDS": 2,
        }
    directory = pathlib.Path(directory)
    write_certificate(directory / "certificate.pem", directory / "key.pem")
    tls = {
        "PEAL_HTTP_TLS_CERTIFICATE": str(directory / "certificate.pem"),
        "PEAL_HTTP_TLS_KEY": str(directory / "key.pem"),
    }
    small = [
        Target(start(directory / "small", {"PEAL_LOG_LEVEL": "info"}, DESCRIPTORS)),
        Target(start(directory / "small-secure", {"PEAL_LOG_LEVEL": "info", **tls}, DESCRIPTORS), tls=True),
    ]
    slow = [
        Target(start(directory / "slow", environment, None)),
        Target(start(directory / "slow-secure", {**environment, **tls}, None), tls=True),
    ]
    plain = Target(start(directory / "plain", environment, None))
    secure = Target(start(directory / "secure", {**environment, **tls}, None), tls=True)

    def wait(report):
        report.begin(
            "Meanwhile, connections by the hundred that say nothing, to servers that may open 300 files; "
            "to others, clients that are slow or stop in the middle")
        at_once([
            *((attack_connections.silent_connections, target, seconds, report) for target in small),
            *((attack_connections.slow_clients, target, deadlines, report) for target in slow),
            (attack_protocols.closed_windows, slow[1], deadlines, report),
        ])
        for target in small:
            status, _ = call(target, "GET", "/peal/v1/apps")
            report.note(status == 200, f"afterwards the API answers: {status}")

    # These mostly wait, on servers of their own.
    with report.beside(wait):
        work(directory, plain, secure, start, simulator, report, quick)
    report.begin("At the end")
    for target in (*small, *slow, plain, secure):
        report.note(target.peal.is_running, f"{target.peal.directory.name}: the process lives")
    return report


def work(directory, plain, secure, start, simulator, report, quick):
    """The attacks that cost the server work, one after the other."""
    report.begin("Floods of HTTP/2 frames")
    attack_protocols.floods(secure, report, seconds=2 if quick else 4)
    report.begin("HTTP/1 requests that are ambiguous, without measure, or whose answers nobody reads")
    attack_protocols.odd_requests(plain, report)
    attack_protocols.unread_answers(plain, report)
    attack_streams.odd_addresses(plain, report)
    report.begin("Streams and batches as large as a caller with a key may ask for")
    attack_streams.held_streams(plain, report)
    attack_streams.large_batches(plain, report)
    attack_streams.large_conditions(plain, report)
    report.begin("Bodies that are expensive to read, before and after the caller is known")
    attack_bodies.strangers_bodies(plain, report)
    attack_bodies.bombs(plain, report)
    attack_bodies.odd_documents(plain, report)
    report.begin("Credentials that are expensive to examine")
    attack_credentials.archives(plain, report)
    attack_credentials.locked_keys(plain, report)
    report.begin("Ids of other apps, keys without rights, files, addresses that the server should not visit, guesses")
    attack_rights.taken_ids(plain, report)
    attack_rights.keys(plain, report)
    attack_rights.aims(plain, report)
    attack_rights.guesses(plain, report)
    report.begin("Quotas, listeners, the audit log and the master key")
    attack_operators.quotas(Target(start(directory / "quotas", attack_operators.QUOTAS, None)), report)
    attack_operators.listeners(directory, start, report)
    attack_operators.changed_rows(Target(start(directory / "audit", {"PEAL_LOG_LEVEL": "info"}, None)), report)
    attack_operators.replaced_key(directory, start, simulator, report)


@contextlib.contextmanager
def starting():
    """Gives `run` a function that starts servers, and stops them at the end."""
    # The program is chosen when the attack begins.
    from peal_server import Peal

    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 4096), files[1]))
    try:
        with contextlib.ExitStack() as running:

            def start(directory, environment, descriptors):
                peal = Peal(directory, environment, descriptors=descriptors)
                running.callback(peal.stop)
                return peal

            yield start
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, files)


def at_once(attacks):
    """Runs attacks, each with its arguments, at the same time."""
    with concurrent.futures.ThreadPoolExecutor(len(attacks)) as pool:
        for waiting in [pool.submit(*attack) for attack in attacks]:
            waiting.result()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=110, help="how long silent connections are held")
    parser.add_argument("--program", default=".build/release/peal")
    parser.add_argument("--simulator", default=".build/release/peal-sim")
    parser.add_argument("--quick", action="store_true", help="with short deadlines")
    options = parser.parse_args()
    os.environ["PEAL"] = str(pathlib.Path(options.program).resolve())
    os.environ["PEAL_SIM"] = str(pathlib.Path(options.simulator).resolve())
    # It reads the program from the environment.
    from peal_simulator import Simulator

    with tempfile.TemporaryDirectory() as directory:
        simulator = Simulator(pathlib.Path(directory) / "simulator")
        try:
            with starting() as start:
                report = run(directory, options.seconds, start, simulator, options.quick)
        finally:
            simulator.stop()
    print(f"{len(report.failures)} findings did not hold." if report.failures else "Everything held.")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
