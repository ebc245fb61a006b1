//! Arguments of `generate` and `schema` as typed.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::Shell;

/// `shedcast generate`.
#[derive(Clone, Debug, Subcommand)]
pub enum GenerateCommand {
    /// Manual pages, one of each command
    Man(ManArgs),
    /// Completions of a shell
    Completions(CompletionsArgs),
}

/// `shedcast generate man`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
To read one:       shedcast generate man | man -l -
To install them:   shedcast generate man --out ~/.local/share/man/man1, with --force over those of another version")]
pub struct ManArgs {
    /// Write the pages of all commands into this directory [default: the first page to standard output]
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    pub force: bool,
}

/// `shedcast generate completions`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
bash:  shedcast generate completions bash > ~/.local/share/bash-completion/completions/shedcast
zsh:   shedcast generate completions zsh > ~/.zfunc/_shedcast
fish:  shedcast generate completions fish > ~/.config/fish/completions/shedcast.fish")]
pub struct CompletionsArgs {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    pub shell: Shell,
}

/// `shedcast schema`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "\
An editor that knows TOML checks a scenario while it is typed if its first line names the schema:
  #:schema ./scenario.json")]
pub struct SchemaArgs {
    /// What to describe: `scenario`, or a file of results such as `summary.json` or `cells.csv` [default: a list of all]
    #[arg(value_name = "NAME", conflicts_with = "out")]
    pub name: Option<String>,
    /// Write all schemas into this directory
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// Replace files that are there
    #[arg(long, requires = "out")]
    pub force: bool,
}
