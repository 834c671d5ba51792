//! What is kept between runs.

use std::ffi::CStr;
use std::os::raw::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;

use crate::text::elements;
use vkformer_sys as sys;

/// Keeps small blobs between runs: compiled pipelines, verdicts of the self-test, measurements. Keys are made of
/// letters, digits, '-' and '.' alone. The library checks what it gets, so that nothing bad follows from a blob that is
/// old or damaged. [`ContextBuilder::cache_directory`](crate::ContextBuilder::cache_directory) keeps them in files. Both
/// may be called from any thread that is inside the library, and must not call back into it.
pub trait Cache: Send + Sync {
    fn load(&self, key: &str) -> Option<Vec<u8>>;
    fn save(&self, key: &str, data: &[u8]);
}

/// The box has to stay where it is for as long as the callbacks may be called. It goes as it is, since C keeps one
/// pointer, and a `&dyn Cache` is two.
#[allow(clippy::borrowed_box)]
pub(crate) fn callbacks(cache: &Box<dyn Cache>) -> sys::vkf_cache_callbacks {
    sys::vkf_cache_callbacks { load: Some(load), save: Some(save), user: cache as *const Box<dyn Cache> as *mut c_void }
}

/// A panic must not reach C code: a cache that panics has nothing.
unsafe extern "C" fn load(user: *mut c_void, key: *const c_char, data: *mut c_void, capacity: usize) -> usize {
    let load = || {
        let cache = &*(user as *const Box<dyn Cache>);
        let blob = cache.load(&CStr::from_ptr(key).to_string_lossy()).unwrap_or_default();
        if !data.is_null() && blob.len() <= capacity {
            ptr::copy_nonoverlapping(blob.as_ptr(), data as *mut u8, blob.len());
        }
        blob.len()
    };
    panic::catch_unwind(AssertUnwindSafe(load)).unwrap_or(0)
}

unsafe extern "C" fn save(user: *mut c_void, key: *const c_char, data: *const c_void, size_bytes: usize) {
    let save = || {
        let cache = &*(user as *const Box<dyn Cache>);
        let data = elements(data as *const u8, size_bytes);
        cache.save(&CStr::from_ptr(key).to_string_lossy(), data);
    };
    drop(panic::catch_unwind(AssertUnwindSafe(save)));
}
