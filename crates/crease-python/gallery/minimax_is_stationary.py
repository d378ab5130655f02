"""Is this the solution? A proof that a point is stationary for a minimax problem: 0 is a combination of gradients around it, exactly.

The best line through three points, where the largest error counts (Chebyshev). NumPy is enough. ``python minimax_is_stationary.py [PICTURE.svg]``
"""

import sys

import numpy as np

import crease

T, Y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 3.0, 2.0])


def worst(line):
    return np.abs(line[0] * T + line[1] - Y).max()


if __name__ == "__main__":
    best, other = np.array([1.0, 1.0]), np.array([1.0, 0.5])
    answer = crease.stationary(worst, best)
    print(answer)
    print("stationary:", answer["stationary"]["verdict"])
    # `crease check` reads this as well; so does the checker here, which shares nothing with the search
    print("its certificate proves that this vector is a Clarke subgradient:", crease.check(answer.certificate)[1])
    print("another line:", crease.stationary(worst, other)["stationary"]["verdict"])
    if len(sys.argv) > 1:
        from picture import Picture

        p = Picture((-0.4, 2.4), (-0.6, 4.2), title="three errors of the same size, in turns above and below")
        p.line([(t, best[0] * t + best[1]) for t in (-0.3, 2.3)])
        for t, y in zip(T, Y):
            p.line([(t, y), (t, best[0] * t + best[1])], "#667", 1.5, dashed=True)
            p.dot(t, y)
        p.save(sys.argv[1])
