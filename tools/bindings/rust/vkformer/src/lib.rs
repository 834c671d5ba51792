//! Transformer layers, tokenizers, embeddings and text generation on whatever device has Vulkan.
//!
//! A [`Context`] is a device. [`Layer`]s run attention, encoder and decoder layers with [`Tensor`]s as weights; an
//! [`Embedder`] makes vectors of texts, a [`Generator`] continues them, and a [`Tokenizer`] needs no device at all.
//! [`Session`]s run a [`Model`] on ids. [`vulkan`] is for programs that have a Vulkan device of their own.
//! Every failure is an [`Error`] with a [`Status`] and one sentence that says what, where and what to do.
//!
//! With the feature `static` the library goes into the program.
//!
//! The headers of the C library, in `include/vkformer/`, are the reference. What this crate does not have is in
//! `vkformer-sys`, which takes the handles that `as_ptr()` gives.

// Structs of C's are filled in with `..Default::default()` even where all members are named: they may grow.
#![allow(clippy::needless_update)]

mod buffer;
mod c_enum;
mod cache;
mod callback;
mod context;
mod embedder;
mod error;
mod generator;
mod ids;
mod layer;
mod matrix;
mod model;
mod session;
mod tensor;
mod text;
mod text_stream;
mod token_stream;
mod tokenizer;
pub mod vulkan;

#[cfg(unix)]
pub use buffer::ExportedMemory;
pub use buffer::{Buffer, MemoryKind};
pub use cache::Cache;
pub use context::{Context, ContextBuilder, Device, DeviceInfo, DeviceType, Precision, Profile};
pub use embedder::{Embedder, EmbedderOptions, Embeddings, Prediction, Prompt, Similarity};
pub use error::{Error, Result, Severity, Status};
pub use generator::{
    BeamSearch, Continuation, EarlyStopping, Generation, Generator, GeneratorOptions, Sampling, StopReason,
};
pub use layer::{
    Activation, Attention, AttentionMask, AttentionWeights, Causal, FeedForwardWeights, FullyMasked, Layer, MaskKind,
    NormWeights, Port, Sizes, TransformerLayer,
};
pub use matrix::Matrix;
pub use model::{
    Head, MemoryPlan, Model, ModelConfig, ModelKind, ModelOptions, ModelPrecision, NnTransformer, Quantization,
};
pub use session::{AttentionKind, AttentionMap, Encoded, Session, SessionData, SessionOptions, SessionTensor};
pub use tensor::{f16_to_f32, f32_to_f16, Dtype, Element, Tensor};
pub use text_stream::TextStream;
pub use token_stream::{GeneratedTokens, Token, TokenGeneration, TokenStream};
pub use tokenizer::{EncodeOptions, Encoding, Tokenizer, Truncation};
