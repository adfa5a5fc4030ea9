"""What a training prints: a bar that is redrawn on a terminal, plain lines elsewhere, a word if there is no display."""
import fcntl
import os
import pty
import re
import signal
import struct
import sys
import termios

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, read_run  # noqa: E402


class Terminal(ProgramCase):
    BAR = rb"\r\x1b\[2K(\[?[^\r\n]*step \d+/[^\r\n]* [1-9]\d* images/s[^\r\n]*)"

    def train_on_terminal(self, columns):
        """What a training writes to a terminal of that width that is interrupted when it has drawn two bars with its
        speed."""
        try:
            leader, follower = pty.openpty()
        except OSError as error:
            self.skipTest(f"this system has no pseudo-terminals: {error}")
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = self.start(*self.train_arguments(batch=1, steps=100000), stdin=follower, stdout=follower, text=False)
        os.close(follower)
        text, interrupted = b"", False
        while True:
            try:
                piece = os.read(leader, 65536)
            except OSError:  # the last writer has closed it
                break
            if not piece:
                break
            text += piece
            if not interrupted and len(re.findall(self.BAR, text)) >= 2:
                interrupted = True
                process.send_signal(signal.SIGINT)
        os.close(leader)
        ended = self.finish(process)
        self.assertEqual((ended.code, ended.err), (0, b""))
        return text.decode()

    def test_a_terminal_shows_a_bar_that_is_redrawn(self):
        text = self.train_on_terminal(columns=120)
        drawn = re.findall(r"\r\x1b\[2K(\[[^\r\n]*)", text)
        self.assertGreater(len(drawn), 1, text)
        for line in drawn:
            self.assertRegex(line,
                             r"\A\[#*\.*\] +\d+ %  step \d+/100000  epoch \d+\.\d\d  loss \d+\.\d+.*  (\d+|-) images/s")
        self.assertRegex(drawn[-1], r"[1-9]\d* images/s  (\d+:)?\d+:\d\d left\Z")
        # The bar is wiped before the results come.
        self.assertRegex(text, r"\r\x1b\[2K\r\nsteps        \d+ ")

    def test_a_bar_fits_a_narrow_terminal(self):
        # A line that wraps cannot be redrawn: each would stay.
        text = self.train_on_terminal(columns=60)
        drawn = re.findall(r"\r\x1b\[2K([^\r\n]+)", text)
        self.assertGreater(len(drawn), 1, text)
        for line in drawn:
            self.assertLess(len(line), 60)
            self.assertRegex(line, r"step \d+/100000.*loss \d.*images/s")

    def test_elsewhere_plain_lines_are_printed(self):
        ended = self.train("--model", "autoencoder", batch=1, steps=2)  # of which a step takes a while
        self.assert_succeeded(ended)
        self.assertNotIn("\r", ended.out)
        self.assertNotIn("\x1b", ended.out)
        self.assertRegex(ended.out, r"(?m)^\[#+\.*\] +\d+ %  step \d/2  .*loss \d.*images/s")
        self.assertRegex(ended.out, r"(?m)^train loss   \d+\.\d+, mean of the last 2 steps$")

    def test_train_needs_no_display(self):
        run_dir = self.path("run")
        self.assert_succeeded(self.train("--run-dir", run_dir, steps=1))
        self.assertEqual(read_run(run_dir)["status"], "finished")


class NoDisplay(ProgramCase):
    ARGUMENTS = ("--device", "cpu", "--batch", "4", "--test-images", "8")

    def test_without_a_display_the_window_says_so_and_trains(self):
        for number, display in enumerate((None, ":98765")):
            run_dir = self.path(f"run{number}")
            ended = self.run_program(*self.ARGUMENTS, "--data", self.small_data(), "--steps", "1", "--run-dir", run_dir,
                                     environment=self.environment(DISPLAY=display))
            self.assert_succeeded(ended)
            self.assertIn("training headless", ended.out.splitlines()[0])
            self.assertEqual(read_run(run_dir)["steps"], 1)
            self.assertEqual(read_run(run_dir)["configuration"]["model"], "autoencoder", "where nobody names one")

    def test_exit_after_steps_limits_a_training_without_a_display(self):
        run_dir = self.path("run")
        ended = self.run_program(*self.ARGUMENTS, "--data", self.small_data(), "--exit-after-steps", "2", "--run-dir",
                                 run_dir)
        self.assert_succeeded(ended)
        self.assertEqual(read_run(run_dir)["steps"], 2)

    def test_a_screenshot_without_a_display_is_refused(self):
        ended = self.run_program(*self.ARGUMENTS, "--data", "builtin", "--screenshot", self.path("s.png"))
        self.assertEqual(ended.code, 2)
        self.assertRegex(ended.err, r"\Awarpscope: --screenshot needs [^\n]+\n\Z")
        self.assertFalse(os.path.exists(self.path("s.png")))


if __name__ == "__main__":
    main()
