"""The tabs of the training panel in the real window: optimizer, schedule, finder, and what comes after divergence."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, markers_of, read_metrics, read_run, steps_of, wait_until  # noqa: E402
from window_driver import WindowCase, center  # noqa: E402


class Tabs(WindowCase):
    def open_tab(self, name, item):
        """Opens a tab and waits for an item of it."""
        self.click(f"training.{name}")
        return self.item(item)

    def slide(self, name, part):
        """Drags a slider's knob to a part of its width."""
        place = self.item(name)
        x, y = place.x + int(place.w * part), place.y + place.h // 2
        self.drag(center(place), (x - 4, y), (x, y))

    def newest(self, event):
        events = self.events(event)
        return events[-1] if events else None


class Optimizer(Tabs):
    def test_another_rule_goes_on_from_the_same_weights(self):
        step = self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.choose("training.rule", "training.rule.adam")
        self.wait_for_marker("sgd -> adam")
        self.item("training.beta1")
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.assertEqual(len(markers_of(self.run_dir)), 1)

    def test_numbers_are_typed_and_two_changes_at_once_both_count(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.choose("training.rule", "training.rule.adam")
        self.wait_for_marker("sgd -> adam")
        self.enter("training.beta1", "0.8")
        self.enter("training.clip_norm", "2")
        self.wait_for_marker("clip norm: off -> 2")
        self.assertEqual(markers_of(self.run_dir)[1:], ["beta 1: 0.9 -> 0.8", "clip norm: off -> 2"])

    def type_into(self, field, text):
        place = self.item(field)
        self.click(field)
        self.wait_for_keys(field, place)
        self.xdotool("type", "--delay", "12", text)

    def test_numbers_count_when_their_field_is_left_and_escape_gives_them_up(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.type_into("training.learning_rate", "0.0002")
        self.key("Tab")
        self.wait_for_marker("learning rate: 0.0005 -> 0.0002")
        self.type_into("training.learning_rate", "0.0001")
        self.key("Escape")
        self.type_into("training.weight_decay", "0.5")
        self.click("training.Schedule")
        self.wait_for_marker("weight decay: 0 -> 0.5")
        self.assertEqual(len(markers_of(self.run_dir)), 2, markers_of(self.run_dir))

    def test_the_spike_threshold_is_typed_and_recorded(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.enter("training.zscore", "6.5")
        self.wait_for_marker("loss spike: off -> 6.5")
        wait_until(lambda: read_run(self.run_dir).get("current", {}).get("zscore") == 6.5, "it in run.json",
                   self.process)

    def test_a_slider_counts_once_when_it_is_let_go(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.weight_decay_slider")
        self.slide("training.weight_decay_slider", 0.8)
        marker = self.wait_for_marker("weight decay: 0 -> ")["marker"]
        self.point_away()
        self.key("Right")
        self.wait_for_step(self.process, self.run_dir, max(steps_of(self.run_dir)) + 1)
        self.assertEqual(markers_of(self.run_dir), [marker])

    def test_ctrl_click_on_a_slider_types(self):
        self.open_paused()
        place = self.item("training.learning_rate_slider")
        self.xdotool("keydown", "ctrl")
        self.point_at(*center(place))
        self.press()
        self.press(False)
        self.xdotool("keyup", "ctrl")
        self.wait_for_keys("training.learning_rate", self.item("training.learning_rate"))
        self.key("0", "period", "0", "1", "Return")
        self.wait_for_marker("learning rate: 0.0005 -> 0.01")
        self.assertEqual(len(markers_of(self.run_dir)), 1)

    def test_a_number_out_of_range_is_refused_and_changes_nothing(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.choose("training.rule", "training.rule.momentum")
        self.wait_for_marker("sgd -> momentum")
        self.enter("training.momentum", "1")
        self.item("training.momentum_refusal")
        self.enter("training.momentum", "0.5")
        self.wait_for_marker("momentum: 0.9 -> 0.5")
        self.assertEqual(len(markers_of(self.run_dir)), 2)

    def test_a_head_comes_by_its_number_while_it_trains(self):
        step = self.open_paused()
        self.open_tab("Optimizer", "training.rule")
        self.enter("training.joint", "0.1")
        self.wait_for_marker("joint: no head -> 0.1")
        self.point_away()
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        last = [line for line in read_metrics(self.run_dir) if "loss" in line][-1]
        self.assertGreater(last["head_loss"], 0)
        self.assertIn("head_accuracy", last)

    def test_the_faulty_scheme_is_switched_on_and_off(self):
        step = self.open_paused()
        self.open_tab("Optimizer", "training.per_sample")
        self.click("training.per_sample")
        self.wait_for_marker("update: batch -> per_sample")
        self.point_away()
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.click("training.per_sample")
        self.wait_for_marker("update: per_sample -> batch")

    def test_defaults_bring_back_the_numbers_of_the_rule(self):
        self.open_paused()
        self.open_tab("Optimizer", "training.defaults")
        self.click("training.defaults")
        self.wait_for_marker("learning rate: 0.0005 -> 0.005")


class Augment(Tabs):
    def test_a_number_that_is_refused_is_told_beside_its_field(self):
        self.open_paused()
        self.open_tab("Augment", "training.flip")
        self.enter("training.cutout", "99")
        told, field = self.item("training.cutout_refusal"), self.item("training.cutout")
        self.assertLess(abs(told.y - field.y), field.h // 2)
        self.assertGreaterEqual(told.x, field.x + field.w)
        self.assertEqual(markers_of(self.run_dir), [])

    def test_images_change_while_it_trains_and_the_pictures_show_it(self):
        self.open_paused()
        self.open_tab("Augment", "training.flip")
        self.item("training.augmented")
        before = len(self.events("augmented"))
        self.click("training.flip")
        self.wait_for_marker("flip: off -> on")
        self.enter("training.crop", "4")
        self.wait_for_marker("crop: off -> 4")
        wait_until(lambda: len(self.events("augmented")) > before, "pictures of the new settings", self.process)
        self.slide("training.mixup_slider", 0.5)
        self.wait_for_marker("mixup: off -> 1")
        wait_until(lambda: read_run(self.run_dir).get("current", {}).get("crop") == 4, "it in run.json", self.process)
        self.key("ctrl+z")
        self.wait_for_marker("mixup: 1 -> off")


class Schedule(Tabs):
    def test_a_schedule_is_previewed_and_then_applied(self):
        step = self.open_paused("--epochs", "4")
        self.open_tab("Schedule", "training.schedule_preview")
        self.choose("training.schedule", "training.schedule=cosine")
        self.enter("training.schedule.warmup", "1")
        self.item("training.schedule_undo")
        self.point_away()
        self.assertEqual(markers_of(self.run_dir), [])
        self.click("training.schedule_apply")
        marker = self.wait_for_marker("schedule: constant -> cosine")
        self.assertIn("warmup=1", marker["marker"])
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        point = [line for line in read_metrics(self.run_dir) if "loss" in line][-1]
        self.assertLess(point["learning_rate"], 0.0005)  # warming up

    def test_what_was_typed_counts_when_apply_is_clicked_without_enter(self):
        self.open_paused()
        self.open_tab("Schedule", "training.schedule_preview")
        self.choose("training.schedule", "training.schedule=step")
        field = self.item("training.schedule.every")
        self.click("training.schedule.every")
        self.wait_for_keys("training.schedule.every", field)
        self.key("7")
        self.click("training.schedule_apply")
        self.assertIn("every=7", self.wait_for_marker("schedule: constant -> step")["marker"])

    def test_cosine_without_a_length_is_not_applied(self):
        self.open_paused()
        self.open_tab("Schedule", "training.schedule_preview")
        self.choose("training.schedule", "training.schedule=cosine")
        self.click("training.schedule_apply")
        self.choose("training.schedule", "training.schedule=step")
        self.click("training.schedule_apply")
        self.wait_for_marker("schedule: constant -> step")
        self.assertEqual(len(markers_of(self.run_dir)), 1)


class Finder(Tabs):
    def test_a_search_can_be_cancelled(self):
        self.open_paused()
        self.open_tab("Finder", "training.find_rate")
        self.click("training.find_rate")
        self.item("training.finder_progress")
        self.item("training.finder_plot")
        self.click("training.finder_cancel")
        self.item("training.finder_text")
        self.assertEqual(self.state(), "paused")
        self.assertEqual(markers_of(self.run_dir), [])


    def test_a_suggestion_is_taken_with_a_click(self):
        # As few images as the other tests take show more noise than a fall.
        self.open_paused("--model", "mlp", "--select", "all=loops", "--accumulate", "16", data="builtin")
        self.open_tab("Finder", "training.find_rate")
        self.click("training.find_rate")
        self.click("training.use_cautious")
        self.wait_for_marker("learning rate: 0.0005 -> ")


class Divergence(Tabs):
    def open_diverged(self):
        """A training whose loss has become infinite or no number, and the box that asks what to do."""
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 2)
        self.enter("training.learning_rate", "1e5")
        wait_until(lambda: (self.newest("divergence") or {}).get("open"), "the box", self.process)
        self.wait_for_state("paused")
        self.item("divergence.reset")

    def test_a_reset_closes_the_box(self):
        self.open_diverged()
        self.assertIn("not finite", self.newest("divergence")["text"])
        self.click("divergence.reset")
        self.wait_for_marker("reset")
        wait_until(lambda: not self.newest("divergence")["open"], "the box to go", self.process)

    def test_going_on_all_the_same_asks_again(self):
        self.open_diverged()
        first = self.newest("divergence")["id"]
        self.click("divergence.resume")
        wait_until(lambda: self.newest("divergence")["id"] > first, "the next divergence", self.process)

    def test_going_back_sets_the_rate_that_worked(self):
        self.open_diverged()
        self.assertTrue(self.newest("divergence")["can_roll_back"])
        rate = read_run(self.run_dir)["configuration"]["learning_rate"]
        self.click("divergence.back")
        self.wait_for_marker(f"back to earlier weights; learning rate: 100000 -> {rate:g}")

    def test_undo_brings_back_what_was_before_it(self):
        self.open_diverged()
        self.key("ctrl+z")
        self.wait_for_notice("undone: divergence at step")
        self.wait_for_marker("back at step")
        wait_until(lambda: not self.newest("divergence")["open"], "the box to go", self.process)


if __name__ == "__main__":
    main()
