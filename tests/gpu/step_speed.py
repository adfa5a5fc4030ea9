"""How many images or texts a second trainings make, in turns on one GPU."""
import re
import subprocess


def rate(command, steps):
    """Images or texts a second of a training of so many steps; None if it failed, with its last line printed."""
    done = subprocess.run([*command, "--steps", str(steps)], capture_output=True, text=True, check=False)
    told = re.search(r"^speed\D*([\d,.]+) (images|texts)", done.stdout, re.MULTILINE)
    if done.returncode or not told:
        print(f"{command[0]}: exit {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
        return None
    return float(told[1].replace(",", ""))


def compare(before, now, batch, first_steps, seconds):
    """(rates before, now, now, before; steps of each), fewer rates if one failed. All make as many steps as `before`
    makes in `seconds`, found by a run of first_steps."""
    first = rate(before, first_steps)
    if not first:
        return [], 0
    steps = max(5, int(first * seconds / batch))
    rates = []
    for command in (before, now, now, before):
        rates.append(rate(command, steps))
        if not rates[-1]:
            return rates[:-1], steps
    return rates, steps


def change_percent(rates):
    """By how much the summed rates of `now` are above those of `before`; None if one failed."""
    return 100 * ((rates[1] + rates[2]) / (rates[0] + rates[3]) - 1) if len(rates) == 4 else None
