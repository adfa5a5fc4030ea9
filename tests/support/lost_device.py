"""A window whose training loses its device after a while (failing_window.cpp): the window stays, and a process of its
own trains on. `lost_device.py PROGRAM`."""
import os
import signal

from warpscope_program import children_of, main, steps_of
from window_driver import WindowCase


class LostDevice(WindowCase):
    def test_the_window_stays_and_the_training_goes_on_without_the_kernel(self):
        self.open_window()
        marker = self.wait_for_marker("goes on in a process of its own from step")["marker"]
        self.assertIn("an illegal memory access was encountered", marker)
        self.assertIn("without user:failing", marker)
        self.wait_for_step(self.process, self.run_dir, max(steps_of(self.run_dir)) + 5)
        self.wait_for_state("running")
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.point_away()
        step = self.settled_step()
        self.click("toolbar.step")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.item("images.difference.0")
        self.assert_succeeded(self.close_window())

    def test_the_end_of_the_process_is_told_and_the_window_stays(self):
        self.open_window()
        self.wait_for_marker("goes on in a process of its own from step")
        self.wait_for_step(self.process, self.run_dir, max(steps_of(self.run_dir)) + 5)
        for child in children_of(self.process):
            os.kill(child, signal.SIGKILL)
        self.wait_for_state("failed")
        self.wait_for_notice("the process that the training went on in has ended by signal 9")


if __name__ == "__main__":
    main()
