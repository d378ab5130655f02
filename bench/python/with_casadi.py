"""CasADi on its virtual machine, called through buffers, so that Python converts nothing. It computes in f64 only, and has
neither convolution nor median. It stores by columns: what is a row elsewhere is a column here."""

import importlib.metadata

import casadi as ca
import numpy as np

import measure

SYSTEM = f"CasADi {importlib.metadata.version('casadi')}"


class Buffered:
    """A function with memory for its inputs and outputs."""

    def __init__(self, name, inputs, outputs):
        self.function = ca.Function(name, inputs, outputs)
        self.buffer, self.evaluate = self.function.buffer()
        self.inputs = [np.zeros(i.numel()) for i in inputs]
        self.outputs = [np.zeros(max(o.nnz(), 1)) for o in outputs]
        for i, x in enumerate(self.inputs):
            self.buffer.set_arg(i, memoryview(x))
        for i, y in enumerate(self.outputs):
            self.buffer.set_res(i, memoryview(y))

    def run(self):
        # a method, so that who holds it holds the memory too
        self.evaluate()

    def set(self, *values):
        for x, v in zip(self.inputs, values):
            x[:] = np.ravel(v)
        return self


def dense(x):
    return ca.densify(x)


def differentiated(y, parameters, rest, points, parts):
    """Value and gradient of y by the vector of parameters; the gradient is cut into parts of the given lengths."""
    value = Buffered("value", [parameters, *rest], [y]).set(*points)
    both = Buffered("both", [parameters, *rest], [y, dense(ca.gradient(y, parameters))]).set(*points)

    def answer():
        both.run()
        return both.outputs[0][0], np.split(both.outputs[1], np.cumsum(parts)[:-1])

    return value.run, both.run, answer


def sat(variables):
    index, sign, points = measure.sat(variables)
    x = ca.SX.sym("x", variables)
    smallest = None
    for v, s in zip(index.tolist(), sign.tolist()):
        a, b, c = (x[i] if k > 0 else -x[i] for i, k in zip(v, s))
        m = ca.fmax(ca.fmax(ca.fmax(a, b), c), 0)
        smallest = m if smallest is None else ca.fmin(smallest, m)
    value = Buffered("value", [x], [smallest])
    both = Buffered("both", [x], [smallest, dense(ca.gradient(smallest, x))])
    following = measure.in_turn(points)

    def step(f):
        f.inputs[0][:] = following()
        f.run()

    def answer():
        total, gradients = 0.0, []
        for p in points:
            both.set(p).run()
            total += both.outputs[0][0]
            gradients.append(both.outputs[1].copy())
        return total, [np.concatenate(gradients)]

    return lambda: step(value), lambda: step(both), answer


def logsumexp_columns(z):
    """One for each column."""
    top = z[0, :]
    for i in range(1, z.shape[0]):
        top = ca.fmax(top, z[i, :])
    return ca.log(ca.sum1(ca.exp(z - ca.repmat(top, z.shape[0], 1)))) + top


def mlp(batch):
    parameters, images, labels = measure.mlp(batch, np.float64)
    sizes = [p.size for p in parameters]
    theta = ca.MX.sym("theta", sum(sizes))
    parts = ca.vertsplit(theta, np.concatenate([[0], np.cumsum(sizes)]).tolist())
    x, y = ca.MX.sym("x", 784, batch), ca.MX.sym("y", 10, batch)
    h = x
    for i in range(3):
        out = parameters[2 * i + 1].size
        h = ca.mtimes(ca.reshape(parts[2 * i], out, -1), h) + ca.repmat(parts[2 * i + 1], 1, batch)
        if i < 2:
            h = ca.fmax(h, 0)
    f = ca.sum2(logsumexp_columns(h) - ca.sum1(h * y)) / batch
    flat = np.concatenate([p.ravel() for p in parameters])
    return differentiated(f, theta, [x, y], [flat, images, np.eye(10)[labels]], sizes)


def of_vector(f):
    data = measure.vector()[0]
    x = ca.MX.sym("x", data.size)
    return differentiated(f(x), x, [], [data], [data.size])


def max_linear():
    a, q = measure.vector()
    x, y = ca.MX.sym("a", q.size * 10), ca.MX.sym("q", q.size)
    return differentiated(ca.mmax(ca.mtimes(y.T, ca.reshape(x, q.size, 10))), x, [y], [a, q], [a.size])


def theorem3(p):
    u, b, m, a = measure.theorem3(p)
    x = ca.MX.sym("x", p)
    names = [ca.MX.sym(n, p, p) for n in "ubmd"]
    su, sb, sm, sd = names
    # by columns each square matrix arrives transposed: U is symmetric, B is wanted so, M is turned, directions are columns
    f = ca.sum1(ca.fabs(ca.mtimes(su, ca.mtimes(sb, ca.mtimes(sm.T, x))))) / p
    value = Buffered("value", [x, su, sb, sm], [f]).set(np.zeros(p), u, b, m)
    all_ = Buffered("along", [x, *names], [dense(ca.jtimes(f, x, sd))]).set(np.zeros(p), u, b, m, a)

    def answer():
        value.run()
        all_.run()
        return value.outputs[0][0], [all_.outputs[0]]

    return value.run, all_.run, answer


def gmm():
    alphas, means, icf, points = measure.gmm()
    d, k, n = 10, len(alphas), len(points)
    row, column = measure.lower_triangle()
    # one point, scalar by scalar; the weights are shared by all points and their derivatives summed over them
    sizes = {"w": (k,), "mu": (d, k), "s": (d, k), "l": (45, k), "x": (d,)}
    w, mu, s, l, x = (ca.SX.sym(name, *size) for name, size in sizes.items())
    terms = []
    for j in range(k):
        c = x - mu[:, j]
        q = [s[i, j] * c[i] for i in range(d)]
        for e, (r, t) in enumerate(zip(row.tolist(), column.tolist())):
            q[r] += l[e, j] * c[t]
        terms.append(w[j] - 0.5 * sum(v * v for v in q))
    one = ca.Function("one", [w, mu, s, l, x], [logsumexp_columns(ca.vertcat(*terms))])
    every = one.map("every", "serial", n, [0, 1, 2, 3], [0])
    sizes = [alphas.size, means.size, icf.size]
    theta, xs = ca.MX.sym("theta", sum(sizes)), ca.MX.sym("x", d, n)
    a, m, f = ca.vertsplit(theta, np.concatenate([[0], np.cumsum(sizes)]).tolist())
    m, f = ca.reshape(m, d, k), ca.reshape(f, 55, k)
    scales = ca.exp(f[:d, :])
    total = every(a + ca.sum1(f[:d, :]).T, m, scales, f[d:, :], xs)
    value = total - n * logsumexp_columns(a) + 0.5 * (ca.sumsqr(scales) + ca.sumsqr(f[d:, :])) + measure.GMM_CONSTANT
    return differentiated(value, theta, [xs], [np.concatenate([alphas, means.ravel(), icf.ravel()]), points], sizes)


if __name__ == "__main__":
    measure.main(SYSTEM, [
        ("A sat", "SX", lambda: sat(250)),
        ("A' sat", "SX", lambda: sat(2500)),
        ("B' mlp f64, batch 64", "MX", lambda: mlp(64)),
        ("C l1 10^6", "MX", lambda: of_vector(lambda x: ca.sum1(ca.fabs(x)))),
        ("C linf 10^6", "MX", lambda: of_vector(lambda x: ca.mmax(ca.fabs(x)))),
        ("C sum of relu 10^6", "MX", lambda: of_vector(lambda x: ca.sum1(ca.fmax(x, 0)))),
        ("C max-linear 10 x 10^5", "MX", max_linear),
        ("D theorem 3, p = 256", "MX, jtimes", lambda: theorem3(256)),
        ("D theorem 3, p = 512", "MX, jtimes", lambda: theorem3(512)),
        ("F gmm 10, 25, 1000", "SX in a map", gmm),
    ])
