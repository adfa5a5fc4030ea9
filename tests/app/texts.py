"""Networks on texts from outside: trained on built-in sentences and CSV files, gone on with, asked about texts."""
import csv
import io
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, losses_of, main, read_run  # noqa: E402

NETWORK = """text = {length = 48, alphabet = "abcdefghijklmnopqrstuvwxyz \\n"}
loss = "cross_entropy"
classes = 4
layers = [
  {type = "FIRST"},
  {type = "conv1d", channels = 32, kernel = 5, padding = "valid"},
  {type = "relu"},
  {type = "maxpool1d", window = 3},
  {type = "global_average_pool"},
  {type = "linear", features = 4},
]
"""


class Texts(ProgramCase):
    def network(self, first='one_hot"'):
        return self.write("letters.toml", NETWORK.replace('FIRST"', first))

    def write(self, name, text):
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        return self.path(name)

    def train(self, network, *more, run="run"):
        ended = self.run_program("train", "--model", network, "--device", "cpu", "--precision", "fp32", "--batch", "32",
                                 "--run-dir", self.path(run), *more)
        self.assert_succeeded(ended)
        return ended

    def infer(self, *more, warning=None):
        ended = self.run_program("infer", self.path("run"), *more, "--device", "cpu")
        self.assert_succeeded(ended, *([] if warning is None else [warning]))
        return ended

    def test_a_text_network_learns_from_sentences_and_goes_on_without_its_file(self):
        for first in ('one_hot"', 'embedding", channels = 8'):
            with self.subTest(first):
                network, run = self.network(first), self.path(first[:7])
                told = self.train(network, "--data", "sentences", "--steps", "250", "--lr", "0.01", run=run).out
                self.assertRegex(told, r"(?m)^test loss .* over \d+ texts, ")
                self.assertRegex(told, r"(?m)^speed +[\d.]+ texts/s, ")
                losses = losses_of(run)
                self.assertGreater(losses[0], 1)
                self.assertLess(sum(losses[-20:]) / 20, 0.6)
                head = read_run(run)
                self.assertEqual(head["classes"], ["weather", "kitchen", "sport", "travel"])
                self.assertIn("alphabet", head["configuration"]["network"])
                os.remove(network)
                self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "260"))
                self.assertEqual(len(losses_of(run)), 260)

    def test_answers_stand_beside_their_texts(self):
        self.train(self.network(), "--data", "sentences", "--steps", "300", "--lr", "0.01")
        lines = self.write("lines.txt", b"The baker salts the soup.\n\nbroken \xff\xe2\x82 bytes\n")
        broken = "1 of 3 lines of " + lines + " is not UTF-8, the first is line 3"
        ended = self.infer(lines, "--out", "-", warning=broken)
        rows = list(csv.DictReader(io.StringIO(ended.out)))
        self.assertEqual([row["text"] for row in rows],
                         ["The baker salts the soup.", "", "broken \ufffd\ufffd bytes"])
        self.assertEqual([row["line"] for row in rows], ["1", "2", "3"])
        self.assertEqual(rows[0]["class"], "kitchen")
        self.assertNotIn("label", rows[0])
        table = self.write("table.csv", 'label,text\r\nkitchen,"My aunt, she fries two onions"\r\nunheard of,fog\r\n')
        self.infer(table, "--out", self.path("answers.json"),
                   warning="table.csv:1 is a title, not a text: the class is in 'label', the text is in 'text'; 1 of 2 "
                           "labels is of a class that the network")
        with open(self.path("answers.json"), encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(told["answers"][0]["label"], "kitchen")
        self.assertEqual(told["answers"][0]["text"], "My aunt, she fries two onions")
        self.assertEqual(told["answers"][1]["line"], 3)
        self.assertNotIn("label", told["answers"][1])
        self.assertEqual(told["accuracy"], float(told["answers"][0]["class"] == "kitchen"))
        self.assertRegex(self.infer(lines, warning=broken).out, r"(?m)^texts        3 of .*, in 1 batch of 3$")
        known = json.loads(self.infer("--json", "-").out)
        self.assertGreater(known["accuracy"], 0.7)
        self.assertEqual(known["images"], 800)
        self.assert_refused(["infer", self.path("run"), self.write("open.csv", 'a\n"b\n'), "--device", "cpu"],
                            "open.csv:2: a quote is not closed")

    def test_texts_of_ones_own_have_any_classes(self):
        rows = "".join(f'{"ham" if n % 2 else "spam"},"{"call me" if n % 2 else "buy this"} {n}"\n' for n in range(80))
        network = self.network()
        self.write("mails/train.csv", "ham\n")
        self.assert_refused(["train", "--model", network, "--data", self.path("mails"), "--device", "cpu"],
                            "train.csv:1: 1 field in a row, 2 or more are needed")
        self.write("mails/train.csv", rows)
        self.write("mails/test.csv", rows[:400].rpartition("\n")[0])
        self.train(network, "--data", self.path("mails"), "--epochs", "5", "--lr", "0.01")
        self.assertEqual(read_run(self.path("run"))["classes"], ["ham", "spam"])

    def test_labels_of_texts_are_the_networks_classes_wherever_they_lie(self):
        def rows(*kinds):
            return "".join(f'{label},"{text} {n}"\n' for label, text in kinds for n in range(20))
        kinds = [("a\tb", "call me"), ("caf\udce9", "buy this"), ("plain", "good day"), ("two\nlines", "the end")]
        quoted = [(f'"{label}"', text) for label, text in kinds]

        def write(name, which):
            return self.write(name, rows(*which).encode(errors="surrogateescape"))
        write("all/all.csv", quoted)
        self.train(self.network(), "--data", self.path("all"), "--steps", "200", "--lr", "0.01")
        part = write("part/part.csv", quoted[1:])
        for data, count, warning in ((part, 60, "lines of"), (self.path("part"), 6, "every tenth text")):
            told = json.loads(self.infer(data, "--out", "-", "--format", "json", warning=warning).out)
            self.assertEqual(told["accuracy"], 1.0, data)
            self.assertEqual([row["label"] for row in told["answers"]],
                             [label for label in ("caf\\xe9", "plain", "two\nlines") for _ in range(count // 3)])
            self.assertEqual([row["class"] for row in told["answers"]], [row["label"] for row in told["answers"]])
        out = self.path("answers.csv")
        self.infer(part, "--out", out, warning="lines of")
        with open(out, encoding="utf-8", newline="") as file:
            self.assertEqual([row["class"] for row in csv.DictReader(file)][-1], "two\nlines")

    def test_networks_and_data_of_the_other_kind_refuse_each_other(self):
        train = ["train", "--device", "cpu", "--steps", "1"]
        self.assert_refused([*train, "--model", "char_cnn", "--data", "mnist"],
                            "MNIST holds images, but char_cnn takes texts")
        self.assert_refused([*train, "--model", "mlp", "--data", "sentences"],
                            "built-in sentences holds texts, but mlp takes images of 28x28x1")

    def test_a_picture_is_no_text(self):
        self.train(self.network(), "--data", "sentences", "--steps", "1")
        for name in ("picture.png", "PNG in disguise.txt"):
            picture = self.write(name, b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
            self.assert_refused(["infer", self.path("run"), picture, "--device", "cpu"],
                                f"{picture} holds images, but letters takes texts")
        table = self.write("rows.jsonl", b"{}")
        self.assert_refused(["infer", self.path("run"), table, "--device", "cpu"],
                            f"{table} is a JSON file, which is not read")

    def test_features_and_classifiers_take_texts(self):
        self.train(self.network(), "--data", "sentences", "--steps", "100", "--lr", "0.01")
        out = self.path("features.csv")
        self.assert_succeeded(self.run_program("features", self.path("run"), "--device", "cpu", "--rows", "40",
                                               "--out", out))
        judged = self.run_program("classify", self.path("run"), "--device", "cpu", "--classifier", "softmax")
        self.assert_succeeded(judged)
        self.assertIn("accuracy", judged.out)


if __name__ == "__main__":
    main()
