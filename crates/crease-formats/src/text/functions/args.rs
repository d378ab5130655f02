//! The arguments of a call: those given in order, and settings given by name.

use super::{Function, name, usage};
use crate::text::error::{TextError, short};
use crate::text::operand::{Kind, Operand};
use crate::text::parser::Parser;
use crease_core::{Place, Rational};

/// The arguments of a call of a function.
pub(crate) struct Args<'s> {
    pub function: Function,
    /// The place of the whole call.
    pub place: Place,
    pub positional: Vec<Operand>,
    settings: Vec<(&'s str, Operand)>,
}

impl<'s> Parser<'s> {
    /// Sorts operands into those in order and those by name.
    pub fn arguments(&self, function: Function, operands: Vec<Operand>, place: Place) -> Result<Args<'s>, TextError> {
        let mut args = Args { function, place, positional: Vec::new(), settings: Vec::new() };
        if operands.iter().all(|o| !matches!(o.kind, Kind::Key)) {
            args.positional = operands;
            return Ok(args);
        }
        let mut operands = operands.into_iter();
        while let Some(operand) = operands.next() {
            if !matches!(operand.kind, Kind::Key) {
                args.positional.push(operand);
                continue;
            }
            let key = self.text_of(&operand);
            if args.settings.iter().any(|(k, _)| *k == key) {
                return Err(TextError::new(format!("`{}` is given twice", short(key)), operand.place()));
            }
            if args.settings.len() > 8 {
                return Err(args.fault(format!("`{}` has fewer settings", name(function))));
            }
            let value = operands.next().expect("the machine puts a value after a key");
            args.settings.push((key, value));
        }
        Ok(args)
    }
}

impl<'s> Args<'s> {
    /// The value of a setting, which is thereby taken.
    pub fn key(&mut self, key: &str) -> Option<Operand> {
        let i = self.settings.iter().position(|(k, _)| *k == key)?;
        Some(self.settings.swap_remove(i).1)
    }

    /// A number that is given as a setting or after the first argument.
    pub fn parameter(&mut self, key: &str, what: &str) -> Result<Option<Rational>, TextError> {
        if let Some(operand) = self.key(key) {
            return operand.number(what).map(Some);
        }
        if self.positional.len() == 2 {
            return self.pop().number(what).map(Some);
        }
        Ok(None)
    }

    /// The last argument, which is thereby taken. The arity has been checked.
    pub fn pop(&mut self) -> Operand {
        self.positional.pop().expect("the arity has been checked")
    }

    /// Checks the number of arguments given in order.
    pub fn arity(&self, least: usize, most: usize) -> Result<(), TextError> {
        let got = self.positional.len();
        if (least..=most).contains(&got) {
            return Ok(());
        }
        let takes = match (least, most) {
            (1, 1) => "1 argument".to_string(),
            (a, b) if a == b => format!("{a} arguments"),
            (a, usize::MAX) => format!("at least {a} argument{}", if a == 1 { "" } else { "s" }),
            (a, b) => format!("{a} to {b} arguments"),
        };
        Err(self.fault(format!("`{}` takes {takes}, got {got}", name(self.function))))
    }

    /// Refuses settings that nobody took.
    pub fn no_more_settings(&self, parser: &Parser<'s>) -> Result<(), TextError> {
        let Some((key, value)) = self.settings.first() else { return Ok(()) };
        // the key stands before its value
        let before = &parser.lexer.source[self.place.start as usize..value.start as usize];
        let start = self.place.start as usize + before.rfind(key).unwrap_or(0);
        let place = Place { start: start as u32, end: (start + key.len()) as u32 };
        let message = format!("`{}` has no setting `{}` here", name(self.function), short(key));
        Err(TextError::new(message, place).help(format!("write {}", usage(self.function))))
    }

    /// A fault of the whole call.
    pub fn fault(&self, message: String) -> TextError {
        TextError::new(message, self.place).help(format!("write {}", usage(self.function)))
    }
}
