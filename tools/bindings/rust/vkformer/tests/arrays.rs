//! Every slice that the crate hands to the library has as many elements as the library reads or writes: a sweep over
//! all functions that take one.

mod common;

use common::{context, golden, pretrained, random};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use vkformer::vulkan::{SemaphoreValue, Semaphores};
use vkformer::{
    f16_to_f32, f32_to_f16, Attention, AttentionKind, Context, Dtype, Embedder, EmbedderOptions, FeedForwardWeights,
    Generation, Generator, GeneratorOptions, Layer, Model, ModelOptions, NnTransformer, Port, Prompt, Result, Session,
    SessionData, SessionOptions, Sizes, Status, Tensor, TokenGeneration, Tokenizer, TransformerLayer,
};

/// Structs of results, whose arrays are copies.
const RESULTS: [&str; 9] = [
    "AttentionMap",
    "Continuation",
    "DeviceInfo",
    "Encoded",
    "Encoding",
    "GeneratedTokens",
    "MemoryPlan",
    "ModelConfig",
    "Prediction",
];
const TEXTS: [&str; 3] = ["A cat sat there.", "rain", "a"];

/// The names of functions and fields whose arrays had wrong lengths here.
#[derive(Default)]
struct Swept(BTreeSet<String>);

impl Swept {
    /// `refused` is an error that has `names` in its sentence.
    fn refused<T>(&mut self, name: &str, way: &str, names: &str, refused: Result<T>) {
        self.0.insert(name.to_string());
        let error = refused.err().unwrap_or_else(|| panic!("{}, {}: is taken", name, way));
        assert_eq!(error.status(), Status::InvalidArgument, "{}, {}: {}", name, way, error);
        assert!(error.message().contains(names), "{}, {}: {}", name, way, error);
    }

    /// A function that takes any number of elements: `found` gives the number of results.
    fn counted(&mut self, name: &str, mut found: impl FnMut(usize) -> usize) {
        self.0.insert(name.to_string());
        for count in 0..=TEXTS.len() {
            assert_eq!(found(count), count, "{}", name);
        }
    }
}

fn sweep_tensors(swept: &mut Swept, context: &Context) {
    let tensor = Tensor::from_slice(context, &[2, 3], &[1f32; 6]).unwrap();
    for (way, count) in [("too short", 5), ("too long", 7), ("empty", 0)] {
        let values = random(1, count);
        swept.refused("Tensor::write", way, "tensor", tensor.write(&values));
        swept.refused("Tensor::from_slice", way, "tensor", Tensor::from_slice(context, &[2, 3], &values));
    }
    swept.refused("Tensor::write", "as many bytes", "u16", tensor.write(&[0u16; 12]));
    for (way, shape) in [("no dimension", &[][..]), ("five dimensions", &[1; 5])] {
        swept.refused("Tensor::from_slice", way, "", Tensor::from_slice(context, shape, &[1f32]));
        swept.refused("Tensor::zeros", way, "", Tensor::zeros(context, Dtype::F32, shape));
    }
    assert_eq!(tensor.read::<f32>().unwrap(), [1f32; 6]);
    let buffer = tensor.buffer();
    assert_eq!(buffer.tensor(4, Dtype::F32, &[5]).unwrap().read::<f32>().unwrap(), [1f32; 5]);
    for (way, at, dtype, shape) in [
        ("too long", 0, Dtype::F32, &[1 << 20][..]),
        ("behind the end", 1 << 20, Dtype::F32, &[1]),
        ("beyond all numbers", u64::MAX - 3, Dtype::F32, &[2]),
        ("larger than all numbers", 0, Dtype::F32, &[u32::MAX; 4]),
        ("between elements", 2, Dtype::F32, &[1]),
        ("no dimension", 0, Dtype::F32, &[]),
        ("five dimensions", 0, Dtype::F32, &[1; 5]),
        ("of no element", 0, Dtype::F32, &[0]),
        ("in blocks", 0, Dtype::Q8, &[32]),
    ] {
        swept.refused("Buffer::tensor", way, "a tensor of type", buffer.tensor(at, dtype, shape));
    }
    swept.counted("f32_to_f16", |count| f32_to_f16(&random(1, count)).len());
    swept.counted("f16_to_f32", |count| f16_to_f32(&vec![0; count]).len());
}

/// Fewer elements than a port has are those of a smaller run, so that the layer takes and gives them.
fn sweep_layers(swept: &mut Swept, context: &Context) {
    let zeros = Tensor::zeros(context, Dtype::F32, &[8, 8]).unwrap();
    let mut desc = TransformerLayer { d_model: 8, num_heads: 2, dim_feedforward: 8, ..Default::default() };
    let weights = &mut desc.self_attention;
    for weight in [&mut weights.q_weight, &mut weights.k_weight, &mut weights.v_weight, &mut weights.out_weight] {
        *weight = Some(&zeros);
    }
    desc.feed_forward = FeedForwardWeights { weight1: Some(&zeros), weight2: Some(&zeros), ..Default::default() };
    desc.max_sizes = Sizes::new(1, 3);
    let port = Tensor::zeros(context, Dtype::F32, &[1, 3, 8]).unwrap();
    let mut attention = Attention { embed_dim: 8, num_heads: 2, self_attention: true, ..Default::default() };
    attention.params = desc.self_attention;
    attention.max_sizes = desc.max_sizes;
    let (fits, other, unasked) = ((Port::Query, &port), (Port::Query, &zeros), (Port::Mask, &port));
    let wrong = [("another shape", [other, other]), ("a port that is not there", [fits, unasked])];
    for (way, ports) in &wrong {
        desc.ports = ports;
        attention.ports = ports;
        swept.refused("TransformerLayer.ports", way, "", Layer::encoder(context, &desc));
        swept.refused("Attention.ports", way, "", Layer::attention(context, &attention));
    }
    let right = [fits];
    desc.ports = &right;
    attention.ports = &right;
    assert!(Layer::encoder(context, &desc).is_ok() && Layer::attention(context, &attention).is_ok());
    desc.ports = &[];
    let mut layer = Layer::encoder(context, &desc).unwrap();
    let (mut longer, mut shorter) = (random(1, 25), random(1, 23));
    swept.refused("Layer::write", "too long", "port", layer.write(Port::Query, &longer));
    swept.refused("Layer::read", "too long", "port", layer.read(Port::Output, &mut longer));
    swept.refused("Layer::write", "as many bytes", "u16", layer.write(Port::Query, &[0u16; 48]));
    swept.refused("Layer::read", "as many bytes", "u16", layer.read(Port::Output, &mut [0u16; 48]));
    layer.write(Port::Query, &shorter).unwrap();
    layer.run(desc.max_sizes).unwrap();
    layer.read(Port::Output, &mut shorter).unwrap();
}

fn sweep_texts(swept: &mut Swept, context: &Context) {
    let tokenizer = Tokenizer::load(pretrained("gpt2")).unwrap();
    let ids = tokenizer.encode(TEXTS[0], &Default::default()).unwrap().ids;
    swept.counted("Tokenizer::decode", |count| {
        let text = tokenizer.decode(&ids[..count], true).unwrap();
        assert!(TEXTS[0].starts_with(&text) && text.is_empty() == (count == 0), "{}", text);
        count
    });

    let options = EmbedderOptions { head: true, ..Default::default() };
    let directory = pretrained("bert-sequence-classification");
    let mut embedder = Embedder::new(context, directory, &options).unwrap();
    swept.counted("Embedder::embed", |count| embedder.embed(&TEXTS[..count], Prompt::Default).unwrap().len());
    swept.counted("Embedder::predict", |count| embedder.predict(&TEXTS[..count], &TEXTS[..count]).unwrap().len());
    for (way, texts, pairs) in [("too few", 3, 2), ("too many", 2, 3), ("pairs alone", 0, 1)] {
        let refused = embedder.predict(&TEXTS[..texts], &TEXTS[..pairs]);
        swept.refused("Embedder::predict", way, &format!("{} pairs", pairs), refused);
    }
}

fn sweep_generators(swept: &mut Swept, context: &Context) {
    let mut generator = Generator::new(context, pretrained("gpt2"), &GeneratorOptions::default()).unwrap();
    let mut generation = Generation { max_new_tokens: 12, ..Default::default() };
    swept.counted("Generator::generate", |count| generator.generate(&TEXTS[..count], &generation).unwrap().len());
    swept.counted("Generator::generate_with", |count| {
        generator.generate_with(&TEXTS[..count], &generation, |prompt, _| prompt < count).unwrap().len()
    });
    let whole = generator.generate(&TEXTS[..1], &generation).unwrap().remove(0).text;
    swept.counted("Generation.stops", |count| {
        generation.stops = ["no such text", "nor this", "gel"][..count].iter().map(|stop| stop.to_string()).collect();
        let text = generator.generate(&TEXTS[..1], &generation).unwrap().remove(0).text;
        assert_eq!(text, if count == 3 { whole.split("gel").next().unwrap() } else { &whole });
        count
    });
}

/// Rows of ids for a session of two rows.
const ONE: [&[i32]; 1] = [&[2, 9, 3]];
const EMPTY: [&[i32]; 2] = [&[2, 9, 3], &[]];
const MANY: [&[i32]; 3] = [&[2, 9, 3]; 3];

fn sweep_encoder(swept: &mut Swept, context: &Context) {
    let model = Model::load(context, pretrained("bert"), &ModelOptions::default()).unwrap();
    let kinds = [AttentionKind::Encoder; 2];
    for (count, is_kept) in [(0, false), (1, true), (2, true)] {
        let options = SessionOptions {
            max_batch: 2,
            max_source_len: 8,
            attention_weights: kinds[..count].to_vec(),
            ..Default::default()
        };
        let mut session = Session::new(&model, &options).unwrap();
        session.encode(&ONE).unwrap();
        assert_eq!(session.attention(AttentionKind::Encoder, 0, 0, 3).is_ok(), is_kept);
        swept.0.insert("SessionOptions.attention_weights".to_string());
    }
    let mut session =
        Session::new(&model, &SessionOptions { max_batch: 2, max_source_len: 8, ..Default::default() }).unwrap();
    swept.refused("Session::encode", "no row", "row", session.encode(&ONE[..0]));
    swept.refused("Session::encode", "an empty row", "row", session.encode(&EMPTY));
    assert_eq!(session.encode(&MANY).unwrap_err().status(), Status::TooLarge);
    let types = |types: &[&[i32]], session: &mut Session| session.encode_with_types(&MANY[..2], types);
    for (way, wrong) in
        [("too few rows", &ONE[..]), ("a short row", &[&[0, 0, 0], &[0]]), ("too many", &[&[0, 0, 0][..]; 3])]
    {
        swept.refused("Session::encode_with_types", way, "type", types(wrong, &mut session));
    }
    assert_eq!(types(&[&[0, 0, 0][..]; 2], &mut session).unwrap().hidden.len(), 2);
    let mut data = session.data(SessionData::Memory).unwrap();
    let count = data.shape().iter().product::<u32>() as usize;
    data.read(&mut vec![0f32; count]).unwrap();
    swept.refused("SessionTensor::read", "too long", "bytes", data.read(&mut vec![0f32; count + 1]));
    swept.refused("SessionTensor::read", "as many bytes", "u16", data.read(&mut vec![0u16; 2 * count]));

    // SAFETY: there are no semaphores, and nothing that was prepared is submitted.
    unsafe {
        let none = Semaphores::default;
        swept.refused("Session::submit_encode", "an empty row", "row", session.submit_encode(&EMPTY, none()));
        swept.refused("Session::prepare_encode", "an empty row", "row", session.prepare_encode(&EMPTY));
        let name = "Session::submit_encode_from_device";
        for (way, lengths) in [("no row", &[][..]), ("too long", &[9]), ("no number", &[u32::MAX]), ("empty", &[0])] {
            swept.refused(name, way, "", session.submit_encode_from_device(8, lengths, none()));
        }
        let many = [SemaphoreValue::default(); 17];
        let waits = Semaphores { waits: &many, signals: &[] };
        let signals = Semaphores { waits: &[], signals: &many };
        swept.refused("Semaphores.waits", "too many", "16", session.submit_encode(&ONE, waits));
        swept.refused("Semaphores.signals", "too many", "16", session.submit_encode(&ONE, signals));
    }
}

fn sweep_decoder(swept: &mut Swept, context: &Context) {
    let model = Model::load(context, pretrained("gpt2"), &ModelOptions::default()).unwrap();
    let options = SessionOptions { max_batch: 2, max_target_len: 16, max_logit_rows: 4, ..Default::default() };
    let mut session = Session::new(&model, &options).unwrap();
    let mut generation = TokenGeneration { max_new_tokens: 4, ..Default::default() };
    let unequal: [&[i32]; 2] = [&[2, 9, 3], &[2]];
    for (way, rows) in [("no row", &ONE[..0]), ("an empty row", &EMPTY[..]), ("too many rows", &MANY[..])] {
        let status = if way == "too many rows" { Status::TooLarge } else { Status::InvalidArgument };
        swept.0.extend(["Session::generate", "Session::stream", "Session::logits"].map(String::from));
        let refused = |error: Option<vkformer::Error>| assert_eq!(error.expect(way).status(), status, "{}", way);
        refused(session.generate(rows, &generation).err());
        refused(session.stream(rows, &generation).err());
        refused(session.logits(rows).err());
    }
    swept.refused("Session::logits", "rows of two lengths", "length", session.logits(&unequal));
    assert_eq!(session.generate(&unequal, &generation).unwrap().len(), 2);
    swept.counted("TokenGeneration.stop_ids", |count| {
        generation.stop_ids = vec![1 << 20; count]; // no token of the model
        assert_eq!(session.generate(&ONE, &generation).unwrap()[0].ids.len(), 4);
        count
    });
    session.truncate(0, 0).unwrap();
    session.truncate(1, 0).unwrap();
    swept.refused("Session::prefill", "no row", "", session.prefill(&ONE[..0]));
    swept.refused("Session::prefill", "rows without ids", "", session.prefill(&[&[][..], &[]]));
    assert!(session.prefill(&MANY).is_err());
    assert_eq!(session.prefill(&unequal).unwrap().len(), 2);
    let ids = [Some(4); 3];
    // SAFETY: there are no semaphores, and nothing that was prepared is submitted.
    unsafe {
        let submit = |session: &mut Session, ids: &[_]| session.submit_step(ids, Semaphores::default());
        swept.refused("Session::submit_step", "no row", "", submit(&mut session, &ids[..0]));
        let prompts = session.submit_prefill(&ONE[..0], Semaphores::default());
        swept.refused("Session::submit_prefill", "no row", "", prompts);
        swept.refused("Session::prepare_step", "no row", "", session.prepare_step(&ids[..0]));
        assert!(submit(&mut session, &ids).is_err() && session.prepare_step(&ids).is_err());
    }
    swept.refused("Session::step", "no row", "", session.step(&ids[..0]));
    swept.refused("Session::step", "no id", "", session.step(&[None, None]));
    assert!(session.step(&ids).is_err());
    assert_eq!((session.step(&ids[..2]).unwrap().len(), session.tokens(1)), (2, &[2, 4][..]));
}

fn sweep_transformer(swept: &mut Swept, context: &Context) {
    let case = golden("transformer/case_0084");
    let transformer = NnTransformer {
        d_model: 33,
        num_heads: 3,
        num_encoder_layers: 3,
        num_decoder_layers: 4,
        dim_feedforward: 41,
        ..Default::default()
    };
    let weights = case.join("weights.safetensors");
    let model = Model::transformer(context, &transformer, weights, &ModelOptions::default()).unwrap();
    let mut session = Session::new(&model, &SessionOptions { max_source_len: 4, ..Default::default() }).unwrap();
    let values = random(1, 67);
    assert_eq!(session.encode_embedded(1, 2, &values[..66]).unwrap().len(), 66);
    assert_eq!(session.decode_embedded(2, &values[..66]).unwrap().len(), 66);
    for (way, count) in [("too short", 65), ("too long", 67), ("empty", 0)] {
        let name = ["Session::encode_embedded", "Session::decode_embedded"];
        swept.refused(name[1], way, "target", session.decode_embedded(2, &values[..count]));
        swept.refused(name[0], way, "source", session.encode_embedded(1, 2, &values[..count]));
    }
}

fn has_array(code: &str) -> bool {
    ["[", "Vec<", "Iterator", "Box<["].iter().any(|array| code.contains(array))
}

/// The word in front of any of `ends`.
fn word<'a>(code: &'a str, ends: &[char]) -> &'a str {
    code.split(ends).next().unwrap_or(code)
}

/// The public functions of a source that take an array, by their type and name, and public fields that are one.
fn arrays_of(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    let mut of = String::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if line.starts_with("impl") || line.starts_with("pub struct ") {
            let name =
                line.rsplit(" for ").next().unwrap().trim_start_matches("impl ").trim_start_matches("pub struct ");
            of = word(name, &[' ', '<', '(', ';']).to_string();
        } else if line.starts_with('}') {
            of.clear();
        } else if let Some(code) = line.trim_start().replace("pub unsafe fn ", "pub fn ").strip_prefix("pub fn ") {
            let mut code = code.to_string();
            while !code.ends_with('{') {
                code += lines.next().expect("the end of a function's head");
            }
            let parameters = code.rsplit_once(") -> ").map_or(code.as_str(), |(parameters, _)| parameters);
            if has_array(parameters) {
                let separator = if of.is_empty() { "" } else { "::" };
                found.insert(format!("{}{}{}", of, separator, word(&code, &['(', '<'])));
            }
        } else if let Some((name, kind)) = line.strip_prefix("    pub ").and_then(|field| field.split_once(": ")) {
            if has_array(kind) && !RESULTS.contains(&of.as_str()) {
                found.insert(format!("{}.{}", of, name));
            }
        }
    }
    found
}

#[test]
fn arrays_have_the_length_that_is_read_or_written() {
    let context = context();
    let mut swept = Swept::default();
    sweep_tensors(&mut swept, &context);
    sweep_layers(&mut swept, &context);
    sweep_texts(&mut swept, &context);
    sweep_generators(&mut swept, &context);
    sweep_encoder(&mut swept, &context);
    sweep_decoder(&mut swept, &context);
    sweep_transformer(&mut swept, &context);

    let mut found = BTreeSet::new();
    for file in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let path = file.unwrap().path();
        let source = fs::read_to_string(&path).unwrap();
        // A number of elements goes to C by count(), which cuts none.
        assert!(!source.contains(".len() as u32"), "{}", path.display());
        found.append(&mut arrays_of(&source));
    }
    assert_eq!(found, swept.0);
}
