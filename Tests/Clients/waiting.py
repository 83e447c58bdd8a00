"""Waiting, with a bound, for what happens in another process."""

import time


def wait_until(condition, seconds=30, failure=None, pause=0.05):
    """The first true result of `condition`, asked every `pause` seconds.

    Fails after `seconds`, with the text that `failure()` returns. `condition` may itself fail earlier.
    """
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, failure() if failure else f"not after {seconds} s"
        time.sleep(pause)
    return result
