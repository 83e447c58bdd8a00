#!/usr/bin/env python3
"""Measures how fast `peal` accepts single requests: pushes to one device, scheduled ones, and registrations.

`peal-lab bench load` sends the requests over keep-alive connections, pinned to one core; the server is pinned to another.
Each round first measures a bare Hummingbird route that decodes the same JSON (`peal-lab bench route`) and then Peal.
Compare only figures of one run. Prints a line per row, and the figures as JSON on the last line. The rates and CPU times
of pushes include their delivery: a round ends when the last of them has reached peal-sim.

  push         POST /v1/push (Pivotal) to one device: accepted, durable, sent to peal-sim
  native       the same through the native API
  contextpush  a context-aware message for one user with a delivery window of three hours
  register     PUT of one new device
  batch        new devices in batches of 1,000, in CPU time per device
  durable      no part of Peal: the bare route, which also inserts the rows of a push into SQLite before it answers, with
               the group commits of Peal's store. Nothing is checked, sent or settled
  durable_register  the same with the rows of a registration
"""
import argparse
import json
import pathlib
import sqlite3
import statistics
import subprocess
import sys
import time

from fanout import ADMIN, ROOT, Setup, call, cpu_seconds, pinned, run, wait_for

ROWS = ["push", "native", "contextpush", "register", "batch", "durable", "durable_register"]
# The rows whose requests store the rows of another one.
DURABLE = {"durable": "push", "durable_register": "register"}
# Rows whose requests send a notification at once.
SENT = ["push", "native"]
TEXT = "x" * 60
# Seconds.
DELIVERY_TIMEOUT = 120


class IntakeSetup(Setup):
    """One app with one device, keys of three dialects, and a bare route."""

    def prepare(self):
        app = call("POST", f"{self.base}/apps", {"name": "benchmark", "bundle_id": "com.example.benchmark"})
        self.app = f"{self.base}/apps/{app['id']}"
        path, credential = self.network.credential(self.sim)
        call("PUT", f"{self.app}/credentials/{path}", credential)
        self.device = "10000000-0000-4000-8000-000000000001"
        call("PUT", f"{self.app}/devices/{self.device}", self.network.device(1) | {"user_id": "ann"})
        self.pivotal = call("POST", f"{self.app}/keys", {"dialect": "pivotal"})
        self.contextpush = call("POST", f"{self.app}/keys", {"dialect": "contextpush"})
        # The device above has the address of number 1.
        self.numbers = 2
        self.routes = []
        self.bare, self.bare_port = self.route("bare")
        self.durable = {
            name: self.durable_route(name, row) for name, row in DURABLE.items() if name in self.options.rows}

    def stop(self):
        for route in getattr(self, "routes", []):
            route.terminate()
            route.wait(30)
        super().stop()

    def route(self, name, *options):
        """Starts a bare route. Returns its process and its port."""
        port_file = self.folder / f"{name}-port"
        lab = pathlib.Path(self.options.binaries) / "peal-lab"
        process = subprocess.Popen(pinned(1, [str(lab), "bench", "route", "--port-file", str(port_file), *options]))
        self.routes.append(process)
        return process, int(wait_for(port_file, process))

    def durable_route(self, name, row):
        """A bare route that inserts the rows that a request adds to the store. Returns its process and its port."""
        database = sqlite3.connect(f"file:{self.folder}/peal.db?mode=ro", uri=True)
        tables = [Table(database, table) for table, in database.execute(
            "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")]
        self.load(self.port, self.peal, self.request(row), 1, row in SENT)
        # Statistics and marks of the requests before are written with a delay.
        time.sleep(2)
        before = [table.rows() for table in tables]
        self.load(self.port, self.peal, self.request(row), 1, row in SENT)
        time.sleep(2)
        added = [
            table.insertion(stored) for table, known in zip(tables, before)
            for key, stored in table.rows().items() if key not in known]
        schema = [sql for sql, in database.execute(
            "SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL AND name NOT LIKE 'sqlite_%' ORDER BY type DESC")]
        database.close()
        path = self.folder / f"{name}.json"
        path.write_text(json.dumps({"schema": schema, "rows": added}))
        return self.route(name, "--rows", str(path), "--database", str(self.folder / f"{name}.db"))

    @property
    def port(self):
        return int(self.base.split(":")[2].split("/")[0])

    def load(self, port, process, request, count, is_sent=False):
        """Returns requests a second, CPU µs of `process` per request, p99 in milliseconds, and how many milliseconds
        after the last answer everything had been delivered, if requests send something."""
        path = self.folder / "request.json"
        path.write_text(json.dumps(request))
        lab = str(pathlib.Path(self.options.binaries) / "peal-lab")
        first = self.numbers
        self.numbers += count
        received = self.received() if is_sent else 0
        before = cpu_seconds(process.pid)
        result = subprocess.run(
            pinned(0, [lab, "bench", "load", "--port", str(port), "--request", str(path), "--count", str(count),
                       "--connections", str(self.options.connections), "--first", str(first)]),
            capture_output=True, text=True)
        if result.returncode:
            sys.exit(f"{request['path']}: {result.stdout} {result.stderr}")
        figures = json.loads(result.stdout)
        answered = time.monotonic()
        while is_sent and self.received() < received + count:
            if time.monotonic() > answered + DELIVERY_TIMEOUT:
                sys.exit(f"{self.received() - received} of {count} messages were delivered")
            time.sleep(0.01)
        late = time.monotonic() - answered
        used = (cpu_seconds(process.pid) - before) / count * 1e6
        return count / (count / figures["per_second"] + late), used, figures["p99_ms"], late * 1000

    def received(self):
        """How many notifications have reached peal-sim."""
        return self.inbox(path="/summary")["received"]

    def request(self, row):
        admin = {"Authorization": f"Bearer {ADMIN}", "Content-Type": "application/json"}
        native = "/peal/v1" + self.app.split("/peal/v1")[1]
        if row in ("push", "bare"):
            return self.pivotal_push()
        if row == "native":
            body = {"audience": {"devices": [self.device]}, "content": {"body": TEXT}}
            return {"method": "POST", "path": f"{native}/messages", "headers": admin, "body": json.dumps(body)}
        if row == "register":
            body = {"platform": "ios", "address": "{hex}", "user_id": "user-{n}", "topics": ["news"]}
            return {"method": "PUT", "path": f"{native}/devices/{{uuid}}", "headers": admin, "body": json.dumps(body)}
        return self.context_push()

    def pivotal_push(self):
        body = {"message": {"body": TEXT}, "target": {"devices": [self.device]}}
        values = self.pivotal["application_uuid"] + ":" + self.pivotal["api_key"]
        headers = {"Authorization": f"Basic {base64(values)}", "Content-Type": "application/json"}
        return {"method": "POST", "path": "/v1/push", "headers": headers, "body": json.dumps(body)}

    def context_push(self):
        """A message of ContextPush for one user, with a window of three hours."""
        body = {
            "bundle_id": "com.example.benchmark", "platform": "ios", "user_id": "ann", "deliver_within_hours": 3,
            "idempotency_key": "benchmark-{n}", "delivery_method": "context_aware", "campaign_id": "benchmark",
            "content": {"title": "Town hall", "body": TEXT}}
        headers = {"Authorization": f"Token {self.contextpush['token']}", "Content-Type": "application/json"}
        path = "/v1/campaigns/schedule_message_for_user"
        return {"method": "POST", "path": path, "headers": headers, "body": json.dumps(body)}

    def batch(self, count):
        """CPU µs per device of registrations by 1,000."""
        before = cpu_seconds(self.peal.pid)
        for start in range(0, count, 1000):
            devices = [self.network.device(self.numbers + start + number) for number in range(1000)]
            call("POST", f"{self.app}/devices:batch", {"devices": devices})
        self.numbers += count
        return (cpu_seconds(self.peal.pid) - before) / count * 1e6


class Table:
    """A table of a store, and how `peal-lab bench route --rows` inserts its rows."""

    def __init__(self, database, name):
        self.database, self.name = database, name
        self.columns = list(database.execute(f'PRAGMA table_info("{name}")'))
        self.key = [column for column in self.columns if column[5]] or self.columns
        # One column of each unique index is new for each row: an id, or else the last one.
        indexes = [index[1] for index in database.execute(f'PRAGMA index_list("{name}")') if index[2]]
        unique = [[self.columns[part[1]] for part in database.execute(f'PRAGMA index_info("{index}")')]
                  for index in indexes]
        self.varied = sorted({
            next((column for column in columns if column[2] == "BLOB"), columns[-1])[0]
            for columns in [self.key, *unique]})

    def rows(self):
        """All rows by their keys."""
        rows = self.database.execute(f'SELECT * FROM "{self.name}"')
        return {tuple(row[column[0]] for column in self.key): row for row in rows}

    def insertion(self, row):
        """The row for `peal-lab`."""
        values = [{"hex": value.hex()} if isinstance(value, bytes) else value for value in row]
        return {"table": self.name, "columns": [column[1] for column in self.columns], "values": values,
                "varied": self.varied}


def base64(text):
    import base64 as codec
    return codec.b64encode(text.encode()).decode()


def measure(setup, options):
    rounds = {row: [] for row in ["bare", *options.rows]}
    for _ in range(options.rounds):
        rounds["bare"].append(setup.load(setup.bare_port, setup.bare, setup.request("bare"), options.count * 4))
        for row in options.rows:
            if row == "batch":
                rounds[row].append((0, setup.batch(max(1000, options.count // 1000 * 1000)), 0, 0))
            elif row in DURABLE:
                process, port = setup.durable[row]
                rounds[row].append(setup.load(port, process, setup.request("bare"), options.count))
            else:
                rounds[row].append(
                    setup.load(setup.port, setup.peal, setup.request(row), options.count, row in SENT))
    result = {"connections": options.connections, "count": options.count, "rounds": options.rounds}
    bare = statistics.median(figures[0] for figures in rounds["bare"])
    for row, figures in rounds.items():
        rate, cpu, p99, late = (statistics.median(column) for column in zip(*figures))
        result[f"{row}_cpu_us"] = round(cpu, 1)
        if row in SENT:
            result[f"{row}_delivered_after_ms"] = round(late)
        if rate:
            result |= {f"{row}_per_second": round(rate), f"{row}_p99_ms": round(p99, 2)}
        if rate and row != "bare":
            result[f"{row}_ratio"] = round(rate / bare, 3)
    for name, row in DURABLE.items():
        if f"{name}_ratio" in result and f"{row}_ratio" in result:
            result[f"{row}_to_durable"] = round(result[f"{row}_ratio"] / result[f"{name}_ratio"], 3)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="requests of each row and round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--rows", type=lambda text: text.split(","), default=ROWS)
    parser.add_argument("--log-level", default="warning", help="info logs every request, as the server does by default")
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.devices, options.locales = "apns", 1, 1
    run(IntakeSetup, measure, options)


if __name__ == "__main__":
    main()
