"""verify and bench from outside: exit codes, tables, JSON, CSV, and what they refuse."""
import csv
import io
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402

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
        self.assertEqual(report["device"]["id"], "cpu")
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

    def test_bench_holds_upsampled_blocks_against_the_products_they_need(self):
        blocks = ("bench", "--device", "cpu", "--op", "block.forward", "--variant", "loops", "--batch", "1", "--samples",
                  "3", "--precision", "fp32")
        ended = self.run_program(*blocks, "--json", self.path("bench.json"))
        self.assert_succeeded(ended)
        self.assertIn("floor: the least products known", ended.out)
        self.assertIn("2.25 times fewer products", ended.out)
        with open(self.path("bench.json"), encoding="utf-8") as file:
            report = json.load(file)
        rows = [row for row in report["rows"] if "skipped" not in row]
        self.assertEqual({row["shape"]["upsample"] for row in rows}, {False, True})
        for row in rows:
            fewer = 9 / 4 if row["shape"]["upsample"] else 1
            self.assertAlmostEqual(row["flops"], fewer * row["least_flops"])
            compute = 1e6 * row["least_flops"] / report["peaks"]["fp32_flops"]
            memory = 1e6 * row["bytes"] / report["peaks"]["bytes_per_second"]
            self.assertAlmostEqual(row["floor_us"], max(compute, memory), places=3)

        ended = self.run_program(*blocks, "--against", self.path("bench.json"))
        self.assert_succeeded(ended)
        changes = ended.out[ended.out.index("against"):]
        self.assertIn("up, 1x", changes, "blocks are found again by the whole of their shape")

    def test_bench_times_whole_steps_where_asked(self):
        ended = self.run_program("bench", "--device", "cpu", "--batch", "1", "--precision", "fp32", "--op",
                                 "step.record", "--samples", "3", "--steps", "--json", "-")
        self.assert_succeeded(ended)
        steps = json.loads(ended.out)["steps"]
        self.assertIn("default", {step["name"] for step in steps})
        for step in steps:
            self.assertGreater(step["images_per_second"], 0)
            self.assertIsNone(step["joules"])

    def test_bench_refuses_bad_input(self):
        self.assert_refused(["bench", "--device", "magic"], "'magic'", "valid: ")
        self.assert_refused(["bench", "--op", "conv3d"], "'conv3d'", "valid: ")
        self.assert_refused(["bench", "--variant", "magic"], "'magic'", "valid: ")
        self.assert_refused(["bench", "--precision", "fp8"], "'fp8'", "valid: ")
        self.assert_refused(["bench", "--batch", "-1"], "--batch")
        self.assert_refused(["bench", "--samples", "0"], "--samples")
        for shape in ("", "8", "8x8", "2x8x8x0", "2x8x8x3:4", "2x8x8x3:4x2x2", "2x8x8x3:4x3x3x", "axbxcxd"):
            self.assert_refused(["bench", "--shape", shape], "--shape", "valid: ")
        self.assert_refused(["bench", "--op", "optimizer.update", "--shape", "2x8x8x3"], "--shape", "--op")
        self.assert_refused(["bench", "--op", "weights.cast", "--device", "cpu", "--precision", "fp32"], "weights.cast")
        self.assert_refused(["bench", "--json", "nowhere/bench.json"], "--json", "nowhere")
        self.assert_refused(["bench", "--json", "-", "--csv", "-"], "--json", "--csv")

    def test_bench_refuses_files_that_are_not_its_own(self):
        with open(self.path("other.json"), "w", encoding="utf-8") as file:
            file.write('{"rows": 3}')
        self.assert_refused([*QUICK_BENCH, "--against", self.path("other.json")], "other.json", "bench --json")
        self.assert_refused([*QUICK_BENCH, "--against", self.path("missing.json")], "missing.json", "cannot be read")


if __name__ == "__main__":
    main()
