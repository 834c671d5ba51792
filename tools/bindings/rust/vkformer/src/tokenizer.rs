//! Tokenizers, which need neither a context nor a device.

use std::ops::Range;
use std::path::Path;
use std::ptr;
use std::sync::Arc;

use crate::c_enum::c_enum;
use crate::error::{callback, check, check_version, count, Handler, Result, Severity};
use crate::text::{borrow, c_path, c_string, copy, copy_array, written};
use vkformer_sys as sys;

c_enum! {
    /// What happens to texts that have too many tokens.
    #[derive(Default)]
    Truncation: vkf_truncation {
        /// As the file says; if it says nothing, texts are not cut.
        #[default]
        FromFile = VKF_TRUNCATION_FROM_FILE,
        None = VKF_TRUNCATION_NONE,
        LongestFirst = VKF_TRUNCATION_LONGEST_FIRST,
        OnlyFirst = VKF_TRUNCATION_ONLY_FIRST,
        OnlySecond = VKF_TRUNCATION_ONLY_SECOND,
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EncodeOptions {
    pub no_special_tokens: bool,
    pub truncation: Truncation,
    /// In tokens, special ones counted; 0: the file's.
    pub max_length: u32,
    pub truncate_left: bool,
    /// Which of the windows into which a text is divided that is cut at the end.
    pub window: u32,
    /// How many tokens successive windows have in common.
    pub stride: u32,
}

impl EncodeOptions {
    fn raw(&self) -> sys::vkf_encode_options {
        sys::vkf_encode_options {
            no_special_tokens: self.no_special_tokens,
            truncation: self.truncation.raw(),
            max_length: self.max_length,
            truncate_left: self.truncate_left,
            window: self.window,
            stride: self.stride,
            ..Default::default()
        }
    }
}

/// The tokens of a text or a pair: all vectors have an element for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoding {
    pub ids: Vec<i32>,
    pub type_ids: Vec<i32>,
    /// The token was added around the text.
    pub special_tokens: Vec<bool>,
    /// The bytes that the token comes from, in its own text.
    pub offsets: Vec<Range<usize>>,
    /// 0: of the first text, 1: of the second, -1: of neither.
    pub sequences: Vec<i8>,
    pub words: Vec<i32>,
    /// How many windows there are of the text that is cut.
    pub windows: u32,
}

impl Encoding {
    unsafe fn copy(raw: &sys::vkf_encoding) -> Encoding {
        let count = raw.count as usize;
        let special_tokens = copy_array(raw.special_tokens_mask, count);
        let offsets = copy_array(raw.offsets, count);
        Encoding {
            ids: copy_array(raw.ids, count),
            type_ids: copy_array(raw.type_ids, count),
            special_tokens: special_tokens.into_iter().map(|special| special != 0).collect(),
            offsets: offsets.into_iter().map(|range| range.begin..range.end).collect(),
            sequences: copy_array(raw.sequences, count),
            words: copy_array(raw.words, count),
            windows: raw.windows,
        }
    }
}

/// A tokenizer never changes, and any number of threads may use it at once.
pub struct Tokenizer {
    raw: *mut sys::vkf_tokenizer,
    _handler: Option<Handler>,
}

// SAFETY: <vkformer/tokenizer.h> promises this, and a handler is Send and Sync.
unsafe impl Send for Tokenizer {}
unsafe impl Sync for Tokenizer {}

impl Drop for Tokenizer {
    fn drop(&mut self) {
        // SAFETY: this is the tokenizer's only owner, and its handler lives until then.
        unsafe { sys::vkf_tokenizer_destroy(&mut self.raw) }
    }
}

impl Tokenizer {
    /// Reads a tokenizer.json, or the tokenizer of a model directory.
    pub fn load(path: impl AsRef<Path>) -> Result<Tokenizer> {
        Tokenizer::create(path.as_ref(), None)
    }

    /// The same; warnings and other messages go to `handler`, as in
    /// [`ContextBuilder::on_message`](crate::ContextBuilder::on_message).
    pub fn load_with_messages(
        path: impl AsRef<Path>,
        min_severity: Severity,
        handler: impl Fn(Severity, &str) + Send + Sync + 'static,
    ) -> Result<Tokenizer> {
        Tokenizer::create(path.as_ref(), Some((min_severity, Arc::new(Box::new(handler)))))
    }

    fn create(path: &Path, handler: Option<Handler>) -> Result<Tokenizer> {
        check_version()?;
        let path = c_path(path)?;
        let (message, message_user, min_severity) = callback(&handler);
        let desc =
            sys::vkf_tokenizer_desc { path: path.as_ptr(), message, message_user, min_severity, ..Default::default() };
        let mut raw = ptr::null_mut();
        // SAFETY: the handler lives as long as the tokenizer.
        check(unsafe { sys::vkf_tokenizer_load(&desc, &mut raw) })?;
        Ok(Tokenizer { raw, _handler: handler })
    }

    pub fn encode(&self, text: &str, options: &EncodeOptions) -> Result<Encoding> {
        self.encode_texts(text, None, options)
    }

    pub fn encode_pair(&self, text: &str, pair: &str, options: &EncodeOptions) -> Result<Encoding> {
        self.encode_texts(text, Some(pair), options)
    }

    fn encode_texts(&self, text: &str, pair: Option<&str>, options: &EncodeOptions) -> Result<Encoding> {
        let text = borrow(text);
        let pair = pair.map(borrow);
        let pair = pair.as_ref().map_or(ptr::null(), |pair| pair as *const sys::vkf_text);
        let options = options.raw();
        let mut raw = sys::vkf_encoding::default();
        // SAFETY: the texts have so many bytes; what comes back has as many elements as it says.
        unsafe {
            check(sys::vkf_tokenizer_encode(self.raw, &text, pair, &options, &mut raw))?;
            let encoding = Encoding::copy(&raw);
            sys::vkf_encoding_free(&mut raw);
            Ok(encoding)
        }
    }

    /// The text that ids stand for; an id of no token gives nothing.
    pub fn decode(&self, ids: &[i32], skip_special_tokens: bool) -> Result<String> {
        let count = count("ids", ids.len())?;
        // SAFETY: the text is NULL or has room for so many bytes.
        written(|bytes, text| unsafe {
            sys::vkf_tokenizer_decode(self.raw, ids.as_ptr(), count, skip_special_tokens, bytes, text)
        })
    }

    pub fn token_to_id(&self, token: &str) -> Option<i32> {
        let token = c_string("the token", token).ok()?;
        // SAFETY: the token ends with a zero.
        let id = unsafe { sys::vkf_tokenizer_token_to_id(self.raw, token.as_ptr()) };
        (id >= 0).then_some(id)
    }

    /// The text of a token as it stands in the file.
    pub fn id_to_token(&self, id: i32) -> Option<String> {
        // SAFETY: the text lives as long as the tokenizer.
        unsafe { copy(sys::vkf_tokenizer_id_to_token(self.raw, id)) }
    }

    /// The number of rows that an embedding table needs.
    pub fn vocab_size(&self) -> u32 {
        // SAFETY: the tokenizer is alive.
        unsafe { sys::vkf_tokenizer_get_vocab_size(self.raw) }
    }
}
