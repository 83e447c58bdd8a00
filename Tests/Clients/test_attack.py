"""The attacks of `make attack`, briefly."""

import attack


def test_everything_holds(tmp_path, simulate):
    with attack.starting() as start:
        report = attack.run(tmp_path, 6, start, simulate(), quick=True)
    assert report.failures == []
