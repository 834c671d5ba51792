//! Models and sessions on ids, against what transformers and PyTorch make of them.

mod common;

use common::{assert_close, context, expected, golden, pretrained, Tensors};
use std::panic::{self, AssertUnwindSafe};
use std::sync::Arc;
use std::{fs, process, thread};
use vkformer::{
    Activation, AttentionKind, BeamSearch, EarlyStopping, Embedder, EmbedderOptions, EncodeOptions, Head, Matrix,
    Model, ModelKind, ModelOptions, ModelPrecision, NnTransformer, Session, SessionData, SessionOptions, Status,
    StopReason, TokenGeneration, Tokenizer, Truncation,
};

fn model(name: &str) -> Model {
    Model::load(&context(), pretrained(name), &ModelOptions::default()).unwrap()
}

fn ids(name: &str, text: &str) -> Vec<i32> {
    Tokenizer::load(pretrained(name)).unwrap().encode(text, &Default::default()).unwrap().ids
}

/// The rows of expected.jsonl.
fn rows(name: &str, key: &str) -> Vec<Vec<i32>> {
    expected(name).iter().map(|line| line.numbers(key)).collect()
}

fn decoder(options: SessionOptions) -> Session {
    Session::new(&model("gpt2"), &SessionOptions { max_target_len: 48, ..options }).unwrap()
}

fn generation() -> TokenGeneration {
    TokenGeneration { max_new_tokens: 12, ..Default::default() }
}

#[test]
fn model_says_what_its_files_say_and_what_it_needs() {
    let context = context();
    let plan = Model::plan(&context, pretrained("gpt2"), &ModelOptions::default()).unwrap();
    assert!(plan.weights_bytes > 0 && plan.total_bytes() >= plan.weights_bytes, "{:?}", plan);
    let model = model("gpt2");
    let config = model.config();
    assert_eq!((config.kind, config.head, config.num_encoder_layers), (ModelKind::Decoder, Head::None, 0));
    assert!(config.num_decoder_layers > 0 && config.target_vocab > 2 && config.eos_ids == [2], "{:?}", config);
    assert_eq!(model.precision(), ModelPrecision::F32);
    assert_eq!(model.metadata("model_type").unwrap().as_deref(), Some("gpt2"));
    assert_eq!(model.metadata("no such key").unwrap(), None);
    let options = SessionOptions { max_target_len: 32, ..Default::default() };
    let (small, large) = (Session::plan(&model, &options), Session::plan(&model, &SessionOptions::default()));
    assert!(small.unwrap().cache_bytes < large.unwrap().cache_bytes);
    let error = Session::new(&model, &SessionOptions { max_target_len: 1 << 20, ..options }).err().unwrap();
    assert_eq!((error.status(), error.message().contains("max_target_len")), (Status::TooLarge, true), "{}", error);
}

#[test]
fn loading_tells_how_far_it_is_and_can_be_ended() {
    let context = context();
    let load = |on_progress: &mut dyn FnMut(u32, u32, &str) -> bool| {
        Model::load_with(&context, pretrained("bert"), &ModelOptions::default(), |done, total, what| {
            on_progress(done, total, what)
        })
    };
    let mut seen = Vec::new();
    load(&mut |done, total, what| {
        assert!(!what.is_empty());
        seen.push((done, total));
        true
    })
    .unwrap();
    let total = seen.len() as u32;
    assert!(total > 10 && seen.into_iter().eq((0..total).map(|done| (done, total))));
    assert_eq!(load(&mut |done, _, _| done < 3).err().unwrap().status(), Status::Cancelled);
    let panics = panic::catch_unwind(AssertUnwindSafe(|| load(&mut |_, _, _| panic!("a callback that panics"))));
    assert_eq!(*panics.err().unwrap().downcast::<&str>().unwrap(), "a callback that panics");
}

#[test]
fn adapter_gives_the_logits_of_peft() {
    let adapter = pretrained("gpt2-adapter");
    let cases = Tensors::read(&adapter.join("cases"));
    let options = ModelOptions { adapter: Some(adapter), ..Default::default() };
    let model = Model::load(&context(), pretrained("gpt2"), &options).unwrap();
    let options = SessionOptions { max_batch: 2, max_logit_rows: 9, ..Default::default() };
    let ids = cases.ids("0.ids");
    let rows: Vec<&[i32]> = ids.chunks(9).collect();
    let logits = Session::new(&model, &options).unwrap().logits(&rows).unwrap();
    let found: Vec<f32> = logits.into_iter().flat_map(Matrix::into_vec).collect();
    assert_close(&found, &cases.floats("0.logits"), 1e-3);
}

#[test]
fn encoder_gives_the_embeddings_of_sentence_transformers() {
    let lines = expected("sentence-mean");
    let texts: Vec<&str> = lines.iter().map(|line| line.text("text")).collect();
    // As many tokens of each text as sentence-transformers takes.
    let options = EncodeOptions { truncation: Truncation::LongestFirst, max_length: 11, ..Default::default() };
    let tokenizer = Tokenizer::load(pretrained("sentence-mean")).unwrap();
    let rows: Vec<Vec<i32>> = texts.iter().map(|text| tokenizer.encode(text, &options).unwrap().ids).collect();
    let model = model("sentence-mean");
    let mut session = Session::new(&model, &SessionOptions { max_batch: 8, ..Default::default() }).unwrap();
    let types: Vec<Vec<i32>> = rows.iter().map(|row| vec![0; row.len()]).collect();
    for encoded in [session.encode(&rows).unwrap(), session.encode_with_types(&rows, &types).unwrap()] {
        assert_eq!(encoded.logits, None);
        let embeddings = encoded.embeddings.unwrap();
        assert_eq!((embeddings.len(), embeddings.dim()), (rows.len(), model.config().embedding_dim as usize));
        for (i, line) in lines.iter().enumerate() {
            let numbers = line.numbers::<f32>("embedding");
            assert_close(embeddings.get(i).unwrap(), &numbers, 1e-4);
            // The mean of a row's hidden states, normalised, is its embedding: padding has no part in either.
            let (hidden, count) = (&encoded.hidden[i], rows[i].len());
            assert_eq!((hidden.len(), hidden.dim()), (count, model.config().d_model as usize));
            let sum = |e: usize| hidden.iter().map(|state| state[e]).sum::<f32>();
            let sums: Vec<f32> = (0..numbers.len()).map(sum).collect();
            let length = sums.iter().map(|sum| sum * sum).sum::<f32>().sqrt();
            assert_close(&sums.iter().map(|sum| sum / length).collect::<Vec<f32>>(), &numbers, 1e-4);
        }
    }
    let mut found = vec![0f32; model.config().embedding_dim as usize];
    let mut tensor = session.data(SessionData::Embeddings).unwrap();
    tensor.read(&mut found).unwrap();
    assert_close(&found, &lines[0].numbers::<f32>("embedding"), 1e-4);
    assert!(session.data(SessionData::Logits).is_none());
}

#[test]
fn heads_say_what_the_embedder_has_of_them() {
    for name in ["bert-sequence-classification", "bert-token-classification"] {
        let texts = ["A cat sat there.", "Rain falls on the hills, and the rivers rise."];
        let options = EmbedderOptions { head: true, ..Default::default() };
        let mut embedder = Embedder::new(&context(), pretrained(name), &options).unwrap();
        let predictions = embedder.predict(&texts, &[]).unwrap();
        let options = SessionOptions { max_batch: 2, max_source_len: 48, head: true, ..Default::default() };
        let mut session = Session::new(&model(name), &options).unwrap();
        let rows: Vec<&[i32]> = predictions.iter().map(|prediction| prediction.ids.as_slice()).collect();
        let logits = session.encode(&rows).unwrap().logits.unwrap();
        for (logits, prediction) in logits.into_iter().zip(&predictions) {
            assert_eq!((logits.len(), logits.dim()), (prediction.rows, prediction.cols), "{}", name);
            assert_close(&logits.into_vec(), &prediction.logits, 1e-5);
        }
    }
}

#[test]
fn decoder_generates_what_transformers_does() {
    let (prompts, wanted) = (rows("gpt2", "tokens"), rows("gpt2", "generated"));
    let mut session = decoder(SessionOptions { max_batch: prompts.len() as u32, max_beams: 3, ..Default::default() });
    let generated = session.generate(&prompts, &generation()).unwrap();
    for (generated, wanted) in generated.iter().zip(&wanted) {
        assert_eq!(&generated.ids, wanted);
        let ended = wanted.last() == Some(&2);
        assert_eq!(generated.reason, if ended { StopReason::Eos } else { StopReason::Length });
    }
    let stop_ids = vec![wanted[0][3]];
    let stopped = session.generate(&prompts[..1], &TokenGeneration { stop_ids, ..generation() }).unwrap();
    assert_eq!((&stopped[0].ids[..], stopped[0].reason), (&wanted[0][..4], StopReason::Eos));
    let beams = BeamSearch { num_beams: 3, length_penalty: 0.8, early_stopping: EarlyStopping::On };
    let found = session.generate(&prompts, &TokenGeneration { beams, ..generation() }).unwrap();
    for (found, wanted) in found.iter().zip(rows("gpt2", "beam")) {
        assert_eq!(found.ids, wanted);
    }
    let error = session.generate(&prompts, &TokenGeneration::default()).unwrap_err();
    assert!(error.message().contains("max_new_tokens"), "{}", error);
}

#[test]
fn tokens_are_an_iterator_that_may_be_left() {
    let (prompts, wanted) = (rows("gpt2", "tokens"), rows("gpt2", "generated"));
    let mut session = decoder(SessionOptions { max_batch: 2, ..Default::default() });
    let mut found = vec![Vec::new(); 2];
    for token in session.stream(&prompts[..2], &generation()).unwrap() {
        let token = token.unwrap();
        found[token.row].push(token.id);
    }
    assert_eq!(found, wanted[..2]);
    // One that is left after three tokens, and one that is finished after one.
    let left: Vec<i32> =
        session.stream(&prompts[1..2], &generation()).unwrap().take(3).map(|token| token.unwrap().id).collect();
    assert_eq!(left, wanted[1][..3]);
    let mut stream = session.stream(&prompts[1..2], &generation()).unwrap();
    assert_eq!(stream.next().unwrap().unwrap().id, wanted[1][0]);
    let rest = thread::scope(|scope| scope.spawn(move || stream.finish()).join().unwrap());
    assert_eq!(rest.unwrap()[0].ids, wanted[1]);
    let again = TokenGeneration { reuse_cache: true, ..generation() };
    assert_eq!(session.generate(&prompts[1..2], &again).unwrap()[0].ids, wanted[1]);
    let error = session.stream(&[vec![1; 40]], &generation()).err().unwrap();
    assert_eq!(error.status(), Status::TooLarge, "{}", error);
    let error = session.stream(&[vec![1 << 20]], &generation()).err().unwrap();
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
}

/// The index of the largest of each row.
fn best(logits: &Matrix) -> Vec<i32> {
    let largest = |row: &[f32]| (0..row.len()).max_by(|a, b| row[*a].total_cmp(&row[*b])).unwrap() as i32;
    logits.iter().map(largest).collect()
}

#[test]
fn steps_have_the_logits_of_the_whole_row() {
    let row = &rows("gpt2", "tokens")[0];
    let mut session = decoder(SessionOptions { max_batch: 2, max_logit_rows: 48, ..Default::default() });
    let whole = session.logits(&[row]).unwrap().remove(0);
    assert_eq!((whole.len(), best(&whole).last()), (row.len(), rows("gpt2", "generated")[0].first()));
    session.truncate(0, 0).unwrap();
    let first = session.prefill(&[&row[..4], &[]]).unwrap();
    assert_eq!(first.len(), 2);
    assert_close(first.get(0).unwrap(), whole.get(3).unwrap(), 1e-4);
    let second = session.step(&[Some(row[4]), None]).unwrap();
    assert_close(second.get(0).unwrap(), whole.get(4).unwrap(), 1e-4);
    assert_eq!((session.tokens(0), session.tokens(1), session.tokens(9)), (&row[..5], &[][..], &[][..]));

    let path = std::env::temp_dir().join(format!("vkformer-session-{}", process::id()));
    session.save(&path).unwrap();
    session.truncate(0, 2).unwrap();
    assert_eq!(session.tokens(0), &row[..2]);
    session.restore(&path).unwrap();
    fs::remove_file(&path).unwrap();
    assert_eq!(session.tokens(0), &row[..5]);
    let third = session.step(&[Some(row[5]), None]).unwrap();
    assert_close(third.get(0).unwrap(), whole.get(5).unwrap(), 1e-4);
    assert_eq!(session.restore(&path).unwrap_err().status(), Status::File);
    assert_eq!(session.truncate(0, 40).unwrap_err().status(), Status::InvalidArgument);
    assert!(session.step(&[Some(-3), None]).unwrap_err().message().contains("-3"));
}

#[test]
fn encoder_decoder_has_the_logits_of_transformers() {
    let cases = Tensors::read(&pretrained("bart").join("cases"));
    let (ids, lengths) = (cases.ids("2.ids"), cases.ids("2.lengths"));
    let (targets, wanted) = (cases.ids("2.decoder_ids"), cases.floats("2.logits"));
    let source: Vec<&[i32]> = ids.chunks(9).zip(&lengths).map(|(row, len)| &row[..*len as usize]).collect();
    let targets: Vec<&[i32]> = targets.chunks(8).collect();
    let options = SessionOptions { max_batch: 3, max_logit_rows: 8, ..Default::default() };
    let mut session = Session::new(&model("bart"), &options).unwrap();
    let refused = |session: &mut Session, targets: &[&[i32]], names: &str| {
        let error = session.logits(targets).unwrap_err();
        assert!(error.status() == Status::InvalidArgument && error.message().contains(names), "{}", error);
    };
    refused(&mut session, &targets, "encode");
    let encoded = session.encode(&source).unwrap();
    assert!(encoded.embeddings.is_none() && encoded.logits.is_none());
    for (row, wanted) in cases.floats("2.hidden").chunks(9 * 36).enumerate() {
        let hidden = encoded.hidden[row].clone().into_vec();
        assert_eq!(hidden.len(), source[row].len() * 36);
        assert_close(&hidden, &wanted[..hidden.len()], 1e-3);
    }
    refused(&mut session, &targets[..2], "3 rows");
    refused(&mut session, &[&targets[0][..3], targets[1], targets[2]], "of one length");
    let found: Vec<f32> = session.logits(&targets).unwrap().into_iter().flat_map(Matrix::into_vec).collect();
    assert_close(&found, &wanted, 1e-3);
    let (greedy, wanted) = (session.generate(&source, &generation()).unwrap(), cases.ids("2.greedy"));
    for (found, wanted) in greedy.iter().zip(wanted.chunks(wanted.len() / 3)) {
        let count = found.ids.len();
        assert!(count >= 3 && found.ids == wanted[..count], "{:?}, {:?}", found, wanted);
    }
    // Another batch was encoded for the generation.
    refused(&mut session, &targets, "encode");
}

#[test]
fn attention_is_kept_where_it_is_asked_for() {
    let kinds = vec![AttentionKind::Encoder];
    let options = SessionOptions { max_source_len: 16, attention_weights: kinds, ..Default::default() };
    let mut session = Session::new(&model("bert"), &options).unwrap();
    let row = ids("bert", "A cat sat there.");
    session.encode(&[&row]).unwrap();
    let map = session.attention(AttentionKind::Encoder, 0, 0, row.len() as u32).unwrap();
    assert_eq!((map.queries, map.keys), (row.len(), row.len()));
    assert_eq!(map.values.len(), map.heads * map.queries * map.keys);
    let sums: Vec<f32> = map.values.chunks(map.keys).map(|weights| weights.iter().sum()).collect();
    assert_close(&sums, &vec![1f32; map.heads * map.queries], 1e-5);
    for (kind, layer) in [(AttentionKind::Decoder, 0), (AttentionKind::Encoder, 99)] {
        let error = session.attention(kind, layer, 0, row.len() as u32).unwrap_err();
        assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
    }
}

#[test]
fn transformer_is_pytorchs() {
    let case = golden("transformer/case_0084"); // one target: its mask leaves nothing out
    let transformer = NnTransformer {
        d_model: 33,
        num_heads: 3,
        num_encoder_layers: 3,
        num_decoder_layers: 4,
        dim_feedforward: 41,
        activation: Activation::Relu,
        norm_first: false,
        layer_norm_eps: 1e-12,
    };
    let weights = case.join("weights.safetensors");
    let model = Model::transformer(&context(), &transformer, weights, &ModelOptions::default()).unwrap();
    let mut session =
        Session::new(&model, &SessionOptions { max_source_len: 4, max_target_len: 1, ..Default::default() });
    let session = session.as_mut().unwrap();
    let (inputs, wanted) = (Tensors::read(&case.join("inputs")), Tensors::read(&case.join("expected")));
    let target = inputs.floats("tgt");
    assert!(session.decode_embedded(1, &target).unwrap_err().message().contains("encode"));
    assert_close(&session.encode_embedded(1, 4, &inputs.floats("src")).unwrap(), &wanted.floats("memory"), 1e-4);
    assert_close(&session.decode_embedded(1, &target).unwrap(), &wanted.floats("output"), 1e-4);
    assert!(session.encode(&[[1, 2]]).is_err());
}

#[test]
fn models_are_shared_and_sessions_change_threads() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Model>();
    sync::<Model>();
    send::<Session>();
    send::<vkformer::TokenStream<'_>>();
    let (prompts, wanted) = (rows("gpt2", "tokens"), rows("gpt2", "generated"));
    let model = Arc::new(model("gpt2"));
    let threads = (0..2).map(|i| {
        let (model, prompt) = (Arc::clone(&model), prompts[i].clone());
        thread::spawn(move || {
            let mut session = Session::new(&model, &SessionOptions { max_target_len: 48, ..Default::default() })?;
            drop(model);
            session.generate(&[prompt], &generation())
        })
    });
    let threads: Vec<_> = threads.collect();
    drop(model);
    for (thread, wanted) in threads.into_iter().zip(wanted) {
        assert_eq!(thread.join().unwrap().unwrap()[0].ids, wanted);
    }
}
