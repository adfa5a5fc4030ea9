"""What the window shows of a network that classifies: predictions, worst first, and the confusion matrix."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, read_metrics, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402

WORST, WRONG, STORED = range(3)  # PredictionOrder
IMAGES = 64
ANY = -1


class Predictions(WindowCase):
    PANEL = "predictions"

    def window_arguments(self, *more, size="1280x800", data="builtin", run_dir=None):
        return ["--model", "mlp", "--device", "cpu", "--data", data, "--batch", "8", "--test-images", str(IMAGES),
                "--run-dir", run_dir or self.run_dir, "--window-size", size, *more]

    def open_with_predictions(self):
        """A paused training whose window shows an evaluation; returns what is shown of it."""
        self.open_window()
        wait_until(self.newest, "the first predictions", self.process)
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.point_away()
        # One evaluation a second is shown: the last may still be to come.
        return self.wait_for("the last evaluation", step=self.settled_evaluation())

    def point_at_item(self, name):
        self.point_at(*center(self.item(name)))

    def choose_and_see(self, menu, choice, **fields):
        """Chooses and returns the predictions that follow, once the menu is off the screen."""
        self.choose(menu, choice)
        shown = self.wait_for(choice, **fields)
        self.point_away()
        self.settled_step()
        return shown

    def evaluations(self):
        """The steps after which held-out images were looked at."""
        return [line["step"] for line in read_metrics(self.run_dir) if "test_loss" in line]

    def test_the_worst_image_comes_first_and_the_order_can_be_chosen(self):
        shown = self.open_with_predictions()
        self.assertEqual((shown["count"], shown["order"], shown["truth"]), (IMAGES, WORST, ANY))
        self.assertNotEqual(shown["first_truth"], shown["first_predicted"])
        self.choose_and_see("predictions.order", "predictions.order=stored order", order=STORED, first=0, count=IMAGES)
        wrong = self.choose_and_see("predictions.order", "predictions.order=wrong only", order=WRONG,
                                    first=shown["first"])
        self.assertLess(wrong["count"], IMAGES)
        of_class = self.choose_and_see("predictions.class", f"predictions.class={shown['first_truth']}",
                                       truth=shown["first_truth"], first=shown["first"])
        self.assertLess(of_class["count"], wrong["count"])

    def test_a_cell_of_the_matrix_shows_its_images_until_the_chip_is_clicked(self):
        shown = self.open_with_predictions()
        truth, predicted = shown["first_truth"], shown["first_predicted"]
        self.click("images.Confusion")
        self.click(f"confusion.{truth}.{predicted}")
        pair = self.wait_for("the pair", truth=truth, predicted=predicted, first=shown["first"])
        self.assertLess(pair["count"], IMAGES)
        self.click("predictions.chip")
        self.wait_for("all images", truth=ANY, predicted=ANY, count=IMAGES)

    def test_no_tip_covers_the_help_page(self):
        self.open_with_predictions()
        self.click("images.Confusion")
        area, cell = self.item("confusion.area"), self.item("confusion.0.9")
        self.point_away()
        self.settled_step()
        plain = self.grab(area)

        def point_at_the_cell():
            for x in range(4):
                self.point_at(cell.x + x, cell.y + 3)
            before = len(self.events("drawn"))
            wait_until(lambda: len(self.events("drawn")) > before + 2, "frames", self.process)

        self.key("F1")
        wait_until(lambda: "help.close" in self.layout() and (self.grab(area) != plain).any(), "the help page",
                   self.process)
        covered = self.grab(area)
        point_at_the_cell()
        self.assertTrue((self.grab(area) == covered).all(), "something below the page answers the pointer")
        self.point_away()
        self.key("F1")
        wait_until(lambda: (self.grab(area) == plain).all(), "the page to go", self.process)
        point_at_the_cell()
        wait_until(lambda: (self.grab(area) != plain).any(), "the tip", self.process)

    def test_the_help_page_goes_with_a_click_beside_it_or_on_its_button(self):
        self.open_with_predictions()
        self.settled_step()
        plain = self.grab()
        for closes in ("toolbar.help", "training.Finder", "help.close"):
            self.click("toolbar.help")
            wait_until(lambda: (self.grab() != plain).any(axis=2).sum() > 256 * 256, "the page", self.process)
            self.click(closes)
            wait_until(lambda: (self.grab() != plain).any(axis=2).sum() < 256 * 256, "it to go", self.process)

    def test_images_stay_while_the_pointer_is_over_them(self):
        self.open_window()
        wait_until(self.newest, "the first predictions", self.process)
        self.assertNotIn("predictions.held", self.layout())
        self.point_at_item("predictions.cell.1")
        self.item("predictions.held")  # a newer evaluation is there and waits
        held = self.newest()
        count = len(self.evaluations())
        wait_until(lambda: len(self.evaluations()) > count + 2, "more evaluations", self.process)
        self.assertEqual(self.newest(), held)
        self.point_away()
        wait_until(lambda: self.newest()["step"] > held["step"], "newer predictions", self.process)

    def test_digits_are_grey_and_the_pointer_enlarges_them(self):
        self.open_with_predictions()
        cell = self.item("predictions.cell.1")
        picture = self.grab(cell)[4:-4, 4:-4]
        self.assertGreater(colors_in(picture), 10)
        self.assertTrue((picture.max(axis=2) == picture.min(axis=2)).all())
        before = self.grab()
        self.point_at_item("predictions.cell.1")

        def enlarged():
            return int((self.grab() != before).any(axis=2).sum()) > 256 * 256
        wait_until(enlarged, "the enlarged image", self.process)

    def test_the_wheel_brings_later_images(self):
        self.open_with_predictions()
        last = f"predictions.cell.{IMAGES - 1}"
        self.assertNotIn(last, self.layout())
        self.point_at_item("predictions.cell.1")
        self.xdotool("click", "--repeat", "60", "--delay", "20", "5")
        self.item(last)


class Reconstructions(WindowCase):
    def test_networks_that_reconstruct_keep_their_images(self):
        self.open_paused()
        self.item("images.difference.0")
        for tab in ("images.Predictions", "images.Confusion"):
            self.assertNotIn(tab, self.layout())


if __name__ == "__main__":
    main()
