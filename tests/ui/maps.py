"""Maps of the latents by t-SNE and UMAP beside a training on the CPU, and in a view of a finished run."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, colors_in  # noqa: E402


class Maps(WindowCase):
    PANEL = "latent"

    def window_arguments(self, *more, view=False):
        if view:
            return ["view", self.run_dir, "--window-size", "1600x1000", *more]
        return ["--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "32", "--test-images", "64",
                "--precision", "fp32", "--run-dir", self.run_dir, "--window-size", "1600x1000", *more]

    def open_latent(self, **options):
        self.open_window(**options)
        self.click("tabs.Latent")

    def begin(self, method):
        """Chooses a method, which begins to make a map, and takes few images, which begins another one."""
        self.click(f"latent.method.{method}")
        self.wait_for("its first points", lambda now: now.get("iterations", 0) > 0)  # no menu is open when they come
        self.choose("latent.images", "latent.images=300")

    def take(self, method):
        """Chooses a method and waits for its map of few images."""
        self.begin(method)
        return self.wait_for(f"the map of {method}", lambda now: 0 < now["iterations"] == now["iteration"], busy=False,
                             method={"t-SNE": "tsne", "UMAP": "umap"}[method], failure="", count=300)

    def lasso_left_half(self):
        place = self.item("latent.map")
        left, top, bottom, middle = place.x + 2, place.y + 2, place.y + place.h - 3, place.x + place.w // 2
        self.drag((left, top), (middle, top), (middle, bottom), (left, bottom))

    def test_a_map_moves_beside_the_training_and_its_lasso_selects_everywhere(self):
        self.open_latent()
        wait_until(lambda: self.events("predictions"), "predictions", self.process)
        self.begin("t-SNE")
        wait_until(lambda: any(event.get("iterations", 0) > event.get("iteration", 0) > 0 and event["count"] == 300
                               for event in self.events("latent")), "points that have begun to move", self.process)
        found = self.wait_for("the map", lambda now: now["iteration"] == now["iterations"], count=300, busy=False)
        self.assertEqual((found["method"], found["failure"], found["layer"]), ("tsne", "", "relu2"))
        self.assertEqual(self.state(), "running")
        self.point_away()
        self.assertGreater(colors_in(self.grab(self.item("latent.map"))), 50)
        self.click("latent.tool.lasso")
        self.lasso_left_half()
        selected = wait_until(lambda: self.newest()["selected"], "a part of the images", self.process)
        self.assertLess(selected, 300)
        wait_until(lambda: self.events("predictions")[-1]["count"] < 64, "the predictions of those", self.process)
        self.item("predictions.selection")
        self.key("Escape")
        self.wait_for("no selection", selected=0)

    def test_a_map_is_made_again_of_newer_weights_and_with_other_numbers(self):
        self.open_latent()
        first = self.take("UMAP")
        self.enter("latent.neighbours", "8")
        again = self.wait_for("the map of the same features", lambda now: now["iteration"] == now["iterations"],
                              number=first["number"] + 1, busy=False)
        self.assertEqual((again["step"], again["reused"]), (first["step"], True))
        self.click("latent.make")
        newer = self.wait_for("the map of newer weights", lambda now: now["iteration"] == now["iterations"],
                              number=first["number"] + 2, busy=False)
        self.assertGreater(newer["step"], first["step"])
        self.assertFalse(newer["reused"])

    def test_a_map_is_cancelled_and_the_components_live_on(self):
        self.open_latent()
        self.click("latent.method.t-SNE")
        self.wait_for("points", lambda now: now.get("iterations", 0) > now["iteration"] > 0, busy=True)
        self.click("latent.cancel")
        ended = self.wait_for("the end", busy=False)
        self.assertEqual((ended["cancelled"], ended["failure"]), (True, ""))
        self.assertLess(ended["iteration"], ended["iterations"])
        self.item("latent.only_pca")
        self.click("latent.method.PCA")
        live = self.wait_for("the components", method="pca")
        self.wait_for("later components", lambda now: now["number"] > live["number"], method="pca")

    def test_pointing_at_an_image_of_a_map_moves_the_cursor(self):
        self.open_latent()
        self.take("UMAP")

        def chosen():
            self.click("latent.image.299")
            return self.newest()["image"] > 0
        wait_until(chosen, "an image", self.process)

    def test_the_palette_makes_a_map(self):
        self.open_window()
        self.do_by_palette("by umap", "Map the latents by UMAP")
        self.wait_for("the map", lambda now: now.get("iterations", 0) > 0, method="umap")

    def test_a_finished_run_is_mapped_by_its_checkpoint(self):
        trained = self.run_program("train", "--model", "mlp", "--device", "cpu", "--data", "builtin", "--batch", "32",
                                   "--steps", "30", "--test-images", "64", "--precision", "fp32",
                                   "--run-dir", self.run_dir)
        self.assertEqual(trained.code, 0, trained.err)
        self.open_latent(view=True, until="finished")
        found = self.take("UMAP")
        self.assertEqual((found["step"], found["count"]), (30, 300))
        self.click("latent.tool.lasso")
        self.lasso_left_half()
        self.wait_for("a selection", lambda now: 0 < now["selected"] < 300)


if __name__ == "__main__":
    main()
