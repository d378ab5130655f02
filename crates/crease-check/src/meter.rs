//! How much work and memory a certificate may ask for.
//!
//! A short text can describe numbers that double their length with every line, and forms that grow whenever they are substituted. Each
//! piece of work is announced here before it is done; a certificate that asks for too much is refused, with the line that did.

use crate::lines::{Fault, MAX_BITS};
use crease_number::Rational;
use std::fmt;

/// What a term costs with short numbers, in steps. A step is about what it takes to look at a clause.
const TERM: u64 = 8;
/// So many steps are taken between two looks at whether to stop.
const UNWATCHED: u64 = 1 << 16;

/// How much checking a certificate may take, and how to stop it: the limits in the documentation of the crate, unless told otherwise.
///
/// ```
/// use crease_check::{check_within, Effort};
/// use std::time::{Duration, Instant};
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
/// let few = Effort { steps: 10, steps_per_byte: 0, ..Effort::default() };
/// let error = check_within(text, &few).unwrap_err();
/// assert!(error.message.contains("the limit is 10 steps and 0 for each byte"), "{error}");
///
/// let end = Instant::now() + Duration::from_secs(10);
/// let timely = Effort { stop: Some(&|| Instant::now() > end), ..Effort::default() };
/// assert_eq!(check_within(text, &timely), check_within(text, &Effort::default()));
/// ```
#[derive(Clone, Copy)]
pub struct Effort<'a> {
    /// Steps that every certificate may take. A step is about what it takes to look at a clause, and a term with short numbers is 8.
    pub steps: u64,
    /// Steps for each byte of the text, on top of these.
    pub steps_per_byte: u64,
    /// Words of 64 bits that the numbers of a form may take, and those of all that kinks became, whatever the text.
    pub words: u64,
    /// Words for each byte of the text, on top of these.
    pub words_per_byte: u64,
    /// Asked now and then whether to stop, which ends checking with an error.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Default for Effort<'_> {
    fn default() -> Self {
        Effort { steps: 1 << 28, steps_per_byte: 1 << 14, words: 1 << 20, words_per_byte: 4, stop: None }
    }
}

impl fmt::Debug for Effort<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Effort")
            .field("steps", &self.steps)
            .field("steps_per_byte", &self.steps_per_byte)
            .field("words", &self.words)
            .field("words_per_byte", &self.words_per_byte)
            .finish_non_exhaustive()
    }
}

/// What is left of the steps, and how large a form may be.
pub struct Meter<'a> {
    effort: Effort<'a>,
    steps: u64,
    words: u64,
    /// The steps since somebody looked at whether to stop.
    unwatched: u64,
}

impl<'a> Meter<'a> {
    pub fn new(effort: Effort<'a>, bytes: usize) -> Self {
        let of = |base: u64, each: u64| base.saturating_add(each.saturating_mul(bytes as u64));
        Meter {
            effort,
            steps: of(effort.steps, effort.steps_per_byte),
            words: of(effort.words, effort.words_per_byte),
            // whoever stopped it before it began does not wait
            unwatched: UNWATCHED,
        }
    }

    /// Takes so many steps.
    pub fn spend(&mut self, steps: u64) -> Result<(), Fault> {
        let Effort { steps: base, steps_per_byte: each, stop, .. } = self.effort;
        self.steps = self.steps.checked_sub(steps).ok_or_else(|| {
            Fault::new(format!(
                "too much work for a text of this size: the limit is {base} steps and {each} for each byte; \
                 `check_within` takes more (`Effort::steps`)"
            ))
        })?;
        self.unwatched = self.unwatched.saturating_add(steps);
        if self.unwatched >= UNWATCHED {
            self.unwatched = 0;
            if stop.is_some_and(|stop| stop()) {
                return Err(Fault::new("it was stopped"));
            }
        }
        Ok(())
    }

    /// Announces one operation on numbers of so many words together. Long division is quadratic in the words.
    pub fn operation(&mut self, words: u64) -> Result<(), Fault> {
        self.spend(if words <= 3 { TERM } else { TERM + words * words / 8 })
    }

    /// Refuses a number that has grown too long.
    pub fn short(&self, x: &Rational) -> Result<(), Fault> {
        if x.small_parts().is_some() || x.bits() <= MAX_BITS {
            return Ok(());
        }
        Err(Fault::new(format!("a number grows longer than {MAX_BITS} bits when forms are substituted")))
    }

    /// Refuses numbers that together take too much room.
    pub fn room(&self, words: u64) -> Result<(), Fault> {
        if words <= self.words {
            return Ok(());
        }
        let Effort { words, words_per_byte: each, .. } = self.effort;
        Err(Fault::new(format!(
            "the numbers grow too long when forms are substituted: together they may take {words} words of 64 bits and {each} for each byte of the text; \
             `check_within` takes more (`Effort::words`)"
        )))
    }
}

/// The words that a number takes.
pub fn words(x: &Rational) -> u64 {
    match x.small_parts() {
        Some(_) => 1,
        None => x.bits() as u64 / 64 + 2,
    }
}
