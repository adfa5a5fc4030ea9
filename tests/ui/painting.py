"""The window painted by the CPU (--draw cpu)."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Painting(WindowCase):
    def painted(self):
        return list(self.drawn("painted") or ())

    def look(self, draw):
        """The first original images on the screen of a paused window, at a whole zoom: at others a pixel can lie on the
        edge between two of an image, and each painter takes another."""
        self.run_dir = self.path(draw)
        self.wait_for_images(self.open_paused("--draw", draw, size="1200x800"))
        self.key("space")
        wait_until(lambda: self.painted() == [draw != "gpu"], "the frames' painter", self.process)
        self.key("space")
        self.wait_for_state("paused")
        self.settled_step()
        self.point_away()
        return [self.grab(self.item(f"images.original.{image}")) for image in range(3)]

    def test_painted_images_and_clicks_are_as_those_of_opengl(self):
        drawn = self.look("gpu")
        self.assertEqual(self.close_window().code, 0)
        painted = self.look("cpu")
        for one, other in zip(drawn, painted):
            self.assertEqual(one.shape, other.shape)
            self.assertLessEqual(abs(one - other).max(), 2)
            self.assertGreater(one.std(), 8)
        # A list that opens over what is there, and closes.
        place = self.item("kernels.bias.forward")
        before = self.grab(place)
        self.choose("kernels.bias.forward", "kernels.bias.forward=loops")
        self.wait_for_marker("bias.forward: onednn -> loops")
        self.point_away()
        wait_until(lambda: (self.grab(place) != before).any(), "the other name", self.process)
        self.assertEqual(self.close_window().code, 0)

    def test_on_a_virtual_display_it_paints_by_itself_also_without_images(self):
        self.open_window("--draw", "auto", "--model", "mlp", data="builtin", size="900x600")
        wait_until(lambda: self.painted() == [True], "a painted frame", self.process)
        self.assertEqual(self.close_window().code, 0)


if __name__ == "__main__":
    main()
