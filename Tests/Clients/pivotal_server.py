"""A Pivotal Push server reduced to what an import reads: `/v2/registrations`, page by page."""

import base64
import http.server
import json
import threading
import urllib.parse


class PivotalServer:
    """Serves `registrations` to `application` and `api_key`; `requests` are the paths that were asked for."""

    def __init__(self, registrations, application="app-1", api_key="key-1"):
        self.registrations = registrations
        self.requests = []
        authorization = "Basic " + base64.b64encode(f"{application}:{api_key}".encode()).decode()
        owner = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                owner.requests.append(self.path)
                url = urllib.parse.urlsplit(self.path)
                query = dict(urllib.parse.parse_qsl(url.query))
                if self.headers["Authorization"] != authorization:
                    self.answer(401, {})
                elif url.path.rstrip("/") != "/v2/registrations":
                    self.answer(404, {})
                else:
                    self.answer(200, owner.page(int(query.get("size", 20)), int(query.get("page", 1))))

            def answer(self, status, document):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def page(self, size, number):
        size = min(size, 50)
        total = len(self.registrations)
        return {
            "registrations": self.registrations[(number - 1) * size : number * size],
            "totalRegistrations": total,
            "totalPages": -(-total // size),
            "page": number,
            "size": size,
        }

    def stop(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
