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
    """A logarithmic scale with a little room at its ends, and at least two powers of ten in it."""

    def __init__(self, values, start, end):
        low, high = math.log10(min(values)), math.log10(max(values))
        room = 0.04 * (high - low)
        self.low, self.high = low - room, high + room
        if len(self.powers()) < 2:
            self.low = min(self.low, math.floor(low))
            self.high = max(self.high, math.floor(low) + 1)
        self.start, self.end = start, end

    def powers(self):
        return range(math.ceil(self.low), math.floor(self.high) + 1)

    def __call__(self, v):
        return self.start + (math.log10(v) - self.low) / (self.high - self.low) * (self.end - self.start)

    def ticks(self):
        return [10.0**k for k in self.powers()]


def words(x, y, text, anchor="middle", turn="", size=12):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}"{turn}>{escape(text)}</text>'


def tick(v):
    """A power of ten: short, so that neighbours do not touch."""
    if v < 10_000:
        return f"{v:,.0f}" if v >= 1 else f"{v:g}"
    return "10" + str(round(math.log10(v))).translate(str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹"))


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


def frame(left, right, top, bottom):
    return f'<rect x="{left}" y="{top}" width="{right - left}" height="{bottom - top}" fill="none" stroke="#bbbbbb"/>'


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
    parts += [frame(left, right, top, middle - 20), frame(left, right, middle + 20, bottom)]
    for k, name in enumerate(names):
        x = left + column * (k + 0.5)
        if k:
            at = left + column * k
            parts.append(f'<path d="M{at} {top}V{middle - 20}M{at} {middle + 20}V{bottom}" stroke="#eeeeee"/>')
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


# The lines of a panel; black and the colours of the peers that are easiest to tell apart.
LINES = ["#000000", "#d55e00", "#0072b2", "#009e73"]
PANEL_WIDTH, PANEL_HEIGHT, ACROSS = 400, 330, 3


def panels(lines):
    """Measurements against size, as {(letter, unit): {name: points}}: "C l1, entries" is the line l1 in the panel C, entries."""
    result = {}
    for l in lines:
        if "sweep" not in l:
            continue
        name, _, unit = l["sweep"].partition(", ")
        first, _, rest = name.partition(" ")
        # a name such as "E cnn f32, batch" has a letter first; others are a panel of their own
        letter, label = (first, rest) if first.rstrip("'").isupper() else ("", name)
        points = result.setdefault((letter, unit or "equations"), {}).setdefault(label, [])
        points.append((l["size"], l["value_us"][0], l["gradient_us"][0]))
    return result


def panel(letter, unit, curves, x, y):
    """One plot with its corner at x, y."""
    left, right, top, bottom = x + 75, x + PANEL_WIDTH - 15, y + 30, y + PANEL_HEIGHT - 60
    every = [p for points in curves.values() for p in points]
    xs, ys = Log([p[0] for p in every], left, right), Log([t for p in every for t in p[1:]], bottom, top)
    title = f"{letter} {next(iter(curves))}" if len(curves) == 1 else letter
    parts = ['<g class="panel">', words((left + right) / 2, y + 18, title.strip(), size=14), frame(left, right, top, bottom)]
    for v in ys.ticks():
        parts += [f'<path d="M{left} {ys(v):.1f}H{right}" stroke="#dddddd"/>', words(left - 6, ys(v) + 4, tick(v), "end", size=11)]
    for v in xs.ticks():
        parts += [f'<path d="M{xs(v):.1f} {top}V{bottom}" stroke="#dddddd"/>', words(xs(v), bottom + 16, tick(v), size=11)]
    parts.append(words((left + right) / 2, bottom + 34, unit))
    for k, (name, points) in enumerate(curves.items()):
        colour = LINES[k % len(LINES)]
        for which, dash in ((1, ' stroke-dasharray="4 4"'), (2, "")):
            line = " ".join(f"{xs(p[0]):.1f},{ys(p[which]):.1f}" for p in sorted(points))
            parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="1.5"{dash}/>')
            parts += [marker("circle", xs(p[0]), ys(p[which]), colour, hollow=which == 1, r=3) for p in points]
        if len(curves) > 1:
            parts += [marker("circle", left + 14, top + 14 + 18 * k, colour, r=4), words(left + 24, top + 18 + 18 * k, name, "start")]
    return parts + ["</g>"]


def sizes(lines):
    """Time against size for crease, a panel for each row; slope 1 is what a count of operations promises."""
    found = panels(lines)
    if not found:
        return None
    columns = min(ACROSS, len(found))
    width, height = columns * PANEL_WIDTH + 40, 60 + PANEL_HEIGHT * -(-len(found) // columns)
    parts = [words(width / 2, 24, "crease: time in microseconds against size", size=15)]
    parts.append(words(width / 2, 44, "solid: value and gradient (D: all p directional derivatives); dashed, hollow: value"))
    for k, ((letter, unit), curves) in enumerate(found.items()):
        parts += panel(letter, unit, curves, 20 + k % columns * PANEL_WIDTH, 60 + k // columns * PANEL_HEIGHT)
    return page(width, height, parts)
