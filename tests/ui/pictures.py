"""What the window shows: screenshots, the loss curve, the rows of images."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, read_run, steps_of, wait_until  # noqa: E402
from window_driver import TRAIN_CURVE, WindowCase, colors_in, part, pixels_near, read_picture, reds  # noqa: E402


class Screenshots(WindowCase):
    def test_a_screenshot_is_written_before_leaving(self):
        file = self.path("window.png")
        arguments = self.window_arguments("--exit-after-steps", "4", "--screenshot", file, size="1100x700",
                                          data="builtin")
        ended = self.run_program(*arguments, environment=self.window_environment())
        self.assert_succeeded(ended)

        picture = read_picture(file)
        self.assertEqual(picture.shape, (700, 1100, 3))
        self.assertGreater(colors_in(picture), 1000)
        layout = self.layout()
        plot = part(picture, layout["loss.plot"])
        # A curve of a few steps is at least as long as the plot is wide, less its labels.
        self.assertGreater(pixels_near(plot, TRAIN_CURVE, 40), layout["loss.plot"].w // 2)
        self.assertGreater(colors_in(part(picture, layout["images.original.0"])), 50)

        self.assertGreaterEqual(read_run(self.run_dir)["steps"], 4)
        self.assertEqual(read_run(self.run_dir)["status"], "finished")
        # A window that leaves by itself leaves no settings: they are a person's.
        self.assertFalse(os.path.exists(os.path.join(self.home, "config", "warpscope")))

    def take_screenshot(self, draw):
        file = self.path("window.png")
        self.open_paused("--draw", draw, "--screenshot", file, size="1024x640")
        self.key("F12")
        wait_until(lambda: os.path.exists(file), "the screenshot", self.process)
        picture = read_picture(file)
        self.assertEqual(picture.shape, (640, 1024, 3))
        kernels = self.item("kernels.conv2d.forward")
        self.assertTrue((part(picture, kernels) == self.grab(kernels)).all())
        self.assertEqual(self.close_window().code, 0)

    def test_f12_writes_a_screenshot_of_what_is_seen(self):
        self.take_screenshot("auto")

    def test_f12_writes_a_screenshot_of_what_opengl_draws(self):
        self.take_screenshot("gpu")

    def test_a_screenshot_that_cannot_be_written_is_told(self):
        arguments = self.window_arguments("--exit-after-steps", "1", "--screenshot", self.path("missing", "window.png"))
        ended = self.run_program(*arguments, environment=self.window_environment())
        self.assertIn(ended.code, (1, 2))
        self.assert_one_sentence(ended, ended.code, self.path("missing"))


class Curve(WindowCase):
    def test_the_loss_curve_grows_and_hides_when_its_legend_is_clicked(self):
        last = self.open_paused(steps=3)
        wait_until(lambda: self.drawn("points") == (last,), "all points", self.process)
        plot = self.item("loss.plot")

        def curve():
            return pixels_near(self.grab(plot), TRAIN_CURVE, 40)
        shown = wait_until(curve, "the curve", self.process)
        self.assertGreater(shown, plot.w // 2)
        self.click("loss.legend.train")
        wait_until(lambda: curve() == 0, "the curve to go", self.process)
        self.click("loss.legend.train")
        wait_until(curve, "the curve to come back", self.process)
        self.point_away()
        wait_until(lambda: curve() == shown, "the same curve", self.process)

    def test_a_switch_leaves_a_flag_over_the_curve(self):
        self.open_paused(steps=3)
        plot = self.item("loss.plot")
        before = self.grab(plot)
        self.choose("kernels.bias.forward", "kernels.bias.forward=loops")
        self.wait_for_marker("bias.forward: onednn -> loops")
        self.point_away()

        def hairlines():
            """Columns that have changed over much of the height, as by a dashed line: a menu that still covers it has
            more."""
            changed = (self.grab(plot) != before).any(axis=2).sum(axis=0)
            return int((changed > 0.4 * plot.h).sum())
        wait_until(lambda: 1 <= hairlines() <= 4, "the flag's hairline", self.process)


class Images(WindowCase):
    def test_reconstructions_change_while_the_originals_stay(self):
        self.wait_for_images(self.open_paused())
        tiles = {row: [self.item(f"images.{row}.{image}") for image in range(4)]
                 for row in ("original", "now", "difference")}

        def look(row):
            return [self.grab(tile) for tile in tiles[row]]

        def same(a, b):
            return [(one == other).all() for one, other in zip(a, b)]
        originals, early = look("original"), look("now")
        for image in originals:
            self.assertGreater(colors_in(image), 50)
            self.assertGreater(image.std(), 8)
        for number, image in enumerate(originals):
            for other in originals[number + 1:]:
                self.assertFalse((image == other).all(), "two originals are the same")
        for image in early:
            self.assertGreater(colors_in(image), 20)
        differences = look("difference")

        step = max(steps_of(self.run_dir))
        self.key("space")
        self.wait_for_step(self.process, self.run_dir, step + 5)
        wait_until(lambda: not any(same(look("now"), early)), "later reconstructions", self.process)
        self.key("space")
        self.wait_for_state("paused")
        self.settled_step()
        self.assertTrue(all(same(look("original"), originals)))
        self.assertFalse(any(same(look("difference"), differences)))

    def test_the_difference_can_be_shown_as_magnitudes(self):
        self.wait_for_images(self.open_paused("--model", "autoencoder"))
        tile = self.item("images.difference.0")
        signed = self.grab(tile)
        self.assertGreater(reds(signed), 0)
        self.click("images.difference.absolute")
        # Magnitudes are in viridis, which has no red.
        wait_until(lambda: reds(self.grab(tile)) == 0, "other colours", self.process)
        self.click("images.difference.signed")
        wait_until(lambda: reds(self.grab(tile)) > 0, "the first colours", self.process)
        self.point_away()
        wait_until(lambda: (self.grab(tile) == signed).all(), "the first picture", self.process)


if __name__ == "__main__":
    main()
