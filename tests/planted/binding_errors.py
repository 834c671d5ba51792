"""Errors in the bindings, and in what packages are made of."""
from planted_error import Error

RUST = "tools/bindings/rust/vkformer/src/"

ERRORS = (
    Error("an error of Rust's has the message of an earlier one", RUST + "error.rs",
          "        LAST.with(|last| last.take());\n        self.take_last();\n", "",
          ("bindings.rust.lavapipe.full",)),
    Error("rows of a Rust tensor begin where it begins", RUST + "tensor.rs",
          "u64::from(begin) * row_bytes;", "u64::from(begin) * 0 * row_bytes;", ("bindings.rust.lavapipe.full",)),
    Error("a stream of Rust's that is dropped goes on", RUST + "text_stream.rs",
          "        self.cancel();\n        if let Some(thread)", "        if let Some(thread)",
          ("bindings.rust.lavapipe.full",)),
    Error("a panic of a Rust callback ends the continuation and is forgotten", RUST + "generator.rs",
          "            callbacks.panicked = Some(panicked);\n", "            drop(panicked);\n",
          ("bindings.rust.lavapipe.full",)),
    Error("a declaration of Rust's is not that of the headers",
          "tools/bindings/rust/vkformer-sys/src/bindings.rs", "pub fn vkf_version() -> u32;",
          "pub fn vkf_version() -> u64;", ("bindings.rust_headers",)),
    Error("the link that compilers look for is in the package of the library", "tools/cmake/VkfInstall.cmake",
          " NAMELINK_COMPONENT development", "", ("deb",)),
)
