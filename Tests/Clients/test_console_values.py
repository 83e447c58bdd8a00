"""Every field of every form of the console, and every parameter of its pages, with values that no browser sends."""

import html
import http.cookiejar
import re
import urllib.error
import urllib.parse
import urllib.request

VALUES = [str(2**63 - 1), str(-(2**63)), "\x00\u202e%"]
PAGES = [
    "", "compose", "calendar", "messages", "devices", "users/u", "topics", "topics/t", "segments", "campaigns", "import",
    "webhooks", "keys", "credentials", "audit", "drafts",
]
PARAMETERS = [
    "after", "search", "text", "state", "campaign", "from", "to", "days", "edit", "actor", "action", "topics", "where",
    "rows", "draft",
]
STEPS = ["review", "save", "count", "rows", "test"]


class Browser:
    """Keeps cookies and follows no redirect."""

    def __init__(self, server):
        class Stay(urllib.request.HTTPRedirectHandler):
            def redirect_request(self, *_):
                return None

        self.server = server
        self.opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()), Stay)

    def open(self, path, form=None):
        data = None if form is None else urllib.parse.urlencode(form).encode()
        try:
            with self.opener.open(self.server.url + path, data, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode(errors="replace")

    def sign_in(self):
        _, page = self.open("/console/sign-in")
        status, _ = self.open("/console/sign-in", {"key": self.server.admin_token, "csrf": secret(page)})
        assert status == 303


def secret(page):
    return re.search(r'name="csrf" value="([^"]+)"', page)[1]


def forms(page):
    """The forms of a page: each as its path and its fields with their values. Those that delete are left out."""
    for form in re.findall(r'<form[^>]*method="post"[^>]*>.*?</form>', page, re.S):
        path = html.unescape(re.search(r'action="([^"]+)"', form)[1])
        if re.search("sign-out|delete|erase", path):
            continue
        fields = {html.unescape(name): "" for name in re.findall(r'name="([^"]+)"', form)}
        for name, value in re.findall(r'name="([^"]+)"[^>]*value="([^"]*)"', form):
            fields[html.unescape(name)] = html.unescape(value)
        yield path, fields


def test_no_value_of_a_field_or_parameter_fails_or_ends_the_server(serve):
    server = serve()
    app = server.app()
    server.devices(app, [{"platform": "ios", "address": "ab" * 32, "user_id": "u", "topics": ["t"]}])
    server.put(f"/apps/{app}/segments/s", {"where": {"topic": "t"}})
    message = server.send(app)
    browser, seen, count = Browser(server), set(), 0
    browser.sign_in()

    def check(path, form=None):
        status, text = browser.open(path, form)
        assert 200 <= status < 500 and server.is_running, (path, form, status, text[:300], server.log[-1500:])

    bases = ["/console/", "/console/operations", "/console/new-app"]
    for page in bases + [f"/console/apps/{app}/{page}" for page in [*PAGES, f"messages/{message}"]]:
        for name in PARAMETERS:
            for value in VALUES:
                check(f"{page}?{urllib.parse.urlencode({name: value})}")
        for path, fields in forms(browser.open(page)[1]):
            if (path, tuple(sorted(fields))) in seen:
                continue
            seen.add((path, tuple(sorted(fields))))
            is_compose = path.endswith("/compose")
            filled = {name: value or "x" for name, value in fields.items() if name != "step"}
            if is_compose:
                filled = {"csrf": fields["csrf"], "topics": "t", "title": "x", "once": "0" * 32}
            for name in fields.keys() - {"csrf"}:
                for value in VALUES:
                    for step in STEPS if is_compose or "step" in fields else [""]:
                        check(path, {**filled, "step": step, name: value})
                        count += 1
    assert len(seen) >= 10 and count > 300
