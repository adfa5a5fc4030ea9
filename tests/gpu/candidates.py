#!/usr/bin/env python3
"""What variants that no plan takes by default would bring: trainings without and with them, side by side on one GPU.

    candidates.py WARPSCOPE [--device cuda:0] [--rows TEXT] [--seconds 1.5] [--json FILE]

A row is a network, a precision, a batch and a selection. It is trained in the order without, with, with, without, all four as
many steps as those without make in --seconds; the figure is the change of the summed rates. Prints a line a row; the exit code
is the number of rows that did not train. Which of the variants are right is `warpscope verify`'s to say.
"""
import argparse
import json
import os
import sys

from step_speed import change_percent, compare

MODELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "assets", "models")
SMALL = ",".join(f"conv2d.{op}=hopper_small" for op in ("forward", "backward_input", "backward_weights"))
BATCH_NORM = "batch_norm.forward=pooled,batch_norm.backward=pooled"
LAYER_NORM = "layer_norm.forward=pooled,layer_norm.backward_weights=pooled"
ROWS_SHARED = "conv2d.forward=shared_rows"
ROWS = [
    ("resnet9.toml", "bf16", 512, SMALL),
    ("resnet9.toml", "bf16", 512, BATCH_NORM),
    ("resnet9.toml", "bf16", 512, f"{SMALL},{BATCH_NORM}"),
    ("vgg.toml", "bf16", 512, f"{SMALL},{BATCH_NORM}"),
    ("classifier_bn.toml", "bf16", 512, BATCH_NORM),
    ("char_cnn", "fp16", 512, ROWS_SHARED),
    ("char_cnn_ln", "fp16", 512, ROWS_SHARED),
    ("char_cnn_ln", "fp16", 512, LAYER_NORM),
    ("char_cnn_ln", "fp16", 512, f"{ROWS_SHARED},{LAYER_NORM}"),
]


def command_of(arguments, row, selection):
    model, precision, batch, _ = row
    file = os.path.join(MODELS, model) if model.endswith(".toml") else model
    return [arguments.program, "train", "--device", arguments.device, "--model", file, "--data",
            "builtin" if model.endswith(".toml") else "sentences", "--precision", precision, "--batch", str(batch), "--lr", "3e-5",
            *(["--select", selection] if selection else [])]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--rows", default="", help="only rows with this text in their name")
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--json", default="")
    arguments = parser.parse_args()
    told, failed = [], 0
    for row in ROWS:
        name = f"{row[0]} {row[1]} {row[2]} {row[3]}"
        if arguments.rows not in name:
            continue
        rates, steps = compare(command_of(arguments, row, ""), command_of(arguments, row, row[3]), row[2], 50, arguments.seconds)
        change = change_percent(rates)
        failed += change is None
        figure = "failed" if change is None else f"{change:+.2f} %"
        print(f"{name}: {figure}; {steps} steps each, without {rates[:1] + rates[3:]}, with {rates[1:3]} a second", flush=True)
        told.append({"row": name, "steps": steps, "change_percent": change, "rates": rates})
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    if not told:
        print(f"no row has '{arguments.rows}' in its name")
        return 1
    return failed


if __name__ == "__main__":
    sys.exit(main())
