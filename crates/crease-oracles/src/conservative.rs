//! The autodiff conservative gradient: one element or several, and which. Definition "autodiff conservative gradient" and
//! Proposition "finding two elements is tractable".
//!
//! Every active kink may take any convex combination of its members, and a Euclidean norm any with weights from the unit ball; the set of gradients that come out is the conservative
//! gradient of the program. It is the image of a polynomial in those choices, affine in each kink, so it is a single point iff the
//! polynomial is constant. That is decided by the graph of the paper's proof, exactly, where that is affordable; else by evaluating
//! the polynomial at random points of a prime field, where a difference is certain. A path of the graph gives a second element only
//! if it has the *fewest* kinks: with an arbitrary one sub-monomials can cancel.

use crate::enclosed::{Ball, apart};
use crate::graph::{Path, shortest_path, switched};
use crate::sweep::backward;
use crate::{OracleError, Session, check_exact};
use crease_core::local::{Node, NodeId};
use crease_core::number::{Field61, Mixed, Number, Rational};
use crease_core::random::SplitMix64;

/// An element of the conservative gradient, and the choices that produce it.
#[derive(Clone, Debug, PartialEq)]
pub struct ConservativeElement {
    /// The gradient.
    pub gradient: Vec<Rational>,
    /// How far each coordinate may be from that of the program; nothing if all of it is exact.
    pub radius: Option<Vec<Rational>>,
    /// For each kink of the model, the weights of its members; they add up to 1, or, for a norm, are a vector of the unit ball.
    pub choices: Vec<Vec<Rational>>,
}

/// What is known of the conservative gradient at a point.
#[derive(Clone, Debug, PartialEq)]
pub struct Conservative {
    /// One element if the set is a singleton, else two distinct ones.
    pub elements: Vec<ConservativeElement>,
    /// Whether the verdict is proved for the local model. Two distinct elements prove themselves; a singleton is proved by the graph,
    /// unless that is too large: then the probability of an error is of the order of the number of kinks over 2^61.
    pub proved: bool,
    /// The kinks of a shortest path of the paper's graph, from the output down, if there is one and the graph was made.
    pub path: Option<Vec<usize>>,
    /// For every coordinate, numbers between which all elements lie. They need not be attained.
    pub bounds: Vec<(Rational, Rational)>,
}

impl Conservative {
    /// Whether the set has one element only.
    pub fn is_singleton(&self) -> bool {
        self.elements.len() == 1
    }

    /// The largest width of the bounds: no coordinate of two elements differs by more.
    pub fn width(&self) -> Rational {
        self.bounds.iter().map(|(low, high)| high - low).max().unwrap_or_default()
    }
}

impl Session<'_> {
    /// The conservative gradient: a singleton, or two distinct elements. Where coefficients are enclosed, two elements are
    /// distinct whatever they are inside their enclosures, and a singleton has no kinks; else it is [undecided](OracleError::Undecided).
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let session = Session::new(&model, 0);
    /// let found: Vec<String> = session.conservative().unwrap().elements.iter().map(|e| e.gradient[0].to_string()).collect();
    /// assert_eq!(found, ["0", "2"]);
    /// ```
    pub fn conservative(&self) -> Result<&Conservative, OracleError> {
        let find = || ConservativeSet { session: self, from: self.from()? }.elements();
        self.of_output.conservative.get_or_init(find).as_ref().map_err(Clone::clone)
    }

    /// The gradient when each kink takes the given combination of its members; with the middles of coefficients that are enclosed.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| relu(x[0]) - relu(-x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let half = || Rational::new(1, 2).unwrap();
    /// let g = Session::new(&model, 0).gradient_at_choices(&[vec![half(), half()], vec![half(), half()]]).unwrap();
    /// assert_eq!(g, [Rational::ONE]);
    /// ```
    pub fn gradient_at_choices(&self, choices: &[Vec<Rational>]) -> Result<Vec<Rational>, OracleError> {
        let set = ConservativeSet { session: self, from: self.from()? };
        check_choices(self, choices)?;
        set.at(choices)
    }

    /// The same as far as it is known: exact, or enclosed where coefficients are.
    ///
    /// ```
    /// use crease_core::{exp, local::localize, number::Number, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| exp(x[0] + 1.0) + relu(x[0])).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let slope = &Session::new(&model, 0).known_at_choices(&[vec![Rational::ZERO, Rational::ONE]]).unwrap()[0];
    /// assert!(slope.exact().is_none() && (slope.to_f64() - 1f64.exp() - 1.0).abs() < 1e-15);
    /// ```
    pub fn known_at_choices(&self, choices: &[Vec<Rational>]) -> Result<Vec<Mixed>, OracleError> {
        let set = ConservativeSet { session: self, from: self.from()? };
        check_choices(self, choices)?;
        set.known(choices)
    }

    /// [`gradient_at_choices`](Self::gradient_at_choices) with the radius of each coordinate's enclosure,
    /// which is `None` for an exact model. Certain statements about the gradient need the radius.
    ///
    /// ```
    /// use crease_core::{exp, local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| relu(x[0]) * exp(x[0] + 1.0)).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// let right = vec![vec![Rational::ZERO, Rational::ONE]];
    /// let (e, radius) = Session::new(&model, 0).enclosed_gradient_at_choices(&right).unwrap();
    /// assert!((e[0].to_f64() - 1f64.exp()).abs() < 1e-15 && radius.unwrap()[0].is_positive());
    /// ```
    pub fn enclosed_gradient_at_choices(
        &self,
        choices: &[Vec<Rational>],
    ) -> Result<(Vec<Rational>, Option<Vec<Rational>>), OracleError> {
        let known = self.known_at_choices(choices)?;
        let bits = self.model().precision().bits;
        let Ball { middle, radius } = Ball::of(&known).ok_or(OracleError::Undecided { what: "a slope", bits })?;
        Ok((middle, Some(radius).filter(|r| r.iter().any(|r| !r.is_zero()))))
    }

    /// The randomized test: whether two sweeps with random choices in the prime field differ. If they do, the conservative gradient is
    /// certainly no singleton; if they do not, it is one but for a probability of the order of the number of kinks over 2^61.
    ///
    /// ```
    /// use crease_core::{local::localize, relu, trace, Rational, Tensor};
    /// use crease_oracles::Session;
    /// let p = trace(1, |x| relu(x[0]) - relu(relu(x[0]))).unwrap();
    /// let model = localize(&p, &[Tensor::scalar(Rational::ZERO)]).unwrap();
    /// assert!(Session::new(&model, 0).several_in_field(1).unwrap());
    /// ```
    pub fn several_in_field(&self, seed: u64) -> Result<bool, OracleError> {
        check_exact(self.model(), "whether the conservative gradient has one element")?;
        let (from, field) = (self.from()?, self.field()?);
        let mut random = SplitMix64::new(seed);
        let mut draw = || -> Result<Vec<Field61>, OracleError> {
            let mut shares = |&n: &usize| {
                let mut shares: Vec<Field61> = (1..n).map(|_| Field61::new(random.bits())).collect();
                shares.push(shares.iter().fold(Field61::one(), |rest, s| rest.sub(s)));
                shares
            };
            let choices: Vec<Vec<Field61>> = self.sizes().iter().map(&mut shares).collect();
            backward(self, field, from, |kink, k| Some(choices[kink][k]))
        };
        Ok(draw()? != draw()?)
    }
}

fn singleton(element: ConservativeElement, proved: bool, bounds: Vec<(Rational, Rational)>) -> Conservative {
    let mut bounds = bounds;
    if proved {
        bounds = element.gradient.iter().map(|x| (x.clone(), x.clone())).collect();
    }
    Conservative { elements: vec![element], proved, path: None, bounds }
}

/// Whether two elements certainly differ.
fn distinct(elements: &[ConservativeElement]) -> bool {
    let [a, b] = elements else { return false };
    apart((&a.gradient, a.radius.as_deref()), (&b.gradient, b.radius.as_deref()))
}

/// Checks that there are weights for each kink and member: none negative, which add up to 1, or, for a norm, a vector of the unit ball.
pub(crate) fn check_choices(session: &Session<'_>, choices: &[Vec<Rational>]) -> Result<(), OracleError> {
    let (model, sizes) = (session.model(), session.sizes());
    if choices.len() != sizes.len() {
        return Err(OracleError::Choices { kink: choices.len().min(sizes.len()) });
    }
    for (kink, (c, &n)) in choices.iter().zip(sizes).enumerate() {
        let fits = match model.node(model.kinks()[kink].node) {
            Node::Norm(_) => c.iter().map(|x| x * x).sum::<Rational>() <= Rational::ONE,
            _ => c.iter().sum::<Rational>().is_one() && !c.iter().any(Rational::is_negative),
        };
        if c.len() != n || !fits {
            return Err(OracleError::Choices { kink });
        }
    }
    Ok(())
}

/// The gradients that choices at the kinks of a model produce.
struct ConservativeSet<'s, 'm> {
    session: &'s Session<'m>,
    from: NodeId,
}

impl ConservativeSet<'_, '_> {
    fn elements(&self) -> Result<Conservative, OracleError> {
        let session = self.session;
        let first = self.corner(&vec![0; session.sizes().len()])?;
        if !session.model().is_exact() {
            return self.enclosed(first);
        }
        let (normal, bounds) = (session.choices(), session.bounds()?.to_vec());
        let steps = session.token().steps_of(session.limits().graph);
        let path = normal.map_or(Path::TooLarge, |n| shortest_path(n, session.output(), steps));
        // what it is that took too long
        session.go_on()?;
        let (second, path) = match (path, normal) {
            (Path::None, _) => return Ok(singleton(first, true, bounds)),
            (Path::Found(steps), Some(normal)) => {
                let kinks = steps.iter().map(|&(k, _)| normal.kinks[k].origin).collect();
                (self.corner(&switched(session.model(), normal, &steps))?, Some(kinks))
            }
            _ => match session.several_in_field(0x5EED) {
                Ok(false) => return Ok(singleton(first, false, bounds)),
                Ok(true) | Err(OracleError::Number(_)) => (self.different(&first.gradient)?, None),
                Err(e) => return Err(e),
            },
        };
        let elements = self.spread([first, second]);
        Ok(Conservative { elements: elements.into(), proved: true, path, bounds })
    }

    fn at(&self, choices: &[Vec<Rational>]) -> Result<Vec<Rational>, OracleError> {
        let share = |kink: usize, k: usize| Some(&choices[kink][k]).filter(|c| !c.is_zero()).cloned();
        backward(self.session, self.session.weights(), self.from, share)
    }

    /// The gradient at choices, as far as it is known.
    fn known(&self, choices: &[Vec<Rational>]) -> Result<Vec<Mixed>, OracleError> {
        let bits = self.session.model().precision().bits;
        let share = |kink: usize, k: usize| {
            Some(&choices[kink][k]).filter(|c| !c.is_zero()).map(|c| Mixed::exactly(c.clone()).at(bits))
        };
        backward(self.session, self.session.known(), self.from, share)
    }

    /// What is certain if coefficients are enclosed.
    fn enclosed(&self, first: ConservativeElement) -> Result<Conservative, OracleError> {
        let (model, bounds) = (self.session.model(), self.session.bounds()?.to_vec());
        let bits = model.precision().bits;
        let undecided = OracleError::Undecided { what: "whether the conservative gradient has one element", bits };
        let ball = |e: ConservativeElement| -> Result<Option<ConservativeElement>, OracleError> {
            let found = Ball::of(&self.known(&e.choices)?);
            let element = |Ball { middle, radius }| ConservativeElement {
                gradient: middle,
                radius: Some(radius),
                choices: e.choices,
            };
            Ok(found.map(element))
        };
        let one = ball(first)?.ok_or(undecided.clone())?;
        if self.session.sizes().is_empty() {
            return Ok(Conservative { elements: vec![one], proved: true, path: None, bounds });
        }
        let second = match self.different(&one.gradient) {
            Ok(second) => second,
            Err(e @ OracleError::Stopped(_)) => return Err(e),
            Err(_) => return Err(undecided),
        };
        let elements = self.spread([ConservativeElement { gradient: self.at(&one.choices)?, ..one }, second]);
        let both: Result<Option<Vec<ConservativeElement>>, OracleError> = elements.into_iter().map(ball).collect();
        let both = both?;
        match both {
            Some(both) if distinct(&both) => Ok(Conservative { elements: both, proved: true, path: None, bounds }),
            _ => Err(undecided),
        }
    }

    /// The element for one member at each kink.
    fn corner(&self, picked: &[usize]) -> Result<ConservativeElement, OracleError> {
        let unit = |(&n, &k): (&usize, &usize)| (0..n).map(|i| Rational::from(usize::from(i == k))).collect();
        let choices: Vec<Vec<Rational>> = self.session.sizes().iter().zip(picked).map(unit).collect();
        Ok(ConservativeElement { gradient: self.at(&choices)?, radius: None, choices })
    }

    /// Some element with another gradient.
    fn different(&self, other: &[Rational]) -> Result<ConservativeElement, OracleError> {
        let mut random = SplitMix64::new(1);
        for attempt in 0..32 {
            // corners first, then points of the inside, where a polynomial that is not constant is almost never equal
            let choice = |&n: &usize| {
                let parts: Vec<i64> = match attempt {
                    0..8 => {
                        let k = random.below(n as u64) as usize;
                        (0..n).map(|i| i64::from(i == k)).collect()
                    }
                    _ => (0..n).map(|_| 1 + random.below(1 << (attempt / 2)) as i64).collect(),
                };
                let total = parts.iter().sum::<i64>();
                parts.iter().filter_map(|&p| Rational::new(p, total)).collect()
            };
            let choices: Vec<Vec<Rational>> = self.session.sizes().iter().map(choice).collect();
            let gradient = self.at(&choices)?;
            if gradient != other {
                return Ok(ConservativeElement { gradient, radius: None, choices });
            }
        }
        Err(OracleError::NoGenericDirection)
    }

    /// Pushes two distinct elements apart along the first coordinate in which they differ, corner by corner, until it is stopped.
    fn spread(&self, mut elements: [ConservativeElement; 2]) -> [ConservativeElement; 2] {
        let [a, b] = &elements;
        let Some(coordinate) = (0..a.gradient.len()).find(|&i| a.gradient[i] != b.gradient[i]) else {
            return elements;
        };
        elements.sort_by(|a, b| a.gradient[coordinate].cmp(&b.gradient[coordinate]));
        let tried: usize = self.session.sizes().iter().map(|n| n - 1).sum();
        if self.session.model().len().saturating_mul(tried).saturating_mul(2) > self.session.limits().spread {
            return elements;
        }
        for (element, larger) in elements.iter_mut().zip([false, true]) {
            let corner = |e: &ConservativeElement| -> Option<Vec<usize>> {
                e.choices.iter().map(|c| c.iter().position(Rational::is_one)).collect()
            };
            let Some(mut best) = corner(element) else { continue };
            for (kink, &n) in self.session.sizes().iter().enumerate() {
                for k in (0..n).filter(|&k| k != best[kink]).collect::<Vec<_>>() {
                    let before = std::mem::replace(&mut best[kink], k);
                    let Ok(tried) = self.corner(&best) else { return elements };
                    let order = tried.gradient[coordinate].cmp(&element.gradient[coordinate]);
                    if if larger { order.is_gt() } else { order.is_lt() } {
                        *element = tried;
                    } else {
                        best[kink] = before;
                    }
                }
            }
        }
        elements
    }
}
