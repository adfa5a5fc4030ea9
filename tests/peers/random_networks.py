"""Networks that nobody has tuned anything for, as files of Warpscope (docs/networks.md), drawn by a seed.

    random_networks.py N [--seed S] [--folder FOLDER] [--program WARPSCOPE]

Every four are a residual classifier, a plain classifier, an autoencoder of images and a classifier of
texts. Writes them into the folder; with a program each trains one step on the CPU by it. Needs no PyTorch.
"""
import argparse
import os
import random
import subprocess
import sys
import tempfile

LEAST_DEPTH, MOST_DEPTH = 3, 20  # convolutions and linear layers
MOST_CHANNELS = 512
SIDE, COLORS, CLASSES = 32, 3, 10  # of the built-in images
TEXT_CLASSES = 4                   # of the built-in sentences
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789 .,!?'-"
MOST_PRODUCTS = 1e9  # of one input in a forward pass: a step of 512 takes some milliseconds
MOST_NUMBERS = 3e6   # that the layers make of one input
MOST_WEIGHTS = 3e7
KINDS = ("residual", "plain", "autoencoder", "text")


class Growing:
    """A network to which layers are added, with what comes out of the last one."""

    def __init__(self, dice, extent, channels):
        self.dice, self.extent, self.channels = dice, extent, channels
        self.layers, self.depth = [], 0
        self.products = self.numbers = self.weights = 0
        self.norm = dice.choice(["batch_norm", "batch_norm", "layer_norm", None])
        self.activation = dice.choice(["relu", "relu", "gelu"])
        self.bias = self.norm is None or dice.random() < 0.3
        self.is_line = extent[0] == 1

    @property
    def positions(self):
        return self.extent[0] * self.extent[1]

    def smallest_side(self):
        return self.extent[1] if self.is_line else min(self.extent)

    def add(self, kind, **fields):
        name = f"{kind}{1 + sum(layer['type'] == kind for layer in self.layers)}"
        self.layers.append({"type": kind, "name": name, **fields})
        self.numbers += self.positions * self.channels
        return name

    def convolution(self, channels, kernel, stride=1, dilation=1, valid=False):
        fields = {"channels": channels, "kernel": kernel}
        if stride > 1:
            fields["stride"] = stride
        if dilation > 1:
            fields["dilation"] = dilation
        if valid:
            fields["padding"] = "valid"
        if not self.bias:
            fields["bias"] = False
        taps = kernel if self.is_line else kernel * kernel
        lost = dilation * (kernel - 1) if valid else 0
        height, width = self.extent
        self.extent = (1 if self.is_line else (height - lost - 1) // stride + 1, (width - lost - 1) // stride + 1)
        self.products += self.positions * taps * self.channels * channels
        self.weights += taps * self.channels * channels
        self.channels = channels
        self.depth += 1
        return self.add("conv1d" if self.is_line else "conv2d", **fields)

    def normalize(self):
        if self.norm:
            self.add(self.norm)

    def activate(self):
        return self.add(self.activation)

    def pool(self, window=2):
        self.extent = (1 if self.is_line else self.extent[0] // window, self.extent[1] // window)
        self.add("maxpool1d" if self.is_line else "maxpool2d", **({} if window == 2 else {"window": window}))

    def linear(self, features):
        inside = self.positions * self.channels
        self.products += inside * features
        self.weights += inside * features
        self.extent, self.channels = (1, 1), features
        self.depth += 1
        self.add("linear", features=features)

    def draw_channels(self, most=MOST_CHANNELS):
        """In multiples of 8, small ones as often as large ones; where images are large, few."""
        most = max(8, min(most, 65536 // self.positions // 8 * 8))
        return min(most, 8 * max(1, round(2 ** self.dice.uniform(0, 6))))

    def draw_kernel(self):
        kernel = self.dice.choice([1, 3, 3, 3, 5, 7] if not self.is_line else [3, 3, 5, 7])
        return kernel if kernel <= self.smallest_side() else 1

    def block(self, shrinks=True):
        """A convolution and what stands behind it."""
        kernel = self.draw_kernel()
        wide = self.smallest_side() >= 8
        stride = 2 if shrinks and wide and kernel > 1 and self.dice.random() < 0.2 else 1
        dilation = 2 if kernel in (3, 5) and wide and stride == 1 and self.dice.random() < 0.15 else 1
        valid = shrinks and wide and self.dice.random() < 0.1
        valid = valid and dilation * (kernel - 1) + 1 <= self.smallest_side() // 2
        self.convolution(self.draw_channels(), kernel, stride, dilation, valid)
        self.normalize()
        self.activate()
        if shrinks and self.smallest_side() >= 8 and self.dice.random() < 0.25:
            self.pool(self.dice.choice([2, 2, 3]))

    def residual_block(self):
        """Two convolutions of 3x3, or one between two of 1x1, and what came in added."""
        source, channels = self.layers[-1]["name"], self.channels
        if self.dice.random() < 0.5:
            kernels = [(channels, self.dice.choice([3, 3, 5])), (channels, 3)]
        else:
            inside = max(8, channels // self.dice.choice([2, 4]) // 8 * 8)
            kernels = [(inside, 1), (inside, 3), (channels, 1)]
        for number, (made, kernel) in enumerate(kernels):
            self.convolution(made, kernel)
            self.normalize()
            if number + 1 < len(kernels):
                self.activate()
        self.add("add", **{"from": source})
        self.activate()

    def is_small(self):
        return self.products <= MOST_PRODUCTS and self.numbers <= MOST_NUMBERS and self.weights <= MOST_WEIGHTS

    def classify(self, classes):
        if self.dice.random() < 0.6 or self.positions * self.channels > 8192:
            self.add("global_average_pool")
            self.extent = (1, 1)
        if self.dice.random() < 0.4:
            self.linear(8 * self.dice.randint(4, 64))
            self.activate()
            if self.dice.random() < 0.5:
                self.add("dropout", rate=0.25)
        self.linear(classes)


def residual(network, depth):
    network.block(shrinks=False)
    while network.depth < depth - 3:
        network.residual_block()
        if network.smallest_side() >= 8 and network.dice.random() < 0.4:
            network.convolution(min(MOST_CHANNELS, 2 * network.channels), 3, stride=2)
            network.normalize()
            network.activate()
    network.classify(CLASSES)


def plain(network, depth):
    while network.depth < depth - 1:
        network.block()
    network.classify(CLASSES)


def autoencoder(network, depth):
    doublings = network.dice.randint(1, 3)
    each = max(1, (depth - 1) // (2 * doublings))
    for _ in range(doublings):
        for _ in range(each):
            network.block(shrinks=False)
        network.pool()
    for _ in range(doublings):
        network.add("upsample2d")
        network.extent = (2 * network.extent[0], 2 * network.extent[1])
        for _ in range(each):
            network.block(shrinks=False)
    network.bias = True
    network.convolution(COLORS, 3)


def text(network, depth):
    if network.dice.random() < 0.5:
        network.channels = len(ALPHABET)
        network.add("one_hot")
    else:
        network.channels = 8 * network.dice.randint(1, 16)
        network.add("embedding", channels=network.channels)
    while network.depth < depth - 1:
        network.block()
    network.classify(TEXT_CLASSES)


def value_text(value):
    return str(value).lower() if isinstance(value, bool) else f'"{value}"' if isinstance(value, str) else str(value)


def file_of(kind, network, length):
    lines = [f'text = {{length = {length}, alphabet = "{ALPHABET}"}}' if kind == "text" else
             f"input = [{SIDE}, {SIDE}, {COLORS}]"]
    lines.append(f'loss = "{"mse" if kind == "autoencoder" else "cross_entropy"}"')
    if kind != "autoencoder":
        lines.append(f"classes = {TEXT_CLASSES if kind == 'text' else CLASSES}")
    rows = ["  {" + ", ".join(f"{key} = {value_text(value)}" for key, value in layer.items()) + "},"
            for layer in network.layers]
    return "\n".join([*lines, "layers = [", *rows, "]", ""])


def draw(seed, number):
    """(kind, text of the file) of the number-th network of a seed."""
    dice = random.Random(f"{seed}/{number}")
    kind = KINDS[number % len(KINDS)]
    while True:
        length = 8 * dice.randint(16, 64)
        network = Growing(dice, (1, length) if kind == "text" else (SIDE, SIDE), COLORS)
        {"residual": residual, "plain": plain, "autoencoder": autoencoder, "text": text}[kind](
            network, dice.randint(LEAST_DEPTH, MOST_DEPTH))
        if LEAST_DEPTH <= network.depth <= MOST_DEPTH and network.is_small():
            return kind, file_of(kind, network, length)


def write(folder, count, seed):
    """The files of `count` networks, with their kinds."""
    files = []
    for number in range(count):
        kind, contents = draw(seed, number)
        path = os.path.join(folder, f"random-{seed}-{number}-{kind}.toml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(contents)
        files.append((kind, path))
    return files


def one_step(program, kind, path):
    """What is in the way of a step on the CPU, or ""."""
    done = subprocess.run([program, "train", "--model", path, "--data", "sentences" if kind == "text" else "builtin",
                           "--device", "cpu", "--precision", "fp32", "--batch", "2", "--test-images", "2",
                           "--steps", "1"],
                          capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stderr.strip()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("count", type=int)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--folder", default="")
    parser.add_argument("--program", default="")
    arguments = parser.parse_args()
    failures = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or temporary
        os.makedirs(folder, exist_ok=True)
        for kind, path in write(folder, arguments.count, arguments.seed):
            why = one_step(arguments.program, kind, path) if arguments.program else ""
            failures += bool(why)
            print(f"{os.path.basename(path)}{': ' + why if why else ''}", flush=True)
    print(f"{arguments.count} networks, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
