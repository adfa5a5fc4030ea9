"""PyTorch finds the same losses, gradients and weights for random networks that Warpscope reads from files.

usage: torch_networks.py WARPSCOPE [NETWORKS] [--seed N] [--device cpu] [--select TEXT]

Makes small random networks (torch_layers.py) of the kinds of layers that the program has, and trains each from the same
initial weights on the same images in the same order in PyTorch and with `warpscope train --model FILE`: one long step
of SGD, from which the gradient follows, ten of SGD and ten of Adam. Losses of all steps and weights at the end (--save)
are held against PyTorch in double precision. A network that differs is kept in a folder with what is needed to run it
again. Exit code 77 (skipped) where PyTorch is missing.

What may differ. Rounding in FP32 is at most 2^-24 of a number, and in a sum of n terms adds up to about sqrt(n) of
that, at random. How far this moves a result (cancellation makes it small beside its terms, steps enlarge what is off)
is found by training in double precision with noise of that size on what each layer makes and on its gradients
(Disturbed), DISTURBED times, and once in FP32, since roundings of equal terms all have one sign. `moved` is the most
that a result was moved. Then

  losses      |loss - reference| <= BORNE moved + 2^-24 (4 + sqrt(terms)) |reference|
  parameters  |p - reference| <= BORNE moved + 2^-24 (2 sqrt(steps) |reference| + steps |change|)

with Euclidean norms over a tensor; the change is that from the initial values. The terms beside `moved` are the
rounding of the loss's own sum, of parameters when they are stored, and of the optimizer's arithmetic. BORNE is for
moves that are small by chance and for sums in another order. Where ReLU or a maximum is undecided within rounding
(MARGIN), the derivative may be either: such initial weights are drawn anew.
"""
import argparse
import json
import math
import os
import random
import re
import struct
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
from torch_layers import KINDS, LINEAR, ROUNDING, Module, Network, probe_of, random_network  # noqa: E402

BORNE = 5
DISTURBED = 3
MARGIN = 1e-5
DRAWS = 30  # of initial weights, before a network is given up
IMAGES = 64
STEPS = 10
COUNTERS = "num_batches_tracked"  # only of PyTorch's batch normalization


# --- images

class Data:
    """Images and what a step takes of them."""

    arguments = ()  # of `warpscope train`, beside --data

    def __init__(self, source, images, labels):
        self.source = source  # as --data takes it
        self.images = images  # N x C x H x W, bytes
        self.labels = labels

    def batch(self, step, size, dtype):
        """Numbers from 0 to 1, and labels or, a row an image, their shares."""
        part = slice(step * size, (step + 1) * size)
        return self.images[part].to(dtype) / 255, self.labels[part]


def draw_images(extent, seed):
    generator = np.random.default_rng(seed)
    labels = np.arange(IMAGES, dtype=np.uint8) % 10
    generator.shuffle(labels)
    return generator.integers(0, 256, (IMAGES, *extent), dtype=np.uint8), labels


def write_idx(folder, images, labels):
    """The same images to train and to test; of one channel as MNIST's files are."""
    os.makedirs(folder)
    if images.shape[3] == 1:
        images = images[..., 0]
    for part in ("train", "t10k"):
        for what, values in ((f"images-idx{images.ndim}", images), ("labels-idx1", labels)):
            with open(os.path.join(folder, f"{part}-{what}-ubyte"), "wb") as file:
                file.write(struct.pack(f">{1 + values.ndim}I", 0x800 + values.ndim, *values.shape) + values.tobytes())


def write_cifar10(folder, images, labels):
    """CIFAR-10's binary layout, which has 10,000 images a file: ours over and over in one file with six names."""
    os.makedirs(folder)
    records = np.hstack([labels[:, None], images.transpose(0, 3, 1, 2).reshape(IMAGES, -1)])
    first = os.path.join(folder, "test_batch.bin")
    np.resize(records, (10000, records.shape[1])).tofile(first)
    for number in range(1, 6):
        os.link(first, os.path.join(folder, f"data_batch_{number}.bin"))


def make_data(folder, extent, own):
    """`own`: as a set of one's own, which the program may take at any size."""
    name = os.path.join(folder, ("own-" if own else "") + "x".join(map(str, extent)))
    images, labels = draw_images(extent, sum(extent))
    if not os.path.exists(name):
        (write_cifar10 if extent == (32, 32, 3) and not own else write_idx)(name, images, labels)
    pixels = torch.from_numpy(images).permute(0, 3, 1, 2)
    return Data("idx:" + name if own else name, pixels, torch.from_numpy(labels).long())


# --- trainings

class Rule(typing.NamedTuple):
    title: str
    optimizer: str
    steps: int
    rate: float
    epsilon: float = 0.0  # of Adam


class Trained(typing.NamedTuple):
    losses: list
    weights: dict  # by PyTorch's names
    margin: float = math.inf


def loss_of(network, output, x, targets):
    if network.classes:
        return torch.nn.functional.cross_entropy(output.flatten(1), targets)
    return torch.nn.functional.mse_loss(output, x)


def state_of(module):
    return {name: value.detach().clone() for name, value in module.state_dict().items() if not name.endswith(COUNTERS)}


def initial_weights(network, seed):
    """He's normal distribution; biases, factors and running statistics are not left at their usual 0 or 1."""
    torch.manual_seed(seed)
    weights = state_of(Module(network))
    for name, value in weights.items():
        if value.dim() > 1:
            value.normal_(0, math.sqrt(2 / value[0].numel()))
        elif name.endswith(("weight", "var")):
            value.uniform_(0.5, 1.5)
        else:
            value.normal_(0, 0.1)
    return weights


def train_torch(network, init, data, batch, rule, disturbed=False, dtype=torch.float64):
    module = Module(network).to(dtype)
    module.load_state_dict({name: value.to(dtype) for name, value in init.items()}, strict=False)
    module.disturbed = disturbed
    if rule.optimizer == "adam":
        optimizer = torch.optim.Adam(module.parameters(), lr=rule.rate, eps=rule.epsilon)
    else:
        optimizer = torch.optim.SGD(module.parameters(), lr=rule.rate)
    losses = []
    for step in range(rule.steps):
        x, targets = data.batch(step, batch, dtype)
        loss = loss_of(network, module(x), x, targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return Trained(losses, state_of(module), module.margin())


def command_of(options, folder, data, batch, rule):
    command = [options.program, "train", "--model", os.path.join(folder, "network.toml"), "--data", data.source,
               "--init", os.path.join(folder, "init.safetensors"), "--no-shuffle", "--steps", str(rule.steps),
               "--batch", str(batch), "--optimizer", rule.optimizer, "--lr", repr(rule.rate), "--weight-decay", "0",
               "--schedule", "constant:warmup=0", "--precision", "fp32", "--device", options.device,
               "--test-images", str(batch), *data.arguments]
    if rule.optimizer == "adam":
        command += ["--epsilon", repr(rule.epsilon)]
    return command + (["--select", options.select] if options.select else [])


def train_warpscope(command, folder):
    run, saved = os.path.join(folder, "run"), os.path.join(folder, "end.safetensors")
    done = subprocess.run(command + ["--run-dir", run, "--save", saved], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exited with {done.returncode}: {done.stderr.strip()}")
    with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
        losses = [point["loss"] for point in map(json.loads, file) if "loss" in point]
    return Trained(losses, read_safetensors(saved))


# --- how long steps are

def power_of_two(x, least, most):
    """Exact in FP32."""
    return 2.0 ** min(max(round(math.log2(x)), least), most)


def norm_of(tensors):
    return math.sqrt(sum(tensor.double().pow(2).sum().item() for tensor in tensors))


def rules_of(network, init, data, batch):
    """Rates that fit the gradient: the long step moves the weights by four times their size, so that the gradient is
    not lost in their rounding, the others by less than a hundredth. Adam's epsilon is a tenth of the gradient's size:
    a small one makes steps of full length of gradients that are nothing but rounding. None if there is no gradient."""
    short = Rule("", "sgd", 1, 2.0 ** -10)
    stepped = train_torch(network, init, data, batch, short).weights
    learnt = [name for name, _ in Module(network).named_parameters()]
    gradient = norm_of(init[name] - stepped[name] for name in learnt) / short.rate
    weights, count = norm_of(init[name] for name in learnt), sum(init[name].numel() for name in learnt)
    if not gradient > 1e-6:
        return None
    return [Rule("gradient", "sgd", 1, power_of_two(4 * weights / gradient, -19, 19)),
            Rule("SGD", "sgd", STEPS, power_of_two(0.004 * weights / gradient, -19, 19)),
            Rule("Adam", "adam", STEPS, power_of_two(0.004 * weights / math.sqrt(count), -19, 0),
                 power_of_two(0.1 * gradient / math.sqrt(count), -50, 0))]


# --- comparison

class Difference(typing.NamedTuple):
    rule: str
    what: str  # "loss", a parameter's name
    relative: float  # of parameters: to the gradient, at least to one of usual size; after ten steps to their own size
    share: float  # of what is borne; above 1 it is too large

    def text(self):
        return f"{self.rule}: {self.what} differs by {self.relative:.1e}, {self.share:.2g} times what is borne"


def compare_losses(rule, terms, found, reference, others):
    if len(found) != rule.steps or not all(math.isfinite(loss) for loss in found):
        return Difference(rule.title, "loss", math.inf, math.inf)
    relative = share = 0.0
    for step, right in enumerate(reference):
        off = abs(found[step] - right)
        moved = max(abs(losses[step] - right) for losses in others)
        relative = max(relative, off / abs(right))
        share = max(share, off / (BORNE * moved + ROUNDING * (4 + math.sqrt(terms)) * abs(right)))
    return Difference(rule.title, "loss", relative, share)


def shapes_in(state):
    return {name: value.shape for name, value in state.items()}


def compare_weights(rule, init, found, reference, others):
    if shapes_in(found) != shapes_in(init):
        yield Difference(rule.title, "names and shapes in the file", math.inf, math.inf)
        return
    typical = norm_of(right - init[name] for name, right in reference.items())
    typical /= math.sqrt(sum(right.numel() for right in reference.values()))
    for name, right in reference.items():
        size, change = norm_of([right]), norm_of([right - init[name]])
        off, moved = norm_of([found[name] - right]), max(norm_of([weights[name] - right]) for weights in others)
        borne = BORNE * moved + ROUNDING * (2 * math.sqrt(rule.steps) * size + rule.steps * change)
        relative = off / (size if rule.steps > 1 else max(change, typical * math.sqrt(right.numel())))
        yield Difference(rule.title, name, relative, off / borne if math.isfinite(off) else math.inf)


class Case:
    """A network with initial weights and rules such that the results do not hang on a rounding."""

    def __init__(self, network, data, batch, seed):
        self.network, self.data, self.batch = network, data, batch
        self.decided = False
        for draw in range(DRAWS):
            self.init = initial_weights(network, seed + draw)
            self.rules = rules_of(network, self.init, data, batch)
            if self.rules is None:
                continue
            self.references = []
            for rule in self.rules:
                self.references.append(train_torch(network, self.init, data, batch, rule))
                if not self.references[-1].margin > MARGIN:
                    break
            self.decided = all(reference.margin > MARGIN for reference in self.references)
            if self.decided:
                return

    def write(self, folder):
        with open(os.path.join(folder, "network.toml"), "w", encoding="utf-8") as file:
            file.write(self.network.text())
        counters = {name: value for name, value in Module(self.network).state_dict().items() if name.endswith(COUNTERS)}
        write_safetensors(os.path.join(folder, "init.safetensors"), {**self.init, **counters})

    def differences(self, options):
        """Trains all."""
        result = []
        terms = self.batch * (self.network.classes or math.prod(self.network.input))
        for rule, reference in zip(self.rules, self.references):
            with tempfile.TemporaryDirectory() as folder:
                self.write(folder)
                found = train_warpscope(command_of(options, folder, self.data, self.batch, rule), folder)
            case = (self.network, self.init, self.data, self.batch, rule)
            others = [train_torch(*case, disturbed=True) for _ in range(DISTURBED)]
            others.append(train_torch(*case, dtype=torch.float32))
            losses, weights = [other.losses for other in others], [other.weights for other in others]
            result.append(compare_losses(rule, terms, found.losses, reference.losses, losses))
            result += compare_weights(rule, self.init, found.weights, reference.weights, weights)
        return result

    def keep(self, options, name):
        """Leaves files and commands to look into it."""
        folder = tempfile.mkdtemp(prefix=f"warpscope-{name}-")
        self.write(folder)
        for rule in self.rules:
            print("  " + " ".join(command_of(options, folder, self.data, self.batch, rule)))


# --- what the program has

def takes(options, text, *command):
    """Runs a command with a network in a file; says what is in its way, or ""."""
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "probe.toml")
        with open(file, "w", encoding="utf-8") as opened:
            opened.write(text)
        command = [options.program, *(file if part == "FILE" else part for part in command), "--device", options.device]
        done = subprocess.run(command, capture_output=True, text=True)
        return done.stderr.strip().replace(file, "FILE") if done.returncode != 0 else ""


def kinds_of(options):
    """The rows of KINDS that the program has. It may lack one, or a field, but have none that is not there."""
    listed = takes(options, Network((8, 8, 2), 10).text().replace("[\n", '[{type = "none"}'), "models", "FILE")
    listed = re.search("no layer 'none'; valid: (.*)", listed)
    types = listed[1].split(", ") if listed else []
    unknown = set(types) - {kind.type for kind in KINDS}
    if unknown or not types:
        sys.exit(f"KINDS has no row for {', '.join(unknown)}" if types else "warpscope models does not list its layers")
    kinds = []
    for kind in KINDS:
        missing = takes(options, probe_of(kind, random.Random(1)).text(), "models", "FILE")
        if not missing:
            kinds.append(kind)
        elif kind.type in types and " has no '" not in missing:
            sys.exit(f"{kind.title}: {missing}")
        else:
            print(f"left out: {kind.title}")
    return kinds


def takes_any_size(options, folder):
    extent = (5, 7, 2)
    network = Network(extent, 10)
    network.append(LINEAR, {"features": 10})
    data = make_data(folder, extent, True)
    missing = takes(options, network.text(), "train", "--model", "FILE", "--data", data.source, "--precision", "fp32",
                    "--steps", "1", "--batch", "2", "--test-images", "2")
    if missing:
        print(f"left out: images of other sizes ({missing})")
    return not missing


def random_data(dice, folder, any_size):
    extents = [(28, 28, 1), (32, 32, 3)]
    if any_size:
        extents += [(1, dice.randint(16, 64), dice.randint(1, 3)), (1, 48, 2), (16, 8, 2),
                    (dice.randint(4, 20), dice.randint(4, 20), 3)]
    extent = dice.choice(extents)
    return extent, make_data(folder, extent, any_size and extent != (28, 28, 1))


# --- the table at the end

class Summary:
    """The largest differences by kind of layer: of its own parameters, or if it has none of any in networks with it."""

    COLUMNS = ("loss", "gradient", "SGD", "Adam")

    def __init__(self):
        self.rows = {}

    def add(self, network, differences):
        loss = max(difference.relative for difference in differences if difference.what == "loss")
        for layer in network.layers:
            row = self.rows.setdefault(layer.kind.title, {"layers": 0, "share": 0, **dict.fromkeys(self.COLUMNS, 0)})
            row["layers"] += 1
            row["loss"] = max(row["loss"], loss)
            own = [difference for difference in differences if difference.what.startswith(layer.name + ".")]
            for difference in own or differences:
                row["share"] = max(row["share"], difference.share)
                if difference.what != "loss":
                    row[difference.rule] = max(row[difference.rule], difference.relative)

    def print(self):
        print(f"{'kind':24}{'layers':>8}" + "".join(f"{column:>10}" for column in self.COLUMNS) + f"{'share':>8}")
        for title, row in sorted(self.rows.items()):
            numbers = "".join(f"{row[column]:10.1e}" for column in self.COLUMNS)
            print(f"{title:24}{row['layers']:8}{numbers}{row['share']:8.2f}")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("networks", type=int, nargs="?", default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--select", default="", help="variants, as warpscope train takes them")
    return parser.parse_args()


def compare(options, case, name, summary):
    """Trains `case` on both sides. Returns whether they agree, and tells what differs."""
    try:
        differences = case.differences(options)
        summary.add(case.network, differences)
        wrong = [difference.text() for difference in differences if not difference.share <= 1]
    except RuntimeError as refused:
        wrong = [str(refused)]
    if wrong:
        print(f"{name}:", *wrong, sep="\n  ")
        case.keep(options, name)
    return not wrong


def main():
    options = arguments()
    torch.set_num_threads(1)
    summary, differ, undecided = Summary(), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        kinds, any_size = kinds_of(options), takes_any_size(options, folder)
        for number in range(options.networks):
            dice = random.Random(f"{options.seed} {number}")
            extent, data = random_data(dice, folder, any_size)
            case = Case(random_network(dice, kinds, extent), data, dice.randint(2, 5), dice.randrange(1 << 40))
            if not case.decided:
                undecided += 1
            elif not compare(options, case, f"network-{options.seed}-{number}", summary):
                differ += 1
    summary.print()
    print(f"PyTorch {torch.__version__}: {options.networks} networks, {differ} differ, "
          f"{undecided} left out as undecided within rounding")
    return 1 if differ or undecided > options.networks // 4 else 0


if __name__ == "__main__":
    sys.exit(main())
