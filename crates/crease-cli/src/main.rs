//! The binary `crease`.

fn main() {
    crease_cli::main()
}
