//! Archives of arrays: stored, deflated, damaged.

use crease_formats::Point;
use miniz_oxide::deflate::compress_to_vec;

fn npy(shape: &str, numbers: &[f64]) -> Vec<u8> {
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    let head = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}");
    bytes.extend(format!("{head:<117}\n").bytes());
    bytes.extend(numbers.iter().flat_map(|x| x.to_le_bytes()));
    bytes
}

fn checksum(data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for &b in data {
        crc ^= u32::from(b);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
        }
    }
    !crc
}

/// An archive as NumPy writes it: names, data, whether deflated.
fn archive(members: &[(&str, Vec<u8>, bool)]) -> Vec<u8> {
    let (mut body, mut directory) = (Vec::new(), Vec::new());
    for (name, data, deflated) in members {
        let packed = if *deflated { compress_to_vec(data, 6) } else { data.clone() };
        let method = if *deflated { 8u16 } else { 0 }.to_le_bytes();
        let sizes = [checksum(data), packed.len() as u32, data.len() as u32].map(u32::to_le_bytes).concat();
        let length = (name.len() as u16).to_le_bytes();
        let start = (body.len() as u32).to_le_bytes();
        // an extra field before the data, which the directory does not have
        body.extend(
            [&b"PK\x03\x04\x2d\0\0\0"[..], &method, &[0; 4], &sizes, &length, &[4, 0], name.as_bytes(), &[1, 0, 0, 0]]
                .concat(),
        );
        body.extend(packed);
        directory.extend(
            [&b"PK\x01\x02\x2d\0\x2d\0\0\0"[..], &method, &[0; 4], &sizes, &length, &[0; 12], &start, name.as_bytes()]
                .concat(),
        );
    }
    let (count, at) = ((members.len() as u16).to_le_bytes(), (body.len() as u32).to_le_bytes());
    let size = (directory.len() as u32).to_le_bytes();
    [&body[..], &directory, b"PK\x05\x06\0\0\0\0", &count, &count, &size, &at, &[3, 0], b"end"].concat()
}

fn two() -> Vec<u8> {
    let many: Vec<f64> = (0..1000).map(f64::from).collect();
    archive(&[("x.npy", npy("(2, 2)", &[1.0, 0.5, -3.0, 0.1]), false), ("a/b:0.npy", npy("(1000,)", &many), true)])
}

#[test]
fn members_are_values_by_their_names() {
    let point = Point::from_npz(&two()).unwrap();
    assert_eq!(point.iter().map(|(name, _, _)| name).collect::<Vec<_>>(), ["x", "a/b:0"]);
    assert_eq!(point.shape_of("x").unwrap().dims(), [2, 2]);
    assert_eq!(point.get("a/b:0").unwrap().1[999].to_string(), "999");
    assert_eq!(Point::from_npz(&archive(&[])).unwrap().iter().len(), 0);
}

#[test]
fn damaged_archives_are_refused() {
    let whole = two();
    let message = |bytes: &[u8]| Point::from_npz(bytes).unwrap_err().to_string();
    assert!(message(b"").contains("no ZIP archive"));
    let mut changed = whole.clone();
    changed[60] ^= 4;
    assert!(message(&changed).contains("checksum"), "{}", message(&changed));
    let twice = archive(&[("x", npy("(1,)", &[1.0]), false), ("x.npy", npy("(1,)", &[1.0]), false)]);
    assert!(message(&twice).contains("given twice"));
    assert!(message(&archive(&[("x.txt", b"no array".to_vec(), true)])).contains("NPY"));
    for end in 0..whole.len() {
        let _ = Point::from_npz(&whole[..end]);
    }
    let mut state = 1u64;
    for _ in 0..4000 {
        let mut bytes = whole.clone();
        for _ in 0..2 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = (state >> 33) as usize % bytes.len();
            bytes[at] = (state >> 20) as u8;
        }
        let _ = Point::from_npz(&bytes);
    }
}

#[test]
fn a_member_cannot_unpack_to_more_than_it_says() {
    let zeros = vec![0u8; 1 << 22];
    let mut bytes = archive(&[("x.npy", zeros, true)]);
    // the directory says ten bytes
    let at = bytes.windows(4).rposition(|w| w == b"PK\x01\x02").unwrap();
    bytes[at + 24..at + 28].copy_from_slice(&10u32.to_le_bytes());
    assert!(Point::from_npz(&bytes).unwrap_err().to_string().contains("cannot be unpacked"));
}
