"""The dependencies: as docs/dependencies.md lists them, and as SwiftPM resolved them."""
import json
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "dependencies.md"
RESOLVED = ROOT / "Package.resolved"
CHECKOUTS = ROOT / ".build" / "checkouts"
# Where a bundled library's version is written in its package's checkout: files, and the parts of the version in them.
BUNDLED_VERSIONS = {
    "boringssl": ("Sources/*BoringSSL/hash.txt", [r"at revision (\w+)"]),
    "llhttp": (
        "Sources/CNIOLLHTTP/include/c_nio_llhttp.h",
        [rf"#define LLHTTP_VERSION_{part} (\d+)" for part in ("MAJOR", "MINOR", "PATCH")],
    ),
}


class Problem(Exception):
    """Something that the user has to fix."""


def rows(heading):
    """The rows of every table in the section under `heading`, as lists of cells without backticks."""
    section = re.search(rf"^## {heading}\n(.*?)(?=^## |\Z)", DOCUMENT.read_text(), re.MULTILINE | re.DOTALL)
    if not section:
        raise Problem(f"docs/dependencies.md has no section \"{heading}\"")
    found = []
    for line in section[1].splitlines():
        if line.startswith("| `"):
            found.append([cell.strip().strip("`") for cell in line.strip("|").split("|")])
    return found


def documented_packages():
    """Swift packages by identity: version and licence."""
    return {name: (version, licence) for name, version, licence, _ in rows("Swift packages")}


def bundled_libraries():
    """C libraries inside Swift packages: name, package, version, licence."""
    return rows("Bundled C libraries")


def system_libraries():
    """Libraries that are linked dynamically: name, Debian package (None = not one), licence."""
    found = []
    for name, package, _, licence in rows("System libraries"):
        debian = re.match(r"([\w.+-]+)`", package)
        found.append((name, debian and debian[1], licence))
    return found


def resolved_packages():
    """What SwiftPM resolved, by identity: location, version and revision."""
    if not RESOLVED.exists():
        raise Problem("Package.resolved does not exist yet: run make build first")
    pins = json.loads(RESOLVED.read_text())["pins"]
    return {
        pin["identity"]: (
            pin["location"].removesuffix(".git"),
            pin["state"].get("version") or pin["state"]["revision"],
            pin["state"]["revision"],
        )
        for pin in pins
    }


def checkout(location):
    """The folder that SwiftPM cloned a package into."""
    return CHECKOUTS / location.rsplit("/", 1)[1]


def bundled_version(library, folder):
    """The version of `library` in a package's checkout; None when it is not written there."""
    if library not in BUNDLED_VERSIONS:
        return None
    pattern, parts = BUNDLED_VERSIONS[library]
    text = "".join(path.read_text() for path in sorted(folder.glob(pattern)))
    found = [re.search(part, text) for part in parts]
    return ".".join(match[1] for match in found) if all(found) else None
