//! Points for networks, whose files have names and shapes of their own making.

use super::Point;
use crease_core::{Program, Rational, Shape, printable};

/// A name as the language writes it: what is no letter, digit or underscore becomes an underscore.
pub(crate) fn identifier(name: &str) -> String {
    let mut out: String = name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    if !out.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        out.insert(0, '_');
    }
    out
}

impl Point {
    /// The same point in the names and shapes of a program's inputs, as far as it is clear what is meant: a name may be written as the language would
    /// (`input_1` for `input.1`), an array of NumPy without a name (`arr_0`) is the input of that number; a list may be flat in row-major
    /// order, and axes of size 1 may be missing or too many. What is not clear stays as it is, for [`Point::bind`] to refuse.
    ///
    /// ```
    /// use crease_core::{Builder, Shape};
    /// let mut b = Builder::new("net");
    /// let x = b.input("input.1", Shape::new([1, 2, 2])?)?;
    /// let net = b.finish(&[x])?;
    /// for text in ["input_1=[1,2,3,4]", "input_1=[[1,2],[3,4]]", "arr_0=[[[1,2],[3,4]]]"] {
    ///     let point = crease_formats::parse_point(text)?.fit(&net);
    ///     assert_eq!(point.bind(&net)?[0].0.dims(), [1, 2, 2]);
    /// }
    /// assert!(crease_formats::parse_point("input_1=[[1,3],[2,4],[5,6]]")?.fit(&net).bind(&net).is_err());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[must_use]
    pub fn fit(&self, program: &Program) -> Point {
        let inputs = program.inputs();
        let plain: Vec<String> = inputs.iter().map(|i| identifier(&i.name)).collect();
        let mut fitted = Point::default();
        for (name, shape, values) in self.iter() {
            let numbered =
                || name.strip_prefix("arr_").and_then(|k| k.parse().ok()).filter(|&k: &usize| k < inputs.len());
            let exact = inputs.iter().position(|i| *i.name == *name);
            let mut alike = (0..inputs.len()).filter(|&i| plain[i] == name);
            let alike = alike.next().filter(|_| alike.next().is_none());
            let Some(input) = exact.or(alike).or_else(numbered).map(|i| &inputs[i]) else {
                // a name that is there twice is refused when it is bound
                let _ = fitted.insert(name.into(), shape.clone(), values.to_vec());
                continue;
            };
            let to = if reads_as(shape, &input.shape) { input.shape.clone() } else { shape.clone() };
            if fitted.insert(input.name.to_string(), to.clone(), values.to_vec()).is_err() {
                let _ = fitted.insert(name.into(), to, values.to_vec());
            }
        }
        fitted
    }

    /// The integers that the point has for an input of a network that is no variable, by its name as the file or as the language writes it; see
    /// [`Options::given`](crate::onnx::Options::given).
    ///
    /// ```
    /// let point = crease_formats::parse_point("input_ids=[[3,1]],x=1/2")?;
    /// assert_eq!(point.integers("input.ids"), Ok(Some(vec![3, 1])));
    /// assert_eq!(point.integers("mask"), Ok(None));
    /// assert_eq!(point.integers("x").unwrap_err(), "0.5 is no integer of 64 bits");
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    pub fn integers(&self, name: &str) -> Result<Option<Vec<i64>>, String> {
        let Some((_, values)) = self.get(&printable(name)).or_else(|| self.get(&identifier(name))) else {
            return Ok(None);
        };
        let whole = |r: &Rational| r.to_string().parse().map_err(|_| format!("{r} is no integer of 64 bits"));
        values.iter().map(whole).collect::<Result<Vec<i64>, _>>().map(Some)
    }

    /// The point without some inputs, by their names as a file or as the language writes them.
    ///
    /// ```
    /// let point = crease_formats::parse_point("input_ids=[3,1],x=1/2")?;
    /// assert!(point.without(&["input.ids".into()]).iter().map(|(name, ..)| name).eq(["x"]));
    /// # Ok::<(), crease_formats::PointError>(())
    /// ```
    #[must_use]
    pub fn without(&self, names: &[String]) -> Point {
        let taken = |name: &str| names.iter().any(|n| n == name || identifier(n) == name);
        let mut rest = Point::default();
        for (name, shape, values) in self.iter().filter(|(name, ..)| !taken(name)) {
            // names of a point differ
            let _ = rest.insert(name.into(), shape.clone(), values.to_vec());
        }
        rest
    }
}

/// Whether numbers of one shape can be meant as those of another: flat, or but for axes of size 1.
fn reads_as(from: &Shape, to: &Shape) -> bool {
    let long = |s: &Shape| s.dims().iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
    from.len() == to.len() && (from.rank() == 1 || long(from) == long(to))
}
