"""`make memory`, briefly: long enough to find what answers with a 5xx, too short to find slow growth."""

import fuzz_memory
from openapi_fixture import OpenAPIFixture


def test_random_requests_are_answered_and_memory_does_not_explode(tmp_path, monkeypatch):
    monkeypatch.setattr(fuzz_memory, "GROWTH_MEGABYTES", 100)
    fixture = OpenAPIFixture(tmp_path)
    try:
        assert fuzz_memory.run(fixture, 12, seed=1) == []
    finally:
        fixture.stop()
