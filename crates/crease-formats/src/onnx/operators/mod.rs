//! The table of operators that are read: each with how many arguments it takes, the parameters that are known, and the function that writes it down as
//! equations. A parameter that is not in its row is refused, for it could mean anything. Adding an operator is a row and its function.

mod activation;
mod arithmetic;
mod attention;
mod choice;
mod constants;
mod conv;
mod einsum;
mod join;
mod mask;
mod normal;
mod norms;
mod pad;
mod pool;
mod product;
mod recurrent;
mod reduce;
mod resize;
mod scatter;
mod structure;
mod window;

use super::call::{Call, Results};
use super::error::{OnnxError, cut, refuse};
use super::messages::NodeProto;
use super::values::{Kind, kind};
use super::{conditional, fold};
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
    "And" 2 to 2 [] choice::and, "";
    "ArgMax" 1 to 1 ["axis" "keepdims" "select_last_index"] choice::arg_max, "";
    "ArgMin" 1 to 1 ["axis" "keepdims" "select_last_index"] choice::arg_min, "";
    "Asin" 1 to 1 [] arithmetic::asin, "";
    "Asinh" 1 to 1 [] arithmetic::asinh, "";
    "Atan" 1 to 1 [] arithmetic::atan, "";
    "Atanh" 1 to 1 [] arithmetic::atanh, "";
    "Attention" 3 to 6 ["is_causal" "kv_num_heads" "q_num_heads" "qk_matmul_output_mode" "scale" "softcap" "softmax_precision"] attention::attention, "a softcap without a mask; is_causal without a past";
    "AveragePool" 1 to 1 ["auto_pad" "ceil_mode" "count_include_pad" "dilations" "kernel_shape" "pads" "strides"] pool::average, "";
    "BatchNormalization" 5 to 5 ["epsilon" "momentum" "spatial" "training_mode"] normal::batch, "not in training";
    "Cast" 1 to 1 ["to" "saturate" "round_mode"] constants::cast, "";
    "CastLike" 2 to 2 ["saturate" "round_mode"] constants::cast_like, "";
    "Ceil" 1 to 1 [] choice::ceil, "";
    "Celu" 1 to 1 ["alpha"] activation::celu, "";
    "Clip" 1 to 3 ["min" "max"] arithmetic::clip, "constant bounds";
    "Concat" 1 to ANY ["axis"] join::concat, "";
    "Constant" 0 to 0 ["value" "value_float" "value_floats" "value_int" "value_ints"] constants::constant, "numbers";
    "ConstantOfShape" 1 to 1 ["value"] constants::of_shape, "";
    "Conv" 2 to 3 ["auto_pad" "dilations" "group" "kernel_shape" "pads" "strides"] conv::conv, "";
    "ConvTranspose" 2 to 3 ["auto_pad" "dilations" "group" "kernel_shape" "output_padding" "output_shape" "pads" "strides"] conv::transposed, "";
    "Cos" 1 to 1 [] arithmetic::cos, "";
    "Cosh" 1 to 1 [] arithmetic::cosh, "";
    "CumSum" 2 to 2 ["exclusive" "reverse"] scatter::cumulative_sum, "constant axis";
    "DepthToSpace" 1 to 1 ["blocksize" "mode"] structure::depth_to_space, "";
    "Div" 2 to 2 [] arithmetic::div, "";
    "Dropout" 1 to 3 ["ratio" "seed"] structure::dropout, "not in training";
    "Einsum" 1 to 16 ["equation"] einsum::einsum, "";
    "Elu" 1 to 1 ["alpha"] activation::elu, "";
    "Equal" 2 to 2 [] choice::equal, "";
    "Erf" 1 to 1 [] arithmetic::erf, "";
    "Exp" 1 to 1 [] arithmetic::exp, "";
    "Expand" 2 to 2 [] structure::expand, "constant shape";
    "Flatten" 1 to 1 ["axis"] structure::flatten, "";
    "Floor" 1 to 1 [] choice::floor, "";
    "GRU" 3 to 6 ["activation_alpha" "activation_beta" "activations" "clip" "direction" "hidden_size" "layout" "linear_before_reset"] recurrent::gru, "all sequences of one length";
    "Gather" 2 to 2 ["axis"] choice::gather, "computed indices from 0 on";
    "GatherElements" 2 to 2 ["axis"] scatter::gather_elements, "computed indices from 0 on, all other axes equal";
    "GatherND" 2 to 2 ["batch_dims"] scatter::gather_nd, "constant indices";
    "Gelu" 1 to 1 ["approximate"] activation::gelu, "";
    "Gemm" 2 to 3 ["alpha" "beta" "transA" "transB"] product::gemm, "";
    "GlobalAveragePool" 1 to 1 [] pool::global_average, "";
    "GlobalLpPool" 1 to 1 ["p"] norms::global_pool, "p from 1 to 64";
    "GlobalMaxPool" 1 to 1 [] pool::global_max, "";
    "Greater" 2 to 2 [] choice::greater, "";
    "GreaterOrEqual" 2 to 2 [] choice::greater_or_equal, "";
    "GroupNormalization" 3 to 3 ["epsilon" "num_groups" "stash_type"] normal::group, "";
    "HardSigmoid" 1 to 1 ["alpha" "beta"] activation::hard_sigmoid, "";
    "HardSwish" 1 to 1 [] activation::hard_swish, "";
    "Identity" 1 to 1 [] structure::identity, "";
    "If" 1 to 1 ["then_branch" "else_branch"] conditional::unread, "branches up to 32 deep";
    "InstanceNormalization" 3 to 3 ["epsilon"] normal::instance, "";
    "IsInf" 1 to 1 ["detect_negative" "detect_positive"] mask::is_inf, "false where numbers are computed";
    "IsNaN" 1 to 1 [] mask::is_nan, "false where numbers are computed";
    "LRN" 1 to 1 ["alpha" "beta" "bias" "size"] normal::lrn, "";
    "LSTM" 3 to 8 ["activation_alpha" "activation_beta" "activations" "clip" "direction" "hidden_size" "input_forget" "layout"] recurrent::lstm, "all sequences of one length";
    "LayerNormalization" 2 to 3 ["axis" "epsilon" "stash_type"] normal::layer, "";
    "LeakyRelu" 1 to 1 ["alpha"] activation::leaky_relu, "";
    "Less" 2 to 2 [] choice::less, "";
    "LessOrEqual" 2 to 2 [] choice::less_or_equal, "";
    "Log" 1 to 1 [] arithmetic::log, "";
    "LogSoftmax" 1 to 1 ["axis"] reduce::log_softmax, "";
    "LpNormalization" 1 to 1 ["axis" "p"] norms::normalization, "";
    "LpPool" 1 to 1 ["auto_pad" "ceil_mode" "dilations" "kernel_shape" "p" "pads" "strides"] norms::pool, "p from 1 to 64";
    "MatMul" 2 to 2 [] product::matmul, "";
    "Max" 1 to ANY [] arithmetic::max, "";
    "MaxPool" 1 to 1 ["auto_pad" "ceil_mode" "dilations" "kernel_shape" "pads" "storage_order" "strides"] pool::max, "the values";
    "Mean" 1 to ANY [] arithmetic::mean, "";
    "Min" 1 to ANY [] arithmetic::min, "";
    "Mish" 1 to 1 [] activation::mish, "";
    "Mod" 2 to 2 ["fmod"] fold::only, "of constants";
    "Mul" 2 to 2 [] arithmetic::mul, "";
    "Neg" 1 to 1 [] arithmetic::neg, "";
    "Not" 1 to 1 [] choice::not, "";
    "Or" 2 to 2 [] choice::or, "";
    "PRelu" 2 to 2 [] activation::prelu, "";
    "Pad" 1 to 4 ["mode" "pads" "value"] pad::pad, "constant, reflect, edge, wrap";
    "Pow" 2 to 2 [] arithmetic::pow, "constant exponent, the same for all";
    "RMSNormalization" 2 to 2 ["axis" "epsilon" "stash_type"] normal::rms, "";
    "RNN" 3 to 6 ["activation_alpha" "activation_beta" "activations" "clip" "direction" "hidden_size" "layout"] recurrent::rnn, "all sequences of one length";
    "Range" 3 to 3 ["stash_type"] constants::range, "of constants";
    "Reciprocal" 1 to 1 [] arithmetic::reciprocal, "";
    "ReduceL1" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::l1, "";
    "ReduceL2" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::l2, "";
    "ReduceLogSum" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::log_sum, "";
    "ReduceLogSumExp" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::log_sum_exp, "";
    "ReduceMax" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::max, "";
    "ReduceMean" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::mean, "";
    "ReduceMin" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::min, "";
    "ReduceProd" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] choice::prod, "";
    "ReduceSum" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::sum, "";
    "ReduceSumSquare" 1 to 2 ["axes" "keepdims" "noop_with_empty_axes"] reduce::sum_square, "";
    "Relu" 1 to 1 [] activation::relu, "";
    "Reshape" 2 to 2 ["allowzero"] structure::reshape, "constant shape";
    "Resize" 1 to 4 ["antialias" "axes" "coordinate_transformation_mode" "cubic_coeff_a" "exclude_outside" "extrapolation_value" "keep_aspect_ratio_policy" "mode" "nearest_mode"] resize::resize, "nearest and linear; constant sizes";
    "RotaryEmbedding" 3 to 4 ["interleaved" "num_heads" "rotary_embedding_dim"] attention::rotary, "constant positions";
    "Round" 1 to 1 [] choice::round, "";
    "ScatterElements" 3 to 3 ["axis" "reduction"] scatter::scatter_elements, "computed indices from 0 on, which differ unless reduction is add; reductions mul, max and min of indices that differ";
    "ScatterND" 3 to 3 ["reduction"] scatter::scatter_nd, "constant indices; reductions mul, max and min of indices that differ";
    "Selu" 1 to 1 ["alpha" "gamma"] activation::selu, "";
    "Shape" 1 to 1 ["start" "end"] constants::shape, "";
    "Sigmoid" 1 to 1 [] arithmetic::sigmoid, "";
    "Sign" 1 to 1 [] choice::sign, "";
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
    "ThresholdedRelu" 1 to 1 ["alpha"] activation::thresholded, "";
    "Tile" 2 to 2 [] structure::tile, "constant repeats";
    "TopK" 2 to 2 ["axis" "largest" "sorted"] choice::top_k, "constant number";
    "Transpose" 1 to 1 ["perm"] structure::transpose, "";
    "Trilu" 1 to 2 ["upper"] mask::trilu, "constant diagonal";
    "Unsqueeze" 1 to 2 ["axes"] structure::unsqueeze, "";
    "Upsample" 1 to 2 ["mode" "scales"] resize::upsample, "nearest and linear; constant scales";
    "Where" 3 to 3 [] choice::choose, "";
    "Xor" 2 to 2 [] choice::xor, "";
}

/// The operators that are read, in the order of the alphabet, each with what is read of it where that is not all.
///
/// ```
/// use crease_formats::onnx::operators;
/// assert!(operators().any(|(name, _)| name == "Conv"));
/// assert!(operators().any(|row| row == ("TopK", "constant number")));
/// ```
pub fn operators() -> impl ExactSizeIterator<Item = (&'static str, &'static str)> {
    TABLE.iter().map(|o| (o.name, o.note))
}

/// Whether an argument says how something is computed, so that its numbers must be known when the file is read.
pub(super) fn needs_numbers(operator: &str, position: usize) -> bool {
    match operator {
        "Clip" | "Dropout" | "Expand" | "Pad" | "Reshape" | "Resize" | "Slice" | "Tile" | "Upsample" => position > 0,
        "Gather" | "Pow" | "Split" | "TopK" | "Squeeze" | "Unsqueeze" => position == 1,
        "CumSum" | "GatherND" | "ScatterND" | "Trilu" => position == 1,
        "RotaryEmbedding" => position == 3,
        "Where" => position == 0,
        "Range" | "ConstantOfShape" => true,
        _ => operator.starts_with("Reduce") && position == 1,
    }
}

/// Whether a result of a node is integers or truth values, given which of its computed arguments are.
pub(super) fn makes_integers(node: &NodeProto, result: usize, whole: &[bool]) -> bool {
    let is = |i: usize| whole.get(i) == Some(&true);
    match node.op_type() {
        "ArgMax" | "ArgMin" | "And" | "Or" | "Xor" | "Not" | "Equal" | "Greater" | "GreaterOrEqual" | "Less"
        | "LessOrEqual" | "IsNaN" | "IsInf" => true,
        "TopK" => result == 1 || is(0),
        "Where" => is(1) || is(2),
        "CastLike" => is(1),
        "Cast" => {
            let to = node.attribute.iter().find(|a| a.name() == "to").map_or(0, |a| a.i());
            i32::try_from(to).is_ok_and(|to| kind(to).is_ok_and(|(of, ..)| of != Kind::Float))
        }
        _ => is(0),
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
