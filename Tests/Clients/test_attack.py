"""The attacks of `make attack`, briefly."""

import resource

import attack
from peal_server import Peal


def test_everything_holds(tmp_path, simulate):
    files = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(files[1], 4096), files[1]))
    servers = []

    def start(directory, environment, descriptors):
        servers.append(Peal(directory, environment, descriptors=descriptors))
        return servers[-1]

    try:
        report = attack.run(tmp_path, 6, start, simulate(), quick=True)
    finally:
        for peal in servers:
            peal.stop()
        resource.setrlimit(resource.RLIMIT_NOFILE, files)
    assert report.failures == []
