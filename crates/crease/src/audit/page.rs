//! An audit as one HTML page that needs nothing else: tables, histograms as SVG, pictures as bitmaps inside it. Light or dark, as the reader's system is.

use super::{Case, Finding, LayerSummary, Report};
use std::fmt::Write;

/// The most inputs that get pictures: those with the most ties, then the first.
const PICTURED: usize = 60;

const STYLE: &str = "
:root{color-scheme:light dark;--ink:#1a1c1f;--soft:#667;--line:#d9dce1;--back:#fff;--card:#f6f7f9;--yes:#1b7f4b;--no:#b3261e;--unknown:#8a6d00;--bar:#4a78b5}
@media(prefers-color-scheme:dark){:root{--ink:#e6e8eb;--soft:#9aa1ab;--line:#363b43;--back:#15181c;--card:#1d2127;--yes:#5fcf95;--no:#ff8a80;--unknown:#e0c04c;--bar:#7aa7e0}}
*{box-sizing:border-box}body{margin:0;background:var(--back);color:var(--ink);font:15px/1.5 system-ui,sans-serif}
main{max-width:1180px;margin:0 auto;padding:32px 24px 64px}h1{font-size:26px;margin:0 0 4px}h2{font-size:19px;margin:40px 0 12px}
p{margin:6px 0;max-width:76ch}.soft{color:var(--soft)}.scroll{overflow-x:auto}
table{border-collapse:collapse;font-variant-numeric:tabular-nums}th{font-weight:600;color:var(--soft);text-align:left}
td,th{padding:5px 14px 5px 0;border-bottom:1px solid var(--line);white-space:nowrap}td.n,th.n{text-align:right}td.name{white-space:normal;overflow-wrap:anywhere;min-width:120px;max-width:220px}
.facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(240px,1fr));gap:12px;margin:20px 0}
.fact{background:var(--card);border-radius:8px;padding:12px 14px}.fact b{display:block;font-size:22px;white-space:nowrap;font-variant-numeric:tabular-nums}
.fact span{color:var(--soft);font-size:13px;line-height:1.35;display:block}
.yes{color:var(--yes)}.no{color:var(--no)}.unknown{color:var(--unknown)}
.input{background:var(--card);border-radius:10px;padding:16px 18px;margin:14px 0}.input h3{margin:0 0 2px;font-size:16px}
.pictures{display:flex;flex-wrap:wrap;gap:14px;margin-top:12px}figure{margin:0;width:120px}
figure img{width:120px;height:auto;display:block;image-rendering:pixelated;border:1px solid var(--line);border-radius:3px;background:#fff}
figcaption{font-size:12px;line-height:1.35;color:var(--soft);margin-top:4px}details{margin-top:10px}summary{cursor:pointer;color:var(--soft);font-size:13px}
svg text{fill:var(--soft);font:11px system-ui,sans-serif}svg rect{fill:var(--bar)}svg line{stroke:var(--line)}
.key{display:inline-block;width:110px;height:10px;border-radius:2px;background:linear-gradient(90deg,#2166ac,#f7f7f7,#b2182b);vertical-align:middle;margin:0 6px}
";

/// One page that shows an audit; `cases` are the inputs that it was made of.
///
/// ```
/// use crease::audit::{audit, page, Case, Options, Quiet};
/// use crease::{Rational, Shape, Tensor};
/// let p = crease::trace_shapes(&[Shape::vector(2)?], |x| vec![x[0].max_all()])?;
/// let cases = [Case::new("<flat>", vec![Tensor::vector(vec![Rational::ONE; 2])?])];
/// let report = audit(&p, &cases, &Options::default(), &Quiet)?;
/// let html = page("pool & more", &report, &cases);
/// assert!(html.contains("&lt;flat&gt;") && html.contains("pool &amp; more") && !html.contains("http"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn page(title: &str, report: &Report, cases: &[Case]) -> String {
    let mut out = String::new();
    // a string takes all that is written to it
    let _ = write(&mut out, title, report, cases);
    out
}

fn write(out: &mut String, title: &str, report: &Report, cases: &[Case]) -> std::fmt::Result {
    let s = &report.summary;
    let title = escaped(title);
    write!(
        out,
        "<!doctype html><html lang=en><head><meta charset=utf-8><meta name=viewport content=\"width=device-width,initial-scale=1\">"
    )?;
    write!(out, "<title>Audit of {title}</title><style>{STYLE}</style></head><body><main><h1>Audit of {title}</h1>")?;
    let stopped = if s.done < s.inputs { format!(" of {}; it was stopped", s.inputs) } else { String::new() };
    write!(out, "<p class=soft>{} input{}{stopped}. ", s.done, if s.done == 1 { "" } else { "s" })?;
    write!(
        out,
        "The network is taken as the function of real numbers that its weights define. Ties are exact, verdicts are proved.</p>"
    )?;
    write!(out, "<div class=facts>")?;
    fact(out, s.tied, "inputs with ties that matter")?;
    fact(out, s.differentiable, "inputs where it is differentiable")?;
    fact(out, s.not_differentiable, "inputs where it is not")?;
    if s.unknown > 0 {
        fact(out, s.unknown, "inputs where that is not known")?;
    }
    fact(out, s.apart, "inputs where conventions differ")?;
    fact(out, s.misled, "differentiable, but a convention returns no gradient")?;
    write!(
        out,
        "<div class=fact><b>{} / {}</b><span>verdicts with a checked certificate</span></div>",
        s.certified, s.verdicts
    )?;
    write!(
        out,
        "<div class=fact><b>{} / {}</b><span>kinks too close for doubles, computed exactly</span></div></div>",
        s.exactly, s.kinks
    )?;
    if let Some(why) = &s.failure {
        write!(
            out,
            "<p class=no>{} input{} failed; the first is {}</p>",
            s.failed,
            if s.failed == 1 { "" } else { "s" },
            escaped(why)
        )?;
    }
    layers(out, &s.layers, s.done)?;
    inputs(out, report)?;
    let mut order: Vec<&Finding> = report.findings.iter().filter(|f| f.error.is_none()).collect();
    order.sort_by_key(|f| (std::cmp::Reverse(f.tied), f.input));
    write!(
        out,
        "<h2>Input by input</h2><p class=soft>The inputs with the most ties first. Saliency is the gradient of one output by each pixel, "
    )?;
    write!(out, "all pictures of one input on one scale: negative<span class=key></span>positive. ")?;
    write!(
        out,
        "Where the network is not differentiable there are several Clarke subgradients, and two of them are shown.</p>"
    )?;
    for f in order.into_iter().take(PICTURED) {
        input(out, f, cases.get(f.input))?;
    }
    writeln!(out, "</main></body></html>")
}

fn fact(out: &mut String, n: usize, what: &str) -> std::fmt::Result {
    write!(out, "<div class=fact><b>{n}</b><span>{what}</span></div>")
}

fn layers(out: &mut String, layers: &[LayerSummary], inputs: usize) -> std::fmt::Result {
    write!(
        out,
        "<h2>Layers</h2><div class=scroll><table><tr><th>layer<th>operation<th class=n>kinks<th class=n>tied at inputs"
    )?;
    write!(
        out,
        "<th class=n>ties in all<th class=n>most at one<th class=n>smallest margin<th>margins, by decade</tr>"
    )?;
    for l in layers {
        let smallest = l.smallest.map_or("none".into(), |x| format!("{x:.2e}"));
        write!(
            out,
            "<tr><td class=name>{}<td>{}<td class=n>{}<td class=n>{} of {inputs}",
            escaped(&l.layer),
            l.operation,
            l.kinks,
            l.inputs
        )?;
        write!(out, "<td class=n>{}<td class=n>{}<td class=n>{smallest}<td>", l.ties, l.most)?;
        histogram(out, &l.histogram)?;
        write!(out, "</tr>")?;
    }
    write!(
        out,
        "</table></div><p class=soft>A margin is the distance of a kink's argument from its kink, of kinks that are not tied. "
    )?;
    write!(out, "Bars are on a logarithmic scale.</p>")
}

/// Bars for margins below 10^-12, in each decade, and above 1.
fn histogram(out: &mut String, counts: &[u64]) -> std::fmt::Result {
    let width = 15;
    let full = counts.iter().max().copied().unwrap_or(0) as f64;
    let span = width * counts.len();
    write!(out, "<svg width={} height=58 role=img aria-label=\"histogram of margins\">", span + 20)?;
    for (i, &n) in counts.iter().enumerate() {
        let height = if n == 0 { 0.0 } else { (3.0 + 37.0 * (1.0 + n as f64).ln() / (1.0 + full).ln()).min(40.0) };
        let (x, y) = (10 + i * width, 42.0 - height);
        let last = counts.len() - 1;
        let range = match i {
            0 => "below 1e-12".into(),
            _ if i == last => "1 and above".into(),
            _ => format!("1e{} to 1e{}", i as i64 - last as i64, i as i64 - last as i64 + 1),
        };
        write!(out, "<rect x={x} y={y:.1} width={} height={height:.1}><title>{range}: {n}</title></rect>", width - 3)?;
    }
    write!(out, "<line x1=10 y1=42.5 x2={} y2=42.5 />", span + 8)?;
    let last = counts.len().saturating_sub(1);
    for (i, mark) in [(1, "1e-12"), (last / 2 + 1, "1e-6"), (last, "1")] {
        let x = 10 + i * width - 1;
        write!(out, "<text x={x} y=55 text-anchor=middle>{mark}</text>")?;
    }
    write!(out, "</svg>")
}

fn inputs(out: &mut String, report: &Report) -> std::fmt::Result {
    write!(
        out,
        "<h2>Worst inputs</h2><div class=scroll><table><tr><th>input<th class=n>ties<th class=n>smallest margin<th>differentiable"
    )?;
    write!(out, "<th class=n>conventions apart<th class=n>Clarke subgradients apart<th class=n>seconds</tr>")?;
    for &i in &report.summary.worst {
        let Some(f) = report.findings.iter().find(|f| f.input == i) else { continue };
        let margin = f.margins.first().map_or("none".into(), |m| format!("{:.2e}", m.margin));
        let clarke = f.outputs.iter().filter_map(|o| o.clarke_apart).reduce(f64::max);
        write!(
            out,
            "<tr><td>{}<td class=n>{}<td class=n>{margin}<td class={v}>{v}",
            escaped(&f.name),
            f.tied,
            v = f.verdict()
        )?;
        write!(
            out,
            "<td class=n>{}<td class=n>{}<td class=n>{:.2}</tr>",
            size(f.apart()),
            clarke.map_or(String::new(), size),
            f.seconds
        )?;
    }
    write!(out, "</table></div>")
}

fn size(x: f64) -> String {
    match x.abs() {
        0.0 => "0".into(),
        0.001..1000.0 => format!("{x:.3}"),
        _ => format!("{x:.2e}"),
    }
}

/// One input: its verdicts, its pictures, its ties.
fn input(out: &mut String, f: &Finding, case: Option<&Case>) -> std::fmt::Result {
    let label = f.label.map_or(String::new(), |l| format!(", label {l}"));
    let v = f.verdict();
    let count = |word: &str| f.outputs.iter().filter(|o| o.differentiable == word).count();
    let told = match v {
        "yes" => "differentiable in all outputs".into(),
        "no" => format!("not differentiable in {} of {}", count("no"), many(f.outputs.len(), "output")),
        _ => format!(
            "not known of {} of {} whether it is differentiable",
            count("unknown"),
            many(f.outputs.len(), "output")
        ),
    };
    write!(out, "<section class=input><h3>{}{label}</h3>", escaped(&f.name))?;
    write!(
        out,
        "<p><span class={v}>{told}</span> <span class=soft>· {} · {} {} computed exactly · {:.2} s</span></p>",
        many(f.tied, "tie"),
        f.exactly.unwrap_or(0),
        if f.exactly == Some(1) { "kink" } else { "kinks" },
        f.seconds
    )?;
    if let (Some(g), Some(case)) = (&f.gradients, case) {
        let numbers: Vec<f64> = case.point.iter().flat_map(|t| t.data()).map(crease_core::Rational::to_f64).collect();
        let canvas = Canvas::of(case, numbers.len());
        write!(out, "<div class=pictures>")?;
        picture(out, &canvas.grey(&numbers), "input")?;
        if g.causes.len() == numbers.len() && g.causes.iter().any(|&n| n > 0) {
            picture(out, &canvas.heat(&numbers, &g.causes), "pixels that move ties")?;
        }
        let all = g.presets.iter().map(|(_, x)| x).chain([&g.clarke]).chain(&g.other);
        let top = all.flatten().fold(0.0f32, |a, x| a.max(x.abs()));
        let mut told: Vec<(&Vec<f32>, String)> = Vec::new();
        for (name, x) in &g.presets {
            match told.iter_mut().find(|(y, _)| *y == x) {
                Some((_, names)) => names.push_str(&format!(" and “{}”", escaped(name))),
                None => told.push((x, format!("“{}”", escaped(name)))),
            }
        }
        for (x, names) in told {
            picture(out, &canvas.signed(x, top), &format!("saliency of output {} by {names}", f.shown))?;
        }
        let clarke = if v == "yes" { "the gradient" } else { "a Clarke subgradient" };
        picture(out, &canvas.signed(&g.clarke, top), clarke)?;
        if let Some(other) = &g.other {
            picture(out, &canvas.signed(other, top), "another Clarke subgradient")?;
            let gap: Vec<f32> = g.clarke.iter().zip(other).map(|(a, b)| b - a).collect();
            let widest = gap.iter().fold(0.0f32, |a, x| a.max(x.abs()));
            picture(out, &canvas.signed(&gap, widest), &format!("their difference, up to {}", size(widest.into())))?;
        }
        if let Some((a, x)) = g.presets.first()
            && let Some((b, y)) = g.presets[1..].iter().find(|(_, y)| y != x)
        {
            let gap: Vec<f32> = x.iter().zip(y).map(|(a, b)| b - a).collect();
            let widest = gap.iter().fold(0.0f32, |a, x| a.max(x.abs()));
            let caption = format!("“{}” less “{}”, up to {}", escaped(b), escaped(a), size(widest.into()));
            picture(out, &canvas.signed(&gap, widest), &caption)?;
        }
        write!(out, "</div>")?;
    }
    write!(
        out,
        "<details><summary>outputs, ties and margins</summary><div class=scroll><table><tr><th class=n>output<th class=n>value<th class=n>ties<th>conservative gradient"
    )?;
    write!(out, "<th>differentiable<th>certificate<th class=n>conventions apart<th class=n>largest slope</tr>")?;
    for o in &f.outputs {
        let singleton = match o.singleton {
            Some(true) => "one element",
            Some(false) => "several",
            None => "not known",
        };
        let why = o.why.as_deref().map_or(String::new(), |w| format!(": {}", escaped(w)));
        write!(
            out,
            "<tr><td class=n>{}<td class=n>{:.6}<td class=n>{}<td>{singleton}<td class={v}>{v}{why}<td>{}<td class=n>{}<td class=n>{}</tr>",
            o.output,
            o.value,
            o.tied,
            if o.certified { "checked" } else { "none" },
            size(o.apart),
            size(o.size),
            v = o.differentiable
        )?;
    }
    write!(out, "</table></div>")?;
    for l in f.layers.iter().filter(|l| l.tied > 0) {
        let places: Vec<String> =
            f.ties.iter().filter(|t| t.equation == l.equation).take(40).map(|t| place(&t.at)).collect();
        let more = if l.tied > places.len() { format!(" and {} more", l.tied - places.len()) } else { String::new() };
        write!(
            out,
            "<p><b>{}</b> {}: {} at {}{more}</p>",
            escaped(&l.layer),
            l.operation,
            many(l.tied, "tie"),
            places.join(" ")
        )?;
    }
    if let Some(m) = f.margins.first() {
        write!(
            out,
            "<p class=soft>closest to a tie: {} {} at {}, by {}</p>",
            escaped(&m.layer),
            m.operation,
            place(&m.at),
            size(m.margin)
        )?;
    }
    write!(out, "</details></section>")
}

fn many(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn place(at: &[usize]) -> String {
    format!("({})", at.iter().map(usize::to_string).collect::<Vec<_>>().join(","))
}

fn picture(out: &mut String, bitmap: &str, caption: &str) -> std::fmt::Result {
    write!(
        out,
        "<figure><img alt=\"{caption}\" src=\"data:image/bmp;base64,{bitmap}\"><figcaption>{caption}</figcaption></figure>"
    )
}

/// How numbers of an input become pixels: as they lie if it is a picture, else in a grid that is about square.
struct Canvas {
    width: usize,
    height: usize,
    channels: usize,
    /// Whether the channels of a pixel lie together.
    together: bool,
}

impl Canvas {
    fn of(case: &Case, numbers: usize) -> Canvas {
        let dims: Vec<usize> = match &case.point[..] {
            [one] => one.shape().dims().iter().copied().filter(|&d| d > 1).collect(),
            _ => Vec::new(),
        };
        let grid = |n: usize| {
            let width = (1..=n).find(|w| w * w >= n).unwrap_or(1);
            Canvas { width, height: n.div_ceil(width), channels: 1, together: true }
        };
        match dims[..] {
            [h, w] => Canvas { width: w, height: h, channels: 1, together: true },
            [3, h, w] => Canvas { width: w, height: h, channels: 3, together: false },
            [h, w, 3] => Canvas { width: w, height: h, channels: 3, together: true },
            _ => grid(numbers),
        }
    }

    /// The numbers of a pixel.
    fn pixel<'a, T: Copy>(&self, x: &'a [T], i: usize) -> impl Iterator<Item = T> + use<'a, T> {
        let (plane, channels, together) = (self.width * self.height, self.channels, self.together);
        (0..channels).filter_map(move |c| x.get(if together { i * channels + c } else { c * plane + i }).copied())
    }

    fn bitmap(&self, colour: impl Fn(usize) -> [u8; 3]) -> String {
        let line = (3 * self.width).next_multiple_of(4);
        let size = 54 + line * self.height;
        let mut bytes = b"BM".to_vec();
        bytes.extend((size as u32).to_le_bytes());
        bytes.extend([0, 0, 0, 0, 54, 0, 0, 0, 40, 0, 0, 0]);
        bytes.extend((self.width as i32).to_le_bytes());
        bytes.extend((self.height as i32).to_le_bytes());
        bytes.extend([1, 0, 24, 0]);
        bytes.extend([0; 24]);
        for row in (0..self.height).rev() {
            for column in 0..self.width {
                let [r, g, b] = colour(row * self.width + column);
                bytes.extend([b, g, r]);
            }
            // lines begin at multiples of four bytes
            bytes.extend(std::iter::repeat_n(0, line - 3 * self.width));
        }
        base64(&bytes)
    }

    /// The input itself, from its smallest number to its largest.
    fn grey(&self, x: &[f64]) -> String {
        let low = x.iter().copied().fold(f64::INFINITY, f64::min);
        let high = x.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let level = |v: f64| if high > low { ((v - low) / (high - low) * 255.0) as u8 } else { 0 };
        self.bitmap(|i| {
            let all: Vec<u8> = self.pixel(x, i).map(level).collect();
            match all[..] {
                [r, g, b] => [r, g, b],
                [v, ..] => [v; 3],
                [] => [255; 3],
            }
        })
    }

    /// Signed numbers, white at 0.
    fn signed(&self, x: &[f32], top: f32) -> String {
        self.bitmap(|i| {
            let sum: f32 = self.pixel(x, i).sum();
            let share = if top > 0.0 { (sum / (top * self.channels as f32)).clamp(-1.0, 1.0) } else { 0.0 };
            // small ones are to be seen, too
            let (end, share) = if share < 0.0 { ([33, 102, 172], -share) } else { ([178, 24, 43], share) };
            blend([247; 3], end, share.sqrt())
        })
    }

    /// Counts over a faint input.
    fn heat(&self, x: &[f64], counts: &[u32]) -> String {
        let most = (0..self.width * self.height).map(|i| self.pixel(counts, i).sum::<u32>()).max().unwrap_or(1).max(1);
        let high = x.iter().fold(f64::MIN_POSITIVE, |a, v| a.max(v.abs()));
        self.bitmap(|i| {
            let faint = self.pixel(x, i).map(|v| (v.abs() / high) as f32).fold(0.0, f32::max);
            let n = self.pixel(counts, i).sum::<u32>();
            let under = blend([255; 3], [150, 150, 150], faint);
            if n == 0 { under } else { blend(under, [230, 97, 1], 0.25 + 0.75 * (n as f32 / most as f32).sqrt()) }
        })
    }
}

fn blend(from: [u8; 3], to: [u8; 3], share: f32) -> [u8; 3] {
    std::array::from_fn(|i| {
        (f32::from(from[i]) + (f32::from(to[i]) - f32::from(from[i])) * share.clamp(0.0, 1.0)) as u8
    })
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for part in bytes.chunks(3) {
        let word = part.iter().enumerate().fold(0u32, |w, (i, &b)| w | u32::from(b) << (16 - 8 * i));
        for i in 0..4 {
            let letter = LETTERS[(word >> (18 - 6 * i) & 63) as usize];
            out.push(if i <= part.len() { char::from(letter) } else { '=' });
        }
    }
    out
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_standard() {
        // RFC 4648, section 10
        let cases =
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("foobar", "Zm9vYmFy")];
        assert!(cases.iter().all(|(text, coded)| base64(text.as_bytes()) == *coded));
    }
}
