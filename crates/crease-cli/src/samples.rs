//! `--inputs` and `--labels`: many inputs of one network, from a table, arrays or a folder of pictures.
//!
//! A `.csv` or `.txt` table, an `.npy` or `.npz` file, or a folder of `.png` files. What is multiplied by `--scale` is then rounded to the nearest f32, as what a runtime is given would be; without
//! it numbers are exactly those of the file. Pixels of pictures are divided by the largest that they can be.

use crate::source::{Source, read_input};
use anyhow::{Context, Result, anyhow, bail};
use clap::Args;
use crease::audit::Case;
use crease_core::{Rational, Shape, Tensor, printable};
use crease_formats::Point;
use crease_formats::samples::{Picture, Sample, read_csv, read_npy, read_npz, read_png};
use std::path::Path;

/// The flags that name inputs.
#[derive(Args)]
pub struct SampleArgs {
    /// The inputs: a .csv table with one in each line, an .npy array with one in each row, an .npz archive, or a folder of .png pictures
    #[arg(long, value_name = "FILE", required = true)]
    inputs: String,

    /// The labels of the inputs, where the file has none: a text with one in each line, or an .npy array
    #[arg(long, value_name = "FILE")]
    labels: Option<String>,

    /// Multiply every number by this, such as 1/255, and round to f32
    #[arg(long, value_name = "S", value_parser = number)]
    scale: Option<Rational>,

    /// Take the first so many inputs only
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    first: Option<u64>,
}

fn number(text: &str) -> Result<Rational, String> {
    let number: Rational = text.parse().map_err(|e| format!("{e}"))?;
    if number.is_zero() { Err("everything times 0 is 0".into()) } else { Ok(number) }
}

impl SampleArgs {
    /// The inputs of a network.
    pub fn read(&self, source: &Source) -> Result<Vec<Case>> {
        let names = source.own_inputs();
        let [name] = names[..] else {
            bail!("`{}` has {} inputs; --inputs is for networks with one", source.program.name(), names.len());
        };
        let shape = source.program.inputs()[0].shape.clone();
        let told = |e: crease_formats::samples::SampleError| anyhow!("{}: {e}", self.inputs);
        let ends = |extension: &str| self.inputs.to_ascii_lowercase().ends_with(extension);
        let mut samples = if Path::new(&self.inputs).is_dir() {
            self.folder(&shape)?
        } else {
            let bytes = read_input(&self.inputs)?;
            match () {
                () if ends(".npy") => read_npy(&bytes, shape.len()).map_err(told)?,
                () if ends(".npz") => read_npz(&bytes, shape.len()).map_err(told)?,
                () if ends(".png") => vec![pixels(&self.inputs, &bytes, &shape)?],
                () => {
                    let text = String::from_utf8(bytes).map_err(|_| anyhow!("{} is not UTF-8 text", self.inputs))?;
                    read_csv(&text, shape.len()).map_err(told)?
                }
            }
        };
        if let Some(n) = self.first {
            samples.truncate(usize::try_from(n).unwrap_or(usize::MAX));
        }
        if let Some(file) = &self.labels {
            label(&mut samples, file)?;
        }
        samples.into_iter().map(|s| self.case(s, name, &shape, source)).collect()
    }

    fn case(&self, sample: Sample, name: &str, shape: &Shape, source: &Source) -> Result<Case> {
        let Sample { place, mut numbers, label } = sample;
        if let Some(scale) = &self.scale {
            for x in &mut numbers {
                *x = rounded(&(&*x * scale))
                    .ok_or_else(|| anyhow!("{place}: {x} times {scale} is too large for f32"))?;
            }
        }
        let mut point = Point::default();
        point.insert(name.into(), shape.clone(), numbers)?;
        let bound = source.completed(&point)?.bind(&source.program).with_context(|| place.clone())?;
        let tensors = bound.into_iter().map(|(shape, data)| Tensor::new(shape, data)).collect::<Option<Vec<_>>>();
        let point = tensors.ok_or_else(|| anyhow!("{place} does not fill the shape of `{name}`"))?;
        Ok(Case { name: place, point, label })
    }

    /// The pictures of a folder, by their names.
    fn folder(&self, shape: &Shape) -> Result<Vec<Sample>> {
        let unread = |e: std::io::Error| anyhow!("{} cannot be read: {e}", self.inputs);
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.inputs).map_err(unread)? {
            let path = entry.map_err(unread)?.path();
            if path.extension().is_some_and(|e| e.eq_ignore_ascii_case("png")) {
                files.push(path);
            }
        }
        files.sort();
        if files.is_empty() {
            bail!("{} has no .png files", self.inputs);
        }
        if let Some(n) = self.first {
            files.truncate(usize::try_from(n).unwrap_or(usize::MAX));
        }
        files.iter().map(|f| pixels(&f.display().to_string(), &std::fs::read(f).map_err(unread)?, shape)).collect()
    }
}

/// The nearest f32.
fn rounded(x: &Rational) -> Option<Rational> {
    Rational::from_f64(x.to_f32().into())
}

/// A picture as an input: channels first or last, as its shape says.
fn pixels(file: &str, bytes: &[u8], shape: &Shape) -> Result<Sample> {
    let picture = read_png(bytes).map_err(|e| anyhow!("{file}: {e}"))?;
    let Picture { width, height, channels, data, most } = &picture;
    let axes: Vec<usize> = shape.dims().iter().copied().filter(|&d| d != 1).collect();
    let without_ones = |dims: &[usize]| dims.iter().copied().filter(|&d| d != 1).collect::<Vec<_>>();
    let plane = width * height;
    let order: Vec<usize> = if axes == without_ones(&[*height, *width, *channels]) {
        (0..data.len()).collect()
    } else if axes == without_ones(&[*channels, *height, *width]) {
        (0..data.len()).map(|i| i % plane * channels + i / plane).collect()
    } else {
        bail!(
            "{file} has {height} rows, {width} columns and {channels} channel{}; the network takes {shape}",
            if *channels == 1 { "" } else { "s" }
        );
    };
    let most = Rational::from(i64::from(*most));
    let number = |i: usize| Rational::from(i64::from(data[i])).checked_div(&most).and_then(|x| rounded(&x));
    let numbers = order.into_iter().map(number).collect::<Option<Vec<_>>>();
    let name = Path::new(file).file_name().map_or_else(|| file.to_string(), |n| n.to_string_lossy().into());
    let name = printable(&name).into_owned();
    Ok(Sample { place: name, numbers: numbers.ok_or_else(|| anyhow!("{file}: a pixel is no number"))?, label: None })
}

fn label(samples: &mut [Sample], file: &str) -> Result<()> {
    let bytes = read_input(file)?;
    let words: Vec<String> = if file.to_ascii_lowercase().ends_with(".npy") {
        let rows = read_npy(&bytes, 1).map_err(|e| anyhow!("{file}: {e}"))?;
        rows.iter().flat_map(|row| &row.numbers).map(Rational::to_string).collect()
    } else {
        let text = String::from_utf8(bytes).map_err(|_| anyhow!("{file} is not UTF-8 text"))?;
        let words = text.split(|c: char| c.is_whitespace() || c == ',');
        words.filter(|w| !w.is_empty()).map(String::from).collect()
    };
    if words.len() < samples.len() {
        bail!("{file} has {} labels for {} inputs", words.len(), samples.len());
    }
    for (sample, word) in samples.iter_mut().zip(words) {
        let label =
            word.parse().map_err(|_| anyhow!("{file}: `{word}` is no label; labels are whole numbers from 0 on"))?;
        sample.label = Some(label);
    }
    Ok(())
}
