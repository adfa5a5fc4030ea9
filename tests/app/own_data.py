"""Data of one's own: pictures in class folders, and IDX files of any name."""
import os
import struct
import sys
import zlib

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, losses_of, main, read_run  # noqa: E402


def png(width, height, grey):
    """A PNG file of one grey."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = (b"\0" + bytes([grey]) * width) * height
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">2I5B", width, height, 8, 0, 0, 0, 0))
            + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class OwnData(ProgramCase):
    TRAIN = ["train", "--model", "mlp", "--device", "cpu", "--batch", "4"]

    def pictures(self, classes=("dark", "hell größer"), count=6):
        """A folder of class folders with pictures of odd sizes, among them one that cannot be read."""
        folder = self.path("shades")
        for label, name in enumerate(classes):
            os.makedirs(os.path.join(folder, name))
            for i in range(count):
                with open(os.path.join(folder, name, f"{i}.PNG"), "wb") as file:
                    file.write(png(20 + 3 * i, 31, 40 + 20 * i if label else i))
        with open(os.path.join(folder, classes[0], "broken.png"), "wb") as file:
            file.write(b"no picture")
        return folder

    def test_the_folder_of_the_data_is_none_for_a_run(self):
        folder = self.pictures()
        before = sorted(os.listdir(folder))
        ended = self.run_program(*self.TRAIN, "--data", folder, "--steps", "1", "--run-dir", folder)
        self.assert_one_sentence(ended, 2, f"the run folder {folder} is that of the data; choose another")
        self.assertEqual(sorted(os.listdir(folder)), before)
        within = os.path.join(folder, "runs", "first")  # no class of the next training
        self.assert_succeeded(self.run_program(*self.TRAIN, "--data", folder, "--steps", "1", "--run-dir", within))
        ended = self.run_program(*self.TRAIN, "--resume", within, "--steps", "2")
        self.assert_succeeded(ended)
        self.assertIn(f"not looked at in {folder}: runs", ended.out)

    def test_pictures_in_class_folders_are_trained_on_and_gone_on_with(self):
        folder, run = self.pictures(), self.path("run")
        ended = self.run_program(*self.TRAIN, "--data", folder, "--steps", "3", "--run-dir", run)
        self.assert_succeeded(ended)
        self.assertIn("has no test folder, so that every tenth image of each class tests: 2 images", ended.out)
        self.assertIn("1 of 13 files was left out", ended.out)
        self.assertIn("broken.png is no picture", ended.out)
        head = read_run(run)
        self.assertEqual(head["configuration"]["data"], "shades")
        self.assertEqual(head["configuration"]["data_source"], folder)
        self.assertEqual(head["classes"], ["dark", "hell größer"])
        self.assertEqual(len(losses_of(run)), 3)
        self.assert_succeeded(self.run_program(*self.TRAIN, "--resume", run, "--steps", "5"))
        self.assertEqual(len(losses_of(run)), 5)
        self.assert_succeeded(self.run_program("runs", self.folder))
        features = self.run_program("features", run, "--device", "cpu", "--layer", "fc2", "--out", self.path("x.csv"))
        self.assert_succeeded(features, "has no test folder")
        self.assertIn("12 rows", features.out)

    def test_halves_are_told_by_their_names_and_classes_with_their_sizes(self):
        folder, run = self.path("scans"), self.path("run")
        for half, count in (("Training", 4), ("Testing", 2), ("val", 1)):
            for label in ("glioma", "healthy"):
                os.makedirs(os.path.join(folder, half, label))
                for i in range(count):
                    with open(os.path.join(folder, half, label, str(i)), "wb") as file:
                        file.write(png(28, 28, 10 * i))
        with open(os.path.join(folder, "Training", "glioma", "x.gif"), "wb") as file:
            file.write(b"GIF89a")
        ended = self.run_program(*self.TRAIN, "--data", folder, "--steps", "2", "--run-dir", run)
        self.assert_succeeded(ended)
        self.assertIn("2 classes, training/validation/test images: glioma 4/1/2, healthy 4/1/2\n", ended.out)
        self.assertIn("1 of 15 files was left out: .gif (1) is not read", ended.out)
        head = read_run(run)
        self.assertEqual(head["class_sizes"], {"train": [4, 4], "validation": [1, 1], "test": [2, 2]})
        self.assertIn("2 images in " + os.path.join(folder, "val") + " steer", head["data_notice"])
        self.assertEqual(head["configuration"]["validation_images"], 2)
        self.assert_refused([*self.TRAIN, "--data", folder, "--steps", "1", "--validation", "0.2"],
                            "has validation data of its own, 2 of them")

    def test_folders_that_are_no_data_set_are_refused_in_a_sentence(self):
        train = [*self.TRAIN, "--steps", "1", "--data"]
        folder = self.pictures(classes=("one",))
        self.assert_refused([*train, folder], f"{folder} has 1 class; a data set may have 2 to 256")
        os.mkdir(os.path.join(folder, "two"))
        self.assert_refused([*train, folder], "class two has no images", os.path.join(folder, "two"))
        os.mkdir(self.path("empty"))
        self.assert_refused([*train, self.path("empty")], "no MNIST or Fashion-MNIST in", "a set of your own needs")

    def test_idx_files_of_any_name_are_trained_on_if_their_shape_fits(self):
        folder = self.path("letters")
        os.mkdir(folder)

        def write(side, classes):
            for part, count in (("train", 8), ("test", 4)):
                with open(os.path.join(folder, f"letters-{part}-images-idx3-ubyte"), "wb") as file:
                    file.write(struct.pack(">4I", 2051, count, side, side) + bytes(count * side * side))
                with open(os.path.join(folder, f"letters-{part}-labels-idx1-ubyte"), "wb") as file:
                    file.write(struct.pack(">2I", 2049, count) + bytes(i % classes for i in range(count)))

        write(28, 4)
        ended = self.run_program(*self.TRAIN, "--data", folder, "--steps", "2", "--run-dir", self.path("run"))
        self.assert_succeeded(ended)
        self.assertEqual(read_run(self.path("run"))["classes"], ["0", "1", "2", "3"])
        os.rename(self.path("run"), self.path("done"))
        write(20, 4)
        self.assert_refused([*self.TRAIN, "--data", folder, "--steps", "1"], "are 20x20x1, but mlp takes 28x28x1")


if __name__ == "__main__":
    main()
