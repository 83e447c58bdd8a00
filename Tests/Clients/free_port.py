"""Ports for servers that must be told theirs before they listen."""

import itertools
import os
import socket

# Below those that systems give to outgoing connections and to whoever asks for any: nobody takes one by chance.
FIRST, COUNT = 12_000, 8_000
_numbers = itertools.count(os.getpid() * 7919)


def free_port():
    """A port of loopback where nobody listens, another one at every call."""
    for number in itertools.islice(_numbers, COUNT):
        port = FIRST + number % COUNT
        try:
            socket.create_server(("127.0.0.1", port)).close()
            return port
        except OSError:
            continue
    raise AssertionError("no port is free")
