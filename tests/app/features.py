"""warpscope features: what a trained network makes of images, as files."""
import json
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402

try:
    import numpy
except ImportError:
    numpy = None


class Features(ProgramCase):
    def setUp(self):
        if numpy is None:
            self.skipTest("NumPy is missing")
        super().setUp()

    def weights(self):
        """Weights of a digits network after two steps: images of 28 x 28, so that features are made in a moment."""
        file = self.path("weights.safetensors")
        if not os.path.exists(file):
            self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin",
                                                   "--steps", "2", "--save", file))
        return file

    def arguments(self, *more):
        return ["features", self.weights(), "--device", "cpu", "--precision", "fp32", "--data", "builtin", *more]

    def features(self, *more):
        return self.run_program(*self.arguments(*more))

    def test_features_are_what_the_first_layer_makes_of_the_images(self):
        out = self.path("relu1.npy")
        ended = self.features("--layer", "relu1", "--split", "test", "--out", out)
        self.assert_succeeded(ended)
        found, labels = numpy.load(out), numpy.load(self.path("relu1.labels.npy"))
        self.assertEqual(found.shape, (len(labels), 128))
        self.assertIn(f"features     {len(labels):,} rows of 128 columns, relu1 of mlp", ended.out)
        self.assertGreater(len(set(labels.tolist())), 5)
        # The output of a ReLU: the same from the output before it.
        before = self.path("fc1.npy")
        self.assert_succeeded(self.features("--layer", "fc1", "--split", "test", "--out", before))
        numpy.testing.assert_allclose(found, numpy.maximum(numpy.load(before), 0), atol=1e-6)
        self.assertGreater(numpy.load(before).std(axis=0).max(), 0)

    def test_all_images_are_those_of_training_and_then_of_test(self):
        sizes = {}
        for split in ("train", "test", "all"):
            out = self.path(f"{split}.npy")
            self.assert_succeeded(self.features("--layer", "fc2", "--split", split, "--out", out))
            sizes[split] = numpy.load(out)
        numpy.testing.assert_array_equal(numpy.concatenate([sizes["train"], sizes["test"]]), sizes["all"])

    def test_the_first_rows_of_each_part_are_written_alone(self):
        few, all_of_them = self.path("few.npy"), self.path("all.npy")
        self.assert_succeeded(self.features("--layer", "fc2", "--rows", "7", "--out", few))
        self.assert_succeeded(self.features("--layer", "fc2", "--split", "train", "--out", all_of_them))
        found = numpy.load(few)
        self.assertEqual(found.shape, (14, 128))
        numpy.testing.assert_allclose(found[:7], numpy.load(all_of_them)[:7], atol=1e-5)  # batches of other sizes

    def test_safetensors_hold_the_same(self):
        first, second = self.path("a.npy"), self.path("a.safetensors")
        self.assert_succeeded(self.features("--layer", "fc2", "--split", "test", "--out", first))
        self.assert_succeeded(self.features("--layer", "fc2", "--split", "test", "--out", second))
        with open(second, "rb") as file:
            head = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
            data = file.read()
        begin, end = head["features"]["data_offsets"]
        numpy.testing.assert_array_equal(numpy.frombuffer(data[begin:end], "<f4"), numpy.load(first).ravel())

    def test_features_that_cannot_be_are_refused_in_a_sentence(self):
        out = self.path("x.npy")
        for options, words in ((["--layer", "pool7", "--out", out],
                                "has no layer 'pool7'; its layers: fc1, relu1, fc2"),
                               (["--out", self.path("x.pdf")], "there is no format 'pdf' of features"),
                               (["--out", self.path("x")], "tells no format; end it in .npy, .csv"),
                               (["--split", "half", "--out", out], "--split: there is no part 'half'"),
                               (["--model", "autoencoder", "--out", out], "holds weights of mlp, not of autoencoder")):
            self.assert_refused(self.arguments(*options), words)
        self.assert_refused(["features", self.path("nothing"), "--out", out],
                            "is neither the folder of a run nor a safetensors file of weights")


if __name__ == "__main__":
    main()
