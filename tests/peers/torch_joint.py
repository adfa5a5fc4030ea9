"""PyTorch follows the same FP32 curves of a joint objective: reconstruction + L times the cross-entropy of a head.

usage: torch_joint.py WARPSCOPE [STEPS [BATCH]]

Trains the autoencoder with a linear head on its latents by SGD from the same initial weights on the same images, once
in PyTorch and once in Warpscope, and holds both losses of every step (relative difference under 1e-4) and all weights
at the end, the head's among them, against PyTorch's. Exit code 77 (skipped) where PyTorch is missing.
"""
import json
import os
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from torch_curve import Autoencoder, make_images, read_safetensors, write_safetensors  # noqa: E402

JOINT = 0.05
RATE = 0.05
TOLERANCE = 1e-4


class WithHead(Autoencoder):
    def __init__(self):
        super().__init__()
        self.head = torch.nn.Linear(8 * 8 * 128, 10)

    def forward(self, x):
        f = torch.nn.functional
        latent = f.max_pool2d(f.relu(self.conv1(x)), 2)
        latent = f.max_pool2d(f.relu(self.conv2(latent)), 2)
        y = f.interpolate(f.relu(self.conv3(latent)), scale_factor=2)
        y = f.interpolate(f.relu(self.conv4(y)), scale_factor=2)
        return self.conv5(y), self.head(latent.flatten(1))


def labels_in(folder):
    records = np.fromfile(os.path.join(folder, "data_batch_1.bin"), dtype=np.uint8).reshape(-1, 3073)
    return torch.from_numpy(records[:, 0].astype(np.int64))


def torch_curves(init, images, labels, steps, batch):
    model = WithHead()
    model.load_state_dict(init)
    optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
    curves = []
    for step in range(steps):
        part = slice(step * batch, (step + 1) * batch)
        x = torch.from_numpy(images[part]).float() / 255
        picture, logits = model(x)
        error = torch.nn.functional.mse_loss(picture, x)
        cross_entropy = torch.nn.functional.cross_entropy(logits, labels[part])
        optimizer.zero_grad()
        (error + JOINT * cross_entropy).backward()
        optimizer.step()
        curves.append((error.item(), cross_entropy.item()))
    return curves, model


def main():
    program = os.path.abspath(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    batch = int(sys.argv[3]) if len(sys.argv) > 3 else 8
    torch.manual_seed(3)
    init = {name: tensor.clone() for name, tensor in WithHead().state_dict().items()}
    with tempfile.TemporaryDirectory() as folder:
        data, run, saved = (os.path.join(folder, name) for name in ("data", "run", "end.safetensors"))
        train, _ = make_images(data)
        write_safetensors(os.path.join(folder, "init.safetensors"), init)
        expected, model = torch_curves(init, train, labels_in(data), steps, batch)
        command = [program, "train", "--data", data, "--init", os.path.join(folder, "init.safetensors"), "--no-shuffle",
                   "--joint", str(JOINT), "--steps", str(steps), "--batch", str(batch), "--optimizer", "sgd",
                   "--lr", str(RATE), "--precision", "fp32", "--device", "cpu", "--run-dir", run, "--save", saved,
                   "--test-images", "16"]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexited with {done.returncode}: {done.stderr}")
        with open(os.path.join(run, "metrics.jsonl"), encoding="utf-8") as file:
            found = [(point["loss"], point["head_loss"]) for point in map(json.loads, file) if "loss" in point]
        worst = max(abs(a - b) / abs(b) for ours, theirs in zip(found, expected) for a, b in zip(ours, theirs))
        weights = read_safetensors(saved)
        off = max(((weights[name] - tensor).norm() / tensor.norm()).item()
                  for name, tensor in model.state_dict().items())
    print(f"{len(found)} steps, largest relative difference of a loss {worst:.2e}, of a parameter {off:.2e}")
    return 0 if len(found) == steps and worst < TOLERANCE and off < TOLERANCE else 1


if __name__ == "__main__":
    sys.exit(main())
