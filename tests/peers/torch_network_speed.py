"""The speed of networks in files (docs/networks.md) in PyTorch and in Warpscope, alternately, in one run.

    torch_network_speed.py WARPSCOPE [--cases resnet9:bf16:512:train,char_cnn_ln:fp16:512:infer,...] [--device cuda:0]
                                     [--modes eager,...] [--layouts contiguous,channels_last] [--json FILE]
                                     [--csv docs/measurements/torch_networks.csv]
    torch_network_speed.py WARPSCOPE --random 8 --seed 1 [--preset cudnn] [--eager] [--precision bf16] [--batch 256]
                                     [--infer] [--jobs 10] [--limit 190]
                                     [--csv docs/measurements/torch_random.csv | torch_random_cudnn.csv]

A case is a network (a built-in name or a file), a precision, a batch, and train or
infer. Training as in torch_autoencoder.py, with Adam and random labels. In inference PyTorch has weights and inputs in
16 bits, in FP16 and BF16, and BatchNorm's running statistics; its inputs lie on the device and steps follow each other,
without copies. What compares to that is the network's time on the device: `infer` tells it as
"network_images_per_second", a batch in the median of the network's passes. Texts are given to PyTorch as one-hot
channels in 16 bits, which it would else make in every step. Figures are medians over three rounds; the best of
PyTorch's ways counts. Exit code 0 whatever they are; 77 if PyTorch or the device is missing.

--random compares networks that nothing was tuned for (torch_random_speed.py).
"""
import argparse
import json
import os
import statistics
import sys
import time

import torch_autoencoder as peer
import torch
import torch_random_speed
from torch_described import Description, text_of, warpscope_inference, ways_of

CASES = ("resnet9:bf16:512:train,classifier_bn:bf16:512:train,classifier:bf16:256:train,char_cnn_ln:fp16:512:train,"
         "char_cnn_ln:fp16:512:infer,char_cnn_ln:fp16:2048:infer")
USUAL_BATCH = 512  # tables name the others


def compare(arguments, case):
    name, precision, batch, what = case.split(":")
    batch = int(batch)
    text = text_of(arguments.program, name)
    description = Description(text)
    print(f"{name}, {precision}, batch {batch}, {what}", flush=True)
    network = ["--model", name, "--data", "sentences" if description.is_text else "builtin"]
    ways = ways_of(arguments, description, precision, batch, what)
    speeds, ours = {way: [] for way in ways}, []
    for _ in range(peer.ROUNDS):
        for way, run in ways.items():
            speeds[way].append(run.images_per_second(peer.SECONDS))
        if what == "train":
            ours.append(peer.warpscope_speed(arguments, precision, batch, network))
        else:
            ours.append(warpscope_inference(arguments, network, precision, batch))
    medians = {way: statistics.median(values) for way, values in speeds.items()}
    for way, value in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"  PyTorch, {way:<36} {value:12,.0f} inputs/s")
    own, best = statistics.median(ours), max(medians.values(), default=float("nan"))
    print(f"  Warpscope{'':<36} {own:12,.0f} inputs/s   {own / best:.2f} times PyTorch's best"
          f"   ({min(ours):,.0f} to {max(ours):,.0f})", flush=True)
    ways.clear()
    if arguments.device.startswith("cuda"):
        torch.cuda.empty_cache()
    return {"network": name, "precision": precision, "batch": batch, "what": what, "torch": medians, "warpscope": own,
            "ratio": own / best}


def write_row(arguments, result):
    what = "training" if result["what"] == "train" else "inference"
    label = f"{result['network']}, {result['precision'].upper()}, {what}"
    if result["batch"] != USUAL_BATCH:
        label += f", batch {result['batch']}"
    row = {"images or texts a second": label, **peer.speeds_of(result, arguments.modes.split(","))}
    peer.measurements.write(arguments.csv, ("images or texts a second",), [row], arguments.device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cases", default=CASES)
    parser.add_argument("--modes", default="eager,default,reduce-overhead,max-autotune")
    parser.add_argument("--layouts", default="contiguous,channels_last")
    parser.add_argument("--select", default="")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", default="")
    torch_random_speed.add_options(parser)
    peer.measurements.add_option(parser)
    arguments = parser.parse_args()
    arguments.program, arguments.optimizer = os.path.abspath(arguments.program), "adam"
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    start = time.perf_counter()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if arguments.device != 'cpu' else 'CPU'}")
    results = torch_random_speed.compare_all(arguments) if arguments.random else []
    for case in arguments.cases.split(",") if not arguments.random else []:
        results.append(compare(arguments, case))
        write_row(arguments, results[-1])
    print(f"{time.perf_counter() - start:.0f} s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
