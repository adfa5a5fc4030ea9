#!/usr/bin/env python3
"""How fast the views answer while a GPU trains, on a display: what a person waits for.

    view_latency.py WARPSCOPE [--device cuda:0] [--draw gpu] [--size 2560x1440] [--only Frames] [--json FILE]
                    [--csv docs/measurements/views.csv]

A/B: from the frame that asks for another second selection until a frame shows its pictures (new plans are built for
it).
Scrub: the work on a frame while the slider of the steps is dragged: the frame that sees the pointer shows the step
under it.
Decode: from the frame that asks for pictures along the way between two latents until a frame shows them.
Lasso: the 99 % quantile of the work on a frame while a lasso is drawn in a map of 3,000 latents, which is shown to be
done.
Formula: from the click on an image until a frame shows its activations.
Frames: the 99 % quantile of the work on a frame (all but the swap, which on a virtual display copies the picture to the
X server) while the pointer moves over four views at once (Images, Curves, Network, Training), and what the slowest
frame of each second did. Prints each figure with its limit, and answers in the order in which they were asked for: what
is made only once delays the first, or in A/B the first of each preset. The exit code is the number of limits missed.
--only: some of these, separated by commas; on a CPU `--only Frames --device cpu --precision fp32`.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.dirname(os.path.abspath(__file__)))
from window_cost import Bench, Hand, events, measurements  # noqa: E402

LIMITS = {"A/B ms": 100, "scrub work ms": 16, "decode ms": 100, "activations ms": 100, "lasso work ms": 16,
          "p99 work ms": 8.0}
LABELS = {"A/B ms": "another second selection (A/B) until its pictures are drawn",
          "scrub work ms": "work on a frame while the slider of the steps is dragged",
          "decode ms": "pictures between two latents",
          "activations ms": "another image's activations",
          "lasso work ms": "work on a frame while a lasso is drawn round 3,000 points of a map",
          "p99 work ms": "work on a frame while the pointer moves over four views"}
SLOWEST_TOLD = 6
PART_TOLD = 0.1  # ms at the most: shorter parts are left out


def answers(trace, kind):
    return [e["ms"] for e in events(trace) if e["event"] == "answered" and e["kind"] == kind]


def tell_slowest(told):
    """The frame with the most work of each line of the trace: its phases, and the parts that took a millisecond or
    more."""
    for frame in sorted((e["slowest"] for e in told if e["slowest"]), key=lambda f: -f["ms"])[:SLOWEST_TOLD]:
        phases, parts = (", ".join(f"{p['name']} {p['ms']} ({p['cpu_ms']})" for p in frame[kind] if p["ms"] >= 1)
                         for kind in ("phases", "parts"))
        print(f"  {frame['ms']} ms (of them on the processor): {phases}; parts: {parts or 'none of 1 ms'}")


def tell_parts(told):
    """Each part of the work on a frame: in how many frames it was, its median and its 99 % quantile."""
    spans = {}
    for e in told:
        for part in e["parts"]:
            spans.setdefault(part["name"], []).extend(zip(part["ms"], part["cpu_ms"]))
    for name, both in spans.items():
        wall, cpu = (sorted(times) for times in zip(*both))
        if wall[-1] >= PART_TOLD:
            print(f"  part {name}: {len(wall)} frames, median {quantile(wall, 0.5):.2f}, 99 % below "
                  f"{quantile(wall, 0.99):.2f}, at most "
                  f"{wall[-1]:.2f} ms; on the processor {quantile(cpu, 0.5):.2f}, {quantile(cpu, 0.99):.2f}, "
                  f"{cpu[-1]:.2f}")


def work_between(trace, begin, end):
    """Milliseconds of work on the frames that the trace tells of in this span; the first of them began before it."""
    told = [e for e in events(trace) if e["event"] == "frame" and begin <= e["time"] <= end]
    print(f"until shown: {quantile(sorted(span for e in told[1:] for span in e['frames_ms']), 0.99):.2f} ms at the 99 "
          "% quantile; "
          f"phases of the last: {told[-1]['phases']}; the slowest:")
    tell_slowest(told[1:])
    tell_parts(told[1:])
    prepared = sorted(span for e in told[1:] for span in e["prepared_ms"])
    print(f"  after frames, with new images: {len(prepared)} times, median {quantile(prepared, 0.5):.2f}, at most "
          f"{prepared[-1] if prepared else float('nan'):.2f} ms")
    return sorted(span for e in told[1:] for span in e["work_ms"])


def quantile(values, part):
    return values[int(part * len(values))] if values else float("nan")


def move(*places):
    for x, y in places:
        subprocess.run(["xdotool", "mousemove", str(x), str(y), "sleep", "0.016"], check=True)


def compare(hand):
    hand.click("images.rows")
    for preset in ("tensor_cores", "fastest", "cudnn", "tensor_cores", "fastest"):
        hand.click("images.other.preset")
        hand.click(f"images.other.preset={preset}")
        time.sleep(1.5)
    subprocess.run(["xdotool", "key", "Escape"], check=True)
    return answers(hand.trace, "comparison")


def scrub(hand):
    place = hand.place("images.time")
    y = place["y"] + place["h"] // 2
    begin = time.monotonic()
    subprocess.run(["xdotool", "mousemove", str(place["x"] + 20), str(y), "sleep", "0.1", "mousedown", "1"], check=True)
    for _ in range(3):
        move(*((place["x"] + 20 + (place["w"] - 60) * i // 60, y) for i in range(60)))
    subprocess.run(["xdotool", "mouseup", "1", "sleep", "0.2"], check=True)
    spans = work_between(hand.trace, begin, time.monotonic())
    hand.click("images.newest")
    return spans


def decode(hand):
    hand.click("tabs.Latent")
    hand.place("latent.picture")
    time.sleep(3)
    for image in (2, 5, 3, 7):
        hand.click(f"images.original.{image}")
        time.sleep(1.5)
    return answers(hand.trace, "pictures")


def lasso(hand):
    """Round most of a finished map of as many images as the program takes by itself on a GPU."""
    hand.click("tabs.Latent")
    hand.click("latent.method.t-SNE")
    newest = {}
    for _ in range(600):
        newest = next((e for e in reversed(events(hand.trace)) if e["event"] == "latent" and e.get("method") == "tsne"),
                      {})
        if 0 < newest.get("iterations", 0) == newest.get("iteration"):
            break
        time.sleep(0.1)
    else:
        sys.exit("the map is not done after a minute")
    hand.click("latent.tool.lasso")
    place, begin = hand.place("latent.map"), time.monotonic()
    left, top, right, bottom = place["x"] + 3, place["y"] + 3, place["x"] + place["w"] - 4, place["y"] + place["h"] - 4
    corners = [(left, top), (right, top), (right, bottom), (left, bottom)]
    subprocess.run(["xdotool", "mousemove", str(left), str(top), "sleep", "0.1", "mousedown", "1"], check=True)
    for (x, y), (to_x, to_y) in zip(corners, corners[1:]):
        move(*((x + (to_x - x) * i // 40, y + (to_y - y) * i // 40) for i in range(1, 41)))
    subprocess.run(["xdotool", "mouseup", "1", "sleep", "0.5"], check=True)
    spans = work_between(hand.trace, begin, time.monotonic())
    newest = [e for e in events(hand.trace) if e["event"] == "latent"][-1]
    print(f"lasso: {newest.get('selected')} of {newest.get('count')} points selected, {len(spans)} frames")
    subprocess.run(["xdotool", "key", "Escape"], check=True)
    return spans


def inspect(hand):
    time.sleep(2)
    for image in (1, 4, 6, 0):
        hand.click(f"images.original.{image}")
        time.sleep(1)
    return answers(hand.trace, "inspection")


def wander(hand, size):
    """Over all of the window, with Images, Curves, Network and Training on it."""
    width, height = size
    begin = time.monotonic()
    for turn in range(6):
        y = height * (turn + 1) // 8
        move(*((100 + (width - 200) * i // 60, y) for i in range(60)))
    time.sleep(0.2)
    return work_between(hand.trace, begin, time.monotonic())


def watch(hand, size, wanted):
    """The milliseconds of each figure that is wanted."""
    told = {}
    if "A/B" in wanted:
        told["A/B ms"] = compare(hand)
    if "Scrub" in wanted:
        told["scrub work ms"] = scrub(hand)
    if "Decode" in wanted:
        told["decode ms"] = decode(hand)
    if "Lasso" in wanted:
        told["lasso work ms"] = lasso(hand)
    hand.click("tabs.Network")
    if "Formula" in wanted:
        told["activations ms"] = inspect(hand)
    if "Frames" in wanted:
        hand.place("network.enlarged")
        told["p99 work ms"] = wander(hand, size)
    return told


def table_row(size, name, values):
    """What a figure's sorted milliseconds tell: the median, what 99 % are below or all, the limit."""
    worst = f"{quantile(values, 0.99):.1f} ms" if "work" in name else f"{values[-1]:.0f} ms at most"
    digits = 1 if "work" in name else 0
    return {f"{size}, virtual display, training on": LABELS[name], "median": f"{quantile(values, 0.5):.{digits}f} ms",
            "most or 99 % below": worst, "limit": f"{LIMITS[name]:g} ms"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--draw", default="gpu")
    parser.add_argument("--size", default="2560x1440")
    parser.add_argument("--only", default="A/B,Scrub,Decode,Lasso,Formula,Frames")
    parser.add_argument("--json", default="")
    measurements.add_option(parser)
    arguments = parser.parse_args()
    if not os.environ.get("DISPLAY"):
        print("no display")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(arguments, folder)
        process, trace, _ = bench.window(size=arguments.size)
        hand = Hand(trace)
        hand.place("images.rows")
        time.sleep(4)
        told = watch(hand, tuple(map(int, arguments.size.split("x"))), arguments.only.split(","))
        process.terminate()
        process.wait(60)
    figures, missed = {}, 0
    for name, limit in ((name, limit) for name, limit in LIMITS.items() if name in told):
        values = sorted(told[name])
        figures[name] = quantile(values, 0.99) if "work" in name else (values[-1] if values else float("nan"))
        good = figures[name] <= limit
        if values:
            row = table_row(arguments.size, name, values)
            measurements.write(arguments.csv, list(row)[:1], [row], arguments.device)
        missed += not good
        print(f"{'ok  ' if good else 'MISS'} {name}: {figures[name]:.2f}, limit {limit}; median "
              f"{quantile(values, 0.5):.2f} of "
              f"{len(values)}, at most {values[-1] if values else float('nan'):.2f}")
        if "work" not in name and told[name]:
            later = ", ".join(f"{value:.1f}" for value in told[name][1:])
            print(f"  the first {told[name][0]:.1f}, then {later or 'none'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"figures": figures, "all": told}, file, indent=1)
    return missed


if __name__ == "__main__":
    sys.exit(main())
