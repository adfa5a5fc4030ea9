"""Data folders that are missing, broken or closed: exit code 2, the file's name, no run folder."""
import json
import os
import struct
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import NOBODY, RECORD_BYTES, ProgramCase, main, make_sparse_cifar10  # noqa: E402


def make_small_idx_set(folder):
    """Eight training and four test images in the four files that MNIST and Fashion-MNIST have."""
    os.makedirs(folder)
    for prefix, count in (("train", 8), ("t10k", 4)):
        with open(os.path.join(folder, prefix + "-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4I", 2051, count, 28, 28) + bytes(i * 7 % 251 for i in range(count * 784)))
        with open(os.path.join(folder, prefix + "-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2I", 2049, count) + bytes(i % 10 for i in range(count)))


class DataFolders(ProgramCase):
    def setUp(self):
        super().setUp()
        self.data = self.path("data")

    def assert_data_refused(self, *words, data=None, **options):
        arguments = ["train", "--device", "cpu", "--data", data or self.data, "--batch", "4", "--steps", "1"]
        self.assert_refused(arguments, *words, **options)

    def test_a_missing_folder_is_refused(self):
        self.assert_data_refused(self.data)

    def test_a_folder_without_cifar10_is_refused(self):
        os.mkdir(self.data)
        self.assert_data_refused(self.data)

    def test_a_missing_file_is_named(self):
        make_sparse_cifar10(self.data)
        os.remove(os.path.join(self.data, "data_batch_3.bin"))
        self.assert_data_refused("data_batch_3.bin", "missing")

    def test_a_truncated_file_is_named(self):
        make_sparse_cifar10(self.data)
        file = os.path.join(self.data, "data_batch_2.bin")
        os.truncate(file, os.path.getsize(file) - 1)
        self.assert_data_refused(file, "truncated")

    def test_an_oversized_file_is_named(self):
        make_sparse_cifar10(self.data)
        file = os.path.join(self.data, "test_batch.bin")
        os.truncate(file, os.path.getsize(file) + 1)
        self.assert_data_refused(file, "too long")

    def test_a_label_above_nine_is_refused(self):
        make_sparse_cifar10(self.data)
        file = os.path.join(self.data, "data_batch_5.bin")
        with open(file, "r+b") as opened:
            opened.seek(1234 * RECORD_BYTES)
            opened.write(b"\x0a")
        self.assert_data_refused(file, "label 10")

    def test_a_folder_that_may_not_be_read_is_refused(self):
        make_sparse_cifar10(self.data)
        os.chmod(self.data, 0)
        self.addCleanup(os.chmod, self.data, 0o755)
        self.assert_data_refused(self.data, "ermission", **self.powerless())

    def test_a_file_that_may_not_be_read_is_refused(self):
        make_sparse_cifar10(self.data)
        file = os.path.join(self.data, "data_batch_1.bin")
        os.chmod(file, 0)
        self.assert_data_refused(file, "ermission", **self.powerless())

    def powerless(self):
        """Options of start() that keep root from reading everything."""
        if os.geteuid() != 0:
            return {}
        os.chmod(self.folder, 0o777)
        options = dict(user=NOBODY, group=NOBODY, extra_groups=[])
        try:
            self.run_program("--version", **options)
        except (OSError, ValueError) as error:
            self.skipTest(f"the program cannot be run as another user: {error}")
        return options

    def test_a_data_variable_that_leads_nowhere_is_refused(self):
        # Who sets it does not want to train on something else unawares.
        environment = self.environment(WARPSCOPE_DATA=self.data)
        self.assert_refused(["train", "--device", "cpu"], "WARPSCOPE_DATA", self.data, environment=environment)

    def test_named_data_that_are_not_there_are_refused(self):
        self.assert_refused(["train", "--device", "cpu", "--data", "cifar10"], "warpscope fetch cifar10")

    def test_a_set_is_trained_on_by_its_name_recorded_and_found_again(self):
        make_small_idx_set(self.data)
        run, source = self.path("run"), "fashion_mnist:" + self.data
        train = ["train", "--batch", "4", "--device", "cpu"]
        ended = self.run_program(*train, "--model", "mlp", "--data", source, "--steps", "2", "--run-dir", run)
        self.assert_succeeded(ended)
        with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
            head = json.load(file)
        self.assertEqual(head["configuration"]["data"], "Fashion-MNIST")
        self.assertEqual(head["configuration"]["data_source"], source)
        self.assertEqual((head["classes"][0], head["classes"][9]), ("T-shirt/top", "Ankle boot"))
        self.assert_succeeded(self.run_program(*train, "--resume", run, "--data", source, "--steps", "4"))
        # Older runs name only a folder.
        for settings in (head["configuration"], head.get("current", {})):
            settings["data_source"] = self.data
        with open(self.path("old.json"), "w", encoding="utf-8") as file:
            json.dump(head, file)
        again = self.run_program(*train, "--config", self.path("old.json"), "--steps", "1",
                                 "--run-dir", self.path("again"))
        self.assert_succeeded(again)
        with open(self.path("again", "run.json"), encoding="utf-8") as file:
            self.assertEqual(json.load(file)["configuration"]["data"], "MNIST")

    def test_a_set_that_the_model_does_not_take_is_refused(self):
        self.assert_refused(["train", "--device", "cpu", "--model", "autoencoder", "--data", "fashion_mnist"],
                            "images of Fashion-MNIST are 28x28x1", "takes 32x32x3", "cifar10")

    def test_builtin_data_stand_in_with_a_notice(self):
        ended = self.run_program("train", "--device", "cpu", "--batch", "1", "--steps", "1", "--test-images", "1")
        self.assert_succeeded(ended)
        self.assertIn("no CIFAR-10 or CIFAR-100 found", ended.out)
        self.assertIn("built-in scenes", ended.out)


if __name__ == "__main__":
    main()
