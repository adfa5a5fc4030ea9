"""Structural similarity is as NumPy computes it.

usage: numpy_ssim.py SSIM_VALUES

Writes the definition of Wang et al. (2004) out with the whole two-dimensional window, place by place, in double
precision, as scikit-image has it with gaussian_weights, sigma 1.5, use_sample_covariance off and data_range 1 (without
the border, where the window does not lie within the image). Random pairs, noisy copies, constant and equal images, odd
sizes, one and three channels: values must agree to 1e-9. Exit code 77 (skipped) where NumPy is missing.
"""
import subprocess
import sys
import tempfile

try:
    import numpy as np
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

TOLERANCE = 1e-9
SIDE, SIGMA = 11, 1.5


def window():
    away = np.arange(SIDE) - SIDE // 2
    weights = np.exp(-(away[:, None] ** 2 + away[None, :] ** 2) / (2 * SIGMA**2))
    return weights / weights.sum()


def channel_ssim(x, y):
    weights = window()

    def mean(values):
        patches = np.lib.stride_tricks.sliding_window_view(values, (SIDE, SIDE))
        return (patches * weights).sum(axis=(2, 3))

    c1, c2 = 0.01**2, 0.03**2
    mx, my = mean(x), mean(y)
    vx, vy, cxy = mean(x * x) - mx * mx, mean(y * y) - my * my, mean(x * y) - mx * my
    return ((2 * mx * my + c1) * (2 * cxy + c2) / ((mx**2 + my**2 + c1) * (vx + vy + c2))).mean()


def ssim(x, y):
    x, y = x.astype(np.float64), y.astype(np.float64)
    return np.mean([channel_ssim(x[..., c], y[..., c]) for c in range(x.shape[2])])


def pairs(shape):
    random = np.random.default_rng(20040404)
    base = random.random(shape)
    smooth = np.broadcast_to(np.linspace(0, 1, shape[1])[None, :, None], shape)
    images = [(base, random.random(shape)), (base, base),
              (base, np.clip(base + 0.05 * random.normal(size=shape), 0, 1)),
              (smooth, 0.8 * smooth + 0.1), (smooth, 1 - smooth), (np.full(shape, 0.3), np.full(shape, 0.6)),
              (np.zeros(shape), np.zeros(shape)), (base, 1.2 * base - 0.1)]
    return tuple(np.stack([pair[side] for pair in images]).astype(np.float32) for side in (0, 1))


def check(program, shape):
    x, y = pairs(shape)
    with tempfile.NamedTemporaryFile() as file:
        file.write(x.tobytes() + y.tobytes())
        file.flush()
        printed = subprocess.run([program, *map(str, x.shape), file.name], check=True, capture_output=True,
                                 text=True).stdout
    found = np.array([float(line) for line in printed.split()])
    wanted = np.array([ssim(a, b) for a, b in zip(x, y)])
    worst = np.abs(found - wanted).max()
    print(f"{shape}: {len(wanted)} pairs from {wanted.min():.3f} to {wanted.max():.3f}, largest deviation {worst:.1e}")
    return len(found) == len(wanted) and worst <= TOLERANCE


def main():
    shapes = ((32, 32, 3), (28, 28, 1), (11, 11, 1), (11, 40, 3), (37, 19, 2))
    return 0 if all([check(sys.argv[1], shape) for shape in shapes]) else 1


if __name__ == "__main__":
    sys.exit(main())
