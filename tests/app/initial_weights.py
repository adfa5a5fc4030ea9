"""--init RUN --init-partly: a network begins with the layers that another has learned."""
import json
import math
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, read_run  # noqa: E402

FRESH = ("fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias")


def tensors_in(file):
    """Names to bytes."""
    with open(file, "rb") as opened:
        length, = struct.unpack("<Q", opened.read(8))
        header = json.loads(opened.read(length))
        data = opened.read()
    header.pop("__metadata__", None)
    return {name: data[slice(*entry["data_offsets"])] for name, entry in header.items()}


def write_weights(file, tensors):
    """Names to (dtype, shape, bytes)."""
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    with open(file, "wb") as opened:
        opened.write(struct.pack("<Q", len(text)) + text + data)


def overwrite(file, name, value):
    """Makes `value` of the first number of the tensor `name`."""
    with open(file, "r+b") as opened:
        length, = struct.unpack("<Q", opened.read(8))
        begin, _ = json.loads(opened.read(length))[name]["data_offsets"]
        opened.seek(8 + length + begin)
        opened.write(struct.pack("<f", value))


NORMED = """input = [32, 32, 3]
loss = "cross_entropy"
classes = 10
layers = [
  {type = "conv2d", channels = 2},
  {type = "batch_norm"},
  {type = "maxpool2d"},
  {type = "global_average_pool"},
  {type = "linear", features = 10},
]
"""


class InitialWeights(ProgramCase):
    def arguments(self, *more):
        return ["train", "--device", "cpu", "--precision", "fp32", "--data", self.small_data(), "--batch", "4",
                "--test-images", "12", "--steps", "1", *more]

    def test_a_classifier_begins_with_the_encoder_of_a_run(self):
        run, begun, plain = self.path("run"), self.path("begun.safetensors"), self.path("plain.safetensors")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        classifier = self.arguments("--model", "classifier", "--optimizer", "sgd", "--momentum", "0", "--lr", "1e-30")
        tuned = self.path("tuned")
        ended = self.run_program(*classifier, "--init", run, "--init-partly", "--run-dir", tuned, "--save", begun)
        self.assert_succeeded(ended)
        self.assertIn("from the seed: " + ", ".join(FRESH), ended.out + ended.err)
        self.assert_succeeded(self.run_program(*classifier, "--save", plain))
        folder = os.path.join(run, "checkpoints")
        checkpoint, = (os.path.join(folder, name) for name in os.listdir(folder) if name.startswith("step-"))
        learned, begun, plain = tensors_in(checkpoint), tensors_in(begun), tensors_in(plain)
        for name in ("conv1.weight", "conv2.weight"):  # biases that are 0 are changed even at this rate
            self.assertEqual(begun[name], learned[name], name)
            self.assertNotEqual(begun[name], plain[name], name)
        for name in ("fc1.weight", "fc2.weight"):
            self.assertEqual(begun[name], plain[name], name)
        configuration = read_run(tuned)["configuration"]
        self.assertEqual((configuration["init"], configuration["init_partly"]), (checkpoint, True))

    def test_weights_bring_their_network_unless_another_is_named(self):
        network, run, weights = self.path("normed.toml"), self.path("begun"), self.path("begun.safetensors")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NORMED)
        self.assert_succeeded(self.run_program(*self.arguments("--model", network, "--run-dir", run,
                                                               "--save", weights)))
        for number, init in enumerate((run, weights)):
            again = self.path(f"again{number}")
            self.assert_succeeded(self.run_program(*self.arguments("--init", init, "--run-dir", again)))
            self.assertEqual(read_run(again)["configuration"]["model"], "normed")
        self.assert_refused(self.arguments("--init", run, "--model", "autoencoder"), "autoencoder")

    def test_a_test_loss_that_is_not_finite_is_told(self):
        network, weights = self.path("normed.toml"), self.path("weights.safetensors")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NORMED)
        arguments = self.arguments("--model", network)
        self.assert_succeeded(self.run_program(*arguments, "--save", weights))
        overwrite(weights, "bn1.running_mean", 3e38)  # divided by a small deviation it is more than FP32 holds
        overwrite(weights, "bn1.running_var", 0)
        ended = self.run_program(*arguments, "--init", weights)
        self.assert_succeeded(ended, "the test loss of step 1 is not finite (")

    def normed_weights(self):
        """Weights of NORMED, as PyTorch's state_dict has them: numbers that 16 bits hold, and the counter of the batch
        norm."""
        shapes = {"conv1.weight": [2, 3, 3, 3], "conv1.bias": [2], "bn1.weight": [2], "bn1.bias": [2],
                  "bn1.running_mean": [2], "bn1.running_var": [2], "fc1.weight": [10, 2], "fc1.bias": [10]}
        numbers = {name: [(i % 5 - 2) / 4 if "var" not in name else 1 for i in range(math.prod(shape))]
                   for name, shape in shapes.items()}
        return {name: ("F32", shape, struct.pack(f"<{len(numbers[name])}f", *numbers[name]))
                for name, shape in shapes.items()}

    def test_files_of_pytorch_are_read_as_they_are(self):
        network, weights = self.path("normed.toml"), self.path("weights.safetensors")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NORMED)
        plain = self.normed_weights()
        counter = {"bn1.num_batches_tracked": ("I64", [], struct.pack("<q", 7))}
        halves = {name: ("F16", shape, struct.pack(f"<{len(values) // 4}e",
                                                   *struct.unpack(f"<{len(values) // 4}f", values)))
                  for name, (_, shape, values) in plain.items()}
        wrapped = {f"module._orig_mod.{name}": tensor for name, tensor in {**halves, **counter}.items()}
        ends, told = [], []
        for tensors in (plain, {**plain, **counter}, {**wrapped, "ema.steps": ("I64", [], struct.pack("<q", 1))}):
            write_weights(weights, tensors)
            ended = self.run_program(*self.arguments("--model", network, "--init", weights,
                                                     "--save", self.path("end.safetensors")))
            self.assert_succeeded(ended)
            self.assertIn("\npredictions  all images are taken for ", ended.out)
            ends.append(tensors_in(self.path("end.safetensors")))
            told.append([line for line in ended.out.splitlines() if line.startswith(weights)])
        self.assertEqual(ends[0], ends[1])
        self.assertEqual(ends[0], ends[2])
        self.assertEqual(told,
                         [[], [],
                          [f"{weights}: 'module._orig_mod.' was taken off its names; left aside is what normed does "
                                         "not need: 'ema.steps'"]])

    def test_weights_that_cannot_be_are_refused_by_name(self):
        network, weights = self.path("normed.toml"), self.path("weights.safetensors")
        with open(network, "w", encoding="utf-8") as file:
            file.write(NORMED)
        write_weights(weights, self.normed_weights())
        overwrite(weights, "fc1.bias", float("nan"))
        self.assert_refused(self.arguments("--model", network, "--init", weights),
                            "the initial weights hold NaN in fc1.bias")
        write_weights(weights, self.normed_weights())
        overwrite(weights, "bn1.running_var", -1)
        self.assert_refused(self.arguments("--model", network, "--init", weights),
                            "the initial weights hold a variance below 0 in bn1.running_var")

    def test_layers_are_not_left_to_the_seed_unless_that_is_asked_for(self):
        run = self.path("run")
        self.assert_succeeded(self.run_program(*self.arguments("--run-dir", run)))
        classifier = self.arguments("--model", "classifier")
        self.assert_refused([*classifier, "--init", run], "model classifier", "--init-partly takes the layers that fit")
        self.assert_refused([*classifier, "--init-partly"], "init_partly needs init")


if __name__ == "__main__":
    main()
