#!/usr/bin/env python3
"""Writes a software bill of materials: CycloneDX 1.5, JSON.

Usage: sbom.py [FILE] (default: .build/sbom.json). Needs a finished build. Versions come from Package.resolved, licences
from docs/dependencies.md, checked against the licence files in .build/checkouts, and the versions of system libraries
from dpkg and swift. The same inputs give the same bytes.
"""
import json
import pathlib
import re
import subprocess
import sys
import uuid

from dependency_tables import (
    ROOT, Problem, bundled_libraries, bundled_version, checkout, documented_packages, resolved_packages,
    system_libraries)

ROOT_REFERENCE = "peal"


def output(*command):
    """What a command prints; None when it is missing or fails."""
    try:
        return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    except (FileNotFoundError, subprocess.CalledProcessError):
        return None


def peal_version():
    for path in sorted((ROOT / "Sources" / "PealServer").rglob("*.swift")):
        found = re.search(r'enum PealVersion \{\s*package static let current = "([^"]+)"', path.read_text())
        if found:
            return found[1]
    raise Problem("PealVersion.current was not found in Sources/PealServer")


def licence_of(folder):
    """The SPDX expression of a checkout's licence file, as far as this project's dependencies need it."""
    files = sorted(folder.glob("LICENSE*"))
    if not files:
        raise Problem(f"{folder.name} has no licence file in .build/checkouts: run make build first")
    text = " ".join(files[0].read_text().split())
    if "Apache License Version 2.0" in text or "Apache License, Version 2.0" in text:
        return "Apache-2.0 WITH Swift-exception" if "Runtime Library Exception" in text else "Apache-2.0"
    if "Permission is hereby granted, free of charge" in text:
        return "MIT"
    raise Problem(f"the licence of {folder.name} was not recognized")


def licences(expression):
    is_single = " " not in expression
    return [{"license": {"id": expression}}] if is_single else [{"expression": expression}]


def component(kind, name, version, licence, purl):
    item = {"type": kind, "bom-ref": purl, "name": name, "licenses": licences(licence), "purl": purl}
    if version:
        item["version"] = version
    return item


def swift_packages():
    """A component for each resolved package, by identity."""
    documented = documented_packages()
    components = {}
    for name, (location, version, revision) in resolved_packages().items():
        licence = licence_of(checkout(location))
        if name not in documented:
            raise Problem(f"{name} is missing in docs/dependencies.md")
        if documented[name][1] != licence:
            raise Problem(f"{name}: docs/dependencies.md says {documented[name][1]}, its licence file {licence}")
        path = location.removeprefix("https://")
        item = component("library", name, version, licence, f"pkg:swift/{path}@{version}")
        item["externalReferences"] = [{"type": "vcs", "url": location, "comment": f"revision {revision}"}]
        item["components"] = [
            bundled(library, package, listed, terms) for library, package, listed, terms in bundled_libraries()
            if package == name]
        if not item["components"]:
            del item["components"]
        components[name] = item
    return components


def bundled(library, package, listed, licence):
    location = resolved_packages()[package][0]
    version = bundled_version(library, checkout(location)) or listed
    item = component("library", library, version, licence, f"pkg:generic/{library}@{version}")
    item["bom-ref"] += f"#{package}"
    return item


def swift_version():
    found = re.search(r"Swift version (\S+)", output("swift", "--version") or "")
    return found and found[1]


def system_components():
    item = []
    for name, debian, licence in system_libraries():
        if debian is None:
            version = swift_version()
            purl = "pkg:generic/swift" + (f"@{version}" if version else "")
        else:
            found = output("dpkg-query", "-W", "-f", "${Version} ${Architecture}", debian)
            version, architecture = found.split() if found else (None, None)
            # The version's characters that a package URL must not hold as they are (an epoch's colon, a plus sign).
            encoded = (version or "").replace(":", "%3A").replace("+", "%2B")
            purl = f"pkg:deb/debian/{debian}@{encoded}?arch={architecture}" if found else f"pkg:generic/{name}"
        item.append(component("library", debian or name, version, licence, purl))
    return item


def relations(packages, system):
    """The dependency graph, from `swift package show-dependencies`."""
    listed = output("swift", "package", "show-dependencies", "--format", "json")
    if listed is None:
        raise Problem("swift package show-dependencies failed")
    root = json.loads(listed)
    edges = {}

    def walk(node):
        # Packages of this repository, such as SDK/, are a part of Peal and no component of their own.
        children = [child for child in node["dependencies"] if "://" in child["url"]]
        edges.setdefault(node["identity"], set()).update(child["identity"] for child in children)
        for child in children:
            walk(child)

    walk(root)
    references = {name: item["bom-ref"] for name, item in packages.items()}
    references[root["identity"]] = ROOT_REFERENCE
    graph = {
        references[name]: sorted(references[child] for child in children) for name, children in edges.items()}
    graph[ROOT_REFERENCE] = sorted(graph[ROOT_REFERENCE] + [item["bom-ref"] for item in system])
    for item in system:
        graph[item["bom-ref"]] = []
    for item in packages.values():
        inner = [part["bom-ref"] for part in item.get("components", [])]
        graph[item["bom-ref"]] = sorted(graph.get(item["bom-ref"], []) + inner)
        graph.update({reference: [] for reference in inner})
    return [{"ref": reference, "dependsOn": graph[reference]} for reference in sorted(graph)]


def document():
    packages, system = swift_packages(), system_components()
    version = peal_version()
    bom = {
        "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": ROOT_REFERENCE, "name": "peal", "version": version,
            "licenses": licences("Apache-2.0")}},
        "components": sorted([*packages.values(), *system], key=lambda item: item["bom-ref"]),
        "dependencies": relations(packages, system),
    }
    # A name bom of the content instead of a random one: the same inputs give the same file.
    name = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(bom, sort_keys=True))
    bom["serialNumber"] = f"urn:uuid:{name}"
    return bom


def main():
    path = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / ".build" / "sbom.json"
    bom = document()
    path.write_text(json.dumps(bom, indent=2, sort_keys=True) + "\n")
    print(f"{path}: {len(bom['components'])} components")


if __name__ == "__main__":
    try:
        main()
    except Problem as problem:
        sys.exit(f"sbom: {problem}")
