"""X servers for tests. A display has one pointer, one focus and, without a window manager, one place for all windows:
tests that run side by side need one each, tests that follow each other can share one. So there are as many servers as
CTest runs tests at a time: a test borrows one that is free, or starts one more, which lives as long as that CTest. A
script that is run by hand has a server of its own.

usage: display.py PARENT FILE   (starts a server, prints its number and ends it with the process PARENT)
"""
import atexit
import fcntl
import os
import select
import shutil
import signal
import subprocess
import sys

SIZE = 1920, 1080
PATIENCE_S = 120
_own = None


class CannotStart(Exception):
    pass


def missing():
    """Which program is missing for a display, or None."""
    return None if shutil.which("Xvfb") else "Xvfb"


def borrow():
    """(":7", a file that is to be kept open while the display is used)."""
    folder = os.environ.get("WARPSCOPE_DISPLAYS")
    if folder is None:
        return _own_server(), None
    os.makedirs(folder, exist_ok=True)
    parent = os.getppid()
    slot = 0
    while True:
        path = os.path.join(folder, f"{parent}-{slot}")
        file = open(path, "a+", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return _server_of(file, path, parent), file
        except BlockingIOError:
            file.close()
            slot += 1


def _server_of(file, path, parent):
    """The display of a slot, whose server is started unless it is there."""
    file.seek(0)
    known = file.read().split()
    if known and _keeps(int(known[1]), path):
        name = f":{known[0]}"
        # As a test that failed may have left it.
        subprocess.run(["xdotool", "mouseup", "1", "keyup", "ctrl", "keyup", "shift", "keyup", "alt", "mousemove",
                        *(str(length - 1) for length in SIZE)], env=dict(os.environ, DISPLAY=name), check=False)
        return name
    keeper = subprocess.Popen([sys.executable, "-B", os.path.abspath(__file__), str(parent), path],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                              start_new_session=True)
    number = _read_number(keeper.stdout)
    file.truncate(0)
    file.write(f"{number} {keeper.pid}")
    file.flush()
    return f":{number}"


def _keeps(process, path):
    """Whether that process is the keeper of the slot."""
    try:
        with open(f"/proc/{process}/cmdline", "rb") as file:
            return os.fsencode(path) in file.read().split(b"\0")
    except OSError:
        return False


def _own_server():
    global _own
    if _own is None:
        server, number = _start()
        atexit.register(server.wait)
        atexit.register(server.terminate)
        _own = f":{number}"
    return _own


def _start():
    reader, writer = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(writer), "-screen", "0", f"{SIZE[0]}x{SIZE[1]}x24",
                               "-nolisten", "tcp", "-noreset"], pass_fds=[writer], stdin=subprocess.DEVNULL,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    os.close(writer)
    with os.fdopen(reader, "rb", buffering=0) as pipe:
        return server, _read_number(pipe)


def _read_number(pipe):
    number = b""
    while not number.endswith(b"\n"):
        piece = os.read(pipe.fileno(), 64) if select.select([pipe], [], [], PATIENCE_S)[0] else b""
        if not piece:
            raise CannotStart("Xvfb does not start")
        number += piece
    return int(number)


def _keep(parent, path):
    try:
        watched = os.pidfd_open(parent)
    except ProcessLookupError:
        return
    server, number = _start()
    print(number, flush=True)
    os.close(1)
    ended = os.pidfd_open(server.pid)
    select.select([watched, ended], [], [])
    server.terminate()
    server.wait()
    os.unlink(path)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _keep(int(sys.argv[1]), sys.argv[2])
