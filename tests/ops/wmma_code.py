"""The variants `wmma` use the tensor cores of compute capability 7.5, which no machine of these tests has: compiles
their kernels for it and counts the instructions HMMA in the machine code. Exits with 77 where there is no nvcc.

usage: wmma_code.py NVCC"""
import collections
import pathlib
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SOURCES = sorted(ROOT.glob("gpu/ops/conv2d/conv2d_wmma_*.cu"))
HMMA = 0x23C  # the low 12 bits of its 16 bytes: compilers come without a disassembler


def instructions(cubin):
    """How often each opcode is in the code of each kernel of a 64-bit ELF file."""
    (table,) = struct.unpack_from("<Q", cubin, 0x28)
    size, count, names = struct.unpack_from("<HHH", cubin, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", cubin, table + i * size) for i in range(count)]
    for section in sections:
        start = sections[names][4] + section[0]
        name = cubin[start : cubin.index(b"\0", start)].decode()
        if name.startswith(".text."):
            code = cubin[section[4] : section[4] + section[5]]
            yield name, collections.Counter(word & 0xFFF for (word,) in struct.iter_unpack("<H14x", code))


def main():
    if len(sys.argv) < 2 or not sys.argv[1]:
        print("skipped: this build has no nvcc")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        source, cubin = pathlib.Path(folder, "wmma.cu"), pathlib.Path(folder, "wmma.cubin")
        source.write_text("".join(f'#include "{each}"\n' for each in SOURCES), encoding="utf-8")
        command = [sys.argv[1], "-cubin", "-arch=sm_75", "-std=c++20", "--expt-relaxed-constexpr", f"-I{ROOT}",
                   "-DWARPSCOPE_HAVE_CUDA=1"]
        subprocess.run([*command, "-Xcicc", "-O1", "-Xptxas", "-O1", "-o", cubin, source], check=True)
        kernels = list(instructions(cubin.read_bytes()))
    products = {name: found[HMMA] for name, found in kernels if "wmma_product" in name and "6__half" in name}
    without = [name for name, count in products.items() if count == 0]
    print("\n".join(without) or f"{len(products)} kernels in FP16, {sum(products.values())} HMMA")
    sys.exit(bool(without) or len(products) < len(SOURCES))


if __name__ == "__main__":
    main()
