"""The step as a timeline: calls that tell what they are, zoom, and the layer that they point at."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402

FORWARD = "time.now.conv2d.forward.conv2"


class TimeView(WindowCase):
    PANEL = "time"

    def open_timeline(self):
        """Paused, so that nothing moves but what is moved."""
        self.open_paused(steps=3, size="1600x1000")
        self.click("tabs.Time")
        return self.wait_for("the calls of a step", lambda event: event["calls"] > 0)

    def scroll(self, button, times):
        self.xdotool("click", "--repeat", str(times), button)

    def test_calls_stand_in_their_order_and_tell_what_they_are(self):
        shown = self.open_timeline()
        self.item(FORWARD)
        calls = [(name, place) for name, place in self.layout().items() if name.startswith("time.now.")]
        self.assertLessEqual(len(calls), shown["calls"])
        places = sorted((place for _, place in calls), key=lambda place: place.x)
        for before, after in zip(places, places[1:]):
            self.assertLessEqual(before.x + before.w, after.x + 2)
        widest = max(calls, key=lambda call: call[1].w)
        self.assertGreater(colors_in(self.grab(widest[1])), 1, "its name is written on it")
        self.point_at(*center(widest[1]))
        operation, layer = widest[0][len("time.now."):].rsplit(".", 1)
        tip = self.wait_for("the tip", lambda event: event["tip"])["tip"]
        self.assertTrue(tip.startswith(f"{layer} {operation}".strip()), tip)
        self.assertIn("% of the calls", tip)
        self.assertIn("GFLOP/s", tip)

    def test_the_wheel_zooms_at_the_pointer_dragging_pans_and_a_double_click_fits(self):
        self.open_timeline()
        lanes = self.item("time.lanes")
        x, y = center(lanes)
        self.point_at(x, y)
        self.scroll("4", 5)
        near = self.wait_for("a part of the step", lambda event: event["last"] - event["first"] < 0.34)
        self.assertGreater(near["first"], 0)
        self.assertLess(near["last"], 1)
        self.drag((x, y), (x - 60, y), (x - 120, y))
        moved = self.wait_for("a later part", lambda event: event["first"] > near["first"])
        self.assertAlmostEqual(moved["last"] - moved["first"], near["last"] - near["first"], places=5)

        def fits():
            for down in (True, False, True, False):  # a double click, unless frames take so long that it counts as two
                self.press(down)
            return (self.newest()["first"], self.newest()["last"]) == (0, 1)
        wait_until(fits, "the whole step", self.process)

    def test_a_click_points_at_the_layer(self):
        before = self.open_timeline()
        self.click(FORWARD)
        pointed = self.wait_for("another layer", lambda event: event["output"] != before["output"])
        self.click("tabs.Network")
        wait_until(lambda: [event for event in self.events("network") if event["output"] == "conv2"],
                   "the Network panel at that layer", self.process)
        self.assertGreater(pointed["output"], 1)

    def test_a_switch_puts_the_step_before_it_above(self):
        shown = self.open_timeline()
        self.assertEqual(shown["before"], 0)
        self.click("tabs.Kernels")
        self.choose("kernels.conv2d.forward", "kernels.conv2d.forward=loops")
        self.wait_for_marker("conv2d.forward: ")
        self.click("toolbar.pause")
        self.wait_for_state("running")
        self.click("tabs.Time")
        self.wait_for("more calls than before", lambda event: event["calls"] > event["before"] > 0)
        self.item("time.before.conv2d.forward.conv2")
        self.item("time.now.relu.forward.relu1")
        self.assertNotIn("time.before.relu.forward.relu1", self.layout(), "the convolution's call did it")
        self.wait_for("shares over the run", lambda event: event["points"] > 2)


if __name__ == "__main__":
    main()
