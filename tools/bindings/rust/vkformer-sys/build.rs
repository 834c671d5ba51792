//! Says where libvkformer is: in `VKFORMER_LIB_DIR`, or else where pkg-config says. With the feature `static` it is the
//! archive, and pkg-config says what else that takes: by the file `vkformer.pc` of `VKFORMER_LIB_DIR`, or the system's.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of the C library, or found by Rust itself: they stay shared where the C library does.
const SYSTEM_LIBRARIES: [&str; 5] = ["c", "dl", "m", "pthread", "rt"];

fn main() {
    for name in ["VKFORMER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "CC"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    let directory = env::var_os("VKFORMER_LIB_DIR").map(PathBuf::from);
    if let Some(directory) = &directory {
        println!("cargo:rustc-link-search=native={}", directory.display());
    }
    match (env::var_os("CARGO_FEATURE_STATIC"), directory) {
        (Some(_), directory) => link_archives(&flags(&["--libs", "--static"], directory.as_deref())),
        (None, Some(_)) => println!("cargo:rustc-link-lib=dylib=vkformer"),
        (None, None) => link_shared(&flags(&["--libs"], None)),
    }
}

/// What pkg-config says, which looks into `directory` first.
fn flags(options: &[&str], directory: Option<&Path>) -> Vec<String> {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let mut command = Command::new(&program);
    if let Some(directory) = directory {
        let mut paths = vec![directory.join("pkgconfig"), directory.to_path_buf()];
        paths.extend(env::var_os("PKG_CONFIG_PATH").iter().flat_map(env::split_paths));
        command.env("PKG_CONFIG_PATH", env::join_paths(paths).expect("VKFORMER_LIB_DIR has no separator in it"));
    }
    match command.args(options).arg("vkformer").output() {
        Ok(output) if output.status.success() => {
            String::from_utf8_lossy(&output.stdout).split_whitespace().map(str::to_string).collect()
        }
        Ok(output) => panic!(
            "{} does not know vkformer: install it, or set VKFORMER_LIB_DIR\n{}",
            program,
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => panic!("{} does not start: install it, or set VKFORMER_LIB_DIR\n{}", program, error),
    }
}

fn link_shared(flags: &[String]) {
    for directory in with_prefix(flags, "-L") {
        println!("cargo:rustc-link-search=native={}", directory);
    }
    for library in with_prefix(flags, "-l") {
        println!("cargo:rustc-link-lib=dylib={}", library);
    }
}

/// A library that has no archive here is linked as it is: then the program needs it where it runs.
fn link_archives(flags: &[String]) {
    let mut directories: Vec<PathBuf> = env::var_os("VKFORMER_LIB_DIR").map(PathBuf::from).into_iter().collect();
    directories.extend(with_prefix(flags, "-L").map(PathBuf::from));
    directories.extend(compiler_directories());
    for directory in &directories {
        println!("cargo:rustc-link-search=native={}", directory.display());
    }
    for library in with_prefix(flags, "-l") {
        let archive = format!("lib{}.a", library);
        if SYSTEM_LIBRARIES.contains(&library) {
            println!("cargo:rustc-link-lib=dylib={}", library);
        } else if let Some(path) = directories.iter().map(|from| from.join(&archive)).find(|path| path.is_file()) {
            println!("cargo:rustc-link-lib=static={}", library);
            println!("cargo:rerun-if-changed={}", path.display());
        } else if library == "vkformer" {
            panic!("there is no {} in {:?}: build or install it, or set VKFORMER_LIB_DIR", archive, directories);
        } else {
            println!("cargo:warning={} is linked as a shared library: {} was not found", library, archive);
            println!("cargo:rustc-link-lib=dylib={}", library);
        }
    }
}

fn with_prefix<'a>(flags: &'a [String], prefix: &'a str) -> impl Iterator<Item = &'a str> {
    flags.iter().filter_map(move |flag| flag.strip_prefix(prefix))
}

/// Where the C compiler finds the system's libraries, which rustc leaves to it for shared ones alone.
fn compiler_directories() -> Vec<PathBuf> {
    let compiler = env::var("CC").unwrap_or_else(|_| "cc".to_string());
    let output = Command::new(compiler).arg("-print-search-dirs").output();
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned()).unwrap_or_default();
    let found = said.lines().find_map(|line| line.strip_prefix("libraries: ="));
    env::split_paths(found.unwrap_or("")).filter(|directory| directory.is_dir()).collect()
}
