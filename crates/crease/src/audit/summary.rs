//! What findings at many inputs say together.

use super::{Finding, Layer};
use crate::show::{self, Rows};
use serde::Serialize;
use std::fmt;

/// How many of the worst inputs are listed.
const WORST: usize = 8;

/// What an audit says of all inputs. It displays as the text of `crease audit`.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Summary {
    /// How many inputs were asked about.
    pub inputs: usize,
    /// Of how many there is a finding.
    pub done: usize,
    /// Of how many nothing is known, and why of the first.
    pub failed: usize,
    /// Why of the first of them.
    pub failure: Option<String>,
    /// At how many a kink is tied that matters.
    pub tied: usize,
    /// At how many the network is differentiable, in all that was asked about.
    pub differentiable: usize,
    /// At how many it is not, in something.
    pub not_differentiable: usize,
    /// At how many that is not known.
    pub unknown: usize,
    /// Verdicts, one for each input and output, and how many of them rest on a certificate that was checked.
    pub verdicts: usize,
    /// How many of them rest on a certificate that was checked.
    pub certified: usize,
    /// At how many the conservative gradient has several elements, for some output.
    pub several: usize,
    /// At how many conventions return different gradients.
    pub apart: usize,
    /// At how many the network is differentiable and a convention returns something else.
    pub misled: usize,
    /// Kinks that were computed exactly, because enclosures in doubles did not decide them, of how many.
    pub exactly: usize,
    /// All kinks of all inputs.
    pub kinks: usize,
    /// The layers in order.
    pub layers: Vec<LayerSummary>,
    /// The inputs with the most ties, then those with the smallest margins.
    pub worst: Vec<usize>,
    /// The sum of the times of all inputs.
    pub seconds: f64,
}

/// A layer at all inputs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LayerSummary {
    /// What it is called.
    pub layer: String,
    /// The operation.
    pub operation: String,
    /// How many kinks it has.
    pub kinks: usize,
    /// At how many inputs one of them is tied and matters.
    pub inputs: usize,
    /// How many ties there are at all inputs together.
    pub ties: usize,
    /// The most ties at one input.
    pub most: usize,
    /// The smallest margin of kinks that are not tied.
    pub smallest: Option<f64>,
    /// Margins below 10^-12, in each decade up to 1, and above.
    pub histogram: Vec<u64>,
}

impl LayerSummary {
    fn new(layer: &Layer) -> Self {
        LayerSummary {
            layer: layer.layer.clone(),
            operation: layer.operation.clone(),
            kinks: layer.kinks,
            inputs: 0,
            ties: 0,
            most: 0,
            smallest: None,
            histogram: vec![0; layer.histogram.len()],
        }
    }

    fn add(&mut self, layer: &Layer) {
        self.inputs += usize::from(layer.tied > 0);
        self.ties += layer.tied;
        self.most = self.most.max(layer.tied);
        self.smallest = [self.smallest, layer.smallest].into_iter().flatten().reduce(f64::min);
        self.histogram.resize(self.histogram.len().max(layer.histogram.len()), 0);
        self.histogram.iter_mut().zip(&layer.histogram).for_each(|(sum, n)| *sum += n);
    }
}

impl Summary {
    /// Of these findings, at so many inputs in all.
    pub fn new(findings: &[Finding], inputs: usize) -> Summary {
        let mut s = Summary { inputs, done: findings.len(), ..Summary::default() };
        let mut places: Vec<usize> = Vec::new();
        for f in findings {
            s.seconds += f.seconds;
            s.exactly += f.exactly.unwrap_or(0);
            s.tied += usize::from(f.tied > 0);
            s.verdicts += f.outputs.len();
            s.certified += f.outputs.iter().filter(|o| o.certified).count();
            s.several += usize::from(f.outputs.iter().any(|o| o.singleton == Some(false)));
            s.apart += usize::from(f.apart() > 0.0);
            s.misled += usize::from(f.off() > 0.0);
            match f.verdict() {
                "yes" => s.differentiable += 1,
                "no" => s.not_differentiable += 1,
                _ => s.unknown += 1,
            }
            if let Some(error) = &f.error {
                s.failed += 1;
                s.failure.get_or_insert_with(|| format!("{}: {error}", f.name));
            }
            for layer in &f.layers {
                s.kinks += layer.kinks;
                let known = places.iter().position(|&e| e == layer.equation);
                let at = known.unwrap_or_else(|| {
                    places.push(layer.equation);
                    s.layers.push(LayerSummary::new(layer));
                    places.len() - 1
                });
                s.layers[at].add(layer);
            }
        }
        let smallest = |f: &Finding| f.margins.first().map_or(f64::INFINITY, |m| m.margin);
        let mut order: Vec<&Finding> = findings.iter().filter(|f| f.error.is_none()).collect();
        order.sort_by(|a, b| b.tied.cmp(&a.tied).then(smallest(a).total_cmp(&smallest(b))));
        s.worst = order.into_iter().take(WORST).map(|f| f.input).collect();
        s
    }

    /// The text, with the names of the worst inputs from the findings.
    pub fn text(&self, findings: &[Finding]) -> String {
        let mut rows = Rows::default();
        let of = |n: usize| format!("{} of {}", show::count(n), show::count(self.done));
        let stopped = if self.done < self.inputs { ", then it was stopped" } else { "" };
        let inputs = match self.done == self.inputs {
            true => show::count(self.inputs),
            false => format!("{} of {}{stopped}", show::count(self.done), show::count(self.inputs)),
        };
        rows.add("inputs", &inputs);
        if let Some(why) = &self.failure {
            rows.add("failed", &format!("{}; the first is {why}", show::count(self.failed)));
        }
        rows.add("tied", &format!("{} inputs have kinks that are tied and matter", of(self.tied)));
        let verdicts = [
            (self.differentiable, "differentiable in all outputs that were asked about"),
            (self.not_differentiable, "not differentiable, by two Clarke subgradients"),
            (self.unknown, "unknown"),
        ];
        for (i, (n, what)) in verdicts.into_iter().filter(|v| v.0 > 0).enumerate() {
            rows.add(if i == 0 { "network" } else { "" }, &format!("{} {what}", of(n)));
        }
        rows.add("certified", &format!("{} of {} verdicts", show::count(self.certified), show::count(self.verdicts)));
        rows.add("conservative", &format!("{} have several elements in the conservative gradient", of(self.several)));
        rows.add("conventions", &format!("{} have different gradients by convention", of(self.apart)));
        if self.misled > 0 {
            rows.add("", &format!("{} are differentiable, and a convention returns no gradient", of(self.misled)));
        }
        if self.kinks > 0 {
            let (exactly, kinks) = (show::count(self.exactly), show::count(self.kinks));
            rows.add(
                "exactly",
                &format!("{exactly} of {kinks} kinks were too close for doubles, and computed exactly"),
            );
        }
        let mut table: Vec<Vec<String>> =
            vec![["", "", "kinks", "tied inputs", "ties", "at most", "smallest margin"].map(String::from).to_vec()];
        for l in &self.layers {
            let counts = [l.kinks, l.inputs, l.ties, l.most].map(show::count);
            let smallest = l.smallest.map_or("none".into(), |x| format!("{x:.3e}"));
            table.push([l.layer.clone(), l.operation.clone()].into_iter().chain(counts).chain([smallest]).collect());
        }
        if !self.layers.is_empty() {
            rows.block("layers", &show::columns(&table, &[]));
        }
        let mut worst: Vec<Vec<String>> =
            vec![["", "ties", "smallest margin", "differentiable", "conventions apart"].map(String::from).to_vec()];
        for &i in &self.worst {
            let Some(f) = findings.iter().find(|f| f.input == i) else { continue };
            let margin = f.margins.first().map_or("none".into(), |m| format!("{:.3e}", m.margin));
            let apart = if f.apart() > 0.0 { format!("{:.3e}", f.apart()) } else { "0".into() };
            worst.push(vec![f.name.clone(), show::count(f.tied), margin, f.verdict().into(), apart]);
        }
        if worst.len() > 1 {
            rows.block("worst", &show::columns(&worst, &[]));
        }
        rows.text().trim_end().to_string() + "\n"
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text(&[]))
    }
}
