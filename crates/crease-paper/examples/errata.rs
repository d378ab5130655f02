//! Prints ERRATA.md: `cargo run -p crease-paper --example errata > ERRATA.md`.

fn main() -> Result<(), crease::Error> {
    print!("{}", crease_paper::errata::render_errata()?);
    Ok(())
}
