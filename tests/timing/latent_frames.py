#!/usr/bin/env python3
"""What a frame costs while a person draws a lasso around the points of a map, at 1920x1080 in Xvfb, painted on the CPU.

    latent_frames.py WARPSCOPE [--images 3000] [--points]

A map by UMAP of made-up digits; then the pointer goes over the images, draws a lasso, and goes over what it selected, a
hundred places each. Prints the work of those frames (the trace's work_ms: from the beginning of a frame until it is
painted, other programs' turns included), the mean of what the thread itself computed in their phases, and the most that
it computed in one of the slow ones. Not a test: its figures are those of the machine.
"""
import argparse
import math
import os
import random
import struct
import sys
import unittest

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
from warpscope_program import ProgramCase, wait_until  # noqa: E402
from window_driver import WindowCase  # noqa: E402

PLACES = 100
SIDE = 28


def make_digits(folder, images):
    """MNIST's four files: a bright bar at a random angle, ten classes of angles."""
    os.mkdir(folder)
    dice = random.Random(9)
    for name, count in (("train", 256), ("t10k", images)):
        pixels, labels = bytearray(), bytearray()
        for _ in range(count):
            label = dice.randrange(10)
            angle, off = (label + dice.random() / 2) * math.pi / 10, dice.uniform(-4, 4)
            across, up = math.cos(angle), math.sin(angle)
            labels.append(label)
            pixels += bytes(255 if abs((x - 14) * across + (y - 14) * up - off) < 2 else dice.randrange(30)
                            for y in range(SIDE) for x in range(SIDE))
        with open(os.path.join(folder, f"{name}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">4i", 0x803, count, SIDE, SIDE) + pixels)
        with open(os.path.join(folder, f"{name}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">2i", 0x801, count) + labels)


class Frames(WindowCase):
    PANEL = "latent"
    images, points = 3000, False

    def window_arguments(self, *more):
        return ["--model", "mlp", "--device", "cpu", "--data", "mnist:" + self.path("digits"), "--batch", "32",
                "--test-images", "64", "--precision", "fp32", "--window-size", "1920x1080", "--draw",
                "cpu", *more]

    def measure(self, what, move):
        self.point_at(*move(0))
        before = self.events("drawn")[-1]["time"]
        for place in range(1, PLACES):
            self.point_at(*move(place))
        self.point_at(*move(0))
        full = len(self.events("frame"))
        wait_until(lambda: len(self.events("frame")) > full, "the figures of the frames", self.process)
        frames = [frame for frame in self.events("frame") if frame["time"] > before + 1 and frame["work_ms"]]
        slow = [sum(phase["cpu_ms"] for phase in frame["phases"]) for frame in self.events("slow_frame")
                if frame["time"] > before]
        work = sorted(ms for frame in frames for ms in frame["work_ms"])
        phases = {}
        for frame in frames:
            for phase in frame["phases"]:
                part = phase["cpu_ms"] * len(frame["work_ms"]) / len(work)
                phases[phase["name"]] = phases.get(phase["name"], 0) + part
        told = ", ".join(f"{name} {ms:.2f}" for name, ms in phases.items())
        print(f"  {what:10} {len(work):4} frames: median {work[len(work) // 2]:6.2f} ms   p99 "
              f"{work[len(work) * 99 // 100]:6.2f} ms   computing {sum(phases.values()):5.2f} ms ({told}), at most "
              f"{max(slow, default=0):.2f} ms in {len(slow)} slow frames")

    def test_frames(self):
        make_digits(self.path("digits"), self.images)
        self.open_window()
        self.key("ctrl+p")
        self.wait_for_palette(open=True, query="")
        self.key("Escape")
        self.click("tabs.Latent")
        self.click("latent.method.UMAP")
        self.wait_for("the first map", lambda now: now.get("iterations", 0) > 0)
        self.choose("latent.images", f"latent.images={self.images}")
        self.wait_for("the map", lambda now: now["count"] == self.images and now["iteration"] == now["iterations"],
                      busy=False)
        self.click("toolbar.pause")
        self.wait_for_state("paused")
        self.key("l")  # the workbench large
        if self.points:
            self.click("latent.thumbnails")
        place = self.item("latent.map")
        middle, radius = (place.x + place.w / 2, place.y + place.h / 2), (0.42 * place.w, 0.42 * place.h)

        def around(step):
            angle = 2 * math.pi * step / PLACES
            return round(middle[0] + radius[0] * math.cos(angle)), round(middle[1] + radius[1] * math.sin(angle))
        print(f"{self.images} images, plane of {place.w} x {place.h} pixels")
        self.measure("pointing", lambda step: (place.x + place.w * step // PLACES, round(middle[1])))
        self.click("latent.tool.lasso")
        self.point_at(*around(0))
        self.press()
        self.measure("lasso", around)
        self.press(False)
        self.measure("selected", lambda step: (place.x + place.w * step // PLACES, round(middle[1])))


def run():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--images", type=int, default=3000)
    parser.add_argument("--points", action="store_true", help="points in place of pictures")
    arguments = parser.parse_args()
    ProgramCase.program = os.path.abspath(arguments.program)
    Frames.images, Frames.points = arguments.images, arguments.points
    return not unittest.TextTestRunner().run(Frames("test_frames")).wasSuccessful()


if __name__ == "__main__":
    sys.exit(run())
