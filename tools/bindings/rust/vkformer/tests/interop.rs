//! Programs with a device, buffers, semaphores and command buffers of their own.

mod common;
#[path = "../examples/own_device/vk.rs"]
mod vk;

use common::{assert_close, context, pretrained, random};
use std::panic::{self, AssertUnwindSafe};
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread;
use std::time::Duration;
use vk::{Program, USAGE};
use vkformer::vulkan::{ExternalDevice, QueueLock, SemaphoreValue, Semaphores, VkBuffer, WrappedBuffer};
use vkformer::{
    Buffer, Context, ContextBuilder, Dtype, FeedForwardWeights, Layer, MemoryKind, Model, ModelOptions, Port, Session,
    SessionData, SessionOptions, Sizes, Status, Tensor, TransformerLayer,
};

const DIM: u32 = 32;
const SIZES: Sizes = Sizes { batch: 2, query_len: 5, key_len: 5 };
const COUNT: usize = 2 * 5 * DIM as usize;
/// Who waits longer for a turn would wait for ever.
const SOON: Duration = Duration::from_secs(20);

fn builder() -> ContextBuilder {
    Context::builder().cache_directory(env!("CARGO_TARGET_TMPDIR")).external_memory(true)
}

fn wrap(context: &Context, buffer: VkBuffer) -> Tensor {
    let range = WrappedBuffer { buffer, usage: USAGE, offset_bytes: 0, size_bytes: COUNT as u64 * 4 };
    // SAFETY: the program destroys the buffer when the test is over.
    let buffer = unsafe { Buffer::wrap(context, &range).unwrap() };
    buffer.tensor(0, Dtype::F32, &[2, 5, DIM]).unwrap()
}

/// An encoder layer of drawn weights.
fn layer(context: &Context, ports: &[(Port, &Tensor)], frames_in_flight: u32) -> Layer {
    let draw = |seed, rows, cols| {
        let values = random(seed, (rows * cols) as usize);
        Tensor::from_slice(context, &[rows, cols], &values).unwrap()
    };
    let weights: Vec<Tensor> = (0..4).map(|seed| draw(seed, DIM, DIM)).collect();
    let (first, second) = (draw(5, 48, DIM), draw(6, DIM, 48));
    let mut desc = TransformerLayer { d_model: DIM, num_heads: 4, dim_feedforward: 48, ..Default::default() };
    let params = &mut desc.self_attention;
    let slots = [&mut params.q_weight, &mut params.k_weight, &mut params.v_weight, &mut params.out_weight];
    for (slot, weight) in slots.into_iter().zip(&weights) {
        *slot = Some(weight);
    }
    desc.feed_forward = FeedForwardWeights { weight1: Some(&first), weight2: Some(&second), ..Default::default() };
    desc.max_sizes = SIZES;
    desc.ports = ports;
    desc.frames_in_flight = frames_in_flight;
    Layer::encoder(context, &desc).unwrap()
}

/// What a layer without any of this makes of an input.
fn expected(input: &[f32], sizes: Sizes) -> Vec<f32> {
    let mut layer = layer(&context(), &[], 0);
    let mut output = vec![0f32; input.len()];
    layer.write(Port::Query, input).unwrap();
    layer.run(sizes).unwrap();
    layer.read(Port::Output, &mut output).unwrap();
    output
}

#[test]
fn layer_in_a_command_buffer_of_the_program_uses_its_buffers() {
    let mut program = Program::new(&builder);
    let (input, output) = (program.buffer(COUNT), program.buffer(COUNT));
    let context = program.context(&builder).unwrap();
    let (query, result) = (wrap(&context, input), wrap(&context, output));
    let mut layer = layer(&context, &[(Port::Query, &query), (Port::Output, &result)], 2);
    let record = |frame| program.commands(|commands| unsafe { layer.record(frame, commands).unwrap() });
    let recorded: Vec<_> = (0..2).map(record).collect();
    for (frame, sizes) in [(0, SIZES), (1, Sizes::new(1, 3)), (0, Sizes::new(2, 1))] {
        let values = random(7 + u64::from(sizes.query_len), (sizes.batch * sizes.query_len * DIM) as usize);
        program.floats(input)[..values.len()].copy_from_slice(&values);
        layer.set_sizes(frame, sizes).unwrap();
        program.run(&context, recorded[frame as usize]);
        assert_close(&program.floats(output)[..values.len()], &expected(&values, sizes), 1e-5);
    }
    // The host's own way to a wrapped buffer, and where it lies.
    assert_eq!(result.read::<f32>().unwrap(), program.floats(output));
    assert_eq!(query.buffer().vulkan().buffer, input);
    assert_eq!(layer.port_vulkan(Port::Output).unwrap().buffer, output);
    assert!(layer.port_vulkan(Port::Mask).is_none());
    let error = layer.set_sizes(2, SIZES).unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
}

#[test]
fn ports_that_layers_share_carry_one_result_to_the_next_layer() {
    let context = context();
    let between = Tensor::zeros(&context, Dtype::F32, &[2, 5, DIM]).unwrap();
    let mut first = layer(&context, &[(Port::Output, &between)], 0);
    let mut second = layer(&context, &[(Port::Query, &between)], 0);
    let values = random(11, COUNT);
    first.write(Port::Query, &values).unwrap();
    first.run(SIZES).unwrap();
    let middle = expected(&values, SIZES);
    assert_close(&between.read::<f32>().unwrap(), &middle, 1e-5);
    second.run(SIZES).unwrap();
    let mut found = vec![0f32; COUNT];
    second.read(Port::Output, &mut found).unwrap();
    assert_close(&found, &expected(&middle, SIZES), 1e-5);
}

fn at(semaphore: u64, value: u64) -> SemaphoreValue {
    SemaphoreValue { semaphore, value }
}

#[test]
fn runs_begin_and_end_with_semaphores() {
    let mut program = Program::new(&builder);
    let (before, after) = (program.timeline(), program.timeline());
    let context = program.context(&builder).unwrap();
    let mut layer = layer(&context, &[], 2);
    let values = random(3, COUNT);
    layer.write(Port::Query, &values).unwrap();
    let semaphores = Semaphores { waits: &[at(before, 1)], signals: &[at(after, 5)] };
    // SAFETY: the semaphores are the program's, and the layer's ports its own.
    unsafe {
        layer.submit(0, SIZES, semaphores).unwrap();
        layer.submit(1, SIZES, Semaphores::default()).unwrap();
    }
    thread::sleep(Duration::from_millis(100));
    assert!(!layer.ended(0).unwrap() && program.value(after) == 0);
    program.signal(before, 1);
    layer.wait(0).unwrap();
    program.reaches(after, 5);
    let mut output = vec![0f32; COUNT];
    layer.read(Port::Output, &mut output).unwrap();
    assert!(layer.ended(1).unwrap());
    assert_close(&output, &expected(&values, SIZES), 1e-5);

    let many = vec![at(before, 1); 17];
    let error = unsafe { layer.submit(0, SIZES, Semaphores { waits: &many, signals: &[] }).unwrap_err() };
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
    let error = unsafe { layer.submit(2, SIZES, Semaphores::default()).unwrap_err() };
    assert!(error.message().contains("frame"), "{}", error);
}

fn session(context: &Context, name: &str) -> Session {
    let model = Model::load(context, pretrained(name), &ModelOptions::default()).unwrap();
    let options = SessionOptions { max_batch: 2, max_source_len: 12, max_target_len: 24, ..Default::default() };
    Session::new(&model, &options).unwrap()
}

/// The first numbers of what a session has on the device.
fn read(session: &mut Session, data: SessionData, count: usize) -> Vec<f32> {
    let mut values = vec![0f32; count];
    session.data(data).unwrap().read(&mut values).unwrap();
    values
}

const ROWS: [&[i32]; 2] = [&[2, 9, 12, 7, 30, 3], &[2, 8, 3]];

#[test]
fn encoder_runs_between_submissions_of_the_program() {
    let mut program = Program::new(&builder);
    let (before, after) = (program.timeline(), program.timeline());
    let context = program.context(&builder).unwrap();
    let mut session = session(&context, "bert");
    let wanted = session.encode(&ROWS).unwrap().embeddings.unwrap().into_vec();
    let others = session.encode(&[ROWS[1], ROWS[0]]).unwrap().embeddings.unwrap().into_vec();
    assert!(wanted != others);
    let semaphores = Semaphores { waits: &[at(before, 1)], signals: &[at(after, 1)] };
    // SAFETY: the semaphores are the program's.
    unsafe { session.submit_encode(&ROWS, semaphores).unwrap() };
    assert!(!session.ended().unwrap());
    program.signal(before, 1);
    session.wait().unwrap();
    assert!(session.ended().unwrap());
    program.reaches(after, 1);
    assert_eq!(read(&mut session, SessionData::Embeddings, wanted.len()), wanted);

    // The same ids, which the last run left on the device.
    session.encode(&[ROWS[1], ROWS[0]]).unwrap();
    unsafe { session.submit_encode_from_device(6, &[3, 6], Semaphores::default()).unwrap() };
    assert_eq!(read(&mut session, SessionData::Embeddings, wanted.len()), others);
    let tensor = session.data(SessionData::Embeddings).unwrap();
    assert!(tensor.vulkan().buffer != 0 && tensor.shape()[0] == 2 && tensor.dtype() == Dtype::F32);

    let commands = program.commands(|commands| unsafe { session.record_encode(commands).unwrap() });
    for (rows, wanted) in [(ROWS, &wanted), ([ROWS[1], ROWS[0]], &others)] {
        unsafe { session.prepare_encode(&rows).unwrap() };
        program.run(&context, commands);
        // The recording is for the largest sizes, whose kernels may be others.
        assert_close(&read(&mut session, SessionData::Embeddings, wanted.len()), wanted, 1e-5);
    }
    let error = unsafe { session.submit_step(&[Some(1)], Semaphores::default()).unwrap_err() };
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
}

#[test]
fn decoder_steps_between_submissions_of_the_program() {
    let mut program = Program::new(&builder);
    let after = program.timeline();
    let context = program.context(&builder).unwrap();
    let mut session = session(&context, "gpt2");
    let mut plain = self::session(&context, "gpt2");
    // SAFETY: the semaphores here and below are the program's, and what is prepared is submitted once.
    unsafe { session.submit_prefill(&ROWS, Semaphores::default()).unwrap() };
    let wanted = plain.prefill(&ROWS).unwrap().into_vec();
    assert_close(&read(&mut session, SessionData::Logits, wanted.len()), &wanted, 1e-5);
    let steps = [[Some(4), Some(5)], [Some(7), None], [Some(9), Some(11)]];
    for (i, ids) in steps.iter().enumerate() {
        let wanted = plain.step(ids).unwrap();
        let signals = [at(after, i as u64 + 1)];
        unsafe { session.submit_step(ids, Semaphores { waits: &[], signals: &signals }).unwrap() };
        assert_eq!(session.tokens(0), plain.tokens(0));
        session.wait().unwrap();
        program.reaches(after, i as u64 + 1);
        let found = read(&mut session, SessionData::Logits, wanted.dim());
        assert_close(&found, wanted.get(0).unwrap(), 1e-5);
    }
    let commands = program.commands(|commands| unsafe { session.record_step(commands).unwrap() });
    for ids in [[Some(3), Some(2)], [Some(8), Some(6)]] {
        let wanted = plain.step(&ids).unwrap().into_vec();
        unsafe { session.prepare_step(&ids).unwrap() };
        program.run(&context, commands);
        assert_close(&read(&mut session, SessionData::Logits, wanted.len()), &wanted, 1e-5);
    }
}

/// Counts who is in, and says if there are two.
struct Counting {
    inside: AtomicI32,
    taken: AtomicI32,
}

struct Turn(Arc<Counting>, Mutex<bool>, Condvar);

impl QueueLock for Turn {
    fn lock(&self) {
        let mut taken = self.1.lock().unwrap();
        while *taken {
            taken = self.2.wait_timeout(taken, SOON).unwrap().0;
        }
        *taken = true;
        assert_eq!(self.0.inside.fetch_add(1, Ordering::SeqCst), 0);
        self.0.taken.fetch_add(1, Ordering::SeqCst);
    }

    fn unlock(&self) {
        assert_eq!(self.0.inside.fetch_sub(1, Ordering::SeqCst), 1);
        *self.1.lock().unwrap() = false;
        self.2.notify_one();
    }
}

#[test]
fn queue_belongs_to_one_at_a_time() {
    let mut program = Program::new(&builder);
    let counting = Arc::new(Counting { inside: AtomicI32::new(0), taken: AtomicI32::new(0) });
    let turn = Turn(Arc::clone(&counting), Mutex::new(false), Condvar::new());
    program.external = program.external.clone().queue_lock(turn);
    let context = program.context(&builder).unwrap();
    let mut layer = layer(&context, &[], 0);
    let taken = || counting.taken.load(Ordering::SeqCst);
    let before = taken();
    layer.run(SIZES).unwrap();
    assert!(taken() > before && counting.inside.load(Ordering::SeqCst) == 0);

    let guard = context.lock_queue();
    assert_eq!(counting.inside.load(Ordering::SeqCst), 1);
    let taken_before = taken();
    thread::scope(|scope| {
        let running = scope.spawn(|| layer.run(SIZES));
        thread::sleep(Duration::from_millis(100));
        assert!(!running.is_finished() && taken() == taken_before);
        drop(guard);
        running.join().unwrap().unwrap();
    });
    assert!(taken() > taken_before && counting.inside.load(Ordering::SeqCst) == 0);

    let panics = panic::catch_unwind(AssertUnwindSafe(|| {
        let _guard = context.lock_queue();
        panic!("a panic at the queue");
    }));
    assert!(panics.is_err() && counting.inside.load(Ordering::SeqCst) == 0);
}

#[test]
fn context_tells_its_handles_and_others_may_be_made_on_them() {
    let context = context();
    let handles = context.vulkan();
    assert!(!handles.device.is_null() && !handles.queue.is_null() && handles.get_instance_proc_addr.is_some());
    let mut external = ExternalDevice::new(handles.instance, handles.physical_device, handles.api_version);
    let error = unsafe { builder().external_device(external.clone()).build().err().unwrap() };
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
    external.device = handles.device;
    external.queue = handles.queue;
    external.queue_family_index = handles.queue_family_index;
    // SAFETY: the handles live as long as the other context, and nobody else uses the queue in this test.
    let second = unsafe { Context::builder().external_device(external).build().unwrap() };
    assert_eq!(second.vulkan().queue, handles.queue);
    let tensor = Tensor::from_slice(&second, &[3], &[1f32, 2.0, 3.0]).unwrap();
    assert_eq!(tensor.read::<f32>().unwrap(), [1.0, 2.0, 3.0]);
}

#[test]
fn wrapped_ranges_have_to_fit() {
    let mut program = Program::new(&builder);
    let buffer = program.buffer(COUNT);
    let context = program.context(&builder).unwrap();
    let whole = WrappedBuffer { buffer, usage: USAGE, offset_bytes: 0, size_bytes: 64 };
    for (range, names) in [
        (WrappedBuffer { offset_bytes: 8, ..whole }, "16"),
        (WrappedBuffer { size_bytes: 20, ..whole }, "16"),
        (WrappedBuffer { usage: 2, ..whole }, "STORAGE"),
        (WrappedBuffer { buffer: 0, ..whole }, ""),
    ] {
        let error = unsafe { Buffer::wrap(&context, &range).err().unwrap() };
        assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
        assert!(error.message().to_uppercase().contains(names), "{}", error);
    }
    let part = unsafe { Buffer::wrap(&context, &WrappedBuffer { offset_bytes: 32, ..whole }).unwrap() };
    assert_eq!((part.size_bytes(), part.vulkan().offset_bytes), (64, 32));
}

/// A device need not share memory in all ways.
fn is_offered<T>(asked: vkformer::Result<T>) -> Option<T> {
    match asked {
        Err(error) if error.status() == Status::Unsupported => {
            println!("skipped: {}", error);
            assert!(!error.message().is_empty());
            None
        }
        given => Some(given.unwrap()),
    }
}

#[cfg(unix)]
#[test]
fn memory_is_shared_by_descriptors() {
    let (first, second) = (builder().build().unwrap(), builder().build().unwrap());
    let mut shared = 0;
    for kind in [MemoryKind::OpaqueFd, MemoryKind::DmaBuf] {
        let exported = match is_offered(Buffer::exportable(&first, kind, 4096)) {
            Some(buffer) => buffer,
            None => continue,
        };
        let memory = exported.export().unwrap();
        assert_eq!((memory.kind, memory.buffer_bytes), (kind, 4096));
        // SAFETY: it is what was just exported, and only one of the two is used at a time.
        let imported = unsafe { Buffer::import(&second, memory).unwrap() };
        let values = random(4, 1024);
        exported.tensor(0, Dtype::F32, &[1024]).unwrap().write(&values).unwrap();
        assert_eq!(imported.tensor(0, Dtype::F32, &[1024]).unwrap().read::<f32>().unwrap(), values);
        shared += 1;
    }
    assert!(shared > 0 || !cfg!(target_os = "linux"), "Linux's drivers share memory as opaque descriptors");
    let error = Buffer::new(&first, 64).unwrap().export().unwrap_err();
    assert_eq!(error.status(), Status::InvalidArgument, "{}", error);
}

#[test]
fn memory_of_the_host_is_a_buffer() {
    #[repr(align(65536))]
    struct Page([f32; 16384]);
    let mut page = Box::new(Page([0.5; 16384]));
    let pointer = page.0.as_mut_ptr();
    let context = builder().build().unwrap();
    // SAFETY: the page lives longer than the buffer, and is not touched meanwhile.
    if let Some(buffer) = is_offered(unsafe { Buffer::import_host(&context, pointer.cast(), 65536) }) {
        let tensor = buffer.tensor(0, Dtype::F32, &[16384]).unwrap();
        assert_eq!(tensor.read::<f32>().unwrap(), [0.5f32; 16384]);
        tensor.write(&random(9, 16384)).unwrap();
        drop((tensor, buffer));
        assert_eq!(page.0[..], random(9, 16384));
    }
    let error = unsafe { Buffer::import_host(&context, pointer.wrapping_add(1).cast(), 65536).err().unwrap() };
    assert!([Status::InvalidArgument, Status::Unsupported].contains(&error.status()), "{}", error);
}

#[test]
fn types_may_change_threads_as_the_headers_say() {
    fn send<T: Send>() {}
    fn sync<T: Sync>() {}
    send::<Buffer>();
    sync::<Buffer>();
    send::<ExternalDevice>();
    send::<ContextBuilder>();
    send::<vkformer::vulkan::DeviceSetup>();
}
