#!/usr/bin/env python3
"""Packs built programs: a tarball and a Debian package in dist/, with manual pages and completions of the shells.

usage: Scripts/package.py FOLDER [--out dist]     FOLDER holds peal, and perhaps peal-sim and peal-lab
"""
import argparse
import gzip
import hashlib
import io
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tarfile
import time

from man_pages import manual_page, program_help

ROOT = pathlib.Path(__file__).resolve().parent.parent
PACKAGING = ROOT / "Packaging"
PROGRAMS = ["peal", "peal-sim", "peal-lab"]
# The laboratory is for development: it is in the tarball only.
PACKAGED = ["peal", "peal-sim"]
SHELLS = {
    "bash": ("usr/share/bash-completion/completions", "{}"),
    "zsh": ("usr/share/zsh/vendor-completions", "_{}"),
    "fish": ("usr/share/fish/vendor_completions.d", "{}.fish"),
}


def version():
    text = (ROOT / "Sources/PealServer/PealVersion.swift").read_text()
    return re.search(r'current = "([^"]+)"', text).group(1)


def run(*command, **options):
    return subprocess.run(command, check=True, text=True, capture_output=True, **options).stdout


def copy_programs(folder, target):
    target.mkdir(parents=True)
    programs = [name for name in PROGRAMS if (folder / name).is_file()]
    if "peal" not in programs:
        sys.exit(f"package: there is no peal in {folder}")
    for name in programs:
        before = (folder / name).stat().st_size
        run("strip", "--strip-unneeded", "-o", str(target / name), str(folder / name))
        (target / name).chmod(0o755)
        after = (target / name).stat().st_size
        print(f"package: {name}: {after / 1e6:.1f} MB stripped, {before / 1e6:.1f} MB before")
    return programs


def write(path, content, mode=0o644):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    path.chmod(mode)


def compressed(content):
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0, compresslevel=9) as file:
        file.write(content.encode())
    return out.getvalue()


def add_documents(programs, bin_folder, tree):
    """Manual pages and completions, from the programs' own descriptions of their commands."""
    for name in programs:
        page = manual_page(program_help(bin_folder / name), version())
        write(tree / f"usr/share/man/man1/{name}.1.gz", compressed(page))
        for shell, (folder, pattern) in SHELLS.items():
            script = run(str(bin_folder / name), "--generate-completion-script", shell)
            write(tree / folder / pattern.format(name), script)


def libraries(programs, bin_folder):
    """The Debian packages of the shared libraries; those of other origins are reported."""
    packages, foreign = set(), set()
    for name in programs:
        for line in run("ldd", str(bin_folder / name)).splitlines():
            match = re.search(r"=> (/\S+)", line)
            if not match:
                continue
            path = match.group(1)
            owner = ""
            for candidate in (path, os.path.realpath(path), path.removeprefix("/usr")):
                found = subprocess.run(["dpkg", "-S", candidate], text=True, capture_output=True)
                if found.returncode == 0:
                    owner = found.stdout.split(":")[0]
                    break
            # Only what the programs name themselves; the rest comes along.
            packages.add(owner) if owner else foreign.add(path)
    needed = set()
    for name in programs:
        dynamic = run("readelf", "--dynamic", str(bin_folder / name))
        for library in re.findall(r"NEEDED.*\[(.+?)\]", dynamic):
            found = subprocess.run(["dpkg", "-S", f"*/{library}"], text=True, capture_output=True)
            if found.returncode == 0:
                needed.add(found.stdout.split(":")[0])
    if foreign:
        print(f"package: {len(foreign)} libraries are of no package, such as {sorted(foreign)[0]}: "
              "build with --static-swift-stdlib to distribute the result")
    return sorted(packages & needed)


def debian_package(programs, bin_folder, out):
    tree = out / "deb"
    shutil.rmtree(tree, ignore_errors=True)
    packaged = [name for name in programs if name in PACKAGED]
    for name in packaged:
        write(tree / "usr/bin" / name, (bin_folder / name).read_bytes(), 0o755)
    add_documents(packaged, bin_folder, tree)
    write(tree / "lib/systemd/system/peal.service", (PACKAGING / "peal.service").read_text())
    write(tree / "etc/peal/peal.yaml", (PACKAGING / "peal.yaml").read_text())
    doc = tree / "usr/share/doc/peal"
    write(doc / "copyright", (PACKAGING / "debian/copyright").read_text())
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(changed_at()))
    write(doc / "changelog.gz", compressed(
        f"peal ({version()}) unstable; urgency=medium\n\n  * See https://keepachangelog.com and CHANGELOG.md.\n\n"
        f" -- The Peal authors <peal@localhost>  {stamp}\n"))
    for file in sorted((PACKAGING / "monitoring").iterdir()):
        write(doc / "examples" / file.name, file.read_text())
    architecture = run("dpkg", "--print-architecture").strip()
    files = [path for path in tree.rglob("*") if path.is_file()]
    depends = ["adduser", "ca-certificates"] + libraries(packaged, bin_folder)
    write(tree / "DEBIAN/control", "\n".join([
        "Package: peal", f"Version: {version()}", "Section: net", "Priority: optional",
        f"Architecture: {architecture}", "Maintainer: The Peal authors <peal@localhost>",
        f"Installed-Size: {sum(path.stat().st_size for path in files) // 1024}",
        f"Depends: {', '.join(depends)}",
        "Description: self-hosted push notification server",
        " Peal accepts messages over HTTP, keeps them in an embedded database or in",
        " PostgreSQL, and delivers them to APNs, FCM, WNS, Web Push and MPNS.", ""]))
    write(tree / "DEBIAN/conffiles", "/etc/peal/peal.yaml\n")
    sums = [(hashlib.md5(path.read_bytes()).hexdigest(), path.relative_to(tree)) for path in sorted(files)]
    write(tree / "DEBIAN/md5sums", "".join(f"{digest}  {path}\n" for digest, path in sums))
    for script in ["postinst", "prerm", "postrm"]:
        write(tree / "DEBIAN" / script, (PACKAGING / "debian" / script).read_text(), 0o755)
    for folder in [tree, *[path for path in tree.rglob("*") if path.is_dir()]]:
        folder.chmod(0o755)
    target = out / f"peal_{version()}_{architecture}.deb"
    run("dpkg-deb", "--build", "--root-owner-group", "-Zxz", str(tree), str(target))
    shutil.rmtree(tree)
    return target


def changed_at():
    stamp = os.environ.get("SOURCE_DATE_EPOCH") or run("git", "log", "-1", "--format=%ct", cwd=ROOT).strip()
    return int(stamp)


def tarball(programs, bin_folder, out):
    name = f"peal-{version()}-{os.uname().sysname.lower()}-{os.uname().machine}"
    tree = out / name
    shutil.rmtree(tree, ignore_errors=True)
    for program in programs:
        write(tree / "bin" / program, (bin_folder / program).read_bytes(), 0o755)
    add_documents(programs, bin_folder, tree)
    shutil.move(tree / "usr/share", tree / "share")
    (tree / "usr").rmdir()
    for file in ["README.md", "LICENSE", "CHANGELOG.md"]:
        write(tree / file, (ROOT / file).read_text())
    for file in ["peal.service", "peal.yaml"]:
        write(tree / "etc" / file, (PACKAGING / file).read_text())
    shutil.copytree(PACKAGING / "monitoring", tree / "monitoring")
    target = out / f"{name}.tar.gz"

    def plain(member):
        member.uid = member.gid = 0
        member.uname = member.gname = "root"
        member.mtime = changed_at()
        return member

    with tarfile.open(target, "w:gz") as archive:
        archive.add(tree, arcname=name, filter=plain)
    shutil.rmtree(tree)
    return target


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "dist")
    options = parser.parse_args()
    out = options.out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    stripped = out / "bin"
    shutil.rmtree(stripped, ignore_errors=True)
    programs = copy_programs(options.folder.resolve(), stripped)
    made = [tarball(programs, stripped, out)]
    if shutil.which("dpkg-deb"):
        made.append(debian_package(programs, stripped, out))
    else:
        print("package: no dpkg-deb here, so there is no Debian package")
    shutil.rmtree(stripped)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    write(out / "SHA256SUMS", sums)
    for path in made:
        print(f"package: {path.relative_to(out.parent)} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
