"""The RBF SVM is that of scikit-learn's SVC.

usage: sklearn_svm.py SVM_MACHINE [DEVICE [FEATURES.npy LABELS.npy]]

Fits random rows of several sizes with both and holds gamma, the objective of each pair's dual (within 1e-4), the
decision values and the classes (the same for 99.9 % of the rows) against each other; on a GPU, also of 5,000 rows. With
files, their first 8,000 rows are what is fitted, standardised, at C = 10 and gamma = scale. Exit code 77 (skipped)
where scikit-learn is missing.
"""
import subprocess
import sys
import time

try:
    import numpy
    from sklearn.svm import SVC
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# rows, columns, classes, how far apart, C, gamma
CASES = [(300, 12, 3, 0.6, 1.0, "scale"), (500, 40, 4, 0.3, 10.0, "scale"), (240, 6, 2, 1.0, 100.0, "auto"),
         (400, 300, 5, 0.2, 10.0, 0.001), (200, 5, 2, 6.0, 1e4, 0.1)]
LARGE = [(5000, 64, 10, 0.3, 10.0, "scale"), (5000, 500, 10, 0.1, 1.0, "scale"), (5000, 20, 6, 0.4, 100.0, 0.05)]
REAL_ROWS = 8000


def draw(rows, columns, classes, apart, seed):
    generator = numpy.random.default_rng(seed)
    labels = generator.integers(0, classes, rows).astype(numpy.int32)
    labels[:classes] = numpy.arange(classes)
    centres = apart * generator.standard_normal((classes, columns))
    return (generator.standard_normal((rows, columns)) + centres[labels]).astype(numpy.float32), labels


def found_by(program, device, values, labels, classes, c, gamma):
    done = subprocess.run([program, *map(str, values.shape), str(classes), str(c), str(gamma), device],
                          input=values.tobytes() + labels.tobytes(), capture_output=True, check=True)
    # LIBSVM prints too; our lines are all numbers.
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    pairs = classes * (classes - 1) // 2
    duals = numpy.array(lines[1:1 + pairs], dtype=float)
    rows = numpy.array(lines[1 + pairs:1 + pairs + len(values)], dtype=float)
    return float(lines[0][0]), duals[:, 0], rows[:, 0].astype(int), rows[:, 1:]


def kernel_of(values, gamma):
    squares = (values ** 2).sum(axis=1)
    return numpy.exp(-gamma * numpy.maximum(0, squares[:, None] + squares - 2 * values @ values.T))


def objectives_of(machine, kernel, classes):
    """The dual of each pair of classes at the coefficients of SVC."""
    starts = numpy.concatenate([[0], numpy.cumsum(machine.n_support_)])
    found = []
    for a in range(classes):
        for b in range(a + 1, classes):
            first, second = range(starts[a], starts[a + 1]), range(starts[b], starts[b + 1])
            used = machine.support_[[*first, *second]]
            signed = numpy.concatenate([machine.dual_coef_[b - 1, first], machine.dual_coef_[a, second]])
            found.append(0.5 * signed @ kernel[numpy.ix_(used, used)] @ signed - abs(signed).sum())
    return numpy.array(found)


def gamma_of(values, gamma):
    """As SVC has it."""
    return {"scale": 1 / (values.shape[1] * values.var()), "auto": 1 / values.shape[1]}.get(gamma, gamma)


def compare(program, device, values, labels, classes, c, gamma):
    """Prints a line; SVC is given the kernel's matrix in double precision, so that many columns do not take it
    minutes."""
    exact = values.astype(float)
    wanted_gamma = gamma_of(exact, gamma)
    start = time.monotonic()
    kernel = kernel_of(exact, wanted_gamma)
    machine = SVC(C=c, kernel="precomputed", decision_function_shape="ovo", cache_size=2000).fit(kernel, labels)
    seconds = time.monotonic() - start
    used, objectives, found, decisions = found_by(program, device, values, labels, classes, c, gamma)
    assert abs(used / wanted_gamma - 1) < 1e-5, (used, wanted_gamma)
    wanted = objectives_of(machine, kernel, classes)
    apart = abs(objectives / wanted - 1).max()
    assert apart < 1e-4, (objectives, wanted)
    wanted = machine.decision_function(kernel).reshape(len(values), -1)
    # SVC's values of two classes are for the second one.
    off = abs(decisions - (-wanted if classes == 2 else wanted)).max()
    assert off < 0.02, off
    differs = found != machine.predict(kernel)
    assert differs.mean() <= 0.001, differs.sum()
    print(f"{values.shape[0]} x {values.shape[1]}, {classes} classes, C = {c:g}: duals differ by at most {apart:.1e}, "
          "decision values "
          f"by {off:.1e}, {differs.sum()} classes differ; SVC {seconds:.1f} s")
    return apart, differs.sum()


def main(program, device="cpu", features="", names=""):
    told = []
    for seed, (rows, columns, classes, apart, c, gamma) in enumerate(CASES + (LARGE if device != "cpu" else [])):
        values, labels = draw(rows, columns, classes, apart, seed)
        told.append(compare(program, device, values, labels, classes, c, gamma))
    if features:
        values = numpy.load(features, mmap_mode="r")[:REAL_ROWS]
        labels = numpy.load(names)[:REAL_ROWS].astype(numpy.int32)
        values = values.astype(float)
        spread = values.std(axis=0)
        values = ((values - values.mean(axis=0)) / numpy.where(spread > 0, spread, 1)).astype(numpy.float32)
        told.append(compare(program, device, values, labels, int(labels.max()) + 1, 10.0, "scale"))
    apart, differing = (list(each) for each in zip(*told))
    print(f"dual objectives within {max(apart):.1e} of scikit-learn's, {sum(differing)} predictions differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
