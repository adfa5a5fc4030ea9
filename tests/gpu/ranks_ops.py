"""Where a step of several ranks spends its time beside a step of one GPU: each op's time, as the program measures it,
of one GPU by itself, of all GPUs at the same time in processes that know nothing of each other, and of ranks, side by
side. What differs between the first two are clocks and power, between the next two the sums and the waiting for
them."""
import json
import os
import re
import shutil
import statistics
import subprocess
import tempfile

ALL = "all ops"


class Meter:
    """Clocks and power of the GPUs while something runs; nothing where nvidia-smi is missing."""

    def __init__(self):
        query = ["nvidia-smi", "--query-gpu=index,clocks.sm,power.draw", "--format=csv,noheader,nounits", "-lms", "200"]
        self.process = None
        if shutil.which(query[0]):
            self.process = subprocess.Popen(query, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)

    def read(self):
        """{GPU: (MHz, W)}, the medians of what was drawn above the middle of the least and the most."""
        if self.process is None:
            return {}
        self.process.terminate()
        samples = {}
        for line in self.process.communicate()[0].splitlines():
            told = re.fullmatch(r"(\d+), ([\d.]+), ([\d.]+)", line.strip())
            if told:
                samples.setdefault(int(told[1]), []).append((float(told[2]), float(told[3])))
        found = {}
        for gpu, drawn in samples.items():
            middle = (min(watts for _, watts in drawn) + max(watts for _, watts in drawn)) / 2
            busy = [sample for sample in drawn if sample[1] >= middle]
            found[gpu] = tuple(statistics.median(sample[i] for sample in busy) for i in (0, 1))
        return found


def begin(program, options, steps, folder):
    command = [program, "train", "--data", "builtin", "--optimizer", "adam", "--lr", "0.0001", "--test-images", "64",
               "--checkpoint-every", "0", "--steps", str(steps), "--run-dir", folder, *options]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def end(name, process, folder):
    """What the run tells: images/s, {(op, layer): (variant, us)}, ranks; or nothing if it failed."""
    out, errors = process.communicate()
    told = re.search(r"^speed\D*([\d,.]+) ", out, re.MULTILINE)
    if process.returncode or not told:
        print(f"failed, exit {process.returncode}: {name}: {(errors or out).strip()[-400:]}", flush=True)
        return None
    with open(os.path.join(folder, "status.json"), encoding="utf-8") as file:
        status = json.load(file)
    ops = {(row["op"], row["layer"]): (row["variant"], row["microseconds"])
           for row in status["timings"] if not row["covered_by"] and row["samples"] > 0}
    ops[(ALL, "")] = ("", sum(us for _, us in ops.values()))
    return {"images_per_second": float(told[1].replace(",", "")), "ops": ops, "ranks": status.get("ranks", [])}


def run_together(program, steps, runs):
    """{name: what it told}, of {name: options}, all begun at once; and what the meter read meanwhile."""
    with tempfile.TemporaryDirectory() as parent:
        meter = Meter()
        begun = {name: (begin(program, options, steps, os.path.join(parent, str(n))), os.path.join(parent, str(n)))
                 for n, (name, options) in enumerate(runs.items())}
        found = {name: end(name, *process) for name, process in begun.items()}
        return found, meter.read()


def print_table(columns):
    names = list(columns)
    longest_first = sorted(columns.values(), key=lambda found: -len(found["ops"]))  # the sums where they are in a step
    rows = [row for row in dict.fromkeys(row for found in longest_first for row in found["ops"]) if row[0] != ALL]
    width = max(len(f"{op} {layer}") for op, layer in rows)
    print(f"{'us':{width}}", *(f"{name:>20}" for name in names))
    first = columns[names[0]]["ops"]
    for row in [*rows, (ALL, "")]:
        cells = []
        for name in names:
            _, us = columns[name]["ops"].get(row, ("", None))
            more = "" if us is None or row not in first or name == names[0] else f" {us - first[row][1]:+.1f}"
            cells.append("" if us is None else f"{us:.1f}{more}")
        variants = dict.fromkeys(found["ops"][row][0] for found in columns.values() if row in found["ops"])
        print(f"{' '.join(row).strip():{width}}", *(f"{cell:>20}" for cell in cells), " ".join(variants), flush=True)
    steps = [1e6 * found["batch"] / found["images_per_second"] for found in columns.values()]
    print(f"{'a step':{width}}", *(f"{f'{us:.1f} {us - steps[0]:+.1f}':>20}" for us in steps))
    left = [us - found["ops"][(ALL, "")][1] for us, found in zip(steps, columns.values())]
    print(f"{'a step less its ops':{width}}", *(f"{us:>20.1f}" for us in left), flush=True)


def print_ranks(name, found):
    for number, rank in enumerate(found["ranks"]):
        newest = rank["newest"]
        parts = ", ".join(f"{part} {newest[part]:.1f}"
                          for part in ("forward", "backward", "waiting", "moving", "update"))
        print(f"{name}, rank {number}, {rank['device']}: step {rank['step_microseconds']:.1f}, sums "
              f"{rank['allreduce_microseconds']:.1f} of which waiting {rank['waiting_microseconds']:.1f} us; its "
              "newest timed step: "
              f"{parts}; {rank['megahertz']:.0f} MHz, {rank['watts']:.0f} W", flush=True)


def compare(program, usual, batch, steps, devices, ranks, variants):
    """`devices`: of each rank; `ranks`: the options that start them. Returns the exit code."""
    groups = [{"by itself": (batch, ["--device", devices[0]])},
              {f"beside, {n}": (batch, ["--device", device]) for n, device in enumerate(devices)}]
    for variant in variants:
        groups.append({variant: (batch * len(devices), [*ranks, "--select", f"gradients.allreduce={variant}"])})
    columns, failed = {}, 0
    for group in groups:
        options = {name: [*usual, "--batch", str(size), *place] for name, (size, place) in group.items()}
        found, meter = run_together(program, steps, options)
        for name, told in found.items():
            failed += told is None
            if told is None:
                continue
            columns[name] = {**told, "batch": group[name][0]}
            print_ranks(name, told)
        for gpu, (clock, watts) in meter.items():
            print(f"{' and '.join(group)}: GPU {gpu} {clock:.0f} MHz, {watts:.0f} W", flush=True)
    if columns:
        print_table(columns)
    if "by itself" in columns:
        for variant in variants:
            if variant in columns:
                share = columns[variant]["images_per_second"] / columns["by itself"]["images_per_second"] / len(devices)
                print(f"{variant}: {100 * share:.1f} % of {len(devices)} by themselves", flush=True)
    return 1 if failed else 0


def same_bits(program, steps, devices, ranks, variants):
    """Whether deterministic trainings of one and of all, by each variant, end with the same weights; the exit code."""
    ways = {"one": ["--device", devices[0]]}
    for variant in variants:
        ways[variant] = [*ranks, "--select", f"gradients.allreduce={variant}"]
    with tempfile.TemporaryDirectory() as folder:
        weights = {}
        for name, place in ways.items():
            file = os.path.join(folder, f"{name}.safetensors")
            done = subprocess.run([program, "train", "--model", "classifier_bn", "--data", "builtin", "--batch", "256",
                                   "--steps", str(steps), "--test-images", "64", "--deterministic", "--save", file,
                                   *place],
                                  capture_output=True, text=True, check=False)
            if done.returncode:
                print(f"failed, exit {done.returncode}: {name}: {done.stderr.strip()[-400:]}", flush=True)
                return 1
            with open(file, "rb") as saved:
                weights[name] = saved.read()
            print(f"{name}: {'the bits of one' if weights[name] == weights['one'] else 'OTHER BITS than one'}",
                  flush=True)
    return 0 if len(set(weights.values())) == 1 else 1
