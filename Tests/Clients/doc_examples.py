"""Runs the examples of a page of the documentation: its ```sh blocks, from top to bottom, in one shell."""

import os
import pathlib
import subprocess

ROOT = pathlib.Path(__file__).resolve().parents[2]
SECONDS_MAX = 120
# Separates what the blocks wrote (ASCII's record separator).
SEPARATOR = "\x1e"
# The examples are as a user types them. Here an answer of 4xx or 5xx must fail, and no proxy may be used.
PREAMBLE = """set -euo pipefail
curl() { command curl --fail-with-body --show-error --noproxy '*' "$@"; }
# Servers that a page starts end with it.
trap 'jobs=$(jobs -p); [ -z "$jobs" ] || kill $jobs; wait' EXIT
"""


class Example:
    """One block: `line` is where its text begins on the page."""

    def __init__(self, page, line, text):
        self.page, self.line, self.text = page, line, text

    def __str__(self):
        return f"{self.page}:{self.line}\n{self.text}"


def examples(page, language="sh"):
    """The blocks in `language` of `page`, a path below the repository's root such as `docs/api/richie.md`."""
    found, lines = [], None
    for number, line in enumerate((ROOT / page).read_text().splitlines(), start=1):
        if lines is None and line.strip() == f"```{language}":
            start, lines = number + 1, []
        elif lines is not None and line.strip() == "```":
            found.append(Example(page, start, "\n".join(lines)))
            lines = None
        elif lines is not None:
            lines.append(line)
    assert lines is None, f"{page}: a block does not end"
    assert found, f"{page} has no examples"
    return found


def run_examples(page, variables, directory, replacements=None):
    """Runs every ```sh block of `page` in `directory` with `variables` set; later blocks see what earlier ones set.

    `replacements` are texts of the page, such as fixed ports, and what is run instead. Gives what each block wrote, in
    order. Fails at the first command that does, and names the block.
    """
    blocks = examples(page)
    for old, new in (replacements or {}).items():
        assert any(old in block.text for block in blocks), f"{page} does not contain {old}"
        for block in blocks:
            block.text = block.text.replace(old, str(new))
    script = PREAMBLE + "".join(f"printf '\\x1e'\n{block.text}\n" for block in blocks)
    ended = subprocess.run(
        ["bash", "-c", script],
        env={**os.environ, **{name: str(value) for name, value in variables.items()}},
        cwd=directory,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS_MAX,
    )
    outputs = ended.stdout.split(SEPARATOR)[1:]
    at = blocks[max(len(outputs), 1) - 1]
    assert ended.returncode == 0, f"{at}\nended with {ended.returncode}: {(outputs or [''])[-1]}{ended.stderr}"
    return outputs
