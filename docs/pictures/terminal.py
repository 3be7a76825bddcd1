"""Draws docs/pictures/terminal.svg: the commands at the top of README.md, run by a program, with what they answer.

    python3 docs/pictures/terminal.py target/release/atsdb

The picture has a background of its own, so that it can be read on light and on dark pages.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import textwrap

root = pathlib.Path(__file__).resolve().parents[2]
COLUMNS, LINE, SIDE, TOP = 108, 19, 18, 44
PAPER, INK, FAINT, PROMPT = "#14191f", "#e6edf3", "#9aa7b4", "#5cc8a0"


def record(program):
    """Each command with its lines."""
    commands = re.search(r"```sh\n(.*?)```", (root / "README.md").read_text(), re.S).group(1).splitlines()
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(root / "examples", pathlib.Path(folder) / "examples")
        path = f"{pathlib.Path(program).resolve().parent}:{os.environ['PATH']}"
        environment = {name: value for name, value in os.environ.items() if not name.startswith("ATSDB_")}
        environment |= {"PATH": path, "HOME": folder, "NO_COLOR": "1"}
        for command in commands:
            run = subprocess.run(["bash", "-euo", "pipefail", "-c", command], cwd=folder, env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=True)
            yield command, run.stdout.replace(folder, "/home/me").splitlines()


def wrapped(line, first=""):
    return textwrap.wrap(first + line, COLUMNS, subsequent_indent="    ", drop_whitespace=False, break_on_hyphens=False) or [""]


def main():
    lines = []
    for command, answer in record(sys.argv[1]):
        lines += [(PROMPT if position == 0 else INK, line) for position, line in enumerate(wrapped(command, "$ "))]
        lines += [(FAINT, part) for line in answer for part in wrapped(line.rstrip())] + [(INK, "")]
    lines.pop()
    width, height = COLUMNS * 8.05 + 2 * SIDE, TOP + len(lines) * LINE + 10
    drawn = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}" '
             'font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, DejaVu Sans Mono, monospace" font-size="13" role="img">',
             f"<title>{len(lines)} lines of a terminal</title>",
             f'<rect width="{width:.0f}" height="{height}" rx="8" fill="{PAPER}" stroke="#39424e"/>']
    drawn += [f'<circle cx="{SIDE + 6 + 18 * dot}" cy="18" r="5" fill="{color}"/>' for dot, color in enumerate(["#ec6a5e", "#f4bf4f", "#61c554"])]
    for position, (color, line) in enumerate(lines):
        line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        drawn.append(f'<text x="{SIDE}" y="{TOP + position * LINE}" fill="{color}" xml:space="preserve">{line}</text>')
    (root / "docs/pictures/terminal.svg").write_text("\n".join([*drawn, "</svg>", ""]))


if len(sys.argv) != 2:
    sys.exit(__doc__)
main()
