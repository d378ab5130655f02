//! Checks certificates: is a function differentiable at a point, is it not, is a vector one of its Clarke subgradients.
//!
//! This crate shares nothing with the search that writes certificates but exact rational numbers; the compiler sees to that, since
//! it cannot see the search. What enters is the text of a certificate, what leaves is the claim that it proves, or the line at which
//! it fails. Deliberately absent: any search, any floating point, and any knowledge of programs. A certificate is about the *model* that it
//! states in its first lines, a positively homogeneous piecewise-linear function of a direction d; whether that is the model of one's
//! program at one's point is for the caller to compare ([`Checked::model`]).
//!
//! # The format
//!
//! A text of lines; tokens are separated by single blanks; a line that starts with `#` is a comment. Numbers are integers or fractions in lowest
//! terms such as `-3/2`. A *form* is a sum of terms `COEFFICIENT*VARIABLE`, separated by blanks, none zero, no variable twice, or the single
//! token `0`. Variables are `d0`, `d1`, ... (coordinates of the direction), `k0`, `k1`, ... (kinks of the model) and `z0`, `z1`, ... (relus of a proof).
//!
//! ```text
//! crease-certificate 1
//! claim differentiable             or not-differentiable, or member; not-differentiable-enclosed has another model
//! dimension P
//! kinks K
//! max FORM ; FORM ; ...            K lines: kink i is the maximum of two or more forms in d and in earlier k
//! output FORM                      in d and k
//! ```
//!
//! ## `not-differentiable` and `member`: limits of gradients
//!
//! ```text
//! side
//! direction FORM                   a vector, written as a form in d
//! gradient FORM
//! ```
//! A side claims that the function is linear around the direction, with that gradient: each kink, along the direction, has a largest form, and all forms
//! that are as large have the same gradient, where earlier kinks are replaced by what was found for them. (Then the forms stay the largest in
//! a neighbourhood, so the gradient is a limit of gradients at 0, hence a Clarke subgradient.) `not-differentiable` has two sides with different gradients.
//! `member` has lines `vector FORM` and then sides that start with `side WEIGHT`; the weights are positive, add up to 1, and the
//! weighted gradients to the vector: it is in the Clarke subdifferential. After the last side stands the line `end`.
//!
//! ## `differentiable`: no direction is an exception
//!
//! ```text
//! gradient FORM                    g, in d
//! relus R
//! relu FORM                        R lines: z_j = max(0, w_j), where w_j is this form in d and in earlier z
//! kink [A B zJ]...                 K lines: how kink i becomes a form in d and z
//! ```
//! The forms of kink i, with earlier kinks replaced by what they became, are items 0, 1, ... Each `A B zJ` joins two items that were not joined before
//! into a new one, numbered on, which is their maximum: if item A - item B = c w_J with c > 0 it is item B + c z_J, with c < 0 it is item A - c z_J;
//! written `A B =` the two must be equal; written `A B >=` item A - item B must be a sum of relus, none with a negative coefficient, and item A is the
//! maximum. One item is left in the end: that is what the kink is.
//!
//! Let h be output - g in d and z. If h is 0, the line `end` may follow at once. Otherwise the rest refutes that h(d) is not 0 for
//! some d. It is a list of propositional clauses over atoms with a meaning for every d. Because {d : h(d) != 0} is open, d may be taken *generic*: no nonzero form in d alone
//! that an atom or a phase of the certificate names is 0 at it.
//!
//! ```text
//! atom > FORM                      atoms are numbered from 1, like the variables of DIMACS; true iff FORM(d) > 0
//! atom >= FORM                     true iff FORM(d) >= 0
//! phase zJ                         an atom, too; true iff w_J(d) >= 0
//! ```
//! A literal is the number of an atom, or its negative for the negation. A literal *states* an inequality, which holds if and only if the literal is true:
//! - `n` for `atom > f` states f > 0; `-n` states -f >= 0;
//! - `n` for `atom >= f` states f >= 0; `-n` states -f > 0;
//! - `n` for `phase zJ` states w_J >= 0, and z_J = w_J; `-n` states -w_J > 0, and z_J = 0.
//!
//! If the form is nonzero and in d alone, `>` and `>=` come to the same, because d is generic: the literal states both.
//!
//! ```text
//! root A B                         clause: A or B. A states h > 0, B states -h > 0, up to positive factors (here and below)
//! split N zJ L M                   N is a literal that states f > 0 (or f >= 0), z_J occurs in f with coefficient c, f = r + c z_J.
//!                                  L states r > 0, M states r + c w_J > 0 (both >= 0 if N does); the token F in place of one
//!                                  says that its form is 0 and the statement strict, so that it is false; T that it is 0 and not strict: true.
//!                                  For c > 0 the clause: not N, or L, or M. For c < 0 two clauses: not N, or L; not N, or M.
//! lemma LITERAL WEIGHT ...         clause: not all of the literals. The weights are >= 0; the weighted sum of the forms stated by the
//!                                  literals becomes 0 when z are eliminated from the last to the first, each z_J by the literal of its phase in the
//!                                  lemma (z_J = w_J or z_J = 0); and a strict one has positive weight. (Farkas.) Among the literals may stand
//!                                  facts with their weights, which are not part of the clause: `zJ` for z_J >= 0, `wJ` for z_J - w_J >= 0
//! learn LITERAL ...                a clause that follows from those before by unit propagation: setting all its literals false leads to a conflict
//! drop LITERAL ...                 a clause that is not used any more; it has to be there. The order of literals does not matter. Units are kept
//! end                              unit propagation has found a conflict among the clauses
//! ```
//! A clause is a set: literals that are there twice count once. Definitions (`atom`, `phase`) stand before their first use; atoms may be defined anywhere between clauses. `end` is the last line.
//! What comes after it, or its absence, is a fault.
//!
//! ## `not-differentiable-enclosed`: gradients that differ whatever the coefficients are
//!
//! Where coefficients of a model have no exact value, they are enclosed, and the claim is about every choice of numbers from the enclosures. Behind the claim stands
//! the model, as a graph in which nothing is multiplied out:
//!
//! ```text
//! dimension P
//! bits B                           the precision at which the model was made, for those who make it again; of the proof, square roots use it
//! nodes N
//! linear TERM TERM ...             N lines: node i is a combination of coordinates of d and of earlier nodes, no variable twice, or `linear 0`,
//! max VARIABLE VARIABLE ...        or the largest of two or more of them,
//! norm VARIABLE VARIABLE ...       or the Euclidean norm of two or more of them
//! output VARIABLE
//! ```
//! Variables are `d0`, `d1`, ... and `n0`, `n1`, ... (nodes). A term is `COEFFICIENT*VARIABLE`, or `LOW..HIGH*VARIABLE` with LOW < HIGH for a coefficient that is
//! not below LOW and not above HIGH.
//!
//! ```text
//! side
//! direction FORM                   a vector, written as a form in d
//! side
//! direction FORM
//! coordinate dJ
//! end
//! ```
//! Along each of the two directions, every node is evaluated in interval arithmetic with exact ends. Each maximum has a member such that every other one lies
//! certainly below it, or has the same gradient: the difference of the two gradients is exactly 0 when nodes are replaced, from the last to the first, by what they are around
//! the direction. Then the function is linear around the direction for all coefficients, and its gradient is enclosed. The enclosures
//! of coordinate J of the two gradients have no number in common: the function is not differentiable.
//!
//! A norm must certainly not be 0 along the directions, or all of its members have the gradient 0 around them, and so has the norm. Its root is enclosed with about B bits, by two numbers whose squares show that it lies between them, and its gradient is that of
//! the combination of its members with their values over the norm for weights. Around the direction the function need not be linear then; that it has a gradient there is enough, since one that is linear has the same everywhere.
//!
//! # Limits
//!
//! Texts are not trusted, and short ones can describe long numbers and much work. A number has at most 2^18 bits, in the text and in every form that is
//! computed; the numbers of one such form, and of all that kinks became or nodes are, take at most 2^20 words of 64 bits and 4 for each byte of the text; all of the
//! checking takes at most 2^28 steps and 2^14 for each byte, where a step is a clause looked at, and a term with short numbers
//! is 8. (Other numbers of steps and words are allowed with `check_within`.) Everything else that is kept is proportional to the text. What would go beyond is refused like any fault.

mod certificate;
mod clauses;
mod enclosed;
mod form;
mod graph;
mod interval;
mod lines;
mod meter;
mod model;
mod rewrite;
mod rup;
mod sides;

use crease_number::Rational;
use form::{Form, Var};
use lines::{Fault, Lines};
pub use meter::Effort;
use meter::Meter;
use std::fmt;

/// Checks a certificate, and says what it proves.
///
/// ```
/// use crease_check::{check, Claim};
/// let text = b"crease-certificate 1
/// claim differentiable
/// dimension 1
/// kinks 2
/// ## relu(x) - relu(-x), at 0
/// max 0 ; 1*d0
/// max 0 ; -1*d0
/// output 1*k0 -1*k1
/// gradient 1*d0
/// relus 1
/// relu 1*d0
/// kink 1 0 z0
/// kink 0 1 z0
/// end
/// ";
/// let checked = check(text).unwrap();
/// let Claim::Differentiable { gradient } = checked.claim else { panic!() };
/// assert_eq!(gradient.to_string(), "1*d0");
///
/// let wrong = String::from_utf8_lossy(text).replace("gradient 1", "gradient 2");
/// let error = check(wrong.as_bytes()).unwrap_err();
/// assert_eq!(error.to_string(), "line 14: unit propagation finds no contradiction among the clauses");
/// ```
pub fn check(text: &[u8]) -> Result<Checked, CheckError> {
    check_within(text, &Effort::default())
}

/// [`check`] with other limits on the work, and a way to stop it.
///
/// ```
/// use crease_check::{check_within, Effort};
/// use std::sync::atomic::{AtomicBool, Ordering};
/// let text = b"crease-certificate 1
/// claim not-differentiable
/// dimension 1
/// kinks 1
/// max 1*d0 ; -1*d0
/// output 1*k0
/// side
/// direction 1*d0
/// gradient 1*d0
/// side
/// direction -1*d0
/// gradient -1*d0
/// end
/// ";
/// let stopped = AtomicBool::new(false);
/// let effort = Effort { stop: Some(&|| stopped.load(Ordering::Relaxed)), ..Effort::default() };
/// assert!(check_within(text, &effort).is_ok());
/// stopped.store(true, Ordering::Relaxed);
/// assert!(check_within(text, &effort).unwrap_err().to_string().ends_with("it was stopped"));
/// ```
pub fn check_within(text: &[u8], effort: &Effort<'_>) -> Result<Checked, CheckError> {
    let mut lines = Lines::new(text);
    let checked = certificate::read(&mut lines, &mut Meter::new(*effort, text.len()));
    checked.map_err(|Fault(message)| CheckError { line: lines.number(), message })
}

/// What a valid certificate proves, and of which model.
///
/// ```
/// let text = b"crease-certificate 1
/// claim not-differentiable
/// dimension 1
/// kinks 1
/// max 1*d0 ; -1*d0
/// output 1*k0
/// side
/// direction 1*d0
/// gradient 1*d0
/// side
/// direction -1*d0
/// gradient -1*d0
/// end
/// ";
/// let checked = crease_check::check(text).unwrap();
/// assert_eq!((checked.dimension, checked.kinks), (1, 1));
/// assert_eq!(checked.model, "dimension 1\nkinks 1\nmax 1*d0 ; -1*d0\noutput 1*k0\n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// What is proved.
    pub claim: Claim,
    /// The number of coordinates of a direction.
    pub dimension: usize,
    /// The number of kinks of the model.
    pub kinks: usize,
    /// The lines of the model, from `dimension` to `output`, without comments and with the terms of each form by increasing variables: d first, then k or n.
    /// Two models with the same text are the same function.
    pub model: String,
    /// How long the proof is.
    pub statistics: Statistics,
}

/// What a certificate proves of the function that is its model.
///
/// ```
/// use crease_check::{check, Claim};
/// // 1/3 is in the Clarke subdifferential of |x| at 0
/// let text = b"crease-certificate 1
/// claim member
/// dimension 1
/// kinks 1
/// max 1*d0 ; -1*d0
/// output 1*k0
/// vector 1/3*d0
/// side 2/3
/// direction 1*d0
/// gradient 1*d0
/// side 1/3
/// direction -1*d0
/// gradient -1*d0
/// end
/// ";
/// let Claim::Member { vector, sides } = check(text).unwrap().claim else { panic!() };
/// assert_eq!((vector.to_string(), sides.len()), ("1/3*d0".to_string(), 2));
/// assert_eq!(sides[0].0.fraction(), "2/3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Claim {
    /// It is linear: the function of which it is the local model has a derivative.
    Differentiable {
        /// Its gradient.
        gradient: Vector,
    },
    /// It has two gradients at different places, so it is not linear.
    NotDifferentiable {
        /// Where, and which.
        sides: [Side; 2],
    },
    /// It has two gradients at different places, which differ whatever its coefficients are inside the enclosures that the model states.
    NotDifferentiableEnclosed {
        /// The precision at which the model was made, as the certificate says.
        bits: u32,
        /// A coordinate in which the two gradients differ.
        coordinate: usize,
        /// Where, and what is known of that coordinate.
        sides: [EnclosedSide; 2],
    },
    /// A vector is in the Clarke subdifferential at 0.
    Member {
        /// The vector.
        vector: Vector,
        /// Gradients and their weights, of which it is the mean.
        sides: Vec<(Rational, Side)>,
    },
}

/// A direction around which the function is linear.
///
/// ```
/// use crease_check::{check, Claim};
/// let text = b"crease-certificate 1\nclaim member\ndimension 1\nkinks 1\nmax 0 ; 1*d0\noutput 1*k0\n\
///     vector 0\nside 1\ndirection -2*d0\ngradient 0\nend\n";
/// let Claim::Member { sides, .. } = check(text).unwrap().claim else { panic!() };
/// assert_eq!(sides[0].1.direction.to_string(), "-2*d0");
/// assert_eq!(sides[0].1.gradient.to_string(), "0");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Side {
    /// The direction.
    pub direction: Vector,
    /// The gradient around it: a limit of gradients at 0, so a Clarke subgradient.
    pub gradient: Vector,
}

/// A direction around which the function is linear, with a gradient of which one coordinate is enclosed.
///
/// ```
/// use crease_check::{check, Claim};
/// // c |x| at 0, where c is 1/3 or 1/2 or something between
/// let text = b"crease-certificate 1
/// claim not-differentiable-enclosed
/// dimension 1
/// bits 128
/// nodes 3
/// linear -1*d0
/// max d0 n0
/// linear 1/3..1/2*n1
/// output n2
/// side
/// direction 1*d0
/// side
/// direction -1*d0
/// coordinate d0
/// end
/// ";
/// let Claim::NotDifferentiableEnclosed { sides, .. } = check(text).unwrap().claim else { panic!() };
/// assert_eq!([&sides[0].low, &sides[0].high].map(|x| x.fraction()), ["1/3", "1/2"]);
/// assert_eq!([&sides[1].low, &sides[1].high].map(|x| x.fraction()), ["-1/2", "-1/3"]);
///
/// // if c may be 0, nothing is proved
/// let wrong = String::from_utf8_lossy(text).replace("1/3..", "0..");
/// let error = check(wrong.as_bytes()).unwrap_err();
/// assert!(error.to_string().starts_with("line 14: the enclosures of d0 of the two gradients meet"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnclosedSide {
    /// The direction.
    pub direction: Vector,
    /// The coordinate of the gradient around it is not below this.
    pub low: Rational,
    /// And not above this.
    pub high: Rational,
}

/// A vector, of which only the entries that are not zero are kept: the dimension is a number in the text, and may be anything.
///
/// It prints as the certificate has it, a form in d.
///
/// ```
/// use crease_check::{check, Claim};
/// let text = b"crease-certificate 1\nclaim differentiable\ndimension 4\nkinks 0\noutput 3*d3 1/2*d1\ngradient 1/2*d1 3*d3\nrelus 0\nend\n";
/// let Claim::Differentiable { gradient } = check(text).unwrap().claim else { panic!() };
/// assert_eq!(gradient.to_string(), "1/2*d1 3*d3");
/// assert_eq!(gradient.entries().map(|(i, _)| i).collect::<Vec<_>>(), [1, 3]);
/// assert!(gradient.get(0).is_zero());
/// assert_eq!(gradient.get(3).fraction(), "3");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Vector(Form);

impl Vector {
    /// The entries that are not zero, by increasing coordinate.
    pub fn entries(&self) -> impl Iterator<Item = (usize, &Rational)> {
        self.0.terms().iter().filter_map(|(v, c)| match v {
            Var::D(i) => Some((*i as usize, c)),
            // no other variable is in the scope of a vector
            Var::Z(_) | Var::K(_) => None,
        })
    }

    /// One coordinate.
    pub fn get(&self, i: usize) -> Rational {
        let entry = u32::try_from(i).ok().and_then(|i| self.0.coefficient(Var::D(i)));
        entry.cloned().unwrap_or(Rational::ZERO)
    }
}

impl fmt::Display for Vector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How long a proof of differentiability is; for other claims there is nothing to count.
///
/// ```
/// let text = b"crease-certificate 1\nclaim differentiable\ndimension 0\nkinks 0\noutput 0\ngradient 0\nrelus 1\nrelu 0\nend\n";
/// assert_eq!(crease_check::check(text).unwrap().statistics.relus, 1);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// The relus.
    pub relus: usize,
    /// The atoms, phases included.
    pub atoms: usize,
    /// The clauses that `root` and `split` state.
    pub clauses: usize,
    /// The clauses that Farkas' lemma proves.
    pub lemmas: usize,
    /// The clauses that unit propagation proves.
    pub learned: usize,
}

/// Why a certificate proves nothing, and at which line that shows.
///
/// ```
/// let error = crease_check::check(b"crease-certificate 1\nclaim smooth\n").unwrap_err();
/// assert_eq!(error.line, 2);
/// assert_eq!(
///     error.to_string(),
///     "line 2: expected `differentiable`, `not-differentiable`, `not-differentiable-enclosed` or `member`, found `smooth`"
/// );
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct CheckError {
    /// The line, from 1; behind the last one if the text ends too early.
    pub line: usize,
    /// What was expected and what was found.
    pub message: String,
}

/// What may be shared between threads.
const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Checked>();
    shared::<CheckError>();
};
