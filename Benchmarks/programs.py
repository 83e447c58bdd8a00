"""What several benchmarks share: a certificate, and programs for those that write the server's database directly."""
import json
import pathlib
import subprocess
import urllib.parse

from fanout import APNs, start_peal, stop, wait_for


def make_certificate(folder):
    """Writes `cert.pem` and `key.pem` of a server at localhost to `folder`."""
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", "-x509", *curve, *subject, *files], check=True, capture_output=True)


class Programs:
    """A simulator, a server and its database in one folder."""
    log_level = "critical"

    def __init__(self, options, folder):
        self.options, self.folder, self.database = options, folder, folder / "peal.db"
        self.binaries = pathlib.Path(options.binaries)
        directory = folder / "sim"
        directory.mkdir()
        self.simulator = subprocess.Popen(
            [str(self.binaries / "peal-sim"), "--directory", str(directory)], stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        self.sim = json.loads(wait_for(directory / "simulator.json", self.simulator))
        self.start()

    def start(self):
        self.peal, self.base = start_peal(
            self.binaries, self.folder / "port", PEAL_STORE_URL=f"sqlite:{self.database}",
            PEAL_PROVIDERS_CA_FILE=self.sim["ca_file"], PEAL_PROVIDERS_APNS_PRODUCTION_URL=self.sim["apns_url"],
            PEAL_LOG_LEVEL=self.log_level)
        self.port = urllib.parse.urlsplit(self.base).port

    def credential(self):
        """The credential of the simulator's APNs app, in the native API's form."""
        return APNs().credential(self.sim)[1]

    def stop_server(self):
        stop(self.peal)

    def stop(self):
        stop(self.peal, self.simulator)
