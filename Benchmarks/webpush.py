#!/usr/bin/env python3
"""Measures the CPU time of `peal` per Web Push message: encrypted for each browser, with a VAPID token, sent over TLS to
nginx, which answers 201 to everything.

Usage: Benchmarks/webpush.py [--binaries .build/release] [--devices 20000] [--rounds 3]. Needs nginx and openssl. Prints a
line per round, and the figures as JSON on the last line. Exits with 1 if a message was not accepted.
"""
import argparse
import json
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time

from fanout import ROOT, call, cpu_seconds, start_peal
from programs import make_certificate

# The browser from RFC 8291's appendix: every device has its keys and a separate endpoint.
KEYS = {
    "p256dh": "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4",
    "auth": "BTBZMqHH6r4Tts7J_aSIgg",
}
TEXT = "x" * 200


def start_nginx(folder):
    """Starts nginx on a free loopback port; returns the process and the port."""
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    make_certificate(folder)
    paths = "".join(
        f"{name}_temp_path {folder / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi"))
    (folder / "nginx.conf").write_text(f"""
        daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
        events {{ worker_connections 512; }}
        http {{
          access_log off; {paths}
          server {{
            listen 127.0.0.1:{port} ssl http2;
            ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
            keepalive_requests 100000000; client_body_buffer_size 16k;
            location / {{ return 201; }}
          }}
        }}""")
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/bin") or sys.exit("nginx is missing")
    command = [program, "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"]
    return subprocess.Popen(command), port


def send(app, process, count):
    """Sends one message to every device; returns seconds and CPU seconds."""
    started, before = time.monotonic(), cpu_seconds(process.pid)
    message = call("POST", f"{app}/messages", {"audience": {"all": True}, "content": {"title": "Hello", "body": TEXT}})
    while (report := call("GET", f"{app}/messages/{message['id']}"))["state"] != "sent":
        time.sleep(0.05)
    if report["counts"]["accepted"] != count:
        sys.exit(f"not accepted: {report}")
    return time.monotonic() - started, cpu_seconds(process.pid) - before


def measure(options, folder):
    nginx, port = start_nginx(folder)
    peal, base = start_peal(
        options.binaries, folder / "port", PEAL_STORE_URL=f"sqlite:{folder}/peal.db",
        PEAL_PROVIDERS_WEBPUSH_ALLOWED_HOSTS=f"localhost:{port}",
        PEAL_PROVIDERS_CA_FILE=str(folder / "cert.pem"))
    try:
        app = f"{base}/apps/" + call("POST", f"{base}/apps", {"name": "benchmark"})["id"]
        call("PUT", f"{app}/credentials/webpush", {"subject": "mailto:push@example.com"})
        for start in range(0, options.devices, 1000):
            numbers = range(start, min(start + 1000, options.devices))
            addresses = [{"endpoint": f"https://localhost:{port}/{number}", "keys": KEYS} for number in numbers]
            devices = [{"platform": "web", "address": address} for address in addresses]
            call("POST", f"{app}/devices:batch", {"devices": devices})
        figures = []
        for _ in range(options.rounds):
            seconds, cpu = send(app, peal, options.devices)
            figures.append(cpu / options.devices * 1e6)
            print(f"{options.devices / seconds:.0f} messages a second, {figures[-1]:.1f} µs of CPU each", flush=True)
        return figures
    finally:
        for process in (peal, nginx):
            process.terminate()
            process.wait(30)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binaries", default=str(ROOT / ".build" / "release"))
    parser.add_argument("--devices", type=int, default=20_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(options, pathlib.Path(folder))
    print(json.dumps({"webpush_cpu_microseconds": round(statistics.median(figures), 1)}))


if __name__ == "__main__":
    main()
