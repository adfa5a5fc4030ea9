"""The tour of the window, and the log's lines."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Tour(WindowCase):
    def stop(self):
        stops = self.events("tour")
        return stops[-1]["stop"] if stops else ""

    def take_tour(self):
        self.do_by_palette("take the tour", "Take the tour")
        wait_until(lambda: self.stop() == "Start, pause, step", "the first stop", self.process)

    def click_when_still(self, name):
        """Clicks in a box that has just opened or moved: it stands still from its second frame on."""
        self.item(name)
        frames = len(self.events("drawn"))
        wait_until(lambda: len(self.events("drawn")) > frames + 1, "two frames", self.process)
        self.click(name)

    def test_the_tour_has_seven_stops_and_is_skipped_and_taken_again(self):
        self.open_paused(size="1400x900")
        self.assertEqual(self.stop(), "", "tests are not shown around unless they ask")
        self.take_tour()
        seen = [self.stop()]
        while self.stop():
            before = len(self.events("tour"))
            self.click_when_still("tour.next")
            wait_until(lambda count=before: len(self.events("tour")) > count, "the next stop", self.process)
            seen.append(self.stop())
        self.assertEqual(len(seen), 8)
        self.assertIn("Inside the network", seen)
        self.take_tour()
        self.click_when_still("tour.skip")
        wait_until(lambda: not self.stop(), "the end of the tour", self.process)
        self.take_tour()
        self.key("Escape")
        wait_until(lambda: not self.stop(), "the end of the tour", self.process)

    def test_the_tour_closes_the_menu_that_it_was_chosen_in(self):
        self.open_paused(size="1400x1080")  # the menu is as long as that
        self.click("toolbar.window")
        wait_until(lambda: self.drawn("list") == ("window.menu",), "the menu", self.process)
        self.click_when_still("window.tour")
        wait_until(lambda: self.stop() == "Start, pause, step", "the first stop", self.process)
        wait_until(lambda: self.drawn("list") == ("",), "the menu to close", self.process)

    def test_commands_stand_in_the_log_as_options_and_are_copied(self):
        self.open_paused()
        self.enter("training.batch", "2")
        self.wait_for_marker("batch: 4 -> 2")
        self.click("status.log")
        self.click_when_still("status.log.copy")
        wait_until(lambda: self.events("copied"), "the copied lines", self.process)
        self.assertIn("--batch 2", self.events("copied")[-1]["text"].splitlines())
        self.click_when_still("status.log.0")
        wait_until(lambda: len(self.events("copied")) == 2, "a copied line", self.process)
        self.assertNotIn("\n", self.events("copied")[-1]["text"])


if __name__ == "__main__":
    main()
