"""Runs a command on a display for tests (display.py).

usage: under_xvfb.py COMMAND [ARGUMENT...]

The exit code is the command's; 77 (skipped) where Xvfb is missing. WARPSCOPE_OWN_DISPLAY tells tests that skip
themselves where a display lacks something that this one has it.
"""
import os
import subprocess
import sys

import display


def main():
    if display.missing():
        print(f"skipped: {display.missing()} is missing")
        return 77
    try:
        name, _slot = display.borrow()
    except display.CannotStart as error:
        print(error)
        return 1
    return subprocess.run(sys.argv[1:], env=dict(os.environ, DISPLAY=name, WARPSCOPE_OWN_DISPLAY="1"),
                          check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
