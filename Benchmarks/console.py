#!/usr/bin/env python3
"""Measures how long the server takes for each page of the console, with many devices.

Starts `peal-sim` in fast mode and `peal serve`, registers `--devices` devices of as many users in topics, sends a
message to all of them and some to a few, and invents an experiment with `--users` users on 14 days. Then it signs in and
requests every page `--reads` times. Durations are those of the server's own access log: from the head of the request to the
complete page. A page that says that something is still being counted is read again until it is complete; the other
reads follow then. Prints a line for each page with the first, the median and the slowest, and the figures as JSON on the
last line. Exits with 1 if any read takes longer than `--limit-ms`, or a page is larger than 100 KB.
"""
import argparse
import http.cookiejar
import json
import pathlib
import re
import statistics
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import experiment
from fanout import ADMIN, Setup as FanoutSetup, call, start_peal

PAGE_BYTES_MAX = 100_000
SEGMENT = {"where": {"and": [{"topic": "tenth"}, {"locale": "de"}]}}


class Setup(FanoutSetup):
    """The setup of `fanout.py`, whose devices have users, locales and zones."""

    def fields(self, number):
        topics = ["all", f"topic-{number % 200}"] + (["tenth"] if number % 10 == 0 else [])
        zones = ["Europe/Vienna", "Europe/London", "America/Denver"]
        return {
            "user_id": f"person-{number}", "topics": topics, "locale": ["de", "en", "it"][number % 3],
            "time_zone": zones[number % 3], "app_version": "3.1"}


class Console:
    """A signed-in browser, and the server's access log."""

    def __init__(self, base, log):
        self.base, self.log, self.place = base, log, log.stat().st_size
        self.opener = urllib.request.build_opener(
            urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))
        form = self.opener.open(f"{base}/console/sign-in").read().decode()
        secret = re.search(r'name="csrf" value="([^"]+)"', form)[1]
        self.opener.open(
            f"{base}/console/sign-in", urllib.parse.urlencode({"key": ADMIN, "csrf": secret}).encode()).read()

    def duration(self, path):
        """Requests a page. Returns the milliseconds that the server took, and the page."""
        self.place = self.log.stat().st_size
        with self.opener.open(f"{self.base}/console/{path}", timeout=120) as answer:
            page, request = answer.read(), answer.headers["X-Request-Id"]
        end = time.monotonic() + 10
        while time.monotonic() < end:
            with self.log.open("rb") as log:
                log.seek(self.place)
                for line in log.read().decode(errors="replace").splitlines():
                    if f'"{request}"' in line and '"duration_ms"' in line:
                        entry = json.loads(line)
                        return float(entry.get("duration_ms", entry.get("metadata", {}).get("duration_ms"))), page
            time.sleep(0.01)
        sys.exit(f"the access log lacks the request for {path}")


def start(options, folder):
    """Starts the server again, with an access log."""
    log = folder / "access.log"
    with log.open("wb") as output:
        peal, base = start_peal(
            options.binaries, folder / "port", log=output, PEAL_STORE_URL=f"sqlite:{folder}/peal.db",
            PEAL_LOG_LEVEL="info")
    return peal, base.removesuffix("/peal/v1"), log


def fill(options, folder):
    """Returns the id of the app and a message to all devices."""
    binaries = options.fill_binaries or options.binaries
    setup = Setup(argparse.Namespace(**{**vars(options), "binaries": binaries}), folder)
    try:
        setup.prepare()
        setup.push("all", options.devices)
        message = call("GET", f"{setup.app}/messages")["items"][0]["id"]
        for number in range(100):
            call("POST", f"{setup.app}/messages", {
                "audience": {"users": [f"person-{number}"]}, "content": {"title": f"Note {number}", "body": "Hello"},
                "campaign_id": f"campaign-{number % 30}"})
        call("PUT", f"{setup.app}/segments/german", SEGMENT)
        until = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 7200))
        call("POST", f"{setup.app}/messages", {
            "audience": {"users": ["person-0"]}, "content": {"title": "Hello"}, "campaign_id": "c",
            "schedule": {"window": {"until": until}}})
        return setup.app.rsplit("/", 1)[1], message
    finally:
        setup.stop()


def pages(app, message, device):
    own = f"apps/{app}/"
    return ["", "operations", own] + [own + page for page in (
        "compose", f"compose?from={message}", "messages", "messages?text=note+7", "messages?state=sent",
        f"messages/{message}", f"messages/{message}?user=person-5", "calendar", "drafts", "devices",
        "devices?search=person-777", f"devices/{device}", "users/person-5", "topics", "topics/all", "segments",
        "campaigns", "campaigns/campaign-3", "campaigns/c", "import", "webhooks", "keys", "credentials", "audit")]


def measure(options, folder):
    app, message = fill(options, folder)
    if options.users:
        experiment.fill(options, folder / "peal.db", campaign="c", first_user="person-")
    peal, base, log = start(options, folder)
    try:
        wait_until_summed(folder, options)
        found = call("GET", f"{base}/peal/v1/apps/{app}/devices?user_id=person-5")["items"][0]["id"]
        console = Console(base, log)
        figures = {}
        for page in pages(app, message, found):
            taken, content = console.duration(page)
            durations, begun, waited = [taken], time.monotonic(), 0.0
            while b"data-pending" in content and waited < 60:
                time.sleep(0.2)
                taken, content = console.duration(page)
                durations.append(taken)
                waited = time.monotonic() - begun
            for _ in range(options.reads - 1):
                taken, content = console.duration(page)
                durations.append(taken)
            size = len(content)
            name = page.replace(app, "{app}").replace(message, "{message}").replace(found, "{device}") or "home"
            figures[name] = {"first_ms": durations[0], "median_ms": round(statistics.median(durations), 2),
                             "max_ms": max(durations), "bytes": size, "complete_after_s": round(waited, 1)}
            print(f"{name:45} first {durations[0]:8.1f} ms, median {figures[name]['median_ms']:8.1f} ms, "
                  f"slowest {max(durations):8.1f} ms, {size:6} bytes"
                  + (f", complete after {waited:.1f} s" if waited else ""), flush=True)
        return figures
    finally:
        peal.terminate()
        peal.wait(60)


def wait_until_summed(folder, options, seconds=600):
    """Until the server has added up the past of the experiment, which it does in the background."""
    end = time.monotonic() + seconds
    while options.users and time.monotonic() < end:
        if experiment.unsummed(folder / "peal.db") == 0:
            return
        time.sleep(1)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=0, help="of an experiment; 0 for none")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--reads", type=int, default=5)
    parser.add_argument("--limit-ms", type=float, default=50)
    parser.add_argument("--fill-binaries", help="other programs of the same or an earlier version that fill the store")
    parser.add_argument("--binaries", default=str(experiment.ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.connections, options.locales = "apns", 4, 1
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, pathlib.Path(folder))
    slow = [name for name, figure in figures.items() if figure["max_ms"] > options.limit_ms]
    large = [name for name, figure in figures.items() if figure["bytes"] > PAGE_BYTES_MAX]
    if slow or large:
        print(f"slow: {slow}; large: {large}")
    print(json.dumps({"devices": options.devices, "pages": figures}))
    sys.exit(1 if slow or large else 0)


if __name__ == "__main__":
    main()
