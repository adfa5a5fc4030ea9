#!/usr/bin/env python3
"""The accuracy that a network in a file (docs/networks.md) reaches on CIFAR-10 in PyTorch, by the recipe of part
`accuracy` of tests/gpu/run.sh.

    torch_accuracy.py WARPSCOPE DATA NETWORK [--rate 0.2] [--epochs 75] [--weight-decay 0.001] [--batch 512]
                      [--warmup 5] [--mode reduce-overhead] [--device cuda:0]

DATA has CIFAR-10's binary files; NETWORK is a built-in name, a file, or the name of a file in assets/models. SGD with
Nesterov's momentum of 0.9, a cosine after the warm-up, mirrored images, shifts by up to 4 pixels with reflection, a
grey square of 8 pixels; BF16 by autocast, channels_last, everything on the device. Prints the accuracy over the test
images and the seconds of all steps. Exit code 77 if PyTorch or the device is missing.
"""
import argparse
import math
import os
import sys
import time

try:
    import torch
except ImportError:
    print("no PyTorch")
    sys.exit(77)

from torch_network_speed import Description, Network, text_of

FILES = [f"data_batch_{number}.bin" for number in range(1, 6)], ["test_batch.bin"]
SIDE, SHIFT, HOLE = 32, 4, 8


def read(folder, names, device):
    """Images (N, 3, 32, 32) from 0 to 1, and labels."""
    data = b"".join(open(os.path.join(folder, name), "rb").read() for name in names)
    records = torch.frombuffer(bytearray(data), dtype=torch.uint8).view(-1, 1 + 3 * SIDE * SIDE).to(device)
    return records[:, 1:].reshape(-1, 3, SIDE, SIDE).float() / 255, records[:, 0].long()


def augmented(images):
    """Each image mirrored, shifted and with a hole by numbers of its own."""
    count, device = len(images), images.device
    padded = torch.nn.functional.pad(images, [SHIFT] * 4, mode="reflect")
    places = torch.arange(SIDE, device=device)
    rows, columns = (torch.randint(0, 2 * SHIFT + 1, (count, 1), device=device) + places for _ in range(2))
    mirrored = torch.rand(count, 1, device=device) < 0.5
    columns = torch.where(mirrored, columns.flip(1), columns)
    moved = padded[torch.arange(count, device=device)[:, None, None], :, rows[:, :, None], columns[:, None, :]]
    tops, lefts = (torch.randint(0, SIDE, (count, 1), device=device) - HOLE // 2 for _ in range(2))
    down, across = ((places >= first) & (places < first + HOLE) for first in (tops, lefts))
    return torch.where((down[:, :, None] & across[:, None, :])[..., None], 0.5, moved).permute(0, 3, 1, 2)


def accuracy(model, images, labels):
    model.eval()
    with torch.no_grad(), torch.autocast("cuda", dtype=torch.bfloat16):
        right = sum((model(images[i:i + 1000]).flatten(1).argmax(1) == labels[i:i + 1000]).sum().item()
                    for i in range(0, len(images), 1000))
    return right / len(images)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("data")
    parser.add_argument("network")
    parser.add_argument("--rate", type=float, default=0.2)
    parser.add_argument("--epochs", type=int, default=75)
    parser.add_argument("--weight-decay", type=float, default=0.001)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--warmup", type=int, default=5, help="epochs")
    parser.add_argument("--mode", default="reduce-overhead")
    parser.add_argument("--device", default="cuda:0")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    images, labels = read(arguments.data, FILES[0], arguments.device)
    model = Network(Description(text_of(os.path.abspath(arguments.program), arguments.network)[1]))
    model = model.to(arguments.device, memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=arguments.rate, momentum=0.9, nesterov=True,
                                weight_decay=arguments.weight_decay, fused=True)

    def loss_of(batch, truth):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            logits = model(batch).flatten(1)
        return torch.nn.functional.cross_entropy(logits.float(), truth)

    compiled = loss_of if arguments.mode == "eager" else torch.compile(loss_of, mode=arguments.mode)
    steps = len(images) // arguments.batch
    total, warm = arguments.epochs * steps, arguments.warmup * steps
    torch.cuda.synchronize()
    start = step = 0
    for _ in range(arguments.epochs):
        model.train()
        order = torch.randperm(len(images), device=arguments.device)
        for first in range(0, steps * arguments.batch, arguments.batch):
            chosen = order[first:first + arguments.batch]
            turn = math.pi * (step - warm) / (total - warm)
            share = (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(turn))
            optimizer.param_groups[0]["lr"] = arguments.rate * share
            optimizer.zero_grad(set_to_none=True)
            batch = augmented(images[chosen]).contiguous(memory_format=torch.channels_last)
            compiled(batch, labels[chosen]).backward()
            optimizer.step()
            step += 1
            if step == 10:  # what comes before is compiled
                torch.cuda.synchronize()
                start = time.perf_counter()
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - start) * total / (total - 10)
    test = accuracy(model, *read(arguments.data, FILES[1], arguments.device))
    print(f"PyTorch {torch.__version__}, {arguments.network}, rate {arguments.rate}, {arguments.epochs} epochs: accuracy "
          f"{100 * test:.2f} % over 10000 images, {seconds:.1f} s of steps")
    return 0


if __name__ == "__main__":
    sys.exit(main())
