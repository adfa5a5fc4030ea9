"""Runs remember their data: where they were, byte for byte, and what they held."""
import os
import random
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, read_run  # noqa: E402


def make_digits(folder, seed):
    """A set of one's own in IDX files: as many images and labels for every seed."""
    os.makedirs(folder)
    dice = random.Random(seed)
    for name, count in (("train", 24), ("t10k", 8)):
        with open(os.path.join(os.fsencode(folder), f"{name}-images-idx3-ubyte".encode()), "wb") as file:
            file.write(struct.pack(">4i", 0x803, count, 28, 28) + dice.randbytes(count * 28 * 28))
        with open(os.path.join(os.fsencode(folder), f"{name}-labels-idx1-ubyte".encode()), "wb") as file:
            file.write(struct.pack(">2i", 0x801, count) + bytes(n % 10 for n in range(count)))


class MovedData(ProgramCase):
    def setUp(self):
        super().setUp()
        make_digits(self.path("x", "d"), 1)
        make_digits(self.path("y", "d"), 2)

    def begin(self, run, data="d", cwd="x"):
        self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", data,
                                               "--batch", "8", "--steps", "1", "--run-dir", run, cwd=self.path(cwd)))

    def go_on(self, run, steps, *more, cwd=""):
        return self.run_program("train", "--resume", run, "--steps", str(steps), *more, cwd=self.path(cwd))

    def source(self, run):
        return read_run(run)["current"]["data_source"]

    def test_a_run_goes_on_with_its_own_data_wherever_it_is_resumed(self):
        run = self.path("run")
        self.begin(run)
        self.assertEqual(read_run(run)["configuration"]["data_source"], self.path("x", "d"))
        self.assert_succeeded(self.go_on(run, 2, cwd="y"))
        self.assertEqual(self.source(run), self.path("x", "d"))
        answers = [self.run_program("infer", run, "--device", "cpu", "--out", "-", *more, cwd=self.path("y"))
                   for more in ([], ["--data", os.path.join(os.pardir, "x", "d")], ["--data", "d"])]
        for answer in answers:
            self.assert_succeeded(answer)
        self.assertEqual(answers[0].out, answers[1].out)
        self.assertNotEqual(answers[0].out, answers[2].out, "those of y/d")

    def test_moved_data_are_named_and_others_in_their_place_are_refused(self):
        run = self.path("run")
        self.begin(run)
        os.rename(self.path("x", "d"), self.path("x", "moved"))
        gone = f"the data of the run were in {self.path('x', 'd')}, which is not there any more"
        self.assert_one_sentence(self.go_on(run, 2), 2, gone, "--data FOLDER names where they are now")
        self.assert_one_sentence(self.run_program("infer", run, "--device", "cpu"), 2, gone)
        other = "holds other images than those that the run was trained on"
        self.assert_one_sentence(self.go_on(run, 2, "--data", self.path("y", "d")), 2, self.path("y", "d"), other)
        self.assert_succeeded(self.go_on(run, 2, "--data", "moved", cwd="x"))
        self.assertEqual(self.source(run), self.path("x", "moved"))
        os.rename(self.path("y", "d"), self.path("x", "d"))
        os.rename(self.path("x", "moved"), self.path("gone"))
        os.rename(self.path("x", "d"), self.path("x", "moved"))
        self.assert_one_sentence(self.go_on(run, 3), 2, self.path("x", "moved"), other)
        self.assertEqual(read_run(run)["steps"], 2)
        self.assert_succeeded(self.run_program("infer", run, "--device", "cpu"), other)
        os.rename(self.path("x", "moved"), self.path("x", "d"))
        fresh = self.run_program("train", "--config", os.path.join(run, "run.json"), "--steps", "1")
        self.assert_succeeded(fresh)
        self.assertIn(other, fresh.out)

    def test_a_run_that_moves_with_its_data_finds_them(self):
        self.begin(self.path("x", "run"))
        os.rename(self.path("x"), self.path("z"))
        self.assert_succeeded(self.go_on(self.path("z", "run"), 2))
        self.assertEqual(self.source(self.path("z", "run")), self.path("z", "d"))

    def test_paths_keep_bytes_that_are_no_utf8(self):
        name = os.fsdecode(b"lat\xe9n")
        os.rename(self.path("x"), self.path(name))
        run = self.path("run")
        self.begin(run, cwd=name)
        self.assertEqual(read_run(run)["configuration"]["data_source_bytes"].split("/")[-2:], ["lat%E9n", "d"])
        self.assert_succeeded(self.go_on(run, 2))
        self.assert_succeeded(self.run_program("infer", run, "--device", "cpu"))
        self.assert_succeeded(self.run_program("train", "--config", os.path.join(run, "run.json"), "--steps", "1"))
        printed = self.run_program("config", "--data", self.path(name, "d"))
        self.assert_succeeded(printed)
        with open(self.path("settings.toml"), "w", encoding="utf-8") as file:
            file.write(printed.out)
        self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--config",
                                               self.path("settings.toml"), "--steps", "1", "--batch", "8"))

    def test_a_run_goes_on_without_the_weights_that_it_began_with(self):
        run, weights = self.path("run"), self.path("x", "w.safetensors")
        train = ("train", "--model", "mlp", "--device", "cpu", "--data", "d", "--batch", "8", "--steps", "1")
        self.assert_succeeded(self.run_program(*train, "--save", weights, cwd=self.path("x")))
        self.assert_succeeded(self.run_program(*train, "--init", "w.safetensors", "--run-dir", run, cwd=self.path("x")))
        self.assertEqual(read_run(run)["configuration"]["init"], weights)
        self.assert_succeeded(self.go_on(run, 2))
        self.assert_succeeded(self.run_program(*train, "--save", weights, "--seed", "5", cwd=self.path("x")))
        self.assert_succeeded(self.go_on(run, 3), "holds other weights than those that the run began with")
        os.remove(weights)
        self.assert_succeeded(self.go_on(run, 4), "a reset would begin with weights from the seed")
        self.assertEqual(read_run(run)["steps"], 4)


if __name__ == "__main__":
    main()
