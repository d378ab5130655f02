//! Samples: no bytes make a reader panic, what is read has the size that was asked for, and tables and pictures that are written again read the same.
#![no_main]

use crease_formats::Point;
use crease_formats::samples::{Picture, Sample, read_csv, read_npy, read_npz, read_png};
use libfuzzer_sys::fuzz_target;
use miniz_oxide::deflate::compress_to_vec_zlib;

/// A picture of these lines. Bytes at random do not unpack; these do.
fn packed(header: &[u8], palette: &[u8], lines: &[u8]) -> Vec<u8> {
    let mut out = b"\x89PNG\r\n\x1a\n".to_vec();
    let mut chunk = |name: &[u8], data: &[u8]| {
        out.extend((data.len() as u32).to_be_bytes());
        out.extend(name);
        out.extend(data);
        out.extend([0; 4]);
    };
    chunk(b"IHDR", header);
    chunk(b"PLTE", palette);
    chunk(b"IDAT", &compress_to_vec_zlib(lines, 1));
    chunk(b"IEND", &[]);
    out
}

/// The same picture without filters or a palette.
fn written(p: &Picture) -> Vec<u8> {
    let wide = p.most == u16::MAX;
    let size = [(p.width as u32).to_be_bytes(), (p.height as u32).to_be_bytes()].concat();
    let kind = [if wide { 16 } else { 8 }, if p.channels == 3 { 2 } else { 0 }, 0, 0, 0];
    let mut lines = Vec::new();
    for line in p.data.chunks(p.width * p.channels) {
        lines.push(0);
        line.iter().for_each(|x| lines.extend(&x.to_be_bytes()[usize::from(!wide)..]));
    }
    packed(&[&size[..], &kind].concat(), &[], &lines)
}

fn picture(bytes: &[u8]) {
    let Ok(p) = read_png(bytes) else { return };
    assert_eq!(p.data.len(), p.width * p.height * p.channels);
    assert!(matches!((p.channels, p.most), (1 | 3, 255 | 65535)) && p.data.iter().all(|&x| x <= p.most));
    if p.data.len() < 1 << 12 {
        assert_eq!(read_png(&written(&p)).as_ref(), Ok(&p));
    }
}

fn table(samples: &[Sample]) -> String {
    let line = |s: &Sample| {
        let label = s.label.map(|l| l.to_string());
        label.into_iter().chain(s.numbers.iter().map(|x| x.fraction())).collect::<Vec<_>>().join(",") + "\n"
    };
    samples.iter().map(line).collect()
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let want = usize::from(first % 16) + 1;
    let right = |samples: &[Sample]| !samples.is_empty() && samples.iter().all(|s| s.numbers.len() == want);
    if let Ok(samples) = read_npy(bytes, want) {
        assert!(right(&samples));
        let whole = Point::from_npy(bytes, "it").expect("its rows are those of an array");
        let labels = samples.iter().filter(|s| s.label.is_some()).count();
        assert_eq!(whole.get("it").map(|(shape, _)| shape.len()), Some(samples.len() * want + labels));
    }
    if let Ok(samples) = read_npz(bytes, want) {
        assert!(right(&samples));
    }
    if let Ok(text) = std::str::from_utf8(bytes)
        && let Ok(samples) = read_csv(text, want)
    {
        assert!(right(&samples));
        let again = read_csv(&table(&samples), want).expect("a table that was written reads again");
        let parts = |all: &[Sample]| all.iter().map(|s| (s.label, s.numbers.clone())).collect::<Vec<_>>();
        assert_eq!(parts(&again), parts(&samples));
    }
    picture(bytes);
    // a small picture that unpacks: its size, bits and kind, then a palette of three colours, then lines
    if let Some((&[width, height, bits, kind, colours @ ..], lines)) = bytes.split_first_chunk::<13>() {
        let header = [0, 0, 0, width, 0, 0, 0, height, bits, kind, 0, 0, 0];
        picture(&packed(&header, &colours, lines));
    }
});
