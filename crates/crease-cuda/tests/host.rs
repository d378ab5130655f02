//! The text of kernels, compiled for the processor and compared with the interpreter: every operation, every form, without a device.

mod battery;

use battery::{Trial, trials};
use crease_cuda::{Precision, Real};
use std::fmt::Write as _;
use std::path::Path;
use std::process::Command;

/// A C program that runs all trials: numbers in from one file, out into another.
fn source<T: Real>(all: &[Trial<T>]) -> String {
    let prelude = crease_cuda::prelude(T::PRECISION);
    let mut c = String::from("#include <stdio.h>\n#include <stdlib.h>\n");
    c.push_str(&prelude);
    let mut main = String::from(
        "int main(int n, char **names) {\n  FILE *in = fopen(names[1], \"rb\"), *out = fopen(names[2], \"wb\");\n",
    );
    for (i, t) in all.iter().enumerate() {
        let kernel = t.plan.source().split_once(prelude.as_str()).unwrap().1;
        c.push_str(&kernel.replace("crease_kernel", &format!("k{i}")));
        let (rows, common, results) = (t.plan.rows().max(1), t.plan.common().max(1), t.plan.results());
        let _ = writeln!(main, "  trial(in, out, k{i}, {rows}, {common}, {results}, {});", t.points);
    }
    c.push_str(
        "typedef void Kernel(const REAL *, const REAL *, REAL *, long long, long long, long long, unsigned long long *, double *);
static void trial(FILE *in, FILE *out, Kernel *kernel, long long rows, long long common, long long results, long long points) {
  REAL *x = calloc(rows * points, sizeof(REAL)), *shared = calloc(common, sizeof(REAL)), *y = malloc(results * points * sizeof(REAL));
  unsigned long long bad = ~0ull;
  double sums[64] = {0};
  if (fread(x, sizeof(REAL), rows * points, in) != (size_t)(rows * points)) abort();
  if (fread(shared, sizeof(REAL), common, in) != (size_t)common) abort();
  for (long long i = 0; i < results * points; i++) y[i] = 12345;
  for (one_thread = 0; one_thread < points; one_thread++) kernel(x, shared, y, points, points, points, &bad, sums);
  fwrite(y, sizeof(REAL), results * points, out);
  fwrite(&bad, 8, 1, out);
}
",
    );
    c + &main + "  return fclose(out);\n}\n"
}

/// Inputs as kernels want them: one number of all points side by side, then what all share.
fn laid_out<T: Real>(t: &Trial<T>) -> (Vec<T>, Vec<T>) {
    let (mut rows, mut common) = (Vec::new(), Vec::new());
    for (list, &(len, shared)) in t.inputs.iter().zip(t.plan.inputs()) {
        if shared {
            common.extend_from_slice(list);
        } else {
            (0..len).for_each(|k| rows.extend((0..t.points).map(|p| list[p * len + k])));
        }
    }
    if rows.is_empty() {
        rows.resize(t.points, T::from_f64(0.0));
    }
    if common.is_empty() {
        common.push(T::from_f64(0.0));
    }
    (rows, common)
}

fn bytes<T: Real>(x: T) -> Vec<u8> {
    match T::PRECISION {
        Precision::Single => (x.to_f64() as f32).to_le_bytes().to_vec(),
        Precision::Double => x.to_f64().to_le_bytes().to_vec(),
    }
}

fn on_the_processor<T: Real>(sizes: &[usize], random: usize) {
    let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("host-{}", T::PRECISION.bytes()));
    std::fs::create_dir_all(&dir).unwrap();
    let all = trials::<T>(sizes, random);
    std::fs::write(dir.join("kernels.c"), source(&all)).unwrap();
    let built = Command::new("cc")
        .args(["-O0", "-std=gnu99", "-ffp-contract=off", "-fno-builtin", "-w", "-o", "kernels", "kernels.c", "-lm"])
        .current_dir(&dir)
        .output();
    let Ok(built) = built else {
        eprintln!("skipped: there is no C compiler `cc`, with which kernels are tested on the processor");
        return;
    };
    assert!(built.status.success(), "{}", String::from_utf8_lossy(&built.stderr));
    let mut given = Vec::new();
    for t in &all {
        let (rows, common) = laid_out(t);
        rows.into_iter().chain(common).for_each(|x| given.extend(bytes(x)));
    }
    std::fs::write(dir.join("in"), given).unwrap();
    let ran = Command::new("./kernels").args(["in", "out"]).current_dir(&dir).status().unwrap();
    assert!(ran.success());
    let found = std::fs::read(dir.join("out")).unwrap();
    let mut at = 0;
    let mut faults = Vec::new();
    for t in &all {
        let size = T::PRECISION.bytes();
        let numbers: Vec<T> = found[at..][..t.plan.results() * t.points * size]
            .chunks_exact(size)
            .map(|b| match T::PRECISION {
                Precision::Single => T::from_f64(f64::from(f32::from_le_bytes(b.try_into().unwrap()))),
                Precision::Double => T::from_f64(f64::from_le_bytes(b.try_into().unwrap())),
            })
            .collect();
        at += numbers.len() * size;
        let bad = u64::from_le_bytes(found[at..][..8].try_into().unwrap());
        at += 8;
        let mut row = 0;
        let mut outputs = Vec::new();
        for &len in t.plan.outputs() {
            let part = &numbers[row * t.points..][..len * t.points];
            outputs.push((0..len * t.points).map(|i| part[i % len * t.points + i / len]).collect());
            row += len;
        }
        faults.extend(t.check(&outputs, usize::try_from(bad).ok()).err());
    }
    assert_eq!(at, found.len());
    assert!(faults.is_empty(), "{} of {}:\n{}", faults.len(), all.len(), faults.join("\n"));
}

#[test]
fn kernels_in_double_precision_say_what_the_interpreter_says() {
    on_the_processor::<f64>(&[3], 10);
}

#[test]
fn kernels_in_single_precision_say_what_the_interpreter_says() {
    on_the_processor::<f32>(&[2], 5);
}
