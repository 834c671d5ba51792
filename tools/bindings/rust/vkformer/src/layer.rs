//! Transformer layers: command buffers that are recorded once and replayed.

use std::ffi::c_void;
use std::mem;
use std::ptr;

use crate::buffer::Buffer;
use crate::c_enum::c_enum;
use crate::context::Context;
use crate::error::{check, Error, Result};
use crate::tensor::{check_element, optional, Dtype, Element, Tensor};
use vkformer_sys as sys;

c_enum! {
    /// Where a layer's inputs and outputs are: `<vkformer/layer.h>` has their shapes.
    #[derive(Default)]
    Port: vkf_port {
        #[default]
        Query = VKF_PORT_QUERY,
        Key = VKF_PORT_KEY,
        Value = VKF_PORT_VALUE,
        Memory = VKF_PORT_MEMORY,
        Output = VKF_PORT_OUTPUT,
        Weights = VKF_PORT_WEIGHTS,
        WeightsPerHead = VKF_PORT_WEIGHTS_PER_HEAD,
        Mask = VKF_PORT_MASK,
        KeyMask = VKF_PORT_KEY_MASK,
        MemoryMask = VKF_PORT_MEMORY_MASK,
        MemoryKeyMask = VKF_PORT_MEMORY_KEY_MASK,
    }
}

c_enum! {
    #[derive(Default)]
    Activation: vkf_activation {
        /// PyTorch's: Relu.
        #[default]
        Default = VKF_ACTIVATION_DEFAULT,
        /// The identity.
        None = VKF_ACTIVATION_NONE,
        Relu = VKF_ACTIVATION_RELU,
        /// torch.nn.GELU()
        GeluErf = VKF_ACTIVATION_GELU_ERF,
        GeluTanh = VKF_ACTIVATION_GELU_TANH,
        Silu = VKF_ACTIVATION_SILU,
        Tanh = VKF_ACTIVATION_TANH,
        Sigmoid = VKF_ACTIVATION_SIGMOID,
        Mish = VKF_ACTIVATION_MISH,
        /// torch.nn.Hardswish
        HardSwish = VKF_ACTIVATION_HARD_SWISH,
        /// With a slope of 0.01 below 0.
        LeakyRelu = VKF_ACTIVATION_LEAKY_RELU,
        /// With an alpha of 1.
        Elu = VKF_ACTIVATION_ELU,
        /// torch.nn.Hardsigmoid
        HardSigmoid = VKF_ACTIVATION_HARD_SIGMOID,
    }
}

c_enum! {
    #[derive(Default)]
    MaskKind: vkf_mask_kind {
        #[default]
        None = VKF_MASK_NONE,
        /// True means not attended.
        BoolExclude = VKF_MASK_BOOL_EXCLUDE,
        /// True means attended.
        BoolAttend = VKF_MASK_BOOL_ATTEND,
        /// F32, added to the scaled score.
        Additive = VKF_MASK_ADDITIVE,
        /// I32, the number of keys of each row; masks keys alone.
        Lengths = VKF_MASK_LENGTHS,
    }
}

c_enum! {
    #[derive(Default)]
    Causal: vkf_causal {
        #[default]
        None = VKF_CAUSAL_NONE,
        /// Query i sees keys 0..=i.
        TopLeft = VKF_CAUSAL_TOP_LEFT,
        /// The last query sees all keys.
        BottomRight = VKF_CAUSAL_BOTTOM_RIGHT,
        /// The last query sees the last of the keys that [`MaskKind::Lengths`] says.
        Lengths = VKF_CAUSAL_LENGTHS,
    }
}

c_enum! {
    /// The result of a row in which every key is masked.
    #[derive(Default)]
    FullyMasked: vkf_fully_masked {
        #[default]
        Zero = VKF_FULLY_MASKED_ZERO,
        Nan = VKF_FULLY_MASKED_NAN,
        Uniform = VKF_FULLY_MASKED_UNIFORM,
    }
}

/// The sizes of a run, or the largest that a layer is made for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    pub batch: u32,
    pub query_len: u32,
    /// Ignored by self attention, encoder and feed-forward layers.
    pub key_len: u32,
}

impl Sizes {
    /// The sizes of layers that attend to themselves.
    pub fn new(batch: u32, len: u32) -> Sizes {
        Sizes { batch, query_len: len, key_len: len }
    }

    pub(crate) fn raw(self) -> sys::vkf_layer_sizes {
        sys::vkf_layer_sizes {
            batch: self.batch,
            query_len: self.query_len,
            key_len: self.key_len,
            ..Default::default()
        }
    }
}

/// The parameters of an attention block. Linear weights are (out, in), as PyTorch keeps them. Layers keep the memory of
/// these tensors, whose content must not change.
#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionWeights<'a> {
    pub q_weight: Option<&'a Tensor>,
    pub k_weight: Option<&'a Tensor>,
    pub v_weight: Option<&'a Tensor>,
    pub q_bias: Option<&'a Tensor>,
    pub k_bias: Option<&'a Tensor>,
    pub v_bias: Option<&'a Tensor>,
    pub bias_k: Option<&'a Tensor>,
    pub bias_v: Option<&'a Tensor>,
    pub out_weight: Option<&'a Tensor>,
    pub out_bias: Option<&'a Tensor>,
    /// ALiBi's, one for each head: a score is lowered by the slope times the distance.
    pub slopes: Option<&'a Tensor>,
    /// For each head one more score of every row, whose weight goes nowhere.
    pub sinks: Option<&'a Tensor>,
    /// Of self attention: cosines and sines for each position, as `vkf_rotary_table()` makes them, by which queries and
    /// keys are rotated.
    pub rotary: Option<&'a Tensor>,
    /// The pairs that are rotated lie side by side, and not in the halves of a head.
    pub rotary_interleaved: bool,
    /// The weights of q, k and v are [`rows`](Tensor::rows) of one tensor, one behind the other, and so are the biases.
    pub in_proj: bool,
}

impl AttentionWeights<'_> {
    fn raw(&self) -> sys::vkf_attention_weights {
        sys::vkf_attention_weights {
            q_weight: optional(self.q_weight),
            k_weight: optional(self.k_weight),
            v_weight: optional(self.v_weight),
            q_bias: optional(self.q_bias),
            k_bias: optional(self.k_bias),
            v_bias: optional(self.v_bias),
            bias_k: optional(self.bias_k),
            bias_v: optional(self.bias_v),
            out_weight: optional(self.out_weight),
            out_bias: optional(self.out_bias),
            slopes: optional(self.slopes),
            sinks: optional(self.sinks),
            rotary: optional(self.rotary),
            rotary_interleaved: self.rotary_interleaved,
            in_proj: self.in_proj,
            ..Default::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct AttentionMask {
    pub kind: MaskKind,
    /// The mask is (batch * heads, L, S) instead of (L, S).
    pub per_head: bool,
    pub key_kind: MaskKind,
    pub causal: Causal,
    /// A query sees so many of the last keys up to its own position; 0: all.
    pub window: u32,
    /// And so many behind its own position, where `causal` or `window` would end there; 0: none.
    pub window_right: u32,
    /// Scores become soft_cap * tanh(score / soft_cap); 0: they stay as they are.
    pub soft_cap: f32,
}

impl AttentionMask {
    pub(crate) fn raw(&self) -> sys::vkf_attention_mask {
        sys::vkf_attention_mask {
            kind: self.kind.raw(),
            per_head: self.per_head,
            key_kind: self.key_kind.raw(),
            causal: self.causal.raw(),
            window: self.window,
            window_right: self.window_right,
            soft_cap: self.soft_cap,
            ..Default::default()
        }
    }
}

/// torch.nn.MultiheadAttention (batch_first). Sizes that are 0 are the defaults of `vkf_attention_desc`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Attention<'a> {
    pub embed_dim: u32,
    pub num_heads: u32,
    pub head_dim: u32,
    pub v_head_dim: u32,
    pub kdim: u32,
    pub vdim: u32,
    /// Key and value are the query.
    pub self_attention: bool,
    pub add_zero_attn: bool,
    /// There is a port for the weights' mean over heads.
    pub weights: bool,
    /// There is a port for the weights of each head.
    pub weights_per_head: bool,
    pub mask: AttentionMask,
    pub fully_masked: FullyMasked,
    pub params: AttentionWeights<'a>,
    /// The type of activations: F32 or F16.
    pub dtype: Dtype,
    pub max_sizes: Sizes,
    /// Tensors that serve as ports in place of the layer's own, at the largest sizes. Other layers may have them, too.
    pub ports: &'a [(Port, &'a Tensor)],
    /// How many runs may be under way at once; 0: 1.
    pub frames_in_flight: u32,
}

impl Attention<'_> {
    fn raw(&self) -> sys::vkf_attention_desc {
        sys::vkf_attention_desc {
            embed_dim: self.embed_dim,
            num_heads: self.num_heads,
            head_dim: self.head_dim,
            v_head_dim: self.v_head_dim,
            kdim: self.kdim,
            vdim: self.vdim,
            self_attention: self.self_attention,
            add_zero_attn: self.add_zero_attn,
            weights: self.weights,
            weights_per_head: self.weights_per_head,
            mask: self.mask.raw(),
            fully_masked: self.fully_masked.raw(),
            params: self.params.raw(),
            dtype: self.dtype.raw(),
            max_sizes: self.max_sizes.raw(),
            ports: raw_ports(self.ports),
            frames_in_flight: self.frames_in_flight,
            ..Default::default()
        }
    }
}

/// activation(x W1^T + b1) W2^T + b2
#[derive(Clone, Copy, Debug, Default)]
pub struct FeedForwardWeights<'a> {
    pub weight1: Option<&'a Tensor>,
    pub bias1: Option<&'a Tensor>,
    pub weight2: Option<&'a Tensor>,
    pub bias2: Option<&'a Tensor>,
}

impl FeedForwardWeights<'_> {
    fn raw(&self) -> sys::vkf_feed_forward_weights {
        sys::vkf_feed_forward_weights {
            weight1: optional(self.weight1),
            bias1: optional(self.bias1),
            weight2: optional(self.weight2),
            bias2: optional(self.bias2),
            ..Default::default()
        }
    }
}

#[derive(Clone, Copy, Debug, Default)]
pub struct NormWeights<'a> {
    pub weight: Option<&'a Tensor>,
    pub bias: Option<&'a Tensor>,
}

impl NormWeights<'_> {
    fn raw(&self) -> sys::vkf_norm_weights {
        sys::vkf_norm_weights { weight: optional(self.weight), bias: optional(self.bias), ..Default::default() }
    }
}

/// torch.nn.TransformerEncoderLayer and TransformerDecoderLayer (eval mode, batch_first).
#[derive(Clone, Copy, Debug, Default)]
pub struct TransformerLayer<'a> {
    pub d_model: u32,
    pub num_heads: u32,
    pub dim_feedforward: u32,
    /// PyTorch's "gelu" is GeluErf.
    pub activation: Activation,
    pub norm_first: bool,
    /// 0: PyTorch's 1e-5.
    pub layer_norm_eps: f32,
    pub self_attention: AttentionWeights<'a>,
    /// Decoder layers alone have it.
    pub cross_attention: AttentionWeights<'a>,
    pub feed_forward: FeedForwardWeights<'a>,
    pub norm1: NormWeights<'a>,
    pub norm2: NormWeights<'a>,
    /// Decoder layers alone have it.
    pub norm3: NormWeights<'a>,
    pub self_mask: AttentionMask,
    pub cross_mask: AttentionMask,
    pub fully_masked: FullyMasked,
    /// The type of activations: F32 or F16.
    pub dtype: Dtype,
    pub max_sizes: Sizes,
    /// Tensors that serve as ports in place of the layer's own, at the largest sizes. Other layers may have them, too.
    pub ports: &'a [(Port, &'a Tensor)],
    /// How many runs may be under way at once; 0: 1.
    pub frames_in_flight: u32,
}

impl TransformerLayer<'_> {
    fn raw(&self) -> sys::vkf_transformer_layer_desc {
        sys::vkf_transformer_layer_desc {
            d_model: self.d_model,
            num_heads: self.num_heads,
            dim_feedforward: self.dim_feedforward,
            activation: self.activation.raw(),
            norm_first: self.norm_first,
            layer_norm_eps: self.layer_norm_eps,
            self_: self.self_attention.raw(),
            cross: self.cross_attention.raw(),
            feed_forward: self.feed_forward.raw(),
            norm1: self.norm1.raw(),
            norm2: self.norm2.raw(),
            norm3: self.norm3.raw(),
            self_mask: self.self_mask.raw(),
            cross_mask: self.cross_mask.raw(),
            fully_masked: self.fully_masked.raw(),
            dtype: self.dtype.raw(),
            max_sizes: self.max_sizes.raw(),
            ports: raw_ports(self.ports),
            frames_in_flight: self.frames_in_flight,
            ..Default::default()
        }
    }
}

fn no_port(port: Port) -> Error {
    Error::argument(format!("the layer has no port {:?}", port))
}

/// Other ports are the layer's own.
fn raw_ports(ports: &[(Port, &Tensor)]) -> [sys::vkf_tensor; sys::VKF_MAX_PORTS as usize] {
    let mut raw = <[sys::vkf_tensor; sys::VKF_MAX_PORTS as usize]>::default();
    for (port, tensor) in ports {
        raw[port.raw().0 as usize] = tensor.as_raw();
    }
    raw
}

/// A layer that was recorded for its largest sizes. It belongs to one thread at a time.
pub struct Layer {
    raw: *mut sys::vkf_layer,
    _context: Context,
    /// The memory of ports that are the program's.
    shared: Vec<Buffer>,
    frames: u32,
}

// SAFETY: <vkformer/vkformer.h> lets layers change threads.
unsafe impl Send for Layer {}

impl Drop for Layer {
    fn drop(&mut self) {
        // SAFETY: this is the layer's only owner.
        unsafe { sys::vkf_layer_destroy(&mut self.raw) }
    }
}

impl Layer {
    pub fn attention(context: &Context, desc: &Attention<'_>) -> Result<Layer> {
        let (ports, frames, desc) = (desc.ports, desc.frames_in_flight, desc.raw());
        // SAFETY: the tensors in `desc` are alive, and the layer keeps their buffers.
        Layer::create(context, ports, frames, |out| unsafe { sys::vkf_attention_create(context.as_ptr(), &desc, out) })
    }

    pub fn encoder(context: &Context, desc: &TransformerLayer<'_>) -> Result<Layer> {
        let (ports, frames, desc) = (desc.ports, desc.frames_in_flight, desc.raw());
        // SAFETY: as in attention().
        Layer::create(context, ports, frames, |out| unsafe {
            sys::vkf_encoder_layer_create(context.as_ptr(), &desc, out)
        })
    }

    pub fn decoder(context: &Context, desc: &TransformerLayer<'_>) -> Result<Layer> {
        let (ports, frames, desc) = (desc.ports, desc.frames_in_flight, desc.raw());
        // SAFETY: as in attention().
        Layer::create(context, ports, frames, |out| unsafe {
            sys::vkf_decoder_layer_create(context.as_ptr(), &desc, out)
        })
    }

    fn create(
        context: &Context,
        ports: &[(Port, &Tensor)],
        frames: u32,
        create: impl FnOnce(*mut *mut sys::vkf_layer) -> sys::vkf_status,
    ) -> Result<Layer> {
        let mut raw = ptr::null_mut();
        check(create(&mut raw))?;
        let shared = ports.iter().map(|(_, tensor)| tensor.buffer().clone()).collect();
        let layer = Layer { raw, _context: context.clone(), shared, frames: frames.max(1) };
        match ports.iter().find(|(port, _)| layer.port(*port).is_none()) {
            Some((port, _)) => Err(no_port(*port)),
            None => Ok(layer),
        }
    }

    /// Copies the first elements of a port to the device: compact, for the sizes of the next run.
    pub fn write<T: Element>(&mut self, port: Port, values: &[T]) -> Result<()> {
        self.check_port::<T>(port)?;
        let bytes = mem::size_of_val(values) as u64;
        let data = values.as_ptr() as *const c_void;
        // SAFETY: `data` has so many bytes; the library checks that the port has room for them.
        self.use_ports(|raw| unsafe { sys::vkf_layer_write(raw, port.raw(), data, bytes) })
    }

    /// Runs the layer for these sizes, and waits for its end.
    pub fn run(&mut self, sizes: Sizes) -> Result<()> {
        let sizes = sizes.raw();
        // SAFETY: both pointers are valid.
        self.use_ports(|raw| unsafe { sys::vkf_layer_run(raw, &sizes) })
    }

    /// The sizes of the runs that were recorded with a frame: see [`vulkan`](crate::vulkan). A run that was submitted
    /// with it is waited for.
    pub fn set_sizes(&mut self, frame: u32, sizes: Sizes) -> Result<()> {
        let sizes = sizes.raw();
        // SAFETY: both pointers are valid.
        check(unsafe { sys::vkf_layer_set_sizes(self.raw, frame, &sizes) })
    }

    /// Waits until the run that was submitted with this frame has ended; returns at once if there is none.
    pub fn wait(&mut self, frame: u32) -> Result<()> {
        // SAFETY: the layer is alive.
        check(unsafe { sys::vkf_layer_wait(self.raw, frame) })
    }

    /// Whether that run has ended. [`wait`](Layer::wait) has to follow all the same, and takes no time then.
    pub fn ended(&mut self, frame: u32) -> Result<bool> {
        let mut ended = false;
        // SAFETY: both pointers are valid.
        check(unsafe { sys::vkf_layer_ended(self.raw, frame, &mut ended) })?;
        Ok(ended)
    }

    /// Copies the first elements of a port to the host, as many as `values` has.
    pub fn read<T: Element>(&mut self, port: Port, values: &mut [T]) -> Result<()> {
        self.check_port::<T>(port)?;
        let bytes = mem::size_of_val(values) as u64;
        let data = values.as_mut_ptr() as *mut c_void;
        // SAFETY: as in write(), and any bits are a T.
        self.use_ports(|raw| unsafe { sys::vkf_layer_read(raw, port.raw(), data, bytes) })
    }

    /// The shape of a port at the largest sizes; None where the layer has no such port.
    pub fn port_shape(&self, port: Port) -> Option<Vec<u32>> {
        let tensor = self.port(port)?;
        Some(tensor.shape[..tensor.rank as usize].to_vec())
    }

    /// How often the layer was recorded: once, at creation.
    pub fn record_count(&self) -> u32 {
        // SAFETY: the layer is alive.
        unsafe { sys::vkf_layer_get_record_count(self.raw) }
    }

    /// The C library's handle, for what only `vkformer-sys` has. It lives as long as the layer.
    pub fn as_ptr(&self) -> *mut sys::vkf_layer {
        self.raw
    }

    /// A call in which the host is at the ports, or waits for the device to be: runs that are under way have ended, and
    /// other threads are kept from tensors that share their memory.
    fn use_ports(&mut self, call: impl FnOnce(*mut sys::vkf_layer) -> sys::vkf_status) -> Result<()> {
        for frame in 0..self.frames {
            self.wait(frame)?;
        }
        let _turns = Buffer::turns(&self.shared);
        check(call(self.raw))
    }

    pub(crate) fn port(&self, port: Port) -> Option<sys::vkf_tensor> {
        let mut tensor = sys::vkf_tensor::default();
        // SAFETY: both pointers are valid.
        let found = unsafe { sys::vkf_layer_get_port(self.raw, port.raw(), &mut tensor) };
        found.then_some(tensor)
    }

    fn check_port<T: Element>(&self, port: Port) -> Result<()> {
        match self.port(port) {
            Some(tensor) => check_element::<T>(tensor.dtype),
            None => Err(no_port(port)),
        }
    }
}
