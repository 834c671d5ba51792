//! The C interface of vkformer as its headers declare it; `make-bindings` writes `bindings.rs` from them.
//!
//! The headers in `include/vkformer/` say what everything means. Descriptors start from `Default::default()`, which is
//! C's `{0}`. The crate `vkformer` is the safe layer over this one.

#![allow(non_camel_case_types)]

#[rustfmt::skip]
mod bindings;

pub use bindings::*;
