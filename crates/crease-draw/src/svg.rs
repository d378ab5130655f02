//! SVG: a [`Picture`] as text.
//!
//! Boxes first, outer before inner, then arrows, nodes, and small texts on top. Fonts are generic, every colour is written
//! out, and the ground is white, so that the image looks the same on a dark page.

use crate::graph::Kind;
use crate::label::{subscript, width};
use crate::layout::{TITLE, letters, small};
use crate::picture::{Line, Mark, Outline, Picture, title_place};
use crate::route::rounded;
use crate::tags;
use std::fmt::Write;

const SERIF: &str = "font-family=\"Georgia, 'Times New Roman', 'DejaVu Serif', serif\" font-style=\"italic\"";
const SANS: &str = "Helvetica, Arial, 'DejaVu Sans', sans-serif";
const INK: &str = "#37474f";
const WARM: &str = "#d4570b";

/// The ground and the rim of a node.
pub(super) fn colours(kind: Kind, nonsmooth: bool) -> (&'static str, &'static str) {
    match (kind, nonsmooth) {
        (Kind::Input, _) => ("#eceff1", "#607d8b"),
        (Kind::Constant, _) => ("#fafafa", "#b0bec5"),
        (Kind::Call, false) => ("#e3eefa", "#3f6fa8"),
        (Kind::Call, true) => ("#e3eefa", WARM),
        (_, true) => ("#ffe2c9", WARM),
        (_, false) => ("#ffffff", INK),
    }
}

/// The text of an image.
pub(super) fn write(picture: &Picture) -> String {
    let mut out = String::new();
    // writing to a string does not fail
    let _ = parts(&mut out, picture);
    out
}

fn parts(out: &mut String, picture: &Picture) -> std::fmt::Result {
    let (w, h) = (picture.width, picture.height);
    writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{w}\" height=\"{h}\" viewBox=\"0 0 {w} {h}\" \
         font-family=\"{SANS}\" text-anchor=\"middle\">"
    )?;
    writeln!(out, "<title>{}</title>", escape(&picture.name))?;
    writeln!(
        out,
        "<defs><marker id=\"tip\" viewBox=\"0 0 10 8\" refX=\"9.6\" refY=\"4\" markerWidth=\"10\" markerHeight=\"8\" \
         markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0.4L10 4L0 7.6L2 4Z\" fill=\"{INK}\"/></marker></defs>"
    )?;
    writeln!(out, "<rect width=\"{w}\" height=\"{h}\" fill=\"#ffffff\"/>")?;
    let outputs_up = outputs_up(picture);
    for mark in picture.marks.iter().filter(|m| m.outline == Outline::Frame) {
        frame(out, mark, outputs_up)?;
    }
    writeln!(out, "<g fill=\"none\" stroke=\"{INK}\" stroke-width=\"1.3\">")?;
    for line in &picture.lines {
        let tip = if line.tip { " marker-end=\"url(#tip)\"" } else { "" };
        writeln!(out, "<path class=\"edge\" d=\"{}\"{tip}/>", path(line))?;
    }
    writeln!(out, "</g>")?;
    for mark in picture.marks.iter().filter(|m| m.outline != Outline::Frame) {
        node(out, mark)?;
    }
    writeln!(
        out,
        "<g font-size=\"{}\" fill=\"#78868e\" stroke=\"#ffffff\" stroke-width=\"3\" stroke-linejoin=\"round\" \
         paint-order=\"stroke\">",
        tags::SIZE
    )?;
    for tag in &picture.tags {
        // a shape sits on its arrow, which would show between the letters
        if tag.text.starts_with('[') {
            let (w, h) = (width(&tag.text, tags::SIZE), tags::SIZE);
            let (x, y) = (tag.x - w / 2.0, tag.y - h / 2.0);
            writeln!(
                out,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" fill=\"#ffffff\" stroke=\"none\"/>"
            )?;
        }
        writeln!(out, "<text x=\"{}\" y=\"{}\" dy=\".35em\">{}</text>", tag.x, tag.y, escape(&tag.text))?;
    }
    writeln!(out, "</g>\n</svg>")
}

/// Whether the arrows point upwards, which decides on which side the titles of boxes are.
fn outputs_up(picture: &Picture) -> bool {
    picture.lines.first().is_none_or(|l| match (l.points.first(), l.points.last()) {
        (Some(a), Some(b)) => b.1 <= a.1,
        _ => true,
    })
}

fn frame(out: &mut String, mark: &Mark, outputs_up: bool) -> std::fmt::Result {
    let ground = if mark.depth.is_multiple_of(2) { "#f4f8fd" } else { "#ffffff" };
    let rim = if mark.nonsmooth { "#e8a87c" } else { "#9db8d2" };
    let (x, y) = (mark.x - mark.width / 2.0, mark.y - mark.height / 2.0);
    writeln!(
        out,
        "<rect class=\"box\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"10\" fill=\"{ground}\" \
         stroke=\"{rim}\" stroke-width=\"1.3\"/>",
        mark.width, mark.height
    )?;
    let (x, y) = title_place(mark, outputs_up);
    write!(out, "<text x=\"{x:.1}\" y=\"{y:.1}\" dy=\".35em\" font-size=\"{}\" text-anchor=\"start\" ", TITLE.1)?;
    writeln!(out, "{SERIF} fill=\"#3f5a78\">{}</text>", name(&mark.text, TITLE.1))
}

fn node(out: &mut String, mark: &Mark) -> std::fmt::Result {
    let (x, y, w, h) = (mark.x, mark.y, mark.width, mark.height);
    let (ground, rim) = colours(mark.kind, mark.nonsmooth);
    let kind = match mark.kind {
        Kind::Input => "input",
        Kind::Constant => "constant",
        Kind::Operation => "operation",
        Kind::Call => "call",
        Kind::Select => "select",
        Kind::Output => "output",
    };
    let paint = format!("fill=\"{ground}\" stroke=\"{rim}\" stroke-width=\"1.4\"");
    let class = format!("class=\"{kind}\"");
    match mark.outline {
        Outline::Circle => writeln!(out, "<circle {class} cx=\"{x}\" cy=\"{y}\" r=\"{}\" {paint}/>", w / 2.0)?,
        Outline::Pill | Outline::Square => {
            let radius = if mark.outline == Outline::Pill { h / 2.0 } else { 3.0 };
            let (left, top) = (x - w / 2.0, y - h / 2.0);
            writeln!(
                out,
                "<rect {class} x=\"{left:.1}\" y=\"{top:.1}\" width=\"{w:.1}\" height=\"{h}\" rx=\"{radius}\" {paint}/>"
            )?;
        }
        Outline::Diamond => {
            let (l, r, t, b) = (x - w / 2.0, x + w / 2.0, y - h / 2.0, y + h / 2.0);
            writeln!(out, "<path {class} d=\"M{l:.1} {y}L{x} {t:.1}L{r:.1} {y}L{x} {b:.1}Z\" {paint}/>")?;
        }
        Outline::Frame | Outline::Nothing => {}
    }
    if mark.text.is_empty() {
        return Ok(());
    }
    let size = letters(mark.kind, &mark.text);
    let (font, text) = match mark.kind {
        Kind::Input | Kind::Call => (SERIF, name(&mark.text, size)),
        _ => ("", escape(&mark.text)),
    };
    let fill = if mark.kind == Kind::Output { "#78868e" } else { "#1f2a30" };
    // signs of arithmetic are lower than letters
    let dy = if mark.kind == Kind::Operation && mark.text.chars().count() == 1 { ".31em" } else { ".35em" };
    writeln!(out, "<text x=\"{x}\" y=\"{y}\" dy=\"{dy}\" font-size=\"{size}\" {font} fill=\"{fill}\">{text}</text>")
}

/// A name with its number as a subscript.
fn name(text: &str, size: f64) -> String {
    let (stem, sub) = subscript(text);
    if sub.is_empty() {
        return escape(stem);
    }
    format!(
        "{}<tspan dy=\"{:.1}\" font-size=\"{:.1}\" font-style=\"normal\">{}</tspan>",
        escape(stem),
        size * 0.2,
        small(size),
        escape(sub)
    )
}

fn path(line: &Line) -> String {
    let (Some(first), Some(last)) = (line.points.first(), line.points.last()) else { return String::new() };
    let mut out = format!("M{} {}", first.0, first.1);
    for [a, b, c] in rounded(&line.points) {
        let _ = write!(out, "L{:.1} {:.1}Q{:.1} {:.1} {:.1} {:.1}", a.0, a.1, b.0, b.1, c.0, c.1);
    }
    let _ = write!(out, "L{} {}", last.0, last.1);
    out
}

/// A text as the content of an element. Characters that XML does not have at all are replaced.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&apos;"),
            '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => {
                out.push('\u{fffd}')
            }
            c => out.push(c),
        }
    }
    out
}
