"""warpscope map: test images as points in the plane."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402


class Maps(ProgramCase):
    def arguments(self, *more):
        file = self.path("weights.safetensors")
        if not os.path.exists(file):
            self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin",
                                                   "--steps", "2", "--save", file))
        return ["map", file, "--device", "cpu", "--precision", "fp32", "--data", "builtin", "--rows", "120", *more]

    def places(self, *more):
        """The labels and places of a map that is written as CSV."""
        out = self.path("map.csv")
        ended = self.run_program(*self.arguments("--out", out, *more))
        self.assert_succeeded(ended)
        with open(out, encoding="utf-8") as file:
            names, *lines = file.read().split()
        self.assertEqual(names, "label,f0,f1")
        return [tuple(map(float, line.split(","))) for line in lines], ended.out

    def test_a_map_has_a_place_for_each_image_and_is_the_same_again(self):
        for method, words in (("tsne", "t-SNE, 1,000 iterations"), ("umap", "UMAP, 500 iterations")):
            first, out = self.places("--method", method)
            self.assertIn(words, out)
            self.assertEqual(len(first), 120)
            self.assertGreater(len({place[1:] for place in first}), 100)
            self.assertEqual(self.places("--method", method)[0], first)

    def test_a_map_that_cannot_be_is_refused_in_a_sentence(self):
        out = self.path("map.npy")
        for options, words in ((["--method", "isomap"], 'there is no map "isomap"; there are tsne, umap'),
                               (["--perplexity", "119"], "a perplexity of 119 is not between 1 and 119"),
                               (["--method", "umap", "--neighbours", "1"], "UMAP takes 2 to 1025 neighbours")):
            self.assert_refused(self.arguments("--out", out, *options), words)
        self.assertFalse(os.path.exists(out))


if __name__ == "__main__":
    main()
