"""Steering a training in the real window: every click and key shows in the run folder."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import (SMALL_TRAINING_SET, losses_of, main, markers_of, read_metrics, read_run,  # noqa: E402
                               steps_of, wait_until)
from window_driver import WindowCase, center  # noqa: E402


class Transport(WindowCase):
    def test_click_on_pause_stops_the_steps_and_space_resumes(self):
        step = self.open_paused()
        # Were a step still under way, it would come before the next one asked for, and there would be two.
        self.key("Right")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.assertEqual(self.settled_step(), step + 1)
        self.assertEqual(self.state(), "paused")
        self.key("space")
        self.wait_for_state("running")
        self.wait_for_step(self.process, self.run_dir, step + 3)
        self.key("space")
        self.wait_for_state("paused")
        last = self.settled_step()
        self.assertEqual(steps_of(self.run_dir), list(range(1, last + 1)))

    def test_right_arrow_and_step_button_make_one_step_each(self):
        step = self.open_paused()
        for act in (lambda: self.key("Right"), lambda: self.click("toolbar.step"), lambda: self.key("Right")):
            act()
            step += 1
            self.wait_for_step(self.process, self.run_dir, step)
            self.assertEqual(self.settled_step(), step)
            self.assertEqual(self.state(), "paused")

    def test_right_arrow_does_nothing_while_running(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 1)
        self.key("Right")
        # Keys keep their order: when this one has done its work, the first was looked at.
        self.key("5")
        wait_until(lambda: self.events("curves")[-1]["metric"] == "learning_rate", "another metric", self.process)
        self.wait_for_step(self.process, self.run_dir, max(steps_of(self.run_dir)) + 3)
        self.assertNotIn("paused", [event["state"] for event in self.events("state")])

    def test_r_resets_to_the_first_weights(self):
        self.open_paused(steps=2)
        self.key("r")
        self.wait_for_marker("reset")
        wait_until(lambda: self.events("state")[-1]["generation"] == 1, "a new generation", self.process)
        self.assertEqual(self.state(), "paused")
        self.key("Right")
        wait_until(lambda: steps_of(self.run_dir)[-1] == 1, "step 1 again", self.process)
        # The same weights see the same images.
        losses = losses_of(self.run_dir)
        self.assertEqual(losses[-1], losses[0])

    def test_a_reset_is_undone_and_the_next_step_is_the_one_that_would_have_come(self):
        self.open_paused(steps=3)
        before = self.settled_step()
        self.key("r")
        wait_until(lambda: self.events("state")[-1]["generation"] == 1, "a new generation", self.process)
        self.key("ctrl+z")
        self.wait_for_notice(f"undone: reset at step {before:,}")
        self.wait_for_marker(f"back at step {before:,}")
        self.key("Right")
        wait_until(lambda: steps_of(self.run_dir)[-1] == before + 1, "the next step", self.process)
        undone = losses_of(self.run_dir)
        self.assertEqual(undone[before:2 * before], undone[:before], "the earlier curve, once more")
        self.assertEqual(self.close_window().code, 0)
        same = self.path("same")
        self.run_program("train", *self.window_arguments("--steps", str(before + 1), size="", run_dir=same))
        self.assertEqual(losses_of(same)[-1], undone[-1])

    def test_reset_button_keeps_a_running_training_running(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 2)
        self.click("toolbar.reset")
        self.wait_for_marker("reset")

        def steps_after_reset():
            lines = read_metrics(self.run_dir)
            reset = next(number for number, line in enumerate(lines) if line.get("marker") == "reset")
            return [line["step"] for line in lines[reset:] if "loss" in line]
        wait_until(lambda: len(steps_after_reset()) >= 2, "two steps after the reset", self.process)
        self.assertEqual(steps_after_reset()[:2], [1, 2])
        self.assertEqual(self.state(), "running")


class Choices(WindowCase):
    def test_click_switches_a_variant_and_the_training_goes_on(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 1)
        self.choose("kernels.conv2d.forward", "kernels.conv2d.forward=loops")
        marker = self.wait_for_marker("conv2d.forward: onednn_fused -> loops")
        self.assertEqual(markers_of(self.run_dir), [marker["marker"]])
        self.wait_for_step(self.process, self.run_dir, marker["step"] + 2)
        self.assertEqual(self.state(), "running")

    def test_escape_closes_the_list_that_is_open_and_does_nothing_else(self):
        self.open_paused()
        for opener, told in (("loss.metric", "loss.metric"), ("kernels.conv2d.forward", "kernels.conv2d.forward"),
                             ("loss.save", "loss.save"), ("status.log", "status.log")):
            self.click(opener)
            wait_until(lambda: self.drawn("list") == (told,), f"{opener} to open", self.process)
            self.key("Escape")
            wait_until(lambda: self.drawn("list") == ("",), f"{opener} to close", self.process)
            # The next click is not swallowed: it opens what it is on.
            self.click(opener)
            wait_until(lambda: self.drawn("list") == (told,), f"{opener} to open again", self.process)
            self.key("Escape")
            wait_until(lambda: self.drawn("list") == ("",), f"{opener} to close again", self.process)

    def test_escape_closes_a_list_of_a_menu_before_the_menu(self):
        self.wait_for_images(self.open_paused(size="1600x1000"))
        self.click("images.rows")
        wait_until(lambda: self.layout().get("images.other.preset"), "the menu of rows", self.process)
        place = self.item("images.other.preset")
        shown = self.grab(place)
        self.click("images.other.preset")
        wait_until(lambda: self.drawn("list") == ("images.other.preset",), "the list", self.process)
        self.key("Escape")
        self.point_away()
        wait_until(lambda: self.drawn("list") == ("",), "the list to close", self.process)
        wait_until(lambda: (self.grab(place) == shown).all(), "the menu to be there", self.process)
        self.key("Escape")
        wait_until(lambda: (self.grab(place) != shown).any(), "the menu to close", self.process)

    def test_a_chosen_variant_is_shown_and_can_be_taken_back(self):
        self.open_paused()
        menu = self.item("kernels.bias.forward")
        before = self.grab(menu)
        self.choose("kernels.bias.forward", "kernels.bias.forward=reference")
        self.wait_for_marker("bias.forward: onednn -> reference")
        self.point_away()
        wait_until(lambda: (self.grab(menu) != before).any(), "another name in the menu", self.process)
        self.choose("kernels.bias.forward", "kernels.bias.forward=automatic")
        self.wait_for_marker("bias.forward: reference -> onednn")
        self.point_away()
        wait_until(lambda: (self.grab(menu) == before).all(), "the first name in the menu", self.process)

    def test_a_chosen_op_that_was_covered_runs_by_itself(self):
        self.open_window("--model", "classifier")
        self.wait_for_step(self.process, self.run_dir, 1)
        self.choose("kernels.relu.forward", "kernels.relu.forward=loops")
        marker = self.wait_for_marker("relu.forward: onednn -> loops")
        self.wait_for_step(self.process, self.run_dir, marker["step"] + 1)
        self.assertEqual(self.state(), "running")
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(read_run(self.run_dir)["current"]["chosen"], {"relu.forward": "loops"})

    def test_one_menu_switches_every_operation(self):
        step = self.open_paused()
        self.choose("kernels.all", "kernels.all=loops")
        marker = self.wait_for_marker("conv2d.forward: onednn_fused -> loops")
        self.assertIn("conv2d.backward_weights: onednn -> loops", marker["marker"])
        self.choose("kernels.all", "kernels.all=onednn")
        self.wait_for_marker("conv2d.forward: loops -> onednn_fused")
        self.key("Right")
        self.wait_for_step(self.process, self.run_dir, step + 1)

    def test_a_precision_that_cannot_run_is_grey_and_says_why(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 1)
        self.choose("toolbar.precision", "toolbar.precision.fp16")
        x, y = center(self.item("toolbar.precision.fp16"))
        self.point_at(x + 8, y)
        wait_until(lambda: any("valid: fp32" in event["text"] for event in self.events("tip")), "the reason",
                   self.process)
        self.key("Escape")
        self.assertEqual([event["text"] for event in self.events("notice")], [])
        self.assertEqual(markers_of(self.run_dir), [])
        self.assertEqual(self.close_window().code, 0)
        self.assertEqual(read_run(self.run_dir)["status"], "finished")

    def test_a_preset_is_one_line_and_its_changes_unfold_in_a_third_of_the_window(self):
        self.open_paused(size="1280x800")
        self.choose("kernels.all", "kernels.all=loops")
        self.wait_for_marker("preset loops")
        self.point_at(*center(self.item("plot.flag.0")))
        tip = wait_until(lambda: self.events("flag_tip"), "the tool-tip", self.process)[-1]
        self.assertEqual(tip["line"], "preset: loops")
        self.assertLess(tip["height"], 800 / 3)
        self.click("plot.flag.0")
        self.click("loss.names.0.changes")
        self.assertLessEqual(self.settled_item("loss.names").h, 800 / 3 + 1)
        self.key("Escape", "Escape")
        self.point_away()
        self.key("ctrl+z")
        self.wait_for_notice("undone: preset: loops -> automatic")
        self.click("notice.details")
        self.assertLessEqual(self.settled_item("notice").h, 800 / 3 + 1)

    def settled_item(self, name):
        """Where an item is after some frames: what has just grown has its size from the second one on."""
        for x in (3, 6, 9):
            self.point_at(x, 3)
        return self.item(name)

    def test_rate_and_batch_are_taken_from_their_fields(self):
        step = self.open_paused()
        self.enter("training.learning_rate", "0.001")
        self.wait_for_marker("learning rate: 0.0005 -> 0.001")
        self.enter("training.batch", "2")
        self.wait_for_marker("batch: 4 -> 2")
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        point = [line for line in read_metrics(self.run_dir) if "loss" in line][-1]
        self.assertAlmostEqual(point["learning_rate"], 0.001, places=6)
        self.assertAlmostEqual(point["epoch"], (4 * step + 2) / SMALL_TRAINING_SET, places=9)

    def test_a_batch_that_is_too_large_is_told_and_changes_nothing(self):
        step = self.open_paused()
        self.enter("training.batch", str(SMALL_TRAINING_SET + 1))
        self.item("training.batch_refusal")
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.assertEqual(markers_of(self.run_dir), [])
        point = [line for line in read_metrics(self.run_dir) if "loss" in line][-1]
        self.assertAlmostEqual(point["epoch"], 4 * (step + 1) / SMALL_TRAINING_SET, places=9)

    def test_keys_typed_into_a_field_do_not_steer(self):
        step = self.open_paused()
        self.enter("training.learning_rate", "r 0.02r")
        self.item("training.learning_rate_refusal")
        self.assertEqual(markers_of(self.run_dir), [])
        self.enter("training.learning_rate", "0,02")
        # Commands keep their order: what the keys would have steered would be there before this.
        self.wait_for_marker("learning rate: 0.0005 -> 0.02")
        self.assertEqual(self.settled_step(), step)
        self.assertEqual(self.state(), "paused")
        self.assertEqual(len(markers_of(self.run_dir)), 1)


if __name__ == "__main__":
    main()
