"""The ``atsdb`` program: ``python -m atsdb`` is the same as ``atsdb``."""

import sys

from ._atsdb import run_program


def main() -> None:
    """Runs the program with the arguments of this process, and ends with its exit code."""
    sys.stdout.flush()
    sys.exit(run_program(["atsdb", *sys.argv[1:]], [sys.executable, "-m", "atsdb"]))


if __name__ == "__main__":
    main()
