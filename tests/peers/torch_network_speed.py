"""The speed of networks in files (docs/networks.md) in PyTorch and in Warpscope, alternately, in one run.

    torch_network_speed.py WARPSCOPE [--cases resnet9:bf16:512:train,char_cnn_ln:fp16:512:infer,...] [--device cuda:0]
                                     [--modes eager,...] [--layouts contiguous,channels_last] [--json FILE]
                                     [--csv docs/measurements/torch_networks.csv]
    torch_network_speed.py WARPSCOPE --random 8 --seed 1 [--preset cudnn] [--eager] [--precision bf16] [--batch 256]
                                     [--limit 190] [--csv docs/measurements/torch_random.csv | torch_random_cudnn.csv]

A case is a network (a built-in name or a file), a precision, a batch, and train or
infer. Training as in torch_autoencoder.py, with Adam and random labels. In inference PyTorch has weights and inputs in
16 bits, in FP16 and BF16, and BatchNorm's running statistics; its inputs lie on the device and steps follow each other,
without copies. What compares to that is the network's time on the device: `infer` tells it as
"network_images_per_second", a batch in the median of the network's passes. Texts are given to PyTorch as one-hot
channels in 16 bits, which it would else make in every step. Figures are medians over three rounds; the best of
PyTorch's ways counts. Exit code 0 whatever they are; 77 if PyTorch or the device is missing.

--random trains networks that nothing was tuned for (random_networks.py) by a preset, PyTorch in its best mode or, with
--eager, without compiling: some 20 s a network. The loss of the first step is compared: both begin with the same
weights and see the same images, of which batch norms see all. Then worst, median, geometric mean, and the ten worst,
each with the call that took the most beyond its floor.
"""
import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time
import tomllib

import random_networks
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


class TextEmbedding(torch.nn.Embedding):
    """Rows for the numbers of characters."""

    def forward(self, x):
        return super().forward(x[:, 0].long()).movedim(2, 1)


class Description:
    """A network's file, with modules of PyTorch for its layers: on (N, C, L) where inputs are texts, else (N, C, H,
    W)."""

    def __init__(self, text):
        self.file = tomllib.loads(text)
        self.is_text = "text" in self.file
        if self.is_text:
            self.channels, self.extent = 1, (self.file["text"]["length"],)
            first = self.file["layers"][0]
            self.depth = first.get("classes", len(self.file["text"]["alphabet"]))
            self.is_embedded = first["type"] == "embedding"
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
                channels = self.depth
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
        if kind == "embedding" and one:
            return TextEmbedding(self.depth + 1, layer["channels"])
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
        if self.is_embedded:
            return characters[:, None].to(torch.float16)
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
            made = description.inputs(self.batch, self.device)
            return made if self.half else made.float()

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
        return peer.torch_trainings(arguments.device, precision, batch, modes, layouts, "adam",
                                    training_of(description))

    def inference(device, precision, batch, mode, channels_last, _):
        return TorchInference(description, device, precision, batch, mode, channels_last)

    return peer.torch_trainings(arguments.device, precision, batch, modes, layouts, "", inference)


def warpscope_inference(arguments, network, precision, batch):
    with tempfile.TemporaryDirectory() as folder:
        run_dir = os.path.join(folder, "run")
        subprocess.run([arguments.program, "train", *network, "--device", arguments.device, "--precision", precision,
                        "--batch", "32", "--steps", "1", "--test-images", "32", "--run-dir", run_dir], check=True,
                       capture_output=True)
        done = subprocess.run([arguments.program, "infer", run_dir, network[-1], "--device", arguments.device,
                               "--precision", precision, "--batch", str(batch), "--json", "-"], check=True,
                              capture_output=True, text=True)
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
    what = "training" if result["what"] == "train" else "inference"
    label = f"{result['network']}, {result['precision'].upper()}, {what}"
    if result["batch"] != USUAL_BATCH:
        label += f", batch {result['batch']}"
    row = {"images or texts a second": label, **peer.speeds_of(result, arguments.modes.split(","))}
    peer.measurements.write(arguments.csv, ("images or texts a second",), [row], arguments.device)


# --- random networks

PEAKS = {"fp32": 60e12, "tf32": 450e12, "fp16": 900e12, "bf16": 900e12}  # about, of an H100
BYTES_A_SECOND = 3.0e12
LOSS_OFF = {"fp32": 1e-4, "tf32": 2e-2, "fp16": 2e-2, "bf16": 5e-2}  # relative, of the first step
SMALL_BATCH = 32  # of that step
WORST = 10
CAREFUL_RATE = 1e-6  # no training may end before its steps are timed


def safe_name(name):
    """A parameter's name in Warpscope's files, of what Network calls it."""
    return name.replace(".linear.", ".")


def first_losses(arguments, description, path, kind, precision):
    """Losses of the first step with the same weights on the same images, in PyTorch and in Warpscope."""
    from torch_curve import write_safetensors
    from torch_networks import write_idx
    torch.manual_seed(1)
    network = Network(description)
    names = {attribute: name for attribute, name, _ in network.rows}
    state = {f"{names[key.split('.')[0]]}{safe_name('.' + key.split('.', 1)[1])}": value
             for key, value in network.state_dict().items()}
    images = (torch.rand(2 * SMALL_BATCH, *description.extent, description.channels) * 255).to(torch.uint8)
    labels = torch.arange(2 * SMALL_BATCH) % max(2, description.classes)
    with tempfile.TemporaryDirectory() as folder:
        weights, data, run_dir = (os.path.join(folder, each) for each in ("init.safetensors", "data", "run"))
        write_safetensors(weights, state)
        write_idx(data, images.numpy(), labels.to(torch.uint8).numpy())
        command = [arguments.program, "train", "--model", path, "--data", "idx:" + data, "--init", weights,
                   "--no-shuffle", "--steps", "1", "--batch", str(SMALL_BATCH), "--optimizer", "sgd",
                   "--test-images", str(SMALL_BATCH), "--precision", precision, "--device", arguments.device,
                   "--run-dir", run_dir]
        if arguments.select:
            command += ["--select", arguments.select]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
            own = next(point["loss"] for point in map(json.loads, file) if "loss" in point)
    x, labels = images[:SMALL_BATCH].movedim(3, 1).float() / 255, labels[:SMALL_BATCH]
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        output = network(x)
        loss = (torch.nn.functional.cross_entropy(output.flatten(1), labels) if kind != "autoencoder"
                else torch.nn.functional.mse_loss(output, x))
    return loss.item(), own


def check_step(arguments, description, path, kind, precision):
    """A sentence: that the first step is the same, or what is not."""
    if kind == "text" or "dropout" in description_kinds(description):
        return "first step not compared: texts and dropout draw their own"
    theirs, own = first_losses(arguments, description, path, kind, precision)
    off = abs(own - theirs) / abs(theirs)
    return f"first loss {own:.5f}, PyTorch {theirs:.5f}{'' if off <= LOSS_OFF[precision] else ': DIFFERS'}"


def description_kinds(description):
    return {layer["type"] for layer in description.file["layers"]}


def time_of_calls(run_dir, precision):
    """The call that took most beyond its floor, in words."""
    with open(os.path.join(run_dir, "status.json"), encoding="utf-8") as file:
        calls = [call for call in json.load(file).get("timings", []) if call["microseconds"] > 0]

    def floor(call):
        return 1e6 * max(call["flops"] / PEAKS[precision], call["bytes"] / BYTES_A_SECOND)

    if not calls:
        return "no calls timed"
    worst = max(calls, key=lambda call: call["microseconds"] - floor(call))
    shape = worst["shape"]
    return (f"{worst['op']} {worst['variant']} in {worst['layer']}, "
            f"{shape['height']}x{shape['width']}x{shape['in_channels']}"
            f" to {shape['out_channels']}, {shape['kernel_height']}x{shape['kernel_width']} stride {shape['stride']} "
            "dilation "
            f"{shape['dilation']}: {worst['microseconds']:.0f} us, floor {floor(worst):.0f}, of "
            f"{sum(call['microseconds'] for call in calls):.0f} us a step")


def timed_run(arguments, path, kind, precision, batch):
    """Images a second, and the call that costs the most."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = os.path.join(folder, "run")
        command = [arguments.program, "train", "--model", path, "--data", "sentences" if kind == "text" else "builtin",
                   "--device", arguments.device, "--precision", precision, "--batch", str(batch), "--steps",
                   str(arguments.steps), "--test-images", "64", "--optimizer", "adam", "--lr", str(CAREFUL_RATE),
                   "--clip-norm", "0", "--run-dir", run_dir]
        if arguments.select:
            command += ["--select", arguments.select]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.strip())
        with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
            speeds = [point["images_per_second"] for point in map(json.loads, file) if point.get("images_per_second")]
        return statistics.median(speeds[len(speeds) // 4:]), time_of_calls(run_dir, precision)


def compare_random(arguments, path, kind):
    with open(path, encoding="utf-8") as file:
        description = Description(file.read())
    name, precision, batch = os.path.basename(path), arguments.precision, arguments.batch
    print(f"{name}, {precision}, batch {batch}", flush=True)
    result = {"network": name, "kind": kind, "precision": precision, "batch": batch}
    try:
        result["check"] = check_step(arguments, description, path, kind, precision)
        print(f"  {result['check']}", flush=True)
        ways = ways_of(arguments, description, precision, batch, "train")
        speeds, ours = {way: [] for way in ways}, []
        for _ in range(arguments.rounds):
            for way, run in ways.items():
                speeds[way].append(run.images_per_second(arguments.seconds))
            own, result["costs"] = timed_run(arguments, path, kind, precision, batch)
            ours.append(own)
    except RuntimeError as error:  # of the program; the others are measured all the same
        print(f"  failed: {error}", flush=True)
        return {**result, "failed": str(error), "ratio": 0.0}
    medians = {way: statistics.median(values) for way, values in speeds.items()}
    best = max(medians.values(), default=float("nan"))
    result.update(torch=medians, warpscope=statistics.median(ours), ratio=statistics.median(ours) / best)
    print(f"  Warpscope {result['warpscope']:,.0f}, PyTorch {best:,.0f}: {result['ratio']:.2f} times; "
          f"{result['costs']}",
          flush=True)
    ways.clear()
    if arguments.device.startswith("cuda"):
        torch.cuda.empty_cache()
    return result


def write_random_row(arguments, number, result):
    if result["ratio"] > 0:
        row = {"random network": f"{result['kind']}, {arguments.seed}.{number}",
               "PyTorch, eager, images or texts a second": f"{max(result['torch'].values()):.0f}",
               "Warpscope by the preset cudnn": f"{result['warpscope']:.0f}", "times": f"{result['ratio']:.2f}"}
        peer.measurements.write(arguments.csv, ("random network",), [row], arguments.device)


def write_summary(arguments, ratios, mean):
    """The row of a precision and batch, whatever the networks were."""
    row = {"random networks": f"{arguments.precision.upper()}, batch {arguments.batch}",
           "networks": f"{len(ratios)}", "worst": f"{ratios[0]:.2f}", "median": f"{statistics.median(ratios):.2f}",
           "geometric mean": f"{mean:.2f}"}
    peer.measurements.write(arguments.csv, ("random networks",), [row], arguments.device)


def summarize(arguments, results):
    ratios = sorted(result["ratio"] for result in results)
    measured = [ratio for ratio in ratios if ratio > 0]
    mean = math.exp(statistics.fmean(map(math.log, measured))) if measured else float("nan")
    print(f"{len(results)} networks, {len(results) - len(measured)} failed: worst {ratios[0]:.2f}, median "
          f"{statistics.median(ratios):.2f}, geometric mean {mean:.2f}")
    for result in sorted(results, key=lambda each: each["ratio"])[:WORST]:
        print(f"  {result['ratio']:.2f}  {result['network']}: {result.get('failed', result.get('costs', ''))}")
    if not arguments.preset and not arguments.eager:
        write_summary(arguments, ratios, mean)


def random_comparison(arguments):
    if arguments.eager:
        arguments.modes = "eager"
    if arguments.preset:
        arguments.select = f"preset={arguments.preset}"
    folder = arguments.keep or tempfile.mkdtemp(prefix="warpscope-random-")
    os.makedirs(folder, exist_ok=True)
    print(f"networks in {folder}")
    results = []
    start = time.perf_counter()
    of_cudnn = arguments.eager and arguments.preset == "cudnn"
    if arguments.csv and not of_cudnn and (arguments.eager or arguments.preset):
        sys.exit("the tables of random networks are of --preset cudnn --eager, and of neither")
    for number, (kind, path) in enumerate(random_networks.write(folder, arguments.random, arguments.seed)):
        spent = time.perf_counter() - start
        if results and arguments.limit and spent * (1 + 1 / len(results)) > arguments.limit:
            print(f"no time is left for {arguments.random - len(results)} networks")
            break
        results.append(compare_random(arguments, path, kind))
        if of_cudnn:
            write_random_row(arguments, number, results[-1])
    summarize(arguments, results)
    return results


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
    parser.add_argument("--random", type=int, default=0, help="so many random networks instead of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="", help="of the random networks; automatic without one")
    parser.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of PyTorch's steps in a round")
    parser.add_argument("--limit", type=float, default=0, help="seconds after which no random network begins; 0: none")
    parser.add_argument("--keep", default="", help="folder for the random networks' files")
    peer.measurements.add_option(parser)
    arguments = parser.parse_args()
    arguments.program, arguments.optimizer = os.path.abspath(arguments.program), "adam"
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    start = time.perf_counter()
    print(f"PyTorch {torch.__version__} on {torch.cuda.get_device_name() if arguments.device != 'cpu' else 'CPU'}")
    results = random_comparison(arguments) if arguments.random else []
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
