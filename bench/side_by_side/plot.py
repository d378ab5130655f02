"""Plots as SVG, written here: a benchmark should not need a plotting library."""

import math
from xml.sax.saxutils import escape

from . import rows, table

# Okabe and Ito's colours, which people who see few colours can tell apart; shapes say the same once more.
STYLES = {
    "crease": ("#000000", "circle"),
    "Rust, by hand": ("#999999", "dash"),
    "numpy": ("#56b4e9", "square"),
    "PyTorch": ("#d55e00", "triangle"),
    "JAX": ("#0072b2", "diamond"),
    "CasADi": ("#009e73", "square"),
    "autograd": ("#cc79a7", "triangle"),
    "echidna": ("#e69f00", "diamond"),
    "candle": ("#b8a800", "circle"),
}


def place(system):
    """Where it stands in the list of styles; unknown ones last."""
    return next((k for k, name in enumerate(STYLES) if system.startswith(name)), len(STYLES))


def style(system):
    return [*STYLES.values(), ("#666666", "circle")][place(system)]


def marker(shape, x, y, colour, hollow=False, r=5):
    paint = f'fill="{"none" if hollow else colour}" stroke="{colour}" stroke-width="1.5"'
    if shape == "circle":
        return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{r}" {paint}/>'
    if shape == "dash":
        return f'<path d="M{x - 14:.1f} {y:.1f}h28" stroke="{colour}" stroke-width="3"/>'
    corners = {
        "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
        "triangle": [(0, -r), (r, r), (-r, r)],
        "diamond": [(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
    }[shape]
    return f'<polygon points="{" ".join(f"{x + a:.1f},{y + b:.1f}" for a, b in corners)}" {paint}/>'


class Log:
    """A logarithmic scale from whole power of ten to whole power of ten."""

    def __init__(self, values, start, end):
        self.low = math.floor(math.log10(min(values)))
        self.high = max(math.ceil(math.log10(max(values))), self.low + 1)
        self.start, self.end = start, end

    def __call__(self, v):
        return self.start + (math.log10(v) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0**k for k in range(self.low, self.high + 1)]


def words(x, y, text, anchor="middle", turn="", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turn}>{escape(text)}</text>'


def tick(v):
    if v >= 1:
        return f"{v:,.0f}"
    return f"{v:g}"


def turned(x, y, angle):
    return f' transform="rotate({angle} {x:.1f} {y:.1f})"'


def across(scale, left, right, label):
    """Horizontal lines at the powers of ten, with their numbers, and the name of the axis."""
    parts = []
    for v in scale.ticks():
        y = scale(v)
        parts += [f'<path d="M{left} {y:.1f}H{right}" stroke="#dddddd"/>', words(left - 6, y + 4, tick(v), "end")]
    middle = (scale.start + scale.end) / 2
    return parts + [words(left - 72, middle, label, turn=turned(left - 72, middle, -90))]


def page(width, height, parts):
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    return "\n".join([head, f'<rect width="{width}" height="{height}" fill="white"/>', *parts, "</svg>", ""])


def legend(systems, x, y):
    parts = []
    for k, system in enumerate(systems):
        colour, shape = style(system)
        parts += [marker(shape, x, y + 20 * k, colour), words(x + 20, y + 20 * k + 4, system, "start")]
    end = y + 20 * len(systems)
    return parts + [marker("square", x, end, "#333333", hollow=True), words(x + 20, end + 4, "hollow: wrong answer", "start")]


def comparison(lines):
    """Above: time of value and gradient, one column for each row. Below: its ratio to the time of the value."""
    here = [l for l in lines if l.get("row") in rows.ROWS and "gradient_us" in l]
    names = [r for r in rows.ROWS if any(l["row"] == r for l in here)]
    if not here:
        return None
    left, column, top, middle, bottom = 110, 66, 50, 430, 640
    right = left + column * len(names)
    times = Log([l["gradient_us"][0] for l in here], middle - 20, top)
    ratios = Log([r for r in map(table.ratio, here) if r] or [1.0], bottom, middle + 20)
    parts = [words((left + right) / 2, 26, "Value and gradient, one thread (rows D: all directional derivatives)", size=15)]
    parts += across(times, left, right, "time, microseconds") + across(ratios, left, right, "gradient / value")
    for k, name in enumerate(names):
        x = left + column * (k + 0.5)
        for system in sorted({l["system"] for l in here}):
            mine = [l for l in here if l["system"] == system and l["row"] == name]
            # the best way of each system; a wrong one only if there is no right one
            line = table.fastest(mine) or min(mine, key=lambda l: l["gradient_us"][0], default=None)
            if line is None:
                continue
            colour, shape = style(system)
            # systems stand beside each other, always in the same order
            aside = 0 if shape == "dash" else 5 * (place(system) - 4)
            wrong = line["verdict"] == "wrong"
            parts.append(marker(shape, x + aside, times(line["gradient_us"][0]), colour, wrong))
            if table.ratio(line):
                parts.append(marker(shape, x + aside, ratios(table.ratio(line)), colour, wrong))
        parts.append(words(x, bottom + 16, name, "end", turned(x, bottom + 16, -40)))
    parts += legend(sorted({l["system"] for l in here}, key=place), right + 30, top + 10)
    return page(right + 220, bottom + 130, parts)


def sizes(lines):
    """Time against size for crease; a straight line of slope 1 is what a linear count of operations promises."""
    here = [l for l in lines if "sweep" in l]
    names = list(dict.fromkeys(l["sweep"] for l in here))
    if not here:
        return None
    left, right, top, bottom = 110, 650, 50, 500
    xs = Log([l["size"] for l in here], left, right)
    ys = Log([t for l in here for t in (l["value_us"][0], l["gradient_us"][0])], bottom, top)
    parts = [words((left + right) / 2, 26, "crease: time against size", size=15)] + across(ys, left, right, "time, microseconds")
    for v in xs.ticks():
        parts += [f'<path d="M{xs(v):.1f} {top}V{bottom}" stroke="#dddddd"/>', words(xs(v), bottom + 18, tick(v))]
    parts.append(words((left + right) / 2, bottom + 42, "size (as the row's name says: entries, clauses, batch, equations, p)"))
    colours = [c for c, _ in STYLES.values()]
    for k, name in enumerate(names):
        colour = colours[k % len(colours)]
        points = sorted((l["size"], l["value_us"][0], l["gradient_us"][0]) for l in here if l["sweep"] == name)
        for which, dash in ((1, ' stroke-dasharray="4 4"'), (2, "")):
            line = " ".join(f"{xs(p[0]):.1f},{ys(p[which]):.1f}" for p in points)
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
            parts += [marker("circle", xs(p[0]), ys(p[which]), colour, hollow=which == 1, r=3) for p in points]
        parts += [marker("circle", right + 30, top + 10 + 20 * k, colour), words(right + 45, top + 14 + 20 * k, name, "start")]
    end = top + 20 + 20 * len(names)
    for k, text in enumerate(["solid: value and gradient", "dashed: value"]):
        parts.append(words(right + 30, end + 10 + 20 * k, text, "start"))
    return page(right + 250, bottom + 70, parts)
