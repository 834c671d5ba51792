//! What can go wrong, and the messages that say what did.

use std::ffi::CStr;
use std::fmt;
use std::os::raw::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};
use std::ptr;
use std::sync::Arc;

use crate::c_enum::c_enum;
use vkformer_sys as sys;

c_enum! {
    /// How much a message matters.
    Severity: vkf_severity {
        Debug = VKF_SEVERITY_DEBUG,
        Info = VKF_SEVERITY_INFO,
        Warning = VKF_SEVERITY_WARNING,
        Error = VKF_SEVERITY_ERROR,
        /// A message of the Vulkan validation layers.
        Validation = VKF_SEVERITY_VALIDATION,
    }
}

c_enum! {
    /// The kinds of failures. `<vkformer/status.h>` describes them.
    Status: vkf_status {
        InvalidArgument = VKF_ERROR_INVALID_ARGUMENT,
        OutOfHostMemory = VKF_ERROR_OUT_OF_HOST_MEMORY,
        OutOfDeviceMemory = VKF_ERROR_OUT_OF_DEVICE_MEMORY,
        NoVulkan = VKF_ERROR_NO_VULKAN,
        NoDevice = VKF_ERROR_NO_DEVICE,
        Unsupported = VKF_ERROR_UNSUPPORTED,
        TooLarge = VKF_ERROR_TOO_LARGE,
        DeviceLost = VKF_ERROR_DEVICE_LOST,
        Vulkan = VKF_ERROR_VULKAN,
        File = VKF_ERROR_FILE,
        Format = VKF_ERROR_FORMAT,
        Cancelled = VKF_ERROR_CANCELLED,
        Shader = VKF_ERROR_SHADER,
        NotFinite = VKF_ERROR_NOT_FINITE,
        Internal = VKF_ERROR_INTERNAL,
    }
}

/// A call that failed: what kind of failure, and one sentence that says what, where and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    status: Status,
    message: String,
}

/// What every fallible function returns.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn new(status: Status, message: impl Into<String>) -> Error {
        let message = message.into();
        Error { status, message }
    }

    /// An argument that the C library was not even asked about.
    pub(crate) fn argument(message: impl Into<String>) -> Error {
        Error::new(Status::InvalidArgument, message)
    }

    pub fn status(&self) -> Status {
        self.status
    }

    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Error {}

type Receive = Box<dyn Fn(Severity, &str) + Send + Sync>;

/// Receives messages of a severity and above. It has to live until what was made with it is destroyed.
pub(crate) type Handler = (Severity, Arc<Receive>);

/// What a descriptor has as `message`, `message_user` and `min_severity`.
pub(crate) fn callback(handler: &Option<Handler>) -> (sys::vkf_message_fn, *mut c_void, sys::vkf_severity) {
    match handler {
        Some((severity, receive)) => (Some(receive_message), Arc::as_ptr(receive) as *mut c_void, severity.raw()),
        None => (None, ptr::null_mut(), sys::vkf_severity::VKF_SEVERITY_DEBUG),
    }
}

/// A panic must not reach C code: one of the handler's ends here.
unsafe extern "C" fn receive_message(user: *mut c_void, severity: sys::vkf_severity, text: *const c_char) {
    let receive = || {
        let receive = &*(user as *const Receive);
        receive(Severity::from_raw(severity).unwrap_or(Severity::Info), &CStr::from_ptr(text).to_string_lossy());
    };
    drop(panic::catch_unwind(AssertUnwindSafe(receive)));
}

/// An error has what the call said that gave the status: no other call may come between.
pub(crate) fn check(status: sys::vkf_status) -> Result<()> {
    match status {
        sys::vkf_status::VKF_OK => Ok(()),
        _ => Err(Error::new(Status::from_raw(status).unwrap_or(Status::Internal), last_error(status))),
    }
}

fn last_error(status: sys::vkf_status) -> String {
    // SAFETY: the text is never NULL, and nothing else is called on this thread before it is copied.
    let text = unsafe { CStr::from_ptr(sys::vkf_last_error(status)) };
    text.to_string_lossy().into_owned()
}

/// A number of elements as C takes it. `what` names them in the message.
pub(crate) fn count(what: &str, len: usize) -> Result<u32> {
    u32::try_from(len).map_err(|_| Error::argument(format!("{} {}, and at most {} are taken", len, what, u32::MAX)))
}

/// The library that the program found has to be of the version that this crate was made for.
pub(crate) fn check_version() -> Result<()> {
    // SAFETY: the function takes and touches nothing.
    let found = unsafe { sys::vkf_version() };
    if found / 100 == sys::VKF_VERSION / 100 {
        return Ok(());
    }
    let name = |version: u32| format!("{}.{}", version / 10000, version / 100 % 100);
    Err(Error::new(
        Status::Unsupported,
        format!("libvkformer is version {}, and this crate is for version {}", name(found), name(sys::VKF_VERSION)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn error_has_the_message_of_its_own_call_alone() {
        // SAFETY: NULL is refused.
        let error = check(unsafe { sys::vkf_session_wait(ptr::null_mut()) }).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument);
        assert!(error.message().starts_with("vkf_session_wait: "));
        let silent = check(sys::vkf_status::VKF_ERROR_CANCELLED).unwrap_err();
        assert_eq!(silent, Error::new(Status::Cancelled, "the caller cancelled the operation"));
        assert_eq!(check(sys::vkf_status::VKF_OK), Ok(()));
    }

    #[test]
    fn number_of_elements_beyond_32_bits_is_refused() {
        assert_eq!(count("ids", u32::MAX as usize), Ok(u32::MAX));
        if let Some(beyond) = (u32::MAX as usize).checked_add(1) {
            let error = count("ids", beyond).unwrap_err();
            assert_eq!(error.status(), Status::InvalidArgument);
            assert_eq!(error.message(), "4294967296 ids, and at most 4294967295 are taken");
        }
    }
}
