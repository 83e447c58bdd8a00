#!/usr/bin/env python3
"""Wraps comment lines of Swift files that are longer than 120 columns, which swift format leaves alone.

Usage: wrap_comments.py FILE… A line is cut at its last space that fits; what is left over begins the paragraph's next
line, or makes one.
"""
import pathlib
import re
import sys

COLUMNS_MAX = 120
COMMENT = re.compile(r"^(\s*///? )(.*)$")
# What follows these begins something new: a list item, a table row, a fence, indented text.
BEGINNING = re.compile(r"^\s*///? ([-*|]|```|\d+\.|\s)")


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
            if follower.startswith(comment[1]) and not BEGINNING.match(follower):
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
