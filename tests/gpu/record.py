#!/usr/bin/env python3
"""Runs a program that measures and writes what it tells into a table of docs/measurements.

    record.py CSV KIND [--cell COLUMN=TEXT ...] [--seeds 1,2,3] -- COMMAND [ARGUMENT...]

What the command prints passes through; its exit code is this one's, and only 0 writes a row. The cells tell the row
apart. --seeds: the command runs once for each, with it in the place of {}, or with `--seed N` behind it. An empty CSV
only runs the command.

    proof     result: the last line that is printed
    accuracy  accuracy; seconds from start: of a training, or an evaluation, that classifies
    errors    the same as errors in per cent, and their mean
    digits    test accuracy, images/s, seconds an epoch of MNIST's 60,000
    speed     images or texts a second of a training, in the column that --column names
    maps      of maps_bench: the beginning, an iteration, the purity before and after
    linear    of linear_bench: seconds to fit, the objective, whether it converged
    batches   images a second and ms a step of a training
    views     the accuracy of each run of the command, and their mean
    whole     seconds from start to end of each run
    plan      of a run's status.json (`-- cat FILE`): MiB of its plan, in --column
    augmentation  of two such files, of a run without and of one with it: images/s without, the share of the time of a
              step that it takes, in --column
    take      what patterns find: --take "COLUMN=PATTERN" for each column, the last match's first group
    steps     of a file that `bench --json` wrote (`-- cat FILE`): a row for each whole step
    variants  of such a file: a row for each variant of an op
    layers    of such a file: a row for each convolution, what its calls take
    floor     of such a file with whole steps: how near calls and steps come to their floor
    shares    of such a file: a row for each op, the share of the floor that its fastest variant reaches, in --column
"""
import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import time

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import bench_tables  # noqa: E402
import measurements  # noqa: E402

MNIST_IMAGES = 60000


def numbers(pattern, texts):
    """The number that the last match of the pattern in each text captures."""
    found = [re.findall(pattern, text, re.MULTILINE) for text in texts]
    if not all(found):
        sys.exit(f"no '{pattern}' in what the command printed: nothing is written")
    return [float(matches[-1].replace(",", "")) for matches in found]


def in_a_list(values, unit=" %"):
    return ", ".join(f"{value:.2f}" for value in values) + unit


def accuracies(texts):
    return numbers(r"\baccuracy +([\d.]+) %", texts)


def speed(texts):
    return statistics.mean(numbers(r"^speed\D*([\d,.]+) (?:images|texts)", texts))


def from_to(values, digits):
    ends = [f"{value:.{digits}f}" for value in (min(values), max(values))]
    return ends[0] if ends[0] == ends[1] else " to ".join(ends)


def accuracy_cells(texts, seconds):
    return {"accuracy": in_a_list(accuracies(texts)), "seconds from start": from_to(seconds, 1)}


def errors_cells(texts, _):
    errors = [100 - value for value in accuracies(texts)]
    return {"errors of Warpscope": in_a_list(errors), "their mean, %": f"{statistics.mean(errors):.2f}"}


def views_cells(texts, _):
    found = accuracies(texts)
    return {"accuracy": in_a_list(found), "mean": f"{statistics.mean(found):.2f} %"}


def digits_cells(texts, _):
    return {"test accuracy": in_a_list(accuracies(texts)), "images/s": f"{speed(texts):.0f}",
            "seconds an epoch": f"{MNIST_IMAGES / speed(texts):.3f}"}


def maps_cells(texts, _):
    # The same map is made twice: the first time includes what is made only once.
    beginning, = numbers(r"^make +([\d.]+) ms", texts)
    each, = numbers(r" of ([\d.]+) ms each", texts)
    purities = [float(value) for value in re.findall(r"^purity +([\d.]+)", texts[0], re.MULTILINE)] or [float("nan")]
    return {"beginning": f"{beginning:.0f} ms", "each iteration or epoch": f"{each:.2g} ms",
            "purity of the 10 nearest": f"{purities[0]:.2f} to {purities[-1]:.2f}"}


def steps_rows(text):
    return [{"preset": step["name"], "precision": step["precision"], "µs": f"{step['median_us']:.0f}",
             "images/s": f"{step['images_per_second']:.0f}", "MiB": f"{step['plan_bytes'] / 2**20:.0f}",
             "mJ an image": "" if step["joules"] is None else f"{1000 * step['joules'] / step['batch']:.3g}"}
            for step in json.loads(text)["steps"] if "skipped" not in step]


def variants_rows(text):
    return [{**{name: row[name] for name in ("op", "layer", "precision", "variant")}, "µs": f"{row['median_us']:.4g}"}
            for row in json.loads(text)["rows"] if "skipped" not in row and not row.get("sum")]


def batches_cells(texts, _):
    batch, = set(numbers(r"^speed.*, batch (\d+)", texts))
    return {"images a second": f"{speed(texts):.4g}", "ms a step": f"{1000 * batch / speed(texts):.3g}"}


def taken(pairs, texts):
    cells = {}
    for pair in pairs:
        column, pattern = pair.split("=", 1)
        found = re.findall(pattern, texts[-1], re.MULTILINE)
        if not found:
            sys.exit(f"no '{pattern}' in what the command printed: nothing is written")
        cells[column] = found[-1].strip()
    return cells


def shares_rows(text, column):
    best = {}
    for row in json.loads(text)["rows"]:
        if "skipped" not in row and not row.get("sum"):
            best[row["op"]] = max(best.get(row["op"], 0), row["floor_us"] / row["median_us"])
    return [{"BF16, share of the floor": op, column: f"{100 * share:.0f} %"} for op, share in best.items()]


def linear_cells(texts, _):
    seconds, = numbers(r"^fit ([\d.]+) s", texts)
    objective, = numbers(r"^ +objective ([\d.e+-]+)", texts)
    return {"seconds": f"{seconds:.2g}", "objective": f"{objective:.1f}",
            "": "not converged" if "NOT converged" in texts[0] else "converged"}


KINDS = {
    "proof": lambda texts, _: {"result": texts[-1].strip().splitlines()[-1].strip()},
    "accuracy": accuracy_cells,
    "errors": errors_cells,
    "digits": digits_cells,
    "maps": maps_cells,
    "linear": linear_cells,
    "views": views_cells,
    "whole": lambda _, seconds: {"seconds": in_a_list(seconds, "")},
    "batches": batches_cells,
}
KINDS_OF_ROWS = {
    "steps": (("preset", "precision"), steps_rows),
    "variants": (("op", "layer", "precision", "variant"), variants_rows),
    "layers": (("µs at batch 1024",), bench_tables.layers_rows),
    "floor": (("BF16, batch 1024",), bench_tables.floor_rows),
}
KINDS_OF_A_COLUMN = {
    "speed": lambda text, column: {column: f"{speed([text]):.0f}"},
    "plan": bench_tables.plan_cells,
    "augmentation": bench_tables.augmentation_cells,
}


def rows_of(arguments, seeds, texts, seconds):
    """(the columns that tell rows apart, the rows)"""
    if arguments.kind in KINDS_OF_ROWS:
        key, rows = KINDS_OF_ROWS[arguments.kind]
        return key, rows(texts[-1])
    if arguments.kind == "shares":
        return ("BF16, share of the floor",), shares_rows(texts[-1], arguments.column)
    row = dict(cell.split("=", 1) for cell in arguments.cell)
    if seeds and arguments.kind == "accuracy":
        row["seeds"] = ", ".join(seeds)
    key = list(row)
    if arguments.kind in KINDS_OF_A_COLUMN:
        return key, [{**row, **KINDS_OF_A_COLUMN[arguments.kind](texts[-1], arguments.column)}]
    if arguments.kind == "take":
        return key, [{**row, **taken(arguments.take, texts)}]
    return key, [{**row, **KINDS[arguments.kind](texts, seconds)}]


def of_seeds(command, seeds):
    if any("{}" in word for word in command):
        return [[word.replace("{}", seed) for word in command] for seed in seeds]
    return [[*command, "--seed", seed] for seed in seeds] or [command]


def run(command):
    """(exit code, what it printed, seconds)"""
    start, told = time.monotonic(), []
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    with subprocess.Popen(command, text=True, errors="replace", **streams) as process:
        for line in process.stdout:
            told.append(line)
            print(line, end="", flush=True)
    return process.returncode, "".join(told), time.monotonic() - start


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file")
    parser.add_argument("kind", choices=[*KINDS, *KINDS_OF_ROWS, *KINDS_OF_A_COLUMN, "shares", "take"])
    parser.add_argument("--cell", action="append", default=[], metavar="COLUMN=TEXT")
    parser.add_argument("--take", action="append", default=[], metavar="COLUMN=PATTERN")
    parser.add_argument("--column", default="images or texts a second")
    parser.add_argument("--seeds", default="")
    own, separator, command = sys.argv[1:], "--", []
    if separator in own:
        own, command = own[:own.index(separator)], own[own.index(separator) + 1:]
    arguments = parser.parse_args(own)
    if not command or not all("=" in cell for cell in arguments.cell):
        parser.error("give cells as COLUMN=TEXT and the command behind --")
    return arguments, command


def main():
    arguments, command = parse()
    seeds = [seed for seed in arguments.seeds.split(",") if seed]
    texts, seconds = [], []
    for each in of_seeds(command, seeds):
        code, text, spent = run(each)
        if code != 0:
            return code
        texts.append(text)
        seconds.append(spent)
    if arguments.file:
        key, rows = rows_of(arguments, seeds, texts, seconds)
        line = os.environ.get("COMMAND") or measurements.command_line(command)
        measurements.write(arguments.file, key, rows, "cpu" if "cpu" in command else "cuda:0", line)
    return 0


if __name__ == "__main__":
    sys.exit(main())
