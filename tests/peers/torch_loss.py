"""PyTorch with the weights of a run finds the loss and the accuracy that the run found.

usage: torch_loss.py WARPSCOPE [DEVICE]

Trains each model for a few steps on random labelled images and exports the weights of its last checkpoint; the same
network in PyTorch, with these weights and the same test images, must give the same test loss (1e-5 relative) and
accuracy. Exit code 77 (skipped) where PyTorch or safetensors is missing.
"""
import json
import os
import struct
import subprocess
import sys
import tempfile

try:
    import numpy
    import torch
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

import torch.nn.functional as F

IMAGES = 120  # in each file


def write_cifar10(folder):
    random = numpy.random.default_rng(1)
    os.makedirs(folder)
    for name in [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]:
        count = 10000
        labels = random.integers(0, 10, (count, 1), dtype=numpy.uint8)
        # Smooth images: noise on an 8x8 grid, enlarged, and brighter for higher classes.
        small = random.integers(0, 160, (count, 3, 8, 8), dtype=numpy.uint8)
        pixels = small.repeat(4, axis=2).repeat(4, axis=3) + 9 * labels[:, :, None, None]
        numpy.hstack([labels, pixels.reshape(count, -1).astype(numpy.uint8)]).tofile(os.path.join(folder, name))
    with open(os.path.join(folder, "batches.meta.txt"), "w", encoding="utf-8") as file:
        file.write("\n".join("airplane automobile bird cat deer dog frog horse ship truck".split()) + "\n")


def write_mnist(folder):
    random = numpy.random.default_rng(2)
    os.makedirs(folder)
    for part, count in (("train", 60000), ("t10k", 10000)):
        labels = random.integers(0, 10, count, dtype=numpy.uint8)
        images = random.integers(0, 100, (count, 28, 28), dtype=numpy.uint8)
        images[numpy.arange(count), 2 * labels + 3, :] += 100
        with open(os.path.join(folder, f"{part}-images-idx3-ubyte"), "wb") as file:
            file.write(struct.pack(">IIII", 2051, count, 28, 28) + images.tobytes())
        with open(os.path.join(folder, f"{part}-labels-idx1-ubyte"), "wb") as file:
            file.write(struct.pack(">II", 2049, count) + labels.tobytes())


def cifar10_test(folder):
    data = numpy.fromfile(os.path.join(folder, "test_batch.bin"), dtype=numpy.uint8).reshape(-1, 3073)[:IMAGES]
    images = torch.tensor(data[:, 1:].reshape(-1, 3, 32, 32) / 255.0).float()
    return images, torch.tensor(data[:, 0].astype(numpy.int64))


def mnist_test(folder):
    images = numpy.fromfile(os.path.join(folder, "t10k-images-idx3-ubyte"), dtype=numpy.uint8)[16:].reshape(-1, 784)
    labels = numpy.fromfile(os.path.join(folder, "t10k-labels-idx1-ubyte"), dtype=numpy.uint8)[8:]
    return torch.tensor(images[:IMAGES] / 255.0).float(), torch.tensor(labels[:IMAGES].astype(numpy.int64))


def encode(w, x):
    x = F.max_pool2d(F.relu(F.conv2d(x, w["conv1.weight"], w["conv1.bias"], padding=1)), 2)
    return F.max_pool2d(F.relu(F.conv2d(x, w["conv2.weight"], w["conv2.bias"], padding=1)), 2)


def linear(w, name, x):
    return F.linear(x, w[name + ".weight"], w[name + ".bias"])


def autoencoder(w, x, _):
    y = encode(w, x)
    y = F.interpolate(F.relu(F.conv2d(y, w["conv3.weight"], w["conv3.bias"], padding=1)), scale_factor=2)
    y = F.interpolate(F.relu(F.conv2d(y, w["conv4.weight"], w["conv4.bias"], padding=1)), scale_factor=2)
    return F.mse_loss(F.conv2d(y, w["conv5.weight"], w["conv5.bias"], padding=1), x), None


def classified(logits, labels):
    return F.cross_entropy(logits, labels), (logits.argmax(1) == labels).float().mean().item()


def classifier(w, x, labels):
    return classified(linear(w, "fc2", F.relu(linear(w, "fc1", encode(w, x).flatten(1)))), labels)


def mlp(w, x, labels):
    return classified(linear(w, "fc3", F.relu(linear(w, "fc2", F.relu(linear(w, "fc1", x))))), labels)


def check(program, device, folder, model, network, data, test):
    run, weights = os.path.join(folder, model), os.path.join(folder, model + ".safetensors")
    subprocess.run([program, "train", "--model", model, "--data", data, "--device", device, "--precision", "fp32",
                    "--batch", "16", "--steps", "12", "--optimizer", "adam", "--test-images", str(IMAGES),
                    "--run-dir", run], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([program, "export", run, "--to", "safetensors", "--out", weights], check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(run, "run.json"), encoding="utf-8") as file:
        found = json.load(file)
    with torch.no_grad():
        loss, accuracy = network(load_file(weights), *test)
    error = abs(found["test_loss"] - loss.item()) / loss.item()
    print(f"{model}: loss {found['test_loss']:.7f}, torch {loss.item():.7f}, off by {error:.1e}; accuracy {accuracy}")
    assert error < 1e-5, model
    assert accuracy is None or abs(found["accuracy"] - accuracy) < 1.5 / IMAGES, model
    return error


def main():
    program, device = os.path.abspath(sys.argv[1]), sys.argv[2] if len(sys.argv) > 2 else "cpu"
    with tempfile.TemporaryDirectory() as folder:
        cifar10, mnist = os.path.join(folder, "cifar"), os.path.join(folder, "mnist")
        write_cifar10(cifar10)
        write_mnist(mnist)
        worst = max(check(program, device, folder, "autoencoder", autoencoder, cifar10, cifar10_test(cifar10)),
                    check(program, device, folder, "classifier", classifier, cifar10, cifar10_test(cifar10)),
                    check(program, device, folder, "mlp", mlp, mnist, mnist_test(mnist)))
    print(f"the same test loss, off by at most {worst:.1e}")


if __name__ == "__main__":
    main()
