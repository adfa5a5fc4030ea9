"""Trainings of several processes, which the program starts itself or mpirun does."""
import os
import re
import signal
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, children_of, losses_of, main, markers_of, read_run, wait_until  # noqa: E402


def is_alive(number):
    try:
        with open(f"/proc/{number}/stat", encoding="utf-8", errors="replace") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


class Ranks(ProgramCase):
    def arguments(self, *more, steps=20):
        return ["train", "--device", "cpu", "--model", "mlp", "--data", "builtin", "--batch", "32",
                "--test-images", "8", "--steps", str(steps), *more]

    def weights_of(self, *more, **options):
        file = self.path(f"{len(os.listdir(self.folder))}.safetensors")
        ended = self.run_program(*self.arguments("--save", file, *more), **options)
        self.assertEqual(ended.code, 0, ended.err)  # on a busy machine a rank may be told to be late
        with open(file, "rb") as saved:
            return saved.read()

    def start_long(self, *more):
        """A training of three ranks that goes on until it is stopped, and the processes of its other ranks."""
        run_dir = self.path("run")
        process = self.start(*self.arguments("--ranks", "3", "--run-dir", run_dir, *more, steps=10000000))
        self.wait_for_step(process, run_dir, 5)
        others = children_of(process)
        self.assertEqual(len(others), 2)
        return process, others, run_dir

    def read_until(self, stream, pattern):
        """Passes over lines up to the first that holds the pattern."""
        lines = []
        for line in stream:
            lines.append(line)
            if re.search(pattern, line):
                return
        self.fail(f"no line holds {pattern}: {lines}")

    def wait_for_marker(self, process, run_dir, pattern):
        wait_until(lambda: any(re.match(pattern, marker) for marker in markers_of(run_dir)), pattern, process)

    def test_deterministic_ranks_make_the_same_weights(self):
        one = self.weights_of("--deterministic")
        for ranks in ("2", "4"):
            self.assertEqual(self.weights_of("--deterministic", "--ranks", ranks), one, ranks)

    def test_ranks_started_by_hand_make_the_same_weights(self):
        two = self.weights_of("--deterministic", "--ranks", "2")
        other = self.start(*self.arguments("--rank", "1", "--meet", self.folder))
        self.assertEqual(self.weights_of("--deterministic", "--rank", "0", "--ranks", "2", "--meet", self.folder), two)
        self.assertEqual(self.finish(other).code, 0)

    def test_a_second_training_that_meets_in_the_same_folder_is_refused(self):
        arguments = self.arguments("--rank", "0", "--ranks", "2", "--meet", self.folder)
        first = self.start(*arguments)
        wait_until(lambda: os.path.exists(self.path("warpscope-meeting")), "the first training to wait", first)
        self.assert_refused(arguments, "another training waits", f"process {first.pid}, since ")
        other = self.start(*self.arguments("--rank", "1", "--meet", self.folder))
        self.assertEqual([self.finish(process).code for process in (first, other)], [0, 0])
        # What one leaves that is killed goes.
        killed = self.start(*arguments)
        wait_until(lambda: os.path.exists(self.path("warpscope-meeting")), "a training to wait", killed)
        killed.kill()
        self.finish(killed)
        self.assertTrue(os.path.exists(self.path("warpscope-meeting")))
        other = self.start(*self.arguments("--rank", "1", "--meet", self.folder))
        self.assertEqual(self.finish(self.start(*arguments)).code, 0)
        self.assertEqual(self.finish(other).code, 0)
        self.assertFalse(os.path.exists(self.path("warpscope-meeting")))

    def test_two_trainings_at_one_port_and_a_wrong_token_are_refused(self):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            place = f"127.0.0.1:{free.getsockname()[1]}"
        meet = ("--meet", place, "--token")
        first = self.start(*self.arguments("--rank", "0", "--ranks", "2", *meet, "ours"))

        def listens():
            with socket.socket() as asking:
                host, port = place.split(":")
                return asking.connect_ex((host, int(port))) == 0

        wait_until(listens, "rank 0 to listen", first)
        self.assert_refused(self.arguments("--rank", "0", "--ranks", "2", *meet, "another"),
                            f"{place} is in use by another program; give another port")
        self.assert_refused(self.arguments("--rank", "1", *meet, "another"),
                            "rank 0 refused this rank: its token is not that of rank 0")
        other = self.start(*self.arguments("--rank", "1", *meet, "ours"))
        self.assertEqual([self.finish(process).code for process in (first, other)], [0, 0])

    def test_ranks_that_srun_starts_without_mpi_meet_in_a_folder(self):
        def by_srun(rank):
            return self.environment(SLURM_STEP_NUM_TASKS="2", SLURM_PROCID=str(rank), SLURM_LOCALID=str(rank))

        self.assert_refused(self.arguments(), "--mpi=pmix", "--meet", environment=by_srun(1))
        self.assert_refused(self.arguments("--meet", self.folder, "--ranks", "2"), "srun", environment=by_srun(0))
        files = [self.path(f"by_srun_{rank}.safetensors") for rank in range(2)]
        arguments = [self.arguments("--deterministic", "--meet", self.folder, "--save", file) for file in files]
        other = self.start(*arguments[1], environment=by_srun(1))
        ended = self.run_program(*arguments[0], environment=by_srun(0))
        self.assertEqual(ended.code, 0, ended.err)
        self.assertEqual(self.finish(other).code, 0)
        self.assertEqual([os.path.exists(file) for file in files], [True, False])
        self.assertIn("\n             cpu, 16 images", ended.out)

    def test_mpirun_starts_the_same_ranks(self):
        one = self.weights_of("--deterministic")
        file = self.path("by_mpi.safetensors")
        ended = self.run_by_mpi(4, *self.arguments("--deterministic", "--save", file))
        self.assertEqual(ended.code, 0, ended.err)
        with open(file, "rb") as saved:
            self.assertEqual(saved.read(), one)

    def test_a_run_is_written_by_one_rank_only(self):
        run_dir = self.path("run")
        self.assertEqual(self.run_program(*self.arguments("--ranks", "2", "--run-dir", run_dir)).code, 0)
        self.assertEqual(len(losses_of(run_dir)), 20)
        # Any number of ranks goes on with it.
        self.assertEqual(read_run(run_dir)["ranks"], 2)
        self.assertEqual(self.run_program("train", "--resume", run_dir, "--steps", "30", "--ranks", "3").code, 0)
        self.assertEqual(len(losses_of(run_dir)), 30)
        self.assertEqual(read_run(run_dir)["ranks"], 3)

    def test_an_interrupt_ends_all_ranks_and_saves(self):
        process, others, _ = self.start_long()
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 0)
        self.assertFalse(any(is_alive(other) for other in others))

    def test_a_training_goes_on_without_ranks_that_are_killed_or_stand_still(self):
        process, others, run_dir = self.start_long("--rank-timeout", "2")
        os.kill(others[0], signal.SIGKILL)
        self.wait_for_marker(process, run_dir, r"rank [12] was killed by SIGKILL; 2 ranks go on from step [\d,]+")
        (other,) = children_of(process)
        os.kill(other, signal.SIGSTOP)
        self.wait_for_marker(process, run_dir, r"rank 1 stood still for [\d.]+ s and was killed; 1 rank goes on from")
        self.assertEqual(children_of(process), [])
        process.send_signal(signal.SIGINT)
        ended = self.finish(process)
        self.assertEqual(ended.code, 0, ended.err)

    def start_and_find_a_rank(self, run_dir):
        """A training of three ranks that has just begun to start them, and the process of one."""
        process = self.start(*self.arguments("--ranks", "3", "--run-dir", run_dir, steps=10000000))

        def is_rank(number):
            with open(f"/proc/{number}/cmdline", encoding="utf-8") as file:
                return "--ranks" not in file.read()  # of rank 0, until this is a program by itself

        others = wait_until(lambda: [other for other in children_of(process) if is_rank(other)], "another rank",
                            process)
        return process, others[0]

    def test_a_training_begins_without_a_rank_that_is_killed_at_its_start(self):
        run_dir = self.path("run")
        process, other = self.start_and_find_a_rank(run_dir)
        os.kill(other, signal.SIGKILL)
        self.wait_for_step(process, run_dir, 5)
        process.send_signal(signal.SIGINT)
        ended = self.finish(process)
        self.assertEqual(ended.code, 0, ended.err)
        self.assertRegex(ended.err + ended.out,
                         "rank [12] was killed by SIGKILL; 2 ranks go on from (the beginning|step)")

    def test_a_rank_that_is_stopped_at_its_start_is_named_with_its_process(self):
        run_dir = self.path("run")
        process, other = self.start_and_find_a_rank(run_dir)
        os.kill(other, signal.SIGSTOP)
        named = rf"rank [12] \(pid {other}\).* not answered within \d\.\d s while (it begins|they begin)"
        late = r"ranks? [12].* not come to .* step [\d,]+ within \d\.\d s"  # where it had begun before it was stopped
        self.read_until(process.stderr, rf"\Awarpscope: .*({named}|{late})\n\Z")  # the others may be slow too
        os.kill(other, signal.SIGCONT)
        self.read_until(process.stderr, "answer again|ha(s|ve) come to")
        self.wait_for_step(process, run_dir, 5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 0)

    def test_a_rank_that_is_killed_is_named(self):
        process, others, _ = self.start_long("--on-missing-rank", "stop")
        os.kill(others[0], signal.SIGKILL)
        ended = self.finish(process)
        self.assertEqual(ended.code, 1, ended.out)
        self.assertRegex(ended.err, r"rank [12] was killed by SIGKILL")
        wait_until(lambda: not any(is_alive(other) for other in others), "the end of the other rank")

    def test_a_training_whose_rank_was_killed_ends_with_the_weights_of_an_undisturbed_one(self):
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "gpu", "rank_kills.py")
        ended = self.run_program(script, self.program, "--times", "3", "--ranks", "2", "--steps", "400",
                                 program=sys.executable, environment=self.environment(TMPDIR=self.folder))
        self.assertEqual(ended.code, 0, ended.out + ended.err)

    def test_a_rank_that_stands_still_is_named_and_waited_for(self):
        process, others, run_dir = self.start_long()
        os.kill(others[1], signal.SIGSTOP)
        line = process.stderr.readline()  # told though rank 0 stands still as well
        self.assertRegex(line, r"\Awarpscope: ranks? [12].* not come to .* step [\d,]+ within \d\.\d s\n\Z")
        steps = len(losses_of(run_dir))
        os.kill(others[1], signal.SIGCONT)
        self.wait_for_step(process, run_dir, steps + 5)
        process.send_signal(signal.SIGINT)
        self.assertEqual(self.finish(process).code, 0)

    def test_nothing_is_left_when_the_leading_process_is_killed(self):
        process, others, _ = self.start_long()
        process.kill()
        self.finish(process)
        wait_until(lambda: not any(is_alive(other) for other in others), "the end of the other ranks")

    def test_a_rank_that_was_given_other_settings_is_refused(self):
        other = self.start(*self.arguments("--rank", "1", "--lr", "0.25", "--meet", self.folder))
        ended = self.run_program(*self.arguments("--rank", "0", "--ranks", "2", "--lr", "0.5", "--meet", self.folder))
        self.assert_one_sentence(ended, 2, "rank 1: learning rate is 0.25 here and 0.5 at rank 0")
        self.assertEqual(self.finish(other).code, 1)

    def test_what_cannot_be_is_refused(self):
        self.assert_refused(self.arguments("--ranks", "0"), "--ranks")
        self.assert_refused(self.arguments("--ranks", "2", "--gpus", "2"), "--ranks and --gpus")
        self.assert_refused(self.arguments("--gpus", "2"), "--gpus")
        self.assert_refused(self.arguments("--rank", "1"), "--meet")
        self.assert_refused(self.arguments("--meet", self.folder), "--rank")
        self.assert_refused(self.arguments("--meet", self.folder, "--rank", "0"), "--ranks")
        self.assert_refused(self.arguments("--meet", "host:5000", "--rank", "1"), "token")
        self.assert_refused(self.arguments("--ranks", "3", "--deterministic"), "1, 2, 4 or 8 ranks")
        self.assert_refused(self.arguments("--ranks", "64"), "a batch of 32 cannot be divided among 64 ranks")


if __name__ == "__main__":
    main()
