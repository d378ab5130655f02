"""What the comparison itself must get right. `python3 -m unittest bench/side_by_side/tests.py` from the root."""

import json
import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from side_by_side import check, crease, data, instructions, plot, rows, table  # noqa: E402


def line(system, times=(1.0, 1.0), answer=2.0, gradient=((3, 4.0, 1.0),), row="A sat"):
    gradient, times = [list(p) for p in gradient], list(times)
    told = {"value_us": times, "gradient_us": times, "answer": answer, "gradient": gradient}
    return {"row": row, "system": system, "mode": "", **told}


class Tests(unittest.TestCase):
    def test_the_generator_gives_the_published_numbers(self):
        draw = data.Draw(1_234_567)
        self.assertEqual([draw.bits(), draw.bits()], [6457827717110365317, 3203168211198807973])

    def test_the_planted_points_satisfy_all_clauses(self):
        s = data.sat(20, 80)
        clauses = [s["clauses.i32"][k : k + 3] for k in range(0, 240, 3)]
        self.assertEqual(len(s["points.f64"]), 16 * 20)
        for k in range(16):
            x = s["points.f64"][20 * k : 20 * k + 20]
            self.assertTrue(all(max(x[abs(l) - 1] * (1 if l > 0 else -1) for l in c) > 0 for c in clauses))

    def test_answers_are_held_against_the_referee(self):
        lines = check.judge([
            line("PyTorch 1"),
            line("numpy 1, by hand"),
            line("JAX 1", answer=2.1),
            line("candle 1", gradient=[(3, 4.0, 1.1)]),
            line("echidna 1", gradient=[(2, 4.0, 1.0)]),
            line("CasADi 1", gradient=[(3, float("nan"), 1.0)]),
            {"row": "A sat", "system": "autograd 1", "mode": "", "error": "no"},
        ])
        self.assertEqual([l["verdict"] for l in lines], ["agrees", "agrees", "wrong", "wrong", "wrong", "wrong", "failed"])

    def test_a_wrong_answer_is_never_the_best_peer(self):
        wrong = line("JAX 1", (1.0, 1.0), answer=0.0)
        lines = check.judge([line("numpy 1, by hand", (9.0, 9.0)), wrong, line("crease", (3.0, 3.0))])
        self.assertEqual(table.best_peer(lines, "A sat")["system"], "numpy 1, by hand")
        self.assertIn("| 3.00 |", list(table.summary(lines))[2])
        self.assertTrue(plot.comparison(lines).endswith("</svg>\n"))

    def test_the_ratio_to_code_by_hand_is_in_the_table(self):
        lines = check.judge([line("numpy 1, by hand", (9.0, 9.0)), line("crease", (3.0, 3.0)), line("Rust, by hand", (2.0, 2.0))])
        cells = [c.strip() for c in list(table.summary(lines))[2].split("|")]
        self.assertEqual(cells[-3:-1], ["2.00", "1.50"])

    def test_instructions_that_are_absent_are_refused(self):
        zen3 = {"avx2", "fma", "bmi2", "sse2"}
        self.assertEqual(instructions.best(zen3), "avx2")
        self.assertIn("no avx512bw, avx512dq", instructions.refusal("avx512", zen3))
        self.assertIsNone(instructions.refusal("avx2", zen3))
        self.assertIsNone(instructions.refusal("portable", set()))
        self.assertEqual(instructions.flags("/nowhere"), set())

    def test_everybody_is_held_to_a_level_or_named(self):
        held = instructions.environment("avx2", ["X86_V3", "X86_V4", "AVX512_ICL", "AVX2"])
        self.assertEqual(held["NPY_DISABLE_CPU_FEATURES"], "X86_V4 AVX512_ICL")
        self.assertEqual((held["CREASE_INSTRUCTIONS"], held["ATEN_CPU_CAPABILITY"]), ("avx2", "avx2"))
        self.assertIn("AVX2", held["XLA_FLAGS"])
        self.assertEqual(instructions.environment("portable", ["X86_V3", "SSE42"])["NPY_DISABLE_CPU_FEATURES"], "X86_V3")
        self.assertNotIn("NPY_DISABLE_CPU_FEATURES", instructions.environment("avx512", ["X86_V4"]))
        systems = ["crease", "torch", "numpy", "candle"]
        self.assertEqual(set(instructions.not_held("avx2", "avx512", systems, "AVX2")), {"candle"})
        self.assertEqual(set(instructions.not_held("portable", "avx512", systems, "DEFAULT")), {"candle", "Rust, by hand"})
        self.assertEqual(instructions.told("avx2", "avx2", systems, "AVX2"), "nobody")
        loose = instructions.not_held("portable", "avx2", ["torch", "numpy"], "AVX2", ["X86_V3"])
        self.assertEqual(set(loose), {"torch", "numpy"})

    def test_lines_are_told_from_what_cargo_says(self):
        text = "warning: something\n" + json.dumps(line("crease")) + "\n\n" + json.dumps({"sweep": "C", "size": 1}) + "\n"
        self.assertEqual([l.get("row") for l in crease.parse(text)], ["A sat", None])

    def test_scales_hold_all_values_and_two_powers_of_ten(self):
        for values in ([3.0], [2.0, 7.0], [0.4, 30.0], [1.0, 1e6]):
            scale = plot.Log(values, 0.0, 100.0)
            self.assertTrue(all(0.0 <= scale(v) <= 100.0 for v in [*values, *scale.ticks()]))
            self.assertGreaterEqual(len(scale.ticks()), 2)
        self.assertEqual([plot.tick(v) for v in (0.1, 1000.0, 1e12)], ["0.1", "1,000", "10¹²"])

    def test_sizes_have_a_panel_for_each_letter(self):
        sweep = lambda name, size: {"sweep": name, "system": "crease", "size": size, "value_us": [size, size], "gradient_us": [2 * size] * 2}
        picture = plot.sizes([sweep(name, size) for name in ("A sat, clauses", "C l1, entries", "C linf, entries") for size in (1, 100)])
        self.assertEqual(picture.count('class="panel"'), 2)
        for label in ("clauses", "entries", "l1", "linf"):
            self.assertIn(f">{label}<", picture)

    def test_rows_are_chosen_by_letter_or_name(self):
        self.assertEqual(rows.wanted(["A'"]), ["A' sat"])
        self.assertEqual(rows.wanted([]), list(rows.ROWS))


if __name__ == "__main__":
    unittest.main()
