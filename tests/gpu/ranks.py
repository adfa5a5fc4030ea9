#!/usr/bin/env python3
"""How training on two GPUs compares with one, and gradients added in each way; PyTorch's DDP beside it; and inference.

    ranks.py WARPSCOPE [--gpus 2] [--model autoencoder] [--precision bf16] [--batch 1024] [--steps 3000] [--peer]
             [--json FILE] [--csv docs/measurements/ranks.csv] [--variants nccl_plain,nccl] [--weak]
    ranks.py WARPSCOPE --ops [--variants p2p_one_shot,p2p_two_shot] [--device cpu --ranks 2]
    ranks.py WARPSCOPE --bits [--steps 300] [--variants ...] [--device cpu --ranks 2]
    ranks.py WARPSCOPE --infer [--gpus 2] [--model char_cnn_ln] [--precision fp16] [--batch 1024] [--texts 524288]
    ranks.py ALLREDUCE_BENCH --sum [--gpus 2] [--bytes 3000000] [--variants nccl_plain,p2p_one_shot]

One GPU at --batch; then all with that batch for each (weak scaling) and with that batch together (strong scaling), by
each variant of gradients.allreduce. Efficiency: images/s over those of as many single GPUs (weak), or over the number
of GPUs times those of one at the same whole batch (strong). --peer: PyTorch's DistributedDataParallel of the
autoencoder, compiled, in the same run, how many times it is behind the best of ours, and at most 150 s for each number
of GPUs. --ops: the time of each op of one GPU, of all at once without knowing of each other, and of ranks
(ranks_ops.py). --bits: whether deterministic trainings end with the same weights. --device cpu --ranks N: both without
GPUs, where gradients.allreduce is that of the CPU.
--sum: a sum of so many bytes by itself, by NCCL and by ours (build/release/tests/allreduce_bench, which `ninja
allreduce_bench` builds). --infer: texts/s from host to host on one GPU and on all, in turns, the median of five each,
and whether both give the same answers, byte for byte. Exit code 1 if a training or an inference failed, or answers
differ.
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

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import measurements  # noqa: E402
import ranks_ops  # noqa: E402

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
step_model = model
if size > 1:
    step_model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], gradient_as_bucket_view=True)
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
        print(f"failed, exit {done.returncode}: {' '.join(options)}: {(done.stderr or done.stdout).strip()[-400:]}",
              flush=True)
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
            environment = dict(os.environ, RANK=str(rank), WORLD_SIZE=str(gpus), MASTER_ADDR="127.0.0.1",
                               MASTER_PORT=port, NCCL_NVLS_ENABLE="0")
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
            print(f"PyTorch's DistributedDataParallel is {ours / rate:.2f} times behind: {rate:,.0f} and {ours:,.0f} "
                  "images/s",
                  flush=True)
    return found


# --- tables

WHERE = "two GPUs of one host (NVLink)"


def write(arguments, key, rows):
    if arguments.csv:
        os.environ.setdefault("MACHINE", f"{arguments.gpus} {measurements.machine('cuda:0')}")
    measurements.write(arguments.csv, key, rows)


def sums_of(lines):
    """(us in sums over ranks, us beside the backward pass) of a step, from what `train` tells of each rank."""
    means = []
    for pattern in (r"([\d.]+) us in sums over ranks", r"([\d.]+) us more beside the backward pass"):
        told = [float(found[1]) for found in (re.search(pattern, line) for line in lines) if found]
        means.append(f"{statistics.mean(told):.0f}" if told else "")
    return means


def table_row(arguments, variant, batch, found, one):
    """A row of one GPU or, with a `variant`, of all; `one`: images/s of one."""
    name = f"`{variant}`" if variant else "one GPU"
    row = {"gradients.allreduce": name} if arguments.weak else {WHERE: name, "batch": str(batch)}
    row["images/s"] = f"{found[0]:.0f}"
    if variant:
        sums, beside = sums_of(found[1])
        row |= {"of two by themselves": f"{100 * found[0] / arguments.gpus / one:.1f} %", "us a step in sums": sums}
        if beside:
            row["us beside the backward pass"] = beside
    return row


def peer_rows(arguments, told):
    """Of PyTorch, on one GPU and on all."""
    import torch
    version, rows = ".".join(torch.__version__.split(".")[:2]), []
    one, many = told.get("PyTorch, 1"), told.get(f"PyTorch, {arguments.gpus}")
    batch = arguments.batch
    if one:
        rows.append({WHERE: f"PyTorch {version}, one GPU, compiled", "batch": str(batch), "images/s": f"{one:.0f}"})
    if one and many:
        rows.append({WHERE: f"PyTorch {version}, DistributedDataParallel, compiled",
                     "batch": str(batch * arguments.gpus), "images/s": f"{many:.0f}",
                     "of two by themselves": f"{100 * many / arguments.gpus / one:.1f} %"})
    return rows


def sums_by_themselves(arguments):
    """--sum; returns the exit code."""
    variants = arguments.variants or "nccl_plain,p2p_two_shot,p2p_one_shot"
    command = [arguments.program, "--gpus", str(arguments.gpus), "--bytes", str(arguments.bytes), "--variants",
               variants]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=False)
    print(done.stdout, end="", flush=True)
    rows = [{"gradients.allreduce": f"`{name}`", "us for 3 MB by itself": took}
            for name, took in re.findall(r"^(\w+): ([\d.]+) us for 3000000 bytes", done.stdout, re.MULTILINE)]
    if done.returncode == 0:
        write(arguments, ("gradients.allreduce",), rows)
    return done.returncode


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
        weights, texts, figures = (os.path.join(folder, name)
                                   for name in ("net.safetensors", "texts.txt", "figures.json"))
        network = ["--model", arguments.model, "--precision", arguments.precision, "--device", "cuda:0"]
        subprocess.run([arguments.program, "train", *network, "--data", "builtin", "--lr", "0.00003",
                        "--test-images", "64", "--steps", "20", "--save", weights], check=True,
                       stdout=subprocess.DEVNULL)
        write_texts(texts, arguments.texts)
        places = {"one": ["--device", "cuda:0"], "all": ["--gpus", str(arguments.gpus)]}
        usual = [arguments.program, "infer", weights, texts, "--precision", arguments.precision,
                 "--batch", str(arguments.batch)]
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
                    print(f"    rank {number}: {rank['images_per_second']:,.0f} texts/s, {1000 * rank['seconds']:.1f} "
                          "ms;",
                          ", ".join(f"{part} {took:.1f}" for part, took in rank.get("milliseconds", {}).items()),
                          flush=True)
    one, many = (statistics.median(rates[name]) for name in ("one", "all"))
    print(f"{arguments.model}, {arguments.precision}, batch {arguments.batch}, {arguments.texts} texts: one GPU "
          f"{one:,.0f}, "
          f"{arguments.gpus} GPUs {many:,.0f} texts/s, {many / one:.3f} times; the answers are "
          f"{'the same' if same else 'NOT the same'}")
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump({"rates": rates, "times": many / one, "same": same}, file, indent=1)
    what, speed = f"{arguments.model}, {arguments.precision}, batch {arguments.batch}", "texts/s from host to host"
    names = {1: "one GPU", 2: "two GPUs"}
    if same:
        write(arguments, (what,), [{what: "one GPU", speed: f"{one:.0f}"},
                                   {what: names.get(arguments.gpus, f"{arguments.gpus} GPUs"), speed: f"{many:.0f}",
                                    "times one GPU": f"{many / one:.3f}"}])
    return 0 if same else 1


def look_inside(arguments, usual):
    """--ops or --bits; returns the exit code."""
    if arguments.device == "cpu":
        devices, variants = ["cpu"] * arguments.ranks, "loops"
        ranks = ["--device", "cpu", "--ranks", str(arguments.ranks)]
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
    measurements.add_option(parser)
    arguments = parser.parse_args()
    model, precision = ("char_cnn_ln", "fp16") if arguments.infer else ("autoencoder", "bf16")
    arguments.model, arguments.precision = arguments.model or model, arguments.precision or precision
    if arguments.infer:
        return compare_inference(arguments)
    if arguments.sum:
        return subprocess.run([arguments.program, "--gpus", str(arguments.gpus), "--bytes", str(arguments.bytes),
                               "--variants", arguments.variants or "nccl_plain,p2p_two_shot,p2p_one_shot"],
                              check=False).returncode
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
    rows = [table_row(arguments, "", arguments.batch, one, one[0])]
    scalings = {"weak": arguments.batch * arguments.gpus, "strong": arguments.batch}
    for variant in variants.split(","):
        for name, batch in list(scalings.items())[:1 if arguments.weak else 2]:
            found = run(f"{variant}, {name}", "--gpus", str(arguments.gpus), "--batch", str(batch), "--select",
                        f"gradients.allreduce={variant}")
            if found:
                print(f"{variant}, {name}, batch {batch}: {found[0]:,.0f} images/s, "
                      f"{100 * found[0] / arguments.gpus / one[0]:.1f} %",
                      *found[1], sep="\n    ", flush=True)
                rows.append(table_row(arguments, variant, batch, found, one[0]))
    again = run("one GPU, again", "--device", "cuda:0", "--batch", str(arguments.batch))
    print(f"one GPU again: {again[0] if again else 0:,.0f} images/s", flush=True)
    if arguments.peer:
        weak = [found[0] for name, found in told.items() if found and name.endswith(", weak")]
        told |= compare_peer(arguments, max(weak, default=0))
        rows += peer_rows(arguments, told)
    if arguments.json:
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(told, file, indent=1)
    write(arguments, list(rows[0])[:1 if arguments.weak else 2], rows)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
