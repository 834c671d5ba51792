//! Texts and paths on their way to C and back.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::Path;
use std::ptr;

use crate::error::{check, Error, Result};
use vkformer_sys as sys;

/// `what` names the text in the message.
pub(crate) fn c_string(what: &str, text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::argument(format!("{} has a zero byte in it: {:?}", what, text)))
}

pub(crate) fn c_path(path: &Path) -> Result<CString> {
    #[cfg(unix)]
    let bytes = {
        use std::os::unix::ffi::OsStrExt;
        path.as_os_str().as_bytes()
    };
    #[cfg(not(unix))]
    let bytes = match path.to_str() {
        Some(text) => text.as_bytes(),
        None => return Err(Error::argument(format!("the path is not Unicode: {:?}", path))),
    };
    CString::new(bytes).map_err(|_| Error::argument(format!("the path has a zero byte in it: {:?}", path)))
}

/// The bytes stay the caller's.
pub(crate) fn borrow(text: &str) -> sys::vkf_text {
    sys::vkf_text { bytes: text.as_ptr() as *const c_char, size_bytes: text.len() }
}

pub(crate) fn borrow_all<T: AsRef<str>>(texts: &[T]) -> Vec<sys::vkf_text> {
    texts.iter().map(|text| borrow(text.as_ref())).collect()
}

/// The copy of a zero-terminated text; None for NULL.
pub(crate) unsafe fn copy(text: *const c_char) -> Option<String> {
    if text.is_null() {
        return None;
    }
    Some(CStr::from_ptr(text).to_string_lossy().into_owned())
}

/// The text of a call that takes a capacity and room for so many bytes, and says how many the text has: without room it
/// only says that.
pub(crate) fn written(call: impl Fn(&mut usize, *mut c_char) -> sys::vkf_status) -> Result<String> {
    let mut bytes = 0;
    check(call(&mut bytes, ptr::null_mut()))?;
    let mut text = vec![0u8; bytes + 1];
    bytes = text.len();
    check(call(&mut bytes, text.as_mut_ptr() as *mut c_char))?;
    text.truncate(bytes);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The elements of an array of C's, which may be NULL where there are none.
pub(crate) unsafe fn elements<'a, T>(values: *const T, count: usize) -> &'a [T] {
    if count == 0 || values.is_null() {
        return &[];
    }
    std::slice::from_raw_parts(values, count)
}

/// The copy of an array that C allocated.
pub(crate) unsafe fn copy_array<T: Copy>(values: *const T, count: usize) -> Vec<T> {
    elements(values, count).to_vec()
}
