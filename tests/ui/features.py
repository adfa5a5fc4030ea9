"""The Features panel: classifiers on what layers make of images, beside a training on the CPU."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402


class Features(WindowCase):
    PANEL = "features"

    def window_arguments(self, *more, model="mlp", view=False):
        if view:
            return ["view", self.run_dir, "--window-size", "1600x1000", *more]
        return ["--model", model, "--device", "cpu", "--data", "builtin", "--batch", "32", "--test-images", "64",
                "--precision", "fp32", "--run-dir", self.run_dir, "--window-size", "1600x1000", *more]

    def open_features(self, **options):
        self.open_window(**options)
        self.click("tabs.Features")
        self.wait_for("the panel without a result", tries=0, busy=False)

    def judge(self, tries=1):
        """Asks for a try with the weights of this moment and waits for its result."""
        self.click("features.judge")
        return self.wait_for("a result", tries=tries, busy=False)

    def use_softmax(self):
        """The quickest of the classifiers."""
        self.choose("features.classifier", "features.classifier=softmax")

    def test_features_are_judged_while_the_network_trains(self):
        self.open_features()
        found = self.judge()
        self.assertEqual((found["classifier"], found["layers"], found["failure"]), ("rbf", "relu2", ""))
        self.assertGreater(found["accuracy"], 0.5, "digits can be told apart by features of any weights")
        self.assertEqual(self.state(), "running")
        self.item("features.accuracy")
        self.item("confusion.area")
        self.click("features.view_of.classes")
        self.wait_for("the classes", view="classes")
        self.point_away()
        again = self.judge(tries=2)
        self.assertGreater(again["step"], found["step"])
        self.assertFalse(again["reused"])

    def test_another_c_learns_from_the_same_features(self):
        self.open_features()
        first = self.judge()
        self.enter("features.c", "0.5")
        found = self.wait_for("a second result", tries=2, busy=False)
        self.assertEqual((found["c"], found["step"], found["reused"]), (0.5, first["step"], True))
        slider = self.item("features.c_slider")
        self.drag(center(slider), (slider.x + 4, slider.y + slider.h // 2))
        released = self.wait_for("a third result", tries=3, busy=False)
        self.assertLess(released["c"], 0.5)
        self.click("features.view_of.tries")
        wait_until(lambda: "features.try.3" in self.layout(), "the tries", self.process)
        self.click("features.try.2")
        self.click("features.view_of.result")
        self.assertEqual(self.judge(tries=4)["c"], 0.5)

    def test_layers_are_judged_side_by_side(self):
        self.open_features()
        self.use_softmax()
        self.assertEqual(self.judge()["layers"], "relu2")
        self.choose("features.beside", "features.beside=relu1")
        self.assertEqual(self.wait_for("both", tries=2, busy=False)["layers"], "relu2+relu1")
        self.choose("features.beside", "features.beside=nothing")
        self.assertEqual(self.wait_for("one again", tries=3, busy=False)["layers"], "relu2")

    def test_a_try_is_cancelled_at_any_moment(self):
        self.open_features(model="autoencoder")  # its features take a CPU a while
        self.click("features.judge")
        self.wait_for("work", busy=True, work=1)
        self.click("features.cancel")
        found = self.wait_for("the end", busy=False)
        self.assertEqual((found["cancelled"], found["tries"], found["failure"]), (True, 0, ""))
        self.item("features.judge")
        self.assertEqual(self.state(), "running")

    def test_a_search_fills_its_table_and_a_cell_is_judged(self):
        self.open_features()
        self.use_softmax()
        self.judge()
        self.click("features.view_of.grid")
        self.click("features.search")
        found = self.wait_for("all cells", busy=False, cells=6)
        self.assertEqual(found["tries"], 1)
        self.click("features.cell.0.1")
        chosen = self.wait_for("the cell's C on the test images", tries=2, busy=False)
        self.assertAlmostEqual(chosen["c"], 1e-4)

    def test_pictures_move_the_cursor(self):
        self.open_features()
        self.use_softmax()
        self.judge()
        self.click("features.view_of.images")
        place = self.item("features.picture.0")
        wait_until(lambda: colors_in(self.grab(place)) > 8, "a picture", self.process)
        for cell in (3, 1):
            image = self.wait_for("pictures", lambda newest: len(newest["pictures"]) == 8)["pictures"][cell]
            self.click(f"features.picture.{cell}")
            self.wait_for("the image clicked", image=image)
        self.click("features.pictures.support")
        self.wait_for("no support vectors of a softmax regression", pictures=[])

    def test_a_finished_run_is_judged_by_its_checkpoint(self):
        trained = self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "32",
                                   "--steps", "30", "--test-images", "64", "--precision", "fp32",
                                   "--run-dir", self.run_dir)
        self.assertEqual(trained.code, 0, trained.err)
        self.open_window(view=True, until="finished")
        self.click("tabs.Features")
        found = self.judge()
        self.assertEqual((found["step"], found["failure"]), (30, ""))
        self.assertGreater(found["accuracy"], 0.5)


if __name__ == "__main__":
    main()
