"""Random registrations, subscriptions and deletions, compared with a model of what the server must know.

The model states the rules of docs/api/native.md for devices, topics, audiences and conditions a second time. To search
longer: MODEL_SEED=7 MODEL_STEPS=2000 pytest test_model.py"""

import dataclasses
import fractions
import os
import random
import re
import urllib.parse

from peal_server import Refused

SEED = int(os.environ.get("MODEL_SEED", "2"))
STEPS = int(os.environ.get("MODEL_STEPS", "300"))

# Few values, so that they often collide. Some differ only in letter case, Unicode form or slashes, which may matter.
IDS = [f"20000000-0000-4000-8000-{number:012}" for number in range(8)]
HEX = ["a1" * 32, "B2" * 32, "b2" * 32]
ADDRESSES = {
    "ios": HEX,
    "android": ["token:A", "token:a", HEX[0]],
    "windows": ["https://db5p.notify.windows.com/?token=A", "https://db5p.notify.windows.com/?token=B"],
}
USERS = ["ann", "Ann", "u ü", "a/b"]
TOPICS = ["news", "News", "ü", "u\u0308", "a/b", " "]
FACTS = {
    "user_id": [*USERS, None],
    "locale": ["de", "de-AT", "de_at", "den", "en", None],
    "time_zone": ["Europe/Vienna", "UTC", None],
    "app_version": ["1", "2.1", "2.1.0", "2.9", "2.10", "2.1-beta", "v3", "beta", None],
    "os_version": ["7.9", "8.0", "4.0", "4.1", "unknown", None],
    "attributes": [{}, {"plan": "pro"}, {"plan": "Pro", "n": 5}, {"n": "5", "b": True}, {"n": 0.1}, {"n": 10**30}],
}
VERSIONS = ["1", "2.1", "2.9", "2.10", "2.1-beta", "3"]
INTERACTIVE_SINCE = {"ios": [8, 0], "android": [4, 1]}


@dataclasses.dataclass
class Device:
    platform: str
    environment: str = "production"
    address: str = ""
    id: str = ""
    topics: set = dataclasses.field(default_factory=set)
    facts: dict = dataclasses.field(default_factory=dict)
    is_active: bool = True

    @property
    def key(self):
        """Its address, which belongs to one active device."""
        address = self.address.lower() if self.platform == "ios" else self.address
        return self.platform, self.environment, address

    def fact(self, name):
        return self.facts.get(name) or ({} if name == "attributes" else None)

    @property
    def is_interactive(self):
        numbers = re.match(r"(\d+)(?:\.(\d+))?", self.fact("os_version") or "")
        since = INTERACTIVE_SINCE.get(self.platform)
        return since is not None and (not numbers or [int(text or 0) for text in numbers.groups()] >= since)


def order(text):
    """A version as it is compared: its numbers, whether it is a release, and what follows."""
    numbers, rest = re.match(r"v?(\d+(?:\.\d+)*)(.*)", text).groups()
    parts = [int(number) for number in numbers.split(".")]
    return parts + [0] * (8 - len(parts)), rest == "", rest


def value(of):
    """An attribute as it is compared. Values of different types never match."""
    if isinstance(of, bool) or isinstance(of, str):
        return type(of), of
    return "number", fractions.Fraction(str(of))


def passes(tests, given, read):
    """Whether a value passes all tests; None is a missing one. `read` is `value` or `order`."""

    def holds(test, wanted):
        if test == "exists":
            return wanted == (given is not None)
        if given is None:
            return False
        if test in ("is", "in"):
            return any(read(given) == read(other) for other in (wanted if test == "in" else [wanted]))
        left, right = read(given), read(wanted)
        if read is value and (left[0] != right[0] or isinstance(given, bool)):
            return False
        return {"gt": left > right, "gte": left >= right, "lt": left < right, "lte": left <= right}[test]

    return all(holds(test, wanted) for test, wanted in tests.items())


def matches(condition, device):
    """Whether a condition holds for a device, or for an address without one, whose id is empty."""
    ((name, given),) = condition.items()
    if name in ("and", "or"):
        return (all if name == "and" else any)(matches(part, device) for part in given)
    if name == "not":
        return not matches(given, device)
    if name == "attribute":
        tests = {test: wanted for test, wanted in given.items() if test != "name"}
        return passes(tests, device.fact("attributes").get(given["name"]), value)
    if name == "app_version":
        version = device.fact("app_version") or ""
        return passes(given, version if re.match(r"v?\d", version) else None, order)
    if name == "locale":
        locale = (device.fact("locale") or "").lower().replace("_", "-")
        return locale == given or locale.startswith(given + "-")
    held = {"device": device.id, "platform": device.platform, "user": device.fact("user_id")}
    return given in device.topics if name == "topic" else given == {**device.facts, **held}.get(name)


class Model:
    """What the server must know after the same calls."""

    def __init__(self):
        self.devices, self.topics = {}, set()

    @property
    def active(self):
        return [device for device in self.devices.values() if device.is_active]

    def register(self, id, body):
        """A registration replaces everything except the topics, which stay unless it has some."""
        former = self.devices.get(id)
        device = Device(body["platform"], body.get("environment") or "production", body["address"], id)
        device.topics = set(body["topics"]) if "topics" in body else former.topics if former else set()
        device.facts = {name: body.get(name) for name in FACTS}
        self.take(device)
        return former is None

    def take(self, device):
        """The address moves to the device; another one that has it is retired."""
        for other in self.active:
            other.is_active = other.key != device.key
        device.is_active = True
        self.devices[device.id] = device
        self.topics |= device.topics

    def erase(self, user):
        gone = [id for id, device in self.devices.items() if device.fact("user_id") == user]
        for id in gone:
            del self.devices[id]
        return len(gone)

    def members(self, audience):
        """The keys of the audience: devices, and addresses that no device has."""
        lists = ("devices", "users", "topics", "addresses")
        everybody = audience.get("all") or not any(audience.get(name) for name in lists)
        loose = [Device(**address) for address in audience.get("addresses", [])]
        named = {address.key for address in loose}
        found = {
            device.key: device
            for device in self.active
            if everybody
            or device.key in named
            or device.id in audience.get("devices", [])
            or device.fact("user_id") in audience.get("users", [])
            or device.topics & set(audience.get("topics", []))
        }
        held = {device.key for device in self.active}
        found |= {address.key: address for address in loose if address.key not in held}
        return {
            key
            for key, device in found.items()
            if matches(audience.get("where", {"and": []}), device)
            and device.platform in audience.get("platforms", [device.platform])
            and not device.topics & set(audience.get("not_topics", []))
            and (device.is_interactive or not audience.get("interactive_only"))
        }


class Chance:
    """Draws requests."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.one, self.happens = self.random.choice, lambda share: self.random.random() < share

    def some(self, values, least=0, most=3):
        return self.random.sample(values, self.random.randint(least, min(most, len(values))))

    def address(self):
        platform = self.one(list(ADDRESSES))
        environment = {"environment": self.one(["production", "sandbox"])} if platform == "ios" else {}
        return {"platform": platform, **environment, "address": self.one(ADDRESSES[platform])}

    def facts(self, share):
        drawn = {name: self.one(values) for name, values in FACTS.items() if self.happens(share)}
        return {**drawn, **({"topics": self.some(TOPICS)} if self.happens(share) else {})}

    def tests(self, values):
        names = self.some(["is", "in", "gt", "gte", "lt", "lte", "exists"], 1, 2)
        special = {"exists": self.happens(0.5), "in": self.some(values, 1)}
        return {name: special.get(name, self.one(values)) for name in names}

    def condition(self, depth=0):
        name = self.one(
            ["topic", "user", "device", "platform", "locale", "time_zone", "attribute", "app_version"]
            + (["and", "or", "not"] * 3 if depth < 3 else [])
        )
        if name in ("and", "or"):
            return {name: [self.condition(depth + 1) for _ in range(self.random.randint(1, 3))]}
        if name == "attribute":
            return {name: {"name": self.one(["plan", "n", "b"]), **self.tests(["pro", "Pro", 5, "5", 0.1, 0, 10**30])}}
        drawn = {
            "not": lambda: self.condition(depth + 1), "topic": lambda: self.one(TOPICS),
            "user": lambda: self.one(USERS), "device": lambda: self.one(IDS),
            "platform": lambda: self.one(["ios", "android", "windows", "web"]),
            "locale": lambda: self.one(["de", "de-at", "en", "e"]),
            "time_zone": lambda: self.one(["UTC", "Europe/Vienna"]), "app_version": lambda: self.tests(VERSIONS),
        }  # fmt: skip
        return {name: drawn[name]()}

    def audience(self):
        drawn = {
            "devices": self.some(IDS), "users": self.some(USERS, 0, 2), "topics": self.some(TOPICS, 0, 2),
            "addresses": [self.address() for _ in range(self.random.randint(0, 2))],
        }  # fmt: skip
        audience = {"all": True} if self.happens(0.3) else {name: drawn[name] for name in drawn if self.happens(0.5)}
        if not any(audience.values()) or self.happens(0.4):
            audience["where"] = self.condition()
        narrowing = {
            "platforms": self.some(["ios", "android", "windows"], 1), "not_topics": self.some(TOPICS, 0, 2),
            "interactive_only": self.happens(0.7),
        }  # fmt: skip
        return {**audience, **{name: narrowing[name] for name in narrowing if self.happens(0.25)}}


class Run:
    """Does the same to the server and to the model, and compares their answers."""

    def __init__(self, peal, seed):
        self.peal, self.model, self.chance = peal, Model(), Chance(seed)
        self.path = f"/apps/{peal.app()}"

    def status(self, call, *arguments):
        try:
            return call(*arguments)
        except Refused as refusal:
            return refusal.status

    def put(self, id):
        body = {**self.chance.address(), **self.chance.facts(0.5)}
        answer = self.peal.put(f"{self.path}/devices/{id}", body)
        self.model.register(id, body)
        self.check(answer)

    def batch(self, _):
        ids = self.chance.some(IDS, 1, 4)
        bodies = [{"id": id, **self.chance.address(), **self.chance.facts(0.3)} for id in ids]
        results = self.peal.post(f"{self.path}/devices:batch", {"devices": bodies})["results"]
        expected = [self.model.register(body["id"], body) for body in bodies]
        assert results == [
            {"id": id, "status": "created" if is_new else "updated"} for id, is_new in zip(ids, expected)
        ]

    def patch(self, id):
        device, body = self.model.devices.get(id), self.chance.facts(0.3)
        if device and self.chance.happens(0.4):
            body["address"] = self.chance.one(ADDRESSES[device.platform])
        answer = self.status(self.peal.patch, f"{self.path}/devices/{id}", body)
        if device is None or not device.is_active and "address" not in body:
            assert answer == (404 if device is None else 409)
            return
        device.address = body.get("address", device.address)
        device.topics = set(body.get("topics", device.topics))
        device.facts |= {name: body[name] for name in FACTS if name in body}
        self.model.take(device)
        self.check(answer)

    def subscribe(self, id):
        device, topic = self.model.devices.get(id), self.chance.one(TOPICS)
        path = f"{self.path}/devices/{id}/topics/{urllib.parse.quote(topic, safe='')}"
        answer = self.status(self.peal.put, path, None)
        if device is None:
            assert answer == 404
            return
        device.topics.add(topic)
        self.model.topics.add(topic)
        self.check(answer)

    def unsubscribe(self, id):
        device, topic = self.model.devices.get(id), self.chance.one(TOPICS)
        path = f"{self.path}/devices/{id}/topics/{urllib.parse.quote(topic, safe='')}"
        assert self.status(self.peal.delete, path) == (None if device else 404)
        if device:
            device.topics.discard(topic)

    def delete(self, id):
        answer = self.status(self.peal.delete, f"{self.path}/devices/{id}")
        assert answer == (None if self.model.devices.pop(id, None) else 404)

    def remove(self, _):
        topic = self.chance.one(TOPICS)
        answer = self.status(self.peal.delete, f"{self.path}/topics/{urllib.parse.quote(topic, safe='')}")
        assert answer == (None if topic in self.model.topics else 404)
        self.model.topics.discard(topic)
        for device in self.model.devices.values():
            device.topics.discard(topic)

    def erase(self, _):
        user = self.chance.one(USERS)
        answer = self.peal.delete(f"{self.path}/users/{urllib.parse.quote(user, safe='')}")
        assert answer == {"user_id": user, "devices": self.model.erase(user)}

    def count(self, _):
        audience = self.chance.audience()
        answer = self.peal.post(f"{self.path}/audience:count", {"audience": audience})
        platforms = [platform for platform, _, _ in self.model.members(audience)]
        expected = {platform: platforms.count(platform) for platform in set(platforms)}
        assert answer == {"devices": len(platforms), "platforms": expected}, audience

    def check(self, shown):
        device = self.model.devices[shown["id"]]
        facts = {name: shown.get(name) for name in FACTS} | {"attributes": shown.get("attributes", {})}
        assert (shown["platform"], shown["environment"], shown["address"]) == (
            device.platform, device.environment, device.address,
        )  # fmt: skip
        assert set(shown["topics"]) == device.topics
        assert facts == {name: device.fact(name) for name in FACTS}
        assert shown["state"] == ("active" if device.is_active else "retired")

    def check_all(self):
        devices = self.peal.get(f"{self.path}/devices", limit=200)["items"]
        assert {device["id"] for device in devices} == set(self.model.devices)
        for device in devices:
            self.check(device)
        topics = {topic["name"]: topic["devices"] for topic in self.peal.get(f"{self.path}/topics")["items"]}
        assert topics == {name: sum(name in d.topics for d in self.model.active) for name in self.model.topics}


def test_devices_topics_and_audiences_are_as_the_model_says(serve):
    run = Run(serve(), SEED)
    calls = [run.put] * 4 + [run.patch] * 3 + [run.subscribe] * 2 + [run.count] * 8
    calls += [run.batch, run.unsubscribe, run.delete, run.remove, run.erase]
    for step in range(STEPS):
        call, id = run.chance.one(calls), run.chance.one(IDS)
        try:
            call(id)
            if step % 25 == 0:
                run.check_all()
        except AssertionError as problem:
            raise AssertionError(f"seed {SEED}, step {step}, {call.__name__}: {problem}") from problem
    run.check_all()
