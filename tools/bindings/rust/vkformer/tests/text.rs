//! Tokenizers, embeddings and generation against what transformers makes of the same texts.

mod common;

use common::{assert_close, context, expected, pretrained, Line};
use std::thread;
use vkformer::{
    BeamSearch, EarlyStopping, Embedder, EmbedderOptions, EncodeOptions, Generation, Generator, GeneratorOptions,
    Prompt, StopReason, Tokenizer, Truncation,
};

/// As many new tokens as expected.jsonl has.
fn generation() -> Generation {
    Generation { max_new_tokens: 12, ..Default::default() }
}

fn generator() -> Generator {
    Generator::new(&context(), pretrained("gpt2"), &GeneratorOptions::default()).unwrap()
}

#[test]
fn tokens_are_those_of_transformers_in_every_thread() {
    let tokenizer = Tokenizer::load(pretrained("gpt2")).unwrap();
    let lines = expected("gpt2");
    let check = |line: &Line| {
        let text = line.text("text");
        let encoding = tokenizer.encode(text, &EncodeOptions::default()).unwrap();
        assert_eq!(encoding.ids, line.numbers::<i32>("tokens"));
        let last = encoding.offsets.last().unwrap();
        assert_eq!((last.end, encoding.special_tokens.len()), (text.len(), encoding.ids.len()));
        assert_eq!(tokenizer.decode(&encoding.ids, true).unwrap(), text);
    };
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| lines.iter().for_each(check));
        }
    });
    let id = tokenizer.token_to_id("Rain").unwrap();
    assert_eq!(tokenizer.id_to_token(id).as_deref(), Some("Rain"));
    assert_eq!((tokenizer.token_to_id("no token"), tokenizer.id_to_token(1 << 30)), (None, None));
    assert_eq!(tokenizer.decode(&[], false).unwrap(), "");
    assert!(tokenizer.vocab_size() > 100);
}

#[test]
fn pairs_and_lengths_are_those_asked_for() {
    let tokenizer = Tokenizer::load(pretrained("bert")).unwrap();
    let options = EncodeOptions { truncation: Truncation::LongestFirst, max_length: 8, ..Default::default() };
    let encoding = tokenizer.encode_pair("A cat sat there.", "Rain falls on the hills.", &options).unwrap();
    assert_eq!(encoding.ids.len(), 8);
    assert_eq!(encoding.special_tokens.iter().filter(|special| **special).count(), 3);
    assert!(encoding.sequences.contains(&0) && encoding.sequences.contains(&1));
    assert_eq!(encoding.type_ids.last(), Some(&1));
}

#[test]
fn embeddings_are_those_of_sentence_transformers() {
    let directory = pretrained("sentence-mean");
    let mut embedder = Embedder::new(&context(), directory, &EmbedderOptions::default()).unwrap();
    let lines = expected("sentence-mean");
    let texts: Vec<&str> = lines.iter().map(|line| line.text("text")).collect();
    let embeddings = embedder.embed(&texts, Prompt::Default).unwrap();
    assert_eq!((embeddings.len(), embeddings.dim()), (lines.len(), embedder.dim()));
    for (line, embedding) in lines.iter().zip(embeddings.iter()) {
        assert_close(embedding, &line.numbers::<f32>("embedding"), 1e-4);
    }
    assert!(embedder.embed(&[] as &[&str], Prompt::Default).unwrap().is_empty());
    assert!(embedder.embed(&texts, Prompt::Named("no prompt")).is_err());
    assert_eq!(embedder.embed(&texts, Prompt::Named("query")).unwrap().len(), lines.len());
}

#[test]
fn predictions_are_those_of_transformers() {
    let options = EmbedderOptions { head: true, ..Default::default() };
    let directory = pretrained("bert-sequence-classification");
    let mut embedder = Embedder::new(&context(), directory, &options).unwrap();
    let lines = expected("bert-sequence-classification");
    let texts: Vec<&str> = lines.iter().map(|line| line.text("text")).collect();
    let predictions = embedder.predict(&texts, &[]).unwrap();
    for (line, prediction) in lines.iter().zip(&predictions) {
        assert_eq!((prediction.rows, prediction.logits.len()), (1, prediction.cols));
        let largest = |a: &usize, b: &usize| prediction.logits[*a].total_cmp(&prediction.logits[*b]);
        let best = (0..prediction.cols).max_by(largest).unwrap();
        assert_eq!(embedder.label(best as u32).as_deref(), Some(line.text("label")));
    }
    assert!(embedder.predict(&texts, &texts[..1]).is_err());
}

#[test]
fn continuations_are_those_of_transformers() {
    let mut generator = generator();
    let lines = expected("gpt2");
    let texts: Vec<&str> = lines.iter().map(|line| line.text("text")).collect();
    let mut parts = vec![String::new(); texts.len()];
    let append = |prompt: usize, part: &str| {
        parts[prompt].push_str(part);
        true
    };
    let continuations = generator.generate_with(&texts, &generation(), append).unwrap();
    for ((line, continuation), parts) in lines.iter().zip(&continuations).zip(&parts) {
        assert_eq!(continuation.ids, line.numbers::<i32>("generated"));
        assert_eq!(continuation.text, line.text("output"));
        assert_eq!(parts, &continuation.text);
        assert_eq!(continuation.prompt_tokens as usize, line.numbers::<i32>("tokens").len());
    }
    assert!(generator.generate(&[] as &[&str], &generation()).unwrap().is_empty());
}

#[test]
fn beams_are_those_of_transformers_and_end_before_a_stop() {
    let options = GeneratorOptions { max_beams: 3, ..Default::default() };
    let mut generator = Generator::new(&context(), pretrained("gpt2"), &options).unwrap();
    let beams = BeamSearch { num_beams: 3, length_penalty: 0.8, early_stopping: EarlyStopping::On };
    for line in expected("gpt2").iter().filter(|line| line.has("stop")) {
        let mut generation = Generation { beams, ..generation() };
        let continuations = generator.generate(&[line.text("text")], &generation).unwrap();
        assert_eq!(continuations[0].ids, line.numbers::<i32>("beam"));
        generation.stops.push(line.text("stop").to_string());
        let continuations = generator.generate(&[line.text("text")], &generation).unwrap();
        assert_eq!(continuations[0].text, line.text("stopped_text"));
        assert_eq!(continuations[0].reason, StopReason::Eos);
    }
}

#[test]
fn stream_has_the_text_in_parts() {
    let mut generator = generator();
    let line = &expected("gpt2")[1];
    let stream = generator.stream(line.text("text"), &generation());
    let parts: Vec<String> = stream.collect::<vkformer::Result<_>>().unwrap();
    assert!(parts.len() > 1);
    assert_eq!(parts.concat(), line.text("output"));
    let whole = generator.stream(line.text("text"), &generation()).finish().unwrap();
    assert_eq!((whole.text.as_str(), whole.reason), (line.text("output"), StopReason::Eos));
}

#[test]
fn stream_that_is_dropped_or_cancelled_gives_the_generator_back() {
    let mut generator = generator();
    let line = &expected("gpt2")[1];
    let mut stream = generator.stream(line.text("text"), &Generation::default());
    assert!(stream.next().unwrap().is_ok());
    drop(stream);
    let mut stream = generator.stream(line.text("text"), &Generation::default());
    let first = stream.next().unwrap().unwrap();
    stream.cancel();
    assert!(stream.finish().unwrap().text.starts_with(&first));
    let again = generator.generate(&[line.text("text")], &generation()).unwrap();
    assert_eq!(again[0].text, line.text("output"));
}

#[test]
fn stream_ends_with_its_error() {
    let mut generator = generator();
    let beyond = Generation { max_new_tokens: u32::MAX, ..Default::default() };
    let mut stream = generator.stream("rain", &beyond);
    assert_eq!(stream.next().unwrap().unwrap_err().status(), vkformer::Status::TooLarge);
    assert!(stream.next().is_none());
    assert!(stream.finish().is_err());
}
