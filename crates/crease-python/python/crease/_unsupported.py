"""What a walker of foreign programs says when it meets an operation that it cannot express, and what it can."""

from __future__ import annotations

from ._crease import CreaseError


class UnsupportedError(CreaseError):
    """An operation of a framework that cannot be imported: ``primitive`` is its name, ``place`` the line of the user (or ``None``), ``supported`` what can be.

    >>> raise UnsupportedError("fft", place="net.py:12", supported=["add", "mul"], see="crease.supported('jax')")
    Traceback (most recent call last):
    crease._unsupported.UnsupportedError: `fft` cannot be imported (net.py:12); crease.supported('jax') lists what can
    """

    def __init__(self, primitive: str, place: str | None = None, supported: list[str] | None = None, why: str | None = None, see: str | None = None):
        self.primitive = primitive
        self.place = place
        self.supported = list(supported or [])
        self.why = why
        self.see = see
        where = f" ({place})" if place else ""
        reason = f": {why}" if why else ""
        listed = f"; {see} lists what can" if see else ""
        super().__init__(f"`{primitive}` cannot be imported{where}{reason}{listed}")

    def __reduce__(self):  # exceptions are made again from their message unless told
        return (type(self), (self.primitive, self.place, self.supported, self.why, self.see))


#: The name inside of the package.
Unsupported = UnsupportedError


def supported(framework: str) -> list[str]:
    """What can be imported from a framework, by name, in alphabetical order: ``"numpy"`` (functions of NumPy that :func:`crease.trace` knows), ``"jax"`` (primitives), ``"torch"``
    (operators that are translated as they stand; PyTorch decomposes others into them), ``"onnx"`` (operators of networks).

    >>> import crease
    >>> "maximum" in crease.supported("numpy"), "MaxPool" in crease.supported("onnx")
    (True, True)
    """
    if framework == "numpy":
        from ._trace import known_names

        return known_names()
    if framework == "onnx":
        from ._crease import onnx_operators

        return sorted(onnx_operators())
    if framework == "jax":
        try:
            from ._jax import supported as listed
        except ImportError as e:
            raise CreaseError(f"JAX is not installed ({e}); `pip install jax`") from e
        return listed()
    if framework == "torch":
        try:
            from ._torch import supported as listed

            return listed()
        except ImportError as e:
            raise CreaseError(f"PyTorch is not installed ({e}); `pip install torch`") from e
    raise CreaseError(f"frameworks are numpy, jax, torch and onnx, not {framework!r}")
