"""The curves panel: metrics, earlier runs laid over the present one, and the plot as files."""
import json
import os
import sys
import xml.etree.ElementTree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import (ACCENT, TEST_CURVE, TRAIN_CURVE, WindowCase, colors_in, overlap, pixels_near,  # noqa: E402
                           read_picture)

# From the palette of data (ui/widgets/theme.cpp): the first colour an earlier run gets, and the one chosen for it.
GREEN, PURPLE, PURPLE_INDEX = (0x00, 0x9E, 0x73), (0xCC, 0x79, 0xA7), 3
SVG = "{http://www.w3.org/2000/svg}"


class Curves(WindowCase):
    def make_run(self, name, steps, rate, status="finished"):
        folder = self.path(name)
        os.mkdir(folder)
        head = {"format": 1, "status": status, "started": "2026-01-02T03:04:05Z", "steps": steps,
                "final_train_loss": 0.02, "configuration": {"model": "autoencoder", "optimizer": "adam",
                                                            "learning_rate": rate, "batch": 4}}
        with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
            json.dump(head, file)
        self.add_steps(name, 1, steps)

    def add_steps(self, name, first, last):
        with open(os.path.join(self.path(name), "metrics.jsonl"), "a", encoding="utf-8") as file:
            for step in range(first, last + 1):
                line = {"step": step, "epoch": step / 100, "loss": 0.3 / (1 + step / 20), "learning_rate": 0.01,
                        "seconds": step / 10, "gradient_norm": 2.0}
                file.write(json.dumps(line) + "\n")

    def curves(self):
        return self.events("curves")[-1]

    def wait_for_run(self, what, name, **fields):
        def found():
            return any(run["name"] == name and all(run[key] == value for key, value in fields.items())
                       for run in self.curves()["runs"])
        wait_until(found, what, self.process)

    def wait_for_pixels(self, what, color, some):
        """Waits until the plot has pixels of `color`, or has none."""
        self.point_away()

        def seen():
            return (pixels_near(self.grab(self.item("loss.plot")), color, 24) > 40) == some
        wait_until(seen, what, self.process)


class EarlierRuns(Curves):
    def open_list(self, *names):
        self.open_paused()
        self.click("loss.runs")
        for name in names:
            self.item(f"runs.run.{name}")

    def test_an_earlier_run_is_shown_hidden_recoloured_and_removed(self):
        self.make_run("earlier", 400, 0.01)
        self.open_list("earlier")
        self.click("runs.run.earlier")
        self.wait_for_run("its curve", "earlier", visible=True, points=400)
        self.wait_for_pixels("its curve in the plot", GREEN, True)
        self.item("loss.legend.run.earlier")
        self.click("runs.run.earlier")
        self.wait_for_run("it to be hidden", "earlier", visible=False)
        self.wait_for_pixels("its curve to go", GREEN, False)
        self.click("runs.run.earlier")
        self.wait_for_run("it to come back", "earlier", visible=True)
        self.choose("runs.swatch.earlier", f"runs.color.{PURPLE_INDEX}", opens="runs.palette")
        self.wait_for_run("the other colour", "earlier", color=PURPLE_INDEX)
        self.wait_for_pixels("the curve in its new colour", PURPLE, True)
        self.click("runs.remove.earlier")
        wait_until(lambda: not self.curves()["runs"], "it to leave the view", self.process)
        self.wait_for_pixels("the curve to leave the plot", PURPLE, False)

    def test_a_run_that_is_still_written_is_followed(self):
        self.make_run("growing", 50, 0.01, status="running")
        self.open_list("growing")
        self.click("runs.run.growing")
        self.wait_for_run("its curve", "growing", points=50)
        self.add_steps("growing", 51, 80)
        self.wait_for_run("the new steps", "growing", points=80)

    def test_other_metrics_and_axes_are_those_of_earlier_runs_too(self):
        self.make_run("earlier", 60, 0.01)
        self.open_list("earlier")
        self.click("runs.run.earlier")
        self.wait_for_run("its curve", "earlier", points=60)
        self.key("3")
        wait_until(lambda: self.curves()["metric"] == "gradient_norm", "the gradient norm", self.process)
        self.wait_for_run("its gradient norm", "earlier", points=60)
        self.choose("loss.x", "loss.x.epochs")
        wait_until(lambda: self.curves()["over"] == 1, "epochs", self.process)
        self.wait_for_run("its curve over epochs", "earlier", points=60)
        self.key("4")
        self.wait_for_run("no update ratio, which it does not have", "earlier", points=0)

    def test_a_damaged_run_does_no_harm(self):
        self.make_run("earlier", 20, 0.01)
        os.mkdir(self.path("damaged"))
        with open(os.path.join(self.path("damaged"), "run.json"), "wb") as file:
            file.write(b'{"status": "fin\xff')
        self.add_steps("damaged", 1, 5)
        with open(os.path.join(self.path("damaged"), "metrics.jsonl"), "ab") as file:
            file.write(b"\x00\xffnonsense\n{}\n[1,2\n")
        self.open_list("earlier", "damaged")
        self.click("runs.run.damaged")
        self.wait_for_run("what can be read of it", "damaged", points=5)
        self.assertEqual(self.close_window().code, 0)


class Metrics(Curves):
    def test_keys_and_the_menu_choose_the_metric(self):
        self.open_paused(steps=3)
        self.key("5")
        wait_until(lambda: self.curves()["metric"] == "learning_rate", "the learning rate", self.process)
        self.choose("loss.metric", "loss.metric.images_per_second")
        wait_until(lambda: self.curves()["metric"] == "images_per_second", "the speed", self.process)
        self.key("2")
        self.wait_for_notice("does not classify")
        self.assertEqual(self.curves()["metric"], "images_per_second")
        self.key("6")
        self.wait_for_notice("Only FP16 scales the loss")


class Rewinding(Curves):
    def open_menu_in_the_middle(self):
        plot = self.item("loss.plot")
        x, y = plot.x + plot.w // 2, plot.y + plot.h // 2
        self.point_at(x, y)
        self.xdotool("mousedown", "3")
        self.point_at(x + 1, y)  # a frame between
        self.xdotool("mouseup", "3")
        self.point_at(x, y)

    def test_a_right_click_lets_look_at_that_step_where_the_training_is(self):
        last = self.open_paused(steps=20)
        self.open_menu_in_the_middle()
        self.click("loss.rewind.look")
        self.point_away()
        wait_until(lambda: self.curves()["cursor"] is not None and 0 < self.curves()["cursor"] < last, "a pinned step",
                   self.process)
        self.click("toolbar.step")
        wait_until(lambda: self.drawn("step") == (last + 1,), "the next step of the training", self.process)
        self.assertTrue(0 < self.curves()["cursor"] < last, "the step stays pinned")

    def test_a_right_click_rewinds_the_training_to_that_step_and_undo_and_its_branch_return(self):
        last = self.open_paused(steps=20)
        self.open_menu_in_the_middle()
        self.click("loss.rewind.go")
        wait_until(lambda: 0 < self.drawn("step")[0] < last, "an earlier step", self.process)
        middle = self.drawn("step")[0]
        self.key("ctrl+z")
        wait_until(lambda: self.drawn("step") == (last,), "the step that was left", self.process)
        self.click("loss.runs")
        self.click("runs.branch.1")
        wait_until(lambda: self.drawn("step") == (middle,), "the branch in the list of runs", self.process)


    def open_changed(self, steps=3, more=4):
        """A paused training whose rate was changed some steps ago; where that was, and where it is."""
        changed = self.open_paused(steps=steps)
        self.enter("training.learning_rate", "0.001")
        self.wait_for_marker("learning rate: 0.0005 -> 0.001")
        for step in range(changed + 1, changed + more + 1):
            self.click("toolbar.step")
            self.wait_for_drawn_step(step, "another step")
        self.point_away()
        return changed, changed + more

    def wait_for_drawn_step(self, step, what):
        wait_until(lambda: self.drawn("step") == (step,), what, self.process)

    def test_undo_of_a_setting_goes_back_with_the_weights_and_redo_to_where_it_was(self):
        changed, last = self.open_changed()
        self.key("ctrl+z")
        self.wait_for_notice(f"undone: back to step {changed}, before learning rate: 0.0005 -> 0.001; what came after "
                             "is "
                             "kept as a branch")
        self.wait_for_drawn_step(changed, "the step before the change")
        self.wait_for_marker(f"went back to step {changed}, before learning rate: 0.0005 -> 0.001")
        self.key("Right")
        self.wait_for_drawn_step(changed + 1, "a step from there")
        self.key("ctrl+y")
        self.wait_for_notice("redone: learning rate")
        self.wait_for_drawn_step(last, "where the training was")
        self.key("ctrl+z")
        self.wait_for_drawn_step(changed + 1, "where the other had come")
        self.click("loss.runs")
        self.item("runs.branch.0")

    def test_only_the_setting_is_set_back_where_that_is_wanted(self):
        changed, last = self.open_changed()
        self.key("ctrl+z")
        self.wait_for_drawn_step(changed, "the step before the change")
        self.click("notice.offer")
        self.wait_for_drawn_step(last, "where the training was")
        marker = self.wait_for_marker("learning rate: 0.001 -> 0.0005")
        self.assertEqual(marker["step"], last)
        self.key("ctrl+shift+z")
        self.wait_for_notice("redone: learning rate")
        self.key("ctrl+alt+z")
        self.wait_for_notice("only the setting")
        self.wait_for_drawn_step(last, "the weights stay")

    def test_many_undos_at_once_come_one_after_another(self):
        changed, last = self.open_changed()
        self.enter("training.learning_rate", "0.002")
        self.wait_for_marker("learning rate: 0.001 -> 0.002")
        self.click("toolbar.step")
        self.wait_for_drawn_step(last + 1, "another step")
        self.point_away()
        self.key("ctrl+z", "ctrl+z")
        self.wait_for_notice(f"undone: back to step {changed}, before learning rate: 0.0005 -> 0.001")
        self.wait_for_drawn_step(changed, "the step before both")
        self.key("ctrl+y", "ctrl+y")
        self.wait_for_drawn_step(last + 1, "where the training was")


class Plots(Curves):
    def wait_for_curves(self, what, **fields):
        wait_until(lambda: all(self.curves()[key] == value for key, value in fields.items()), what, self.process)

    def open_with_steps(self, steps=4, **options):
        last = self.open_paused(steps=steps, **options)
        wait_until(lambda: (self.drawn("points") or (0,))[0] == last, "all points", self.process)
        return last

    def places(self, name="loss.plot"):
        """Three places in a plot, from the left to the right, away from flags and labels."""
        plot = self.item(name)
        return [(plot.x + int(plot.w * part), plot.y + plot.h // 2) for part in (0.3, 0.5, 0.7)]

    def test_plots_are_added_chosen_and_removed(self):
        self.open_with_steps()
        self.wait_for_curves("one plot", metrics=["loss"])
        self.click("loss.add")
        self.wait_for_curves("another", metrics=["loss", "gradient_norm"])
        first, second = self.item("loss.plot"), self.item("loss.2.plot")
        self.assertFalse(overlap(first, second))
        self.choose("loss.2.metric", "loss.2.metric.learning_rate")
        self.wait_for_curves("the rate", metrics=["loss", "learning_rate"])
        self.point_at(*self.places("loss.2.plot")[1])
        self.key("7")
        self.wait_for_curves("the speed, in the plot under the pointer", metrics=["loss", "images_per_second"])
        self.key("ctrl+z")
        self.wait_for_curves("the rate again", metrics=["loss", "learning_rate"])
        self.click("loss.close")
        self.wait_for_curves("only the second", metrics=["learning_rate"])
        self.assertEqual(self.close_window().code, 0)

    def test_a_drag_zooms_all_plots_and_a_button_shows_everything(self):
        self.open_with_steps()
        self.click("loss.add")
        self.item("loss.2.plot")
        left, _, right = self.places()
        self.drag(left, right)
        wait_until(lambda: self.curves()["zoom"], "the range", self.process)
        low, high = self.curves()["zoom"]
        self.assertLess(low, high)
        self.assertFalse(self.curves()["fit_x"])
        self.click("loss.fit")
        self.wait_for_curves("everything", fit_x=True)

    def test_a_shift_drag_measures_a_range(self):
        self.open_with_steps()
        left, middle, right = self.places()
        self.point_at(*left)
        self.xdotool("keydown", "shift")
        self.addCleanup(self.xdotool, "keyup", "shift", check=False)
        self.drag(left, middle, right)
        wait_until(lambda: self.curves()["measured"], "the range", self.process)
        low, high = self.curves()["measured"]
        self.assertLess(low, high)
        self.wait_for_curves("no zoom", fit_x=True)
        self.click("loss.plot")
        self.wait_for_curves("no range", measured=None)
        self.xdotool("keyup", "shift")

    def test_the_step_under_the_pointer_is_the_one_whose_pictures_are_shown(self):
        last = self.open_with_steps(steps=12)
        left, middle, _ = self.places()
        self.point_at(*left)
        early = wait_until(lambda: self.curves()["cursor"], "the step under the pointer", self.process)
        self.assertLess(early, last)
        wait_until(lambda: self.events("images")[-1]["step"] < last, "pictures of then", self.process)
        self.point_away()
        self.wait_for_curves("the newest again", cursor=None)
        self.point_at(*middle)
        self.press()
        self.press(False)
        self.point_away()
        kept = wait_until(lambda: self.curves()["cursor"], "the step that was clicked", self.process)
        self.assertGreaterEqual(kept, early)
        wait_until(lambda: pixels_near(self.grab(self.item("loss.plot")), ACCENT, 24) > 60, "its line", self.process)
        self.click("images.newest")
        self.wait_for_curves("the slider's answer", cursor=None)

    def test_the_axis_of_steps_can_be_logarithmic_and_is_remembered(self):
        self.open_with_steps()
        self.click("loss.log_x")
        self.wait_for_curves("the axis", log_x=True)
        self.wait_for_pixels("the curve", TRAIN_CURVE, True)
        self.click("loss.add")
        self.wait_for_curves("another plot", metrics=["loss", "gradient_norm"])
        self.assertEqual(self.close_window().code, 0)
        self.open_window(run_dir=self.path("again"))
        self.wait_for_curves("the same plots", log_x=True, metrics=["loss", "gradient_norm"])

    def test_what_is_visible_is_copied_as_csv(self):
        last = self.open_with_steps()
        self.key("ctrl+c")
        self.settled_step()
        self.assertEqual(self.events("copied"), [], "the pointer is not over a plot")
        self.point_at(*self.places()[1])
        self.key("ctrl+c")
        copied = wait_until(lambda: self.events("copied"), "the copy", self.process)[0]
        self.assertTrue(copied["header"].startswith("step,loss train,loss train averaged"), copied["header"])
        self.assertGreaterEqual(copied["rows"], last)
        self.wait_for_notice("copied as CSV")
        self.click("loss.copy")
        wait_until(lambda: len(self.events("copied")) == 2, "the button's copy", self.process)

    def test_a_marker_is_named_and_keeps_its_name_in_the_run(self):
        self.open_with_steps()
        self.choose("kernels.bias.forward", "kernels.bias.forward=loops")
        self.wait_for_marker("bias.forward: onednn -> loops")
        self.key("space")
        self.wait_for_state("running")
        self.key("space")
        self.wait_for_state("paused")
        self.point_away()
        self.settled_step()
        place = self.item("plot.flag.0")
        self.point_at(place.x + min(6, place.w // 2), place.y + place.h // 2)
        self.press()
        self.press(False)
        field = self.item("loss.names.0")
        self.wait_for_keys("loss.names.0", field)
        self.key("s", "l", "o", "w", "Return")
        file = os.path.join(self.run_dir, "markers.json")
        wait_until(lambda: os.path.exists(file), "the file of names", self.process)
        with open(file, encoding="utf-8") as stream:
            name, = json.load(stream)["names"]
        self.assertEqual(name["name"], "slow")
        self.assertIn("bias.forward: onednn -> loops", name["text"])

    def test_a_finished_run_shows_its_curves_the_same_way(self):
        self.assert_succeeded(self.train("--run-dir", self.run_dir, steps=6))
        self.process = self.start("view", self.run_dir, "--window-size", "1280x800",
                                  environment=self.window_environment())
        self.wait_for_state("finished")
        self.window = wait_until(lambda: self.xdotool("search", "--onlyvisible", "--class", "warpscope", check=False),
                                 "the window", self.process).split()[0]
        self.xdotool("windowfocus", self.window)
        wait_until(lambda: (self.drawn("points") or (0,))[0] == 6, "its steps", self.process)
        self.key("8")
        self.wait_for_curves("its PSNR", metrics=["psnr"])
        wait_until(lambda: pixels_near(self.grab(self.item("loss.plot")), TEST_CURVE, 40) > 10, "its test",
                   self.process)
        self.click("loss.add")
        self.wait_for_curves("another plot", metrics=["psnr", "loss"])
        self.point_at(*self.places("loss.2.plot")[0])
        wait_until(lambda: self.curves()["cursor"], "a step of it", self.process)
        self.assertEqual(self.close_window().code, 0)


class Files(Curves):
    def saved(self, number):
        """The file of the n-th message that a plot was written."""
        def told():
            files = [event["text"].split("plot written: ")[1] for event in self.events("notice")
                     if "plot written: " in event["text"]]
            return files[number - 1] if len(files) >= number else None
        return wait_until(told, f"file {number}", self.process)

    def test_the_plot_is_saved_as_png_and_svg(self):
        self.make_run("earlier", 400, 0.01)
        self.open_paused(steps=3)
        self.click("loss.runs")
        self.click("runs.run.earlier")
        self.wait_for_run("its curve", "earlier", points=400)
        self.point_away()
        self.settled_step()

        place = self.item("loss.plot")
        self.key("p")
        first = self.saved(1)
        self.assertEqual(os.path.dirname(first), self.run_dir)
        picture = read_picture(first)
        self.assertLessEqual(abs(picture.shape[0] - 2 * place.h), 2)
        self.assertLessEqual(abs(picture.shape[1] - 2 * place.w), 2)
        self.assertGreater(colors_in(picture), 30)
        self.assertGreater(pixels_near(picture, GREEN, 24), 200)

        before = self.grab(place)
        self.choose("loss.save", "loss.save.png")
        second = self.saved(2)
        self.assertNotEqual(first, second)
        self.assertEqual(read_picture(second).shape, picture.shape)
        self.point_away()
        wait_until(lambda: (self.grab(place) == before).all(), "the window as it was before", self.process)

        self.key("v")
        document = xml.etree.ElementTree.parse(self.saved(3)).getroot()
        self.assertEqual(document.tag, SVG + "svg")
        texts = [text.text for text in document.iter(SVG + "text")]
        for name in ("train", "earlier train"):
            self.assertIn(name, texts)
        paths = [path for path in document.iter(SVG + "path") if path.get("class") == "curve"]
        self.assertGreaterEqual(len(paths), 2)

    def test_without_a_run_folder_it_goes_to_the_working_directory(self):
        os.makedirs(self.path("elsewhere"))
        self.process = self.start("--device", "cpu", *self.network_arguments(), "--data", self.small_data(), "--batch",
                                  "4", "--optimizer", "sgd", "--lr", "0.0005", "--test-images", "8", "--window-size",
                                  "1280x800", environment=self.window_environment(), cwd=self.path("elsewhere"))
        self.window = wait_until(lambda: self.xdotool("search", "--onlyvisible", "--class", "warpscope", check=False),
                                 "the window", self.process).split()[0]
        self.xdotool("windowfocus", self.window)
        wait_until(lambda: any(event["points"] > 0 for event in self.events("drawn")), "a step", self.process)
        self.key("v")
        self.wait_for_notice("plot written")
        self.assertTrue([name for name in os.listdir(self.path("elsewhere")) if name.endswith(".svg")])


if __name__ == "__main__":
    main()
