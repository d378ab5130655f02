//! Ties: which kinks a run met, and what was picked there.

use crate::show;
use crease_core::differentiate::Selection;
use crease_core::local::{ActiveKink, LocalModel};
use crease_core::op::{Kink, Op};
use crease_core::{KinkHit, Limits, Number, Program, Rational, RunError, Site, Tensor, Ties, kinks_with};
use std::collections::HashMap;

/// A place of the program where ties were met.
#[derive(Clone, Debug, PartialEq)]
pub struct Met {
    /// The operation.
    pub operation: &'static str,
    /// Its equation.
    pub site: Site,
    /// How many elements were at a kink, over all times that the equation was run.
    pub elements: usize,
    /// Whether all of that is certain.
    pub certain: bool,
    /// Whether it is a comparison, a border of a selection, and not a kink of an operation.
    pub border: bool,
    /// Whether it is a jump, where there is no derivative of any kind.
    pub jump: bool,
}

impl Met {
    fn new(hit: KinkHit) -> Self {
        let KinkHit { site, kink, elements, certain, jump } = hit;
        Met { operation: kink, site, elements, certain, border: is_border(kink), jump }
    }
}

/// The most places that text shows.
const PLACES: usize = 12;

/// Places where ties were met, one line for each: operation, line and column, text, and how many elements.
pub fn lines(met: &[Met]) -> Vec<Vec<String>> {
    let line = |m: &Met| {
        let elements = if m.elements == 1 { String::new() } else { format!("{} elements", m.elements) };
        let operation = if m.jump { format!("{} jumps", m.operation) } else { m.operation.into() };
        vec![operation, m.site.short(), m.site.text(), elements]
    };
    met.iter().take(PLACES).map(line).collect()
}

/// How many more places there are than [`lines`] shows, in words.
pub fn others(met: &[Met]) -> Option<String> {
    let more = met.len().checked_sub(PLACES).filter(|&n| n > 0)?;
    Some(format!("… and at {} more places", show::count(more)))
}

/// Runs a program and tells the ties that it met, each place once, in the order in which they were first met.
pub fn find<N: Number>(p: &Program, inputs: &[Tensor<N>], limits: &Limits) -> Result<Vec<Met>, RunError> {
    let (_, hits) = kinks_with(p, inputs, limits)?;
    Ok(merge(hits.into_iter().map(Met::new)))
}

/// The ties that are active in a local model, each place once.
pub(super) fn active(model: &LocalModel) -> Vec<Met> {
    let met = |k: &ActiveKink| Met {
        operation: k.operation,
        site: k.site.clone(),
        elements: 1,
        certain: true,
        border: is_border(k.operation),
        jump: false,
    };
    merge(model.kinks().iter().map(met))
}

/// Whether a kink is that of a comparison, which is named by its sign.
fn is_border(operation: &str) -> bool {
    !operation.starts_with(char::is_alphabetic)
}

fn merge(all: impl Iterator<Item = Met>) -> Vec<Met> {
    let mut index: HashMap<(String, usize, String), usize> = HashMap::new();
    let mut out: Vec<Met> = Vec::new();
    for met in all {
        let key = (met.site.program.clone(), met.site.equation, met.site.short());
        match index.get(&key) {
            Some(&i) => {
                out[i].elements += met.elements;
                out[i].certain &= met.certain;
            }
            None => {
                index.insert(key, out.len());
                out.push(met);
            }
        }
    }
    out
}

/// What the selection picked at the ties that were met, each convention once.
pub fn conventions(p: &Program, met: &[Met], selection: &Selection) -> Vec<String> {
    let library = p.library();
    let mut by_name: HashMap<&str, Vec<&Program>> = HashMap::new();
    for q in library.iter().map(|q| &**q).chain([p]) {
        by_name.entry(q.name()).or_default().push(q);
    }
    let mut out: Vec<String> = Vec::new();
    for m in met {
        let named = by_name.get(&*m.site.program).into_iter().flatten();
        let kink = named.copied().find_map(|q| kink_at(q, m));
        let text = match (kink, m.border) {
            (_, true) => "on a border, the branch that holds there, if the program is continuous".into(),
            _ if m.jump => format!("at a jump of {}, slope 0, which is no derivative", m.operation),
            (Some(kink), _) => convention(kink, selection),
            (None, _) => m.operation.into(),
        };
        if !out.contains(&text) {
            out.push(text);
        }
    }
    out
}

fn kink_at<'p>(p: &'p Program, met: &Met) -> Option<&'p Kink> {
    if met.site.equation >= p.len() {
        return None;
    }
    match p.equation(met.site.equation).op {
        Op::Kink(kink) | Op::Joint(kink, _) if kink.name() == met.operation => Some(kink),
        _ => None,
    }
}

fn convention(kink: &Kink, selection: &Selection) -> String {
    let choice = selection.choice(kink);
    let name = kink.name();
    let ties = match choice.ties {
        Ties::First => "the first of equals",
        Ties::Last => "the last of equals",
        Ties::Average => "shared by equals",
        Ties::Every => "every one of equals",
    };
    match kink {
        Kink::TimesRelu => format!("relu'(0) = {} in times_relu", choice.at_kink),
        Kink::Norm1(_) => format!("abs'(0) = {} in norm1", choice.at_kink),
        Kink::NormInf(_) => format!("norminf: {ties}, abs'(0) = {}", choice.at_kink),
        Kink::Norm2(_) => match selection.norm2.iter().all(Rational::is_zero) {
            true => "norm2'(0) = 0".into(),
            false => {
                let vector: Vec<String> = selection.norm2.iter().map(Rational::to_string).collect();
                format!("norm2'(0) = ({}, 0, ...)", vector.join(", "))
            }
        },
        Kink::Relu | Kink::Abs | Kink::LeakyRelu(_) | Kink::Elu(_) => format!("{name}'(0) = {}", choice.at_kink),
        Kink::Max(_) | Kink::Min(_) | Kink::OrderStatistic(..) | Kink::Sort(_) | Kink::MaxLinear { .. } => {
            format!("{name}: {ties}")
        }
    }
}
