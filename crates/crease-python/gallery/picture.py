"""Pictures as SVG, with nothing but NumPy: what the scripts of the gallery draw with."""

from __future__ import annotations

from pathlib import Path

import numpy as np


class Picture:
    """A picture whose coordinates are those of the data."""

    def __init__(self, x: tuple[float, float], y: tuple[float, float], size: tuple[int, int] = (460, 340), title: str = ""):
        self.x, self.y, self.size = x, y, size
        self.parts: list[str] = []
        if title:
            self.parts.append(f'<text x="{size[0] / 2}" y="20" text-anchor="middle" font-weight="600">{title}</text>')

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Where a point of the data is in the picture."""
        (w, h), pad = self.size, 36
        return (
            pad + (x - self.x[0]) / (self.x[1] - self.x[0]) * (w - 2 * pad),
            h - pad - (y - self.y[0]) / (self.y[1] - self.y[0]) * (h - 2 * pad),
        )

    def line(self, points: object, color: str = "#4a78b5", width: float = 2, dashed: bool = False) -> None:
        """A line through points."""
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (self.at(*p) for p in np.asarray(points, float)))
        dash = ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width}"{dash}/>')

    def area(self, points: object, color: str = "#4a78b522") -> None:
        """A polygon."""
        path = " ".join(f"{a:.1f},{b:.1f}" for a, b in (self.at(*p) for p in np.asarray(points, float)))
        self.parts.append(f'<polygon points="{path}" fill="{color[:7]}" fill-opacity="0.18" stroke="{color[:7]}"/>')

    def dot(self, x: float, y: float, label: str = "", color: str = "#b3261e", side: str = "start") -> None:
        """A point with a label."""
        a, b = self.at(x, y)
        self.parts.append(f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4.5" fill="{color}"/>')
        if label:
            self.text(a + (8 if side == "start" else -8), b - 7, label, side)

    def text(self, a: float, b: float, label: str, anchor: str = "start") -> None:
        """A text at a place of the picture."""
        self.parts.append(f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{label}</text>')

    def bar(self, x: float, width: float, height: float, label: str, color: str = "#4a78b5") -> None:
        """A bar with its label below, and its height above."""
        (a, b), (c, d) = self.at(x, height), self.at(x + width, self.y[0])
        self.parts.append(f'<rect x="{a:.1f}" y="{b:.1f}" width="{c - a:.1f}" height="{d - b:.1f}" fill="{color}"/>')
        self.text((a + c) / 2, d + 16, label, "middle")
        self.text((a + c) / 2, b - 5, f"{height:.3g}", "middle")

    def save(self, path: str | Path) -> None:
        """Writes it."""
        w, h = self.size
        style = "<style>text{font:12px system-ui,sans-serif;fill:#1a1c1f}</style>"
        Path(path).write_text(f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {w} {h}" width="{w}" height="{h}"><rect width="{w}" height="{h}" fill="#fff"/>{style}{"".join(self.parts)}</svg>\n', encoding="utf-8")
