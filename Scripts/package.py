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
# For the package's control file; Debian's own variables name another one.
MAINTAINER = f"{os.environ.get('DEBFULLNAME', 'The Peal authors')} <{os.environ.get('DEBEMAIL', 'peal@example.com')}>"
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
            script = run(str(bin_folder / name), "--generate-completion-script", shell).removeprefix("#!/bin/bash\n")
            write(tree / folder / pattern.format(name), script)


def debian_package(programs, bin_folder, out):
    """Builds the package with debhelper, from `Packaging/debian` and a tree with what it installs."""
    build = out / "deb"
    shutil.rmtree(build, ignore_errors=True)
    shutil.copytree(PACKAGING / "debian", build / "debian")
    control = build / "debian/control"
    control.write_text(control.read_text().replace("@MAINTAINER@", MAINTAINER))
    shutil.copy(PACKAGING / "peal.service", build / "debian/peal.service")
    stamp = time.strftime("%a, %d %b %Y %H:%M:%S +0000", time.gmtime(changed_at()))
    write(build / "debian/changelog",
          f"peal ({version()}) unstable; urgency=medium\n\n  * See https://keepachangelog.com and CHANGELOG.md.\n\n"
          f" -- {MAINTAINER}  {stamp}\n")
    tree = build / "tree"
    packaged = [name for name in programs if name in PACKAGED]
    for name in packaged:
        write(tree / "usr/bin" / name, (bin_folder / name).read_bytes(), 0o755)
    add_documents(packaged, bin_folder, tree)
    write(tree / "etc/peal/peal.yaml", (PACKAGING / "peal.yaml").read_text())
    for file in sorted((PACKAGING / "monitoring").iterdir()):
        write(tree / "usr/share/doc/peal/examples" / file.name, file.read_text())
    for folder in [tree, *[path for path in tree.rglob("*") if path.is_dir()]]:
        folder.chmod(0o755)
    report_foreign(packaged, bin_folder)
    done = subprocess.run(
        ["dpkg-buildpackage", "--build=binary", "--no-sign", "--no-check-builddeps"], cwd=build, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        env={**os.environ, "DEB_BUILD_OPTIONS": "nostrip noautodbgsym nocheck"})
    if done.returncode != 0:
        sys.exit(f"package: {done.stdout[-3000:]}")
    shutil.rmtree(build)
    for suffix in ("buildinfo", "changes"):
        for file in out.glob(f"peal_{version()}_*.{suffix}"):
            file.unlink()
    return next(out.glob(f"peal_{version()}_*.deb"))


def report_foreign(programs, bin_folder):
    """Names a shared library that no Debian package has."""
    for name in programs:
        for path in re.findall(r"=> (/\S+)", run("ldd", str(bin_folder / name))):
            candidates = {path, os.path.realpath(path), path.removeprefix("/usr")}
            if all(subprocess.run(["dpkg", "-S", each], capture_output=True).returncode for each in candidates):
                print(f"package: {name} needs libraries of no package, such as {path}: build with "
                      "--static-swift-stdlib to distribute the result")
                return


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
    if shutil.which("dh"):
        made.append(debian_package(programs, stripped, out))
    else:
        print("package: no debhelper here, so there is no Debian package")
    shutil.rmtree(stripped)
    sums = "".join(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made)
    write(out / "SHA256SUMS", sums)
    for path in made:
        print(f"package: {path.relative_to(out.parent)} ({path.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
