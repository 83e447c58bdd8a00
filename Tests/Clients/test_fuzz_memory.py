"""`make memory`, briefly: long enough to find what answers with a 5xx, too short to find slow growth."""

import fuzz_memory
from openapi_world import World


def test_random_requests_are_answered_and_memory_does_not_explode(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_memory, "GROWTH_MEGABYTES", 100)
    world = World(tmp_path)
    try:
        assert fuzz_memory.run(world, 12, seed=1) == []
    finally:
        world.stop()
