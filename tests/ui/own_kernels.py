"""Kernels that a person writes while the window trains: made, saved, proved, applied and taken back."""
import glob
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import main, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402

WRONG = ("x < 0 ? 0 : x", "x < 0 ? 1 : x")
BROKEN = ("= call.input(", "= call.inpt(")
FASTER = ("x < 0 ? 0 : x", "x > 0 ? x : 0")


class OwnKernels(WindowCase):
    PANEL = "own_kernels"

    def open_panel(self, *more, size="1600x1000"):
        self.open_window("--precision", "fp32", *more, size=size)
        self.do_by_palette("show own kernels", "Show Own kernels")

    def pause(self):
        """Compilers and proofs have the processors to themselves."""
        self.click("toolbar.pause")
        self.wait_for_state("paused")

    def write(self, name, text):
        """At once: a part of it would be a kernel too."""
        with open(self.path(name + ".new"), "w", encoding="utf-8") as file:
            file.write(text)
        os.rename(self.path(name + ".new"), self.path(name))

    def change(self, name, *changes):
        """Saves the file once: each text that is saved may become a version."""
        with open(self.path(name), encoding="utf-8") as file:
            text = file.read()
        for before, after in changes:
            self.assertIn(before, text)
            text = text.replace(before, after)
        self.write(name, text)

    def new(self, op, name):
        self.assert_succeeded(self.run_program("kernel", "new", op, name))

    def drop(self, *names):
        self.drop_files(*(self.path(name) for name in names))

    def wait_for_kernel(self, what, number=0, **fields):
        def right(now):
            kernels = now["kernels"]
            return len(kernels) > number and all(kernels[number][key] == value for key, value in fields.items())
        return self.wait_for(what, right)["kernels"][number]

    def fill(self, field, text, file):
        """Replaces what a text field of the form holds; `file` is the path that the form tells then."""
        place = self.item(field)
        self.click(field)  # all of it is selected
        self.wait_for_keys(field, place)
        self.xdotool("type", "--delay", "1", text)
        self.wait_for(f"{field} to hold {text}", file=file)

    def test_a_dropped_kernel_is_asked_about_proved_applied_and_taken_back(self):
        self.new("relu.forward", "mine.cpp")
        self.open_panel()
        self.pause()
        self.point_away()
        self.drop("mine.cpp")
        self.wait_for("the question", lambda now: now["question"].startswith("mine.cpp is code"))
        self.assertEqual(self.newest()["kernels"], [])
        self.click("own_kernels.yes")
        self.wait_for_kernel("the proof", variant="user:mine", state="ready", version=1, timed=True)
        self.item("own_kernels.bars.0.0")
        self.click("toolbar.start")
        self.wait_for_state("running")
        self.click("own_kernels.apply")
        self.wait_for_kernel("it to run", state="in use", used=1)
        self.wait_for_marker("kernel user:mine, version 1")
        self.point_away()
        self.key("ctrl+z")
        self.wait_for_kernel("it to be taken back", state="ready", used=0)
        self.key("ctrl+y")
        self.wait_for_kernel("it to run again", state="in use", used=1)
        self.assert_succeeded(self.close_window())

    def test_each_save_is_judged_and_what_is_refused_leaves_the_version_before(self):
        self.new("relu.forward", "mine.cpp")
        self.open_panel("--kernel", "mine.cpp", "--select", "relu.forward=user:mine")
        self.wait_for_kernel("the kernel of the command line", state="in use", used=1)
        self.pause()
        self.change("mine.cpp", BROKEN)
        self.wait_for_kernel("the error", state="refused, version 1 runs", errors=1)
        self.click("own_kernels.error.0")
        wait_until(lambda: self.events("copied") and "call.inpt(" in self.events("copied")[-1]["text"], "the line",
                   self.process)
        self.click("own_kernels.source")
        self.wait_for("the text", source=True)
        self.item("own_kernels.text")
        self.change("mine.cpp", BROKEN[::-1], WRONG)
        told = self.wait_for_kernel("the wrong one", state="refused, version 1 runs", errors=0)
        self.assertIn("gives 1 for output(", told["verdict"])
        self.change("mine.cpp", WRONG[::-1], FASTER)
        self.wait_for("a new version that runs",
                      lambda now: now["kernels"][0]["state"] == "in use" and now["kernels"][0]["used"] > 1)
        self.point_away()
        self.key("ctrl+z")
        self.wait_for("the version before", lambda now: now["kernels"][0]["used"] == 1)
        self.assert_succeeded(self.close_window())

    def test_a_new_kernel_is_made_in_the_window_and_replaces_no_file(self):
        self.open_panel(size="1024x640")
        self.pause()
        self.click("own_kernels.new")
        self.wait_for("the form", form=True)
        self.choose("own_kernels.new.op", "own_kernels.new.op=relu.forward")
        self.write("taken.cpp", "mine")
        self.fill("own_kernels.new.folder", self.folder, self.path("my_relu_forward.cpp"))
        self.fill("own_kernels.new.name", "taken.cpp", self.path("taken.cpp"))
        self.click("own_kernels.new.make")
        self.wait_for("why not", lambda now: "is there already" in now["error"])
        self.fill("own_kernels.new.name", "made.cpp", self.path("made.cpp"))
        self.click("own_kernels.new.make")
        self.wait_for_kernel("its proof", variant="user:made", state="ready")
        self.assertFalse(self.newest()["form"])
        self.click("own_kernels.forget")
        self.wait_for("it to be gone", lambda now: now["kernels"] == [])
        self.assertTrue(os.path.exists(self.path("made.cpp")))
        self.assert_succeeded(self.close_window())

    def test_the_lesson_makes_a_kernel_which_is_proved_and_runs(self):
        self.open_panel(size="1600x1000")
        self.pause()
        self.do_by_palette("take the lesson", "Take the lesson on kernels")

        def stop():
            return (self.events("tour") or [{"stop": ""}])[-1]["stop"]
        wait_until(lambda: stop() == "A lesson: kernels", "the first stop", self.process)
        self.click_when_still("tour.next")
        wait_until(lambda: stop() == "1_naive.cpp", "the first file", self.process)
        self.click_when_still("tour.make")
        self.wait_for_kernel("it to run", variant="user:1_naive", state="in use", timed=True)
        self.assertTrue(os.path.exists(self.path("warpscope_lesson", "1_naive.cpp")))
        self.click_when_still("tour.next")
        wait_until(lambda: stop() == "2_order.cpp", "the second file", self.process)
        self.click_when_still("tour.skip")
        wait_until(lambda: stop() == "", "the end of the lesson", self.process)
        self.assert_succeeded(self.close_window())

    def click_when_still(self, name):
        """Clicks in a box that has just opened or moved: it stands still from its second frame on."""
        self.item(name)
        frames = len(self.events("drawn"))
        wait_until(lambda: len(self.events("drawn")) > frames + 1, "two frames", self.process)
        self.click(name)

    def test_a_loaded_kernel_is_there_in_the_next_training_of_the_same_window(self):
        self.new("relu.forward", "mine.cpp")
        self.open_panel()
        self.pause()
        self.point_away()
        self.drop("mine.cpp")
        self.wait_for("the question", lambda now: now["question"].startswith("mine.cpp is code"))
        self.click("own_kernels.yes")
        self.wait_for_kernel("the proof", state="ready", version=1)
        self.click("own_kernels.apply")
        self.wait_for_kernel("it to run", state="in use", used=1)
        self.key("ctrl+n")
        self.choose("start.network", "start.network.mlp")
        self.choose("start.device", "start.device.cpu")
        self.click("start.start")
        runs = self.path("home", "data", "warpscope", "runs", "*_mlp_*")
        wait_until(lambda: glob.glob(runs), "the next training to be recorded", self.process)
        self.do_by_palette("show own kernels", "Show Own kernels")
        self.wait_for_kernel("it, proved and not chosen yet", variant="user:mine", state="ready", version=1, used=0)
        self.assert_succeeded(self.close_window())


if __name__ == "__main__":
    main()
