"""The server's OpenAPI document by two programs that nobody of this project wrote: one that reads it, one that tries
every operation of the running server with good, odd and wrong requests and holds each answer against it."""

import concurrent.futures
import http.client
import json
import re
import urllib.parse

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator
from openapi_fixture import OpenAPIFixture

TAGS = ["Native", "Pivotal", "Richie", "ContextPush", "Devtodev", "Device", "Operations"]
# What takes longest begins first.
LONGEST = ["Native", "Pivotal", "Richie"]


@pytest.fixture(scope="module")
def fixture(tmp_path_factory):
    fixture = OpenAPIFixture(tmp_path_factory.mktemp("openapi"))
    yield fixture
    fixture.stop()


@pytest.fixture(scope="module")
def runs(fixture):
    """What schemathesis says of each tag; two run at a time."""
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        yield {tag: pool.submit(fixture.check, tag) for tag in [*LONGEST, *(tag for tag in TAGS if tag not in LONGEST)]}


def test_the_document_is_openapi_3_1(fixture):
    document = fixture.document()
    errors = list(OpenAPIV31SpecValidator(document).iter_errors())
    assert errors == []
    assert document["openapi"].startswith("3.1.")


def test_every_tag_is_tried(fixture):
    assert [tag["name"] for tag in fixture.document()["tags"]] == TAGS


@pytest.mark.parametrize("tag", TAGS)
def test_the_server_keeps_to_its_document(fixture, runs, tag):
    status, output = runs[tag].result()
    assert status == 0, output
    assert fixture.peal.is_running


@pytest.mark.parametrize("odd", ["%00", "%2F", "%2E%2E", "%FF", "%zz", "%25", "%F0%9F%A7%80", "a" * 4000])
def test_unusual_paths_are_answered_as_documented(fixture, odd):
    document, credentials = fixture.document(), fixture.authorizations()
    tried = 0
    for path, item in document["paths"].items():
        target = re.sub(r"\{\w+\}", lambda name: fixture.app if name[0] == "{app}" else odd, path)
        if odd not in target:
            continue
        for method, operation in item.items():
            scheme = next(iter(operation["security"][0])) if operation["security"] else None
            connection = http.client.HTTPConnection(urllib.parse.urlsplit(fixture.peal.url).netloc, timeout=30)
            headers = {"Content-Type": "application/json", **credentials.get(scheme, {})}
            connection.request(method.upper(), target, None if method == "get" else "{}", headers)
            answer = connection.getresponse()
            body = answer.read()
            connection.close()
            # A broken escape is no path at all.
            expected = set(operation["responses"]) | {"404"}
            assert str(answer.status) in expected and answer.status < 500, (method, target, answer.status, body)
            assert not body or json.loads(body) is not None
            tried += 1
    assert tried > 60
