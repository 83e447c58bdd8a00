"""The server's OpenAPI document by two programs that nobody of this project wrote: one that reads it, one that tries
every operation of the running server with good, odd and wrong requests and holds each answer against it."""

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from openapi_world import World

TAGS = ["Native", "ContextPush", "Richie", "Devtodev", "Pivotal", "Operations"]


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    world = World(tmp_path_factory.mktemp("openapi"))
    yield world
    world.stop()


def test_the_document_is_openapi_3_1(world):
    document = world.document()
    errors = list(OpenAPIV31SpecValidator(document).iter_errors())
    assert errors == []
    assert document["openapi"].startswith("3.1.")


def test_every_tag_is_tried(world):
    assert [tag["name"] for tag in world.document()["tags"]] == TAGS


@pytest.mark.parametrize("tag", TAGS)
def test_the_server_keeps_to_its_document(world, tag):
    status, output = world.check(tag)
    assert status == 0, output
    assert world.peal.is_running
