"""Kernels that people write: from a file to a training, whose run keeps it and goes on without it."""
import os
import shutil
import signal
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, markers_of, read_run, steps_of, wait_until  # noqa: E402

NETWORK = """input = [32, 32, 3]
loss = "cross_entropy"
classes = 10
layers = [
  {type = "conv2d", channels = 4},
  {type = "relu"},
  {type = "maxpool2d"},
  {type = "linear", features = 10},
]
"""


class UserKernels(ProgramCase):
    def read(self, *parts):
        with open(self.path(*parts), encoding="utf-8") as file:
            return file.read()

    def write(self, name, text):
        """At once: a part of it would be a kernel too."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def new(self, op, name):
        self.assert_succeeded(self.run_program("kernel", "new", op, name))

    def test_a_new_kernel_is_right_and_a_wrong_one_is_told_and_never_used(self):
        self.new("relu.forward", "mine.cpp")
        text = self.read("mine.cpp")
        self.assert_refused(["kernel", "new", "relu.forward", "mine.cpp"], "mine.cpp is there already")
        self.assert_refused(["kernel", "new", "step.record", "other.cpp"], "valid: conv2d.forward")
        self.assert_refused(["kernel", "check", "nothing.cpp"], "nothing.cpp")
        self.assert_refused(["kernel", "check", "mine.cpp", "--races"],
                            "--races: a kernel for the CPU has no shared memory")
        ended = self.run_program("kernel", "check", "mine.cpp")
        self.assert_succeeded(ended)
        for word in ("compiled ", "proved ", "user:mine is right in ", "loops", "times yours"):
            self.assertIn(word, ended.out)
        ended = self.run_program("verify", "--device", "cpu", "--op", "relu.forward", "--variant", "user:mine",
                                 "--shapes", "0", "--kernel", "mine.cpp", "--precision", "fp32")
        self.assert_succeeded(ended)
        self.assertIn("user:mine", ended.out)

        self.write("mine.cpp", text.replace("x < 0 ? 0 : x", "x < 0 ? 1 : x"))
        self.assert_one_sentence(self.run_program("kernel", "check", "mine.cpp"), 1,
                                 "relu.forward user:mine gives 1 for output(")
        self.write("mine.cpp", text.replace("call.output(n, h, w, c) =", "call.output(n, h, w, c + 1) ="))
        self.assert_one_sentence(self.run_program("kernel", "check", "mine.cpp"), 1,
                                 "leaves the operand 'output' at line ")
        self.assert_refused(self.train_arguments("--kernel", "mine.cpp", "--select", "relu.forward=user:mine"),
                            "leaves the operand 'output' at line ")
        self.write("mine.cpp", text.replace("const float x", "cnst float x"))
        ended = self.run_program("kernel", "check", "mine.cpp")
        self.assert_one_sentence(ended, 1, "mine.cpp, line ", "does not compile")
        self.assertIn("cnst float x", ended.out)

    def test_the_lesson_is_listed_and_written(self):
        ended = self.run_program("kernel", "examples")
        self.assert_succeeded(ended)
        files = [line.split()[0] for line in ended.out.splitlines()[1:]]
        self.assertIn("6_fused.cu", files)
        for file in files:
            name, end = os.path.splitext(file)
            self.assert_succeeded(self.run_program("kernel", "new", "--example", name, f"mine_{name}{end}"))
            self.assertIn("WARPSCOPE_KERNEL(call)", self.read(f"mine_{name}{end}"))
        self.assert_refused(["kernel", "new", "--example", "2_tiles", "other.cpp"], "no example '2_tiles'",
                            "valid: 1_naive")
        self.assert_refused(["kernel", "new", "--example", "1_naive", "relu.forward", "other.cpp"],
                            "only a file is needed")
        self.assert_refused(["kernel", "new", "relu.forward"], "an operation and a file are needed")

    def test_a_training_by_a_kernel_of_ones_own_keeps_it_and_goes_on_without_it(self):
        self.write("small.toml", NETWORK)
        self.new("conv2d.forward", "my_conv.cpp")
        run = self.path("run")
        chosen = ("--model", self.path("small.toml"), "--precision", "fp32", "--run-dir", run)
        ended = self.train("--kernel", "my_conv.cpp", "--select", "conv2d.forward=user:my_conv", *chosen, steps=3)
        self.assert_succeeded(ended)
        head = read_run(run)
        self.assertEqual(head["configuration"]["chosen"], {"conv2d.forward": "user:my_conv"})
        self.assertEqual([(each["op"], each["variant"], each["file"]) for each in head["kernels"]],
                         [("conv2d.forward", "user:my_conv", "kernels/my_conv.cpp")])
        self.assertEqual(self.read("run", "kernels", "my_conv.cpp"), self.read("my_conv.cpp"))

        ended = self.run_program("train", "--resume", run, "--steps", "5")
        self.assert_succeeded(ended,
                              "conv2d.forward ran by user:my_conv, which --kernel does not name now (the run keeps its "
                                     "file, kernels/my_conv.cpp); it goes on by ")
        self.assertEqual(read_run(run)["current"]["chosen"], {})
        ended = self.run_program("train", "--resume", run, "--steps", "6",
                                 "--kernel", os.path.join(run, "kernels", "my_conv.cpp"),
                                 "--select", "conv2d.forward=user:my_conv")
        self.assert_succeeded(ended)
        self.assertEqual(steps_of(run), [1, 2, 3, 4, 5, 6])
        self.assertEqual(os.listdir(os.path.join(run, "kernels")), ["my_conv.cpp"])
        self.assert_refused(self.train_arguments("--kernel", "my_conv.cpp", "--ranks", "2"), "--kernel: ",
                            "one process")

    def test_a_run_keeps_headers_too_and_goes_on_by_what_it_kept_where_file_and_headers_are_gone(self):
        self.write("small.toml", NETWORK)
        os.mkdir(self.path("mine"))
        os.mkdir(self.path("far"))
        self.new("relu.forward", "mine/my_relu.cpp")
        text = self.read("mine", "my_relu.cpp")
        self.write("mine/my_relu.cpp",
                   '#include "zero.h"\n#include <far.h>\n' + text.replace("x < 0 ? 0", "x < kZero ? 0"))
        self.write("mine/zero.h", "constexpr float kZero = 0;\n")
        self.write("far/far.h", "// nothing\n")
        run = self.path("run")
        ended = self.train("--kernel", "mine/my_relu.cpp", "--include", "far", "--select", "relu.forward=user:my_relu",
                           "--model", self.path("small.toml"), "--precision", "fp32", "--run-dir", run, steps=3)
        self.assert_succeeded(ended)
        kept = read_run(run)["kernels"][-1]
        self.assertEqual(kept["headers"], ["kernels/my_relu.headers/beside/zero.h",
                                           "kernels/my_relu.headers/beside/far.h"])
        shutil.rmtree(self.path("mine"))
        shutil.rmtree(self.path("far"))
        ended = self.run_program("train", "--resume", run, "--steps", "5", "--kernel", os.path.join(run, kept["file"]))
        self.assert_succeeded(ended)
        self.assertEqual(read_run(run)["current"]["chosen"], {"relu.forward": "user:my_relu"})
        self.assertEqual(read_run(run)["kernels"], [kept])

    def test_a_kernel_that_is_saved_while_it_trains_is_swapped_in_and_a_wrong_one_is_only_told(self):
        self.write("small.toml", NETWORK)
        self.new("relu.forward", "mine.cpp")
        text = self.read("mine.cpp")
        run = self.path("run")
        log = open(self.path("log"), "w", encoding="utf-8")
        self.addCleanup(log.close)
        process = self.start(*self.train_arguments(
            "--kernel", "mine.cpp", "--select", "relu.forward=user:mine", "--model", self.path("small.toml"),
            "--precision", "fp32", "--run-dir", run, steps=10**7), stdout=log, stderr=log)
        self.wait_for_step(process, run, 2)
        self.write("mine.cpp", text.replace("x < 0 ? 0 : x", "x < 0 ? 1 : x"))
        told = "kernel user:mine, version 2 is refused: relu.forward user:mine gives 1 for output("
        wait_until(lambda: told in self.read("log"), told, process)
        self.write("mine.cpp", text + "// the same\n")
        told = "kernel user:mine, version 3: relu.forward user:mine is right in "
        wait_until(lambda: told in self.read("log"), told, process)
        wait_until(lambda: markers_of(run) == ["kernel user:mine, version 3"], "a marker", process)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 0)
        self.assertEqual([each["file"] for each in read_run(run)["kernels"]],
                         ["kernels/mine.cpp", "kernels/mine.2.cpp"])
        self.assertEqual(self.read("run", "kernels", "mine.2.cpp"), text + "// the same\n")


main()
