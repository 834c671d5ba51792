//! Errors, messages, panics and threads.

mod common;

use common::{context, pretrained};
use std::panic::{self, AssertUnwindSafe};
use std::sync::{Arc, Mutex};
use std::{fs, process};
use vkformer::{
    Attention, Cache, Context, Device, Embedder, Generation, Generator, GeneratorOptions, Layer, Severity, Status,
    Tensor, TextStream, Tokenizer,
};

#[test]
fn error_has_a_status_and_says_what_is_wrong() {
    let error = Tokenizer::load("/no/such/tokenizer.json").err().unwrap();
    assert_eq!(error.status(), Status::File);
    assert!(error.message().contains("/no/such/tokenizer.json"), "{}", error);
    let context = context();
    let error = Generator::new(&context, "/no/such/model", &GeneratorOptions::default()).err().unwrap();
    assert_eq!(error.status(), Status::File);
    assert!(error.to_string().contains("/no/such/model"), "{}", error);
    let error = Layer::attention(&context, &Attention::default()).err().unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    assert!(error.message().contains("embed_dim"), "{}", error);
}

#[test]
fn error_does_not_have_the_message_of_an_earlier_one() {
    let context = context();
    let tensor = Tensor::from_slice(&context, &[2], &[1f32, 2.0]).unwrap();
    let first = Tokenizer::load("/no/such/tokenizer.json").err().unwrap();
    let second = tensor.write(&[1f32]).unwrap_err();
    assert_ne!(first.message(), second.message());
    assert!(!second.message().is_empty());
}

#[test]
fn texts_with_zero_bytes_and_devices_that_are_not_there_are_errors() {
    let error = Tokenizer::load("a\0b").err().unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = Context::builder().mask("shader\0Float16").build().err().unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
    let error = Context::builder().device(Device::Name("no such device".into())).build().err().unwrap();
    assert_eq!(error.status(), Status::NoDevice);
    let error = Context::builder().variant("no such kernel").build().err().unwrap();
    assert_eq!(error.status(), Status::InvalidArgument);
}

#[test]
fn devices_are_those_that_contexts_have() {
    let devices = Context::devices().unwrap();
    let info = context().device_info();
    assert!(devices.iter().any(|device| device.name == info.name && device.uuid == info.uuid));
    assert!(info.device_memory_bytes > 0);
}

#[test]
fn handler_gets_the_messages_and_may_panic() {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&seen);
    let context = Context::builder().on_message(Severity::Error, move |severity, text| {
        sink.lock().unwrap().push((severity, text.to_string()));
        panic!("a handler that panics");
    });
    let context = context.build().unwrap();
    let error = Generator::new(&context, "/no/such/model", &GeneratorOptions::default()).err().unwrap();
    let seen = seen.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    assert_eq!(seen.as_slice(), [(Severity::Error, error.message().to_string())]);
}

#[test]
fn panic_of_a_callback_goes_on_behind_the_call() {
    let mut generator = Generator::new(&context(), pretrained("gpt2"), &GeneratorOptions::default()).unwrap();
    let generation = Generation { max_new_tokens: 12, ..Default::default() };
    let mut calls = 0;
    let panics = panic::catch_unwind(AssertUnwindSafe(|| {
        generator.generate_with(&["A cat sat there."], &generation, |_, _| {
            calls += 1;
            panic!("a callback that panics")
        })
    }));
    assert_eq!(*panics.unwrap_err().downcast::<&str>().unwrap(), "a callback that panics");
    assert_eq!(calls, 1);
    assert_eq!(generator.generate(&["A cat sat there."], &generation).unwrap()[0].ids.len(), 7);
}

/// Has nothing that helps, but notes the keys.
struct Noting(Arc<Mutex<Vec<String>>>);

impl Cache for Noting {
    fn load(&self, key: &str) -> Option<Vec<u8>> {
        self.0.lock().unwrap().push(format!("load {}", key));
        Some(b"no blob of the library's".to_vec())
    }

    fn save(&self, key: &str, data: &[u8]) {
        assert!(!data.is_empty());
        self.0.lock().unwrap().push(format!("save {}", key));
    }
}

#[test]
fn cache_is_asked_and_given_what_to_keep() {
    let keys = Arc::new(Mutex::new(Vec::new()));
    let context = Context::builder().cache(Noting(Arc::clone(&keys))).build().unwrap();
    context.save_cache().unwrap();
    let keys = keys.lock().unwrap();
    assert!(keys.iter().any(|key| key.starts_with("load ")) && keys.iter().any(|key| key.starts_with("save ")));
}

#[test]
fn a_directory_keeps_what_a_context_saves() {
    let directory = std::env::temp_dir().join(format!("vkformer-cache-{}", process::id()));
    let context = Context::builder().cache_directory(&directory).build().unwrap();
    context.save_cache().unwrap();
    assert!(fs::read_dir(&directory).unwrap().count() > 0);
    fs::remove_dir_all(&directory).unwrap();
}

#[test]
fn types_may_change_threads_and_be_shared_as_the_headers_say() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Context>();
    sync::<Context>();
    send::<Tensor>();
    sync::<Tensor>();
    send::<Tokenizer>();
    sync::<Tokenizer>();
    send::<Layer>();
    send::<Embedder>();
    send::<Generator>();
    send::<TextStream<'_>>();
}
