#!/usr/bin/env python3
"""A TCP proxy that delays everything by a fixed time in each direction, like a distant network.

Usage: delay.py --to PORT [--port 0] [--round-trip-ms 50]. Listens on 127.0.0.1, prints its port on the first line, and
one more line for each connection that it accepts. TCP's own handshake is not delayed.
"""
import argparse
import asyncio
import collections
import signal


class Side(asyncio.Protocol):
    """One end of a connection: what it receives is written to the other end later, in order."""

    def __init__(self, delay):
        self.delay, self.other, self.transport = delay, None, None
        self.waiting, self.timer = collections.deque(), None
        self.loop = asyncio.get_running_loop()

    def connection_made(self, transport):
        self.transport = transport

    def data_received(self, data):
        self.put(data)

    def connection_lost(self, error):
        self.put(None)

    def put(self, data):
        """Keeps `data` for the delay; None closes the other end after everything before it."""
        self.waiting.append((self.loop.time() + self.delay, data))
        if self.timer is None:
            self.timer = self.loop.call_at(self.waiting[0][0], self.release)

    def release(self):
        self.timer = None
        now = self.loop.time()
        while self.waiting and self.waiting[0][0] <= now:
            data = self.waiting.popleft()[1]
            if self.other is None or self.other.transport is None or self.other.transport.is_closing():
                continue
            if data is None:
                self.other.transport.close()
            else:
                self.other.transport.write(data)
        if self.waiting:
            self.timer = self.loop.call_at(self.waiting[0][0], self.release)


class Near(Side):
    """The client's end, which opens the end towards the server."""

    def __init__(self, delay, port):
        super().__init__(delay)
        self.port, self.opening = port, None

    def connection_made(self, transport):
        super().connection_made(transport)
        print("connection", flush=True)
        # Nothing is lost meanwhile: what the client sends first waits longer than this takes on loopback.
        self.opening = self.loop.create_task(self.open())

    async def open(self):
        far = Side(self.delay)
        far.other = self
        try:
            await self.loop.create_connection(lambda: far, "127.0.0.1", self.port)
        except OSError:
            self.transport.close()
        self.other = far


async def serve(options):
    loop = asyncio.get_running_loop()
    delay = options.round_trip_ms / 2000
    server = await loop.create_server(lambda: Near(delay, options.to), "127.0.0.1", options.port, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    over = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, over.set)
    await over.wait()
    server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--to", type=int, required=True, metavar="PORT", help="the server's port")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--round-trip-ms", type=float, default=50)
    asyncio.run(serve(parser.parse_args()))


if __name__ == "__main__":
    main()
