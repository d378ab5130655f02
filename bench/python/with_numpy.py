"""numpy, with gradients derived by hand: what a careful person writes without any system. Also the referee of all rows."""

import numpy as np

import measure

SYSTEM = f"numpy {np.__version__}, by hand"


def sat(variables):
    index, sign, points = measure.sat(variables)
    following = measure.in_turn(points)

    def value(x):
        return max((sign * x[index]).max(1).min(), 0.0)

    def gradient(x):
        literals = sign * x[index]
        largest = literals.max(1)
        k = largest.argmin()
        g = np.zeros_like(x)
        if largest[k] > 0:
            l = literals[k].argmax()
            g[index[k, l]] = sign[k, l]
        return max(largest[k], 0.0), g

    def answer():
        all_ = [gradient(x) for x in points]
        return sum(v for v, _ in all_), [np.concatenate([g for _, g in all_])]

    return lambda: value(following()), lambda: gradient(following()), answer


def loss(z, labels):
    """Mean cross-entropy, and its derivative by z."""
    each = np.arange(len(labels))
    z = z - z.max(1, keepdims=True)
    e = np.exp(z)
    s = e.sum(1, keepdims=True)
    d = e / s
    d[each, labels] -= 1
    return (np.log(s[:, 0]) - z[each, labels]).mean(), d / z.dtype.type(len(labels))


def mlp(batch, dtype):
    (w0, b0, w1, b1, w2, b2), x, labels = measure.mlp(batch, dtype)
    each = np.arange(batch)

    def forward():
        h = np.maximum(x @ w0 + b0, 0)
        k = np.maximum(h @ w1 + b1, 0)
        return h, k, k @ w2 + b2

    def value():
        z = forward()[2]
        top = z.max(1)
        return (np.log(np.exp(z - top[:, None]).sum(1)) + top - z[each, labels]).mean()

    def gradient():
        h, k, z = forward()
        v, d2 = loss(z, labels)
        d1 = (d2 @ w2.T) * (k > 0)
        d0 = (d1 @ w1.T) * (h > 0)
        return v, [x.T @ d0, d0.sum(0), h.T @ d1, d1.sum(0), k.T @ d2, d2.sum(0)]

    return value, gradient, gradient


def l1():
    x, _ = measure.vector()
    gradient = lambda: (np.abs(x).sum(), [np.sign(x)])
    return lambda: np.abs(x).sum(), gradient, gradient


def linf():
    x, _ = measure.vector()

    def gradient():
        a = np.abs(x)
        i = a.argmax()
        g = np.zeros_like(x)
        g[i] = np.sign(x[i])
        return a[i], [g]

    return lambda: np.abs(x).max(), gradient, gradient


def sum_relu():
    x, _ = measure.vector()
    gradient = lambda: (np.maximum(x, 0).sum(), [(x > 0).astype(x.dtype)])
    return lambda: np.maximum(x, 0).sum(), gradient, gradient


def max_linear():
    a, q = measure.vector()
    a = a.reshape(10, -1)

    def gradient():
        v = a @ q
        i = v.argmax()
        g = np.zeros_like(a)
        g[i] = q
        return v[i], [g]

    return lambda: (a @ q).max(), gradient, gradient


def median():
    x = measure.vector()[0].astype(np.float32)
    k = (len(x) - 1) // 2

    def gradient():
        i = np.argpartition(x, k)[k]
        g = np.zeros_like(x)
        g[i] = 1
        return x[i], [g]

    return lambda: np.partition(x, k)[k], gradient, gradient


def theorem3(p):
    u, b, m, a = measure.theorem3(p)
    at, zero = np.ascontiguousarray(a.T), np.zeros(p)
    value = lambda: np.abs(u @ (b.T @ (m @ zero))).sum() / p
    # the function is positively homogeneous: at 0 its derivative along d is its value at d
    all_ = lambda: np.abs(u @ (b.T @ (m @ at))).sum(0) / p
    return value, all_, lambda: (value(), [all_()])


def cnn(batch):
    (w0, b0, w1, b1, w2, b2), images, labels = measure.cnn(batch)

    def windows(h):
        """All 3 x 3 windows of the padded images, one in each row."""
        n, c, r, s = h.shape
        h = np.pad(h, ((0, 0), (0, 0), (1, 1), (1, 1)))
        h = np.lib.stride_tricks.sliding_window_view(h, (3, 3), axis=(2, 3))
        return h.transpose(0, 2, 3, 1, 4, 5).reshape(n * r * s, c * 9)

    def layer(h, w, b):
        """Convolution, relu, pooling; with what the way back needs."""
        n, _, r, s = h.shape
        seen = windows(h)
        z = (seen @ w.reshape(len(w), -1).T + b).reshape(n, r // 2, 2, s // 2, 2, len(w))
        cells = z.transpose(0, 5, 1, 3, 2, 4).reshape(n, len(w), r // 2, s // 2, 4)
        best = cells.argmax(-1)[..., None]
        return np.maximum(np.take_along_axis(cells, best, -1)[..., 0], 0), seen, best

    def unpool(d, h, best):
        """The derivative by the convolution's result, one row for each pixel."""
        n, c, r, s = d.shape
        cells = np.zeros((n, c, r, s, 4), d.dtype)
        np.put_along_axis(cells, best, (d * (h > 0))[..., None], -1)
        return cells.reshape(n, c, r, s, 2, 2).transpose(0, 2, 4, 3, 5, 1).reshape(-1, c)

    def forward():
        h, seen0, best0 = layer(images, w0, b0)
        k, seen1, best1 = layer(h, w1, b1)
        return h, seen0, best0, k, seen1, best1, k.reshape(batch, -1) @ w2 + b2

    def value():
        return loss(forward()[-1], labels)[0]

    def gradient():
        h, seen0, best0, k, seen1, best1, z = forward()
        v, d = loss(z, labels)
        flat = k.reshape(batch, -1)
        g4, g5 = flat.T @ d, d.sum(0)
        d = unpool((d @ w2.T).reshape(k.shape), k, best1)
        g2, g3 = (d.T @ seen1).reshape(w1.shape), d.sum(0)
        # the derivative of a convolution by its input is a convolution with the kernel turned round
        turned = w1[:, :, ::-1, ::-1].transpose(1, 0, 2, 3).reshape(8, -1)
        d = (windows(d.reshape(batch, 14, 14, 16).transpose(0, 3, 1, 2)) @ turned.T).reshape(batch, 14, 14, 8)
        d = unpool(d.transpose(0, 3, 1, 2), h, best0)
        return v, [(d.T @ seen0).reshape(w0.shape), d.sum(0), g2, g3, g4, g5]

    return value, gradient, gradient


def gmm():
    alphas, means, icf, x = measure.gmm()
    row, column = measure.lower_triangle()
    n, d, on = len(x), 10, np.arange(10)

    def logsumexp(t):
        top = t.max(0)
        e = np.exp(t - top)
        s = e.sum(0)
        return np.log(s) + top, e / s

    def forward():
        scales = np.exp(icf[:, :d])
        factors = np.zeros((len(alphas), d, d))
        factors[:, row, column] = icf[:, d:]
        factors[:, on, on] = scales
        centred = x[None] - means[:, None]
        q = centred @ factors.transpose(0, 2, 1)
        t = (alphas + icf[:, :d].sum(1))[:, None] - 0.5 * (q * q).sum(2)
        each, share = logsumexp(t)
        norm, weight = logsumexp(alphas)
        prior = 0.5 * ((scales**2).sum() + (icf[:, d:] ** 2).sum())
        return each.sum() - n * norm + prior + measure.GMM_CONSTANT, scales, factors, centred, q, share, weight

    def gradient():
        v, scales, factors, centred, q, share, weight = forward()
        dq = -share[:, :, None] * q
        df = dq.transpose(0, 2, 1) @ centred
        each = share.sum(1)
        g = np.empty_like(icf)
        g[:, :d] = each[:, None] + df[:, on, on] * scales + scales**2
        g[:, d:] = df[:, row, column] + icf[:, d:]
        return v, [each - n * weight, -(dq.sum(1)[:, None] @ factors)[:, 0], g]

    return lambda: forward()[0], gradient, gradient

def lasso():
    a, b, penalty, rate = measure.lasso()
    at, steps = np.ascontiguousarray(a.T), 1000

    def forward(keep):
        x, t, seen = np.zeros(a.shape[1]), rate * penalty, []
        for _ in range(steps):
            u = x - rate * (at @ (a @ x - b))
            if keep:
                seen.append(u)
            x = np.maximum(u - t, 0) - np.maximum(-u - t, 0)
        r = a @ x - b
        return 0.5 * (r @ r) + penalty * np.abs(x).sum(), x, r, seen

    def gradient():
        v, x, r, seen = forward(True)
        t, dt = rate * penalty, 0.0
        dx, db = at @ r + penalty * np.sign(x), -r
        for u in reversed(seen):
            right, left = u > t, -u > t
            dt += dx[left].sum() - dx[right].sum()
            back = a @ (dx * (right | left))
            dx = dx * (right | left) - rate * (at @ back)
            db = db + rate * back
        return v, [db, np.abs(x).sum() + rate * dt]

    return lambda: forward(False)[0], gradient, gradient


def gru():
    x, (W, U, V, w, u, v, out) = measure.gru()
    steps, n = len(x), len(out)

    def sigmoid(t):
        # tanh does not overflow
        return 0.5 * (1 + np.tanh(0.5 * t))

    def forward():
        """States, and what the way back needs of every step."""
        wx, ux, vx = x @ w.T, x @ u.T, x @ v.T
        h, z, r, new = (np.zeros((steps + k, n)) for k in (1, 0, 0, 0))
        for k in range(steps):
            z[k] = sigmoid(W @ h[k] + wx[k])
            r[k] = sigmoid(U @ h[k] + ux[k])
            new[k] = np.tanh(V @ (r[k] * h[k]) + vx[k])
            h[k + 1] = h[k] + z[k] * (new[k] - h[k])
        off = h[1:] @ out - x[:, 0]
        return np.abs(off).mean(), h, z, r, new, off

    def gradient():
        value, h, z, r, new, off = forward()
        d_off = np.sign(off) / steps
        # adjoints of what goes into the three functions, and of the state
        dz, dr, dn = np.empty_like(z), np.empty_like(r), np.empty_like(new)
        dh = np.zeros(n)
        for k in reversed(range(steps)):
            dh = dh + d_off[k] * out
            dz[k] = dh * (new[k] - h[k]) * z[k] * (1 - z[k])
            dn[k] = dh * z[k] * (1 - new[k] * new[k])
            through = dn[k] @ V
            dr[k] = through * h[k] * r[k] * (1 - r[k])
            dh = dh * (1 - z[k]) + through * r[k] + dr[k] @ U + dz[k] @ W
        before = h[:-1]
        return value, [dz.T @ before, dr.T @ before, dn.T @ (r * before), dz.T @ x, dr.T @ x, dn.T @ x, d_off @ h[1:]]

    return lambda: forward()[0], gradient, gradient


def camera():
    (w, centre, focal, principal, radial, point, weight), seen = measure.camera()

    def forward():
        angle = np.sqrt(w @ w)
        axis, c, s = w / angle, np.cos(angle), np.sin(angle)
        across = np.array([[0, -axis[2], axis[1]], [axis[2], 0, -axis[0]], [-axis[1], axis[0], 0]])
        turn = c * np.eye(3) + s * across + (1 - c) * np.outer(axis, axis)
        x = point - centre
        y = x @ turn.T
        q = y[:, :2] / y[:, 2:]
        r2 = (q * q).sum(1)
        k = 1 + radial[0] * r2 + radial[1] * r2 * r2
        off = (k * focal)[:, None] * q + principal - seen
        size = np.abs(weight[:, None] * off)
        near = np.minimum(size, 1.0)
        held = 1 - weight * weight
        value = (near * (size - near / 2)).sum() + np.maximum(np.abs(held) - 0.1, 0).sum()
        return value, angle, axis, c, s, across, turn, x, y, q, r2, k, off, held

    def gradient():
        value, angle, axis, c, s, across, turn, x, y, q, r2, k, off, held = forward()
        # the derivative of the Huber loss is its argument, held between -1 and 1
        d = np.clip(weight[:, None] * off, -1.0, 1.0)
        d_weight = (d * off).sum(1) - 2 * weight * np.sign(held) * (np.abs(held) > 0.1)
        d = d * weight[:, None]
        along = (d * q).sum(1)
        dk = focal * along
        dr2 = dk * (radial[0] + 2 * radial[1] * r2)
        dq = (k * focal)[:, None] * d + 2 * dr2[:, None] * q
        dy = np.empty_like(y)
        dy[:, :2] = dq / y[:, 2:]
        dy[:, 2] = -(dq * q).sum(1) / y[:, 2]
        dx = dy @ turn
        # by the matrix of the rotation; then by its angle and its axis
        m = dy.T @ x
        d_angle = c * (m * across).sum() - s * (np.trace(m) - axis @ m @ axis)
        d_axis = s * np.array([m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]]) + (1 - c) * ((m + m.T) @ axis)
        dw = (d_axis - (d_axis @ axis) * axis) / angle + d_angle * axis
        d_radial = np.array([dk @ r2, dk @ (r2 * r2)])
        return value, [dw, -dx.sum(0), k @ along, d.sum(0), d_radial, dx, d_weight]

    return lambda: forward()[0], gradient, gradient


if __name__ == "__main__":
    measure.main(SYSTEM, [
        ("A sat", "", lambda: sat(250)),
        ("A' sat", "", lambda: sat(2500)),
        ("B mlp f32, batch 1", "", lambda: mlp(1, np.float32)),
        ("B' mlp f32, batch 64", "", lambda: mlp(64, np.float32)),
        ("B' mlp f64, batch 64", "", lambda: mlp(64, np.float64)),
        ("C l1 10^6", "", l1),
        ("C linf 10^6", "", linf),
        ("C sum of relu 10^6", "", sum_relu),
        ("C max-linear 10 x 10^5", "", max_linear),
        ("C' median 10^6 f32", "", median),
        ("D theorem 3, p = 256", "three products", lambda: theorem3(256)),
        ("D theorem 3, p = 512", "three products", lambda: theorem3(512)),
        ("E cnn f32, batch 1", "", lambda: cnn(1)),
        ("E cnn f32, batch 64", "", lambda: cnn(64)),
        ("F gmm 10, 25, 1000", "", gmm),
        ("H lasso 50 x 100, 1000 steps", "", lasso),
        ("I gru 32, 100 steps", "", gru),
        ("J camera, 1000 points", "", camera),
    ])
