//! Counts of what was said, and the cases of which something wrong was.

use super::claims::{Answer, Claim};
use super::truth::Judgement;
use crease_corpus::hostile::Case;
use std::collections::BTreeMap;
use std::fmt;

#[derive(Default)]
pub struct Tally {
    cases: u64,
    /// right, wrong and inconclusive for each kind of claim
    claims: BTreeMap<&'static str, [u64; 3]>,
    /// how often for each kind of answer, and how often where the function looked regular
    answers: BTreeMap<String, [u64; 2]>,
    /// by case, the size of its program, its text, and what is wrong
    wrong: BTreeMap<u64, (usize, String, Vec<String>)>,
}

impl Tally {
    pub fn claim(&mut self, case: &Case, claim: &Claim, judgement: Judgement) {
        self.claims.entry(claim.name()).or_default()[judgement as usize] += 1;
        if judgement == Judgement::Wrong {
            let text = case.to_string();
            let entry = self.wrong.entry(case.seed).or_insert_with(|| (text.lines().count(), text, Vec::new()));
            entry.2.push(claim.to_string());
        }
    }

    pub fn answer(&mut self, _case: &Case, answer: &Answer, regular: bool) {
        self.cases += 1;
        let kind = match answer {
            Answer::Told => "told".to_string(),
            Answer::Unknown(why) => format!("unknown: {why}"),
            Answer::Refused(why) => format!("refused: {why}"),
            Answer::NoValue(why) => format!("no value: {why}"),
        };
        let counts = self.answers.entry(kind).or_default();
        counts[0] += 1;
        counts[1] += u64::from(regular);
    }

    pub fn merge(mut self, other: Tally) -> Tally {
        self.cases += other.cases;
        for (name, counts) in other.claims {
            let sum = self.claims.entry(name).or_default();
            sum.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
        }
        for (name, counts) in other.answers {
            let sum = self.answers.entry(name).or_default();
            sum.iter_mut().zip(counts).for_each(|(a, b)| *a += b);
        }
        self.wrong.extend(other.wrong);
        self
    }

    /// Whether nothing wrong was said.
    pub fn is_clean(&self) -> bool {
        self.wrong.is_empty()
    }

    /// Of all claims, the part that was seen to be right.
    pub fn share_seen_right(&self) -> f64 {
        let total: u64 = self.claims.values().flatten().sum();
        let right: u64 = self.claims.values().map(|c| c[0]).sum();
        right as f64 / total.max(1) as f64
    }

    /// The smallest programs of which something wrong was said, at most so many.
    pub fn wrong(&self, most: usize) -> String {
        let mut list: Vec<&(usize, String, Vec<String>)> = self.wrong.values().collect();
        list.sort();
        let show = |(_, text, claims): &(usize, String, Vec<String>)| format!("{text}# wrong: {}\n", claims.join("; "));
        let shown: Vec<String> = list.iter().take(most).map(|w| show(w)).collect();
        format!("something wrong is said of {} cases; the shortest of them:\n\n{}", list.len(), shown.join("\n"))
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let share = |n: u64| 100.0 * n as f64 / self.cases.max(1) as f64;
        writeln!(f, "{} cases", self.cases)?;
        for (name, [right, wrong, unclear]) in &self.claims {
            writeln!(f, "{name:>24}: {right:7} right, {wrong:5} wrong, {unclear:5} inconclusive")?;
        }
        for (name, [all, regular]) in &self.answers {
            writeln!(f, "{:6.2} % ({:5.2} % where it looks regular) {name}", share(*all), share(*regular))?;
        }
        let open = |prefix: &str| -> u64 {
            self.answers.iter().filter(|(k, _)| k.starts_with(prefix)).map(|(_, c)| c[1]).sum()
        };
        let (unknown, refused) = (open("unknown"), open("refused"));
        writeln!(f, "of functions that look regular: {:.2} % unknown, {:.2} % refused", share(unknown), share(refused))
    }
}
