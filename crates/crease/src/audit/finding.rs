//! What was found at one input. The fields are those of a line of JSON; docs/audit.md and the schema say what they mean.

use serde::{Deserialize, Serialize};

/// What was found at one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Which input, counted from 0.
    pub input: usize,
    /// What it is called.
    pub name: String,
    /// What it shows, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label: Option<usize>,
    /// How long it took.
    pub seconds: f64,
    /// Why nothing more is known of this input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Whether a limit kept something from being known, such as the time for each input: with others it may be.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub limited: bool,
    /// `exact`, or `enclosed` if some coefficients are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arithmetic: Option<String>,
    /// How many kinks were too close for doubles, and computed exactly. Nothing for a small network, where everything is exact.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exactly: Option<usize>,
    /// How many kinks are tied and matter.
    #[serde(default)]
    pub tied: usize,
    /// The same layer by layer, with margins.
    #[serde(default)]
    pub layers: Vec<Layer>,
    /// The ties.
    #[serde(default)]
    pub ties: Vec<Tie>,
    /// The smallest margins.
    #[serde(default)]
    pub margins: Vec<Margin>,
    /// What is known of each number that was asked about.
    #[serde(default)]
    pub outputs: Vec<OutputFinding>,
    /// Which of them `gradients` is about: the largest, or the loss.
    #[serde(default)]
    pub shown: usize,
    /// Gradients of that one, for pictures: what conventions return, by name, and Clarke subgradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradients: Option<Subgradients>,
}

/// Gradients of one number by all numbers of the inputs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Subgradients {
    /// What conventions return.
    pub presets: Vec<(String, Vec<f32>)>,
    /// A Clarke subgradient; where the network is differentiable, the gradient.
    pub clarke: Vec<f32>,
    /// Another one, where it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub other: Option<Vec<f32>>,
    /// For each number of the inputs, how many ties move when it does.
    #[serde(default)]
    pub causes: Vec<u32>,
}

/// One layer of kinks at one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Layer {
    /// What it is called.
    pub layer: String,
    /// The operation.
    pub operation: String,
    /// Its equation in the program.
    pub equation: usize,
    /// How many kinks it has.
    pub kinks: usize,
    /// How many of them are tied and matter.
    pub tied: usize,
    /// The smallest margin of the others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub smallest: Option<f64>,
    /// How many margins lie below 10^-12, then in each decade up to 1, and above.
    pub histogram: Vec<u64>,
}

/// A kink that is tied and matters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tie {
    /// Its layer.
    pub layer: String,
    /// The operation.
    pub operation: String,
    /// Its equation in the program.
    pub equation: usize,
    /// Which number of the layer it is: for a picture its channel, row and column, without axes of size 1.
    pub at: Vec<usize>,
    /// How many numbers are tied.
    pub members: usize,
}

/// How far a kink is from switching.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Margin {
    /// Its layer.
    pub layer: String,
    /// The operation.
    pub operation: String,
    /// Which number of the layer it is.
    pub at: Vec<usize>,
    /// How far.
    pub margin: f64,
}

/// What is known of one number at one input.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OutputFinding {
    /// Which number of the outputs, counted from 0.
    pub output: usize,
    /// Its value.
    pub value: f64,
    /// How many ties it depends on.
    pub tied: usize,
    /// Whether the conservative gradient has one element. Nothing if that is not known.
    pub singleton: Option<bool>,
    /// `yes`, `no` or `unknown`.
    pub differentiable: String,
    /// Why it is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Whether the certificate of that was checked, and accepted.
    pub certified: bool,
    /// The largest size of a coordinate of the Clarke subgradient, to which distances compare.
    pub size: f64,
    /// The largest distance in a coordinate between what two conventions return.
    pub apart: f64,
    /// For each convention by name, the largest distance in a coordinate from the gradient, where there is one.
    pub off: Vec<(String, f64)>,
    /// Where the network is not differentiable, the largest distance in a coordinate between two Clarke subgradients.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clarke_apart: Option<f64>,
}

impl Finding {
    /// One line of JSON.
    pub fn line(&self) -> String {
        // strings, finite numbers and lists, which cannot fail
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads such a line.
    ///
    /// ```
    /// assert!(crease::audit::Finding::from_line("{}").is_err());
    /// ```
    ///
    /// # Errors
    ///
    /// What is wrong with it, in words.
    pub fn from_line(line: &str) -> Result<Finding, String> {
        serde_json::from_str(line).map_err(|e| e.to_string())
    }

    /// The verdict of all outputs: `no` if one is not differentiable, else `unknown` if that is not known of one, else `yes`.
    pub fn verdict(&self) -> &'static str {
        let any = |word: &str| self.outputs.iter().any(|o| o.differentiable == word);
        match (any("no"), any("unknown") || self.error.is_some() || self.outputs.is_empty()) {
            (true, _) => "no",
            (false, true) => "unknown",
            (false, false) => "yes",
        }
    }

    /// How far apart conventions are at most, of all outputs.
    pub fn apart(&self) -> f64 {
        self.outputs.iter().map(|o| o.apart).fold(0.0, f64::max)
    }

    /// How far a convention is at most from the gradient, where there is one.
    pub fn off(&self) -> f64 {
        self.outputs.iter().flat_map(|o| o.off.iter().map(|(_, d)| *d)).fold(0.0, f64::max)
    }
}
