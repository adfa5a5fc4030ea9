"""warpscope infer: what a trained network says of images, and how long it takes."""
import csv
import io
import json
import os
import random
import re
import signal
import struct
import sys
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, children_of, main, read_metrics, read_run, wait_until  # noqa: E402


def write_png(file, size, pixels):
    """A grey picture of size x size bytes."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    lines = b"".join(b"\0" + pixels[row * size:(row + 1) * size] for row in range(size))
    with open(file, "wb") as out:
        head = struct.pack(">IIBBBBB", size, size, 8, 0, 0, 0, 0)
        out.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head))
        out.write(chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b""))


def runs_as_rank(process):
    """Whether a process that the program started has begun to run the program."""
    with open(f"/proc/{process}/cmdline", "rb") as file:
        return file.read().split(b"\0")[1:] == [b"infer", b""]


class Infer(ProgramCase):
    def trained(self, *more):
        """A digits network after three steps."""
        self.assert_succeeded(self.run_program("train", "--model", "mlp", "--device", "cpu", "--precision", "fp32",
                                               "--data", "builtin", "--steps", "3", "--run-dir", self.path("trained"),
                                               *more))
        return self.path("trained")

    def infer(self, *more):
        return self.run_program("infer", self.path("trained"), *more, "--device", "cpu", "--precision", "fp32")

    def pictures(self):
        """Nine pictures of noise; each with its double in size, which is the same to a network."""
        folder, dice = self.path("pictures"), random.Random(5)
        os.mkdir(folder)
        for n in range(9):
            pixels = dice.randbytes(28 * 28)
            rows = [pixels[row * 28:(row + 1) * 28] for row in range(28)]
            twice = b"".join(bytes(value for value in row for _ in range(2)) * 2 for row in rows)
            write_png(os.path.join(folder, f"{n}, small.png"), 28, pixels)
            write_png(os.path.join(folder, f"{n}, large.png"), 56, twice)
        return folder

    def test_answers_about_test_images_are_as_right_as_the_training_said(self):
        run, out, figures = self.trained(), self.path("answers.csv"), self.path("figures.json")
        ended = self.infer("--out", out, "--json", figures, "--batch", "300")
        self.assert_succeeded(ended)
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(figures, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual(told["images"], len(rows))
        self.assertEqual([int(row["index"]) for row in rows], list(range(len(rows))))
        self.assertEqual((told["batch"], told["batches"]), (300, -(-len(rows) // 300)))
        right = sum(row["label"] == row["class"] for row in rows) / len(rows)
        self.assertAlmostEqual(told["accuracy"], right)
        judged = [line for line in read_metrics(run) if "accuracy" in line][-1]
        self.assertAlmostEqual(told["accuracy"], judged["accuracy"], delta=1.5 / len(rows))
        self.assertIn(f"accuracy     {100 * right:.2f} %", ended.out)
        parts = told["microseconds"]
        self.assertEqual([layer["layer"] for layer in parts["layers"]],
                         ["batch.gather", "fc1", "relu1", "fc2", "relu2", "fc3"])
        for part in ("read", "to_device", "network", "back", "total"):
            self.assertLessEqual(0, parts[part]["median"])
            self.assertLessEqual(parts[part]["median"], parts[part]["p99"])
        self.assertGreater(told["images_per_second"], 0)
        # The device works on one batch at a time.
        self.assertGreater(told["device_images_per_second"], told["images_per_second"])
        self.assertAlmostEqual(told["network_images_per_second"] * parts["network"]["median"] / 300e6, 1)
        self.assertRegex(ended.out, r"images/s +\S+ over all, \S+ on the device, \S+ by the network only")

    def test_answers_by_several_views_are_as_right_as_the_training_said(self):
        run, figures = self.trained("--test-mirrored", "--test-shift", "2"), self.path("figures.json")
        started = read_run(run)["configuration"]
        self.assertEqual((started["test_mirrored"], started["test_shift"]), (True, 2))
        told, mirror, shift = {}, ["--test-mirrored"], ["--test-shift", "2"]
        for options, passes, words in (([], 1, " in "), (mirror, 2, " each with its mirror image, in "),
                                       (shift, 5, " each also shifted to four corners by 2 pixels, in "),
                                       (mirror + shift, 10,
                                        " each also shifted to four corners by 2 pixels and all five mirrored, in ")):
            ended = self.infer(*options, "--json", figures)
            self.assert_succeeded(ended)
            with open(figures, encoding="utf-8") as file:
                told[passes] = json.load(file)
            self.assertEqual((told[passes]["mirrored"], told[passes]["shift"]),
                             ("--test-mirrored" in options, 2 * ("--test-shift" in options)))
            self.assertRegex(ended.out, f"(?m)^images .*{words}[0-9]+ batches")
            self.assertRegex(ended.out, f"(?m)^network{f', {passes} passes' if passes > 1 else ''} +[0-9]")
        judged = [line for line in read_metrics(run) if "accuracy" in line][-1]
        self.assertAlmostEqual(told[10]["accuracy"], judged["accuracy"], delta=1.5 / told[10]["images"])
        self.assertEqual(len({figures["accuracy"] for figures in told.values()}), 4, told)
        # Who resumes chooses anew.
        self.assert_succeeded(self.run_program("train", "--resume", run, "--steps", "6", "--no-test-mirrored",
                                               "--test-shift", "0"))
        current = read_run(run)["current"]
        self.assertEqual((current["test_mirrored"], current["test_shift"]), (False, 0))
        for option, name in ((mirror, "test_mirrored"), (shift, "test_shift")):
            ended = self.run_program("train", "--model", "autoencoder", "--device", "cpu", "--data", "builtin", *option)
            self.assert_one_sentence(ended, 2, "autoencoder", f"leave {name} off")
        self.assert_one_sentence(self.infer("--test-shift", "17"), 2, "--test-shift", "16")
        self.assert_one_sentence(self.infer("--test-shift", "1.5"), 2,
                                 "--test-shift: '1.5' is no whole number from 0 to 16")

    def test_answers_about_a_folder_of_pictures_are_the_same_in_any_batch(self):
        self.trained()
        folder, found = self.pictures(), {}
        for batch in (1, 5, 64):
            ended = self.infer(folder, "--batch", str(batch), "--out", "-")
            self.assert_succeeded(ended)
            found[batch] = {row["file"]: row for row in csv.DictReader(io.StringIO(ended.out))}
            self.assertEqual(list(found[batch]), sorted(found[batch]))
            self.assertEqual(len(found[batch]), 18)
        for batch, rows in found.items():
            for name, row in rows.items():
                same = found[1][name.replace("large", "small")]
                self.assertEqual(row["class"], same["class"], f"{name} in batches of {batch}")
                self.assertAlmostEqual(float(row["probability"]), float(same["probability"]), delta=1e-5)
        self.assertGreater(len({row["probability"] for row in found[1].values()}), 5)
        out = self.path("answers.json")
        self.assert_succeeded(self.infer(folder, "--out", out))
        with open(out, encoding="utf-8") as file:
            told = json.load(file)
        self.assertEqual([row["file"] for row in told["answers"]], list(found[1]))
        self.assertNotIn("accuracy", told)
        for row in told["answers"]:
            self.assertEqual(len(row["guesses"]), 3)
            self.assertEqual(row["class"], found[1][row["file"]]["class"])

    def test_a_picture_that_cannot_be_read_is_told_and_the_others_are_answered(self):
        self.trained()
        folder = self.pictures()
        with open(os.path.join(folder, "4, broken.jpg"), "wb") as file:
            file.write(b"no picture")
        ended = self.infer(folder, "--out", "-")
        self.assert_one_sentence(ended, 1, "4, broken.jpg is no picture that can be read")
        self.assertEqual(len(ended.out.splitlines()), 1 + 18)

    def answers_and_figures(self, answer, *more):
        """The bytes of the answers, and the figures without what is measured; `answer` runs the program."""
        out, figures = self.path("answers.csv"), self.path("figures.json")
        ended = answer("infer", self.path("trained"), *more, "--device", "cpu", "--precision", "fp32", "--out", out,
                       "--json", figures)
        self.assertEqual(ended.code, 0, ended.err)
        with open(out, "rb") as file, open(figures, encoding="utf-8") as told:
            answers, figures = file.read(), json.load(told)
        os.remove(out)
        ranks = figures.pop("ranks", [])
        for measured in ("seconds", "microseconds", "milliseconds", "images_per_second", "device_images_per_second",
                         "network_images_per_second"):
            figures.pop(measured, None)
        return answers, figures, ranks, re.sub(r"(?ms)^(images/s|ranks) .*", "", ended.out)

    def test_ranks_answer_as_one_does(self):
        self.trained()
        for batch in ("64", "65536"):  # one batch, so that others have none
            *one, alone = self.answers_and_figures(self.run_program, "--batch", batch)
            self.assertEqual(one.pop(), [])
            for number in (2, 3):
                *same, ranks, out = self.answers_and_figures(self.run_program, "--batch", batch, "--ranks", str(number))
                self.assertEqual((same, out), (one, alone), f"{number} ranks, batches of {batch}")
                self.assertEqual(len(ranks), number)
                self.assertEqual(sum(rank["images"] for rank in ranks), one[1]["images"])
                for rank in ranks:
                    self.assertLessEqual({"scatter", "read", "to_device", "network", "back", "gather", "idle"},
                                         set(rank["milliseconds"]))

    def test_every_pace_is_a_rung_of_the_ladder_and_gives_the_same_answers(self):
        self.trained()
        answers = [self.answers_and_figures(self.run_program, "--batch", "64", "--pace", pace)[0]
                   for pace in ("batched", "asynchronous")]
        self.assertEqual(answers[0], answers[1])
        for more in ([], ["--ranks", "2"]):
            ended = self.infer("--ladder", "--batch", "64", "--json", self.path("ladder.json"), *more)
            self.assert_succeeded(ended)
            with open(self.path("ladder.json"), encoding="utf-8") as file:
                rungs = json.load(file)["ladder"]
            self.assertEqual([(rung["pace"], rung["batch"]) for rung in rungs],
                             [("synchronous", 1), ("batched", 64), ("asynchronous", 64)])
            most = max(rung["images"] for rung in rungs)
            for rung in rungs:  # a slow machine is not done with all within the ten seconds of a rung
                self.assertTrue(rung["images"] == most or rung["seconds"] > 5, rung)

    def test_figures_are_kept_in_the_folder_of_the_run(self):
        run = self.trained()
        self.assert_succeeded(self.infer("--keep", "--ranks", "2"))
        with open(os.path.join(run, "inference.json"), encoding="utf-8") as file:
            self.assertEqual(len(json.load(file)["ranks"]), 2)

    def test_ranks_of_mpirun_answer_as_one_does(self):
        self.trained()
        one = self.answers_and_figures(self.run_program, "--batch", "64")
        two = self.answers_and_figures(lambda *arguments: self.run_by_mpi(2, *arguments), "--batch", "64")
        self.assertEqual((two[0], two[1], len(two[2])), (one[0], one[1], 2))

    def test_a_rank_that_has_no_pictures_is_sent_them(self):
        self.trained()
        self.pictures()
        one = self.answers_and_figures(self.run_program, "pictures", "--batch", "4")
        meet = ["--meet", self.folder]
        os.mkdir(self.path("elsewhere"))
        other = self.start("infer", "--rank", "1", *meet, cwd=self.path("elsewhere"))
        two = self.answers_and_figures(self.run_program, "pictures", "--batch", "4", "--rank", "0", "--ranks", "2",
                                       *meet)
        self.assert_succeeded(self.finish(other))
        self.assertEqual((two[0], two[1]), (one[0], one[1]))
        self.assertEqual([rank["images"] for rank in two[2]], [12, 6])

    def test_a_rank_that_is_killed_leaves_no_answers(self):
        self.trained()
        process = self.start("infer", self.path("trained"), "--device", "cpu", "--ranks", "2", "--batch", "1",
                             "--out", self.path("answers.csv"))
        (other,) = wait_until(lambda: [child for child in children_of(process) if runs_as_rank(child)], "the rank",
                              process)
        os.kill(other, signal.SIGKILL)  # while rank 0 still reads weights and data
        self.assert_one_sentence(self.finish(process), 1, "rank 1 was killed by SIGKILL")
        self.assertFalse(os.path.exists(self.path("answers.csv")))

    def test_a_rank_that_is_stopped_is_named_and_waited_for(self):
        self.trained()
        process = self.start("infer", self.path("trained"), "--device", "cpu", "--ranks", "2", "--batch", "1",
                             "--out", self.path("answers.csv"))
        (other,) = wait_until(lambda: [child for child in children_of(process) if runs_as_rank(child)], "the rank",
                              process)
        os.kill(other, signal.SIGSTOP)
        self.assertEqual(process.stderr.readline(),
                         "warpscope: rank 1 has not answered for about a second; the others wait for it\n")
        os.kill(other, signal.SIGCONT)
        self.assertEqual(self.finish(process).code, 0)
        self.assertTrue(os.path.exists(self.path("answers.csv")))

    def stripes(self, folder, **places):
        """A folder of class folders with twenty pictures each, in which one stripe of four is bright."""
        for name, place in places.items():
            os.makedirs(self.path(folder, name))
            for n in range(20):
                pixels = bytes((200 if row // 7 == place else 20) + n for row in range(28) for _ in range(28))
                write_png(self.path(folder, name, f"{n}.png"), 28, pixels)
        return self.path(folder)

    def answers(self, *more, warning=None):
        """The rows of the answers and the accuracy, None where there is none."""
        out, figures = self.path("answers.csv"), self.path("figures.json")
        ended = self.infer(*more, "--out", out, "--json", figures)
        told = [line for line in ended.err.splitlines() if "has no test folder, so that" not in line or warning]
        self.assertEqual(ended.code, 0, ended.err)
        self.assertEqual(len(told), 0 if warning is None else 1, ended.err)
        if warning:
            self.assertIn(warning, told[0])
        with open(out, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        with open(figures, encoding="utf-8") as file:
            return rows, json.load(file).get("accuracy")

    def test_classes_of_the_data_are_held_against_the_networks_by_name(self):
        four = self.stripes("four", blue=0, gray=1, green=2, red=3)
        self.assert_succeeded(self.run_program(
            "train", "--model", "mlp", "--device", "cpu", "--precision", "fp32", "--data", four, "--steps", "100",
            "--batch", "8", "--run-dir", self.path("trained")))
        rows, accuracy = self.answers(four)
        self.assertEqual((len(rows), accuracy), (8, 1.0))
        rows, accuracy = self.answers(self.stripes("two", green=2, red=3))
        self.assertEqual([row["class"] for row in rows], ["green"] * 2 + ["red"] * 2)
        self.assertEqual([row["label"] for row in rows], ["green"] * 2 + ["red"] * 2)
        self.assertEqual(accuracy, 1.0)
        rows, accuracy = self.answers(self.stripes("others", cat=1, dog=2),
                                      warning="4 of 4 labels are of classes that the network does not know by their "
                                              "names (cat, dog), so that the accuracy leaves them out")
        self.assertEqual([row["class"] for row in rows], ["gray"] * 2 + ["green"] * 2)
        self.assertNotIn("label", rows[0])
        self.assertIsNone(accuracy)
        more = self.stripes("more", ape=0, blue=0, gray=1, green=2, red=3)
        rows, accuracy = self.answers(more, warning="2 of 10 labels are of classes")
        self.assertEqual([row["label"] for row in rows[:4]], ["", "", "blue", "blue"])
        self.assertEqual((len(rows), accuracy), (10, 1.0))
        rows, accuracy = self.answers(self.stripes("numbers", **{"0": 0, "1": 1}))
        self.assertEqual([row["label"] for row in rows], ["blue"] * 2 + ["gray"] * 2)
        self.assertEqual(accuracy, 1.0)

    def trained_weights(self):
        """The header of a safetensors file of mlp's weights and what comes behind it."""
        self.trained("--save", self.path("good.safetensors"))
        with open(self.path("good.safetensors"), "rb") as file:
            size = struct.unpack("<Q", file.read(8))[0]
            return json.loads(file.read(size)), file.read()

    def write_weights(self, name, head, weights):
        text = json.dumps(head).encode()
        with open(self.path(name), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text + weights)

    def test_weights_that_do_not_tell_their_network_are_refused_by_name(self):
        head, weights = self.trained_weights()
        tensors = {name: tensor for name, tensor in head.items() if name != "__metadata__"}
        self.write_weights("bare.safetensors", tensors, weights)
        self.assert_refused(["infer", self.path("bare.safetensors"), "builtin", "--device", "cpu"],
                            "which model autoencoder needs", "; its metadata name no model, --model takes it")
        self.assert_succeeded(self.run_program("infer", self.path("bare.safetensors"), "builtin", "--device", "cpu",
                                               "--model", "mlp"))
        head["__metadata__"]["network"] = "garbage\n"
        self.write_weights("damaged.safetensors", head, weights)
        self.assert_refused(["infer", self.path("damaged.safetensors"), "builtin", "--device", "cpu"],
                            f"the metadata of {self.path('damaged.safetensors')} hold a network that cannot be read: ")

    def test_answers_that_are_not_finite_are_none(self):
        head, weights = self.trained_weights()
        self.write_weights("nan.safetensors", head, struct.pack("<f", float("nan")) * (len(weights) // 4))
        ended = self.run_program("infer", self.path("nan.safetensors"), "builtin", "--device", "cpu", "--out",
                                 self.path("answers.csv"))
        self.assertEqual(ended.code, 1)
        self.assertRegex(ended.err, r"(?m)^warpscope: (\d+) of \1 answers are not finite \(NaN or infinite\) and count")
        self.assertNotIn("accuracy", ended.out)
        with open(self.path("answers.csv"), encoding="utf-8", newline="") as file:
            self.assertEqual({row["class"] for row in csv.DictReader(file)}, {""})

    def test_what_cannot_be_asked_is_refused_in_a_sentence(self):
        run, empty = self.trained(), self.path("empty")
        os.mkdir(empty)
        for arguments, words in (([empty], f"the folder {empty} holds no pictures (PNG, JPEG, WebP, BMP, PPM or PGM)"),
                                 ([self.path("nowhere")], "there is no folder"),
                                 ([""], "data is empty; give it a value, or leave it out"),
                                 (["--data", ""], "data is empty"),
                                 (["/dev/null"], "/dev/null is neither a file nor a folder"),
                                 (["builtin", "--out", self.path("a.pdf")], "there is no format 'pdf' of answers"),
                                 (["builtin", "--out", self.path("y" * 260 + ".csv")], "is too long a name"),
                                 (["builtin", "--format", "csv"], "--format is that of --out"),
                                 (["builtin", "--out", "-", "--json", "-"], "both go to standard output"),
                                 (["builtin", "--select", "linear.forward=none"], "no variant"),
                                 (["builtin", "--batch", "0"], "--batch"),
                                 (["builtin", "--ranks", "2", "--gpus", "2"], "--ranks and --gpus"),
                                 (["builtin", "--pace", "slow"], "valid: synchronous, batched, asynchronous"),
                                 (["builtin", "--pace", "synchronous", "--batch", "4"], "batches of 1, not of 4"),
                                 (["builtin", "--ladder", "--out", "-"], "--ladder writes no answers"),
                                 (["builtin", "--rank", "1"], "--meet")):
            self.assert_refused(["infer", run, *arguments, "--device", "cpu"], words)
        self.assert_refused(["infer"], "source is required")


if __name__ == "__main__":
    main()
