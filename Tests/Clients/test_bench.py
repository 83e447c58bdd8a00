"""The benchmarks run: with few requests, on the programs that are tested, without judging their figures."""

import json
import pathlib
import subprocess
import sys

import pytest
from peal_server import PROGRAM, ROOT

sys.path.insert(0, str(ROOT / "Benchmarks"))
import bench  # noqa: E402


@pytest.mark.parametrize("row", bench.ROWS)
def test_measures_every_row(row, tmp_path):
    output = tmp_path / "bench.json"
    command = [sys.executable, str(ROOT / "Benchmarks" / "bench.py"), "--smoke", "--rows", row,
               "--binaries", str(pathlib.Path(PROGRAM).parent), "--output", str(output)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    figures = json.loads(output.read_text())["rows"][row]
    assert any(value > 0 for name, value in figures.items() if name.endswith(("cpu_us", "cpu_microseconds"))), figures


def test_measures_an_experiment():
    command = [sys.executable, str(ROOT / "Benchmarks" / "experiment.py"), "--users", "200", "--days", "3", "--reads", "2",
               "--limit-ms", "30000", "--binaries", str(pathlib.Path(PROGRAM).parent)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert result.returncode == 0, result.stdout + result.stderr
    assert json.loads(result.stdout.strip().splitlines()[-1])["first_s"] > 0


def test_measures_claims_and_fallbacks():
    command = [sys.executable, str(ROOT / "Benchmarks" / "moments.py"), "--scale", "0.002", "--claims", "60", "--rate", "20",
               "--binaries", str(pathlib.Path(PROGRAM).parent)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=300)
    figures = json.loads(result.stdout.strip().splitlines()[-1])
    assert figures["claims"]["claims"] == 60 and figures["claims"]["open"] == 2000, result.stderr
    assert figures["fallbacks"]["users"] == 200 and figures["fallbacks"]["early"] == 0, result.stderr


def test_reports_what_exceeds_a_threshold():
    figures = {"sender": {"ratio": 0.6}, "intake": {"push_ratio": 0.1}, "apns": None}
    limits = {"sender": {"ratio": {"max": 0.5}}, "intake": {"push_ratio": {"min": 0.2}}, "apns": {"ratio": {"max": 1}}}
    assert list(bench.violations(figures, limits)) == [
        "sender.ratio is 0.6, above 0.5", "intake.push_ratio is 0.1, below 0.2"]
