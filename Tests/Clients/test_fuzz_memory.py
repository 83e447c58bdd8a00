"""`make memory`, briefly: long enough to find what answers with a 5xx, too short to find slow growth."""

import os
import pathlib
import platform
import re

import pytest

import fuzz_memory
from openapi_fixture import OpenAPIFixture

# What glibc reserves for a piece of an arena on 64-bit systems (HEAP_MAX_SIZE).
ARENA_PIECE_BYTES = 64 << 20


@pytest.fixture
def fuzzed(tmp_path):
    fixture = OpenAPIFixture(tmp_path)
    yield fixture
    fixture.stop()


def arena_pieces(process):
    """How many aligned reservations of an arena's size the process has, the first part of them in use."""
    lines = pathlib.Path(f"/proc/{process.pid}/maps").read_text().splitlines()
    maps = [re.match(r"(\w+)-(\w+) (\S+)", line).groups() for line in lines]
    ranges = [(int(start, 16), int(end, 16), rights) for start, end, rights in maps]
    return sum(
        used == "rw-p" and rest == "---p" and middle == next_start
        and start % ARENA_PIECE_BYTES == 0 and end - start == ARENA_PIECE_BYTES
        for (start, middle, used), (next_start, end, rest) in zip(ranges, ranges[1:])
    )


def test_random_requests_are_answered_and_memory_stays_bounded(fuzzed, monkeypatch):
    monkeypatch.setattr(fuzz_memory, "GROWTH_MEGABYTES", 100)
    assert fuzz_memory.run(fuzzed, 12, seed=1) == []
    if platform.libc_ver()[0] == "glibc":
        # An arena may have several, for 64 MB each. By default nearly every thread would have its own arena, up to
        # eight for each processor: 15 pieces on two processors.
        assert arena_pieces(fuzzed.peal.process) <= max(2, os.cpu_count()) + 6
