"""Networks in files (docs/networks.md) as modules of PyTorch, and what runs them in PyTorch and in Warpscope."""
import json
import os
import subprocess
import tempfile
import tomllib

import torch_autoencoder as peer
import torch
from torch_layers import KINDS


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
