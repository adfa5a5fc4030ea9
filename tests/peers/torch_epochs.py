"""After twenty epochs the test loss is no worse than PyTorch's in the same precision.

usage: torch_epochs.py WARPSCOPE DATA [--device cuda:0] [--epochs 20] [--precisions bf16,fp16,tf32,fp32] [--rate 0.0005]
                       [--inits 2] [--first-init 1] [--json FILE] [--csv docs/measurements/twenty_epochs.csv]

DATA is a folder with cifar-10-batches-bin. Both train the autoencoder from the same initial weights with Adam (rate
0.0005, batch 256, one epoch of warm-up, then the rate falls to zero along half a cosine, no clipping) on the same
images in the same order; PyTorch runs eagerly under autocast (FP16 with its gradient scaler), Warpscope its default
selection. In FP32 the losses of the first 50 steps must agree to 1e-4; some steps later rounding by itself makes the
runs part, so all of it is done from several initial weights and orders, and the means are compared. Prints the test
losses (mean squared error over the 10,000 test images), each pair as it ends; the exit code is the number of precisions
in which the mean of Warpscope's is more than 2 % above that of PyTorch's, or which do not begin alike. 77 if PyTorch or
the device is missing.
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

try:
    import numpy as np
    import torch

    from torch_curve import Autoencoder, write_safetensors
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import measurements  # noqa: E402

BATCH, TOLERANCE = 256, 0.02
TOGETHER, TOLERANCE_TOGETHER = 50, 1e-4
WARM_UP_EPOCHS, WARM_UP_START = 1, 0.01


def random_bits(seed, counter):
    """gpu/core/random.h, for an array of counters."""
    golden = np.uint64(0x9E3779B97F4A7C15)

    def mix(z):
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    with np.errstate(over="ignore"):
        return mix(mix(seed + golden) + (counter + np.uint64(1)) * golden)


def epoch_orders(count, seed, epochs):
    """The permutation of each epoch, as in gpu/engine/data_order.h."""
    counters = np.arange(count + 1, dtype=np.uint64)
    for epoch in range(epochs):
        draws = random_bits(random_bits(np.uint64(seed), np.uint64(epoch)), counters)
        places = (draws[2:] % counters[2:]).tolist()
        order = list(range(count))
        for i in range(count, 1, -1):
            j = places[i - 2]
            order[i - 1], order[j] = order[j], order[i - 1]
        yield order


def read_images(folder, names, device):
    records = np.concatenate([np.fromfile(os.path.join(folder, name), np.uint8).reshape(-1, 3073) for name in names])
    images = torch.from_numpy(records[:, 1:].reshape(-1, 3, 32, 32).copy())
    return images.to(device).to(memory_format=torch.channels_last)


class Peer:
    def __init__(self, init, precision, device, rate):
        self.rate = rate
        self.first_losses = []
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        torch.backends.cudnn.benchmark = True
        self.kind = device.split(":")[0]
        self.half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision)
        self.model = Autoencoder().to(device, memory_format=torch.channels_last)
        self.model.load_state_dict(init)
        fused = {"fused": True} if self.kind == "cuda" else {}
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=rate, **fused)
        self.scaler = torch.amp.GradScaler(enabled=precision == "fp16" and self.kind == "cuda")

    def loss(self, images):
        x = images.float() / 255
        with torch.autocast(self.kind, dtype=self.half, enabled=self.half is not None):
            y = self.model(x)
        return torch.nn.functional.mse_loss(y.float(), x)

    def train(self, images, epochs, seed):
        steps = len(images) // BATCH
        for epoch, order in enumerate(epoch_orders(len(images), seed, epochs)):
            order = torch.tensor(order, device=images.device)
            for step in range(steps):
                self.optimizer.param_groups[0]["lr"] = rate_at(self.rate, epoch + step / steps, epochs)
                loss = self.loss(images[order[step * BATCH:(step + 1) * BATCH]])
                if len(self.first_losses) < TOGETHER:
                    self.first_losses.append(loss.item())
                self.optimizer.zero_grad(set_to_none=True)
                self.scaler.scale(loss).backward()
                self.scaler.step(self.optimizer)
                self.scaler.update()

    @torch.no_grad()
    def test(self, images):
        return sum(self.loss(part).item() * len(part) for part in images.split(1000)) / len(images)


def rate_at(rate, epoch, epochs):
    if epoch < WARM_UP_EPOCHS:
        return rate * (WARM_UP_START + (1 - WARM_UP_START) * epoch / WARM_UP_EPOCHS)
    return rate * (1 + math.cos(math.pi * (epoch - WARM_UP_EPOCHS) / (epochs - WARM_UP_EPOCHS))) / 2


def run_warpscope(arguments, precision, init_file, seed, folder):
    run = os.path.join(folder, f"{precision}-{seed}")
    command = [arguments.program, "train", "--data", arguments.data, "--device", arguments.device,
               "--precision", precision, "--init", init_file, "--optimizer", "adam", "--lr", str(arguments.rate),
               "--batch", str(BATCH), "--schedule", f"cosine:warmup={WARM_UP_EPOCHS}", "--clip-norm", "0",
               "--epochs", str(arguments.epochs), "--seed", str(seed), "--run-dir", run]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexited with {done.returncode}: {done.stderr}")
    with open(os.path.join(run, "metrics.jsonl")) as file:
        points = [json.loads(line) for line in file]
    steps = [p for p in points if "loss" in p]
    tests = [p["test_loss"] for p in points if "test_loss" in p]
    return tests[-1], steps[-1]["seconds"], [p["loss"] for p in steps[:TOGETHER]]


def table_row(found):
    ratio = statistics.mean(found["warpscope"]) / statistics.mean(found["torch"])
    return {"precision": found["precision"], "pairs of runs": str(len(found["torch"])),
            "Warpscope's test MSE, means, against PyTorch's": f"{100 * (ratio - 1):+.2f} %",
            "seconds of steps": f"{statistics.mean(found['seconds']):.1f}",
            "PyTorch": f"{statistics.mean(found['torch_seconds']):.1f}"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("data")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--precisions", default="bf16,fp16,tf32,fp32")
    parser.add_argument("--rate", type=float, default=0.0005)
    parser.add_argument("--inits", type=int, default=2)
    parser.add_argument("--first-init", type=int, default=1)
    parser.add_argument("--json", default="")
    measurements.add_option(parser)
    arguments = parser.parse_args()
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    batches = os.path.join(arguments.data, "cifar-10-batches-bin")
    train = read_images(batches, [f"data_batch_{i}.bin" for i in range(1, 6)], arguments.device)
    test = read_images(batches, ["test_batch.bin"], arguments.device)
    results, worse = [], 0
    with tempfile.TemporaryDirectory() as folder:
        for precision in arguments.precisions.split(","):
            found = {"precision": precision, "rate": arguments.rate, "warpscope": [], "seconds": [], "torch": [],
                     "torch_seconds": [], "apart": []}
            for seed in range(arguments.first_init, arguments.first_init + arguments.inits):
                torch.manual_seed(seed)
                init = {name: tensor.clone() for name, tensor in Autoencoder().state_dict().items()}
                init_file = os.path.join(folder, f"init-{seed}.safetensors")
                write_safetensors(init_file, init)
                peer = Peer(init, precision, arguments.device, arguments.rate)
                start = time.perf_counter()
                peer.train(train, arguments.epochs, seed)
                found["torch"].append(peer.test(test))
                found["torch_seconds"].append(time.perf_counter() - start)
                ours, seconds, first = run_warpscope(arguments, precision, init_file, seed, folder)
                found["apart"].append(max(abs(a / b - 1) for a, b in zip(first, peer.first_losses)))
                found["warpscope"].append(ours)
                found["seconds"].append(seconds)
                print(f"      {precision}, initial weights {seed}: {ours:.6f}, PyTorch {found['torch'][-1]:.6f}",
                      flush=True)
            ratio = statistics.mean(found["warpscope"]) / statistics.mean(found["torch"])
            apart = max(found["apart"])
            good = ratio <= 1 + TOLERANCE and (precision != "fp32" or apart <= TOLERANCE_TOGETHER)
            worse += not good
            each = {name: " ".join(f"{loss:.6f}" for loss in found[name]) for name in ("warpscope", "torch")}
            print(f"{'ok   ' if good else 'WORSE'} {precision}: test loss {each['warpscope']} in "
                  f"{statistics.mean(found['seconds']):.1f} s, "
                  f"PyTorch {each['torch']} in {statistics.mean(found['torch_seconds']):.1f} s, "
                  f"{100 * (ratio - 1):+.2f} %; "
                  f"{TOGETHER} steps within {apart:.1e}", flush=True)
            results.append(found)
            measurements.write(arguments.csv, ("precision",), [table_row(found)], arguments.device)
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)
    return worse


if __name__ == "__main__":
    sys.exit(main())
