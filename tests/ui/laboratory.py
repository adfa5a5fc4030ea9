"""The laboratory in the real window: bench, verify, determinism and the ladder, on the CPU's variants."""
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import losses_of, main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402

NONE, BENCH, VERIFY, BASELINE = range(4)  # profiling::Job


class Laboratory(WindowCase):
    def newest(self, event):
        events = self.events(event)
        return events[-1] if events else None

    def wait_for(self, event, what, **fields):
        """Waits until the newest such event has all of `fields`: a value, or what a value must satisfy."""
        def found():
            newest = self.newest(event)
            right = newest and all(test(newest[name]) if callable(test) else newest[name] == test
                                   for name, test in fields.items())
            return newest if right else None
        return wait_until(found, what, self.process)

    def open_tab(self, name):
        self.click(f"tabs.{name}")


class Jobs(Laboratory):
    def test_a_bench_pauses_the_training_and_can_be_cancelled(self):
        self.open_window()
        self.wait_for_step(self.process, self.run_dir, 1)
        self.open_tab("Bench")
        self.click("bench.start")
        self.wait_for("laboratory", "the first bars", job=BENCH, bench=lambda rows: rows >= 2)
        self.assertEqual(self.state(), "paused")
        self.item("bench.bars.0.0")
        self.item("bench.progress")
        self.click("bench.cancel")
        ended = self.wait_for("laboratory", "the bench to end", job=NONE)
        self.assertTrue(ended["cancelled"])
        self.assertGreaterEqual(ended["bench"], 2)
        self.wait_for_state("running")
        self.wait_for_step(self.process, self.run_dir, max(1, len(losses_of(self.run_dir))) + 2)

    def test_a_bench_leaves_a_paused_training_paused(self):
        step = self.open_paused()
        self.open_tab("Bench")
        self.click("bench.start")
        self.wait_for("laboratory", "the first bar", job=BENCH, bench=lambda rows: rows >= 1)
        self.click("bench.cancel")
        self.wait_for("laboratory", "the bench to end", job=NONE)
        # Had it gone on, there would be more than the one step that is asked for.
        self.key("Right")
        self.wait_for_step(self.process, self.run_dir, step + 1)
        self.assertEqual(self.settled_step(), step + 1)
        self.assertEqual(self.state(), "paused")

    def test_the_window_closes_while_a_bench_runs(self):
        self.open_paused()
        self.open_tab("Bench")
        self.click("bench.start")
        self.wait_for("laboratory", "the bench to start", job=BENCH)
        self.assertEqual(self.close_window().code, 0)

    def test_verify_lists_what_it_has_checked(self):
        self.open_paused()
        self.open_tab("Verify")
        self.click("verify.start")
        running = self.wait_for("laboratory", "rows of verify", verify=lambda rows: rows >= 3)
        self.assertEqual(running["failure"], "")
        self.item("verify.failures")
        if self.newest("laboratory")["job"] == VERIFY:
            self.click("verify.cancel")
        self.wait_for("laboratory", "verify to end", job=NONE)

    def test_verify_starts_again_over_the_rows_of_before(self):
        self.open_paused()
        self.open_tab("Verify")
        for _ in range(2):
            self.click("verify.start")
            self.wait_for("laboratory", "a row of verify", job=VERIFY, verify=lambda rows: rows >= 1)
            self.click("verify.cancel")
            self.wait_for("laboratory", "verify to end", job=NONE)
        self.assertEqual(self.close_window().code, 0)


class Determinism(Laboratory):
    def test_the_same_step_twice_gives_equal_bits_and_changes_nothing(self):
        step = self.open_paused()
        self.open_tab("Determinism")
        self.click("determinism.check")
        report = self.wait_for("determinism", "the report", id=1)
        self.assertGreater(report["tensors"], 20)
        self.assertEqual(report["different"], 0)
        self.assertEqual(self.settled_step(), step)
        self.assertEqual(self.state(), "paused")
        self.click("determinism.check")
        self.wait_for("determinism", "the second report", id=2, different=0)


class Ladder(Laboratory):
    def test_a_switch_adds_a_rung(self):
        self.open_paused(steps=2, size="1400x900")  # its tab has room in the row
        self.open_tab("Ladder")
        self.wait_for("ladder", "the first rung", entries=1)
        self.open_tab("Kernels")
        self.choose("kernels.all", "kernels.all=loops")
        self.wait_for_marker("conv2d.forward: onednn_fused -> loops")
        self.click("toolbar.step")
        self.wait_for("ladder", "the second rung", entries=2)


class Size(Laboratory):
    def test_l_makes_the_panel_large_and_small_again(self):
        self.open_paused()
        low = self.item("tabs.Kernels")
        self.key("l")
        wait_until(lambda: self.layout()["tabs.Kernels"].y < low.y / 2, "the large panel", self.process)
        self.click("tabs.large")
        wait_until(lambda: self.layout()["tabs.Kernels"] == low, "the panel in its place", self.process)


if __name__ == "__main__":
    main()
