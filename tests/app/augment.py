"""--flip, --crop, --cutout, --jitter and --mixup: training images change at random, the same way in a resumed run."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, losses_of, main, read_run  # noqa: E402

ALL = ("--flip", "--crop", "4", "--cutout", "8", "--jitter", "0.3", "--mixup", "0.4")


class Augment(ProgramCase):
    def train(self, *more, steps=6):
        ended = self.run_program("train", "--device", "cpu", "--precision", "fp32", "--model", "mlp",
                                 "--data", "builtin", "--batch", "8", "--test-images", "16", "--steps", str(steps),
                                 *more)
        self.assert_succeeded(ended)
        return ended

    def test_a_resumed_run_draws_the_same_images(self):
        straight, again, run = self.path("straight.safetensors"), self.path("again.safetensors"), self.path("run")
        self.train("--save", straight, *ALL)
        self.train("--run-dir", run, *ALL, steps=3)
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "6", "--save", again))
        with open(straight, "rb") as one, open(again, "rb") as other:
            self.assertEqual(one.read(), other.read())
        now = read_run(run)["current"]
        self.assertEqual([now[key] for key in ("flip", "crop", "cutout", "jitter", "mixup")], [True, 4, 8, 0.3, 0.4])

    def test_each_augmentation_changes_the_training(self):
        plain = self.path("plain")
        self.train("--run-dir", plain, steps=2)
        for number, option in enumerate((["--flip"], ["--crop", "2"], ["--cutout", "8"], ["--jitter", "0.5"],
                                         ["--mixup", "1"])):
            run = self.path(f"run{number}")
            self.train("--run-dir", run, *option, steps=2)
            self.assertNotEqual(losses_of(run), losses_of(plain), option)

    def test_a_resumed_run_may_go_on_with_other_augmentations(self):
        run = self.path("run")
        self.train("--run-dir", run, "--mixup", "1", steps=2)
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "4", "--mixup", "0", "--flip"))
        self.assertEqual((read_run(run)["current"]["mixup"], read_run(run)["current"]["flip"]), (0, True))
        self.assertEqual(len(losses_of(run)), 4)

    def test_augmentations_that_cannot_be_are_refused(self):
        self.assert_refused(["train", "--crop", "17"], "--crop", "16")
        self.assert_refused(["train", "--jitter", "-0.1"], "--jitter")
        ended = self.run_program("train", "--device", "cpu", "--data", "builtin", "--update", "per_sample",
                                 "--mixup", "0.2")
        self.assert_one_sentence(ended, 2, "mixup", "per_sample")


if __name__ == "__main__":
    main()
