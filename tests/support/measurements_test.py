"""The scripts that measure write their figures into tables of docs/measurements. Without a GPU and without PyTorch:
they get programs that print what the real ones have printed, and results as they make them."""
import argparse
import csv
import importlib.util
import json
import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

sys.dont_write_bytecode = True
TESTS = pathlib.Path(__file__).resolve().parents[1]
TABLES = TESTS.parent / "docs/measurements"
sys.path += [str(TESTS / folder) for folder in ("support", "gpu", "peers")]
for missing in ("torch", "numpy"):
    if importlib.util.find_spec(missing) is None:
        sys.modules[missing] = mock.MagicMock(__version__="2.11.0")

import bench_tables  # noqa: E402
import measurements  # noqa: E402
import ranks  # noqa: E402
import record  # noqa: E402
import torch_accuracy  # noqa: E402
import torch_autoencoder  # noqa: E402
import torch_epochs  # noqa: E402
import torch_network_speed  # noqa: E402
import view_latency  # noqa: E402
import window_cost  # noqa: E402

TRAINING = """\
steps        600 (epoch 10.00) in 0:03
test loss    0.075214 over 10000 images, accuracy 97.68 %
speed        6235386.1 images/s, median over all steps, batch 256
"""
MAPS = """\
NVIDIA H200, tsne of 10000 x 8192
make            150.20 ms   distances 90.00 ms
purity          0.1004 at iteration 0
iterations       73.00 ms   1000 of 0.0730 ms each
purity          0.9991 at iteration 1000
make            136.90 ms
purity          0.1004 at iteration 0
iterations       72.90 ms   1000 of 0.0729 ms each
purity          0.9991 at iteration 1000
"""
BENCH = {"rows": [{"op": "relu.forward", "layer": "relu1", "precision": "bf16", "variant": "naive", "median_us": 12.34},
                  {"op": "relu.forward", "layer": "relu1", "precision": "tf32", "variant": "naive", "skipped": "no"}],
         "steps": [{"name": "naive", "precision": "fp32", "batch": 256, "median_us": 343708.9,
                    "images_per_second": 744.8, "plan_bytes": 805 << 20, "joules": 83.2},
                   {"name": "hopper", "precision": "fp32", "batch": 256, "skipped": "needs compute capability 9.0"}]}


# Tables that people fill, and why no script does.
BY_HAND = {"linear_machine": "the network whose features they are is not kept",
           "ranks_trials": "ranks are killed, networks cut, launchers tried one by one; words tell what happened"}


def rows_in(path):
    with open(path, encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


class MeasurementsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.file = self.folder / "figures.csv"
        told = mock.patch.dict(os.environ, {"MACHINE": "a machine", "COMMIT": "abc1234"})
        told.start()
        self.addCleanup(told.stop)
        os.environ.pop("COMMAND", None)

    def program(self, output, code=0):
        path = self.folder / "warpscope"
        path.write_text(f"#!{sys.executable}\nprint({output!r}, end='')\nraise SystemExit({code})\n", encoding="utf-8")
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def recorded(self, *words, code=0):
        done = subprocess.run([sys.executable, "-B", str(TESTS / "gpu/record.py"), str(self.file), *words],
                              capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, code, done.stderr)
        return done.stdout + done.stderr

    def test_a_row_takes_the_place_of_the_one_with_its_key(self):
        self.file.write_text("date,machine,commit,command,preset,fp32,target\n2026-11-21,H100,99a13ea,old,naive,1,5\n"
                             "2026-11-21,H100,99a13ea,old,tiled,2,6\n", encoding="utf-8")
        new = [{"preset": "naive", "fp32": "3"}, {"preset": "mma", "fp32": "4"}]
        measurements.write(self.file, ("preset",), new, command="new")
        naive, tiled, mma = rows_in(self.file)
        self.assertEqual((naive["commit"], naive["machine"], naive["command"]), ("abc1234", "a machine", "new"))
        self.assertEqual((naive["fp32"], naive["target"]), ("3", "5"))
        self.assertEqual((tiled["date"], tiled["fp32"], mma["fp32"], mma["target"]), ("2026-11-21", "2", "4", ""))

    def test_a_table_of_something_else_is_refused_and_stays(self):
        before = "date,machine,commit,command,preset\n2026-11-21,H100,99a13ea,old,naive\n"
        self.file.write_text(before, encoding="utf-8")
        with self.assertRaises(SystemExit) as refused:
            measurements.write(self.file, ("optimizer",), [{"optimizer": "adam"}])
        self.assertIn("there is no column 'optimizer'", str(refused.exception))
        self.assertEqual(self.file.read_text(encoding="utf-8"), before)

    def test_a_command_has_no_folders_of_this_machine_and_no_files_of_its_output(self):
        script = str(TESTS / "peers/torch_curve.py")
        words = ["python3", script, self.program(""), "--csv", str(self.file), "--json=x", "50"]
        self.assertEqual(measurements.command_line(words), "tests/peers/torch_curve.py BUILD/warpscope 50")

    def test_a_training_of_several_seeds_becomes_one_row(self):
        self.recorded("accuracy", "--seeds", "1,2", "--cell", "network=vgg", "--cell", "`--lr`=0.3", "--",
                      self.program(TRAINING), "train")
        row, = rows_in(self.file)
        self.assertEqual((row["network"], row["`--lr`"], row["seeds"], row["accuracy"]),
                         ("vgg", "0.3", "1, 2", "97.68, 97.68 %"))
        self.assertEqual(row["command"], "warpscope train")

    def test_digits_errors_and_speeds_of_a_training(self):
        program = self.program(TRAINING)
        told = {"digits": {"test accuracy": "97.68 %", "images/s": "6235386", "seconds an epoch": "0.010"},
                "errors": {"errors of Warpscope": "2.32 %", "their mean, %": "2.32"},
                "speed": {"images or texts a second": "6235386"}}
        for kind, expected in told.items():
            self.recorded(kind, "--cell", "what=it", "--", program)
            self.assertEqual({name: rows_in(self.file)[0][name] for name in expected}, expected)

    def test_a_map_is_told_by_its_last_making(self):
        self.recorded("maps", "--cell", "method=t-SNE", "--", self.program(MAPS))
        row, = rows_in(self.file)
        self.assertEqual((row["beginning"], row["each iteration or epoch"], row["purity of the 10 nearest"]),
                         ("137 ms", "0.073 ms", "0.10 to 1.00"))

    def test_whole_steps_and_variants_of_a_bench_are_a_row_each(self):
        program = self.program(json.dumps(BENCH))
        self.recorded("steps", "--", program)
        self.assertEqual([row["mJ an image"] for row in rows_in(self.file)], ["325"])
        self.file.unlink()
        self.recorded("variants", "--", program)
        self.assertEqual([(row["variant"], row["µs"]) for row in rows_in(self.file)], [("naive", "12.34")])

    def test_the_fastest_variant_of_an_op_tells_its_share_of_the_floor(self):
        rows = [{"op": "batch_norm.infer", "variant": variant, "median_us": time, "floor_us": 8.6}
                for variant, time in (("naive", 50.0), ("vectorized", 10.0))]
        self.recorded("shares", "--column", "512x8x8x256", "--", self.program(json.dumps({"rows": rows})))
        row, = rows_in(self.file)
        self.assertEqual((row["BF16, share of the floor"], row["512x8x8x256"]), ("batch_norm.infer", "86 %"))
        self.fits("norms", row)

    @staticmethod
    def call(op, layer, channels, covered, microseconds, floor):
        return {"op": op, "layer": layer, "precision": "bf16", "median_us": microseconds, "floor_us": floor,
                "least_flops": 1e9, "bytes": 2e6,
                "shape": {"in_channels": channels[0], "out_channels": channels[1], "covered": covered}}

    def bench_of_layers(self):
        forward, weights, backward = "conv2d.forward", "conv2d.backward_weights", "conv2d.backward_input"
        pooled = ["bias.forward", "relu.forward", "max_pool2d.forward"]
        return {"batch": 100, "peaks": {"bf16_flops": 1e15, "bytes_per_second": 1e12},
                "steps": [{"precision": "bf16", "images_per_second": 1e7}, {"precision": "tf32", "skipped": "no"}],
                "rows": [self.call(forward, "conv1", (3, 256), [], 5, 1),
                         self.call(forward, "conv1", (3, 256), pooled, 10, 8),
                         self.call(forward, "conv1", (3, 256), pooled, 9, 9),
                         self.call(weights, "conv1", (3, 256), [], 10, 5),
                         self.call(forward, "conv2", (256, 128), ["upsample2d.forward"], 20000, 10000),
                         self.call(backward, "conv2", (256, 128), [], 40, 30),
                         {"op": forward, "layer": "conv2", "precision": "fp16", "skipped": "no"}]}

    def test_calls_of_layers_are_the_fastest_of_those_that_cover_most(self):
        self.recorded("layers", "--", self.program(json.dumps(self.bench_of_layers())))
        first, second = rows_in(self.file)
        self.assertEqual((first["µs at batch 1024"], first["forward bf16"], first["weights bf16"], first["input bf16"]),
                         ("conv1 3-256, pooled", "9", "10", ""))
        self.assertEqual((second["µs at batch 1024"], second["forward bf16"], second["input bf16"]),
                         ("conv2 256-128, upsampled", "20000", "40"))
        self.fits("layers", first)

    def test_the_floor_is_that_of_products_of_calls_and_of_each_pass(self):
        self.recorded("floor", "--", self.program(json.dumps(self.bench_of_layers())))
        rows = {row["BF16, batch 1024"]: row for row in rows_in(self.file)}
        shares = {name: row["share of the floor reached"] for name, row in rows.items()}
        self.assertEqual(shares, {"products only, whole step": "40 %", "all calls of the layers": "50 %",
                                  "forward": "50 to 100 %", "gradients of the inputs": "conv2 75 %",
                                  "gradients of the weights": "50 %",
                                  "layers with three channels, bound by memory": "50 to 100 %"})
        self.assertEqual((rows["products only, whole step"]["floor"], rows["all calls of the layers"]["floor"]),
                         ("25,000,000 images/s", "10,044 µs"))
        self.fits("floor", rows["forward"])
        self.assertEqual(set(shares), {row["BF16, batch 1024"] for row in rows_in(TABLES / "floor.csv")})

    def test_what_a_run_tells_of_itself_becomes_memory_and_the_cost_of_augmentation(self):
        def status(making):
            return json.dumps({"plan_bytes": 495 << 20, "images_per_second": 831800.4, "timings": [
                {"op": "batch.gather", "microseconds": making}, {"op": "relu.forward", "microseconds": None},
                {"op": "conv2d.forward", "microseconds": 98.0}]})
        self.assertEqual(bench_tables.plan_cells(status(1.0), "BF16"), {"BF16": "495"})
        self.recorded("augmentation", "--cell", "share of the training's time (limit 2 % each)=classifier",
                      "--column", "crop", "--", self.program(status(1.0) + "\n" + status(2.0)))
        row, = rows_in(self.file)
        self.assertEqual((row["images/s without"], row["crop"]), ("831800", "1.0 %"))
        self.fits("augmentation", row)

    def test_several_views_and_whole_trainings_are_told_for_each_seed(self):
        told = self.program("accuracy     92.41 %\n")
        self.recorded("views", "--seeds", "1,2", "--cell", "resnet9 evaluated by=x", "--", told, "infer", "w-{}")
        row, = rows_in(self.file)
        self.assertEqual((row["accuracy"], row["mean"]), ("92.41, 92.41 %", "92.41 %"))
        self.fits("cifar10_views", row)
        self.file.unlink()
        self.recorded("whole", "--seeds", "1,2,3", "--cell", "from start to accuracy=x", "--", told)
        row, = rows_in(self.file)
        self.assertRegex(row["seconds"], r"^\d+\.\d\d, \d+\.\d\d, \d+\.\d\d$")
        self.fits("features_whole_way", row)

    def test_seeds_stand_in_their_place_or_behind_the_command(self):
        self.assertEqual(record.of_seeds(["infer", "w-{}.x"], ["1", "2"]), [["infer", "w-1.x"], ["infer", "w-2.x"]])
        self.assertEqual(record.of_seeds(["train"], ["7"]), [["train", "--seed", "7"]])
        self.assertEqual(record.of_seeds(["train"], []), [["train"]])

    def test_batches_tell_images_a_second_and_the_time_of_a_step(self):
        self.recorded("batches", "--cell", "network=mlp", "--cell", "batch=256", "--", self.program(TRAINING))
        row, = rows_in(self.file)
        self.assertEqual((row["images a second"], row["ms a step"]), ("6.235e+06", "0.0411"))
        self.fits("cpu_batches", row)

    def test_patterns_take_cells_and_two_commands_may_fill_one_row(self):
        told = self.program("fitted       in 0.301 s, 12 iterations, objective 3\naccuracy     72.14 %\n")
        self.recorded("take", "--cell", "classifier=RBF", "--take", r"accuracy=^accuracy +([\d.]+ %)", "--", told)
        self.recorded("take", "--cell", "classifier=RBF", "--take", r"seconds to fit=^fitted +in ([\d.]+) s", "--",
                      told)
        row, = rows_in(self.file)
        self.assertEqual((row["accuracy"], row["seconds to fit"]), ("72.14 %", "0.301"))
        self.fits("features_classifiers", row)
        self.assertIn("nothing is written", self.recorded("take", "--take", "PSNR=PSNR ([0-9]+)", "--", told, code=1))

    def test_what_failed_or_told_something_else_writes_nothing(self):
        self.recorded("proof", "--cell", "what=it", "--", self.program("1 check, 1 failed\n", 1), code=1)
        told = self.recorded("speed", "--cell", "what=it", "--", self.program("hello\n"), code=1)
        self.assertIn("nothing is written", told)
        self.assertFalse(self.file.exists())

    def test_two_builds_in_turns_become_a_row(self):
        program = self.program(TRAINING)
        command = [sys.executable, "-B", str(TESTS / "gpu/parent.py"), program, program, "--csv", str(self.file),
                   "--rows", "fastest bf16 autoencoder"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        row, = rows_in(self.file)
        self.assertEqual((row["training, batch 512 unless said"], row["again"]),
                         ("autoencoder, BF16, batch 256", "6235386"))

    def fits(self, name, row):
        """The row has only columns of this table."""
        with open(TABLES / f"{name}.csv", encoding="utf-8", newline="") as file:
            self.assertLessEqual(set(row), set(next(csv.reader(file))), name)

    def test_rows_of_each_script_fit_their_tables(self):
        result = {"precision": "bf16", "batch": 256, "network": "vgg", "what": "train",
                  "warpscope": 300.0, "ratio": 3.0,
                  "torch": {"eager": 90.0, "eager, channels_last": 100.0, "default, channels_last": 95.0}}
        modes = ["eager", "default"]
        self.assertEqual(torch_autoencoder.speeds_of(result, modes),
                         {"PyTorch `eager`": "100", "`default`": "95", "Warpscope": "300", "times the best": "3.00"})
        self.fits("torch_autoencoder", torch_autoencoder.speeds_of(result, modes))
        found = {"precision": "bf16", "warpscope": [1.01, 1.01], "torch": [1.0, 1.0], "seconds": [2.0],
                 "torch_seconds": [18.9]}
        self.fits("twenty_epochs", torch_epochs.table_row(found))
        self.assertIn("+1.00 %", torch_epochs.table_row(found).values())
        for name in view_latency.LIMITS:
            self.fits("views", view_latency.table_row("2560x1440", name, [1.0, 2.0]))
        figures = {"images/s without": 100.0, "images/s with": 99.0, "cost %": 1.0, "frame ms": 3.0,
                   **{name: 1.0 for name in window_cost.LIMITS if name != "cost %"}}
        for draw, name in (("gpu", "window"), ("cpu", "window_cpu")):
            table = self.folder / f"{name}.csv"
            table.write_bytes((TABLES / f"{name}.csv").read_bytes())
            arguments = argparse.Namespace(csv=str(table), draw=draw, device="cuda:0")
            window_cost.write_rows(arguments, window_cost.table_rows(figures))
            self.fits(name, rows_in(table)[0])
            self.assertIn("100, 99: 1.00 %", [row["figure"] for row in rows_in(table)])

    def test_rows_of_ranks_fit_their_tables(self):
        lines = [f"ranks        cuda:{rank}, 512 images: 1,000 us a step, of that {42 + 2 * rank} us in sums over "
                 f"ranks, 9 us of these waiting, {126 + 2 * rank} us more beside the backward pass"
                 for rank in range(2)]
        for name, weak in (("ranks", False), ("ranks_buckets", True)):
            arguments = argparse.Namespace(weak=weak, gpus=2, batch=1024)
            row = ranks.table_row(arguments, "nccl", 2048, (1900.0, lines), 1000.0)
            self.assertEqual((row["images/s"], row["of two by themselves"]), ("1900", "95.0 %"))
            self.assertEqual(row["us a step in sums"], "43")
            if weak:
                self.fits(name, row)
                self.assertEqual(row["us beside the backward pass"], "127")
            self.fits(name, ranks.table_row(arguments, "", 1024, (1000.0, []), 1000.0))
        with mock.patch.dict(sys.modules, {"torch": mock.MagicMock(__version__="2.11.0")}):
            rows = ranks.peer_rows(arguments, {"PyTorch, 1": 100.0, "PyTorch, 2": 190.0})
        self.assertEqual([row["images/s"] for row in rows], ["100", "190"])
        self.fits("ranks", rows[1])
        bench = self.program("nccl_plain: 32.6 us for 3000000 bytes on 2 GPUs\n"
                             "p2p_one_shot: 19.0 us for 3000000 bytes on 2 GPUs\n")
        self.file.write_bytes((TABLES / "ranks_sums.csv").read_bytes())
        ranks.sums_by_themselves(
            argparse.Namespace(program=bench, gpus=2, bytes=3000000, variants="", csv=str(self.file)))
        self.assertEqual({row["gradients.allreduce"]: row["us for 3 MB by itself"] for row in rows_in(self.file)},
                         {"`p2p_one_shot`": "19.0", "`p2p_two_shot`": "30.9", "`nccl_plain`": "32.6"})

    def test_each_table_is_written_by_a_script_or_said_to_be_by_hand(self):
        scripts = "".join(path.read_text(encoding="utf-8") for folder in ("gpu", "peers")
                          for path in sorted((TESTS / folder).glob("*")) if path.suffix in (".py", ".sh"))
        for table in sorted(TABLES.glob("*.csv")):
            name = re.escape(table.stem)
            begin = name.rpartition("_")[0]
            found = re.search(rf"\b(?:table|classified|echo) {name}\b|\b{name}\.csv|table {begin}_\$", scripts)
            self.assertNotEqual(bool(found), table.stem in BY_HAND, f"{table.name}: by a script, or in BY_HAND")

    def test_networks_and_accuracies_keep_what_others_wrote(self):
        networks, texts = self.folder / "torch_networks.csv", self.folder / "ag_news.csv"
        for table in (networks, texts):
            table.write_bytes((TABLES / table.name).read_bytes())
        arguments = argparse.Namespace(csv=str(networks), device="cuda:0", modes="reduce-overhead", network="char_cnn",
                                       optimizer="adam", rate=0.0003)
        result = {"network": "resnet9", "precision": "bf16", "what": "train", "batch": 512, "warpscope": 2.0,
                  "ratio": 2.0, "torch": {"reduce-overhead": 1.0}}
        torch_network_speed.write_row(arguments, result)
        row = rows_in(networks)[0]
        self.assertEqual((row["Warpscope"], row["target"], row["commit"]), ("2", "1.5 times", "abc1234"))
        arguments.csv, before = str(texts), rows_in(texts)
        with mock.patch.object(torch_accuracy.torch, "__version__", "2.11.0"):
            torch_accuracy.write_row(arguments, True, [([0.75], 1.0)])
        after = rows_in(texts)
        self.assertEqual(len(after), len(before))
        self.assertEqual((after[1]["errors of PyTorch 2.11"], after[1]["their mean, %"]),
                         ("25.00 %", before[1]["their mean, %"]))


if __name__ == "__main__":
    unittest.main()
