//! Tokens: text in, words, numbers and signs out, each with its range of bytes.
//!
//! Tokens hold no text of their own; a word is the slice of the source that its range names. Newlines are whitespace.
//! Tokens are made one at a time, as the parser asks for them, so a source of any size takes no more memory here. A
//! lexer can be copied, which is how [captures](super::captures) look ahead. Signs of numbers are not part of them,
//! except in `~-0.1`, which is how the core prints a negative float.

use super::error::{TextError, place};
use logos::Logos;
use std::ops::Range;

/// What a token is.
#[derive(Logos, Clone, Copy, Debug, PartialEq, Eq)]
#[logos(skip r"[ \t\r\n\f\u{feff}]+")]
#[logos(skip(r"#[^\n]*", allow_greedy = true))]
pub(crate) enum Token {
    #[token("program")]
    Program,
    #[token("joint")]
    Joint,
    #[token("let")]
    Let,
    #[token("return")]
    Return,
    #[token("select")]
    Select,
    #[token("else")]
    Else,
    #[token("repeat")]
    Repeat,
    #[token("repeat_back")]
    RepeatBack,
    #[token("scan")]
    Scan,
    #[token("scan_back")]
    ScanBack,
    #[token("in")]
    In,
    #[token("and")]
    And,
    #[token("or")]
    Or,
    #[token("not")]
    Not,
    /// A name.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*")]
    Word,
    /// A name with the tick of a joint operation.
    #[regex(r"[A-Za-z_][A-Za-z0-9_]*'")]
    Ticked,
    /// An exact decimal.
    #[regex(r"[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")]
    Number,
    /// The nearest double of a decimal.
    #[regex(r"~-?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")]
    Float,
    #[token("(")]
    Open,
    #[token(")")]
    Close,
    #[token("[")]
    OpenList,
    #[token("]")]
    CloseList,
    #[token("{")]
    OpenBlock,
    #[token("}")]
    CloseBlock,
    #[token(",")]
    Comma,
    #[token(";")]
    Semicolon,
    #[token(":")]
    Colon,
    #[token("=")]
    Equals,
    #[token("=>")]
    Arrow,
    #[token("+")]
    Plus,
    #[token("-")]
    Minus,
    #[token("*")]
    Star,
    #[token("/")]
    Slash,
    #[token("@")]
    At,
    #[token("^")]
    Caret,
    #[token("<")]
    Less,
    #[token("<=")]
    LessEqual,
    #[token(">")]
    Greater,
    #[token(">=")]
    GreaterEqual,
    #[token("==")]
    Equal,
    #[token("!=")]
    NotEqual,
    /// The end of the text; the lexer makes it, no text does.
    End,
}

/// A token and where it is.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lexeme {
    pub token: Token,
    pub start: u32,
    pub end: u32,
}

impl Lexeme {
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// The tokens of a source text, one at a time, with one token of look-ahead.
#[derive(Clone)]
pub(crate) struct Lexer<'s> {
    inner: logos::Lexer<'s, Token>,
    peeked: Option<Lexeme>,
    pub source: &'s str,
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Self {
        Lexer { inner: Token::lexer(source), peeked: None, source }
    }

    /// The next token, which is taken. At the end, [`Token::End`] again and again.
    pub fn next(&mut self) -> Result<Lexeme, TextError> {
        match self.peeked.take() {
            Some(lexeme) => Ok(lexeme),
            None => self.read(),
        }
    }

    /// The next token, which stays.
    pub fn peek(&mut self) -> Result<Lexeme, TextError> {
        if let Some(lexeme) = self.peeked {
            return Ok(lexeme);
        }
        let lexeme = self.read()?;
        self.peeked = Some(lexeme);
        Ok(lexeme)
    }

    /// Takes the next token if it is this one.
    pub fn take(&mut self, token: Token) -> Result<Option<Lexeme>, TextError> {
        if self.peek()?.token == token { self.next().map(Some) } else { Ok(None) }
    }

    /// The text of a token.
    pub fn text(&self, lexeme: Lexeme) -> &'s str {
        &self.source[lexeme.range()]
    }

    fn read(&mut self) -> Result<Lexeme, TextError> {
        let read = self.inner.next();
        let range = self.inner.span();
        match read {
            Some(Ok(token)) => Ok(Lexeme { token, start: range.start as u32, end: range.end as u32 }),
            None => {
                let end = self.source.len() as u32;
                Ok(Lexeme { token: Token::End, start: end, end })
            }
            Some(Err(())) => Err(self.stray(range)),
        }
    }

    fn stray(&self, range: Range<usize>) -> TextError {
        let rest = &self.source[range.start..];
        let c = rest.chars().next().unwrap_or(' ');
        let at = place(range.start, range.start + c.len_utf8());
        let instead = match c {
            '.' => Some("a number starts with a digit: write 0.5, not .5"),
            '−' | '–' | '—' => Some("the minus sign is `-`"),
            '×' | '·' | '∗' => Some("multiplication is `*`"),
            '÷' => Some("division is `/`"),
            '≤' => Some("write `<=`"),
            '≥' => Some("write `>=`"),
            '≠' | '!' => Some("write `!=` for different, `not` for a negation"),
            '²' | '³' => Some("powers are written x^2"),
            '&' => Some("write `and`"),
            '|' => Some("write `or`; the absolute value is abs(x)"),
            '%' | '\\' | '$' | '?' | '"' => Some("comments begin with `#`; there is no such sign in the language"),
            '\'' => Some("a tick follows the name of an operation at once, as in relu'(x)"),
            '~' => Some("`~` stands before a number, as in ~0.1: the double that is nearest to it"),
            _ => None,
        };
        let error = TextError::new(format!("stray character {c:?}"), at);
        match instead {
            Some(help) => error.help(help),
            None => error,
        }
    }
}

/// What a token is called in a message.
pub(crate) fn describe(source: &str, lexeme: Lexeme) -> String {
    match lexeme.token {
        Token::End => "the end of the text".into(),
        Token::Number | Token::Float => format!("the number `{}`", super::error::short(&source[lexeme.range()])),
        _ => format!("`{}`", super::error::short(&source[lexeme.range()])),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(source: &str) -> Vec<Token> {
        let mut lexer = Lexer::new(source);
        let mut out = Vec::new();
        loop {
            match lexer.next().unwrap().token {
                Token::End => return out,
                token => out.push(token),
            }
        }
    }

    #[test]
    fn signs_are_not_part_of_numbers_except_after_a_tilde() {
        use Token::*;
        assert_eq!(tokens("a-1 ~-2e-9 1e-3"), [Word, Minus, Number, Float, Number]);
        assert_eq!(tokens("relu'(x) => >= = =="), [Ticked, Open, Word, Close, Arrow, GreaterEqual, Equals, Equal]);
        assert_eq!(tokens("lets let # let\n x"), [Word, Let, Word]);
    }

    #[test]
    fn long_blanks_and_comments_take_no_stack() {
        let source = format!("{}#{}\nx", " ".repeat(1 << 20), "c".repeat(1 << 20));
        assert_eq!(tokens(&source), [Token::Word]);
    }
}
