"""Runs that are stopped, killed and gone on with: what `--resume` promises."""

import glob
import hashlib
import json
import os
import random
import shutil
import signal
import stat
import struct
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.warpscope_program import ProgramCase, main, read_metrics, read_run, steps_of, wait_until  # noqa: E402

# How often the long test kills; WARPSCOPE_KILLS=100 takes a minute or two.
KILLS = int(os.environ.get("WARPSCOPE_KILLS", "12"))
EPOCHS = 6
IMAGES, BATCH = 960, 96
STEPS = IMAGES // BATCH  # of an epoch


def digest(file):
    with open(file, "rb") as opened:
        return hashlib.sha256(opened.read()).hexdigest()


def contents(folder):
    """What lies in a folder: paths to bytes; of what is no file, its kind."""
    found = {}
    for path in glob.glob(os.path.join(folder, "**"), recursive=True, include_hidden=True):
        is_file = os.path.isfile(path)
        found[path] = digest(path) if is_file else stat.S_IFMT(os.lstat(path).st_mode)
    return found


def make_digits(folder):
    """MNIST's four files with a few random images."""
    os.mkdir(folder)
    dice = random.Random(9)
    for name, count in (("train", IMAGES), ("t10k", BATCH)):
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4i", 0x803, count, 28, 28) + dice.randbytes(count * 28 * 28))
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2i", 0x801, count) + bytes(dice.randrange(10) for _ in range(count)))


class Resuming(ProgramCase):
    def setUp(self):
        super().setUp()
        make_digits(self.path("digits"))

    def arguments(self, *more, epochs=EPOCHS):
        """A short training whose every bit is determined."""
        return ["train", "--model", "mlp", "--data", self.path("digits"), "--device", "cpu", "--select", "all=loops",
                "--batch", str(BATCH), "--optimizer", "adam", "--schedule", "cosine:warmup=0.5",
                "--epochs", str(epochs), *more]

    def resume(self, run, *more):
        return self.run_program("train", "--resume", run, *more)

    def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(self):
        straight, epochs = self.path("straight.safetensors"), 2 * EPOCHS
        self.assert_succeeded(self.run_program(*self.arguments("--save", straight, epochs=epochs)))
        chance = random.Random(4)
        kills = runs = 0
        while kills < KILLS:
            runs += 1
            run, weights = self.path(f"run{runs}"), self.path(f"run{runs}.safetensors")
            start = self.arguments("--run-dir", run, "--save", weights, epochs=epochs)
            process = self.start(*start)
            # Five at most of a run: each waits for something that was written, of which there must be more to come.
            for _ in range(min(5, KILLS - kills)):
                sign = chance.choice(self.SIGNS)
                before = sign(run)
                wait_until(lambda: sign(run) != before or process.poll() is not None, "something new")  # noqa: B023
                if process.poll() is not None:
                    break
                process.send_signal(signal.SIGKILL)
                self.finish(process)
                kills += 1
                process = self.go_on(run, start, weights)
            self.assertGreater(kills, 0, "no kill before the end")
            self.assert_succeeded(self.finish(process))
            self.assertEqual(digest(weights), digest(straight))
            self.assertEqual(steps_of(run), list(range(1, epochs * STEPS + 1)))
            self.assertEqual(read_run(run)["status"], "finished")

    # What is seen of a run that goes on.
    SIGNS = (os.path.exists, lambda run: len(os.listdir(run)) if os.path.exists(run) else 0,
             lambda run: len(steps_of(run)), lambda run: sorted(glob.glob(os.path.join(run, "checkpoints", "*"))))

    def go_on(self, run, start, weights):
        """Resumes a killed run, or starts it anew if it was killed before its first checkpoint."""
        for file in glob.glob(os.path.join(run, "*.json")):
            with open(file, encoding="utf-8") as opened:
                json.load(opened)
        if glob.glob(os.path.join(run, "checkpoints", "*.safetensors")):
            return self.start("train", "--resume", run, "--save", weights)
        # There is nothing to go on from, which is said in one sentence.
        self.assert_one_sentence(self.resume(run), 2, run)
        if os.path.exists(run):
            os.rename(run, tempfile.mkdtemp(dir=self.folder))
        return self.start(*start)

    def test_more_epochs_go_on_with_a_finished_run(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        self.assert_succeeded(self.resume(run, "--epochs", str(EPOCHS + 1)))
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * STEPS)
        markers = [line["marker"] for line in read_metrics(run) if "marker" in line]
        self.assertIn(f"resumed at step {EPOCHS * STEPS}", markers)

    def test_a_run_goes_on_by_its_name(self):
        run = self.path("runs", "mine")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        self.assert_succeeded(self.resume("mine", "--epochs", str(EPOCHS + 1)))
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * STEPS)
        self.assert_refused(["train", "--resume", "nowhere"], "nowhere")

    def test_figures_that_are_lost_are_told(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            lines = file.readlines()
        with open(os.path.join(run, "metrics.jsonl"), "w", encoding="utf-8") as file:
            file.writelines(lines[:7])
        ended = self.resume(run, "--epochs", str(EPOCHS + 1))
        self.assert_succeeded(ended, f"metrics.jsonl tells 7 of the {EPOCHS * STEPS} steps before")
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * STEPS)

    def test_a_run_at_its_end_keeps_its_results(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        before = read_run(run)
        ended = self.resume(run)
        self.assert_succeeded(ended, "ask for more epochs to go on")
        after = read_run(run)
        for key in ("steps", "epochs", "final_train_loss", "test_loss", "accuracy", "median_images_per_second",
                    "confusion", "status"):
            self.assertEqual(after[key], before[key], key)

    def test_a_run_that_its_target_has_ended_does_not_train_on(self):
        run, table = self.path("run"), self.path("run.csv")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run, "--test-every", "3",
                                                               "--target-loss", "100")))
        steps = read_run(run)["steps"]
        self.assertLess(steps, EPOCHS * STEPS)
        self.assert_succeeded(self.resume(run), "the run is at its end already, since the test loss ")
        self.assertEqual(steps_of(run), list(range(1, steps + 1)))
        self.assert_succeeded(self.resume(run, "--target-loss", "0", "--epochs", "1"))
        self.assertEqual(steps_of(run), list(range(1, STEPS + 1)))
        self.assert_succeeded(self.run_program("export", run, "--to", "csv", "--out", table))
        with open(table, encoding="utf-8") as file:
            rows = [int(row.split(",")[0]) for row in file.readlines()[1:]]
        self.assertEqual(rows, list(range(1, STEPS + 1)), "a row a step")

    def test_another_model_or_other_data_are_refused(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        self.assert_one_sentence(self.resume(run, "--model", "autoencoder"), 2, "model")
        self.assert_one_sentence(self.resume(run, "--seed", "7"), 2, "seed")
        self.assert_one_sentence(self.resume(self.path("nothing")), 2, "nothing")

    def test_a_damaged_checkpoint_gives_way_to_the_one_before(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        newest = sorted(glob.glob(os.path.join(run, "checkpoints", "step-*.safetensors")))[-1]
        with open(newest, "r+b") as file:
            file.seek(5000)
            byte = file.read(1)
            file.seek(5000)
            file.write(bytes([byte[0] ^ 4]))
        ended = self.resume(run, "--epochs", str(EPOCHS + 1))
        self.assert_succeeded(ended, os.path.basename(newest))
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * STEPS)

    def test_a_damaged_run_is_refused_in_a_sentence_and_left_as_it_is(self):
        base = self.path("base")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", base, epochs=2)))

        def written(name, change):
            def damage(run):
                with open(os.path.join(run, name), encoding="utf-8") as file:
                    text = file.read()
                with open(os.path.join(run, name), "w", encoding="utf-8") as file:
                    file.write(change(text))
            return damage

        def replaced(name, put):
            def damage(run):
                os.remove(os.path.join(run, name))
                put(os.path.join(run, name))
            return damage

        def with_member(**more):
            return written("run.json", lambda text: json.dumps({**json.loads(text), **more}))

        def checkpoints(change):
            def damage(run):
                for file in glob.glob(os.path.join(run, "checkpoints", "*")):
                    with open(file, "rb") as opened:
                        data = opened.read()
                    with open(file, "wb") as opened:
                        opened.write(change(data))
            return damage

        loop = lambda path: os.symlink(os.path.basename(path), path)  # noqa: E731
        kinds = {
            "run.json is empty": (written("run.json", lambda text: ""), "run.json:1:1"),
            "run.json ends early": (written("run.json", lambda text: text[:len(text) // 2]), "run.json:"),
            "run.json is a list": (written("run.json", lambda text: "[]"), "configuration"),
            "run.json has NaN": (written("run.json", lambda text: text.replace("{", '{"x": NaN,', 1)), "run.json:"),
            "run.json has 1e400": (written("run.json", lambda text: text.replace("{", '{"x": 1e400,', 1)), "too large"),
            "run.json is deep": (written("run.json", lambda text: text.replace(
                "{", '{"x": ' + 99 * "[" + 99 * "]" + ",", 1)), "deeply"),
            "run.json is a folder": (replaced("run.json", os.mkdir), "run.json is a folder"),
            "run.json is a pipe": (replaced("run.json", os.mkfifo), "run.json is not a file"),
            "run.json is a loop": (replaced("run.json", loop), "symbolic links"),
            "run.json is missing": (lambda run: os.remove(os.path.join(run, "run.json")), "run.json"),
            "a newer format": (with_member(format=999), "format 999"),
            "no settings": (with_member(configuration=[]), "configuration"),
            "settings of other types": (with_member(configuration={"batch": "many"}), '"batch"'),
            "resumed is a text": (with_member(resumed="x"), '"resumed"'),
            "metrics are a folder": (replaced("metrics.jsonl", os.mkdir), "metrics.jsonl is a folder"),
            "metrics are a pipe": (replaced("metrics.jsonl", os.mkfifo), "metrics.jsonl is not a file"),
            "metrics are a loop": (replaced("metrics.jsonl", loop), "symbolic links"),
            "checkpoints end early": (checkpoints(lambda data: data[:len(data) // 2]), "checkpoint"),
            "checkpoints are empty": (checkpoints(lambda data: b""), "is empty"),
            "checkpoints have a flipped bit": (checkpoints(
                lambda data: data[:-99] + bytes([data[-99] ^ 4]) + data[-98:]), "damaged"),
            "checkpoints are missing": (lambda run: shutil.rmtree(os.path.join(run, "checkpoints")), "no checkpoint"),
        }
        for kind, (damage, word) in kinds.items():
            with self.subTest(kind):
                run = self.path(kind.replace(" ", "_"))
                shutil.copytree(base, run)
                damage(run)
                before = contents(run)
                self.assert_one_sentence(self.resume(run, "--epochs", "3"), 2, word)
                self.assertEqual(contents(run), before)

    def test_a_run_repeats_from_its_own_record(self):
        run, again = self.path("run"), self.path("again")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run, "--accumulate", "2",
                                                               "--clip-norm", "0.5")))
        self.assert_succeeded(self.run_program("train", "--config", os.path.join(run, "run.json"), "--run-dir", again))
        first, second = ([line["loss"] for line in read_metrics(folder) if "loss" in line] for folder in (run, again))
        self.assertEqual(first, second)


if __name__ == "__main__":
    main()
