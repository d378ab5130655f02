//! Where equations come from, beside a text of the program: a pickle carries both, so that a worker names the same lines and layers.
//!
//! A text in the language of crease says nothing about origins. [`told`] lists them, program by program in the order of the library and equation by equation; [`restored`] gives them back to a program that was read from
//! the text. Equations are the same in number and order, or nothing is restored.

use crease::{Atom, Builder, Op, Origin, Place, Program, Text};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::sync::Arc;

/// All origins of a program and of what it calls, as JSON; nothing if there are none.
pub fn told(p: &Program) -> Option<String> {
    let mut table = Table::default();
    let library = p.library();
    let programs: Vec<Vec<i64>> = library
        .iter()
        .map(|q| &**q)
        .chain([p])
        .map(|q| q.equations().map(|e| e.origin().map_or(-1, |o| table.origin(&o))).collect())
        .collect();
    if table.origins.is_empty() {
        return None;
    }
    Some(json!({ "texts": table.texts, "origins": table.origins, "programs": programs }).to_string())
}

#[derive(Default)]
struct Table {
    texts: Vec<(String, String)>,
    text_places: HashMap<*const Text, usize>,
    origins: Vec<Value>,
    places: HashMap<String, i64>,
}

impl Table {
    fn origin(&mut self, o: &Origin) -> i64 {
        let value = self.value(o);
        let next = self.origins.len() as i64;
        let k = *self.places.entry(value.to_string()).or_insert(next);
        if k == next {
            self.origins.push(value);
        }
        k
    }

    fn value(&mut self, o: &Origin) -> Value {
        match o {
            Origin::Text { text, place } => {
                let k = *self.text_places.entry(Arc::as_ptr(text)).or_insert_with(|| {
                    self.texts.push((text.name().into(), text.as_str().into()));
                    self.texts.len() - 1
                });
                json!({ "text": k, "start": place.start, "end": place.end })
            }
            Origin::Node { model, name } => json!({ "model": &**model, "node": &**name }),
            Origin::Line { file, line } => json!({ "file": &**file, "line": line }),
            Origin::Layer { path, inside } => {
                let inside = inside.as_ref().map(|i| self.value(i));
                json!({ "layer": &**path, "inside": inside })
            }
            // a kind that is not known here is told in words
            other => json!({ "layer": other.to_string(), "inside": null }),
        }
    }
}

fn origin(v: &Value, texts: &[Arc<Text>]) -> Option<Origin> {
    let text = |key: &str| v.get(key)?.as_str();
    let number = |key: &str| u32::try_from(v.get(key)?.as_u64()?).ok();
    if let Some(k) = number("text") {
        let place = Place { start: number("start")?, end: number("end")? };
        return Some(Origin::Text { text: texts.get(k as usize)?.clone(), place });
    }
    if let Some(name) = text("node") {
        return Some(Origin::node(text("model")?, name));
    }
    if let Some(file) = text("file") {
        return Some(Origin::line(file, number("line")?));
    }
    let inside = v.get("inside").filter(|i| !i.is_null()).and_then(|i| origin(i, texts));
    Some(Origin::layer(text("layer")?, inside))
}

/// The program with the origins that were told; as it is if they are not those of its equations.
pub fn restored(p: Arc<Program>, told: &str) -> Arc<Program> {
    rebuilt(&p, told).unwrap_or(p)
}

fn rebuilt(p: &Program, told: &str) -> Option<Arc<Program>> {
    let told: Value = serde_json::from_str(told).ok()?;
    let pair = |t: &Value| Some(Arc::new(Text::new(t.get(0)?.as_str()?, t.get(1)?.as_str()?)));
    let texts: Vec<Arc<Text>> = told.get("texts")?.as_array()?.iter().map(pair).collect::<Option<_>>()?;
    let origins: Vec<Option<Origin>> = told.get("origins")?.as_array()?.iter().map(|o| origin(o, &texts)).collect();
    let programs = told.get("programs")?.as_array()?;
    let library = p.library();
    if programs.len() != library.len() + 1 {
        return None;
    }
    let mut made: HashMap<crease::program::ProgramId, Arc<Program>> = HashMap::new();
    let mut last = None;
    for (q, places) in library.iter().map(|q| &**q).chain([p]).zip(programs) {
        let places = places.as_array()?;
        if places.len() != q.len() {
            return None;
        }
        let of = |place: &Value| origins.get(usize::try_from(place.as_i64()?).ok()?)?.clone();
        let again = Arc::new(with_origins(q, &made, places.iter().map(of))?);
        made.insert(q.id(), again.clone());
        last = Some(again);
    }
    last
}

/// The same equations with other origins, calling what was made before.
fn with_origins(
    p: &Program,
    made: &HashMap<crease::program::ProgramId, Arc<Program>>,
    origins: impl Iterator<Item = Option<Origin>>,
) -> Option<Program> {
    let mut b = Builder::new(p.name());
    let mut map: Vec<Atom> = Vec::with_capacity(p.values());
    for i in p.inputs() {
        map.push(b.input(i.name.clone(), i.shape.clone()).ok()?);
    }
    let atom = |b: &mut Builder, map: &[Atom], a: Atom| match a {
        Atom::Value(v) => map.get(v.index()).copied(),
        Atom::Const(c) => Some(b.constant(p.constant(c).clone())),
    };
    for (e, origin) in p.equations().zip(origins) {
        let args = e.args.iter().map(|&a| atom(&mut b, &map, a)).collect::<Option<Vec<_>>>()?;
        let mut ids = HashMap::new();
        for &id in e.op.callees() {
            let c = p.callee(id);
            let joint = match &c.joint {
                Some(j) => Some(made.get(&j.id())?.clone()),
                None => None,
            };
            ids.insert(id, b.callee(made.get(&c.program.id())?.clone(), joint).ok()?);
        }
        b.set_origin(origin);
        let op: Op = e.op.map_callees(|id| ids[&id]);
        map.extend(b.push(op, &args).ok()?);
    }
    let outputs = p.outputs().iter().map(|&a| atom(&mut b, &map, a)).collect::<Option<Vec<_>>>()?;
    b.finish(&outputs).ok()
}
