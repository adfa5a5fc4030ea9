"""PyTorch finds the same inside of networks: what every layer makes, the terms of each sum, and the gradients.

usage: torch_inside.py INSIDE_VALUES [--device cpu] [--select TEXT] [--seed N] [--only NAME]

Draws weights and images for the networks of networks(), takes one step at the learning rate 0 with the program
(inside_values.cpp) and in PyTorch in double precision, and holds against each other what the window shows of it:

  values     of every layer for one test image, which the Network panel shows, and the mean and the maximum of each of
             its channels for all test images, of which the most exciting ones are found
  sums       behind PLACES random values of each layer (gpu/inspect/explain.h): where each term reads, its input and its
             weight, the bias, their sum, and what the layers behind it make of that
  gradients  of all weights, and what batch normalization keeps

Exit code 77 (skipped) where PyTorch is missing.

What may differ. The program computes in FP32, also on CUDA (TF32 is a precision of its own), where one rounding is at
most 2^-24 of a number and a sum of n terms adds up about sqrt(n) of that (N. Higham, T. Mary, "A new approach to
probabilistic rounding error analysis", 2019). How far this moves what the layers behind make is found as
torch_networks.py does: by DISTURBED runs in double precision with noise of that size on all that layers make, and one
in FP32. `moved` is the most that any number of a tensor was moved. Then

  values, means, maxima      |value - reference| <= BORNE moved + 2^-24 max |reference|
  gradients, a filter each   |gradient - reference| <= BORNE moved + 2^-24 |reference|, Euclidean norms, `moved` the
                             most of the tensor's filters
  the sum as it was stored   |stored - total| <= 2^-24 (1 + sqrt(n + 1)) (|bias| + the magnitudes of the n products)

The terms' inputs and the sums lie among the values, and are borne as these. The sum of the terms in double precision is
the same to SAME. Nothing may differ of weights, of the places that terms read, and of ReLU, pooling, doubling and
dropout; additions and factors are rounded, to within 2 2^-24 of the magnitudes of what goes in. Gradients jump where
ReLU or a maximum is undecided within rounding: such weights are drawn anew.
"""
import argparse
import json
import math
import os
import random
import subprocess
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
from torch_curve import read_safetensors, write_safetensors  # noqa: E402
from torch_layers import (KINDS, ROUNDING, Add, Kinked, Layer, MaxPool, Module, Network, disturb,  # noqa: E402
                          extent_after)
from torch_networks import BORNE, DISTURBED, Data, initial_weights, loss_of, state_of, write_idx  # noqa: E402

SAME = 1e-12  # sums in double precision, in units of the magnitudes of their terms
DRAWS = 60
IMAGES = 6
PLACES = 5  # of each layer, the first in a corner, where padding may be
# Kinds that make of a number what depends on others too, or cannot be said exactly: it is only near PyTorch's.
NEAR_ONLY = ("gelu", "layer_norm", "batch_norm", "one_hot", "embedding")


# --- networks

class Case(typing.NamedTuple):
    name: str
    network: Network
    batch: int
    built_in: bool = False
    symbols: int = 255     # the largest byte of the images
    gradients: bool = True  # False: the step draws numbers that PyTorch does not


def network_of(extent, classes, layers):
    """A network of rows (name, kind, fields); the kinds are the titles in torch_layers.KINDS."""
    kinds = {kind.title: kind for kind in KINDS}
    network = Network(extent, classes)
    for name, title, fields in layers:
        kind, before = kinds[title], network.extent
        network.layers.append(Layer(name, True, kind, fields, before, extent_after(kind, fields, before)))
    return network


def plain(prefix, kind, **fields):
    """Rows of a kind without parameters, by their number."""
    return lambda number: (f"{prefix}{number}", kind, fields)


relu, pool, up = plain("relu", "relu"), plain("pool", "maxpool2d"), plain("up", "upsample2d")
pool1d, batch_norm = plain("pool", "maxpool1d", window=3), plain("bn", "batch_norm")
layer_norm = plain("ln", "layer_norm")


def conv(number, channels, kind="conv2d", **fields):
    return f"conv{number}", kind, {"channels": channels, **fields}


def steps(number, channels, **fields):
    return conv(number, channels, "conv2d with steps", **fields)


def conv1d(number, channels, **fields):
    return conv(number, channels, "conv1d", **fields)


def dense(number, features):
    return f"fc{number}", "linear", {"features": features}


ENCODER = [conv(1, 256), relu(1), pool(1), conv(2, 128), relu(2), pool(2)]
DECODER = [conv(3, 128), relu(3), up(3), conv(4, 256), relu(4), up(4), conv(5, 3)]


def networks():
    return [
        Case("autoencoder", network_of((32, 32, 3), 0, ENCODER + DECODER), 1, built_in=True),
        Case("classifier", network_of((32, 32, 3), 10, [*ENCODER, dense(1, 128), relu(3), dense(2, 10)]), 1,
             built_in=True),
        Case("mlp", network_of((28, 28, 1), 10, [dense(1, 128), relu(1), dense(2, 128), relu(2), dense(3, 10)]), 4,
             built_in=True),
        Case("batch norm", network_of((12, 12, 3), 10, [
            conv(1, 8, bias=False), batch_norm(1), relu(1), pool(1), conv(2, 16, kernel=5), batch_norm(2), relu(2),
            ("average1", "global_average_pool", {}), dense(1, 10), ("scale1", "scale", {"factor": 0.125})]), 5),
        Case("residual", network_of((8, 12, 3), 0, [
            conv(1, 6), relu(1), conv(2, 6), ("add1", "add", {"from": "relu1"}), relu(2), pool(1),
            conv(3, 6), ("add2", "add", {"from": "pool1"}), up(1), conv(4, 3)]), 3),
        Case("characters", network_of((1, 90, 1), 10, [  # char_cnn_ln, small
            ("onehot1", "one_hot", {"classes": 69}), conv1d(1, 16, kernel=7, padding="valid"), layer_norm(1), relu(1),
            pool1d(1), conv1d(2, 16, kernel=7, padding="valid"), relu(2), pool1d(2), conv1d(3, 16, padding="valid"),
            layer_norm(2), relu(3), dense(1, 32), relu(4), dense(2, 10)]), 3, symbols=80),
        Case("strides and dilation", network_of((17, 13, 2), 10, [
            steps(1, 6, kernel=5, stride=2), relu(1), steps(2, 8, dilation=3), relu(2),
            steps(3, 7, stride=2, padding="valid"), relu(3), dense(1, 10)]), 4),
        Case("in one dimension", network_of((1, 61, 1), 10, [
            ("emb1", "embedding", {"channels": 5, "classes": 100}),
            conv1d(1, 6, kernel=5, stride=2, dilation=3, padding="valid"), relu(1), conv1d(2, 8, dilation=2), relu(2),
            pool1d(1), dense(1, 10)]), 4, symbols=110),
        Case("dropout", network_of((6, 6, 3), 10, [
            conv(1, 8), ("gelu1", "gelu", {}), ("drop1", "dropout of nothing", {"rate": 0.5}), dense(1, 10)]), 4,
             gradients=False),
    ]


def draw_data(case, folder, seed):
    generator = np.random.default_rng(seed)
    images = generator.integers(0, case.symbols + 1, (IMAGES, *case.network.input), dtype=np.uint8)
    labels = generator.permutation(10)[:IMAGES].astype(np.uint8)
    write_idx(folder, images, labels)
    return Data("idx:" + folder, torch.from_numpy(images).permute(0, 3, 1, 2), torch.from_numpy(labels).long())


def draw_places(case, dice):
    """As inspect::Place counts."""
    places = []
    for number, layer in enumerate(case.network.layers, 1):
        height, width, channels = layer.output
        for corner in [True] + [False] * (PLACES - 1):
            y, x = (height - 1, 0) if corner else (dice.randrange(height), dice.randrange(width))
            places.append((number, y, x, dice.randrange(channels)))
    return places


# --- in PyTorch

class Run(typing.NamedTuple):
    outputs: list    # the images, then what each layer makes of them: N x C x H x W
    gradients: dict  # of a step
    state: dict      # after it


def terms_of(layer, module):
    """Terms of the sum that makes a number of the layer."""
    sums = [value[0].numel() for value in module.parameters() if value.dim() > 1]
    return max([layer.kind.terms(layer.input, 1), *sums])


def outputs_of(module, x, noisy):
    """`noisy`: with what rounding in FP32 may add."""
    x = disturb(x, ROUNDING) if noisy else x
    outputs = [x]

    def note(layer):
        def hook(made, _, output):
            if noisy:
                output = disturb(output, ROUNDING * math.sqrt(terms_of(layer, made)))
            outputs.append(output)
            return output
        return hook

    hooks = [getattr(module, layer.name).register_forward_hook(note(layer)) for layer in module.layers]
    with torch.no_grad():
        module(x)
    for hook in hooks:
        hook.remove()
    return outputs


def module_of(case, init, dtype):
    module = Module(case.network).to(dtype)
    module.load_state_dict({name: value.to(dtype) for name, value in init.items()}, strict=False)
    return module


def run_torch(case, init, data, disturbed=False, dtype=torch.float64):
    module = module_of(case, init, dtype)
    module.disturbed = disturbed
    x, targets = data.batch(0, case.batch, dtype)
    loss_of(case.network, module(x), x, targets).backward()
    gradients = {name: value.grad for name, value in module.named_parameters()}
    module.disturbed = False
    outputs = outputs_of(module.eval(), data.batch(0, IMAGES, dtype)[0], disturbed)
    return Run(outputs, gradients, state_of(module))


def is_decided(case, init, data):
    """Rounding takes no number of the step over a kink."""
    x, _ = data.batch(0, case.batch, torch.float64)
    module = module_of(case, init, torch.float64)
    clean = outputs_of(module, x, False)
    for _ in range(DISTURBED):
        noisy = outputs_of(module_of(case, init, torch.float64), x, True)
        for number, layer in enumerate(case.network.layers):
            kinked, size = getattr(module, layer.name), clean[number].pow(2).mean().sqrt()
            moved = (noisy[number] - clean[number]).abs().max() * (2 if isinstance(kinked, MaxPool) else 1)
            if isinstance(kinked, Kinked) and not kinked.margin * size > moved:
                return False
    return True


def draw_weights(case, data, seed):
    for draw in range(DRAWS):
        init = initial_weights(case.network, seed + draw)
        if not case.gradients or is_decided(case, init, data):
            return init
    sys.exit(f"{case.name}: all weights are undecided within rounding")


# --- comparison

class Verdict:
    """What differs, and by how much at the most."""

    def __init__(self):
        self.wrong = []
        self.largest = {}  # by group: difference in units of the reference's size, share of what is borne

    def equal(self, what, found, wanted):
        if isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted) > 4:
            what, found, wanted = next(((f"number {n} of {what}", *pair) for n, pair in enumerate(zip(found, wanted))
                                        if pair[0] != pair[1]), (what, None, None))
        if found != wanted:
            self.wrong.append(f"{what} is {found}, not {wanted}")

    def within(self, group, what, off, borne, size):
        off, borne, size = float(off), float(borne), float(size)
        relative, share = off / max(size, 1e-30), off / max(borne, 1e-30)
        if not off <= borne:
            self.wrong.append(f"{what} differs by {off:.1e}, {share:.2g} times what is borne")
        before = self.largest.get(group, (0, 0))
        self.largest[group] = (max(before[0], relative), max(before[1], share))

    def tensor(self, group, what, found, reference, others):
        """Number by number. Returns what is borne."""
        if found.shape != reference.shape:
            self.wrong.append(f"{what} has the shape {list(found.shape)}, not {list(reference.shape)}")
            return 0.0
        moved = max((other - reference).abs().max() for other in others)
        borne = BORNE * moved + ROUNDING * reference.abs().max()
        self.within(group, what, (found - reference).abs().max(), borne, reference.pow(2).mean().sqrt())
        return float(borne)

    def filters(self, group, what, found, reference, others, typical):
        """`typical`: the size of a number of the network's gradient; that of a bias before a normalization is 0."""
        if found.shape != reference.shape:
            self.wrong.append(f"{what} has the shape {list(found.shape)}, not {list(reference.shape)}")
            return
        norms = lambda tensor: tensor.double().reshape(len(tensor), -1).norm(dim=1)
        moved = max(norms(other - reference).max() for other in others)
        off, size = norms(found - reference), norms(reference)
        worst = int((off - ROUNDING * size).argmax())
        usual = max(size.max().item(), typical * math.sqrt(reference[0].numel()))
        self.within(group, f"{what}, filter {worst},", off[worst], BORNE * moved + ROUNDING * size[worst], usual)


class Explained:
    """Holds one explanation of the program against PyTorch's reference."""

    def __init__(self, case, init, image, reference, found, borne, verdict):
        self.layers, self.init, self.module = case.network.layers, init, Module(case.network)
        self.outputs = [output[image] for output in reference.outputs]  # C x H x W
        self.found = found  # H x W x C each
        self.borne = borne  # of each output
        self.verdict = verdict

    def right(self, place):
        output, y, x, channel = place
        return self.outputs[output][channel, y, x].item()

    def near(self, group, what, value, place):
        """`value` is the program's, and PyTorch has one like it."""
        output, y, x, channel = place
        self.verdict.equal(what + " beside the layer's output", value, self.found[output][y, x, channel].item())
        self.close(group, what, value, place)

    def close(self, group, what, value, place):
        size = self.outputs[place[0]].pow(2).mean().sqrt()
        self.verdict.within(group, what, abs(value - self.right(place)), self.borne[place[0]], size)

    def check(self, explanation):
        place = explanation["place"]
        self.what = f"{self.layers[place[0] - 1].name} at {place[1:]}: "
        self.near("sums", self.what + "value", explanation["value"], place)
        place = self.check_passages(explanation)
        multiplies = place[0] > 0 and self.layers[place[0] - 1].kind.type in ("conv2d", "conv1d", "linear")
        self.verdict.equal(self.what + "whether there is a sum", explanation["has_sum"], multiplies)
        self.near("sums", self.what + "stored sum", explanation["stored"], place)
        if multiplies:
            self.check_sum(explanation, place)

    # What layers without weights make of the sum.

    def check_passages(self, explanation):
        """Returns the place of the sum."""
        place = explanation["place"]
        for passage in reversed(explanation["passages"]):
            layer = self.layers[place[0] - 1]
            self.verdict.equal(self.what + "layer on the way", [passage["kind"], passage["output"]],
                               [layer.kind.type, place[0]])
            source = self.source_of(layer, place, passage)
            self.verdict.equal(f"{self.what}where {layer.name} takes it", passage["from"], source)
            self.near("sums", f"{self.what}what {layer.name} makes", passage["after"], place)
            self.near("sums", f"{self.what}what {layer.name} takes", passage["before"], source)
            self.check_formula(layer, place, passage)
            place = source
        self.verdict.equal(self.what + "place of the sum", explanation["sum"], place)
        return place

    def source_of(self, layer, place, passage):
        """Where the layer takes what it makes at `place`."""
        output, y, x, channel = place
        window = []
        if layer.kind.type.startswith("maxpool"):
            height, width = getattr(self.module, layer.name).window
            places = [(height * y + i, width * x + j) for i in range(height) for j in range(width)]
            window = [self.found[output - 1][row, column, channel].item() for row, column in places]
            y, x = places[window.index(max(window))]
        elif layer.kind.type == "upsample2d":
            y, x = y // 2, x // 2
        elif layer.kind.type in ("one_hot", "embedding"):
            channel = 0
        self.verdict.equal(f"{self.what}window of {layer.name}", passage["window"], window)
        return [output - 1, y, x, channel]

    def check_formula(self, layer, place, passage):
        what, before, after = f"{self.what}what {layer.name} makes of it", passage["before"], passage["after"]
        added = 0.0
        if layer.kind.type == "relu":
            self.verdict.equal(what, after, max(before, 0.0))
        elif layer.kind.type in ("upsample2d", "maxpool2d", "maxpool1d", "dropout"):
            self.verdict.equal(what, after, before)
        elif layer.kind.type == "add":
            source = 1 + [one.name for one in self.layers].index(layer.fields["from"])
            added = self.found[source][place[1], place[2], place[3]].item()
            magnitude = abs(before) + abs(added)
            self.verdict.within("sums", what, abs(before + added - after), 2 * ROUNDING * magnitude, magnitude)
        elif layer.kind.type == "scale":
            off = abs(layer.fields["factor"] * before - after)
            self.verdict.within("sums", what, off, 2 * ROUNDING * abs(after), abs(after))
        elif layer.kind.type not in NEAR_ONLY:
            sys.exit(f"check_formula does not know what {layer.kind.type} makes of a number")
        self.verdict.equal(f"{self.what}what {layer.name} adds", passage["addend"], added)

    # The sum itself.

    def patch_of(self, layer, place):
        """What the sum reads, its weights, both C x R x S, and the row and the column of each tap."""
        output, y, x, channel = place
        below, weight = self.outputs[output - 1], self.init[layer.name + ".weight"][channel].double()
        if layer.kind.type == "linear":
            return below, weight.reshape(below.shape), range(below.shape[1]), range(below.shape[2])
        module = getattr(self.module, layer.name)
        steps = [module.kernel_size, module.stride, module.dilation, module.padding]
        if layer.kind.type == "conv1d":
            steps = [(1 if i < 3 else 0, *value) for i, value in enumerate(steps)]
            weight = weight[:, None, :]
        (height, width), stride, dilation, (down, right) = steps
        rows = range(y * stride[0] - down, y * stride[0] - down + dilation[0] * height, dilation[0])
        columns = range(x * stride[1] - right, x * stride[1] - right + dilation[1] * width, dilation[1])
        around = torch.nn.functional.pad(below, (right, right, down, down))
        patch = around[:, [row + down for row in rows]][:, :, [column + right for column in columns]]
        return patch, weight, rows, columns

    def check_sum(self, explanation, place):
        layer, what = self.layers[place[0] - 1], self.what
        patch, weight, rows, columns = self.patch_of(layer, place)
        channels, height, width = patch.shape
        self.verdict.equal(what + "size of the patch", explanation["patch"], [height, width, channels])
        at = [[row, column, channel] for row in rows for column in columns for channel in range(channels)]
        self.verdict.equal(what + "the places that the terms read", explanation["at"], at)
        in_order = lambda tensor: tensor.movedim(0, 2).reshape(-1)
        inputs, weights = (torch.tensor(explanation[name], dtype=torch.float64) for name in ("inputs", "weights"))
        self.verdict.equal(what + "the filter's values", weights.tolist(), in_order(weight).tolist())
        bias = self.init[layer.name + ".bias"][place[3]].item() if layer.name + ".bias" in self.init else 0.0
        self.verdict.equal(what + "bias", explanation["bias"], bias)
        if inputs.shape != in_order(patch).shape:
            return
        below, found = self.outputs[place[0] - 1], self.found[place[0] - 1]
        self.verdict.equal(what + "the inputs beside the layer's output", inputs.tolist(), [
            found[y, x, c].item() if 0 <= y < found.shape[0] and 0 <= x < found.shape[1] else 0.0 for y, x, c in at])
        self.verdict.within("sums", what + "input of a term", (inputs - in_order(patch)).abs().max(),
                            self.borne[place[0] - 1], below.pow(2).mean().sqrt())
        self.check_total(explanation, place, inputs * weights, bias, (patch * weight).sum().item() + bias)

    def check_total(self, explanation, place, products, bias, wanted):
        """`wanted`: the same sum of PyTorch's inputs."""
        what, total = self.what, explanation["total"]
        magnitude = abs(bias) + products.abs().sum().item()
        self.verdict.within("sums in double", what + "sum of its terms", abs(products.sum().item() + bias - total),
                            SAME * magnitude, magnitude)
        # PyTorch's layer is the sum of the terms that were cut out here.
        self.verdict.within("sums in double", what + "PyTorch's sum", abs(wanted - self.right(place)), SAME * magnitude,
                            magnitude)
        self.close("sums", what + "sum", total, place)
        self.verdict.within("sums", what + "sum as it was stored", abs(total - explanation["stored"]),
                            ROUNDING * (1 + math.sqrt(len(products) + 1)) * magnitude, magnitude)


def look_inside(options, case, folder, init, data, image, places):
    """What the program has: names and explanations, tensors."""
    files = {name: os.path.join(folder, name)
             for name in ("network.toml", "init.safetensors", "places", "out.safetensors")}
    with open(files["network.toml"], "w", encoding="utf-8") as file:
        file.write(case.network.text())
    with open(files["places"], "w", encoding="utf-8") as file:
        file.writelines(" ".join(map(str, place)) + "\n" for place in places)
    write_safetensors(files["init.safetensors"], init)
    command = [options.program, case.name if case.built_in else files["network.toml"], data.source,
               files["init.safetensors"], options.device, options.select, case.batch, image, files["places"],
               files["out.safetensors"]]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{case.name}: exited with {done.returncode}: {done.stderr.strip()}")
    return json.loads(done.stdout), read_safetensors(files["out.safetensors"])


def check_values(verdict, image, names, tensors, reference, others):
    """Returns what is borne of each output."""
    borne = []
    for number, (name, right) in enumerate(zip(names, reference.outputs)):
        found = tensors[f"values.{number}"].movedim(2, 0)
        borne.append(verdict.tensor("values", name, found, right[image],
                                    [other.outputs[number][image] for other in others]))
        for measure, of in (("means", lambda x: x.mean(dim=(2, 3))), ("maxima", lambda x: x.amax(dim=(2, 3)))):
            verdict.tensor("values", f"{measure} of {name}", tensors[f"{measure}.{number}"], of(right),
                           [of(other.outputs[number]) for other in others])
    return borne


def check_weights(verdict, case, init, tensors, reference, others):
    learned = set(reference.gradients)
    typical = math.sqrt(sum(value.pow(2).sum().item() for value in reference.gradients.values()))
    typical /= math.sqrt(sum(value.numel() for value in reference.gradients.values()))
    for name, right in reference.state.items():
        found = tensors["weights." + name]
        if name in learned:
            verdict.equal(name + " as it was", torch.equal(found, init[name]), True)
        else:
            verdict.tensor("gradients", name, found, right, [other.state[name] for other in others])
        if name in learned and case.gradients:
            verdict.filters("gradients", f"gradient of {name}", tensors["gradients." + name], reference.gradients[name],
                            [other.gradients[name] for other in others], typical)


def compare(options, case, folder):
    dice = random.Random(f"{options.seed} {case.name}")
    data = draw_data(case, os.path.join(folder, "data"), dice.randrange(1 << 30))
    init = draw_weights(case, data, dice.randrange(1 << 40))
    image, places = dice.randrange(IMAGES), draw_places(case, dice)
    told, tensors = look_inside(options, case, folder, init, data, image, places)
    reference = run_torch(case, init, data)
    others = [run_torch(case, init, data, disturbed=True) for _ in range(DISTURBED)]
    others.append(run_torch(case, init, data, dtype=torch.float32))

    verdict = Verdict()
    names = ["input"] + [layer.name for layer in case.network.layers]
    verdict.equal("names of the layers", told["layers"], names)
    verdict.equal("explained places", [tuple(one["place"]) for one in told["explanations"]], places)
    borne = check_values(verdict, image, names, tensors, reference, others)
    check_weights(verdict, case, init, tensors, reference, others)
    found = [tensors[f"values.{number}"] for number in range(len(names))]
    explained = Explained(case, init, image, reference, found, borne, verdict)
    for explanation in told["explanations"]:
        explained.check(explanation)
    terms = sum(len(one["inputs"]) for one in told["explanations"])
    largest = ", ".join(f"{group} {off:.1e} ({share:.2f})" for group, (off, share) in verdict.largest.items())
    print(f"{case.name}: {len(names)} outputs, {len(places)} values of {terms} terms; {largest}", flush=True)
    return verdict.wrong


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--select", default="", help="variants, as warpscope train takes them")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="the network of this name")
    return parser.parse_args()


def main():
    options, differ = arguments(), 0
    tried = {layer.kind.type for case in networks() for layer in case.network.layers}
    if missing := {kind.type for kind in KINDS} - tried:
        sys.exit(f"none of the networks has {', '.join(sorted(missing))}")
    torch.set_num_threads(1)
    print("largest differences, in units of the numbers' size (in parts of what is borne)")
    for case in networks():
        if options.only in ("", case.name):
            with tempfile.TemporaryDirectory() as folder:
                wrong = compare(options, case, folder)
            differ += bool(wrong)
            for line in wrong[:20]:
                print("  " + line)
            if len(wrong) > 20:
                print(f"  and {len(wrong) - 20} more")
    print(f"PyTorch {torch.__version__}: {differ} networks differ")
    return 1 if differ else 0


if __name__ == "__main__":
    sys.exit(main())
