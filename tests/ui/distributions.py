"""How the numbers of layers are spread, over the steps."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, colors_in  # noqa: E402


class Distributions(WindowCase):
    PANEL = "distributions"

    def window_arguments(self, *more, model="mlp"):
        return ["--model", model, "--device", "cpu", "--data", self.data_for(model), "--batch", "8",
                "--test-images", "8", "--precision", "fp32", "--window-size", "1600x1000", *more]

    def open_distributions(self, **options):
        self.open_window(**options)
        self.click("tabs.Distributions")
        return wait_until(self.newest, "the first look", self.process)

    def test_distributions_follow_the_training_and_are_shown_in_three_ways(self):
        first = self.open_distributions()
        later = wait_until(lambda: self.newest()["moments"] > first["moments"] and self.newest(), "later moments",
                           self.process)
        self.assertGreater(later["step"], first["step"])
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.click("distributions.fc1.gradients")
        self.wait_for("the gradients of fc1", layer="fc1", quantity="gradients", view="heat map")
        heat_map = colors_in(self.grab(self.item("distributions.plot")))
        self.assertGreater(heat_map, 20)
        self.click("distributions.view.ridges")
        self.wait_for("the ridges", view="ridges")
        self.assertGreater(colors_in(self.grab(self.item("distributions.plot"))), 5)
        self.click("distributions.view.figures")
        self.wait_for("the figures", view="figures", figure="gradient norm")
        self.click("distributions.figure")
        self.click("distributions.figure=1")
        self.wait_for("the update ratio", figure="update ratio")

    def test_a_click_goes_to_a_step_and_a_row_to_a_layer(self):
        self.open_distributions()
        wait_until(lambda: self.newest()["moments"] > 1, "a second look", self.process)
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.click("distributions.layer.relu1")
        self.wait_for("the layer", layer="relu1")
        self.click("distributions.quantity.activations")
        now = self.wait_for("its activations", quantity="activations", chosen=False)
        self.click("distributions.plot")
        then = self.wait_for("the step in the middle", chosen=True)
        self.assertLess(then["step"], now["step"])

    def test_convolutions_are_seen_too(self):
        self.open_distributions(model="autoencoder")
        self.click("distributions.conv2.weights")
        self.wait_for("the layer", layer="conv2", quantity="weights")
        self.assertGreater(colors_in(self.grab(self.item("distributions.conv1.weights"))), 3)


if __name__ == "__main__":
    main()
