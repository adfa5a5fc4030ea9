"""warpscope classify: what the features of a trained network are worth."""
import json
import os
import random
import re
import resource
import signal
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, wait_until  # noqa: E402


class Classify(ProgramCase):
    def weights(self):
        file = self.path("weights.safetensors")
        if not os.path.exists(file):
            self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin",
                                                   "--steps", "40", "--save", file))
        return file

    def arguments(self, *more):
        return ["classify", self.weights(), "--device", "cpu", "--precision", "fp32", "--data", "builtin", *more]

    def judged(self, *more):
        out = self.path("result.json")
        ended = self.run_program(*self.arguments("--layer", "relu1", "--json", out, *more))
        self.assertEqual(ended.code, 0, ended.err)
        with open(out, encoding="utf-8") as file:
            return json.load(file), ended

    def test_digits_are_told_apart_by_what_a_layer_makes_of_them(self):
        result, ended = self.judged("--classifier", "softmax", "--training-accuracy")
        self.assertGreater(result["accuracy"], 0.7)
        self.assertGreater(result["training_accuracy"], result["accuracy"] - 0.05)
        self.assertTrue(result["converged"])
        self.assertEqual(result["columns"], 128)
        rows = sum(sum(row) for row in result["confusion"])
        right = sum(result["confusion"][k][k] for k in range(10))
        self.assertEqual(rows, result["test_rows"])
        self.assertAlmostEqual(right / rows, result["accuracy"])
        self.assertIn("accuracy     %.2f %%" % (100 * result["accuracy"]), ended.out)

    def test_more_weight_on_errors_fits_the_training_rows_better(self):
        weak, strong = (self.judged("--classifier", "linear", "--training-accuracy", "-C", c)[0]
                        for c in ("1e-7", "1e-3"))
        self.assertEqual((weak["C"], strong["C"]), (1e-7, 1e-3))
        self.assertGreater(strong["training_accuracy"], weak["training_accuracy"])

    def test_a_training_is_judged_at_its_end(self):
        ended = self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--steps", "40",
                                 "--seed", "3", "--save", self.path("after.safetensors"), "--then", "softmax")
        self.assertEqual(ended.code, 0, ended.err)
        accuracy = next(line for line in ended.out.splitlines() if line.startswith("accuracy"))
        again = self.run_program("classify", self.path("after.safetensors"), "--device", "cpu", "--precision", "fp32",
                                 "--data", "builtin", "--classifier", "softmax")
        self.assertIn(accuracy, again.out)
        seconds = self.phases(ended.out, r"seconds +([0-9.]+) in all: (.+)")
        self.assertEqual(list(seconds)[:4], ["all", "beginning", "device", "data"])
        self.assertLessEqual({"network", "training", "evaluation", "ending"}, set(seconds))
        judged = self.phases(ended.out, r"judged in +([0-9.]+), the ending beside it: (.+)")
        self.assertEqual(list(judged), ["all", "features", "standardization", "checking", "solving", "prediction"])
        for times in (seconds, judged):
            self.assertGreater(times["all"] + 0.02, sum(times.values()) - times["all"])
        self.assert_refused(["train", "--model", "mlp", "--data", "builtin", "--steps", "1", "--then", "tree"],
                            "there is no classifier 'tree'")

    def phases(self, out, pattern):
        """Seconds of a line by phase, "all" first."""
        found = re.search(pattern, out)
        self.assertTrue(found, out)
        parts = (each.rsplit(" ", 1) for each in found[2].split(", "))
        return {"all": float(found[1]), **{name: float(seconds) for name, seconds in parts}}

    def interrupt(self, process, later):
        """Interrupts the program when it listens to interrupts and has computed for another `later` seconds. Returns
        how it ended, and for how many seconds its processors went on after that."""
        def listens():
            with open(f"/proc/{process.pid}/status", encoding="utf-8") as file:
                caught = next(int(line.split()[1], 16) for line in file if line.startswith("SigCgt"))
            return caught >> (signal.SIGINT - 1) & 1
        def computed():
            with open(f"/proc/{process.pid}/stat", encoding="utf-8") as file:
                return sum(map(int, file.read().rpartition(")")[2].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        others = resource.getrusage(resource.RUSAGE_CHILDREN)
        wait_until(lambda: process.poll() is not None or listens(), "interrupts are caught")
        begin = 0.0 if process.poll() is not None else computed()
        wait_until(lambda: process.poll() is not None or computed() >= begin + later, "some computing")
        before = begin if process.poll() is not None else computed()
        process.send_signal(signal.SIGINT)
        ended = self.finish(process)
        all_of_it = resource.getrusage(resource.RUSAGE_CHILDREN)
        return ended, all_of_it.ru_utime + all_of_it.ru_stime - others.ru_utime - others.ru_stime - before

    def test_an_interrupt_ends_a_judgement_at_any_moment(self):
        out = self.path("result.json")
        for classifier, more in (("head", ["--epochs", "10000"]),
                                 ("rbf", ["--tolerance", "1e-9", "-C", "1e5", "--gamma", "10"]),
                                 ("softmax", ["-C", "1e5", "--tolerance", "1e-12"]), ("nearest", [])):
            for later in (0, 0.4):
                with self.subTest(classifier=classifier, later=later):
                    process = self.start(*self.arguments("--layer", "fc1", "--classifier", classifier, "--json", out,
                                                         *more))
                    ended, seconds = self.interrupt(process, later)
                    if ended.code == 0:  # it was done before
                        os.remove(out)
                        continue
                    self.assertEqual((ended.code, ended.out), (1, ""))
                    self.assertIn("warpscope: interrupted; nothing was judged", ended.err)
                    self.assertFalse(os.path.exists(out))
                    self.assertLess(seconds, 10)

    def test_an_interrupt_ends_features_and_maps_without_a_file(self):
        for command in (["features", "--layer", "fc1"], ["map", "--rows", "1000"]):
            out = self.path("out.npy")
            process = self.start(command[0], *self.arguments(*command[1:], "--out", out)[1:])
            ended, _ = self.interrupt(process, 0)
            if ended.code == 0:  # it was done before
                os.remove(out)
                continue
            self.assertEqual((ended.code, ended.out), (1, ""))
            self.assertIn("warpscope: interrupted; nothing was written", ended.err)
            self.assertFalse(os.path.exists(out))

    def test_weights_that_are_no_numbers_are_refused_in_a_sentence(self):
        with open(self.weights(), "rb") as file:
            data = bytearray(file.read())
        head_bytes = struct.unpack("<Q", data[:8])[0]
        place = 8 + head_bytes + json.loads(data[8:8 + head_bytes])["fc1.bias"]["data_offsets"][0]
        data[place:place + 4] = struct.pack("<f", float("nan"))
        broken = self.path("broken.safetensors")
        with open(broken, "wb") as file:
            file.write(data)
        for classifier in ("rbf", "linear", "hinge", "softmax", "head", "nearest"):
            with self.subTest(classifier=classifier):
                ended = self.run_program("classify", broken, "--device", "cpu", "--data", "builtin", "--layer", "fc1",
                                         "--classifier", classifier)
                self.assertEqual(ended.code, 2)
                self.assertEqual(ended.err, "warpscope: the weights hold NaN in fc1.bias: "
                                 "the training rows hold NaN in row 0, column 0 (both counted from 0)\n")

    def difficult_pictures(self):
        """IDX files of 28x28: each training image twice, none of class 3, the lower half always black."""
        folder, dice = self.path("difficult"), random.Random(3)
        os.makedirs(folder)
        classes = (0, 1, 2, 4)
        centres = {label: dice.randbytes(392) for label in classes}
        for part, count in (("train", 120), ("test", 40)):
            labels = [classes[i // 2 % 4] for i in range(count)]
            images, before = b"", b""
            for i, label in enumerate(labels):
                if i % 2 == 0:
                    before = bytes(max(0, min(255, grey + dice.randrange(-60, 61)))
                                   for grey in centres[label]) + bytes(392)
                images += before
            with open(os.path.join(folder, f"{part}-images-idx3-ubyte"), "wb") as file:
                file.write(struct.pack(">IIII", 0x803, count, 28, 28) + images)
            with open(os.path.join(folder, f"{part}-labels-idx1-ubyte"), "wb") as file:
                file.write(struct.pack(">II", 0x801, count) + bytes(labels))
        return folder

    def test_duplicates_an_empty_class_and_any_c_and_gamma_end_and_say_whether_they_converged(self):
        folder, out = self.difficult_pictures(), self.path("result.json")
        options = [["rbf", "-C", c] for c in ("1e-3", "1e5")] + [["rbf", "--gamma", gamma] for gamma in ("1e-6", "10")]
        options += [[name, "-C", c] for name in ("linear", "hinge", "softmax") for c in ("1e-3", "1e5")] + [["nearest"]]
        for each in options:
            for more in ([], ["--no-standardize"]):
                with self.subTest(options=each + more):
                    ended = self.run_program("classify", self.weights(), "--device", "cpu", "--precision", "fp32",
                                             "--data", f"idx:{folder}", "--layer", "relu1", "--json", out,
                                             "--classifier", *each, *more)
                    with open(out, encoding="utf-8") as file:
                        result = json.load(file)
                    self.assertEqual(ended.code, 0 if result["converged"] else 1, ended.err)
                    self.assertTrue(result["converged"] or "before the tolerance" in ended.err, ended.err)
                    if result["tolerance"] > 0:
                        self.assertEqual(result["converged"], result["reached"] <= result["tolerance"])
                    if each[0] != "nearest":
                        self.assertIn("class 3 has no rows", ended.err)
                    self.assertEqual([row[3] for row in result["confusion"]], [0] * len(result["confusion"]))
                    if "1e-6" not in each and "10" not in each and "1e-3" not in each:
                        self.assertGreaterEqual(result["accuracy"], 0.9)  # the classes lie far apart

    def test_json_alone_goes_to_standard_output(self):
        ended = self.run_program(*self.arguments("--layer", "relu2", "--classifier", "linear", "--json", "-"))
        self.assertEqual(json.loads(ended.out)["classifier"], "linear")

    def test_a_judgement_that_cannot_be_is_refused_in_a_sentence(self):
        for options, words in ((["--classifier", "tree"],
                                "there is no classifier 'tree'; valid: rbf, linear, hinge, softmax, head, nearest"),
                               (["--layer", "fc3", "--classifier", "nearest", "--neighbours", "65"],
                                "there are 1 to 64 nearest neighbours, not 65"),
                               (["--layer", "pool9"], "has no layer 'pool9'"),
                               (["-C", "0"], "'0' is not a number above 0"),
                               (["-C", "inf"], "'inf' is not a number above 0"),
                               (["--layer", "fc3", "--gamma", "wide"],
                                "gamma is scale, auto or a number above 0, not 'wide'")):
            self.assert_refused(self.arguments(*options), words)


if __name__ == "__main__":
    main()
