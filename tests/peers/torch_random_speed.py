"""Networks that nothing was tuned for (random_networks.py) in PyTorch and in Warpscope, in one run.

PyTorch runs in its best mode or, with --eager, without compiling; Warpscope by a preset, or as it chooses by itself.
They are trained or, with --infer, asked for answers. The loss of the first step is compared: both begin with the same
weights and see the same images, of which batch norms see all. PyTorch's compiler takes some 20 s a network; with
--jobs N, N processes first compile all of them into its cache (--only-compile: no more than that), and nothing else
runs while a network is timed. Then worst, median, geometric mean, and the ten worst, each with the call that took the
most beyond its floor.
"""
import contextlib
import io
import json
import math
import multiprocessing
import os
import statistics
import subprocess
import sys
import tempfile
import time

import random_networks
import torch_autoencoder as peer
import torch
from torch_described import Description, Network, warpscope_inference, ways_of

PEAKS = {"fp32": 60e12, "tf32": 450e12, "fp16": 900e12, "bf16": 900e12}  # about, of an H100
BYTES_A_SECOND = 3.0e12
LOSS_OFF = {"fp32": 1e-4, "tf32": 2e-2, "fp16": 2e-2, "bf16": 5e-2}  # relative, of the first step
SMALL_BATCH = 32  # of that step
WORST = 10
CAREFUL_RATE = 1e-6  # no training may end before its steps are timed
MEASURED_STEPS = 1000  # shorter trainings measure no variants


def safe_name(name):
    """A parameter's name in Warpscope's files, of what Network calls it."""
    return name.replace(".linear.", ".")


def points_of(arguments, command, run_dir):
    """Runs a training that is recorded in `run_dir`; the lines of its metrics."""
    selected = ["--select", arguments.select] if arguments.select else []
    done = subprocess.run([*command, *selected], capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip())
    with open(os.path.join(run_dir, "metrics.jsonl"), encoding="utf-8") as file:
        return list(map(json.loads, file))


def first_losses(arguments, description, path, kind, precision):
    """Losses of the first step with the same weights on the same images, in PyTorch and in Warpscope."""
    from torch_curve import write_safetensors
    from torch_networks import write_idx
    torch.manual_seed(1)
    network = Network(description)
    names = {attribute: name for attribute, name, _ in network.rows}
    state = {f"{names[key.split('.')[0]]}{safe_name('.' + key.split('.', 1)[1])}": value
             for key, value in network.state_dict().items()}
    images = (torch.rand(2 * SMALL_BATCH, *description.extent, description.channels) * 255).to(torch.uint8)
    labels = torch.arange(2 * SMALL_BATCH) % max(2, description.classes)
    with tempfile.TemporaryDirectory() as folder:
        weights, data, run_dir = (os.path.join(folder, each) for each in ("init.safetensors", "data", "run"))
        write_safetensors(weights, state)
        write_idx(data, images.numpy(), labels.to(torch.uint8).numpy())
        command = [arguments.program, "train", "--model", path, "--data", "idx:" + data, "--init", weights,
                   "--no-shuffle", "--steps", "1", "--batch", str(SMALL_BATCH), "--optimizer", "sgd",
                   "--test-images", str(SMALL_BATCH), "--precision", precision, "--device", arguments.device,
                   "--run-dir", run_dir]
        own = next(point["loss"] for point in points_of(arguments, command, run_dir) if "loss" in point)
    x, labels = images[:SMALL_BATCH].movedim(3, 1).float() / 255, labels[:SMALL_BATCH]
    for module in network.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    with torch.no_grad():
        output = network(x)
        loss = (torch.nn.functional.cross_entropy(output.flatten(1), labels) if kind != "autoencoder"
                else torch.nn.functional.mse_loss(output, x))
    return loss.item(), own


def check_step(arguments, description, path, kind, precision):
    """A sentence: that the first step is the same, or what is not."""
    if kind == "text" or "dropout" in description_kinds(description):
        return "first step not compared: texts and dropout draw their own"
    theirs, own = first_losses(arguments, description, path, kind, precision)
    off = abs(own - theirs) / abs(theirs)
    return f"first loss {own:.5f}, PyTorch {theirs:.5f}{'' if off <= LOSS_OFF[precision] else ': DIFFERS'}"


def description_kinds(description):
    return {layer["type"] for layer in description.file["layers"]}


def dearest_calls(status, precision):
    """The calls that take most beyond their floors, in words, the worst first."""
    calls = [call for call in status.get("timings", []) if call["microseconds"] > 0]

    def floor(call):
        return 1e6 * max(call["flops"] / PEAKS[precision], call["bytes"] / BYTES_A_SECOND)

    def told(call):
        shape = call["shape"]
        return (f"{call['op']} {call['variant']} in {call['layer']}, "
                f"{shape['height']}x{shape['width']}x{shape['in_channels']} to {shape['out_channels']}, "
                f"{shape['kernel_height']}x{shape['kernel_width']} stride {shape['stride']} dilation "
                f"{shape['dilation']}: {call['microseconds']:.0f} us, floor {floor(call):.0f}, of {step:.0f} us a step")

    step = sum(call["microseconds"] for call in calls)
    worst = sorted(calls, key=lambda call: floor(call) - call["microseconds"])
    return [told(call) for call in worst[:WORST]]


def data_of(kind):
    return "sentences" if kind == "text" else "builtin"


def timed_run(arguments, path, kind, precision, batch, steps, *more):
    """Images a second, the calls that cost the most, and the bytes of all but the data set."""
    with tempfile.TemporaryDirectory() as folder:
        run_dir = os.path.join(folder, "run")
        command = [arguments.program, "train", "--model", path, "--data", data_of(kind), "--device", arguments.device,
                   "--precision", precision, "--batch", str(batch), "--steps", str(steps), "--test-images", "64",
                   "--optimizer", "adam", "--lr", str(CAREFUL_RATE), "--clip-norm", "0", "--run-dir", run_dir, *more]
        points = points_of(arguments, command, run_dir)
        speeds = [point["images_per_second"] for point in points if point.get("images_per_second")]
        with open(os.path.join(run_dir, "status.json"), encoding="utf-8") as file:
            status = json.load(file)
        return statistics.median(speeds[len(speeds) // 4:]), dearest_calls(status, precision), status["plan_bytes"]


def own_speed(arguments, path, kind, result):
    if arguments.infer:
        return warpscope_inference(arguments, ["--model", path, "--data", data_of(kind)], arguments.precision,
                                   arguments.batch)
    speed, result["costs"], result["plan_bytes"] = timed_run(arguments, path, kind, arguments.precision,
                                                             arguments.batch, arguments.steps)
    return speed


def ready_ways(arguments, description, result):
    """PyTorch's ways, warmed up, with the peak of its memory in `result` if there is one way."""
    on_gpu = arguments.device.startswith("cuda")
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    what = "infer" if arguments.infer else "train"
    ways = ways_of(arguments, description, arguments.precision, arguments.batch, what)
    if on_gpu and len(ways) == 1:
        result["torch_bytes"] = torch.cuda.max_memory_allocated()
    return ways


def worst_call(result):
    return next(iter(result.get("costs", [])), "no calls timed")


def in_words(result, best):
    line = f"  Warpscope {result['warpscope']:,.0f}, PyTorch {best:,.0f}: {result['ratio']:.2f} times"
    if "measured" in result:
        line += f", measured {result['measured'] / best:.2f}"
    if "torch_bytes" in result and "plan_bytes" in result:
        line += f"; {result['plan_bytes'] / 2**20:,.0f} MiB, PyTorch {result['torch_bytes'] / 2**20:,.0f}"
    return f"{line}; {worst_call(result)}"


def compare(arguments, path, kind):
    with open(path, encoding="utf-8") as file:
        description = Description(file.read())
    precision = arguments.precision
    result = {"network": os.path.basename(path), "kind": kind, "precision": precision, "batch": arguments.batch,
              "what": "infer" if arguments.infer else "train"}
    print(f"{result['network']}, {precision}, batch {arguments.batch}", flush=True)
    try:
        if not arguments.infer:
            result["check"] = check_step(arguments, description, path, kind, precision)
            print(f"  {result['check']}", flush=True)
        ways = ready_ways(arguments, description, result)
        speeds, ours = {way: [] for way in ways}, []
        for _ in range(arguments.rounds):
            for way, run in ways.items():
                speeds[way].append(run.images_per_second(arguments.seconds))
            ours.append(own_speed(arguments, path, kind, result))
        if arguments.measured:
            result["measured"] = timed_run(arguments, path, kind, precision, arguments.batch, MEASURED_STEPS,
                                           "--measure")[0]
    except (RuntimeError, subprocess.CalledProcessError) as error:  # of the program; the others go on
        print(f"  failed: {error}", flush=True)
        return {**result, "failed": str(error), "ratio": 0.0}
    medians = {way: statistics.median(values) for way, values in speeds.items()}
    best = max(medians.values(), default=float("nan"))
    result.update(torch=medians, warpscope=statistics.median(ours), ratio=statistics.median(ours) / best)
    print(in_words(result, best), flush=True)
    forget(arguments, ways)
    return result


def forget(arguments, ways):
    ways.clear()
    if arguments.device.startswith("cuda"):
        torch.cuda.empty_cache()


def compile_one(arguments, path):
    """What fails is told when the network's turn comes."""
    torch.set_num_threads(2)
    with open(path, encoding="utf-8") as file, contextlib.redirect_stdout(io.StringIO()):
        forget(arguments, ready_ways(arguments, Description(file.read()), {}))


def compile_ahead(arguments, networks):
    """Fills the cache of PyTorch's compiler for all of them, several at once, so that only what is quick is left."""
    start = time.perf_counter()
    os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = "1"
    with multiprocessing.get_context("spawn").Pool(arguments.jobs) as pool:  # a forked process cannot use CUDA
        pool.starmap(compile_one, [(arguments, path) for _, path in networks], chunksize=1)
    print(f"compiled ahead in {time.perf_counter() - start:.0f} s", flush=True)


def write_random_row(arguments, number, result):
    if result["ratio"] > 0:
        row = {"random network": f"{result['kind']}, {arguments.seed}.{number}",
               "PyTorch, eager, images or texts a second": f"{max(result['torch'].values()):.0f}",
               "Warpscope by the preset cudnn": f"{result['warpscope']:.0f}", "times": f"{result['ratio']:.2f}"}
        peer.measurements.write(arguments.csv, ("random network",), [row], arguments.device)


def write_summary(arguments, ratios, mean):
    """The row of a precision and batch, whatever the networks were."""
    what = ", inference" if arguments.infer else ""
    row = {"random networks": f"{arguments.precision.upper()}{what}, batch {arguments.batch}",
           "networks": f"{len(ratios)}", "worst": f"{ratios[0]:.2f}", "median": f"{statistics.median(ratios):.2f}",
           "geometric mean": f"{mean:.2f}"}
    peer.measurements.write(arguments.csv, ("random networks",), [row], arguments.device)


def summarize(arguments, results):
    measured = sorted(result["ratio"] for result in results if result["ratio"] > 0)
    if not measured:
        return print(f"all of {len(results)} networks failed")
    mean = math.exp(statistics.fmean(map(math.log, measured)))
    if all("measured" in result for result in results if result["ratio"] > 0):
        gains = [result["measured"] / result["warpscope"] for result in results if result["ratio"] > 0]
        print(f"--measure: {min(gains):.3f} to {max(gains):.3f} times the speed by rules, geometric mean "
              f"{math.exp(statistics.fmean(map(math.log, gains))):.3f}")
    memory = sorted(result["plan_bytes"] / result["torch_bytes"] for result in results if "plan_bytes" in result
                    and "torch_bytes" in result)
    if memory:
        print(f"memory: {memory[0]:.2f} to {memory[-1]:.2f} of PyTorch's peak, median {statistics.median(memory):.2f}")
    print(f"{len(results)} networks, {len(results) - len(measured)} failed: worst {measured[0]:.2f}, median "
          f"{statistics.median(measured):.2f}, geometric mean {mean:.2f}")
    for result in sorted(results, key=lambda each: each["ratio"])[:WORST]:
        print(f"  {result['ratio']:.2f}  {result['network']}: {result.get('failed', worst_call(result))}")
    if not arguments.preset and not arguments.eager:
        write_summary(arguments, measured, mean)


def add_options(parser):
    parser.add_argument("--random", type=int, default=0, help="so many random networks instead of cases")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", default="", help="of the random networks; automatic without one")
    parser.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    parser.add_argument("--infer", action="store_true", help="answers of the random networks, without training")
    parser.add_argument("--measured", action="store_true", help="also trains with --measure")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--jobs", type=int, default=1, help="random networks that are compiled at once, ahead")
    parser.add_argument("--only-compile", action="store_true", help="fills the compiler's cache, for a later run")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=0.5, help="of PyTorch's steps in a round")
    parser.add_argument("--limit", type=float, default=0, help="seconds after which no random network begins; 0: none")
    parser.add_argument("--keep", default="", help="folder for the random networks' files")


def compare_all(arguments):
    if arguments.eager:
        arguments.modes = "eager"
    if arguments.preset:
        arguments.select = f"preset={arguments.preset}"
    folder = arguments.keep or tempfile.mkdtemp(prefix="warpscope-random-")
    os.makedirs(folder, exist_ok=True)
    print(f"networks in {folder}")
    results = []
    of_cudnn = arguments.eager and arguments.preset == "cudnn"
    if arguments.csv and not of_cudnn and (arguments.eager or arguments.preset):
        sys.exit("the tables of random networks are of --preset cudnn --eager, and of neither")
    networks = random_networks.write(folder, arguments.random, arguments.seed)
    if arguments.jobs > 1 or arguments.only_compile:
        compile_ahead(arguments, networks)
    if arguments.only_compile:
        return results
    start = time.perf_counter()
    for number, (kind, path) in enumerate(networks):
        spent = time.perf_counter() - start
        if results and arguments.limit and spent * (1 + 1 / len(results)) > arguments.limit:
            print(f"no time is left for {arguments.random - len(results)} networks")
            break
        results.append(compare(arguments, path, kind))
        if of_cudnn:
            write_random_row(arguments, number, results[-1])
    summarize(arguments, results)
    return results
