#!/usr/bin/env python3
"""How much of PyTorch is imported: tries the operators of core ATen, the layers of torch.nn and the classifiers of torchvision, and prints tables in markdown.

Each is imported, run, and differentiated off kinks, and both are compared with PyTorch within 1e-5; layers are tried at ties as well. Cases are those of tests/torch_cases.py. An operator of core ATen that
no case tries is listed as such, a layer that none tries, too.

    python tools/coverage_torch.py [--only operators layers classifiers] [--seconds S] [--write]

With ``--write`` the tables become parts of docs/coverage.md.
"""

from __future__ import annotations

import argparse
import logging
import pathlib
import sys
import time
import warnings
from typing import Any, Callable

warnings.simplefilter("ignore")
logging.disable(logging.WARNING)

HERE = pathlib.Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent))
sys.path.insert(0, str(HERE.parents[1] / "tests"))

import numpy as np  # noqa: E402
import page  # noqa: E402
import torch  # noqa: E402
import torch_cases as cases  # noqa: E402
from at_ties import COLUMNS, Ties, tied_points  # noqa: E402

from crease import CreaseError  # noqa: E402
from crease._torch import arguments, from_torch, gradient  # noqa: E402
from crease._torch_compat import core_operators  # noqa: E402
from crease._unsupported import Unsupported  # noqa: E402

TOLERANCE = 1e-5
PARTS = ("operators", "layers", "classifiers")

# operators of core ATen that are no functions of real floats, or are random, or only come up inside of derivatives
NOT_REAL = set(
    """_local_scalar_dense sym_is_contiguous sym_numel sym_size sym_storage_offset sym_stride rand randn randperm bernoulli multinomial normal nonzero empty_strided _fft_c2c _fft_c2r _fft_r2c
    convolution_backward _cudnn_rnn_backward embedding_dense_backward max_pool2d_with_indices_backward native_layer_norm_backward native_group_norm_backward _adaptive_avg_pool2d_backward avg_pool2d_backward
    bitwise_left_shift bitwise_right_shift randint resize_ view_as_complex view_as_real native_batch_norm_backward""".split()
)

# one of each family of torchvision's classifiers, the smallest: how it is made, and the size of the picture
CLASSIFIERS: dict[str, tuple[str, int, dict[str, Any]]] = {
    "AlexNet": ("alexnet", 64, {}), "VGG": ("vgg11_bn", 32, {}), "ResNet": ("resnet18", 32, {}), "ResNeXt": ("resnext50_32x4d", 32, {}), "Wide ResNet": ("wide_resnet50_2", 32, {}),
    "SqueezeNet": ("squeezenet1_1", 64, {}), "DenseNet": ("densenet121", 32, {}), "Inception v3": ("inception_v3", 75, {"aux_logits": False, "init_weights": False}),
    "GoogLeNet": ("googlenet", 64, {"aux_logits": False, "init_weights": False}), "ShuffleNet v2": ("shufflenet_v2_x0_5", 32, {}), "MobileNet v2": ("mobilenet_v2", 32, {}),
    "MobileNet v3": ("mobilenet_v3_small", 32, {}), "MNASNet": ("mnasnet0_5", 32, {}), "EfficientNet": ("efficientnet_b0", 32, {}), "EfficientNet v2": ("efficientnet_v2_s", 32, {}),
    "RegNet": ("regnet_y_400mf", 32, {}), "ConvNeXt": ("convnext_tiny", 32, {}), "Vision transformer": ("vit_b_32", 32, {"image_size": 32}), "Swin": ("swin_t", 32, {}), "Swin v2": ("swin_v2_t", 32, {}),
    "MaxViT": ("maxvit_t", 224, {}),
}  # fmt: skip


def judge(f: Callable[..., Any], args: list[Any]) -> tuple[str, str]:
    """``ok``, ``wrong``, ``refused`` or ``broken``, and why."""
    try:
        value, slope = cases.compare(f, args)
    except Unsupported as e:
        return "refused", f"`{e.primitive}`" + (f": {e.why}" if e.why else "")
    except CreaseError as e:
        return "refused", str(e).splitlines()[0]
    except Exception as e:  # noqa: BLE001  the table shows whatever happens
        return "broken", f"{type(e).__name__}: {str(e).splitlines()[0]}"
    if not value <= TOLERANCE:
        return "wrong", f"value {value:.1e} apart"
    return ("ok", "") if slope <= TOLERANCE else ("wrong", f"gradient {slope:.1e} apart")


class Table:
    """Counts by group; a thing agrees if all of its cases do."""

    def __init__(self) -> None:
        self.rows: dict[str, list[tuple[str, str, str]]] = {}

    def add(self, group: str, name: str, found: list[tuple[str, str]]) -> str:
        order = ("broken", "wrong", "refused", "ok")
        status, why = min(found, key=lambda s: order.index(s[0]))
        self.rows.setdefault(group, []).append((name, status, why))
        print(f"{status:8} {group}: {name}  {why}", file=sys.stderr, flush=True)
        return status

    def lines(self) -> list[str]:
        out = ["| group | tried | agree | refused | wrong | broken |", "| --- | --- | --- | --- | --- | --- |"]
        for group, rows in self.rows.items():
            counts = [len(rows), *(sum(s == which for _, s, _ in rows) for which in ("ok", "refused", "wrong", "broken"))]
            out.append(f"| {group} | {' | '.join(map(str, counts))} |")
        for which in ("wrong", "broken", "refused"):
            listed = [f"- {group}: {name}: {why}" for group, rows in self.rows.items() for name, s, why in rows if s == which]
            if listed:
                out += [f"\n{which.capitalize()}:\n", *listed]
        return out

    def bad(self) -> bool:
        return any(s in ("wrong", "broken") for rows in self.rows.values() for _, s, _ in rows)


def operators(table: Table) -> list[str]:
    """Core ATen: what is tried, and what no case tries."""
    tried = cases.operators()
    names = [n for n in core_operators(torch) if n not in NOT_REAL]
    agree = [n for n in names if n in tried and table.add("core ATen on real floats", n, [judge(*c) for c in tried[n]]) == "ok"]
    missing = [n for n in names if n not in tried]
    share = f"Operators of core ATen on real floats: {len(agree)} of {len(names)} agree with PyTorch ({len(agree) / len(names):.0%})."
    return [share + (f" No case tries: {', '.join(missing)}." if missing else "") + "\n"]


def at_ties(name: str, f: Callable[..., Any], args: list[Any], found: Ties) -> None:
    """What PyTorch returns where many numbers are equal, and what the program does."""
    total = cases.total(f)
    moving = lambda change, x: torch.from_numpy(np.array(change(x.numpy()))) if isinstance(x, torch.Tensor) and x.is_floating_point() else x  # noqa: E731
    program = from_torch(total, *args)
    for point in tied_points(tuple(args), moving):
        real = tuple(x.numpy() if isinstance(x, torch.Tensor) else x for x in arguments(point))
        try:
            theirs = gradient(total, point)
        except CreaseError:
            continue
        found.add(name, program, real, theirs, TOLERANCE, 5.0)


def layers(table: Table, ties: dict[str, Ties]) -> list[str]:
    """torch.nn's activations, losses, pools and normalisations."""
    seen = set()
    for kind, by_name in cases.layers().items():
        for name, some in by_name.items():
            seen.add(name)
            status = table.add(f"torch.nn, {kind}", name, [judge(*c) for c in some])
            if status == "ok" and kind in ("activations", "losses", "pooling"):
                at_ties(name, *some[0], ties.setdefault(f"torch.nn, {kind}", Ties()))
    modules = {"activation": "activations", "loss": "losses", "pooling": "pooling", "batchnorm": "normalisation", "instancenorm": "normalisation", "normalization": "normalisation"}
    lazy = lambda n: n.startswith(("Lazy", "_")) or n == "SyncBatchNorm"  # noqa: E731
    missing = sorted(n for m in modules for n in getattr(torch.nn.modules, m).__all__ if n not in seen and not lazy(n))
    return [f"Layers that no case tries: {', '.join(missing)}.\n"] if missing else []


def classifiers(table: Table, seconds: float) -> list[str]:
    """One network of each family of torchvision, with random weights, in f64: value and gradient by a number that scales and one that shifts the picture. (In f32 deep networks round away more than the difference that is looked for.)"""
    import torchvision

    start, left = time.monotonic(), []
    for family, (name, size, how) in CLASSIFIERS.items():
        if time.monotonic() - start > seconds:
            left.append(family)
            continue
        torch.manual_seed(0)
        net = torchvision.models.get_model(name, num_classes=5, **how).eval().double()
        picture = cases.randn(1, 3, size, size).double()

        def f(scale: Any, shift: Any, net: Any = net, picture: Any = picture) -> Any:
            return net(picture * scale + shift)

        table.add("torchvision, one of each family", f"{family} ({name}, {size} by {size})", [judge(f, [torch.tensor([1.0]).double(), torch.full((1, 3, 1, 1), 0.25).double()])])
    return [f"torchvision {torchvision.__version__}; families that were not tried: {', '.join(left)}.\n"] if left else [f"torchvision {torchvision.__version__}.\n"]


def made(what: str, seconds: float) -> tuple[str, bool]:
    """One part of the page, and whether something is wrong."""
    table, ties = Table(), {}
    lines = [f"PyTorch {torch.__version__}.\n"]
    lines += operators(table) if what == "operators" else layers(table, ties) if what == "layers" else classifiers(table, seconds)
    lines += table.lines()
    if ties:
        lines += [f"\n| group | {COLUMNS} |", f"| --- |{' --- |' * 7}", *(f"| {group} | {found.row()} |" for group, found in ties.items())]
        for which, of in (("Other at ties", "other"), ("Judged wrong", "wrong")):
            listed = [f"- {group}, {one}" for group, found in ties.items() for one in getattr(found, of)]
            lines += [f"\n{which}:\n", *listed] if listed else []
    return "\n".join(lines) + "\n", table.bad()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", choices=PARTS, nargs="*")
    parser.add_argument("--seconds", type=float, default=1800.0, help="for the classifiers")
    parser.add_argument("--write", action="store_true", help="into docs/coverage.md")
    options = parser.parse_args()
    wrong = False
    for what in options.only or PARTS:
        text, bad = made(what, options.seconds)
        wrong |= bad
        if options.write:
            page.write("coverage.md", f"torch {what}", text)
        else:
            print(text)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
