"""Ports for servers that must be given one before they listen."""

import itertools
import os
import socket

# Below the ephemeral ports, so that no other program gets one of these.
FIRST, COUNT = 12_000, 8_000
_numbers = itertools.count(os.getpid() * 7919)


def free_port():
    """A free port of loopback, a different one at every call."""
    for number in itertools.islice(_numbers, COUNT):
        port = FIRST + number % COUNT
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue
    raise AssertionError("no port is free")
