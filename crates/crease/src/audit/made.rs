//! What findings were made with, so that those of an earlier run are only gone on with by a run that would have found the same.
//!
//! A network, inputs and [`Options`] enter; what leaves is one line of JSON, which stands in front of findings in a file, and what two such lines differ in. Networks and inputs are held as hashes. Threads, and the time
//! for all inputs together, are left out: an input that is done does not depend on them.

use super::layers::layers;
use super::{Case, Finding, Of, Options};
use crease_core::{Program, Rational};
use serde::{Deserialize, Serialize};
use std::fmt::{self, Write};

/// The last member of a line.
const DIGEST: &str = "\"digest\":";

/// What findings were made with.
///
/// ```
/// use crease::audit::{Case, Made, Options};
/// use crease::{Rational, Tensor};
/// let p = crease::trace(1, |x| crease::relu(x[0]))?;
/// let at = |x: i64| vec![Case::new("x", vec![Tensor::scalar(Rational::from(x))])];
/// let made = Made::new(&p, &at(0), &Options::default());
/// assert_eq!(Made::from_line(&made.line())?, made);
/// let other = Made::new(&p, &at(1), &Options::default());
/// assert_eq!(made.against(&other).unwrap_err().to_string(), "of other inputs");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Made {
    /// What the network is called.
    pub audit: String,
    /// The version of this crate.
    pub version: String,
    /// A hash of the network and of the names of its layers.
    pub network: String,
    /// How many inputs there are.
    pub inputs: usize,
    /// A hash of their names, labels and numbers.
    pub points: String,
    /// `outputs` or `loss`.
    pub of: String,
    /// The conventions that are compared, by name, and what they pick.
    pub conventions: Vec<(String, String)>,
    /// Whether certificates are written and checked.
    pub certificates: bool,
    /// For random directions.
    pub seed: u64,
    /// How many margins, and how many ties, are listed.
    pub listed: (usize, usize),
    /// How far it goes at each input.
    pub limits: Reach,
}

/// The limits of one input. A finding that met none of them is the same under all that are wider.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reach {
    /// The seconds for it, if there is a limit.
    pub each: Option<f64>,
    /// The most bits of enclosures.
    pub bits: u32,
    /// The most conflicts of a search, if there is a limit.
    pub conflicts: Option<u64>,
    /// The most equations that calls and loops may be expanded into.
    pub equations: u64,
}

/// How findings that were made before compare with those that would be made now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// They are the same.
    Same,
    /// They are the same but for those that met a limit ([`Finding::limited`](super::Finding::limited)): these limits are others.
    OtherLimits,
}

/// What findings were made of or with, that is not so now, to follow "was made".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Mismatch {
    /// Another version, which may write or find something else.
    #[error("by version {before}, and this is {now}")]
    Version {
        /// Then.
        before: String,
        /// Now.
        now: String,
    },
    /// Another network, or the same one with other names of layers.
    #[error("of another network")]
    Network,
    /// More or fewer inputs.
    #[error("of {before} inputs, and now there are {now}")]
    Count {
        /// Then.
        before: usize,
        /// Now.
        now: usize,
    },
    /// As many inputs, but with other numbers, labels or names.
    #[error("of other inputs")]
    Inputs,
    /// The outputs and not the loss, or the other way round.
    #[error("of the {before}, and not of the {now}")]
    Of {
        /// Then.
        before: String,
        /// Now.
        now: String,
    },
    /// Other conventions.
    #[error("with the conventions {before}, and not {now}")]
    Conventions {
        /// Then.
        before: String,
        /// Now.
        now: String,
    },
    /// Certificates now, and none then, or the other way round.
    #[error("{} certificates", if *.before { "with" } else { "without" })]
    Certificates {
        /// Whether there were any.
        before: bool,
    },
    /// Another seed.
    #[error("with the seed {before}, and not {now}")]
    Seed {
        /// Then.
        before: u64,
        /// Now.
        now: u64,
    },
    /// More or fewer margins or ties in each finding.
    #[error("with other numbers of margins and ties listed")]
    Listed,
}

impl Made {
    /// What findings of this network at these inputs would be made with.
    pub fn new(p: &Program, cases: &[Case], options: &Options) -> Made {
        let mut network = Fnv::new();
        network.text(&p);
        layers(p).iter().for_each(|l| network.text(&l.layer));
        let mut points = Fnv::new();
        for case in cases {
            points.text(&case.name);
            points.text(&case.label.map_or(String::new(), |l| l.to_string()));
            case.point.iter().flat_map(|t| t.data()).for_each(|x| points.number(x));
        }
        let convention = |(name, s): &(String, _)| (name.clone(), format!("{s}"));
        Made {
            audit: p.name().into(),
            version: env!("CARGO_PKG_VERSION").into(),
            network: network.to_string(),
            inputs: cases.len(),
            points: points.to_string(),
            of: match options.of {
                Of::Outputs => "outputs".into(),
                Of::Loss => "loss".into(),
            },
            conventions: options.presets.iter().map(convention).collect(),
            certificates: options.certify,
            seed: options.seed,
            listed: (options.margins, options.ties),
            limits: Reach {
                each: options.each.map(|t| t.as_secs_f64()),
                bits: options.limits.bits,
                conflicts: Some(options.limits.conflicts).filter(|&n| n < u64::MAX),
                equations: options.limits.equations,
            },
        }
    }

    /// One line of JSON.
    pub fn line(&self) -> String {
        // strings, finite numbers and lists, which cannot fail
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads such a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn from_line(line: &str) -> Result<Made, String> {
        serde_json::from_str(line).map_err(|e| e.to_string())
    }

    /// A finding as a line of a file that begins with [`line`](Self::line), with a digest of it and of what it was made with.
    ///
    /// ```
    /// # use crease::audit::{Case, Made, Options, Quiet, audit};
    /// # use crease::{Rational, Tensor};
    /// # let p = crease::trace(1, |x| crease::relu(x[0]))?;
    /// # let cases = vec![Case::new("x", vec![Tensor::scalar(Rational::ZERO)])];
    /// # let made = Made::new(&p, &cases, &Options::default());
    /// let report = audit(&p, &cases, &Options::default(), &Quiet)?;
    /// let sealed = made.sealed(&report.findings[0]);
    /// assert_eq!(made.opened(&sealed)?.tied, 1);
    /// assert!(made.opened(&sealed.replace("\"tied\":1", "\"tied\":0")).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn sealed(&self, finding: &Finding) -> String {
        let mut line = finding.line();
        let digest = self.digest(&line);
        line.truncate(line.len().saturating_sub(1));
        line + &format!(",{DIGEST}\"{digest}\"}}")
    }

    /// Reads such a line.
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words: above all that it was changed, or made with something else.
    pub fn opened(&self, line: &str) -> Result<Finding, String> {
        let digest = || {
            let (finding, end) = line.rsplit_once(&format!(",{DIGEST}\""))?;
            Some((format!("{finding}}}"), end.strip_suffix("\"}")?))
        };
        match digest() {
            Some((finding, digest)) if self.digest(&finding) == digest => Finding::from_line(&finding),
            Some((finding, _)) if Finding::from_line(&finding).is_ok() => {
                Err("its digest is not that of what it says: it was changed, or made with something else".into())
            }
            _ => match Finding::from_line(line) {
                Ok(_) => Err("it has no digest of what it says, so nothing shows that it was not changed".into()),
                Err(e) => Err(e),
            },
        }
    }

    /// A hash of a line and of what it was made with, but for limits, which may differ.
    fn digest(&self, line: &str) -> String {
        let mut hash = Fnv::new();
        let Made { audit, version, network, inputs, points, of, conventions, certificates, seed, listed, limits: _ } =
            self;
        let texts: [&dyn fmt::Display; 9] = [
            audit,
            version,
            network,
            inputs,
            points,
            of,
            certificates,
            seed,
            &format_args!("{conventions:?} {listed:?}"),
        ];
        texts.into_iter().for_each(|text| hash.text(text));
        hash.text(&line);
        hash.to_string()
    }

    /// Whether findings that were made with this are those that would be made with `now`.
    ///
    /// # Errors
    ///
    /// The first thing that differs, other than limits.
    pub fn against(&self, now: &Made) -> Result<Before, Mismatch> {
        let names = |m: &Made| m.conventions.iter().map(|(n, _)| format!("`{n}`")).collect::<Vec<_>>().join(", ");
        let (before, other) = (self, |holds: bool, what: Mismatch| if holds { Ok(()) } else { Err(what) });
        other(
            before.version == now.version,
            Mismatch::Version { before: before.version.clone(), now: now.version.clone() },
        )?;
        other(before.network == now.network && before.audit == now.audit, Mismatch::Network)?;
        other(before.inputs == now.inputs, Mismatch::Count { before: before.inputs, now: now.inputs })?;
        other(before.points == now.points, Mismatch::Inputs)?;
        other(before.of == now.of, Mismatch::Of { before: before.of.clone(), now: now.of.clone() })?;
        other(before.conventions == now.conventions, Mismatch::Conventions { before: names(before), now: names(now) })?;
        other(before.certificates == now.certificates, Mismatch::Certificates { before: before.certificates })?;
        other(before.seed == now.seed, Mismatch::Seed { before: before.seed, now: now.seed })?;
        other(before.listed == now.listed, Mismatch::Listed)?;
        Ok(if before.limits == now.limits { Before::Same } else { Before::OtherLimits })
    }
}

/// The hash of Fowler, Noll and Vo, in 64 bits: the same everywhere and for good.
struct Fnv(u64);

impl Fnv {
    fn new() -> Self {
        Fnv(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.0 = (self.0 ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// A text, and its end, which no text holds.
    fn text(&mut self, text: &dyn fmt::Display) {
        // a hash takes all that is written to it
        let _ = write!(self, "{text}");
        self.add(&[0xff]);
    }

    /// A double as its bits, which is fast; any other number as its digits, since numbers that differ may round to one double.
    fn number(&mut self, x: &Rational) {
        let near = x.to_f64();
        self.add(&near.to_bits().to_le_bytes());
        if Rational::from_f64(near).as_ref() != Some(x) {
            self.text(x);
        }
    }
}

impl Write for Fnv {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.add(text.as_bytes());
        Ok(())
    }
}

impl fmt::Display for Fnv {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}
