"""Results as Markdown: crease beside the best peer, then every system on every row."""

from . import rows

NO_PEER = ("crease", "Rust, by hand")


def is_peer(line):
    return line["system"] not in NO_PEER


def full_name(line):
    return f"{line['system']}, {line['mode']}" if line.get("mode") else line["system"]


def least(times):
    return times[0] if times else None


def ratio(line):
    """Gradient over value; rows D have no gradient to speak of."""
    if line.get("row") in rows.DIRECTIONAL:
        return None
    v, g = least(line.get("value_us")), least(line.get("gradient_us"))
    return g / v if v and g else None


def fastest(lines):
    """The line with the least gradient time among those whose answer is not wrong."""
    usable = [l for l in lines if l["verdict"] in ("agrees", "unchecked")]
    return min(usable, key=lambda l: l["gradient_us"][0], default=None)


def of_row(lines, row):
    return [l for l in lines if l.get("row") == row]


def best_peer(lines, row):
    return fastest([l for l in of_row(lines, row) if is_peer(l)])


def show(x):
    """A number as people read it: three digits or so."""
    if x is None:
        return "-"
    return f"{x:,.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def pair(times):
    if not times:
        return "-"
    return show(times[0]) if times[1] is None else f"{show(times[0])} ({show(times[1])})"


def summary(lines):
    yield "| row | crease: value / gradient | ratio | best peer | its gradient | crease is faster by | by hand in Rust | crease over by hand |"
    yield "| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: |"
    for row in rows.ROWS:
        here = of_row(lines, row)
        if not here:
            continue
        own = fastest([l for l in here if l["system"] == "crease"])
        floor = fastest([l for l in here if l["system"] == "Rust, by hand"])
        peer = best_peer(lines, row)
        mark = " (unchecked)" if own and own["verdict"] == "unchecked" else ""
        times = f"{show(least(own['value_us']))} / {show(own['gradient_us'][0])}{mark}" if own else "-"
        factor = f"{peer['gradient_us'][0] / own['gradient_us'][0]:.2f}" if own and peer else "-"
        over = f"{own['gradient_us'][0] / floor['gradient_us'][0]:.2f}" if own and floor else "-"
        yield (
            f"| {row} | {times} | {show(ratio(own)) if own else '-'} | {full_name(peer) if peer else '-'} "
            f"| {show(peer['gradient_us'][0]) if peer else '-'} | {factor} | {show(floor['gradient_us'][0]) if floor else '-'} | {over} |"
        )


def everything(lines):
    yield "| row | system | value | value and gradient | ratio | crease is faster by | answer |"
    yield "| --- | --- | ---: | ---: | ---: | ---: | --- |"
    for row in rows.ROWS:
        here = of_row(lines, row)
        best = best_peer(lines, row)
        own = fastest([l for l in here if l["system"] == "crease"])
        done = [l for l in here if "gradient_us" in l]
        done.sort(key=lambda l: (is_peer(l), l["gradient_us"][0]))
        for line in done + [l for l in here if "gradient_us" not in l]:
            name = full_name(line)
            if line is best:
                name = f"**{name}** (best peer)"
            factor = "-"
            if own and is_peer(line) and "gradient_us" in line:
                factor = f"{line['gradient_us'][0] / own['gradient_us'][0]:.2f}"
            why = f": {line['why']}" if line["why"] else ""
            times = [pair(line.get("value_us")), pair(line.get("gradient_us")), show(ratio(line))]
            yield "| " + " | ".join([row, name, *times, factor, line["verdict"] + why]) + " |"


def write(path, lines, facts):
    text = ["# crease and its peers, side by side", ""]
    text += [f"- {name}: {what}" for name, what in facts.items()]
    text += ["", "Times are in microseconds: the least of all calls (the median in brackets). On rows D the second time is that of all"]
    text += ["p directional derivatives. A wrong answer is never the best peer. Factors compare least times.", ""]
    text += list(summary(lines)) + ["", "## Every system", ""] + list(everything(lines)) + [""]
    with open(path, "w") as f:
        f.write("\n".join(text))
    return "\n".join(summary(lines))
