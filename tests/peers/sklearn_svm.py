"""The RBF SVM is that of scikit-learn's SVC.

usage: sklearn_svm.py SVM_MACHINE

Fits random rows of several sizes with both and holds gamma, the objective of each pair's dual (within 1e-4), the decision
values and the classes (the same for 99.9 % of the rows, the others nearer to a border than the tolerance) against each other.
Exit code 77 (skipped) where scikit-learn is missing.
"""
import subprocess
import sys

try:
    import numpy
    from sklearn.svm import SVC
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)

# rows, columns, classes, how far apart, C, gamma
CASES = [(300, 12, 3, 0.6, 1.0, "scale"), (500, 40, 4, 0.3, 10.0, "scale"), (240, 6, 2, 1.0, 100.0, "auto"),
         (400, 300, 5, 0.2, 10.0, 0.001), (200, 5, 2, 6.0, 1e4, 0.1)]


def draw(rows, columns, classes, apart, seed):
    generator = numpy.random.default_rng(seed)
    labels = generator.integers(0, classes, rows).astype(numpy.int32)
    labels[:classes] = numpy.arange(classes)
    centres = apart * generator.standard_normal((classes, columns))
    return (generator.standard_normal((rows, columns)) + centres[labels]).astype(numpy.float32), labels


def found_by(program, values, labels, classes, c, gamma):
    done = subprocess.run([program, *map(str, values.shape), str(classes), str(c), str(gamma)],
                          input=values.tobytes() + labels.tobytes(), capture_output=True, check=True)
    # LIBSVM prints too; our lines are all numbers.
    lines = [line.split() for line in done.stdout.decode().splitlines()]
    pairs = classes * (classes - 1) // 2
    duals = numpy.array(lines[1:1 + pairs], dtype=float)
    rows = numpy.array(lines[1 + pairs:1 + pairs + len(values)], dtype=float)
    return float(lines[0][0]), duals[:, 0], rows[:, 0].astype(int), rows[:, 1:]


def objective_of(machine, values, gamma, a, b, classes):
    """The dual of the pair (a, b) at the coefficients of SVC."""
    starts = numpy.concatenate([[0], numpy.cumsum(machine.n_support_)])
    first, second = range(starts[a], starts[a + 1]), range(starts[b], starts[b + 1])
    vectors = values[machine.support_[[*first, *second]]].astype(float)
    signed = numpy.concatenate([machine.dual_coef_[b - 1, first], machine.dual_coef_[a, second]])
    squares = (vectors ** 2).sum(axis=1)
    kernel = numpy.exp(-gamma * numpy.maximum(0, squares[:, None] + squares - 2 * vectors @ vectors.T))
    return 0.5 * signed @ kernel @ signed - abs(signed).sum()


def main(program):
    for seed, (rows, columns, classes, apart, c, gamma) in enumerate(CASES):
        values, labels = draw(rows, columns, classes, apart, seed)
        machine = SVC(C=c, gamma=gamma, decision_function_shape="ovo").fit(values.astype(float), labels)
        used, objectives, found, decisions = found_by(program, values, labels, classes, c, gamma)
        wanted_gamma = machine._gamma  # pylint: disable=protected-access
        assert abs(used / wanted_gamma - 1) < 1e-5, (used, wanted_gamma)
        pair = 0
        for a in range(classes):
            for b in range(a + 1, classes):
                wanted = objective_of(machine, values, wanted_gamma, a, b, classes)
                assert abs(objectives[pair] - wanted) < 1e-4 * abs(wanted), (seed, a, b, objectives[pair], wanted)
                pair += 1
        wanted = machine.decision_function(values.astype(float)).reshape(rows, -1)
        # SVC's values of two classes are for the second one.
        wanted = -wanted if classes == 2 else wanted
        off = abs(decisions - wanted).max()
        assert off < 0.02, (seed, off)
        differs = found != machine.predict(values.astype(float))
        assert differs.mean() <= 0.001, (seed, differs.sum())
        print(f"{rows} x {columns}, {classes} classes, C = {c:g}: decision values differ by at most {off:.1e}, "
              f"{differs.sum()} classes differ")


if __name__ == "__main__":
    main(sys.argv[1])
