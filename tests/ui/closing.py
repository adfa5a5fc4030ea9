"""How the window ends: always with a run that is whole."""
import glob
import json
import os
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import run_maker  # noqa: E402
from warpscope_program import SMALL_PARAMETERS, main, markers_of, read_run, steps_of, wait_until  # noqa: E402
from window_driver import WindowCase, center, overlap  # noqa: E402


class Closing(WindowCase):
    def assert_whole(self, ended):
        self.assert_succeeded(ended)
        run = read_run(self.run_dir)
        self.assertEqual(run["status"], "finished")
        steps = steps_of(self.run_dir)
        self.assertEqual(steps, list(range(1, len(steps) + 1)))
        self.assertEqual(run["steps"], len(steps))

    def open_running(self, *more):
        self.open_window(*more)
        self.wait_for_step(self.process, self.run_dir, 1)

    def test_ctrl_q_finishes_the_run(self):
        weights = self.path("weights.safetensors")
        self.open_running("--save", weights)
        self.key("ctrl+q")
        self.assert_whole(self.finish(self.process))
        self.assertGreater(os.path.getsize(weights), SMALL_PARAMETERS * 4)

    def test_closing_by_the_window_manager_finishes_the_run(self):
        self.open_running()
        self.ask_to_close()
        self.assert_whole(self.finish(self.process))

    def test_closing_while_paused_finishes_the_run(self):
        self.open_paused()
        self.key("ctrl+q")
        self.assert_whole(self.finish(self.process))

    def test_an_interrupt_finishes_the_run(self):
        self.open_running()
        self.process.send_signal(signal.SIGINT)
        self.assert_whole(self.finish(self.process))

    def test_a_training_that_has_ended_stays_to_be_looked_at(self):
        self.open_window("--steps", "2", until="finished")
        self.assertEqual(read_run(self.run_dir)["status"], "finished")
        self.assert_whole(self.close_window())

    def test_bad_input_is_told_in_the_window_and_by_the_exit_code(self):
        self.open_window("--select", "all=magic", until="failed")
        self.wait_for_notice("'magic'")
        self.assert_one_sentence(self.close_window(), 2, "'magic'", "valid: ", "loops")
        self.assertFalse(os.path.exists(self.run_dir))


class WithoutRunFolder(WindowCase):
    """A training that is given no run folder."""

    def window_arguments(self, *more, **options):
        arguments = super().window_arguments("--model", "mlp", "--select", "all=loops", *more, data="builtin",
                                             **options)
        at = arguments.index("--run-dir")
        return arguments[:at] + arguments[at + 2:]


class Recorded(WithoutRunFolder):
    def recorded(self):
        return sorted(glob.glob(self.path("home", "data", "warpscope", "runs", "*_mlp_*")))

    def test_a_training_is_recorded_among_the_data_of_the_user_until_a_click_ends_that(self):
        self.open_window()
        run, = self.recorded()
        self.wait_for_step(self.process, run, 1)
        self.point_at(*center(self.item("toolbar.record")))
        wait_until(lambda: any(run in event["text"] for event in self.events("tip")), "the tool-tip", self.process)
        self.click("toolbar.record")
        wait_until(lambda: read_run(run)["status"] == "finished", "recording to end", self.process)
        self.click("toolbar.not_recorded")
        again = wait_until(lambda: [other for other in self.recorded() if other != run], "another folder",
                           self.process)[0]
        self.wait_for_step(self.process, again, max(steps_of(run)) + 1)
        ended = self.close_window()
        self.assert_succeeded(ended)
        self.assertIn(f"warpscope --resume '{again}'", ended.out)
        self.assertEqual(read_run(again)["status"], "finished")
        self.assertEqual(sorted(os.listdir(self.path("home", "data", "warpscope"))), ["runs"])
        for name in (run, again):
            self.assertIn(os.path.basename(name), self.run_program("runs").out)

    def test_an_earlier_training_is_deleted_and_brought_back(self):
        run = self.path("home", "data", "warpscope", "runs", "2026-01-31_12-00-00_mlp_digits")
        run_maker.make_run(run, run_maker.head(), run_maker.lines())
        self.open_window("--no-record")
        self.key("e")
        self.choose(f"runs.menu.{os.path.basename(run)}", "runs.delete", opens="runs.menu")
        wait_until(lambda: not os.path.exists(run), "the run to go", self.process)
        self.click("runs.undo_delete")
        wait_until(lambda: os.path.exists(run), "the run to come back", self.process)
        self.assertEqual(len(self.recorded()), 1)
        self.assert_succeeded(self.close_window())


class Unrecorded(WithoutRunFolder):
    """A training that is not to be recorded."""

    def window_arguments(self, *more, **options):
        return super().window_arguments("--no-record", *more, **options)

    def kept(self):
        """The folders that are kept, the newest last."""
        folder = self.path("home", "data", "warpscope", "unsaved")
        return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.exists(folder) else []

    def change_kept(self, change):
        """Changes what the run.json of the oldest one says."""
        file = os.path.join(self.kept()[0], "run.json")
        with open(file, encoding="utf-8") as text:
            run = json.load(text)
        change(run)
        with open(file, "w", encoding="utf-8") as text:
            json.dump(run, text)

    def open_for_a_while(self):
        self.open_window()
        wait_until(lambda: self.events("step") and self.events("step")[-1]["seconds"] > 2.1, "two seconds of training",
                   self.process)

    def assert_kept(self, ended):
        self.assert_succeeded(ended)
        self.assertEqual(len(self.kept()), 1)
        self.assertIn(f"warpscope --resume '{self.kept()[0]}'", ended.out)
        return read_run(self.kept()[0])["steps"]

    def test_it_is_kept_when_the_window_closes_and_gone_on_with_by_a_click(self):
        self.open_for_a_while()
        steps = self.assert_kept(self.close_window())
        self.open_window()
        offer = self.item("unsaved.text")
        covered = [name for name, place in self.layout().items()
                   if not name.startswith("unsaved.") and overlap(place, offer)]
        self.assertEqual(covered, [], "controls below the offer")
        self.click("unsaved.go_on")
        wait_until(lambda: f"resumed at step {steps:,}" in markers_of(self.kept()[0]), "it to go on", self.process)
        wait_until(lambda: self.events("step")[-1]["step"] > steps, "a later step", self.process)
        kept = self.kept()  # with the one that was left for it, if that took two seconds
        self.point_at(*center(self.item("status.memory")))  # it moves with the frames a second beside it
        wait_until(lambda: any("Training memory" in event["text"] for event in self.events("tip")), "the tool-tip",
                   self.process)
        self.process.send_signal(signal.SIGTERM)
        self.assert_succeeded(self.finish(self.process))
        self.assertEqual(self.kept(), kept)
        self.assertGreater(read_run(self.kept()[0])["steps"], steps)

    def test_it_is_kept_when_the_window_is_told_to_end_and_stays_where_its_data_are_gone(self):
        self.open_for_a_while()
        self.process.send_signal(signal.SIGTERM)
        self.assert_kept(self.finish(self.process))
        self.change_kept(lambda run: run["current"].update(data_source=self.path("gone")))
        self.open_window()
        self.click("unsaved.go_on")
        self.wait_for_notice(f"that training cannot be gone on with: the data of the run were in {self.path('gone')}, "
                             "which is not there any more")
        self.assertIn("mlp, step", self.events("opening")[-1]["text"])
        self.assert_succeeded(self.close_window())

    def go_on_by_palette(self):
        self.open_palette("go on with")
        wait_until(lambda: self.palette().get("first", "").startswith("Go on with the training of"), "the offer",
                   self.process)
        self.key("Return")
        self.wait_for_palette(open=False)

    def test_what_cannot_begin_leaves_the_present_training_untouched(self):
        self.open_for_a_while()
        self.assert_kept(self.close_window())
        folder = self.kept()[0]
        checkpoint, = glob.glob(os.path.join(folder, "checkpoints", "*.safetensors"))
        self.open_window()
        checksum = {}

        def others(run):
            checksum.update(run["outside"]["data_source"])
            run["outside"]["data_source"]["checksum"] = "xxh3:00000000000000000000000000000000"
        self.change_kept(others)
        self.click("unsaved.go_on")
        self.wait_for_notice("that training cannot be gone on with: the built-in digits of this version are not those "
                             "that the run was trained on")
        self.change_kept(lambda run: run["outside"].update(data_source=checksum))

        with open(checkpoint, "r+b") as file:
            file.seek(-1, os.SEEK_END)
            last = file.read(1)[0]
            file.seek(-1, os.SEEK_END)
            file.write(bytes([last ^ 1]))
        self.go_on_by_palette()
        self.wait_for_notice(f"that training cannot be gone on with: {folder} has no checkpoint to go on from: "
                             f"{checkpoint}")

        os.remove(checkpoint)
        self.go_on_by_palette()
        missing = f"that training cannot be gone on with: {folder} has no checkpoint to go on from"
        wait_until(lambda: any(event["text"] == missing for event in self.events("notice")), missing, self.process)

        step = self.events("step")[-1]["step"]
        wait_until(lambda: self.events("step")[-1]["step"] > step, "a later step", self.process)
        self.assertEqual(self.events("state")[-1]["state"], "running")
        self.process.send_signal(signal.SIGTERM)
        self.assert_succeeded(self.finish(self.process))

    def test_what_was_before_a_reset_is_kept_rather_than_what_has_just_begun(self):
        self.open_for_a_while()
        self.click("toolbar.pause")  # what has begun must not come to be worth more
        self.wait_for_state("paused")
        before = self.events("step")[-1]["step"]
        self.key("r")
        wait_until(lambda: self.events("state")[-1]["generation"] == 1, "a new generation", self.process)
        self.assertGreaterEqual(self.assert_kept(self.close_window()), before)

    def test_one_that_has_just_begun_is_not_kept(self):
        self.open_window("--steps", "5", until="finished")
        self.assert_succeeded(self.close_window())
        self.assertEqual(self.kept(), [])

    def test_one_that_cannot_be_kept_is_told(self):
        os.makedirs(self.path("home", "data", "warpscope"))
        with open(self.path("home", "data", "warpscope", "unsaved"), "w", encoding="utf-8"):
            pass
        self.open_for_a_while()
        self.assert_one_sentence(self.close_window(), 1, "the training could not be kept", "unsaved")


if __name__ == "__main__":
    main()
