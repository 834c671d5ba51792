//! What the tests share.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};

use vkformer::{Context, Severity};

/// A context on the first device, whose pipelines all tests share through files.
pub fn context() -> Context {
    let builder = Context::builder().cache_directory(env!("CARGO_TARGET_TMPDIR"));
    let builder = builder.on_message(Severity::Warning, |severity, text| eprintln!("{:?}: {}", severity, text));
    builder.build().expect("a context")
}

/// A model of the repository's tests.
pub fn pretrained(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../tests/pretrained").join(name)
}

/// A case of PyTorch's results.
pub fn golden(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../../tests/golden").join(name)
}

/// A file of safetensors.
pub struct Tensors {
    header: String,
    data: Vec<u8>,
}

impl Tensors {
    pub fn read(path: &Path) -> Tensors {
        let mut bytes = fs::read(path.with_extension("safetensors")).expect("a file of safetensors");
        let header_bytes = u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize;
        let data = bytes.split_off(8 + header_bytes);
        Tensors { header: String::from_utf8_lossy(&bytes[8..]).into_owned(), data }
    }

    /// The elements of a tensor of F32.
    pub fn floats(&self, name: &str) -> Vec<f32> {
        self.words(name).map(f32::from_le_bytes).collect()
    }

    /// The elements of a tensor of I32.
    pub fn ids(&self, name: &str) -> Vec<i32> {
        self.words(name).map(i32::from_le_bytes).collect()
    }

    fn words(&self, name: &str) -> impl Iterator<Item = [u8; 4]> + '_ {
        let behind = |text: &str, key: &str| text[text.find(key).expect(key) + key.len()..].to_string();
        let entry = behind(&behind(&self.header, &format!("\"{}\":", name)), "\"data_offsets\":[");
        let ends = entry[..entry.find(']').unwrap()].split(',').map(|end| end.trim().parse().unwrap());
        let ends: Vec<usize> = ends.collect();
        self.data[ends[0]..ends[1]].chunks_exact(4).map(|bytes| bytes.try_into().unwrap())
    }
}

/// The lines of a model's expected.jsonl: what transformers makes of texts.
pub fn expected(name: &str) -> Vec<Line> {
    let text = fs::read_to_string(pretrained(name).join("expected.jsonl")).expect("expected.jsonl");
    text.lines().map(|line| Line(line.to_string())).collect()
}

/// An object of JSON on one line, whose texts have no escaped quotes and whose arrays hold numbers.
pub struct Line(String);

impl Line {
    fn behind(&self, key: &str) -> &str {
        let begin = self.0.find(&format!("\"{}\": ", key)).expect(key) + key.len() + 4;
        &self.0[begin..]
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.contains(&format!("\"{}\": ", key))
    }

    pub fn text(&self, key: &str) -> &str {
        let text = &self.behind(key)[1..];
        &text[..text.find('"').expect(key)]
    }

    pub fn numbers<T: std::str::FromStr>(&self, key: &str) -> Vec<T> {
        let array = &self.behind(key)[1..];
        let array = &array[..array.find(']').expect(key)];
        array.split(", ").map(|number| number.parse().ok().expect(key)).collect()
    }
}

/// Numbers between -0.5 and 0.5, the same for the same seed.
pub fn random(seed: u64, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2) + 1;
    let next = |_| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 40) as f32 / (1u64 << 24) as f32 - 0.5
    };
    (0..count).map(next).collect()
}

pub fn assert_close(found: &[f32], expected: &[f32], tolerance: f32) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        let error = (found - expected).abs();
        assert!(error <= tolerance * (1.0 + expected.abs()), "[{}]: {}, expected {}", i, found, expected);
    }
}
