"""Invents a past, so that the console has something to show: an experiment of two weeks, and what was sent lately.

Messages, users and devices are made through the API. What takes days (moments that phones chose, opens, windows that
have ended) is then written into the database of the demo. Nothing else may do that.
"""
import datetime
import math
import random
import secrets
import sqlite3
import struct
import time
import uuid

HOUR, DAY = 3_600_000, 86_400_000
OPENED, RECEIVED = 2, 1
CONTEXT_AWARE = 1
APP_OPENED, SOFT = 7, 1
WAKE_MINUTES = 30
MESSAGE_SENT, MOMENT_SENDING, MOMENT_SENT, MOMENT_SHOWN, MOMENT_OPENED = 5, 3, 5, 6, 7
# What a person does, how often, how eagerly messages are opened meanwhile, and the flags of a context: unlocked,
# unlocked before, in a vehicle, walking.
ACTIVITIES = [(45, 1.4, "1100"), (30, 0.8, "0000"), (15, 0.6, "0001"), (10, 0.45, "0010")]
TITLES = ["Your course is waiting", "Five minutes of Italian", "New words for today", "Keep your streak"]
LOCALES = [
    ("de-AT", "Europe/Vienna"), ("en-GB", "Europe/London"), ("it-IT", "Europe/Rome"), ("en-US", "America/Denver")]


class History:
    """The past of one app. `native` calls the API; `database` is the path of the server's SQLite file."""

    def __init__(self, native, app, database, seed=7):
        self.native, self.app, self.database = native, app, database
        self.random = random.Random(seed)

    def write(self, users=300, days=14, campaign="daily-reminder"):
        names = [f"person-{number:03d}" for number in range(1, users + 1)]
        self.register(names)
        messages = [self.send(names, campaign, TITLES[day % len(TITLES)]) for day in range(days)]
        connection = sqlite3.connect(self.database, timeout=30, isolation_level=None)
        try:
            number, = connection.execute("SELECT app FROM app WHERE id = ?", (uuid.UUID(self.app).bytes,)).fetchone()
            self.wait(connection, number)
            connection.execute("BEGIN IMMEDIATE")
            self.install(connection, number)
            for day, message in enumerate(reversed(messages)):
                self.age(connection, number, uuid.UUID(message).bytes, (day + 2) * DAY)
            connection.execute(
                "UPDATE experiment SET started_at = started_at - ? WHERE app = ?", ((days + 2) * DAY, number))
            connection.execute(
                "UPDATE device SET since = since - ?, registered_at = registered_at - ? WHERE app = ?",
                (20 * DAY, 20 * DAY, number))
            for seq, topic in connection.execute(
                    "SELECT seq, topic FROM topic_member WHERE app = ?", (number,)).fetchall():
                joined = int(time.time() * 1000) - int(30 * DAY * self.random.random() ** 2)
                for table in ("topic_member", "device_topic"):
                    connection.execute(
                        f"UPDATE {table} SET since = ? WHERE app = ? AND seq = ? AND topic = ?",
                        (joined, number, seq, topic))
            self.visit(connection, number, days + 2)
            self.count(connection, number)
            connection.execute("COMMIT")
        finally:
            connection.close()

    def register(self, names):
        for start in range(0, len(names), 500):
            devices = []
            for name in names[start:start + 500]:
                locale, zone = self.random.choice(LOCALES)
                devices.append({
                    "platform": "ios", "address": secrets.token_hex(32), "user_id": name, "locale": locale,
                    "time_zone": zone, "app_version": self.random.choice(["2.9", "3.0", "3.1"]),
                    "topics": self.random.sample(["courses", "news", "offers"], self.random.randint(0, 2))})
            self.native.post(f"/apps/{self.app}/devices:batch", {"devices": devices})

    def send(self, names, campaign, title):
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=6)
        return self.native.post(f"/apps/{self.app}/messages", {
            "audience": {"users": names}, "content": {"title": title, "body": "Start now: it takes five minutes."},
            "campaign_id": campaign, "method": "ab_test", "schedule": {"window": {"until": until.isoformat()}}})["id"]

    def wait(self, connection, app, seconds=180):
        """Until the app's alerts of the arm that is sent at once are out."""
        end = time.monotonic() + seconds
        waiting = "SELECT COUNT(*) FROM moment WHERE app = ? AND (state = ? OR arm <> ? AND state < ?)"
        while connection.execute(waiting, (app, MOMENT_SENDING, CONTEXT_AWARE, MOMENT_SENT)).fetchone()[0]:
            if time.monotonic() > end:
                raise RuntimeError("the alerts of the experiment were not sent in time")
            time.sleep(0.1)

    def install(self, connection, app):
        """Most phones have the SDK, and many of them can be woken."""
        now = int(time.time() * 1000)
        for seq, in connection.execute(
                "SELECT seq FROM device WHERE app = ? AND user_id LIKE 'person-%'", (app,)).fetchall():
            kind = self.random.choices(["available", "unknown", "unavailable", None], [55, 15, 15, 15])[0]
            if kind:
                connection.execute(
                    """INSERT INTO installation (app, seq, token_hash, api_key, capabilities, sdk_version, seen_at,
                        wake_no, wake_asked, counted_to, hits, misses, class)
                    VALUES (?, ?, ?, ?, 7, '1.0', ?, 0, 0, 0, 0, 0, ?)""",
                    (app, seq, secrets.token_bytes(32), uuid.uuid4().bytes, now, kind))

    def visit(self, connection, app, days):
        """Many phones report when the app is opened, to the hour."""
        now = int(time.time() * 1000) // HOUR * HOUR
        rows = connection.execute("SELECT seq FROM installation WHERE app = ?", (app,)).fetchall()
        for seq, in rows[::2]:
            for day in range(days):
                if self.random.random() < 0.8:
                    at = now - day * DAY - self.random.randrange(24) * HOUR
                    connection.execute(
                        """INSERT INTO device_event (app, seq, id, kind, message, at, stored_at, detail)
                        VALUES (?, ?, ?, ?, NULL, ?, ?, NULL)""",
                        (app, seq, uuid.uuid4().bytes, APP_OPENED, at, now))

    def age(self, connection, app, message, shift):
        """Moves a message into the past and lets its users open it."""
        key = (app, message)
        connection.execute(
            """UPDATE message SET created_at = created_at - ?1, expires_at = expires_at - ?1, state = ?4,
                slices_open = 0, window_until = window_until - ?1, cutoff_at = COALESCE(cutoff_at, created_at) - ?1,
                first_sent_at = COALESCE(first_sent_at, created_at) - ?1, ended_at = window_until - ?1
            WHERE app = ?2 AND message = ?3""", (shift, *key, MESSAGE_SENT))
        connection.execute(
            """UPDATE moment SET deadline = deadline - ?1, fallback_at = fallback_at - ?1, due_at = due_at - ?1,
                had_device = EXISTS (SELECT 1 FROM device d JOIN installation i ON i.app = d.app AND i.seq = d.seq
                    WHERE d.app = moment.app AND d.user_id = moment.user_id)
            WHERE app = ?2 AND message = ?3""", (shift, *key))
        created, = connection.execute(
            "SELECT created_at FROM message WHERE app = ? AND message = ?", key).fetchone()
        rows = connection.execute(
            """SELECT m.user_id, m.arm, d.seq, i.class FROM moment m
                JOIN device d ON d.app = m.app AND d.user_id = m.user_id
                LEFT JOIN installation i ON i.app = d.app AND i.seq = d.seq
            WHERE m.app = ? AND m.message = ?""", key).fetchall()
        counts = {RECEIVED: 0, OPENED: 0}
        for user, arm, seq, reach in rows:
            is_chosen = arm == CONTEXT_AWARE and reach == "available"
            # The same person is about as eager every day.
            eagerness = random.Random(user).lognormvariate(0, 0.6)
            rate = (0.21 if is_chosen else 0.11) * eagerness
            if is_chosen:
                hour = self.random.triangular(6, 24, 19.5)
                _, factor, flags = self.random.choices(ACTIVITIES, [row[0] for row in ACTIVITIES])[0]
                rate *= factor * (0.7 + 0.6 * math.exp(-((hour - 20) / 4) ** 2))
            late = self.random.uniform(0.2, 5.5) * HOUR if is_chosen else (6 * HOUR if arm == CONTEXT_AWARE else 0)
            reports = [(RECEIVED, late + 1000)]
            is_opened = self.random.random() < rate
            if is_opened:
                reports.append((OPENED, late + self.random.expovariate(1) * (0.15 if is_chosen else 1.2) * HOUR))
            if arm == CONTEXT_AWARE:
                state = (MOMENT_OPENED if is_opened else MOMENT_SHOWN) if is_chosen else MOMENT_SENT
                connection.execute(
                    """UPDATE moment SET state = ?, claim_id = ?, claim_until = ?, device = ?, outcome = 0
                    WHERE app = ? AND message = ? AND user_id = ?""",
                    (state, uuid.uuid4().bytes if is_chosen else None, created if is_chosen else None, seq, *key, user))
            if is_chosen:
                is_soft = self.random.random() < 0.2
                if is_soft:
                    connection.execute(
                        "UPDATE moment SET explore = ? WHERE app = ? AND message = ? AND user_id = ?",
                        (SOFT, *key, user))
                connection.execute(
                    "INSERT INTO context_sample (app, seq, id, message, at, snapshot, trace) VALUES (?, ?, ?, ?, ?, ?, ?)",
                    (app, seq, uuid.uuid4().bytes, message, created + int(late), self.context(hour, flags),
                     self.trace(hour, flags, late) if is_soft else None))
            for kind, delay in reports:
                counts[kind] += 1
                connection.execute(
                    "INSERT OR IGNORE INTO receipt (app, message, seq, kind, at) VALUES (?, ?, ?, ?, ?)",
                    (*key, seq, kind, created + int(min(delay, 29 * HOUR))))
        for kind, count in counts.items():
            connection.execute(
                "INSERT OR REPLACE INTO receipt_count (app, message, kind, n) VALUES (?, ?, ?, ?)",
                (*key, kind, count))

    @staticmethod
    def context(hour, flags):
        """The context of a display, as phones encode it (`ContextSnapshot` of the SDK)."""
        packed = sum((2 if flag == "1" else 1) << 2 * index for index, flag in enumerate(flags))
        minute, own = int(hour * 60), int(hour * 1000)
        return struct.pack(
            "<BHhhhH3sBB", 2, minute % 1440, 0, 0, 0, own % 24_000, packed.to_bytes(3, "little"), 128, 200)

    def trace(self, hour, flags, late):
        """What the phone computed at each wake until it showed the message (`TraceLine` of the SDK)."""
        end = int(late / HOUR * 60)
        wakes = sorted({*range(self.random.randrange(5, WAKE_MINUTES), end, WAKE_MINUTES), end})
        threshold, lines = self.random.uniform(0.09, 0.13), b""
        for minute in wakes:
            is_last = minute == end
            score = threshold * (self.random.uniform(1.05, 1.6) if is_last else self.random.uniform(0.4, 0.95))
            chance = 0.9 if is_last else 0.04
            context = self.context(max(0, hour - (end - minute) / 60), flags if is_last else "0000")
            lines += struct.pack(
                "<HBBB", minute, self.log_odds(score, 16, 8 * 16), self.log_odds(threshold, 16, 8 * 16),
                self.log_odds(chance, 24, 128)) + context
            threshold *= self.random.uniform(0.93, 1)
        return lines

    @staticmethod
    def log_odds(share, scale, middle):
        return round(math.log(share / (1 - share)) * scale + middle)

    def count(self, connection, app):
        """The chart of the last two days."""
        now = int(time.time() * 1000) // HOUR * HOUR
        # All messages of the experiment were sent just now.
        connection.execute("DELETE FROM statistics WHERE app = ? AND span = 60", (app,))
        for hour in range(1, 48):
            at = now - hour * HOUR
            day = 1 + math.sin((at // HOUR % 24 - 9) / 24 * 2 * math.pi)
            accepted = int(40 + 160 * day * self.random.uniform(0.8, 1.2))
            connection.execute(
                """INSERT OR REPLACE INTO statistics
                    (app, span, at, accepted, rejected, retired, expired, suppressed, received, opened)
                VALUES (?, 3600, ?, ?, 0, 0, 0, 0, ?, ?)""",
                (app, at, accepted, int(accepted * 0.9), int(accepted * 0.12)))
