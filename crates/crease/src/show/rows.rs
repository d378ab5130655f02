//! Lines of a label and what it is about: how most commands lay out their text.

use super::answer;
use crate::inspect::Answer;

/// Lines of a label and a body; the bodies are aligned.
#[derive(Default)]
pub struct Rows(Vec<(String, String)>);

impl Rows {
    /// A line.
    pub fn add(&mut self, label: &str, body: &str) {
        self.0.push((label.into(), body.into()));
    }

    /// Several lines under one label.
    pub fn block(&mut self, label: &str, text: &str) {
        for (i, line) in text.lines().enumerate() {
            self.add(if i == 0 { label } else { "" }, line);
        }
    }

    /// A vector by the inputs of the program and what it is: in one line if there is one number only.
    pub fn vector(&mut self, label: &str, names: &[&str], parts: &[Answer], remark: &str, width: usize) {
        let single = matches!(parts, [part] if part.near.shape().is_scalar());
        let texts: Vec<String> = parts.iter().map(|part| answer(part, false)).collect();
        self.texts(label, names, &texts, single, remark, width);
    }

    /// The same where the inputs' parts are texts; `single` says that there is one number only.
    pub fn texts(&mut self, label: &str, names: &[&str], parts: &[String], single: bool, remark: &str, width: usize) {
        if let ([part], true) = (parts, single) {
            return self.add(label, &format!("{part:<width$}  {remark}"));
        }
        self.add(label, remark);
        for (name, part) in names.iter().zip(parts) {
            self.add(&format!("  {name}"), part);
        }
    }

    /// All lines.
    pub fn text(&self) -> String {
        // very long names do not push everything to the right
        let width = self.0.iter().map(|(label, _)| label.chars().count()).max().unwrap_or(0).clamp(10, 24);
        let line = |(label, body): &(String, String)| format!("{label:<width$}  {body}").trim_end().to_string() + "\n";
        self.0.iter().map(line).collect()
    }
}

/// How wide the numbers are that stand before remarks.
pub fn width<'a>(numbers: impl IntoIterator<Item = &'a str>) -> usize {
    numbers.into_iter().map(|s| s.chars().count()).max().unwrap_or(0).clamp(4, 24)
}
