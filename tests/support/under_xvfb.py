"""Runs a command on a display of its own.

usage: under_xvfb.py COMMAND [ARGUMENT...]

The exit code is the command's; 77 (skipped) where Xvfb is missing. WARPSCOPE_OWN_DISPLAY tells tests that skip themselves where
a display lacks something that this one has it.
"""
import os
import shutil
import subprocess
import sys


def main():
    if shutil.which("Xvfb") is None:
        print("skipped: Xvfb is missing")
        return 77
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", "1280x800x24", "-nolisten", "tcp",
                               "-noreset"], pass_fds=[writer], stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    try:
        with os.fdopen(reader) as pipe:
            number = pipe.readline().strip()
        if not number:
            print("Xvfb does not start")
            return 1
        return subprocess.run(sys.argv[1:], env=dict(os.environ, DISPLAY=f":{number}", WARPSCOPE_OWN_DISPLAY="1")).returncode
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    sys.exit(main())
