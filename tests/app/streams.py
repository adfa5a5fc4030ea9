"""Standard streams that are closed, full or read by nobody: every command does its work, and says what it can."""
import json
import os
import random
import re
import struct
import subprocess
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import PATIENCE_S, ProgramCase, main, read_metrics, read_run  # noqa: E402

TRAIN = ["train", "--model", "mlp", "--data", "few", "--device", "cpu", "--select", "all=loops", "--batch", "8",
         "--steps", "20"]
# Redirections of the shell for the program; the last lets go of its end of a pipe before the program has it.
SITUATIONS = {"all closed": "<&- >&- 2>&-", "input closed": "<&-", "output closed": ">&-", "error closed": "2>&-",
              "output full": ">/dev/full", "error full": "2>/dev/full", "both full": ">/dev/full 2>&1"}
PIPES = {"output unread": ("stdout",), "error unread": ("stderr",), "both unread": ("stdout", "stderr")}


def without_times(line):
    return {key: line.get(key) for key in ("step", "epoch", "loss", "test_loss", "marker")}


def write_digits(folder):
    """A few random images of MNIST's shape in its files."""
    os.mkdir(folder)
    dice = random.Random(7)
    for part, count in (("train", 90), ("t10k", 60)):
        with open(os.path.join(folder, f"{part}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + dice.randbytes(count * 28 * 28))
        with open(os.path.join(folder, f"{part}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(n % 10 for n in range(count)))


class Streams(ProgramCase):
    def setUp(self):
        super().setUp()
        write_digits(self.path("few"))
        self.run_dir = self.path("trained")
        self.assert_succeeded(self.run_program(*TRAIN, "--run-dir", self.run_dir))
        self.nowhere = self.environment(**{name: "http://127.0.0.1:9" for name in
                                           ("http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy")})

    def commands(self, folder):
        """Arguments of each command, its exit code when nothing is wrong with the streams, and whether standard output
        has its answer (True), something else (False) or nothing (None)."""
        run = [self.run_dir, "--device", "cpu"]
        return {
            "train": ([*TRAIN, "--run-dir", f"{folder}/run"], 0, False),
            "config": (["config"], 0, True),
            "fetch": (["fetch", "mnist", "--data", folder], 1, False),
            "verify": (["verify", "--op", "relu.forward", "--variant", "loops", "--shapes", "0"], 0, True),
            "bench": (["bench", "--shape", "1x4x4x1", "--op", "relu.forward", "--samples", "1", "--precision", "fp32",
                       "--variant", "loops", "--device", "cpu"], 0, True),
            "runs": (["runs", self.folder], 0, True),
            "export": (["export", self.run_dir, "--to", "csv", "--out", "-"], 0, True),
            "models": (["models", "mlp"], 0, True),
            "features": (["features", *run, "--split", "test", "--rows", "9", "--out", f"{folder}/f.csv"], 0, False),
            "infer": (["infer", *run, "--out", f"{folder}/a.csv"], 0, False),
            "map": (["map", *run, "--rows", "60", "--out", f"{folder}/m.csv"], 0, False),
            "classify": (["classify", *run, "--classifier", "nearest"], 0, True),
            "view": (["view", self.run_dir], 2, None),
            "devices": (["devices"], 0, True),
            "kernel": (["kernel", "new", "relu.forward", f"{folder}/mine.cpp"], 0, False),
            "--version": (["--version"], 0, True),
            "--help": (["train", "--help"], 0, True),
            "--nonsense": (["--nonsense"], 2, None),
            "window": ([*TRAIN[1:], "--run-dir", f"{folder}/run"], 0, False),
        }

    def start_in(self, situation, arguments):
        if situation in PIPES:
            read, write = os.pipe()
            os.close(read)
            process = self.start(*arguments, environment=self.nowhere, **{name: write for name in PIPES[situation]})
            os.close(write)
            return process
        shell = f'exec "$0" "$@" {SITUATIONS[situation]}'
        process = subprocess.Popen(["sh", "-c", shell, self.program, *arguments], env=self.nowhere, text=True,
                                   cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(self._end, process)
        return process

    def loses_output(self, situation, answer):
        """Where standard output is closed, nothing but an answer is lost."""
        if answer is None or not re.match("output|all|both", situation):
            return False
        return answer or "closed" not in situation

    def check_work(self, name, folder):
        made = {"features": "f.csv", "infer": "a.csv", "map": "m.csv"}.get(name)
        if made:
            self.assertGreater(os.path.getsize(os.path.join(folder, made)), 100)
        if name in ("train", "window"):
            run_dir = os.path.join(folder, "run")
            self.assertEqual(read_run(run_dir)["status"], "finished")
            with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
                lines = [without_times(json.loads(line)) for line in file.read().splitlines()]
            self.assertEqual(lines, [without_times(line) for line in read_metrics(self.run_dir)])

    def test_every_command_works_with_closed_streams(self):
        self.check_all("all closed", "input closed", "output closed", "error closed")

    def test_every_command_works_with_full_streams(self):
        self.check_all("output full", "error full", "both full")

    def test_every_command_works_with_streams_that_nobody_reads(self):
        self.check_all("output unread", "error unread", "both unread")

    def test_a_judgement_is_kept_though_standard_output_is_full(self):
        run_dir = self.path("judged")
        process = self.start_in("both full", [*TRAIN, "--run-dir", run_dir, "--then", "nearest"])
        process.communicate(timeout=PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(read_run(run_dir)["status"], "finished")
        with open(os.path.join(run_dir, "judgement.json"), encoding="utf-8") as file:
            self.assertIn("accuracy", json.load(file))

    def check_all(self, *situations):
        names = re.findall(r"(?m)^  (\w+) +[A-Z]", self.run_program("--help").out.split("Subcommands:")[1])
        for situation in situations:
            self.check(situation, names)

    def check(self, situation, names):
        if "full" in situation and not os.path.exists("/dev/full"):
            self.skipTest("this system has no full device")
        folder = self.path(situation.replace(" ", "_"))
        commands = self.commands(folder)
        self.assertEqual(set(names) - set(commands), set(), "commands that this test does not run")
        os.mkdir(folder)
        for name, (arguments, code, answer) in commands.items():
            with self.subTest(command=name, situation=situation):
                process = self.start_in(situation, arguments)
                out, err = process.communicate(timeout=PATIENCE_S)
                lost = self.loses_output(situation, answer)
                self.assertEqual(process.returncode, code or int(lost), f"{out}\n{err}")
                told = [line for line in (err or "").splitlines() if "cannot write to standard output" in line]
                self.assertEqual(len(told), int(lost and situation.startswith("output")), err)
                self.check_work(name, folder)
                if os.path.exists(os.path.join(folder, "run")):
                    os.rename(os.path.join(folder, "run"), os.path.join(folder, f"run of {name}"))


if __name__ == "__main__":
    main()
