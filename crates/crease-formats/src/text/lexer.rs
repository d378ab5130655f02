//! Tokens: text in, words, numbers and signs out, each with its range of bytes.
//!
//! Tokens hold no text of their own; a word is the slice of the source that its range names. Newlines are whitespace.
//! Tokens are made one at a time, as the parser asks for them, so a source of any size takes no more memory here. A
//! lexer can be copied, which is how [captures](super::captures) look ahead. Signs of numbers are not part of them,
//! except in `~-0.1`, which is how the core prints a negative float.

use super::error::{TextError, place};
use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Token {
    Program,
    Joint,
    Let,
    Return,
    Select,
    Else,
    Repeat,
    RepeatBack,
    Scan,
    ScanBack,
    In,
    And,
    Or,
    Not,
    /// A name.
    Word,
    /// A name with the tick of a joint operation.
    Ticked,
    /// An exact decimal.
    Number,
    /// The nearest double of a decimal.
    Float,
    Open,
    Close,
    OpenList,
    CloseList,
    OpenBlock,
    CloseBlock,
    Comma,
    Semicolon,
    Colon,
    Equals,
    Arrow,
    Plus,
    Minus,
    Star,
    Slash,
    At,
    Caret,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    /// The end of the text; the lexer makes it, no text does.
    End,
}

/// A word of the language, or a name.
fn word(text: &str) -> Token {
    match text {
        "program" => Token::Program,
        "joint" => Token::Joint,
        "let" => Token::Let,
        "return" => Token::Return,
        "select" => Token::Select,
        "else" => Token::Else,
        "repeat" => Token::Repeat,
        "repeat_back" => Token::RepeatBack,
        "scan" => Token::Scan,
        "scan_back" => Token::ScanBack,
        "in" => Token::In,
        "and" => Token::And,
        "or" => Token::Or,
        "not" => Token::Not,
        _ => Token::Word,
    }
}

/// The first place from `at` on whose byte is of another kind.
fn past(bytes: &[u8], at: usize, kind: impl Fn(u8) -> bool) -> usize {
    bytes[at..].iter().position(|b| !kind(*b)).map_or(bytes.len(), |n| at + n)
}

/// Where the token after blanks and comments begins.
fn start(bytes: &[u8], mut at: usize) -> usize {
    loop {
        match bytes.get(at) {
            Some(b' ' | b'\t' | b'\r' | b'\n' | b'\x0c') => at += 1,
            Some(b'#') => at = past(bytes, at, |b| b != b'\n'),
            Some(0xef) if bytes[at..].starts_with("\u{feff}".as_bytes()) => at += 3,
            _ => return at,
        }
    }
}

/// Where the decimal that begins at `at` ends. A point and an exponent belong to it if digits follow.
fn decimal(bytes: &[u8], at: usize) -> usize {
    let digits = |at: usize| past(bytes, at, |b| b.is_ascii_digit());
    let mut end = digits(at);
    if bytes.get(end) == Some(&b'.') && digits(end + 1) > end + 1 {
        end = digits(end + 1);
    }
    if matches!(bytes.get(end), Some(b'e' | b'E')) {
        let exponent = end + 1 + usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
        if exponent <= bytes.len() && digits(exponent) > exponent {
            end = digits(exponent);
        }
    }
    end
}

/// The token that begins at `at`, where the text has not ended, and where it ends. The longest is taken.
fn token(source: &str, at: usize) -> Option<(Token, usize)> {
    let bytes = source.as_bytes();
    let followed = |by: u8| bytes.get(at + 1) == Some(&by);
    let or_equal = |one: Token, two: Token| if followed(b'=') { (two, at + 2) } else { (one, at + 1) };
    let one = match bytes[at] {
        b'A'..=b'Z' | b'a'..=b'z' | b'_' => {
            let end = past(bytes, at, |b| b.is_ascii_alphanumeric() || b == b'_');
            let ticked = bytes.get(end) == Some(&b'\'');
            return Some(if ticked { (Token::Ticked, end + 1) } else { (word(&source[at..end]), end) });
        }
        b'0'..=b'9' => return Some((Token::Number, decimal(bytes, at))),
        b'~' => {
            let digits = at + 1 + usize::from(followed(b'-'));
            let is_number = bytes.get(digits).is_some_and(u8::is_ascii_digit);
            return is_number.then(|| (Token::Float, decimal(bytes, digits)));
        }
        b'=' if followed(b'>') => return Some((Token::Arrow, at + 2)),
        b'=' => return Some(or_equal(Token::Equals, Token::Equal)),
        b'<' => return Some(or_equal(Token::Less, Token::LessEqual)),
        b'>' => return Some(or_equal(Token::Greater, Token::GreaterEqual)),
        b'!' if followed(b'=') => return Some((Token::NotEqual, at + 2)),
        b'(' => Token::Open,
        b')' => Token::Close,
        b'[' => Token::OpenList,
        b']' => Token::CloseList,
        b'{' => Token::OpenBlock,
        b'}' => Token::CloseBlock,
        b',' => Token::Comma,
        b';' => Token::Semicolon,
        b':' => Token::Colon,
        b'+' => Token::Plus,
        b'-' => Token::Minus,
        b'*' => Token::Star,
        b'/' => Token::Slash,
        b'@' => Token::At,
        b'^' => Token::Caret,
        _ => return None,
    };
    Some((one, at + 1))
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
    at: usize,
    peeked: Option<Lexeme>,
    pub source: &'s str,
}

impl<'s> Lexer<'s> {
    pub fn new(source: &'s str) -> Self {
        Lexer { at: 0, peeked: None, source }
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
        let at = start(self.source.as_bytes(), self.at);
        if at == self.source.len() {
            return Ok(Lexeme { token: Token::End, start: at as u32, end: at as u32 });
        }
        let Some((token, end)) = token(self.source, at) else { return Err(self.stray(at)) };
        self.at = end;
        Ok(Lexeme { token, start: at as u32, end: end as u32 })
    }

    /// What there is to say of the character at `at`, which is also passed over.
    fn stray(&mut self, at: usize) -> TextError {
        let c = self.source[at..].chars().next().unwrap_or(' ');
        self.at = at + c.len_utf8();
        let at = place(at, self.at);
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
    fn points_and_exponents_without_digits_are_not_part_of_numbers() {
        use Token::*;
        assert_eq!(tokens("1.5e+3 2E7 1e 1e+"), [Number, Number, Number, Word, Number, Word, Plus]);
        assert_eq!(tokens("~0.5e1 let' _a9' repeat_back"), [Float, Ticked, Ticked, RepeatBack]);
        let stray = |source: &str| {
            let mut lexer = Lexer::new(source);
            std::iter::from_fn(|| Some(lexer.next())).find_map(Result::err).unwrap().to_string()
        };
        for (source, c) in [
            ("1.", "'.'"),
            ("1.e5", "'.'"),
            ("x ~ 1", "'~'"),
            ("~-x", "'~'"),
            ("a !", "'!'"),
            ("é", "'é'"),
            ("\u{feff}x'' ", "'\\''"),
        ] {
            assert!(stray(source).contains(&format!("stray character {c}")), "{source}: {}", stray(source));
        }
    }

    #[test]
    fn long_blanks_and_comments_take_no_stack() {
        let source = format!("{}#{}\nx", " ".repeat(1 << 20), "c".repeat(1 << 20));
        assert_eq!(tokens(&source), [Token::Word]);
    }
}
