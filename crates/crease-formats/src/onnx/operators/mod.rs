//! The table of operators that are read: each with how many arguments it takes, the parameters that are known, and the function that writes it down as
//! equations. A parameter that is not in its row is refused, for it could mean anything. Adding an operator is a row and its function.

mod activation;
mod arithmetic;
mod constants;
mod conv;
mod einsum;
mod join;
mod normal;
mod pad;
mod pool;
mod product;
mod reduce;
mod resize;
mod structure;
mod window;

use super::call::{Call, Results};
use super::error::{OnnxError, cut, refuse};
use super::fold;
use super::messages::NodeProto;
use crate::text::did_you_mean;

pub(super) use reduce::axes_of;
pub(super) use structure::strides;

/// A row of the table.
pub(super) struct Operator {
    name: &'static str,
    /// The fewest and the most arguments.
    inputs: (usize, usize),
    /// Its parameters, in any version.
    attributes: &'static [&'static str],
    /// What is read of it, where that is not all.
    note: &'static str,
    read: fn(&mut Call<'_>) -> Results,
}

/// As many as there are.
const ANY: usize = usize::MAX;

macro_rules! table {
    ($($name:literal $min:tt to $max:tt [$($attribute:literal)*] $read:path, $note:literal;)*) => {
        static TABLE: &[Operator] = &[$(Operator {
            name: $name,
            inputs: ($min, $max),
            attributes: &[$($attribute),*],
            note: $note,
            read: $read,
        }),*];
    };
}

// in the order of the alphabet; `fold` computes any of them on integers, and on truth values, where it can
table! {
    "Abs" 1 to 1 [] arithmetic::abs, "";
    "Acos" 1 to 1 [] arithmetic::acos, "";
    "Acosh" 1 to 1 [] arithmetic::acosh, "";
    "Add" 2 to 2 [] arithmetic::add, "";
    "And" 2 to 2 [] fold::only, "of constants";
    "Asin" 1 to 1 [] arithmetic::asin, "";
    "Asinh" 1 to 1 [] arithmetic::asinh, "";
    "Atan" 1 to 1 [] arithmetic::atan, "";
    "Atanh" 1 to 1 [] arithmetic::atanh, "";
    "AveragePool" 1 to 1 ["auto_pad" "ceil_mode" "count_include_pad" "dilations" "kernel_shape" "pads" "strides"] pool::average, "";
    "BatchNormalization" 5 to 5 ["epsilon" "momentum" "spatial" "training_mode"] normal::batch, "not in training";
    "Cast" 1 to 1 ["to" "saturate" "round_mode"] constants::cast, "to floats; of constants to any type";
    "CastLike" 2 to 2 ["saturate" "round_mode"] constants::cast_like, "to floats";
    "Ceil" 1 to 1 [] fold::only, "of constants";
    "Celu" 1 to 1 ["alpha"] activation::celu, "";
    "Clip" 1 to 3 ["min" "max"] arithmetic::clip, "constant bounds";
    "Concat" 1 to ANY ["axis"] join::concat, "";
    "Constant" 0 to 0 ["value" "value_float" "value_floats" "value_int" "value_ints"] constants::constant, "numbers";
    "ConstantOfShape" 1 to 1 ["value"] constants::of_shape, "";
    "Conv" 2 to 3 ["auto_pad" "dilations" "group" "kernel_shape" "pads" "strides"] conv::conv, "";
    "ConvTranspose" 2 to 3 ["auto_pad" "dilations" "group" "kernel_shape" "output_padding" "output_shape" "pads" "strides"] conv::transposed, "";
    "Cos" 1 to 1 [] arithmetic::cos, "";
    "Cosh" 1 to 1 [] arithmetic::cosh, "";
    "DepthToSpace" 1 to 1 ["blocksize" "mode"] structure::depth_to_space, "";
    "Div" 2 to 2 [] arithmetic::div, "";
    "Dropout" 1 to 3 ["ratio" "seed"] structure::dropout, "not in training";
    "Einsum" 1 to 2 ["equation"] einsum::einsum, "no ellipsis, no letter twice in one argument";
    "Elu" 1 to 1 ["alpha"] activation::elu, "";
    "Equal" 2 to 2 [] fold::only, "of constants";
    "Erf" 1 to 1 [] arithmetic::erf, "";
    "Exp" 1 to 1 [] arithmetic::exp, "";
    "Expand" 2 to 2 [] structure::expand, "constant shape";
    "Flatten" 1 to 1 ["axis"] structure::flatten, "";
    "Floor" 1 to 1 [] fold::only, "of constants";
    "Gather" 2 to 2 ["axis"] join::gather, "constant indices";
    "Gelu" 1 to 1 ["approximate"] activation::gelu, "";
    "Gemm" 2 to 3 ["alpha" "beta" "transA" "transB"] product::gemm, "";
    "GlobalAveragePool" 1 to 1 [] pool::global_average, "";
    "GlobalMaxPool" 1 to 1 [] pool::global_max, "";
    "Greater" 2 to 2 [] fold::only, "of constants";
    "GreaterOrEqual" 2 to 2 [] fold::only, "of constants";
    "GroupNormalization" 3 to 3 ["epsilon" "num_groups" "stash_type"] normal::group, "";
    "HardSigmoid" 1 to 1 ["alpha" "beta"] activation::hard_sigmoid, "";
    "HardSwish" 1 to 1 [] activation::hard_swish, "";
    "Identity" 1 to 1 [] structure::identity, "";
    "InstanceNormalization" 3 to 3 ["epsilon"] normal::instance, "";
    "LRN" 1 to 1 ["alpha" "beta" "bias" "size"] normal::lrn, "";
    "LayerNormalization" 2 to 3 ["axis" "epsilon" "stash_type"] normal::layer, "";
    "LeakyRelu" 1 to 1 ["alpha"] activation::leaky_relu, "";
    "Less" 2 to 2 [] fold::only, "of constants";
    "LessOrEqual" 2 to 2 [] fold::only, "of constants";
    "Log" 1 to 1 [] arithmetic::log, "";
    "LogSoftmax" 1 to 1 ["axis"] reduce::log_softmax, "";
    "MatMul" 2 to 2 [] product::matmul, "";
    "Max" 1 to ANY [] arithmetic::max, "";
    "MaxPool" 1 to 1 ["auto_pad" "ceil_mode" "dilations" "kernel_shape" "pads" "storage_order" "strides"] pool::max, "the values";
    "Mean" 1 to ANY [] arithmetic::mean, "";
    "Min" 1 to ANY [] arithmetic::min, "";
    "Mish" 1 to 1 [] activation::mish, "";
    "Mod" 2 to 2 ["fmod"] fold::only, "of constants";
    "Mul" 2 to 2 [] arithmetic::mul, "";
    "Neg" 1 to 1 [] arithmetic::neg, "";
    "Not" 1 to 1 [] fold::only, "of constants";
    "Or" 2 to 2 [] fold::only, "of constants";
    "PRelu" 2 to 2 [] activation::prelu, "";
    "Pad" 1 to 4 ["mode" "pads" "value"] pad::pad, "constant, reflect, edge, wrap";
    "Pow" 2 to 2 [] arithmetic::pow, "constant exponent, the same for all";
    "RMSNormalization" 2 to 2 ["axis" "epsilon" "stash_type"] normal::rms, "";
    "Range" 3 to 3 ["stash_type"] constants::range, "of constants";
    "Reciprocal" 1 to 1 [] arithmetic::reciprocal, "";
    "ReduceL1" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::l1, "";
    "ReduceL2" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::l2, "";
    "ReduceLogSum" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::log_sum, "";
    "ReduceLogSumExp" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::log_sum_exp, "";
    "ReduceMax" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::max, "";
    "ReduceMean" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::mean, "";
    "ReduceMin" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::min, "";
    "ReduceProd" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] fold::only, "of constants";
    "ReduceSum" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::sum, "";
    "ReduceSumSquare" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::sum_square, "";
    "Relu" 1 to 1 [] activation::relu, "";
    "Reshape" 2 to 2 ["allowzero"] structure::reshape, "constant shape";
    "Resize" 1 to 4 ["antialias" "axes" "coordinate_transformation_mode" "cubic_coeff_a" "exclude_outside" "extrapolation_value" "keep_aspect_ratio_policy" "mode" "nearest_mode"] resize::resize, "nearest and linear; constant sizes";
    "Selu" 1 to 1 ["alpha" "gamma"] activation::selu, "";
    "Shape" 1 to 1 ["start" "end"] constants::shape, "";
    "Sigmoid" 1 to 1 [] arithmetic::sigmoid, "";
    "Sin" 1 to 1 [] arithmetic::sin, "";
    "Sinh" 1 to 1 [] arithmetic::sinh, "";
    "Size" 1 to 1 [] constants::size, "";
    "Slice" 1 to 5 ["axes" "ends" "starts"] join::slice, "constant ranges";
    "Softmax" 1 to 1 ["axis"] reduce::softmax, "";
    "Softplus" 1 to 1 [] arithmetic::softplus, "";
    "Softsign" 1 to 1 [] activation::softsign, "";
    "SpaceToDepth" 1 to 1 ["blocksize"] structure::space_to_depth, "";
    "Split" 1 to 2 ["axis" "num_outputs" "split"] join::split, "constant sizes";
    "Sqrt" 1 to 1 [] arithmetic::sqrt, "";
    "Squeeze" 1 to 2 ["axes"] structure::squeeze, "";
    "Sub" 2 to 2 [] arithmetic::sub, "";
    "Sum" 1 to ANY [] arithmetic::sum, "";
    "Swish" 1 to 1 ["alpha"] activation::swish, "";
    "Tan" 1 to 1 [] arithmetic::tan, "";
    "Tanh" 1 to 1 [] arithmetic::tanh, "";
    "Tile" 2 to 2 [] structure::tile, "constant repeats";
    "Transpose" 1 to 1 ["perm"] structure::transpose, "";
    "Unsqueeze" 1 to 2 ["axes"] structure::unsqueeze, "";
    "Upsample" 1 to 2 ["mode" "scales"] resize::upsample, "nearest and linear; constant scales";
    "Where" 3 to 3 [] join::pick, "constant condition";
}

/// The operators that are read, in the order of the alphabet, each with what is read of it where that is not all.
///
/// ```
/// use crease_formats::onnx::operators;
/// assert!(operators().any(|(name, _)| name == "Conv"));
/// assert!(operators().any(|row| row == ("Gather", "constant indices")));
/// ```
pub fn operators() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|o| (o.name, o.note))
}

/// Whether an argument says how something is computed, so that its numbers must be known when the file is read.
pub(super) fn needs_numbers(operator: &str, position: usize) -> bool {
    match operator {
        "Clip" | "Dropout" | "Expand" | "Pad" | "Reshape" | "Resize" | "Slice" | "Tile" | "Upsample" => position > 0,
        "Gather" | "Pow" | "Split" | "Squeeze" | "Unsqueeze" => position == 1,
        "Where" => position == 0,
        "Range" | "ConstantOfShape" => true,
        _ => operator.starts_with("Reduce") && position == 1,
    }
}

/// The row of a node's operator.
pub(super) fn find(node: &NodeProto, name: &str) -> Result<&'static Operator, OnnxError> {
    let refused = |hint: String| Err(OnnxError::Operator { operator: cut(node.op_type()), node: name.into(), hint });
    if !matches!(node.domain(), "" | "ai.onnx") {
        return refused(format!(
            "; it belongs to `{}`, and only operators of ONNX itself are read",
            cut(node.domain())
        ));
    }
    match TABLE.binary_search_by(|o| o.name.cmp(node.op_type())) {
        Ok(i) => Ok(&TABLE[i]),
        Err(_) => {
            let near = did_you_mean(node.op_type(), TABLE.iter().map(|o| o.name));
            refused(format!("; {} operators are, and docs/onnx.md lists them{near}", TABLE.len()))
        }
    }
}

impl Operator {
    /// Writes down one application.
    pub fn apply(&self, call: &mut Call<'_>) -> Results {
        let given = call.args.len();
        let (least, most) = self.inputs;
        // an argument at the end may be left out by an empty name
        let there = call.args.iter().rposition(Option::is_some).map_or(0, |i| i + 1);
        if there < least || there > most {
            let takes = match (least, most) {
                (a, b) if a == b => a.to_string(),
                (a, ANY) => format!("at least {a}"),
                (a, b) => format!("{a} to {b}"),
            };
            return refuse(format!("it takes {takes} arguments, got {given}"));
        }
        let mut names = Vec::new();
        for a in &call.node.attribute {
            let name = a.name();
            if !self.attributes.contains(&name) {
                let known = match self.attributes {
                    [] => "it has none here".into(),
                    all => format!("those that are read are {}", all.join(", ")),
                };
                return refuse(format!("its attribute `{}` is not supported; {known}", cut(name)));
            }
            if !a.ref_attr_name().is_empty() {
                return refuse(format!(
                    "its attribute `{name}` is that of a function, and functions are not supported"
                ));
            }
            if names.contains(&name) {
                return refuse(format!("its attribute `{name}` is given twice"));
            }
            names.push(name);
        }
        if let Some(results) = fold::fold(self.name, call)? {
            return Ok(results);
        }
        (self.read)(call)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_sorted_so_that_rows_are_found() {
        assert!(TABLE.windows(2).all(|w| w[0].name < w[1].name));
    }
}
