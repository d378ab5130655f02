//! Looking ahead for names: which free names an expression has, and which names the arms of a selection use.
//!
//! A builder wants its inputs before its first equation, but a name is only met in the middle of an expression. So the
//! tokens are read once more beforehand. For selections inside selections that is done once, for all of them, when the
//! outermost is met; what nests costs no more than the names that really pass from level to level.
//!
//! Faults are not reported here: the scan ends where it cannot go on, and the parser, coming to the same place, says why.

use super::functions;
use super::lexer::{Lexer, Token};
use std::collections::{HashMap, HashSet};

/// Reads tokens and tells which words refer to values.
struct References<'s> {
    lexer: Lexer<'s>,
    /// Whether the next word is the value of a setting, as in `ties=last`.
    setting: bool,
    word_setting: bool,
    /// The word before `=` or `in` that was read last.
    bound: Option<&'s str>,
}

impl<'s> References<'s> {
    fn new(lexer: Lexer<'s>) -> Self {
        References { lexer, setting: false, word_setting: false, bound: None }
    }

    /// The next token, its place, and the name if it refers to a value.
    fn next(&mut self) -> Option<(Token, u32, Option<&'s str>)> {
        let lexeme = self.lexer.next().ok()?;
        let text = self.lexer.text(lexeme);
        let skipped = std::mem::take(&mut self.setting);
        let mut name = None;
        match lexeme.token {
            Token::End => return None,
            Token::Word => match self.lexer.peek().map(|l| l.token) {
                Ok(Token::Open) => {}
                Ok(Token::Equals) => {
                    self.word_setting = is_word_setting(text);
                    self.bound = Some(text);
                }
                Ok(Token::In) => self.bound = Some(text),
                _ if skipped || functions::lookup(text).is_some() => {}
                _ => name = Some(text),
            },
            Token::Equals => self.setting = std::mem::take(&mut self.word_setting),
            _ => {}
        }
        Some((lexeme.token, lexeme.start, name))
    }
}

/// Whether the value of a setting is a word and not an expression.
pub(crate) fn is_word_setting(key: &str) -> bool {
    matches!(key, "ties" | "transpose")
}

/// The names in a scope of their own: of a whole text, or of a block up to its closing brace.
#[derive(Default)]
struct Names<'s> {
    known: HashSet<&'s str>,
    /// Names after `let` are known only after their statement: in `let y = y + 1` the second y is free.
    pending: Vec<&'s str>,
}

/// The names that an expression, perhaps with `let` before it, or the body of a loop behind its opening brace, takes from outside, in order of first
/// appearance. Bodies of loops have scopes of their own, in which the names of their heads are known.
pub(crate) fn free_names(lexer: Lexer<'_>) -> Vec<&str> {
    let mut references = References::new(lexer);
    let mut free = Vec::new();
    let mut seen: HashSet<&str> = HashSet::new();
    let mut scopes = vec![Names::default()];
    // the heads of loops that are being read: how many brackets are open, and what they bind
    let mut heads: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut in_targets = false;
    loop {
        if in_targets {
            // the word before `=` is not a reference, so the targets are read here
            let Ok(lexeme) = references.lexer.next() else { break };
            match lexeme.token {
                Token::Word => {
                    let name = references.lexer.text(lexeme);
                    scopes.last_mut().expect("a scope").pending.push(name);
                }
                Token::Comma => {}
                _ => in_targets = false,
            }
            continue;
        }
        references.bound = None;
        let Some((token, _, name)) = references.next() else { break };
        let scope = scopes.last_mut().expect("a scope");
        match token {
            Token::Let | Token::Semicolon | Token::Return => {
                scope.known.extend(scope.pending.drain(..));
                in_targets = token == Token::Let;
            }
            Token::Repeat | Token::RepeatBack | Token::Scan | Token::ScanBack => heads.push((0, Vec::new())),
            Token::Open | Token::OpenList => heads.iter_mut().last().into_iter().for_each(|h| h.0 += 1),
            Token::Close | Token::CloseList => {
                heads.iter_mut().last().into_iter().for_each(|h| h.0 = h.0.saturating_sub(1));
            }
            Token::OpenBlock => {
                // a brace that ends a head is that of its body; others are those of selections
                let bound = match heads.last() {
                    Some((0, _)) => heads.pop().map(|h| h.1).unwrap_or_default(),
                    _ => Vec::new(),
                };
                scopes.push(Names { known: bound.into_iter().collect(), pending: Vec::new() });
            }
            Token::CloseBlock => {
                scopes.pop();
                if scopes.is_empty() {
                    break;
                }
            }
            _ => {}
        }
        if let (Some(word), Some((1, bound))) = (references.bound, heads.last_mut()) {
            bound.push(word);
        }
        if let Some(name) = name
            && !scopes.iter().any(|s| s.known.contains(name))
            && seen.insert(name)
        {
            free.push(name);
        }
    }
    free
}

/// One selection of the scan.
struct Frame<'s> {
    /// Where its keyword is.
    at: u32,
    /// How many brackets are open inside it.
    depth: usize,
    in_arm: bool,
    /// Whether its own brace was read.
    opened: bool,
    /// How many bodies of loops are open inside it.
    blocks: usize,
    /// The nearest selection around it in whose arm it lies.
    host: Option<usize>,
    /// The names used in its arms, with where they were first used.
    names: HashMap<&'s str, u32>,
}

/// For the selection whose keyword was just read (at byte `at`) and all selections inside it, by the place of their
/// keyword: the names that their arms use, in order of first appearance.
pub(crate) fn captures<'s>(lexer: Lexer<'s>, at: u32) -> HashMap<u32, Vec<&'s str>> {
    let mut references = References::new(lexer);
    let mut out = HashMap::new();
    let mut frames =
        vec![Frame { at, depth: 0, in_arm: false, opened: false, blocks: 0, host: None, names: HashMap::new() }];
    while let Some((token, start, name)) = references.next() {
        let top = frames.len() - 1;
        let frame = &mut frames[top];
        let host = if frame.in_arm { Some(top) } else { frame.host };
        if let (Some(name), Some(host)) = (name, host) {
            frames[host].names.entry(name).or_insert(start);
            continue;
        }
        match token {
            Token::Select => {
                frames.push(Frame {
                    at: start,
                    depth: 0,
                    in_arm: false,
                    opened: false,
                    blocks: 0,
                    host,
                    names: HashMap::new(),
                });
            }
            Token::Open | Token::OpenList => frame.depth += 1,
            Token::Close | Token::CloseList => frame.depth = frame.depth.saturating_sub(1),
            Token::Arrow if frame.depth == 0 => frame.in_arm = true,
            Token::Comma if frame.depth == 0 => frame.in_arm = false,
            // the brace of a loop; that of the selection itself comes first of all
            Token::OpenBlock if std::mem::replace(&mut frame.opened, true) => {
                frame.depth += 1;
                frame.blocks += 1;
            }
            // brackets may be closed that none has opened: the parser will say so
            Token::CloseBlock if frame.blocks > 0 => {
                frame.depth = frame.depth.saturating_sub(1);
                frame.blocks -= 1;
            }
            Token::CloseBlock => {
                let done = frames.swap_remove(top);
                if let Some(host) = done.host {
                    for (&name, &start) in &done.names {
                        let first = frames[host].names.entry(name).or_insert(start);
                        *first = start.min(*first);
                    }
                }
                let mut names: Vec<(u32, &str)> = done.names.into_iter().map(|(name, start)| (start, name)).collect();
                names.sort_unstable();
                out.insert(done.at, names.into_iter().map(|(_, name)| name).collect());
                if frames.is_empty() {
                    break;
                }
            }
            _ => {}
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn free_names_come_in_order_and_once() {
        let free = |source| free_names(Lexer::new(source));
        assert_eq!(free("b + relu(a) * b - max(c, axis=0)"), ["b", "a", "c"]);
        assert_eq!(free("let y = y + x; let z = y; z + w"), ["y", "x", "w"]);
        assert_eq!(free("let a, b = sort(p, q); a - b"), ["p", "q"]);
        assert_eq!(free("max'(x, axis=-1, ties=last)"), ["x"]);
    }

    #[test]
    fn arms_use_names_and_conditions_belong_outside() {
        let source = "select { a > 0 => b + select { c => d, e => b, else => f(g) }, else => h } + i";
        let mut lexer = Lexer::new(source);
        lexer.next().unwrap();
        let found = captures(lexer, 0);
        assert_eq!(found[&0], ["b", "c", "d", "e", "g", "h"]);
        let inner = source.rfind("select").unwrap() as u32;
        assert_eq!(found[&inner], ["d", "b", "g"]);
    }

    #[test]
    fn brackets_that_do_not_match_are_for_the_parser_to_refuse() {
        for arm in ["repeat(2, a = x) { ] }", "{ ) }", "] { { ) ) } }"] {
            let source = format!("select {{ x > 0 => {arm}, else => x }}");
            assert!(crate::parse_expression(&source, &|_| None).is_err(), "{source}");
        }
    }
}
