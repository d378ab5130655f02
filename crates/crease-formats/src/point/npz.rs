//! The NPZ format of NumPy: a ZIP archive whose members are arrays in NPY format, stored or deflated.
//!
//! Bytes enter, names and their arrays leave. What a member unpacks to is limited to what the archive says, and that to [`LARGEST`] together; the
//! checksum of each is compared. Encrypted members, other methods and archives beyond 4 GiB are refused.

use super::{Point, PointError, npy};
use crate::memory;
use miniz_oxide::inflate::decompress_to_vec_with_limit;
use std::borrow::Cow;

/// The most bytes that all members together may unpack to.
const LARGEST: u64 = 1 << 31;

fn fault<T>(why: impl Into<String>) -> Result<T, PointError> {
    Err(PointError::Npz(why.into()))
}

pub(super) fn read(bytes: &[u8]) -> Result<Point, PointError> {
    let mut point = Point::default();
    let mut room = LARGEST;
    let mut numbers = 0;
    for member in members(bytes)? {
        room = match room.checked_sub(member.size as u64) {
            Some(room) => room,
            None => return fault("its members unpack to more than 2^31 bytes"),
        };
        let name = member.name.strip_suffix(".npy").unwrap_or(&member.name).to_string();
        let (shape, values) = npy::read(&member.unpack(bytes)?, &name)?;
        numbers += values.len();
        memory::exact_numbers(numbers).map_err(PointError::Npz)?;
        point.insert(name, shape, values)?;
    }
    Ok(point)
}

/// A member as the directory at the end of the archive has it.
struct Member {
    name: String,
    method: u16,
    checksum: u32,
    packed: usize,
    size: usize,
    /// Where its own header begins.
    at: usize,
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The directory of an archive.
fn members(bytes: &[u8]) -> Result<Vec<Member>, PointError> {
    // the end of the directory is the last thing in the archive but for a comment
    let earliest = bytes.len().saturating_sub(22 + usize::from(u16::MAX));
    let end = (earliest..bytes.len().saturating_sub(21)).rev().find(|&at| bytes[at..].starts_with(b"PK\x05\x06"));
    let Some(end) = end else { return fault("it is no ZIP archive") };
    let cut = || PointError::Npz("its directory is cut short".into());
    let count = u16_at(bytes, end + 10).ok_or_else(cut)?;
    let mut at = u32_at(bytes, end + 16).ok_or_else(cut)? as usize;
    let mut all = Vec::new();
    for _ in 0..count {
        if bytes.get(at..at + 4) != Some(b"PK\x01\x02") {
            return fault("its directory is damaged");
        }
        let [flags, method] = [8, 10].map(|i| u16_at(bytes, at + i));
        let [checksum, packed, size, start] = [16, 20, 24, 42].map(|i| u32_at(bytes, at + i));
        let [name, extra, comment] = [28, 30, 32].map(|i| u16_at(bytes, at + i).map(usize::from));
        let (flags, method) = (flags.ok_or_else(cut)?, method.ok_or_else(cut)?);
        let (name, extra, comment) = (name.ok_or_else(cut)?, extra.ok_or_else(cut)?, comment.ok_or_else(cut)?);
        let (packed, size, start) = (packed.ok_or_else(cut)?, size.ok_or_else(cut)?, start.ok_or_else(cut)?);
        if [packed, size, start].contains(&u32::MAX) {
            return fault("it is an archive beyond 4 GiB, which is not supported");
        }
        if flags & 1 == 1 {
            return fault("it is encrypted");
        }
        let name_bytes = bytes.get(at + 46..at + 46 + name).ok_or_else(cut)?;
        all.push(Member {
            name: String::from_utf8_lossy(name_bytes).into_owned(),
            method,
            checksum: checksum.ok_or_else(cut)?,
            packed: packed as usize,
            size: size as usize,
            at: start as usize,
        });
        at += 46 + name + extra + comment;
    }
    Ok(all)
}

impl Member {
    /// The bytes of the member.
    fn unpack<'b>(&self, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, PointError> {
        let name = &self.name;
        // its own header repeats the name, and has extras of its own
        let lengths = [26, 28].map(|i| u16_at(bytes, self.at.saturating_add(i)).map(usize::from));
        let packed = match lengths {
            [Some(a), Some(b)] if bytes[self.at..].starts_with(b"PK\x03\x04") => {
                let start = self.at + 30 + a + b;
                bytes.get(start..start.saturating_add(self.packed))
            }
            _ => None,
        };
        let Some(packed) = packed else { return fault(format!("`{name}` is cut short")) };
        let data: Cow<'_, [u8]> = match self.method {
            0 => packed.into(),
            8 => match decompress_to_vec_with_limit(packed, self.size) {
                Ok(data) => data.into(),
                Err(_) => return fault(format!("`{name}` cannot be unpacked")),
            },
            other => {
                return fault(format!("`{name}` is packed by method {other}; stored and deflated members are read"));
            }
        };
        if data.len() != self.size || checksum(&data) != self.checksum {
            return fault(format!("`{name}` is damaged: its checksum differs"));
        }
        Ok(data)
    }
}

/// The checksum of ZIP, bit by bit over a table of bytes.
fn checksum(bytes: &[u8]) -> u32 {
    let mut table = [0u32; 256];
    for (i, entry) in table.iter_mut().enumerate() {
        *entry = (0..8).fold(i as u32, |c, _| if c & 1 == 1 { c >> 1 ^ 0xedb8_8320 } else { c >> 1 });
    }
    !bytes.iter().fold(u32::MAX, |c, &b| table[(c as u8 ^ b) as usize] ^ c >> 8)
}
