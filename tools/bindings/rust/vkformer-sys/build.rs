//! Says where libvkformer is: in `VKFORMER_LIB_DIR`, or else where pkg-config says.

use std::env;
use std::process::Command;

fn main() {
    for name in ["VKFORMER_LIB_DIR", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR"] {
        println!("cargo:rerun-if-env-changed={}", name);
    }
    match env::var("VKFORMER_LIB_DIR") {
        Ok(directory) => {
            println!("cargo:rustc-link-search=native={}", directory);
            println!("cargo:rustc-link-lib=dylib=vkformer");
        }
        Err(_) => link_as_pkg_config_says(),
    }
}

fn link_as_pkg_config_says() {
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let output = Command::new(&program).args(["--libs", "vkformer"]).output();
    let flags = match output {
        Ok(output) if output.status.success() => String::from_utf8_lossy(&output.stdout).into_owned(),
        Ok(output) => panic!(
            "{} does not know vkformer: install it, or set VKFORMER_LIB_DIR\n{}",
            program,
            String::from_utf8_lossy(&output.stderr)
        ),
        Err(error) => panic!("{} does not start: set VKFORMER_LIB_DIR\n{}", program, error),
    };
    for flag in flags.split_whitespace() {
        if let Some(directory) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", directory);
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib=dylib={}", library);
        }
    }
}
