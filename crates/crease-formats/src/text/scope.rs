//! Names: what they stand for, and what to say where they stand for nothing.

use super::error::{TextError, short};
use super::functions;
use super::lexer::{Lexeme, Lexer, Token};
use super::parser::Parser;
use super::suggest::did_you_mean;
use crease_core::program::KEYWORDS;
use crease_core::{Atom, Program, Rational};
use std::collections::HashMap;
use std::sync::Arc;

/// What a name stands for.
#[derive(Clone)]
pub(crate) enum Binding {
    /// A value of the program.
    Value(Atom),
    /// A number: it enters the program only where it is used.
    Number(Rational),
}

/// The names of one program, or of one arm of a selection. Binding a name again shadows it.
pub(crate) type Scope<'s> = HashMap<&'s str, Binding>;

/// The programs so far, by name.
#[derive(Default)]
pub(crate) struct Library<'s> {
    pub programs: Vec<Arc<Program>>,
    pub joints: Vec<Option<Arc<Program>>>,
    pub by_name: HashMap<&'s str, usize>,
}

impl<'s> Parser<'s> {
    /// Takes a name that is about to be given to something.
    pub fn new_name(&mut self, what: &str) -> Result<Lexeme, TextError> {
        let lexeme = self.lexer.next()?;
        let text = self.lexer.text(lexeme);
        let reserved = KEYWORDS.contains(&text) || functions::lookup(text).is_some();
        match lexeme.token {
            Token::Word if !reserved => Ok(lexeme),
            _ if reserved => Err(TextError::new(
                format!("`{text}` is a word of the language and cannot be the name of {what}"),
                self.place_of(lexeme),
            )
            .help(format!("choose another name, for example {text}_"))),
            _ => Err(self.expected(&format!("the name of {what}"), lexeme)),
        }
    }

    /// What a name stands for here.
    pub fn resolve(&self, lexeme: Lexeme) -> Result<Binding, TextError> {
        let name = self.lexer.text(lexeme);
        match self.scope().get(name) {
            Some(binding) => Ok(binding.clone()),
            None => Err(self.unknown_name(name, lexeme)),
        }
    }

    fn unknown_name(&self, name: &str, lexeme: Lexeme) -> TextError {
        let place = self.place_of(lexeme);
        let shown = short(name);
        if let Some(function) = functions::lookup(name) {
            return TextError::new(format!("`{name}` is a function; it needs its arguments"), place)
                .help(format!("write {}", functions::usage(function)));
        }
        if self.library.by_name.contains_key(name) {
            return TextError::new(format!("`{shown}` is a program; it needs its arguments"), place)
                .help(format!("write {shown}(...)"));
        }
        // inside the arm of a selection, the names outside are as good a guess
        let names = self.scopes.iter().flat_map(|s| s.keys().copied());
        let callable = functions::names().chain(self.library.by_name.keys().copied());
        let hint = did_you_mean(name, names.chain(callable));
        TextError::new(format!("unknown name `{shown}`{hint}"), place)
    }

    /// The fault of calling what cannot be called.
    pub fn unknown_function(&self, name: &str, lexeme: Lexeme) -> TextError {
        let place = self.place_of(lexeme);
        let shown = short(name);
        let base = name.strip_suffix('\'').unwrap_or(name);
        if base != name && (functions::lookup(base).is_some() || self.library.by_name.contains_key(base)) {
            return TextError::new(format!("`{}` has no joint form", short(base)), place)
                .help("a tick is for the operations with a kink and for logsumexp, as in relu'(x)");
        }
        if self.scope().contains_key(name) {
            return TextError::new(format!("`{shown}` is a value and cannot be called"), place)
                .help(format!("write {shown} * (...) for a product, {shown}[...] for an element"));
        }
        if name == self.program_name {
            return TextError::new(
                format!("program `{shown}` calls itself; programs can only call earlier ones"),
                place,
            );
        }
        if defined_in(self.lexer.clone(), name) {
            return TextError::new(
                format!("program `{shown}` comes later; programs can only call earlier ones"),
                place,
            )
            .help("move it up, before the program that calls it");
        }
        let hint = did_you_mean(name, functions::names().chain(self.library.by_name.keys().copied()));
        TextError::new(format!("unknown function `{shown}`{hint}"), place)
    }
}

/// Whether the rest of the text defines a program of that name.
fn defined_in(mut rest: Lexer<'_>, name: &str) -> bool {
    let mut after_program = false;
    while let Ok(lexeme) = rest.next() {
        match lexeme.token {
            Token::End => break,
            Token::Word if after_program && rest.text(lexeme) == name => return true,
            token => after_program = token == Token::Program,
        }
    }
    false
}
