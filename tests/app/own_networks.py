"""Networks in files: models lists and writes them, and what is trained by one goes on without the file."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, read_run  # noqa: E402

RESIDUAL = """input = [28, 28, 1]
loss = "cross_entropy"
classes = 10
layers = [
  {type = "maxpool2d"},
  {type = "conv2d", channels = 4},
  {type = "relu"},
  {type = "conv2d", channels = 4, kernel = 5, bias = false},
  {type = "add", from = "relu1"},
  {type = "maxpool2d"},
  {type = "linear", features = 10},
]
"""


class OwnNetworks(ProgramCase):
    def write(self, name, text):
        file = self.path(name)
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
        return file

    def train(self, *more):
        return self.run_program("train", "--device", "cpu", "--precision", "fp32", "--data", "builtin", "--batch", "4",
                                "--test-images", "8", *more)

    def test_built_in_networks_are_listed_with_their_figures(self):
        ended = self.run_program("models", "--device", "cpu", "--batch", "8", "--json", self.path("models.json"))
        self.assert_succeeded(ended)
        with open(self.path("models.json"), encoding="utf-8") as file:
            listed = {model["name"]: model for model in json.load(file)["models"]}
        self.assertEqual(set(listed), {"autoencoder", "classifier", "mlp", "char_cnn", "char_cnn_ln", "char_cnn_cased",
                                       "classifier_bn", "resnet9", "vgg"})
        self.assertEqual(listed["autoencoder"]["parameters"], 751875)
        # mlp: two operations for each weight, one for each bias, ReLU and a few for the loss.
        self.assertGreater(listed["mlp"]["forward_flops"], 2 * 118016)
        self.assertLess(listed["mlp"]["forward_flops"], 2 * 118016 + 2000)
        for model in listed.values():
            self.assertEqual(sum(layer["parameters"] for layer in model["layers"]), model["parameters"])
            self.assertGreater(model["step_bytes"], 0)
            self.assertIn(model["name"], ended.out)
        self.assertIn("751,875", ended.out)
        self.assertIn("1,014 characters", ended.out)
        self.assertEqual(len(set(listed["char_cnn"]["alphabet"])), 69)
        self.assertNotIn("alphabet", listed["mlp"])

    def test_a_network_that_was_written_out_and_changed_is_trained_and_goes_on_without_its_file(self):
        printed = self.run_program("models", "mlp")
        self.assert_succeeded(printed)
        text = printed.out.replace("features = 128", "features = 24")
        self.assertNotEqual(text, printed.out)
        file, run = self.write("mine.toml", text), self.path("run")
        self.assert_succeeded(self.train("--model", file, "--steps", "3", "--run-dir", run))
        configuration = read_run(run)["configuration"]
        self.assertEqual(configuration["model"], "mine")
        self.assertIn("features = 24", configuration["network"])
        resumed = self.run_program("train", "--resume", run, "--model", file, "--steps", "5")
        self.assert_succeeded(resumed)
        other = self.write("other.toml", text.replace("features = 24", "features = 25"))
        self.assert_refused(["train", "--resume", run, "--model", other, "--steps", "7"], "model")
        os.remove(file)
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "7"))
        self.assertEqual(read_run(run)["steps"], 7)
        listed = self.run_program("runs", self.path(""))
        self.assert_succeeded(listed)
        self.assertIn("mine", listed.out)

    def test_weights_of_a_network_in_a_file_know_it(self):
        file, weights = self.write("small.toml", RESIDUAL), self.path("small.safetensors")
        self.assert_succeeded(self.train("--model", file, "--steps", "2", "--save", weights))
        os.remove(file)
        ended = self.run_program("features", weights, "--device", "cpu", "--data", "builtin", "--rows", "5",
                                 "--layer", "add1", "--split", "test", "--out", self.path("features.npy"))
        self.assert_succeeded(ended)
        self.assertIn("784 columns, add1 of small", ended.out)  # 14 x 14 x 4

    def test_the_networks_that_come_along_can_be_trained(self):
        names = ["resnet9", "vgg", "classifier_bn"]
        ended = self.run_program("models", *names, "--device", "cpu", "--batch", "2",
                                 "--json", self.path("models.json"))
        self.assert_succeeded(ended)
        with open(self.path("models.json"), encoding="utf-8") as file:
            listed = {model["name"]: model for model in json.load(file)["models"]}
        self.assertEqual(list(listed), names)
        # 64, 128, two of 128, 256, 512, two of 512, scale and shift of each, linear: without biases of convolutions.
        channels = [3, 64, 128, 128, 128, 256, 512, 512, 512]
        weights = sum(9 * a * b + 2 * b for a, b in zip(channels, channels[1:])) + 5130
        self.assertEqual(listed["resnet9"]["parameters"], weights)
        for model in listed.values():
            self.assertGreater(model["step_bytes"], 0, model)
        run = self.path("run")
        self.assert_succeeded(self.train("--model", "classifier_bn", "--steps", "2", "--run-dir", run))
        self.assertIn("batch_norm", read_run(run)["configuration"]["network"])

    def test_the_file_of_a_network_that_comes_along_is_printed_as_it_is(self):
        root = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, os.pardir)
        with open(os.path.join(root, "assets", "models", "resnet9.toml"), encoding="utf-8") as file:
            self.assertEqual(self.run_program("models", "resnet9").out, file.read())

    def test_running_means_and_dropped_numbers_are_the_same_in_a_run_that_is_gone_on_with(self):
        text = RESIDUAL.replace('  {type = "relu"},',
                                '  {type = "batch_norm"},\n  {type = "relu"},\n  {type = "dropout", rate = 0.25},')
        file = self.write("random.toml", text)
        train = ("--model", file, "--select", "all=loops", "--optimizer", "adam", "--weight-decay", "0.1")
        whole, run = self.path("whole.safetensors"), self.path("run")
        self.assert_succeeded(self.train(*train, "--steps", "6", "--save", whole))
        self.assert_succeeded(self.train(*train, "--steps", "3", "--run-dir", run))
        resumed = self.path("resumed.safetensors")
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "6", "--save", resumed))
        with open(whole, "rb") as one, open(resumed, "rb") as other:
            self.assertEqual(one.read(), other.read())
        without = self.path("without.safetensors")
        file = self.write("random.toml", text.replace("rate = 0.25", "rate = 0"))
        self.assert_succeeded(self.train(*train, "--steps", "6", "--save", without))
        with open(whole, "rb") as one, open(without, "rb") as other:
            self.assertNotEqual(one.read(), other.read())

    def test_a_mistake_is_refused_with_its_line(self):
        file = self.write("wrong.toml", RESIDUAL.replace('"relu1"', '"relu7"'))
        for command in (["train", "--model", file], ["models", file]):
            self.assert_refused(command, "wrong.toml:9: layer add1: adds the output of 'relu7'")
        self.assert_refused(["train", "--model", self.path("none.toml")], "none.toml")
        self.assert_refused(["train", "--model", "rezidual"], "unknown model 'rezidual'", ".toml")

    def test_settings_in_a_file_hold_the_whole_network(self):
        file = self.write("small.toml", RESIDUAL)
        printed = self.run_program("config", "--model", file, "--device", "cpu")
        self.assert_succeeded(printed)
        os.remove(file)
        settings, run = self.write("settings.toml", printed.out), self.path("run")
        self.assert_succeeded(self.train("--config", settings, "--steps", "1", "--run-dir", run))
        self.assertEqual(read_run(run)["configuration"]["model"], "small")


if __name__ == "__main__":
    main()
