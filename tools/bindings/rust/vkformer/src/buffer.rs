//! Memory of the device's.

use std::ptr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::c_enum::c_enum;
use crate::context::Context;
use crate::error::{check, count, Error, Result};
use crate::tensor::{Dtype, Tensor};
use crate::vulkan::WrappedBuffer;
use vkformer_sys as sys;

#[cfg(unix)]
use std::os::unix::io::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};

c_enum! {
    /// What memory is shared as.
    #[derive(Default)]
    MemoryKind: vkf_memory_kind {
        /// Between processes and programs on one device with one driver.
        #[default]
        OpaqueFd = VKF_MEMORY_OPAQUE_FD,
        /// Linux's, between devices and drivers of all kinds.
        DmaBuf = VKF_MEMORY_DMA_BUF,
    }
}

/// Memory that a buffer shares, as [`Buffer::import`] takes it.
#[cfg(unix)]
#[derive(Debug)]
pub struct ExportedMemory {
    pub kind: MemoryKind,
    pub fd: OwnedFd,
    /// Of the buffer, from the memory's beginning.
    pub buffer_bytes: u64,
    pub memory_bytes: u64,
    /// The memory's type on the device.
    pub memory_type: u32,
}

struct Inner {
    raw: *mut sys::vkf_buffer,
    /// The host's reads and writes take turns: where it sees the device's memory, they are plain copies.
    turn: Mutex<()>,
    /// As what it is exported, if it can be.
    kind: MemoryKind,
    context: Context,
}

// SAFETY: a buffer belongs to no thread, and `turn` orders the accesses of several.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: this is the buffer's only owner. Layers that read it keep its memory.
        unsafe { sys::vkf_buffer_destroy(&mut self.raw) }
    }
}

/// A range of the device's memory. Clones are the same range, and tensors are views of it.
#[derive(Clone)]
pub struct Buffer(Arc<Inner>);

impl Buffer {
    /// Memory full of zeros.
    pub fn new(context: &Context, size_bytes: u64) -> Result<Buffer> {
        Buffer::create(context, |raw, out| unsafe { sys::vkf_buffer_create(raw, size_bytes, ptr::null(), out) })
    }

    /// The same, which [`export`](Buffer::export) can share with other programs and devices, in a context with
    /// [`external_memory`](crate::ContextBuilder::external_memory).
    pub fn exportable(context: &Context, kind: MemoryKind, size_bytes: u64) -> Result<Buffer> {
        let name = ptr::null();
        Buffer::create_as(kind, context, |raw, out| unsafe {
            sys::vkf_buffer_create_exportable(raw, kind.raw(), size_bytes, name, out)
        })
    }

    /// Shares the memory of an [`exportable`](Buffer::exportable) buffer. Whoever imports it sees what is written here; when, is
    /// theirs to order.
    #[cfg(unix)]
    pub fn export(&self) -> Result<ExportedMemory> {
        let mut raw = sys::vkf_exported_memory::default();
        // SAFETY: both pointers are valid.
        check(unsafe { sys::vkf_buffer_export(self.0.raw, &mut raw) })?;
        Ok(ExportedMemory {
            kind: self.0.kind,
            // SAFETY: the library gave a new descriptor away.
            fd: unsafe { OwnedFd::from_raw_fd(raw.fd) },
            buffer_bytes: raw.buffer_bytes,
            memory_bytes: raw.memory_bytes,
            memory_type: raw.memory_type,
        })
    }

    /// A buffer on memory of somebody else's, without a copy. The descriptor is closed whether this succeeds or not.
    ///
    /// # Safety
    ///
    /// `memory` is what its exporter says, on this device. While the host reads or writes a tensor of the buffer, nobody
    /// else writes there.
    #[cfg(unix)]
    pub unsafe fn import(context: &Context, memory: ExportedMemory) -> Result<Buffer> {
        let from = sys::vkf_imported_memory {
            kind: memory.kind.raw(),
            fd: memory.fd.as_raw_fd(),
            buffer_bytes: memory.buffer_bytes,
            memory_bytes: memory.memory_bytes,
            memory_type: memory.memory_type,
            ..Default::default()
        };
        let buffer = Buffer::create(context, |raw, out| sys::vkf_buffer_import(raw, &from, out))?;
        // The library has closed it.
        let _closed = memory.fd.into_raw_fd();
        Ok(buffer)
    }

    /// A buffer on memory of the host's, without a copy. Address and size are multiples of what the device wants, 4096
    /// mostly.
    ///
    /// # Safety
    ///
    /// The memory is valid until the buffer, its clones and tensors, and every layer that was given one of these are
    /// gone. While the device or a tensor of the buffer reads or writes it, nobody else writes there.
    pub unsafe fn import_host(context: &Context, pointer: *mut u8, size_bytes: u64) -> Result<Buffer> {
        let from = sys::vkf_imported_memory {
            kind: sys::vkf_memory_kind::VKF_MEMORY_HOST_POINTER,
            pointer: pointer.cast(),
            buffer_bytes: size_bytes,
            ..Default::default()
        };
        Buffer::create(context, |raw, out| sys::vkf_buffer_import(raw, &from, out))
    }

    /// A buffer on a range of a `VkBuffer` of the program's, without a copy.
    ///
    /// # Safety
    ///
    /// `range` says what is so, and the `VkBuffer` and its memory are valid until the buffer, its clones and tensors,
    /// and every layer that was given one of these are gone. While the host reads or writes a tensor of the buffer,
    /// nobody else uses the range.
    pub unsafe fn wrap(context: &Context, range: &WrappedBuffer) -> Result<Buffer> {
        let desc = range.raw();
        Buffer::create(context, |raw, out| sys::vkf_buffer_wrap(raw, &desc, out))
    }

    pub fn size_bytes(&self) -> u64 {
        // SAFETY: the buffer is alive.
        unsafe { sys::vkf_buffer_get_size(self.0.raw) }
    }

    /// A view of the buffer from `offset_bytes` on, row-major.
    pub fn tensor(&self, offset_bytes: u64, dtype: Dtype, shape: &[u32]) -> Result<Tensor> {
        let mut raw = sys::vkf_tensor {
            buffer: self.0.raw,
            offset_bytes,
            dtype: dtype.raw(),
            rank: count("dimensions", shape.len())?,
            ..Default::default()
        };
        let wrong = |what: &str| {
            let (size, offset) = (self.size_bytes(), offset_bytes);
            let tensor = format!("a tensor of type {:?} and shape {:?} at byte {}", dtype, shape, offset);
            Error::argument(format!("{} {}: the buffer has {} bytes", tensor, what, size))
        };
        raw.shape.get_mut(..shape.len()).ok_or_else(|| wrong("has too many dimensions"))?.copy_from_slice(shape);
        let mut bytes = 0;
        // SAFETY: both functions read the struct alone.
        let (sized, element_bytes) =
            unsafe { (sys::vkf_tensor_bytes(&raw, &mut bytes), sys::vkf_dtype_size(raw.dtype) as u64) };
        if !sized || bytes == 0 || shape.is_empty() || element_bytes == 0 || offset_bytes % element_bytes != 0 {
            return Err(wrong("is no view of rows"));
        }
        match offset_bytes.checked_add(bytes) {
            Some(end) if end <= self.size_bytes() => Ok(Tensor::view(raw, self.clone())),
            _ => Err(wrong("reaches beyond the end")),
        }
    }

    pub fn context(&self) -> &Context {
        &self.0.context
    }

    /// The C library's handle, for what only `vkformer-sys` has. It lives as long as the buffer, its clones and tensors.
    pub fn as_ptr(&self) -> *mut sys::vkf_buffer {
        self.0.raw
    }

    /// Takes over a buffer that C gave.
    ///
    /// # Safety
    ///
    /// Nobody else owns `raw`, which is of this context.
    pub(crate) unsafe fn own(context: &Context, raw: *mut sys::vkf_buffer) -> Buffer {
        Buffer(Arc::new(Inner { raw, turn: Mutex::new(()), kind: MemoryKind::default(), context: context.clone() }))
    }

    fn create(
        context: &Context,
        create: impl FnOnce(*mut sys::vkf_context, *mut *mut sys::vkf_buffer) -> sys::vkf_status,
    ) -> Result<Buffer> {
        Buffer::create_as(MemoryKind::default(), context, create)
    }

    fn create_as(
        kind: MemoryKind,
        context: &Context,
        create: impl FnOnce(*mut sys::vkf_context, *mut *mut sys::vkf_buffer) -> sys::vkf_status,
    ) -> Result<Buffer> {
        let mut raw = ptr::null_mut();
        check(create(context.as_ptr(), &mut raw))?;
        Ok(Buffer(Arc::new(Inner { raw, turn: Mutex::new(()), kind, context: context.clone() })))
    }

    /// The host's turn at the memory, until the guard is dropped.
    pub(crate) fn turn(&self) -> MutexGuard<'_, ()> {
        self.0.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The turns at all of these, each once and in one order for all threads.
    pub(crate) fn turns(buffers: &[Buffer]) -> Vec<MutexGuard<'_, ()>> {
        let mut sorted: Vec<&Buffer> = buffers.iter().collect();
        sorted.sort_by_key(|buffer| Arc::as_ptr(&buffer.0));
        sorted.dedup_by_key(|buffer| Arc::as_ptr(&buffer.0));
        sorted.into_iter().map(Buffer::turn).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Attention, Layer, Port, Sizes};
    use std::thread;
    use std::time::Duration;

    #[test]
    fn layer_waits_for_its_turn_at_a_port_that_others_have() {
        let context = Context::builder().skip_self_test(true).build().unwrap();
        let zeros = |shape: &[u32]| Tensor::zeros(&context, Dtype::F32, shape).unwrap();
        let (weight, port) = (zeros(&[8, 8]), zeros(&[1, 2, 8]));
        let mut desc = Attention { embed_dim: 8, num_heads: 2, self_attention: true, ..Default::default() };
        let params = &mut desc.params;
        for slot in [&mut params.q_weight, &mut params.k_weight, &mut params.v_weight, &mut params.out_weight] {
            *slot = Some(&weight);
        }
        desc.max_sizes = Sizes::new(1, 2);
        let ports = [(Port::Query, &port), (Port::Output, &zeros(&[1, 2, 8]))];
        desc.ports = &ports;
        let mut layer = Layer::attention(&context, &desc).unwrap();
        let turn = port.buffer().turn();
        thread::scope(|scope| {
            let running = scope.spawn(|| layer.run(Sizes::new(1, 2)));
            thread::sleep(Duration::from_millis(100));
            assert!(!running.is_finished());
            drop(turn);
            running.join().unwrap().unwrap();
        });
        // A buffer that serves twice is waited for once.
        let twice = [port.buffer().clone(), port.buffer().clone(), weight.buffer().clone()];
        assert_eq!(Buffer::turns(&twice).len(), 2);
    }
}
