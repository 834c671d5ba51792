//! Text that a model writes.

use std::os::raw::{c_char, c_void};
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::c_enum::c_enum;
use crate::callback::Guarded;
use crate::context::Context;
use crate::error::{check, count, Result};
use crate::model::{ModelPrecision, Quantization};
use crate::text::{borrow_all, c_path, copy_array, elements};
use crate::text_stream::TextStream;
use vkformer_sys as sys;

c_enum! {
    /// When a beam search ends before its sequences reach their maximum length.
    #[derive(Default)]
    EarlyStopping: vkf_early_stopping {
        #[default]
        Off = VKF_EARLY_STOPPING_OFF,
        On = VKF_EARLY_STOPPING_ON,
        Never = VKF_EARLY_STOPPING_NEVER,
    }
}

c_enum! {
    /// Why a continuation ends.
    #[derive(Default)]
    StopReason: vkf_stop_reason {
        #[default]
        Length = VKF_STOP_LENGTH,
        /// The model says so, or one of [`Generation::stops`] came.
        Eos = VKF_STOP_EOS,
        /// The context is full.
        Context = VKF_STOP_CONTEXT,
        /// The callback returned false, or the stream was cancelled.
        Caller = VKF_STOP_CALLER,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GeneratorOptions {
    pub precision: ModelPrecision,
    pub quantization: Quantization,
    /// Prompts that run together; 0: 1.
    pub max_batch: u32,
    /// Tokens of a prompt and its continuation; 0: the model's, at most 2048.
    pub max_context: u32,
    /// Tokens of a prompt that run at once; 0: as the device suggests.
    pub max_prompt_len: u32,
    /// Sequences that beam search follows; 0: 1.
    pub max_beams: u32,
}

/// How the next token is chosen. All zero: the most probable one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sampling {
    /// 0: greedy.
    pub temperature: f32,
    pub top_k: u32,
    pub top_p: f32,
    pub min_p: f32,
    pub repetition_penalty: f32,
    /// The same seed gives the same tokens on the same device.
    pub seed: u64,
}

impl Sampling {
    pub(crate) fn raw(&self) -> sys::vkf_sampling {
        sys::vkf_sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            seed: self.seed,
            ..Default::default()
        }
    }

    pub(crate) fn of(raw: &sys::vkf_sampling) -> Sampling {
        Sampling {
            temperature: raw.temperature,
            top_k: raw.top_k,
            top_p: raw.top_p,
            min_p: raw.min_p,
            repetition_penalty: raw.repetition_penalty,
            seed: raw.seed,
        }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct BeamSearch {
    /// 0 or 1: none.
    pub num_beams: u32,
    /// transformers' default is 1.
    pub length_penalty: f32,
    pub early_stopping: EarlyStopping,
}

impl BeamSearch {
    pub(crate) fn raw(&self) -> sys::vkf_beam_search {
        sys::vkf_beam_search {
            num_beams: self.num_beams,
            length_penalty: self.length_penalty,
            early_stopping: self.early_stopping.raw(),
            ..Default::default()
        }
    }

    pub(crate) fn of(raw: &sys::vkf_beam_search) -> BeamSearch {
        BeamSearch {
            num_beams: raw.num_beams,
            length_penalty: raw.length_penalty,
            early_stopping: EarlyStopping::from_raw(raw.early_stopping).unwrap_or_default(),
        }
    }
}

/// What is generated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Generation {
    /// 0: until the context is full.
    pub max_new_tokens: u32,
    pub sampling: Sampling,
    pub beams: BeamSearch,
    /// A continuation ends before the first of these texts.
    pub stops: Vec<String>,
}

/// What was generated for one prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Continuation {
    /// Without special tokens and stops.
    pub text: String,
    /// All tokens that were generated.
    pub ids: Vec<i32>,
    /// Tokens of the prompt, special ones counted.
    pub prompt_tokens: u32,
    pub reason: StopReason,
}

/// A decoder or an encoder-decoder with its tokenizer.
pub struct Generator {
    inner: Arc<Mutex<Inner>>,
}

/// The thread of a [`TextStream`] shares this with the generator.
pub(crate) struct Inner {
    raw: *mut sys::vkf_generator,
    _context: Context,
}

// SAFETY: <vkformer/generate.h> lets generators change threads.
unsafe impl Send for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: this is the generator's only owner.
        unsafe { sys::vkf_generator_destroy(&mut self.raw) }
    }
}

impl Generator {
    /// Loads a model directory.
    pub fn new(context: &Context, directory: impl AsRef<Path>, options: &GeneratorOptions) -> Result<Generator> {
        let directory = c_path(directory.as_ref())?;
        let desc = sys::vkf_generator_desc {
            directory: directory.as_ptr(),
            precision: options.precision.raw(),
            quantization: options.quantization.raw(),
            max_batch: options.max_batch,
            max_context: options.max_context,
            max_prompt_len: options.max_prompt_len,
            max_beams: options.max_beams,
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the directory lives until the call returns.
        check(unsafe { sys::vkf_generator_load(context.as_ptr(), &desc, &mut raw) })?;
        let inner = Arc::new(Mutex::new(Inner { raw, _context: context.clone() }));
        Ok(Generator { inner })
    }

    /// Continues each prompt.
    pub fn generate<T: AsRef<str>>(&mut self, prompts: &[T], generation: &Generation) -> Result<Vec<Continuation>> {
        self.generate_with(prompts, generation, |_, _| true)
    }

    /// The same. `on_text` gets each new part of the continuation of a prompt, which it names by its number, as soon as
    /// the part is known; returning false ends the continuation there. If it panics, all continuations end, and the
    /// panic goes on here.
    pub fn generate_with<T: AsRef<str>>(
        &mut self,
        prompts: &[T],
        generation: &Generation,
        mut on_text: impl FnMut(usize, &str) -> bool,
    ) -> Result<Vec<Continuation>> {
        let cancelled = AtomicBool::new(false);
        lock(&self.inner).generate(prompts, generation, &cancelled, &mut on_text)
    }

    /// The continuation's text, part by part: generation goes on in a thread of its own. Dropping the stream ends it.
    pub fn stream(&mut self, prompt: &str, generation: &Generation) -> TextStream<'_> {
        TextStream::new(Arc::clone(&self.inner), prompt.to_string(), generation.clone())
    }

    #[cfg(test)]
    pub(crate) fn inner(&self) -> &Mutex<Inner> {
        &self.inner
    }

    /// How many tokens a prompt and its continuation may have together.
    pub fn context_len(&self) -> u32 {
        // SAFETY: the generator is alive.
        unsafe { sys::vkf_generator_get_max_context(lock(&self.inner).raw) }
    }
}

/// A panic of a callback leaves nothing half-done in the generator, so that a poisoned lock means nothing.
pub(crate) fn lock(inner: &Mutex<Inner>) -> MutexGuard<'_, Inner> {
    inner.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What the callbacks of one run use.
struct Callbacks<'a> {
    on_text: &'a mut dyn FnMut(usize, &str) -> bool,
    cancelled: &'a AtomicBool,
}

impl Inner {
    pub(crate) fn generate<T: AsRef<str>>(
        &mut self,
        prompts: &[T],
        generation: &Generation,
        cancelled: &AtomicBool,
        on_text: &mut dyn FnMut(usize, &str) -> bool,
    ) -> Result<Vec<Continuation>> {
        if prompts.is_empty() {
            return Ok(Vec::new());
        }
        let (count, stop_count) = (count("prompts", prompts.len())?, count("stops", generation.stops.len())?);
        let (prompts, stops) = (borrow_all(prompts), borrow_all(&generation.stops));
        let mut raw = vec![sys::vkf_continuation::default(); prompts.len()];
        let mut callbacks = Guarded::new(Callbacks { on_text, cancelled });
        let user = callbacks.user();
        let args = sys::vkf_generator_args {
            prompts: prompts.as_ptr(),
            count,
            stops: stops.as_ptr(),
            stop_count,
            on_text: Some(receive_text),
            on_text_user: user,
            progress: Some(go_on),
            progress_user: user,
            out_continuations: raw.as_mut_ptr(),
            ..generation.raw()
        };
        // SAFETY: the arrays have so many elements, and the callbacks are called in this thread, until the call returns.
        let done = check(unsafe { sys::vkf_generator_run(self.raw, &args) });
        // SAFETY: each continuation is filled in, or zero where the run failed.
        let taken = raw.iter_mut().map(|raw| unsafe { take_continuation(raw) }).collect();
        callbacks.finish();
        done.map(|()| taken)
    }
}

impl Generation {
    fn raw(&self) -> sys::vkf_generator_args {
        sys::vkf_generator_args {
            max_new_tokens: self.max_new_tokens,
            sampling: self.sampling.raw(),
            beams: self.beams.raw(),
            ..Default::default()
        }
    }
}

unsafe extern "C" fn receive_text(user: *mut c_void, prompt: u32, bytes: *const c_char, size_bytes: usize) -> bool {
    Guarded::<Callbacks<'_>>::enter(user, |callbacks| {
        let text = String::from_utf8_lossy(elements(bytes as *const u8, size_bytes));
        !callbacks.cancelled.load(Ordering::Relaxed) && (callbacks.on_text)(prompt as usize, &text)
    })
}

/// Called between the parts of a prompt, where no text comes yet.
unsafe extern "C" fn go_on(user: *mut c_void, _done: u32, _total: u32, _what: *const c_char) -> bool {
    Guarded::<Callbacks<'_>>::enter(user, |callbacks| !callbacks.cancelled.load(Ordering::Relaxed))
}

unsafe fn take_continuation(raw: &mut sys::vkf_continuation) -> Continuation {
    let text = elements(raw.text as *const u8, raw.size_bytes);
    let continuation = Continuation {
        text: String::from_utf8_lossy(text).into_owned(),
        ids: copy_array(raw.ids, raw.id_count as usize),
        prompt_tokens: raw.prompt_count,
        reason: StopReason::from_raw(raw.reason).unwrap_or_default(),
    };
    sys::vkf_continuation_free(raw);
    continuation
}
