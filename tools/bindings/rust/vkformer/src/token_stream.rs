//! Generated ids, by a session.

use std::collections::VecDeque;
use std::os::raw::c_void;
use std::ptr;
use std::sync::{Arc, Mutex, PoisonError};

use crate::error::{check, count, Error, Result};
use crate::generator::{BeamSearch, Sampling, StopReason};
use crate::ids::Prompts;
use crate::session::Session;
use vkformer_sys as sys;

/// What is generated, in ids.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenGeneration {
    /// Of each row, at most; above 0.
    pub max_new_tokens: u32,
    pub sampling: Sampling,
    pub beams: BeamSearch,
    /// They end a row as the model's own do.
    pub stop_ids: Vec<i32>,
    /// The beginning of a decoder's prompt that is in its row of the cache does not run again.
    pub reuse_cache: bool,
}

/// What was generated for one row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GeneratedTokens {
    pub ids: Vec<i32>,
    pub reason: StopReason,
}

/// A new token of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub row: usize,
    pub id: i32,
}

type Queue = Mutex<VecDeque<Token>>;

/// The tokens of all rows as they become known: see [`Session::stream`]. An error is the last item.
pub struct TokenStream<'a> {
    raw: *mut sys::vkf_generation,
    _session: &'a mut Session,
    /// The library's callback fills it.
    new: Arc<Queue>,
    arrays: Arrays,
    more: bool,
    failed: Option<Error>,
    /// The error has been an item already.
    told: bool,
}

// SAFETY: it is its session's only user, and <vkformer/vkformer.h> lets sessions change threads.
unsafe impl Send for TokenStream<'_> {}

/// What the library reads and writes until the generation ends.
struct Arrays {
    prompts: Prompts,
    stop_ids: Vec<i32>,
    out_ids: Vec<i32>,
    out_lengths: Vec<u32>,
    out_reasons: Vec<sys::vkf_stop_reason>,
}

impl Arrays {
    fn new<R: AsRef<[i32]>>(prompts: &[R], generation: &TokenGeneration) -> Result<Arrays> {
        if generation.max_new_tokens == 0 {
            return Err(Error::argument("max_new_tokens is 0: it says how many tokens may be made, and is above 0"));
        }
        Ok(Arrays {
            prompts: Prompts::new(prompts)?,
            stop_ids: generation.stop_ids.clone(),
            out_ids: vec![0; prompts.len() * generation.max_new_tokens as usize],
            out_lengths: vec![0; prompts.len()],
            out_reasons: vec![sys::vkf_stop_reason(0); prompts.len()],
        })
    }
}

impl<'a> TokenStream<'a> {
    pub(crate) fn new<R: AsRef<[i32]>>(
        session: &'a mut Session,
        prompts: &[R],
        generation: &TokenGeneration,
    ) -> Result<TokenStream<'a>> {
        let mut arrays = Arrays::new(prompts, generation)?;
        let (new, rows) = (Arc::new(Queue::default()), arrays.prompts.raw());
        let args = sys::vkf_generate_args {
            batch: rows.batch,
            prompt_ids: rows.ids,
            prompt_lengths: rows.counts,
            max_new_tokens: generation.max_new_tokens,
            sampling: generation.sampling.raw(),
            beams: generation.beams.raw(),
            reuse_cache: generation.reuse_cache,
            stop_ids: arrays.stop_ids.as_ptr(),
            stop_count: count("stop_ids", arrays.stop_ids.len())?,
            on_token: Some(receive_token),
            on_token_user: Arc::as_ptr(&new) as *mut c_void,
            out_ids: arrays.out_ids.as_mut_ptr(),
            out_lengths: arrays.out_lengths.as_mut_ptr(),
            out_reasons: arrays.out_reasons.as_mut_ptr(),
            ..Default::default()
        };
        let mut raw = ptr::null_mut();
        // SAFETY: the arrays have so many elements, and live, as the queue does, until the generation is destroyed.
        check(unsafe { sys::vkf_generation_begin(session.as_ptr(), &args, &mut raw) })?;
        Ok(TokenStream { raw, _session: session, new, arrays, more: true, failed: None, told: false })
    }

    /// All that was generated, at the end. Tokens that nobody has taken are in it, too.
    pub fn finish(mut self) -> Result<Vec<GeneratedTokens>> {
        while self.more {
            self.turn();
        }
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let Arrays { out_ids, out_lengths, out_reasons, .. } = &self.arrays;
        let rows = out_ids.chunks_exact((out_ids.len() / out_lengths.len().max(1)).max(1));
        let generated = |((row, len), reason): ((&[i32], &u32), &sys::vkf_stop_reason)| GeneratedTokens {
            ids: row[..*len as usize].to_vec(),
            reason: StopReason::from_raw(*reason).unwrap_or_default(),
        };
        Ok(rows.zip(out_lengths).zip(out_reasons).map(generated).collect())
    }

    fn turn(&mut self) {
        let mut more = false;
        // SAFETY: the generation is alive.
        let done = check(unsafe { sys::vkf_generation_turn(self.raw, &mut more) });
        self.failed = done.err();
        self.more = more && self.failed.is_none();
    }

    fn take(&mut self) -> Option<Token> {
        self.new.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
    }
}

impl Iterator for TokenStream<'_> {
    type Item = Result<Token>;

    fn next(&mut self) -> Option<Result<Token>> {
        loop {
            if let Some(token) = self.take() {
                return Some(Ok(token));
            }
            if !self.more {
                let error = self.failed.clone().filter(|_| !self.told);
                self.told = true;
                return error.map(Err);
            }
            self.turn();
        }
    }
}

impl Drop for TokenStream<'_> {
    fn drop(&mut self) {
        // SAFETY: this is the generation's only owner, and its arrays are still there.
        unsafe { sys::vkf_generation_destroy(&mut self.raw) }
    }
}

unsafe extern "C" fn receive_token(user: *mut c_void, row: u32, id: i32) -> bool {
    let new = &*(user as *const Queue);
    new.lock().unwrap_or_else(PoisonError::into_inner).push_back(Token { row: row as usize, id });
    true
}
