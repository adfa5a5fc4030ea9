"""What the black-box tests share: the program, run with folders of its own, and a small CIFAR-10.

A test file defines unittest cases and ends with main(). It is called as FILE PROGRAM [CASE...]; CTest runs each case by
itself (tests/CMakeLists.txt finds them by their names). The exit code is 77 if nothing was run because of what is
missing here.
"""
import collections
import json
import os
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

SKIPPED = 77
# Far more than anything takes: a test that waits in vain must fail, a busy machine must not make it fail.
PATIENCE_S = 120
NOBODY = 65534

RECORD_BYTES = 3073
RECORDS = 10000
SMALL_TRAINING_SET = 2000
SMALL_PARAMETERS = 2195  # of make_network's
CIFAR_FILES = [f"data_batch_{n}.bin" for n in range(1, 6)] + ["test_batch.bin"]

Ended = collections.namedtuple("Ended", "code out err")


def children_of(process):
    """The processes that another one has started."""
    found = set()
    for task in os.listdir(f"/proc/{process.pid}/task"):
        with open(f"/proc/{process.pid}/task/{task}/children", encoding="ascii") as file:
            found.update(int(number) for number in file.read().split())
    return sorted(found)


def wait_until(condition, what, alive=None):
    """Polls `condition` until it gives something true, which is returned. Fails if that takes too long, or if the
    process `alive` ends first."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        ended = alive is not None and alive.poll() is not None
        value = condition()
        if value:
            return value
        if ended:
            raise AssertionError(f"the program ended with exit code {alive.returncode} before this: {what}")
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {PATIENCE_S} s in vain: {what}")
        time.sleep(0.01)


def make_cifar10(folder):
    """CIFAR-10's six files with a hundred random images over and over; all are one file with six names."""
    os.mkdir(folder)
    dice = random.Random(7)
    records = b"".join(bytes([n % 10]) + dice.randbytes(RECORD_BYTES - 1) for n in range(100))
    first = os.path.join(folder, CIFAR_FILES[0])
    with open(first, "wb") as file:
        file.write(records * (RECORDS // 100))
    for name in CIFAR_FILES[1:]:
        os.link(first, os.path.join(folder, name))


def make_sparse_cifar10(folder):
    """CIFAR-10's six files, all zeros, made at once: each may be spoilt by itself."""
    os.mkdir(folder)
    for name in CIFAR_FILES:
        with open(os.path.join(folder, name), "wb") as file:
            file.truncate(RECORD_BYTES * RECORDS)


def make_pictures(folder):
    """A small data set of one's own, SMALL_TRAINING_SET pictures to train on and two hundred to test with: coarse
    blocks of colour with some grain, a hundred over and over, of ten classes, in IDX files. Read at once, where
    CIFAR-10's size takes half a second of a processor and painting the built-in scenes two."""
    os.mkdir(folder)
    dice = random.Random(11)
    side, block = 32, 4
    grain = int.from_bytes(b"\x1f" * (3 * side * side), "big")
    coarse = int.from_bytes(b"\xe0" * (3 * side * side), "big")

    def picture():
        blocks = b""
        for _ in range(side // block):
            colours = dice.randbytes(3 * side // block)
            blocks += b"".join(colours[n:n + 3] * block for n in range(0, len(colours), 3)) * block
        noise = int.from_bytes(dice.randbytes(3 * side * side), "big")
        return (int.from_bytes(blocks, "big") & coarse | noise & grain).to_bytes(3 * side * side, "big")

    pictures, labels = b"".join(picture() for _ in range(100)), bytes(n % 10 for n in range(100))
    for half, times in (("train", SMALL_TRAINING_SET // 100), ("test", 2)):
        with open(os.path.join(folder, f"{half}-images-idx4-ubyte"), "wb") as file:
            file.write(struct.pack(">I4I", 0x0804, 100 * times, side, side, 3) + pictures * times)
        with open(os.path.join(folder, f"{half}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 0x0801, 100 * times) + labels * times)


def make_network(folder):
    """The file of a network with the layers of the autoencoder and few channels: a step takes it a twentieth of the
    time, and the program a quarter of the time to begin and to end."""
    os.mkdir(folder)
    with open(os.path.join(folder, "small.toml"), "w", encoding="utf-8") as text:
        text.write("""input = [32, 32, 3]
loss = "mse"
layers = [
  {type = "conv2d", name = "conv1", channels = 8},
  {type = "relu", name = "relu1"},
  {type = "maxpool2d", name = "pool1"},
  {type = "conv2d", name = "conv2", channels = 8},
  {type = "relu", name = "relu2"},
  {type = "maxpool2d", name = "pool2"},
  {type = "conv2d", name = "conv3", channels = 8},
  {type = "relu", name = "relu3"},
  {type = "upsample2d", name = "up3"},
  {type = "conv2d", name = "conv4", channels = 8},
  {type = "relu", name = "relu4"},
  {type = "upsample2d", name = "up4"},
  {type = "conv2d", name = "conv5", channels = 3},
]
""")


def read_metrics(run_dir):
    """The lines of metrics.jsonl, of which the last may be half written; [] while there is no such file."""
    try:
        with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def read_run(run_dir):
    with open(os.path.join(run_dir, "run.json"), encoding="utf-8") as file:
        return json.load(file)


def steps_of(run_dir):
    return [line["step"] for line in read_metrics(run_dir) if "loss" in line]


def losses_of(run_dir):
    return [line["loss"] for line in read_metrics(run_dir) if "loss" in line]


def markers_of(run_dir):
    return [line["marker"] for line in read_metrics(run_dir) if "marker" in line]


class ProgramCase(unittest.TestCase):
    """Each case has a folder of its own, which also holds the program's home, cache and settings."""

    program = ""  # set by main()
    _shared = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="warpscope-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        os.chmod(self.folder, 0o755)  # a case may run the program as another user
        self.home = self.path("home")
        os.mkdir(self.home)

    @classmethod
    def cifar10(cls):
        """A folder with make_cifar10's files, made once a process."""
        return cls._made_once("cifar10", make_cifar10)

    @classmethod
    def small_data(cls):
        """A folder with make_pictures' files, made once a process."""
        return cls._made_once("pictures", make_pictures)

    @classmethod
    def small_autoencoder(cls):
        """The file that make_network makes, made once a process."""
        return os.path.join(cls._made_once("network", make_network), "small.toml")

    def network_arguments(self, others=()):
        """small_autoencoder(), unless `others` say which network is trained."""
        named = {"--model", "--init", "--resume", "--config"} & set(others)
        return [] if named else ["--model", self.small_autoencoder()]

    @staticmethod
    def _made_once(name, make):
        if ProgramCase._shared is None:
            ProgramCase._shared = tempfile.TemporaryDirectory(prefix="warpscope-test-data-")
        folder = os.path.join(ProgramCase._shared.name, name)
        if not os.path.exists(folder):
            make(folder)
        return folder

    def path(self, *parts):
        return os.path.join(self.folder, *parts)

    def environment(self, **changes):
        """This process's, with no display, no data and no settings of the user; None as a value unsets."""
        environment = dict(os.environ)
        for name in ("DISPLAY", "WAYLAND_DISPLAY", "WARPSCOPE_DATA", "WARPSCOPE_UI_TRACE", "XDG_RUNTIME_DIR"):
            environment.pop(name, None)
        environment.update(HOME=self.home, LC_ALL="C.UTF-8", XDG_CACHE_HOME=os.path.join(self.home, "cache"),
                           XDG_CONFIG_HOME=os.path.join(self.home, "config"),
                           XDG_DATA_HOME=os.path.join(self.home, "data"))
        for name, value in changes.items():
            if value is None:
                environment.pop(name, None)
            else:
                environment[name] = value
        return environment

    def start(self, *arguments, environment=None, program=None, **options):
        """Starts the program, or another one, which is killed at the end of the case if it is still there."""
        settings = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                        cwd=self.folder)
        settings.update(options)
        process = subprocess.Popen([program or self.program, *arguments], env=environment or self.environment(),
                                   **settings)
        self.addCleanup(self._end, process)
        return process

    @staticmethod
    def _end(process):
        if process.poll() is None:
            process.kill()
        process.communicate()

    def finish(self, process):
        """Waits for the end of a program started with start()."""
        out, err = process.communicate(timeout=PATIENCE_S)
        return Ended(process.returncode, out, err)

    def run_program(self, *arguments, **options):
        return self.finish(self.start(*arguments, **options))

    def run_by_mpi(self, ranks, *arguments):
        """The program as so many ranks of mpirun; skips the case where there is none."""
        mpirun = shutil.which("mpirun")
        if mpirun is None:
            self.skipTest("there is no mpirun")
        # MPI's own libraries leave memory behind, which AddressSanitizer would tell of.
        # Jobs that begin at once make the same folder elsewhere, and one of them fails.
        session = tempfile.mkdtemp(prefix="mpi-", dir=self.path(""))
        environment = self.environment(ASAN_OPTIONS=os.environ.get("ASAN_OPTIONS", "") + ":detect_leaks=0",
                                       OMPI_MCA_orte_tmpdir_base=session)
        return self.run_program("-n", str(ranks), "--oversubscribe", "--allow-run-as-root", self.program, *arguments,
                                environment=environment, program=mpirun)

    def train_arguments(self, *more, data=None, batch=4, steps=2):
        """A short training on the CPU by plain SGD, at a rate at which random images do not diverge; `more` is
        added."""
        usual = (("--test-images", "8"), ("--optimizer", "sgd"), ("--lr", "0.0005"))
        usual = [part for option in usual if option[0] not in more for part in option]
        return ["train", "--device", "cpu", *self.network_arguments(more), "--data", data or self.small_data(),
                "--batch", str(batch), "--steps", str(steps), *usual, *more]

    def train(self, *more, data=None, batch=4, steps=2, **options):
        return self.run_program(*self.train_arguments(*more, data=data, batch=batch, steps=steps), **options)

    def assert_succeeded(self, ended, *warnings):
        """Ended with 0; stderr has one line for each of `warnings`, in which that text stands, and nothing else."""
        self.assertEqual(ended.code, 0, f"stderr: {ended.err}\nstdout: {ended.out}")
        lines = ended.err.splitlines()
        self.assertEqual(len(lines), len(warnings), ended.err)
        for line, warning in zip(lines, warnings):
            self.assertRegex(line, r"\Awarpscope: ")
            self.assertIn(warning, line)

    def assert_one_sentence(self, ended, code, *words):
        """Ended with `code` and one line on stderr, which has all of `words`."""
        self.assertEqual(ended.code, code, f"stderr: {ended.err}\nstdout: {ended.out}")
        self.assertRegex(ended.err, r"\Awarpscope: [^\n]+\n\Z")
        for word in words:
            self.assertIn(word, ended.err)

    def assert_refused(self, arguments, *words, **options):
        """Bad input: exit code 2, one sentence with `words`, nothing printed, and no run folder and no file left."""
        before = sorted(os.listdir(self.folder))
        if "train" in arguments:
            arguments = [*arguments, "--run-dir", self.path("run"), "--save", self.path("weights.safetensors")]
        ended = self.run_program(*arguments, **options)
        self.assert_one_sentence(ended, 2, *words)
        self.assertEqual(ended.out, "")
        self.assertEqual(sorted(os.listdir(self.folder)), before)

    def wait_for_step(self, process, run_dir, step):
        """Waits until metrics.jsonl tells of `step`."""
        wait_until(lambda: max(steps_of(run_dir), default=0) >= step, f"step {step} in {run_dir}", process)


def main():
    """Runs the cases named after the program, or all. Ends the process."""
    if len(sys.argv) < 2:
        sys.exit(f"usage: {sys.argv[0]} PROGRAM [CASE...]")
    # A case ended by CTest's time limit still removes what it made.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    ProgramCase.program = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    loader, chosen = unittest.TestLoader(), unittest.TestSuite()
    for value in list(vars(sys.modules["__main__"]).values()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase):
            for name in loader.getTestCaseNames(value):
                if not wanted or name.removeprefix("test_") in wanted:
                    chosen.addTest(value(name))
    if chosen.countTestCases() == 0:
        sys.exit(f"no such case: {' '.join(wanted)}")
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(chosen)
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if len(result.skipped) == result.testsRun else 0)
