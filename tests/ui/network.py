"""Inside the network: layers, channels and the sum behind a pixel."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, colors_in  # noqa: E402


class Network(WindowCase):
    PANEL = "network"

    def window_arguments(self, *more, model="autoencoder"):
        return ["--model", model, "--device", "cpu", "--data", self.data_for(model), "--batch", "4",
                "--test-images", "8", "--precision", "fp32", "--window-size", "1600x1000", *more]

    def open_network(self, **options):
        self.open_window(**options)
        self.click("tabs.Network")
        return wait_until(self.newest, "the first look into the network", self.process)

    def test_a_pixel_opens_the_sum_that_made_it(self):
        self.open_network()
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.click("network.layer.relu1")
        self.wait_for("its channels", output="relu1", tiles=256)
        wait_until(lambda: colors_in(self.grab(self.item("network.tile.0"))) > 1, "its picture", self.process)
        self.click("network.tile.5")
        self.wait_for("the channel", channel=5)
        self.click("network.enlarged")
        shown = wait_until(lambda: "sum" in self.newest() and self.newest(), "the sum", self.process)
        self.assertEqual(shown["terms"], 27)
        self.assertAlmostEqual(shown["value"], max(0.0, shown["sum"]), places=5)

    def test_it_follows_the_training_and_the_image_that_is_pointed_at(self):
        first = self.open_network(model=self.small_autoencoder())
        wait_until(lambda: self.newest()["step"] > first["step"], "a later step", self.process)
        self.click("images.original.2")
        self.wait_for("the image clicked", image=2)
        self.click("network.image.more")
        self.wait_for("the image after it", image=3)

    def test_the_images_that_excite_a_channel_most_are_shown_and_can_be_chosen(self):
        self.open_network(model="mlp")
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.click("network.layer.relu1")
        shown = self.wait_for("its images at the last step", lambda now: now["output"] == "relu1" and
                              len(now["exciting"]) == 8 and (now["step"],) == self.drawn("step"))
        self.assertEqual(len(set(shown["exciting"])), 8)
        wait_until(lambda: colors_in(self.grab(self.item("network.exciting.0"))) > 1, "its picture", self.process)
        wanted = next(place for place in range(8) if shown["exciting"][place] != shown["image"])
        self.click(f"network.exciting.{wanted}")
        self.wait_for("the image clicked", image=shown["exciting"][wanted])
        self.click("network.exciting.maximum")
        self.wait_for("the other measure", lambda now: now["measure"] == 1 and now["exciting"] == shown["exciting"])
        self.click("network.tile.5")
        self.wait_for("those of another channel", channel=5, condition=lambda now: now["exciting"] != shown["exciting"])

    def test_filters_and_gradients_are_shown_of_layers_that_have_them(self):
        self.open_network()
        self.click("network.look.weights")
        self.wait_for("the filters", look=1, output="conv1", tiles=256)
        self.click("network.layer.relu1")
        self.wait_for("no filters", output="relu1", tiles=0)
        self.click("network.layer.conv2")
        self.wait_for("the next filters", output="conv2", tiles=128)
        self.click("network.look.gradients")
        self.wait_for("their gradients", look=2, tiles=128)

    def test_a_network_of_linear_layers_is_seen_too(self):
        self.open_network(model="mlp")
        self.click("network.layer.fc1")
        self.wait_for("its features", output="fc1", tiles=128)
        self.click("network.look.weights")
        self.wait_for("its filters", look=1, tiles=128)


if __name__ == "__main__":
    main()
