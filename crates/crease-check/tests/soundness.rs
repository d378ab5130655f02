//! Certificates put together at random for functions that have no derivative: whatever lines are accepted, their clauses are
//! true, so no certificate is.

#[allow(dead_code)]
mod truth;

use crease_check::check;
use crease_number::Rational;
use std::collections::HashMap;
use truth::{Function, Random, evaluate, terms};

/// A form as the test computes with it: coefficients by variable, none zero.
#[derive(Clone, Default, PartialEq)]
struct Linear(Vec<((char, usize), i64)>);

impl Linear {
    fn plus(&self, factor: i64, other: &Linear) -> Linear {
        let mut sum: HashMap<(char, usize), i64> = self.0.iter().copied().collect();
        other.0.iter().for_each(|(v, c)| *sum.entry(*v).or_default() += factor * c);
        let mut terms: Vec<_> = sum.into_iter().filter(|t| t.1 != 0).collect();
        terms.sort_unstable();
        Linear(terms)
    }

    fn variable(kind: char, i: usize) -> Linear {
        Linear(vec![((kind, i), 1)])
    }

    fn is_sum_of_relus(&self) -> bool {
        self.0.iter().all(|((v, _), c)| *v == 'z' && *c > 0)
    }

    fn text(&self) -> String {
        let terms: Vec<String> = self.0.iter().map(|((v, i), c)| format!("{c}*{v}{i}")).collect();
        if terms.is_empty() { "0".into() } else { terms.join(" ") }
    }
}

/// A random function with few kinks, its rewriting in relus, and the rest of the output without a gradient.
struct Start {
    text: String,
    dimension: usize,
    relus: Vec<Linear>,
    h: Linear,
    /// The two forms of each kink, and their difference in the direction and relus.
    kinks: Vec<[Linear; 3]>,
}

fn start(random: &mut Random) -> Start {
    let dimension = 1 + random.below(3);
    let count = 1 + random.below(4);
    let mut text = format!("crease-certificate 1\nclaim differentiable\ndimension {dimension}\nkinks {count}\n");
    let (mut relus, mut lines, mut became): (Vec<Linear>, Vec<String>, Vec<Linear>) = Default::default();
    let mut kinks: Vec<[Linear; 3]> = Vec::new();
    // what of a kink is a relu, as a form in d and kinks
    let mut parts: Vec<Linear> = Vec::new();
    let form = |k: usize, random: &mut Random| {
        let mut f = Linear::default();
        for i in 0..dimension {
            f = f.plus(random.within(2), &Linear::variable('d', i));
        }
        for j in 0..k {
            f = f.plus(random.within(1), &Linear::variable('k', j));
        }
        f
    };
    let replaced = |f: &Linear, became: &[Linear]| {
        f.0.iter().fold(Linear::default(), |sum, &((v, i), c)| match v {
            'k' => sum.plus(c, &became[i]),
            _ => sum.plus(c, &Linear::variable(v, i)),
        })
    };
    for k in 0..count {
        let a = form(k, random);
        let b = if random.below(2) == 0 { form(k, random) } else { smaller(&a, &parts, random) };
        let raw = if random.below(2) == 0 { [a, b] } else { [b, a] };
        text += &format!("max {} ; {}\n", raw[0].text(), raw[1].text());
        let [a, b] = [0, 1].map(|i| replaced(&raw[i], &became));
        let w = a.plus(-1, &b);
        let negative = Linear::default().plus(-1, &w);
        kinks.push([raw[0].clone(), raw[1].clone(), w.clone()]);
        let larger = [&w, &negative].iter().position(|w| w.is_sum_of_relus());
        if w.0.is_empty() || larger.is_some() && random.below(4) > 0 {
            let (line, item) = match larger {
                _ if w.0.is_empty() && random.below(2) == 0 => ("kink 0 1 =", a),
                Some(0) => ("kink 0 1 >=", a),
                _ => ("kink 1 0 >=", b),
            };
            lines.push(line.into());
            became.push(item);
            continue;
        }
        // one relu for a form and its negative
        let (j, item) = match relus.iter().position(|r| *r == w || *r == negative) {
            Some(j) if relus[j] == negative => (j, 0),
            Some(j) => (j, 1),
            None => {
                relus.push(w);
                (relus.len() - 1, 1)
            }
        };
        lines.push(format!("kink 0 1 z{j}"));
        parts.push(Linear::variable('k', k).plus(-1, &raw[item]));
        became.push([a, b][item].plus(1, &Linear::variable('z', j)));
    }
    let output = form(count, random);
    let gradient = form(0, random);
    let h = replaced(&output, &became).plus(-1, &gradient);
    text += &format!("output {}\ngradient {}\nrelus {}\n", output.text(), gradient.text(), relus.len());
    relus.iter().for_each(|w| text += &format!("relu {}\n", w.text()));
    lines.iter().for_each(|l| text += &format!("{l}\n"));
    Start { text, dimension, relus, h, kinks }
}

/// A form to which a sum of relus has to be added for the other; or nearly so.
fn smaller(form: &Linear, parts: &[Linear], random: &mut Random) -> Linear {
    let mut form = form.clone();
    for part in parts {
        form = form.plus(if random.below(6) == 0 { 1 } else { -(random.below(3) as i64) }, part);
    }
    if random.below(6) == 0 {
        form = form.plus(random.within(1), &Linear::variable('d', 0));
    }
    form
}

/// Each join by `>=`: it is accepted where one item is the other and a sum of relus, and is larger there. Returns how many were, and were not.
fn larger_items(start: &Start, random: &mut Random) -> [usize; 2] {
    let mut counts = [0, 0];
    let lines: Vec<&str> = start.text.lines().collect();
    let first = lines.len() - start.kinks.len();
    for (i, [a, b, w]) in start.kinks.iter().enumerate() {
        for (line, a, b, sign) in [("kink 0 1 >=", a, b, 1), ("kink 1 0 >=", b, a, -1)] {
            let mut other = lines.clone();
            other[first + i] = line;
            let right = Linear::default().plus(sign, w).is_sum_of_relus();
            let text = other.join("\n") + "\nend\n";
            let accepted = match check(text.as_bytes()) {
                Err(e) => {
                    assert!(e.line > first + i, "{e}\n{text}");
                    e.line > first + i + 1
                }
                Ok(_) => true,
            };
            assert_eq!(accepted, right, "line {}:\n{text}", first + i + 1);
            if accepted {
                let model = &text[..text.find("output ").unwrap()];
                let difference = Function::of(&format!("{model}output {}\n", a.plus(-1, b).text()));
                for _ in 0..20 {
                    let d = random.vector(start.dimension, 3);
                    assert!(!difference.at(&d).is_negative(), "line {} at {d:?}:\n{text}", first + i + 1);
                }
            }
            counts[usize::from(!accepted)] += 1;
        }
    }
    counts
}

/// A certificate that is growing.
struct Proof {
    text: String,
    dimension: usize,
    relus: Vec<Linear>,
    h: Linear,
    /// For each atom the relation, or `p` for a phase, and the form.
    atoms: Vec<(&'static str, Linear)>,
    /// Lines that were accepted, by their first words.
    accepted: HashMap<String, usize>,
}

impl Proof {
    /// Adds a line if the checker accepts it, that is, if what it refuses is only the end.
    fn offer(&mut self, line: &str) -> bool {
        let text = format!("{}{line}\n", self.text);
        let end = text.lines().count() + 1;
        match check(format!("{text}end\n").as_bytes()) {
            Ok(_) => panic!("no certificate of this can be right:\n{text}end"),
            Err(e) if e.line < end => return false,
            Err(e) => assert!(e.message.contains("no contradiction"), "{e}"),
        }
        self.text = text;
        *self.accepted.entry(line.split(' ').next().unwrap().into()).or_default() += 1;
        for (fact, kind) in [(" z", "lemma z"), (" w", "lemma w")] {
            if line.starts_with("lemma") && line.contains(fact) {
                *self.accepted.entry(kind.into()).or_default() += 1;
            }
        }
        true
    }

    fn atom(&mut self, relation: &'static str, form: Linear) -> i32 {
        if let Some(i) = self.atoms.iter().position(|a| *a == (relation, form.clone())) {
            return i as i32 + 1;
        }
        let line = format!("atom {relation} {}", form.text());
        assert!(self.offer(&line), "{line}");
        self.atoms.push((relation, form));
        self.atoms.len() as i32
    }

    fn literal(&self, random: &mut Random) -> i32 {
        (1 + random.below(self.atoms.len()) as i32) * if random.below(2) == 0 { 1 } else { -1 }
    }

    /// A literal that states that the form is positive, or not negative, in one of the ways there are; or a near miss.
    fn states(&mut self, form: &Linear, strict: bool, random: &mut Random) -> String {
        let strict = if random.below(8) == 0 { !strict } else { strict };
        if form.0.is_empty() && random.below(2) == 0 || random.below(20) == 0 {
            return if strict { "F".into() } else { "T".into() };
        }
        let scale = [1, 1, 1, 2, -1][random.below(5)];
        match random.below(2) {
            0 => self.atom(if strict { ">" } else { ">=" }, Linear::default().plus(scale, form)).to_string(),
            _ => (-self.atom(if strict { ">=" } else { ">" }, Linear::default().plus(-scale, form))).to_string(),
        }
    }

    fn step(&mut self, random: &mut Random) {
        match random.below(13) {
            11..=12 if !self.relus.is_empty() => {
                (0..4).any(|_| self.lemma_of_facts(random));
            }
            10 => {
                self.offer(&format!("root {} {}", self.literal(random), self.literal(random)));
            }
            0 => {
                let mut form = Linear::default();
                for i in 0..self.dimension {
                    form = form.plus(random.within(1), &Linear::variable('d', i));
                }
                for j in 0..self.relus.len() {
                    form = form.plus(random.within(1), &Linear::variable('z', j));
                }
                self.atom([">", ">="][random.below(2)], form);
            }
            1 if !self.relus.is_empty() => {
                let j = random.below(self.relus.len());
                let phase = ("p", self.relus[j].clone());
                if !self.atoms.contains(&phase) {
                    assert!(self.offer(&format!("phase z{j}")));
                    self.atoms.push(phase);
                }
            }
            2..=4 => self.split(random),
            5..=7 => {
                (0..10).any(|_| self.lemma(random));
            }
            _ => {
                let clause: Vec<String> = (0..random.below(4)).map(|_| self.literal(random).to_string()).collect();
                self.offer(["learn", &clause.join(" ")].join(" ").trim_end());
            }
        }
    }

    /// A few literals with small weights, and the phases of most relus.
    fn lemma(&mut self, random: &mut Random) -> bool {
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(2) {
            parts.push(format!("{} {}", self.literal(random), weight(random)));
        }
        for (i, atom) in self.atoms.iter().enumerate() {
            if atom.0 == "p" && random.below(6) > 0 {
                parts.push(format!("{}{} {}", ["", "-"][random.below(2)], i + 1, weight(random)));
            }
        }
        for j in 0..self.relus.len() {
            if random.below(4) == 0 {
                parts.push(format!("{}{j} {}", ["z", "w"][random.below(2)], weight(random)));
            }
        }
        self.offer(&format!("lemma {}", parts.join(" ")))
    }

    /// Facts and phases add up to something, and a literal states that it is negative; or nearly so.
    fn lemma_of_facts(&mut self, random: &mut Random) -> bool {
        let mut sum = Linear::default();
        let mut parts: Vec<String> = Vec::new();
        for _ in 0..1 + random.below(3) {
            let (j, weight) = (random.below(self.relus.len()), weight(random));
            let z = Linear::variable('z', j);
            let (fact, form) = [("z", z.clone()), ("w", z.plus(-1, &self.relus[j]))][random.below(2)].clone();
            sum = sum.plus(weight, &form);
            let fact = if random.below(10) == 0 { ["z", "w"][random.below(2)] } else { fact };
            let weight = if random.below(10) == 0 { weight + random.within(1) } else { weight };
            parts.push(format!("{fact}{j} {weight}"));
        }
        for j in (0..self.relus.len()).rev() {
            let phase = self.atoms.iter().position(|a| *a == ("p", self.relus[j].clone()));
            let Some(phase) = phase.filter(|_| random.below(3) == 0) else { continue };
            let c = sum.0.iter().find(|t| t.0 == ('z', j)).map_or(0, |t| t.1);
            let with = random.below(2) == 0;
            sum = sum.plus(-c, &Linear::variable('z', j));
            if with {
                sum = sum.plus(c, &self.relus[j]);
            }
            parts.push(format!("{}{} 0", if with { "" } else { "-" }, phase + 1));
        }
        let literal = self.states(&Linear::default().plus(-1, &sum), true, random);
        // a scale may have been chosen that is not 1
        parts.push(format!("{literal} {}", 1 + random.below(8) / 7));
        self.offer(&format!("lemma {}", parts.join(" ")))
    }

    fn split(&mut self, random: &mut Random) {
        let n = self.literal(random);
        let (relation, form) = self.atoms[n.unsigned_abs() as usize - 1].clone();
        let strict = (relation == ">") != (n < 0);
        let f = Linear::default().plus(i64::from(n.signum()), &form);
        let zs: Vec<(usize, i64)> = f.0.iter().filter(|t| t.0.0 == 'z').map(|t| (t.0.1, t.1)).collect();
        if zs.is_empty() {
            return;
        }
        let (j, c) = zs[random.below(zs.len())];
        let r = f.plus(-c, &Linear::variable('z', j));
        let (mut l, mut m) = (r.clone(), r.plus(c, &self.relus[j]));
        if random.below(10) == 0 {
            (l, m) = (m, l);
        }
        let (l, m) = (self.states(&l, strict, random), self.states(&m, strict, random));
        self.offer(&format!("split {n} z{j} {l} {m}"));
    }

    /// Whether all clauses that were accepted are true at a direction.
    fn holds(&self, d: &[Rational]) -> bool {
        let mut z: Vec<Rational> = Vec::new();
        for w in &self.relus {
            let value = evaluate(&terms(&w.text()), d, &z).max(Rational::ZERO);
            z.push(value);
        }
        let sign = |f: &Linear| evaluate(&terms(&f.text()), d, &z).signum();
        let truth: Vec<bool> =
            self.atoms.iter().map(|(relation, f)| if *relation == ">" { sign(f) > 0 } else { sign(f) >= 0 }).collect();
        let value = |word: &str| match word {
            "T" => true,
            "F" => false,
            _ => {
                let n: i32 = word.parse().unwrap();
                truth[n.unsigned_abs() as usize - 1] == (n > 0)
            }
        };
        self.text.lines().all(|line| {
            let words: Vec<&str> = line.split(' ').collect();
            match words[0] {
                "root" | "learn" => words[1..].iter().any(|w| value(w)),
                "lemma" => words[1..].chunks(2).any(|c| !c[0].starts_with(['z', 'w']) && !value(c[0])),
                "split" => {
                    let n: i32 = words[1].parse().unwrap();
                    let form = &self.atoms[n.unsigned_abs() as usize - 1].1;
                    let j: usize = words[2][1..].parse().unwrap();
                    let c = form.0.iter().find(|t| t.0 == ('z', j)).unwrap().1 * i64::from(n.signum());
                    let (l, m) = (value(words[3]), value(words[4]));
                    !value(words[1]) || if c > 0 { l || m } else { l && m }
                }
                _ => true,
            }
        })
    }
}

/// A weight that is small, and once in a while negative.
fn weight(random: &mut Random) -> i64 {
    if random.below(12) == 0 { -1 } else { random.below(3) as i64 }
}

#[test]
fn whatever_is_accepted_is_true() {
    let random = &mut Random(5);
    let mut accepted: HashMap<String, usize> = HashMap::new();
    let (mut functions, mut directions) = (0, 0);
    let mut joins = [0, 0];
    while functions < 400 {
        let start = start(random);
        let found = larger_items(&start, random);
        (0..2).for_each(|i| joins[i] += found[i]);
        let Start { text, dimension, relus, h, .. } = start;
        let f = Function::of(&text);
        let gradient = text.lines().find_map(|l| l.strip_prefix("gradient ")).map(terms).unwrap();
        // directions at which h is not 0; large numbers make them generic
        let exceptions: Vec<Vec<Rational>> = (0..60)
            .map(|_| random.vector(dimension, 1_000_000_000))
            .filter(|d| f.at(d) != evaluate(&gradient, d, &[]))
            .collect();
        if exceptions.is_empty() {
            continue;
        }
        functions += 1;
        directions += exceptions.len();
        let mut proof = Proof { text, dimension, relus, h, atoms: Vec::new(), accepted: HashMap::new() };
        let negative = Linear::default().plus(-1, &proof.h);
        let (a, b) = (proof.atom(">", proof.h.clone()), proof.atom(">", negative));
        assert!(proof.offer(&format!("root {a} {b}")));
        for _ in 0..60 {
            proof.step(random);
        }
        for d in &exceptions {
            assert!(proof.holds(d), "a clause is false at {d:?}:\n{}", proof.text);
        }
        proof.accepted.into_iter().for_each(|(k, n)| *accepted.entry(k).or_default() += n);
    }
    // the test is worth something only if many lines of each kind were accepted
    for kind in ["split", "lemma", "lemma z", "lemma w", "learn", "phase"] {
        assert!(accepted.get(kind).is_some_and(|n| *n > 200), "{accepted:?}");
    }
    assert!(directions > 5_000 && joins[0] > 200 && joins[1] > 200, "{directions} {joins:?}");
}
