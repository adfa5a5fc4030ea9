"""How trainings end before their time: by a signal, by a full disk. What is on the disk then is whole."""
import ctypes
import json
import os
import resource
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import (SMALL_PARAMETERS, ProgramCase, losses_of, main, read_metrics, read_run,  # noqa: E402
                               steps_of, wait_until)

CLONE_NEWNS, MS_REC, MS_PRIVATE = 0x20000, 0x4000, 0x40000


class Signals(ProgramCase):
    def stop_by(self, *numbers):
        run_dir, weights = self.path("run"), self.path("weights.safetensors")
        process = self.start(*self.train_arguments("--run-dir", run_dir, "--save", weights, steps=10**7))
        self.wait_for_step(process, run_dir, 1)
        for number in numbers:
            process.send_signal(number)
        ended = self.finish(process)
        self.assert_succeeded(ended)
        self.assertGreater(os.path.getsize(weights), SMALL_PARAMETERS * 4)
        run = read_run(run_dir)
        self.assertEqual(run["status"], "finished")
        steps = steps_of(run_dir)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(run["steps"], len(steps))
        self.assertLess(len(steps), 10**7)
        # The results are those of a test after the last step.
        self.assertEqual(read_metrics(run_dir)[-1]["step"], len(steps))
        self.assertIn("test_loss", read_metrics(run_dir)[-1])
        self.assertIn(f"steps        {len(steps)} ", ended.out)

    def test_an_interrupt_finishes_the_step_and_saves(self):
        self.stop_by(signal.SIGINT)

    def test_a_termination_finishes_the_step_and_saves(self):
        self.stop_by(signal.SIGTERM)

    def test_a_terminal_that_closes_finishes_the_step_and_saves(self):
        self.stop_by(signal.SIGHUP, signal.SIGHUP)  # the system sends one, the shell another

    def test_a_terminal_that_closes_ends_nothing_under_nohup(self):
        run_dir = self.path("run")
        process = self.start(*self.train_arguments("--run-dir", run_dir, steps=10**7),
                             preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        self.wait_for_step(process, run_dir, 1)
        process.send_signal(signal.SIGHUP)
        self.wait_for_step(process, run_dir, steps_of(run_dir)[-1] + 2)
        process.send_signal(signal.SIGTERM)
        self.assert_succeeded(self.finish(process))

    def test_a_killed_run_keeps_whole_files(self):
        run_dir = self.path("run")
        process = self.start(*self.train_arguments("--run-dir", run_dir, steps=10**7))
        self.wait_for_step(process, run_dir, 2)
        process.kill()
        self.finish(process)
        self.assertEqual(read_run(run_dir)["status"], "running")
        steps = steps_of(run_dir)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))


    def test_a_run_whose_folder_was_taken_away_is_there_at_its_end(self):
        for number, taken in enumerate(("", "checkpoints", "metrics.jsonl")):
            run_dir = self.path(f"run{number}")
            process = self.start(*self.train_arguments("--run-dir", run_dir, steps=10**7))
            self.wait_for_step(process, run_dir, 2)
            os.rename(os.path.join(run_dir, taken), self.path(f"taken{number}"))
            wait_until(lambda: os.path.exists(os.path.join(run_dir, "metrics.jsonl")), "lines again", process)
            process.send_signal(signal.SIGTERM)
            self.assert_succeeded(self.finish(process))
            self.assertEqual(read_run(run_dir)["status"], "finished")
            steps = steps_of(run_dir)
            self.assertEqual(steps, list(range(1, len(steps) + 1)))
            self.assertEqual(read_run(run_dir)["steps"], len(steps))
            self.assertTrue(any(name.startswith("step-") for name in os.listdir(os.path.join(run_dir, "checkpoints"))))

    def test_the_status_of_a_finished_run_tells_of_its_last_checkpoint(self):
        run_dir = self.path("run")
        self.assert_succeeded(self.train("--run-dir", run_dir, steps=3))
        with open(os.path.join(run_dir, "status.json"), encoding="utf-8") as file:
            status = json.load(file)
        self.assertEqual((status["state"], status["step"], status["checkpoint_step"]), ("finished", 3, 3))


class Limits(ProgramCase):
    def train_digits(self, *arguments):
        return self.run_program("train", "--model", "mlp", "--data", "builtin", "--device", "cpu",
                                "--select", "all=loops", "--test-images", "100", *arguments)

    def test_a_time_budget_alone_is_used_up(self):
        run_dir = self.path("run")
        self.assert_succeeded(self.train_digits("--batch", "6000", "--time", "2s", "--run-dir", run_dir))
        run = read_run(run_dir)
        self.assertGreaterEqual(run["seconds"], 2)
        self.assertIn("the time budget of 2s is used up", [line.get("marker") for line in read_metrics(run_dir)])

    def test_validation_and_test_are_told_apart(self):
        run_dir = self.path("run")
        ended = self.train_digits("--validation", "0.1", "--run-dir", run_dir)
        self.assert_succeeded(ended)
        run = read_run(run_dir)
        self.assertIn(f"validation   {run['validation_loss']:.6f} over 100 images", ended.out)
        self.assertIn(f"test loss    {run['test_loss']:.6f} over 100 images", ended.out)
        confusion = run["confusion"]
        self.assertEqual(confusion["split"], "test")
        rows = confusion["truth_by_prediction"]
        self.assertEqual(len(rows), len(run["classes"]))
        self.assertEqual(sum(map(sum, rows)), 100)
        self.assertAlmostEqual(sum(row[i] for i, row in enumerate(rows)) / 100, run["accuracy"], places=6)

    def test_the_faulty_scheme_is_named_at_the_end(self):
        run_dir = self.path("run")
        ended = self.train_digits("--steps", "2", "--update", "per_sample", "--optimizer", "sgd", "--run-dir", run_dir)
        self.assert_succeeded(ended, "after each image, not after each batch: a mistake")
        self.assertIn("optimizer    sgd after each image (a mistake), ", ended.out)
        steps = [line for line in read_metrics(run_dir) if "loss" in line]
        self.assertEqual([(line["gradient_norm"], line["update_ratio"]) for line in steps], 2 * [(None, None)],
                         "a step has no single gradient")


class FullDisks(ProgramCase):
    def test_a_full_disk_leaves_the_older_weights_whole(self):
        disk = self.small_disk(megabytes=8)
        weights = os.path.join(disk, "weights.safetensors")
        large = ("--model", "autoencoder", "--save", weights)
        self.assert_succeeded(self.train(*large, "--run-dir", os.path.join(disk, "first"), steps=1))
        with open(weights, "rb") as file:
            before = file.read()

        # The new weights are written beside the old ones, and for both there is no room.
        ended = self.train(*large, "--run-dir", os.path.join(disk, "second"), "--seed", "2", steps=1)
        self.assert_one_sentence(ended, 1, weights, "No space left on device")
        with open(weights, "rb") as file:
            self.assertEqual(file.read(), before)
        self.assertEqual(sorted(os.listdir(disk)), ["first", "second", "weights.safetensors"])
        self.assertEqual(read_run(os.path.join(disk, "first"))["status"], "finished")
        run = read_run(os.path.join(disk, "second"))
        self.assertEqual(run["status"], "failed")
        self.assertIn("No space left on device", run["error"])
        self.assertEqual(len(losses_of(os.path.join(disk, "second"))), 1)

    def small_disk(self, megabytes):
        """A file system of its own, which only this process and its children see and which ends with them."""
        if os.geteuid() != 0:
            self.skipTest("only root may mount a small file system")
        libc = ctypes.CDLL(None, use_errno=True)

        def check(result):
            if result != 0:
                self.skipTest(f"a small file system cannot be mounted here: {os.strerror(ctypes.get_errno())}")

        disk = self.path("disk")
        os.mkdir(disk)
        check(libc.unshare(CLONE_NEWNS))
        check(libc.mount(b"none", b"/", None, ctypes.c_ulong(MS_REC | MS_PRIVATE), None))
        check(libc.mount(b"none", disk.encode(), b"tmpfs", ctypes.c_ulong(0), b"size=%dm" % megabytes))
        self.addCleanup(libc.umount2, disk.encode(), 2)  # MNT_DETACH
        return disk

    def test_metrics_that_cannot_grow_end_the_run_with_whole_lines(self):
        def no_file_over_4_kib():
            resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

        run_dir = self.path("run")
        ended = self.train("--run-dir", run_dir, batch=1, steps=10**7, preexec_fn=no_file_over_4_kib)
        self.assert_one_sentence(ended, 1, os.path.join(run_dir, "metrics.jsonl"), "File too large")
        with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
            self.assertTrue(file.read().endswith("}\n"))
        steps = steps_of(run_dir)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertGreater(len(steps), 10)
        self.assertEqual(read_run(run_dir)["status"], "failed")
        self.assertIn("metrics.jsonl", read_run(run_dir)["error"])


class ScarceMemory(ProgramCase):
    def test_a_bench_without_memory_for_its_copies_says_so(self):
        arguments = ["bench", "--shape", "1x4x4x1", "--op", "relu.forward", "--variant", "loops", "--samples", "1"]
        if self.run_within(1 << 40, *arguments).code != 0:
            self.skipTest("this build takes addresses without end, as sanitizers do")
        for mebibytes in (260, 320, 380):
            self.assert_ends_in_order_within(mebibytes, *arguments)

    def test_a_verification_without_memory_names_the_limit(self):
        arguments = ["verify", "--device", "cpu", "--op", "batch.gather", "--variant", "loops", "--precision", "fp32"]
        if self.run_within(1 << 40, *arguments).code != 0:
            self.skipTest("this build takes addresses without end, as sanitizers do")
        for mebibytes in range(160, 240, 8):
            self.assert_ends_in_order_within(mebibytes, *arguments)

    def assert_ends_in_order_within(self, mebibytes, *arguments):
        ended = self.run_within(mebibytes << 20, *arguments)
        # 127: libraries could not be loaded; 0: there was enough.
        self.assertIn(ended.code, (0, 1, 127), f"{mebibytes} MiB: {ended.err}")
        self.assertNotIn("bad_alloc", ended.out + ended.err, f"{mebibytes} MiB")
        if ended.code == 1:
            self.assertIn("ulimit -v", ended.out + ended.err, f"{mebibytes} MiB")

    def run_within(self, most, *arguments):
        return self.run_program(*arguments, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (most, most)))


class Divergence(ProgramCase):
    def test_a_loss_that_is_no_number_fails_the_run(self):
        run_dir = self.path("run")
        ended = self.train("--lr", "1e6", "--run-dir", run_dir, "--save", self.path("weights.safetensors"), steps=100)
        self.assert_one_sentence(ended, 1, "not finite", "tensor", "learning rate")
        self.assertFalse(os.path.exists(self.path("weights.safetensors")))
        self.assertEqual(read_run(run_dir)["status"], "failed")
        self.assertIn("not finite", read_run(run_dir)["error"])


if __name__ == "__main__":
    main()
