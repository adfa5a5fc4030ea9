"""What a training leaves behind: the run folder and the weights, and that the same seed gives the same numbers."""
import json
import math
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, losses_of, main, read_metrics, read_run  # noqa: E402


def read_safetensors(path):
    """Names to (shape, bytes)."""
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    tensors = {}
    for name, entry in header.items():
        if name != "__metadata__":
            begin, end = entry["data_offsets"]
            tensors[name] = (entry["shape"], data[begin:end])
    return tensors


class RunFolder(ProgramCase):
    def test_a_run_is_recorded_whole(self):
        run_dir = self.path("runs", "first")
        # At this rate random images do not diverge: rounded figures could not be compared.
        ended = self.train("--model", "autoencoder", "--run-dir", run_dir, "--lr", "0.0005", "--seed", "5",
                           data=self.cifar10(), steps=3)
        self.assert_succeeded(ended)

        run = read_run(run_dir)
        self.assertEqual(run["status"], "finished")
        self.assertNotIn("error", run)
        configuration = run["configuration"]
        for name, value in dict(model="autoencoder", data="CIFAR-10", data_source=self.cifar10(), device="cpu",
                                precision="fp32", optimizer="sgd", batch=4, steps=3, epochs=0, seed=5, shuffle=True,
                                train_images=50000, test_images=8, init="").items():
            self.assertEqual(configuration[name], value, name)
        self.assertAlmostEqual(configuration["learning_rate"], 0.0005, places=6)
        self.assertEqual(configuration["chosen"], {})
        self.assertEqual(run["device"]["kind"], "cpu")
        self.assertIn("warpscope", run["versions"])

        lines = read_metrics(run_dir)
        steps = [line for line in lines if "loss" in line]
        tests = [line for line in lines if "test_loss" in line]
        self.assertEqual([line["step"] for line in steps], [1, 2, 3])
        for line in steps:
            self.assertEqual(set(line), {"step", "epoch", "loss", "learning_rate", "images_per_second", "seconds",
                                         "gradient_norm", "update_ratio"})
            self.assertTrue(math.isfinite(line["loss"]) and line["loss"] > 0)
            self.assertAlmostEqual(line["epoch"], line["step"] * 4 / 50000, places=9)
        seconds = [line["seconds"] for line in steps]
        self.assertEqual(seconds, sorted(seconds))
        self.assertEqual(set(tests[-1]), {"step", "epoch", "test_loss", "psnr", "seconds"})
        self.assertEqual(tests[-1]["step"], 3)

        # The results in run.json are those of the points.
        self.assertEqual(run["steps"], 3)
        self.assertAlmostEqual(run["epochs"], 3 * 4 / 50000, places=9)
        self.assertAlmostEqual(run["final_train_loss"], sum(line["loss"] for line in steps) / 3, places=5)
        self.assertAlmostEqual(run["test_loss"], tests[-1]["test_loss"], places=6)
        self.assertAlmostEqual(run["psnr"], tests[-1]["psnr"], places=4)
        self.assertGreater(run["median_images_per_second"], 0)
        self.assertGreaterEqual(run["seconds"], 0)
        # And so are those on the screen.
        self.assertIn("steps        3 ", ended.out)
        self.assertIn("\ntest loss    %.6f over 8 images, PSNR %.2f dB\n" % (run["test_loss"], run["psnr"]), ended.out)
        self.assertIn(run_dir, ended.out)

    def test_a_folder_that_holds_a_run_is_refused_and_left_as_it_is(self):
        run_dir = self.path("run")
        self.assert_succeeded(self.train("--run-dir", run_dir, steps=1))

        def content():
            files = {}
            for folder, _, names in os.walk(run_dir):
                for name in names:
                    with open(os.path.join(folder, name), "rb") as file:
                        files[os.path.join(folder, name)] = file.read()
            return files

        before = content()
        self.assert_one_sentence(self.train("--run-dir", run_dir, steps=1), 2, run_dir, "holds a run already")
        self.assertEqual(content(), before)

    def test_a_run_folder_that_cannot_be_made_is_refused(self):
        with open(self.path("file"), "w", encoding="utf-8"):
            pass
        for run_dir in (self.path("file", "run"), self.path("file")):
            self.assert_one_sentence(self.train("--run-dir", run_dir, steps=1), 2, run_dir)

    def test_epochs_end_at_whole_passes_and_steps_may_end_them_sooner(self):
        # A pass is too long for a test; the smaller limit wins, and run.json tells both.
        run_dir = self.path("run")
        self.assert_succeeded(self.train("--epochs", "1", "--run-dir", run_dir, steps=1))
        self.assertEqual(read_run(run_dir)["steps"], 1)
        self.assertEqual(read_run(run_dir)["configuration"]["epochs"], 1)


class Weights(ProgramCase):
    # So low a rate that no weight changes: what is saved is what was at the start.
    FROZEN = ("--lr", "1e-30", "--no-shuffle")

    def test_saved_weights_start_a_training_where_they_were(self):
        first, second = self.path("first.safetensors"), self.path("second.safetensors")
        self.assert_succeeded(self.train(*self.FROZEN, "--seed", "5", "--save", first, "--run-dir", self.path("a"),
                                         steps=1))
        self.assert_succeeded(self.train(*self.FROZEN, "--seed", "9", "--init", first, "--save", second, "--run-dir",
                                         self.path("b"), steps=1))
        self.assertEqual(losses_of(self.path("a")), losses_of(self.path("b")))
        self.assertEqual(read_run(self.path("a"))["test_loss"], read_run(self.path("b"))["test_loss"])
        before, after = read_safetensors(first), read_safetensors(second)
        self.assertEqual(list(before), list(after))
        for name in before:
            if name.endswith(".weight"):  # biases start at 0, which even this rate changes
                self.assertTrue(before[name] == after[name], f"{name} has changed")
        self.assertEqual(read_run(self.path("b"))["configuration"]["init"], first)

    def test_saved_weights_are_those_after_the_last_step(self):
        first = self.path("first.safetensors")
        self.assert_succeeded(self.train("--lr", "0.001", "--save", first, "--run-dir", self.path("a"), steps=2))
        self.assert_succeeded(self.train(*self.FROZEN, "--init", first, "--run-dir", self.path("b"), steps=1))
        self.assertEqual(read_run(self.path("a"))["test_loss"], read_run(self.path("b"))["test_loss"])

    def test_saved_weights_have_pytorchs_names_and_shapes(self):
        weights = self.path("run", "weights.safetensors")
        # Into the run folder, which is made by this very command.
        self.assert_succeeded(self.train("--model", "autoencoder", "--save", weights, "--run-dir", self.path("run"),
                                         steps=1))
        shapes = {name: shape for name, (shape, _) in read_safetensors(weights).items()}
        channels = dict(conv1=(256, 3), conv2=(128, 256), conv3=(128, 128), conv4=(256, 128), conv5=(3, 256))
        expected = {}
        for name, (outputs, inputs) in channels.items():
            expected[f"{name}.weight"] = [outputs, inputs, 3, 3]
            expected[f"{name}.bias"] = [outputs]
        self.assertEqual(shapes, expected)

    def test_broken_initial_weights_are_refused(self):
        def refuse(name, data, *words):
            path = self.path(name)
            with open(path, "wb") as file:
                file.write(data)
            arguments = ["train", "--device", "cpu", "--data", self.small_data(), "--batch", "4", "--init", path]
            self.assert_refused(arguments, path, *words)

        def safetensors(header, data=b""):
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + data

        bias = {"dtype": "F32", "shape": [256], "data_offsets": [0, 1024]}
        refuse("empty", b"")
        refuse("text", b"these are no weights, but a sentence that is long enough")
        refuse("huge-header", struct.pack("<Q", 1 << 62) + b"{}")
        refuse("truncated", safetensors({"conv1.bias": bias}, b"\0" * 1000))
        refuse("one-tensor", safetensors({"conv1.bias": bias}, b"\0" * 1024), "conv")
        path = self.path("missing")
        arguments = ["train", "--device", "cpu", "--data", self.small_data(), "--batch", "4", "--init", path]
        self.assert_refused(arguments, path)

    def test_initial_weights_of_another_shape_are_refused_by_name(self):
        good, bad = self.path("good.safetensors"), self.path("bad.safetensors")
        self.assert_succeeded(self.train("--save", good, steps=1))
        with open(good, "rb") as file:
            length, = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(length))
            data = file.read()
        header["conv3.weight"]["shape"] = [8, 8, 9, 1]
        text = json.dumps(header).encode()
        with open(bad, "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + data)
        arguments = ["train", "--device", "cpu", "--data", self.cifar10(), "--batch", "4", "--init", bad]
        self.assert_refused(arguments, bad, "conv3.weight")


class Repeatability(ProgramCase):
    def losses(self, name, *arguments, batch=4, steps=3):
        self.assert_succeeded(self.train(*arguments, "--run-dir", self.path(name), batch=batch, steps=steps))
        return losses_of(self.path(name))

    def test_the_same_seed_gives_the_same_losses_and_another_does_not(self):
        first = self.losses("first", "--seed", "3")
        self.assertEqual(len(first), 3)
        self.assertEqual(self.losses("again", "--seed", "3"), first)
        self.assertNotEqual(self.losses("other", "--seed", "4")[0], first[0])

    def test_without_shuffling_the_same_images_come_first(self):
        ordered = self.losses("ordered", "--no-shuffle", "--seed", "3")
        self.assertEqual(self.losses("again", "--no-shuffle", "--seed", "3"), ordered)
        # The same weights on other images.
        self.assertNotEqual(self.losses("shuffled", "--seed", "3")[0], ordered[0])

    def test_slow_variants_give_nearly_the_same_losses(self):
        few = ("--no-shuffle", "--test-images", "2")  # plain loops take seconds for an image under a sanitizer
        fast = self.losses("fast", "--select", "all=onednn", *few, batch=2, steps=2)
        plain = self.losses("plain", "--select", "all=loops", *few, batch=2, steps=2)
        self.assertEqual(len(plain), 2)
        for a, b in zip(fast, plain):
            self.assertAlmostEqual(a / b, 1, places=3)
        self.assertEqual(read_run(self.path("plain"))["configuration"]["chosen"]["conv2d.forward"], "loops")


if __name__ == "__main__":
    main()
