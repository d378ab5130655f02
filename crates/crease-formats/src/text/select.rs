//! Selection functions: `select { condition => expression, ..., else => expression }`.
//!
//! Every arm becomes a program of its own, whose inputs are the values that any of the arms uses. While an arm is read,
//! its builder takes the place of the outer one, which waits in the [`Select`]. Where every arm is a call of an earlier
//! program with the same arguments, which is how selections are printed, those programs are the branches themselves.

use super::captures::captures;
use super::error::TextError;
use super::lexer::{Lexeme, Token};
use super::machine::{Frame, State};
use super::operand::{Kind, Operand};
use super::parser::Parser;
use super::scope::{Binding, Scope};
use crease_core::{Atom, Builder, Callee, Op, Place, Program, Rational, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// A selection that is being read.
pub(crate) struct Select<'s> {
    /// Where its keyword is.
    pub start: u32,
    conditions: Vec<Atom>,
    arms: Vec<Program>,
    /// The outer builder, while an arm is read.
    outer: Option<Builder>,
    is_else: bool,
    /// The inputs of every arm: their names, and what they are outside.
    inputs: Vec<(&'s str, Atom, Shape)>,
    /// The names that arms may use, and which input or number each is.
    names: Vec<(&'s str, Captured)>,
}

#[derive(Clone)]
enum Captured {
    Input(usize),
    Number(Rational),
}

impl<'s> Parser<'s> {
    /// Reads `select {` and all up to the first condition.
    pub fn open_select(&mut self, keyword: Lexeme) -> Result<State, TextError> {
        let used = match self.captured.remove(&keyword.start) {
            Some(used) => used,
            None => {
                // the outermost selection is met first, and then all inside it are known
                self.captured = captures(self.lexer.clone(), keyword.start);
                self.captured.remove(&keyword.start).unwrap_or_default()
            }
        };
        self.expect(Token::OpenBlock, "`{` after `select`")?;
        let mut inputs: Vec<(&'s str, Atom, Shape)> = Vec::new();
        let mut numbers: HashMap<Atom, usize> = HashMap::new();
        let mut names = Vec::new();
        for name in used {
            let captured = match self.scope().get(name) {
                None => continue,
                Some(Binding::Number(number)) => Captured::Number(number.clone()),
                Some(&Binding::Value(atom)) => Captured::Input(*numbers.entry(atom).or_insert_with(|| {
                    inputs.push((name, atom, self.builder.shape(atom)));
                    inputs.len() - 1
                })),
            };
            names.push((name, captured));
        }
        self.frames.push(Frame::Select);
        self.selects.push(Select {
            start: keyword.start,
            conditions: Vec::new(),
            arms: Vec::new(),
            outer: None,
            is_else: false,
            inputs,
            names,
        });
        self.next_arm()
    }

    /// What may come next in the innermost selection.
    pub fn due_in_select(&self) -> &'static str {
        match self.selects.last() {
            Some(Select { outer: None, .. }) => "`=>`",
            Some(Select { is_else: true, .. }) => "`}`",
            _ => "`,`",
        }
    }

    /// Goes on after a condition or an arm; the token that ended it has been taken.
    pub fn continue_select(&mut self, ended_by: Lexeme) -> Result<State, TextError> {
        let select = self.selects.last().expect("a frame has its selection");
        let (in_arm, is_else, start) = (select.outer.is_some(), select.is_else, select.start);
        let operand = self.operands.pop().expect("an expression leaves its operand");
        match (ended_by.token, in_arm) {
            (Token::Arrow, false) => {
                let condition = self.atom(operand)?;
                self.innermost().conditions.push(condition);
                self.start_arm()
            }
            (Token::Comma, true) => {
                self.finish_arm(operand)?;
                if !is_else {
                    return self.next_arm();
                }
                let close = self.lexer.next()?;
                if close.token != Token::CloseBlock {
                    return Err(self.expected("`}`", close).help("`else` is the last arm of a selection"));
                }
                self.close_select(Place { start, end: close.end })
            }
            (Token::CloseBlock, true) if is_else => {
                self.finish_arm(operand)?;
                self.close_select(Place { start, end: ended_by.end })
            }
            (Token::CloseBlock, true) => Err(self.no_else(ended_by)),
            _ => Err(self.expected(self.due_in_select(), ended_by)),
        }
    }

    fn innermost(&mut self) -> &mut Select<'s> {
        self.selects.last_mut().expect("a frame has its selection")
    }

    fn no_else(&self, close: Lexeme) -> TextError {
        TextError::new("this `select` has no `else` arm", self.place_of(close))
            .help("end it with `else => ...`, so that it has a value wherever it is run")
    }

    fn next_arm(&mut self) -> Result<State, TextError> {
        let next = self.lexer.peek()?;
        match next.token {
            Token::Else => {
                self.lexer.next()?;
                self.expect(Token::Arrow, "`=>` after `else`")?;
                self.innermost().is_else = true;
                self.start_arm()
            }
            Token::CloseBlock => Err(self.no_else(next)),
            _ => Ok(State::Operand),
        }
    }

    fn start_arm(&mut self) -> Result<State, TextError> {
        self.branches += 1;
        let mut builder = Builder::new(format!("{}_branch{}", self.program_name, self.branches));
        let select = self.selects.last_mut().expect("a frame has its selection");
        let place = Place { start: select.start, end: select.start + "select".len() as u32 };
        let inputs = select.inputs.iter().map(|(name, _, shape)| builder.input(*name, shape.clone()));
        let inputs = inputs.collect::<Result<Vec<_>, _>>().map_err(|e| TextError::new(e.to_string(), place))?;
        let mut scope = Scope::with_capacity(select.names.len());
        for (name, captured) in &select.names {
            let binding = match captured {
                Captured::Input(i) => Binding::Value(inputs[*i]),
                Captured::Number(number) => Binding::Number(number.clone()),
            };
            scope.insert(name, binding);
        }
        select.outer = Some(std::mem::replace(&mut self.builder, builder));
        self.scopes.push(scope);
        Ok(State::Operand)
    }

    fn finish_arm(&mut self, operand: Operand) -> Result<(), TextError> {
        let place = operand.place();
        let outputs = self.all_atoms(operand)?;
        let outer = self.innermost().outer.take().expect("an arm has an outer builder");
        let arm = std::mem::replace(&mut self.builder, outer);
        let program = arm.finish(&outputs).map_err(|e| TextError::new(e.to_string(), place))?;
        self.scopes.pop();
        self.innermost().arms.push(program);
        Ok(())
    }

    fn close_select(&mut self, place: Place) -> Result<State, TextError> {
        self.frames.pop();
        let Select { conditions, arms, inputs, .. } = self.selects.pop().expect("a frame has its selection");
        let direct = direct_calls(&arms);
        let mut args = conditions;
        let callees: Vec<Callee> = match direct {
            Some((callees, shared)) => {
                args.extend(shared.into_iter().map(|arg| match arg {
                    Argument::Input(i) => inputs[i].1,
                    Argument::Number(number) => self.builder.constant(number),
                }));
                callees
            }
            None => {
                args.extend(inputs.iter().map(|(_, atom, _)| *atom));
                arms.into_iter().map(|arm| Callee { program: Arc::new(arm), joint: None }).collect()
            }
        };
        let results = self.build(place, |b| {
            let ids = callees.into_iter().map(|c| b.callee(c.program, c.joint)).collect::<Result<Vec<_>, _>>()?;
            b.push(Op::Select(ids.into()), &args)
        })?;
        let kind: Kind = self.kind_of_all(results);
        self.push(kind, place);
        Ok(State::Operator)
    }
}

/// An argument of an arm that is one call.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Argument {
    Input(usize),
    Number(Rational),
}

/// The programs that the arms call and the arguments they share, if every arm is one call with the same arguments.
fn direct_calls(arms: &[Program]) -> Option<(Vec<Callee>, Vec<Argument>)> {
    let mut shared: Option<Vec<Argument>> = None;
    let mut callees = Vec::with_capacity(arms.len());
    for arm in arms {
        if arm.len() != 1 {
            return None;
        }
        let call = arm.equation(0);
        let Op::Call(id) = call.op else { return None };
        if !arm.outputs().iter().copied().eq(call.results().map(Atom::Value)) {
            return None;
        }
        let argument = |&a: &Atom| match a {
            Atom::Value(v) => Argument::Input(v.index()),
            Atom::Const(c) => Argument::Number(arm.constant(c).clone()),
        };
        let args: Vec<Argument> = call.args.iter().map(argument).collect();
        if *shared.get_or_insert_with(|| args.clone()) != args {
            return None;
        }
        callees.push(arm.callee(*id).clone());
    }
    Some((callees, shared?))
}
