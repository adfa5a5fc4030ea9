"""warpscope export from outside: what it writes is read by others, and what it refuses."""
import csv
import io
import json
import os
import struct
import subprocess
import sys
import unittest
import xml.etree.ElementTree
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import run_maker  # noqa: E402
from event_file import single  # noqa: E402
from warpscope_program import ProgramCase, losses_of, main  # noqa: E402

SVG = "{http://www.w3.org/2000/svg}"

# Run by an interpreter that has TensorBoard: what it finds in a folder, as JSON.
READ_EVENTS = """
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={k: 0 for k in ("scalars", "tensors", "images")})
events.Reload()
tags = events.Tags()
metadata = {t: events.SummaryMetadata(t).plugin_data.plugin_name for t in tags["tensors"]}
print(json.dumps({
    "scalars": {t: [[e.step, e.wall_time, e.value] for e in events.Scalars(t)] for t in tags["scalars"]},
    "texts": {t: [[e.step, e.wall_time, e.tensor_proto.string_val[0].decode()] for e in events.Tensors(t)]
              for t in tags["tensors"]},
    "plugins": metadata,
    "images": {t: [[e.step, e.wall_time, e.width, e.height, e.encoded_image_string.hex()] for e in events.Images(t)]
               for t in tags["images"]}}))
"""


# Run by an interpreter that has Perfetto's Python package: the slices that its trace processor finds, as JSON.
READ_TRACE = """
import json, sys
from perfetto.trace_processor import TraceProcessor
with TraceProcessor(trace=sys.argv[1]) as processor:
    rows = processor.query("select slice.name as name, slice.ts as ts, slice.dur as dur, thread.name as track "
                           "from slice join thread_track on slice.track_id = thread_track.id join thread using (utid) "
                           "order by thread.tid, slice.ts")
    print(json.dumps([[row.name, row.ts, row.dur, row.track] for row in rows]))
"""


def interpreter_with(module):
    for candidate in (sys.executable, os.environ.get("WARPSCOPE_PYTHON")):
        if candidate and subprocess.run([candidate, "-c", f"import {module}"], check=False,
                                        capture_output=True).returncode == 0:
            return candidate
    raise unittest.SkipTest(f"no Python here has {module}; WARPSCOPE_PYTHON may name one")


def png(width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes([40 * y, 0, 255]) * width for y in range(height))
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Export(ProgramCase):
    def setUp(self):
        super().setUp()
        self.run_dir = self.path("runs", run_maker.NAME)
        self.points = run_maker.lines()
        run_maker.make_run(self.run_dir, run_maker.head(), self.points)

    def export(self, form, *arguments, run=run_maker.NAME):
        out = self.path("out." + form)
        self.assert_succeeded(self.run_program("export", run, "--to", form, "--out", out, *arguments))
        return out

    def text(self, *arguments, **options):
        with open(self.export(*arguments, **options), encoding="utf-8", newline="") as file:
            return file.read()

    def test_csv_is_read_back(self):
        rows = list(csv.DictReader(io.StringIO(self.text("csv"), newline="")))
        steps = [point for point in self.points if "loss" in point]
        tests = {point["step"]: point for point in self.points if "test_loss" in point}
        markers = {point["step"]: point["marker"] for point in self.points if "marker" in point}
        self.assertEqual([int(row["step"]) for row in rows], [point["step"] for point in steps])
        names = dict(epoch="epoch", seconds="seconds", train_loss="loss", scheduled_rate="learning_rate",
                     images_per_second="images_per_second", gradient_norm="gradient_norm", train_accuracy="accuracy")
        for row, point in zip(rows, steps):
            for column, key in names.items():
                self.assertEqual(float(row[column]), point[key])
            test = tests.get(point["step"])
            for column, key in dict(test_loss="test_loss", test_psnr="psnr", test_accuracy="accuracy").items():
                self.assertEqual(row[column] and float(row[column]), test[key] if test else "")
            self.assertEqual(row["markers"], markers.get(point["step"], ""))

    def test_a_recorded_training_is_exported(self):
        self.assert_succeeded(self.train("--run-dir", self.path("real"), steps=3))
        rows = list(csv.DictReader(io.StringIO(self.text("csv", run=self.path("real")), newline="")))
        self.assertEqual([float(row["train_loss"]) for row in rows], losses_of(self.path("real")))
        self.assertTrue(rows[-1]["test_loss"])

    def test_json_holds_the_run(self):
        run = json.loads(self.text("json"))
        self.assertEqual(run["run"], run_maker.head())
        self.assertEqual(run["steps"]["train_loss"], [point["loss"] for point in self.points if "loss" in point])
        self.assertEqual(run["tests"]["test_psnr"], [point["psnr"] for point in self.points if "psnr" in point])

    def test_svg_is_xml_with_the_curves(self):
        other = run_maker.head(learning_rate=0.01)
        run_maker.make_run(self.path("runs", "a&b <c>"), other, self.points)
        self.assertEqual(self.curves("svg"), 2)
        self.assertEqual(self.curves("svg", "--series", "train_loss,test_psnr,gradient_norm", "--over", "epoch"), 3)
        out = self.path("both.svg")
        self.assert_succeeded(self.run_program("export", run_maker.NAME, "a&b <c>", "--to", "svg", "--out", out,
                                               "--log", "--over", "seconds", "--title", "\"Ü\" & <more>"))
        texts = [text.text for text in xml.etree.ElementTree.parse(out).iter(SVG + "text")]
        for text in ("\"Ü\" & <more>", "a&b <c>: train loss", "time of training", "loss",
                     'conv2d.forward: "a", -> <b> & ü 5'):
            self.assertIn(text, texts)

    def curves(self, *arguments):
        root = xml.etree.ElementTree.fromstring(self.text(*arguments).encode())
        return len([path for path in root.iter(SVG + "path") if path.get("class") == "curve"])

    def test_png_is_the_plot_at_twice_the_size(self):
        if os.environ.get("WARPSCOPE_TESTED_WINDOW") == "0":
            self.assert_refused(["export", run_maker.NAME, "--to", "png", "--out", self.path("out.png")], "window",
                                "svg")
            return
        out = self.export("png")
        with open(out, "rb") as file:
            data = file.read()
        self.assertEqual(data[:8], b"\x89PNG\r\n\x1a\n")
        self.assertEqual(struct.unpack(">II", data[16:24]), (1920, 1080))

    def test_safetensors_holds_the_weights_alone(self):
        def safetensors(tensors):
            header, data = {"__metadata__": {"model": "mine", "network": "its layers"}}, b""
            for name, values in tensors.items():
                begin = len(data)
                data += struct.pack(f"<{len(values)}f", *values)
                header[name] = {"dtype": "F32", "shape": [len(values)], "data_offsets": [begin, len(data)]}
            text = json.dumps(header).encode()
            return struct.pack("<Q", len(text)) + text + data

        os.mkdir(os.path.join(self.run_dir, "checkpoints"))
        for name, value in (("step-20", 2.0), ("step-100", 3.0), ("best", 4.0)):
            with open(os.path.join(self.run_dir, "checkpoints", name + ".safetensors"), "wb") as file:
                file.write(safetensors({"conv1.weight": [value, 1.5], "optimizer.m.conv1.weight": [9.0]}))
        for arguments, value in (((), 3.0), (("--checkpoint", "best"), 4.0),
                                 (("--checkpoint", "step-20.safetensors"), 2.0)):
            with open(self.export("safetensors", *arguments), "rb") as file:
                length, = struct.unpack("<Q", file.read(8))
                header = json.loads(file.read(length))
                self.assertEqual(struct.unpack("<2f", file.read()), (value, 1.5))
            metadata = header.pop("__metadata__")
            self.assertEqual([metadata[key] for key in ("format", "model", "network")], ["pt", "mine", "its layers"])
            self.assertEqual(list(header), ["conv1.weight"])

    def test_tensorboard_reads_the_events(self):
        python = interpreter_with("tensorboard")
        picture = png(5, 3)
        os.mkdir(os.path.join(self.run_dir, "images"))
        for name in ("now-000020.png", "now-000040.png"):
            with open(os.path.join(self.run_dir, "images", name), "wb") as file:
                file.write(picture)
        folder = self.export("tensorboard")
        read = subprocess.run([python, "-c", READ_EVENTS, folder], capture_output=True, text=True, check=True,
                              timeout=120)
        found = json.loads(read.stdout)

        def scalars(key, needs):
            return [[point["step"], run_maker.START + point["seconds"], single(point[key])] for point in self.points
                    if needs in point]

        expected = {"train/loss": ("loss", "loss"), "train/accuracy": ("accuracy", "loss"),
                    "scheduled_rate": ("learning_rate", "loss"), "images_per_second": ("images_per_second", "loss"),
                    "gradient_norm": ("gradient_norm", "loss"), "test/loss": ("test_loss", "test_loss"),
                    "test/psnr": ("psnr", "test_loss"), "test/accuracy": ("accuracy", "test_loss")}
        self.assertEqual(set(found["scalars"]), set(expected))
        for tag, (key, needs) in expected.items():
            self.assertEqual(found["scalars"][tag], scalars(key, needs), tag)
        self.assertEqual(found["texts"]["markers"],
                         [[point["step"], run_maker.START + point["seconds"], point["marker"]]
                          for point in self.points if "marker" in point])
        (step, _, table), = found["texts"]["configuration"]
        self.assertEqual(step, 0)
        self.assertIn("| learning\\_rate | 0.005 |", table)
        self.assertEqual(found["plugins"], {"markers": "text", "configuration": "text"})
        self.assertEqual(found["images"], {"images/now": [[20, run_maker.START + 5.0, 5, 3, picture.hex()],
                                                          [40, run_maker.START + 10.0, 5, 3, picture.hex()]]})

    def trace(self):
        """A run that has times, as a trace, and the file of it."""
        self.assert_succeeded(self.train("--run-dir", self.path("timed"), steps=12))
        file = self.export("trace", run=self.path("timed"))
        with open(file, encoding="utf-8") as text:
            return json.load(text), file

    def test_a_trace_is_as_the_format_says(self):
        trace, _ = self.trace()
        tracks, ends, calls = set(), {}, []
        for event in trace["traceEvents"]:
            self.assertIsInstance(event["name"], str)
            self.assertIsInstance(event["pid"], int)
            if event["ph"] == "M":
                self.assertIn(event["name"], ("process_name", "thread_name", "thread_sort_index"))
                if event["name"] == "thread_name":
                    tracks.add((event["pid"], event["tid"]))
                continue
            self.assertGreaterEqual(event["ts"], 0)
            if event["ph"] == "C":
                self.assertEqual([type(value) for value in event["args"].values()], [float])
                continue
            self.assertEqual(event["ph"], "X")
            track = event["pid"], event["tid"]
            self.assertIn(track, tracks, "a track has its name first")
            self.assertGreater(event["dur"], 0)
            self.assertAlmostEqual(event["ts"], ends.get(track, 0), places=6,
                                   msg="calls neither overlap nor leave gaps")
            ends[track] = event["ts"] + event["dur"]
            calls.append(event)
        self.assertAlmostEqual(sum(call["args"]["share"] for call in calls), 1)
        with open(self.path("timed", "status.json"), encoding="utf-8") as text:
            status = json.load(text)
        launched = [timing for timing in status["timings"] if not timing["covered_by"]]
        self.assertEqual([call["name"] for call in calls],
                         [f"{timing['op']} {timing['layer']}".rstrip() for timing in launched])
        self.assertEqual([call["dur"] for call in calls], [timing["microseconds"] for timing in launched])
        self.assertEqual(trace["otherData"]["batch"], status["settings"]["batch"])
        self.assertIn("one after the other", trace["otherData"]["timing"])

    def test_perfetto_reads_a_trace(self):
        python = interpreter_with("perfetto.trace_processor")
        trace, file = self.trace()
        read = subprocess.run([python, "-c", READ_TRACE, file], capture_output=True, text=True, check=False,
                              timeout=120)
        if read.returncode != 0 and "trace_processor_shell" in read.stderr and "curl" in read.stderr:
            self.skipTest("Perfetto's trace processor is not here and cannot be downloaded")
        self.assertEqual(read.returncode, 0, read.stderr)
        calls = [event for event in trace["traceEvents"] if event["ph"] == "X"]
        slices = json.loads(read.stdout)
        self.assertEqual([name for name, _, _, _ in slices], [call["name"] for call in calls])
        for (_, start, length, track), call in zip(slices, calls):
            self.assertAlmostEqual(start / 1e3, slices[0][1] / 1e3 + call["ts"], delta=0.002)  # whole nanoseconds
            self.assertAlmostEqual(length / 1e3, call["dur"], delta=0.002)
            self.assertEqual(track, "now")

    def test_export_refuses_bad_input(self):
        def refuse(arguments, *words):
            self.assert_refused(["export", *arguments], *words)

        out = ("--out", self.path("out"))
        refuse([run_maker.NAME, "--to", "xls", *out], "'xls'",
               "valid: csv, tensorboard, safetensors, svg, png, json, trace")
        refuse(["nowhere", "--to", "csv", *out], "nowhere")
        refuse([self.home, "--to", "csv", *out], self.home, "holds no run")
        refuse([run_maker.NAME, run_maker.NAME, "--to", "csv", *out], "csv takes one run")
        refuse([run_maker.NAME, "--to", "csv", "--series", "train_loss", *out], "--series")
        refuse([run_maker.NAME, "--to", "svg", "--series", "beauty", *out], "'beauty'", "valid: train_loss,")
        refuse([run_maker.NAME, "--to", "svg", "--over", "miles", *out], "'miles'", "valid: step, epoch, seconds")
        refuse([run_maker.NAME, "--to", "svg", "--checkpoint", "best", *out], "--checkpoint")
        refuse([run_maker.NAME, "--to", "safetensors", *out], "no checkpoints")
        refuse([run_maker.NAME, "--to", "trace", *out], run_maker.NAME, "no times of kernels")
        refuse([run_maker.NAME, "--to", "tensorboard", "--out", "-"], "standard output")
        refuse([run_maker.NAME, "--to", "csv", "--out", "nowhere/out.csv"], "--out", "nowhere")
        refuse([run_maker.NAME, "--to", "csv"], "--out", "warpscope export --help")

    def test_damaged_lines_are_left_out_with_a_note(self):
        with open(os.path.join(self.run_dir, "metrics.jsonl"), "a", encoding="utf-8") as file:
            file.write("nonsense\n{\"step\":41,\"lo")
        ended = self.run_program("export", run_maker.NAME, "--to", "csv", "--out", "-")
        self.assertEqual(ended.code, 0)
        self.assertEqual(len(ended.out.splitlines()), 41)
        self.assertRegex(ended.err, r"\Awarpscope: line 47 of [^\n]* is left out: it is not JSON\n\Z")


if __name__ == "__main__":
    main()
