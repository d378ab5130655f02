"""crease's own bench: how to call it, and what it prints.

With `--json` it prints the same lines as the peers do. A bench that does not know `--json` prints a table for people; that is
read too, but has no answers in it, so only the bench's own comparison with code by hand can be reported.
"""

import json

BENCH = ["cargo", "bench", "--quiet", "-p", "crease-engine", "--bench", "workloads"]
NAME_WIDTH = 28


def parse(text):
    lines = [json.loads(l) for l in text.splitlines() if l.startswith("{")]
    if lines:
        return lines
    for line in text.splitlines():
        lines += table_line(line[:NAME_WIDTH].strip(), line[NAME_WIDTH:])
    return lines


def number(word):
    try:
        return float(word)
    except ValueError:
        return None


def table_line(name, rest):
    """What one line of the table tells, as lines of the common form."""
    words = rest.replace("/ three", "-").split()
    times = [number(w) for w in words[:2]]
    if not name or None in times or len(times) < 2:
        return []
    value, gradient = ([t, None] for t in times)
    if name.startswith("scalar equations:"):
        return [sweep("scalar equations", name.split(":")[1], value, gradient)]
    row, mode = name, "scalars" if "sat" in name else ""
    if name.endswith(" (arrays)"):
        row, mode = name.removesuffix(" (arrays)"), "arrays"
    own = "ok" if "ok" in words[6:7] else "off"
    lines = [{"row": row, "system": "crease", "mode": mode, "value_us": value, "gradient_us": gradient, "own_check": own}]
    floor = number(words[4]) if len(words) > 4 else None
    # on row E the interpreter's answer is copied where the code by hand should be: no time of anything
    if floor is not None and not row.startswith("E"):
        lines.append({"row": row, "system": "Rust, by hand", "mode": mode, "value_us": None, "gradient_us": [floor, None]})
    if row.startswith("D"):
        lines.append(sweep("D theorem 3", row.split("=")[1], value, gradient))
    return lines


def sweep(name, size, value, gradient):
    return {"sweep": name, "system": "crease", "size": int(size), "value_us": value, "gradient_us": gradient}
