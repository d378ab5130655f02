//! Convolution, its transpose and pooling: `conv2d(x, kernel, stride=2)`, `maxpool(x, [3])`.
//!
//! The axes of a convolution are in its name, those of pooling in the list of the window's sizes; a number alone is a window of two axes, or of one on
//! a vector. What the operations do is in [`crease_core::builder`].

use super::Args;
use crate::text::error::TextError;
use crate::text::operand::Kind;
use crate::text::parser::Parser;
use crease_core::Sliding;

/// A list of settings: one integer for all axes, or one for each.
fn setting(args: &mut Args<'_>, axes: usize, key: &str, default: usize) -> Result<Vec<usize>, TextError> {
    let what = format!("`{key}`");
    args.key(key).map_or(Ok(vec![default; axes]), |operand| operand.for_each(axes, &what))
}

/// How windows move, by the settings that all of these functions have.
fn sliding(args: &mut Args<'_>, stride: Vec<usize>) -> Result<Sliding, TextError> {
    let axes = stride.len();
    let padding = setting(args, axes, "padding", 0)?;
    let dilation = setting(args, axes, "dilation", 1)?;
    Ok(Sliding::new(axes).strides(stride).pads(padding).dilations(dilation))
}

impl<'s> Parser<'s> {
    /// A convolution along so many axes, or its transpose.
    pub fn conv(&mut self, axes: usize, transposed: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let stride = setting(&mut args, axes, "stride", 1)?;
        let how = sliding(&mut args, stride)?;
        let groups = args.key("groups").map_or(Ok(1), |g| g.count("the number of groups"))?;
        let extra = if transposed { setting(&mut args, axes, "extra", 0)? } else { Vec::new() };
        args.arity(2, 2)?;
        args.no_more_settings(self)?;
        let place = args.place;
        let atoms = self.values(args)?;
        let result = self.build(place, |b| match transposed {
            false => b.conv(atoms[0], atoms[1], &how, groups),
            true => b.conv_transpose(atoms[0], atoms[1], &how, groups, &extra),
        })?;
        Ok(Kind::Value(result))
    }

    /// The largest number of each window, or its mean.
    pub fn pool(&mut self, mean: bool, mut args: Args<'s>) -> Result<Kind, TextError> {
        let size = match args.key("size") {
            Some(size) => size,
            None => {
                args.arity(2, 2)?;
                args.pop()
            }
        };
        args.arity(1, 1)?;
        let axes = match (&size.kind, &args.positional[0].kind) {
            (Kind::List(list), _) => list.data.len(),
            (_, Kind::Value(x)) => self.builder.shape(*x).rank().clamp(1, 2),
            (_, Kind::List(list)) => list.dims.len().clamp(1, 2),
            _ => 2,
        };
        let size = size.for_each(axes, "the size of the window")?;
        // windows that do not overlap, unless told otherwise
        let stride = match args.key("stride") {
            Some(stride) => stride.for_each(axes, "`stride`")?,
            None => size.clone(),
        };
        let how = sliding(&mut args, stride)?;
        let how = how.ceil(args.key("ceil").map_or(Ok(false), |c| c.truth("`ceil`"))?);
        let counted = match mean {
            true => args.key("count_padding").map_or(Ok(true), |c| c.truth("`count_padding`"))?,
            false => false,
        };
        args.no_more_settings(self)?;
        let place = args.place;
        let x = self.values(args)?[0];
        let result = self.build(place, |b| match mean {
            true => b.avgpool(x, &size, &how, counted),
            false => b.maxpool(x, &size, &how),
        })?;
        Ok(Kind::Value(result))
    }
}
