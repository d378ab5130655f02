//! Curves as pictures: data with names and units enter, SVG leaves.

use plotters::coord::ranged1d::AsRangedCoord;
use plotters::prelude::*;

/// An axis.
///
/// ```
/// let axis = crease_paper::Axis { label: "inputs p".into(), log: true };
/// assert!(axis.log);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it shows, with its unit.
    pub label: String,
    /// Whether powers of ten are equally far apart.
    pub log: bool,
}

/// One curve.
///
/// ```
/// let s = crease_paper::Series { name: "backward".into(), points: vec![(1.0, 3.0), (10.0, 3.0)], dashed: false, colour: 0 };
/// assert_eq!(s.points.len(), 2);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// Its points.
    pub points: Vec<(f64, f64)>,
    /// Whether it is drawn dashed.
    pub dashed: bool,
    /// Which of the colours it has; curves that belong together share one.
    pub colour: usize,
}

/// Curves over a pair of axes.
///
/// ```
/// use crease_paper::{Axis, Plot, Series};
/// let axis = |label: &str| Axis { label: label.into(), log: false };
/// let line = Series { name: "twice x".into(), points: vec![(0.0, 0.0), (1.0, 2.0)], dashed: false, colour: 0 };
/// let plot = Plot { title: "Doubling".into(), x: axis("x"), y: axis("y"), series: vec![line] };
/// assert!(plot.svg()?.contains("twice x"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Plot {
    /// What it shows.
    pub title: String,
    /// From left to right.
    pub x: Axis,
    /// From bottom to top.
    pub y: Axis,
    /// The curves.
    pub series: Vec<Series>,
}

/// A plot that could not be drawn.
#[derive(Debug, thiserror::Error)]
#[error("the plot \"{title}\" could not be drawn: {reason}")]
pub struct PlotError {
    title: String,
    reason: String,
}

/// Colours that stay apart for colour-blind readers, after Okabe and Ito.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
    RGBColor(230, 159, 0),
    RGBColor(80, 80, 80),
];

/// The size of the curves; below them stands the legend. Letters stay legible when a page scales it to the width of a phone.
const SIZE: (u32, u32) = (640, 400);

/// The height of a line of the legend, which has two columns.
const LINE: u32 = 22;

/// The range of some numbers, with some room; a logarithmic axis shows at least a decade, another begins at 0.
fn range(values: impl Iterator<Item = f64>, log: bool) -> std::ops::Range<f64> {
    let (low, high) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), v| (l.min(v), h.max(v)));
    if log { low / 1.3..(high * 1.3).max(low * 10.0) } else { low.min(0.0)..high * 1.1 }
}

/// A number beside an axis.
fn tick(v: &f64) -> String {
    if *v == 0.0 || (0.01..1e6).contains(&v.abs()) { format!("{}", (v * 1e6).round() / 1e6) } else { format!("{v:e}") }
}

impl Plot {
    /// The points that can be drawn: on a logarithmic axis, positive ones.
    fn points<'a>(&'a self, s: &'a Series) -> impl Iterator<Item = (f64, f64)> + 'a {
        let fits = |v: f64, axis: &Axis| v.is_finite() && (!axis.log || v > 0.0);
        s.points.iter().copied().filter(move |&(x, y)| fits(x, &self.x) && fits(y, &self.y))
    }

    /// The picture.
    ///
    /// ```
    /// use crease_paper::{Axis, Plot};
    /// let axis = || Axis { label: String::new(), log: true };
    /// let empty = Plot { title: "nothing".into(), x: axis(), y: axis(), series: vec![] };
    /// assert!(empty.svg().unwrap_err().to_string().contains("no points"));
    /// ```
    pub fn svg(&self) -> Result<String, PlotError> {
        let fault = |reason: String| PlotError { title: self.title.clone(), reason };
        let all = || self.series.iter().flat_map(|s| self.points(s));
        if all().next().is_none() {
            return Err(fault("there are no points".into()));
        }
        let (x, y) = (range(all().map(|p| p.0), self.x.log), range(all().map(|p| p.1), self.y.log));
        let drawn = match (self.x.log, self.y.log) {
            (true, true) => self.draw(x.log_scale(), y.log_scale()),
            (true, false) => self.draw(x.log_scale(), y),
            (false, true) => self.draw(x, y.log_scale()),
            (false, false) => self.draw(x, y),
        };
        drawn.map_err(|e| fault(e.to_string()))
    }

    fn draw<X, Y>(&self, x: X, y: Y) -> Result<String, Box<dyn std::error::Error>>
    where
        X: AsRangedCoord<Value = f64>,
        Y: AsRangedCoord<Value = f64>,
        X::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
        Y::CoordDescType: plotters::coord::ranged1d::ValueFormatter<f64>,
    {
        let mut svg = String::new();
        let lines = self.series.len().div_ceil(2) as u32;
        {
            let area = SVGBackend::with_string(&mut svg, (SIZE.0, SIZE.1 + LINE * lines + 8)).into_drawing_area();
            area.fill(&WHITE)?;
            let (above, below) = area.split_vertically(SIZE.1);
            let mut chart = ChartBuilder::on(&above)
                .margin(10)
                .margin_right(28)
                .x_label_area_size(46)
                .y_label_area_size(64)
                .build_cartesian_2d(x, y)?;
            chart
                .configure_mesh()
                .light_line_style(WHITE)
                .bold_line_style(BLACK.mix(0.12))
                .x_desc(&self.x.label)
                .y_desc(&self.y.label)
                .axis_desc_style(("sans-serif", 17))
                .label_style(("sans-serif", 15))
                .x_label_formatter(&tick)
                .y_label_formatter(&tick)
                .draw()?;
            for (k, s) in self.series.iter().enumerate() {
                let style = COLOURS[s.colour % COLOURS.len()].stroke_width(2);
                let points: Vec<(f64, f64)> = self.points(s).collect();
                // the place of its entry in the legend
                let at = (64 + (k % 2) as i32 * 290, 12 + (k / 2) as i32 * LINE as i32);
                let stroke = |from: i32, to: i32| PathElement::new(vec![(at.0 + from, at.1), (at.0 + to, at.1)], style);
                if s.dashed {
                    chart.draw_series(DashedLineSeries::new(points, 6, 4, style))?;
                    for dash in [0, 10, 20] {
                        below.draw(&stroke(dash, dash + 6))?;
                    }
                } else {
                    chart.draw_series(points.iter().map(|&p| Circle::new(p, 3, style.filled())))?;
                    chart.draw_series(LineSeries::new(points, style))?;
                    below.draw(&stroke(0, 26))?;
                }
                below.draw(&Text::new(s.name.clone(), (at.0 + 36, at.1 - 8), ("sans-serif", 15)))?;
            }
            area.present()?;
        }
        Ok(svg)
    }
}
