//! Tensors in the device's memory.

use std::ffi::c_void;
use std::fmt;
use std::mem;
use std::ptr;

use crate::buffer::Buffer;
use crate::c_enum::c_enum;
use crate::context::Context;
use crate::error::{check, count, Error, Result};
use vkformer_sys as sys;

c_enum! {
    /// Types of elements.
    #[derive(Default)]
    Dtype: vkf_dtype {
        #[default]
        F32 = VKF_DTYPE_F32,
        F16 = VKF_DTYPE_F16,
        I32 = VKF_DTYPE_I32,
        /// A byte, 0 or 1.
        Bool = VKF_DTYPE_BOOL,
        Bf16 = VKF_DTYPE_BF16,
        Q8 = VKF_DTYPE_Q8,
        Q4 = VKF_DTYPE_Q4,
        I8 = VKF_DTYPE_I8,
        U8 = VKF_DTYPE_U8,
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for i32 {}
    impl Sealed for u16 {}
    impl Sealed for u8 {}
    impl Sealed for i8 {}
}

/// What elements of tensors are on the host: `f32` and `i32`; `u16` for the bits of F16 and BF16; `u8` for Bool
/// and U8; `i8`.
pub trait Element: sealed::Sealed + Copy + Default + Send + 'static {
    /// The type of a tensor that is made from a slice.
    const DTYPE: Dtype;

    fn fits(dtype: Dtype) -> bool {
        dtype == Self::DTYPE
    }
}

impl Element for f32 {
    const DTYPE: Dtype = Dtype::F32;
}

impl Element for i32 {
    const DTYPE: Dtype = Dtype::I32;
}

impl Element for u16 {
    const DTYPE: Dtype = Dtype::F16;

    fn fits(dtype: Dtype) -> bool {
        dtype == Dtype::F16 || dtype == Dtype::Bf16
    }
}

impl Element for u8 {
    const DTYPE: Dtype = Dtype::Bool;

    fn fits(dtype: Dtype) -> bool {
        dtype == Dtype::Bool || dtype == Dtype::U8
    }
}

impl Element for i8 {
    const DTYPE: Dtype = Dtype::I8;
}

/// Fails where elements of `dtype` are not of the type `T`.
pub(crate) fn check_element<T: Element>(dtype: sys::vkf_dtype) -> Result<()> {
    let dtype = Dtype::from_raw(dtype);
    if dtype.map_or(false, T::fits) {
        return Ok(());
    }
    Err(Error::argument(format!(
        "the tensor is of type {:?}, and {} holds elements of type {:?}",
        dtype,
        std::any::type_name::<T>(),
        T::DTYPE
    )))
}

/// The halves nearest to `values`.
pub fn f32_to_f16(values: &[f32]) -> Vec<u16> {
    let mut halves = vec![0; values.len()];
    // SAFETY: both arrays have as many elements.
    unsafe { sys::vkf_f32_to_f16(values.as_ptr(), halves.as_mut_ptr(), values.len()) };
    halves
}

/// What halves stand for.
pub fn f16_to_f32(halves: &[u16]) -> Vec<f32> {
    let mut values = vec![0.0; halves.len()];
    // SAFETY: both arrays have as many elements.
    unsafe { sys::vkf_f16_to_f32(halves.as_ptr(), values.as_mut_ptr(), halves.len()) };
    values
}

/// A tensor in the device's memory, row-major. Clones and [`rows`](Tensor::rows) are views of the same memory.
#[derive(Clone)]
pub struct Tensor {
    raw: sys::vkf_tensor,
    buffer: Buffer,
}

// SAFETY: the view is plain data beside the buffer, which is Send and Sync.
unsafe impl Send for Tensor {}
unsafe impl Sync for Tensor {}

impl Tensor {
    pub fn zeros(context: &Context, dtype: Dtype, shape: &[u32]) -> Result<Tensor> {
        let mut raw = sys::vkf_tensor::default();
        let rank = count("dimensions", shape.len())?;
        // SAFETY: the shape has `rank` elements.
        check(unsafe {
            let shape = shape.as_ptr();
            sys::vkf_tensor_create(context.as_ptr(), dtype.raw(), rank, shape, ptr::null(), &mut raw)
        })?;
        // SAFETY: the tensor's buffer is new.
        let buffer = unsafe { Buffer::own(context, raw.buffer) };
        Ok(Tensor { raw, buffer })
    }

    /// A tensor of the elements' own type: F32, I32, F16 of `u16`, and Bool of `u8`.
    pub fn from_slice<T: Element>(context: &Context, shape: &[u32], values: &[T]) -> Result<Tensor> {
        let tensor = Tensor::zeros(context, T::DTYPE, shape)?;
        tensor.write(values)?;
        Ok(tensor)
    }

    /// Copies all elements to the device.
    pub fn write<T: Element>(&self, values: &[T]) -> Result<()> {
        check_element::<T>(self.raw.dtype)?;
        let bytes = mem::size_of_val(values) as u64;
        let data = values.as_ptr() as *const c_void;
        // SAFETY: `data` has so many bytes; the library checks that the tensor has as many.
        self.take_turn(|| unsafe { sys::vkf_tensor_write(&self.raw, data, bytes) })
    }

    /// Copies all elements to the host.
    pub fn read<T: Element>(&self) -> Result<Vec<T>> {
        check_element::<T>(self.raw.dtype)?;
        let mut values = vec![T::default(); self.len()];
        let bytes = mem::size_of_val(values.as_slice()) as u64;
        let data = values.as_mut_ptr() as *mut c_void;
        // SAFETY: as in write(), and any bits are a T.
        self.take_turn(|| unsafe { sys::vkf_tensor_read(&self.raw, data, bytes) })?;
        Ok(values)
    }

    /// The elements `begin` to `begin + count` of the first dimension, as the q, k and v of an in_proj_weight.
    pub fn rows(&self, begin: u32, count: u32) -> Result<Tensor> {
        let rows = self.shape().first().copied().unwrap_or(0);
        // SAFETY: the function takes and touches no memory.
        let element_bytes = unsafe { sys::vkf_dtype_size(self.raw.dtype) } as u64;
        if count == 0 || begin > rows || count > rows - begin || element_bytes == 0 {
            return Err(Error::argument(format!("rows {} + {} of {:?}", begin, count, self)));
        }
        let row_bytes = (self.len() as u64 / u64::from(rows)) * element_bytes;
        let mut view = self.clone();
        view.raw.shape[0] = count;
        view.raw.offset_bytes += u64::from(begin) * row_bytes;
        Ok(view)
    }

    pub fn shape(&self) -> &[u32] {
        &self.raw.shape[..self.raw.rank as usize]
    }

    pub fn dtype(&self) -> Dtype {
        Dtype::from_raw(self.raw.dtype).unwrap_or_default()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.shape().iter().map(|size| *size as usize).product()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The C library's view, for what only `vkformer-sys` has. Its buffer lives as long as the tensor and its clones.
    pub fn as_raw(&self) -> sys::vkf_tensor {
        self.raw
    }

    /// The memory that this is a view of.
    pub fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    /// A view of a buffer that is as large.
    pub(crate) fn view(raw: sys::vkf_tensor, buffer: Buffer) -> Tensor {
        Tensor { raw, buffer }
    }

    fn take_turn(&self, call: impl FnOnce() -> sys::vkf_status) -> Result<()> {
        let _turn = self.buffer.turn();
        check(call())
    }
}

impl fmt::Debug for Tensor {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Tensor({:?}, {:?})", self.dtype(), self.shape())
    }
}

/// What C takes for an optional tensor.
pub(crate) fn optional(tensor: Option<&Tensor>) -> sys::vkf_tensor {
    tensor.map_or_else(Default::default, |tensor| tensor.raw)
}
