"""warpscope classify: what the features of a trained network are worth."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402


class Classify(ProgramCase):
    def weights(self):
        file = self.path("weights.safetensors")
        if not os.path.exists(file):
            self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--steps",
                                                   "40", "--save", file))
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
        weak, strong = (self.judged("--classifier", "linear", "--training-accuracy", "-C", c)[0] for c in ("1e-7", "1e-3"))
        self.assertEqual((weak["C"], strong["C"]), (1e-7, 1e-3))
        self.assertGreater(strong["training_accuracy"], weak["training_accuracy"])

    def test_a_training_is_judged_at_its_end(self):
        ended = self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--steps", "40", "--seed", "3",
                                 "--save", self.path("after.safetensors"), "--then", "softmax")
        self.assertEqual(ended.code, 0, ended.err)
        accuracy = next(line for line in ended.out.splitlines() if line.startswith("accuracy"))
        again = self.run_program("classify", self.path("after.safetensors"), "--device", "cpu", "--precision", "fp32", "--data",
                                 "builtin", "--classifier", "softmax")
        self.assertIn(accuracy, again.out)
        self.assert_refused(["train", "--model", "mlp", "--data", "builtin", "--steps", "1", "--then", "tree"],
                            "there is no classifier 'tree'")

    def test_json_alone_goes_to_standard_output(self):
        ended = self.run_program(*self.arguments("--layer", "relu2", "--classifier", "linear", "--json", "-"))
        self.assertEqual(json.loads(ended.out)["classifier"], "linear")

    def test_a_judgement_that_cannot_be_is_refused_in_a_sentence(self):
        for options, words in ((["--classifier", "tree"], "there is no classifier 'tree'; valid: rbf, linear, hinge, softmax, head, nearest"),
                               (["--layer", "fc3", "--classifier", "nearest", "--neighbours", "65"],
                                "there are 1 to 64 nearest neighbours, not 65"),
                               (["--layer", "pool9"], "has no layer 'pool9'"),
                               (["-C", "0"], "C"),
                               (["--layer", "fc3", "--gamma", "wide"], "gamma is scale, auto or a number above 0, not 'wide'")):
            self.assert_refused(self.arguments(*options), words)


if __name__ == "__main__":
    main()
