"""Alerts from what a server really reports: each scrape of `/metrics` stands for a minute of Prometheus."""

import json
import re
import time

from peal_server import OPENER, ROOT
from promtool import promtool
from waiting import wait_until

RULES = ROOT / "Packaging/monitoring/peal-alerts.yaml"
# The series that the rules read.
NAMES = set(re.findall(r"\b((?:peal|process)_\w+)(?=[\s{\[)])", RULES.read_text())) | {"up"}


class TimeLapse:
    """Scrapes of one server. `fires` asks promtool about them."""

    def __init__(self, server, directory):
        self.server, self.directory = server, directory
        self.minutes = []
        # Prometheus' clock begins at 0 in promtool: instants are counted from the first scrape.
        self.start = time.time()

    def scrape(self, count=1, between=None):
        """Scrapes so many times, each time after `between()`."""
        for _ in range(count):
            if between:
                between()
            self.minutes.append(self.read())
        return self

    def wait(self, metric, is_there):
        """Waits until a metric has a value for which `is_there` holds. The time until then is no minute."""
        def reached():
            minute = self.read()
            return is_there(self.sum(metric, minute)) and minute

        wait_until(reached, failure=lambda: f"{metric} is {self.sum(metric, self.read())}")
        return self.scrape()

    def read(self):
        try:
            with OPENER.open(self.server.url + "/metrics", timeout=20) as answer:
                lines = answer.read().decode().splitlines()
        except OSError:
            return {'up{job="peal",instance="a"}': 0}
        found = {'up{job="peal",instance="a"}': 1}
        for line in lines:
            name, labels, value = re.fullmatch(r"(\w+)(?:\{(.*)\})? (\S+)", line).groups() if line[:1] != "#" else ("", 0, 0)
            if name in NAMES:
                number = float(value) - (self.start if name.endswith("_at_seconds") else 0)
                found[f'{name}{{{labels + "," if labels else ""}job="peal",instance="a"}}'] = number
        return found

    @staticmethod
    def sum(metric, minute):
        return sum(value for series, value in minute.items() if series.startswith(metric + "{"))

    def fires(self, alert, healthy):
        """Asserts that the alert fires after the last scrape, and that it did not after the first `healthy` ones."""
        names = sorted({name for minute in self.minutes for name in minute})
        series = {name: [minute.get(name, "_") for minute in self.minutes] for name in names}
        expected = {healthy - 1: False, len(self.minutes) - 1: True}
        check_firing(alert, series, expected, self.directory)


def check_firing(alert, series, expected, directory):
    """Asserts with promtool in which minutes an alert fires: `expected` by minute.

    `series` has the values of each series, one for each minute.
    """
    firing = f'clamp_max(count(ALERTS{{alertname="{alert}",alertstate="firing"}}), 1)'
    samples = {True: [{"labels": "{}", "value": 1}], False: []}
    test = {
        "rule_files": [str(RULES)],
        "evaluation_interval": "1m",
        "tests": [{
            "interval": "1m",
            "input_series": [{"series": name, "values": " ".join(map(str, values))} for name, values in series.items()],
            "promql_expr_test": [
                {"expr": firing, "eval_time": f"{minute}m", "exp_samples": samples[fires]}
                for minute, fires in expected.items()],
        }],
    }
    # JSON is YAML.
    file = directory / f"{alert}.yaml"
    file.write_text(json.dumps(test))
    done = promtool("test", "rules", file)
    assert done.returncode == 0, f"{done.stdout}{done.stderr}\n{series}"
