//! `peers echidna` or `peers candle`, then `--seconds S` and names of rows: prints a line of JSON for each row.
//! Without a name of a row, all that the library can express.

mod functions;
mod measure;
mod with_candle;
mod with_echidna;

fn main() {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut seconds = 0.5;
    if let Some(i) = arguments.iter().position(|a| a == "--seconds") {
        seconds = arguments.get(i + 1).and_then(|s| s.parse().ok()).unwrap_or(seconds);
        arguments.drain(i..(i + 2).min(arguments.len()));
    }
    let system = if arguments.is_empty() { String::new() } else { arguments.remove(0) };
    let meter = measure::Meter { seconds, rows: arguments };
    match system.as_str() {
        "echidna" => with_echidna::rows(&meter),
        "candle" => with_candle::rows(&meter),
        _ => {
            eprintln!("usage: peers echidna|candle [--seconds S] [row]..");
            std::process::exit(2);
        }
    }
}
