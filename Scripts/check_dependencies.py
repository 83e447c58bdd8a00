#!/usr/bin/env python3
"""Compares the package versions that SwiftPM resolved with those in docs/dependencies.md.

Usage: check_dependencies.py [--write]. Exits with 1 and lists the differences when there are any. With --write it puts
the resolved versions into the document; packages that were added or removed must be edited by hand.
"""
import re
import sys

from dependency_tables import (
    DOCUMENT, Problem, bundled_libraries, bundled_version, checkout, documented_packages, resolved_packages)


def compare():
    """Differences as (package, documented version, resolved version); None where one side lacks the package."""
    documented, resolved = documented_packages(), resolved_packages()
    differences = []
    for name in sorted(documented.keys() | resolved.keys()):
        expected = documented.get(name, (None,))[0]
        found = resolved[name][1] if name in resolved else None
        if expected != found:
            differences.append((name, expected, found))
    return differences


def compare_bundled():
    """The same for C libraries inside packages, as far as their sources state a version."""
    resolved = resolved_packages()
    differences = []
    for library, package, expected, _ in bundled_libraries():
        found = bundled_version(library, checkout(resolved[package][0])) if package in resolved else None
        if found is not None and found != expected:
            differences.append((f"{library} in {package}", expected, found))
    return differences


def write(differences, bundled):
    """Puts resolved versions into the document's rows."""
    text = DOCUMENT.read_text()
    for name, expected, found in differences:
        if expected and found:
            text = re.sub(rf"^(\| `{re.escape(name)}` \| ){re.escape(expected)} ", rf"\g<1>{found} ", text, flags=re.M)
    for name, expected, found in bundled:
        text = text.replace(f" {expected} |", f" {found} |")
    DOCUMENT.write_text(text)


def main():
    differences, bundled = compare(), compare_bundled()
    if "--write" in sys.argv[1:]:
        write(differences, bundled)
        differences, bundled = compare(), compare_bundled()
    if not differences and not bundled:
        print(f"All {len(resolved_packages())} packages have the versions in docs/dependencies.md.")
        return 0
    print("error: the resolved versions differ from docs/dependencies.md:", file=sys.stderr)
    for name, expected, found in differences + bundled:
        print(f"error:   {name}: documented {expected or 'not at all'}, resolved {found or 'not at all'}",
              file=sys.stderr)
    print("error: if all tests pass with the resolved versions, run Scripts/check_dependencies.py --write.",
          file=sys.stderr)
    return 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Problem as problem:
        sys.exit(f"error: {problem}")
