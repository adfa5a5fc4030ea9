"""The start page: folders and runs are looked at, a challenge is begun."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from clipboard import Clipboard  # noqa: E402
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Start(WindowCase):
    def open_page(self):
        self.key("ctrl+n")
        self.item("start.start")

    def copied(self):
        """The command line; what is looked at meanwhile may move the button away from a click."""
        before = len(self.events("copied"))

        def is_copied():
            self.click("start.copy")
            return len(self.events("copied")) > before
        wait_until(is_copied, "the command line", self.process)
        return self.events("copied")[-1]["text"]

    def test_a_dropped_folder_of_data_and_a_run_open_the_page(self):
        self.open_paused(size="1400x900")
        data = self.small_data()
        self.clipboard = Clipboard(self.display, f"{data}\n")
        self.key("ctrl+v")
        self.item("start.held")
        self.assertIn(f"--data {data}", self.copied())
        self.clipboard = Clipboard(self.display, f"{self.run_dir}\n")
        self.key("ctrl+v")
        wait_until(lambda: f"--init {self.run_dir}" in self.copied(), "the weights of the run", self.process)
        self.key("Escape")
        self.assert_succeeded(self.close_window())

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
