"""Themes and sizes of text, switched while the window is open."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, numpy  # noqa: E402


class Looks(WindowCase):
    def wait_for_look(self, **fields):
        def shown():
            looks = self.events("look")
            return looks and all(looks[-1][key] == value for key, value in fields.items())
        wait_until(shown, f"the look {fields}", self.process)

    def choose_in_menu(self, action):
        self.click("toolbar.window")
        self.click(f"window.{action}")
        self.key("Escape")

    def wait_for_brightness(self, low, high):
        """What most of the bottom row shows: the background of a panel."""
        place = self.item("status.log")
        wait_until(lambda: low <= numpy.median(self.grab(place)) <= high, f"a brightness of {low} to {high}",
                   self.process)

    def check_themes(self, draw):
        self.run_dir = self.path(f"run-{draw}")
        self.open_paused("--draw", draw)
        self.wait_for_look(theme="dark")
        self.wait_for_brightness(0, 40)
        self.choose_in_menu("theme.light")
        self.wait_for_look(theme="light")
        self.point_away()
        self.wait_for_brightness(240, 255)
        self.assertEqual(self.close_window().code, 0)

        self.run_dir = self.path(f"again-{draw}")
        self.open_window("--draw", draw)
        self.wait_for_look(theme="light")
        self.wait_for_brightness(240, 255)
        self.choose_in_menu("theme.dark")
        self.wait_for_look(theme="dark")
        self.wait_for_brightness(0, 40)
        self.assertEqual(self.close_window().code, 0)

    def test_a_theme_is_shown_at_once_and_kept_where_the_cpu_paints(self):
        self.check_themes("cpu")

    def test_a_theme_is_shown_at_once_and_kept_where_opengl_draws(self):
        self.check_themes("gpu")

    def test_text_grows_shrinks_and_is_undone(self):
        self.open_paused()
        before = self.item("toolbar.help")
        tab = self.item("tabs.Determinism")
        self.choose_in_menu("text.larger")
        self.wait_for_look(text_size=17)
        wait_until(lambda: self.layout()["tabs.Determinism"].w > tab.w, "a wider tab", self.process)
        place = self.item("toolbar.help")
        self.assertEqual((place.x + place.w, place.w), (before.x + before.w, before.w + 1))
        self.key("ctrl+z")
        self.wait_for_notice("undone: text size: 17 -> 16")
        self.wait_for_look(text_size=16)
        wait_until(lambda: self.layout()["tabs.Determinism"] == tab, "the tab as it was", self.process)


if __name__ == "__main__":
    main()
