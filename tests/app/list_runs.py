"""warpscope runs from outside: the table, its order, JSON, differences, and what it refuses."""
import csv
import fcntl
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import run_maker  # noqa: E402
from event_file import scalars_of, single  # noqa: E402
from warpscope_program import ProgramCase, main, read_run  # noqa: E402


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
        for word in ("run", "started", "model", "precision", "optimizer", "rate", "mean train loss", "test loss",
                     "median images/s"):
            self.assertIn(word, rows[0])
        self.assertTrue(rows[1].startswith("20260201T000000Z-1"))
        self.assertTrue(rows[1].endswith("failed"))
        for word in ("20260131T235959Z-1", "autoencoder", "CIFAR-10", "AMD EPYC", "fp32", "sgd", " 0.005 ", " 64 ",
                     " 40 ", "4.00", "0.05000", "0.06250", "1,000", "finished"):
            self.assertIn(word, rows[2])

    def test_runs_knows_running_from_interrupted(self):
        self.make("a", run_maker.head("running"))
        with open(self.path("runs", "a", ".lock"), "w", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.assertTrue(self.run_program("runs").out.rstrip().endswith(" running"))
        row = self.run_program("runs").out.splitlines()[1]
        self.assertTrue(row.endswith(" interrupted"))
        self.assertIn("80.00 %", row, "the accuracy of the last test")

    def test_long_names_are_cut_in_the_table_and_whole_in_json(self):
        name = "20260131T235959Z-" + "\u00e4" * 60 + "-lr-0.005"
        self.make(name)
        self.make("short")
        ended = self.run_program("runs")
        self.assert_succeeded(ended)
        rows = {row.split()[0]: row for row in ended.out.splitlines()}
        cut = name[:19] + "..." + name[-18:]
        self.assertEqual(set(rows), {"run", "short", cut})
        self.assertEqual(rows["run"].index("started"), 42, "forty characters and two blanks")
        listed = json.loads(self.run_program("runs", "--json", "-").out)["runs"]
        self.assertEqual({run["name"] for run in listed}, {"short", name})

    def test_runs_are_sorted(self):
        for name, loss, speed in (("20260101T000000Z-1", 0.3, 20), ("20260102T000000Z-1", 0.1, 10),
                                  ("20260103T000000Z-1", 0.2, 30)):
            run = run_maker.head()
            run.update(test_loss=loss, median_images_per_second=speed)
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
        self.assertEqual((run["test_loss"], run["accuracy"]), (0.0500000007, 0.800000012),
                         "nine digits, as in run.json")

    def exported(self, run, form):
        out = self.path("out." + form)
        self.assert_succeeded(self.run_program("export", run, "--to", form, "--out", out))
        return out

    def test_each_figure_is_one_number_under_one_name_wherever_it_is_told(self):
        folder = self.path("runs", "a")
        ended = self.train("--run-dir", folder, "--validation", "0.2", "--joint", "0.1", "--schedule",
                           "constant:warmup=1", steps=4)
        self.assert_succeeded(ended)
        told = read_run(folder)
        listed, = json.loads(self.run_program("runs", "--json", "-").out)["runs"]
        with open(self.exported(folder, "csv"), encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        columns = {name: [(int(row["step"]), float(row[name])) for row in rows if row[name]] for name in rows[0]}
        events = {tag.replace("/", "_"): points
                  for tag, points in scalars_of(self.exported(folder, "tensorboard")).items()}

        # Figures of each step and evaluation: CSV, JSON, TensorBoard.
        with open(self.exported(folder, "json"), encoding="utf-8") as file:
            series = json.load(file)
        self.assertEqual(set(events), set(columns) - {"step", "epoch", "seconds"})
        for name, points in events.items():
            self.assertEqual([(step, value) for step, _, value in points],
                             [(step, single(value)) for step, value in columns[name]], name)
            table = series["steps"] if name in series["steps"] else series["tests"]
            self.assertEqual([value for value in table[name] if value is not None],
                             [value for _, value in columns[name]], name)
        self.assertGreater(min(value for _, value in columns["images_per_second"]), 0,
                           "the first step has no time: no 0")

        # Figures of the whole run: run.json, the list, and what has the same name elsewhere; it is that of the end.
        values = {}
        for place in (told, listed, {name: points[-1][1] for name, points in columns.items() if points}):
            for name, value in place.items():
                if isinstance(value, (int, float)) and not isinstance(value, bool):
                    values.setdefault(name, []).append(value)
        for name, numbers in values.items():
            self.assertEqual(len(set(numbers)), 1, f"{name}: {numbers}")
        for name, places in dict(steps=2, epochs=2, seconds=3, final_train_loss=2, median_images_per_second=2,
                                 test_loss=3, validation_loss=3, validation_psnr=3, learning_rate=1).items():
            self.assertEqual(len(values[name]), places, name)
        for name in ("psnr", "head_loss", "head_accuracy"):
            self.assertEqual(told[name], columns["test_" + name][-1][1], name)
        self.assertEqual((told["steps"], told["epochs"]), (columns["step"][-1][1], columns["epoch"][-1][1]))
        losses = [value for _, value in columns["train_loss"]]
        self.assertAlmostEqual(told["final_train_loss"], sum(losses) / 4, delta=1e-9)

        # What people read has the same digits.
        header, row = self.run_program("runs").out.splitlines()
        for name in ("mean train loss", "validation loss", "test loss", "test head loss", "median images/s"):
            self.assertIn(name, header)
        for name in ("final_train_loss", "validation_loss", "test_loss"):
            self.assertIn(" %.5f " % told[name], row)
        for text in ("train loss   %.6f, mean of the last 4 steps\n" % told["final_train_loss"],
                     "validation   %.6f over 8 images, PSNR %.2f dB, " % (told["validation_loss"],
                                                                          told["validation_psnr"]),
                     "test loss    %.6f over 8 images, PSNR %.2f dB, head's loss %.4f, its accuracy %.2f %%\n" % (
                         told["test_loss"], told["psnr"], told["head_loss"], 100 * told["head_accuracy"]),
                     "speed        %.1f images/s, median" % told["median_images_per_second"]):
            self.assertIn("\n" + text, ended.out)

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

    def test_a_run_of_another_format_is_listed_and_refused(self):
        self.make("a")
        self.make("b")
        file = self.path("runs", "b", "run.json")
        with open(file, encoding="utf-8") as text:
            run = json.load(text)
        run["format"] = 7
        with open(file, "w", encoding="utf-8") as text:
            json.dump(run, text)
        sentence = ("runs/b/run.json has format 7 of runs, and this Warpscope reads only 1; use the Warpscope that "
                    "wrote it")
        ended = self.run_program("runs", "--json", self.path("list.json"))
        self.assertEqual((ended.code, ended.err), (0, f"warpscope: {sentence}\n"))
        self.assertRegex(ended.out, r"(?m)^b .* refused$")
        with open(self.path("list.json"), encoding="utf-8") as text:
            self.assertEqual(json.load(text)["format"], 1)
        commands = [["export", "b", "--to", "csv", "--out", self.path("out.csv")], ["runs", "--diff", "a", "b"],
                    ["config", "--resume", "runs/b"]]
        if os.environ.get("WARPSCOPE_TESTED_WINDOW") != "0":
            commands.append(["view", "b"])
        for command in commands:
            self.assert_refused(command, sentence)
        self.assertEqual(read_run(self.path("runs", "b")), run)

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
