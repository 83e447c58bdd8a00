"""Waiting, with a bound, for what happens in another process."""

import time

# For what should happen soon. A busy machine may take many times longer than an idle one, and a test that passes does
# not wait for the rest. A shorter time belongs only where something else would happen later.
PATIENCE_SECONDS = 120


def wait_until(condition, seconds=PATIENCE_SECONDS, failure=None, pause=0.05):
    """The first true result of `condition`, asked every `pause` seconds.

    Fails after `seconds`, with the text that `failure()` returns. `condition` may itself fail earlier.
    """
    end = time.monotonic() + seconds
    while not (result := condition()):
        assert time.monotonic() < end, failure() if failure else f"not after {seconds} s"
        time.sleep(pause)
    return result


def wait_until_steady(value, seconds=2):
    """The value of `value()` once it has not changed for `seconds`."""
    last, since = value(), time.monotonic()

    def is_steady():
        nonlocal last, since
        if (new := value()) != last:
            last, since = new, time.monotonic()
        return time.monotonic() - since >= seconds

    wait_until(is_steady, failure=lambda: f"still changes: {last}")
    return last
