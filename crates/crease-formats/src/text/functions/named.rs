//! Functions that are made of others, by [`Builder`] methods of the same names: activations, and the angle of a point.

use super::{Args, Function};
use crate::text::error::TextError;
use crate::text::operand::Kind;
use crate::text::parser::Parser;
use crease_core::{Atom, BuildError, Builder, Rational};

macro_rules! named {
    ($($f:ident => $name:ident,)*) => {
        /// A function that is made of others.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(crate) enum Named {
            Atan2,
            Celu,
            Clamp,
            $($f,)*
        }

        impl Named {
            /// All of them.
            pub const ALL: &'static [Named] = &[Named::Atan2, Named::Celu, Named::Clamp, $(Named::$f),*];

            /// The name in the language.
            pub const fn name(self) -> &'static str {
                match self {
                    Named::Atan2 => "atan2",
                    Named::Celu => "celu",
                    Named::Clamp => "clamp",
                    $(Named::$f => stringify!($name),)*
                }
            }

            fn build(self, b: &mut Builder, args: &[Atom], alpha: Rational) -> Result<Atom, BuildError> {
                match self {
                    Named::Atan2 => b.atan2(args[0], args[1]),
                    Named::Celu => b.celu(args[0], alpha),
                    Named::Clamp => b.clamp(args[0], args[1], args[2]),
                    $(Named::$f => b.$name(args[0]),)*
                }
            }
        }
    };
}

named! {
    Gelu => gelu,
    GeluTanh => gelu_tanh,
    HardSigmoid => hardsigmoid,
    HardSwish => hardswish,
    LogSigmoid => logsigmoid,
    Mish => mish,
    Relu6 => relu6,
    Selu => selu,
    Silu => silu,
    SoftSign => softsign,
}

impl Named {
    /// The function of that name.
    pub fn from_name(name: &str) -> Option<Named> {
        Named::ALL.iter().copied().find(|f| f.name() == name)
    }

    /// How it is written.
    pub fn usage(self) -> String {
        match self {
            Named::Atan2 => "atan2(y, x)".into(),
            Named::Celu => "celu(x, alpha=1)".into(),
            Named::Clamp => "clamp(x, low, high)".into(),
            one => format!("{}(x)", one.name()),
        }
    }
}

impl<'s> Parser<'s> {
    /// A function that is made of others.
    pub fn named(&mut self, f: Named, mut args: Args<'s>) -> Result<Kind, TextError> {
        let mut alpha = Rational::ONE;
        if f == Named::Celu {
            alpha = args.parameter("alpha", "alpha")?.unwrap_or(alpha);
            if alpha.is_zero() {
                return Err(args.fault("the alpha of `celu` must not be 0".into()));
            }
        }
        let arity = match f {
            Named::Atan2 => 2,
            Named::Clamp => 3,
            _ => 1,
        };
        args.no_more_settings(self)?;
        args.arity(arity, arity)?;
        debug_assert!(args.function == Function::Named(f));
        let place = args.place;
        let atoms = self.values(args)?;
        Ok(Kind::Value(self.build(place, |b| f.build(b, &atoms, alpha))?))
    }
}
