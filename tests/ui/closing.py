"""How the window ends: always with a run that is whole."""
import os
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, read_run, steps_of  # noqa: E402
from window_driver import WindowCase  # noqa: E402


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
        self.assertGreater(os.path.getsize(weights), 751875 * 4)

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


if __name__ == "__main__":
    main()
