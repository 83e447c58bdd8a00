"""What `Scripts/phones.py` concludes from a report of simulated phones and the prediction of the laboratory."""
import json
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "Scripts"))

import lab_prediction  # noqa: E402
from peal_server import PROGRAM  # noqa: E402

BINARIES = pathlib.Path(PROGRAM).parent


def report(low, high, opens=(40, 50)):
    arms = {name: {"users": 100, "messages": 700, "opens": number}
            for name, number in zip(("context_aware", "traditional"), opens)}
    return {"experiment": {"verdict": "undecided", "lift": 0.1, "low": low, "high": high, "arms": arms}}


@pytest.mark.parametrize("lift, agree", [(0.1, True), (-0.2, True), (0.4, True), (0.41, False), (-0.21, False)])
def test_a_prediction_must_be_in_the_interval_of_the_report(lift, agree):
    text, result = lab_prediction.judge(report(-0.2, 0.4), {"lift": lift, "labels": 9, "models": 1})
    assert result is agree
    assert ("OUTSIDE" in text) is not agree
    assert f"{100 * lift:+.1f} %" in text


@pytest.mark.parametrize("small", [
    report(-0.2, 0.4, (29, 50)), report(None, None), {"experiment": None}, {},
    {"experiment": {"low": -0.2, "high": 0.4, "arms": {}}}])
def test_a_report_with_few_opens_is_not_compared(small):
    text, result = lab_prediction.judge(small, {"lift": 5.0, "labels": 9, "models": 1})
    assert result is None and "too few" in text


def test_the_laboratory_predicts_the_world_of_a_report():
    world = {"seed": 4, "phones": 20, "days": 1, "window_hours": 6, "step_minutes": 60, "cancelled_share": 0.5,
             "arrival": 0.9}
    prediction = lab_prediction.predict(BINARIES, world)
    assert {prediction[name] for name in ("seed", "users", "days", "window_hours", "step_minutes")} == {4, 20, 1, 6, 60}
    assert prediction["messages"] == 20 and 0 < prediction["cancelled"] < 20
    assert json.dumps(prediction)  # numbers, no NaN


def test_a_laboratory_that_refuses_is_a_problem():
    world = {"seed": 1, "phones": 0, "days": 1, "window_hours": 6, "step_minutes": 60, "cancelled_share": 0.5,
             "arrival": 0.9}
    with pytest.raises(lab_prediction.Problem, match="--users"):
        lab_prediction.predict(BINARIES, world)
