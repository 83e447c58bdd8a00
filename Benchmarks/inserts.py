#!/usr/bin/env python3
"""Compares the rate of single pushes on PostgreSQL with the rate at which pgbench writes the same rows.

Starts PostgreSQL itself, pinned to one core together with `peal-sim` and the load; the server and pgbench take turns on
another. Triggers record every row that one push inserts, from its acceptance to its last page. Each round measures
pushes (`POST /v1/push` to one device, 64 keep-alive connections, delivery included), and then pgbench, which inserts
the same rows with new keys into copies of the tables, with their indexes, one transaction for a push, 64 clients,
prepared statements. Prints the figures as a table, and as JSON on the last line. Exits with 1 below --ratio-min.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import sys
import time

from fanout import ROOT, pinned, run
from intake import IntakeSetup
from stores import Postgres

# The copies, and the rows that one push inserted.
SCHEMA = "benchmark"
# A new value of a key column, by its type.
NEXT = {"bigint": f"nextval('{SCHEMA}.keys')",
        "bytea": f"decode(lpad(to_hex(nextval('{SCHEMA}.keys')), 32, '0'), 'hex')"}


class Database:
    """Statements of psql at the benchmark's PostgreSQL."""

    def __init__(self, postgres):
        self.postgres = postgres

    def rows(self, statements):
        command = ["psql", "-h", str(self.postgres.folder), "-U", "peal", "-d", "peal", "-qAt", "-v", "ON_ERROR_STOP=1"]
        result = subprocess.run(command, input=statements, capture_output=True, text=True)
        if result.returncode:
            sys.exit(result.stderr)
        return result.stdout.splitlines()

    def record(self):
        """From now on, each inserted row is also written to `SCHEMA.seen_<table>`."""
        tables = self.rows("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        statements = [f"CREATE SCHEMA {SCHEMA}; CREATE SEQUENCE {SCHEMA}.keys CACHE 100;"]
        for table in tables:
            statements.append(f"""
                CREATE TABLE {SCHEMA}.seen_{table} (LIKE public.{table});
                CREATE FUNCTION {SCHEMA}.see_{table}() RETURNS trigger LANGUAGE plpgsql AS
                  $$ BEGIN INSERT INTO {SCHEMA}.seen_{table} SELECT NEW.*; RETURN NULL; END $$;
                CREATE TRIGGER seen AFTER INSERT ON public.{table} FOR EACH ROW
                  EXECUTE FUNCTION {SCHEMA}.see_{table}();""")
        self.rows("\n".join(statements))
        return tables

    def script(self, tables):
        """Ends the recording. Returns a transaction of pgbench that inserts the same rows with new keys, and their
        number by table."""
        self.rows("\n".join(f"DROP TRIGGER seen ON public.{table};" for table in tables))
        lines, counts = [], {}
        for table in tables:
            seen = self.rows(f"SELECT count(*) FROM {SCHEMA}.seen_{table}")
            if seen == ["0"]:
                continue
            counts[table] = int(seen[0])
            self.rows(f"CREATE TABLE {SCHEMA}.{table} (LIKE public.{table} INCLUDING ALL)")
            lines += self.inserts(table)
        return "\n".join(["BEGIN;", *lines, "COMMIT;"]) + "\n", counts

    def inserts(self, table):
        """An INSERT for each recorded row. One column of the primary key gets the next number of a sequence: ids of
        messages and rows of the audit log grow as well."""
        keys = [line.split(" ", 1) for line in self.rows(f"""
            SELECT a.attname || ' ' || format_type(a.atttypid, NULL) FROM pg_index i
            JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey)
            WHERE i.indrelid = 'public.{table}'::regclass AND i.indisprimary ORDER BY a.attnum""")]
        varied, kind = next((key for key in keys if key[1] == "bytea"), keys[-1])
        names = self.rows(
            "SELECT attname FROM pg_attribute WHERE attnum > 0 AND NOT attisdropped "
            f"AND attrelid = 'public.{table}'::regclass ORDER BY attnum")
        values = " || ', ' || ".join(
            f"$${NEXT[kind]}$$" if name == varied else f'quote_nullable("{name}")' for name in names)
        listed = ", ".join(f'"{name}"' for name in names)
        rows = self.rows(f"SELECT {values} FROM {SCHEMA}.seen_{table}")
        return [f"INSERT INTO {SCHEMA}.{table} ({listed}) VALUES ({row});" for row in rows]


class SharedIntake(IntakeSetup):
    """A server on PostgreSQL."""
    postgres = None

    def store(self):
        return {"PEAL_STORE_URL": self.postgres.url, "PEAL_MASTER_KEY": "A" * 43 + "="}

    def pgbench(self, script, count):
        """Transactions a second."""
        path = self.folder / "push.sql"
        path.write_text(script)
        program = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin/pgbench"))[-1]
        each = max(1, count // self.options.connections)
        command = [
            str(program), "-h", str(self.postgres.folder), "-U", "peal", "-n", "-M", "prepared", "-f", str(path),
            "-c", str(self.options.connections), "-j", "1", "-t", str(each), "peal"]
        result = subprocess.run(pinned(1, command), capture_output=True, text=True)
        found = re.search(r"tps = ([\d.]+) \(without", result.stdout)
        if result.returncode or found is None:
            sys.exit(result.stdout + result.stderr)
        return float(found.group(1))


def measure(setup, options):
    database = Database(setup.postgres)
    push = setup.request("push")
    setup.load(setup.port, setup.peal, push, min(options.count, 500), True)
    # Statistics and marks of the pushes before are written with a delay.
    time.sleep(2)
    tables = database.record()
    setup.load(setup.port, setup.peal, push, 1, True)
    time.sleep(2)
    script, counts = database.script(tables)
    rounds = []
    for _ in range(options.rounds):
        rate, cpu, _, _ = setup.load(setup.port, setup.peal, push, options.count, True)
        inserts = setup.pgbench(script, options.count)
        rounds.append((rate, cpu, inserts, rate / inserts))
        print(f"{rate:.0f} pushes a second, pgbench {inserts:.0f}: ratio {rate / inserts:.2f}", flush=True)
    rate, cpu, inserts, ratio = (statistics.median(column) for column in zip(*rounds))
    return {"rows": counts, "count": options.count, "rounds": options.rounds, "push_cpu_us": round(cpu, 1),
            "push_per_second": round(rate), "pgbench_per_second": round(inserts), "ratio": round(ratio, 2)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=10_000, help="pushes of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--ratio-min", type=float, default=0)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    options = parser.parse_args()
    options.provider, options.devices, options.locales = "apns", 1, 1
    options.rows = []
    SharedIntake.postgres = Postgres()
    try:
        result = run(SharedIntake, measure, options)
    finally:
        SharedIntake.postgres.stop()
    if result["ratio"] < options.ratio_min:
        sys.exit("the ratio is below its limit")


if __name__ == "__main__":
    main()
