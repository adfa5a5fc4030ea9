"""warpscope runs from outside: the table, its order, JSON, differences, and what it refuses."""
import csv
import fcntl
import json
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import run_maker  # noqa: E402
from warpscope_program import ProgramCase, main  # noqa: E402


class ListRuns(ProgramCase):
    def make(self, name, run=None, points=None):
        run_maker.make_run(self.path("runs", name), run or run_maker.head(), points or run_maker.lines())

    def names(self, *arguments):
        ended = self.run_program("runs", *arguments)
        self.assert_succeeded(ended)
        return [line.split()[0] for line in ended.out.splitlines()[1:]]

    def test_runs_lists_figures_newest_first(self):
        self.make("20260131T235959Z-1")
        self.make("20260201T000000Z-1", run_maker.head("failed"))
        ended = self.run_program("runs")
        self.assert_succeeded(ended)
        rows = ended.out.splitlines()
        self.assertEqual(len(rows), 3)
        for word in ("run", "started", "model", "precision", "optimizer", "rate", "mean train loss", "test loss", "median images/s"):
            self.assertIn(word, rows[0])
        self.assertTrue(rows[1].startswith("20260201T000000Z-1"))
        self.assertTrue(rows[1].endswith("failed"))
        for word in ("20260131T235959Z-1", "autoencoder", "CIFAR-10", "AMD EPYC", "fp32", "sgd", " 0.005 ", " 64 ", " 40 ",
                     "4.00", "0.05000", "0.06250", "1,000", "finished"):
            self.assertIn(word, rows[2])

    def test_runs_knows_running_from_interrupted(self):
        self.make("a", run_maker.head("running"))
        with open(self.path("runs", "a", ".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertTrue(self.run_program("runs").out.rstrip().endswith(" running"))
        row = self.run_program("runs").out.splitlines()[1]
        self.assertTrue(row.endswith(" interrupted"))
        self.assertIn("80.00 %", row, "the accuracy of the last test")

    def test_runs_are_sorted(self):
        for name, loss, speed in (("20260101T000000Z-1", 0.3, 20), ("20260102T000000Z-1", 0.1, 10),
                                  ("20260103T000000Z-1", 0.2, 30)):
            run = run_maker.head()
            run.update(test_loss=loss, images_per_second=speed)
            self.make(name, run)
        days = lambda *arguments: [name[6:8] for name in self.names(*arguments)]  # noqa: E731
        self.assertEqual(days(), ["03", "02", "01"])
        self.assertEqual(days("--sort", "test_loss"), ["02", "03", "01"])
        self.assertEqual(days("--sort", "speed", self.path("runs")), ["03", "01", "02"])

    def test_runs_are_listed_as_json(self):
        self.make("a", run_maker.head("running"))
        ended = self.run_program("runs", "--json", "-")
        self.assert_succeeded(ended)
        run, = json.loads(ended.out)["runs"]
        points = run_maker.lines()
        losses = [point["loss"] for point in points if "loss" in point]
        self.assertEqual((run["name"], run["status"], run["steps"], run["batch"]), ("a", "interrupted", 40, 64))
        self.assertAlmostEqual(run["final_train_loss"], sum(losses) / len(losses), places=8)  # losses are floats
        self.assertEqual(run["test_loss"], struct.unpack("f", struct.pack("f", 0.05))[0])  # points hold floats
        self.assertEqual(run["accuracy"], struct.unpack("f", struct.pack("f", 0.8))[0])  # points hold floats

    def test_run_json_the_list_and_csv_tell_one_number_under_one_name(self):
        folder = self.path("runs", "a")
        self.assert_succeeded(self.train("--run-dir", folder, steps=4))
        with open(os.path.join(folder, "run.json"), encoding="utf-8") as file:
            told = json.load(file)
        listed, = json.loads(self.run_program("runs", "--json", "-").out)["runs"]
        shared = {key for key, value in told.items() if key in listed and isinstance(value, (int, float))}
        self.assertLessEqual({"steps", "epochs", "seconds", "final_train_loss", "test_loss", "psnr",
                              "median_images_per_second"}, shared)
        for key in shared:
            self.assertEqual(told[key], listed[key], key)
        self.assert_succeeded(self.run_program("export", folder, "--to", "csv", "--out", self.path("a.csv")))
        with open(self.path("a.csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        last = {key: [row[key] for row in rows if row[key]][-1] for key in rows[0] if any(row[key] for row in rows)}
        for key in set(last) & set(told):
            self.assertEqual(float(last[key]), told[key], key)
        self.assertIn("test_loss", set(last) & set(told))
        header, row = self.run_program("runs").out.splitlines()
        for name in ("mean train loss", "test loss", "median images/s"):
            self.assertIn(name, header)
        for text in ("%.5f" % told["final_train_loss"], "%.5f" % told["test_loss"]):
            self.assertIn(" " + text + " ", row)

    def test_runs_lists_settings_as_they_are_now_and_marks_changes(self):
        changed = run_maker.head()
        changed["current"] = dict(changed["configuration"], learning_rate=0.01, optimizer="adam")
        self.make("b", changed)
        self.make("a")
        ended = self.run_program("runs")
        self.assert_succeeded(ended)
        rows = {line.split()[0]: line for line in ended.out.splitlines()}
        self.assertRegex(rows["b"], r" fp32 +adam\* +0\.01\* +64 ")
        self.assertRegex(rows["a"], r" fp32 +sgd +0\.005 +64 ")
        self.assertEqual(rows["a"].index("0.005") + len("0.005"), rows["b"].index("0.01*") + len("0.01"))
        self.assertIn("changed during the run", rows["*"])
        runs = {run["name"]: run for run in json.loads(self.run_program("runs", "--json", "-").out)["runs"]}
        self.assertEqual(runs["b"]["learning_rate"], 0.01)
        self.assertEqual(runs["b"]["at_first"], {"learning_rate": 0.004999999888241291, "optimizer": "sgd"})
        self.assertEqual(runs["a"]["at_first"], {})

    def test_settings_that_differ_are_shown(self):
        self.make("a")
        self.make("b", run_maker.head(learning_rate=0.01, selection={"conv2d.forward": "loops"}))
        ended = self.run_program("runs", "--diff", "a", self.path("runs", "b"))
        self.assert_succeeded(ended)
        self.assertEqual([line.split() for line in ended.out.splitlines()],
                         [["setting", "a", "b"], ["learning_rate", "0.005", "0.01"],
                          ["selection.conv2d.forward", "onednn", "loops"]])
        ended = self.run_program("runs", "--diff", "a", "a")
        self.assertEqual((ended.code, ended.out), (0, "all settings are the same\n"))
        ended = self.run_program("runs", "--diff", "a", "b", "--json", "-")
        self.assertEqual(json.loads(ended.out)["settings"]["learning_rate"], ["0.005", "0.01"])

    def test_settings_are_compared_as_they_are_now(self):
        changed = run_maker.head()
        changed["current"] = dict(changed["configuration"], learning_rate=0.01, batch=32)
        self.make("a", changed)
        self.make("b", run_maker.head(learning_rate=0.01))
        ended = self.run_program("runs", "--diff", "a", "b")
        self.assert_succeeded(ended)
        self.assertEqual([line.split() for line in ended.out.splitlines()],
                         [["setting", "a", "b"], ["batch", "32", "(at", "first", "64)", "64"],
                          ["learning_rate", "0.01", "(at", "first", "0.005)", "0.01"]])
        report = json.loads(self.run_program("runs", "--diff", "a", "b", "--json", "-").out)
        self.assertEqual(report["settings"], {"batch": ["32", "64"], "learning_rate": ["0.01", "0.01"]})
        self.assertEqual(report["at_first"], {"batch": ["64", None], "learning_rate": ["0.005", None]})

    def test_a_setting_changed_when_a_run_is_gone_on_with_is_marked(self):
        folder = self.path("runs", "a")
        self.assert_succeeded(self.train("--run-dir", folder, steps=2))
        self.assert_succeeded(self.train("--run-dir", self.path("runs", "b"), steps=2))
        ended = self.run_program("train", "--resume", folder, "--steps", "3", "--lr", "0.0001")
        self.assert_succeeded(ended)
        ended = self.run_program("runs", "--diff", "a", "b")
        self.assert_succeeded(ended)
        self.assertRegex(ended.out, r"(?m)^learning_rate +0\.0001 \(at first 0\.0005\) +0\.0005$")
        self.assertRegex(ended.out, r"(?m)^steps +3 \(at first 2\) +2$")

    def test_no_runs_are_no_error(self):
        ended = self.run_program("runs")
        self.assert_succeeded(ended)
        self.assertEqual(ended.out, "there are no runs in runs\n")
        self.assertFalse(os.path.exists(self.path("runs")))

    def test_runs_refuses_bad_input(self):
        self.assert_refused(["runs", "nowhere"], "nowhere")
        self.assert_refused(["runs", "--sort", "beauty"], "'beauty'", "valid: time, test_loss, speed")
        self.assert_refused(["runs", "--diff", "a"], "--diff", "warpscope runs --help")
        self.assert_refused(["runs", "--diff", "a", "b"], "there is no folder a")
        self.assert_refused(["runs", "--json", "nowhere/out.json"], "--json", "nowhere")

    def test_a_damaged_run_is_listed_with_a_note(self):
        self.make("a")
        with open(self.path("runs", "a", "run.json"), "w", encoding="utf-8") as file:
            file.write("{")
        ended = self.run_program("runs")
        self.assertEqual(ended.code, 0)
        self.assertIn("a  ", ended.out)
        self.assertRegex(ended.err, r"\Awarpscope: runs/a/run.json is damaged[^\n]*\n\Z")


if __name__ == "__main__":
    main()
