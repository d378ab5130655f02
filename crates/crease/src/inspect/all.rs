//! All neighbouring gradients, which of them are vertices, and what follows for a vector or for 0.

use super::at::At;
use super::contains::{Contains, combination, json_weights, undecided_if_stopped};
use super::{Ask, Coordinates, InspectError};
use crate::show::{self, Apart, Rows};
use crease_core::{Program, Rational};
use crease_oracles::{Cube, EnumerateEvent, EnumerateLimit, Neighbour, Neighbours, Stationarity, accurate_vector};
use serde::{Serialize, Serializer};
use serde_json::Value;
use std::fmt;

/// The most gradients that text shows.
const SHOWN: usize = 40;

/// The part of the time for the list, where something is asked about it.
const LISTING: f64 = 0.75;

/// What else is asked of a list of gradients.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Where this vector lies.
    pub contains: Option<Vec<Rational>>,
    /// Whether 0 is a Clarke subgradient.
    pub stationary: bool,
}

/// All limits of gradients of one scalar output. It displays as the text of `crease clarke --all`, and serializes as its JSON.
///
/// ```
/// use crease::inspect::{all_gradients, Ask, Wanted};
/// let p = crease::trace(2, |x| crease::abs(x[0]) + crease::abs(x[1]))?;
/// let all = all_gradients(&p, &[0.0, 0.0], &Wanted::default(), &Ask::default(), |_, _| ())?;
/// assert_eq!((all.found.gradients.len(), all.found.complete()), (4, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Neighbourhood<'p> {
    /// The program at the point.
    pub at: At<'p>,
    /// Which of its outputs.
    pub output: usize,
    /// The gradients.
    pub found: Neighbours,
    /// Which of them are vertices of their hull, where that is known.
    pub vertices: Vec<Option<bool>>,
    /// The vector that was asked about, and where it lies.
    pub contains: Option<Contains>,
    /// Whether 0 is a Clarke subgradient, if that was asked.
    pub stationary: Option<Stationarity>,
    kept: bool,
}

/// What [`all_gradients`] tells while it works.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// A gradient was found, or how far the search is.
    Search(EnumerateEvent<'a>),
    /// How many gradients were looked at to see which are vertices, and of how many.
    Vertices(u64, usize),
}

/// Lists all limits of gradients of a program at a point, within [`Ask::limits`].
pub fn all_gradients<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    wanted: &Wanted,
    ask: &Ask<'_>,
    mut tell: impl FnMut(&At<'p>, Event<'_>),
) -> Result<Neighbourhood<'p>, InspectError> {
    let ask = &ask.started();
    let (at, output) = at_output(program, point, ask)?;
    // what is asked about the list takes time, too
    let limits = ask.limits.part(if wanted.contains.is_some() || wanted.stationary { LISTING } else { 1.0 });
    let found = at.session().neighbouring_gradients(&limits, |e| tell(&at, Event::Search(e)))?;
    Neighbourhood::new(at, output, found, wanted, ask, tell)
}

/// A part of the directions around a point, as the whole of them, in smaller parts: as many as are wanted or some more, so that others can list their gradients with [`gradients_in`], and [`united_gradients`] puts them together.
///
/// ```
/// use crease::inspect::{Ask, Wanted, cubes, gradients_in, united_gradients};
/// use crease::oracles::Cube;
/// let p = crease::trace(2, |x| crease::abs(x[0]) - crease::abs(x[1]))?;
/// let (at, ask) = ([0.0, 0.0], Ask::default());
/// let parts = cubes(&p, &at, &Cube::default(), 2, &ask)?.into_iter().map(|cube| gradients_in(&p, &at, &cube, &ask)).collect::<Result<_, _>>()?;
/// let all = united_gradients(&p, &at, parts, None, &Wanted::default(), &ask)?;
/// assert_eq!((all.found.gradients.len(), all.found.cells, all.found.complete()), (4, 4, true));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn cubes(
    program: &Program,
    point: &(impl Coordinates + ?Sized),
    of: &Cube,
    wanted: usize,
    ask: &Ask<'_>,
) -> Result<Vec<Cube>, InspectError> {
    let ask = &ask.started();
    Ok(at_output(program, point, ask)?.0.session().cubes(of, wanted, &ask.limits)?)
}

/// All limits of gradients that a part of the directions shows. See [`cubes`] for an example.
pub fn gradients_in(
    program: &Program,
    point: &(impl Coordinates + ?Sized),
    cube: &Cube,
    ask: &Ask<'_>,
) -> Result<Neighbours, InspectError> {
    let ask = &ask.started();
    let found = at_output(program, point, ask)
        .and_then(|(at, _)| Ok(at.session().neighbouring_gradients_in(cube, &ask.limits, |_| ())?));
    match found {
        Err(InspectError::Stopped(stop)) => Ok(Neighbours::stopped(stop)),
        found => found,
    }
}

/// What was found in parts of the directions as one list, and what follows from it; `missing` says what prevented parts that are not there. See [`cubes`] for an example.
pub fn united_gradients<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    parts: Vec<Neighbours>,
    missing: Option<EnumerateLimit>,
    wanted: &Wanted,
    ask: &Ask<'_>,
) -> Result<Neighbourhood<'p>, InspectError> {
    let ask = &ask.started();
    let (at, output) = at_output(program, point, &ask.again())?;
    let found = Neighbours::united(parts, missing, &ask.limits);
    Neighbourhood::new(at, output, found, wanted, ask, |_, _| ())
}

/// The program at the point, in as many bits as its gradients need, and the output that is asked about.
fn at_output<'p>(
    program: &'p Program,
    point: &(impl Coordinates + ?Sized),
    ask: &Ask<'_>,
) -> Result<(At<'p>, usize), InspectError> {
    let mut at = At::new(program, point, ask)?;
    let (output, _) = at.scalar_output("a Clarke subgradient", ask.output)?;
    at.ask(|session| {
        let (found, bits) = (session.clarke_element(ask.seed)?, session.model().precision().bits);
        Ok(((), !accurate_vector(bits, &found.gradient, found.radius.as_deref())))
    })?;
    Ok((at, output))
}

impl<'p> Neighbourhood<'p> {
    /// What follows from a list.
    fn new(
        at: At<'p>,
        output: usize,
        found: Neighbours,
        wanted: &Wanted,
        ask: &Ask<'_>,
        mut tell: impl FnMut(&At<'p>, Event<'_>),
    ) -> Result<Self, InspectError> {
        let contains = match &wanted.contains {
            Some(vector) => {
                let place = undecided_if_stopped(at.session().membership_among(&found, vector, &ask.limits))?;
                Some(Contains::new(&at, vector.clone(), place, &found.gradients, ask)?)
            }
            None => None,
        };
        let stationary = wanted.stationary.then(|| found.stationarity(&ask.limits));
        let vertices = found.vertices(&ask.limits, |n| tell(&at, Event::Vertices(n, found.gradients.len())));
        Ok(Neighbourhood { at, output, found, vertices, contains, stationary, kept: false })
    }
}

impl Neighbourhood<'_> {
    /// The same with a program of its own.
    pub fn into_owned(self) -> Neighbourhood<'static> {
        Neighbourhood { at: self.at.into_owned(), ..self }
    }

    /// The certificate that the vector that was asked about is a Clarke subgradient, if it is one.
    pub fn certificate(&self) -> Result<Option<String>, InspectError> {
        let Some(c) = &self.contains else { return Ok(None) };
        Ok(self.at.session().membership_certificate(&c.vector, &c.found, &self.found.gradients)?)
    }

    /// Says whether the certificate was kept, for text and JSON.
    pub fn certificate_is(&mut self, kept: bool) {
        self.kept = kept;
    }

    /// What is known of all gradients as JSON, without the list of them.
    pub fn summary_json(&self) -> Value {
        show::object(self.members(false))
    }

    fn json(&self) -> Value {
        show::object(self.members(true))
    }
}

impl fmt::Display for Neighbourhood<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

impl Serialize for Neighbourhood<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.json().serialize(serializer)
    }
}

/// One of the gradients as JSON.
pub fn gradient_json(at: &At<'_>, n: &Neighbour) -> Value {
    let mut members = vec![("gradient", at.json(&n.gradient)), ("direction", at.json(&n.direction))];
    let vector = (&n.gradient[..], n.radius.as_deref());
    members.extend(at.json_radius(vector));
    members.extend(at.json_digits(vector, (&Apart::of([vector]), 0)));
    if let (Some(gradient), Some(direction)) =
        (at.json_exact(&n.gradient, n.radius.as_deref()), at.json_exact(&n.direction, None))
    {
        members.push(("exact", show::object([("gradient", gradient), ("direction", direction)])));
    }
    show::object(members)
}

impl Neighbourhood<'_> {
    fn text(&self) -> String {
        let Neighbourhood { at, found, .. } = self;
        let mut rows = Rows::default();
        rows.add("value", &show::answer(&at.values()[self.output], false));
        let many = |n: u64, one: &str| match n {
            1 => format!("1 {one}"),
            n => format!("{} {one}s", show::count(n)),
        };
        let whole = match found.limit {
            None => "these are all".to_string(),
            Some(limit) => format!("not known to be complete: {limit}"),
        };
        rows.add("cells", &format!("{}; {whole}", many(found.cells, "cell")));
        rows.add("gradients", &self.summary());
        let mut table: Vec<Vec<String>> = Vec::new();
        let apart = self.apart(SHOWN);
        for (i, (n, vertex)) in found.gradients.iter().zip(&self.vertices).enumerate().take(SHOWN) {
            let vertex = match vertex {
                Some(true) => "vertex",
                Some(false) => "no vertex",
                None => "",
            };
            let along = format!("along {}", at.shown(&n.direction, None));
            let cells = if n.cells == 1 { String::new() } else { many(n.cells, "cell") };
            let gradient = at.shown_apart((&n.gradient, n.radius.as_deref()), (&apart, i));
            table.push(vec![gradient, along, vertex.into(), cells]);
        }
        if found.gradients.len() > SHOWN {
            table.push(vec![format!("… and {} more", show::count(found.gradients.len() - SHOWN))]);
        }
        rows.block("", &show::columns(&table, &[]));
        if let Some(contains) = &self.contains {
            rows.add("contains", &contains.text(at, &found.gradients));
            if self.kept {
                rows.add("certificate", "written, to be checked with crease check");
            }
        }
        if let Some(stationary) = &self.stationary {
            rows.add("stationary", &self.stationary_text(stationary));
        }
        let w = &found.work;
        let each = w.programs as f64 / found.cells.max(1) as f64;
        let mut work = many(w.programs, "linear program");
        if found.cells > 0 {
            work.push_str(&format!(", {each:.3} for each cell"));
        }
        if w.exact > 0 {
            work.push_str(&format!("; {} in rationals", show::count(w.exact)));
        }
        rows.add("work", &work);
        at.exactness(&mut rows);
        rows.text()
    }

    /// The digits that tell the first gradients of the list apart.
    fn apart(&self, shown: usize) -> Apart {
        Apart::of(self.found.gradients.iter().take(shown).map(|n| (&n.gradient[..], n.radius.as_deref())))
    }

    fn summary(&self) -> String {
        let n = self.found.gradients.len();
        let corners = self.vertices.iter().filter(|v| **v == Some(true)).count();
        let open = self.vertices.iter().filter(|v| v.is_none()).count();
        let distinct = show::count(n);
        match (n, open) {
            (0, _) => "none within the limits".into(),
            (1, 0) if self.found.complete() => "1: the program is differentiable here".into(),
            (_, 0) if corners == n => format!("{distinct} distinct, all vertices of the Clarke subdifferential"),
            (_, 0) => format!("{distinct} distinct, {} vertices of the Clarke subdifferential", show::count(corners)),
            _ => format!("{distinct} distinct, of which {} may be vertices", show::count(open + corners)),
        }
    }

    fn stationary_text(&self, stationary: &Stationarity) -> String {
        let at = &self.at;
        match stationary {
            Stationarity::Stationary { weights } => {
                format!("yes, 0 is a Clarke subgradient: {}", combination(weights, &self.found.gradients, at))
            }
            Stationarity::Enclosed => {
                "yes, 0 is a Clarke subgradient: it is a combination of these, whatever they are within their enclosures".into()
            }
            Stationarity::Descent { direction } => {
                format!("no: it decreases along {}", at.shown(direction, None))
            }
            Stationarity::NotDecided => self.open_text(),
        }
    }

    /// Why it is not decided whether 0 is a Clarke subgradient.
    fn open_text(&self) -> String {
        let found = &self.found;
        match found.limit {
            Some(limit) => format!("not decided: 0 is not certainly a combination of what was found, and {limit}"),
            None if found.gradients.iter().any(|n| n.radius.is_some()) => {
                "not decided: 0 lies within what the enclosures of the gradients leave open".into()
            }
            None => "not decided: the limits ended it".into(),
        }
    }

    /// The members of the JSON object, with or without the list of gradients.
    fn members(&self, listed: bool) -> Vec<(&'static str, Value)> {
        let Neighbourhood { at, found, .. } = self;
        let apart = self.apart(if listed { usize::MAX } else { 0 });
        let gradients = found.gradients.iter().zip(&self.vertices).enumerate().map(|(i, (n, vertex))| {
            let vector = (&n.gradient[..], n.radius.as_deref());
            let members = [
                ("gradient", at.json(&n.gradient)),
                ("direction", at.json(&n.direction)),
                ("vertex", vertex.map_or(Value::Null, Value::from)),
                ("cells", n.cells.into()),
            ];
            let more = at.json_radius(vector).into_iter().chain(at.json_digits(vector, (&apart, i)));
            show::object(members.into_iter().chain(more))
        });
        let mut members: Vec<(&str, Value)> =
            vec![("cells", found.cells.into()), ("complete", found.complete().into())];
        if listed {
            members.push(("gradients", gradients.collect()));
        }
        members.extend([
            ("distinct", found.gradients.len().into()),
            ("limit", found.limit.map_or(Value::Null, |limit| limit.to_string().into())),
            ("value", show::near(&at.values()[self.output])),
            ("kinks", at.model().kinks().len().into()),
        ]);
        members.extend(at.json_exactness());
        if let Some(contains) = &self.contains {
            members.push(("contains", contains.json(at)));
            members.push(("certificate", self.kept.into()));
        }
        if let Some(stationary) = &self.stationary {
            members.push(("stationary", self.stationary_json(stationary)));
        }
        let w = &found.work;
        let work = [
            ("lps", w.programs),
            ("rational", w.exact),
            ("questions", w.questions),
            ("walks", w.walks),
            ("refuted", w.refuted),
            ("circuits", w.circuits),
        ];
        members.push(("work", show::object(work.map(|(name, n)| (name, n.into())))));
        let exact = found.gradients.iter().map(|n| {
            let gradient = at.json_exact(&n.gradient, n.radius.as_deref())?;
            let direction = at.json_exact(&n.direction, None)?;
            Some(show::object([("gradient", gradient), ("direction", direction)]))
        });
        if listed && let Some(gradients) = exact.collect::<Option<Value>>() {
            members.push(("exact", show::object([("gradients", gradients)])));
        }
        members
    }

    fn stationary_json(&self, stationary: &Stationarity) -> Value {
        match stationary {
            Stationarity::Stationary { weights } => {
                show::object([("verdict", "yes".into()), ("weights", json_weights(weights))])
            }
            // the weights depend on what the gradients are
            Stationarity::Enclosed => show::object([("verdict", Value::from("yes"))]),
            Stationarity::Descent { direction } => {
                show::object([("verdict", "no".into()), ("descent", self.at.json(direction))])
            }
            Stationarity::NotDecided => show::object([("verdict", Value::from("unknown"))]),
        }
    }
}
