"""What the window shows of a network that reads texts: one that is typed, its classes and the shares of its
characters."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402

LENGTH = 40
MODEL = f"""
text = {{length = {LENGTH}, alphabet = "abcdefghijklmnopqrstuvwxyz "}}
loss = "cross_entropy"
classes = 4
layers = [
  {{type = "one_hot"}},
  {{type = "conv1d", channels = 16, kernel = 5, padding = "valid"}},
  {{type = "layer_norm"}},
  {{type = "relu"}},
  {{type = "global_average_pool"}},
  {{type = "linear", features = 4}},
]
"""


class Texts(WindowCase):
    PANEL = "typed_text"

    def window_arguments(self, *more, size="1280x800", data="builtin", run_dir=None):
        model = self.path("letters.toml")
        with open(model, "w", encoding="utf-8") as file:
            file.write(MODEL)
        return ["--model", model, "--device", "cpu", "--data", data, "--batch", "8", "--test-images", "32", "--run-dir",
                run_dir or self.run_dir, "--window-size", size, *more]

    def type_text(self, text):
        place = self.item("predictions.typed")
        self.click("predictions.typed")
        self.wait_for_keys("predictions.typed", place)
        self.xdotool("type", "--delay", "12", text)

    def test_the_classes_move_with_each_letter_and_with_the_training(self):
        self.open_paused(steps=20)
        self.assertIsNone(self.newest())
        self.type_text("the ")
        began = self.wait_for("the beginning", text="the ")
        # Letters that come within one frame are answered together.
        self.xdotool("type", "team wins")
        typed = self.wait_for("the text", text="the team wins")
        self.assertEqual(typed["read"], 13)
        self.assertGreater(typed["largest"], 0)
        self.assertAlmostEqual(sum(typed["probabilities"]), 1, places=4)
        self.assertNotEqual(typed["probabilities"], began["probabilities"])
        self.key("BackSpace")
        shorter = self.wait_for("a letter less", text="the team win")
        self.assertNotEqual(shorter["probabilities"], typed["probabilities"])
        self.click("toolbar.pause")
        later = self.wait_for("newer weights", lambda event: event["step"] > shorter["step"])
        self.assertNotEqual(later["probabilities"], shorter["probabilities"])
        self.assertEqual(later["text"], "the team win")

    def test_keys_of_the_window_are_letters_in_the_field(self):
        self.open_paused()
        before = self.settled_step()
        self.type_text("real l space")  # R resets, L opens the laboratory, space goes on
        self.wait_for("the text", text="real l space")
        self.assertEqual(self.settled_step(), before)
        self.assertEqual(self.state(), "paused")

    def test_escape_leaves_the_text_as_it_is(self):
        self.open_paused()
        self.type_text("the team")
        self.wait_for("the text", text="the team")
        self.key("Escape")
        self.key("1")  # no letter any more
        wait_until(lambda: self.events("curves") and self.events("curves")[-1]["metric"], "a key of the window",
                   self.process)
        self.type_text("s")
        self.wait_for("what was typed before it", lambda event: "the team" in event["text"] and "s" in event["text"])

    def test_a_text_is_copied_and_pasted(self):
        self.open_paused()
        self.type_text("rain and ")
        self.wait_for("the text", text="rain and ")
        field = self.item("predictions.typed")
        for key in ("ctrl+a", "ctrl+c", "End", "ctrl+v"):
            self.tap(key, field)
        self.wait_for("the text twice", text="rain and rain and ")

    def test_a_class_that_is_clicked_on_is_explained(self):
        self.open_paused(steps=20)
        self.type_text("rain falls on the hills")
        first = self.wait_for("the text", text="rain falls on the hills")
        other = (first["target"] + 1) % 4
        self.point_away()
        place = self.item("predictions.typed_text")
        wait_until(lambda: colors_in(self.grab(place)) > 40, "tinted characters", self.process)
        before = self.grab(place)
        self.click(f"predictions.typed_class.{other}")
        explained = self.wait_for("the other class", target=other)
        self.assertEqual(explained["probabilities"], first["probabilities"])
        wait_until(lambda: (self.grab(place) != before).any(), "other tints", self.process)
        self.click(f"predictions.typed_class.{other}")
        self.wait_for("the most probable class", target=first["target"])

    def test_the_pointer_tells_the_share_of_a_character(self):
        self.open_paused(steps=20)
        self.type_text("rain falls on the hills")
        self.wait_for("the text", text="rain falls on the hills")
        self.point_away()
        self.settled_step()
        place = self.item("predictions.typed_text")
        before = self.grab()
        self.point_at(place.x + 4, place.y + 6)
        wait_until(lambda: int((self.grab() != before).any(axis=2).sum()) > 60 * 100, "the tip", self.process)

    def test_the_texts_of_the_test_set_are_tinted(self):
        self.open_paused(steps=40)
        place = self.item("predictions.text.0")
        tinted = wait_until(lambda: self.events("tinted_texts"), "the shares", self.process)[-1]
        self.assertGreater(tinted["places"], 2)
        self.point_away()
        wait_until(lambda: colors_in(self.grab(place)) > 60, "tinted rows", self.process)
        first = len(self.events("tinted_texts"))
        self.point_at(*center(place))
        self.xdotool("click", "--repeat", "3", "--delay", "20", "5")
        wait_until(lambda: len(self.events("tinted_texts")) > first, "those of later rows", self.process)


if __name__ == "__main__":
    main()
