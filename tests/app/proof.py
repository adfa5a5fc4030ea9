"""verify and bench from outside: exit codes, tables, JSON, CSV, and what they refuse."""
import csv
import io
import json
import os
import sys
import xml.etree.ElementTree

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"
RELU = ("--device", "cpu", "--op", "relu.forward,relu.backward")
QUICK_VERIFY = ("verify", *RELU, "--shapes", "1")
QUICK_BENCH = ("bench", *RELU, "--shape", "2x8x8x16", "--samples", "3", "--precision", "fp32")


class Verify(ProgramCase):
    def test_verify_prints_a_table_and_succeeds(self):
        ended = self.run_program(*QUICK_VERIFY)
        self.assert_succeeded(ended)
        for word in ("operation", "tolerance", "relu.forward", "loops", "onednn", "finite differences", "0 failed"):
            self.assertIn(word, ended.out)
        self.assertNotIn("FAILED", ended.out)
        self.assertNotIn("\x1b", ended.out, "no colours where standard output is no terminal")

    def test_verify_writes_json(self):
        ended = self.run_program(*QUICK_VERIFY, "--json", self.path("proof.json"))
        self.assert_succeeded(ended)
        with open(self.path("proof.json"), encoding="utf-8") as file:
            report = json.load(file)
        self.assertEqual((report["format"], report["device"]["id"]), (1, "cpu"))
        self.assertEqual(report["failed"], 0)
        self.assertTrue(report["complete"])
        loops = [row for row in report["rows"]
                 if (row["op"], row["variant"], row["precision"]) == ("relu.forward", "loops", "fp32")]
        self.assertEqual(len(loops), 1)
        self.assertGreater(loops[0]["checked"], 1)
        self.assertTrue(loops[0]["same_bits"])
        self.assertLessEqual(loops[0]["worst_error"], loops[0]["tolerance"])

    def test_verify_can_print_json_alone(self):
        ended = self.run_program(*QUICK_VERIFY, "--variant", "loops", "--json", "-")
        self.assert_succeeded(ended)
        self.assertEqual({row["variant"] for row in json.loads(ended.out)["rows"]}, {"loops"})

    def test_verify_repeats_itself_for_a_seed(self):
        def errors(seed):
            ended = self.run_program("verify", "--device", "cpu", "--op", "mse.forward", "--variant", "loops",
                                     "--shapes", "3", "--seed", seed, "--json", "-")
            self.assert_succeeded(ended)
            return [row["worst_error"] for row in json.loads(ended.out)["rows"]]

        self.assertEqual(errors("5"), errors("5"))
        self.assertNotEqual(errors("5"), errors("6"))

    def test_verify_refuses_bad_input(self):
        self.assert_refused(["verify", "--device", "magic"], "'magic'", "valid: ")
        self.assert_refused(["verify", "--op", "conv3d"], "'conv3d'", "valid: ", "conv2d.forward")
        self.assert_refused(["verify", "--precision", "fp32,fp8"], "'fp8'", "valid: ", "bf16")
        self.assert_refused(["verify", "--variant", "magic"], "'magic'", "valid: ", "loops")
        self.assert_refused(["verify", "--shapes", "-1"], "--shapes", "negative")
        self.assert_refused(["verify", "--seed", "-1"], "--seed", "negative")
        self.assert_refused(["verify", "--json", "nowhere/proof.json"], "--json", "nowhere")
        self.assert_refused(["verify", "--nonsense"], "--nonsense", "warpscope verify --help")


class Bench(ProgramCase):
    def test_bench_prints_peaks_and_ranks(self):
        ended = self.run_program(*QUICK_BENCH)
        self.assert_succeeded(ended)
        for word in ("measured peaks", "memory", "relu.forward  2x8x8x16  fp32", "rank", "median", "of floor", "loops"):
            self.assertIn(word, ended.out)
        self.assertNotIn("whole training steps", ended.out)

    def test_bench_writes_json_and_csv_and_compares(self):
        ended = self.run_program(*QUICK_BENCH, "--json", self.path("bench.json"), "--csv", self.path("bench.csv"))
        self.assert_succeeded(ended)
        with open(self.path("bench.json"), encoding="utf-8") as file:
            report = json.load(file)
        rows = [row for row in report["rows"] if "skipped" not in row]
        self.assertGreater(len(rows), 3)
        for row in rows:
            self.assertGreaterEqual(row["rank"], 1)
            self.assertGreater(row["median_us"], 0)
            self.assertEqual(row["shape"]["in_channels"], 16)
        self.assertGreater(report["peaks"]["fp32_flops"], 0)
        with open(self.path("bench.csv"), encoding="utf-8") as file:
            lines = list(csv.DictReader(io.StringIO(file.read())))
        self.assertEqual(len(lines), len(rows))
        self.assertEqual({line["shape"] for line in lines}, {"2x8x8x16"})

        ended = self.run_program(*QUICK_BENCH, "--against", self.path("bench.json"))
        self.assert_succeeded(ended)
        self.assertIn("against", ended.out)
        self.assertIn("ratio", ended.out)

    def test_bench_tells_what_calls_cover_and_sets_the_single_ops_beside_them(self):
        """On a CPU the library's convolution covers what follows it."""
        several = ("bench", "--device", "cpu", "--op", "conv2d.forward,bias.forward,relu.forward", "--batch", "1",
                   "--samples", "3", "--precision", "fp32")
        ended = self.run_program(*several, "--json", self.path("bench.json"))
        self.assert_succeeded(ended)
        self.assertIn("; with bias, relu", ended.out)
        self.assertIn("single ops", ended.out)
        with open(self.path("bench.json"), encoding="utf-8") as file:
            report = json.load(file)
        covering = [row for row in report["rows"] if row["shape"]["covered"]]
        self.assertTrue(covering)
        for row in covering:
            self.assertEqual(row["op"], "conv2d.forward")
            self.assertIn("bias.forward", row["shape"]["covered"])
        self.assertTrue([row for row in covering if row.get("sum")])
        ended = self.run_program(*several, "--against", self.path("bench.json"))
        self.assert_succeeded(ended)
        self.assertIn("with bias, relu", ended.out[ended.out.index("against"):])

    def file_of_a_gpu(self):
        """A file as bench writes it on another machine: relu.forward by two variants, the second in the step twice."""
        self.assert_succeeded(self.run_program(*QUICK_BENCH, "--json", self.path("bench.json")))
        with open(self.path("bench.json"), encoding="utf-8") as file:
            report = json.load(file)
        row = next(row for row in report["rows"] if row["op"] == "relu.forward" and "skipped" not in row)
        report["device"] = {"id": "cuda:0", "name": "A <GPU>", "driver": "1"}
        report["rows"] = [
            {**row, "variant": "naive", "median_us": 30, "p10_us": 30, "p90_us": 30, "floor_us": 5},
            {**row, "variant": "vectorized", "median_us": 10, "p10_us": 10, "p90_us": 10, "floor_us": 5,
             "in_step": ["relu1", "relu2"]}]
        with open(self.path("gpu.json"), "w", encoding="utf-8") as file:
            json.dump(report, file)
        return self.path("gpu.json")

    def bars(self, *arguments):
        """Widths of the bars, and all texts."""
        self.assert_succeeded(self.run_program("export", *arguments, "--to", "svg", "--out", self.path("bars.svg")))
        root = xml.etree.ElementTree.parse(self.path("bars.svg")).getroot()
        widths = [float(bar.get("width")) for bar in root.iter(SVG + "rect") if bar.get("class") == "bar"]
        return widths, [text.text for text in root.iter(SVG + "text")]

    def test_a_file_of_bench_from_another_machine_is_drawn(self):
        file = self.file_of_a_gpu()
        widths, texts = self.bars(file)
        self.assertEqual(len(widths), 2)
        self.assertAlmostEqual(widths[0], 3 * widths[1], delta=0.3)
        for text in ("Variants, fp32, batch 64, A <GPU>", "naive", "vectorized", "10.0 µs, 50 % of floor"):
            self.assertIn(text.replace("batch 64", f"batch {self.batch_of(file)}"), texts)
        widths, texts = self.bars(file, "--series", "step", "--title", "A step")
        self.assertEqual(len(widths), 2)
        for text in ("A step", "relu1 relu.forward: vectorized", "relu2 relu.forward: vectorized", "10.0 µs, 50.0 %"):
            self.assertIn(text, texts)

    def batch_of(self, path):
        with open(path, encoding="utf-8") as file:
            return json.load(file)["batch"]

    def test_a_bench_of_the_model_knows_the_calls_of_its_step(self):
        self.assert_succeeded(self.run_program(
            "bench", "--device", "cpu", "--batch", "1", "--precision", "fp32", "--op", "mse.forward,mse.backward",
            "--samples", "3", "--steps", "--json", self.path("bench.json")))
        widths, texts = self.bars(self.path("bench.json"), "--series", "step")
        self.assertEqual(len(widths), 2)
        self.assertTrue([text for text in texts if text and "the whole step" in text])

    def test_drawing_a_file_of_bench_refuses_bad_input(self):
        file = self.file_of_a_gpu()
        out = ("--out", self.path("out"))
        self.assert_refused(["export", file, "--to", "csv", *out], "csv", "svg")
        self.assert_refused(["export", file, "--to", "svg", "--series", "loss", *out], "'loss'",
                            "valid: variants, step")
        self.assert_refused(["export", file, "--to", "svg", "--precision", "bf16", *out], "bf16", "valid: fp32")
        self.assert_refused(["export", file, "--to", "svg", "--over", "step", *out], "--over")
        self.assert_refused(["export", self.path("bench.json"), "--to", "svg", "--series", "step", *out], "whole step")
        with open(self.path("other.json"), "w", encoding="utf-8") as other:
            other.write("{}")
        self.assert_refused(["export", self.path("other.json"), "--to", "svg", *out], "bench --json")

    def test_bench_times_whole_steps_where_asked(self):
        ended = self.run_program("bench", "--device", "cpu", "--batch", "1", "--precision", "fp32", "--op",
                                 "step.record", "--samples", "3", "--steps", "--json", "-")
        self.assert_succeeded(ended)
        steps = json.loads(ended.out)["steps"]
        self.assertIn("automatic", {step["name"] for step in steps})
        for step in steps:
            self.assertGreater(step["images_per_second"], 0)
            self.assertIsNone(step["joules"])

    def test_bench_takes_steps_and_gaps_of_convolutions(self):
        ended = self.run_program("bench", "--device", "cpu", "--op", "conv2d.forward", "--precision", "fp32",
                                 "--samples", "3", "--shape", "2x9x9x3:4x3x3:stride2:dilation2:valid", "--json", "-")
        self.assert_succeeded(ended)
        shapes = [row["shape"] for row in json.loads(ended.out)["rows"]]
        self.assertTrue(shapes)
        for shape in shapes:
            self.assertEqual((shape["stride"], shape["dilation"], shape["valid"]), (2, 2, True))

    def test_bench_refuses_bad_input(self):
        self.assert_refused(["bench", "--device", "magic"], "'magic'", "valid: ")
        self.assert_refused(["bench", "--op", "conv3d"], "'conv3d'", "valid: ")
        self.assert_refused(["bench", "--variant", "magic"], "'magic'", "valid: ")
        self.assert_refused(["bench", "--precision", "fp8"], "'fp8'", "valid: ")
        self.assert_refused(["bench", "--batch", "-1"], "--batch")
        self.assert_refused(["bench", "--samples", "0"], "--samples")
        for shape in ("8", "8x8", "2x8x8x0", "2x8x8x3:4", "2x8x8x3:4x2x2", "2x8x8x3:4x3x3x", "2x8x8x3:1x1",
                      "2x8x8x3:2x4", "2x1x8x3:3x3", "axbxcxd", "2x8x8x3:4x3x3:stride3", "2x8x8x3:4x3x3:dilation",
                      "2x8x8x3:4x3x3:wide", "2x8x8x3:4x3x3:", "2x8:4:valid", "2x8x8x3:3x3:stride2"):
            self.assert_refused(["bench", "--shape", shape], "--shape", "valid: ")
        self.assert_refused(["bench", "--op", "optimizer.update", "--shape", "2x8x8x3"], "--shape", "--op")
        self.assert_refused(["bench", "--op", "weights.cast", "--device", "cpu", "--precision", "fp32"], "weights.cast")
        self.assert_refused(["bench", "--json", "nowhere/bench.json"], "--json", "nowhere")
        self.assert_refused(["bench", "--json", "-", "--csv", "-"], "--json", "--csv")

    def test_bench_refuses_files_that_are_not_its_own(self):
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            file.write('{"rows": 3}')
        self.assert_refused([*QUICK_BENCH, "--against", self.path("other.json")], "other.json", "bench --json")
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            file.write('{"format": 7, "rows": []}')
        self.assert_refused([*QUICK_BENCH, "--against", self.path("other.json")], "other.json",
                            "format 7 of bench reports", "reads only 1")
        self.assert_refused([*QUICK_BENCH, "--against", self.path("missing.json")], "missing.json", "cannot be read")


if __name__ == "__main__":
    main()
