"""The official schema of FCM HTTP v1, as in Google's own Python client, translated to JSON Schema."""

import importlib.resources
import json

import jsonschema

# Of the discovery format, https://developers.google.com/discovery/v1/type-format
INTEGERS = {"int32": (-(2**31), 2**31 - 1), "uint32": (0, 2**32 - 1)}
DURATION = r"^-?[0-9]+(\.[0-9]{1,9})?s$"


def convert(part):
    """One schema of the discovery document. A member that it does not name is an error."""
    if "$ref" in part:
        return {"$ref": "#/$defs/" + part["$ref"]}
    schema = {}
    if part.get("type", "any") != "any":
        schema["type"] = part["type"]
    if part.get("format") in INTEGERS:
        schema["minimum"], schema["maximum"] = INTEGERS[part["format"]]
    if part.get("format") == "google-duration":
        schema["pattern"] = DURATION
    if "enum" in part:
        schema["enum"] = part["enum"]
    if "items" in part:
        schema["items"] = convert(part["items"])
    if part.get("type") == "object":
        properties = part.get("properties", {})
        schema["properties"] = {name: convert(value) for name, value in properties.items()}
        more = part.get("additionalProperties")
        schema["additionalProperties"] = False if more is None else convert(more)
    return schema


def validator(name="SendMessageRequest"):
    """Raises `jsonschema.ValidationError` for what is not a request to `messages:send`, or another named schema."""
    documents = importlib.resources.files("googleapiclient") / "discovery_cache" / "documents"
    document = json.loads((documents / "fcm.v1.json").read_text())
    definitions = {key: convert(value) for key, value in document["schemas"].items()}
    schema = {"$ref": "#/$defs/" + name, "$defs": definitions}
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)
