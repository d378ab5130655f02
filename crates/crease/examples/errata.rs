//! Prints ERRATA.md: `cargo run --example errata > ERRATA.md`.

fn main() -> Result<(), crease::Error> {
    print!("{}", crease::errata::render_errata()?);
    Ok(())
}
