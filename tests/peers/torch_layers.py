"""Random networks of layers: each as a file for Warpscope (gpu/models/model_file.h) and as a module of PyTorch.

KINDS has a row for each kind of layers: what is drawn for it, and the module that does the same. Modules take and make
NCHW like the images; linear layers leave a height and a width of 1. A new kind is a row, and a class where PyTorch's
own module wants another shape. Imported by torch_networks.py, which has found out that PyTorch is there.
"""
import math
import typing

import torch

SAME_AT_MOST = 1e-12  # numbers in double precision that are equal but for rounding, in units of their size


ROUNDING = 2.0 ** -24  # the most that one rounding in FP32 is, relative to a number


# --- modules

class Disturbed(torch.autograd.Function):
    """Numbers and their gradients with what rounding in FP32 may add: noise of `size`, relative to the tensor's root
    mean square. What is zero, as behind ReLU, stays so."""

    @staticmethod
    def forward(ctx, x, size):
        ctx.size = size
        return disturb(x, size)

    @staticmethod
    def backward(ctx, gradient):
        return disturb(gradient, ctx.size), None


def disturb(x, size):
    return x + size * x.pow(2).mean().sqrt() * torch.randn_like(x) * (x != 0)


class Kinked(torch.nn.Module):
    """Its derivative jumps somewhere. `margin`: how near to such a place it was evaluated in double precision, in units
    of the size of its input's numbers. What lies there exactly, like zeros made by ReLU, does so on both sides."""

    margin = float("inf")

    def note(self, distance, x):
        if x.dtype == torch.float64:
            distance = distance.detach() / x.detach().pow(2).mean().sqrt().clamp_min(1e-30)
            distance = distance[distance > SAME_AT_MOST]
            if distance.numel() > 0:
                self.margin = min(self.margin, distance.min().item())


class ReLU(Kinked):
    def forward(self, x):
        self.note(x.abs(), x)
        return torch.relu(x)


class MaxPool(Kinked):
    def __init__(self, height, width):
        super().__init__()
        self.window = (height, width)

    def forward(self, x):
        height, width = self.window
        best = x.unfold(2, height, height).unfold(3, width, width).flatten(4).topk(2).values
        self.note(best[..., 0] - best[..., 1], x)
        return torch.nn.functional.max_pool2d(x, self.window)


class Linear(torch.nn.Linear):
    def forward(self, x):
        return super().forward(x.flatten(1))[:, :, None, None]


class Conv1d(torch.nn.Conv1d):
    def forward(self, x):
        return super().forward(x.squeeze(2)).unsqueeze(2)


class LayerNorm(torch.nn.LayerNorm):
    """Over the channels of each position."""

    def forward(self, x):
        return super().forward(x.movedim(1, 3)).movedim(3, 1)


def symbols_of(x, most):
    """The bytes of which the input holds the 255th parts; 0 for those above `most`."""
    symbols = (255 * x[:, 0]).round().long()
    return symbols * (symbols <= most)


class OneHot(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.classes = classes

    def forward(self, x):
        symbols = symbols_of(x, self.classes)
        return torch.nn.functional.one_hot(symbols, self.classes + 1)[..., 1:].to(x.dtype).movedim(3, 1)


class Embedding(torch.nn.Embedding):
    def forward(self, x):
        return super().forward(symbols_of(x, self.num_embeddings - 1)).movedim(3, 1)


class Scale(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return self.factor * x


class Add(torch.nn.Module):
    """The network gives it what its layer `from` made."""

    def __init__(self, source):
        super().__init__()
        self.source = source

    def forward(self, x, added):
        return x + added


# --- what is drawn: the fields of a layer in the file, some without those that have their default; None where it cannot
# stand

class Place(typing.NamedTuple):
    """Where a layer is to stand."""
    dice: typing.Any
    extent: tuple  # of what comes before: height, width, channels
    earlier: dict  # the extents of all layers before by their names


def draw_channels(place):
    fields = {"channels": place.dice.randint(1, 8)}
    if place.dice.random() < 0.3:
        fields["bias"] = False
    return fields


def draw_kernel(place, fields):
    kernel = place.dice.choice([1, 3, 3, 5, 5, 7, 9, 11, 13, 15])
    if kernel != 3:
        fields["kernel"] = kernel
    return fields


def draw_conv2d(place):
    return draw_kernel(place, draw_channels(place))


def draw_steps(place, height):
    """Stride, dilation and padding; a kernel without padding reaches over no more than the image."""
    fields = draw_kernel(place, draw_channels(place))
    fields["stride"] = place.dice.randint(1, 2)
    fields["dilation"] = place.dice.randint(1, 3)
    fields["padding"] = place.dice.choice(["same", "valid"])
    reach = fields["dilation"] * (fields.get("kernel", 3) - 1) + 1
    extent = place.extent[:2] if height > 1 else place.extent[1:2]
    return None if fields["padding"] == "valid" and reach > min(extent) else fields


def draw_conv1d(place):
    return draw_steps(place, 1) if place.extent[0] == 1 else None


def draw_linear(place):
    fields = draw_channels(place)
    fields["features"] = fields.pop("channels") + place.dice.randint(0, 12)
    return fields


def draw_window(place):
    window = place.dice.choice([2, 3])
    return {"window": window} if min(place.extent[:2]) >= window else None


def draw_window1d(place):
    window = place.dice.choice([2, 3])
    return {"window": window} if place.extent[0] == 1 and place.extent[1] >= window else None


def draw_add(place):
    fitting = [name for name, extent in place.earlier.items() if extent == place.extent]
    return {"from": place.dice.choice(fitting)} if fitting else None


def draw_batch_norm(place):
    # Where there are few numbers all are +-1 but for epsilon, whatever comes in: nothing to compare but rounding.
    return {} if place.extent[0] * place.extent[1] >= 4 else None


def draw_symbols(place):
    """Layers that read the bytes of the input stand first."""
    return None if place.earlier or place.extent[2] != 1 else {"classes": place.dice.randint(100, 255)}


def draw_embedding(place):
    fields = draw_symbols(place)
    return fields and {"channels": place.dice.randint(1, 8), **fields}


# --- modules of what was drawn

def steps_of(fields):
    kernel, dilation = fields.get("kernel", 3), fields.get("dilation", 1)
    padding = 0 if fields.get("padding") == "valid" else dilation * (kernel - 1) // 2
    return {"kernel_size": kernel, "stride": fields.get("stride", 1), "dilation": dilation, "padding": padding,
            "bias": fields.get("bias", True)}


def make_conv2d(fields, extent):
    return torch.nn.Conv2d(extent[2], fields["channels"], **steps_of(fields))


def make_linear(fields, extent):
    return Linear(extent[0] * extent[1] * extent[2], fields["features"], bias=fields.get("bias", True))


def positions(extent, batch):
    return batch * extent[0] * extent[1]


class Kind(typing.NamedTuple):
    title: str  # for people
    type: str   # in files
    draw: typing.Callable    # Place -> fields
    module: typing.Callable  # fields, extent of the input -> module
    # How the name begins that the program gives such a layer, before its number; "": files always name it.
    prefix: str = ""
    terms: typing.Callable = lambda extent, batch: 0  # of its sums, if it has no weights; 0: it does not round
    probe: tuple = (12, 12, 2)  # images on which one is tried, to find out whether the program has the kind
    first: bool = False  # it stands only first


KINDS = [
    Kind("conv2d", "conv2d", draw_conv2d, make_conv2d, "conv"),
    Kind("linear", "linear", draw_linear, make_linear, "fc"),
    Kind("relu", "relu", lambda place: {}, lambda fields, extent: ReLU(), "relu"),
    Kind("maxpool2d", "maxpool2d", lambda place: {} if min(place.extent[:2]) >= 2 else None,
         lambda fields, extent: MaxPool(2, 2), "pool"),
    Kind("upsample2d", "upsample2d", lambda place: {},
         lambda fields, extent: torch.nn.Upsample(scale_factor=2), "up"),
    Kind("add", "add", draw_add, lambda fields, extent: Add(fields["from"]), "add", lambda extent, batch: 1),
    Kind("conv2d with steps", "conv2d", lambda place: draw_steps(place, 2), make_conv2d, "conv"),
    Kind("conv1d", "conv1d", draw_conv1d,
         lambda fields, extent: Conv1d(extent[2], fields["channels"], **steps_of(fields)), "conv",
         probe=(1, 48, 2)),
    Kind("maxpool2d with window", "maxpool2d", draw_window,
         lambda fields, extent: MaxPool(fields["window"], fields["window"]), "pool"),
    Kind("maxpool1d", "maxpool1d", draw_window1d,
         lambda fields, extent: MaxPool(1, fields["window"]), "pool", probe=(1, 48, 2)),
    Kind("gelu", "gelu", lambda place: {}, lambda fields, extent: torch.nn.GELU(), "gelu",
         lambda extent, batch: 4),
    Kind("global_average_pool", "global_average_pool", lambda place: {},
         lambda fields, extent: torch.nn.AdaptiveAvgPool2d(1), "average", lambda extent, batch: extent[0] * extent[1]),
    Kind("layer_norm", "layer_norm", lambda place: {} if place.extent[2] >= 3 else None,
         lambda fields, extent: LayerNorm(extent[2]), "ln",
         lambda extent, batch: max(extent[2], positions(extent, batch)), probe=(12, 12, 4)),
    Kind("batch_norm", "batch_norm", draw_batch_norm, lambda fields, extent: torch.nn.BatchNorm2d(extent[2]), "bn",
         lambda extent, batch: positions(extent, batch)),
    # Factors that FP32 has.
    Kind("scale", "scale", lambda place: {"factor": place.dice.choice([0.125, -0.5, 0.75, 1.5])},
         lambda fields, extent: Scale(fields["factor"]), "scale", lambda extent, batch: 1),
    # Its random numbers are nobody else's: what is compared is that nothing is dropped.
    Kind("dropout of nothing", "dropout", lambda place: {"rate": 0.0},
         lambda fields, extent: torch.nn.Identity(), "drop"),
    Kind("one_hot", "one_hot", draw_symbols, lambda fields, extent: OneHot(fields["classes"]), "onehot",
         probe=(12, 12, 1), first=True),
    Kind("embedding", "embedding", draw_embedding,
         lambda fields, extent: Embedding(fields["classes"] + 1, fields["channels"]), "emb", probe=(12, 12, 1),
         first=True),
]
CONV2D, LINEAR, RELU, MAXPOOL2D, UPSAMPLE2D = KINDS[:5]


# --- networks

class Layer(typing.NamedTuple):
    name: str
    named: bool  # in the file
    kind: Kind
    fields: dict
    input: tuple   # extent
    output: tuple  # extent


def in_toml(value):
    if isinstance(value, bool):
        return "true" if value else "false"
    return f'"{value}"' if isinstance(value, str) else str(value)


def extent_after(kind, fields, extent):
    if kind.type == "add":
        return extent
    with torch.no_grad():
        made = kind.module(fields, extent).eval()(torch.zeros(1, extent[2], extent[0], extent[1]))
    return (*made.shape[2:], made.shape[1])


class Network:
    """A description that grows layer by layer."""

    def __init__(self, extent, classes):
        self.input = extent
        self.classes = classes  # 0: reconstructs its input
        self.layers = []

    @property
    def extent(self):
        return self.layers[-1].output if self.layers else self.input

    def place(self, dice):
        return Place(dice, self.extent, {layer.name: layer.output for layer in self.layers})

    def append(self, kind, fields, named=True):
        number = 1 + sum(layer.kind.prefix == kind.prefix for layer in self.layers)
        named = named or not kind.prefix
        name = f"{kind.type}-{len(self.layers) + 1}" if named else f"{kind.prefix}{number}"
        self.layers.append(Layer(name, named, kind, fields, self.extent, extent_after(kind, fields, self.extent)))

    def text(self):
        lines = [f"input = {list(self.input)}", f'loss = "{"cross_entropy" if self.classes else "mse"}"']
        if self.classes:
            lines.append(f"classes = {self.classes}")
        lines.append("layers = [")
        for layer in self.layers:
            fields = {"type": layer.kind.type, "name": layer.name, **layer.fields}
            if not layer.named:
                del fields["name"]
            lines.append("  {" + ", ".join(f"{key} = {in_toml(value)}" for key, value in fields.items()) + "},")
        return "\n".join(lines + ["]", ""])


class Module(torch.nn.Module):
    """The network in PyTorch; parameters are called "conv1.weight" as in Warpscope's files."""

    def __init__(self, network):
        super().__init__()
        self.layers = network.layers
        self.disturbed = False  # its numbers are given what rounding in FP32 may add
        for layer in network.layers:
            self.add_module(layer.name, layer.kind.module(layer.fields, layer.input))

    def forward(self, x):
        made = {}
        x = self.rounded(x, 1)
        for layer in self.layers:
            module, batch = getattr(self, layer.name), len(x)
            terms = layer.kind.terms(layer.input, batch)
            x = self.rounded(x, terms)  # means and normalizations form sums of what comes in
            x = module(x, made[module.source]) if isinstance(module, Add) else module(x)
            for value in module.parameters():
                if value.dim() > 1:  # of an output, of a weight's gradient
                    terms = max(value[0].numel(), positions(layer.output, batch))
            made[layer.name] = x = self.rounded(x, terms)
        return x

    def rounded(self, x, terms):
        """The roundings in a sum of so many terms, at random, add up to about the root of their number."""
        return Disturbed.apply(x, ROUNDING * math.sqrt(terms)) if self.disturbed and terms > 0 else x

    def margin(self):
        return min((module.margin for module in self.modules() if isinstance(module, Kinked)), default=float("inf"))


def probe_of(kind, dice):
    """A small network with a layer of `kind`."""
    network = Network(kind.probe, 10)
    if not kind.first:
        network.append(RELU, {})
    fields = None
    while fields is None:
        fields = kind.draw(network.place(dice))
    network.append(kind, fields)
    network.append(LINEAR, {"features": 10})
    return network


# --- at random

# Numbers that a network makes of an image. The more there are the nearer some come to a kink (Kinked).
MOST_NUMBERS = 9000
TRIES = 60  # to put a layer somewhere


def can_reconstruct(network):
    """Doublings lead from here to the size of the input."""
    (height, width, _), (full_height, full_width, _) = network.extent, network.input
    times = full_height // height
    return (height * times, width * times) == (full_height, full_width) and times & (times - 1) == 0


def grow(network, kind, dice):
    """Puts a layer behind the others, if it may stand there."""
    fields = kind.draw(network.place(dice))
    if fields is None:
        return
    network.append(kind, fields, named=dice.random() < 0.5)
    height, width, _ = network.extent
    small = height <= network.input[0] and width <= network.input[1]
    if not small or not (network.classes or can_reconstruct(network)):
        network.layers.pop()


def finish(network, dice):
    if network.classes:
        network.append(LINEAR, {"features": network.classes}, named=False)
        return
    while network.extent[:2] != network.input[:2]:
        fields = draw_kernel(network.place(dice), {"channels": dice.randint(1, 4)})
        network.append(CONV2D, fields, named=False)
        if dice.random() < 0.5:
            network.append(RELU, {}, named=False)
        network.append(UPSAMPLE2D, {}, named=False)
    fields = {**draw_conv2d(network.place(dice)), "channels": network.input[2]}
    network.append(CONV2D, fields, named=False)


def random_network(dice, kinds, extent):
    """A network of layers of `kinds`, on images of `extent`."""
    while True:
        network = Network(extent, dice.choice([0, dice.randint(10, 14)]))
        firsts = [kind for kind in kinds if kind.first]
        if firsts and dice.random() < 0.3:
            grow(network, dice.choice(firsts), dice)
        for _ in range(dice.randint(0, 2)):
            grow(network, MAXPOOL2D, dice)
        wanted = len(network.layers) + dice.randint(2, 9)
        for _ in range(TRIES):
            if len(network.layers) < wanted:
                grow(network, dice.choice(kinds), dice)
        finish(network, dice)
        if sum(math.prod(layer.output) for layer in network.layers) <= MOST_NUMBERS:
            return network
