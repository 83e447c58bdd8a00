"""A Pivotal Push server, reduced to what an import reads according to its documentation.

`/v2/registrations` lists neither tags nor custom user ids, but can be asked for the devices of a topic;
`/v1/registration/{id}` shows both to the device's platform.
"""

import json
import urllib.parse

from local_server import Handler, Server
from peal_server import basic


class PivotalServer:
    """Serves `registrations`. `requests` are the requested paths, `source` the options that import from it.

    `topics` are `{name: expireAt or None}`, `members` the device ids of each, `details` what a platform is shown of a
    device beyond the list; `hidden` devices belong to another platform. A server that `ignores_filters` lists all
    registrations whatever topic is asked for.
    """

    def __init__(self, registrations, topics=None, members=None, details=None, ignores_filters=False, hidden=()):
        self.registrations = registrations
        self.topics = topics
        self.members = members or {}
        self.details = details or {}
        self.ignores_filters = ignores_filters
        self.hidden = hidden
        self.requests = []
        authorization = basic("app-1", "key-1")
        platform_authorization = basic("platform-1", "secret-1")
        owner = self

        class Answering(Handler):
            def do_GET(self):
                owner.requests.append(self.path)
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                size, number = min(int(query.get("size", 20)), 50), int(query.get("page", 1))
                shown = self.headers["Authorization"]
                if url.path.startswith("/v1/registration/"):
                    found = owner.registration(url.path.rsplit("/", 1)[1]) if shown == platform_authorization else None
                    self.show(200 if found else 404 if shown == platform_authorization else 401, found or {})
                elif shown != authorization:
                    self.show(401, {})
                elif url.path.rstrip("/") == "/v2/registrations":
                    self.show(200, owner.page(size, number, query.get("topic")))
                elif url.path.rstrip("/") == "/v2/topics" and owner.topics is not None:
                    self.show(200, owner.topic_page(size, number))
                else:
                    self.show(404, {})

            def show(self, status, document):
                self.answer(status, json.dumps(document).encode(), {"Content-Type": "application/json"})

        self.server = Server(Answering)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.source = ["--from", "pivotal", "--url", self.url, "--application-uuid", "app-1", "--api-key", "key-1"]
        self.stop = self.server.stop

    def page(self, size, number, topic):
        found = self.registrations
        if topic is not None and not self.ignores_filters:
            found = [r for r in found if r["device_uuid"] in self.members.get(topic, ())]
        return {
            "registrations": found[(number - 1) * size : number * size],
            "totalRegistrations": len(found),
            "totalPages": -(-len(found) // size),
            "page": number,
            "size": size,
        }

    def topic_page(self, size, number):
        found = [
            {"id": index, "name": name, **({"expireAt": expiry} if expiry else {})}
            for index, (name, expiry) in enumerate(self.topics.items())
        ]
        return {
            "topics": found[(number - 1) * size : number * size],
            "totalTopics": len(found),
            "totalPages": -(-len(found) // size),
            "page": number,
            "size": size,
        }

    def registration(self, device):
        shown = [r for r in self.registrations if r["device_uuid"] not in self.hidden]
        found = next((r for r in shown if r["device_uuid"] == device), None)
        return found and {**found, "tags": [], "custom_user_id": "", **self.details.get(device, {})}
