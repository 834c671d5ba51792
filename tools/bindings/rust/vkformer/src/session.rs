//! Models on ids: what it takes to run them.

use std::os::raw::c_void;
use std::path::Path;
use std::ptr;

use crate::c_enum::c_enum;
use crate::error::{check, Error, Result};
use crate::ids::{Padded, Prompts, Source, Step};
use crate::layer::AttentionMask;
use crate::matrix::Matrix;
use crate::model::{Head, MemoryPlan, Model, ModelConfig, ModelKind};
use crate::tensor::{check_element, Dtype, Element};
use crate::text::{c_path, elements};
use crate::token_stream::{GeneratedTokens, TokenGeneration, TokenStream};
use vkformer_sys as sys;

c_enum! {
    /// A kind of attention whose weights a session can keep.
    AttentionKind: vkf_attention_kind {
        /// The decoder's over the source.
        Cross = VKF_ATTENTION_CROSS,
        Encoder = VKF_ATTENTION_ENCODER,
        Decoder = VKF_ATTENTION_DECODER,
    }
}

c_enum! {
    /// What a session reads and leaves on the device: `<vkformer/model.h>` has the shapes.
    SessionData: vkf_session_data {
        SourceIds = VKF_SESSION_SOURCE_IDS,
        Memory = VKF_SESSION_MEMORY,
        Embeddings = VKF_SESSION_EMBEDDINGS,
        Logits = VKF_SESSION_LOGITS,
    }
}

/// The largest run that a session is made for.
#[derive(Clone, Debug, Default)]
pub struct SessionOptions {
    /// Rows of a run; 0: 1.
    pub max_batch: u32,
    /// Ids of a source, or of an encoder's text; 0: the model's, at most 512.
    pub max_source_len: u32,
    /// Ids of a decoder's prompt and its continuation, or of an encoder-decoder's target; 0: the same.
    pub max_target_len: u32,
    /// Positions of a row whose logits are computed together; 0: the session only generates.
    pub max_logit_rows: u32,
    /// Positions of a prompt that run at once; 0: as the device suggests.
    pub max_prompt_len: u32,
    /// Sequences that beam search follows; 0: 1.
    pub max_beams: u32,
    /// An encoder's head runs, too.
    pub head: bool,
    /// How keys and values are kept: F32 means as the model's precision says.
    pub cache_dtype: Dtype,
    /// The kinds whose weights are kept for [`Session::attention`].
    pub attention_weights: Vec<AttentionKind>,
    /// Of nn.Transformer's targets; its kind of mask is `None`. Other models know themselves what they may see.
    pub target_mask: AttentionMask,
}

impl SessionOptions {
    fn raw(&self, config: &ModelConfig) -> Result<sys::vkf_session_desc> {
        if self.target_mask.kind.raw().0 != 0 || self.target_mask.key_kind.raw().0 != 0 {
            return Err(Error::argument("target_mask: a session of this crate takes `causal` and `window` alone"));
        }
        // A Transformer's length has no limit of its own.
        let or = |size: u32, model: u32| match (size, model) {
            (0, 0) => 512,
            (0, _) => model.min(512),
            _ => size,
        };
        let (kind, encoder) = (config.kind, config.kind == ModelKind::Encoder);
        Ok(sys::vkf_session_desc {
            max_batch: self.max_batch.max(1),
            max_source_len: if kind == ModelKind::Decoder { 0 } else { or(self.max_source_len, config.max_source_len) },
            max_target_len: if encoder { 0 } else { or(self.max_target_len, config.max_target_len) },
            // To an encoder it only says whether its head runs.
            max_logit_rows: if encoder { self.head.into() } else { self.max_logit_rows },
            max_prompt_len: self.max_prompt_len,
            max_beams: self.max_beams,
            cache_dtype: self.cache_dtype.raw(),
            attention_weights: self.attention_weights.iter().fold(0, |kinds, kind| kinds | kind.raw().0 as u32),
            target_mask: self.target_mask.raw(),
            ..Default::default()
        })
    }
}

/// What an encoder makes of rows of ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Encoded {
    /// Of each row, its hidden states: (ids of the row, d_model).
    pub hidden: Vec<Matrix>,
    /// Of an encoder: (rows, embedding_dim).
    pub embeddings: Option<Matrix>,
    /// Of each row what the head says, with [`SessionOptions::head`]: a row of labels, or a row for each id.
    pub logits: Option<Vec<Matrix>>,
}

/// Attention weights of one layer for one row, as they were in the last run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AttentionMap {
    pub heads: usize,
    pub queries: usize,
    pub keys: usize,
    /// (heads, queries, keys)
    pub values: Vec<f32>,
}

/// What it takes to run a model: memory, caches, recorded command buffers. It belongs to one thread at a time, and
/// keeps its model.
pub struct Session {
    raw: *mut sys::vkf_session,
    model: Model,
    head: bool,
    /// The rows of the last encode(), which a decoder's run behind it has, too; 0: there was none.
    encoded: u32,
}

// SAFETY: <vkformer/vkformer.h> lets sessions change threads.
unsafe impl Send for Session {}

impl Drop for Session {
    fn drop(&mut self) {
        // SAFETY: this is the session's only owner.
        unsafe { sys::vkf_session_destroy(&mut self.raw) }
    }
}

impl Session {
    pub fn new(model: &Model, options: &SessionOptions) -> Result<Session> {
        let desc = options.raw(model.config())?;
        let mut raw = ptr::null_mut();
        // SAFETY: the model is alive, and the session keeps it.
        check(unsafe { sys::vkf_session_create(model.as_ptr(), &desc, &mut raw) })?;
        let head = options.head && model.config().kind == ModelKind::Encoder;
        Ok(Session { raw, model: model.clone(), head, encoded: 0 })
    }

    /// The bytes that a session will allocate.
    pub fn plan(model: &Model, options: &SessionOptions) -> Result<MemoryPlan> {
        let desc = options.raw(model.config())?;
        // SAFETY: the model is alive.
        MemoryPlan::of(|plan| unsafe { sys::vkf_session_plan(model.as_ptr(), &desc, plan) })
    }

    /// An encoder, or the encoder of an encoder-decoder, on rows of ids, each of its own length.
    pub fn encode<R: AsRef<[i32]>>(&mut self, rows: &[R]) -> Result<Encoded> {
        self.encode_with_types(rows, &[])
    }

    /// The same with the type of each id, for encoders that have such; empty: all are 0.
    pub fn encode_with_types<R: AsRef<[i32]>>(&mut self, rows: &[R], types: &[R]) -> Result<Encoded> {
        let input = self.source(rows, types)?;
        let mut args = input.raw();
        let (d_model, dim, outputs, whole) = {
            let config = self.model.config();
            let whole = config.head == Head::SequenceClassification;
            (config.d_model as usize, config.embedding_dim as usize, config.head_outputs as usize, whole)
        };
        let encoder = self.model.config().kind == ModelKind::Encoder;
        let (batch, len) = (rows.len(), args.source_len as usize);
        let mut hidden = vec![0f32; batch * len * d_model];
        let mut embeddings = vec![0f32; if encoder { batch * dim } else { 0 }];
        let mut logits = vec![0f32; if self.head { batch * outputs * if whole { 1 } else { len } } else { 0 }];
        args.out_memory = hidden.as_mut_ptr();
        args.out_embeddings = if encoder { embeddings.as_mut_ptr() } else { ptr::null_mut() };
        args.out_logits = if self.head { logits.as_mut_ptr() } else { ptr::null_mut() };
        self.begin_encode(&args, |raw, args| unsafe { sys::vkf_session_encode(raw, args) })?;
        let of_row = |values: &[f32], row: usize, count: usize, width: usize| {
            let stride = values.len() / batch;
            Matrix::new(values[row * stride..row * stride + count * width].to_vec(), width)
        };
        let lens = || rows.iter().map(|row| row.as_ref().len()).enumerate();
        Ok(Encoded {
            hidden: lens().map(|(row, len)| of_row(&hidden, row, len, d_model)).collect(),
            embeddings: encoder.then(|| Matrix::new(embeddings, dim)),
            logits: self
                .head
                .then(|| lens().map(|(row, len)| of_row(&logits, row, if whole { 1 } else { len }, outputs)).collect()),
        })
    }

    /// The encoder of an nn.Transformer: `source` is (batch, len, d_model), and so is what comes back.
    pub fn encode_embedded(&mut self, batch: u32, len: u32, source: &[f32]) -> Result<Vec<f32>> {
        let elements = self.embedded_len("source", batch, len, source)?;
        let mut memory = vec![0f32; elements];
        let args = sys::vkf_encode_args {
            batch,
            source_len: len,
            source: source.as_ptr(),
            out_memory: memory.as_mut_ptr(),
            ..Default::default()
        };
        self.begin_encode(&args, |raw, args| unsafe { sys::vkf_session_encode(raw, args) })?;
        Ok(memory)
    }

    /// The decoder of an nn.Transformer behind encode_embedded(), with as many rows: `target` is (batch, len, d_model),
    /// and so are the hidden states that come back.
    pub fn decode_embedded(&mut self, len: u32, target: &[f32]) -> Result<Vec<f32>> {
        let batch = self.rows_of_encode()?;
        let elements = self.embedded_len("target", batch, len, target)?;
        let mut hidden = vec![0f32; elements];
        let args = sys::vkf_decode_args {
            target_len: len,
            target: target.as_ptr(),
            out_hidden: hidden.as_mut_ptr(),
            ..Default::default()
        };
        // SAFETY: the arrays have batch * len * d_model elements, and `batch` is that of the encode() before.
        check(unsafe { sys::vkf_session_decode(self.raw, &args) })?;
        Ok(hidden)
    }

    /// Of each row its logits at every position, (ids, vocabulary): of a decoder, or of an encoder-decoder whose
    /// targets these are, behind encode() with as many rows. Rows are of one length.
    pub fn logits<R: AsRef<[i32]>>(&mut self, rows: &[R]) -> Result<Vec<Matrix>> {
        let targets = Padded::new(rows, 0)?;
        if rows.iter().any(|row| row.as_ref().len() != targets.len as usize) {
            return Err(Error::argument("logits: the rows of one call are of one length"));
        }
        let kind = self.model.config().kind;
        if kind == ModelKind::Seq2Seq && self.rows_of_encode()? != targets.batch {
            return Err(Error::argument(format!(
                "logits: {} rows of targets, and encode() had {} rows",
                targets.batch, self.encoded
            )));
        }
        let vocab = self.model.config().target_vocab as usize;
        let mut logits = vec![0f32; targets.ids.len() * vocab];
        let args = sys::vkf_decode_args {
            target_len: targets.len,
            target_ids: targets.ids.as_ptr(),
            out_logits: logits.as_mut_ptr(),
            batch: targets.batch,
            ..Default::default()
        };
        // SAFETY: the arrays have so many rows and ids; models that take no ids here are refused by the library.
        check(unsafe { sys::vkf_session_decode(self.raw, &args) })?;
        let rows = logits.chunks_exact((targets.len as usize * vocab).max(1));
        Ok(rows.map(|row| Matrix::new(row.to_vec(), vocab)).collect())
    }

    /// Continues each prompt of ids: of a decoder its beginning, of an encoder-decoder its source.
    pub fn generate<R: AsRef<[i32]>>(
        &mut self,
        prompts: &[R],
        generation: &TokenGeneration,
    ) -> Result<Vec<GeneratedTokens>> {
        self.stream(prompts, generation)?.finish()
    }

    /// The same, token by token: the iterator runs the next step when it is asked for what is not there yet. Dropping
    /// it ends the generation.
    pub fn stream<R: AsRef<[i32]>>(&mut self, prompts: &[R], generation: &TokenGeneration) -> Result<TokenStream<'_>> {
        self.encoded = 0;
        TokenStream::new(self, prompts, generation)
    }

    /// Appends ids to rows of a decoder's cache, and gives each row's logits behind the last: (rows, vocabulary). A row
    /// without ids stays as it is; its logits are 0.
    pub fn prefill<R: AsRef<[i32]>>(&mut self, rows: &[R]) -> Result<Matrix> {
        let prompts = Prompts::new(rows)?;
        self.with_logits(rows.len(), |raw, out_logits| {
            let args = sys::vkf_prefill_args { out_logits, ..prompts.raw() };
            // SAFETY: the arrays have so many rows and ids.
            unsafe { sys::vkf_session_prefill(raw, &args) }
        })
    }

    /// Appends one id to each row of a decoder's cache, and gives each row's logits. A row with None stays as it is.
    pub fn step(&mut self, ids: &[Option<i32>]) -> Result<Matrix> {
        let ids = Step::new(ids)?;
        self.with_logits(ids.rows(), |raw, out_logits| {
            let args = sys::vkf_step_args { out_logits, ..ids.raw() };
            // SAFETY: the arrays have so many rows.
            unsafe { sys::vkf_session_step(raw, &args) }
        })
    }

    /// Forgets what is behind the first `position` ids of a row of a decoder's cache.
    pub fn truncate(&mut self, row: u32, position: u32) -> Result<()> {
        // SAFETY: the session is alive.
        check(unsafe { sys::vkf_session_truncate(self.raw, row, position) })
    }

    /// The ids of a row of a decoder's cache; none where there is no such row.
    pub fn tokens(&self, row: u32) -> &[i32] {
        // SAFETY: the session is alive, and its next call borrows it anew.
        unsafe {
            let count = sys::vkf_session_get_position(self.raw, row);
            elements(sys::vkf_session_get_tokens(self.raw, row), count as usize)
        }
    }

    /// Saves what the rows of a decoder's cache hold.
    pub fn save(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the path ends with a zero.
        check(unsafe { sys::vkf_session_save(self.raw, path.as_ptr()) })
    }

    /// The rows become those that a session with the same model and options saved.
    pub fn restore(&mut self, path: impl AsRef<Path>) -> Result<()> {
        let path = c_path(path.as_ref())?;
        // SAFETY: the path ends with a zero.
        check(unsafe { sys::vkf_session_restore(self.raw, path.as_ptr()) })
    }

    /// The weights of one kind of attention in a layer for a row of the last run, with [`SessionOptions`] that keep it.
    pub fn attention(&mut self, kind: AttentionKind, layer: u32, row: u32, query_len: u32) -> Result<AttentionMap> {
        let (mut heads, mut keys) = (0, 0);
        // SAFETY: all pointers are valid.
        check(unsafe { sys::vkf_session_get_attention_shape(self.raw, kind.raw(), query_len, &mut heads, &mut keys) })?;
        let (heads, queries, keys) = (heads as usize, query_len as usize, keys as usize);
        let mut values = vec![0f32; heads * queries * keys];
        let out = values.as_mut_ptr();
        // SAFETY: the array is as large as the library just said.
        check(unsafe { sys::vkf_session_get_attention(self.raw, kind.raw(), layer, row, query_len, out) })?;
        Ok(AttentionMap { heads, queries, keys, values })
    }

    /// Waits until the run that was submitted last has ended: see [`vulkan`](crate::vulkan).
    pub fn wait(&mut self) -> Result<()> {
        // SAFETY: the session is alive.
        check(unsafe { sys::vkf_session_wait(self.raw) })
    }

    /// Whether that run has ended.
    pub fn ended(&mut self) -> Result<bool> {
        let mut ended = false;
        // SAFETY: both pointers are valid.
        check(unsafe { sys::vkf_session_ended(self.raw, &mut ended) })?;
        Ok(ended)
    }

    /// What the session has on the device; None where it has no such data.
    pub fn data(&mut self, data: SessionData) -> Option<SessionTensor<'_>> {
        let mut raw = sys::vkf_tensor::default();
        // SAFETY: both pointers are valid.
        let found = unsafe { sys::vkf_session_get_tensor(self.raw, data.raw(), &mut raw) };
        found.then_some(SessionTensor { raw, session: self })
    }

    pub fn model(&self) -> &Model {
        &self.model
    }

    /// The C library's handle, for what only `vkformer-sys` has. It lives as long as the session.
    pub fn as_ptr(&self) -> *mut sys::vkf_session {
        self.raw
    }

    /// Rows of ids for the encoder.
    pub(crate) fn source<R: AsRef<[i32]>>(&self, rows: &[R], types: &[R]) -> Result<Source> {
        Source::new(rows, types, self.model.config().pad_id.unwrap_or(0))
    }

    /// A run of the encoder, or its beginning: what was encoded before is gone, whether it goes well or not.
    pub(crate) fn begin_encode(
        &mut self,
        args: &sys::vkf_encode_args,
        call: impl FnOnce(*mut sys::vkf_session, &sys::vkf_encode_args) -> sys::vkf_status,
    ) -> Result<()> {
        self.encoded = 0;
        check(call(self.raw, args))?;
        self.encoded = args.batch;
        Ok(())
    }

    fn rows_of_encode(&self) -> Result<u32> {
        match self.encoded {
            0 => Err(Error::argument("the decoder runs behind encode(): encode the sources first")),
            batch => Ok(batch),
        }
    }

    /// Runs `call` with room for logits.
    fn with_logits(
        &mut self,
        rows: usize,
        call: impl FnOnce(*mut sys::vkf_session, *mut f32) -> sys::vkf_status,
    ) -> Result<Matrix> {
        let vocab = self.model.config().target_vocab as usize;
        let mut logits = vec![0f32; rows * vocab];
        let out = logits.as_mut_ptr();
        check(call(self.raw, out))?;
        Ok(Matrix::new(logits, vocab))
    }

    fn embedded_len(&self, what: &str, batch: u32, len: u32, values: &[f32]) -> Result<usize> {
        let config = self.model.config();
        if config.kind != ModelKind::Transformer {
            return Err(Error::argument(format!("{}: the model is no Transformer, and takes ids", what)));
        }
        let elements = [len, config.d_model].iter().try_fold(batch as usize, |n, m| n.checked_mul(*m as usize));
        elements.filter(|elements| *elements == values.len()).ok_or_else(|| {
            let shape = [batch, len, config.d_model];
            Error::argument(format!("{} has {} elements, and {:?} is its shape", what, values.len(), shape))
        })
    }
}

/// A tensor of a session's, at its largest sizes. While it is borrowed, the session does nothing else.
pub struct SessionTensor<'a> {
    pub(crate) raw: sys::vkf_tensor,
    session: &'a mut Session,
}

impl SessionTensor<'_> {
    pub fn shape(&self) -> &[u32] {
        &self.raw.shape[..self.raw.rank as usize]
    }

    pub fn dtype(&self) -> Dtype {
        Dtype::from_raw(self.raw.dtype).unwrap_or_default()
    }

    /// Waits for the run that is under way, and copies the tensor's first elements to the host, as many as `values`
    /// has: those of a smaller run lie at the beginning.
    pub fn read<T: Element>(&mut self, values: &mut [T]) -> Result<()> {
        check_element::<T>(self.raw.dtype)?;
        self.session.wait()?;
        let bytes = std::mem::size_of_val(values) as u64;
        let (raw, data) = (self.raw, values.as_mut_ptr() as *mut c_void);
        let mut tensor_bytes = 0;
        // SAFETY: both pointers are valid.
        let sized = unsafe { sys::vkf_tensor_bytes(&raw, &mut tensor_bytes) };
        if !sized || bytes > tensor_bytes {
            return Err(Error::argument(format!(
                "{} bytes are asked of a session's tensor of {}",
                bytes, tensor_bytes
            )));
        }
        // SAFETY: `data` has room for so many bytes, and any bits are a T.
        check(unsafe { sys::vkf_buffer_read(raw.buffer, raw.offset_bytes, data, bytes) })
    }
}
