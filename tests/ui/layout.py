"""Where things are in the window, and what it remembers of that."""
import itertools
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, wait_until  # noqa: E402
from window_driver import Rectangle, WindowCase, center, overlap, reds  # noqa: E402

# What is clicked on; the trace also holds texts and pictures.
CLICKABLE = ("toolbar.", "loss.", "images.zoom", "images.difference.signed", "images.difference.absolute",
             "images.range", "tabs.", "kernels.", "training.", "status.log", "splitter.")


class Sizes(WindowCase):
    def look_at(self, size):
        self.open_paused(size=size)
        self.item("images.now.0")
        self.settled_step()  # a frame with everything in it
        width, height = (int(number) for number in size.split("x"))
        self.assertEqual(self.geometry()[2:], (width, height))
        layout = self.layout()
        del layout["toolbar.pause"]  # the button is now toolbar.start, in the same place
        return Rectangle(0, 0, width, height), layout

    def check(self, size, *expected):
        window, layout = self.look_at(size)
        for name in expected:
            self.assertIn(name, layout)
        for name, place in layout.items():
            inside = (place.x >= 0 and place.y >= 0 and place.x + place.w <= window.w and place.y + place.h <= window.h)
            self.assertTrue(inside, f"{name} at {place} lies outside of {size}")
        clickable = {name: place for name, place in layout.items() if name.startswith(CLICKABLE)}
        self.assertGreater(len(clickable), 20)
        for one, other in itertools.combinations(clickable, 2):
            self.assertFalse(overlap(clickable[one], clickable[other]),
                             f"at {size} {one} {clickable[one]} and {other} {clickable[other]} overlap")
        for name, place in clickable.items():
            if not name.startswith(("splitter.", "kernels.")):  # rows at the edge of the table may be cut
                self.assertGreaterEqual(min(place.w, place.h), 16, f"{name} {place} is too small to click on")

    EVERYWHERE = ("toolbar.start", "toolbar.step", "toolbar.reset", "toolbar.precision", "toolbar.help", "loss.plot",
                  "loss.metric", "loss.legend.train", "loss.runs", "loss.save", "tabs.Kernels", "tabs.Bench",
                  "tabs.large", "kernels.all", "kernels.conv2d.forward", "training.learning_rate", "training.batch",
                  "images.original.0", "images.now.0", "images.difference.0", "status.log")

    # Those that have no room in the row of tabs of this window: the title of a new panel of the workbench comes here.
    LAST_TABS = ("Determinism", "Ladder", "Runs", "Ranks", "Own kernels")

    def test_everything_fits_and_nothing_overlaps_at_1024x640(self):
        self.check("1024x640", *self.EVERYWHERE, "tabs.more")
        self.click("tabs.more")
        for tab in self.LAST_TABS:
            self.item(f"tabs.more.{tab}")

    def test_everything_fits_and_nothing_overlaps_at_1920x1080(self):
        self.check("1920x1080", *self.EVERYWHERE, *(f"tabs.{tab}" for tab in self.LAST_TABS),
                   "kernels.optimizer.update", "images.now.7")

    def open_twice_as_large(self):
        folder = os.path.join(self.home, "config", "warpscope")
        os.makedirs(folder)
        with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
            json.dump({"format": 1, "zoom": 2}, file)
        # Its pictures come when all else has found its place.
        self.open_paused("--model", "autoencoder", size="1024x640")

    # For each panel the last of its controls that is in view, before anything is scrolled.
    LAST_CONTROLS = {"Network": "network.look.gradients", "Distributions": "distributions.view.figures",
                     "Latent": "latent.fit", "Features": "features.view_of.grid"}

    def test_controls_that_do_not_fit_wrap_where_all_is_twice_as_large(self):
        self.open_twice_as_large()
        self.settled_step()
        for panel, last in self.LAST_CONTROLS.items():
            self.choose("tabs.more", f"tabs.more.{panel}")
            self.settled_step()  # what is seen of the network belongs to a step
            self.item(last)
            layout = self.layout()
            large = layout["tabs.large"]
            end = large.x + large.w + 1
            for name, place in layout.items():
                of_panel = name.startswith(last.split(".")[0] + ".")
                if of_panel and name != "network.strip" and not name.startswith("network.layer"):
                    self.assertLessEqual(place.x + place.w, end, name)

    def test_what_has_no_room_is_left_out_or_scrolls_where_all_is_twice_as_large(self):
        self.open_twice_as_large()
        self.item("training.more")
        self.settled_step()
        layout = {name: place for name, place in self.layout().items()
                  if name.startswith(("toolbar.", "loss.", "images.", "tabs.", "training.", "status.log"))
                  and name not in ("toolbar.pause", "images.empty", "images.grid")}
        self.assertIn("images.rows", layout)
        self.assertIn("loss.follow", layout)
        for one, other in itertools.combinations(layout, 2):
            self.assertFalse(overlap(layout[one], layout[other]),
                             f"{one} {layout[one]} and {other} {layout[other]} overlap")
        plot = layout["loss.plot"]
        for name, place in layout.items():
            end = plot.x + plot.w if name.startswith("loss.") else 1024
            self.assertLessEqual(place.x + place.w, end, name)
        self.choose("training.more", "training.more.Finder")
        self.item("training.Finder")

    def test_everything_follows_when_the_window_is_resized(self):
        self.open_paused(size="1600x900")
        self.xdotool("windowsize", self.window, "1024", "640")
        wait_until(lambda: self.layout()["status.log"].y < 640, "the status bar to move up", self.process)
        self.settled_step()
        for name, place in self.layout().items():
            if name in self.EVERYWHERE:
                self.assertLessEqual(place.x + place.w, 1024, name)
                self.assertLessEqual(place.y + place.h, 640, name)
        self.choose("kernels.bias.forward", "kernels.bias.forward=loops")
        self.wait_for_marker("bias.forward: onednn -> loops")

    def test_a_splitter_moves_what_is_beside_it(self):
        self.open_paused()
        before = self.item("splitter.00")

        x, y = center(before)
        self.drag((x, y), (x + 30, y), (x + 60, y))
        wait_until(lambda: self.layout()["splitter.00"].x > before.x + 40, "the splitter to follow", self.process)
        plot = self.layout()["loss.plot"]
        self.assertGreater(plot.x + plot.w, before.x)


class Memory(WindowCase):
    def settings(self):
        try:
            with open(os.path.join(self.home, "config", "warpscope", "window.json"), encoding="utf-8") as file:
                return json.load(file)
        except FileNotFoundError:
            return {}

    def test_size_and_choices_are_remembered(self):
        # Its untrained pictures are too bright here and too dark there: the difference has both signs.
        self.open_paused("--model", "autoencoder", size=None)
        self.xdotool("windowsize", self.window, "1100", "720")
        wait_until(lambda: self.geometry()[2:] == (1100, 720), "the new size", self.process)
        wait_until(lambda: 680 < self.layout()["status.log"].y < 720, "a frame of the new size", self.process)
        self.wait_for_images(self.settled_step())
        # A click that was not answered yet when the window is told to close counts as none.
        self.choose("loss.x", "loss.x.time")
        wait_until(lambda: self.events("curves")[-1]["over"] == 2, "the axis of time", self.process)
        difference = self.item("images.difference.0")
        self.assertGreater(reds(self.grab(difference)), 0)
        self.click("images.difference.absolute")
        wait_until(lambda: reds(self.grab(difference)) == 0, "the magnitudes", self.process)
        self.assertEqual(self.close_window().code, 0)
        settings = self.settings()
        self.assertEqual((settings["window"]["width"], settings["window"]["height"]), (1100, 720))
        self.assertEqual(settings["plot"]["over"], 2)
        self.assertTrue(settings["images"]["absolute_difference"])

        self.open_window(size=None, run_dir=self.path("again"))
        self.assertEqual(self.geometry()[2:], (1100, 720))
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(self.settings(), settings)

    def test_a_size_that_was_asked_for_is_not_remembered(self):
        self.open_window(size="900x640")
        self.assertEqual(self.geometry()[2:], (900, 640))
        self.assertEqual(self.close_window().code, 0)
        self.assertIn("plot", self.settings())
        self.assertNotEqual(self.settings()["window"]["width"], 900)

    def test_broken_settings_are_as_none(self):
        folder = os.path.join(self.home, "config", "warpscope")
        os.makedirs(folder)
        with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
            file.write('{"window": {"width": "wide", "height": -3}, "splits": 7')
        self.open_window(size=None)
        self.assertEqual(self.geometry()[2:], (1600, 1000))
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(self.settings()["window"]["width"], 1600)


class SizeOption(ProgramCase):
    def test_a_window_size_of_another_form_is_refused(self):
        for size in ("1600", "1600x", "wide", "0x0", "1600x1000x3", "-1600x1000", "99999x99999"):
            self.assert_refused([f"--window-size={size}"], "--window-size", size)


if __name__ == "__main__":
    main()
