"""`warpscope view`: a window on a run that another process trains or has trained."""
import json
import os
import shutil
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, read_run, steps_of, wait_until  # noqa: E402
from window_driver import TEST_CURVE, TRAIN_CURVE, WindowCase, center, pixels_near, read_picture  # noqa: E402

REFUSAL = "cannot be steered from here"


class View(WindowCase):
    def start_training(self, *more, steps=10**7):
        """A training in another process, once it has made a step."""
        self.training = self.start(*self.train_arguments("--run-dir", self.run_dir, *more, batch=2, steps=steps))
        self.wait_for_step(self.training, self.run_dir, 1)

    def window_arguments(self, *more, size="1280x800", data=None, run_dir=None):
        return ["view", run_dir or self.run_dir, *(["--window-size", size] if size else []), *more]

    def shown_step(self):
        return (self.drawn("step") or (0,))[0]

    def viewing(self):
        states = self.events("state")
        return states[-1]["viewing"] if states else ""


class Running(View):
    def test_the_window_follows_a_training_in_another_process(self):
        self.start_training()
        self.open_window()
        self.assertEqual(self.viewing(), "running in another process")
        self.item("view.strip")
        first = wait_until(self.shown_step, "a first step", self.process)
        wait_until(lambda: self.shown_step() >= first + 3, "three more steps", self.process)
        wait_until(lambda: self.drawn("points")[0] >= first + 3, "their points", self.process)
        points = [event["points"] for event in self.events("drawn")]
        self.assertEqual(points, sorted(points))
        self.item("images.now.0")
        curve = lambda: pixels_near(self.grab(), TRAIN_CURVE, 40)  # noqa: E731
        wait_until(lambda: curve() > 50, "the curve", self.process)
        self.assertIsNone(self.training.poll(), "the training goes on")
        self.assertEqual(self.close_window().code, 0)
        steps = max(steps_of(self.run_dir))
        self.wait_for_step(self.training, self.run_dir, steps + 2)

    def test_what_steers_is_disabled_and_refused_with_a_sentence(self):
        self.start_training()
        self.open_window()
        for name in ("toolbar.pause", "toolbar.reset", "kernels.conv2d.forward"):
            self.click(name)
        self.point_away()
        self.assertFalse([name for name in self.layout() if name.startswith("kernels.conv2d.forward=")],
                         "the menu stays closed")
        self.assertEqual(self.events("notice"), [], "disabled buttons do nothing")
        # A command that is sent all the same is refused: this one is, and it is the only one.
        self.key("r")
        self.wait_for_notice(REFUSAL)
        self.assertEqual(len(self.events("notice")), 1)
        shown = self.shown_step()
        wait_until(lambda: self.shown_step() > shown, "it goes on", self.process)
        self.assertEqual(self.state(), "running")

    def test_a_resumed_run_is_followed_and_a_killed_one_is_interrupted(self):
        self.assert_succeeded(self.train("--run-dir", self.run_dir, batch=2, steps=3))
        self.open_window(until="finished")
        self.training = self.start("train", "--resume", self.run_dir, "--steps", "10000000")
        self.wait_for_state("running")
        wait_until(lambda: self.shown_step() >= 6, "the resumed steps", self.process)
        self.training.kill()
        self.wait_for_state("interrupted")
        self.assertIn("interrupted", self.viewing())
        self.assertEqual(self.close_window().code, 0)


class Ended(View):
    def setUp(self):
        super().setUp()
        self.assert_succeeded(self.train("--run-dir", self.run_dir, steps=4))

    def test_a_finished_run_shows_its_final_state(self):
        self.open_window(until="finished")
        self.assertEqual(self.viewing(), "finished")
        wait_until(lambda: self.shown_step() == 4, "the last step", self.process)
        self.item("images.now.0")
        wait_until(lambda: pixels_near(self.grab(), TEST_CURVE, 40) > 10, "the tests", self.process)
        before = read_run(self.run_dir)
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(read_run(self.run_dir), before, "nothing is written")

    def test_a_screenshot_of_a_finished_run_needs_no_hands(self):
        picture = self.path("view.png")
        ended = self.run_program("view", self.run_dir, "--window-size", "1024x640", "--exit-after-steps", "1",
                                 "--screenshot", picture, environment=self.window_environment())
        self.assertEqual(ended.code, 0, ended.err)
        self.assertEqual(read_picture(picture).shape, (640, 1024, 3))

    def test_a_damaged_status_is_told_and_run_json_shown(self):
        with open(os.path.join(self.run_dir, "status.json"), "r+", encoding="utf-8") as file:
            file.truncate(100)
        self.open_window(until="finished")
        self.wait_for_notice("status.json is damaged")
        wait_until(lambda: self.shown_step() == 4, "the last step", self.process)

    def test_without_a_display_it_says_so_and_trains_nothing(self):
        before = sorted(os.listdir(self.run_dir))
        self.assert_one_sentence(self.run_program("view", self.run_dir), 2, "display")
        self.assertEqual(sorted(os.listdir(self.run_dir)), before)

    def test_what_is_no_run_is_refused(self):
        environment = self.window_environment()
        self.assert_one_sentence(self.run_program("view", self.path("none"), environment=environment), 2, "none")
        self.assert_one_sentence(self.run_program("view", self.home, environment=environment), 2, "holds no run")
        self.assert_one_sentence(self.run_program("view", environment=environment), 2, "run is required")


class Inside(View):
    """The inside of a finished run, from a checkpoint of it."""
    PANEL = "network"

    def test_a_finished_run_shows_activations_of_the_checkpoint_that_is_chosen(self):
        self.assert_succeeded(self.run_program(
            "train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "8", "--test-images", "64",
            "--precision", "fp32", "--run-dir", self.run_dir, "--steps", "20"))
        self.assert_succeeded(self.run_program("train", "--resume", self.run_dir, "--steps", "40"))
        before = read_run(self.run_dir)
        self.open_window(until="finished")
        self.click("tabs.Network")
        self.wait_for("the newest checkpoint", step=40)
        self.choose("view.checkpoint", "view.checkpoint=20")
        self.wait_for("the other checkpoint", step=20)
        self.click("tabs.Distributions")
        wait_until(lambda: [event for event in self.events("distributions") if event.get("step") == 20],
                   "its distributions", self.process)
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(read_run(self.run_dir), before, "nothing is written")

    def test_a_checkpoint_of_an_earlier_network_is_grey_and_says_why(self):
        def train(model, folder, steps):
            self.assert_succeeded(self.run_program(
                "train", "--model", model, "--device", "cpu", "--data", "builtin", "--batch", "8",
                "--test-images", "64", "--precision", "fp32", "--run-dir", folder, "--steps", str(steps)))
        earlier = self.path("earlier")
        train("classifier", earlier, 10)
        train("mlp", self.run_dir, 20)
        name = "step-000000010.safetensors"
        shutil.copy(os.path.join(earlier, "checkpoints", name), os.path.join(self.run_dir, "checkpoints", name))
        self.open_window(until="finished")
        self.choose("view.checkpoint", "view.checkpoint=10")
        x, y = center(self.item("view.checkpoint=10"))
        self.point_at(x + 8, y)
        wait_until(lambda: any("of an earlier network, classifier" in event["text"] for event in self.events("tip")),
                   "the reason", self.process)
        self.assertEqual(self.events("notice"), [])

    def test_variants_are_verified_and_timed_here_beside_a_finished_run(self):
        self.assert_succeeded(self.run_program(
            "train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "8", "--test-images", "64",
            "--precision", "fp32", "--run-dir", self.run_dir, "--steps", "20"))
        self.open_window(until="finished")
        for tab, rows in (("Verify", "verify"), ("Bench", "bench")):
            self.click(f"tabs.{tab}")
            self.click(f"{rows}.start")
            wait_until(lambda rows=rows: [event for event in self.events("laboratory") if event[rows] > 0],
                       f"rows of {rows}", self.process)
            self.click(f"{rows}.cancel")
            wait_until(lambda: self.events("laboratory")[-1]["job"] == 0, f"{rows} to end", self.process)
        self.assertEqual(self.close_window().code, 0)

    def test_a_pinned_step_of_a_finished_run_shows_what_was_recorded_though_nothing_can_be_looked_into(self):
        self.assert_succeeded(self.run_program(
            "train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "8", "--test-images", "64",
            "--precision", "fp32", "--run-dir", self.run_dir, "--steps", "40"))
        shutil.rmtree(os.path.join(self.run_dir, "checkpoints"))
        self.open_window(until="finished")
        wait_until(lambda: self.shown_step() == 40, "the last step", self.process)
        self.click("tabs.Distributions")
        wait_until(lambda: [event for event in self.events("distributions") if event.get("step") == 40],
                   "distributions of the end", self.process)
        self.click("tabs.Network")
        self.assertEqual(self.events("network"), [])
        place = self.item("loss.plot")
        self.point_at(place.x + place.w // 2, place.y + place.h // 2)
        self.press()
        self.press(False)
        self.point_away()
        self.wait_for("activations next to it", step=40)
        self.item("step.network")

    def test_a_run_without_a_checkpoint_says_that_nothing_can_be_looked_into(self):
        self.assert_succeeded(self.train("--run-dir", self.run_dir, steps=4))
        shutil.rmtree(os.path.join(self.run_dir, "checkpoints"))
        self.open_window(until="finished")
        self.click("tabs.Network")
        self.item("view.checkpoint")
        self.assertEqual(self.events("network"), [])
        wait_until(lambda: self.shown_step() == 4, "the last step", self.process)


class Predictions(View):
    """A view of a network that classifies: the images it gets most wrong."""
    IMAGES, KNOWN, STORED = 300, 256, 2

    def mlp(self, *more):
        return ["train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "8", "--test-images",
                str(self.IMAGES), "--run-dir", self.run_dir, *more]

    def newest(self):
        events = self.events("predictions")
        return events[-1] if events else None

    def test_a_finished_run_shows_its_worst_predictions(self):
        self.assert_succeeded(self.run_program(*self.mlp("--steps", "30")))
        self.open_window(until="finished")
        shown = wait_until(self.newest, "the predictions", self.process)
        self.assertEqual((shown["step"], shown["count"], shown["evaluated"]), (30, self.KNOWN, self.IMAGES))
        self.assertNotEqual(shown["first_truth"], shown["first_predicted"])
        with open(os.path.join(self.run_dir, "images", "predictions.json"), encoding="utf-8") as file:
            images = json.load(file)["images"]
        worst = max(images, key=lambda image: image["loss"])
        self.assertEqual(shown["first"], worst["position"])
        self.item("predictions.cell.1")
        self.choose("predictions.order", "predictions.order=stored order")
        wait_until(lambda: self.newest()["order"] == self.STORED, "the stored order", self.process)
        self.assertEqual(self.newest()["first"], images[0]["position"])

    def test_a_training_in_another_process_brings_newer_predictions(self):
        self.training = self.start(*self.mlp("--steps", "1000000"))
        self.wait_for_step(self.training, self.run_dir, 1)
        self.open_window()
        self.point_away()  # what the pointer is on stays
        first = wait_until(self.newest, "the first predictions", self.process)
        wait_until(lambda: self.newest()["step"] > first["step"], "newer predictions", self.process)
        self.assertEqual(self.newest()["evaluated"], self.IMAGES)

    def test_without_predictions_it_says_so(self):
        self.assert_succeeded(self.run_program(*self.mlp("--steps", "30")))
        for kept in ("images", "checkpoints"):  # from which they would be shown, and made again
            shutil.rmtree(os.path.join(self.run_dir, kept))
        self.open_window(until="finished")
        self.click("images.Confusion")
        self.item("confusion.0.0")
        self.click("images.Predictions")
        self.item("images.empty")
        self.assertIsNone(self.newest())


if __name__ == "__main__":
    main()
