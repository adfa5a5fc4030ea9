"""Random clicks, drags, turns of the wheel and keys in the real window.

As a test it makes a fixed number of actions that depend only on their seed. By hand it goes on for as long as is
asked, aims at what the window shows, writes down what it does, and tells how much memory the window takes meanwhile:

  random_use.py PROGRAM --minutes 10 [--seed 1] [--log FILE] [--rss FILE] [-- --model classifier ...]
  random_use.py PROGRAM --minutes 10 --view RUN       a window on a run
  random_use.py PROGRAM --replay FILE                 what a log says, again

PROGRAM is best built with -DWARPSCOPE_SANITIZE=address,undefined, and LSAN_OPTIONS=exitcode=0, since OpenGL's driver
leaves memory behind. The exit code is 1 if the window ended otherwise than by its own command, said anything of a
sanitizer but of that, or did not answer for two minutes.
"""
import argparse
import json
import os
import random
import re
import subprocess
import sys
import time
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, main, wait_until  # noqa: E402
from window_driver import WindowCase, center  # noqa: E402

WIDTH, HEIGHT = 1280, 800
# Keys of the window (ui/panels/help_overlay.cpp); those of the palette and of text fields come from TEXTS. Not Ctrl Q.
KEYS = ["space", "Right", "r", "l", "e", "p", "v", "i", "x", "c", "F1", "Escape", "Escape", "Tab", "Return", "Up",
        "Down", "ctrl+c", "ctrl+v", "ctrl+z", "ctrl+y", "ctrl+shift+z", "ctrl+plus", "ctrl+minus", "ctrl+0",
        "BackSpace", *(str(number) for number in range(1, 9))]
TEXTS = ["lr 0.001", "batch 2", "batch 99999999", "lr -1", "theme", "layout", "float kernels", "dock", "close memory",
         "log", "momentum", "precision bf16", "save layout a", "what is psnr", "plot", "naive", "0", "1e-3", "nan", "",
         "zzz"]
SIZES = [(1280, 800), (1024, 640), (700, 420), (1600, 1000), (1919, 1079), (320, 240)]
# How often each: clicks are what people do most.
KINDS = {"click": 40, "double": 4, "right": 5, "drag": 14, "shift_drag": 4, "right_drag": 3, "wheel": 10,
         "ctrl_wheel": 3, "key": 14, "type": 3, "palette": 5, "hover": 6, "resize": 1}
SANITIZER_WORDS = ("AddressSanitizer", "LeakSanitizer", "runtime error:", "SUMMARY:", "Assertion")


def without_leaks_of_drivers(text):
    """Without the leaks that LeakSanitizer cannot name: of libraries that were unloaded by then, which OpenGL's drivers
    are."""
    kept, ours = [], False
    for block in text.split("\n\n"):
        frames = re.findall(r"^ +#[1-9]\d* .*$", block, re.MULTILINE)
        if "leak of" in block and not any(" in " in frame for frame in frames):
            continue
        ours = ours or "leak of" in block
        kept.append(block)
    rest = "\n\n".join(kept)
    return rest if ours else re.sub(r"^.*(LeakSanitizer: detected|byte\(s\) leaked).*$", "", rest, flags=re.MULTILINE)


def new_action(dice, size, items):
    """An action as plain data. Two in three places are items, if there are any."""
    def place():
        if items and dice.random() < 2 / 3:
            x, y = center(dice.choice(items))
            return [x + dice.randint(-2, 2), y + dice.randint(-2, 2)]
        return [dice.randrange(size[0]), dice.randrange(size[1])]

    kind = dice.choices(list(KINDS), list(KINDS.values()))[0]
    action = {"do": kind}
    if kind in ("click", "double", "right", "wheel", "ctrl_wheel", "hover", "type"):
        action["at"] = place()
    if kind in ("drag", "shift_drag", "right_drag"):
        action["way"] = [place() for _ in range(dice.randint(2, 4))]
    if kind in ("wheel", "ctrl_wheel"):
        action["turns"] = dice.choice([-4, -1, 1, 4])
    if kind == "key":
        action["key"] = dice.choice(KEYS)
    if kind in ("type", "palette"):
        action["text"] = dice.choice(TEXTS)
        action["enter"] = dice.random() < 0.6
    if kind == "resize":
        action["size"] = dice.choice(SIZES)
    return action


def xdotool_words(action, window):
    """The command line of xdotool that does an action."""
    def move(place):
        return ["mousemove", "--window", window, *map(str, place)]

    kind = action["do"]
    if kind == "hover":
        return move(action["at"])
    if kind in ("click", "double", "right"):
        return [*move(action["at"]), "click", *(["--repeat", "2", "--delay", "60"] if kind == "double" else []),
                "3" if kind == "right" else "1"]
    if kind in ("wheel", "ctrl_wheel"):
        held = ("keydown", "ctrl"), ("keyup", "ctrl")
        turn = ["click", "--repeat", str(abs(action["turns"])), "--delay", "15", "4" if action["turns"] > 0 else "5"]
        return [*move(action["at"]), *(held[0] if kind == "ctrl_wheel" else ()), *turn,
                *(held[1] if kind == "ctrl_wheel" else ())]
    if kind in ("drag", "shift_drag", "right_drag"):
        button, shift = "3" if kind == "right_drag" else "1", kind == "shift_drag"
        words = [*move(action["way"][0]), *(["keydown", "shift"] if shift else []), "sleep", "0.04", "mousedown",
                 button]
        for place in action["way"][1:]:
            words += ["sleep", "0.04", *move(place)]
        return [*words, "sleep", "0.04", "mouseup", button, *(["keyup", "shift"] if shift else [])]
    if kind == "key":
        return ["key", action["key"]]
    if kind in ("type", "palette"):
        begin = ["key", "ctrl+p"] if kind == "palette" else [*move(action["at"]), "click", "1"]
        typed = ["type", "--delay", "8", action["text"]] if action["text"] else []
        return [*begin, "sleep", "0.06", *typed, "sleep", "0.06", "key", "Return" if action["enter"] else "Escape"]
    return ["windowsize", window, *map(str, action["size"])]


def resident_mib(process):
    with open(f"/proc/{process.pid}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


class RandomUse(WindowCase):
    def act(self, action):
        """Does an action and waits until the window has drawn something after it."""
        if action["do"] == "resize":
            self.size = tuple(action["size"])
        before = len(self.events("drawn"))
        words = xdotool_words(action, self.window)
        done = subprocess.run(["xdotool", *words], env=self.window_environment(), capture_output=True, text=True,
                              check=False)
        if self.process.poll() is None and done.returncode != 0:
            self.fail(f"xdotool {' '.join(words)}: {done.stderr}")
        self.keep_events(drawn=self.events("drawn")[-1:], layout=self.events("layout")[-400:])
        return before

    def wait_for_frame(self):
        """The pointer moves, which is worth a frame."""
        moment = time.clock_gettime(time.CLOCK_MONOTONIC)
        subprocess.run(["xdotool", "mousemove_relative", "--", "1", "0"], env=self.window_environment(), check=False)
        wait_until(lambda: self.process.poll() is not None or any(event["time"] > moment
                                                                  for event in self.events("drawn")),
                   "a frame after the last action")

    def check(self):
        """What the window has said so far holds nothing of a sanitizer."""
        with open(self.said, encoding="utf-8", errors="replace") as file:
            text = without_leaks_of_drivers(file.read())
        for word in SANITIZER_WORDS:
            self.assertNotIn(word, text, text[-4000:])

    def open(self, *arguments):
        self.size = WIDTH, HEIGHT
        self.said = self.path("stderr")
        self.forget_trace()
        if os.path.exists(self.trace):
            os.remove(self.trace)
        with open(self.said, "ab") as said:
            self.process = self.start(*arguments, "--window-size", f"{WIDTH}x{HEIGHT}",
                                      environment=self.window_environment(), stdout=subprocess.DEVNULL, stderr=said)
        self.window = wait_until(lambda: self.xdotool("search", "--onlyvisible", "--class", "warpscope", check=False),
                                 "the window", self.process).split()[0]
        wait_until(lambda: self.events("drawn"), "a frame", self.process)
        self.xdotool("windowfocus", self.window)
        self.origin = self.geometry()[:2]

    def own_arguments(self, *more):
        return ["--device", "cpu", "--data", "builtin", "--batch", "2", "--test-images", "8", "--precision", "fp32",
                "--run-dir", self.path(f"run-{len(os.listdir(self.folder))}"), *more]

    def test_a_hundred_and_fifty_random_actions_leave_the_window_whole(self):
        dice = random.Random(20260131)
        self.open(*self.own_arguments("--model", "mlp"))
        for number in range(150):
            action = new_action(dice, (WIDTH, HEIGHT), [])
            if action["do"] == "palette" and action["enter"]:
                action["enter"] = False  # what is first in the list may be to quit
            self.act(action)
            if number % 25 == 24:
                self.wait_for_frame()
            if self.process.poll() is not None:
                break
        self.check()
        self.assertIsNone(self.process.poll(), "the window has ended")
        self.key("Escape", "Escape")
        self.xdotool("key", "ctrl+q")
        self.process.wait(timeout=120)
        self.assertEqual(self.process.returncode, 0)
        self.check()


class LongUse(RandomUse):
    """What the command line asks for."""
    options = None

    def runTest(self):  # noqa: N802, unittest's name
        options = self.options
        actions = self.replayed() if options.replay else self.dreamt_up()
        log = open(options.log, "w", encoding="utf-8") if options.log else None
        arguments = ["view", os.path.abspath(options.view)] if options.view else None
        opened, start, quits, count, memory = False, time.monotonic(), 0, 0, []
        for action in actions:
            if not opened:
                self.open(*(arguments or self.own_arguments(*options.more)))
                opened = True
                memory.append([])
            if log:
                log.write(json.dumps({"n": count, "t": round(time.monotonic() - start, 2), **action}) + "\n")
                log.flush()
            self.act(action)
            count += 1
            if count % 20 == 0:
                self.wait_for_frame()
                self.check()
                if self.process.poll() is None:
                    memory[-1].append((time.monotonic() - start, resident_mib(self.process)))
            if self.process.poll() is not None:
                self.check()
                self.assertEqual(self.process.returncode, 0, f"after action {count}: {action}")
                quits, opened = quits + 1, False
        if opened:
            self.xdotool("key", "Escape", "Escape", "ctrl+q")
            self.process.wait(timeout=300)
            self.check()
            self.assertEqual(self.process.returncode, 0)
        self.tell(count, quits, memory, time.monotonic() - start)

    def dreamt_up(self):
        dice = random.Random(self.options.seed)
        end = time.monotonic() + 60 * self.options.minutes
        while time.monotonic() < end:
            items = [place for place in self.layout().values() if place.w > 0 and place.h > 0] if self.process else []
            yield new_action(dice, getattr(self, "size", (WIDTH, HEIGHT)), items)

    def replayed(self):
        with open(self.options.replay, encoding="utf-8") as file:
            for line in file:
                yield {key: value for key, value in json.loads(line).items() if key not in ("n", "t")}

    def tell(self, count, quits, memory, seconds):
        print(f"{count} actions in {seconds:.0f} s; the window was left and opened again {quits} times")
        for samples in memory:
            if len(samples) < 4:
                continue
            # The first third is for what is loaded and filled once.
            later = samples[len(samples) // 3:]
            print(f"memory: {samples[0][1]:.0f} MiB at first, {later[0][1]:.0f} MiB after {later[0][0]:.0f} s, "
                  f"{later[-1][1]:.0f} MiB after {later[-1][0]:.0f} s, at most {max(mib for _, mib in samples):.0f} "
                  "MiB")
        if self.options.rss:
            with open(self.options.rss, "w", encoding="utf-8") as file:
                file.writelines(f"{moment:.1f} {mib:.1f}\n" for samples in memory for moment, mib in samples)


def by_hand():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--log")
    parser.add_argument("--rss")
    parser.add_argument("--view")
    parser.add_argument("--replay")
    words = sys.argv[1:]
    end = words.index("--") if "--" in words else len(words)
    LongUse.options = parser.parse_args(words[:end])
    LongUse.options.more = words[end + 1:]
    ProgramCase.program = os.path.abspath(LongUse.options.program)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=1).run(LongUse())
    if result.skipped:
        sys.exit(f"nothing was done: {result.skipped[0][1]}")
    sys.exit(0 if result.wasSuccessful() else 1)


if __name__ == "__main__":
    if any(word.startswith("--") for word in sys.argv[2:]):
        by_hand()
    else:
        LongUse = None  # its cases are for the command line
        main()
