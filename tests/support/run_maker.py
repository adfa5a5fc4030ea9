"""Run folders made by hand, as the program writes them."""
import json
import os

# 2026-01-31 23:59:59 UTC
NAME = "20260131T235959Z-1"
START = 1769903999


def head(status="finished", **configuration):
    settings = dict(model="autoencoder", data="CIFAR-10", device="cpu", precision="fp32", optimizer="sgd", batch=64,
                    learning_rate=0.004999999888241291, selection={"conv2d.forward": "onednn"})
    settings.update(configuration)
    run = {"format": 1, "status": status, "configuration": settings, "device": {"kind": "cpu", "name": "AMD EPYC"}}
    if status == "finished":
        run.update(steps=40, epochs=4.0, final_train_loss=0.05, test_loss=0.0625, median_images_per_second=1000.0,
                   seconds=10.0)
    return run


def lines(steps=40):
    """As many steps, a test every ten, and two markers."""
    result = []
    for n in range(1, steps + 1):
        result.append(dict(step=n, epoch=n / 10, loss=round(1 / (n + 1), 9), learning_rate=0.00499999989,
                           images_per_second=100.5 * n, seconds=n / 4, gradient_norm=1.5 * n, accuracy=n / 100))
        if n % 10 == 0:
            result.append(dict(step=n, epoch=n / 10, test_loss=round(2 / n, 9), psnr=12.5 + n, seconds=n / 4,
                               accuracy=n / 50))
        if n in (5, 15):
            result.append(dict(step=n, seconds=n / 4, marker=f'conv2d.forward: "a", -> <b> & ü {n}'))
    return result


def make_run(folder, run, points):
    os.makedirs(folder)
    with open(os.path.join(folder, "run.json"), "w", encoding="utf-8") as file:
        json.dump(run, file)
    with open(os.path.join(folder, "metrics.jsonl"), "w", encoding="utf-8") as file:
        for point in points:
            file.write(json.dumps(point) + "\n")
