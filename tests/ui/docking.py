"""Panels that are moved about in the window, and layouts that are kept."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center  # noqa: E402


class Docking(WindowCase):
    def panels(self):
        return self.events("panels")[-1]

    def wait_for_panels(self, what, test):
        wait_until(lambda: test(self.panels()), what, self.process)

    def drag_tab(self, tab, x, y):
        place = center(self.item(f"tabs.{tab}"))
        self.drag(place, (place[0] + 12, place[1] + 12), (x, y), (x, y))

    def in_menu(self, action):
        self.click("toolbar.window")
        self.click(f"window.{action}")
        self.key("Escape")

    def test_a_tab_is_dragged_beside_and_into_another_place_and_back_by_undo(self):
        self.open_paused(size="1400x900")
        self.assertEqual(self.panels()["layout"], "train")
        plot = self.item("loss.plot")
        self.drag_tab("Verify", plot.x + plot.w - 12, plot.y + plot.h // 2)
        self.wait_for_panels("both in front", lambda now: "verify" in now["seen"] and "kernels" in now["seen"])
        verify, curves = self.item("tabs.large.verify"), self.layout()["loss.plot"]
        self.assertGreater(verify.x, curves.x + curves.w)
        self.assertLess(curves.w, plot.w)
        self.drag_tab("Runs", *center(curves))
        self.wait_for_panels("Runs over Curves", lambda now: "runs" in now["seen"] and "curves" not in now["seen"])
        self.click("tabs.Curves")
        self.wait_for_panels("Curves again", lambda now: "curves" in now["seen"])
        self.key("ctrl+z")
        self.wait_for_notice("undone: layout of the panels")
        self.key("ctrl+z")
        self.wait_for_panels("the earlier layout", lambda now: now["layout"] == "train")

    def test_tabs_are_put_in_another_order_which_is_remembered(self):
        self.open_paused(size="1400x900")
        self.assertIn("kernels,time,memory", ",".join(self.panels()["open"]))
        place = self.item("tabs.Memory")
        self.drag_tab("Kernels", place.x + place.w - 2, center(place)[1])
        self.wait_for_panels("Kernels behind Memory", lambda now: "time,memory,kernels" in ",".join(now["open"]))
        self.assertIn("kernels", self.panels()["seen"])
        wait_until(lambda: self.layout()["tabs.Kernels"].x > self.layout()["tabs.Memory"].x, "its tab", self.process)
        self.assertEqual(self.close_window().code, 0)
        self.run_dir = self.path("again")
        self.open_paused(size="1400x900")
        self.assertIn("time,memory,kernels", ",".join(self.panels()["open"]))
        self.key("ctrl+z")
        self.wait_for_notice("there is nothing to undo")

    def test_a_panel_floats_moves_closes_and_opens(self):
        self.open_paused(size="1400x900")
        docked = self.item("tabs.Ladder")
        self.drag_tab("Ladder", *center(self.item("toolbar.precision")))
        self.wait_for_panels("a floating panel", lambda now: now["floating"] == ["ladder"])
        wait_until(lambda: self.layout()["tabs.Ladder"].y < docked.y - 100, "its window", self.process)
        before = self.item("tabs.Ladder")
        x, y = center(before)
        self.drag((x + before.w, y), (x + before.w + 20, y + 20), (x + before.w - 60, y + 90))
        wait_until(lambda: self.layout()["tabs.Ladder"].y > before.y + 60, "it to move", self.process)
        self.do_by_palette("close ladder", "Close Ladder")
        self.wait_for_panels("it to close", lambda now: "ladder" not in now["open"])
        self.in_menu("panel.ladder")
        self.wait_for_panels("it beside Kernels", lambda now: "ladder" in now["seen"] and now["floating"] == [])
        self.assertEqual(self.close_window().code, 0)

    def test_layouts_are_chosen_saved_and_kept_over_restarts_and_sizes(self):
        self.open_paused(size="1400x900")
        for layout in ("kernels", "inspect", "present", "train"):
            self.in_menu(f"layout.{layout}")
            self.wait_for_panels(layout, lambda now, name=layout: now["layout"] == name)
        self.in_menu("layout.inspect")
        self.wait_for_panels("the network", lambda now: "network" in now["seen"])
        self.do_by_palette("save layout talk", "Save the layout as talk")
        self.wait_for_notice("layout saved as talk")
        self.assertEqual(self.close_window().code, 0)
        with open(os.path.join(self.home, "config", "warpscope", "window.json"), encoding="utf-8") as file:
            kept = json.load(file)
        self.assertEqual(kept["layout"], "inspect")
        self.assertIn("talk", kept["layouts"])

        self.run_dir = self.path("again")
        self.open_paused(size="1024x640")
        self.assertEqual(self.panels()["layout"], "inspect")
        self.in_menu("layout.train")
        self.wait_for_panels("train", lambda now: now["layout"] == "train")
        self.in_menu("layout.talk")
        self.wait_for_panels("the saved one", lambda now: now["layout"] == "inspect")

    def test_a_layout_that_cannot_be_is_told_and_left_out(self):
        folder = os.path.join(self.home, "config", "warpscope")
        os.makedirs(folder)
        with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
            file.write('{"format": 1, "layout": {"docked": {"panels": ["gone"]}}}')
        self.open_window()
        self.wait_for_notice('names the panel "gone"')
        self.assertEqual(self.panels()["layout"], "train")
        self.assertEqual(self.close_window().code, 0)


if __name__ == "__main__":
    main()
