//! The attention of the example `attention` on a Vulkan device of the program's own: the layer reads and writes the
//! program's buffers without a copy, and runs in a command buffer of the program's.

mod vk;

use vk::Program;
use vkformer::vulkan::{VkBuffer, WrappedBuffer};
use vkformer::{
    Attention, AttentionMask, AttentionWeights, Buffer, Causal, Context, ContextBuilder, Dtype, Layer, Port, Result,
    Severity, Sizes, Tensor,
};

const BATCH: u32 = 2;
const LEN: u32 = 5;
const DIM: u32 = 64;
const COUNT: usize = (BATCH * LEN * DIM) as usize;

fn builder() -> ContextBuilder {
    Context::builder().on_message(Severity::Warning, |_, text| eprintln!("{}", text))
}

/// k times the identity.
fn make_weight(context: &Context, k: f32) -> Result<Tensor> {
    let values: Vec<f32> = (0..DIM * DIM).map(|i| if i / DIM == i % DIM { k } else { 0.0 }).collect();
    Tensor::from_slice(context, &[DIM, DIM], &values)
}

/// A tensor (BATCH, LEN, DIM) on a buffer of the program's.
fn wrap(context: &Context, buffer: VkBuffer) -> Result<Tensor> {
    let range = WrappedBuffer { buffer, offset_bytes: 0, size_bytes: COUNT as u64 * 4, usage: vk::USAGE };
    // SAFETY: the program destroys the buffer at its end, when context and layer are gone.
    let buffer = unsafe { Buffer::wrap(context, &range)? };
    buffer.tensor(0, Dtype::F32, &[BATCH, LEN, DIM])
}

fn main() -> Result<()> {
    let mut program = Program::new(&builder);
    let (input, output) = (program.buffer(COUNT), program.buffer(COUNT));
    let context = program.context(&builder)?;
    let (query, result) = (wrap(&context, input)?, wrap(&context, output)?);
    let (q, k) = (make_weight(&context, 0.5)?, make_weight(&context, 0.5)?);
    let (v, out) = (make_weight(&context, 1.0)?, make_weight(&context, 1.0)?);
    let attention = Attention {
        embed_dim: DIM,
        num_heads: 4,
        self_attention: true,
        mask: AttentionMask { causal: Causal::TopLeft, ..Default::default() },
        params: AttentionWeights {
            q_weight: Some(&q),
            k_weight: Some(&k),
            v_weight: Some(&v),
            out_weight: Some(&out),
            ..Default::default()
        },
        max_sizes: Sizes::new(BATCH, LEN),
        ports: &[(Port::Query, &query), (Port::Output, &result)],
        ..Default::default()
    };
    let mut layer = Layer::attention(&context, &attention)?;
    layer.set_sizes(0, Sizes::new(BATCH, LEN))?; // or smaller sizes, before any submission
    let commands = program.commands(|commands| {
        // SAFETY: the command buffer is being recorded, and is not submitted any more when the layer is dropped.
        unsafe { layer.record(0, commands).expect("a recording") }
    });

    for (i, value) in program.floats(input).iter_mut().enumerate() {
        *value = (i % 13) as f32 / 13.0;
    }
    program.run(&context, commands);
    let output = program.floats(output);
    println!("output[0, 0, :3] = {:.4} {:.4} {:.4}", output[0], output[1], output[2]);
    println!("output[1, 4, :3] = {:.4} {:.4} {:.4}", output[576], output[577], output[578]);
    Ok(())
}
