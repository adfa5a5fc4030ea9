"""--joint: a linear head learns the classes from the latents beside the reconstruction."""
import json
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, read_metrics, read_run  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None

IMAGES = 32  # of a test


def tensors_in(file):
    """A safetensors file as NumPy arrays in double precision."""
    with open(file, "rb") as opened:
        length, = struct.unpack("<Q", opened.read(8))
        header = json.loads(opened.read(length))
        data = opened.read()
    header.pop("__metadata__", None)
    found = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        found[name] = numpy.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).astype(float)
    return found


class Joint(ProgramCase):
    def train(self, *more, joint="0.1", steps=2, batch=4, images=IMAGES):
        ended = self.run_program("train", "--device", "cpu", *self.network_arguments(more), "--precision", "fp32",
                                 "--data", self.small_data(), "--batch", str(batch), "--test-images", str(images),
                                 "--steps", str(steps), "--joint", joint, *more)
        self.assert_succeeded(ended)
        return ended

    def test_what_the_head_found_is_what_its_weights_make_of_the_latents(self):
        if numpy is None:
            self.skipTest("NumPy is missing")
        run, out = self.path("run"), self.path("latents.npy")
        ended = self.train("--run-dir", run)
        test = next(line for line in reversed(read_metrics(run)) if "test_loss" in line)
        self.assertIn(f"its accuracy {100 * test['head_accuracy']:.2f} %", ended.out)
        figures = read_run(run)
        for key in ("head_loss", "head_accuracy"):
            self.assertAlmostEqual(figures[key], test[key], places=6)
        self.assertFalse(figures["classifies"])
        # The latents of the images that were looked at, as another command makes them, and the head in NumPy.
        self.assert_succeeded(self.run_program("features", run, "--layer", "pool2", "--split", "test",
                                               "--rows", str(IMAGES), "--precision", "fp32", "--device", "cpu",
                                               "--out", out))
        latents, labels = numpy.load(out).astype(float), numpy.load(self.path("latents.labels.npy"))
        checkpoint = os.path.join(run, "checkpoints")
        weights = tensors_in(os.path.join(checkpoint, sorted(name for name in os.listdir(checkpoint)
                                                             if name[0].isdigit() or
                                                             name.startswith("step"))[-1]))
        self.assertEqual(weights["head.weight"].shape, (10, 8 * 8 * 8))
        logits = latents @ weights["head.weight"].T + weights["head.bias"]
        shifted = logits - logits.max(axis=1, keepdims=True)
        losses = numpy.log(numpy.exp(shifted).sum(axis=1)) - shifted[numpy.arange(IMAGES), labels.astype(int)]
        self.assertAlmostEqual(test["head_loss"], losses.mean(), delta=1e-4 * losses.mean())
        self.assertAlmostEqual(test["head_accuracy"], (logits.argmax(axis=1) == labels).mean(), places=6)
        self.assertIn("optimizer.exp_avg.head.weight", weights)

    def test_a_resumed_run_ends_with_the_same_bits(self):
        straight, again = self.path("straight.safetensors"), self.path("again.safetensors")
        self.train("--save", straight, images=4)
        run = self.path("run")
        self.train("--run-dir", run, steps=1, images=4)
        ended = self.run_program("train", "--resume", run, "--steps", "2", "--save", again)
        self.assert_succeeded(ended)
        with open(straight, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())
        self.assertEqual(read_run(run)["current"]["joint"], 0.1)
        # Without its head, and with one that a run without got later.
        ended = self.run_program("train", "--resume", run, "--steps", "3", "--joint", "0")
        self.assert_succeeded(ended)
        self.assertIn("the head of the checkpoint is not used", ended.out + ended.err)
        self.assertNotIn("head_loss", [line for line in read_metrics(run) if "loss" in line][-1])
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "4", "--joint", "0.2"))
        self.assertIn("head_loss", [line for line in read_metrics(run) if "loss" in line][-1])

    def test_its_curves_are_exported_and_its_weights_are_used_again(self):
        run, weights = self.path("run"), self.path("weights.safetensors")
        self.train("--run-dir", run, "--save", weights)
        table = self.path("run.csv")
        self.assert_succeeded(self.run_program("export", run, "--to", "csv", "--out", table))
        with open(table, encoding="utf-8") as file:
            head = file.readline()
        for column in ("train_head_loss", "train_head_accuracy", "test_head_loss", "test_head_accuracy"):
            self.assertIn(column, head)
        # Into a network without a head, where it is left aside, and into one with a head.
        self.assertNotIn("head", self.train("--init", weights, joint="0", steps=1).out)
        self.train("--init", weights, steps=1)

    def test_it_says_why_it_cannot_be(self):
        ended = self.run_program("train", "--model", "mlp", "--data", "builtin", "--device", "cpu", "--joint", "0.1")
        self.assertEqual(ended.code, 2)
        self.assertIn("model mlp classifies already", ended.err)
        ended = self.run_program("train", "--joint", "1001")
        self.assertEqual(ended.code, 2)
        self.assertIn("1000", ended.err)


if __name__ == "__main__":
    main()
