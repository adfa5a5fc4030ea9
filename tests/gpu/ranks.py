#!/usr/bin/env python3
"""How training on two GPUs compares with one, and gradients added in each way; PyTorch's DDP beside it; and inference.

    ranks.py WARPSCOPE [--gpus 2] [--model autoencoder] [--precision bf16] [--batch 1024] [--steps 3000] [--peer]
             [--json FILE] [--variants nccl_plain,nccl] [--weak]
    ranks.py WARPSCOPE --infer [--gpus 2] [--model char_cnn_ln] [--precision fp16] [--batch 1024] [--texts 524288]

One GPU at --batch; then all with that batch for each (weak scaling) and with that batch together (strong scaling), by each
variant of gradients.allreduce. Efficiency: images/s over those of as many single GPUs (weak), or over the number of GPUs
times those of one at the same whole batch (strong). --peer: PyTorch's DistributedDataParallel of the autoencoder, compiled,
in the same run. --infer: texts/s from host to host on one GPU and on all, in turns, the median of five each, and whether
both give the same answers, byte for byte. Exit code 1 if a training or an inference failed, or answers differ.
"""
import argparse
import filecmp
import json
import os
import random
import re
import statistics
import subprocess
import sys
import tempfile

VARIANTS = ("host_mpi", "nccl_plain", "nccl", "p2p_two_shot", "p2p_buckets")

PEER = """
import os, sys, time, torch
import torch.distributed as dist
sys.path.append({peers!r})
from torch_autoencoder import Autoencoder
rank, size, batch = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), {batch}
torch.cuda.set_device(rank)
torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = torch.backends.cudnn.benchmark = True
if size > 1:
    dist.init_process_group("nccl")
model = Autoencoder().cuda().to(memory_format=torch.channels_last)
step_model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True) if size > 1 else model
optimizer = torch.optim.Adam(model.parameters(), lr=0.001, fused=True)
images = torch.rand(batch, 3, 32, 32, device="cuda").contiguous(memory_format=torch.channels_last)
compiled = torch.compile(step_model)
def step():
    optimizer.zero_grad(set_to_none=True)
    with torch.autocast("cuda", torch.bfloat16):
        loss = torch.nn.functional.mse_loss(compiled(images), images)
    loss.backward()
    optimizer.step()
for _ in range(20):
    step()
best = 0
for _ in range(3):
    torch.cuda.synchronize()
    start = time.perf_counter()
    for _ in range(60):
        step()
    torch.cuda.synchronize()
    best = max(best, 60 * batch * size / (time.perf_counter() - start))
if rank == 0:
    print("rate", best)
"""


def train(program, options, steps):
    """(images/s, the lines of the ranks), or nothing if it failed."""
    command = [program, "train", "--data", "builtin", "--optimizer", "adam", "--lr", "0.0001", "--test-images", "64",
               "--steps", str(steps), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    told = re.search(r"^speed\D*([\d,.]+) ", done.stdout, re.MULTILINE)
    if done.returncode or not told:
        print(f"failed, exit {done.returncode}: {' '.join(options)}: {(done.stderr or done.stdout).strip()[-400:]}", flush=True)
        return None
    return float(told[1].replace(",", "")), re.findall(r"^.*us in sums over ranks.*$", done.stdout, re.MULTILINE)


def peer(batch, gpus):
    peers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../peers")
    with tempfile.NamedTemporaryFile("w", suffix=".py") as script:
        script.write(PEER.format(peers=peers, batch=batch))
        script.flush()
        ranks = []
        for rank in range(gpus):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(gpus), MASTER_ADDR="127.0.0.1", MASTER_PORT="29531")
            ranks.append(subprocess.Popen([sys.executable, script.name], env=environment, stdout=subprocess.PIPE,
                                          stderr=subprocess.DEVNULL, text=True))
        told = [rank.communicate()[0] for rank in ranks]
    found = re.search(r"^rate ([\d.]+)", told[0], re.MULTILINE)
    return float(found[1]) if found else None


def write_texts(file, count):
    """Lines of words, about as long as the texts of AG News."""
    dice = random.Random(3)
    words = ["".join(dice.choices("abcdefghijklmnopqrstuvwxyz", k=dice.randrange(2, 9))) for _ in range(2000)]
    with open(file, "w", encoding="utf-8") as out:
        for _ in range(count):
            out.write(" ".join(dice.choices(words, k=40)) + "\n")


def compare_inference(arguments):
    """One GPU and all of them in turns; returns the exit code."""
    with tempfile.TemporaryDirectory() as folder:
        weights, texts, figures = (os.path.join(folder, name) for name in ("net.safetensors", "texts.txt", "figures.json"))
        network = ["--model", arguments.model, "--precision", arguments.precision, "--device", "cuda:0"]
        subprocess.run([arguments.program, "train", *network, "--data", "builtin", "--lr", "0.00003", "--test-images", "64",
                        "--steps", "20", "--save", weights], check=True, stdout=subprocess.DEVNULL)
        write_texts(texts, arguments.texts)
        places = {"one": ["--device", "cuda:0"], "all": ["--gpus", str(arguments.gpus)]}
        usual = [arguments.program, "infer", weights, texts, "--precision", arguments.precision, "--batch", str(arguments.batch)]
        answers = {name: os.path.join(folder, f"{name}.csv") for name in places}
        for name, place in places.items():  # once each, with the answers
            subprocess.run([*usual, *place, "--out", answers[name]], check=True, stdout=subprocess.DEVNULL)
        same = filecmp.cmp(answers["one"], answers["all"], shallow=False)
        rates = {name: [] for name in places}
        for _ in range(5):
            for name, place in places.items():
                subprocess.run([*usual, *place, "--json", figures], check=True, stdout=subprocess.DEVNULL)
                with open(figures, encoding="utf-8") as file:
                    told = json.load(file)
                rates[name].append(told["images_per_second"])
                each = [f"{rank['images_per_second']:,.0f}" for rank in told.get("ranks", [])]
                print(f"{name}: {rates[name][-1]:,.0f} texts/s", *each, flush=True)
    one, many = (statistics.median(rates[name]) for name in ("one", "all"))
    print(f"{arguments.model}, {arguments.precision}, batch {arguments.batch}, {arguments.texts} texts: one GPU {one:,.0f}, "
          f"{arguments.gpus} GPUs {many:,.0f} texts/s, {many / one:.3f} times; the answers are {'the same' if same else 'NOT the same'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rates": rates, "times": many / one, "same": same}, file, indent=1)
    return 0 if same else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--gpus", type=int, default=2)
    parser.add_argument("--model", default="")
    parser.add_argument("--precision", default="")
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--infer", action="store_true")
    parser.add_argument("--texts", type=int, default=1 << 19)
    parser.add_argument("--json", default="")
    parser.add_argument("--variants", default=",".join(VARIANTS))
    parser.add_argument("--weak", action="store_true", help="weak scaling only")
    arguments = parser.parse_args()
    model, precision = ("char_cnn_ln", "fp16") if arguments.infer else ("autoencoder", "bf16")
    arguments.model, arguments.precision = arguments.model or model, arguments.precision or precision
    if arguments.infer:
        return compare_inference(arguments)
    usual = ["--model", arguments.model, "--precision", arguments.precision]
    told, failed = {}, 0

    def run(name, *options):
        nonlocal failed
        found = train(arguments.program, [*usual, *options], arguments.steps)
        failed += found is None
        told[name] = found
        return found

    one = run("one GPU", "--device", "cuda:0", "--batch", str(arguments.batch))
    if one is None:
        return 1
    print(f"one GPU, batch {arguments.batch}: {one[0]:,.0f} images/s", flush=True)
    scalings = {"weak": arguments.batch * arguments.gpus, "strong": arguments.batch}
    for variant in arguments.variants.split(","):
        for name, batch in list(scalings.items())[:1 if arguments.weak else 2]:
            found = run(f"{variant}, {name}", "--gpus", str(arguments.gpus), "--batch", str(batch), "--select",
                        f"gradients.allreduce={variant}")
            if found:
                print(f"{variant}, {name}, batch {batch}: {found[0]:,.0f} images/s, {100 * found[0] / arguments.gpus / one[0]:.1f} %",
                      *found[1], sep="\n    ", flush=True)
    again = run("one GPU, again", "--device", "cuda:0", "--batch", str(arguments.batch))
    print(f"one GPU again: {again[0] if again else 0:,.0f} images/s", flush=True)
    if arguments.peer:
        for gpus in (1, arguments.gpus):
            told[f"PyTorch, {gpus}"] = rate = peer(arguments.batch, gpus)
            print(f"PyTorch, {gpus} GPUs, batch {arguments.batch} each: {rate or 0:,.0f} images/s", flush=True)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
