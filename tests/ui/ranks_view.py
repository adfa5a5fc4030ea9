"""The tab Ranks: what each process of a training does with a step."""
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase, center, colors_in  # noqa: E402


class RanksView(WindowCase):
    PANEL = "ranks"

    def window_arguments(self, *more):
        return ["--device", "cpu", "--model", "mlp", "--data", "builtin", "--batch", "8", "--test-images", "8",
                "--run-dir", self.run_dir, "--window-size", "1600x1000", *more]

    def test_two_ranks_have_a_lane_each_which_tells_their_times(self):
        self.open_window("--ranks", "2")
        self.click("tabs.Ranks")
        shown = self.wait_for("the times of two ranks", ranks=2, measured=True)
        self.assertTrue(shown["heading"].startswith("2 ranks, "), shown)
        self.assertIn(shown["slowest"], (-1, 0, 1))
        for rank in range(2):
            lane = self.item(f"ranks.lane.{rank}")
            self.assertGreater(colors_in(self.grab(lane)), 1)
            self.point_at(*center(lane))
            wait_until(lambda: any(event["text"].startswith(f"rank {rank}, cpu") and "own work" in event["text"]
                                   for event in self.events("tip")), "its tip", self.process)
        self.wait_for("a step that both have timed", step=True, linked=False)
        self.click("ranks.view.links")
        self.click("ranks.measure")
        self.wait_for("the links of two ranks", linked=True)
        self.assertEqual(self.close_window().code, 0)

    def test_one_rank_tells_how_to_get_more(self):
        self.open_window()
        self.click("tabs.Ranks")
        shown = self.wait_for("the one rank", lambda newest: "--ranks 2" in newest["heading"])
        self.assertEqual((shown["ranks"], shown["measured"], shown["slowest"]), (1, False, -1))
        self.choose("ranks.number", "ranks.number.2")
        self.wait_for("the second rank", ranks=2)
        self.choose("toolbar.ranks", "toolbar.ranks.4")  # the same list
        self.wait_for("the fourth rank", ranks=4)
        times = dict(scatter=0, read=1, to_device=2, network=30, back=1, gather=0, idle=7)
        figures = dict(data="pictures", device="cpu", images=10, batch=2, seconds=0.04, images_per_second=250,
                       milliseconds=times, microseconds={"layers": [{"layer": "fc1", "median": 12.5}]})
        with open(os.path.join(self.run_dir, "inference.json"), "w", encoding="utf-8") as file:
            json.dump(figures, file)
        self.wait_for("the inference with its weights", inferred=1)
        self.click("ranks.view.inference")
        self.point_at(*center(self.item("ranks.inference.0")))
        wait_until(lambda: any(event["text"].startswith("rank 0, ") and "ms network" in event["text"]
                               for event in self.events("tip")), "its tip", self.process)


if __name__ == "__main__":
    main()
