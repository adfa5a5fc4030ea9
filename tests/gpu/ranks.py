#!/usr/bin/env python3
"""How training on two GPUs compares with one, and gradients added in each way; PyTorch's DDP beside it; and inference.

    ranks.py WARPSCOPE [--gpus 2] [--model autoencoder] [--precision bf16] [--batch 1024] [--steps 3000] [--peer]
             [--json FILE] [--variants nccl_plain,nccl] [--weak]
    ranks.py WARPSCOPE --ops [--variants p2p_one_shot,p2p_two_shot] [--device cpu --ranks 2]
    ranks.py WARPSCOPE --bits [--steps 300] [--variants ...] [--device cpu --ranks 2]
    ranks.py WARPSCOPE --infer [--gpus 2] [--model char_cnn_ln] [--precision fp16] [--batch 1024] [--texts 524288]
    ranks.py ALLREDUCE_BENCH --sum [--gpus 2] [--bytes 3000000] [--variants nccl_plain,p2p_one_shot]

One GPU at --batch; then all with that batch for each (weak scaling) and with that batch together (strong scaling), by each
variant of gradients.allreduce. Efficiency: images/s over those of as many single GPUs (weak), or over the number of GPUs
times those of one at the same whole batch (strong). --peer: PyTorch's DistributedDataParallel of the autoencoder, compiled,
in the same run, how many times it is behind the best of ours, and at most 150 s for each number of GPUs. --ops: the time of
each op of one GPU, of all at once without knowing of each other, and of ranks (ranks_ops.py). --bits: whether deterministic
trainings end with the same weights. --device cpu --ranks N: both without GPUs, where gradients.allreduce is that of the CPU.
--sum: a sum of so many bytes by itself, by NCCL and by ours (build/release/tests/allreduce_bench, which `ninja
allreduce_bench` builds). --infer: texts/s from host to host on one GPU and on all, in turns, the median of five each, and whether
both give the same answers, byte for byte. Exit code 1 if a training or an inference failed, or answers differ.
"""
import argparse
import filecmp
import json
import os
import random
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time

import ranks_ops

PEER_SECONDS = 150  # a peer that takes longer has failed
VARIANTS = ("host_mpi", "nccl_plain", "nccl", "p2p_two_shot", "p2p_one_shot")

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


def free_port():
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return door.getsockname()[1]


def peer(batch, gpus):
    """Images/s of PyTorch on so many GPUs, or nothing if it failed, which is told."""
    peers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../peers")
    with tempfile.TemporaryDirectory() as folder:
        script, port = os.path.join(folder, "peer.py"), str(free_port())
        with open(script, "w", encoding="utf-8") as file:
            file.write(PEER.format(peers=peers, batch=batch))
        ranks, errors = [], []
        for rank in range(gpus):
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(gpus), MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                               NCCL_NVLS_ENABLE="0")
            errors.append(open(os.path.join(folder, f"{rank}.txt"), "w+", encoding="utf-8"))
            ranks.append(subprocess.Popen([sys.executable, script], env=environment, stdout=subprocess.PIPE,
                                          stderr=errors[-1], text=True))
        end, told, why = time.monotonic() + PEER_SECONDS, [], ""
        try:
            for rank in ranks:
                told.append(rank.communicate(timeout=max(0.1, end - time.monotonic()))[0])
        except subprocess.TimeoutExpired:
            why = f"not done after {PEER_SECONDS} s"
        for number, rank in enumerate(ranks):
            rank.kill()
            rank.wait()
            errors[number].seek(0)
            if rank.returncode not in (0, -9):
                why = why or f"rank {number}: {errors[number].read().strip()[-400:]}"
            errors[number].close()
    found = re.search(r"^rate ([\d.]+)", told[0] if told else "", re.MULTILINE)
    if not found or why:
        print(f"PyTorch, {gpus} GPUs, failed: {why or 'it told no rate'}", flush=True)
        return None
    return float(found[1])


def compare_peer(arguments, ours):
    """PyTorch on one GPU and on all; `ours`: images/s of ours on all. Returns what was found."""
    found = {}
    for gpus in (arguments.gpus, 1):  # the one that counts first
        start = time.monotonic()
        rate = found[f"PyTorch, {gpus}"] = peer(arguments.batch, gpus)
        if rate is None:
            continue
        print(f"PyTorch, {gpus} GPUs, batch {arguments.batch} each: {rate:,.0f} images/s, measured in "
              f"{time.monotonic() - start:.0f} s", flush=True)
        if gpus == arguments.gpus and ours:
            found["times behind"] = ours / rate
            print(f"PyTorch's DistributedDataParallel is {ours / rate:.2f} times behind: {rate:,.0f} and {ours:,.0f} images/s",
                  flush=True)
    return found


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
                print(f"{name}: {rates[name][-1]:,.0f} texts/s, {1000 * told['seconds']:.1f} ms", flush=True)
                for number, rank in enumerate(told.get("ranks", [])):
                    print(f"    rank {number}: {rank['images_per_second']:,.0f} texts/s, {1000 * rank['seconds']:.1f} ms;",
                          ", ".join(f"{part} {took:.1f}" for part, took in rank.get("milliseconds", {}).items()), flush=True)
    one, many = (statistics.median(rates[name]) for name in ("one", "all"))
    print(f"{arguments.model}, {arguments.precision}, batch {arguments.batch}, {arguments.texts} texts: one GPU {one:,.0f}, "
          f"{arguments.gpus} GPUs {many:,.0f} texts/s, {many / one:.3f} times; the answers are {'the same' if same else 'NOT the same'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rates": rates, "times": many / one, "same": same}, file, indent=1)
    return 0 if same else 1


def look_inside(arguments, usual):
    """--ops or --bits; returns the exit code."""
    if arguments.device == "cpu":
        devices, variants, ranks = ["cpu"] * arguments.ranks, "loops", ["--device", "cpu", "--ranks", str(arguments.ranks)]
    else:
        devices = [f"cuda:{gpu}" for gpu in range(arguments.gpus)]
        variants, ranks = "p2p_one_shot,p2p_two_shot", ["--gpus", str(arguments.gpus)]
        if arguments.bits:
            variants = "p2p_one_shot,p2p_two_shot,nccl_plain,host_mpi"
    chosen = (arguments.variants or variants).split(",")
    if arguments.bits:
        return ranks_ops.same_bits(arguments.program, min(arguments.steps, 300), devices, ranks, chosen)
    return ranks_ops.compare(arguments.program, usual, arguments.batch, arguments.steps, devices, ranks, chosen)


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
    parser.add_argument("--variants", default="")
    parser.add_argument("--ops", action="store_true", help="times of ops side by side")
    parser.add_argument("--bits", action="store_true", help="whether weights have the same bits")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"), help="with --ops and --bits")
    parser.add_argument("--ranks", type=int, default=2, help="with --device cpu")
    parser.add_argument("--sum", action="store_true")
    parser.add_argument("--bytes", type=int, default=3000000)
    parser.add_argument("--weak", action="store_true", help="weak scaling only")
    arguments = parser.parse_args()
    model, precision = ("char_cnn_ln", "fp16") if arguments.infer else ("autoencoder", "bf16")
    arguments.model, arguments.precision = arguments.model or model, arguments.precision or precision
    if arguments.infer:
        return compare_inference(arguments)
    if arguments.sum:
        return subprocess.run([arguments.program, "--gpus", str(arguments.gpus), "--bytes", str(arguments.bytes), "--variants",
                               arguments.variants or "nccl_plain,p2p_two_shot,p2p_one_shot"], check=False).returncode
    usual = ["--model", arguments.model, "--precision", arguments.precision]
    if arguments.ops or arguments.bits:
        return look_inside(arguments, usual)
    variants = arguments.variants or ",".join(VARIANTS)
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
    for variant in variants.split(","):
        for name, batch in list(scalings.items())[:1 if arguments.weak else 2]:
            found = run(f"{variant}, {name}", "--gpus", str(arguments.gpus), "--batch", str(batch), "--select",
                        f"gradients.allreduce={variant}")
            if found:
                print(f"{variant}, {name}, batch {batch}: {found[0]:,.0f} images/s, {100 * found[0] / arguments.gpus / one[0]:.1f} %",
                      *found[1], sep="\n    ", flush=True)
    again = run("one GPU, again", "--device", "cuda:0", "--batch", str(arguments.batch))
    print(f"one GPU again: {again[0] if again else 0:,.0f} images/s", flush=True)
    if arguments.peer:
        weak = [found[0] for name, found in told.items() if found and name.endswith(", weak")]
        told |= compare_peer(arguments, max(weak, default=0))
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
