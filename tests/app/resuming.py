"""Runs that are stopped, killed and gone on with: what `--resume` promises."""

import glob
import hashlib
import json
import os
import random
import signal
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(__file__), ".."))
from support.warpscope_program import ProgramCase, main, read_metrics, read_run, steps_of  # noqa: E402

# Kills of the long test; the whole hundred takes a minute or two.
KILLS = int(os.environ.get("WARPSCOPE_KILLS", "12"))
EPOCHS = max(6, KILLS // 2)


def digest(file):
    with open(file, "rb") as opened:
        return hashlib.sha256(opened.read()).hexdigest()


class Resuming(ProgramCase):
    def arguments(self, *more):
        """A training of a second or two whose every bit is determined."""
        return ["train", "--model", "mlp", "--data", "builtin", "--device", "cpu", "--select", "all=loops", "--batch", "96",
                "--optimizer", "adam", "--schedule", "cosine:warmup=0.5", "--epochs", str(EPOCHS), *more]

    def straight(self):
        weights = self.path("straight.safetensors")
        self.assert_succeeded(self.run_program(*self.arguments("--save", weights)))
        return digest(weights)

    def resume(self, run, *more):
        return self.run_program("train", "--resume", run, *more)

    def test_a_run_killed_at_any_moment_ends_as_if_it_had_not_been(self):
        expected = self.straight()
        run, weights = self.path("run"), self.path("weights.safetensors")
        chance = random.Random(4)
        process = self.start(*self.arguments("--run-dir", run, "--save", weights))
        kills = 0
        while kills < KILLS:
            time.sleep(chance.uniform(0.02, 0.6))
            if process.poll() is not None:
                break
            process.send_signal(signal.SIGKILL)
            self.finish(process)
            kills += 1
            for file in glob.glob(os.path.join(run, "*.json")):
                with open(file, encoding="utf-8") as opened:
                    json.load(opened)
            if not glob.glob(os.path.join(run, "checkpoints", "*.safetensors")):
                # Killed before the first one: there is nothing to go on from, which is said in one sentence.
                self.assert_one_sentence(self.resume(run), 2, run)
                if os.path.exists(run):
                    os.rename(run, f"{run}-{time.monotonic_ns()}")
                process = self.start(*self.arguments("--run-dir", run, "--save", weights))
            else:
                process = self.start("train", "--resume", run, "--save", weights)
        self.assert_succeeded(self.finish(process))
        self.assertGreaterEqual(kills, min(KILLS, 8), "hardly a kill before the end")
        self.assertEqual(digest(weights), expected)
        steps = steps_of(run)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(read_run(run)["status"], "finished")

    def test_more_epochs_go_on_with_a_finished_run(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        self.assert_succeeded(self.resume(run, "--epochs", str(EPOCHS + 1)))
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * (12000 // 96))
        markers = [line["marker"] for line in read_metrics(run) if "marker" in line]
        self.assertIn(f"resumed at step {EPOCHS * (12000 // 96)}", markers)

    def test_a_run_at_its_end_keeps_its_results(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        before = read_run(run)
        ended = self.resume(run)
        self.assert_succeeded(ended)
        self.assertIn("is at its end already", ended.out)
        after = read_run(run)
        for key in ("steps", "epochs", "final_train_loss", "test_loss", "accuracy", "images_per_second", "confusion", "status"):
            self.assertEqual(after[key], before[key], key)

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
        self.assert_succeeded(ended)
        self.assertIn(os.path.basename(newest), ended.out)
        self.assertEqual(read_run(run)["steps"], (EPOCHS + 1) * (12000 // 96))

    def test_a_run_repeats_from_its_own_record(self):
        run, again = self.path("run"), self.path("again")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run, "--accumulate", "2", "--clip-norm", "0.5")))
        self.assert_succeeded(self.run_program("train", "--config", os.path.join(run, "run.json"), "--run-dir", again))
        first, second = ([line["loss"] for line in read_metrics(folder) if "loss" in line] for folder in (run, again))
        self.assertEqual(first, second)


if __name__ == "__main__":
    main()
