"""A clock for real programs that others move: what is due in hours happens at once."""

import pathlib
import shutil
import struct
import subprocess
import sys

SOURCE = pathlib.Path(__file__).with_name("moved_clock.c")
COMPILER = shutil.which("cc") or shutil.which("clang")


class MovedClock:
    """Programs started with `environment` use this clock. Needs Linux and a C compiler.

    With `is_of_day_only`, the time of day jumps; otherwise time passes faster.
    """

    def __init__(self, directory, is_of_day_only=False):
        directory = pathlib.Path(directory)
        library, self.file = directory / "moved_clock.so", directory / "clock-offset"
        self._offset = 0
        self.file.write_bytes(struct.pack("q", 0))
        subprocess.run([COMPILER, "-O1", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
        self.environment = {"LD_PRELOAD": str(library), "CLOCK_OFFSET_FILE": str(self.file)}
        if is_of_day_only:
            self.environment["CLOCK_OF_DAY_ONLY"] = "1"

    @staticmethod
    def is_possible():
        return sys.platform == "linux" and COMPILER is not None

    def advance(self, seconds):
        self._offset += seconds
        # In place, because the programs have mapped the file.
        with self.file.open("r+b") as file:
            file.write(struct.pack("q", self._offset))
