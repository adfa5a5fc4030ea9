"""PyTorch follows the same FP32 loss curve, and reads and writes the same weights.

usage: torch_curve.py WARPSCOPE [STEPS [BATCH]]

Trains the autoencoder by SGD from the same initial weights on the same images in the same order, once in PyTorch (TF32
off) and once with each CPU and CUDA variant worth comparing, and holds the loss of every step against PyTorch's
(relative difference under 1e-4). Then loads the weights that Warpscope saved into PyTorch with no conversion and
compares the loss over the test images. Exit code 77 (skipped) where PyTorch is missing.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy as np
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-4
LEARNING_RATE = 0.1
PER_FILE = 10000


def make_images(folder, seed=7):
    """Writes CIFAR-10's binary layout, filled with smooth random images; returns (train, test) as float NCHW arrays."""
    rng = np.random.default_rng(seed)
    os.makedirs(folder)
    parts = []
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        coarse = rng.integers(0, 256, (PER_FILE, 3, 8, 8), dtype=np.uint8)
        pixels = coarse.repeat(4, axis=2).repeat(4, axis=3)
        pixels = pixels // 2 + np.roll(pixels, 2, axis=3) // 2
        records = np.empty((PER_FILE, 3073), dtype=np.uint8)
        records[:, 0] = rng.integers(0, 10, PER_FILE, dtype=np.uint8)
        records[:, 1:] = pixels.reshape(PER_FILE, 3072)
        records.tofile(os.path.join(folder, name))
        parts.append(pixels)
    return parts[0], parts[5]


class Autoencoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        conv = lambda a, b: torch.nn.Conv2d(a, b, 3, padding=1)
        self.conv1, self.conv2, self.conv3 = conv(3, 256), conv(256, 128), conv(128, 128)
        self.conv4, self.conv5 = conv(128, 256), conv(256, 3)

    def forward(self, x):
        f = torch.nn.functional
        x = f.max_pool2d(f.relu(self.conv1(x)), 2)
        x = f.max_pool2d(f.relu(self.conv2(x)), 2)
        x = f.interpolate(f.relu(self.conv3(x)), scale_factor=2)
        x = f.interpolate(f.relu(self.conv4(x)), scale_factor=2)
        return self.conv5(x)


def write_safetensors(path, state):
    header, blobs, offset = {}, [], 0
    for name, tensor in state.items():
        kind, numbers = ("F32", "<f4") if tensor.is_floating_point() else ("I64", "<i8")
        data = tensor.detach().cpu().contiguous().numpy().astype(numbers).tobytes()
        header[name] = {"dtype": kind, "shape": list(tensor.shape), "data_offsets": [offset, offset + len(data)]}
        blobs.append(data)
        offset += len(data)
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def read_safetensors(path):
    with open(path, "rb") as file:
        length, = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    state = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        state[name] = torch.from_numpy(np.frombuffer(data[begin:end], "<f4").reshape(entry["shape"]).copy())
    return state


def torch_curve(init, images, steps, batch, device):
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    model = Autoencoder().to(device)
    model.load_state_dict(init)
    optimizer = torch.optim.SGD(model.parameters(), lr=LEARNING_RATE)
    losses = []
    for step in range(steps):
        x = torch.from_numpy(images[step * batch:(step + 1) * batch]).to(device).float() / 255
        loss = torch.nn.functional.mse_loss(model(x), x)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses, model


def run_warpscope(program, data, init, run_dir, save, steps, batch, device, select):
    command = [program, "train", "--data", data, "--init", init, "--no-shuffle", "--steps", str(steps), "--batch",
               str(batch), "--optimizer", "sgd", "--lr", str(LEARNING_RATE), "--precision", "fp32",
               "--device", device, "--select", select, "--run-dir", run_dir, "--save", save, "--test-images", "64"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(command)}\nexited with {done.returncode}: {done.stderr}")
    with open(os.path.join(run_dir, "metrics.jsonl")) as file:
        points = [json.loads(line) for line in file]
    with open(os.path.join(run_dir, "run.json")) as file:
        run = json.load(file)
    return [point["loss"] for point in points if "loss" in point], run


def main():
    program = os.path.abspath(sys.argv[1])
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 50
    batch = int(sys.argv[3]) if len(sys.argv) > 3 else 16
    gpu = torch.cuda.is_available()
    selections = [("cpu", "all=onednn")]
    if gpu:
        selections += [("cuda:0", "preset=" + name) for name in ("naive", "atomic", "tiled", "implicit_gemm", "cudnn")]
    torch.manual_seed(3)
    init = {name: tensor.clone() for name, tensor in Autoencoder().state_dict().items()}
    failures, worst_of_all = 0, 0.0
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "data")
        train, test = make_images(data)
        init_file = os.path.join(folder, "init.safetensors")
        write_safetensors(init_file, init)
        reference, _ = torch_curve(init, train, steps, batch, "cuda" if gpu else "cpu")
        print(f"PyTorch {torch.__version__}: loss {reference[0]:.6f} -> {reference[-1]:.6f} in {steps} steps, batch "
              f"{batch}")
        for device, select in selections:
            run_dir = os.path.join(folder, f"run-{device}-{select}".replace(":", "-").replace("=", "-"))
            save = os.path.join(run_dir + ".safetensors")
            losses, run = run_warpscope(program, data, init_file, run_dir, save, steps, batch, device, select)
            worst = max(abs(a - b) / abs(b) for a, b in zip(losses, reference))
            worst_of_all = max(worst_of_all, worst)
            curve_good = len(losses) == steps and worst < TOLERANCE
            model = Autoencoder()
            model.load_state_dict(read_safetensors(save))
            with torch.no_grad():
                x = torch.from_numpy(test[:64]).float() / 255
                loss = torch.nn.functional.mse_loss(model(x), x).item()
            off = abs(loss - run["test_loss"]) / loss
            weights_good = off < 1e-5
            failures += (not curve_good) + (not weights_good)
            print(f"{device} {select}: {len(losses)} steps, largest relative difference {worst:.2e} "
                  f"({'ok' if curve_good else 'TOO LARGE'}); saved weights in PyTorch: test loss {loss:.8f}, "
                  f"Warpscope {run['test_loss']:.8f} ({'ok' if weights_good else 'DIFFERENT'})")
    print(f"within {worst_of_all:.1e} of PyTorch {torch.__version__} (limit {TOLERANCE:g})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
