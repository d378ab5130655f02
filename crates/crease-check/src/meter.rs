//! How much work and memory a certificate may ask for.
//!
//! A short text can describe numbers that double their length with every line, and forms that grow whenever they are substituted. Each
//! piece of work is announced here before it is done; a certificate that asks for too much is refused, with the line that did.

use crate::lines::{Fault, MAX_BITS};
use crease_number::Rational;

/// Steps that every certificate may take.
const BASE_STEPS: u64 = 1 << 28;
/// Steps for each byte of the text.
const STEPS_PER_BYTE: u64 = 1 << 14;
/// Words that a form may take, whatever the text.
const BASE_WORDS: u64 = 1 << 20;
/// Words of a form for each byte of the text.
const WORDS_PER_BYTE: u64 = 4;
/// What a term costs with short numbers, in steps. A step is about what it takes to look at a clause.
const TERM: u64 = 8;

/// What is left of the steps, and how large a form may be.
pub struct Meter {
    steps: u64,
    words: u64,
}

impl Meter {
    pub fn new(bytes: usize) -> Self {
        let bytes = bytes as u64;
        Meter {
            steps: BASE_STEPS.saturating_add(STEPS_PER_BYTE.saturating_mul(bytes)),
            words: BASE_WORDS.saturating_add(WORDS_PER_BYTE.saturating_mul(bytes)),
        }
    }

    /// Takes so many steps.
    pub fn spend(&mut self, steps: u64) -> Result<(), Fault> {
        match self.steps.checked_sub(steps) {
            Some(left) => {
                self.steps = left;
                Ok(())
            }
            None => Err(Fault::new(format!(
                "too much work for a text of this size: the limit is {BASE_STEPS} steps and {STEPS_PER_BYTE} for each byte"
            ))),
        }
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
        Err(Fault::new(format!(
            "the numbers grow too long when forms are substituted: together they may take {BASE_WORDS} words of 64 bits and {WORDS_PER_BYTE} for each byte of the text"
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
