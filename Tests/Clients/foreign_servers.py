"""nghttpd and nginx as push networks, whose logs of the requests are read."""

import json
import re
import shutil
import socket
import subprocess

from free_port import free_port
from waiting import PATIENCE_SECONDS, wait_until


class ForeignServer:
    """A server on a free port of the loopback interface, with the certificate and key of `localhost` in two files."""

    def __init__(self, directory, program, ca_file, key_file):
        path = shutil.which(program, path="/usr/sbin:/usr/bin:/usr/local/sbin:/usr/local/bin:/opt/homebrew/bin")
        assert path, f"{program} is missing: Scripts/setup.sh test"
        directory.mkdir()
        self.ca_file, self.key_file = ca_file, key_file
        self.port = free_port()
        self.url = f"https://localhost:{self.port}"
        self.log_file = directory / "log"
        self.log_file.touch()
        with (directory / "output").open("wb") if program == "nginx" else self.log_file.open("wb") as output:
            self.process = subprocess.Popen(
                [path, *self.arguments(directory)], stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
            )

        def listens():
            assert self.process.poll() is None, self.log_file.read_text()
            with socket.socket() as plain:
                return plain.connect_ex(("127.0.0.1", self.port)) == 0

        wait_until(listens, failure=self.log_file.read_text, pause=0.02)

    def wait(self, read, count):
        """What `read` finds in the log, once there are `count` items: the log is written after the answer."""

        def found():
            items = read(self.log_file.read_text(errors="replace"))
            return len(items) >= count and items

        return wait_until(found, failure=lambda: f"fewer than {count} in {self.log_file.read_text()[-2000:]}")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=PATIENCE_SECONDS)


class Nghttpd(ForeignServer):
    """nghttp2's server with its verbose log of every frame; answers 404 to anything that is not a file."""

    def __init__(self, directory, ca_file, key_file):
        super().__init__(directory, "nghttpd", ca_file, key_file)

    def arguments(self, directory):
        return ["-v", "-a", "127.0.0.1", "-d", str(directory), str(self.port), self.key_file, self.ca_file]

    def requests(self, count):
        """Each request's fields by name, the names in their order, and those that are never indexed."""
        return self.wait(read_blocks, count)

    def frames(self):
        """Name and flags of each frame that the client sent."""
        found = re.findall(r"recv ([A-Z_]+) frame <length=\d+, flags=0x(\w+)", plain_text(self.log_file.read_text()))
        return [(name, int(flags, 16)) for name, flags in found]


def plain_text(log):
    return re.sub(r"\x1b\[[0-9;]*m", "", log)


def read_blocks(log):
    """nghttpd writes `recv (stream_id=1, sensitive) name: value` for each field, then the HEADERS frame."""
    blocks, present = [], {}
    for line in plain_text(log).splitlines():
        field = re.search(r"recv \(stream_id=(\d+)(, sensitive)?\) (:?[^:]+): (.*)$", line)
        if field:
            stream, sensitive, name, value = field.groups()
            block = present.setdefault(stream, {"fields": {}, "sensitive": set(), "names": []})
            block["fields"][name] = value
            block["names"].append(name)
            if sensitive:
                block["sensitive"].add(name)
        frame = re.search(r"recv HEADERS frame <length=\d+, flags=0x\w+, stream_id=(\d+)>", line)
        if frame and frame.group(1) in present:
            blocks.append(present.pop(frame.group(1)))
    return blocks


class Nginx(ForeignServer):
    """nginx with an access log of one JSON object per request; answers 200 to everything."""

    FIELDS = ("authorization", "apns_topic", "apns_push_type", "apns_priority", "apns_expiration", "apns_id",
              "apns_collapse_id", "content_type", "content_length", "user_agent")  # fmt: skip

    def __init__(self, directory, ca_file, key_file):
        super().__init__(directory, "nginx", ca_file, key_file)

    def arguments(self, directory):
        fields = ",".join(f'"{name}":"$http_{name}"' for name in self.FIELDS)
        paths = "".join(
            f"{name}_temp_path {directory / name};" for name in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
        )
        (directory / "nginx.conf").write_text(f"""
            daemon off; master_process off; worker_processes 1; pid {directory / "pid"};
            error_log {directory / "error.log"} warn;
            events {{ worker_connections 256; }}
            http {{
              log_format each escape=json
                '{{"method":"$request_method","scheme":"$scheme","host":"$host","path":"$request_uri",'
                '"protocol":"$server_protocol","body":"$request_body","sent":"$request_length",{fields}}}';
              access_log {self.log_file} each;
              {paths}
              server {{
                listen 127.0.0.1:{self.port} ssl http2;
                ssl_certificate {self.ca_file}; ssl_certificate_key {self.key_file};
                keepalive_requests 1000000;
                location / {{ return 200; }}
              }}
            }}
            """)
        return ["-p", str(directory), "-e", str(directory / "error.log"), "-c", str(directory / "nginx.conf")]

    def requests(self, count):
        return self.wait(lambda log: [json.loads(line) for line in log.splitlines()], count)
