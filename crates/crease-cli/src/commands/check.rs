//! `crease check`: is a certificate valid, what does it prove, and is it about this program.

use crate::fault;
use crate::flags::{self, PrecisionArgs};
use crate::network::NetworkArgs;
use crate::source::{Source, SourceArgs, read_input};
use anyhow::{Result, anyhow, bail};
use clap::{Args, Parser};
use crease::inspect::{Ask, At, above};
use crease::show;
use crease::show::Rows;
use crease_check::{Checked, Claim, EnclosedSide, Side, Vector};
use crease_core::Rational;
use crease_core::local::{NormalForm, Precision};
use crease_oracles::{certificate_graph, certificate_model};
use serde_json::Value;

/// The most terms of a vector that text shows where there is no program to show it by.
const TERMS: usize = 24;

/// The most sides that text shows.
const SIDES: usize = 12;

/// Check a certificate
///
/// Reads a certificate, follows its proof in exact arithmetic, and says what it proves: that a function has a derivative, that it has none,
/// or that a vector is one of its Clarke subgradients. The checker shares nothing with the search that found the proof. A certificate
/// states the local model that it is about. With a program and a point, their model is compared with it.
#[derive(Args)]
#[command(after_help = "Examples:
  crease check proof.cert
  crease check proof.cert -e 'relu(x) - relu(-x)' --at x=0
  crease check - network.crease --at point.json --json < proof.cert")]
pub struct Check {
    /// The certificate; `-` reads standard input
    #[arg(value_name = "CERT")]
    certificate: String,

    /// A program in the language of crease, to which the certificate should belong; `-` reads standard input
    #[arg(value_name = "FILE")]
    file: Option<String>,

    /// An expression instead of a file; its free names are the inputs, in order of first appearance
    #[arg(short = 'e', long, value_name = "EXPR", conflicts_with_all = ["file", "program"], allow_hyphen_values = true)]
    expression: Option<String>,

    /// The program of the file to take; else the last one
    #[arg(long, value_name = "NAME", requires = "file")]
    program: Option<String>,

    /// The point, such as `x=0,y=1/2,v=[1,2,3]`, or a .json or .npy file; with -e it also tells shapes
    #[arg(long, value_name = "POINT", allow_hyphen_values = true)]
    at: Option<String>,

    /// The output that the certificate is about, counted from 0, where the program has several
    #[arg(long, value_name = "K")]
    output: Option<usize>,

    #[command(flatten)]
    network: NetworkArgs,

    #[command(flatten)]
    precision: PrecisionArgs,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// The flags of a program as all commands take them: there it is required, here it is not.
#[derive(Parser)]
struct OfProgram {
    #[command(flatten)]
    source: SourceArgs,
}

impl Check {
    pub fn run(&self) -> Result<String> {
        let bytes = self.read()?;
        let checked = crease_check::check(&bytes).map_err(|e| anyhow!("certificate {e}"))?;
        let source = self.source().map(|flags| flags.load()).transpose()?;
        let at = source.as_ref().map(|source| self.compared(&checked, source)).transpose()?;
        let report = Report { checked: &checked, at: at.as_ref() };
        Ok(if self.json { show::json(&report.json()) } else { report.text() })
    }

    /// The program at the point, if its model is that of the certificate.
    fn compared<'s>(&self, checked: &Checked, source: &'s Source) -> Result<At<'s>> {
        let (p, inputs) = (&*source.program, source.inputs()?);
        let ask = Ask { limits: self.precision.within(flags::limits()), ..Ask::default() };
        if let Claim::NotDifferentiableEnclosed { bits, .. } = checked.claim {
            let limit = ask.limits.bits;
            if bits > limit {
                bail!(
                    "the certificate is valid, and of a model made with {bits} bits, but the limit is {limit}; to make it again, raise it with --max-bits"
                );
            }
            let mut at =
                At::within(p, &inputs, Precision { bits, limit: bits }, &flags::limits()).map_err(fault::inspect)?;
            let (_, element) = at.scalar_output("a certificate", self.output).map_err(fault::inspect)?;
            same(checked, &certificate_graph(at.model(), element)?, p.name())?;
            return Ok(at);
        }
        let mut at = At::new(p, &inputs, &ask).map_err(fault::inspect)?;
        let (_, element) = at.scalar_output("a certificate", self.output).map_err(fault::inspect)?;
        // norms that cancel have no part in a certificate
        let plain = at.model().without_norms(element);
        let (model, element) = plain.as_ref().map_or((at.model(), element), |plain| (plain, 0));
        let normal = model.normal_form().filter(|_| model.is_exact());
        let Some(normal) = normal else {
            bail!(
                "the certificate is valid, but of an exact model; that of `{}` has coefficients without exact values at this point",
                p.name()
            );
        };
        compare(checked, &normal, element, p.name())?;
        Ok(at)
    }

    fn read(&self) -> Result<Vec<u8>> {
        if self.certificate == "-" && self.file.as_deref() == Some("-") {
            bail!("the certificate and the program cannot both be read from standard input");
        }
        read_input(&self.certificate)
    }

    /// The program that the flags name, if they do.
    fn source(&self) -> Option<SourceArgs> {
        let flags = [("expression", &self.expression), ("program", &self.program), ("at", &self.at)];
        let flags = flags.into_iter().filter_map(|(flag, value)| Some(format!("--{flag}={}", value.as_ref()?)));
        let file = self.file.iter().flat_map(|f| ["--".to_string(), f.clone()]);
        let args: Vec<String> =
            ["check".to_string()].into_iter().chain(flags).chain(self.network.arguments()).chain(file).collect();
        if self.file.is_none() && self.expression.is_none() {
            if self.at.is_some() || self.output.is_some() {
                let message = "--at and --output belong to a program: give FILE or -e EXPR, too\n";
                clap::Error::raw(clap::error::ErrorKind::MissingRequiredArgument, message).exit();
            }
            return None;
        }
        Some(OfProgram::try_parse_from(args).unwrap_or_else(|e| e.exit()).source)
    }
}

/// Sees that the certificate's model is that of the program.
fn compare(checked: &Checked, normal: &NormalForm, element: usize, name: &str) -> Result<()> {
    let whole = certificate_model(normal, element);
    let needed = certificate_model(&normal.of_output(element), 0);
    // a certificate may state all kinks, or only those that its output depends on
    if checked.model == whole { Ok(()) } else { same(checked, &needed, name) }
}

/// Sees that the lines of the certificate's model are those of the program.
fn same(checked: &Checked, own: &str, name: &str) -> Result<()> {
    if checked.model == own {
        return Ok(());
    }
    let (mut stated, mut own) = (checked.model.lines(), own.lines());
    let differ = std::iter::repeat_with(|| (stated.next(), own.next())).find(|(a, b)| a != b);
    let (stated, own) = differ.unwrap_or_default();
    let shown = |line: Option<&str>| match line {
        Some(line) if line.chars().count() > 100 => format!("`{}...`", line.chars().take(100).collect::<String>()),
        line => format!("`{}`", line.unwrap_or("nothing")),
    };
    bail!(
        "the certificate is valid, but of another model than that of `{name}` at this point: it has {} where the program has {}",
        shown(stated),
        shown(own)
    )
}

struct Report<'a> {
    checked: &'a Checked,
    at: Option<&'a At<'a>>,
}

impl Report<'_> {
    fn text(&self) -> String {
        let mut rows = Rows::default();
        match &self.checked.claim {
            Claim::Differentiable { gradient } => {
                rows.add("proved", "differentiable");
                self.vector(&mut rows, "gradient", gradient);
            }
            Claim::NotDifferentiable { sides } => {
                rows.add("proved", "not differentiable: it has two gradients nearby");
                sides.iter().for_each(|side| self.side(&mut rows, side));
            }
            Claim::NotDifferentiableEnclosed { coordinate, sides, .. } => {
                rows.add(
                    "proved",
                    "not differentiable: it has two gradients nearby, which differ whatever its coefficients are inside their enclosures",
                );
                let name = self.coordinate(*coordinate);
                for side in sides {
                    let ends = [below(&side.low), above(&side.high)].map(show::float);
                    rows.add("gradient", &format!("{name} from {} to {}", ends[0], ends[1]));
                    self.vector(&mut rows, "  around", &side.direction);
                }
                rows.add("apart", &format!("{name} by at least {}", show::float(below(&gap(sides)))));
            }
            Claim::Member { vector, sides } => {
                rows.add("proved", "a Clarke subgradient: a mean of gradients nearby");
                self.vector(&mut rows, "vector", vector);
                for (weight, side) in sides.iter().take(SIDES) {
                    rows.add("weight", &show::exact(weight));
                    self.side(&mut rows, side);
                }
                if sides.len() > SIDES {
                    rows.add("…", &format!("and {} more", show::count(sides.len() - SIDES)));
                }
            }
        }
        rows.add("model", &self.model());
        if let Claim::Differentiable { .. } = self.checked.claim {
            let s = &self.checked.statistics;
            let counts = [
                (s.relus, "relu", "relus"),
                (s.atoms, "atom", "atoms"),
                (s.clauses, "clause", "clauses"),
                (s.lemmas, "lemma", "lemmas"),
                (s.learned, "learned clause", "learned clauses"),
            ];
            rows.add("proof", &counts.map(|(n, one, many)| counted(n, one, many)).join(", "));
        }
        if let Some(at) = self.at {
            at.exactness(&mut rows);
        }
        rows.text()
    }

    fn model(&self) -> String {
        let Checked { dimension, kinks, .. } = self.checked;
        let mut size =
            format!("{}, {}", counted(*dimension, "dimension", "dimensions"), counted(*kinks, "kink", "kinks"));
        if let Claim::NotDifferentiableEnclosed { bits, .. } = self.checked.claim {
            size += &format!(", with enclosures of {bits} bits");
        }
        match self.at {
            Some(at) => format!("{size}; the local model of `{}` at this point", at.program().name()),
            None => format!("{size}, as the certificate states it; with a program and --at they are compared"),
        }
    }

    /// What a coordinate of the direction is called: where there is a program, by the input and the place in it.
    fn coordinate(&self, i: usize) -> String {
        let Some(at) = self.at else { return format!("d{i}") };
        let mut start = 0;
        for input in at.program().inputs() {
            let n = input.shape.len();
            match i - start {
                0 if input.shape.is_scalar() => return input.name.to_string(),
                k if k < n => return format!("{}[{}]", input.name, place(k, input.shape.dims())),
                _ => start += n,
            }
        }
        format!("d{i}")
    }

    fn side(&self, rows: &mut Rows, side: &Side) {
        self.vector(rows, "gradient", &side.gradient);
        self.vector(rows, "  around", &side.direction);
    }

    fn vector(&self, rows: &mut Rows, label: &str, vector: &Vector) {
        match self.at {
            Some(at) => {
                let parts = at.by_input(&self.dense(vector), None);
                let shown = at.names().into_iter().zip(&parts).map(|(n, a)| format!("{n}={}", show::answer(a, false)));
                rows.add(label, &shown.collect::<Vec<_>>().join("  "));
            }
            None => {
                let mut terms: Vec<String> =
                    vector.entries().take(TERMS).map(|(i, c)| format!("d{i}={}", show::exact(c))).collect();
                let more = vector.entries().count() - terms.len();
                if more > 0 {
                    terms.push(format!("… and {} more", show::count(more)));
                }
                rows.add(label, &if terms.is_empty() { "0".into() } else { terms.join("  ") });
            }
        }
    }

    /// All coordinates. Only where there is a program, so that it has as many inputs.
    fn dense(&self, vector: &Vector) -> Vec<Rational> {
        let mut out = vec![Rational::ZERO; self.checked.dimension];
        vector.entries().for_each(|(i, c)| out[i] = c.clone());
        out
    }

    fn json(&self) -> Value {
        let s = &self.checked.statistics;
        let counts = [
            ("relus", s.relus),
            ("atoms", s.atoms),
            ("clauses", s.clauses),
            ("lemmas", s.lemmas),
            ("learned", s.learned),
        ];
        let claim = match &self.checked.claim {
            Claim::Differentiable { .. } => "differentiable",
            Claim::NotDifferentiable { .. } => "not-differentiable",
            Claim::NotDifferentiableEnclosed { .. } => "not-differentiable-enclosed",
            Claim::Member { .. } => "member",
        };
        let mut members: Vec<(&str, Value)> = vec![("valid", true.into()), ("claim", claim.into())];
        let outward = |s: &EnclosedSide| [below(&s.low), above(&s.high)].map(Value::from);
        members.extend(self.proved(&|v| self.json_vector(v), &show::number, &outward));
        if let Claim::NotDifferentiableEnclosed { bits, coordinate, sides } = &self.checked.claim {
            members.push(("coordinate", self.coordinate(*coordinate).into()));
            members.push(("apart", below(&gap(sides)).into()));
            members.push(("bits", (*bits).into()));
        }
        members.push(("dimension", self.checked.dimension.into()));
        members.push(("kinks", self.checked.kinks.into()));
        members.push(("compared", self.at.is_some().into()));
        members.push(("statistics", show::object(counts.map(|(k, n)| (k, n.into())))));
        if let Some(at) = self.at {
            members.extend(at.json_exactness());
        }
        let ends = |s: &EnclosedSide| [&s.low, &s.high].map(|x| x.fraction().into());
        let exact = self.proved(&|v| self.json_exact(v), &|x| x.fraction().into(), &ends);
        members.push(("exact", show::object(exact)));
        show::object(members)
    }

    /// The vectors and weights of the claim.
    fn proved(
        &self,
        vector: &dyn Fn(&Vector) -> Value,
        number: &dyn Fn(&Rational) -> Value,
        ends: &dyn Fn(&EnclosedSide) -> [Value; 2],
    ) -> Vec<(&'static str, Value)> {
        let side = |s: &Side| vec![("gradient", vector(&s.gradient)), ("direction", vector(&s.direction))];
        match &self.checked.claim {
            Claim::Differentiable { gradient } => vec![("gradient", vector(gradient))],
            Claim::NotDifferentiable { sides } => {
                vec![("sides", sides.iter().map(|s| show::object(side(s))).collect())]
            }
            Claim::NotDifferentiableEnclosed { sides, .. } => {
                let enclosed = |s: &EnclosedSide| {
                    let [low, high] = ends(s);
                    show::object([("low", low), ("high", high), ("direction", vector(&s.direction))])
                };
                vec![("sides", sides.iter().map(enclosed).collect())]
            }
            Claim::Member { vector: v, sides } => {
                let weighted =
                    |(w, s): &(Rational, Side)| show::object([("weight", number(w))].into_iter().chain(side(s)));
                vec![("vector", vector(v)), ("sides", sides.iter().map(weighted).collect())]
            }
        }
    }

    fn json_vector(&self, vector: &Vector) -> Value {
        match self.at {
            Some(at) => at.json(&self.dense(vector)),
            None => show::object(vector.entries().map(|(i, c)| (format!("d{i}"), show::number(c)))),
        }
    }

    fn json_exact(&self, vector: &Vector) -> Value {
        match self.at {
            Some(at) => {
                let parts = at.by_input(&self.dense(vector), None);
                let shown = parts.iter().map(|a| show::fractions(a).unwrap_or(Value::Null));
                show::object(at.names().into_iter().zip(shown))
            }
            None => show::object(vector.entries().map(|(i, c)| (format!("d{i}"), c.fraction().into()))),
        }
    }
}

/// How far two enclosures are apart.
fn gap([a, b]: &[EnclosedSide; 2]) -> Rational {
    Ord::max(&a.low - &b.high, &b.low - &a.high)
}

/// A float that is not above a number.
fn below(x: &Rational) -> f64 {
    -above(&-x)
}

/// Where the element of this number stands in a tensor.
fn place(mut k: usize, dims: &[usize]) -> String {
    let mut indices: Vec<String> = Vec::new();
    for n in dims.iter().rev() {
        indices.push((k % n).to_string());
        k /= n;
    }
    indices.reverse();
    indices.join(",")
}

fn counted(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", show::count(n), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crease_core::local::localize;
    use crease_core::{Shape, Tensor, relu, trace_shapes};

    /// relu(y) - x and relu(x) + relu(-y), at 0.
    fn two_outputs() -> NormalForm {
        let zero = Tensor::scalar(Rational::ZERO);
        let program =
            trace_shapes(&[Shape::scalar(), Shape::scalar()], |x| vec![relu(x[1]) - x[0], relu(x[0]) + relu(-x[1])])
                .unwrap();
        localize(&program, &[zero.clone(), zero]).unwrap().normal_form().unwrap()
    }

    fn checked(model: &str) -> Checked {
        let text = format!(
            "crease-certificate 1\nclaim member\n{model}vector 0\nside 1\ndirection -1*d0 1*d1\ngradient 0\nend\n"
        );
        crease_check::check(text.as_bytes()).unwrap()
    }

    #[test]
    fn a_certificate_may_leave_out_the_kinks_of_other_outputs() {
        let normal = two_outputs();
        let whole = certificate_model(&normal, 1);
        let needed = certificate_model(&normal.of_output(1), 0);
        assert!(whole.contains("kinks 3\n") && needed.contains("kinks 2\n"), "{whole}{needed}");
        for stated in [&whole, &needed] {
            compare(&checked(stated), &normal, 1, "f").unwrap();
            assert!(compare(&checked(stated), &normal, 0, "f").is_err());
        }
    }

    #[test]
    fn another_model_is_told_by_its_first_line() {
        let normal = two_outputs();
        let other = certificate_model(&normal.of_output(1), 0).replace("dimension 2", "dimension 3");
        let message = compare(&checked(&other), &normal, 1, "f").unwrap_err().to_string();
        assert!(message.ends_with("it has `dimension 3` where the program has `dimension 2`"), "{message}");
    }
}
