"""The tab Memory: what a step holds, and what other choices would need."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main  # noqa: E402
from window_driver import WindowCase, colors_in  # noqa: E402


class MemoryView(WindowCase):
    PANEL = "memory"

    def window_arguments(self, *more):
        return ["--device", "cpu", "--data", self.small_data(), "--batch", "4", "--test-images", "8",
                "--precision", "fp32", "--window-size", "1600x1000", *more]

    def test_the_map_tells_what_lies_under_the_pointer_and_a_click_points_at_its_layer(self):
        self.open_window()
        self.click("tabs.Memory")
        shown = self.wait_for("the map", lambda newest: newest["parts"] > 10)
        self.assertGreater(shown["bytes"], 1 << 20)
        box = self.item("memory.map")
        self.assertGreater(colors_in(self.grab(box)), 8)
        # The largest parts lie at the bottom: along a line just above it something is held most of the time.
        y = box.y + box.h - 40
        for part in range(1, 12):
            self.point_at(box.x + 70 + (box.w - 80) * part // 12, y)
            if self.newest()["tip"]:
                break
        held = self.wait_for("a part under the pointer", lambda newest: newest["tip"])
        self.assertIn("held", held["tip"])
        self.press()
        self.press(False)
        self.wait_for("its layer", lambda newest: newest["output"] > 0)


if __name__ == "__main__":
    main()
