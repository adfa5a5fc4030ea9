"""The command palette, undo and redo in the real window."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, markers_of, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Palette(WindowCase):
    def test_enter_does_what_matches_best_and_undo_and_redo_go_back_and_forth(self):
        self.open_paused()
        self.open_palette("opt mom")
        self.wait_for_palette(first="Optimizer: momentum")
        self.key("Return")
        self.wait_for_marker("sgd -> momentum")
        self.wait_for_palette(open=False)
        self.key("ctrl+z")
        self.wait_for_marker("momentum -> sgd")
        self.wait_for_notice("undone: optimizer: momentum -> sgd")
        self.key("ctrl+shift+z")
        self.wait_for_notice("redone: optimizer: sgd -> momentum")
        wait_until(lambda: len(markers_of(self.run_dir)) == 3, "the third change", self.process)
        self.key("ctrl+z")
        wait_until(lambda: len(markers_of(self.run_dir)) == 4, "the fourth change", self.process)
        self.key("ctrl+y")
        wait_until(lambda: len(markers_of(self.run_dir)) == 5, "the fifth change", self.process)

    def test_a_typed_setting_is_set_and_a_wrong_one_refused(self):
        self.open_paused()
        self.open_palette("lr 0")
        self.wait_for_palette(refusal="Learning rate must be above 0.")
        self.key("Return", "Escape")
        self.wait_for_palette(open=False)
        self.open_palette("lr 0.02")
        self.wait_for_palette(first="Set learning rate to 0.02", refusal="")
        self.key("Return")
        self.wait_for_marker("learning rate: 0.0005 -> 0.02")
        self.assertEqual(len(markers_of(self.run_dir)), 1)

    def test_escape_closes_it_and_its_letters_steer_nothing(self):
        self.open_paused()
        self.open_palette("r 5")
        self.key("Escape")
        self.wait_for_palette(open=False)
        self.key("ctrl+p")
        self.wait_for_palette(open=True)
        self.key("ctrl+p")
        self.wait_for_palette(open=False)
        self.assertEqual(markers_of(self.run_dir), [])
        self.assertEqual({event["metric"] for event in self.events("curves")}, {"loss"})

    def test_a_refused_action_says_why_and_does_nothing(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 1)
        self.open_palette("precision: fp16")
        wait_until(lambda: "fp16" in self.palette()["refusal"], "the refusal", self.process)
        self.item("palette.refusal")
        self.key("Return", "Escape")
        self.wait_for_palette(open=False)
        self.assertEqual(markers_of(self.run_dir), [])
        self.assertEqual(self.events("notice"), [])

    def test_what_matches_nothing_says_so(self):
        self.open_paused()
        self.open_palette("qqqq")
        self.wait_for_palette(count=0, first="")
        self.key("Return", "Escape")
        self.wait_for_palette(open=False)

    def test_arrows_and_clicks_choose(self):
        self.open_paused()
        self.open_palette("show")
        first = self.palette()["first"]
        self.key("Down")
        wait_until(lambda: self.palette()["chosen"] not in ("", first), "the second row", self.process)
        self.key("Up")
        self.wait_for_palette(chosen=first)
        self.key("Escape")
        self.wait_for_palette(open=False)
        self.open_palette("gradient")
        self.wait_for_palette(query="gradient", first="Curves: Gradient norm")
        self.click("palette.0")
        self.wait_for_palette(open=False)
        wait_until(lambda: self.events("curves")[-1]["metric"] == "gradient_norm", "the metric", self.process)
        self.key("ctrl+z")
        self.wait_for_notice("undone: curves: Gradient norm -> Loss")
        wait_until(lambda: self.events("curves")[-1]["metric"] == "loss", "the earlier metric", self.process)

    def test_a_refused_command_leaves_nothing_to_undo_and_a_reset_is_undone_first(self):
        self.open_paused()
        self.open_palette("batch 61234")
        self.key("Return")
        self.wait_for_notice("batch size 61234")
        self.key("ctrl+z")
        self.wait_for_notice("there is nothing to undo")
        self.open_palette("batch 2")
        self.key("Return")
        self.wait_for_marker("batch: 4 -> 2")
        self.key("r")
        self.wait_for_marker("reset")
        self.key("ctrl+z")
        self.wait_for_notice("undone: reset")
        self.assertNotIn("batch: 2 -> 4", markers_of(self.run_dir))


if __name__ == "__main__":
    main()
