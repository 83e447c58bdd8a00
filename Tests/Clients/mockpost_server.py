"""Runs MockPost, a mock server of other authors, behind nginx: FCM uses HTTP/2 over TLS, which MockPost lacks."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import urllib.request

from free_port import free_port
from local_server import Handler, Server
from peal_server import OPENER
from waiting import wait_until

NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/error.log warn;
events {{ worker_connections 256; }}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen 127.0.0.1:{port} ssl http2;
    ssl_certificate {folder}/cert.pem; ssl_certificate_key {folder}/key.pem;
    location / {{ proxy_pass http://127.0.0.1:{upstream}; proxy_http_version 1.1; }}
  }}
}}
"""


def wait_for(port, process):
    def listens():
        assert process.poll() is None, f"the program for port {port} ended"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            return False
        return True

    wait_until(listens, failure=lambda: f"nothing listens on port {port}")


class MockPost:
    """MockPost at `url` (https, HTTP/2) with a self-signed certificate, `ca_file`."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(parents=True)
        self.upstream, self.port = free_port(), free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.ca_file = str(self.folder / "cert.pem")
        names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
        key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "30"]
        files = ["-keyout", str(self.folder / "key.pem"), "-out", self.ca_file]
        subprocess.run(["openssl", "req", "-x509", *key, *names, *files], check=True, capture_output=True)
        self.processes = []
        self.run([sys.executable, "-m", "mockpost.cli"], self.upstream)
        configuration = self.folder / "nginx.conf"
        configuration.write_text(NGINX.format(folder=self.folder, port=self.port, upstream=self.upstream))
        self.run(["/usr/sbin/nginx", "-p", str(self.folder), "-c", str(configuration)], self.port)

    def run(self, command, port):
        names = ["SMTP_PORT", "FTP_PORT", "FTPS_PORT", "FTPS_IMPLICIT_PORT", "SFTP_PORT"]
        environment = {
            **os.environ,
            **{f"MOCKPOST_{name}": str(free_port()) for name in names},
            "MOCKPOST_HTTP_PORT": str(self.upstream),
            "MOCKPOST_DB_PATH": str(self.folder / "mockpost.db"),
            "MOCKPOST_FTP_DATA_DIR": str(self.folder / "ftp"),
            "MOCKPOST_SFTP_DATA_DIR": str(self.folder / "sftp"),
        }
        with (self.folder / "programs.log").open("ab") as output:
            self.processes.append(
                subprocess.Popen(command, env=environment, stdout=output, stderr=output, cwd=self.folder)
            )
        wait_for(port, self.processes[-1])

    def ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        fields = {"Content-Type": "application/json"}
        request = urllib.request.Request(f"http://127.0.0.1:{self.upstream}{path}", data, fields, method=method)
        with OPENER.open(request, timeout=30) as answer:
            return json.load(answer)

    def stop(self):
        for process in reversed(self.processes):
            # It has nothing to save, and would take seconds to stop.
            process.kill()
            process.wait(timeout=20)


class TokenEndpoint:
    """Issues an access token for every request, over plain HTTP on loopback."""

    def __init__(self):
        requests = self.requests = []

        class Tokens(Handler):
            def do_POST(self):
                requests.append(self.body().decode())
                token = b'{"access_token": "mock", "expires_in": 3599, "token_type": "Bearer"}'
                self.answer(200, token, {"Content-Type": "application/json"})

        self.server = Server(Tokens)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.url = f"http://{self.host}/token"
        self.stop = self.server.stop
