//! Loops: `repeat(n, carried = first, part in sequence) { let ... return next, stacked }`, and `scan(...)`, which goes by the length of its sequences.
//!
//! What is returned first replaces the carried values, in the order in which they stand; whatever comes after is stacked along a new first axis. The loop gives the
//! carried values after the last turn, then what was stacked. `repeat_back` and `scan_back` go from the last part to the first.
//!
//! The body becomes a program of its own, whose inputs are the carried values, the parts, and whatever else it uses of the names around it. Where the
//! body is one call of an earlier program with those in this order, which is how loops are printed, that program is the body itself.

use super::captures::free_names;
use super::error::TextError;
use super::lexer::{Lexeme, Token};
use super::machine::State;
use super::parser::Parser;
use super::scope::{Binding, Scope};
use crease_core::op::scan::MOST_NESTED;
use crease_core::{Atom, Builder, Callee, Op, Place, Program, Scan, Shape};
use std::collections::HashMap;
use std::sync::Arc;

/// The head of a loop: what is bound to which names.
#[derive(Default)]
struct Head<'s> {
    carried: Vec<(Lexeme, &'s str, Atom)>,
    each: Vec<(Lexeme, &'s str, Atom)>,
}

impl<'s> Parser<'s> {
    /// Reads a loop, from behind its keyword to its closing brace.
    pub fn open_loop(&mut self, keyword: Lexeme) -> Result<State, TextError> {
        if self.loops == MOST_NESTED {
            let message = format!("loops are nested more than {MOST_NESTED} deep");
            return Err(TextError::new(message, self.place_of(keyword)).help("make a program of the inner ones"));
        }
        self.loops += 1;
        // what is open outside does not concern the expressions inside
        let frames = std::mem::take(&mut self.frames);
        let open = self.expect(Token::Open, "`(` after the word for a loop")?;
        let counted = matches!(keyword.token, Token::Repeat | Token::RepeatBack);
        let mut turns = if counted { Some(self.turns()?) } else { None };
        let head = self.head(open)?;
        for (lexeme, name, atom) in &head.each {
            let shape = self.builder.shape(*atom);
            let place = self.place_of(*lexeme);
            match (shape.dims().first(), turns) {
                (None, _) => {
                    return Err(TextError::new(format!("`{name}` goes through a scalar, which has no parts"), place));
                }
                (Some(&n), None) => turns = Some(n),
                (Some(&n), Some(m)) if n != m => {
                    let message = format!("`{name}` goes through {n} parts, but the loop has {m} turns");
                    return Err(TextError::new(message, place));
                }
                _ => {}
            }
        }
        let Some(turns) = turns else {
            let message = "`scan` needs a sequence to go through, as in scan(s = 0, v in x) { ... }";
            return Err(TextError::new(message, self.place_of(keyword)).help("repeat(n, ...) goes by number"));
        };
        let brace = self.expect(Token::OpenBlock, "`{` and the body of the loop")?;
        let back = matches!(keyword.token, Token::RepeatBack | Token::ScanBack);
        let (body, still) = self.body(&head, keyword, brace)?;
        let place = Place { start: keyword.start, end: self.last_brace };
        self.loops -= 1;
        self.frames = frames;
        if body.outputs().len() < head.carried.len() {
            let (returned, carried) = (body.outputs().len(), head.carried.len());
            let message = format!("the body returns {returned} of the {carried} carried values");
            return Err(TextError::new(message, place).help("return the next value of each of them first"));
        }
        for (k, (lexeme, name, _)) in head.carried.iter().enumerate() {
            let (before, after) = (&body.inputs()[k].shape, body.atom_shape(body.outputs()[k]));
            if *before != after {
                let shown = |s: &Shape| if s.is_scalar() { "a scalar".to_string() } else { format!("of shape {s}") };
                let message = format!("`{name}` is {} before a turn and {} after it", shown(before), shown(&after));
                return Err(TextError::new(message, self.place_of(*lexeme))
                    .help("begin with a value of that shape, such as zeros([3])"));
            }
        }
        let mut args: Vec<Atom> = head.carried.iter().chain(&head.each).map(|(_, _, atom)| *atom).collect();
        let direct = direct_call(&body, args.len());
        let callee = match direct {
            Some((callee, rest)) => {
                let first = args.len();
                for a in rest {
                    args.push(match a {
                        Atom::Value(v) => still[v.index() - first],
                        Atom::Const(_) => self.builder.constant(body.as_constant(a).cloned().unwrap_or_default()),
                    });
                }
                callee
            }
            None => {
                args.extend(still);
                Callee { program: Arc::new(body), joint: None }
            }
        };
        let (carried, each) = (head.carried.len(), head.each.len());
        let results = self.build(place, |b| {
            let body = b.callee(callee.program, callee.joint)?;
            b.push(Scan { body, turns, carried, each, back }, &args)
        })?;
        let kind = self.kind_of_all(results);
        self.push(kind, place);
        Ok(State::Operator)
    }

    /// The number of turns, and the comma behind it if something follows.
    fn turns(&mut self) -> Result<usize, TextError> {
        let operand = self.expression()?;
        let n = operand.integer("the number of turns")?;
        let turns = usize::try_from(n).ok().filter(|n| *n > 0);
        let turns = turns.ok_or_else(|| TextError::new("a loop has at least one turn", operand.place()))?;
        if self.lexer.peek()?.token == Token::Comma {
            self.lexer.next()?;
        }
        Ok(turns)
    }

    /// What is bound, up to the closing bracket.
    fn head(&mut self, open: Lexeme) -> Result<Head<'s>, TextError> {
        let mut head = Head::default();
        loop {
            if self.lexer.take(Token::Close)?.is_some() {
                return Ok(head);
            }
            let lexeme = self.new_name("a value of a loop")?;
            let name = self.lexer.text(lexeme);
            if head.carried.iter().chain(&head.each).any(|(_, other, _)| *other == name) {
                return Err(TextError::new(format!("`{name}` is bound twice in this loop"), self.place_of(lexeme)));
            }
            let sign = self.lexer.next()?;
            let list = match sign.token {
                Token::Equals => &mut head.carried,
                Token::In => &mut head.each,
                _ => {
                    let error = self.expected("`=` and a first value, or `in` and a sequence", sign);
                    return Err(error.help("as in repeat(10, s = x, v in w) { return s * v }"));
                }
            };
            let operand = self.expression()?;
            let atom = self.atom(operand)?;
            list.push((lexeme, name, atom));
            self.separator(open)?;
        }
    }

    /// The body as a program, and what its further inputs are outside.
    fn body(&mut self, head: &Head<'s>, keyword: Lexeme, brace: Lexeme) -> Result<(Program, Vec<Atom>), TextError> {
        self.branches += 1;
        let place = self.place_of(keyword);
        let fault = |e: crease_core::BuildError| TextError::new(e.to_string(), place);
        let mut builder = Builder::new(format!("{}_turn{}", self.program_name, self.branches));
        let mut scope = Scope::default();
        for (k, (_, name, atom)) in head.carried.iter().chain(&head.each).enumerate() {
            let mut shape = self.builder.shape(*atom);
            if k >= head.carried.len() {
                shape = Shape::new(&shape.dims()[1..]).map_err(|e| TextError::new(e.to_string(), place))?;
            }
            scope.insert(name, Binding::Value(builder.input(*name, shape).map_err(fault)?));
        }
        let mut still: Vec<Atom> = Vec::new();
        let mut inputs: HashMap<Atom, Atom> = HashMap::new();
        for name in free_names(self.lexer.clone()) {
            if scope.contains_key(name) {
                continue;
            }
            let binding = match self.scope().get(name) {
                None => continue,
                Some(Binding::Number(number)) => Binding::Number(number.clone()),
                Some(&Binding::Value(atom)) => Binding::Value(match inputs.get(&atom) {
                    Some(known) => *known,
                    None => {
                        let input = builder.input(name, self.builder.shape(atom)).map_err(fault)?;
                        still.push(atom);
                        inputs.insert(atom, input);
                        input
                    }
                }),
            };
            scope.insert(name, binding);
        }
        let outer = std::mem::replace(&mut self.builder, builder);
        self.scopes.push(scope);
        let outputs = self.block("this loop", brace);
        let inner = std::mem::replace(&mut self.builder, outer);
        self.scopes.pop();
        Ok((inner.finish(&outputs?).map_err(fault)?, still))
    }
}

/// The program that a body calls, and its further arguments, if it is one call with the carried values and the parts first.
fn direct_call(body: &Program, bound: usize) -> Option<(Callee, Vec<Atom>)> {
    if body.len() != 1 {
        return None;
    }
    let call = body.equation(0);
    let Op::Call(id) = call.op else { return None };
    let first: Vec<Atom> = body.input_values().take(bound).map(Atom::Value).collect();
    let rest = call.args.get(bound..)?;
    let outside = |a: &Atom| a.value().is_none_or(|v| v.index() >= bound);
    let same = call.args[..bound] == first[..] && rest.iter().all(outside);
    let all = body.outputs().iter().copied().eq(call.results().map(Atom::Value));
    (same && all).then(|| (body.callee(*id).clone(), rest.to_vec()))
}
