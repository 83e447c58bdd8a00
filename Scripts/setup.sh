#!/usr/bin/env bash
# Installs missing Debian packages. Usage: Scripts/setup.sh build|test
# build: packages for building Peal and running the demo. test: these, and packages for the tests and benchmarks.
set -euo pipefail

build=(ca-certificates debhelper git libcurl4-openssl-dev libpq-dev libsqlite3-dev pkg-config python3 zlib1g-dev)
test=(chromium curl default-jre-headless golang-go jq nghttp2-client nghttp2-server nginx node-typescript nodejs openssl
    postgresql python3-venv)

packages=("${build[@]}")
if [ "${1:-test}" = test ]; then packages+=("${test[@]}"); fi

if ! command -v swift >/dev/null; then
    echo "setup: Swift 6.2 or later is required: https://www.swift.org/install/" >&2
    exit 1
fi
if ! command -v dpkg-query >/dev/null; then
    echo "setup: not a Debian system; make sure that the equivalents of these packages are installed: ${packages[*]}"
    exit 0
fi

missing=()
for package in "${packages[@]}"; do
    status=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    if [ "$status" != installed ]; then missing+=("$package"); fi
done
if [ ${#missing[@]} -eq 0 ]; then exit 0; fi

asRoot=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "setup: run as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    asRoot=(sudo)
fi
install() {
    "${asRoot[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}" </dev/null
}
echo "setup: installing ${missing[*]}"
# On a fresh machine the package lists may be missing or stale: update them only if the first attempt fails.
install || { "${asRoot[@]}" apt-get update && install; }
