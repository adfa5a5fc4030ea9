#!/usr/bin/env python3
"""Kills ranks of short trainings at random moments and looks at what becomes of these trainings.

    rank_kills.py WARPSCOPE [--device cpu] [--ranks 4] [--times 100] [--seed 1] [--what kill,stop,launcher]
                  [--steps 300] [--data DATA --model MODEL --batch 8] [--named-within S] [--on-within S] [--csv FILE]
    rank_kills.py WARPSCOPE --gpus 2 --model autoencoder --data builtin --batch 256 --steps 4000

Each trial is a deterministic training of so many steps, which ends with the weights of one that nobody disturbed, bit
for bit. Behind a step that the seed draws, or one time in six while it begins:
  kill      one rank, or every tenth time two, get SIGKILL; the others are to go on
  stop      one rank gets SIGSTOP, and SIGCONT once it is named or the training is over
  launcher  rank 0 gets SIGKILL; no process may be left
After each, no process of it may be there, and no file in its TMPDIR, its XDG_RUNTIME_DIR or /dev/shm. Without --data a
set of 8x8 images and a network of two layers are made, so that a trial takes a second on two cores of one's own.
Times are upper bounds: a file is looked at every 5 ms. Exit code 1 where a trial failed.
"""
import argparse
import collections
import csv
import json
import math
import os
import random
import re
import shutil
import signal
import statistics
import struct
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 120  # a training that takes that much longer hangs
LOOK_S = 0.005
MARK = "WARPSCOPE_RANK_KILLS"  # in the environment of all processes of a trial
RANK = "WARPSCOPE_RANK"  # in that of its ranks but the first
SHARED = re.compile("warpscope|nccl")  # files in /dev/shm that can be its own
NETWORK = """input = [8, 8, 1]
loss = "cross_entropy"
classes = 10
layers = [{type = "linear", features = 16}, {type = "relu"}, {type = "linear", features = 10}]
"""

Outcome = collections.namedtuple("Outcome", "number what ranks moment named on failures")


def make_data(folder):
    """Ten grainy patterns, over and over, in IDX files."""
    dice = random.Random(3)
    patterns = [dice.randbytes(64) for _ in range(10)]
    os.mkdir(folder)
    for half, count in (("train", 320), ("test", 32)):
        pixels = bytes((value + dice.randrange(60)) % 256 for n in range(count) for value in patterns[n % 10])
        with open(os.path.join(folder, f"{half}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">I3I", 0x0803, count, 8, 8) + pixels)
        with open(os.path.join(folder, f"{half}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x0801, count) + bytes(n % 10 for n in range(count)))
    return folder


def processes_of(mark):
    """Those that have this mark in their environment, with their ranks, and None for the first one."""
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/environ", "rb") as file:
                variables = file.read().split(b"\0")
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                state = file.read().rsplit(")", 1)[1].split()[0]
        except OSError:  # it has just ended
            continue
        if f"{MARK}={mark}".encode() in variables and state != "Z":
            ranks = [int(v.split(b"=")[1]) for v in variables if v.startswith(f"{RANK}=".encode())]
            found[int(name)] = ranks[0] if ranks else None
    return found


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except FileNotFoundError:
        return ""


class Trial:
    """One training in a folder of its own."""

    def __init__(self, program, arguments, folder, mark):
        self.folder, self.mark = folder, mark
        os.makedirs(self.path("tmp"))
        environment = dict(os.environ, TMPDIR=self.path("tmp"), XDG_RUNTIME_DIR=self.path("tmp"), HOME=folder)
        environment.update({MARK: mark, "XDG_CACHE_HOME": self.path("cache"), "XDG_DATA_HOME": self.path("share")})
        self.shared = set(os.listdir("/dev/shm"))
        self.began = time.monotonic()
        with open(self.path("out"), "wb") as out, open(self.path("err"), "wb") as err:
            self.process = subprocess.Popen(
                [program, "train", *arguments, "--run-dir", self.path("run"), "--save", self.path("weights")],
                env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=err, cwd=folder)

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def ended(self):
        return self.process.poll() is not None

    def metrics(self):
        return text_of(self.path("run", "metrics.jsonl")).splitlines()

    def told(self):
        """All that it has told people."""
        return text_of(self.path("err")) + text_of(self.path("out")) + "\n".join(self.markers())

    def markers(self):
        return [line for line in self.metrics() if '"marker"' in line]

    def steps_behind_marker(self):
        """Whether the newest line of a step follows the newest marker."""
        last = [line for line in self.metrics() if '"marker"' in line or '"loss"' in line][-1:]
        return bool(self.markers()) and '"loss"' in "".join(last)

    def step(self):
        return max((json.loads(line)["step"] for line in self.metrics() if '"loss"' in line and line[-1] == "}"),
                   default=0)

    def wait_for(self, condition):
        """Seconds until it holds; None where the training or the patience ends before."""
        began = time.monotonic()
        while True:
            over = self.ended() or time.monotonic() - began > PATIENCE_S
            if condition():
                return time.monotonic() - began
            if over:
                return None
            time.sleep(LOOK_S)

    def ranks(self):
        return {rank: process for process, rank in processes_of(self.mark).items() if rank}

    def weights(self):
        with open(self.path("weights"), "rb") as file:
            return file.read()

    def finish(self):
        """What is wrong with how it ended."""
        try:
            self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return [f"hung for {PATIENCE_S} s"]
        return [] if self.process.returncode == 0 else [f"exit code {self.process.returncode}"]

    def left_behind(self):
        """What is there that should not be, a moment after it has ended."""
        gone = time.monotonic() + 2
        while processes_of(self.mark) and time.monotonic() < gone:
            time.sleep(LOOK_S)
        left = [f"process {number} is left" for number in processes_of(self.mark)]
        for number in processes_of(self.mark):
            os.kill(number, signal.SIGKILL)
        left += [f"{name} is left in TMPDIR" for name in os.listdir(self.path("tmp"))]
        # Other programs come and go there as well.
        shared = {name for name in set(os.listdir("/dev/shm")) - self.shared if SHARED.search(name)}
        return left + [f"{name} is left in /dev/shm" for name in shared]


def send(process, number):
    try:
        os.kill(process, number)
        return True
    except ProcessLookupError:
        return False


def hit(trial, victims, number):
    """Sends the signal to these of its ranks, as soon as they are there. Which got it."""
    trial.wait_for(lambda: len(trial.ranks()) >= max(victims))
    there = {} if trial.ended() else trial.ranks()
    return [rank for rank in victims if rank in there and send(there[rank], number)], there


def kill_ranks(trial, victims):
    got, _ = hit(trial, victims, signal.SIGKILL)
    if not got:
        return None, None
    pattern = re.compile(r"rank (%s) (was killed by SIGKILL|ended)" % "|".join(map(str, got)))
    began = time.monotonic()
    named = trial.wait_for(lambda: pattern.search(trial.told()))
    if named is None and not trial.ended():
        named = math.inf
    trial.wait_for(trial.steps_behind_marker)
    return named, None if trial.ended() else time.monotonic() - began


def stop_rank(trial, victims):
    got, there = hit(trial, victims[:1], signal.SIGSTOP)
    if not got:
        return None, None
    # One that begins is named when its time is over.
    named = trial.wait_for(lambda: re.search(r"rank %d (has not come to|stood still)" % got[0], trial.told()))
    if named is None and not trial.ended():
        named = math.inf
    send(there[got[0]], signal.SIGCONT)
    return named, None


def kill_launcher(trial, _):
    trial.process.kill()
    trial.process.wait()
    return None, None


KINDS = {"kill": kill_ranks, "stop": stop_rank, "launcher": kill_launcher}


class Trials:
    """All of one call, with the weights that they are to end with."""

    def __init__(self, a, folder):
        self.a, self.folder = a, folder
        network = os.path.join(folder, "tiny.toml")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NETWORK)
        data = a.data or make_data(os.path.join(folder, "data"))
        self.arguments = ["--data", data, "--model", a.model or network, "--batch", str(a.batch), "--steps",
                          str(a.steps), "--test-images", "8", "--deterministic", *(a.more or "").split()]
        self.size = a.gpus or a.ranks
        self.arguments += ["--gpus", str(a.gpus)] if a.gpus else ["--device", a.device, "--ranks", str(a.ranks)]
        trial = Trial(a.program, self.arguments, os.path.join(folder, "reference"), f"{os.getpid()}-0")
        failures = trial.finish() + trial.left_behind()
        if failures:
            sys.exit("undisturbed: " + "; ".join(failures) + "\n" + text_of(trial.path("err")))
        self.weights = trial.weights()

    def run(self, number):
        dice = random.Random(f"{self.a.seed} {number}")
        what = dice.choice(self.a.what.split(","))
        victims = dice.sample(range(1, self.size), min(self.size - 1, 2 if dice.random() < 0.1 else 1))
        starting = dice.random() < 1 / 6
        moment = dice.uniform(0, 0.5) if starting else dice.randrange(1, self.a.steps * 9 // 10)
        trial = Trial(self.a.program, self.arguments, os.path.join(self.folder, str(number)),
                      f"{os.getpid()}-{number}")
        if starting:
            time.sleep(moment)
        else:
            trial.wait_for(lambda: trial.step() >= moment)
        in_time = not trial.ended()
        named, on = KINDS[what](trial, victims) if in_time else (None, None)
        failures = self.judge(trial, what)
        if named == math.inf:
            failures.append("not named")
            named = None
        if named is not None and self.a.named_within and named > self.a.named_within:
            failures.append(f"named after {named:.2f} s")
        if on is not None and self.a.on_within and on > self.a.on_within:
            failures.append(f"went on after {on:.2f} s")
        when = f"{moment:.2f} s" if starting else f"step {moment}"
        outcome = Outcome(number, what if in_time else "over before", victims, when, named, on, failures)
        if failures:
            sys.stderr.write(f"trial {number}: {'; '.join(failures)}\n{trial.told()}\n")
        shutil.rmtree(trial.folder)
        return outcome

    def judge(self, trial, what):
        failures = trial.finish() if what != "launcher" or trial.process.returncode == 0 else []
        if not failures and trial.process.returncode == 0 and trial.weights() != self.weights:
            failures = ["other weights than those of an undisturbed training"]
        return failures + trial.left_behind()


def shown(outcome):
    def seconds(value):
        return "" if value is None else f"{value:.2f}"
    return [outcome.number, outcome.what, " ".join(map(str, outcome.ranks)), outcome.moment,
            seconds(outcome.named), seconds(outcome.on), "; ".join(outcome.failures) or "sound"]


def summary(outcomes):
    lines = []
    for what in sorted({o.what for o in outcomes}):
        those = [o for o in outcomes if o.what == what]
        line = f"{what}: {len(those)}, {sum(bool(o.failures) for o in those)} failed"
        for name in ("named", "on"):
            times = [getattr(o, name) for o in those if getattr(o, name) is not None]
            if times:
                line += f"; {name} {len(times)} times, median {statistics.median(times):.2f} s, " \
                        f"longest {max(times):.2f} s"
        lines.append(line)
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--gpus", type=int, default=0)
    parser.add_argument("--times", type=int, default=100)
    parser.add_argument("--first", type=int, default=1, help="number of the first trial, to repeat one")
    parser.add_argument("--seed", default="1")
    parser.add_argument("--what", default="kill")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--data")
    parser.add_argument("--model")
    parser.add_argument("--more", help="other options of train, as one text")
    parser.add_argument("--named-within", type=float)
    parser.add_argument("--on-within", type=float)
    parser.add_argument("--csv")
    a = parser.parse_args()
    unknown = set(a.what.split(",")) - set(KINDS)
    if unknown:
        parser.error(f"--what takes {', '.join(KINDS)}, not {', '.join(unknown)}")
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="warpscope-rank-kills-") as folder:
        trials = Trials(a, folder)
        for number in range(a.first, a.first + a.times):
            outcomes.append(trials.run(number))
            print(*shown(outcomes[-1]), sep=" | ", flush=True)
    print(summary(outcomes))
    if a.csv:
        with open(a.csv, "w", newline="", encoding="utf-8") as file:
            csv.writer(file).writerows([Outcome._fields, *map(shown, outcomes)])
    if all(o.named is None and o.what != "launcher" for o in outcomes):
        sys.exit("no rank was hit before its training was over")
    sys.exit(any(o.failures for o in outcomes))


if __name__ == "__main__":
    main()
