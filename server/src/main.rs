//! `hubd`: the hub's server.

use std::process::ExitCode;

use clap::Parser;
use hub_config::Config;
use hub_protocol::one_line;
use hubd::cli::{Args, Task};
use rustix::fs::Mode;

/// mimalloc. A notification is allocated on one thread and freed on another, which costs glibc's allocator a quarter of
/// the processor time of a publish.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `EX_USAGE` of sysexits. The usual 2 has another meaning to the agents whose hooks may run this program.
const EXIT_USAGE: u8 = 64;

/// Keeps the kernel from giving the heap pages of 2 MiB, which mimalloc asks for: each of its threads writes to a few places,
/// and an empty hub would have 60 MiB instead of 20. Programs that the hub starts inherit it.
fn use_small_pages() {
    // A kernel without it gives small pages, or has the memory.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::disable_transparent_huge_pages(true);
}

fn main() -> ExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            if error.use_stderr() {
                complain(error);
                return ExitCode::from(EXIT_USAGE);
            }
            let _ = error.print();
            return ExitCode::SUCCESS;
        }
    };
    use_small_pages();
    // Without this, files that a library creates in the state directory could be readable by other users.
    rustix::process::umask(Mode::RWXG | Mode::RWXO);
    match run(args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hubd: {}", one_line(&format!("{error:#}")));
            hubd::serve::exit_code(&error)
        }
    }
}

/// Prints what is wrong with the arguments. clap echoes them unchanged, so they are escaped for a terminal and parsed
/// again.
fn complain(error: clap::Error) {
    let shown = std::env::args_os().map(|arg| one_line(&arg.to_string_lossy()).into_owned());
    let error = Args::try_parse_from(shown).err().unwrap_or(error);
    for line in error.render().to_string().lines() {
        eprintln!("{}", one_line(line));
    }
}

fn run(args: Args) -> anyhow::Result<()> {
    let config = Config::load(&args.config, &|name| std::env::var_os(name))?;
    if args.print_config {
        for (key, value, source) in config.sources() {
            println!("{key} = {value}  # {source}");
        }
        return Ok(());
    }
    match args.command {
        Some(Task::Maintenance(command)) => command.run(&config.state_dir),
        #[cfg(feature = "jetstream")]
        Some(Task::Cluster(command)) => command.run(&config),
        None => hubd::serve::serve(&config),
    }
}
