"""Every update rule steps as PyTorch's optimizer does.

usage: torch_optimizers.py OPTIMIZER_STEPS

Steps each rule 50 times on random parameters and gradients, plain, with weight decay, with clipping by norm and by
value and with a loss scale, through the variants of this machine and through torch.optim (Lion, which torch.optim
lacks, is written out below), both in FP32. After every step the parameters must agree to 1e-6, relative to PyTorch's:
as vectors, and each element relative to the largest; so must the optimizer's state and the norm of the gradient. The
settings are those that FP32 can hold exactly to PyTorch too; once more, for parameters only, they are as a person types
them. The variant `reference` is left out: it computes in double and so differs by PyTorch's own rounding. Exit code 77
(skipped) where PyTorch is missing.
"""
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

TOLERANCE = 1e-6
PARAMETERS = 2051  # not a multiple of a vector, nor of the slices
STEPS = 50


class Lion(torch.optim.Optimizer):
    """X. Chen et al., "Symbolic discovery of optimization algorithms" (2023), algorithm 2."""

    def __init__(self, params, lr, betas, weight_decay):
        super().__init__(params, {"lr": lr, "betas": betas, "weight_decay": weight_decay})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            lr, (beta1, beta2), decay = group["lr"], group["betas"], group["weight_decay"]
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["exp_avg"] = torch.zeros_like(p)
                m = state["exp_avg"]
                p.mul_(1 - lr * decay)
                p.add_(torch.sign(beta1 * m + (1 - beta1) * p.grad), alpha=-lr)
                m.mul_(beta2).add_(p.grad, alpha=1 - beta2)


# The optimizer, its settings, and where it keeps our first and second state.
RULES = {
    "sgd": (lambda p, s: torch.optim.SGD(p, lr=s["rate"], weight_decay=s["weight_decay"]), {"rate": 0.1}, ()),
    "momentum": (lambda p, s: torch.optim.SGD(p, lr=s["rate"], momentum=s["first_decay"],
                                              weight_decay=s["weight_decay"]),
                 {"rate": 0.05, "first_decay": 0.9}, ("momentum_buffer",)),
    "nesterov": (lambda p, s: torch.optim.SGD(p, lr=s["rate"], momentum=s["first_decay"], nesterov=True,
                                              weight_decay=s["weight_decay"]),
                 {"rate": 0.05, "first_decay": 0.9}, ("momentum_buffer",)),
    "adam": (lambda p, s: torch.optim.Adam(p, lr=s["rate"], betas=(s["first_decay"], s["second_decay"]),
                                           eps=s["epsilon"], weight_decay=s["weight_decay"]),
             {"rate": 0.01, "first_decay": 0.9, "second_decay": 0.999, "epsilon": 1e-8}, ("exp_avg", "exp_avg_sq")),
    "adamw": (lambda p, s: torch.optim.AdamW(p, lr=s["rate"], betas=(s["first_decay"], s["second_decay"]),
                                             eps=s["epsilon"], weight_decay=s["weight_decay"]),
              {"rate": 0.01, "first_decay": 0.9, "second_decay": 0.999, "epsilon": 1e-8}, ("exp_avg", "exp_avg_sq")),
    "rmsprop": (lambda p, s: torch.optim.RMSprop(p, lr=s["rate"], alpha=s["second_decay"], eps=s["epsilon"],
                                                 weight_decay=s["weight_decay"]),
                {"rate": 0.01, "second_decay": 0.99, "epsilon": 1e-8}, ("square_avg",)),
    "lion": (lambda p, s: Lion(p, s["rate"], (s["first_decay"], s["second_decay"]), s["weight_decay"]),
             {"rate": 0.003, "first_decay": 0.9, "second_decay": 0.99}, ("exp_avg",)),
}
CASES = {
    "plain": {},
    "weight decay": {"weight_decay": 0.01},
    "clipped by norm": {"clip_norm": 1.0},
    "clipped by value": {"clip_value": 0.5, "loss_scale": 1024.0},
    "all at once": {"weight_decay": 0.05, "clip_norm": 20.0, "clip_value": 0.25, "loss_scale": 65536.0},
}


def torch_steps(rule, settings, start, gradients):
    """Yields parameters, first state, second state and the gradient's norm after each step."""
    make, _, names = RULES[rule]
    p = torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = make([p], settings)
    for gradient in gradients:
        p.grad = torch.from_numpy(gradient.copy())
        norm = p.grad.double().norm().item()
        if settings["clip_norm"] > 0:
            torch.nn.utils.clip_grad_norm_([p], settings["clip_norm"])
        if settings["clip_value"] > 0:
            torch.nn.utils.clip_grad_value_([p], settings["clip_value"])
        optimizer.step()
        states = [optimizer.state[p][name].numpy().copy() for name in names]
        states += [np.zeros_like(start)] * (2 - len(states))
        yield p.detach().numpy().copy(), *states, np.array([norm], dtype=np.float32)


def our_steps(program, device, variant, rule, settings, start, gradients, folder):
    given, made = os.path.join(folder, "in"), os.path.join(folder, "out")
    np.concatenate([start, *gradients]).tofile(given)
    done = subprocess.run([program, device, variant, rule, str(start.size), str(len(gradients)), given, made,
                           *[f"{name}={value!r}" for name, value in settings.items()]], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{rule} {variant}: exited with {done.returncode}: {done.stderr}")
    n = start.size
    for row in np.fromfile(made, dtype=np.float32).reshape(len(gradients), 3 * n + 1):
        yield row[:n], row[n:2 * n], row[2 * n:3 * n], row[3 * n:]


def difference(ours, theirs):
    """The larger of the relative error as vectors and that of the worst element relative to the largest."""
    ours, theirs = ours.astype(np.float64), theirs.astype(np.float64)
    if not np.any(theirs):
        return float(np.any(ours))
    off = ours - theirs
    return max(np.linalg.norm(off) / np.linalg.norm(theirs), np.abs(off).max() / np.abs(theirs).max())


def worst_differences(ours, theirs):
    """The largest difference over all steps of each of the four that a step yields."""
    worst = np.zeros(4)
    for a, b in zip(ours, theirs, strict=True):
        worst = np.maximum(worst, [difference(x, y) for x, y in zip(a, b)])
    return worst


def main():
    program = os.path.abspath(sys.argv[1])
    rules = subprocess.run([program, "rules"], capture_output=True, text=True, check=True).stdout.split()
    if rules != list(RULES):
        sys.exit(f"RULES has {', '.join(RULES)}, but the program {', '.join(rules)}")
    runs = [("cpu", "loops")]
    if torch.cuda.is_available():
        runs += [("cuda:0", "naive"), ("cuda:0", "vectorized")]
    torch.set_num_threads(1)
    rng = np.random.default_rng(5)
    start = rng.standard_normal(PARAMETERS, dtype=np.float32)
    gradients = rng.standard_normal((STEPS, PARAMETERS), dtype=np.float32)
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for rule, (_, own, _) in RULES.items():
            for case, extra in CASES.items():
                typed = {"weight_decay": 0.0, "clip_norm": 0.0, "clip_value": 0.0, "loss_scale": 1.0, **own, **extra}
                held = {name: float(np.float32(value)) for name, value in typed.items()}
                theirs = list(torch_steps(rule, held, start, gradients))
                theirs_as_typed = list(torch_steps(rule, typed, start, gradients))
                for device, variant in runs:
                    ours = list(our_steps(program, device, variant, rule, typed, start, gradients, folder))
                    worst = worst_differences(ours, theirs)
                    as_typed = worst_differences(ours, theirs_as_typed)[0]
                    good = worst.max() < TOLERANCE and as_typed < TOLERANCE
                    failures += not good
                    print(f"{rule}, {case}, {device} {variant}: parameters {worst[0]:.1e} (settings as typed "
                          f"{as_typed:.1e}), first state {worst[1]:.1e}, second {worst[2]:.1e}, norm {worst[3]:.1e} "
                          f"{'ok' if good else 'TOO LARGE'}")
    print(f"PyTorch {torch.__version__}, {STEPS} steps: {failures} too far off")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
