"""Holding all systems to the same vector instructions, so that one machine can measure for lesser ones.

Every library has its own switch; they are variables of the environment, read when it starts. Where a library has none, that is said. What the switches
did is asked of numpy and PyTorch, which can tell; the others are taken at their word.
"""

import re

LEVELS = ["portable", "avx2", "avx512"]
# What a processor must have, by the names that Linux gives them.
NEEDS = {"portable": set(), "avx2": {"avx2", "fma", "bmi2"}, "avx512": {"avx512f", "avx512dq", "avx512vl", "avx512bw"}}

# Switches with fixed names for their levels. What is left out goes as far as the machine does.
SWITCHES = {
    "CREASE_INSTRUCTIONS": {"portable": "portable", "avx2": "avx2", "avx512": "avx512"},
    "OPENBLAS_CORETYPE": {"portable": "Nehalem", "avx2": "Haswell", "avx512": "SkylakeX"},
    "ATEN_CPU_CAPABILITY": {"portable": "default", "avx2": "avx2", "avx512": "avx512"},
    "ONEDNN_MAX_CPU_ISA": {"portable": "SSE41", "avx2": "AVX2", "avx512": "AVX512_CORE"},
    "MKL_ENABLE_INSTRUCTIONS": {"portable": "SSE4_2", "avx2": "AVX2", "avx512": "AVX512"},
    "XLA_FLAGS": {"portable": "--xla_cpu_max_isa=SSE4_2", "avx2": "--xla_cpu_max_isa=AVX2", "avx512": "--xla_cpu_max_isa=AVX512"},
}

# Who has no switch: the levels below the best of the machine at which it does something else, and what.
WITHOUT = {
    "candle": (("portable", "avx2"), "its products (gemm) take what the machine has"),
    "Rust, by hand": (("portable",), "AVX2 where the machine has it"),
}

# XLA's products are YNNPACK's, which takes what the machine has whatever the limit is; without it they are Eigen's, as in older versions, which do not know
# this flag and refuse it. Eigen is compiled for AVX2 at the most, and reaches its peak. Sums stay YNNPACK's, which memory decides.
LEFT_TO_EIGEN = "--xla_cpu_experimental_ynn_fusion_type=LIBRARY_FUSION_TYPE_REDUCE"
# Printed by one with JAX, if it takes its flags.
ASK_JAX = "import jax; print(jax.jit(lambda x: x + 1)(1.0))"

# Printed by a Python with numpy: the features that it can be told to leave out.
ASK_NUMPY = "from numpy._core._multiarray_umath import __cpu_dispatch__ as d; print(*d)"
# Printed by one that was told: what it would still choose.
LEFT_TO_NUMPY = "from numpy._core._multiarray_umath import __cpu_dispatch__ as d, __cpu_features__ as f; print(*(n for n in d if f.get(n)))"
# Printed by one with PyTorch.
ASK_TORCH = "import torch; print(torch.backends.cpu.get_cpu_capability())"


def best(flags):
    """The best level that a processor with these flags has."""
    return [level for level in LEVELS if NEEDS[level] <= flags][-1]


def is_below(level, machine):
    """Whether a level leaves out what a machine of another one has."""
    return LEVELS.index(level) < LEVELS.index(machine)


def flags(path="/proc/cpuinfo"):
    """What the processor can do; nothing where the system does not tell."""
    try:
        with open(path) as f:
            return next((set(l.split(":", 1)[1].split()) for l in f if l.startswith("flags")), set())
    except OSError:
        return set()


def refusal(level, found):
    """Why a level cannot be measured on a processor with these flags; nothing if it can."""
    absent = sorted(NEEDS[level] - found)
    if not absent:
        return None
    return f"--instructions {level}: this processor has no {', '.join(absent)}; take {best(found)}"


def numpy_leaves_out(level, dispatched):
    """Which of numpy's features are above a level, among those that it chooses at run time."""
    wide = re.compile(r"AVX512|X86_V4")
    some = re.compile(r"AVX|FMA|F16C|XOP|X86_V[34]")
    above = {"portable": some, "avx2": wide}.get(level)
    return [f for f in dispatched if above and above.match(f)]


def environment(level, dispatched=()):
    """The variables that hold everybody to a level, given what numpy chooses at run time."""
    names = {name: values[level] for name, values in SWITCHES.items()}
    left_out = numpy_leaves_out(level, dispatched)
    if left_out:
        names["NPY_DISABLE_CPU_FEATURES"] = " ".join(left_out)
    return names


def not_held(level, machine, systems, torch_says=None, numpy_uses=()):
    """Those of the systems that a level below the machine's does not reach, and why. Code by hand runs with crease."""
    if not is_below(level, machine):
        return {}
    ran = [*systems, *(["Rust, by hand"] if "crease" in systems else [])]
    found = {name: why for name, (levels, why) in WITHOUT.items() if name in ran and level in levels}
    expected = {"portable": "DEFAULT", "avx2": "AVX2"}[level]
    if "torch" in ran and torch_says not in (None, expected):
        found["torch"] = f"says that it uses {torch_says}"
    if "numpy" in ran and numpy_uses:
        found["numpy"] = f"says that it uses {', '.join(numpy_uses)}"
    return found


def told(*args):
    """The same in words."""
    return "; ".join(f"{name}: {why}" for name, why in not_held(*args).items()) or "nobody"
