#!/usr/bin/env python3
"""Wraps comment lines longer than 120 columns in Swift files; swift format does not touch them.

Usage: wrap_comments.py FILE… Breaks a line at the last space that fits and moves the rest to the start of the next line
of the paragraph, or to a new line.
"""
import pathlib
import re
import sys

COLUMNS_MAX = 120
COMMENT = re.compile(r"^(\s*///? )(.*)$")
# Lines that start a new block and take no text from the line before: list items, table rows, fences, indented text.
BLOCK_START = re.compile(r"^\s*///? ([-*|]|```|\d+\.|\s)")


def wrapped(lines):
    lines = list(lines)
    number = 0
    while number < len(lines):
        line = lines[number]
        comment = COMMENT.match(line)
        cut = line.rfind(" ", 0, COLUMNS_MAX + 1) if comment else -1
        if len(line) > COLUMNS_MAX and comment and cut > len(comment[1]):
            lines[number] = line[:cut]
            rest = comment[1] + line[cut + 1:]
            follower = lines[number + 1] if number + 1 < len(lines) else ""
            if follower.startswith(comment[1]) and not BLOCK_START.match(follower):
                lines[number + 1] = rest + " " + follower[len(comment[1]):]
            else:
                lines.insert(number + 1, rest)
        number += 1
    return lines


def main():
    for path in map(pathlib.Path, sys.argv[1:]):
        before = path.read_text()
        after = "\n".join(wrapped(before.split("\n")))
        if after != before:
            path.write_text(after)


if __name__ == "__main__":
    main()
