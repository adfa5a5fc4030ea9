"""PyTorch opens a checkpoint: weights and Adam's state go into torch by name, and the seal is what hashlib says.

usage: torch_checkpoint.py TEST_RUNS

Lets the program of the tests of runs write a checkpoint of the autoencoder in which the i-th element of each parameter,
counted in Warpscope's order (K, R, S, C), is 123 + i, exp_avg 0.5 + i / 4 and exp_avg_sq 1.5 + i / 4. Exit code 77
(skipped) where PyTorch or safetensors is missing.
"""
import hashlib
import json
import os
import re
import subprocess
import sys
import tempfile

try:
    import safetensors
    import torch
    from safetensors.torch import load_file
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(77)


def make_autoencoder():
    conv = lambda a, b: torch.nn.Conv2d(a, b, 3, padding=1)
    channels = [("conv1", 3, 256), ("conv2", 256, 128), ("conv3", 128, 128), ("conv4", 128, 256), ("conv5", 256, 3)]
    return torch.nn.ModuleDict({name: conv(a, b) for name, a, b in channels})


def counting(parameter, first, by):
    """What the parameter should be, in PyTorch's layout."""
    count = torch.arange(parameter.numel(), dtype=torch.float32) * by + first
    if parameter.dim() == 1:
        return count
    filters, channels, height, width = parameter.shape
    return count.reshape(filters, height, width, channels).permute(0, 3, 1, 2)


def check_seal(path):
    with open(path, "rb") as file:
        data = file.read()
    match = re.search(rb'"warpscope_sha256":"([0-9a-f]{64})"', data)
    zeros = data[:match.start(1)] + b"0" * 64 + data[match.end(1):]
    assert hashlib.sha256(zeros).hexdigest().encode() == match.group(1), "the seal is not the SHA-256"


def check_tensors(tensors, model):
    weights = {name: tensor for name, tensor in tensors.items() if not name.startswith("optimizer.")}
    model.load_state_dict(weights)  # strict: nothing missing, nothing more, no other shape
    for name, parameter in model.named_parameters():
        assert torch.equal(parameter.detach(), counting(parameter, 123.0, 1.0)), name


def check_optimizer(tensors, updates, model):
    """Puts the state into torch.optim.Adam, which then takes a step with it."""
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    state = {}
    for i, (name, parameter) in enumerate(model.named_parameters()):
        state[i] = {"step": torch.tensor(float(updates)), "exp_avg": tensors["optimizer.exp_avg." + name],
                    "exp_avg_sq": tensors["optimizer.exp_avg_sq." + name]}
        assert torch.equal(state[i]["exp_avg"], counting(parameter, 0.5, 0.25)), name
        assert torch.equal(state[i]["exp_avg_sq"], counting(parameter, 1.5, 0.25)), name
        parameter.grad = torch.zeros_like(parameter)
    optimizer.load_state_dict({"state": state, "param_groups": optimizer.state_dict()["param_groups"]})
    optimizer.step()
    name, parameter = next(iter(model.named_parameters()))
    assert not torch.equal(parameter.detach(), counting(parameter, 123.0, 1.0)), "the step used the moments"


def main():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.safetensors")
        subprocess.run([os.path.abspath(sys.argv[1]), "--gtest_filter=CheckpointForPeers.*"], check=True,
                       stdout=subprocess.DEVNULL, env={**os.environ, "WARPSCOPE_TEST_CHECKPOINT": path})
        check_seal(path)
        with safetensors.safe_open(path, framework="pt") as file:
            metadata = file.metadata()
        rest = json.loads(metadata["checkpoint"])
        assert metadata["format"] == "pt" and metadata["model"] == "autoencoder", metadata
        assert (rest["format"], rest["step"], rest["optimizer"]["rule"]) == (2, 123, "adam"), rest
        tensors = load_file(path)
        assert len(tensors) == 30, len(tensors)
        model = make_autoencoder()
        check_tensors(tensors, model)
        check_optimizer(tensors, rest["control"]["updates"], model)
    print(f"PyTorch {torch.__version__}, safetensors {safetensors.__version__}: 10 parameters and 20 states, ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
