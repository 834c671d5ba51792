//! Callbacks of the caller's on their way through C.

use std::any::Any;
use std::os::raw::{c_char, c_void};
use std::panic::{self, AssertUnwindSafe};

use crate::text::copy;

/// What a callback uses. A panic must not reach C code: it waits here until the call has returned.
pub(crate) struct Guarded<T> {
    value: T,
    panicked: Option<Box<dyn Any + Send>>,
}

impl<T> Guarded<T> {
    pub(crate) fn new(value: T) -> Guarded<T> {
        Guarded { value, panicked: None }
    }

    pub(crate) fn user(&mut self) -> *mut c_void {
        self as *mut Guarded<T> as *mut c_void
    }

    /// Whether to go on, as `call` says. After a panic nothing goes on, and `call` is not called any more.
    ///
    /// # Safety
    /// `user` is what user() gave of a `Guarded<T>` that is still there.
    pub(crate) unsafe fn enter(user: *mut c_void, call: impl FnOnce(&mut T) -> bool) -> bool {
        let guarded = &mut *(user as *mut Guarded<T>);
        if guarded.panicked.is_some() {
            return false;
        }
        let value = &mut guarded.value;
        match panic::catch_unwind(AssertUnwindSafe(|| call(value))) {
            Ok(goes_on) => goes_on,
            Err(panicked) => {
                guarded.panicked = Some(panicked);
                false
            }
        }
    }

    /// The panic of the callback, if there was one, goes on from here.
    pub(crate) fn finish(self) {
        if let Some(panicked) = self.panicked {
            panic::resume_unwind(panicked);
        }
    }
}

/// How far a call has come: steps done, steps in all, and what it is about.
pub(crate) type Progress<'a> = &'a mut dyn FnMut(u32, u32, &str) -> bool;

/// C's callback for a `Guarded<Progress>`.
pub(crate) unsafe extern "C" fn receive_progress(
    user: *mut c_void,
    done: u32,
    total: u32,
    what: *const c_char,
) -> bool {
    Guarded::<Progress<'_>>::enter(user, |progress| progress(done, total, &copy(what).unwrap_or_default()))
}
