"""The speed of the autoencoder's training step in PyTorch and in Warpscope, alternately, in one run.

    torch_autoencoder.py WARPSCOPE [--device cuda:0] [--cases bf16:1024,fp16:1024,...] [--modes eager,default,...]
                                   [--layouts contiguous,channels_last] [--optimizer adam] [--json FILE] [--csv FILE]

Both train on random images that lie on the device, with Adam (PyTorch's fused one) or plain SGD, from He-normal
weights. PyTorch runs eagerly and through torch.compile's modes, each with NCHW and channels_last tensors; its best
counts. Warpscope runs its default selection of the precision (--select to choose another). Every figure is a median
over three rounds; prints the ratios. --csv: docs/measurements/torch_autoencoder.csv, torch_autotune.csv or, on a CPU,
torch_cpu.csv. Exit code 0 whatever they are; 77 if PyTorch or the device is missing.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

try:
    import torch
except ImportError:
    print("PyTorch is not installed here")
    sys.exit(77)

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../support"))
import measurements  # noqa: E402

ROUNDS = 3
SECONDS = 1.0  # of steps in one round
RATE = 0.001


class Autoencoder(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for number, (inside, outside) in enumerate([(3, 256), (256, 128), (128, 128), (128, 256), (256, 3)], 1):
            setattr(self, f"conv{number}", torch.nn.Conv2d(inside, outside, 3, padding=1))

    def forward(self, x):
        f = torch.nn.functional
        x = f.max_pool2d(f.relu(self.conv1(x)), 2)
        x = f.max_pool2d(f.relu(self.conv2(x)), 2)
        x = f.relu(self.conv3(x))
        x = f.relu(self.conv4(f.interpolate(x, scale_factor=2.0, mode="nearest")))
        return self.conv5(f.interpolate(x, scale_factor=2.0, mode="nearest"))


class TorchTraining:
    """One way to run PyTorch's step; of other networks what make_ functions and objective() say."""

    def __init__(self, device, precision, batch, mode, channels_last, optimizer):
        self.device, self.batch = device, batch
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = precision != "fp32"
        torch.backends.cudnn.benchmark = True
        torch.manual_seed(1)
        self.layout = torch.channels_last if channels_last else torch.contiguous_format
        self.model = self.make_model().to(device, memory_format=self.layout)
        fused = {"fused": True} if device.startswith("cuda") else {}
        make = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer]
        self.optimizer = make(self.model.parameters(), lr=RATE, **fused)
        self.half = {"fp16": torch.float16, "bf16": torch.bfloat16}.get(precision)
        self.scaler = torch.amp.GradScaler(enabled=precision == "fp16" and device.startswith("cuda"))
        self.images = self.make_inputs().contiguous(memory_format=self.layout)
        self.forward = self.loss if mode == "eager" else torch.compile(self.loss, mode=mode)

    def make_model(self):
        return Autoencoder()

    def make_inputs(self):
        return torch.rand(self.batch, 3, 32, 32, device=self.device)

    def objective(self, output, images):
        return torch.nn.functional.mse_loss(output.float(), images)

    def loss(self, images):
        with torch.autocast(self.device.split(":")[0], dtype=self.half, enabled=self.half is not None):
            output = self.model(images)
        return self.objective(output, images)

    def step(self):
        self.optimizer.zero_grad(set_to_none=True)
        self.scaler.scale(self.forward(self.images)).backward()
        self.scaler.step(self.optimizer)
        self.scaler.update()

    def synchronize(self):
        if self.device.startswith("cuda"):
            torch.cuda.synchronize()

    def images_per_second(self, seconds):
        self.synchronize()
        start, steps = time.perf_counter(), 0
        while time.perf_counter() - start < seconds:
            for _ in range(5):
                self.step()
            self.synchronize()
            steps += 5
        return steps * self.batch / (time.perf_counter() - start)


def torch_trainings(device, precision, batch, modes, layouts, optimizer, training=TorchTraining):
    """Every way of `training` that works here, warmed up; those that fail say so."""
    ways = {}
    for mode in modes:
        for layout in layouts:
            channels_last = layout == "channels_last"
            name = f"{mode}{', channels_last' if channels_last else ''}"
            try:
                torch._dynamo.reset()
                way = training(device, precision, batch, mode, channels_last, optimizer)
                start = time.perf_counter()
                for _ in range(6):
                    way.step()
                way.synchronize()
                ways[name] = way
                print(f"  PyTorch, {name}: ready in {time.perf_counter() - start:.0f} s, "
                      f"{way.images_per_second(0.2):,.0f} images/s at first", flush=True)
            except Exception as error:  # a mode that this version cannot compile is no reason to stop
                print(f"  PyTorch, {name}: {type(error).__name__}: {str(error).splitlines()[0][:120]}")
    return ways


def warpscope_speed(arguments, precision, batch, network=("--data", "builtin")):
    with tempfile.TemporaryDirectory() as folder:
        run_dir = os.path.join(folder, "run")
        command = [arguments.program, "train", *network, "--device", arguments.device, "--precision", precision,
                   "--batch", str(batch), "--steps", str(arguments.steps), "--test-images", "64",
                   "--optimizer", arguments.optimizer, "--lr", str(RATE), "--clip-norm", "0", "--run-dir", run_dir]
        if arguments.select:
            command += ["--select", arguments.select]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{' '.join(command)}\nexited with {done.returncode}: {done.stderr}")
        with open(os.path.join(run_dir, "metrics.jsonl")) as file:
            speeds = [point["images_per_second"] for point in map(json.loads, file) if point.get("images_per_second")]
        # Early steps fill the pipeline and are timed kernel by kernel.
        return statistics.median(speeds[len(speeds) // 4:])


def compare(arguments, precision, batch):
    print(f"{precision}, batch {batch}")
    ways = torch_trainings(arguments.device, precision, batch, arguments.modes.split(","), arguments.layouts.split(","),
                           arguments.optimizer)
    speeds = {name: [] for name in ways}
    ours = []
    for _ in range(ROUNDS):
        for name, way in ways.items():
            speeds[name].append(way.images_per_second(SECONDS))
        if arguments.device.startswith("cuda"):
            torch.cuda.synchronize()
        ours.append(warpscope_speed(arguments, precision, batch))
    medians = {name: statistics.median(values) for name, values in speeds.items()}
    for name, value in sorted(medians.items(), key=lambda item: -item[1]):
        print(f"  PyTorch, {name:<36} {value:12,.0f} images/s")
    own = statistics.median(ours)
    best = max(medians.values()) if medians else float("nan")
    print(f"  Warpscope{'':<36} {own:12,.0f} images/s   {own / best:.2f} times PyTorch's best"
          f"   ({min(ours):,.0f} to {max(ours):,.0f})", flush=True)
    ways.clear()
    if arguments.device.startswith("cuda"):
        torch.cuda.empty_cache()
    return {"precision": precision, "batch": batch, "optimizer": arguments.optimizer, "torch": medians,
            "warpscope": own, "ratio": own / best}


def speeds_of(result, modes):
    """The cells of a table with a comparison's speeds: the best layout of each mode, Warpscope's, their ratio."""
    cells = {}
    for number, mode in enumerate(modes):
        layouts = [speed for way, speed in result["torch"].items() if way.split(",")[0] == mode]
        cells[f"PyTorch `{mode}`" if number == 0 else f"`{mode}`"] = f"{max(layouts):.0f}" if layouts else ""
    return {**cells, "Warpscope": f"{result['warpscope']:.0f}", "times the best": f"{result['ratio']:.2f}"}


def write_row(arguments, result):
    if arguments.device.startswith("cuda"):
        row = {"precision": result["precision"], "batch": str(result["batch"]),
               **speeds_of(result, arguments.modes.split(","))}
        return measurements.write(arguments.csv, ("precision", "batch"), [row], arguments.device)
    version = ".".join(torch.__version__.split(".")[:2])
    row = {"CPU": f"{len(os.sched_getaffinity(0))} cores, PyTorch {version}",
           "PyTorch": f"{result['torch'].get('eager', float('nan')):.0f}",
           "PyTorch, channels_last": f"{result['torch'].get('eager, channels_last', float('nan')):.0f}",
           "Warpscope (`onednn`)": f"{result['warpscope']:.0f}", "times the best": f"{result['ratio']:.2f}"}
    return measurements.write(arguments.csv, ("CPU",), [row], arguments.device)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program")
    parser.add_argument("--device", default="cuda:0")
    parser.add_argument("--cases", default="bf16:1024,fp16:1024,bf16:256,bf16:64,tf32:1024,fp32:1024")
    parser.add_argument("--modes", default="eager,default,reduce-overhead,max-autotune")
    parser.add_argument("--layouts", default="contiguous,channels_last")
    parser.add_argument("--optimizer", default="adam", choices=["adam", "sgd"])
    parser.add_argument("--select", default="")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--json", default="")
    measurements.add_option(parser)
    arguments = parser.parse_args()
    arguments.program = os.path.abspath(arguments.program)
    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("PyTorch sees no GPU here")
        return 77
    name = torch.cuda.get_device_name() if arguments.device.startswith("cuda") else "CPU"
    print(f"PyTorch {torch.__version__} on {name}, {torch.get_num_threads()} CPU threads")
    results = []
    for case in arguments.cases.split(","):
        precision, batch = case.split(":")
        results.append(compare(arguments, precision, int(batch)))
        write_row(arguments, results[-1])
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump(results, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
