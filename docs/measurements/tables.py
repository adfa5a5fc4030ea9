#!/usr/bin/env python3
"""The tables of the pages, made from the measurements in this folder.

    tables.py [--check] [WARPSCOPE]

In a page of docs a table stands between the lines <!-- table: NAME --> and <!-- end -->. It is made from NAME.csv,
whose columns `date`, `machine`, `commit` and `command` say where a row comes from ("unknown" where nobody wrote it
down); the others are the table's. Scripts write these files by tests/support/measurements.py. What is the same in all
rows is said once above the table, also what commands begin with, and the commit stays in the file. The table `variants`
is made from what `WARPSCOPE devices` prints; a build without CUDA knows the variants of CPUs only, so those of CUDA
stay as they are.

Writes the tables into the pages. With --check it writes nothing, prints each table that differs, each file without
these columns and each link between the pages that leads nowhere, and exits with 1 if there is any.
"""
import csv
import os
import pathlib
import re
import subprocess
import sys
import textwrap

HERE = pathlib.Path(__file__).resolve().parent
PAGES = sorted(HERE.parent.glob("*.md")) + [HERE.parent.parent / "README.md"]
ORIGIN = ("date", "machine", "commit", "command")
TABLE = re.compile(r"(<!-- table: (\w+) -->\n)(.*?)(<!-- end -->)", re.DOTALL)


def shown(column, cell):
    """A cell as people read it: whole numbers in groups of three digits, but for sizes of a batch."""
    return f"{int(cell):,}" if column != "batch" and re.fullmatch(r"[1-9]\d{3,}", cell) else cell


def markdown(columns, rows):
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(re.sub(r" +\|", " |", re.sub(r"\| +", "| ", line)) for line in lines) + "\n"


def measured(name):
    """The table of NAME.csv with the line that says where it comes from."""
    with open(HERE / f"{name}.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    common = [key for key in ORIGIN if len({row[key] for row in rows}) == 1]
    begin = os.path.commonprefix([row["command"] + " " for row in rows]).rpartition(" ")[0]
    if "command" in common or " " not in begin:
        begin = ""
    for row in rows:
        rest = row["command"].removeprefix(begin).strip()
        row["command"] = f"`{rest}`" if rest not in ("", "unknown") else rest
    told = {key: f"{key} unknown" if rows[0][key] == "unknown" else rows[0][key] for key in common}
    if begin:
        told["command"] = f"`{begin} ...`"
    place = ", ".join(told[key] for key in ("machine", "date") if key in told)
    line = "; ".join(filter(None, [place, told.get("command")]))
    columns = [key for key in rows[0] if key not in ORIGIN]
    columns += [key for key in ORIGIN if key not in common and key != "commit"]
    table = markdown(columns, [[shown(key, row[key]) for key in columns] for row in rows])
    if line:
        line = textwrap.fill(line, 120, break_long_words=False, break_on_hyphens=False) + "\n\n"
    return line + table


def faults_of_files():
    for path in sorted(HERE.glob("*.csv")):
        with open(path, encoding="utf-8", newline="") as file:
            heading, *rows = list(csv.reader(file))
        if tuple(heading[:4]) != ORIGIN or not rows:
            yield f"{path.name}: the first columns are {', '.join(ORIGIN)}, and there are rows"
        for number, row in enumerate(rows, 2):
            if len(row) != len(heading) or not all(row[:4]):
                yield f"{path.name}:{number}: {len(heading)} cells, and none of the first four is empty"
            elif not re.fullmatch(r"unknown|\d{4}-\d\d-\d\d", row[0]):
                yield f"{path.name}:{number}: a date is as 2026-11-26, or unknown"


def variants(program, before):
    """The variants of each op, ops with the same ones in one row; CUDA's from `before` where `program` has none."""
    told = subprocess.run([program, "devices"], capture_output=True, text=True, check=True).stdout
    ops, kind = {}, None
    for line in told.splitlines():
        if not line.startswith("    "):
            kind = 0 if line.startswith("cpu") else 1
            continue
        op, rest = line.split(maxsplit=1)
        names = re.findall(r"(\w+)(?: with [^(]+)? \([^)]*\)", rest)
        if rest.startswith("unavailable: "):
            names = rest.removeprefix("unavailable: ").split(", ")
        ops.setdefault(op, ["", ""])[kind] = ", ".join(f"`{name}`" for name in names)
    if not any(cuda for _, cuda in ops.values()):
        for there, _, cuda in re.findall(r"^\| (.*?) \| (.*?) \| (.*?) \|$", before, re.MULTILINE):
            for op in there.split(", "):
                if op.strip("`") in ops:
                    ops[op.strip("`")][1] = cuda
    alike = {}
    for op, both in ops.items():
        alike.setdefault(tuple(both), []).append(f"`{op}`")
    return markdown(["ops", "CPU", "CUDA"], [[", ".join(names), *both] for both, names in alike.items()])


def faults_of_chains(program, page):
    """Variants that cover other ops and are not under "What one call covers"."""
    told = subprocess.run([program, "devices"], capture_output=True, text=True, check=True).stdout
    section = page.partition("\n## What one call covers\n")[2].partition("\n## ")[0]
    for name in sorted(set(re.findall(r"(\w+) with [^(]+\(", told))):
        if f"`{name}`" not in section:
            yield f"variants.md: \"What one call covers\" lacks {name}"


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.DOTALL)


def anchors(page):
    """The anchors of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", without_code(page.read_text(encoding="utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def faults_of_links(page, text):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(text)):
        if "://" in target:
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.exists() or (anchor and anchor not in anchors(there)):
            yield f"{page.name}: the link {target} leads nowhere"


def main():
    arguments = [argument for argument in sys.argv[1:] if argument != "--check"]
    check, faults = "--check" in sys.argv[1:], list(faults_of_files())
    for page in PAGES:
        text = page.read_text(encoding="utf-8")

        def made(found):
            start, name, before, end = found.groups()
            if name == "variants":
                return start + (variants(arguments[0], before) if arguments else before) + end
            if not (HERE / f"{name}.csv").exists():
                faults.append(f"{page.name}: there is no {name}.csv for its table")
                return found[0]
            now = measured(name)
            if check and now != before:
                faults.append(f"{page.name}: the table {name} is not that of {name}.csv; run tables.py")
            return start + now + end

        now = TABLE.sub(made, text)
        faults += faults_of_links(page, now)
        if arguments and page.name == "variants.md":
            faults += faults_of_chains(arguments[0], now)
        if check and now != text and not any(fault.startswith(page.name) for fault in faults):
            faults.append(f"{page.name}: the variants are not those of the program; run tables.py WARPSCOPE")
        if not check and now != text:
            page.write_text(now, encoding="utf-8")
    print("\n".join(faults) or "ok")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
