//! Weights on the device, and how they are kept there.

use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Arc;

use crate::c_enum::c_enum;
use crate::callback::{receive_progress, Guarded, Progress};
use crate::context::Context;
use crate::error::{check, Result, Status};
use crate::generator::{BeamSearch, Sampling};
use crate::layer::Activation;
use crate::text::{c_path, c_string, written};
use vkformer_sys as sys;

c_enum! {
    /// How parameters and activations are stored: `<vkformer/model.h>` has the bounds of each.
    #[derive(Default)]
    ModelPrecision: vkf_model_precision {
        #[default]
        F32 = VKF_MODEL_PRECISION_F32,
        F16Weights = VKF_MODEL_PRECISION_F16_WEIGHTS,
        Bf16Weights = VKF_MODEL_PRECISION_BF16_WEIGHTS,
        F16 = VKF_MODEL_PRECISION_F16,
        /// What the device and the file suggest.
        Auto = VKF_MODEL_PRECISION_AUTO,
    }
}

c_enum! {
    /// Weights of linear layers in blocks.
    #[derive(Default)]
    Quantization: vkf_quantization {
        /// As stored.
        #[default]
        None = VKF_QUANTIZATION_NONE,
        Q8 = VKF_QUANTIZATION_Q8,
        Q4 = VKF_QUANTIZATION_Q4,
    }
}

c_enum! {
    /// What a model makes of what.
    #[derive(Default)]
    ModelKind: vkf_model_kind {
        /// torch.nn.Transformer: embedded sequences in, hidden states out.
        #[default]
        Transformer = VKF_MODEL_TRANSFORMER,
        /// Ids in, logits and ids out.
        Seq2Seq = VKF_MODEL_SEQ2SEQ,
        /// Ids in, hidden states and an embedding per sequence out.
        Encoder = VKF_MODEL_ENCODER,
        /// Ids in, logits and the next ids out.
        Decoder = VKF_MODEL_DECODER,
    }
}

c_enum! {
    /// What an encoder was trained to predict: transformers' classes named ...For... .
    #[derive(Default)]
    Head: vkf_head {
        #[default]
        None = VKF_HEAD_NONE,
        SequenceClassification = VKF_HEAD_SEQUENCE_CLASSIFICATION,
        TokenClassification = VKF_HEAD_TOKEN_CLASSIFICATION,
        QuestionAnswering = VKF_HEAD_QUESTION_ANSWERING,
        MaskedLm = VKF_HEAD_MASKED_LM,
    }
}

/// How a model is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ModelOptions {
    pub precision: ModelPrecision,
    pub quantization: Quantization,
    /// The directory of a LoRA adapter that is added to the weights.
    pub adapter: Option<PathBuf>,
}

/// The arguments of a torch.nn.Transformer (batch_first).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NnTransformer {
    pub d_model: u32,
    pub num_heads: u32,
    pub num_encoder_layers: u32,
    pub num_decoder_layers: u32,
    pub dim_feedforward: u32,
    /// PyTorch's "gelu" is GeluErf.
    pub activation: Activation,
    pub norm_first: bool,
    /// 0: PyTorch's 1e-5.
    pub layer_norm_eps: f32,
}

impl NnTransformer {
    fn raw(&self) -> Box<sys::vkf_model_config> {
        Box::new(sys::vkf_model_config {
            kind: sys::vkf_model_kind::VKF_MODEL_TRANSFORMER,
            d_model: self.d_model,
            num_heads: self.num_heads,
            num_encoder_layers: self.num_encoder_layers,
            num_decoder_layers: self.num_decoder_layers,
            dim_feedforward: self.dim_feedforward,
            activation: self.activation.raw(),
            norm_first: self.norm_first,
            layer_norm_eps: self.layer_norm_eps,
            ..Default::default()
        })
    }
}

/// What `vkf_model_config` says of most use; all of it is behind [`Model::as_ptr`].
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct ModelConfig {
    pub kind: ModelKind,
    pub d_model: u32,
    pub num_heads: u32,
    pub num_encoder_layers: u32,
    pub num_decoder_layers: u32,
    /// Ids that an encoder takes.
    pub source_vocab: u32,
    /// Ids that are generated.
    pub target_vocab: u32,
    pub max_source_len: u32,
    /// Of a decoder its context, the prompt included.
    pub max_target_len: u32,
    pub pad_id: Option<i32>,
    pub bos_id: Option<i32>,
    /// Each of them ends a continuation.
    pub eos_ids: Vec<i32>,
    /// The length of an encoder's embeddings.
    pub embedding_dim: u32,
    pub head: Head,
    pub head_outputs: u32,
    /// What the directory says about generation where the caller says nothing.
    pub sampling: Sampling,
    pub beams: BeamSearch,
    pub max_new_tokens: u32,
}

impl ModelConfig {
    fn new(raw: &sys::vkf_model_config) -> ModelConfig {
        let id = |id| Some(id).filter(|id| *id >= 0);
        let eos_ids = match raw.eos_count {
            0 => id(raw.eos_id).into_iter().collect(),
            count => raw.eos_ids.iter().copied().take(count as usize).collect(),
        };
        ModelConfig {
            kind: ModelKind::from_raw(raw.kind).unwrap_or_default(),
            d_model: raw.d_model,
            num_heads: raw.num_heads,
            num_encoder_layers: raw.num_encoder_layers,
            num_decoder_layers: raw.num_decoder_layers,
            source_vocab: raw.source_vocab,
            target_vocab: raw.target_vocab,
            max_source_len: raw.max_source_len,
            max_target_len: raw.max_target_len,
            pad_id: id(raw.pad_id),
            bos_id: id(raw.bos_id),
            eos_ids,
            embedding_dim: raw.embedding_dim,
            head: Head::from_raw(raw.head).unwrap_or_default(),
            head_outputs: raw.head_outputs,
            sampling: Sampling::of(&raw.generation.sampling),
            beams: BeamSearch::of(&raw.generation.beams),
            max_new_tokens: raw.generation.max_new_tokens,
        }
    }
}

/// Bytes that an object needs, known before anything is allocated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    pub weights_bytes: u64,
    /// Inputs, outputs and intermediate results.
    pub activations_bytes: u64,
    /// Keys and values that are kept between steps.
    pub cache_bytes: u64,
    pub control_bytes: u64,
    /// The same bytes by heap of the device.
    pub heap_bytes: Vec<u64>,
}

impl MemoryPlan {
    /// Has `call` fill in a plan.
    pub(crate) fn of(call: impl FnOnce(*mut sys::vkf_memory_plan) -> sys::vkf_status) -> Result<Self> {
        let mut raw = sys::vkf_memory_plan::default();
        check(call(&mut raw))?;
        Ok(MemoryPlan {
            weights_bytes: raw.weights_bytes,
            activations_bytes: raw.activations_bytes,
            cache_bytes: raw.cache_bytes,
            control_bytes: raw.control_bytes,
            heap_bytes: raw.heap_bytes.iter().copied().take(raw.heap_count as usize).collect(),
        })
    }

    pub fn total_bytes(&self) -> u64 {
        self.heap_bytes.iter().sum()
    }
}

struct Inner {
    raw: *mut sys::vkf_model,
    config: ModelConfig,
    context: Context,
}

// SAFETY: <vkformer/vkformer.h> lets threads share a model.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: this is the model's only owner; sessions keep what they use of it.
        unsafe { sys::vkf_model_destroy(&mut self.raw) }
    }
}

/// The weights of a model directory. Clones are the same model, which threads and sessions may share.
#[derive(Clone)]
pub struct Model(Arc<Inner>);

impl Model {
    /// Loads a model directory.
    pub fn load(context: &Context, directory: impl AsRef<Path>, options: &ModelOptions) -> Result<Model> {
        Model::load_with(context, directory, options, |_, _, _| true)
    }

    /// The same. `on_progress` is told before each tensor how many of how many are there; returning false ends the
    /// loading with [`Status::Cancelled`]. If it panics, the loading ends, and the panic goes on here.
    pub fn load_with(
        context: &Context,
        directory: impl AsRef<Path>,
        options: &ModelOptions,
        mut on_progress: impl FnMut(u32, u32, &str) -> bool,
    ) -> Result<Model> {
        with_desc(directory.as_ref(), options, |desc| Model::create(context, desc, &mut on_progress))
    }

    /// A torch.nn.Transformer, whose `state_dict()` is in a file of safetensors or of torch.save().
    pub fn transformer(
        context: &Context,
        transformer: &NnTransformer,
        weights: impl AsRef<Path>,
        options: &ModelOptions,
    ) -> Result<Model> {
        let (config, weights) = (transformer.raw(), c_path(weights.as_ref())?);
        with_options(options, |mut desc| {
            desc.config = &*config;
            desc.weights_path = weights.as_ptr();
            Model::create(context, desc, &mut |_, _, _| true)
        })
    }

    fn create(
        context: &Context,
        mut desc: sys::vkf_model_desc,
        on_progress: &mut dyn FnMut(u32, u32, &str) -> bool,
    ) -> Result<Model> {
        let mut progress = Guarded::<Progress<'_>>::new(on_progress);
        desc.progress = Some(receive_progress);
        desc.progress_user = progress.user();
        let mut raw = ptr::null_mut();
        // SAFETY: what `desc` points to, and the callback's data, live until the call returns.
        let loaded = check(unsafe { sys::vkf_model_load(context.as_ptr(), &desc, &mut raw) });
        progress.finish(); // of a loading that was ended: there is no model
        loaded?;
        let mut config = Box::<sys::vkf_model_config>::default();
        // SAFETY: both pointers are valid.
        unsafe { sys::vkf_model_get_config(raw, &mut *config) };
        Ok(Model(Arc::new(Inner { raw, config: ModelConfig::new(&config), context: context.clone() })))
    }

    /// The bytes that loading will allocate, by the headers of the files alone.
    pub fn plan(context: &Context, directory: impl AsRef<Path>, options: &ModelOptions) -> Result<MemoryPlan> {
        with_desc(directory.as_ref(), options, |desc| {
            // SAFETY: what `desc` points to lives until the call returns.
            MemoryPlan::of(|plan| unsafe { sys::vkf_model_plan(context.as_ptr(), &desc, plan) })
        })
    }

    pub fn config(&self) -> &ModelConfig {
        &self.0.config
    }

    /// What [`ModelPrecision::Auto`] has become.
    pub fn precision(&self) -> ModelPrecision {
        // SAFETY: the model is alive.
        ModelPrecision::from_raw(unsafe { sys::vkf_model_get_precision(self.0.raw) }).unwrap_or_default()
    }

    /// What the model's files say of it: a member of config.json, by its path ("rope_scaling.factor"), or a text beside
    /// the tensors. None where there is no such key.
    pub fn metadata(&self, key: &str) -> Result<Option<String>> {
        let key = c_string("the key", key)?;
        // SAFETY: the key ends with a zero, and the text is NULL or has room for so many bytes.
        match written(|bytes, text| unsafe { sys::vkf_model_get_metadata(self.0.raw, key.as_ptr(), bytes, text) }) {
            Err(error) if error.status() == Status::InvalidArgument => Ok(None),
            text => text.map(Some),
        }
    }

    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The C library's handle, for what only `vkformer-sys` has. It lives as long as the model and its clones.
    pub fn as_ptr(&self) -> *mut sys::vkf_model {
        self.0.raw
    }
}

fn with_desc<R>(
    directory: &Path,
    options: &ModelOptions,
    call: impl FnOnce(sys::vkf_model_desc) -> Result<R>,
) -> Result<R> {
    let directory = c_path(directory)?;
    with_options(options, |desc| call(sys::vkf_model_desc { directory: directory.as_ptr(), ..desc }))
}

fn with_options<R>(options: &ModelOptions, call: impl FnOnce(sys::vkf_model_desc) -> Result<R>) -> Result<R> {
    let adapter: Option<CString> = options.adapter.as_deref().map(c_path).transpose()?;
    call(sys::vkf_model_desc {
        adapter_directory: adapter.as_deref().map_or(ptr::null(), CStr::as_ptr),
        precision: options.precision.raw(),
        quantization: options.quantization.raw(),
        ..Default::default()
    })
}
