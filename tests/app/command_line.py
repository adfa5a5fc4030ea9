"""The command line: exit codes, and one sentence that says what is wrong and what is valid."""
import os
import re
import socket
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main  # noqa: E402


class CommandLine(ProgramCase):
    def test_version_is_printed(self):
        ended = self.run_program("--version")
        self.assert_succeeded(ended)
        self.assertRegex(ended.out, r"\Awarpscope \d+\.\d+\.\d+\n\Z")

    def test_help_names_every_command_and_option(self):
        ended = self.run_program("--help")
        self.assert_succeeded(ended)
        for word in ("--device", "--screenshot", "--run-dir", "--config"):
            self.assertIn(word, ended.out)
        commands = re.findall(r"^  (\w+)  ", ended.out.split("Subcommands:")[1], re.MULTILINE)
        self.assertIn("train", commands)
        with open(os.path.join(os.path.dirname(__file__), os.pardir, os.pardir, "README.md"),
                  encoding="utf-8") as readme:
            self.assertCountEqual(re.findall(r"^\| `warpscope (\w+)", readme.read(), re.MULTILINE), commands)
        ended = self.run_program("train", "--help")
        self.assert_succeeded(ended)
        for option in ("--model", "--init", "--data", "--validation", "--no-shuffle", "--seed", "--test-images",
                       "--device", "--precision", "--select", "--optimizer", "--lr", "--momentum", "--beta1", "--beta2",
                       "--alpha", "--epsilon", "--weight-decay", "--clip-norm", "--clip-value", "--batch",
                       "--accumulate", "--update", "--schedule", "--epochs", "--steps", "--early-stop", "--target-loss",
                       "--time", "--zscore", "--leap", "--on-divergence", "--checkpoint-every", "--keep", "--run-dir",
                       "--save", "--config", "--resume"):
            self.assertIn(option, ended.out)
        for group in ("Network and data:", "Device:", "Optimizer:", "When to stop:", "Run:"):
            self.assertIn("\n" + group, ended.out)
        self.assertRegex(ended.out, r"--batch N +Images of a step.*\(default: 64 on a GPU;")

    def test_output_that_cannot_be_written_is_told(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("this system has no full device")
        for arguments in (["models", "classifier"], ["--version"], ["--help"], ["config"]):
            with open("/dev/full", "w", encoding="utf-8") as full:
                ended = self.run_program(*arguments, stdout=full)
            self.assertEqual(ended.code, 1, arguments)
            self.assertRegex(ended.err, r"\Awarpscope: cannot write [^\n]+\n\Z")

    def test_unknown_options_and_commands_are_refused(self):
        self.assert_refused(["--nonsense"], "--nonsense", "warpscope --help")
        self.assert_refused(["nonsense"], "nonsense", "warpscope --help")
        self.assert_refused(["train", "--nonsense", "3"], "--nonsense", "warpscope train --help")
        self.assert_refused(["fetch", "cifar10", "more"], "more", "warpscope fetch --help")
        self.assert_refused(["train", "--steps"], "--steps")

    def test_what_was_not_expected_is_told_in_the_order_in_which_it_was_typed(self):
        self.assert_refused(["classify", "RUN", "--rows", "1"], "not expected: --rows 1; warpscope classify --help")
        self.assert_refused(["models", "--x=2", "mlp", "-y", "--x=2"], "not expected: --x=2 -y --x=2; ")
        self.assert_refused(["devices", "a b", "c"], "not expected: a b c; ")

    def test_a_value_is_not_taken_for_what_was_not_expected(self):
        self.assert_refused(["train", "--batch", "4", "--batches", "4"], "not expected: --batches 4; ")

    def test_the_nearest_option_is_named(self):
        for typed, near in (("--batch-size", "--batch"), ("--rundir", "--run-dir"), ("--run_dir", "--run-dir"),
                            ("--Epoch=3", "--epochs"), ("--no-flipp", "--no-flip")):
            self.assert_refused(["train", typed], f"not expected: {typed}; the nearest valid one is {near}; ")
        for typed in ("--nonsense", "-x", "--y"):
            self.assert_refused(["train", typed], f"not expected: {typed}; warpscope train --help")

    def test_an_empty_value_is_refused(self):
        # So ends what a script leaves out: train --run-dir "$FOLDER" would lose the run.
        for option in ("--run-dir", "--save", "--resume", "--config", "--select", "--then", "--gpus"):
            self.assert_one_sentence(self.run_program("train", option, ""), 2,
                                     f"{option} is empty; give it a value, or leave it out")
        self.assert_refused(["bench", "--samples", ""], "--samples is empty")
        self.assert_refused(["runs", ""], "folder is empty")
        settings = self.path("settings.toml")
        with open(settings, "w", encoding="utf-8") as file:
            file.write('[run]\nsave = "weights.safetensors"\n')
        ended = self.run_program("config", "--config", settings, "--save", "")  # takes away what the file says
        self.assert_succeeded(ended)
        self.assertNotIn("weights.safetensors", ended.out)

    def test_a_flag_is_given_once_and_is_true_or_false(self):
        for flag in ("--shuffle", "--no-flip"):
            for value in ("maybe", "99999999999999999999"):
                self.assert_refused(["train", f"{flag}={value}"],
                                    f"{flag} takes no value but true or false, not '{value}'")
        self.assert_refused(["models", "--layers=x"], "--layers takes no value but true or false, not 'x'")
        self.assert_refused(["train", "--flip", "--no-flip"], "--flip stands there 2 times; give it once")
        self.assert_succeeded(self.run_program("config", "--flip=true", "--shuffle=false"))

    def test_what_the_optimizer_does_not_read_is_told(self):
        ended = self.train("--optimizer", "adam", "--beta1", "0.5", "--momentum", "0.9", "--alpha", "0.5", steps=1)
        self.assert_succeeded(ended,
                              "--momentum has no effect with the optimizer adam; those that read it: momentum, "
                              "nesterov",
                              "--alpha has no effect with the optimizer adam; those that read it: rmsprop")
        self.assert_succeeded(self.train("--momentum", "0", steps=1))
        ended = self.train("--update", "per_sample", "--clip-norm", "1", batch=2, steps=1)
        self.assert_succeeded(ended, "--clip-norm has no effect with --update per_sample",
                              "weights and optimizer state change after each image")

    def test_what_a_list_names_twice_is_refused(self):
        for command in ("verify", "bench"):
            self.assert_refused([command, "--op", "relu.forward,mse.forward,relu.forward"],
                                "--op names relu.forward twice")
            self.assert_refused([command, "--precision", "fp32,fp32"], "--precision names fp32 twice")
        self.assert_refused(self.train_arguments("--select", "relu.forward=loops,relu.forward=onednn"),
                            "the selection names relu.forward twice, as loops and as onednn; give it once")

    def test_what_a_sentence_holds_is_escaped(self):
        evil = "\x1b[31mred\x1b]0;x\x07\u202e\n"
        told = r"\x1b[31mred\x1b]0;x\x07\u202e\n"
        refused = [["train", "--data", evil], ["runs", evil], ["export", evil, "--to", "csv", "--out", "-"],
                   ["config", "--config", evil], [evil], ["fetch", evil], ["infer", evil], ["train", "--select", evil],
                   ["train", "--schedule", evil]]
        if os.environ.get("WARPSCOPE_TESTED_WINDOW") != "0":
            refused.append(["view", evil])
        for arguments in refused:
            self.assert_refused(arguments, told)
        ended = self.run_program("runs", environment=self.environment(WARPSCOPE_DATA=evil))
        self.assert_succeeded(ended)
        self.assert_refused(["train", "--data", "cifar10"], told, environment=self.environment(WARPSCOPE_DATA=evil))
        self.assert_refused(["models", b"caf\xe9"], r"caf\xe9")
        self.assert_refused(["models", "x" * 100000], "x...x")

    def test_waiting_threads_soon_sleep_unless_the_environment_says_how_they_wait(self):
        # libgomp tells its settings whenever it is loaded.
        unset = self.environment(OMP_DISPLAY_ENV="verbose", OMP_WAIT_POLICY=None, GOMP_SPINCOUNT=None)
        told = self.run_program("--version", environment=unset).err
        if "GOMP_SPINCOUNT" not in told:
            self.skipTest("this build has no oneDNN, or another OpenMP")
        self.assertIn("GOMP_SPINCOUNT = '3000'", told)
        self.assertEqual(told.count("OPENMP DISPLAY ENVIRONMENT BEGIN"), 1)  # the process did not start itself again
        told = self.run_program("--version", environment={**unset, "GOMP_SPINCOUNT": "123"}).err
        self.assertEqual(told.count("GOMP_SPINCOUNT = "), 1)
        self.assertIn("GOMP_SPINCOUNT = '123'", told)

    def test_the_environment_is_whole_though_waiting_threads_sleep(self):
        # GOMP_SPINCOUNT stands in for HOME while libraries are initialised: there is nothing else that it could
        # replace.
        chosen = self.environment(OMP_DISPLAY_ENV="verbose", HOME=self.folder)
        for name in ("OMP_WAIT_POLICY", "GOMP_SPINCOUNT", "_", "OLDPWD", "SHLVL", "PWD", "XDG_CACHE_HOME",
                     "WARPSCOPE_DATA"):
            chosen.pop(name, None)
        told = self.run_program("train", "--device", "cpu", "--data", "cifar10", environment=chosen).err
        if "GOMP_SPINCOUNT" not in told:
            self.skipTest("this build has no oneDNN, or another OpenMP")
        self.assertIn("GOMP_SPINCOUNT = '3000'", told)
        self.assertIn(os.path.join(self.folder, ".cache", "warpscope"), told)

    def test_options_before_a_command_are_refused(self):
        # They belong to the window; a training that ignored them would surprise.
        self.assert_refused(["--batch", "4", "train"], "--batch", "before the command")

    def test_unknown_names_are_refused_with_the_valid_ones(self):
        on = ["train", "--data", self.small_data(), "--device"]  # the built-in scenes would be painted for each
        train = [*on, "cpu"]
        self.assert_refused([*train, "--model", "magic"], "'magic'", "valid: ", "autoencoder")
        self.assert_refused([*train, "--precision", "fp8"], "'fp8'", "valid: ", "fp32", "tf32", "fp16", "bf16")
        self.assert_refused([*train, "--optimizer", "magic"], "'magic'", "valid: ", "sgd")
        self.assert_refused([*train, "--select", "conv2d.forward=magic"], "'magic'", "valid: ", "reference", "onednn")
        self.assert_refused([*train, "--select", "magic=onednn"], "'magic'", "valid: ", "conv2d.forward",
                            "optimizer.update")
        self.assert_refused([*train, "--select", "all=magic"], "'magic'", "valid: ", "reference", "loops")
        self.assert_refused([*train, "--select", "magic"], "'magic'", "operation=variant")
        self.assert_refused([*on, "magic"], "'magic'", "valid: ", "auto", "cpu")
        self.assert_refused([*on, "cuda:99"], "'cuda:99'", "valid: ", "cpu")
        self.assert_refused(["fetch", "nonsense"], "'nonsense'", "valid: ", "cifar10")

    def test_names_are_case_sensitive_and_not_shortened(self):
        self.assert_refused(["train", "--model", "Autoencoder"], "'Autoencoder'")
        self.assert_refused(["train", "--precision", "fp"], "'fp'")

    def test_numbers_that_make_no_sense_are_refused(self):
        for option in ("--steps", "--epochs", "--seed", "--test-images"):
            self.assert_refused(["train", option, "-1"], option, "must be 0 or more, not -1")
            self.assert_refused(["train", option, "many"], option, "many")
        self.assert_refused(["train", "--batch", "0"], "--batch")
        self.assert_refused(["train", "--batch", "-4"], "--batch")
        self.assert_refused(["train", "--batch", "4.5"], "--batch")
        for rate in ("-0.1", "nan", "inf", "fast"):
            self.assert_refused(["train", "--lr", rate], "--lr")
        self.assert_refused(["train", "--lr", "1", "--lr", "2"], "--lr stands there 2 times; give it once")
        self.assert_one_sentence(self.run_program("train", "--lr"), 2, "--lr needs a value")

    def test_a_batch_larger_than_the_training_set_is_refused(self):
        arguments = ["train", "--device", "cpu", "--data", self.cifar10(), "--batch", "50001"]
        self.assert_refused(arguments, "50001", "50000")

    def test_a_precision_that_the_device_lacks_is_refused(self):
        arguments = ["train", "--device", "cpu", "--data", self.small_data(), "--batch", "4", "--precision", "fp16"]
        self.assert_refused(arguments, "fp16 is not possible on cpu (", "); valid: fp32, bf16")

    def test_a_save_file_that_could_not_be_written_is_refused_before_training(self):
        def refused(file, *words):
            ended = self.run_program("train", "--device", "cpu", "--data", self.small_data(), "--save", file)
            self.assert_one_sentence(ended, 2, "--save", *words)
            self.assertEqual(ended.out, "")

        refused(self.path("missing", "weights.safetensors"), self.path("missing"))
        refused(self.folder, self.folder, "folder")

    def test_devices_are_listed_with_their_variants(self):
        ended = self.run_program("devices")
        self.assert_succeeded(ended)
        self.assertRegex(ended.out, r"(?m)^cpu +\S.*, \d+ cores, [\d.]+ GiB$")
        cpu = ended.out[ended.out.index("\ncpu ") if "\ncpu " in ended.out else 0:]
        self.assertRegex(cpu, r"(?m)^ +conv2d\.forward +reference \(fp32\), loops \(fp32, bf16\), "
                              r"gather_rows with one_hot, bias, relu \(fp32, bf16\), onednn \(fp32.*\)$")
        self.assertRegex(cpu, r"(?m)^ +optimizer\.update +reference \(fp32\), loops \(fp32, bf16\)$")

    def test_a_fetch_without_a_network_says_so(self):
        with socket.socket() as unused:  # bound but not listening: nobody answers there
            unused.bind(("127.0.0.1", 0))
            proxy = "http://127.0.0.1:%d" % unused.getsockname()[1]
            nowhere = self.environment(http_proxy=proxy, https_proxy=proxy, HTTPS_PROXY=proxy, all_proxy=proxy,
                                       no_proxy=None, NO_PROXY=None)
            for data_set, file in (("cifar10", "cifar-10-binary.tar.gz"), ("cifar100", "cifar-100-binary.tar.gz"),
                                   ("mnist", "train-images-idx3-ubyte.gz"),
                                   ("fashion_mnist", "train-images-idx3-ubyte.gz")):
                ended = self.run_program("fetch", data_set, "--data", self.path("data"), environment=nowhere)
                self.assert_one_sentence(ended, 1, file, "network")
        self.assertEqual(os.listdir(self.path("data")), [])


if __name__ == "__main__":
    main()
