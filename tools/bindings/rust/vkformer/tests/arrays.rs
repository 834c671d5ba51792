//! Every slice that the crate hands to the library has as many elements as the library reads or writes: a sweep over
//! all functions that take one.

mod common;

use common::{context, pretrained, random};
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use vkformer::{
    f16_to_f32, f32_to_f16, Context, Dtype, Embedder, EmbedderOptions, FeedForwardWeights, Generation, Generator,
    GeneratorOptions, Layer, Port, Prompt, Result, Sizes, Status, Tensor, Tokenizer, TransformerLayer,
};

/// Structs of results, whose arrays are copies.
const RESULTS: [&str; 4] = ["Encoding", "Prediction", "Continuation", "DeviceInfo"];
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
        } else if let Some(code) = line.trim_start().strip_prefix("pub fn ") {
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
