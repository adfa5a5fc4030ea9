#!/usr/bin/env python3
"""user_kernels.py WARPSCOPE [--seconds N] [--faults N] [--seed N] [--first N] [--keep FOLDER]: kernels of one's own on
a GPU, in one go.

While a training runs on the same GPU: proves the kernel that each operation begins with and the lesson's kernels, side
by side; gives wrong kernels to trials, one at a time, since a GPU's time is shared and a hanging one would take that of
the others, and looks at the sentence that each is told: those below and N of a table (tests/support/kernel_faults.py;
--first leaves out those before it, so that many come in several calls); takes the time from a save to a verdict and
the training's images/s before and meanwhile. Then times the lesson. Prints a line for each, PASS or FAIL with what was
told; the exit code is the number of those that failed. What does not begin within N seconds (130) is left out."""
import argparse
import concurrent.futures
import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import kernel_faults  # noqa: E402

PROOF_TARGET_MS, COMPILE_TARGET_MS = 1000, 300
SPEED_TARGET = 0.9  # of the training's images/s
VERDICTS = 12

HEAD = """#include <warpscope/relu.forward.h>
constexpr int kThreads = 256; static __device__ volatile int never = 0;
WARPSCOPE_LAUNCH(call, kThreads, (call.output.size() + kThreads - 1) / kThreads)
WARPSCOPE_KERNEL(call) {
  const Index e = Index{blockIdx.x} * kThreads + threadIdx.x;
  if (e >= call.output.size()) return;
"""
RIGHT = "const float x = call.input[e]; call.output[e] = x < 0 ? 0 : x;"
INCLUDE = "#include <warpscope/relu.forward.h>\n"
ON = r", on \d+x\d+x\d+x\d+"


def body(text):
    return HEAD + text + "\n}\n"


def launched(launch, before=""):
    return INCLUDE + before + launch + "\nWARPSCOPE_KERNEL(call) { call.output[0] = 1; }\n"


# name, file, what the sentence has to be (behind the name of the kernel, or of the file where it does not compile).
FAULTS = [
    ("reads_outside", body("call.output[e] = call.input[e + 1];"),
     r"leaves the operand 'input' at line 7: its element is (\d+) there, and may be 0 to \d+" + ON),
    ("writes_outside", body("call.output(0, 0, -1, 0) = 1;"),
     r"leaves the operand 'output' at line 7: its index 3 is -1 there, and may be 0 to \d+" + ON),
    ("one_thread_reads_outside", body(RIGHT + "\nif (e == 0) call.output[e] = call.input(0, 0, 0, 1000);"),
     r"leaves the operand 'input' at line 8: its index 4 is 1000 there, and may be 0 to \d+" + ON),
    ("reads_far_unchecked", body("call.output[e] = call.input.data()[e + (Index{1} << 36)];"),
     r"touches memory that is not its own" + ON),
    ("writes_far_unchecked", body("call.output.data()[e - (Index{1} << 36)] = 1;"),
     r"touches memory that is not its own" + ON),
    ("reads_nothing", body("call.output[e] = *static_cast<const volatile float*>(nullptr);"),
     r"touches memory that is not its own" + ON),
    ("writes_past_unchecked", body(RIGHT + "\nif (e == 0) call.output.data()[call.output.size()] = 1;"),
     r"wrote past the end of the operand 'output'" + ON),
    ("writes_before_unchecked", body(RIGHT + "\nif (e == 0) call.output.data()[-1] = 1;"),
     r"wrote before the operand 'output'" + ON),
    ("hangs_reading", body("volatile int go = 1;\nwhile (go != 0) call.output[e] = call.input[e];"),
     r"does not end within 1 s, last at line 8" + ON),
    ("hangs_alone", body("if (e == 0) while (never == 0) {}\n" + RIGHT),
     r"does not end within 2 s" + ON),
    ("hangs_at_a_barrier", INCLUDE + """WARPSCOPE_LAUNCH(call, 64, 1)
static __device__ volatile int ready = 0;
WARPSCOPE_KERNEL(call) { while (ready == 0) {} call.output[threadIdx.x] = 1; }
""", r"does not end within 2 s" + ON),
    ("hangs_in_its_launch", launched("WARPSCOPE_LAUNCH(call, 256, forever())",
                                     "static __device__ volatile int never = 0;\n"
                                     "__device__ int forever() { while (never == 0) {} return 1; }\n"),
     r"does not end within 2 s" + ON),
    ("traps", body("__trap();"), r"runs into .*a trap.*" + ON),
    ("misaligned", body("call.output[e] = *reinterpret_cast<const float*>(reinterpret_cast<const char*>("
                        "call.input.data()) + 1);"),
     r"touches memory at an address that is no multiple of what it reads or writes there" + ON),
    ("misaligned_vector", body("const float4 x = *reinterpret_cast<const float4*>(call.input.data() + 1);\n"
                               "call.output[e] = x.x + x.y + x.z + x.w;"),
     r"touches memory at an address that is no multiple of what it reads or writes there" + ON),
    # Within the window of shared memory (16 MiB): beyond it lies that of another block of the cluster.
    ("leaves_shared_memory", body("__shared__ float tile[256];\nvolatile float* far = tile;\n"
                                  "far[threadIdx.x + (1 << 18)] = 1;\ncall.output[e] = far[threadIdx.x];"),
     r"(touches memory that is not its own|runs into a trap, or touches shared memory that is not its own|"
     r"touches memory of another kind than its instruction is for)" + ON),
    ("shared_race", INCLUDE + """WARPSCOPE_LAUNCH(call, 256, (call.output.size() + 255) / 256)
WARPSCOPE_KERNEL(call) {
  __shared__ float tile[256];
  const Index e = Index{blockIdx.x} * 256 + threadIdx.x, other = e ^ 32;
  if (threadIdx.x >= 32) for (const long long begin = clock64(); clock64() - begin < 200000;) {}
  tile[threadIdx.x ^ 32] = other < call.input.size() ? call.input[other] : 0.0f;
  const float x = tile[threadIdx.x];  // before the others have written it
  if (e < call.output.size()) call.output[e] = x < 0 ? 0 : x;
}
""", r"(gives \S+ for output\([\d, ]+\), where \S+ is right: .*|gave other bits the second time)" + ON),
    ("gives_other_bits", body("const float x = call.input[e];\n"
                              "call.output[e] = x < 0 ? 0 : x * (1.0f + static_cast<float>(clock64() / 2 % 2) * "
                              "1.2e-7f);"),
     r"gave other bits the second time" + ON),
    ("is_wrong", body(RIGHT + "\nif (e == 2) call.output[e] = 7;"),
     r"gives 7 for output\(\d+, \d+, \d+, \d+\), where \S+ is right: a relative error of \S+ in all, more than \S+"
     + ON),
    ("gives_nan", body("call.output[e] = __int_as_float(0x7fffffff);"),
     r"gives NaN for output\(0, 0, 0, 0\), where .*" + ON),
    ("leaves_some", body("if (e + 1 < call.output.size()) call.output[e] = call.input[e] < 0 ? 0 : call.input[e];"),
     r"does not write output\(\d+, \d+, \d+, \d+\)" + ON),
    ("writes_nothing", body("if (call.input[e] == 12345.0f) call.output[e] = 0;"),
     r"does not write output\(0, 0, 0, 0\)" + ON),
    ("changes_inputs", body(RIGHT + "\nif (e == 0) const_cast<float*>(call.input.data())[0] += 1;"),
     r"changed the operand 'input', which it may only read" + ON),
    ("keeps_results", INCLUDE + """WARPSCOPE_LAUNCH(call, 256, (call.output.size() + 255) / 256)
static __device__ float kept[1 << 20];
static __device__ const float* where[1 << 20];
WARPSCOPE_KERNEL(call) {
  const Index e = Index{blockIdx.x} * 256 + threadIdx.x;
  if (e >= call.output.size()) return;
  if (where[e] != call.input.data()) kept[e] = call.input[e] < 0 ? 0 : call.input[e];
  where[e] = call.input.data();
  call.output[e] = kept[e];
}
""", r"(is right at first, but where other numbers lie in the same memory it )?gives \S+ for output\(.*" + ON),
    ("too_many_blocks", launched("WARPSCOPE_LAUNCH(call, 256, -1)"),
     r"asks for a launch that GPUs cannot make: 4294967295x1x1 blocks of 256x1x1 threads" + ON),
    ("no_blocks", launched("WARPSCOPE_LAUNCH(call, 256, call.batch - call.batch)"),
     r"gives no threads or no blocks in its WARPSCOPE_LAUNCH" + ON),
    ("too_much_shared_memory", INCLUDE + """WARPSCOPE_LAUNCH(call, 256, 1)
WARPSCOPE_KERNEL(call) { __shared__ float x[1 << 16]; x[threadIdx.x] = 1; call.output[0] = x[0]; }
""", r"too_much_shared_memory.cu does not compile: a block uses 262144 bytes of shared memory, and may use \d+"),
    ("too_many_threads", launched("WARPSCOPE_LAUNCH(call, 2048, 1)"),
     r"too_many_threads.cu, line 2 does not compile: .*a block has 1 to 1,024 threads.*"),
    ("no_launch", INCLUDE + "WARPSCOPE_KERNEL(call) { call.output[0] = 1; }\n",
     r"no_launch.cu, line 2 does not compile: WARPSCOPE_LAUNCH\(call, THREADS, BLOCKS\) has to stand before "
     r"WARPSCOPE_KERNEL"),
    ("no_kernel", INCLUDE + "WARPSCOPE_LAUNCH(call, 256, 1)\n",
     r"no_kernel.cu does not compile: the file has no WARPSCOPE_KERNEL\(call\) \{ ... \}"),
    ("typo", body("call.output[e] = inptu[e];"),
     r"typo.cu, line 7 does not compile: identifier \"inptu\" is undefined"),
]


class Checks:
    def __init__(self, program, folder, seconds):
        self.program, self.folder = program, folder
        self.end = time.monotonic() + seconds
        self.failed, self.passed = [], 0
        self.verdicts = []  # milliseconds of compiling and of proof

    def run(self, *arguments, timeout=60):
        try:
            ended = subprocess.run([self.program, *arguments], cwd=self.folder, capture_output=True, text=True,
                                   timeout=timeout)
            return ended.returncode, ended.stdout, ended.stderr.strip()
        except subprocess.TimeoutExpired as late:
            return -1, str(late.stdout or ""), f"the command itself does not end within {timeout} s"

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", encoding="utf-8") as file:
            file.write(text)

    def say(self, right, name, told):
        self.passed += right
        if not right:
            self.failed.append(name)
        print("PASS" if right else "FAIL", name + ":", told, flush=True)

    def whole(self, jobs):
        """Runs jobs (name, function that gives right or not, and what was told) side by side."""
        with concurrent.futures.ThreadPoolExecutor(max(2, min(8, (os.cpu_count() or 2) // 2))) as pool:
            running = {pool.submit(self.within_time, job): name for name, job in jobs}
            for done in concurrent.futures.as_completed(running):
                self.say(done.result()[0], running[done], done.result()[1])

    def within_time(self, job):
        if time.monotonic() > self.end:
            return False, "left out: no time was left"
        begin = time.monotonic()
        right, told = job()
        return right, f"{told} [{time.monotonic() - begin:.1f} s]"

    def one_by_one(self, jobs):
        for name, job in jobs:
            right, told = self.within_time(job)
            self.say(right, name, told)

    def fault(self, name, text, pattern, op="relu.forward"):
        self.write(f"{name}.cu", text)
        code, out, error = self.run("kernel", "check", f"{name}.cu", "--no-time")
        right = code == 1 and kernel_faults.fits(kernel_faults.Fault(name, text, pattern, False), op, error)
        return right, error if right else f"exit {code}; told {error!r}; wanted {pattern!r}; printed {out[-300:]!r}"

    def proved(self, file, wanted=""):
        code, out, error = self.run("kernel", "check", file, "--no-time")
        right = code == 0 and " is right in " in out and re.search(wanted, out) is not None
        if right:
            self.verdicts.append([float(re.search(rf"^{word} +(\d+) ms", out, re.MULTILINE)[1])
                                  for word in ("compiled", "proved")])
        told = "; ".join(line for line in out.splitlines()
                         if line.startswith(("compiled", "built", "made of", "proved")))
        return right, told if right else f"exit {code}; {error}; {out[-600:]}"

    def new(self, arguments, file):
        code, out, error = self.run("kernel", "new", *arguments, file)
        return self.proved(file) if code == 0 else (False, f"exit {code}; {error} {out}")


class Training:
    """A training on the GPU, whose run tells images/s step by step."""

    def __init__(self, checks):
        self.log = os.path.join(checks.folder, "training.txt")
        self.run = os.path.join(checks.folder, "run")
        with open(self.log, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                [checks.program, "train", "--device", "cuda:0", "--data", "builtin", "--steps", str(10**7),
                 "--test-images", "64", "--run-dir", self.run], stdout=log, stderr=log, cwd=checks.folder)

    def speeds(self):
        try:
            with open(os.path.join(self.run, "metrics.jsonl"), encoding="utf-8") as file:
                rows = [json.loads(line) for line in file.read().splitlines()[:-1]]
        except FileNotFoundError:
            return []
        return [row["images_per_second"] for row in rows if row.get("images_per_second")]

    def wait_for_speed(self, steps):
        end = time.monotonic() + 40
        while len(self.speeds()) < steps and time.monotonic() < end and self.process.poll() is None:
            time.sleep(0.2)

    def finish(self):
        self.process.send_signal(signal.SIGINT)
        try:
            code = self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            code = self.process.wait()
        with open(self.log, encoding="utf-8") as log:
            told = [line for line in log.read().splitlines()
                    if line.startswith(("speed", "steps", "warpscope", "test loss"))]
        return code, " ".join(" | ".join(told[-4:]).split())


def listed(checks):
    """The operations and chains that files can be of, and the lesson's files."""
    ops = checks.run("kernel", "new", "nothing", "x.cu")[2].split("valid: ")[-1].split(", ")
    _, out, _ = checks.run("kernel", "examples")
    return ops, [line.split()[0] for line in out.splitlines() if line.split()[0].endswith(".cu")]


def time_verdicts(checks, ops, begin):
    """From a save to a verdict, of files that were never compiled, one at a time beside the training."""
    checks.verdicts.clear()
    for number, op in enumerate(ops[:VERDICTS]):
        name = f"saved_{number}.cu"
        code, _, told = checks.run("kernel", "new", op, name)
        right = code == 0
        if right:
            with open(os.path.join(checks.folder, name), "a", encoding="utf-8") as file:
                file.write(f"// {begin}\n")
            right, told = checks.within_time(lambda n=name: checks.proved(n))
        checks.say(right, f"verdict {op}", told)
    for what, target, times in [("compile", COMPILE_TARGET_MS, [row[0] for row in checks.verdicts]),
                                ("proof", None, [row[1] for row in checks.verdicts]),
                                ("save to verdict", PROOF_TARGET_MS, [sum(row) for row in checks.verdicts])]:
        if times:
            print(f"{what}: median {statistics.median(times):.0f} ms, worst {max(times):.0f} ms of {len(times)}"
                  + (f"; target {target} ms" if target else ""), flush=True)


def faults_of(checks, ops, arguments):
    """The jobs of the table's faults."""
    texts = {}
    for number, op in enumerate(ops if arguments.faults else []):
        checks.run("kernel", "new", op, f"right_{number}.cu")
        with open(os.path.join(checks.folder, f"right_{number}.cu"), encoding="utf-8") as file:
            texts[op] = file.read()
    made = kernel_faults.made(arguments.faults, arguments.seed, ".cu", texts) if texts else []
    return [(f"{fault.name} of {op}", lambda o=op, f=fault: checks.fault(f.name, f.text, f.sentence, o))
            for op, fault in made[arguments.first:]]


def prove_all(checks, ops, examples, arguments):
    """Everything beside a training, but times of the lesson."""
    training = Training(checks)
    training.wait_for_speed(200)
    before = training.speeds()
    jobs = [(f"example {file}", lambda f=file: checks.new(["--example", f[:-3]], f)) for file in examples]
    for numbers in (160, 200, 240):
        checks.write(f"spills_{numbers}.cu", kernel_faults.spilling(numbers))
        jobs.append((f"spills {numbers}", lambda n=numbers: checks.proved(
            f"spills_{n}.cu", r"built .* bytes of local memory a thread")))
    jobs += [(f"template {op}", lambda o=op, n=number: checks.new([o], f"template_{n}.cu"))
             for number, op in enumerate(ops)]
    if arguments.first == 0:
        time_verdicts(checks, ops, time.time())
        checks.whole(jobs)
    steps = len(training.speeds())
    checks.one_by_one([(f"fault {name}", lambda n=name, t=text, p=pattern: checks.fault(n, t, p))
                       for name, text, pattern in (FAULTS if arguments.first == 0 else [])])
    checks.one_by_one(faults_of(checks, ops, arguments))
    meanwhile = training.speeds()[steps:]
    code, told = training.finish()
    checks.say(code == 0, "a training beside them", told)
    if before and meanwhile:
        share = statistics.median(meanwhile) / statistics.median(before)
        print(f"images/s of the training: {statistics.median(before):.0f} before, {statistics.median(meanwhile):.0f} "
              f"(mean {statistics.mean(meanwhile):.0f}) during trials one by one: {100 * share:.1f} %; "
              f"target {100 * SPEED_TARGET:.0f} %", flush=True)


def time_lesson(checks, examples, begin, left):
    """The lesson's last two kernels beside the variants, and all of them at two shapes, with no training."""
    print(f"-- {time.monotonic() - begin:.0f} s; times of the lesson, alone on the GPU", flush=True)
    for file in examples[-2:]:
        code, out, error = checks.run("kernel", "check", file, timeout=left(30))
        print(out, error, sep="", flush=True)
        checks.say(code == 0 and "times yours" in out, f"time {file}", f"exit {code}")
    if left(100) > 20:
        kernels = [word for file in examples[:-1] for word in ("--kernel", file)]
        code, out, error = checks.run("bench", "--device", "cuda:0", "--op", "conv2d.forward",
                                      "--precision", "fp32", "--samples", "10", "--shape", "128x16x16x256:128x3x3",
                                      "--shape", "128x8x8x128:128x3x3", *kernels, timeout=left(60))
        print(out[-6000:], error, sep="\n", flush=True)
        checks.say(code == 0, "bench of the lesson", f"exit {code}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--seconds", type=float, default=130)
    parser.add_argument("--faults", type=int, default=0)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = os.path.abspath(arguments.keep or temporary)
        os.makedirs(folder, exist_ok=True)
        os.environ["XDG_CACHE_HOME"] = os.path.join(folder, "cache")
        begin = time.monotonic()

        def left(most):
            return max(1, min(most, begin + arguments.seconds + 15 - time.monotonic()))

        checks = Checks(os.path.abspath(arguments.program), folder, arguments.seconds - 45)
        ops, examples = listed(checks)
        print(f"{len(ops)} operations and chains, {len(examples)} examples, {len(FAULTS)} faults and "
              f"{arguments.faults} of the table; {os.cpu_count()} cores", flush=True)
        prove_all(checks, ops, examples, arguments)
        if arguments.first == 0:
            time_lesson(checks, examples, begin, left)
        print(f"== {checks.passed} passed, {len(checks.failed)} failed in {time.monotonic() - begin:.0f} s:",
              ", ".join(checks.failed) or "none")
        return len(checks.failed)


if __name__ == "__main__":
    sys.exit(main())
