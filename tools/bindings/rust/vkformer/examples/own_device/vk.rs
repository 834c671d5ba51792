//! A program with a Vulkan device of its own: as much of Vulkan as the example and the tests take, so that these crates
//! need no others. Yours has ash, vulkano or the like.
#![allow(dead_code, non_snake_case)]

use std::ffi::{c_void, CStr};
use std::os::raw::c_char;
use std::ptr;

use vkformer::vulkan::{
    DeviceSetup, ExternalDevice, VkBuffer, VkCommandBuffer, VkDevice, VkInstance, VkPhysicalDevice, VkQueue,
    VkSemaphore,
};
use vkformer::{Context, ContextBuilder};

const API_VERSION: u32 = 1 << 22 | 2 << 12;
/// How buffers are used.
pub const USAGE: u32 = 0x20 | 0x1 | 0x2;
const HOST_VISIBLE_AND_COHERENT: u32 = 0x2 | 0x4;

#[repr(C)]
struct ApplicationInfo {
    kind: i32,
    next: *const c_void,
    name: *const c_char,
    version: u32,
    engine: *const c_char,
    engine_version: u32,
    api_version: u32,
}

#[repr(C)]
struct InstanceCreateInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    application: *const ApplicationInfo,
    layer_count: u32,
    layers: *const *const c_char,
    extension_count: u32,
    extensions: *const *const c_char,
}

#[repr(C)]
struct DeviceQueueCreateInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    family: u32,
    count: u32,
    priorities: *const f32,
}

#[repr(C)]
struct DeviceCreateInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    queue_count: u32,
    queues: *const DeviceQueueCreateInfo,
    layer_count: u32,
    layers: *const *const c_char,
    extension_count: u32,
    extensions: *const *const c_char,
    features: *const c_void,
}

/// VkPhysicalDeviceTimelineSemaphoreFeatures.
#[repr(C)]
struct TimelineFeatures {
    kind: i32,
    next: *mut c_void,
    timeline: u32,
}

#[repr(C)]
struct BufferCreateInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    size: u64,
    usage: u32,
    sharing: i32,
    family_count: u32,
    families: *const u32,
}

#[repr(C)]
#[derive(Default)]
struct MemoryRequirements {
    size: u64,
    alignment: u64,
    types: u32,
}

/// Types as (properties, heap), and heaps.
#[repr(C)]
#[derive(Default)]
struct MemoryProperties {
    type_count: u32,
    types: [[u32; 2]; 32],
    heap_count: u32,
    heaps: [[u64; 2]; 16],
}

#[repr(C)]
struct MemoryAllocateInfo {
    kind: i32,
    next: *const c_void,
    size: u64,
    memory_type: u32,
}

#[repr(C)]
struct CommandPoolCreateInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    family: u32,
}

#[repr(C)]
struct CommandBufferAllocateInfo {
    kind: i32,
    next: *const c_void,
    pool: u64,
    level: i32,
    count: u32,
}

#[repr(C)]
struct CommandBufferBeginInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    inheritance: *const c_void,
}

#[repr(C)]
struct SubmitInfo {
    kind: i32,
    next: *const c_void,
    wait_count: u32,
    waits: *const VkSemaphore,
    wait_stages: *const u32,
    command_buffer_count: u32,
    command_buffers: *const VkCommandBuffer,
    signal_count: u32,
    signals: *const VkSemaphore,
}

/// VkSemaphoreCreateInfo and VkSemaphoreTypeCreateInfo have these in common; `flags` is the type there.
#[repr(C)]
struct SemaphoreInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    value: u64,
}

#[link(name = "vulkan")]
extern "system" {
    fn vkCreateInstance(info: *const InstanceCreateInfo, allocator: *const c_void, out: *mut VkInstance) -> i32;
    fn vkDestroyInstance(instance: VkInstance, allocator: *const c_void);
    fn vkEnumeratePhysicalDevices(instance: VkInstance, count: *mut u32, out: *mut VkPhysicalDevice) -> i32;
    fn vkGetPhysicalDeviceMemoryProperties(device: VkPhysicalDevice, out: *mut MemoryProperties);
    fn vkCreateDevice(
        device: VkPhysicalDevice,
        info: *const DeviceCreateInfo,
        allocator: *const c_void,
        out: *mut VkDevice,
    ) -> i32;
    fn vkDestroyDevice(device: VkDevice, allocator: *const c_void);
    fn vkGetDeviceQueue(device: VkDevice, family: u32, index: u32, out: *mut VkQueue);
    fn vkCreateBuffer(
        device: VkDevice,
        info: *const BufferCreateInfo,
        allocator: *const c_void,
        out: *mut VkBuffer,
    ) -> i32;
    fn vkDestroyBuffer(device: VkDevice, buffer: VkBuffer, allocator: *const c_void);
    fn vkGetBufferMemoryRequirements(device: VkDevice, buffer: VkBuffer, out: *mut MemoryRequirements);
    fn vkAllocateMemory(
        device: VkDevice,
        info: *const MemoryAllocateInfo,
        allocator: *const c_void,
        out: *mut u64,
    ) -> i32;
    fn vkFreeMemory(device: VkDevice, memory: u64, allocator: *const c_void);
    fn vkBindBufferMemory(device: VkDevice, buffer: VkBuffer, memory: u64, offset: u64) -> i32;
    fn vkMapMemory(device: VkDevice, memory: u64, offset: u64, size: u64, flags: u32, out: *mut *mut c_void) -> i32;
    fn vkCreateCommandPool(
        device: VkDevice,
        info: *const CommandPoolCreateInfo,
        allocator: *const c_void,
        out: *mut u64,
    ) -> i32;
    fn vkDestroyCommandPool(device: VkDevice, pool: u64, allocator: *const c_void);
    fn vkAllocateCommandBuffers(
        device: VkDevice,
        info: *const CommandBufferAllocateInfo,
        out: *mut VkCommandBuffer,
    ) -> i32;
    fn vkBeginCommandBuffer(commands: VkCommandBuffer, info: *const CommandBufferBeginInfo) -> i32;
    fn vkEndCommandBuffer(commands: VkCommandBuffer) -> i32;
    fn vkQueueSubmit(queue: VkQueue, count: u32, info: *const SubmitInfo, fence: u64) -> i32;
    fn vkQueueWaitIdle(queue: VkQueue) -> i32;
    fn vkCreateSemaphore(
        device: VkDevice,
        info: *const SemaphoreInfo,
        allocator: *const c_void,
        out: *mut VkSemaphore,
    ) -> i32;
    fn vkDestroySemaphore(device: VkDevice, semaphore: VkSemaphore, allocator: *const c_void);
    fn vkGetSemaphoreCounterValue(device: VkDevice, semaphore: VkSemaphore, out: *mut u64) -> i32;
    fn vkWaitSemaphores(device: VkDevice, info: *const SemaphoreWaitInfo, timeout_ns: u64) -> i32;
    fn vkSignalSemaphore(device: VkDevice, info: *const SignalInfo) -> i32;
}

#[repr(C)]
struct SignalInfo {
    kind: i32,
    next: *const c_void,
    semaphore: VkSemaphore,
    value: u64,
}

#[repr(C)]
struct SemaphoreWaitInfo {
    kind: i32,
    next: *const c_void,
    flags: u32,
    count: u32,
    semaphores: *const VkSemaphore,
    values: *const u64,
}

fn must(result: i32) {
    assert_eq!(result, 0, "a function of Vulkan's failed");
}

/// A buffer whose memory the program sees.
struct Mapped {
    buffer: VkBuffer,
    memory: u64,
    floats: *mut f32,
    count: usize,
}

/// Instance, device, queue and a pool for command buffers.
pub struct Program {
    pub external: ExternalDevice,
    pool: u64,
    mapped: Vec<Mapped>,
    semaphores: Vec<VkSemaphore>,
}

impl Program {
    /// On the system's first device, with what `builder` makes a context with.
    pub fn new(builder: &dyn Fn() -> ContextBuilder) -> Program {
        let (instance, physical_device) = unsafe { make_instance() };
        let mut external = ExternalDevice::new(instance, physical_device, API_VERSION);
        // SAFETY: the instance lives as long as the program.
        let setup = unsafe { builder().external_device(external.clone()).device_setup() };
        let mut setup: DeviceSetup = setup.expect("a device that the library can use");
        external.queue_family_index = setup.queue_family();
        unsafe {
            external.device = make_device(physical_device, &mut setup);
            vkGetDeviceQueue(external.device, external.queue_family_index, 0, &mut external.queue);
        }
        let names: Vec<&CStr> = setup.extensions();
        external = names.into_iter().fold(external, ExternalDevice::extension);
        let info = CommandPoolCreateInfo { kind: 39, next: ptr::null(), flags: 0, family: external.queue_family_index };
        let mut pool = 0;
        must(unsafe { vkCreateCommandPool(external.device, &info, ptr::null(), &mut pool) });
        Program { external, pool, mapped: Vec::new(), semaphores: Vec::new() }
    }

    /// A context on the program's device, which has to go before the program does.
    pub fn context(&self, builder: &dyn Fn() -> ContextBuilder) -> vkformer::Result<Context> {
        let mut external = self.external.clone();
        // SAFETY: the device was made with what the setup of such a context asks for, and outlives it.
        unsafe {
            let setup = builder().external_device(external.clone()).device_setup()?;
            external.features = setup.features();
            builder().external_device(external).build()
        }
    }

    pub fn buffer(&mut self, count: usize) -> VkBuffer {
        let (device, size) = (self.external.device, count as u64 * 4);
        let info = BufferCreateInfo {
            kind: 12,
            next: ptr::null(),
            flags: 0,
            size,
            usage: USAGE,
            sharing: 0,
            family_count: 0,
            families: ptr::null(),
        };
        let (mut buffer, mut memory, mut floats) = (0, 0, ptr::null_mut());
        let (mut wanted, mut offered) = (MemoryRequirements::default(), MemoryProperties::default());
        unsafe {
            must(vkCreateBuffer(device, &info, ptr::null(), &mut buffer));
            vkGetBufferMemoryRequirements(device, buffer, &mut wanted);
            vkGetPhysicalDeviceMemoryProperties(self.external.physical_device, &mut offered);
            let suits = |i: &u32| {
                let properties = offered.types[*i as usize][0] & HOST_VISIBLE_AND_COHERENT;
                wanted.types >> i & 1 == 1 && properties == HOST_VISIBLE_AND_COHERENT
            };
            let memory_type = (0..offered.type_count).find(suits).expect("memory that the host sees");
            let info = MemoryAllocateInfo { kind: 5, next: ptr::null(), size: wanted.size, memory_type };
            must(vkAllocateMemory(device, &info, ptr::null(), &mut memory));
            must(vkBindBufferMemory(device, buffer, memory, 0));
            must(vkMapMemory(device, memory, 0, wanted.size, 0, &mut floats));
        }
        self.mapped.push(Mapped { buffer, memory, floats: floats.cast(), count });
        buffer
    }

    /// What is in a buffer of the program's. Nobody else is at it meanwhile.
    pub fn floats(&mut self, buffer: VkBuffer) -> &mut [f32] {
        let mapped = self.mapped.iter().find(|mapped| mapped.buffer == buffer).expect("a buffer of the program's");
        // SAFETY: the memory has so many elements, and stays mapped as long as the program lives.
        unsafe { std::slice::from_raw_parts_mut(mapped.floats, mapped.count) }
    }

    /// A command buffer of what `record` records.
    pub fn commands(&self, record: impl FnOnce(VkCommandBuffer)) -> VkCommandBuffer {
        let info = CommandBufferAllocateInfo { kind: 40, next: ptr::null(), pool: self.pool, level: 0, count: 1 };
        let begin = CommandBufferBeginInfo { kind: 42, next: ptr::null(), flags: 0, inheritance: ptr::null() };
        let mut commands = ptr::null_mut();
        unsafe {
            must(vkAllocateCommandBuffers(self.external.device, &info, &mut commands));
            must(vkBeginCommandBuffer(commands, &begin));
            record(commands);
            must(vkEndCommandBuffer(commands));
        }
        commands
    }

    /// Submits a command buffer and waits for its end, while nobody else is at the queue.
    pub fn run(&self, context: &Context, commands: VkCommandBuffer) {
        let info = SubmitInfo {
            kind: 4,
            next: ptr::null(),
            wait_count: 0,
            waits: ptr::null(),
            wait_stages: ptr::null(),
            command_buffer_count: 1,
            command_buffers: &commands,
            signal_count: 0,
            signals: ptr::null(),
        };
        let _guard = context.lock_queue();
        unsafe {
            must(vkQueueSubmit(self.external.queue, 1, &info, 0));
            must(vkQueueWaitIdle(self.external.queue));
        }
    }

    /// A timeline semaphore at 0.
    pub fn timeline(&mut self) -> VkSemaphore {
        let kind = SemaphoreInfo { kind: 1000207002, next: ptr::null(), flags: 1, value: 0 };
        let next = &kind as *const SemaphoreInfo as *const c_void;
        let info = SemaphoreInfo { kind: 9, next, flags: 0, value: 0 };
        let mut semaphore = 0;
        must(unsafe { vkCreateSemaphore(self.external.device, &info, ptr::null(), &mut semaphore) });
        self.semaphores.push(semaphore);
        semaphore
    }

    pub fn value(&self, semaphore: VkSemaphore) -> u64 {
        let mut value = 0;
        must(unsafe { vkGetSemaphoreCounterValue(self.external.device, semaphore, &mut value) });
        value
    }

    /// Waits until the semaphore has the value: a driver may tell of the end of a run before it signals.
    pub fn reaches(&self, semaphore: VkSemaphore, value: u64) {
        let info = SemaphoreWaitInfo {
            kind: 1000207004,
            next: ptr::null(),
            flags: 0,
            count: 1,
            semaphores: &semaphore,
            values: &value,
        };
        must(unsafe { vkWaitSemaphores(self.external.device, &info, 20_000_000_000) });
    }

    pub fn signal(&self, semaphore: VkSemaphore, value: u64) {
        let info = SignalInfo { kind: 1000207005, next: ptr::null(), semaphore, value };
        must(unsafe { vkSignalSemaphore(self.external.device, &info) });
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let device = self.external.device;
        // SAFETY: contexts on the device are gone, and so is all that used these.
        unsafe {
            for mapped in &self.mapped {
                vkDestroyBuffer(device, mapped.buffer, ptr::null());
                vkFreeMemory(device, mapped.memory, ptr::null());
            }
            for semaphore in &self.semaphores {
                vkDestroySemaphore(device, *semaphore, ptr::null());
            }
            vkDestroyCommandPool(device, self.pool, ptr::null());
            vkDestroyDevice(device, ptr::null());
            vkDestroyInstance(self.external.instance, ptr::null());
        }
    }
}

unsafe fn make_instance() -> (VkInstance, VkPhysicalDevice) {
    let application = ApplicationInfo {
        kind: 0,
        next: ptr::null(),
        name: ptr::null(),
        version: 0,
        engine: ptr::null(),
        engine_version: 0,
        api_version: API_VERSION,
    };
    let info = InstanceCreateInfo {
        kind: 1,
        next: ptr::null(),
        flags: 0,
        application: &application,
        layer_count: 0,
        layers: ptr::null(),
        extension_count: 0,
        extensions: ptr::null(),
    };
    let (mut instance, mut device, mut count) = (ptr::null_mut(), ptr::null_mut(), 1);
    must(vkCreateInstance(&info, ptr::null(), &mut instance));
    let found = vkEnumeratePhysicalDevices(instance, &mut count, &mut device);
    assert!(found >= 0 && count == 1, "there is no Vulkan device");
    (instance, device)
}

/// With a queue of the program's choice, timeline semaphores, and what the setup adds.
unsafe fn make_device(physical_device: VkPhysicalDevice, setup: &mut DeviceSetup) -> VkDevice {
    let priority = 1f32;
    let queue = DeviceQueueCreateInfo {
        kind: 2,
        next: ptr::null(),
        flags: 0,
        family: setup.queue_family(),
        count: 1,
        priorities: &priority,
    };
    let mut timeline = TimelineFeatures { kind: 1000207000, next: ptr::null_mut(), timeline: 1 };
    let mut info = DeviceCreateInfo {
        kind: 3,
        next: &mut timeline as *mut TimelineFeatures as *const c_void,
        flags: 0,
        queue_count: 1,
        queues: &queue,
        layer_count: 0,
        layers: ptr::null(),
        extension_count: 0,
        extensions: ptr::null(),
        features: ptr::null(),
    };
    setup.fill((&mut info as *mut DeviceCreateInfo).cast()).expect("a device's features and extensions");
    let mut device = ptr::null_mut();
    must(vkCreateDevice(physical_device, &info, ptr::null(), &mut device));
    device
}
