//! The machine that reads expressions: operator precedence over two explicit stacks.
//!
//! It is always in one of two states. Where an operand is due it takes numbers, names and prefix signs, and opens
//! brackets; after an operand it takes infix signs, powers and indices, and closes brackets. Operators wait as
//! [`Frame`]s until one that binds less tightly comes, and are then turned into equations by
//! [emission](super::emit). From loosest to tightest: `or`, `and`, `not`, comparisons, `+ -`, `* / @`, unary minus, `^`; indices
//! apply at once to what stands before them.

use super::captures::is_word_setting;
use super::error::TextError;
use super::functions::{self, Function};
use super::lexer::{Lexeme, Token};
use super::operand::{Kind, Operand};
use super::parser::Parser;
use super::scope::Binding;
use crease_core::op::Comparison;
use crease_core::{Place, Rational};

/// An infix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Infix {
    Or,
    And,
    Compare(Comparison),
    Add,
    Sub,
    Mul,
    Div,
    MatMul,
}

/// A prefix operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Prefix {
    Not,
    Neg,
}

/// What is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Target {
    /// An operation; with a tick it is the joint one.
    Function(Function, bool),
    /// An earlier program, by its number.
    Program(usize),
}

/// An operator or an open bracket. `base` is where its operands begin on the operand stack.
pub(crate) enum Frame {
    Infix(Infix),
    /// A base, and its exponent to come.
    Power,
    Prefix {
        sign: Prefix,
        start: u32,
    },
    Paren {
        start: u32,
    },
    List {
        start: u32,
        base: usize,
    },
    Call {
        target: Target,
        start: u32,
        name_end: u32,
        base: usize,
    },
    Select,
}

impl Infix {
    fn of(token: Token) -> Option<Infix> {
        Some(match token {
            Token::Or => Infix::Or,
            Token::And => Infix::And,
            Token::Less => Infix::Compare(Comparison::Less),
            Token::LessEqual => Infix::Compare(Comparison::LessEqual),
            Token::Greater => Infix::Compare(Comparison::Greater),
            Token::GreaterEqual => Infix::Compare(Comparison::GreaterEqual),
            Token::Equal => Infix::Compare(Comparison::Equal),
            Token::NotEqual => Infix::Compare(Comparison::NotEqual),
            Token::Plus => Infix::Add,
            Token::Minus => Infix::Sub,
            Token::Star => Infix::Mul,
            Token::Slash => Infix::Div,
            Token::At => Infix::MatMul,
            _ => return None,
        })
    }

    fn precedence(self) -> u8 {
        match self {
            Infix::Or => 1,
            Infix::And => 2,
            Infix::Compare(_) => 4,
            Infix::Add | Infix::Sub => 5,
            Infix::Mul | Infix::Div | Infix::MatMul => 6,
        }
    }
}

impl Frame {
    /// How tightly an operator binds; nothing for a bracket.
    fn precedence(&self) -> Option<u8> {
        match self {
            Frame::Infix(infix) => Some(infix.precedence()),
            Frame::Prefix { sign: Prefix::Not, .. } => Some(3),
            Frame::Prefix { sign: Prefix::Neg, .. } => Some(7),
            Frame::Power => Some(8),
            _ => None,
        }
    }
}

/// What the machine is ready for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// An operand is due.
    Operand,
    /// An operand has been read.
    Operator,
}

impl<'s> Parser<'s> {
    /// Reads one expression, up to the token that cannot continue it, which stays.
    pub fn expression(&mut self) -> Result<Operand, TextError> {
        let mut state = State::Operand;
        loop {
            state = match state {
                State::Operand => self.operand()?,
                State::Operator => match self.operator()? {
                    Some(state) => state,
                    None => return Ok(self.operands.pop().expect("an expression leaves its operand")),
                },
            };
        }
    }

    fn operand(&mut self) -> Result<State, TextError> {
        let lexeme = self.lexer.next()?;
        let Lexeme { token, start, end } = lexeme;
        match token {
            Token::Number | Token::Float => {
                let number = self.number(lexeme)?;
                self.operands.push(Operand { kind: Kind::Number(number), start, end });
                Ok(State::Operator)
            }
            Token::Word | Token::Ticked => match self.lexer.peek()?.token {
                Token::Open => self.open_call(lexeme),
                Token::Equals if matches!(self.frames.last(), Some(Frame::Call { .. })) && token == Token::Word => {
                    self.setting(lexeme)
                }
                _ if token == Token::Ticked => Err(TextError::new(
                    format!("`{}` needs its arguments", self.lexer.text(lexeme)),
                    self.place_of(lexeme),
                )),
                _ => {
                    let kind = match self.resolve(lexeme)? {
                        Binding::Value(atom) => Kind::Value(atom),
                        Binding::Number(number) => Kind::Number(number),
                    };
                    self.operands.push(Operand { kind, start, end });
                    Ok(State::Operator)
                }
            },
            Token::Minus => Ok(self.open(Frame::Prefix { sign: Prefix::Neg, start })),
            Token::Not => Ok(self.open(Frame::Prefix { sign: Prefix::Not, start })),
            Token::Open => Ok(self.open(Frame::Paren { start })),
            Token::OpenList => Ok(self.open(Frame::List { start, base: self.operands.len() })),
            Token::Select => self.open_select(lexeme),
            Token::Repeat | Token::RepeatBack | Token::Scan | Token::ScanBack => self.open_loop(lexeme),
            // `f()`, `[]` and a comma before the closing bracket
            Token::Close if self.is_complete_call() => self.close_call(end),
            Token::CloseList if matches!(self.frames.last(), Some(Frame::List { .. })) => self.close_list(end),
            _ => Err(self.no_operand(lexeme)),
        }
    }

    fn open(&mut self, frame: Frame) -> State {
        self.frames.push(frame);
        State::Operand
    }

    fn number(&self, lexeme: Lexeme) -> Result<Rational, TextError> {
        let text = self.lexer.text(lexeme);
        text.parse::<Rational>().map_err(|e| TextError::new(e.to_string(), self.place_of(lexeme)))
    }

    fn open_call(&mut self, lexeme: Lexeme) -> Result<State, TextError> {
        let name = self.lexer.text(lexeme);
        let (word, tick) = match name.strip_suffix('\'') {
            Some(word) => (word, true),
            None => (name, false),
        };
        let target = match functions::lookup(word) {
            Some(function) if !tick || functions::has_joint(function) => Target::Function(function, tick),
            _ => match self.library.by_name.get(name) {
                Some(&program) => Target::Program(program),
                None => return Err(self.unknown_function(name, lexeme)),
            },
        };
        self.lexer.next()?;
        Ok(self.open(Frame::Call { target, start: lexeme.start, name_end: lexeme.end, base: self.operands.len() }))
    }

    fn setting(&mut self, key: Lexeme) -> Result<State, TextError> {
        self.lexer.next()?;
        self.operands.push(Operand { kind: Kind::Key, start: key.start, end: key.end });
        if !is_word_setting(self.lexer.text(key)) {
            return Ok(State::Operand);
        }
        let Lexeme { start, end, .. } = self.expect(Token::Word, "a word")?;
        self.operands.push(Operand { kind: Kind::Word, start, end });
        Ok(State::Operator)
    }

    /// Whether the innermost open bracket is that of a call whose arguments are all there.
    fn is_complete_call(&self) -> bool {
        let pending = matches!(self.operands.last(), Some(Operand { kind: Kind::Key, .. }));
        !pending && matches!(self.frames.last(), Some(Frame::Call { .. }))
    }

    /// Whether what was read last is the exponent of a power: neither another power nor an index may follow it.
    fn is_exponent(&self) -> bool {
        let signs =
            self.frames.iter().rev().take_while(|f| matches!(f, Frame::Prefix { sign: Prefix::Neg, .. })).count();
        let before = self.frames.len().checked_sub(signs + 1).map(|i| &self.frames[i]);
        matches!(before, Some(Frame::Power))
    }

    fn operator(&mut self) -> Result<Option<State>, TextError> {
        let lexeme = self.lexer.peek()?;
        if let Some(infix) = Infix::of(lexeme.token) {
            self.lexer.next()?;
            self.reduce(infix.precedence())?;
            if let (Infix::Compare(_), Some(Frame::Infix(Infix::Compare(_)))) = (infix, self.frames.last()) {
                return Err(
                    TextError::new("comparisons do not chain", self.place_of(lexeme)).help("write a < b and b < c")
                );
            }
            self.frames.push(Frame::Infix(infix));
            return Ok(Some(State::Operand));
        }
        match lexeme.token {
            Token::Caret | Token::OpenList if self.is_exponent() => {
                return Err(TextError::new("a power is followed by a power or an index", self.place_of(lexeme))
                    .help("use parentheses: (x^2)^3, (x^2)[0], x^(y[0])"));
            }
            Token::Caret => {
                self.lexer.next()?;
                self.frames.push(Frame::Power);
                return Ok(Some(State::Operand));
            }
            Token::OpenList => {
                self.lexer.next()?;
                self.index(lexeme)?;
                return Ok(Some(State::Operator));
            }
            _ => {}
        }
        self.reduce(0)?;
        let next = match (lexeme.token, self.frames.last()) {
            (Token::Comma, Some(Frame::Call { .. } | Frame::List { .. })) => {
                self.lexer.next()?;
                State::Operand
            }
            (Token::Close, Some(&Frame::Paren { start })) => {
                self.lexer.next()?;
                self.frames.pop();
                if let Some(inside) = self.operands.last_mut() {
                    (inside.start, inside.end) = (start, lexeme.end);
                }
                State::Operator
            }
            (Token::Close, Some(Frame::Call { .. })) => {
                self.lexer.next()?;
                self.close_call(lexeme.end)?
            }
            (Token::CloseList, Some(Frame::List { .. })) => {
                self.lexer.next()?;
                self.close_list(lexeme.end)?
            }
            (Token::Arrow | Token::Comma | Token::CloseBlock, Some(Frame::Select)) => {
                self.lexer.next()?;
                self.continue_select(lexeme)?
            }
            (_, None) => return Ok(None),
            _ => return Err(self.unclosed(lexeme)),
        };
        Ok(Some(next))
    }

    /// Emits the waiting operators that bind at least as tightly, except a comparison before a comparison.
    fn reduce(&mut self, precedence: u8) -> Result<(), TextError> {
        while let Some(frame) = self.frames.last() {
            let waits = match frame.precedence() {
                None => true,
                // left for the caller, which refuses it
                Some(p) => p < precedence || (p == 4 && precedence == 4),
            };
            if waits {
                break;
            }
            let top = self.operands.pop().expect("an operator has its operand");
            match self.frames.pop() {
                Some(Frame::Infix(infix)) => {
                    let left = self.operands.pop().expect("an infix operator has two operands");
                    self.infix(infix, left, top)?;
                }
                Some(Frame::Power) => {
                    let base = self.operands.pop().expect("a power has two operands");
                    self.power(base, top)?;
                }
                Some(Frame::Prefix { sign, start }) => self.prefix(sign, start, top)?,
                _ => unreachable!("only operators have a precedence"),
            }
        }
        Ok(())
    }

    fn close_call(&mut self, end: u32) -> Result<State, TextError> {
        let Some(Frame::Call { target, start, base, .. }) = self.frames.pop() else {
            unreachable!("the caller has seen the frame");
        };
        let kind = self.call(target, base, Place { start, end })?;
        self.operands.push(Operand { kind, start, end });
        Ok(State::Operator)
    }

    fn close_list(&mut self, end: u32) -> Result<State, TextError> {
        let Some(Frame::List { start, base }) = self.frames.pop() else {
            unreachable!("the caller has seen the frame");
        };
        let kind = self.list(base, Place { start, end })?;
        self.operands.push(Operand { kind, start, end });
        Ok(State::Operator)
    }

    /// The fault of a token where an operand is due.
    fn no_operand(&self, found: Lexeme) -> TextError {
        let error = self.expected("an expression", found);
        match (found.token, self.frames.last()) {
            (Token::Plus, _) => error.help("there is no unary plus"),
            (Token::Equals, _) => error.help("equality is `==`"),
            (Token::Program | Token::Joint | Token::Let | Token::Return, _) => {
                error.help("the expression before it is not finished")
            }
            (_, Some(frame)) if found.token == Token::End => match self.opening(frame) {
                Some(help) => error.help(help),
                None => error,
            },
            _ => error,
        }
    }

    /// The fault of a token that neither continues nor closes what is open.
    fn unclosed(&self, found: Lexeme) -> TextError {
        let Some(frame) = self.frames.last() else { return self.expected("an operator", found) };
        let what = match frame {
            Frame::Paren { .. } => "`)`",
            Frame::Call { .. } => "`,` or `)`",
            Frame::List { .. } => "`,` or `]`",
            Frame::Select => self.due_in_select(),
            Frame::Infix(_) | Frame::Power | Frame::Prefix { .. } => "an operator",
        };
        let error = self.expected(what, found);
        if let Token::Equals = found.token {
            return error.help("equality is `==`");
        }
        if let (Token::Word | Token::Number | Token::Open, Some(last)) = (found.token, self.operands.last())
            && last.end == found.start
        {
            return error.help("write `*` between the factors of a product");
        }
        match self.opening(frame) {
            Some(help) => error.help(help),
            None => error,
        }
    }

    /// Where the bracket is that is still open.
    fn opening(&self, frame: &Frame) -> Option<String> {
        let (sign, start) = match *frame {
            Frame::Paren { start } => ("(", start),
            Frame::Call { name_end, .. } => ("(", name_end),
            Frame::List { start, .. } => ("[", start),
            Frame::Select => ("select", self.selects.last()?.start),
            Frame::Infix(_) | Frame::Power | Frame::Prefix { .. } => return None,
        };
        Some(format!("the `{sign}` at {} is still open", self.where_is(start)))
    }
}
