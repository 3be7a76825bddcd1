"""Runs a program in a terminal: JSON on stdin lists the texts to wait for and to type, stdout gets the transcript."""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios

PROMPT = "atsdb> "
INTERRUPT = "\x03"

spec = json.load(sys.stdin)
pid, terminal = pty.fork()
if pid == 0:
    # The program keeps to what its parent ignores, and what runs in the background of a script ignores Ctrl-C.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    # Before the program starts, which asks for it.
    fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", spec["lines"], spec["columns"], 0, 0))
    os.chdir(spec["folder"])
    os.environ.update(spec["environment"])
    os.execv(spec["program"], [spec["program"], *spec["arguments"]])
shown = b""


def read(seconds):
    """Reads more output. Returns whether there was any."""
    global shown
    if not select.select([terminal], [], [], seconds)[0]:
        return False
    try:
        piece = os.read(terminal, 65536)
    except OSError:
        return False
    shown += piece
    return bool(piece)


place = 0
for wanted, typed in spec["steps"]:
    while (found := shown.find(wanted.encode(), place)) < 0:
        if not read(600):
            sys.stdout.buffer.write(shown)
            sys.exit(f"{wanted!r} did not come")
    place = found + len(wanted.encode())
    # Input before the prompt may get lost, except Ctrl-C, which stops what runs.
    while typed != INTERRUPT and not wanted.endswith(PROMPT) and shown.find(PROMPT.encode(), place) < 0:
        if not read(600):
            sys.exit(f"no prompt came after {wanted!r}")
    os.write(terminal, typed.encode())
while read(600):
    pass
sys.stdout.buffer.write(shown)
sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
