"""The speed of networks in files (docs/networks.md) in PyTorch and in Warpscope, alternately, in one run.

    torch_network_speed.py WARPSCOPE [--cases resnet9:bf16:512:train,char_cnn_ln:fp16:512:infer,...] [--device cuda:0]
                                     [--modes eager,...] [--layouts contiguous,channels_last] [--json FILE] [--csv docs/measurements/torch_networks.csv]

A case is a network (a built-in name or a file), a precision, a batch, and train or
infer. Training as in torch_autoencoder.py, with Adam and random labels. In inference PyTorch has weights and inputs in 16
bits, in FP16 and BF16, and BatchNorm's running statistics; its inputs lie on the device and steps follow each other,
without copies. What compares to that is the network's time on the device: `infer` tells it as
"network_images_per_second", a batch in the median of the network's passes. Texts are given to PyTorch as one-hot
channels in 16 bits, which it would else make in every step. Figures are medians over three rounds; the best of
PyTorch's ways counts. Exit code 0 whatever they are; 77 if PyTorch or the device is missing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

import torch_autoencoder as peer
import torch
from torch_layers import KINDS

CASES = ("resnet9:bf16:512:train,classifier_bn:bf16:512:train,classifier:bf16:256:train,char_cnn_ln:fp16:512:train,"
         "char_cnn_ln:fp16:512:infer,char_cnn_ln:fp16:2048:infer")
USUAL_BATCH = 512  # tables name the others


class Flat(torch.nn.Module):
    """A linear layer on all of an input's numbers."""

    def __init__(self, features, made, bias):
        super().__init__()
        self.linear = torch.nn.Linear(features, made, bias=bias)

    def forward(self, x):
        return self.linear(x.flatten(1))


class ChannelNorm(torch.nn.LayerNorm):
    """Over the channels of each position."""

    def forward(self, x):
        return super().forward(x.movedim(1, -1)).movedim(-1, 1)


class Description:
    """A network's file, with modules of PyTorch for its layers: on (N, C, L) where inputs are texts, else (N, C, H, W)."""

    def __init__(self, text):
        self.file = tomllib.loads(text)
        self.is_text = "text" in self.file
        if self.is_text:
            self.channels, self.extent = 1, (self.file["text"]["length"],)
        else:
            height, width, self.channels = self.file["input"]
            self.extent = (height, width)
        self.classes = self.file.get("classes", 0)

    def modules(self):
        """(name, module, from) of the layers; what a one_hot layer makes is the input."""
        extent, channels, rows = self.extent, self.channels, []
        for number, layer in enumerate(self.file["layers"]):
            name = layer.get("name", f"{layer['type']}_{number}")
            if layer["type"] == "one_hot":
                channels = self.depth = layer.get("classes", len(self.file["text"]["alphabet"]))
                continue
            module = self.module(layer, channels, extent)
            if layer["type"] == "add":
                rows.append((name, module, layer["from"]))
                continue
            with torch.no_grad():
                made = module.eval()(torch.zeros(1, channels, *extent) if extent else torch.zeros(1, channels))
            module.train()
            channels, extent = made.shape[1], tuple(made.shape[2:])
            rows.append((name, module, None))
        return rows

    def module(self, layer, channels, extent):
        nn, one = torch.nn, len(extent) == 1
        kind = layer["type"]
        if kind in ("conv2d", "conv1d"):
            kernel, dilation = layer.get("kernel", 3), layer.get("dilation", 1)
            padding = 0 if layer.get("padding") == "valid" else dilation * (kernel - 1) // 2
            return (nn.Conv1d if one else nn.Conv2d)(channels, layer["channels"], kernel, stride=layer.get("stride", 1),
                                                     padding=padding, dilation=dilation, bias=layer.get("bias", True))
        if kind == "linear":
            features = channels
            for side in extent:
                features *= side
            return Flat(features, layer["features"], layer.get("bias", True))
        if kind in ("maxpool2d", "maxpool1d"):
            return (nn.MaxPool1d if one else nn.MaxPool2d)(layer.get("window", 2))
        made = {
            "relu": nn.ReLU, "add": nn.Identity,
            "upsample2d": lambda: nn.Upsample(scale_factor=2),
            "global_average_pool": lambda: (nn.AdaptiveAvgPool1d if one else nn.AdaptiveAvgPool2d)(1),
            "batch_norm": lambda: (nn.BatchNorm1d if one else nn.BatchNorm2d)(channels),
            "layer_norm": lambda: ChannelNorm(channels),
            "dropout": lambda: nn.Dropout(layer.get("rate", 0.5)),
        }
        if kind in made:
            return made[kind]()
        return next(each for each in KINDS if each.type == kind).module(layer, (*extent, channels))

    def inputs(self, batch, device):
        if not self.is_text:
            return torch.rand(batch, self.channels, *self.extent, device=device)
        characters = torch.randint(0, self.depth, (batch, *self.extent), device=device)
        return torch.nn.functional.one_hot(characters, self.depth).movedim(2, 1).to(torch.float16)


class Network(torch.nn.Module):
    def __init__(self, description):
        super().__init__()
        self.rows = []
        for number, (name, module, source) in enumerate(description.modules()):
            self.add_module(f"layer{number}", module)
            self.rows.append((f"layer{number}", name, source))
        self.sources = {source for _, _, source in self.rows if source}

    def forward(self, x):
        made = {}
        for attribute, name, source in self.rows:
            x = x + made[source] if source else getattr(self, attribute)(x)
            if name in self.sources:
                made[name] = x
        return x


def training_of(description):
    """The class of trainings of this network."""

    class Training(peer.TorchTraining):
        def make_model(self):
            return Network(description)

        def make_inputs(self):
            if description.classes:
                self.labels = torch.randint(0, description.classes, (self.batch,), device=self.device)
            return description.inputs(self.batch, self.device)

        def objective(self, output, images):
            if description.classes:
                return torch.nn.functional.cross_entropy(output.flatten(1).float(), self.labels)
            return super().objective(output, images)

    return Training


class TorchInference:
    def __init__(self, description, device, precision, batch, mode, channels_last):
        torch.backends.cudnn.benchmark = True
        kind = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision, torch.float32)
        layout = torch.channels_last if channels_last else torch.contiguous_format
        self.model = Network(description).eval().to(device, dtype=kind, memory_format=layout)
        self.inputs = description.inputs(batch, device).to(kind).contiguous(memory_format=layout)
        self.run = self.model if mode == "eager" else torch.compile(self.model, mode=mode)
        self.device, self.batch = device, batch

    def step(self):
        with torch.inference_mode():
            self.run(self.inputs)

    synchronize = peer.TorchTraining.synchronize
    images_per_second = peer.TorchTraining.images_per_second


def text_of(program, name):
    return subprocess.run([program, "models", name], check=True, capture_output=True, text=True).stdout


def ways_of(arguments, description, precision, batch, what):
    modes = arguments.modes.split(",")
    layouts = ["contiguous"] if description.is_text else arguments.layouts.split(",")
    if what == "train":
        return peer.torch_trainings(arguments.device, precision, batch, modes, layouts, "adam", training_of(description))

    def inference(device, precision, batch, mode, channels_last, _):
        return TorchInference(description, device, precision, batch, mode, channels_last)

    return peer.torch_trainings(arguments.device, precision, batch, modes, layouts, "", inference)


def warpscope_inference(arguments, network, precision, batch):
    with tempfile.TemporaryDirectory() as folder:
        run_dir = os.path.join(folder, "run")
        subprocess.run([arguments.program, "train", *network, "--device", arguments.device, "--precision", precision, "--batch",
                        "32", "--steps", "1", "--test-images", "32", "--run-dir", run_dir], check=True, capture_output=True)
        done = subprocess.run([arguments.program, "infer", run_dir, network[-1], "--device", arguments.device, "--precision",
                               precision, "--batch", str(batch), "--json", "-"], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)["network_images_per_second"]


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
    label = f"{result['network']}, {result['precision'].upper()}, {'training' if result['what'] == 'train' else 'inference'}"
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
    peer.measurements.add_option(parser)
    arguments = parser.parse_args()
    arguments.program, arguments.optimizer = os.path.abspath(arguments.program), "adam"
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    start = time.perf_counter()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if arguments.device != 'cpu' else 'CPU'}")
    results = []
    for case in arguments.cases.split(","):
        results.append(compare(arguments, case))
        write_row(arguments, results[-1])
    print(f"{time.perf_counter() - start:.0f} s")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
