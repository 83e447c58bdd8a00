"""The four dialects tolerate common deviations of their clients; the native API tolerates only slashes."""

import http.client
import json
import secrets

import pytest
from peal_server import Peal, basic

ODD_PATHS = {"trailing slash": "{}/", "doubled slash": "/{}", "both": "/{}//"}
UNNAMED = [None, "", "text/plain", "application/x-www-form-urlencoded"]
JSON_NAMES = ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8"]
AUTHORIZATIONS = {"two blanks": "{}  {}", "a tab": "{}\t{}", "lower case": "{}", "blank behind": "{} {}  "}


class Dialect:
    """A valid request of a dialect, and the same one as careless clients write it."""

    def __init__(self, path, authorization, plain, careless, status=200):
        self.path, self.authorization, self.status = path, authorization, status
        self.plain, self.careless = plain, careless


class Everybody:
    def __init__(self, peal):
        self.peal = peal
        devtodev_id = "0a1b2c3d-4e5f-4a6b-8c7d-8e9fa0b1c2d3"
        self.app = peal.app(bundle_id="com.example.t", richie_app_id="r-app", devtodev_app_id=devtodev_id)
        key = lambda dialect, **fields: peal.post(f"/apps/{self.app}/keys", {"dialect": dialect, **fields})
        pivotal, richie = key("pivotal"), key("richie")
        platform = key("pivotal-platform", platform="ios", environment="production")
        user_token, token = key("devtodev")["user_token"], key("contextpush")["token"]
        device = secrets.token_hex(32)
        devtodev = {"user_token": user_token, "app_id": devtodev_id}
        schedule = {"bundle_id": "com.example.t", "platform": "ios", "user_id": "u", "campaign_id": "c"}
        self.dialects = {
            "pivotal": Dialect(
                "/v1/push",
                basic(pivotal["application_uuid"], pivotal["api_key"]),
                {"message": {"body": "x"}, "target": {"platforms": ["ios"]}},
                {
                    # PHP writes an empty object as [].
                    "message": {
                        "body": "x",
                        "custom": {
                            "ios": {"badge": "3", "content-available": "1", "sound": "", "extra": []},
                            "android": [],
                            "windows8": {"type": "toast", "template_fields": [], "options": []},
                        },
                    },
                    "target": {"platform": "", "platforms": ["ios"], "topics": [], "interactive-only": "0"},
                    "scheduleAt": "",
                    "scheduleIn": "0",
                    "expiryTime": None,
                },
            ),
            "pivotal's devices": Dialect(
                "/v1/registration",
                basic(platform["platform_uuid"], platform["platform_secret"]),
                {"os": "ios", "registration_token": device},
                {"os": "ios", "registration_token": device.upper(), "tags": None, "custom_user_id": ""},
            ),
            "richie": Dialect(
                "/push/v2/admin/task",
                basic(richie["username"], richie["password"]),
                {"app_id": "r-app", "topics": ["all_users"], "payloads": {"ios": {"aps": {"alert": {"body": "b"}}}}},
                {
                    "app_id": "r-app",
                    "topics": ["all_users"],
                    "external_user_ids": None,
                    "payloads": {
                        "ios": {
                            "aps": {"alert": {"title": "", "body": "b", "issue-page": "10"}, "content-available": "1"}
                        },
                        "android": None,
                    },
                },
                201,
            ),
            "devtodev": Dialect(
                "/api/v1/push/send",
                None,
                {**devtodev, "audience": [{"userId": "u"}], "ios": {"payload": {"text": "x"}}},
                {
                    **devtodev,
                    "campaign_tag": None,
                    "pack_id": "",
                    "audience": [{"userId": "u", "idfa": "", "devtodevId": "15"}],
                    "ios": {
                        "payload": {"title": "", "text": "x", "badge": "11", "sound": None, "data": [], "action": []},
                        "options": {"hidden": "0", "sandbox": "false", "expire": "36000", "collapse_key": ""},
                    },
                },
                # Accepted, but there is no credential for APNs.
                422,
            ),
            "contextpush": Dialect(
                "/v1/campaigns/schedule_message_for_user",
                f"Token {token}",
                {**schedule, "content": {"body": "b"}, "deliver_within_hours": 3},
                {
                    **schedule,
                    "content": {
                        "title": "t",
                        "body": "b",
                        "subtitle": "",
                        "sound": None,
                        "badge": "1",
                        "imageUrl": "",
                        "userInfo": [],
                    },
                    "deliver_within_hours": "3",
                    "target_delivery_time": "",
                    "idempotency_key": "",
                },
            ),
        }

    def send(self, path, body, authorization, name="application/json"):
        """A raw POST; returns status and answer."""
        connection = http.client.HTTPConnection(self.peal.url.removeprefix("http://"), timeout=30)
        connection.putrequest("POST", path)
        if authorization is not None:
            connection.putheader("Authorization", authorization)
        if name is not None:
            connection.putheader("Content-Type", name)
        data = json.dumps(body).encode()
        connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text


@pytest.fixture(scope="module")
def everybody(tmp_path_factory):
    peal = Peal(tmp_path_factory.mktemp("tolerance"))
    yield Everybody(peal)
    peal.stop()


DIALECTS = ["pivotal", "pivotal's devices", "richie", "devtodev", "contextpush"]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_accepts_what_its_clients_write(everybody, name):
    dialect = everybody.dialects[name]
    send = lambda path, body, authorization=dialect.authorization, **more: everybody.send(
        path, body, authorization, **more
    )
    for body in (dialect.plain, dialect.careless, {**dialect.plain, "unheard_of": {"a": [1]}}):
        status, text = send(dialect.path, body)
        assert status == dialect.status, text
    for odd, form in ODD_PATHS.items():
        status, text = send(form.format(dialect.path), dialect.plain)
        assert status == dialect.status, (odd, text)
    for media_type in UNNAMED + JSON_NAMES:
        status, text = send(dialect.path, dialect.plain, name=media_type)
        assert status == dialect.status, (media_type, text)
    # devtodev's documentation names no types, so none is wrong there.
    assert send(dialect.path, dialect.plain, name="image/png")[0] == (422 if name == "devtodev" else 415)
    if dialect.authorization:
        scheme, value = dialect.authorization.split(" ")
        for odd, form in AUTHORIZATIONS.items():
            written = f"{scheme.lower()} {value}" if odd == "lower case" else form.format(scheme, value)
            status, text = send(dialect.path, dialect.plain, written)
            assert status == dialect.status, (odd, text)
        assert send(dialect.path, dialect.plain, f"{scheme} wrong")[0] == 401


def test_the_native_api_accepts_none_of_it_but_paths(everybody):
    path, bearer = f"/peal/v1/apps/{everybody.app}/messages:validate", f"Bearer {everybody.peal.admin_token}"
    plain = {"audience": {"all": True}, "content": {"body": "x"}}
    assert everybody.send(path, plain, bearer)[0] == 200
    status, text = everybody.send(path, {**plain, "unheard_of": 1}, bearer)
    assert status == 400 and '"unheard_of"' in text
    assert everybody.send(f"{path}?unheard_of=1", plain, bearer)[0] == 400
    for odd, form in ODD_PATHS.items():
        assert everybody.send(form.format(path), plain, bearer)[0] == 200, odd
    for name in UNNAMED:
        assert everybody.send(path, plain, bearer, name=name)[0] == 415, name
    for name in JSON_NAMES:
        assert everybody.send(path, plain, bearer, name=name)[0] == 200, name
    for change in (
        {"audience": {"all": 1}},
        {"audience": {"all": "true"}},
        {"audience": {"topics": "news"}},
        {"content": {"body": "x", "badge": "3"}},
        {"content": {"body": 5}},
        {"options": {"ttl_seconds": "60"}},
        {"options": {"background": 1}},
        {"options": {"background": "false"}},
        {"options": {"priority": ""}},
        {"options": {"expires_at": ""}},
        {"campaign_id": ""},
    ):
        status, text = everybody.send(path, {**plain, **change}, bearer)
        assert status == 400, (change, text)
