"""Attacks by credentials: archives and encrypted keys that ask for much work."""

import base64
import concurrent.futures
import multiprocessing
import pathlib
import tempfile
import time

from attack_target import call, wave
from certificates import write_certificate
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.serialization import pkcs12


def der(tag, *parts):
    """An element of ASN.1 in DER."""
    body = b"".join(parts)
    size = len(body)
    length = bytes([size]) if size < 128 else b"\x82" + size.to_bytes(2, "big")
    return bytes([tag]) + length + body


def oid(text):
    arcs = [int(part) for part in text.split(".")]
    encoded = bytes([arcs[0] * 40 + arcs[1]])
    for arc in arcs[2:]:
        piece = [arc & 0x7F]
        while arc := arc >> 7:
            piece.insert(0, 0x80 | arc & 0x7F)
        encoded += bytes(piece)
    return der(0x06, encoded)


def iterations(count_bytes):
    """PBKDF2 with so many iterations (RFC 8018 §A.2)."""
    return der(0x30, oid("1.2.840.113549.1.5.12"), der(0x30, der(0x04, b"saltsalt"), der(0x02, count_bytes)))


def long_archive(derivation, mac=b""):
    """An archive whose private key asks for much work: only the structure is valid."""
    cipher = der(0x30, oid("2.16.840.1.101.3.4.1.42"), der(0x04, bytes(16)))
    algorithm = der(0x30, oid("1.2.840.113549.1.5.13"), der(0x30, derivation, cipher))
    key = der(0x30, algorithm, der(0x04, bytes(64)))
    bag = der(0x30, oid("1.2.840.113549.1.12.10.1.2"), der(0xA0, key))
    data = oid("1.2.840.113549.1.7.1")
    inner = der(0x30, der(0x30, data, der(0xA0, der(0x04, der(0x30, bag)))))
    return der(0x30, der(0x02, b"\x03"), der(0x30, data, der(0xA0, der(0x04, inner))), mac)


def mac_data(algorithm, *iterations):
    """The `MacData` of an archive (RFC 7292 §4)."""
    return der(0x30, der(0x30, algorithm, der(0x04, bytes(32))), der(0x04, b"saltsalt"), *iterations)


def scrypt(cost):
    """scrypt with so many blocks of 1 KiB (RFC 7914 §7.1)."""
    numbers = der(0x02, cost) + der(0x02, b"\x08") + der(0x02, b"\x01")
    return der(0x30, oid("1.3.6.1.4.1.11591.4.11"), der(0x30, der(0x04, b"saltsalt"), numbers))


def heavy_archive():
    """A valid archive with as many iterations as are allowed."""
    with tempfile.TemporaryDirectory() as directory:
        files = pathlib.Path(directory) / "certificate.pem", pathlib.Path(directory) / "key.pem"
        write_certificate(*files)
        certificate = x509.load_pem_x509_certificate(files[0].read_bytes())
        key = serialization.load_pem_private_key(files[1].read_bytes(), None)
    encryption = (
        serialization.PrivateFormat.PKCS12.encryption_builder()
        .kdf_rounds(1_000_000).key_cert_algorithm(pkcs12.PBES.PBESv2SHA256AndAES256CBC).hmac_hash(hashes.SHA256())
        .build(b"secret")
    )
    return pkcs12.serialize_key_and_certificates(b"key", key, certificate, None, encryption)


def archives(target, report):
    peal, app = target.peal, target.peal.app("Archives", bundle_id="com.example.attack")
    path = f"/peal/v1/apps/{app}/credentials/apns/production"

    def put(data):
        body = {
            "kind": "p12", "bundle_id": "com.example.attack", "passphrase": "secret",
            "data": base64.b64encode(data).decode(),
        }
        start = time.monotonic()
        status, text = call(target, "PUT", path, body)
        return status, text, time.monotonic() - start

    huge = b"\x7f\xff\xff\xff"
    status, text, took = put(long_archive(iterations(huge)))
    report.note(
        status == 400 and "iterations" in text and took < report.patience,
        f"an archive that asks for 2,147,483,647 iterations: {status} after {took:.2f} s, naming them",
    )
    sha256 = der(0x30, oid("2.16.840.1.101.3.4.2.1"))
    pbmac1 = der(0x30, oid("1.2.840.113549.1.5.14"), der(
        0x30, iterations(huge), der(0x30, oid("1.2.840.113549.2.9"))))
    few = iterations(b"\x10")
    for name, archive in {
        "asks for 100,000,000": long_archive(iterations(b"\x05\xf5\xe1\x00")),
        "asks for 1,000,001": long_archive(iterations(b"\x0f\x42\x41")),
        "asks for -1": long_archive(iterations(b"\xff")),
        "asks for 2^64": long_archive(iterations(b"\x01" + bytes(8))),
        "asks for scrypt with 2^30 blocks": long_archive(scrypt(b"\x40\x00\x00\x00")),
        "asks for it in its MAC": long_archive(few, mac_data(sha256, der(0x02, huge))),
        "asks for 2^64 in its MAC": long_archive(few, mac_data(sha256, der(0x02, b"\x01" + bytes(8)))),
        "asks for it in PBMAC1": long_archive(few, mac_data(pbmac1, der(0x02, b"\x01"))),
        "is nested 100,000 times": b"\x30\x80" * 100_000,
    }.items():
        status, text, took = put(archive)
        report.note(status == 400 and took < report.patience, f"one that {name}: {status} after {took:.2f} s")
    # Making one stops every thread of a process for seconds.
    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        archive = pool.submit(heavy_archive).result()
    slowest, results = wave(target, 4, lambda _: put(archive))
    report.note(
        slowest < report.patience and {status for status, _, _ in results} == {200},
        f"4 archives of 1,000,000 iterations are opened one after another, the last in "
        f"{max(took for _, _, took in results):.1f} s, /healthz at most after {slowest:.2f} s",
    )
    report.note(peal.is_running, "the process lives")


def locked_keys(target, report):
    """Encrypted keys in PEM that ask for an enormous number of iterations, or for scrypt with gigabytes."""
    app = target.peal.app("Locked")

    def text(derivation):
        cipher = der(0x30, oid("2.16.840.1.101.3.4.1.42"), der(0x04, bytes(16)))
        algorithm = der(0x30, oid("1.2.840.113549.1.5.13"), der(0x30, derivation, cipher))
        body = base64.encodebytes(der(0x30, algorithm, der(0x04, bytes(64)))).decode()
        return f"-----BEGIN ENCRYPTED PRIVATE KEY-----\n{body}-----END ENCRYPTED PRIVATE KEY-----\n"

    keys = {
        "PBKDF2 with 2,147,483,647 iterations": text(iterations(b"\x7f\xff\xff\xff")),
        "scrypt with 2^30 blocks": text(scrypt(b"\x40\x00\x00\x00")),
        "the older kind of encryption": (
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,"
            + "00" * 16 + "\n\n" + base64.encodebytes(bytes(64)).decode() + "-----END RSA PRIVATE KEY-----\n"),
    }
    with tempfile.TemporaryDirectory() as directory:
        file = pathlib.Path(directory) / "certificate.pem"
        write_certificate(file, pathlib.Path(directory) / "key.pem")
        certificate = file.read_text()
    account = {"type": "service_account", "project_id": "p", "client_email": "a@b.example"}
    account["token_uri"] = "https://oauth2.googleapis.com/token"
    wrong, slowest = {}, 0.0
    for name, pem in keys.items():
        for path, body in {
            "apns/production": {"kind": "token", "key_id": "K", "team_id": "T", "private_key": pem, "bundle_id": "a.b"},
            "apns/sandbox": {
                "kind": "certificate", "certificate": certificate, "private_key": pem, "bundle_id": "a.b"},
            "fcm": {"service_account": {**account, "private_key": pem}},
            "mpns": {"certificate": certificate, "private_key": pem},
            "webpush": {"subject": "mailto:a@b.example", "private_key": pem},
        }.items():
            start = time.monotonic()
            status, answer = call(target, "PUT", f"/peal/v1/apps/{app}/credentials/{path}", body)
            slowest = max(slowest, time.monotonic() - start)
            if status != 400 or "private_key" not in answer and "certificate" not in answer:
                wrong[f"{name} in {path}"] = status
    report.note(
        not wrong and slowest < report.patience,
        f"encrypted keys of {len(keys)} kinds are refused with 400, at most after {slowest:.2f} s: {wrong or 'all'}")
