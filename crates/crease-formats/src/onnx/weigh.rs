//! How much a file would take to decode, found out before it is: an empty message takes two bytes in a file and a hundred and more in
//! memory, so the parts are counted first, in place, without allocation.
//!
//! Bytes enter, the number of messages and texts that decoding would make leaves, or where the bytes are no such messages.

/// Which message is walked through.
#[derive(Clone, Copy)]
enum Kind {
    Model,
    Graph,
    Node,
    Attribute,
    Tensor,
    Value,
    Type,
    TensorType,
    Shape,
    Other,
}

/// The message that a field holds, if it holds one; a text counts as a message without parts.
fn inside(kind: Kind, field: u64) -> Option<Kind> {
    Some(match (kind, field) {
        (Kind::Model, 7) => Kind::Graph,
        (Kind::Model, 2 | 3 | 6 | 8 | 14) => Kind::Other,
        (Kind::Graph, 1) => Kind::Node,
        (Kind::Graph, 5) => Kind::Tensor,
        (Kind::Graph, 11 | 12) => Kind::Value,
        (Kind::Graph, 15) => Kind::Other,
        (Kind::Node, 1 | 2) => Kind::Other,
        (Kind::Node, 5) => Kind::Attribute,
        (Kind::Attribute, 5) => Kind::Tensor,
        (Kind::Tensor, 13) => Kind::Other,
        (Kind::Value, 2) => Kind::Type,
        (Kind::Type, 1) => Kind::TensorType,
        (Kind::TensorType, 2) => Kind::Shape,
        (Kind::Shape, 1) => Kind::Other,
        _ => return None,
    })
}

/// The number of messages and texts in a file.
pub(super) fn parts(bytes: &[u8]) -> Result<usize, String> {
    inside_of(bytes, Kind::Model)
}

/// The same of a graph alone, such as a branch. The bytes of graphs inside it are not looked into.
pub(super) fn parts_of_graph(bytes: &[u8]) -> Result<usize, String> {
    inside_of(bytes, Kind::Graph)
}

fn inside_of(bytes: &[u8], kind: Kind) -> Result<usize, String> {
    let mut count = 0;
    // where each open message ends, and what it is
    let mut open = vec![(bytes.len(), kind)];
    let mut at = 0;
    while let Some(&(end, kind)) = open.last() {
        if at == end {
            open.pop();
            continue;
        }
        let broken = |what: &str| Err(format!("byte {at}: {what}"));
        let Some((key, after)) = varint(bytes, at, end) else { return broken("a field has no number") };
        let length = match key & 7 {
            0 => match varint(bytes, after, end) {
                Some((_, after)) => {
                    at = after;
                    continue;
                }
                None => return broken("a number does not end"),
            },
            1 => (8, after),
            5 => (4, after),
            2 => match varint(bytes, after, end) {
                Some((n, after)) => (usize::try_from(n).unwrap_or(usize::MAX), after),
                None => return broken("a length does not end"),
            },
            other => return broken(&format!("there is no kind {other} of fields")),
        };
        let (length, start) = length;
        let Some(stop) = start.checked_add(length).filter(|&stop| stop <= end) else {
            return broken("it ends before a part of it does");
        };
        match inside(kind, key >> 3).filter(|_| key & 7 == 2) {
            Some(kind) => {
                count += 1;
                // the table has no loops, so this does not go deep
                match kind {
                    Kind::Other => at = stop,
                    _ => {
                        at = start;
                        open.push((stop, kind));
                    }
                }
            }
            None => at = stop,
        }
    }
    Ok(count)
}

fn varint(bytes: &[u8], mut at: usize, end: usize) -> Option<(u64, usize)> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let byte = *bytes[..end].get(at)?;
        at += 1;
        value |= u64::from(byte & 127) << shift;
        if byte < 128 {
            return Some((value, at));
        }
    }
    None
}
