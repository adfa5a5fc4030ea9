"""Texts in the room that they have: none is cut by an edge without a sign, whatever the size of the window."""
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

    def test_no_text_is_cut_by_the_edge_of_its_panel(self):
        self.open_paused(size="1024x640")
        for layout in self.LAYOUTS:
            self.do_by_palette(f"layout: {layout}", f"Layout: {layout}")
            for size in self.SIZES:
                self.resize(*size)
        self.assertEqual([event["text"] for event in self.events("clipped")], [])


if __name__ == "__main__":
    main()
