#!/usr/bin/env python3
"""What the window costs, on a GPU with a display: start, frames, images a second, the answer to a click.

    window_cost.py WARPSCOPE [--device cuda:0] [--precision bf16] [--draw auto] [--steps 60000] [--rounds 3]
                   [--known-miss "cost %,p99 frame ms"] [--json FILE] [--tabs Network,Distributions]
                   [--csv docs/measurements/window.csv, or window_cpu.csv where the CPU paints]

Start: seconds from the start of the process to the first frame and to the first step that the window shows. Cost: while
nobody touches the window, the time of STEPS steps at batch 64 in the window against the same without one, alternately;
of the latter, the process runs twice, with STEPS and with few steps, so that start and end drop out. Frames: while the
pointer moves over the window, the 99 % quantile of a frame with 100,000 points on the curve, 1600x1000, from its
beginning until it is shown (swapped). Click: on variants while slow steps (about 0.1 s each) run; how many steps the
old selection still made from one frame after the click on.
Tabs: with --tabs nothing but the cost is measured, at rest, with each of these tabs of the workbench open; limit 2 %.
Prints how evenly the machine computes by itself, the phases of slow frames, and each figure with its limit; the exit
code is the number of limits missed, but for those that are known to be.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import measurements  # noqa: E402

LIMITS = {"first frame s": 0.5, "first step s": 1.5, "p99 frame ms": 8.0, "cost %": 1.2, "frames/s at rest": 10.5,
          "timed steps %": 0.5, "steps after a click": 2}
TAB_LIMIT = 2.0
FEW = 2000
FRAME = 1 / 60


def events(path):
    found = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            for line in file:
                try:
                    found.append(json.loads(line))
                except ValueError:
                    break  # still being written
    return found


class Bench:
    def __init__(self, arguments, folder):
        self.program, self.folder, self.count = os.path.abspath(arguments.program), folder, 0
        self.training, self.precision = ["--device", arguments.device, "--data", "builtin"], arguments.precision
        self.draw = arguments.draw

    def window(self, *more, precision=None, size="1600x1000"):
        """Starts the window; returns the process, its trace and when it was started."""
        self.count += 1
        trace = os.path.join(self.folder, f"trace-{self.count}.jsonl")
        # What a window remembers of the one before would count as its cost.
        own = dict(os.environ, WARPSCOPE_UI_TRACE=trace,
                   XDG_CONFIG_HOME=os.path.join(self.folder, f"config-{self.count}"),
                   XDG_DATA_HOME=os.path.join(self.folder, "data"))
        command = [self.program, *self.training, "--precision", precision or self.precision,
                   "--window-size", size, "--draw", self.draw, *more]
        started = time.monotonic()
        return subprocess.Popen(command, env=own), trace, started

    def timed(self, command):
        start = time.monotonic()
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.monotonic() - start

    def headless_seconds(self, steps):
        return self.timed([self.program, "train", *self.training, "--precision", self.precision, "--steps", str(steps)])

    def window_seconds(self, steps, tab=None):
        """From step FEW to `steps`, by the frames of the trace that show them; with a tab from a quarter of them on."""
        process, trace, _ = self.window("--exit-after-steps", str(steps))
        if tab:
            Hand(trace).click(f"tabs.{tab}")
        if process.wait(300) != 0:
            sys.exit("the window failed")
        first = steps // 4 if tab else FEW
        frames = [e for e in events(trace) if e["event"] == "frame" and first <= e["step"] < steps]
        span = frames[-1]["step"] - frames[0]["step"]
        if self.draw == "cpu" and not frames[-1]["painted"]:
            sys.exit("the window was not painted")
        return (frames[-1]["time"] - frames[0]["time"]) / span * (steps - FEW), frames


def host(seconds):
    """The same little work, over and over, 60 times a second: how evenly this machine computes while nothing else
    runs."""
    spans = []
    begin = time.monotonic()
    for i in range(int(60 * seconds)):
        time.sleep(max(0.0, begin + i * FRAME - time.monotonic()))
        first = time.monotonic()
        sum(range(60000))
        spans.append(1e3 * (time.monotonic() - first))
    spans.sort()
    print(f"host: the same work takes {statistics.median(spans):.2f} ms, 99 % below "
          f"{spans[int(0.99 * len(spans))]:.2f} ms, "
          f"at most {spans[-1]:.2f} ms")


def start(bench):
    first_frame, first_step = [], []
    for _ in range(4):
        process, trace, started = bench.window("--exit-after-steps", "500")
        process.wait(120)
        seen = events(trace)
        first_frame.append(next(e["time"] for e in seen if e["event"] == "frame") - started)
        first_step.append(next(e["time"] for e in seen if e["event"] == "stepped") - started)
    print(f"start: first frame {', '.join(f'{t:.3f}' for t in first_frame)} s, first step "
          f"{', '.join(f'{t:.3f}' for t in first_step)} s")
    # The first start reads the program from disk.
    return {"first frame s": statistics.median(first_frame[1:]), "first step s": statistics.median(first_step[1:]),
            "cold": [first_frame[0], first_step[0]]}


def cost(bench, steps, rounds):
    with_window, without, rates = [], [], []
    for _ in range(rounds):
        without.append(bench.headless_seconds(steps) - bench.headless_seconds(FEW))
        seconds, seen = bench.window_seconds(steps)
        with_window.append(seconds)
        rates.append((seen[-1]["frames"] - seen[0]["frames"]) / (seen[-1]["time"] - seen[0]["time"]))
    speed = [64 * (steps - FEW) / statistics.median(seconds) for seconds in (without, with_window)]
    print(f"cost: {speed[0]:,.0f} images/s without a window, {speed[1]:,.0f} with; rounds "
          f"{[round(s, 3) for s in without]} s, "
          f"{[round(s, 3) for s in with_window]} s; {[round(rate, 1) for rate in rates]} frames/s")
    return {"images/s without": speed[0], "images/s with": speed[1], "cost %": 100 * (1 - speed[1] / speed[0]),
            "frames/s at rest": max(rates)}


def cost_of_tabs(bench, steps, rounds, tabs):
    without, spent = [], {tab: [] for tab in tabs}
    for _ in range(rounds):
        without.append(bench.headless_seconds(steps) - bench.headless_seconds(FEW))
        for tab in tabs:
            spent[tab].append(bench.window_seconds(steps, tab)[0])
    figures = {}
    for tab in tabs:
        figures[f"{tab} %"] = 100 * (1 - statistics.median(without) / statistics.median(spent[tab]))
        print(f"{tab}: {64 * (steps - FEW) / statistics.median(spent[tab]):,.0f} images/s, {figures[f'{tab} %']:.2f} "
              "% less than the "
              f"{64 * (steps - FEW) / statistics.median(without):,.0f} without a window")
    return figures


def tell_slow_frames(seen):
    slow = [e for e in seen if e["event"] == "slow_frame"]
    print(f"frames of 25 ms and more: {len(slow)}, phases of the slowest, ms (and of them on the processor):")
    for e in sorted(slow, key=lambda e: -e["ms"])[:8]:
        phases = ", ".join(f"{p['name']} {p['ms']} ({p['cpu_ms']})" for p in e["phases"])
        print(f"  {e['ms']} ms, of these ready to run for {e['waiting_ms']}: {phases}")


def stolen_seconds():
    """What the host of a virtual machine has taken of all processors since its start. None if it is not told."""
    try:
        with open("/proc/stat", encoding="utf-8") as file:
            return int(file.readline().split()[8]) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return None


def frames(bench):
    stolen, started = stolen_seconds(), time.monotonic()
    process, trace, _ = bench.window("--exit-after-steps", "160000")
    while process.poll() is None:
        for x in range(300, 1300, 20):
            subprocess.run(["xdotool", "mousemove", str(x), "500", "sleep", "0.03"], check=True)
    if stolen is not None:
        print(f"frames: the host took {stolen_seconds() - stolen:.2f} s of the processors in "
              f"{time.monotonic() - started:.1f} s")
    full = [e for e in events(trace) if e["event"] == "frame" and e["points"] >= 100000]
    spans = sorted(span for e in full[1:] for span in e["frames_ms"])
    p99 = spans[int(0.99 * len(spans))]
    print(f"frames: {full[0]['points']} to {full[-1]['points']} points, {len(spans)} frames take "
          f"{statistics.median(spans):.2f} ms, "
          f"90 % below {spans[int(0.9 * len(spans))]:.2f}, 99 % below {p99:.2f}, at most {spans[-1]:.2f} ms")
    tell_slow_frames(events(trace))
    return {"p99 frame ms": p99, "frame ms": statistics.median(spans)}


def timed_steps(bench, steps):
    run = os.path.join(bench.folder, "timed")
    bench.timed([bench.program, "train", *bench.training, "--precision", bench.precision, "--steps", str(steps),
                 "--run-dir", run])
    ends = [e["seconds"] for e in events(os.path.join(run, "metrics.jsonl")) if "loss" in e][FEW:]
    spans = [b - a for a, b in zip(ends, ends[1:])]
    median = statistics.median(spans)
    long = [span - median for span in spans if span > 1.1 * median]
    print(f"timed steps: {len(long)} of {len(spans)} steps of {1e6 * median:.1f} us took longer, together "
          f"{1e3 * sum(long):.2f} ms "
          f"of {sum(spans):.2f} s; the mean is {100 * (statistics.mean(spans) / median - 1):.3f} % above the median")
    return {"timed steps %": 100 * sum(long) / sum(spans)}


class Hand:
    def __init__(self, trace):
        self.trace = trace

    def place(self, name):
        for _ in range(400):
            places = {e["name"]: e for e in events(self.trace) if e["event"] == "layout"}
            if name in places:
                return places[name]
            time.sleep(0.05)
        sys.exit(f"the window shows no {name}")

    def click(self, name):
        place = self.place(name)
        x, y = place["x"] + place["w"] // 2, place["y"] + place["h"] // 2
        subprocess.run(["xdotool", "mousemove", str(x), str(y), "sleep", "0.2", "click", "1"], check=True)
        time.sleep(0.6)


def clicks(bench):
    run = os.path.join(bench.folder, "clicked")
    process, trace, _ = bench.window("--select", "preset=naive", "--run-dir", run, precision="fp32")
    hand, late = Hand(trace), []
    hand.place("kernels.conv2d.forward")
    time.sleep(3)
    for variant in ("tiled", "naive", "tiled", "naive"):
        hand.click("kernels.conv2d.forward")
        hand.click(f"kernels.conv2d.forward={variant}")
        time.sleep(1)
    seen = events(trace)
    process.terminate()
    process.wait(60)
    done = []  # steps of which the window knew one frame after each click
    for click in (e["time"] for e in seen if e["event"] == "sent"):
        done.append([e["step"] for e in seen if e["event"] == "step" and e["time"] <= click + FRAME][-1])
    marked = [e["step"] for e in events(os.path.join(run, "metrics.jsonl")) if "marker" in e][-len(done):]
    late = [b - a for a, b in zip(done, marked)]
    print(f"clicks: {done} steps done one frame after each, acted after {marked}")
    return {"steps after a click": max(late) if len(late) == 4 else float("inf")}


def limit_in(unit, *names):
    return ", ".join(f"{LIMITS[name]:g}" for name in names) + unit


def table_rows(figures):
    """(what, figure, limit) of all that is measured without --tabs."""
    return [
        ("images/s without and with the window",
         f"{figures['images/s without']:,.0f}, {figures['images/s with']:,.0f}: {figures['cost %']:.2f} %",
         limit_in(" %", "cost %")),
        ("frames a second at rest", f"{figures['frames/s at rest']:.1f}", limit_in("", "frames/s at rest")),
        ("first frame, first step after the start of the process",
         f"{figures['first frame s']:.2f} s, {figures['first step s']:.2f} s",
         limit_in(" s", "first frame s", "first step s")),
        ("a frame with 100,000 points on the curve, median", f"{figures['frame ms']:.2f} ms", ""),
        ("a frame with 100,000 points on the curve, 99 % below", f"{figures['p99 frame ms']:.2f} ms",
         limit_in(" ms", "p99 frame ms")),
        ("steps timed kernel by kernel, share of the time", f"{figures['timed steps %']:.3f} %",
         limit_in(" %", "timed steps %")),
        ("steps that a click on a variant leaves to the old one", f"{figures['steps after a click']:g}",
         limit_in("", "steps after a click")),
    ]


def table_rows_of_tabs(figures):
    return [(f"cost with the tab {name.removesuffix(' %')}, at rest", f"{figure:.1f} %", f"{TAB_LIMIT:g} %")
            for name, figure in figures.items()]


def write_rows(arguments, rows):
    title = "painted on the CPU, 60 frames a second"
    if arguments.draw == "gpu":
        title = "drawn by OpenGL on the GPU that trains"
    measurements.write(arguments.csv, (title,), [dict(zip((title, "figure", "limit"), row)) for row in rows],
                       arguments.device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--draw", default="auto")
    parser.add_argument("--steps", type=int, default=60000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--known-miss", default="")
    parser.add_argument("--json", default="")
    parser.add_argument("--tabs", default="")
    measurements.add_option(parser)
    arguments = parser.parse_args()
    if not os.environ.get("DISPLAY"):
        print("no display")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        host(10)
        bench = Bench(arguments, folder)
        if arguments.tabs:
            figures = cost_of_tabs(bench, arguments.steps, arguments.rounds, arguments.tabs.split(","))
            write_rows(arguments, table_rows_of_tabs(figures))
            return sum(figure > TAB_LIMIT for figure in figures.values())
        figures = {**start(bench), **cost(bench, arguments.steps, arguments.rounds),
                   **timed_steps(bench, arguments.steps), **frames(bench), **clicks(bench)}
    write_rows(arguments, table_rows(figures))
    missed, known = 0, arguments.known_miss.split(",")
    for name, limit in LIMITS.items():
        good = figures[name] <= limit
        missed += not good and name not in known
        print(f"{'ok  ' if good else 'MISS'} {name}: {figures[name]:.3f}, limit {limit}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=1)
    return missed


if __name__ == "__main__":
    sys.exit(main())
