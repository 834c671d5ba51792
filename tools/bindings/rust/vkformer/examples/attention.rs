//! The self attention of torch.nn.MultiheadAttention(64, 4, batch_first=True) under a causal mask.

use vkformer::{
    Attention, AttentionMask, AttentionWeights, Causal, Context, Layer, Port, Result, Severity, Sizes, Tensor,
};

const BATCH: u32 = 2;
const LEN: u32 = 5;
const DIM: u32 = 64;

/// A (DIM, DIM) weight on the device; here k times the identity, in your program what training gave.
fn make_weight(context: &Context, k: f32) -> Result<Tensor> {
    let value = |i| if i / DIM == i % DIM { k } else { 0.0 };
    let values: Vec<f32> = (0..DIM * DIM).map(value).collect();
    Tensor::from_slice(context, &[DIM, DIM], &values)
}

fn main() -> Result<()> {
    let context = Context::builder().on_message(Severity::Warning, |_, text| eprintln!("{}", text)).build()?;
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
        ..Default::default()
    };
    let mut layer = Layer::attention(&context, &attention)?; // allocates, and records the command buffer

    let query: Vec<f32> = (0..BATCH * LEN * DIM).map(|i| (i % 13) as f32 / 13.0).collect(); // (BATCH, LEN, DIM)
    let mut output = vec![0f32; query.len()];
    layer.write(Port::Query, &query)?;
    layer.run(Sizes::new(BATCH, LEN))?; // or smaller sizes
    layer.read(Port::Output, &mut output)?;
    println!("output[0, 0, :3] = {:.4} {:.4} {:.4}", output[0], output[1], output[2]);
    println!("output[1, 4, :3] = {:.4} {:.4} {:.4}", output[576], output[577], output[578]);
    Ok(())
}
