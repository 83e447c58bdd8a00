"""A scenario of the torture test.

Classes: `UNPROCESSED`: the client can prove what was not processed, so every device is reached exactly once, and soon.
`AMBIGUOUS`: some answers are lost; those devices, and only those, are sent to again. `POISONED`: the connection must
end with the right GOAWAY; what it had in flight is sent again, everything else goes on elsewhere.
"""

import collections
import struct
import threading

from frames import *  # noqa: F403

UNPROCESSED, AMBIGUOUS, POISONED = "unprocessed", "ambiguous", "poisoned"
SCENARIOS, EARLY = [], []


class Scenario:
    """A script and its result: which devices were reached with which ids, and whose answers were lost."""

    def __init__(self, name, kind, script, body_bytes=40, is_alone=False):
        self.name, self.kind, self.script, self.body_bytes = name, kind, script, body_bytes
        # Whether other connections wait meanwhile, so that this one gets all requests.
        self.is_alone = is_alone
        self.number = len(SCENARIOS) + len(EARLY)
        self.key_id = f"TORTURE{self.number:03}"
        self.reached = collections.defaultdict(list)
        self.lost = set()
        self.is_claimed, self.finished = False, threading.Event()

    def claims(self):
        """Whether the calling connection plays the script."""
        is_mine, self.is_claimed = not self.is_claimed, True
        return is_mine

    def play(self, connection):
        self.is_claimed = True
        self.script(connection)
        self.finished.set()

    def note(self, request):
        self.reached[request.message].append((request.device, request.id))


def scenario(name, kind=UNPROCESSED, table=SCENARIOS, **rest):
    def add(script):
        table.append(Scenario(name, kind, script, **rest))
        return script

    return add


def early(name, kind=UNPROCESSED):
    """Played from `accept` on, before the client sends anything."""
    return scenario(name, kind, table=EARLY)


def poison(name, code, *frames):
    """A table row: while ten requests are open, `frames` (of a stream id) must end the connection with `code`."""

    def script(c):
        batch = start(c, 10)
        c.send(*(each(batch[0].stream) if callable(each) else each for each in frames))
        c.expect_goaway(code)

    scenario(name, POISONED)(script)


def start(c, count=20):
    """Skips the first request and returns the next `count`: the client keeps one stream for small messages."""
    c.settled((STREAMS, count + 1))
    c.take(1)
    c.answer(c.first)
    return c.take(count)


def window_update(stream, increment):
    return frame(WINDOW_UPDATE, 0, stream, number(increment))


def headers(stream, fields=block(), flags=END_HEADERS | END_STREAM):
    return frame(HEADERS, flags, stream, fields)


def setting(name, value):
    return frame(SETTINGS, 0, 0, struct.pack(">HI", name, value))
