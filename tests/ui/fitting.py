"""Texts in the room that they have: none is cut by an edge without a sign, whatever the size of the window."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Texts(WindowCase):
    LAYOUTS = ("train", "kernels", "inspect", "present")
    SIZES = ((1024, 640), (1280, 800), (1600, 1000))

    def resize(self, width, height):
        self.xdotool("windowsize", self.window, str(width), str(height))
        wait_until(lambda: self.geometry()[2:] == (width, height), "the size", self.process)
        self.settled_step()  # a frame in that size

    def check(self, sizes):
        """In all layouts, and on the start page."""
        self.open_paused(size="1024x640")
        for layout in self.LAYOUTS:
            self.do_by_palette(f"layout: {layout}", f"Layout: {layout}")
            for size in sizes:
                self.resize(*size)
        self.key("ctrl+n")
        self.item("start.held")
        self.resize(1024, 640)
        self.assertEqual([event["text"] for event in self.events("clipped")], [])

    def test_no_text_is_cut_by_the_edge_of_its_panel(self):
        self.check(self.SIZES)

    def test_no_text_of_the_largest_size_is_cut_by_the_edge_of_its_panel(self):
        folder = os.path.join(self.home, "config", "warpscope")
        os.makedirs(folder)
        with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
            json.dump({"format": 1, "text_size": 19}, file)
        self.check(self.SIZES[:1])
        self.assertEqual(self.events("look")[-1]["text_size"], 19)


if __name__ == "__main__":
    main()
