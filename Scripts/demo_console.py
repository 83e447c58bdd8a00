"""Leaves something to look at in the console, and opens every page of it."""
import http.cookiejar
import re
import threading
import time
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from demo_api import request
from demo_history import History
from demo_programs import Problem

ANDROID_PHONES, UNINSTALLED = 40, 3
WAIT_SECONDS = 30
# A console's page may not be larger.
BYTES_MAX = 100_000
PAGES_OF_A_KIND = 5


class Receiver(ThreadingHTTPServer):
    """The server of a customer, which gets webhooks."""

    def __init__(self):
        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server_port}/events"


class Courses:
    """An app that has been in use for two weeks: an experiment, messages of several kinds, phones without the app."""

    def __init__(self, native, simulator, database):
        self.native, self.simulator = native, simulator
        self.app = native.make_app("Courses", simulator)
        self.history = History(native, self.app, database)

    def post(self, path, body):
        return self.native.post(f"/apps/{self.app}{path}", body)

    def put(self, path, body):
        return self.native.put(f"/apps/{self.app}{path}", body)

    def furnish(self, webhook_url):
        for path in ("apns/production", "fcm"):
            self.post(f"/credentials/{path}/verify", {})
        self.history.write()
        self.add_android_phones()
        self.put("/webhooks/crm", {
            "url": webhook_url, "kind": "events", "authentication": {"type": "bearer", "token": "a-token-of-the-demo-17"}})
        self.put("/templates/weekly", {"request": {
            "audience": {"topics": ["courses"]}, "campaign_id": "weekly",
            "content": {"title": {"en": "This week", "de": "Diese Woche"}, "body": {
                "en": "Three new courses.", "de": "Drei neue Kurse."}}}})
        self.put("/drafts/summer", {"request": {"content": {"title": "Learn in the sun"}}})
        self.put("/segments/german", {"where": {"and": [{"locale": "de"}, {"app_version": {"gte": "3.0"}}]}})
        for name, scopes in {"newsletter": ["send", "read"], "support": ["read"]}.items():
            self.post("/keys", {"dialect": "native", "name": name, "scopes": scopes})
        self.finished(self.post("/messages", {
            "audience": {"topics": ["offers"]}, "campaign_id": "weekly",
            "content": {"title": {"en": "Half price until Sunday", "de": "Bis Sonntag zum halben Preis"},
                        "body": {"en": "All language courses.", "de": "Alle Sprachkurse."}}})["id"])
        tomorrow = time.strftime("%Y-%m-%dT09:00:00Z", time.gmtime(time.time() + 86_400))
        self.post("/messages", {
            "audience": {"topics": ["courses"]}, "content": {"title": "Good morning", "body": "A new course for today"},
            "schedule": {"at": tomorrow, "in": "recipient_time_zone"}})

    def add_android_phones(self):
        """From a few, people have removed the app: FCM says so when the next message is sent."""
        devices = [{
            "platform": "android", "address": f"demo:android-{number}", "user_id": f"guest-{number:02d}",
            "locale": "en-GB", "topics": ["offers"], "model": "Pixel 9", "app_version": "3.2"}
            for number in range(1, ANDROID_PHONES + 1)]
        self.post("/devices:batch", {"devices": devices})
        for device in devices[:UNINSTALLED]:
            request("PUT", f"{self.simulator['control_url']}/faults/devices/{urllib.parse.quote(device['address'])}",
                    {"status": 404, "reason": "UNREGISTERED", "times": 100})

    def finished(self, message):
        report = self.native.finished(self.app, message, WAIT_SECONDS)
        if report["state"] != "sent" or report["counts"]["retired"] != UNINSTALLED:
            raise Problem(f"the offer ended as {report['state']}: {report['counts']}")

    def send_slowly(self):
        """A message that can be watched. Returns its id."""
        return self.post("/messages", {
            "audience": {"where": {"not": {"topic": "offers"}}}, "campaign_id": "weekly",
            "content": {"title": "Being sent now", "body": "One a second: change the rate on this page"},
            "options": {"rate_per_second": 1}})["id"]


class Visit:
    """Signs in with a link, as a browser does, and opens the pages that the pages link to."""

    def __init__(self, server_url, link):
        handlers = urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self.opener, self.server_url = urllib.request.build_opener(*handlers), server_url
        secret = re.search(r'name="csrf" value="(\w+)"', self.get(link)[0])[1]
        token = urllib.parse.parse_qs(urllib.parse.urlsplit(link).query)["link"][0]
        form = urllib.parse.urlencode({"csrf": secret, "link": token}).encode()
        with self.opener.open(f"{server_url}/console/sign-in", form, timeout=30) as answer:
            if "sign-in" in answer.url:
                raise Problem("the sign-in link does not sign in")

    def get(self, path):
        """The page, and the milliseconds until it was there."""
        start = time.monotonic()
        with self.opener.open(self.server_url + path, timeout=30) as answer:
            return answer.read().decode(), (time.monotonic() - start) * 1000

    def everywhere(self):
        """How many pages it opened, the largest in bytes, and the slowest in milliseconds."""
        waiting, seen, bytes_max, milliseconds_max = ["/console/"], {}, 0, 0
        while waiting:
            path = waiting.pop()
            # A few devices, users and messages stand for all.
            kind = re.sub(r"/(apps/[^/]+/\w+)/[^/?]+", r"/\1/*", path.partition("?")[0])
            if path in seen or sum(other == kind for other in seen.values()) >= PAGES_OF_A_KIND:
                continue
            seen[path] = kind
            page, took = self.get(path)
            bytes_max, milliseconds_max = max(bytes_max, len(page.encode())), max(milliseconds_max, took)
            links = (link.replace("&amp;", "&") for link in re.findall(r'href="(/console/[^"#]*)"', page))
            waiting += [link for link in links if "/assets/" not in link and "/export" not in link]
        if bytes_max >= BYTES_MAX:
            raise Problem(f"a page of the console has {bytes_max} bytes")
        return len(seen), bytes_max, milliseconds_max
