"""Rows of docs/measurements/*.csv, written by the scripts that measure them (docs/adding.md, "A measurement").

The first columns say where a row comes from: date, machine, commit, command. The others are a table's own; some of them
are its key, and a row takes the place of an older one with the same key. A cell that a script does not give stays as it
was (targets, the figures of another program), so that several scripts may write parts of one row.
"""
import csv
import datetime
import os
import pathlib
import re
import shlex
import subprocess
import sys

ORIGIN = ("date", "machine", "commit", "command")
REPOSITORY = pathlib.Path(__file__).resolve().parents[2]
OPTIONS_OF_OUTPUT = ("--csv", "--json")


def add_option(parser):
    parser.add_argument("--csv", default="", help="writes the figures into such a file of docs/measurements")


def first_line(*command):
    """What a command prints first; empty where it cannot run."""
    try:
        done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip().partition("\n")[0]


def machine(device):
    """As H100, or 2 cores of an AMD EPYC; $MACHINE says it otherwise."""
    if os.environ.get("MACHINE"):
        return os.environ["MACHINE"]
    if not device.startswith("cpu"):
        name = first_line("nvidia-smi", "--query-gpu=name", "--format=csv,noheader")
        if name:
            return name.removeprefix("NVIDIA ").partition(" ")[0]
    cores = len(os.sched_getaffinity(0))
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        model = re.search(r"^model name\s*: (\w+ \w+)", file.read(), re.MULTILINE)
    return f"{cores} cores" + (f" of an {model[1]}" if model else "")


def commit():
    """This checkout's, which is taken for the program's; $COMMIT says it where there is no repository."""
    return os.environ.get("COMMIT") or first_line("git", "describe", "--always", "--dirty", "--exclude=*") or "unknown"


def shown(word):
    """A word of a command without the folders of this machine: scripts by their place here, programs as in a build."""
    path = pathlib.Path(word)
    if os.sep not in word or not path.exists():
        return word
    path = path.resolve()
    if path.suffix == ".py" and path.is_relative_to(REPOSITORY):
        return str(path.relative_to(REPOSITORY))
    return f"BUILD/{path.name}" if path.is_file() and os.access(path, os.X_OK) else path.name


def command_line(words):
    """A command as others can repeat it, without the options that only name its output."""
    kept, words = [], iter(words[1:] if words[0] in ("python3", sys.executable) else words)
    for word in words:
        if word in OPTIONS_OF_OUTPUT:
            next(words, None)
        elif not word.startswith(tuple(f"{option}=" for option in OPTIONS_OF_OUTPUT)):
            kept.append(shown(word))
    return shlex.join(kept).removeprefix("BUILD/")


def write(path, key, rows, device="cuda:0", command=""):
    """Puts rows (dictionaries of column to text) into a file, which is made if there is none. `key` names the columns
    that tell rows apart; a column that the file does not have yet comes last. $COMMAND stands for the command where a
    row has several."""
    if not path or not rows:
        return
    path, old, columns = pathlib.Path(path), [], list(ORIGIN)
    if path.exists():
        with open(path, encoding="utf-8", newline="") as file:
            reader = csv.DictReader(file)
            old, columns = list(reader), list(reader.fieldnames or [])
        missing = [name for name in (*ORIGIN, *key) if name not in columns]
        if missing:
            sys.exit(f"{path}: there is no column '{missing[0]}', so that it is a table of something else")
    origin = dict(zip(ORIGIN, (datetime.date.today().isoformat(), machine(device), commit(),
                               command or os.environ.get("COMMAND") or command_line(sys.argv))))
    for row in rows:
        columns += [name for name in row if name not in columns]
        there = next((other for other in old if all(other[name] == row[name] for name in key)), None)
        if there is None:
            old.append(there := {})
        there.update(origin, **row)
    whole = path.with_name(path.name + ".new")
    with open(whole, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(old)
    os.replace(whole, path)
