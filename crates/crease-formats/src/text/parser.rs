//! The state of the parser, and what all its parts share.
//!
//! There is no tree of syntax: expressions are read by an operator-precedence [machine](super::machine) that puts
//! equations into a [`Builder`] as soon as their operands are known. All nesting is on explicit stacks, so depth costs
//! memory and never the stack of the thread.

use super::error::{TextError, line_and_column};
use super::lexer::{Lexeme, Lexer, Token, describe};
use super::machine::Frame;
use super::operand::{Kind, Operand};
use super::scope::{Library, Scope};
use super::select::Select;
use crease_core::{Atom, BuildError, Builder, Origin, Place, Text};
use std::collections::HashMap;
use std::sync::Arc;

/// The parser: what it reads, what it builds, and where it is in between.
pub(crate) struct Parser<'s> {
    pub text: &'s Arc<Text>,
    pub lexer: Lexer<'s>,
    /// The programs so far.
    pub library: Library<'s>,
    /// The program, or the arm of a selection, that is being built.
    pub builder: Builder,
    /// The name of that program.
    pub program_name: &'s str,
    /// Names: the program's own, then those of each open arm of a selection. Only the last counts.
    pub scopes: Vec<Scope<'s>>,
    /// The bytes that index maps take so far.
    pub tables: u64,
    /// Operands that wait for their operator.
    pub operands: Vec<Operand>,
    /// Operators and brackets that wait for their operands.
    pub frames: Vec<Frame>,
    /// Open selections, outermost first.
    pub selects: Vec<Select<'s>>,
    /// The names that the arms of selections ahead use.
    pub captured: HashMap<u32, Vec<&'s str>>,
    /// How many branches of selections and bodies of loops this program has so far.
    pub branches: usize,
    /// How many loops are open.
    pub loops: usize,
    /// Where the last block that was read ends.
    pub last_brace: u32,
}

impl<'s> Parser<'s> {
    pub fn new(text: &'s Arc<Text>) -> Result<Self, TextError> {
        let source = text.as_str();
        if source.len() >= u32::MAX as usize {
            let message = "the text is longer than 4 GiB; places in it could not be numbered";
            return Err(TextError::new(message, Place { start: 0, end: 0 }));
        }
        Ok(Parser {
            text,
            lexer: Lexer::new(source),
            library: Library::default(),
            builder: Builder::new(""),
            program_name: "",
            scopes: vec![Scope::default()],
            tables: 0,
            operands: Vec::new(),
            frames: Vec::new(),
            selects: Vec::new(),
            captured: HashMap::new(),
            branches: 0,
            loops: 0,
            last_brace: 0,
        })
    }

    /// The names in force.
    pub fn scope(&self) -> &Scope<'s> {
        self.scopes.last().expect("a program has a scope")
    }

    /// The names in force, to add to.
    pub fn scope_mut(&mut self) -> &mut Scope<'s> {
        self.scopes.last_mut().expect("a program has a scope")
    }

    /// The place of a token.
    pub fn place_of(&self, lexeme: Lexeme) -> Place {
        Place { start: lexeme.start, end: lexeme.end }
    }

    /// Takes a token that must come here.
    pub fn expect(&mut self, token: Token, what: &str) -> Result<Lexeme, TextError> {
        let lexeme = self.lexer.next()?;
        if lexeme.token == token { Ok(lexeme) } else { Err(self.expected(what, lexeme)) }
    }

    /// The fault of finding one thing where another should be.
    pub fn expected(&self, what: &str, found: Lexeme) -> TextError {
        TextError::new(format!("expected {what}, found {}", describe(self.lexer.source, found)), self.place_of(found))
    }

    /// "line 3, column 7" of a byte, for messages about two places.
    pub fn where_is(&self, at: u32) -> String {
        let (line, column) = line_and_column(self.lexer.source, at as usize);
        format!("line {line}, column {column}")
    }

    /// The text of an operand.
    pub fn text_of(&self, operand: &Operand) -> &'s str {
        &self.lexer.source[operand.start as usize..operand.end as usize]
    }

    /// Runs the builder on behalf of a place in the text.
    pub fn build<T>(
        &mut self,
        place: Place,
        run: impl FnOnce(&mut Builder) -> Result<T, BuildError>,
    ) -> Result<T, TextError> {
        self.builder.set_origin(Some(Origin::Text { text: self.text.clone(), place }));
        run(&mut self.builder).map_err(|e| TextError::new(e.to_string(), place))
    }

    /// What an atom that the builder gave is as an operand.
    pub fn kind_of(&self, atom: Atom) -> Kind {
        match self.builder.as_constant(atom) {
            Some(c) => Kind::Number(c.clone()),
            None => Kind::Value(atom),
        }
    }

    /// What the results of an operation are as an operand.
    pub fn kind_of_all(&self, atoms: Vec<Atom>) -> Kind {
        match atoms[..] {
            [one] => self.kind_of(one),
            _ => Kind::Several(atoms.into()),
        }
    }

    /// An operand as one value of the program.
    pub fn atom(&mut self, operand: Operand) -> Result<Atom, TextError> {
        let place = operand.place();
        match operand.kind {
            Kind::Value(atom) => Ok(atom),
            Kind::Number(number) => Ok(self.builder.constant(number)),
            Kind::List(list) => self.tensor(*list, place),
            Kind::Several(atoms) => {
                Err(TextError::new(format!("this gives {} results where one value is needed", atoms.len()), place)
                    .help("give them names first: let a, b = ..."))
            }
            Kind::Put(_) => Err(TextError::new("`put` has a meaning only as an argument of `assemble`", place)),
            Kind::Word | Kind::Key => Err(TextError::new("a word stands where a value is needed", place)),
        }
    }

    /// All results of an operand, as values of the program.
    pub fn all_atoms(&mut self, operand: Operand) -> Result<Vec<Atom>, TextError> {
        match operand.kind {
            Kind::Several(atoms) => Ok(atoms.into_vec()),
            _ => Ok(vec![self.atom(operand)?]),
        }
    }
}
