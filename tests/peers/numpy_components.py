"""Principal components are those of NumPy's singular value decomposition.

usage: numpy_components.py PRINCIPAL_COMPONENTS

Draws rows of several sizes, with means and directions of falling variance, and holds the parts of the variance and the
scores that the program PRINCIPAL_COMPONENTS finds against those of numpy.linalg.svd of the centred rows in double
precision: parts within 1e-5, scores within 1e-3 of the component's standard deviation. Exit code 77 (skipped) where
NumPy is missing.
"""
import subprocess
import sys

try:
    import numpy
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

SIZES = [(8, 5), (40, 300), (128, 2048), (300, 64)]


def draw(count, dims, seed):
    generator = numpy.random.default_rng(seed)
    hidden = min(count, dims, 24)
    sizes = 10 * 0.75 ** numpy.arange(hidden)
    directions = numpy.linalg.qr(generator.standard_normal((dims, hidden)))[0].T
    noise = 1e-3 * generator.standard_normal((count, dims))
    rows = generator.standard_normal((count, hidden)) * sizes @ directions + generator.random(dims) + noise
    return rows.astype(numpy.float32)


def found_by(program, rows):
    done = subprocess.run([program, *map(str, rows.shape)], input=rows.tobytes(), capture_output=True, check=True)
    numbers = numpy.array(done.stdout.split(), dtype=float)
    rank = len(numbers) // (len(rows) + 1)
    return numbers[:rank], numbers[rank:].reshape(len(rows), rank)


def wanted_of(rows, rank):
    wide = rows.astype(float)
    left, values, _ = numpy.linalg.svd(wide - wide.mean(axis=0), full_matrices=False)
    return (values ** 2 / (values ** 2).sum())[:rank], (left * values)[:, :rank]


def main(program):
    for seed, (count, dims) in enumerate(SIZES):
        rows = draw(count, dims, seed)
        shares, scores = found_by(program, rows)
        wanted_shares, wanted_scores = wanted_of(rows, len(shares))
        assert len(shares) == min(6, count, dims), (count, dims, len(shares))
        assert abs(shares - wanted_shares).max() < 1e-5, (count, dims, shares, wanted_shares)
        wanted_scores *= numpy.sign((scores * wanted_scores).sum(axis=0))
        off = abs(scores - wanted_scores).max(axis=0) / wanted_scores.std(axis=0)
        assert off.max() < 1e-3, (count, dims, off)
        print(f"{count} x {dims}: parts of the variance {shares.round(4)}, largest difference of scores "
              f"{off.max():.1e}")


if __name__ == "__main__":
    main(sys.argv[1])
