#!/usr/bin/env python3
"""The accuracy that a network in a file (docs/networks.md) reaches in PyTorch, on CIFAR-10 or, if it takes texts, on AG
News, by the recipes of part `accuracy` of tests/gpu/run.sh.

    torch_accuracy.py WARPSCOPE DATA NETWORK [--optimizer nesterov] [--rate 0.2] [--epochs 75] [--weight-decay 0.001]
                      [--batch 512] [--warmup 5] [--cutout 8] [--mirrored] [--shift 2] [--seeds 1]
                      [--precision bf16] [--limit-rows N] [--mode reduce-overhead] [--device cuda:0] [--csv FILE]

DATA has CIFAR-10's binary files, or AG News' test.csv and train.csv, else train_part.csv; NETWORK is a built-in name or
a file. A cosine after the warm-up; momentum of 0.9 with SGD; nothing clipped.
FP16, whose losses are scaled, and BF16 by autocast, everything on the device.

Images are mirrored, shifted by up to 4 pixels with reflection, and get a grey square; channels_last, weights begin as
PyTorch's. --mirrored and --shift evaluate them also by the mean of the logits of the views that these options of
warpscope make: the image, shifted to the four corners, and all mirrored. Texts stay as they are and lie on the device
as bytes, of which each step makes one-hot channels; weights begin as the program's: He's normal ones, biases 0.

Prints the accuracy over the test set and the seconds of all steps, of several seeds each and the mean. --csv:
docs/measurements/cifar10.csv of images, ag_news.csv of texts. The CPU trains
in FP32 and BF16. Exit code 77 if PyTorch or the device is missing.
"""
import argparse
import math
import os
import statistics
import sys
import time

try:
    import torch
except ImportError:
    print("no PyTorch")
    sys.exit(77)

import torch_texts
from torch_autoencoder import measurements
from torch_described import Description, Network, text_of

FILES = [f"data_batch_{number}.bin" for number in range(1, 6)], ["test_batch.bin"]
SIDE, SHIFT = 32, 4
HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
EVALUATED = 500  # at once
COMPILED = 10  # steps at the beginning whose time does not count: what they run is compiled then


class Images:
    """CIFAR-10: images (N, 3, 32, 32) from 0 to 1, and labels."""

    def __init__(self, arguments):
        self.hole = arguments.cutout
        self.train, self.test = (self.read(arguments, names) for names in FILES)

    @staticmethod
    def read(arguments, names):
        data = b"".join(open(os.path.join(arguments.data, name), "rb").read() for name in names)
        records = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, 1 + 3 * SIDE * SIDE)
        records = records[:arguments.limit_rows or None].to(arguments.device)
        return records[:, 1:].reshape(-1, 3, SIDE, SIDE).float() / 255, records[:, 0].long()

    def augmented(self, images):
        """Each image mirrored, shifted and with a hole by numbers of its own."""
        count, device = len(images), images.device
        padded = torch.nn.functional.pad(images, [SHIFT] * 4, mode="reflect")
        places = torch.arange(SIDE, device=device)
        rows, columns = (torch.randint(0, 2 * SHIFT + 1, (count, 1), device=device) + places for _ in range(2))
        mirrored = torch.rand(count, 1, device=device) < 0.5
        columns = torch.where(mirrored, columns.flip(1), columns)
        moved = padded[torch.arange(count, device=device)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
        tops, lefts = (torch.randint(0, SIDE, (count, 1), device=device) - self.hole // 2 for _ in range(2))
        down, across = ((places >= first) & (places < first + self.hole) for first in (tops, lefts))
        holed = torch.where((down[:, :, None] & across[:, None, :])[..., None], 0.5, moved)
        return holed.permute(0, 3, 1, 2).contiguous(memory_format=torch.channels_last)

    @staticmethod
    def inputs(images):
        """What the network takes."""
        return images

    @staticmethod
    def initialize(model):
        for module in model.modules():
            if hasattr(module, "reset_parameters"):
                module.reset_parameters()


class Texts:
    """AG News: bytes (N, length), and labels."""

    def __init__(self, arguments, description):
        text, self.channels = description.file["text"], description.depth
        self.kind = HALVES.get(arguments.precision, torch.float32)
        self.train, self.test = (
            torch_texts.read(path, text["alphabet"], text["length"], arguments.limit_rows, arguments.device)
            for path in torch_texts.files_in(arguments.data))

    @staticmethod
    def augmented(texts):
        return texts

    def inputs(self, texts):
        return torch_texts.one_hot(texts, self.channels).to(self.kind)

    @staticmethod
    def initialize(model):
        Images.initialize(model)
        for module in model.modules():
            if isinstance(module, (torch.nn.Conv1d, torch.nn.Linear)):
                torch.nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
                if module.bias is not None:
                    torch.nn.init.zeros_(module.bias)


class Training:
    """One network, which each seed begins anew: what was compiled is used by all."""

    def __init__(self, arguments):
        self.arguments, self.device = arguments, arguments.device.split(":")[0]
        description = Description(text_of(os.path.abspath(arguments.program), arguments.network))
        model = Network(description)
        self.several = arguments.mirrored or arguments.shift > 0
        if description.is_text and self.several:
            sys.exit("texts are neither mirrored nor shifted")
        self.data = Texts(arguments, description) if description.is_text else Images(arguments)
        layout = torch.contiguous_format if description.is_text else torch.channels_last
        self.model = model.to(arguments.device, memory_format=layout)
        self.half = HALVES.get(arguments.precision)
        self.loss = self.loss_of if arguments.mode == "eager" else torch.compile(self.loss_of, mode=arguments.mode)

    def logits(self, batch):
        with torch.autocast(self.device, dtype=self.half, enabled=self.half is not None):
            return self.model(self.data.inputs(batch)).flatten(1)

    def loss_of(self, batch, truth):
        return torch.nn.functional.cross_entropy(self.logits(batch).float(), truth)

    def optimizer(self):
        arguments, fused = self.arguments, {"fused": True} if self.device == "cuda" else {}
        given = {"lr": arguments.rate, "weight_decay": arguments.weight_decay, **fused}
        if arguments.optimizer == "adam":
            return torch.optim.Adam(self.model.parameters(), **given)
        nesterov = arguments.optimizer == "nesterov"
        return torch.optim.SGD(self.model.parameters(), momentum=0.9, nesterov=nesterov, **given)

    def now(self):
        if self.device == "cuda":
            torch.cuda.synchronize()
        return time.perf_counter()

    def run(self, seed):
        """Trains; the seconds of all steps."""
        torch.manual_seed(seed)
        self.data.initialize(self.model)
        arguments, optimizer = self.arguments, self.optimizer()
        scaler = torch.amp.GradScaler() if arguments.precision == "fp16" else None
        inputs, labels = self.data.train
        steps = len(inputs) // arguments.batch
        total, step, start = arguments.epochs * steps, 0, self.now()
        compiled = min(COMPILED, total // 2)
        self.model.train()
        for _ in range(arguments.epochs):
            order = torch.randperm(len(inputs), device=arguments.device)
            for first in range(0, steps * arguments.batch, arguments.batch):
                if step == compiled:
                    start = self.now()
                chosen = order[first:first + arguments.batch]
                optimizer.param_groups[0]["lr"] = arguments.rate * share_of(step, arguments.warmup * steps, total)
                optimizer.zero_grad(set_to_none=True)
                take_step(self.loss(self.data.augmented(inputs[chosen]), labels[chosen]), optimizer, scaler)
                step += 1
        return (self.now() - start) * total / (total - compiled)

    @torch.no_grad()
    def accuracies(self):
        """The share of the test set that is told right, by itself and, with several views, by all of them."""
        self.model.eval()
        (inputs, labels), right = self.data.test, [0, 0]
        for first in range(0, len(inputs), EVALUATED):
            batch, truth = inputs[first:first + EVALUATED], labels[first:first + EVALUATED]
            logits = self.logits(batch).float()
            right[0] += (logits.argmax(1) == truth).sum().item()
            if self.several:
                others = views_of(batch, self.arguments.mirrored, self.arguments.shift)[1:]
                logits += sum(self.logits(view).float() for view in others)
                right[1] += (logits.argmax(1) == truth).sum().item()
        return [count / len(inputs) for count in right[:1 + self.several]]


def views_of(images, mirrored, shift):
    """Square images, the same shifted to the four corners with reflection, and all mirrored; themselves first."""
    side, corners = images.shape[3], [(down, right) for down in (0, 2 * shift) for right in (0, 2 * shift)]
    wide = torch.nn.functional.pad(images, (shift,) * 4, mode="reflect")
    views = [images] + [wide[:, :, down:down + side, right:right + side] for down, right in corners if shift]
    return views + [view.flip(3) for view in views if mirrored]


def share_of(step, warm, total):
    """The share of the rate: up to 1 in `warm` steps, then a cosine down to 0."""
    return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / (total - warm)))


def take_step(loss, optimizer, scaler):
    if scaler is None:
        loss.backward()
        optimizer.step()
        return
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


def in_words(accuracies, seconds):
    return ", ".join(f"{name} {100 * value:.2f} % (error {100 - 100 * value:.2f} %)"
                     for name, value in zip(("accuracy", "by views"), accuracies)) + f", {seconds:.1f} s of steps"


def write_row(arguments, is_text, results):
    """Results are each training's accuracies, the last of them by all views, and its seconds."""
    version = "PyTorch " + ".".join(torch.__version__.split(".")[:2])
    last = [100 * accuracies[-1] for accuracies, _ in results]
    if is_text:
        row = {"network": arguments.network, "rule, rate": f"{arguments.optimizer} {arguments.rate:.9f}".rstrip("0"),
               f"errors of {version}": ", ".join(f"{100 - value:.2f}" for value in last) + " %",
               "mean of these, %": f"{100 - statistics.mean(last):.2f}"}
        return measurements.write(arguments.csv, ("network", "rule, rate"), [row], arguments.device)
    row = {"network": f"{version}, {arguments.network}", "`--lr`": f"{arguments.rate:g}",
           "`--epochs`": str(arguments.epochs), "seeds": ", ".join(str(seed + 1) for seed in range(len(results))),
           "accuracy": ", ".join(f"{value:.2f}" for value in last) + " %",
           "seconds from start": f"{statistics.mean(seconds for _, seconds in results):.1f}, steps only"}
    return measurements.write(arguments.csv, ("network", "`--lr`", "`--epochs`", "seeds"), [row], arguments.device)


def parse():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("network")
    parser.add_argument("--optimizer", default="nesterov", choices=["momentum", "nesterov", "adam"])
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=75)
    parser.add_argument("--weight-decay", type=float, default=0.001)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--warmup", type=int, default=5, help="epochs")
    parser.add_argument("--cutout", type=int, default=8, help="side of the square in images; 0: none")
    parser.add_argument("--mirrored", action="store_true", help="evaluates also with each image's mirror image")
    parser.add_argument("--shift", type=int, default=0, help="and with it shifted to four corners by so many pixels")
    parser.add_argument("--seeds", type=int, default=1, help="trainings, with the seeds from 1 on")
    parser.add_argument("--precision", default="bf16", choices=["fp32", "tf32", "fp16", "bf16"])
    parser.add_argument("--limit-rows", type=int, default=0, help="the first so many of each set; 0: all")
    parser.add_argument("--mode", default="reduce-overhead")
    parser.add_argument("--device", default="cuda:0")
    measurements.add_option(parser)
    return parser.parse_args()


def main():
    arguments = parse()
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    if arguments.precision == "fp16" and not arguments.device.startswith("cuda"):
        sys.exit("FP16 takes a GPU")
    torch.backends.cudnn.benchmark = True
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = arguments.precision != "fp32"
    training = Training(arguments)
    rows = [len(labels) for _, labels in (training.data.train, training.data.test)]
    if rows[0] < arguments.batch:
        sys.exit(f"{rows[0]} rows to train on make no batch of {arguments.batch}")
    results = []
    for seed in range(1, arguments.seeds + 1):
        seconds = training.run(seed)
        results.append((training.accuracies(), seconds))
        print(f"seed {seed}: {in_words(*results[-1])}", flush=True)
    write_row(arguments, training.data.is_text, results)
    accuracies = [statistics.mean(values) for values in zip(*(accuracies for accuracies, _ in results))]
    mean = in_words(accuracies, statistics.mean(seconds for _, seconds in results))
    print(f"PyTorch {torch.__version__}, {arguments.network}, {arguments.precision}, {arguments.optimizer}, rate "
          f"{arguments.rate:g}, {arguments.epochs} epochs of {rows[0]}, {rows[1]} to test, "
          f"{arguments.seeds} seed{'s' * (arguments.seeds > 1)}: {mean}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
