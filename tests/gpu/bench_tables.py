"""Rows of tables that record.py makes from files of JSON: what calls of layers take, how near they are to their floor,
what a run's status.json tells of memory and augmentation."""
import json

PASSES = {"conv2d.forward": "forward", "conv2d.backward_weights": "weights", "conv2d.backward_input": "input"}


def calls(report):
    """The calls of a network's convolutions, by (layer, operation, precision): the fastest of those that cover most."""
    best = {}
    for row in report["rows"]:
        if "skipped" in row or row.get("sum") or row["op"] not in PASSES:
            continue
        key = row["layer"], row["op"], row["precision"]
        rank = -len(row["shape"]["covered"]), row["median_us"]
        if key not in best or rank < best[key][0]:
            best[key] = rank, row
    return {key: row for key, (_, row) in best.items()}


def microseconds_of(call):
    return f"{call['median_us']:.4g}" if call["median_us"] < 10000 else f"{call['median_us']:.0f}"


def layers_rows(text):
    rows = {}
    for (layer, op, precision), call in calls(json.loads(text)).items():
        row = rows.setdefault(layer, {"shape": call["shape"], "near": set(), "cells": {}})
        row["near"].update(name.partition(".")[0] for name in call["shape"]["covered"])
        row["cells"][f"{PASSES[op]} {precision}"] = microseconds_of(call)
    told = []
    for layer, row in sorted(rows.items()):
        name = f"{layer} {row['shape']['in_channels']}-{row['shape']['out_channels']}"
        name += ", upsampled" if "upsample2d" in row["near"] else ""
        name += ", pooled" if any("pool" in op for op in row["near"]) else ""
        told.append({"µs at batch 1024": name, **row["cells"]})
    return told


def share(call):
    return call["floor_us"] / call["median_us"]


def in_percent(found):
    ends = [f"{100 * value:.0f}" for value in (min(found), max(found))]
    return " to ".join(dict.fromkeys(ends)) + " %"


def floor_rows(text):
    report = json.loads(text)
    there = {key[:2]: call for key, call in sorted(calls(report).items()) if key[2] == "bf16"}
    peaks, batch = report["peaks"], report["batch"]
    steps = [step["images_per_second"] for step in report["steps"]
             if "skipped" not in step and step["precision"] == "bf16"]
    most = batch * peaks["bf16_flops"] / sum(call["least_flops"] for call in there.values())
    floor, measured = (sum(call[name] for call in there.values()) for name in ("floor_us", "median_us"))
    by_pass = {name: {layer: share(call) for (layer, op), call in there.items() if PASSES[op] == name}
               for name in PASSES.values()}
    narrow = [share(call) for call in there.values()
              if 3 in (call["shape"]["in_channels"], call["shape"]["out_channels"])
              and call["bytes"] / peaks["bytes_per_second"] > call["least_flops"] / peaks["bf16_flops"]]
    shares = {"forward": in_percent(by_pass["forward"].values()),
              "gradients of the inputs": ", ".join(f"{layer} {100 * value:.0f} %"
                                                   for layer, value in by_pass["input"].items()),
              "gradients of the weights": in_percent(by_pass["weights"].values())}
    if narrow:
        shares["layers with three channels, bound by memory"] = in_percent(narrow)
    rows = [("products only, whole step", f"{most:,.0f} images/s", f"{max(steps):,.0f} images/s",
             f"{100 * max(steps) / most:.0f} %"),
            ("all calls of the layers", f"{floor:,.0f} µs", f"{measured:,.0f} µs", f"{100 * floor / measured:.0f} %")]
    rows += [(name, "", "", value) for name, value in shares.items()]
    columns = "BF16, batch 1024", "floor", "measured", "share of the floor reached"
    return [dict(zip(columns, row)) for row in rows]


def plan_cells(text, column):
    return {column: f"{json.loads(text)['plan_bytes'] / 2**20:.0f}"}


def augmentation_cells(text, column):
    """`text` holds two files one behind the other: a run without augmentation and one with it. How much longer making
    the batch takes in the second, as a share of the whole step."""
    decoder = json.JSONDecoder()
    without, end = decoder.raw_decode(text.lstrip())
    changed, _ = decoder.raw_decode(text.lstrip()[end:].lstrip())

    def microseconds(status, *of):
        return sum(row["microseconds"] or 0 for row in status["timings"] if row["op"].startswith(of))

    making = "batch.", "labels."
    part = (microseconds(changed, *making) - microseconds(without, *making)) / microseconds(changed, "")
    return {"images/s without": f"{without['images_per_second']:.0f}", column: f"{100 * part:.1f} %"}
