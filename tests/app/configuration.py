"""Settings in a file: what --config and --resume read, the command line overrides and warpscope config prints."""
import json
import os
import re
import sys
import tomllib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, losses_of, main, read_run  # noqa: E402

# Every option that takes a value, with its table, key and value.
OPTIONS = {
    "--model": ("model", "name", "autoencoder"),
    "--init": ("model", "init", "first \"weights\".safetensors"),
    "--data": ("data", "source", "cifar10"),
    "--validation": ("data", "validation", 0.1),
    "--seed": ("data", "seed", 9223372036854775807),
    "--test-images": ("data", "test_images", 100),
    "--test-every": ("data", "test_every", 500),
    "--test-shift": ("data", "test_shift", 2),
    "--device": ("device", "name", "cuda:3"),
    "--crop": ("augment", "crop", 4),
    "--cutout": ("augment", "cutout", 8),
    "--jitter": ("augment", "jitter", 0.5),
    "--mixup": ("augment", "mixup", 0.25),
    "--precision": ("device", "precision", "bf16"),
    "--select": ("device", "select", "conv2d.forward=naive,all=naive"),
    "--optimizer": ("optimizer", "name", "nesterov"),
    "--lr": ("optimizer", "learning_rate", 0.02),
    "--momentum": ("optimizer", "momentum", 0.8),
    "--beta1": ("optimizer", "beta1", 0.7),
    "--beta2": ("optimizer", "beta2", 0.95),
    "--alpha": ("optimizer", "alpha", 0.9),
    "--epsilon": ("optimizer", "epsilon", 1e-6),
    "--weight-decay": ("optimizer", "weight_decay", 0.01),
    "--clip-norm": ("optimizer", "clip_norm", 2.0),
    "--clip-value": ("optimizer", "clip_value", 0.5),
    "--joint": ("optimizer", "joint", 0.25),
    "--batch": ("optimizer", "batch", 32),
    "--accumulate": ("optimizer", "accumulate", 4),
    "--update": ("optimizer", "update", "per_sample"),
    "--schedule": ("schedule", "text", "cosine:warmup=1"),
    "--epochs": ("stop", "epochs", 10),
    "--steps": ("stop", "steps", 1000),
    "--early-stop": ("stop", "early_stop", 5),
    "--target-loss": ("stop", "target_loss", 0.01),
    "--target-accuracy": ("stop", "target_accuracy", 0.9),
    "--time": ("stop", "time", "1h30m"),
    "--zscore": ("stop", "zscore", 6.0),
    "--leap": ("stop", "leap", 20.0),
    "--on-divergence": ("stop", "on_divergence", "fail"),
    "--on-missing-rank": ("stop", "on_missing_rank", "stop"),
    "--rank-timeout": ("stop", "rank_timeout", 2.5),
    "--checkpoint-every": ("checkpoints", "every_epochs", 2),
    "--keep": ("checkpoints", "keep", 5),
    "--run-dir": ("run", "folder", "runs/a b"),
    "--save": ("run", "save", "last.safetensors"),
    "--moments": ("run", "moments", 256),
    "--moments-disk": ("run", "moments_disk", 512),
    "--keep-history": ("run", "keep_history", 32),
}

HERE = os.path.dirname(os.path.abspath(__file__))
DOCUMENTED = os.path.join(HERE, os.pardir, os.pardir, "docs", "options.md")

RUN = {
    "format": 1,
    "configuration": {
        "batch": 4, "data": "built-in scenes", "data_source": "builtin", "device": "cpu", "epochs": 0, "init": "",
        "learning_rate": 0.009999999776482582, "model": "autoencoder", "optimizer": "sgd", "precision": "fp32",
        "seed": 5, "chosen": {"conv2d.forward": "onednn", "mse.forward": "loops"}, "shuffle": False, "steps": 3,
        "test_images": 8, "train_images": 50000},
    "status": "finished",
}


class SettingsCase(ProgramCase):
    def write(self, name, text):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        return path

    def settings(self, *arguments):
        """What warpscope config prints for these, read by another TOML parser."""
        ended = self.run_program("config", *arguments)
        self.assert_succeeded(ended)
        return tomllib.loads(ended.out)


class Files(SettingsCase):
    def test_every_option_is_a_setting_of_the_file(self):
        settings = self.settings(*[word for option, (_, _, value) in OPTIONS.items() for word in (option, str(value))],
                                 "--no-shuffle")
        self.assertIs(settings["data"].pop("shuffle"), False)
        for option, (table, key, value) in OPTIONS.items():
            self.assertEqual(settings[table].pop(key), value, option)

    def test_every_row_of_the_table_is_an_option_and_a_key(self):
        table, kinds = None, {}
        for line in self.run_program("config", "--markdown").out.splitlines():
            table = line.strip("# []") if line.startswith("## [") else table
            row = re.match(r"\| `--([a-z0-9-]+)(?: (\S+))?`(?:, `--no-[a-z-]+`)? \| `(\w+)` \| ([^|]*) \|", line)
            if row is None:
                continue
            option, kind, key, values = row.groups()
            kinds[f"--{option}"] = kind
            if kind is None:
                given, expected = [f"--no-{option}"], False
            elif kind in ("N", "X"):
                expected = 3 if kind == "N" else 0.25
                given = [f"--{option}", str(expected)]
            else:
                listed = re.split(", | or ", values.removesuffix(" or FILE.toml"))
                named = listed[-1] if values != "text" else "some text"
                expected = {"time": "1h30m", "schedule": "cosine:warmup=1"}.get(option, named)
                given = [f"--{option}", expected]
            found = self.settings(*given)[table][key]
            if option == "model" and "\n" in found:  # a network that is a file is held whole
                found = tomllib.loads(found)["name"]
            self.assertEqual(found, expected, option)
        self.assertEqual({option for option, kind in kinds.items() if kind}, set(OPTIONS))
        self.assertIn("--shuffle", kinds)

    def test_the_printed_file_gives_the_same_settings_again(self):
        ended = self.run_program("config", "--optimizer", "adam", "--lr", "3e-4", "--time", "15m", "--no-shuffle")
        self.assert_succeeded(ended)
        again = self.run_program("config", "--config", self.write("printed.toml", ended.out))
        self.assert_succeeded(again)
        self.assertEqual(again.out, ended.out)

    def test_the_command_line_wins_over_the_file_and_the_file_over_defaults(self):
        file = self.write("file.toml", "optimizer.batch = 8\noptimizer.learning_rate = 0.25\n[data]\nshuffle = false\n")
        settings = self.settings("--config", file)
        self.assertEqual((settings["optimizer"]["batch"], settings["data"]["shuffle"]), (8, False))
        settings = self.settings("--config", file, "--batch", "16", "--shuffle")
        self.assertEqual(settings["optimizer"]["batch"], 16)
        self.assertEqual(settings["optimizer"]["learning_rate"], 0.25)
        self.assertIs(settings["data"]["shuffle"], True)
        self.assertEqual(settings["optimizer"]["accumulate"], 1)

    def test_a_setting_that_depends_on_another_is_left_open(self):
        self.assertNotIn("learning_rate", self.settings()["optimizer"])
        ended = self.run_program("config", "--optimizer", "lion")
        self.assertRegex(ended.out, r"(?m)^# learning_rate = 0\.0001 ")

    def test_mistakes_in_the_file_are_refused_with_their_place(self):
        def refused(text, *words):
            file = self.write("file.toml", text)
            for command in ("config", "train"):
                self.assert_refused([command, "--config", file], *words)

        refused("[optimizer]\nlerning_rate = 1\n", "file.toml:2:1: ", "'lerning_rate'", "learning_rate")
        refused("[optimizer]\nbatch = \"many\"\n", "file.toml:2:9: batch takes a whole number, not 'many'")
        refused("[optimizer]\nbatch = 0\n", "file.toml:2:9: batch must be 1 or more, not 0")
        refused("[optimizer]\nname = \"magic\"\n", "file.toml:2:8: ", "'magic'", "valid: sgd")
        refused("[optimizer\n", "file.toml:1:")
        refused("{\"configuration\": {\"batch\": }}", "file.toml:1:29: ")
        refused("{}", "file.toml", "configuration")

    def test_a_file_that_cannot_be_read_is_refused(self):
        self.assert_refused(["train", "--config", self.path("missing.toml")], self.path("missing.toml"))
        self.assert_refused(["train", "--config", self.folder], self.folder, "folder")

    def test_options_that_do_not_fit_are_refused(self):
        for option, values in {"--validation": ("0.95", "-0.1", "much"), "--momentum": ("1", "nan"),
                               "--beta1": ("1.5",), "--weight-decay": ("-1",), "--clip-norm": ("inf",),
                               "--accumulate": ("0", "2.5"), "--update": ("never",), "--time": ("soon", "15x"),
                               "--early-stop": ("-1",), "--checkpoint-every": ("-2",), "--keep": ("0",),
                               "--on-divergence": ("weep",)}.items():
            for value in values:
                self.assert_refused(["train", option, value], option, value)
        self.assert_refused(["train", "--seed", str(1 << 63)], "--seed must be at most %d" % ((1 << 63) - 1))


class Defaults(SettingsCase):
    def test_the_documented_options_are_those_of_the_table(self):
        ended = self.run_program("config", "--markdown")
        self.assert_succeeded(ended)
        with open(DOCUMENTED, encoding="utf-8") as file:
            self.assertEqual(file.read(), ended.out, "write docs/options.md anew: warpscope config --markdown")

    def test_the_help_tells_defaults_and_what_they_depend_on(self):
        ended = self.run_program("train", "--help")
        self.assert_succeeded(ended)
        words = " ".join(ended.out.split())
        self.assertRegex(words, r"--batch N .*64 on a GPU")
        self.assertRegex(words, r"--optimizer TEXT .*adam")

    def test_settings_that_depend_on_the_device_are_left_open(self):
        ended = self.run_program("config", "--device", "cpu")
        self.assertRegex(ended.out, r"(?m)^# precision = \"fp32\" ")
        self.assertRegex(ended.out, r"(?m)^# batch = (8|16|64) ")
        self.assertRegex(ended.out, r"(?m)^name = \"adam\" ")


class Runs(SettingsCase):
    def run_file(self, **changes):
        run = dict(RUN, configuration=dict(RUN["configuration"], **changes))
        return self.write(os.path.join("recorded", "run.json"), json.dumps(run))

    def test_a_run_is_a_configuration(self):
        settings = self.settings("--config", self.run_file())
        self.assertEqual(settings["data"], dict(source="builtin", validation=0.0, shuffle=False, seed=5, test_images=8,
                                                test_every=0, test_mirrored=False, test_shift=0))
        self.assertEqual(settings["device"], dict(name="cpu", precision="fp32", measure=False,
                                                  select="conv2d.forward=onednn,mse.forward=loops"))
        self.assertEqual(settings["optimizer"]["learning_rate"], 0.01)
        self.assertEqual((settings["stop"]["steps"], settings["optimizer"]["batch"]), (3, 4))

    def test_variants_of_a_run_stay_with_its_device_and_precision(self):
        run = self.run_file()
        for moved in (["--device", "cuda:0"], ["--precision", "bf16"]):
            self.assertEqual(self.settings("--config", run, *moved)["device"]["select"], "")
        chosen = self.settings("--config", run, "--device", "cuda:0", "--select", "all=naive")
        self.assertEqual(chosen["device"]["select"], "all=naive")

    def test_a_run_tells_what_was_chosen_and_nothing_else(self):
        first, again = self.path("first"), self.path("again")
        self.assert_succeeded(self.train("--select", "conv2d.forward=onednn,relu.forward=loops", "--run-dir", first,
                                         steps=2, batch=1))
        chosen = {"conv2d.forward": "onednn", "relu.forward": "loops"}
        self.assertEqual(read_run(first)["configuration"]["chosen"], chosen)
        self.assert_succeeded(self.run_program("train", "--config", os.path.join(first, "run.json"),
                                               "--run-dir", again))
        self.assertEqual(read_run(again)["configuration"]["chosen"], chosen)
        self.assertEqual(losses_of(again), losses_of(first))

    def test_files_of_a_run_are_not_overwritten_by_its_repetition(self):
        run = self.run_file(save="last.safetensors", run_dir="runs/1")
        self.assertEqual(self.settings("--config", run)["run"],
                         dict(folder="", record=True, moments=1024, moments_disk=2048, keep_history=64, save="",
                              deterministic=False, sync_batch_norm=False, probe=False))

    def test_a_resumed_run_keeps_its_settings_and_folder(self):
        folder = os.path.dirname(self.run_file(save="last.safetensors"))
        settings = self.settings("--resume", folder, "--steps", "9", "--model", "autoencoder", "--seed", "5")
        self.assertEqual(settings["run"], dict(folder=folder, record=True, moments=1024, moments_disk=2048,
                                               keep_history=64, save="last.safetensors", deterministic=False,
                                               sync_batch_norm=False, probe=False))
        self.assertEqual((settings["stop"]["steps"], settings["optimizer"]["batch"]), (9, 4))

    def test_a_resumed_run_keeps_its_model_and_seed(self):
        folder = os.path.dirname(self.run_file(model="autoencoder"))
        for option, value in {"--validation": "0.5", "--seed": "6", "--init": "x"}.items():
            self.assert_refused(["config", "--resume", folder, option, value], option, "cannot change", "resumed run")
        self.assert_refused(["config", "--resume", folder, "--shuffle"], "--shuffle", "cannot change")
        self.assert_refused(["config", "--resume", folder, "--run-dir", "other"], "--run-dir", folder)
        file = self.write("file.toml", "")
        self.assert_refused(["config", "--resume", folder, "--config", file], "--resume", "--config")
        self.assert_refused(["config", "--resume", self.folder], os.path.join(self.folder, "run.json"))

    def test_a_file_starts_a_training(self):
        file = self.write("file.toml", f"""
            [data]
            source = "{self.cifar10()}"
            test_images = 8
            [device]
            name = "cpu"
            [optimizer]
            batch = 4
            learning_rate = 0.0005
            [stop]
            steps = 3
            [run]
            folder = "{self.path('run')}"
            """)
        self.assert_succeeded(self.run_program("train", "--config", file, "--steps", "2"))
        run = read_run(self.path("run"))
        self.assertEqual((run["steps"], run["configuration"]["batch"]), (2, 4))

    def test_a_run_repeats_a_training_bit_by_bit(self):
        first, second = self.path("first"), self.path("second")
        self.assert_succeeded(self.train("--seed", "7", "--select", "relu.forward=loops", "--run-dir", first, steps=3))
        ended = self.run_program("train", "--config", os.path.join(first, "run.json"), "--run-dir", second)
        self.assert_succeeded(ended)
        self.assertEqual(losses_of(second), losses_of(first))
        self.assertEqual(read_run(second)["test_loss"], read_run(first)["test_loss"])
        one, other = (read_run(folder)["configuration"] for folder in (first, second))
        for configuration in (one, other):
            configuration.pop("run_dir", None)
        self.assertEqual(one, other)


if __name__ == "__main__":
    main()
