"""PyTorch follows trainings on images that are changed and mixed at random.

usage: torch_augmentation.py WARPSCOPE [--seed N] [--device cpu] [--select TEXT]

The random numbers are drawn here anew, from the seed, the step and the image's place in the batch, as
gpu/ops/augment/augment.cpp and mixup.h document them; the images are shifted, mirrored, coloured, cut out and mixed by
PyTorch's functions, and the loss is PyTorch's cross-entropy with the labels' shares. Each row of CASES is a small
network that learns from such batches with one long step of SGD, ten of SGD and ten of Adam; losses of all steps and
weights at the end are held against `warpscope train` as torch_networks.py holds those of random networks, within what
rounding in FP32 can move. Each row is trained without its options too, and must differ from that by far: they do
something. Exit code 77 (skipped) where PyTorch is missing.
"""
import argparse
import math
import os
import sys
import tempfile
import typing

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torch_layers import CONV2D, KINDS, LINEAR, Network  # noqa: E402
from torch_networks import Case, Data, make_data, train_torch  # noqa: E402

GELU = next(kind for kind in KINDS if kind.type == "gelu")
SALT = 0xA0C3E5D7
ALL_BITS = 2 ** 64 - 1
LUMA = (0.299, 0.587, 0.114)


class Row(typing.NamedTuple):
    """What is tried: options of `warpscope train` by their names, and what learns from what."""
    options: dict
    extent: tuple = (32, 32, 3)
    classes: int = 10  # 0: it reconstructs
    batch: int = 5
    micro_batches: int = 1


ALL = {"flip": True, "crop": 3, "jitter": 0.4, "cutout": 9, "mixup": 0.8}
CASES = [
    Row({"mixup": 0.2}),
    Row({"mixup": 1.0}, (28, 28, 1)),
    Row({"mixup": 2.0}, batch=2),
    Row({"mixup": 0.5}, batch=1),  # with itself
    Row({"mixup": 0.4}, batch=3, micro_batches=2),
    Row({"flip": True}),
    Row({"crop": 4}),
    Row({"crop": 16}, (4, 9, 2)),
    Row({"jitter": 0.5}),
    Row({"jitter": 1.0}, (28, 28, 1)),
    Row({"cutout": 8}),
    Row({"cutout": 5}, (6, 7, 2)),
    Row(ALL),
    Row(ALL, (9, 14, 3), batch=3, micro_batches=2),
    Row(ALL, classes=0),
]


# --- the program's random numbers (gpu/core/random.h)

def mix_bits(x):
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & ALL_BITS
    x = (x ^ x >> 27) * 0x94D049BB133111EB & ALL_BITS
    return x ^ x >> 31


def random_bits(seed, counter):
    gamma = 0x9E3779B97F4A7C15
    return mix_bits(mix_bits(seed + gamma & ALL_BITS) + (counter + 1) * gamma & ALL_BITS)


def halves(word):
    return word & 0xFFFFFFFF, word >> 32


def below(bits, count):
    return bits * count >> 32


def as_fp32(x):
    """The program keeps strengths in FP32."""
    return float(np.float32(x))


class Draws:
    """What is drawn for one micro-batch."""

    def __init__(self, seed, step, micro_batch):
        self.key = random_bits(random_bits(seed, step), (micro_batch << 32) + SALT)

    def word(self, image, i):
        return random_bits(self.key, 4 * image + i)

    def shift(self, image, crop, extent):
        most = [min(crop, side - 1) for side in extent]
        return [below(bits, 2 * m + 1) - m for bits, m in zip(halves(self.word(image, 0)), most)]

    def middle(self, image, extent):
        return [below(bits, side) for bits, side in zip(halves(self.word(image, 1)), extent)]

    def factors(self, image, jitter):
        parts = (*halves(self.word(image, 2)), halves(self.word(image, 3))[0])
        return [1 - jitter + 2 * jitter * (bits >> 8) * 2.0 ** -24 for bits in parts]

    def mirrored(self, image):
        return self.word(image, 3) >> 63 == 1

    def share(self, alpha):
        """The share of an image itself in what is made of it and the next."""
        bits = random_bits(self.key, ALL_BITS)
        u, v = ((2 * (bits >> first & 0x7FFFFF) + 1) * 2.0 ** -24 for first in (0, 23))
        w, s, c = u ** (1 / alpha), math.sin(math.pi / 2 * v), math.cos(math.pi / 2 * v)
        share = (1 - c * math.sqrt((1 - w) / (c * c + w * s * s))) / 2
        return share if bits >> 63 else 1 - share


# --- the changes, of an image C x H x W

def shifted(x, down, right, crop):
    most = [min(crop, side - 1) for side in x.shape[1:]]
    wide = torch.nn.functional.pad(x[None], (most[1], most[1], most[0], most[0]), mode="reflect")[0]
    top, left = most[0] + down, most[1] + right
    return wide[:, top:top + x.shape[1], left:left + x.shape[2]]


def coloured(x, brightness, contrast, saturation):
    x = (brightness * x).clamp(0, 1)
    x = (0.5 + contrast * (x - 0.5)).clamp(0, 1)
    if len(x) != 3:
        return x
    grey = torch.einsum("c,chw->hw", torch.tensor(LUMA, dtype=x.dtype), x)
    return torch.lerp(grey.expand_as(x), x, saturation).clamp(0, 1)


def cut_out(x, row, column, side):
    x = x.clone()
    top, left = row - side // 2, column - side // 2
    x[:, max(top, 0):max(top + side, 0), max(left, 0):max(left + side, 0)] = 0.5
    return x


class Augmented(Data):
    """Batches as a row of CASES makes them."""

    def __init__(self, data, row, seed):
        super().__init__(data.source, data.images, data.labels)
        self.row, self.seed = row, seed
        self.arguments = ["--seed", str(seed), "--accumulate", str(row.micro_batches)]
        for name, value in row.options.items():
            self.arguments += [f"--{name}"] + ([] if value is True else [str(value)])

    def changed(self, x, draws, image):
        options = self.row.options
        if "crop" in options:
            x = shifted(x, *draws.shift(image, options["crop"], x.shape[1:]), options["crop"])
        if "flip" in options and draws.mirrored(image):
            x = x.flip(2)
        if "jitter" in options:
            x = coloured(x, *draws.factors(image, as_fp32(options["jitter"])))
        if "cutout" in options:
            x = cut_out(x, *draws.middle(image, x.shape[1:]), options["cutout"])
        return x

    def micro_batch(self, step, number, size, dtype):
        draws = Draws(self.seed, step, number)
        images, labels = super().batch(step * self.row.micro_batches + number, size, dtype)
        x = torch.stack([self.changed(image, draws, n) for n, image in enumerate(images)])
        targets = torch.nn.functional.one_hot(labels, max(self.row.classes, 10)).to(dtype)
        if "mixup" in self.row.options:
            share = draws.share(as_fp32(self.row.options["mixup"]))
            x = share * x + (1 - share) * x.roll(-1, 0)
            targets = share * targets + (1 - share) * targets.roll(-1, 0)
        return x, targets

    def batch(self, step, size, dtype):
        parts = [self.micro_batch(step, number, size, dtype) for number in range(self.row.micro_batches)]
        return tuple(torch.cat(part) for part in zip(*parts))


class Plain(Augmented):
    """The same images unchanged."""

    def changed(self, x, draws, image):
        return x

    def micro_batch(self, step, number, size, dtype):
        images, labels = Data.batch(self, step * self.row.micro_batches + number, size, dtype)
        return images, torch.nn.functional.one_hot(labels, max(self.row.classes, 10)).to(dtype)


def network_of(row):
    """Without ReLU: nothing hangs on a rounding."""
    network = Network(row.extent, row.classes)
    network.append(CONV2D, {"channels": 6})
    network.append(GELU, {})
    if row.classes:
        network.append(LINEAR, {"features": row.classes})
    else:
        network.append(CONV2D, {"channels": row.extent[2]})
    return network


def title_of(row):
    words = [name if value is True else f"{name} {value}" for name, value in row.options.items()]
    words += ["reconstructs"] if not row.classes else []
    words += [f"{row.micro_batches} micro-batches"] if row.micro_batches > 1 else []
    return f"{'x'.join(map(str, row.extent))}: {', '.join(words)}"


def unlike_plain(case, row):
    """How far the losses are from those without the options, relative."""
    with_them = case.references[0].losses + case.references[1].losses
    plain = Plain(case.data, row, case.data.seed)
    without = [loss for rule in case.rules[:2]
               for loss in train_torch(case.network, case.init, plain, row.batch, rule).losses]
    return max(abs(one - other) / other for one, other in zip(with_them, without))


def check(options, row, folder, seed):
    """Trains a row on both sides; whether all is right."""
    own = row.extent not in ((28, 28, 1), (32, 32, 3))
    data = Augmented(make_data(folder, row.extent, own), row, seed)
    case = Case(network_of(row), data, row.batch, seed)
    try:
        differences = case.differences(options)
        wrong = [difference.text() for difference in differences if not difference.share <= 1]
    except RuntimeError as refused:
        differences, wrong = [], [str(refused)]
    mixes_with_itself = row.options.keys() == {"mixup"} and row.batch == 1
    if not mixes_with_itself and not unlike_plain(case, row) > 1e-3:
        wrong.append("the options make no difference")
    if wrong:
        print(f"{title_of(row)}:", *wrong, sep="\n  ")
        case.keep(options, "augmentation")
        return False
    losses = max(difference.relative for difference in differences if difference.what == "loss")
    weights = max(difference.relative for difference in differences
                  if difference.what != "loss" and difference.rule != "gradient")
    share = max(difference.share for difference in differences)
    print(f"{title_of(row):72} loss {losses:.1e}, weights {weights:.1e}, {share:.2f} of what is borne")
    return True


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--seed", type=int, default=20180212)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--select", default="", help="variants, as warpscope train takes them")
    return parser.parse_args()


def main():
    options = arguments()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        right = [check(options, row, folder, options.seed + number) for number, row in enumerate(CASES)]
    print(f"PyTorch {torch.__version__}: {len(right)} ways to change images, {right.count(False)} differ")
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
