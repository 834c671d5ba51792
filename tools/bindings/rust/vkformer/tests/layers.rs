//! Layers against a reference in f64.

mod common;

use common::{assert_close, context, random};
use std::thread;
use vkformer::{
    Activation, Attention, AttentionMask, AttentionWeights, Causal, Context, Dtype, FeedForwardWeights, Layer,
    MaskKind, NormWeights, Port, Sizes, Status, Tensor, TransformerLayer,
};

const BATCH: usize = 2;
const LEN: usize = 5;
const DIM: usize = 32;
const HEADS: usize = 4;
const HIDDEN: usize = 48;
const SIZES: Sizes = Sizes { batch: BATCH as u32, query_len: LEN as u32, key_len: LEN as u32 };

/// x W^T + b, x (rows, k), W (n, k), b (n)
fn linear(x: &[f64], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    let k = weight.len() / bias.len();
    let row = |x: &[f64]| -> Vec<f64> {
        let product = |w: &[f32]| -> f64 { w.iter().zip(x).map(|(w, x)| f64::from(*w) * x).sum() };
        weight.chunks(k).zip(bias).map(|(w, b)| product(w) + f64::from(*b)).collect()
    };
    x.chunks(k).flat_map(row).collect()
}

fn layer_norm(x: &[f64], weight: &[f32], bias: &[f32]) -> Vec<f64> {
    let row = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / x.len() as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / x.len() as f64;
        let scaled =
            |(x, (w, b)): (&f64, (&f32, &f32))| (x - mean) / (variance + 1e-5).sqrt() * f64::from(*w) + f64::from(*b);
        x.iter().zip(weight.iter().zip(bias)).map(scaled).collect()
    };
    x.chunks(weight.len()).flat_map(row).collect()
}

/// The parameters of an attention block, on the host.
struct Params {
    in_proj: Vec<f32>, // (3 DIM, DIM): q, k, v
    in_bias: Vec<f32>, // (3 DIM)
    out: Vec<f32>,     // (DIM, DIM)
    out_bias: Vec<f32>,
}

impl Params {
    fn new(seed: u64) -> Params {
        Params {
            in_proj: random(seed, 3 * DIM * DIM),
            in_bias: random(seed + 1, 3 * DIM),
            out: random(seed + 2, DIM * DIM),
            out_bias: random(seed + 3, DIM),
        }
    }

    /// Self attention, (BATCH, LEN, DIM). Query i sees the keys for which `sees(batch, i, key)`.
    fn attention(&self, x: &[f64], sees: impl Fn(usize, usize, usize) -> bool) -> Vec<f64> {
        self.attention_of_scores(x, &[0.0; HEADS], |_, b, t, s, score| if sees(b, t, s) { score.exp() } else { 0.0 })
    }

    /// The same with what `weigh(head, batch, i, key, score)` makes of a score, and what each head's sums have besides.
    fn attention_of_scores(
        &self,
        x: &[f64],
        besides: &[f64; HEADS],
        weigh: impl Fn(usize, usize, usize, usize, f64) -> f64,
    ) -> Vec<f64> {
        let projected = linear(x, &self.in_proj, &self.in_bias); // (BATCH, LEN, 3 DIM)
        let head_dim = DIM / HEADS;
        let part = |b: usize, t: usize, kind: usize, head: usize| {
            let begin = (b * LEN + t) * 3 * DIM + kind * DIM + head * head_dim;
            &projected[begin..begin + head_dim]
        };
        let mut merged = vec![0.0; BATCH * LEN * DIM];
        for (b, t, h) in (0..BATCH * LEN * HEADS).map(|i| (i / HEADS / LEN, i / HEADS % LEN, i % HEADS)) {
            let score = |s: usize| -> f64 {
                let product: f64 = part(b, t, 0, h).iter().zip(part(b, s, 1, h)).map(|(q, k)| q * k).sum();
                weigh(h, b, t, s, product / (head_dim as f64).sqrt())
            };
            let weights: Vec<f64> = (0..LEN).map(score).collect();
            let sum = (weights.iter().sum::<f64>() + besides[h]).max(f64::MIN_POSITIVE); // without keys 0 is the result
            for (s, weight) in weights.iter().enumerate() {
                for (e, value) in part(b, s, 2, h).iter().enumerate() {
                    merged[(b * LEN + t) * DIM + h * head_dim + e] += weight / sum * value;
                }
            }
        }
        linear(&merged, &self.out, &self.out_bias)
    }
}

/// The same on the device.
struct DeviceParams {
    weights: Vec<Tensor>, // q, k, v
    biases: Vec<Tensor>,
    out: Tensor,
    out_bias: Tensor,
}

impl DeviceParams {
    fn new(context: &Context, params: &Params) -> DeviceParams {
        let dim = DIM as u32;
        let tensor = |shape: &[u32], values: &[f32]| Tensor::from_slice(context, shape, values).unwrap();
        let in_proj = tensor(&[3 * dim, dim], &params.in_proj);
        let in_bias = tensor(&[3 * dim], &params.in_bias);
        let parts = |all: &Tensor| (0..3).map(|i| all.rows(i * dim, dim).unwrap()).collect();
        DeviceParams {
            weights: parts(&in_proj),
            biases: parts(&in_bias),
            out: tensor(&[dim, dim], &params.out),
            out_bias: tensor(&[dim], &params.out_bias),
        }
    }

    fn weights(&self) -> AttentionWeights<'_> {
        AttentionWeights {
            q_weight: Some(&self.weights[0]),
            k_weight: Some(&self.weights[1]),
            v_weight: Some(&self.weights[2]),
            q_bias: Some(&self.biases[0]),
            k_bias: Some(&self.biases[1]),
            v_bias: Some(&self.biases[2]),
            out_weight: Some(&self.out),
            out_bias: Some(&self.out_bias),
            ..Default::default()
        }
    }
}

fn attention_desc(weights: AttentionWeights<'_>) -> Attention<'_> {
    Attention {
        embed_dim: DIM as u32,
        num_heads: HEADS as u32,
        self_attention: true,
        params: weights,
        max_sizes: SIZES,
        ..Default::default()
    }
}

fn run(layer: &mut Layer, x: &[f32]) -> Vec<f32> {
    let mut output = vec![0.0; x.len()];
    layer.write(Port::Query, x).unwrap();
    layer.run(SIZES).unwrap();
    layer.read(Port::Output, &mut output).unwrap();
    output
}

fn to_f64(x: &[f32]) -> Vec<f64> {
    x.iter().map(|x| f64::from(*x)).collect()
}

fn to_f32(x: &[f64]) -> Vec<f32> {
    x.iter().map(|x| *x as f32).collect()
}

#[test]
fn causal_attention_is_that_of_the_reference() {
    let (context, params) = (context(), Params::new(1));
    let device = DeviceParams::new(&context, &params);
    let x = random(9, BATCH * LEN * DIM);
    let expected = to_f32(&params.attention(&to_f64(&x), |_, query, key| key <= query));
    for in_proj in [false, true] {
        let mut desc = attention_desc(AttentionWeights { in_proj, ..device.weights() });
        desc.mask.causal = Causal::TopLeft;
        let mut layer = Layer::attention(&context, &desc).unwrap();
        assert_close(&run(&mut layer, &x), &expected, 1e-5);
        assert_eq!(layer.record_count(), 1);
    }
}

#[test]
fn capped_scores_with_slopes_and_sinks_in_a_window_are_those_of_the_reference() {
    let (context, params) = (context(), Params::new(4));
    let device = DeviceParams::new(&context, &params);
    let (slopes, sinks) = ([0.5f32, 0.25, 0.125, 0.0625], [0.0f32, 1.0, -1.0, 0.5]);
    let on_device = |values: &[f32]| Tensor::from_slice(&context, &[HEADS as u32], values).unwrap();
    let (slope_tensor, sink_tensor) = (on_device(&slopes), on_device(&sinks));
    let mut desc = attention_desc(device.weights());
    desc.params.slopes = Some(&slope_tensor);
    desc.params.sinks = Some(&sink_tensor);
    let causal = Causal::TopLeft;
    desc.mask = AttentionMask { causal, window: 2, window_right: 1, soft_cap: 0.75, ..Default::default() };
    let mut layer = Layer::attention(&context, &desc).unwrap();
    let x = random(9, BATCH * LEN * DIM);
    let weigh = |head: usize, _: usize, query: usize, key: usize, score: f64| {
        let distance = query as f64 - key as f64;
        let seen = (-1.0..=1.0).contains(&distance); // itself, the one before and the one behind
        let lowered = 0.75 * (score / 0.75).tanh() - f64::from(slopes[head]) * distance.abs();
        if seen {
            lowered.exp()
        } else {
            0.0
        }
    };
    let expected = params.attention_of_scores(&to_f64(&x), &sinks.map(|sink| f64::from(sink).exp()), weigh);
    assert_close(&run(&mut layer, &x), &to_f32(&expected), 1e-5);
    desc.params.rotary = Some(&slope_tensor);
    let error = Layer::attention(&context, &desc).err().unwrap();
    assert!(error.message().contains("rotary"), "{}", error);
}

#[test]
fn keys_beyond_the_lengths_are_not_attended() {
    let (context, params) = (context(), Params::new(2));
    let device = DeviceParams::new(&context, &params);
    let x = random(9, BATCH * LEN * DIM);
    let lengths = [3, 5];
    for (causal, at_the_end) in [(Causal::None, false), (Causal::Lengths, true)] {
        let mut desc = attention_desc(device.weights());
        desc.mask = AttentionMask { key_kind: MaskKind::Lengths, causal, ..Default::default() };
        let mut layer = Layer::attention(&context, &desc).unwrap();
        layer.write(Port::KeyMask, &lengths).unwrap();
        let expected = params.attention(&to_f64(&x), |batch, query, key| {
            let len = lengths[batch] as usize;
            key < len && (!at_the_end || key + LEN <= query + len)
        });
        assert_close(&run(&mut layer, &x), &to_f32(&expected), 1e-5);
    }
}

#[test]
fn encoder_layer_is_that_of_the_reference() {
    let (context, params) = (context(), Params::new(3));
    let device = DeviceParams::new(&context, &params);
    let shapes: [&[u32]; 8] = [&[48, 32], &[48], &[32, 48], &[32], &[32], &[32], &[32], &[32]];
    let sizes = shapes.map(|shape| shape.iter().product::<u32>() as usize);
    let host: Vec<Vec<f32>> = sizes.iter().enumerate().map(|(i, size)| random(20 + i as u64, *size)).collect();
    let on_device = shapes.iter().zip(&host).map(|(shape, values)| Tensor::from_slice(&context, shape, values));
    let tensors: Vec<Tensor> = on_device.collect::<vkformer::Result<_>>().unwrap();
    let desc = TransformerLayer {
        d_model: DIM as u32,
        num_heads: HEADS as u32,
        dim_feedforward: HIDDEN as u32,
        activation: Activation::Relu,
        self_attention: device.weights(),
        feed_forward: FeedForwardWeights {
            weight1: Some(&tensors[0]),
            bias1: Some(&tensors[1]),
            weight2: Some(&tensors[2]),
            bias2: Some(&tensors[3]),
        },
        norm1: NormWeights { weight: Some(&tensors[4]), bias: Some(&tensors[5]) },
        norm2: NormWeights { weight: Some(&tensors[6]), bias: Some(&tensors[7]) },
        max_sizes: SIZES,
        ..Default::default()
    };
    let mut layer = Layer::encoder(&context, &desc).unwrap();

    let x = random(9, BATCH * LEN * DIM);
    let add = |a: &[f64], b: &[f64]| -> Vec<f64> { a.iter().zip(b).map(|(a, b)| a + b).collect() };
    let attended = add(&to_f64(&x), &params.attention(&to_f64(&x), |_, _, _| true));
    let attended = layer_norm(&attended, &host[4], &host[5]);
    let hidden: Vec<f64> = linear(&attended, &host[0], &host[1]).iter().map(|x| x.max(0.0)).collect();
    let expected = layer_norm(&add(&attended, &linear(&hidden, &host[2], &host[3])), &host[6], &host[7]);
    assert_close(&run(&mut layer, &x), &to_f32(&expected), 1e-4);
}

#[test]
fn layer_outlives_what_it_was_made_from_and_changes_threads() {
    let params = Params::new(4);
    let mut layer = {
        let context = context();
        let device = DeviceParams::new(&context, &params);
        Layer::attention(&context, &attention_desc(device.weights())).unwrap()
    };
    let x = random(9, BATCH * LEN * DIM);
    let expected = to_f32(&params.attention(&to_f64(&x), |_, _, _| true));
    let output = thread::spawn(move || run(&mut layer, &x)).join().unwrap();
    assert_close(&output, &expected, 1e-5);
}

#[test]
fn ports_take_their_own_type_and_no_more_than_fits() {
    let context = context();
    let device = DeviceParams::new(&context, &Params::new(5));
    let mut layer = Layer::attention(&context, &attention_desc(device.weights())).unwrap();
    assert_eq!(layer.port_shape(Port::Query), Some(vec![BATCH as u32, LEN as u32, DIM as u32]));
    assert_eq!(layer.port_shape(Port::Mask), None);
    for refused in [
        layer.write(Port::Query, &[1i32; 8]),
        layer.write(Port::Mask, &[1u8; 8]),
        layer.write(Port::Query, &vec![0f32; BATCH * LEN * DIM + 1]),
        layer.read(Port::Output, &mut vec![0f32; BATCH * LEN * DIM + 1]),
        layer.run(Sizes::new(0, 1)),
    ] {
        assert_eq!(refused.unwrap_err().status(), Status::InvalidArgument);
    }
    assert_eq!(layer.run(Sizes::new(1, LEN as u32 + 1)).unwrap_err().status(), Status::TooLarge);
}

#[test]
fn tensors_are_written_and_read_in_whole_and_viewed_in_rows() {
    let context = context();
    let tensor = Tensor::from_slice(&context, &[4, 3], &random(1, 12)).unwrap();
    let rows = tensor.rows(1, 2).unwrap();
    assert_eq!((rows.shape(), rows.dtype(), rows.len()), (&[2, 3][..], Dtype::F32, 6));
    drop(tensor);
    assert_eq!(rows.read::<f32>().unwrap(), random(1, 12)[3..9]);
    assert_eq!(rows.write(&[0f32; 5]).unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(rows.read::<i32>().unwrap_err().status(), Status::InvalidArgument);
    assert_eq!(rows.rows(1, 2).unwrap_err().status(), Status::InvalidArgument);
    let halves = Tensor::zeros(&context, Dtype::Bf16, &[3]).unwrap();
    halves.write(&[1u16, 2, 3]).unwrap();
    assert_eq!(halves.read::<u16>().unwrap(), [1, 2, 3]);
    assert_eq!(vkformer::f16_to_f32(&vkformer::f32_to_f16(&[0.5, -2.0])), [0.5, -2.0]);
}
