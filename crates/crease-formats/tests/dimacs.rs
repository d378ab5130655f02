//! The DIMACS reader: what it accepts, what it says about the rest, and that nothing makes it panic.

use crease_core::random::SplitMix64;
use crease_formats::dimacs::{Cnf, DimacsFault, parse_dimacs};
use insta::assert_snapshot;
use std::path::Path;

fn read(text: &str) -> Cnf {
    parse_dimacs(text.as_bytes()).unwrap_or_else(|e| panic!("{text:?}: {e}"))
}

fn rendered(bytes: &[u8]) -> String {
    parse_dimacs(bytes).unwrap_err().render(bytes, "f.cnf")
}

/// Line and column, message and help, in one line.
fn brief(bytes: &[u8]) -> String {
    parse_dimacs(bytes).unwrap_err().to_string()
}

#[test]
fn clauses_may_be_spread_over_lines_and_share_them() {
    let want = Cnf { variables: 3, clauses: vec![vec![1, -2, 3], vec![-1], vec![2, 3]] };
    for text in [
        "p cnf 3 3\n1 -2 3 0\n-1 0\n2 3 0\n",
        "p cnf 3 3\n1 -2 3 0 -1 0 2 3 0",
        "c first\n\n  p   cnf\t3  3 \n1\n-2\n\n3\n0\n-1 0\n2 3\n0\n",
        "c\np cnf 3 3\r\n1 -2\r\nc in the middle of a clause\r\n3 0\r\n-1 0\r\n2 3 0\r\n",
        "p cnf 3 3\n1 -2 3 0\n-1 0\n2 3 0\n%\n0\n\n",
        "p cnf 3 3\n1 -2 3 0\n-1 0\n2 3 0\n%\nc a comment\n",
        "p cnf 3 3\n 1 -2 3 0\n-1 0\n2 3 0\n  %  0  ",
        "\u{feff}p cnf 3 3\n1 -2 3 0\n-1 0\n2 3 0\n",
        "cnf is no header but a comment, too\np cnf 3 3\n1 -2 3 0\n-1 0\n2 3 0\n",
    ] {
        assert_eq!(read(text), want, "{text:?}");
    }
}

#[test]
fn nothing_is_tidied_up() {
    let cnf = read("p cnf 2 5\n0\n1 1 0\n2 -2 0\n1 1 0 0\n");
    assert_eq!(cnf.clauses, [vec![], vec![1, 1], vec![2, -2], vec![1, 1], vec![]]);
    assert_eq!(read("p cnf 0 0\n"), Cnf::default());
    assert_eq!(read("p cnf 7 0"), Cnf { variables: 7, clauses: vec![] });
    assert_eq!(read("p cnf 0 2\n0 0"), Cnf { variables: 0, clauses: vec![vec![], vec![]] });
}

#[test]
fn comments_may_be_in_any_encoding() {
    let cnf = parse_dimacs(b"c J\xf6rg's formula\np cnf 1 1\nc \xff\xfe\x00\n1 0\n").unwrap();
    assert_eq!(cnf.clauses, [[1]]);
}

#[test]
fn faults_are_shown_in_their_line() {
    assert_snapshot!(rendered(b"c a formula\np cnf 3 2\n1 -2 0\n3 x 0\n"), @r"
    error: `x` is no literal
     --> f.cnf:4:3
      |
    4 | 3 x 0
      |   ^
      = help: a clause is a list of numbers such as 1 -2 0; comments begin with c
    ");
    assert_snapshot!(rendered(b"c \xff\xff\np cnf 3 2\r\n  1 -2 -4 0\r\n"), @r"
    error: -4 is no literal here: the variables are numbered from 1 to 3
     --> f.cnf:3:8
      |
    3 |   1 -2 -4 0
      |        ^^
    ");
    assert_snapshot!(rendered(b"p cnf 3 4\n1 0 2 0 3 0\n"), @r"
    error: the header announces 4 clauses, but the file has 3
     --> f.cnf:1:9
      |
    1 | p cnf 3 4
      |         ^
      = help: every 0 ends a clause; correct the number, or see whether the file is whole
    ");
    assert_snapshot!(rendered(b"p cnf 3 1\n1 \xe9 0\n"), @r"
    error: the byte 0xe9 is no part of UTF-8 text
     --> f.cnf:2:3
      |
    2 | 1 � 0
      |   ^
      = help: only comments may hold other bytes
    ");
    assert_snapshot!(rendered(b""), @r"
    error: the file has no header
     --> f.cnf:1:1
      |
    1 |
      | ^
      = help: write p cnf VARIABLES CLAUSES, such as p cnf 3 2
    ");
}

#[test]
fn every_fault_has_its_place() {
    let cases: &[&[u8]] = &[
        b"c nothing\n\n",
        b"1 2 0\np cnf 2 1\n",
        b"%\n0\n",
        b"p cnf 2 1\n1 2 0\np cnf 2 1\n",
        b"p cnf 2 1\n1 p 2 0\n",
        b"p\n",
        b"p cnf\n",
        b"p cnf 3\n",
        b"p cnf 3 2 1\n",
        b"p wcnf 3 2 10\n",
        b"pcnf 3 2\n",
        b"p cnf -3 2\n",
        b"p cnf 3 2.5\n",
        b"p cnf three 2\n",
        b"p cnf 99999999999 1\n1 0\n",
        b"p cnf 123456789012345678901234567890 1\n",
        b"p cnf 3 99999999999\n1 0\n",
        b"p cnf 3 99999999999999999999999\n1 0\n",
        b"p cnf 3 1\n1 0 2 0\n",
        b"p cnf 0 1\n1 0\n",
        b"p cnf 1 1\n-2 0\n",
        b"p cnf 3 1\n1 99999999999 0\n",
        b"p cnf 3 1\n-2147483648 0\n",
        b"p cnf 3 1\n1 -0\n",
        b"p cnf 3 1\n1 - 0\n",
        b"p cnf 3 1\n1 +2 0\n",
        b"p cnf 3 1\n1 2.0 0\n",
        b"p cnf 3 1\n1 2\x1b[31m 0\n",
        b"p cnf 3 2\n1 0\n2\n3\n",
        b"p cnf 3 1\n1 2\n%\n0\n",
        b"p cnf 3 1\n1 2 0\n%\n0\n0\n",
        b"p cnf 3 1\n1 2 0\n%\n0 0\n",
        b"p cnf 3 1\n1 2 0\n% 1\n",
        b"p cnf 3 1\n1 2 0\n%0\n",
        b"p cnf 3 1\n1 2 0\n%\n3 0\n",
        b"p \xff cnf\n",
        b"p cnf 3 1\n1 2 0\n%\n\xff\n",
    ];
    let lines: Vec<String> = cases.iter().map(|c| brief(c)).collect();
    assert_snapshot!(lines.join("\n"), @r"
    line 3, column 1: the file has no header (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 1: a clause before the header (the first line that is no comment must be p cnf VARIABLES CLAUSES)
    line 1, column 1: the file has no header (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 3, column 1: a second header; the first one is at line 1
    line 2, column 3: `p` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 1, column 1: this is no header: the format and two numbers are missing (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 1: this is no header: cnf is followed by two numbers, not by 0 (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 1: this is no header: cnf is followed by two numbers, not by 1 (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 1: this is no header: cnf is followed by two numbers, not by 3 (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 3: this is no header: the format is `wcnf`, and only cnf can be read (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 1: this is no header: it begins with `pcnf` (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 7: this is no header: `-3` is no number of variables (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 9: this is no header: `2.5` is no number of clauses (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 7: this is no header: `three` is no number of variables (write p cnf VARIABLES CLAUSES, such as p cnf 3 2)
    line 1, column 7: 99999999999 variables are more than can be read; there may be at most 2147483647
    line 1, column 7: 123456789012345678901234567890 variables are more than can be read; there may be at most 2147483647
    line 1, column 9: the header announces 99999999999 clauses, but the file has 1 (every 0 ends a clause; correct the number, or see whether the file is whole)
    line 1, column 9: 99999999999999999999999 clauses are more than can be counted
    line 1, column 9: the header announces 1 clause, but the file has 2 (every 0 ends a clause; correct the number, or see whether the file is whole)
    line 2, column 1: 1 is no literal here: there are no variables
    line 2, column 1: -2 is no literal here: the only variable is 1
    line 2, column 3: 99999999999 is no literal here: the variables are numbered from 1 to 3
    line 2, column 1: -2147483648 is no literal here: the variables are numbered from 1 to 3
    line 2, column 3: `-0` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 2, column 3: `-` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 2, column 3: `+2` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 2, column 3: `2.0` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 2, column 3: `2�[31m` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 3, column 1: this clause does not end (end it with a 0)
    line 2, column 1: this clause does not end (end it with a 0)
    line 5, column 1: `0` after the end of the formula, which the % at line 3 marks (only one 0 and comments may follow it)
    line 4, column 3: `0` after the end of the formula, which the % at line 3 marks (only one 0 and comments may follow it)
    line 3, column 3: `1` after the end of the formula, which the % at line 3 marks (only one 0 and comments may follow it)
    line 3, column 1: `%0` is no literal (a clause is a list of numbers such as 1 -2 0; comments begin with c)
    line 4, column 1: `3` after the end of the formula, which the % at line 3 marks (only one 0 and comments may follow it)
    line 1, column 3: the byte 0xff is no part of UTF-8 text (only comments may hold other bytes)
    line 4, column 1: the byte 0xff is no part of UTF-8 text (only comments may hold other bytes)
    ");
}

#[test]
fn long_words_are_cut_in_messages() {
    let text = format!("p cnf 3 1\n{} 0\n", "9".repeat(100_000));
    let shown = rendered(text.as_bytes());
    assert!(shown.len() < 600 && shown.contains("…"), "{shown}");
}

#[test]
fn printing_and_reading_are_inverse() {
    let mut random = SplitMix64::new(4);
    for _ in 0..500 {
        let variables = random.below(9) as usize;
        let clause = |random: &mut SplitMix64| -> Vec<i32> {
            let literal = |random: &mut SplitMix64| {
                let variable = 1 + random.below(variables as u64) as i32;
                if random.below(2) == 0 { variable } else { -variable }
            };
            let length = if variables == 0 { 0 } else { random.below(6) };
            (0..length).map(|_| literal(random)).collect()
        };
        let clauses = (0..random.below(8)).map(|_| clause(&mut random)).collect();
        let cnf = Cnf { variables, clauses };
        cnf.verify().unwrap();
        assert_eq!(read(&cnf.to_string()), cnf);
    }
}

#[test]
fn models_are_checked_clause_by_clause() {
    let cnf = read("p cnf 3 3\n1 2 0\n-1 3 0\n-2 -3 0\n");
    let all = (0..8).map(|bits| [bits & 1 == 1, bits & 2 == 2, bits & 4 == 4]);
    for [a, b, c] in all {
        let clauses = [a || b, !a || c, !(b && c)];
        let first = clauses.iter().position(|holds| !holds);
        assert_eq!(cnf.satisfied_by(&[a, b, c]).err(), first);
    }
    // what a model does not say is not true, and numbers that are no literals are no reason to panic
    assert_eq!(cnf.satisfied_by(&[]), Err(0));
    assert_eq!(cnf.satisfied_by(&[true]), Err(1));
    assert_eq!(Cnf { variables: 1, clauses: vec![vec![0, i32::MIN]] }.satisfied_by(&[true]), Err(0));
    assert!(Cnf { variables: 1, clauses: vec![vec![1, i32::MIN]] }.verify().is_err());
}

#[test]
fn mutated_files_never_panic() {
    let seed = b"c a comment\np cnf 12 5\n1 -2 3 0\n-4 5\nc between\n-6 0\n7 -8 9 10 0\n-11 0\n12 -12 0\n%\n0\n";
    assert!(parse_dimacs(seed).is_ok());
    let pool = b"\n\r\t c%p0123456789-+x.\x00\xff\xc3\xa9\xe2\x82";
    let mut random = SplitMix64::new(11);
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let mut bytes = seed.to_vec();
        for _ in 0..1 + random.below(5) {
            let at = random.below(bytes.len() as u64 + 1) as usize;
            let byte = pool[random.below(pool.len() as u64) as usize];
            match random.below(5) {
                0 if at < bytes.len() => drop(bytes.remove(at)),
                1 if at < bytes.len() => bytes[at] = byte,
                2 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
                3 => bytes.truncate(at),
                _ => bytes.insert(at, byte),
            }
        }
        match parse_dimacs(&bytes) {
            Ok(cnf) => {
                read += 1;
                cnf.verify().unwrap();
                assert_eq!(parse_dimacs(cnf.to_string().as_bytes()), Ok(cnf));
            }
            Err(e) => {
                refused += 1;
                let shown = e.render(&bytes, "f.cnf");
                assert!(shown.contains(&format!("f.cnf:{}:{}", e.line, e.column)), "{e:?}\n{shown}");
                assert!(!shown.contains('\u{1b}') && shown.contains('^'), "{shown}");
            }
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}

#[test]
fn a_header_does_not_reserve_memory() {
    let error = parse_dimacs(b"p cnf 2147483647 18446744073709551615\n1 0\n").unwrap_err();
    assert_eq!(error.fault, DimacsFault::Clauses { announced: usize::MAX, found: 1 });
}

#[test]
fn public_formulas_have_the_announced_sizes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/cnf");
    let Ok(expected) = std::fs::read_to_string(folder.join("EXPECTED.tsv")) else {
        println!("skipped: there is no ../shared/data/cnf beside the workspace");
        return;
    };
    let mut files = 0;
    for line in expected.lines().skip(1) {
        let fields: Vec<&str> = line.split('\t').collect();
        let bytes = std::fs::read(folder.join(fields[0])).unwrap();
        let cnf = parse_dimacs(&bytes).unwrap_or_else(|e| panic!("{}", e.render(&bytes, fields[0])));
        let found = [cnf.variables, cnf.clauses.len()].map(|n| n.to_string());
        assert_eq!(found[..], fields[1..3], "{}", fields[0]);
        assert_eq!(parse_dimacs(cnf.to_string().as_bytes()), Ok(cnf), "{}", fields[0]);
        files += 1;
    }
    assert!(files >= 50, "{files}");
}
