//! Pictures in PNG: grey or coloured, 1 to 16 bits, with a palette or without, not interlaced.
//!
//! Bytes enter, numbers of pixels leave. What a picture unpacks to follows from its size and is limited to [`LARGEST`] bytes and [`MOST`] numbers; checksums of chunks are not compared, that of the data is.

use super::SampleError;
use miniz_oxide::inflate::decompress_to_vec_zlib_with_limit;

/// The most bytes of an unpacked picture.
const LARGEST: usize = 1 << 28;

/// The most numbers of a picture, which is the most that one value may have. A byte holds up to eight pixels, and a pixel is up to three numbers.
const MOST: usize = 1 << 27;

/// The pixels of a picture, row by row, the channels of a pixel together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    /// The number of columns.
    pub width: usize,
    /// The number of rows.
    pub height: usize,
    /// 1 if it is grey, 3 if it has colours. Transparency is left out.
    pub channels: usize,
    /// The numbers, from 0 to `most`.
    pub data: Vec<u16>,
    /// 255, or 65535 for a picture of 16 bits.
    pub most: u16,
}

fn fault<T>(why: impl Into<String>) -> Result<T, SampleError> {
    Err(SampleError::Png(why.into()))
}

/// Reads a picture.
///
/// ```
/// let error = crease_formats::samples::read_png(b"GIF89a").unwrap_err();
/// assert_eq!(error.to_string(), "it is no PNG picture that can be read: it does not begin as one");
/// ```
pub fn read_png(bytes: &[u8]) -> Result<Picture, SampleError> {
    let Some(mut rest) = bytes.strip_prefix(b"\x89PNG\r\n\x1a\n") else { return fault("it does not begin as one") };
    let (mut header, mut palette, mut packed) = (None, Vec::new(), Vec::new());
    loop {
        let Some((head, after)) = rest.split_first_chunk::<8>() else { return fault("it is cut short") };
        let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
        // a checksum of four bytes follows
        let Some(data) = after.get(..length).filter(|_| after.len() >= length + 4) else {
            return fault("it is cut short");
        };
        match &head[4..] {
            b"IHDR" => header = Some(Header::read(data)?),
            b"PLTE" => palette = data.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect(),
            b"IDAT" => packed.extend_from_slice(data),
            b"IEND" => break,
            _ => {}
        }
        rest = &after[length + 4..];
    }
    let Some(header) = header else { return fault("it has no header") };
    header.pixels(&packed, &palette)
}

struct Header {
    width: usize,
    height: usize,
    bits: usize,
    /// Of a pixel as it is stored.
    channels: usize,
    palette: bool,
}

impl Header {
    fn read(data: &[u8]) -> Result<Header, SampleError> {
        let &[a, b, c, d, e, f, g, h, bits, kind, 0, 0, interlaced] = data else {
            return fault("its header is none that is known");
        };
        let (width, height) = (u32::from_be_bytes([a, b, c, d]) as usize, u32::from_be_bytes([e, f, g, h]) as usize);
        if interlaced != 0 {
            return fault("it is interlaced; save it without");
        }
        let channels = match (kind, bits) {
            (0, 1 | 2 | 4 | 8 | 16) | (3, 1 | 2 | 4 | 8) => 1,
            (2, 8 | 16) => 3,
            (4, 8 | 16) => 2,
            (6, 8 | 16) => 4,
            _ => return fault(format!("{bits} bits of kind {kind} are none that is known")),
        };
        if width == 0 || height == 0 {
            return fault("it has no pixels");
        }
        Ok(Header { width, height, bits: bits.into(), channels, palette: kind == 3 })
    }

    fn pixels(&self, packed: &[u8], palette: &[[u8; 3]]) -> Result<Picture, SampleError> {
        let (bits, stored) = (self.bits, self.channels);
        let line = self.width.checked_mul(bits * stored).map(|n| n.div_ceil(8));
        let size = line.and_then(|n| n.checked_add(1)?.checked_mul(self.height)).filter(|&n| n <= LARGEST);
        let (Some(line), Some(size)) = (line, size) else { return fault("it has more than 2^28 bytes of pixels") };
        let channels = if self.palette { 3 } else { stored - usize::from(stored % 2 == 0) };
        let numbers = self.width.checked_mul(self.height).and_then(|n| n.checked_mul(channels));
        if numbers.is_none_or(|n| n > MOST) {
            return fault("it has more than 2^27 numbers");
        }
        let Ok(data) = decompress_to_vec_zlib_with_limit(packed, size) else {
            return fault("its pixels do not unpack");
        };
        if data.len() != size {
            return fault("it has fewer pixels than it says");
        }
        let step = (bits * stored).div_ceil(8);
        let mut above = vec![0u8; line];
        let mut out = Vec::with_capacity(self.width * self.height * channels);
        let most = if bits == 16 { u16::MAX } else { 255 };
        for row in data.chunks_exact(line + 1) {
            let mut now = row[1..].to_vec();
            unfilter(row[0], &mut now, &above, step)?;
            for i in 0..self.width * stored {
                let value = match bits {
                    16 => u16::from_be_bytes([now[2 * i], now[2 * i + 1]]),
                    8 => now[i].into(),
                    _ => {
                        let place = i * bits;
                        let small = u16::from(now[place / 8] >> (8 - bits - place % 8)) & ((1 << bits) - 1);
                        if self.palette { small } else { small * 255 / ((1 << bits) - 1) }
                    }
                };
                match (self.palette, i % stored) {
                    (true, _) => {
                        let Some(colour) = palette.get(usize::from(value)) else {
                            return fault("a pixel has a colour that its palette has not");
                        };
                        out.extend(colour.map(u16::from));
                    }
                    // transparency comes last
                    (false, k) if stored % 2 == 0 && k + 1 == stored => {}
                    (false, _) => out.push(value),
                }
            }
            above = now;
        }
        Ok(Picture { width: self.width, height: self.height, channels, data: out, most })
    }
}

/// Undoes what a line was filtered by.
fn unfilter(kind: u8, now: &mut [u8], above: &[u8], step: usize) -> Result<(), SampleError> {
    for i in 0..now.len() {
        let left = if i >= step { now[i - step] } else { 0 };
        let corner = if i >= step { above[i - step] } else { 0 };
        let guess = match kind {
            0 => 0,
            1 => left,
            2 => above[i],
            3 => ((u16::from(left) + u16::from(above[i])) / 2) as u8,
            4 => {
                let (a, b, c) = (i16::from(left), i16::from(above[i]), i16::from(corner));
                let (pa, pb, pc) = ((b - c).abs(), (a - c).abs(), (a + b - 2 * c).abs());
                if pa <= pb && pa <= pc {
                    left
                } else if pb <= pc {
                    above[i]
                } else {
                    corner
                }
            }
            _ => return fault(format!("a line is filtered in a way that is not known: {kind}")),
        };
        now[i] = now[i].wrapping_add(guess);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use miniz_oxide::deflate::compress_to_vec_zlib;

    fn png(width: u32, height: u32, bits: u8, kind: u8, palette: &[u8], rows: &[u8]) -> Vec<u8> {
        let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
        let mut chunk = |name: &[u8], data: &[u8]| {
            out.extend((data.len() as u32).to_be_bytes());
            out.extend(name);
            out.extend(data);
            out.extend([0; 4]);
        };
        let size = [width.to_be_bytes(), height.to_be_bytes()].concat();
        chunk(b"IHDR", &[&size[..], &[bits, kind, 0, 0, 0]].concat());
        chunk(b"PLTE", palette);
        chunk(b"IDAT", &compress_to_vec_zlib(rows, 6));
        chunk(b"IEND", &[]);
        out
    }

    #[test]
    fn every_kind_of_pixel() {
        // filters: none, left, above, mean, Paeth; worked out by hand
        let rows = [0, 10, 20, 1, 10, 5, 2, 1, 2, 3, 1, 1, 4, 1, 1];
        let p = read_png(&png(2, 5, 8, 0, &[], &rows)).unwrap();
        assert_eq!((p.channels, p.most), (1, 255));
        assert_eq!(p.data, [10, 20, 10, 15, 11, 17, 6, 12, 7, 13]);
        let p = read_png(&png(3, 1, 2, 0, &[], &[0, 0b00_01_11_00])).unwrap();
        assert_eq!(p.data, [0, 85, 255]);
        let p = read_png(&png(2, 1, 1, 3, &[1, 2, 3, 4, 5, 6], &[0, 0b10_000000])).unwrap();
        assert_eq!((p.channels, &p.data[..]), (3, &[4, 5, 6, 1, 2, 3][..]));
        let p = read_png(&png(1, 1, 16, 2, &[], &[0, 1, 0, 0, 2, 255, 255])).unwrap();
        assert_eq!((p.most, &p.data[..]), (65535, &[256, 2, 65535][..]));
        let p = read_png(&png(1, 2, 8, 4, &[], &[0, 7, 255, 0, 9, 0])).unwrap();
        assert_eq!((p.channels, &p.data[..]), (1, &[7, 9][..]));
        let p = read_png(&png(1, 1, 8, 6, &[], &[0, 7, 8, 9, 128])).unwrap();
        assert_eq!((p.channels, &p.data[..]), (3, &[7, 8, 9][..]));
    }

    #[test]
    fn what_is_wrong_is_said() {
        let told = |bytes: &[u8]| read_png(bytes).unwrap_err().to_string();
        let good = png(2, 1, 8, 0, &[], &[0, 1, 2]);
        for n in 0..good.len() - 12 {
            assert!(told(&good[..n]).starts_with("it is no PNG picture"), "{n}");
        }
        assert!(told(&png(2, 1, 8, 0, &[], &[0, 1])).contains("fewer pixels"));
        assert!(told(&png(2, 1, 8, 0, &[], &[0, 1, 2, 3, 4])).contains("do not unpack"));
        assert!(told(&png(2, 1, 8, 0, &[], &[9, 1, 2])).contains("not known: 9"));
        assert!(told(&png(u32::MAX, u32::MAX, 16, 6, &[], &[0])).contains("2^28"));
        // few bytes, but a pixel for each of their bits, and three numbers for each pixel
        assert!(told(&png(1 << 16, 1 << 14, 1, 3, &[0; 6], &[0])).contains("2^27 numbers"));
        assert!(told(&png(0, 1, 8, 0, &[], &[0])).contains("no pixels"));
        assert!(told(&png(1, 1, 8, 3, &[], &[0, 4])).contains("palette"));
        assert!(told(&png(1, 1, 3, 0, &[], &[0, 4])).contains("3 bits"));
    }
}
