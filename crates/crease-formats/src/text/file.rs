//! Files: programs and joint programs, their headers and statements.

use super::captures::free_names;
use super::error::{TextError, short};
use super::lexer::{Lexeme, Token};
use super::operand::{Kind, Operand, checked_shape, integer};
use super::parser::Parser;
use super::scope::{Binding, Scope};
use crease_core::{Atom, Builder, Place, Program, Rational, Shape};
use std::sync::Arc;

/// What a newcomer can start from.
const EXAMPLE: &str = "program f(x, y) = relu(x) - relu(-y)";

impl<'s> Parser<'s> {
    /// Reads all programs of the text into the library.
    pub fn file(&mut self) -> Result<(), TextError> {
        loop {
            let lexeme = self.lexer.next()?;
            match lexeme.token {
                Token::Program => self.program()?,
                Token::Joint => self.joint()?,
                Token::Semicolon => {}
                Token::End => break,
                _ => {
                    let first = self.library.programs.is_empty();
                    let what =
                        if first { "`program`" } else { "an operator, `program`, `joint` or the end of the file" };
                    let error = self.expected(what, lexeme);
                    return Err(self.product_help(error, lexeme, &format!("a file holds programs, such as {EXAMPLE}")));
                }
            }
        }
        if self.library.programs.is_empty() {
            let end = self.lexer.source.len() as u32;
            let message = format!("the file holds no program; write for example {EXAMPLE}");
            return Err(TextError::new(message, Place { start: end, end }));
        }
        Ok(())
    }

    fn program(&mut self) -> Result<(), TextError> {
        let lexeme = self.new_name("a program")?;
        let name = self.lexer.text(lexeme);
        if self.library.by_name.contains_key(name) {
            let message = format!("there are two programs named `{}`", short(name));
            return Err(TextError::new(message, self.place_of(lexeme)));
        }
        let program = self.definition(name)?;
        self.library.by_name.insert(name, self.library.programs.len());
        self.library.programs.push(Arc::new(program));
        self.library.joints.push(None);
        Ok(())
    }

    fn joint(&mut self) -> Result<(), TextError> {
        let lexeme = self.new_name("a program")?;
        let (name, place) = (self.lexer.text(lexeme), self.place_of(lexeme));
        let Some(&number) = self.library.by_name.get(name) else {
            let hint = super::suggest::did_you_mean(name, self.library.by_name.keys().copied());
            let message = format!("there is no earlier program `{}` to be the joint of{hint}", short(name));
            return Err(TextError::new(message, place));
        };
        if self.library.joints[number].is_some() {
            return Err(TextError::new(format!("program `{}` has a joint program already", short(name)), place));
        }
        let joint = match self.lexer.peek()?.token {
            // `joint f = g`: an earlier program serves
            Token::Equals => {
                self.lexer.next()?;
                let lexeme = self.new_name("a program")?;
                let other = self.lexer.text(lexeme);
                let Some(&number) = self.library.by_name.get(other) else {
                    let hint = super::suggest::did_you_mean(other, self.library.by_name.keys().copied());
                    let message = format!("there is no earlier program `{}`{hint}", short(other));
                    return Err(TextError::new(message, self.place_of(lexeme)));
                };
                self.library.programs[number].clone()
            }
            _ => Arc::new(self.definition(name)?),
        };
        // the builder knows what a joint program must look like
        let program = self.library.programs[number].clone();
        let checked = Builder::new("").callee(program, Some(joint.clone()));
        checked.map_err(|e| TextError::new(e.to_string(), place))?;
        self.library.joints[number] = Some(joint);
        Ok(())
    }

    /// Reads the inputs and the body of a program.
    fn definition(&mut self, name: &'s str) -> Result<Program, TextError> {
        self.begin(name);
        self.inputs()?;
        let lexeme = self.lexer.next()?;
        let outputs = match lexeme.token {
            Token::Equals => self.expressions()?,
            Token::OpenBlock => self.block(&format!("program `{}`", short(name)), lexeme)?,
            _ => return Err(self.expected("`=` or `{`", lexeme)),
        };
        self.finish(&outputs, lexeme)
    }

    fn begin(&mut self, name: &'s str) {
        self.builder = Builder::new(name);
        self.program_name = name;
        self.scopes = vec![Scope::default()];
        self.branches = 0;
    }

    fn finish(&mut self, outputs: &[Atom], at: Lexeme) -> Result<Program, TextError> {
        let builder = std::mem::replace(&mut self.builder, Builder::new(""));
        builder.finish(outputs).map_err(|e| TextError::new(e.to_string(), self.place_of(at)))
    }

    fn inputs(&mut self) -> Result<(), TextError> {
        let open = self.expect(Token::Open, "`(` and the inputs")?;
        loop {
            if self.lexer.take(Token::Close)?.is_some() {
                return Ok(());
            }
            let lexeme = self.new_name("an input")?;
            let shape = match self.lexer.take(Token::OpenList)? {
                Some(bracket) => self.input_shape(bracket)?,
                None => Shape::scalar(),
            };
            self.input(lexeme, shape)?;
            self.separator(open)?;
        }
    }

    /// What may stand behind a member of a list in round brackets: a comma, which is taken, or the end of the list, which stays.
    pub fn separator(&mut self, open: Lexeme) -> Result<(), TextError> {
        let next = self.lexer.peek()?;
        match next.token {
            Token::Comma => _ = self.lexer.next()?,
            Token::Close => {}
            _ => {
                let help = format!("the `(` at {} is still open", self.where_is(open.start));
                return Err(self.expected("`,` or `)`", next).help(help));
            }
        }
        Ok(())
    }

    fn input(&mut self, lexeme: Lexeme, shape: Shape) -> Result<(), TextError> {
        let name = self.lexer.text(lexeme);
        let place = self.place_of(lexeme);
        let atom = self.builder.input(name, shape).map_err(|e| TextError::new(e.to_string(), place))?;
        self.scope_mut().insert(name, Binding::Value(atom));
        Ok(())
    }

    fn input_shape(&mut self, open: Lexeme) -> Result<Shape, TextError> {
        let mut dims = Vec::new();
        loop {
            if let Some(close) = self.lexer.take(Token::CloseList)? {
                return checked_shape(dims, Place { start: open.start, end: close.end });
            }
            let lexeme = self.expect(Token::Number, "the size of an axis")?;
            let size = self.lexer.text(lexeme).parse::<Rational>().ok().as_ref().and_then(integer);
            let size = size.and_then(|n| usize::try_from(n).ok());
            dims.push(size.ok_or_else(|| {
                TextError::new("the size of an axis must be an integer of at most 2^31", self.place_of(lexeme))
            })?);
            let next = self.lexer.peek()?;
            match next.token {
                Token::Comma => _ = self.lexer.next()?,
                Token::CloseList => {}
                _ => return Err(self.expected("`,` or `]`", next)),
            }
        }
    }

    /// Expressions separated by commas, as outputs.
    fn expressions(&mut self) -> Result<Vec<Atom>, TextError> {
        let mut outputs = Vec::new();
        loop {
            let operand = self.expression()?;
            outputs.extend(self.all_atoms(operand)?);
            if self.lexer.take(Token::Comma)?.is_none() {
                return Ok(outputs);
            }
        }
    }

    /// The statements between braces, up to the closing one.
    pub fn block(&mut self, what: &str, open: Lexeme) -> Result<Vec<Atom>, TextError> {
        loop {
            let lexeme = self.lexer.next()?;
            match lexeme.token {
                Token::Let => self.binding()?,
                Token::Semicolon => {}
                Token::Return => break,
                Token::CloseBlock => {
                    let message = format!("{what} has no `return`");
                    return Err(TextError::new(message, self.place_of(lexeme)).help("end it with `return ...`"));
                }
                Token::End => return Err(self.open_block(lexeme, open)),
                _ => {
                    let error = self.expected("`let`, `return` or an operator", lexeme);
                    return Err(self.product_help(error, lexeme, "a statement is `let v = ...` or `return ...`"));
                }
            }
        }
        let outputs = self.expressions()?;
        while self.lexer.take(Token::Semicolon)?.is_some() {}
        let end = self.lexer.next()?;
        match end.token {
            Token::CloseBlock => {
                self.last_brace = end.end;
                Ok(outputs)
            }
            Token::End | Token::Program | Token::Joint => Err(self.open_block(end, open)),
            Token::Let | Token::Return => {
                Err(TextError::new("nothing may follow `return`", self.place_of(end))
                    .help("close the program with `}`"))
            }
            _ => {
                let error = self.expected("`}` or an operator", end);
                Err(self.product_help(error, end, "nothing may follow `return`"))
            }
        }
    }

    fn open_block(&self, found: Lexeme, open: Lexeme) -> TextError {
        self.expected("`}`", found).help(format!("the `{{` at {} is still open", self.where_is(open.start)))
    }

    /// Help for a token after an expression: a product without its sign, or whatever else.
    fn product_help(&self, error: TextError, found: Lexeme, otherwise: &str) -> TextError {
        let before = self.lexer.source[..found.start as usize].chars().next_back();
        let touches = before.is_some_and(|c| c.is_ascii_alphanumeric() || c == ')' || c == ']');
        match found.token {
            Token::Word | Token::Number | Token::Open if touches => {
                error.help("write `*` between the factors of a product")
            }
            Token::Equals => error.help("equality is `==`; a name is given with `let`"),
            Token::Close | Token::CloseList | Token::CloseBlock => error.help("nothing is open that it could close"),
            _ => error.help(otherwise),
        }
    }

    /// `let a, b = expression`, the keyword having been read.
    fn binding(&mut self) -> Result<(), TextError> {
        let first = self.new_name("a value")?;
        let mut others: Vec<Lexeme> = Vec::new();
        while self.lexer.take(Token::Comma)?.is_some() {
            others.push(self.new_name("a value")?);
        }
        self.expect(Token::Equals, if others.is_empty() { "`=`" } else { "`,` or `=`" })?;
        let operand = self.expression()?;
        let place = operand.place();
        let results = match operand {
            Operand { kind: Kind::Several(atoms), .. } => atoms,
            one => {
                let binding = match one.kind {
                    Kind::Number(number) => Binding::Number(number),
                    _ => Binding::Value(self.atom(one)?),
                };
                if !others.is_empty() {
                    return Err(counts_differ(1 + others.len(), 1, place));
                }
                let name = self.lexer.text(first);
                self.scope_mut().insert(name, binding);
                return Ok(());
            }
        };
        if results.len() != 1 + others.len() {
            return Err(counts_differ(1 + others.len(), results.len(), place));
        }
        for (lexeme, &atom) in std::iter::once(first).chain(others).zip(&results) {
            let binding = match self.kind_of(atom) {
                Kind::Number(number) => Binding::Number(number),
                _ => Binding::Value(atom),
            };
            let name = self.lexer.text(lexeme);
            self.scope_mut().insert(name, binding);
        }
        Ok(())
    }

    /// Reads the whole text as an expression, perhaps with `let` before it, whose free names are inputs.
    pub fn bare_expression(&mut self, shapes: &dyn Fn(&str) -> Option<Shape>) -> Result<Program, TextError> {
        self.begin("f");
        let free = free_names(self.lexer.clone());
        for name in free {
            let shape = shapes(name).unwrap_or_default();
            let start = name.as_ptr() as usize - self.lexer.source.as_ptr() as usize;
            let lexeme = Lexeme { token: Token::Word, start: start as u32, end: (start + name.len()) as u32 };
            self.input(lexeme, shape)?;
        }
        loop {
            let lexeme = self.lexer.peek()?;
            match lexeme.token {
                Token::Let => {
                    self.lexer.next()?;
                    self.binding()?;
                    let next = self.lexer.peek()?;
                    if !matches!(next.token, Token::Semicolon | Token::Let | Token::Return) {
                        let error = self.expected("`;` or an operator", next);
                        return Err(self.product_help(error, next, "a `;` separates `let` from what follows"));
                    }
                }
                Token::Semicolon | Token::Return => _ = self.lexer.next()?,
                Token::End => {
                    let message = "the expression is empty; write for example relu(x) - relu(-x)";
                    return Err(TextError::new(message, self.place_of(lexeme)));
                }
                Token::Program | Token::Joint => {
                    let message = "this is a file of programs, not an expression";
                    return Err(TextError::new(message, self.place_of(lexeme)).help("write the expression alone"));
                }
                _ => break,
            }
        }
        let outputs = self.expressions()?;
        while self.lexer.take(Token::Semicolon)?.is_some() {}
        let end = self.lexer.next()?;
        match end.token {
            Token::End => self.finish(&outputs, end),
            _ => {
                let error = self.expected("an operator or the end of the expression", end);
                Err(self.product_help(error, end, "several outputs are separated by commas"))
            }
        }
    }
}

fn counts_differ(names: usize, results: usize, place: Place) -> TextError {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    TextError::new(format!("this gives {results} result{} for {names} name{}", plural(results), plural(names)), place)
}
