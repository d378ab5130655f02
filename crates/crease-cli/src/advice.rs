//! Flags in messages: the library names limits, and the front end the flags by which they are set.
//!
//! A message of the library says "raise `steps`", where `steps` is a limit by its name, or what else would help, in words. Here the flag is put in, if
//! the command that was called takes it. What a command does not take is not named: advice that it could not follow is left out.

use clap::Command;
use std::sync::OnceLock;

/// The command that was called.
static COMMAND: OnceLock<Command> = OnceLock::new();

/// Remembers which command was called.
pub fn called(command: Command) {
    let _ = COMMAND.set(command);
}

/// Whether the command takes a flag of this name.
pub fn takes(flag: &str) -> bool {
    COMMAND.get().is_some_and(|command| command.get_arguments().any(|a| a.get_long() == Some(flag)))
}

/// What a limit is called in the messages of the library, and its flags: one of its own, if it has one, and that of all limits.
fn flags_of(limit: &str) -> Vec<String> {
    let dashed = limit.replace('_', "-");
    let own = [format!("max-{dashed}"), dashed].into_iter().find(|flag| takes(flag));
    let by_name = takes("limit").then(|| format!("--limit {limit}=N"));
    own.map(|flag| format!("--{flag}")).into_iter().chain(by_name).collect()
}

/// What the library says in words, and the flag for it.
const WORDS: [(&str, &str, &str); 5] = [
    ("(technique `backward`)", "technique", "(--technique backward)"),
    ("to the point", "at", "to --at"),
    ("give its numbers in the point", "at", "give its numbers in the point, as in --at point.json"),
    ("or run on exact numbers", "exact", "or run with --exact"),
    ("time is up; ask for more", "seconds", "time is up; allow more with --seconds"),
];

/// The message with the flags of the command in it.
pub fn with_flags(message: &str) -> String {
    let mut out = String::with_capacity(message.len());
    let mut rest = message;
    while let Some((before, after)) = rest.split_once("raise `") {
        let (name, end) = after.split_once('`').unwrap_or((after, ""));
        out.push_str(before);
        match &flags_of(name)[..] {
            _ if !crease::Limits::names().any(|known| known == name) => out.extend(["raise `", name, "`"]),
            // the limit is named, and this command has no way to raise it
            [] => out.extend(["the limit is `", name, "`"]),
            flags => out.extend(["raise it with ", &flags.join(" or ")]),
        }
        rest = end;
    }
    out.push_str(rest);
    for (words, flag, said) in WORDS {
        if takes(flag) && !out.contains(said) {
            out = out.replace(words, said);
        }
    }
    // an axis whose size a file leaves open
    if let Some((before, after)) = out.split_once("open; say the size of `")
        && takes("dim")
    {
        let (name, end) = after.split_once('`').unwrap_or((after, ""));
        out = format!("{before}open; say it, as in --dim {name}=8{end}");
    }
    feasible(&out)
}

/// The message without the parts that name a flag which the command does not take: from the mark before it to the next one.
fn feasible(message: &str) -> String {
    let mut out = message.to_string();
    let mut from = 0;
    while let Some(at) = out[from..].find(" --").map(|at| at + from + 1) {
        let flag: String = out[at + 2..].chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        let is_flag = flag.starts_with(|c: char| c.is_ascii_lowercase()) && exists(&flag);
        if !is_flag || takes(&flag) {
            from = at + 2;
            continue;
        }
        let start = out[..at].rfind([';', ',', '\n']).unwrap_or(0);
        let end = out[at..].find([';', ',', '\n']).map_or(out.len(), |end| at + end);
        // what is said after it takes its place
        match out[end..].strip_prefix(", or ").map(str::len) {
            Some(rest) => {
                let end = out.len() - rest;
                let mark = if out[start..].starts_with('\n') { "\n" } else { "; " };
                out.replace_range(start..end, mark);
            }
            None => out.replace_range(start..end, ""),
        }
        from = start;
    }
    out
}

/// Whether some command takes a flag of this name.
fn exists(flag: &str) -> bool {
    use clap::CommandFactory;
    crate::Cli::command().get_subcommands().any(|c| c.get_arguments().any(|a| a.get_long() == Some(flag)))
}
