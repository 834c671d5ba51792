//! Generated text as an iterator.

use std::marker::PhantomData;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};

use crate::error::{Error, Result, Status};
use crate::generator::{lock, Continuation, Generation, Generator, Inner};

/// The parts of a continuation as they become known: see [`Generator::stream`]. An error is the last item.
pub struct TextStream<'a> {
    parts: Receiver<String>,
    thread: Option<JoinHandle<Result<Continuation>>>,
    end: Option<Result<Continuation>>,
    /// The error has been an item already.
    told: bool,
    cancelled: Arc<AtomicBool>,
    generator: PhantomData<&'a mut Generator>,
}

impl TextStream<'_> {
    pub(crate) fn new(generator: Arc<Mutex<Inner>>, prompt: String, generation: Generation) -> TextStream<'static> {
        let (sender, parts) = mpsc::channel();
        let cancelled = Arc::new(AtomicBool::new(false));
        let seen_there = Arc::clone(&cancelled);
        let thread = thread::Builder::new()
            .name("vkformer".to_string())
            .spawn(move || run(&generator, &prompt, &generation, &seen_there, &sender));
        let (thread, end) = match thread {
            Ok(thread) => (Some(thread), None),
            Err(error) => (None, Some(Err(no_thread(&error)))),
        };
        TextStream { parts, thread, end, told: false, cancelled, generator: PhantomData }
    }

    /// Ends the generation: no further part comes, and [`finish`](TextStream::finish) gives what there is. While the
    /// prompt is still running it gives an error, [`Status::Cancelled`].
    pub fn cancel(&self) {
        self.cancelled.store(true, Ordering::Relaxed);
    }

    /// The whole continuation. Waits for its end; parts that nobody has taken are dropped.
    pub fn finish(mut self) -> Result<Continuation> {
        self.join();
        self.end.take().unwrap_or_else(|| Ok(Continuation::default()))
    }

    /// A panic in the thread goes on here.
    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            match thread.join() {
                Ok(end) => self.end = Some(end),
                Err(panicked) => panic::resume_unwind(panicked),
            }
        }
    }
}

fn run(
    generator: &Mutex<Inner>,
    prompt: &str,
    generation: &Generation,
    cancelled: &AtomicBool,
    sender: &Sender<String>,
) -> Result<Continuation> {
    let mut on_text = |_, text: &str| sender.send(text.to_string()).is_ok();
    let mut done = lock(generator).generate(&[prompt], generation, cancelled, &mut on_text)?;
    Ok(done.pop().unwrap_or_default())
}

fn no_thread(error: &std::io::Error) -> Error {
    Error::new(Status::OutOfHostMemory, format!("no thread could be started for the generation: {}", error))
}

impl Iterator for TextStream<'_> {
    type Item = Result<String>;

    fn next(&mut self) -> Option<Result<String>> {
        if let Ok(part) = self.parts.recv() {
            return Some(Ok(part));
        }
        self.join();
        match &self.end {
            Some(Err(error)) if !self.told => {
                self.told = true;
                Some(Err(error.clone()))
            }
            _ => None,
        }
    }
}

impl Drop for TextStream<'_> {
    fn drop(&mut self) {
        self.cancel();
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Context, GeneratorOptions};

    #[test]
    fn stream_that_is_dropped_is_cancelled_and_cancelled_ones_end() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../../tests/pretrained/gpt2");
        let context = Context::builder().skip_self_test(true).build().unwrap();
        let mut generator = Generator::new(&context, directory, &GeneratorOptions::default()).unwrap();
        let stream = generator.stream("A cat sat there.", &Generation::default());
        let cancelled = Arc::clone(&stream.cancelled);
        assert!(!cancelled.load(Ordering::Relaxed));
        drop(stream);
        assert!(cancelled.load(Ordering::Relaxed));

        let mut on_text = |_, _: &str| -> bool { unreachable!("a part behind the end") };
        let mut inner = lock(generator.inner());
        let ended = inner.generate(&["A cat sat there."], &Generation::default(), &cancelled, &mut on_text);
        assert_eq!(ended.unwrap_err().status(), Status::Cancelled);
    }
}
