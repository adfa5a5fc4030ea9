#!/usr/bin/env python3
"""What training on 8 to 16,384 GPUs would cost: a model, fitted to the measured rows of docs/measurements/ranks.csv.

    ranks_model.py [--csv docs/measurements/ranks_model.csv] [--variant p2p_two_shot] [--parameters 751875]
                   [--link 450] [--network 50] [--network-us 10] [--host 8] [--buckets 16]

A message of n bytes takes alpha + n / beta. An all-reduce of S bytes over N ranks takes, by a ring,
2 (N - 1) alpha + 2 (N - 1) / N S / beta; by a tree, 2 log2(N) alpha + 2 (N - 1) / N S / beta; where all reach each
other's memory, as p2p_two_shot does, 2 alpha + 2 (N - 1) / N S / beta. Beyond one host each GPU sums a share of the
gradients within its host, then that share over all hosts, by ring or tree, and gathers all shares within the host. With
overlap the gradients are sent in buckets while the backward pass goes on, which is taken to be two thirds of a step and
to finish them evenly; each bucket pays alpha. The batch of a GPU stays as it is (weak scaling), and times grow with it.

Fitted: the time of a step on one GPU, the alpha within a host (from the sums of two GPUs at --link), and what two GPUs
take besides. Assumed: --link and --network in GB/s for each GPU and direction; --network-us, the alpha between hosts.
Left out: ranks that are slower than others, whose number grows with N, networks that are shared, reading of data, and
whether a network still learns from batches so large.
"""
import argparse
import csv
import math
import os
import pathlib
import sys

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), os.pardir, "support"))
import measurements  # noqa: E402

MEASURED = measurements.REPOSITORY / "docs/measurements/ranks.csv"
SIZES = (8, 64, 512, 4096, 16384)
BACKWARD = 2 / 3
LOST = 0.05  # of the images/s: a way is good enough that loses no more


def fitted(path, variant):
    """(images of a GPU, us of its step by itself, us of the sums of two, us that a step of two takes besides)"""
    with open(path, encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    what = next(name for name in rows[0] if name not in (*measurements.ORIGIN, "batch", "images/s"))
    one = next(row for row in rows if row[what] == "one GPU")
    batch = int(one["batch"])
    two = next(row for row in rows if row[what] == f"`{variant}`" and int(row["batch"]) == 2 * batch)
    own, sums = 1e6 * batch / float(one["images/s"]), float(two["us a step in sums"])
    return batch, own, sums, max(0.0, 1e6 * 2 * batch / float(two["images/s"]) - own - sums)


class Machines:
    def __init__(self, options, sums):
        self.host, self.link, self.network = options.host, 1e3 * options.link, 1e3 * options.network  # bytes/us
        self.far, self.direct = options.network_us, options.variant == "p2p_two_shot"
        # Two ranks: 2 alpha + S / beta.
        self.near = max(0.0, sums - 4 * options.parameters / self.link) / 2

    def all_reduce(self, size, ranks, tree):
        """Microseconds for so many bytes."""
        near, hosts = min(ranks, self.host), math.ceil(ranks / self.host)

        def messages(count):
            return math.log2(count) if tree else count - 1
        within = 1 if self.direct else messages(near)
        time = 2 * within * self.near + 2 * (near - 1) / near * size / self.link
        return time + 2 * messages(hosts) * self.far + 2 * (hosts - 1) / hosts * size / near / self.network

    def exposed(self, size, ranks, tree, own, buckets):
        """What the step is longer by if the sum of each bucket begins once it is there and those before are done."""
        backward, end = BACKWARD * own, 0.0
        each = self.all_reduce(size / buckets, ranks, tree)
        for bucket in range(buckets):
            end = max(end, backward * (bucket + 1) / buckets) + each
        return end - backward


def good_batch(batch, own, lost):
    """Images of a GPU, a power of two times as many as now, of which no more than LOST is lost to `lost` us."""
    while own / (own + lost) < 1 - LOST:
        batch, own = 2 * batch, 2 * own
    return batch


def row_of(machines, size, ranks, fit, most_buckets):
    batch, own, _, rest = fit
    plain = {tree: rest + machines.all_reduce(size, ranks, tree) for tree in (False, True)}
    overlapped = {(tree, buckets): rest + machines.exposed(size, ranks, tree, own, buckets)
                  for tree in (False, True) for buckets in range(1, most_buckets + 1)}
    best = min(overlapped, key=overlapped.get)

    def share(lost):
        return f"{100 * own / (own + lost):.1f} %"
    enough = (1 / (1 - LOST) - 1) * own
    changes = []
    if plain[False] > enough and (plain[True] <= enough or best[0]):
        changes.append("a tree between hosts")
    if min(plain.values()) > enough:
        changes.append("overlap")
    if overlapped[best] > enough:
        changes.append(f"{good_batch(batch, own, overlapped[best]):,} images a GPU and step")
    return {"GPUs, modelled": str(ranks), "ring": share(plain[False]), "tree": share(plain[True]),
            "overlap": share(overlapped[best]), "buckets": str(best[1]),
            "M images/s with it": f"{float(f'{ranks * batch / (own + overlapped[best]):.3g}'):g}",
            f"what has to change for {100 * (1 - LOST):.0f} %": ", ".join(changes) or "nothing"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--variant", default="p2p_two_shot", help="the rows of two GPUs that it is fitted to")
    parser.add_argument("--parameters", type=int, default=751875, help="of the network: the autoencoder")
    parser.add_argument("--link", type=float, default=450, help="GB/s within a host")
    parser.add_argument("--network", type=float, default=50, help="GB/s between hosts, for each GPU")
    parser.add_argument("--network-us", type=float, default=10, help="alpha between hosts")
    parser.add_argument("--host", type=int, default=8, help="GPUs of a host")
    parser.add_argument("--buckets", type=int, default=16, help="most of them")
    parser.add_argument("--measured", type=pathlib.Path, default=MEASURED)
    measurements.add_option(parser)
    options = parser.parse_args()
    fit = fitted(options.measured, options.variant)
    machines = Machines(options, fit[2])
    print(f"fitted: {fit[1]:.0f} us a step on one GPU, {fit[2]:.0f} us in sums on two "
          f"({machines.near:.1f} us a message), {fit[3]:.0f} us besides")
    rows = [row_of(machines, 4 * options.parameters, ranks, fit, options.buckets) for ranks in SIZES]
    for row in rows:
        print(", ".join(f"{name}: {cell}" for name, cell in row.items()))
    os.environ.setdefault("MACHINE", "a model of H100s, fitted to 1 and 2")
    measurements.write(options.csv, ("GPUs, modelled",), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
