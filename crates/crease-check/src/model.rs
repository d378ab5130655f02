//! The model that a certificate is about, as its first lines state it.

use crate::form::{Form, Scope};
use crate::lines::{Fault, Lines};
use std::fmt;

/// A positively homogeneous piecewise-linear function: kinks, each the maximum of forms in the direction and in earlier kinks, and a
/// form in the direction and in all kinks.
pub struct Model {
    pub dimension: u32,
    pub kinks: Vec<Vec<Form>>,
    pub output: Form,
}

impl Model {
    pub fn read(lines: &mut Lines<'_>) -> Result<Model, Fault> {
        let mut line = lines.expect("dimension", "dimension P")?;
        let dimension = line.count("the number of coordinates of a direction")?;
        line.finish()?;
        let mut line = lines.expect("kinks", "kinks K")?;
        let count = line.count("the number of kinks")?;
        line.finish()?;
        // no room is made for kinks before their lines are there
        let mut kinks = Vec::new();
        for k in 0..count {
            kinks.push(maximum(lines, Scope { d: dimension, z: 0, k })?);
        }
        let mut line = lines.expect("output", "output FORM")?;
        let output = Form::last(&mut line, Scope { d: dimension, z: 0, k: count })?;
        Ok(Model { dimension, kinks, output })
    }

    /// What may stand in a vector.
    pub fn directions(&self) -> Scope {
        Scope { d: self.dimension, z: 0, k: 0 }
    }
}

fn maximum(lines: &mut Lines<'_>, scope: Scope) -> Result<Vec<Form>, Fault> {
    let mut line = lines.expect("max", "max FORM ; FORM ; ...")?;
    let mut forms = vec![Form::parse(&mut line, scope)?];
    while let Some(";") = line.peek() {
        line.next()?;
        forms.push(Form::parse(&mut line, scope)?);
    }
    line.finish()?;
    match forms.len() {
        1 => Err(Fault::new("a kink is the maximum of two or more forms, separated by ` ; `; here is one")),
        _ => Ok(forms),
    }
}

impl fmt::Display for Model {
    /// The lines of the model, each form by increasing variables.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "dimension {}\nkinks {}", self.dimension, self.kinks.len())?;
        for forms in &self.kinks {
            for (i, form) in forms.iter().enumerate() {
                write!(f, "{} {form}", if i == 0 { "max" } else { " ;" })?;
            }
            writeln!(f)?;
        }
        writeln!(f, "output {}", self.output)
    }
}
