"""The start page: a training is set up and begun in the window, folders are looked at, a challenge is begun."""
import glob
import os
import shutil
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from selection import Clipboard  # noqa: E402
from warpscope_program import main, read_run, steps_of, wait_until  # noqa: E402
from window_driver import WindowCase, center  # noqa: E402

try:
    from PIL import Image
except ImportError:
    Image = None  # the cases skip themselves


class Start(WindowCase):
    def open_page(self):
        self.key("ctrl+n")
        self.item("start.start")

    def copied(self):
        before = len(self.events("copied"))
        self.click("start.copy")
        wait_until(lambda: len(self.events("copied")) > before, "the command line", self.process)
        return self.events("copied")[-1]["text"]

    def test_another_training_is_set_up_and_takes_the_place_of_the_present_one(self):
        self.open_paused(size="1400x900")
        self.open_page()
        self.assertEqual(self.copied(), "warpscope")
        self.choose("start.network", "start.network.mlp")
        self.choose("start.device", "start.device.cpu")
        self.assertEqual(self.copied(), "warpscope --model mlp --device cpu")
        self.click("start.start")
        wait_until(lambda: [event for event in self.events("opening") if event["text"] == "a new training"],
                   "it to be read", self.process)
        wait_until(lambda: glob.glob(self.path("home", "data", "warpscope", "runs", "*_mlp_*")), "it to be recorded",
                   self.process)
        self.assertEqual(read_run(self.run_dir)["status"], "finished")
        self.process.terminate()
        self.assert_succeeded(self.finish(self.process))

    def test_a_dropped_folder_of_data_and_a_run_open_the_page(self):
        self.open_paused(size="1024x640")
        data = self.small_data()
        self.clipboard = Clipboard(self.display, f"{data}\n")
        self.key("ctrl+v")
        self.item("start.held")
        self.assertIn(f"--data {data}", self.copied())
        self.clipboard = Clipboard(self.display, f"{self.run_dir}\n")
        self.key("ctrl+v")
        wait_until(lambda: f"--init {self.run_dir}" in self.copied(), "the weights of the run", self.process)
        for name in ("start.device", "start.copy", "start.start", "start.back"):
            places = [event for event in self.events("layout") if event["name"] == name]
            self.assertEqual(len(places), 1, f"{name} moves away from a click")
        self.key("Escape")
        self.assert_succeeded(self.close_window())

    def test_a_folder_of_pictures_that_is_dropped_on_the_page_shows_its_classes(self):
        self.open_paused(size="1400x900")
        self.open_page()
        folder = self.path("my pictures, 100% größer #1")
        for number, name in enumerate(("blue sky", "crêpe")):
            os.makedirs(os.path.join(folder, name))
            for shade in range(8):
                Image.new("RGB", (32, 32), (32 * shade, 200 * number, 90)).save(
                    os.path.join(folder, name, f"{shade}.png"))
        self.drop_files(folder)
        wait_until(lambda: any("classes: blue sky, crêpe" in event["classes"] for event in self.events("held")),
                   "its classes", self.process)
        self.item("start.samples")
        self.assertIn(f"--data '{folder}'", self.copied())
        self.assert_succeeded(self.close_window())

    def test_runs_and_weights_that_are_dropped_while_a_training_runs_open_the_page_and_it_runs_on(self):
        run, weights = self.path("an earlier run"), self.path("gewichte, 50%.safetensors")
        self.assert_succeeded(self.train("--run-dir", run, "--save", weights))
        self.open_window(size="1400x900")
        self.wait_for_step(self.process, self.run_dir, 1)
        for path in (run, weights):
            self.drop_files(path)
            self.item("start.held")
            wait_until(lambda dropped=path: f"--init '{dropped}'" in self.copied(), f"the weights of {path}",
                       self.process)
        self.wait_for_step(self.process, self.run_dir, max(steps_of(self.run_dir)) + 2)
        self.assertEqual(self.state(), "running")
        self.assertEqual(self.close_window().code, 0)

    def test_what_is_dropped_and_cannot_be_opened_is_told_and_changes_nothing(self):
        self.open_paused(size="1400x900")
        self.open_page()
        before = self.copied()
        self.drop_files(self.path("nothing here"))
        self.item("start.error")
        self.assertEqual(self.copied(), before)
        self.assert_succeeded(self.close_window())

    def test_a_double_click_on_a_recent_training_goes_on_with_it(self):
        self.open_paused()
        self.assert_succeeded(self.close_window())
        recorded = self.path("home", "data", "warpscope", "runs", "earlier")
        shutil.copytree(self.run_dir, recorded)
        self.run_dir = self.path("other")
        self.open_paused(size="1400x900")
        self.open_page()
        card = self.item("start.recent.1")  # the first is this window's own
        x, y = center(card)
        self.point_at(x, y)

        def opened():
            return [event for event in self.events("opening") if "step" in event["text"]]

        def opens():
            """After a double click, unless frames took so long that it came as one."""
            if not opened():
                self.xdotool("click", "--repeat", "2", "--delay", "60", "1")
            for step in range(20):  # frames that answer it
                self.point_at(x + step % 2, y)
                if opened():
                    return True
                time.sleep(0.1)
            return False
        wait_until(opens, "it to be read", self.process)
        wait_until(lambda: read_run(recorded).get("resumed"), "it to go on", self.process)
        self.process.terminate()
        self.assert_succeeded(self.finish(self.process))

    def test_a_challenge_shows_its_goal_and_how_far_it_is(self):
        self.open_paused(size="1400x900")
        self.open_page()
        self.click("start.challenge.faster")
        self.item("challenge.text")
        wait_until(lambda: any("times as fast" in event["text"] for event in self.events("challenge")),
                   "the speed to be told", self.process)
        self.click("challenge.end")
        self.assert_succeeded(self.close_window())


if __name__ == "__main__":
    main()
