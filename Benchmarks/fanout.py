#!/usr/bin/env python3
"""Measures the CPU time of `peal` per notification, over the whole path, and compares it with h2load.

Starts `peal-sim` in fast mode and `peal serve` (release builds) on loopback and registers devices in one topic. In each
round h2load sends N requests of the same shape and size, and peal pushes one message to N devices: planned, read,
rendered, sent over TLS, answered, logged and settled. Compare only figures of one run. Prints a table, and the figures
as JSON on the last line. Exits with 1 if a notification was lost or duplicated, or if the ratio or memory exceeds its
limit.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import resource
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parent.parent
ADMIN = "benchmark-admin-token-0123456789abcdef"
LOCALES = ["en", "de", "fr", "es", "it", "pt", "nl", "sv", "da", "nb", "fi", "pl", "cs", "sk", "hu", "ro", "bg", "el",
           "tr", "uk"]
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")


def call(method, url, body=None):
    data = None if body is None else json.dumps(body).encode()
    headers = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, data=data, headers=headers, method=method)
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.loads(answer.read() or b"null")


def wait_for(path, process, seconds=30):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            sys.exit(f"{process.args[0]} ended with {process.returncode}")
        if path.exists() and path.read_text():
            return path.read_text()
        time.sleep(0.02)
    sys.exit(f"{path} did not appear")


def start_peal(binaries, port_file, command=(), log=None, **environment):
    """Starts a server with this configuration. Returns its process and the URL of its native API.

    `command` precedes the program's path, and the log goes to `log` instead of this process's standard error.
    """
    port_file.unlink(missing_ok=True)
    own = {"PEAL_HTTP_PORT": "0", "PEAL_HTTP_PORT_FILE": str(port_file), "PEAL_ADMIN_TOKEN": ADMIN}
    process = subprocess.Popen(
        [*command, str(pathlib.Path(binaries) / "peal"), "serve"],
        env={**os.environ, "PEAL_LOG_LEVEL": "warning", **own, **environment}, stderr=log)
    return process, f"http://127.0.0.1:{int(wait_for(port_file, process, 300))}/peal/v1"


def stop(*processes):
    """Ends the processes, by force if they do not stop within a minute."""
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        try:
            process.wait(60)
        except subprocess.TimeoutExpired:
            process.kill()


def pinned(core, command):
    return ["taskset", "-c", str(core % os.cpu_count()), *command] if shutil.which("taskset") else command


def cpu_seconds(pid):
    fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def memory_megabytes(pid, name):
    for line in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    return 0.0


def device_token(number):
    return f"{number:064x}"


class APNs:
    """What differs between the networks: credential, addresses, and the request that h2load repeats."""

    def environment(self, sim, options):
        return {"PEAL_PROVIDERS_APNS_PRODUCTION_URL": sim["apns_url"],
                "PEAL_PROVIDERS_APNS_CONNECTIONS_MAX": str(options.connections)}

    def credential(self, sim):
        apns = sim["apns"]
        return "apns/production", {
            "kind": "token", "key_id": apns["key_id"], "team_id": apns["team_id"], "bundle_id": apns["bundle_id"],
            "private_key": pathlib.Path(apns["private_key_file"]).read_text()}

    def device(self, number):
        return {"platform": "ios", "address": device_token(number)}

    def load(self, sim):
        urls = [f"{sim['apns_url']}/3/device/{device_token(number)}" for number in range(20_000)]
        body = {"aps": {"alert": {"title": "Town hall", "body": "x" * 180}, "badge": 1}, "story": "1234567890"}
        return urls, body, [
            "authorization: bearer " + "e" * 257, f"apns-topic: {sim['apns']['bundle_id']}",
            "apns-push-type: alert", "apns-priority: 10", "apns-expiration: 1900000000",
            "apns-id: 123e4567-e89b-42d3-a456-426614174000"]


class FCM:
    """FCM without rate limits: this measures the sender, not the rate that Google prescribes."""

    def environment(self, sim, options):
        host = sim["fcm_url"].removeprefix("https://")
        return {"PEAL_PROVIDERS_FCM_URL": sim["fcm_url"], "PEAL_PROVIDERS_FCM_TOKEN_ALLOWED_HOSTS": host,
                "PEAL_PROVIDERS_FCM_CONNECTIONS_MAX": str(options.connections),
                "PEAL_PROVIDERS_FCM_RATE_PER_SECOND": "1000000", "PEAL_PROVIDERS_FCM_START_RATE_PER_SECOND": "1000000"}

    def credential(self, sim):
        account = json.loads(pathlib.Path(sim["fcm"]["service_account_file"]).read_text())
        return "fcm", {"service_account": account}

    def device(self, number):
        # As long as Google's registration tokens.
        return {"platform": "android", "address": f"{number:022x}:" + "A" * 140}

    def load(self, sim):
        body = {"message": {
            "token": self.device(0)["address"], "notification": {"title": "Town hall", "body": "x" * 180},
            "data": {"story": "1234567890"}, "android": {"priority": "HIGH", "ttl": "2419199s"}}}
        url = f"{sim['fcm_url']}/v1/projects/{sim['fcm']['project_id']}/messages:send"
        return [url], body, ["authorization: Bearer " + "e" * 257, "content-type: application/json"]


class Setup:
    def __init__(self, options, folder):
        self.options = options
        # The log goes to a file if it contains more than warnings.
        log_level = getattr(options, "log_level", "warning")
        # Of the first device of each batch.
        self.ids = []
        self.network = {"apns": APNs, "fcm": FCM}[options.provider]()
        self.folder = folder
        binaries = pathlib.Path(options.binaries)
        directory = folder / "sim"
        directory.mkdir()
        self.simulator = subprocess.Popen(
            pinned(0, [str(binaries / "peal-sim"), "--directory", str(directory), "--mode", "fast"]),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.sim = self.networks(json.loads(wait_for(directory / "simulator.json", self.simulator)))
        with open(folder / "log", "w") as log:
            self.peal, self.base = start_peal(
                binaries, folder / "port", pinned(1, []), None if log_level == "warning" else log,
                PEAL_LOG_LEVEL=log_level, **self.environment())

    def environment(self):
        """The configuration of a server that sends to the simulator."""
        return {
            "PEAL_PROVIDERS_CA_FILE": self.sim["ca_file"], **self.store(),
            **self.network.environment(self.sim, self.options)}

    def networks(self, sim):
        """The description of the simulated networks that the server sends to."""
        return sim

    def store(self):
        """The configuration of the server's store."""
        return {"PEAL_STORE_URL": f"sqlite:{self.folder}/peal.db"}

    def stop(self):
        stop(self.peal, self.simulator)

    def prepare(self):
        app = call("POST", f"{self.base}/apps", {"name": "benchmark"})
        self.app = f"{self.base}/apps/{app['id']}"
        path, credential = self.network.credential(self.sim)
        call("PUT", f"{self.app}/credentials/{path}", credential)
        started, before = time.monotonic(), cpu_seconds(self.peal.pid)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            list(pool.map(self.register, range(0, self.options.devices, 1000)))
        took = time.monotonic() - started
        cpu = (cpu_seconds(self.peal.pid) - before) / self.options.devices * 1e6
        self.store_bytes, self.wal_megabytes = 0, 0
        if (self.folder / "peal.db").exists():
            self.store_bytes = (self.folder / "peal.db").stat().st_size / self.options.devices
            self.wal_megabytes = (self.folder / "peal.db-wal").stat().st_size / 2 ** 20
        print(f"registered {self.options.devices} devices in {took:.1f} s, {cpu:.1f} µs of CPU per device, "
              f"{self.store_bytes:.0f} bytes in the store per device, write-ahead log of {self.wal_megabytes:.0f} MiB",
              flush=True)

    def register(self, start):
        devices = [
            self.network.device(number) | self.fields(number)
            for number in range(start, min(start + 1000, self.options.devices))]
        result = call("POST", f"{self.app}/devices:batch", {"devices": devices})
        failed = [item for item in result["results"] if "error" in item]
        if failed:
            sys.exit(f"registration refused: {failed[0]}")
        self.ids.append(result["results"][0]["id"])

    def fields(self, number):
        """What a device has besides its address. Every device is in `all`, and the first tenth also in `tenth`."""
        fields = {"topics": ["all", "tenth"] if number < self.options.devices // 10 else ["all"]}
        return fields | ({"locale": LOCALES[number % self.options.locales]} if self.options.locales > 1 else {})

    def text(self, text):
        """A text, or one for each locale of the run."""
        if self.options.locales < 2:
            return text
        return {locale: locale + text[len(locale):] for locale in LOCALES[:self.options.locales]}

    def inbox(self, method="GET", path=""):
        """Asks the simulator for what it received, or makes it forget that."""
        request = urllib.request.Request(f"{self.sim['control_url']}/inbox{path}", method=method)
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")

    def check_received(self, messages=1):
        """Exits unless each device has received this many messages."""
        summary, devices = self.inbox(path="/summary"), self.options.devices
        if summary["received"] != devices * messages or summary["devices"] != devices:
            sys.exit(f"not exactly once: {summary}")

    def push(self, topic, expected):
        """Sends to `topic`; returns (CPU µs per notification, seconds)."""
        before, started = cpu_seconds(self.peal.pid), time.monotonic()
        message = call("POST", f"{self.app}/messages", {
            "audience": {"topics": [topic]},
            "content": {"title": self.text("Town hall"), "body": self.text("x" * 180),
                        "data": {"story": "1234567890"}, "badge": 1}})
        self.message, self.accepted_at = message["id"], time.monotonic()
        deadline = time.monotonic() + 600
        while message["state"] not in ("sent", "failed", "expired") and time.monotonic() < deadline:
            time.sleep(0.1)
            message = call("GET", f"{self.app}/messages/{message['id']}")
        seconds = time.monotonic() - started
        cpu = (cpu_seconds(self.peal.pid) - before) / expected * 1e6
        if message["state"] != "sent" or message["counts"]["accepted"] != expected:
            sys.exit(f"expected {expected} accepted, got {message}")
        return cpu, seconds

    def explain(self):
        """The milliseconds that the trails of up to 20 devices in the last message take, each read once."""
        times = []
        for device in self.ids[::max(1, len(self.ids) // 20)][:20]:
            started = time.monotonic()
            events = call("GET", f"{self.app}/messages/{self.message}/deliveries?device={device}")["items"]
            times.append((time.monotonic() - started) * 1000)
            if not events or events[-1]["event"] != "accepted":
                sys.exit(f"unexpected trail of {device}: {events}")
        return times

    def log_bytes(self):
        """The bytes that the delivery log has on disk, with its index."""
        database = sqlite3.connect(f"file:{self.folder}/peal.db?mode=ro", uri=True)
        names = [row[0] for row in database.execute("SELECT name FROM sqlite_schema WHERE tbl_name = 'delivery_page'")]
        total = sum(database.execute(
            "SELECT pgsize FROM dbstat WHERE name = ? AND aggregate = TRUE", (name,)).fetchone()[0] for name in names)
        database.close()
        return total

    def streams(self):
        """Concurrent requests of h2load on each connection."""
        return 1000 // self.options.connections

    def h2load(self, count):
        """Sends `count` requests of the same shape; returns (CPU µs per request, seconds)."""
        urls, request, headers = self.network.load(self.sim)
        uris = self.folder / "uris"
        uris.write_text("".join(f"{url}\n" for url in urls))
        body = self.folder / "body.json"
        body.write_text(json.dumps(request, separators=(",", ":")))
        command = ["h2load", "-i", str(uris), "-n", str(count), "-c", str(self.options.connections),
                   "-m", str(self.streams()), "-d", str(body)]
        for header in headers:
            command += ["-H", header]
        before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        result = subprocess.run(pinned(1, command), capture_output=True, text=True, check=True)
        after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - started
        if f"{count} succeeded" not in result.stdout:
            sys.exit(result.stdout)
        used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return used / count * 1e6, seconds


class Watch:
    """Asks the simulator until it has received a notification."""

    def __init__(self, setup):
        self.setup, self.at = setup, None
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        deadline = time.monotonic() + 60
        while self.at is None and time.monotonic() < deadline:
            if self.setup.inbox(path="/summary")["received"]:
                self.at = time.monotonic()

    def milliseconds_after(self, moment):
        self.thread.join()
        if self.at is None:
            sys.exit("the simulator received nothing")
        return max(0.0, (self.at - moment) * 1000)


def measure(setup, options):
    idle = memory_megabytes(setup.peal.pid, "VmRSS")
    setup.push("tenth", options.devices // 10)
    small = memory_megabytes(setup.peal.pid, "VmHWM")
    rounds, first = [], []
    log = setup.log_bytes()
    for number in range(options.rounds):
        tool_cpu, tool_seconds = setup.h2load(options.devices)
        setup.inbox("DELETE")
        watch = Watch(setup)
        cpu, seconds = setup.push("all", options.devices)
        first.append(watch.milliseconds_after(setup.accepted_at))
        setup.check_received()
        rounds.append((tool_cpu, cpu, cpu / tool_cpu, options.devices / seconds, options.devices / tool_seconds))
        print(f"round {number + 1}: h2load {tool_cpu:.2f} µs/request, peal {cpu:.2f} µs/notification, "
              f"ratio {cpu / tool_cpu:.2f}, peal {options.devices / seconds:,.0f}/s", flush=True)
    middle = [statistics.median(column) for column in zip(*rounds)]
    log = (setup.log_bytes() - log) / options.rounds / options.devices
    explained = setup.explain()
    return {
        "provider": options.provider, "locales": options.locales, "devices": options.devices,
        "connections": options.connections, "rounds": options.rounds,
        "h2load_cpu_us": round(middle[0], 2), "peal_cpu_us": round(middle[1], 2), "ratio": round(middle[2], 2),
        "peal_per_second": round(middle[3]), "h2load_per_second": round(middle[4]),
        "first_ms": round(statistics.median(first), 1), "log_bytes_per_device": round(log, 2),
        "trail_ms": round(statistics.median(explained), 1), "trail_max_ms": round(max(explained), 1),
        "store_bytes_per_device": round(setup.store_bytes), "wal_mb": round(setup.wal_megabytes),
        "rss_idle_mb": round(idle, 1),
        "rss_peak_tenth_mb": round(small, 1),
        "rss_peak_mb": round(memory_megabytes(setup.peal.pid, "VmHWM"), 1)}


def run(make, measure, options):
    """Measures a setup in a temporary directory; prints the figures as a table and as JSON, and returns them."""
    with tempfile.TemporaryDirectory(prefix="peal-bench-") as folder:
        setup = make(options, pathlib.Path(folder))
        try:
            setup.prepare()
            result = measure(setup, options)
        finally:
            setup.stop()
    for name, value in result.items():
        print(f"{name:>20}  {value}")
    print(json.dumps(result))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--provider", choices=["apns", "fcm"], default="apns")
    parser.add_argument("--devices", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=4)
    parser.add_argument("--locales", type=int, choices=range(1, len(LOCALES) + 1), default=1, metavar="N",
                        help="localize the message in N locales")
    parser.add_argument("--ratio-max", type=float, default=2.0)
    parser.add_argument("--memory-max-mb", type=float, default=150)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    result = run(Setup, measure, options)
    if result["ratio"] > options.ratio_max or result["rss_peak_mb"] > options.memory_max_mb:
        sys.exit("a figure exceeds its limit")


if __name__ == "__main__":
    main()
