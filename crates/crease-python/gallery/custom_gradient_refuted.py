"""Is my custom gradient valid at ties? Full weight to every tied element is not; equal parts are.

NumPy is enough. ``python custom_gradient_refuted.py [PICTURE.svg]``
"""

import sys

import numpy as np

import crease


def largest(v):
    return np.max(v)


def full_weight(v):
    return (v == v.max()).astype(float)


def equal_parts(v):
    tied = (v == v.max()).astype(float)
    return tied / tied.sum()


if __name__ == "__main__":
    v = np.array([1.0, 1.0])
    print("equal parts:", crease.gradcheck(largest, v, grad=equal_parts))
    try:
        crease.gradcheck(largest, v, grad=full_weight)
    except crease.GradcheckError as e:
        print("full weight:", e)
    if len(sys.argv) > 1:
        from picture import Picture

        p = Picture((-0.4, 1.6), (-0.3, 1.3), title="the maximum of two equals: its Clarke subgradients")
        p.line([(1, 0), (0, 1)], width=4)
        p.dot(1, 0, "the first of equals", "#1b7f4b")
        p.dot(0.5, 0.5, "equal parts", "#1b7f4b")
        p.dot(1, 1, "full weight: outside")
        p.save(sys.argv[1])
