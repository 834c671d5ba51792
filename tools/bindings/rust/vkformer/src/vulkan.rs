//! Programs that have a Vulkan device of their own, or share buffers, queues and semaphores with the library.
//!
//! Handles are those of C: what is a pointer there is one here, and `VkBuffer` and `VkSemaphore` are `u64`, as
//! `ash::vk::Handle::as_raw()` and its like give them. None is ever destroyed by the library, and whoever hands one in
//! says, by calling what is unsafe, that it is valid for as long as it is used. `<vkformer/vulkan.h>` is the reference.
//!
//! Runs that are submitted here go on while the program does something else. Ports, and what a session has on the
//! device, must not be touched by the host until [`Layer::wait`] or [`Session::wait`] has returned;
//! [`Layer::read`], [`Layer::write`] and [`SessionTensor::read`] wait by themselves.

use std::ffi::{CStr, CString};
use std::fmt;
use std::marker::PhantomData;
use std::os::raw::c_void;
use std::panic::{self, AssertUnwindSafe};
use std::process;
use std::ptr;
use std::sync::Arc;

use crate::buffer::Buffer;
use crate::context::{Context, ContextBuilder};
use crate::error::{check, count, Handler, Result};
use crate::ids::{Prompts, Step};
use crate::layer::{Layer, Port, Sizes};
use crate::session::{Session, SessionTensor};
use vkformer_sys as sys;

pub use vkformer_sys::{
    VkBuffer, VkBufferUsageFlags, VkCommandBuffer, VkDevice, VkDeviceCreateInfo, VkDeviceSize, VkInstance,
    VkPhysicalDevice, VkPhysicalDeviceFeatures2, VkQueue, VkSemaphore,
};

/// Serialises who uses a queue: the library holds it while it submits, or waits for the queue.
pub trait QueueLock: Send + Sync {
    fn lock(&self);
    fn unlock(&self);
}

/// A device that the program made and keeps: see [`ContextBuilder::external_device`].
#[derive(Clone)]
pub struct ExternalDevice {
    pub instance: VkInstance,
    pub physical_device: VkPhysicalDevice,
    /// NULL, like the queue, only for [`ContextBuilder::device_setup`].
    pub device: VkDevice,
    /// Of a family with compute.
    pub queue: VkQueue,
    pub queue_family_index: u32,
    /// What instance and device were made for, as `VK_MAKE_API_VERSION` packs it; at least 1.1.
    pub api_version: u32,
    /// What the device was made with; NULL: nothing is told. Read while the context is made.
    pub features: *const VkPhysicalDeviceFeatures2,
    /// The device extensions that it was made with.
    extensions: Vec<CString>,
    lock: Option<Arc<Box<dyn QueueLock>>>,
}

// SAFETY: Vulkan's handles belong to no thread; what they mean is said by who calls what is unsafe.
unsafe impl Send for ExternalDevice {}
unsafe impl Sync for ExternalDevice {}

impl ExternalDevice {
    /// On instance and physical device, with neither device nor queue yet.
    pub fn new(instance: VkInstance, physical_device: VkPhysicalDevice, api_version: u32) -> ExternalDevice {
        ExternalDevice {
            instance,
            physical_device,
            device: ptr::null_mut(),
            queue: ptr::null_mut(),
            queue_family_index: 0,
            api_version,
            features: ptr::null(),
            extensions: Vec::new(),
            lock: None,
        }
    }

    /// A device extension that the device was made with.
    pub fn extension(mut self, name: &CStr) -> Self {
        self.extensions.push(name.to_owned());
        self
    }

    /// The queue is used by others, too.
    pub fn queue_lock(mut self, lock: impl QueueLock + 'static) -> Self {
        self.lock = Some(Arc::new(Box::new(lock)));
        self
    }

    pub(crate) fn lock(&self) -> Option<Arc<Box<dyn QueueLock>>> {
        self.lock.clone()
    }

    pub(crate) fn with_raw<R>(&self, call: impl FnOnce(&sys::vkf_external_device) -> Result<R>) -> Result<R> {
        let extensions: Vec<_> = self.extensions.iter().map(|name| name.as_ptr()).collect();
        let mut raw = sys::vkf_external_device {
            instance: self.instance,
            physical_device: self.physical_device,
            device: self.device,
            queue: self.queue,
            queue_family_index: self.queue_family_index,
            api_version: self.api_version,
            features: self.features,
            extensions: extensions.as_ptr(),
            extension_count: count("extensions", extensions.len())?,
            ..Default::default()
        };
        if let Some(lock) = &self.lock {
            raw.lock_queue = Some(lock_queue);
            raw.unlock_queue = Some(unlock_queue);
            raw.lock_user = Arc::as_ptr(lock) as *mut c_void;
        }
        call(&raw)
    }
}

/// Without the lock nobody may go on, and a panic must not reach C code.
fn must_not_panic(call: impl FnOnce()) {
    if panic::catch_unwind(AssertUnwindSafe(call)).is_err() {
        process::abort();
    }
}

unsafe extern "C" fn lock_queue(user: *mut c_void) {
    must_not_panic(|| (*(user as *const Box<dyn QueueLock>)).lock());
}

unsafe extern "C" fn unlock_queue(user: *mut c_void) {
    must_not_panic(|| (*(user as *const Box<dyn QueueLock>)).unlock());
}

/// What a device should be made with: see [`ContextBuilder::device_setup`].
pub struct DeviceSetup {
    raw: *mut sys::vkf_device_setup,
    _handler: Option<Handler>,
}

// SAFETY: it is plain data behind a pointer, and its functions that change it take `&mut self`.
unsafe impl Send for DeviceSetup {}

impl Drop for DeviceSetup {
    fn drop(&mut self) {
        // SAFETY: this is the setup's only owner.
        unsafe { sys::vkf_device_setup_destroy(&mut self.raw) }
    }
}

impl DeviceSetup {
    pub(crate) fn new(builder: &ContextBuilder) -> Result<DeviceSetup> {
        let mut raw = ptr::null_mut();
        builder.with_desc(|desc| {
            // SAFETY: what `desc` points to lives until the call returns, and the handler as long as the setup.
            check(unsafe { sys::vkf_device_setup_create(desc, &mut raw) })
        })?;
        Ok(DeviceSetup { raw, _handler: builder.handler.clone() })
    }

    /// A chain of a structure for each extension, which lives as long as the setup and must not be written to. It
    /// serves as [`ExternalDevice::features`], too, if all of it was enabled.
    pub fn features(&self) -> *const VkPhysicalDeviceFeatures2 {
        // SAFETY: the setup is alive.
        unsafe { sys::vkf_device_setup_get_features(self.raw) }
    }

    /// The names of the device extensions.
    pub fn extensions(&self) -> Vec<&CStr> {
        let mut count = 0;
        // SAFETY: the names live as long as the setup.
        unsafe {
            let names = sys::vkf_device_setup_get_extensions(self.raw, &mut count);
            crate::text::elements(names, count as usize).iter().map(|name| CStr::from_ptr(*name)).collect()
        }
    }

    /// The index of the queue family that suits the library best.
    pub fn queue_family(&self) -> u32 {
        // SAFETY: the setup is alive.
        unsafe { sys::vkf_device_setup_get_queue_family(self.raw) }
    }

    /// Adds to `info` what the device should be made with, and takes nothing away: `<vkformer/vulkan.h>` says what it
    /// does with what is there. What `info` then points to lives until the setup is dropped or fills another one.
    ///
    /// # Safety
    ///
    /// `info` points to a `VkDeviceCreateInfo` as `vkCreateDevice()` takes it, whose chain may be written to.
    pub unsafe fn fill(&mut self, info: *mut VkDeviceCreateInfo) -> Result<()> {
        check(sys::vkf_device_setup_fill_create_info(self.raw, info))
    }
}

/// The handles that a context works with. They live as long as the context.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct VulkanHandles {
    pub instance: VkInstance,
    pub physical_device: VkPhysicalDevice,
    pub device: VkDevice,
    pub queue: VkQueue,
    pub queue_family_index: u32,
    pub api_version: u32,
    /// `vkGetInstanceProcAddr`.
    pub get_instance_proc_addr: sys::vkf_get_instance_proc_addr,
}

/// The context's queue is this thread's until the guard is dropped. Meanwhile the thread calls nothing of the library
/// that submits or waits.
pub struct QueueGuard<'a> {
    context: &'a Context,
    /// The thread that took a lock gives it back.
    of_this_thread: PhantomData<*mut ()>,
}

impl Drop for QueueGuard<'_> {
    fn drop(&mut self) {
        // SAFETY: this thread holds the lock.
        unsafe { sys::vkf_context_unlock_queue(self.context.as_ptr()) }
    }
}

impl Context {
    pub fn vulkan(&self) -> VulkanHandles {
        let mut raw = sys::vkf_vulkan_handles::default();
        // SAFETY: both pointers are valid.
        unsafe { sys::vkf_context_get_vulkan(self.as_ptr(), &mut raw) };
        VulkanHandles {
            instance: raw.instance,
            physical_device: raw.physical_device,
            device: raw.device,
            queue: raw.queue,
            queue_family_index: raw.queue_family_index,
            api_version: raw.api_version,
            get_instance_proc_addr: raw.get_instance_proc_addr,
        }
    }

    /// Waits for the lock that the library holds while it uses the queue, and takes it.
    pub fn lock_queue(&self) -> QueueGuard<'_> {
        // SAFETY: the context is alive.
        unsafe { sys::vkf_context_lock_queue(self.as_ptr()) };
        QueueGuard { context: self, of_this_thread: PhantomData }
    }
}

/// A range of a `VkBuffer` of the program's: see [`Buffer::wrap`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WrappedBuffer {
    pub buffer: VkBuffer,
    /// A multiple of 16, as the size is.
    pub offset_bytes: VkDeviceSize,
    pub size_bytes: VkDeviceSize,
    /// What the `VkBuffer` was made with; a storage buffer it has to be.
    pub usage: VkBufferUsageFlags,
}

impl WrappedBuffer {
    pub(crate) fn raw(&self) -> sys::vkf_wrapped_buffer_desc {
        sys::vkf_wrapped_buffer_desc {
            buffer: self.buffer,
            offset_bytes: self.offset_bytes,
            size_bytes: self.size_bytes,
            usage: self.usage,
            ..Default::default()
        }
    }
}

/// Where in which `VkBuffer` something begins. It is valid as long as what it was asked of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BufferPlace {
    pub buffer: VkBuffer,
    pub offset_bytes: VkDeviceSize,
}

impl BufferPlace {
    /// # Safety
    ///
    /// `buffer` is alive.
    unsafe fn of(buffer: *const sys::vkf_buffer, offset_bytes: u64) -> BufferPlace {
        let mut place = BufferPlace::default();
        sys::vkf_buffer_get_vulkan(buffer, &mut place.buffer, &mut place.offset_bytes);
        place.offset_bytes += offset_bytes;
        place
    }
}

impl Buffer {
    pub fn vulkan(&self) -> BufferPlace {
        // SAFETY: the buffer is alive.
        unsafe { BufferPlace::of(self.as_ptr(), 0) }
    }
}

impl SessionTensor<'_> {
    pub fn vulkan(&self) -> BufferPlace {
        // SAFETY: the session, which the tensor belongs to, is alive.
        unsafe { BufferPlace::of(self.raw.buffer, self.raw.offset_bytes) }
    }
}

/// A semaphore to wait for, or to signal.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SemaphoreValue {
    pub semaphore: VkSemaphore,
    /// Of a timeline semaphore, above 0; 0: the semaphore is binary.
    pub value: u64,
}

/// A run begins when all of `waits` are signalled, and signals `signals` when it has ended: at most 16 of each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Semaphores<'a> {
    pub waits: &'a [SemaphoreValue],
    pub signals: &'a [SemaphoreValue],
}

/// The same as C takes it.
struct RawSemaphores {
    waits: Vec<sys::vkf_semaphore_value>,
    signals: Vec<sys::vkf_semaphore_value>,
    counts: (u32, u32),
}

impl Semaphores<'_> {
    fn raw(&self) -> Result<RawSemaphores> {
        let values = |values: &[SemaphoreValue]| {
            let raw = |of: &SemaphoreValue| sys::vkf_semaphore_value { semaphore: of.semaphore, value: of.value };
            values.iter().map(raw).collect()
        };
        let counts = (count("waits", self.waits.len())?, count("signals", self.signals.len())?);
        Ok(RawSemaphores { waits: values(self.waits), signals: values(self.signals), counts })
    }
}

impl RawSemaphores {
    fn of_session(&self) -> sys::vkf_session_submit_desc {
        sys::vkf_session_submit_desc {
            waits: self.waits.as_ptr(),
            wait_count: self.counts.0,
            signals: self.signals.as_ptr(),
            signal_count: self.counts.1,
            ..Default::default()
        }
    }
}

impl Layer {
    /// Where a port begins; None where the layer has no such port.
    pub fn port_vulkan(&self, port: Port) -> Option<BufferPlace> {
        // SAFETY: the port's buffer lives as long as the layer.
        self.port(port).map(|tensor| unsafe { BufferPlace::of(tensor.buffer, tensor.offset_bytes) })
    }

    /// Submits a run with the parameters of a frame, and returns. A run that the frame has under way is waited for
    /// first.
    ///
    /// # Safety
    ///
    /// The semaphores are of the context's device and valid until the run has ended. Until [`Layer::wait`] has returned
    /// for the frame, nobody else touches tensors of the program's that serve as ports, but in the order that the
    /// semaphores make.
    pub unsafe fn submit(&mut self, frame: u32, sizes: Sizes, semaphores: Semaphores<'_>) -> Result<()> {
        let semaphores = semaphores.raw()?;
        let desc = sys::vkf_layer_submit_desc {
            frame,
            sizes: sizes.raw(),
            waits: semaphores.waits.as_ptr(),
            wait_count: semaphores.counts.0,
            signals: semaphores.signals.as_ptr(),
            signal_count: semaphores.counts.1,
            ..Default::default()
        };
        check(sys::vkf_layer_submit(self.as_ptr(), &desc))
    }

    /// Records the layer's dispatches, with the parameters of a frame, into a command buffer of the program's. Sizes are
    /// those of [`Layer::set_sizes`] at each submission.
    ///
    /// # Safety
    ///
    /// The command buffer is of the context's queue family and in the recording state. It is not submitted any more when
    /// the layer is dropped, and from each submission until that has ended, nothing else is done with the frame and the
    /// ports.
    pub unsafe fn record(&mut self, frame: u32, command_buffer: VkCommandBuffer) -> Result<()> {
        check(sys::vkf_layer_record(self.as_ptr(), frame, command_buffer))
    }
}

impl Session {
    /// Submits an encoder's run, and returns; a run that is under way is waited for first. What it makes is on the
    /// device: [`Session::data`].
    ///
    /// # Safety
    ///
    /// The semaphores are of the context's device and valid until the run has ended.
    pub unsafe fn submit_encode<R: AsRef<[i32]>>(&mut self, rows: &[R], semaphores: Semaphores<'_>) -> Result<()> {
        let (source, semaphores) = (self.source(rows, &[])?, semaphores.raw()?);
        let desc = semaphores.of_session();
        self.begin_encode(&source.raw(), |raw, args| sys::vkf_session_submit_encode(raw, args, &desc))
    }

    /// The same for ids that are in [`SessionData::SourceIds`](crate::SessionData::SourceIds) when the semaphores are
    /// signalled: rows of `source_len` ids, of which so many are tokens as `lengths` says.
    ///
    /// # Safety
    ///
    /// As [`Session::submit_encode`].
    pub unsafe fn submit_encode_from_device(
        &mut self,
        source_len: u32,
        lengths: &[u32],
        semaphores: Semaphores<'_>,
    ) -> Result<()> {
        let semaphores = semaphores.raw()?;
        let args = sys::vkf_encode_args {
            batch: count("rows", lengths.len())?,
            source_len,
            source_lengths: lengths.as_ptr(),
            ..Default::default()
        };
        let desc = semaphores.of_session();
        self.begin_encode(&args, |raw, args| sys::vkf_session_submit_encode(raw, args, &desc))
    }

    /// Submits ids that are appended to rows of a decoder's cache, and returns. Of rows longer than
    /// [`SessionOptions::max_prompt_len`](crate::SessionOptions::max_prompt_len) the parts before the last run first, and
    /// are waited for.
    ///
    /// # Safety
    ///
    /// As [`Session::submit_encode`].
    pub unsafe fn submit_prefill<R: AsRef<[i32]>>(&mut self, rows: &[R], semaphores: Semaphores<'_>) -> Result<()> {
        let (prompts, semaphores) = (Prompts::new(rows)?, semaphores.raw()?);
        let desc = semaphores.of_session();
        check(sys::vkf_session_submit_prefill(self.as_ptr(), &prompts.raw(), &desc))
    }

    /// Submits a step of a decoder, one id for each row or None, and returns. The rows have the ids at once.
    ///
    /// # Safety
    ///
    /// As [`Session::submit_encode`].
    pub unsafe fn submit_step(&mut self, ids: &[Option<i32>], semaphores: Semaphores<'_>) -> Result<()> {
        let (ids, semaphores) = (Step::new(ids)?, semaphores.raw()?);
        let desc = semaphores.of_session();
        check(sys::vkf_session_submit_step(self.as_ptr(), &ids.raw(), &desc))
    }

    /// Records an encoder's run into a command buffer of the program's, for the session's largest sizes, in which all
    /// smaller runs can run. Each submission wants a [`Session::prepare_encode`] before it.
    ///
    /// # Safety
    ///
    /// The command buffer is of the context's queue family and in the recording state, and is not submitted any more
    /// when the session is dropped.
    pub unsafe fn record_encode(&mut self, command_buffer: VkCommandBuffer) -> Result<()> {
        check(sys::vkf_session_record_encode(self.as_ptr(), command_buffer))
    }

    /// The same for a step of a decoder, and [`Session::prepare_step`].
    ///
    /// # Safety
    ///
    /// As [`Session::record_encode`].
    pub unsafe fn record_step(&mut self, command_buffer: VkCommandBuffer) -> Result<()> {
        check(sys::vkf_session_record_step(self.as_ptr(), command_buffer))
    }

    /// Writes the ids for the next submission of such a recording, which the program then submits once.
    ///
    /// # Safety
    ///
    /// From here until the submission has ended, only [`Session::ended`] and what takes `&self` is called.
    pub unsafe fn prepare_encode<R: AsRef<[i32]>>(&mut self, rows: &[R]) -> Result<()> {
        let source = self.source(rows, &[])?;
        self.begin_encode(&source.raw(), |raw, args| sys::vkf_session_prepare_encode(raw, args))
    }

    /// The same for a step of a decoder.
    ///
    /// # Safety
    ///
    /// As [`Session::prepare_encode`].
    pub unsafe fn prepare_step(&mut self, ids: &[Option<i32>]) -> Result<()> {
        let ids = Step::new(ids)?;
        check(sys::vkf_session_prepare_step(self.as_ptr(), &ids.raw()))
    }
}

impl fmt::Debug for ExternalDevice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "ExternalDevice({:?}, {:?})", self.device, self.extensions)
    }
}
