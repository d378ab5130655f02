//! A thread for each point, every number in a register.
//!
//! [`Scalars`] enter, the text of one kernel leaves. Numbers of points lie side by side: number `k` of point `p` is at
//! `k * stride + p`, so that threads of a warp read neighbours. Inputs that are the same at all points lie beside them, once. Outputs may be
//! summed over the points (a loss over data): a thread then takes many points and adds in double precision, a block adds up its threads, and a second
//! kernel the blocks, always in the same order.

use crate::lower::Scalars;
use crate::text::{Precision, Writer};
use std::fmt::Write;

/// The arguments of every kernel for points: what each point has, what all share, results, and the first point that does not count.
pub(crate) const ARGUMENTS: &str = "(const REAL *__restrict__ x, const REAL *__restrict__ common, REAL *__restrict__ y, \
     long long points, long long x_stride, long long y_stride, unsigned long long *__restrict__ bad_point, double *__restrict__ sums)";

/// Adds up what blocks have found, one block for each sum.
pub(crate) const FINISH: &str = "#ifdef __CUDACC_RTC__
KERNEL crease_finish(const double *__restrict__ sums, REAL *__restrict__ totals, int blocks) {
  double sum = 0;
  for (int i = threadIdx.x; i < blocks; i += blockDim.x) sum += sums[(long long)blockIdx.x * blocks + i];
  BLOCK_SUM(sum, totals[blockIdx.x] = (REAL)sum);
}
#endif
";

/// Where a number of an input comes from: a row that each point has its own number in, or a number that all share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    Row(usize),
    Common(usize),
}

impl Source {
    /// How a kernel reads it.
    pub fn read(self) -> String {
        match self {
            Source::Row(k) => format!("x[{k} * x_stride + p]"),
            Source::Common(k) => format!("common[{k}]"),
        }
    }
}

/// The text of a kernel.
pub(crate) fn kernel(
    name: &str,
    s: &Scalars,
    precision: Precision,
    sources: &[Source],
    checked: bool,
    summed: &[bool],
) -> String {
    let mut out = format!("KERNEL {name}{ARGUMENTS} {{\n");
    let sums = summed.contains(&true);
    for j in (0..summed.len()).filter(|&j| summed[j]) {
        let _ = writeln!(out, "  double sum{j} = 0;");
    }
    out.push_str(if sums {
        "  long long p;\n  UNROLL\n  for (p = THREAD; p < points; p += THREADS) {\n  int bad = 0;\n"
    } else {
        "  const long long p = THREAD;\n  if (p >= points) return;\n  int bad = 0;\n"
    });
    let mut used = vec![checked; s.inputs];
    let args = s.steps.iter().flat_map(|step| &step.args).chain(&s.outputs).chain(&s.truths);
    for a in args {
        if let crate::lower::Operand::Value(v) = a
            && let Some(used) = used.get_mut(*v as usize)
        {
            *used = true;
        }
    }
    let inputs: Vec<String> = (0..s.inputs).map(|i| format!("x{i}")).collect();
    for (i, source) in sources.iter().enumerate().filter(|(i, _)| used[*i]) {
        let _ = writeln!(out, "  const REAL x{i} = {};", source.read());
    }
    let writer = Writer { precision, prefix: "v", inputs: &inputs, indent: "  ", checked };
    let outputs = writer.steps(s, &mut out);
    let mut row = 0;
    for (j, y) in outputs.iter().enumerate() {
        if summed[j] {
            let _ = writeln!(out, "  sum{j} += (double)({y});");
        } else {
            let _ = writeln!(out, "  y[{row} * y_stride + p] = {y};");
            row += 1;
        }
    }
    out.push_str("  if (bad) REPORT(bad_point, (unsigned long long)p);\n");
    if sums {
        out.push_str("  }\n");
        for (k, j) in (0..summed.len()).filter(|&j| summed[j]).enumerate() {
            let _ = writeln!(out, "  BLOCK_SUM(sum{j}, ADD_TO(sums[(long long){k} * BLOCKS + BLOCK], sum{j}));");
        }
    }
    out.push_str("}\n");
    if sums { out + FINISH } else { out }
}
