"""Learning-rate schedules follow PyTorch's schedulers step by step.

usage: torch_schedules.py SCHEDULE_RATES

Runs each of torch.optim.lr_scheduler's StepLR, LinearLR followed by CosineAnnealingLR, OneCycleLR and ReduceLROnPlateau
with several parameters and holds the rate of every step against that of the program SCHEDULE_RATES (relative difference
under 1e-9: torch multiplies its way from step to step). Exit code 77 (skipped) where PyTorch is missing.
"""
import math
import os
import random
import subprocess
import sys
import warnings

try:
    import torch
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

from torch.optim.lr_scheduler import CosineAnnealingLR, LinearLR, OneCycleLR, ReduceLROnPlateau, SequentialLR, StepLR

TOLERANCE = 1e-9
WARM_UP_START = 0.01


def sgd(rate):
    return torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=rate)


def torch_rates(optimizer, scheduler, steps):
    rates = []
    for _ in range(steps):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return rates


def step_cases():
    for base, every, factor in [(0.1, 10, 0.1), (0.005, 3, 0.7), (1.0, 1, 0.5)]:
        optimizer = sgd(base)
        rates = torch_rates(optimizer, StepLR(optimizer, step_size=every, gamma=factor), 40)
        yield f"step:every={every},factor={factor}", base, 0, range(40), rates


def cosine_cases():
    for base, warmup, epochs, final, per_epoch in [(0.1, 1, 10, 0.01, 7), (3e-4, 0, 5, 0.0, 10), (0.5, 4, 6, 0.25, 3)]:
        optimizer = sgd(base)
        warming = [LinearLR(optimizer, start_factor=WARM_UP_START, total_iters=warmup * per_epoch)] if warmup else []
        falling = CosineAnnealingLR(optimizer, T_max=(epochs - warmup) * per_epoch, eta_min=base * final)
        milestones = [warmup * per_epoch] if warmup else []
        scheduler = SequentialLR(optimizer, warming + [falling], milestones=milestones)
        steps = epochs * per_epoch + 1
        rates = torch_rates(optimizer, scheduler, steps)
        places = [step / per_epoch for step in range(steps)]
        yield f"cosine:warmup={warmup},final={final}", base, epochs, places, rates


def one_cycle_cases():
    for base, share, start, final, steps in [(0.1, 0.3, 25.0, 1e4, 200), (1.0, 0.5, 10.0, 100.0, 37),
                                             (0.01, 0.1, 4.0, 1.0, 1000)]:
        optimizer = sgd(base)
        scheduler = OneCycleLR(optimizer, max_lr=base, total_steps=steps, pct_start=share, anneal_strategy="cos",
                               cycle_momentum=False, div_factor=start, final_div_factor=final)
        rates = []
        for step in range(steps):
            rates.append(optimizer.param_groups[0]["lr"])
            optimizer.step()
            if step + 1 < steps:
                scheduler.step()
        peak = (share * steps - 1) / (steps - 1)
        epochs = 8
        places = [epochs * step / (steps - 1) for step in range(steps)]
        yield f"one_cycle:peak={peak!r},start={start},final={final}", base, epochs, places, rates


def plateau_cases():
    generator = random.Random(5)
    for base, factor, patience, least, threshold in [(0.1, 0.5, 3, 0.0, 1e-4), (0.01, 0.1, 0, 1e-5, 0.05),
                                                     (1.0, 0.9, 5, 0.3, 0.0)]:
        losses = [math.exp(-0.1 * epoch) + 0.2 + 0.05 * generator.random() for epoch in range(120)]
        losses[7] = float("nan")
        optimizer = sgd(base)
        scheduler = ReduceLROnPlateau(optimizer, factor=factor, patience=patience, min_lr=least, threshold=threshold,
                                      eps=0)
        rates = []
        for loss in losses:
            scheduler.step(loss)
            rates.append(optimizer.param_groups[0]["lr"])
        # The program reads finite numbers; any loss above the best is as bad as one that is not a number.
        losses[7] = 1e30
        yield f"plateau:factor={factor},patience={patience},least={least},threshold={threshold}", base, 0, losses, rates


def main():
    program = os.path.abspath(sys.argv[1])
    warnings.simplefilter("ignore")
    failures = 0
    for cases in (step_cases, cosine_cases, one_cycle_cases, plateau_cases):
        for schedule, base, epochs, numbers, expected in cases():
            done = subprocess.run([program, schedule, repr(base), repr(epochs)], capture_output=True, text=True,
                                  input="\n".join(repr(float(number)) for number in numbers))
            if done.returncode != 0:
                sys.exit(f"{program} {schedule} exited with {done.returncode}: {done.stderr}")
            rates = [float(line) for line in done.stdout.split()]
            worst = max((abs(a - b) / max(abs(b), 1e-30 + base * 1e-9) for a, b in zip(rates, expected)), default=1)
            good = len(rates) == len(expected) and worst < TOLERANCE
            failures += not good
            print(f"{schedule}: {len(rates)} of {len(expected)} rates, from {max(expected):g} to {min(expected):g}, "
                  f"largest relative difference {worst:.1e} ({'ok' if good else 'WRONG'})")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
