"""One cursor in all views: what is pointed at in one of them is seen in the others."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402


class Cursor(WindowCase):
    def window_arguments(self, *more, model=None, test_images=8):
        model = model or self.small_autoencoder()
        return ["--model", model, "--device", "cpu", "--data", self.data_for(model), "--batch", "4", "--test-images",
                str(test_images), "--precision", "fp32", "--run-dir", self.run_dir, "--window-size", "1600x1000", *more]

    def seen(self, kind):
        """The newest event of one kind."""
        events = self.events(kind)
        return events[-1] if events else {}

    def wait_for_event(self, kind, what, condition=None, **fields):
        def found():
            newest = self.seen(kind)
            good = newest and all(newest.get(name) == value for name, value in fields.items())
            return newest if good and (condition is None or condition(newest)) else None
        return wait_until(found, f"{what}, {self.seen(kind)}", self.process)

    def pause(self):
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.point_away()

    def settled_predictions(self):
        """Those of the last evaluation of a training that is paused."""
        return self.wait_for_event("predictions", "the last evaluation", step=self.settled_evaluation())

    def settled_map(self):
        """The places of a training that is paused move no more."""
        return self.wait_for_event("latent", "the last map", step=self.settled_step())

    def lasso(self, *corners):
        self.click("latent.tool.lasso")
        self.drag(*corners)

    def test_an_image_of_predictions_goes_through_the_network_and_back(self):
        self.open_window(model="mlp", test_images=64)
        self.wait_for_event("predictions", "predictions")
        self.pause()
        first = self.settled_predictions()
        self.assertEqual(first["label"], -1)
        self.click("predictions.cell.0")
        self.point_away()
        self.wait_for_event("predictions", "the worst image", image=first["first"], label=first["first_truth"])
        self.click("tabs.Network")
        self.wait_for_event("network", "it in the network", image=first["first"])
        way = "network.image.less" if first["first"] > 0 else "network.image.more"
        self.click(way)
        other = first["first"] + (-1 if way.endswith("less") else 1)
        self.wait_for_event("predictions", "the one beside it", image=other)
        self.click("images.Confusion")
        self.item("confusion.pointed")

    def test_the_matrix_keeps_to_the_images_of_a_lasso_until_its_chip_is_clicked(self):
        self.open_window(model="mlp", test_images=64)
        self.wait_for_event("predictions", "predictions")
        self.click("tabs.Latent")
        self.wait_for_event("latent", "the map")
        self.pause()
        self.click("images.Confusion")
        everything = self.wait_for_event("confusion", "all images", selected=0)
        place = self.item("latent.map")
        middle, bottom = place.x + place.w // 2, place.y + place.h - 3
        self.lasso((place.x + 2, place.y + 2), (middle, place.y + 2), (middle, bottom), (place.x + 2, bottom))
        some = self.wait_for_event("confusion", "a part of them", lambda seen: seen["selected"] > 0)
        self.assertLess(some["total"], everything["total"])
        self.assertLessEqual(some["total"], some["selected"])
        self.click("confusion.selection")
        self.wait_for_event("confusion", "all again", selected=0, total=everything["total"])
        self.wait_for_event("latent", "no selection", selected=0)

    def test_pictures_keep_to_the_images_of_a_lasso(self):
        self.open_window()
        self.click("tabs.Latent")
        self.wait_for_event("latent", "the map")
        self.pause()
        self.settled_map()
        everything = self.wait_for_event("pictures", "all images", selected=0)["images"]
        wanted = everything[-1]
        place = self.item(f"latent.image.{wanted}")
        left, top, right, bottom = place.x, place.y, place.x + place.w, place.y + place.h
        self.lasso((left, top), (right, top), (right, bottom), (left, bottom))
        some = self.wait_for_event("pictures", "some images", lambda seen: seen["selected"] > 0)
        self.assertIn(wanted, some["images"])
        self.assertLess(len(some["images"]), len(everything))
        self.item("images.selection")
        self.key("Escape")
        self.wait_for_event("pictures", "all again", images=everything)

    def test_kernels_follow_a_layer_and_choose_one(self):
        self.open_window()
        self.click("tabs.Network")
        self.wait_for_event("network", "the network")
        self.pause()
        self.click("network.layer.conv4")
        self.wait_for_event("network", "the layer", output="conv4")
        self.click("tabs.Kernels")
        self.wait_for_event("kernels", "its layer", layer="conv4", open=["conv2d.forward"])
        row = self.item("kernels.conv2d.forward.conv4")
        other = self.item("kernels.conv2d.forward.conv5")
        self.point_away()
        tinted = lambda place: self.grab(place)[2:-2, -6:-2].reshape(-1, 3).mean(axis=0)  # noqa: E731

        def marked():
            seen, plain = tinted(row), tinted(other)
            return seen[2] - plain[2] > 20  # the accent is blue
        wait_until(marked, "the row to be marked", self.process)
        self.click("kernels.conv2d.forward.conv5")
        self.wait_for_event("kernels", "the row that was clicked", layer="conv5")
        self.click("tabs.Network")
        self.wait_for_event("network", "it in the network", output="conv5")

    def test_a_click_on_the_shares_of_time_shows_that_step_in_all_views(self):
        self.open_window()
        self.click("tabs.Time")
        self.wait_for_event("time", "shares over steps", lambda seen: seen["points"] > 4)
        self.pause()
        self.wait_for_event("curves", "no step yet", cursor=None)
        self.click("time.history")
        self.wait_for_event("curves", "the step that was clicked", lambda seen: seen["cursor"] is not None)
        self.click("time.history")
        self.wait_for_event("curves", "the newest", cursor=None)

    def test_all_views_show_a_pinned_step_until_escape(self):
        self.open_window(model="mlp", test_images=64)
        self.click("tabs.Network")
        self.wait_for_event("network", "several looks", lambda seen: seen["number"] > 2)
        self.click("tabs.Time")
        self.wait_for_event("time", "shares over steps", lambda seen: seen["points"] > 8)
        self.pause()
        last = self.settled_step()
        place = self.item("time.history")
        self.point_at(place.x + place.w // 4, place.y + place.h // 2)
        self.press()
        self.press(False)
        self.point_away()
        earlier = lambda seen: seen["step"] is not None and seen["step"] < last  # noqa: E731
        self.wait_for_event("curves", "the step that was clicked", lambda seen: (seen["cursor"] or last) < last)
        self.wait_for_event("time", "its calls", earlier)
        self.item("step.time")
        self.click("tabs.Kernels")
        self.wait_for_event("kernels", "its times", earlier)
        self.click("tabs.Network")
        self.wait_for_event("network", "the activations next to it", earlier)
        self.item("step.network")
        self.key("Escape")
        self.wait_for_event("curves", "no step", cursor=None)
        self.wait_for_event("network", "the newest activations", step=last)

    def pin_a_step_that_was_not_kept(self, *more):
        """Of a training that is paused: that step and the one at which it stands."""
        self.open_window(*more, model="mlp", test_images=64)
        self.click("tabs.Network")
        self.wait_for_event("network", "several looks", lambda seen: seen["number"] > 2)
        self.pause()
        last = self.settled_step()
        plot = self.item("loss.plot")
        looked = {event["step"] for event in self.events("network")}
        for part in range(40, 90):  # a step at which nobody has looked
            self.point_at(plot.x + plot.w * part // 100, plot.y + plot.h // 2)
            at = self.wait_for_event("curves", "the step under the pointer", lambda seen: seen["cursor"] is not None)
            if 0 < at["cursor"] < last and at["cursor"] not in looked:
                break
        self.press()
        self.press(False)
        self.point_away()
        wanted = self.seen("curves")["cursor"]
        self.assertNotIn(wanted, looked)
        self.wait_for_event("network", "the nearest", lambda seen: seen["step"] != wanted)
        return wanted, last

    def test_a_pinned_step_that_was_not_kept_is_computed_aside_while_the_training_goes_on(self):
        wanted, last = self.pin_a_step_that_was_not_kept()
        self.click("step.aside.network")
        self.wait_for_event("network", "the step itself", step=wanted)
        self.wait_for_event("predictions", "predictions of that step", step=wanted)
        self.assertEqual(self.settled_step(), last, "the training is not moved")
        self.click("toolbar.pause")
        wait_until(lambda: self.drawn("step")[0] > last, "more steps", self.process)
        self.assertEqual(self.seen("network")["step"], wanted)
        self.assertEqual(self.seen("curves")["cursor"], wanted)
        self.key("Escape")
        self.wait_for_event("curves", "no step", cursor=None)
        self.wait_for_event("network", "the newest activations", lambda seen: seen["step"] > last)

    def test_a_pinned_step_of_two_ranks_is_computed_aside(self):
        wanted, last = self.pin_a_step_that_was_not_kept("--ranks", "2")
        self.click("step.aside.network")
        self.wait_for_event("network", "the step itself", step=wanted)
        self.assertEqual(self.settled_step(), last, "the training is not moved")

    def test_all_views_show_a_pinned_step_that_was_not_kept_once_the_training_is_rewound_to_it(self):
        wanted, _ = self.pin_a_step_that_was_not_kept()
        self.click("step.rewind.network")
        self.wait_for_event("network", "the step itself", step=wanted)
        self.wait_for_event("predictions", "predictions of that step", step=wanted)
        self.assertEqual(self.state(), "paused")
        self.assertEqual(self.seen("curves")["cursor"], wanted)


if __name__ == "__main__":
    main()
