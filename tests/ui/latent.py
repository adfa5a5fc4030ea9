"""Latents in the plane: the map, the lasso that all views follow, and the decoder's pictures."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402


class Latent(WindowCase):
    PANEL = "latent"

    def window_arguments(self, *more, model=None, test_images=8, size="1600x1000"):
        model = model or self.small_autoencoder()
        return ["--model", model, "--device", "cpu", "--data", self.data_for(model), "--batch", "4", "--test-images",
                str(test_images), "--precision", "fp32", "--window-size", size, *more]

    def open_latent(self, **options):
        self.open_window(**options)
        return self.show_latent()

    def show_latent(self):
        """The map of a training that is paused once it is there."""
        self.click("tabs.Latent")
        wait_until(self.newest, "the first map", self.process)
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.point_away()
        return self.newest()

    def lasso_all(self):
        """Draws a lasso along the edge of the plane."""
        place = self.item("latent.map")
        left, top, right, bottom = place.x + 2, place.y + 2, place.x + place.w - 3, place.y + place.h - 3
        self.click("latent.tool.lasso")
        self.drag((left, top), (right, top), (right, bottom), (left, bottom), (left, top + 4))

    def test_the_plane_shows_test_images_and_follows_the_one_clicked(self):
        found = self.open_latent(model="autoencoder")
        self.assertEqual((found["layer"], found["numbers"], found["decodes"]), ("pool2", 8192, True))
        self.assertGreater(found["count"], 1)
        self.assertGreater(colors_in(self.grab(self.item("latent.map"))), 50)
        last = found["count"] - 1  # it is drawn last, so it lies on top

        def chosen():
            self.click(f"latent.image.{last}")  # a newer map may have moved it
            return self.newest()["image"] == last
        wait_until(chosen, "the image clicked", self.process)
        self.click("images.original.2")
        self.wait_for("the image clicked elsewhere", image=2)

    def test_a_lasso_selects_images_and_escape_lets_them_go(self):
        found = self.open_latent()
        self.lasso_all()
        self.wait_for("all images", selected=found["count"])
        self.item("latent.figures")
        self.key("Escape")
        self.wait_for("no selection", selected=0)

    def test_the_decoder_shows_the_way_from_one_image_to_another(self):
        self.open_latent()
        self.wait_for("the strip and the large picture", pictures=9)
        self.click("latent.strip.0")
        first = self.settled_picture()
        self.click("latent.strip.8")
        wait_until(lambda: (self.settled_picture() != first).any(), "another picture", self.process)

    def test_a_narrow_tab_asks_for_no_pictures_that_it_does_not_show(self):
        folder = os.path.join(self.home, "config", "warpscope")
        os.makedirs(folder)
        with open(os.path.join(folder, "window.json"), "w", encoding="utf-8") as file:
            file.write('{"format": 1, "layout": {"docked": {"panels": ["latent"]}, "floating": []}}')
        self.open_window(size="520x620")
        wait_until(self.newest, "the first map", self.process)
        self.wait_for("later maps", lambda now: now["number"] > 2)
        maps = [event for event in self.events("latent")]
        self.assertEqual({event["pictures"] for event in maps}, {0})
        self.assertNotIn("latent.way.components", self.layout())

    def settled_picture(self):
        self.point_away()
        return self.grab(self.item("latent.picture"))

    def test_the_decoder_follows_the_components(self):
        self.open_latent()
        self.click("latent.way.components")
        self.wait_for("one picture", pictures=1)
        before = self.settled_picture()
        slider = self.item("latent.component.0")
        self.drag(center(slider), (slider.x + slider.w // 4, slider.y + slider.h // 2))
        wait_until(lambda: (self.settled_picture() != before).any(), "another picture", self.process)
        moved = self.settled_picture()
        self.click("latent.zero")
        wait_until(lambda: (self.settled_picture() != moved).any(), "the picture without deviations", self.process)

    def test_predictions_keep_to_the_images_of_a_lasso(self):
        self.open_window(model="mlp", test_images=128)
        wait_until(lambda: self.events("predictions"), "predictions", self.process)
        found = self.show_latent()
        self.assertFalse(found["decodes"])
        evaluated = self.events("predictions")[-1]["count"]
        place = self.item("latent.map")
        self.click("latent.tool.lasso")
        middle = place.x + place.w // 2
        self.drag((place.x + 2, place.y + 2), (middle, place.y + 2), (middle, place.y + place.h - 3),
                  (place.x + 2, place.y + place.h - 3))
        selected = wait_until(lambda: self.newest()["selected"], "a part of the images", self.process)
        self.assertLess(selected, found["count"])
        wait_until(lambda: self.events("predictions")[-1]["count"] == selected, "the selected ones", self.process)
        self.key("Escape")
        wait_until(lambda: self.events("predictions")[-1]["count"] == evaluated, "all of them", self.process)


if __name__ == "__main__":
    main()
