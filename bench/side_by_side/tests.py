"""What the comparison itself must get right. `python3 -m unittest bench/side_by_side/tests.py` from the root."""

import os
import sys
import unittest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from side_by_side import check, crease, data, plot, rows, table  # noqa: E402


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

    def test_the_table_for_people_is_read(self):
        text = "\n".join([
            f"{'row':<28} {'value':>9} {'gradient':>9}",
            f"{'A sat (arrays)':<28} {2.9:>9.1f} {3.7:>9.1f} {1.28:>6.2f} {'2.00':>8} {2.2:>9.1f} {5.0:>8.1f}  {'ok':<6} peers",
            f"{'D theorem 3, p = 256':<28} {20.2:>9.1f} {2061.0:>9.1f} {1.1:>6.2f} {'/ three':>8} {1881.0:>9.1f} {5.0:>8.1f}  {'ok':<6} x",
            f"{'':<28} {2.0:>9.1f}  value by hand",
        ])
        lines = crease.parse(text)
        self.assertEqual([l["system"] for l in lines], ["crease", "Rust, by hand"] * 2 + ["crease"])
        self.assertEqual([l["row"] for l in lines[:4]], ["A sat"] * 2 + ["D theorem 3, p = 256"] * 2)
        self.assertEqual([l["gradient_us"][0] for l in lines[:4]], [3.7, 2.2, 2061.0, 1881.0])
        self.assertEqual(lines[4]["size"], 256)

    def test_rows_are_chosen_by_letter_or_name(self):
        self.assertEqual(rows.wanted(["A'"]), ["A' sat"])
        self.assertEqual(rows.wanted([]), list(rows.ROWS))


if __name__ == "__main__":
    unittest.main()
