"""Every function of an op's folder that returns a Variant stands in the list at the end of <op>.cpp. Prints those that
do not: nothing else would miss them, also where CUDA or a library that they need is not there."""
import pathlib
import re
import sys

OPS = pathlib.Path(__file__).resolve().parents[2] / "gpu/ops"
missing, found = [], 0
for contract in sorted(OPS.glob("*/*.cpp")):
    _, begin, listed = contract.read_text(encoding="utf-8").partition("\nWARPSCOPE_VARIANTS(")
    for source in sorted(contract.parent.rglob("*.c*")) if begin else []:
        # Not of templates, whose line before ends with a bracket.
        for name in re.findall(r"(?<!>\n)^Variant (\w+)\(\) \{", source.read_text(encoding="utf-8"), re.MULTILINE):
            found += 1
            if not re.search(rf"\b{name}\(\)", listed):
                missing.append(f"{source.relative_to(OPS.parents[1])}: {name}() is not listed in {contract.name}")
print("\n".join(missing) or f"{found} variants")
sys.exit(bool(missing) or found == 0)
