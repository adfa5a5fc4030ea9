#!/usr/bin/env python3
"""Whether a change has made any training step slower: a build against that of its parent commit, side by side on one
GPU.

    parent.py WARPSCOPE PARENT [--device cuda:0] [--rows TEXT] [--seconds 1.5] [--limit 1.5] [--json FILE]
              [--csv docs/measurements/steps.csv]

PARENT is the parent's warpscope. A row is a preset, a precision and a model. Each is trained on the built-in images in
the order parent, new, new, parent, all four as many steps as the parent makes in --seconds, found by a short run
before; the figure is the change of the summed images/s. Prints a line a row; the exit code is the number of rows that
are more than
--limit per cent slower or did not train.
"""
import argparse
import json
import os
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import measurements  # noqa: E402
from step_speed import change_percent, compare  # noqa: E402

ROWS = (
    [("fastest", precision, "autoencoder") for precision in ("fp32", "tf32", "fp16", "bf16")]
    + [("naive", "fp32", "autoencoder"), ("naive", "bf16", "autoencoder"), ("atomic", "fp32", "autoencoder"),
       ("tiled", "fp32", "autoencoder")]
    + [("implicit_gemm", "fp32", "autoencoder")]
    + [("tensor_cores", precision, "autoencoder") for precision in ("tf32", "fp16", "bf16")]
    + [("cudnn", precision, "autoencoder") for precision in ("fp32", "tf32", "bf16")]
    + [("fastest", "bf16", "classifier"), ("fastest", "fp32", "classifier"), ("fastest", "fp32", "mlp")]
)
SLOW = ("naive", "atomic")  # a step takes up to a tenth of a second: few steps tell their speed
BATCH = 256


def command_of(program, device, row):
    preset, precision, model = row
    return [program, "train", "--device", device, "--data", "builtin", "--model", model, "--precision", precision,
            "--select", f"preset={preset}", "--batch", str(BATCH), "--optimizer", "sgd", "--lr", "0.005"]


def write_row(arguments, row, rates):
    preset, precision, model = row
    label = f"{model}, {precision.upper()}{'' if preset == 'fastest' else f', preset {preset}'}, batch {BATCH}"
    cells = {"training, batch 512 unless said": label, "images or texts a second": f"{rates[1]:.7g}",
             "again": f"{rates[2]:.7g}"}
    measurements.write(arguments.csv, list(cells)[:1], [cells], arguments.device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("parent")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", default="", help="only rows with this text in their name")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--limit", type=float, default=1.5, help="per cent")
    parser.add_argument("--json", default="")
    measurements.add_option(parser)
    arguments = parser.parse_args()
    told, slower = [], 0
    for row in (row for row in ROWS if arguments.rows in " ".join(row)):
        name = " ".join(row)
        before, now = (command_of(program, arguments.device, row) for program in (arguments.parent, arguments.program))
        rates, steps = compare(before, now, BATCH, 3 if row[0] in SLOW else 200, arguments.seconds)
        change = change_percent(rates)
        good = change is not None and change >= -arguments.limit
        slower += not good
        figure = "failed" if change is None else f"{change:+.2f} %"
        print(f"{'ok  ' if good else 'MISS'} {name}: {figure}; {steps} steps each, parent {rates[:1] + rates[3:]}, "
              f"new {rates[1:3]} images/s", flush=True)
        if change is not None:
            write_row(arguments, row, rates)
        told.append({"row": name, "steps": steps, "change_percent": change, "rates": rates})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    if not told:
        print(f"no row has '{arguments.rows}' in its name")
        return 2
    return slower


if __name__ == "__main__":
    sys.exit(main())
