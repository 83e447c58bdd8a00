"""Compares the report of simulated phones with what the laboratory predicts for the same world."""
import json
import subprocess

from demo_programs import Problem

# With fewer opens in an arm, a report is not compared with the prediction.
OPENS_MIN = 30


def predict(binaries, report):
    """What `peal-lab campaign` says about the world of a report of `peal-sim phones`."""
    answer = subprocess.run([
        str(binaries / "peal-lab"), "campaign", "--seed", str(report["seed"]), "--users", str(report["phones"]),
        "--days", str(report["days"]), "--window-hours", str(report["window_hours"]), "--step-minutes",
        str(report["step_minutes"]), "--cancelled", str(report["cancelled_share"]), "--arrival",
        str(report["arrival"]), "--json"], capture_output=True, text=True)
    if answer.returncode != 0:
        raise Problem(f"peal-lab campaign: {answer.stderr.strip()}")
    return json.loads(answer.stdout)


def percent(share):
    return f"{100 * share:+.1f} %"


def judge(report, prediction):
    """Compares a report with the prediction. Returns a text, and whether they agree; None if the run is too small."""
    text = f"  the lab predicts {percent(prediction['lift'])}, with {prediction['labels']} labels and " \
        f"{prediction['models']} models"
    experiment = report.get("experiment") or {}
    low, high = experiment.get("low"), experiment.get("high")
    opens = [arm["opens"] for arm in experiment.get("arms", {}).values()]
    if low is None or high is None or len(opens) < 2 or min(opens) < OPENS_MIN:
        return f"{text}; an arm has fewer than {OPENS_MIN} opens, too few to compare", None
    agree = low <= prediction["lift"] <= high
    return f"{text}: {'inside' if agree else 'OUTSIDE'} the report's interval, " \
        f"{percent(low)} to {percent(high)}", agree
