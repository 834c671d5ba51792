//! Texts through an encoder: embeddings, or what the model's head says.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

use crate::c_enum::c_enum;
use crate::context::Context;
use crate::error::{check, count, Error, Result};
use crate::matrix::Matrix;
use crate::model::{ModelPrecision, Quantization};
use crate::text::{borrow_all, c_path, c_string, copy, copy_array};
use vkformer_sys as sys;

c_enum! {
    /// How two embeddings are compared; a larger result means more alike.
    #[derive(Default)]
    Similarity: vkf_similarity {
        #[default]
        Cosine = VKF_SIMILARITY_COSINE,
        Dot = VKF_SIMILARITY_DOT,
        /// Minus their distance.
        Euclidean = VKF_SIMILARITY_EUCLIDEAN,
        /// Minus the sum of their elements' distances.
        Manhattan = VKF_SIMILARITY_MANHATTAN,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbedderOptions {
    pub precision: ModelPrecision,
    pub quantization: Quantization,
    /// Texts that run together; 0: 8.
    pub max_batch: u32,
    /// The most tokens of a text, special ones counted; 0: as the model's files say.
    pub max_tokens: u32,
    /// The model's head runs, too: see [`Embedder::predict`].
    pub head: bool,
    /// How many of an embedding's first elements are returned; 0: as the model's files say.
    pub truncate_dim: u32,
}

/// The text in front of every text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Prompt<'a> {
    /// The model's default prompt, if it has one.
    #[default]
    Default,
    /// "" for none.
    Text(&'a str),
    /// One of the model's prompts; "query" and "document" are always there.
    Named(&'a str),
}

/// One vector for each text, in their order.
pub type Embeddings = Matrix;

/// What a head says of one text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Prediction {
    /// 1 where the head classifies texts, else the number of the text's tokens.
    pub rows: usize,
    /// The head's outputs.
    pub cols: usize,
    /// (rows, cols)
    pub logits: Vec<f32>,
    /// The text's tokens.
    pub ids: Vec<i32>,
}

/// An encoder with its tokenizer. It belongs to one thread at a time.
pub struct Embedder {
    raw: *mut sys::vkf_embedder,
    _context: Context,
}

// SAFETY: <vkformer/embed.h> lets embedders change threads.
unsafe impl Send for Embedder {}

impl Drop for Embedder {
    fn drop(&mut self) {
        // SAFETY: this is the embedder's only owner.
        unsafe { sys::vkf_embedder_destroy(&mut self.raw) }
    }
}

impl Embedder {
    /// Loads a model directory.
    pub fn new(context: &Context, directory: impl AsRef<Path>, options: &EmbedderOptions) -> Result<Embedder> {
        let directory = c_path(directory.as_ref())?;
        let desc = sys::vkf_embedder_desc {
            directory: directory.as_ptr(),
            precision: options.precision.raw(),
            quantization: options.quantization.raw(),
            max_batch: options.max_batch,
            max_tokens: options.max_tokens,
            head: options.head,
            truncate_dim: options.truncate_dim,
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the directory lives until the call returns.
        check(unsafe { sys::vkf_embedder_load(context.as_ptr(), &desc, &mut raw) })?;
        Ok(Embedder { raw, _context: context.clone() })
    }

    /// An embedding does not depend on the texts beside it.
    pub fn embed<T: AsRef<str>>(&mut self, texts: &[T], prompt: Prompt<'_>) -> Result<Embeddings> {
        let (count, dim) = (count("texts", texts.len())?, self.dim());
        let mut values = vec![0.0; texts.len() * dim];
        let texts = borrow_all(texts);
        let mut args = sys::vkf_embed_args {
            texts: texts.as_ptr(),
            count,
            out_embeddings: values.as_mut_ptr(),
            ..Default::default()
        };
        if !texts.is_empty() {
            self.run(&mut args, prompt)?;
        }
        Ok(Matrix::new(values, dim))
    }

    /// What the model's head says of each text, with [`EmbedderOptions::head`]. Of a pair it sees both texts, as a
    /// question and its context; `pairs` is empty for none.
    pub fn predict<T: AsRef<str>>(&mut self, texts: &[T], pairs: &[T]) -> Result<Vec<Prediction>> {
        if !pairs.is_empty() && pairs.len() != texts.len() {
            return Err(Error::argument(format!("{} texts, and {} pairs", texts.len(), pairs.len())));
        }
        let count = count("texts", texts.len())?;
        let (texts, pairs) = (borrow_all(texts), borrow_all(pairs));
        let mut raw = vec![sys::vkf_prediction::default(); texts.len()];
        let mut args = sys::vkf_embed_args {
            texts: texts.as_ptr(),
            pairs: if pairs.is_empty() { ptr::null() } else { pairs.as_ptr() },
            count,
            out_predictions: raw.as_mut_ptr(),
            ..Default::default()
        };
        if !texts.is_empty() {
            self.run(&mut args, Prompt::Default)?;
        }
        // SAFETY: a run that succeeded has filled in each prediction.
        Ok(raw.iter_mut().map(|raw| unsafe { take_prediction(raw) }).collect())
    }

    fn run(&mut self, args: &mut sys::vkf_embed_args, prompt: Prompt<'_>) -> Result<()> {
        let text: Option<CString> = match prompt {
            Prompt::Default => None,
            Prompt::Text(text) | Prompt::Named(text) => Some(c_string("the prompt", text)?),
        };
        let pointer: *const c_char = text.as_deref().map_or(ptr::null(), CStr::as_ptr);
        match prompt {
            Prompt::Named(_) => args.prompt_name = pointer,
            _ => args.prompt = pointer,
        }
        // SAFETY: the arrays of `args` have `count` elements, and all texts live until the call returns.
        check(unsafe { sys::vkf_embedder_run(self.raw, args) })
    }

    /// The length of an embedding.
    pub fn dim(&self) -> usize {
        let mut config = sys::vkf_model_config::default();
        // SAFETY: both pointers are valid.
        unsafe { sys::vkf_embedder_get_config(self.raw, &mut config) };
        config.embedding_dim as usize
    }

    pub fn similarity(&self) -> Similarity {
        // SAFETY: the embedder is alive.
        Similarity::from_raw(unsafe { sys::vkf_embedder_get_similarity(self.raw) }).unwrap_or_default()
    }

    /// The name of a classifier's label.
    pub fn label(&self, index: u32) -> Option<String> {
        // SAFETY: the text lives as long as the embedder.
        unsafe { copy(sys::vkf_embedder_get_label(self.raw, index)) }
    }
}

unsafe fn take_prediction(raw: &mut sys::vkf_prediction) -> Prediction {
    let (rows, cols) = (raw.rows as usize, raw.cols as usize);
    let prediction = Prediction {
        rows,
        cols,
        logits: copy_array(raw.logits, rows * cols),
        ids: copy_array(raw.tokens.ids, raw.tokens.count as usize),
    };
    sys::vkf_prediction_free(raw);
    prediction
}
