//! Contexts: a Vulkan device with its kernels, memory and caches.

use std::ffi::{CStr, CString};
use std::os::raw::c_char;
use std::path::PathBuf;
use std::ptr;
use std::sync::Arc;

use crate::c_enum::c_enum;
use crate::cache::{self, Cache};
use crate::error::{callback, check, check_version, count, Handler, Result, Severity};
use crate::text::{c_path, c_string};
use crate::vulkan::{DeviceSetup, ExternalDevice, QueueLock};
use vkformer_sys as sys;

c_enum! {
    #[derive(Default)]
    DeviceType: vkf_device_type {
        #[default]
        Other = VKF_DEVICE_TYPE_OTHER,
        Integrated = VKF_DEVICE_TYPE_INTEGRATED,
        Discrete = VKF_DEVICE_TYPE_DISCRETE,
        Virtual = VKF_DEVICE_TYPE_VIRTUAL,
        Cpu = VKF_DEVICE_TYPE_CPU,
    }
}

c_enum! {
    /// A device is treated as if it could do no more than the profile says.
    #[derive(Default)]
    Profile: vkf_caps_profile {
        #[default]
        Full = VKF_CAPS_PROFILE_FULL,
        AndroidBaseline2022 = VKF_CAPS_PROFILE_ANDROID_BASELINE_2022,
        Android2025 = VKF_CAPS_PROFILE_ANDROID_2025,
        Roadmap2026 = VKF_CAPS_PROFILE_ROADMAP_2026,
    }
}

c_enum! {
    /// How exactly products are computed: `<vkformer/context.h>` has the bounds.
    #[derive(Default)]
    Precision: vkf_precision {
        #[default]
        Full = VKF_PRECISION_FULL,
        F16 = VKF_PRECISION_F16,
        F16Sums = VKF_PRECISION_F16_SUMS,
    }
}

/// Which of the machine's Vulkan devices is taken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Device {
    /// Discrete, then integrated, then virtual, then CPU.
    #[default]
    Best,
    Index(u32),
    /// A part of the device's name, in upper or lower case.
    Name(String),
    Uuid([u8; 16]),
    Type(DeviceType),
    /// None of the machine's: the scalar references of the operators, on the host.
    Reference,
}

/// What a device can do after profile and masks were applied.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DeviceInfo {
    pub index: u32,
    pub name: String,
    pub driver_name: String,
    pub driver_info: String,
    pub device_type: DeviceType,
    pub uuid: [u8; 16],
    pub subgroup_size: u32,
    pub storage_16bit: bool,
    pub shader_float16: bool,
    pub unified_memory: bool,
    /// Bytes of all heaps that are local to the device.
    pub device_memory_bytes: u64,
}

impl DeviceInfo {
    fn new(raw: &sys::vkf_device_info) -> DeviceInfo {
        let heaps = raw.heap_size_bytes.iter().zip(&raw.heap_device_local);
        let heaps = heaps.take(raw.heap_count as usize);
        DeviceInfo {
            index: raw.index,
            name: text_of(&raw.name),
            driver_name: text_of(&raw.driver_name),
            driver_info: text_of(&raw.driver_info),
            device_type: DeviceType::from_raw(raw.type_).unwrap_or_default(),
            uuid: raw.uuid,
            subgroup_size: raw.subgroup_size,
            storage_16bit: raw.storage_16bit,
            shader_float16: raw.shader_float16,
            unified_memory: raw.unified_memory,
            device_memory_bytes: heaps.filter(|(_, local)| **local).map(|(bytes, _)| bytes).sum(),
        }
    }
}

/// The text in a field of a C struct, up to its zero.
fn text_of(field: &[c_char]) -> String {
    let bytes: Vec<u8> = field.iter().map(|c| *c as u8).take_while(|c| *c != 0).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// What a context is made with: see [`Context::builder`].
#[derive(Default)]
pub struct ContextBuilder {
    device: Device,
    profile: Profile,
    masks: Vec<String>,
    variant: Option<String>,
    precision: Precision,
    skip_self_test: bool,
    tune_on_first_use: bool,
    validation: bool,
    pub(crate) handler: Option<Handler>,
    cache: Option<Arc<Box<dyn Cache>>>,
    cache_directory: Option<PathBuf>,
    external_memory: bool,
    external: Option<ExternalDevice>,
}

impl ContextBuilder {
    pub fn device(mut self, device: Device) -> Self {
        self.device = device;
        self
    }

    pub fn profile(mut self, profile: Profile) -> Self {
        self.profile = profile;
        self
    }

    /// Switches a feature off ("shaderFloat16") or lowers a limit ("maxComputeWorkGroupInvocations=64").
    pub fn mask(mut self, mask: impl Into<String>) -> Self {
        self.masks.push(mask.into());
        self
    }

    /// The kernel that is taken wherever it can serve, by its name or the beginning of it.
    pub fn variant(mut self, variant: impl Into<String>) -> Self {
        self.variant = Some(variant.into());
        self
    }

    pub fn precision(mut self, precision: Precision) -> Self {
        self.precision = precision;
        self
    }

    /// Kernels are trusted untested. Otherwise each is compared with a reference before its first use on a device.
    pub fn skip_self_test(mut self, skip: bool) -> Self {
        self.skip_self_test = skip;
        self
    }

    /// Kernels are measured for each new shape of weights, which takes up to 20 s in the life of a context.
    pub fn tune_on_first_use(mut self, tune: bool) -> Self {
        self.tune_on_first_use = tune;
        self
    }

    /// Switches the Vulkan validation layers on.
    pub fn validation(mut self, validation: bool) -> Self {
        self.validation = validation;
        self
    }

    /// Messages of this severity and above go to `handler`, from any thread that is inside the library. It must not
    /// call back into the library. A panic in it is caught and goes no further. What an error says is in the
    /// [`Error`](crate::Error), too.
    pub fn on_message(
        mut self,
        min_severity: Severity,
        handler: impl Fn(Severity, &str) + Send + Sync + 'static,
    ) -> Self {
        self.handler = Some((min_severity, Arc::new(Box::new(handler))));
        self
    }

    /// Keeps compiled pipelines, verdicts of the self-test and measurements between runs.
    pub fn cache(mut self, cache: impl Cache + 'static) -> Self {
        self.cache = Some(Arc::new(Box::new(cache)));
        self
    }

    /// The same in files of a directory, which is made when something is saved; "" is where the program `vkformer` keeps
    /// them for the user.
    pub fn cache_directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.cache_directory = Some(directory.into());
        self
    }

    /// Makes the device with what [`Buffer::exportable`](crate::Buffer::exportable) and the imports of
    /// [`Buffer`](crate::Buffer) need, where it has that.
    pub fn external_memory(mut self, external_memory: bool) -> Self {
        self.external_memory = external_memory;
        self
    }

    /// A device of the program's own is used in place of the library's.
    ///
    /// # Safety
    ///
    /// The handles belong together, and the device was made with what [`ExternalDevice`] says. All of them are valid
    /// until the context, and everything that was made from it, is gone. While the library is at the queue, which its
    /// `lock` tells, nobody else is.
    pub unsafe fn external_device(mut self, device: ExternalDevice) -> Self {
        self.external = Some(device);
        self
    }

    /// What a device should be made with so that a context that is built like this one can use all of it. Of the
    /// external device, which this takes, only instance, physical device and version are read.
    ///
    /// # Safety
    ///
    /// Instance and physical device are valid until the setup is dropped.
    pub unsafe fn device_setup(&self) -> Result<DeviceSetup> {
        DeviceSetup::new(self)
    }

    pub fn build(self) -> Result<Context> {
        check_version()?;
        let mut raw = ptr::null_mut();
        self.with_desc(|desc| {
            // SAFETY: what `desc` points to lives until the call returns, and the callbacks' data as long as the
            // context.
            check(unsafe { sys::vkf_context_create(desc, &mut raw) })
        })?;
        let lock = self.external.and_then(|external| external.lock());
        Ok(Context(Arc::new(Inner { raw, _handler: self.handler, _cache: self.cache, _lock: lock })))
    }

    /// Has `call` use the descriptor. What it points to lives until the call returns; handler, cache and lock have to
    /// live as long as what is made with it.
    pub(crate) fn with_desc(&self, call: impl FnOnce(&sys::vkf_context_desc) -> Result<()>) -> Result<()> {
        let (message, message_user, min_severity) = callback(&self.handler);
        let mut desc = sys::vkf_context_desc {
            profile: self.profile.raw(),
            precision: self.precision.raw(),
            skip_self_test: self.skip_self_test,
            tune_on_first_use: self.tune_on_first_use,
            validation: self.validation,
            external_memory: self.external_memory,
            message,
            message_user,
            min_severity,
            ..Default::default()
        };
        let directory = self.cache_directory.as_deref().map(c_path).transpose()?;
        desc.cache_directory = directory.as_deref().map_or(ptr::null(), CStr::as_ptr);
        let device_name = choose(&self.device, &mut desc.device)?;
        desc.device.name = device_name.as_deref().map_or(ptr::null(), CStr::as_ptr);
        let masks: Vec<CString> = self.masks.iter().map(|mask| c_string("a mask", mask)).collect::<Result<_>>()?;
        let masks: Vec<*const c_char> = masks.iter().map(|mask| mask.as_ptr()).collect();
        desc.masks = masks.as_ptr();
        desc.mask_count = count("masks", masks.len())?;
        let variant = self.variant.as_ref().map(|variant| c_string("variant", variant)).transpose()?;
        desc.variant = variant.as_deref().map_or(ptr::null(), CStr::as_ptr);
        if let Some(cache) = &self.cache {
            desc.cache = cache::callbacks(cache);
        }
        match &self.external {
            None => call(&desc),
            Some(external) => external.with_raw(|external| {
                desc.external = external;
                call(&desc)
            }),
        }
    }
}

/// Fills in the choice of a device, but for its name, which the caller keeps.
fn choose(device: &Device, choice: &mut sys::vkf_device_choice) -> Result<Option<CString>> {
    type Kind = sys::vkf_device_choice_kind;
    choice.kind = match device {
        Device::Best => Kind::VKF_CHOOSE_BEST,
        Device::Index(_) => Kind::VKF_CHOOSE_INDEX,
        Device::Name(_) => Kind::VKF_CHOOSE_NAME,
        Device::Uuid(_) => Kind::VKF_CHOOSE_UUID,
        Device::Type(_) => Kind::VKF_CHOOSE_TYPE,
        Device::Reference => Kind::VKF_CHOOSE_REFERENCE,
    };
    match device {
        Device::Best | Device::Reference => {}
        Device::Index(index) => choice.index = *index,
        Device::Name(name) => return c_string("the device's name", name).map(Some),
        Device::Uuid(uuid) => choice.uuid = *uuid,
        Device::Type(device_type) => choice.type_ = device_type.raw(),
    }
    Ok(None)
}

struct Inner {
    raw: *mut sys::vkf_context,
    // What the library's callbacks use for as long as the context lives.
    _handler: Option<Handler>,
    _cache: Option<Arc<Box<dyn Cache>>>,
    _lock: Option<Arc<Box<dyn QueueLock>>>,
}

// SAFETY: <vkformer/vkformer.h> lets threads share a context, and what its callbacks use is Send and Sync.
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: whatever was made from this context had a clone of it, and is gone.
        unsafe { sys::vkf_context_destroy(&mut self.raw) }
    }
}

/// A Vulkan device with its kernels, memory and caches. Clones are the same context, which threads may share; it lives
/// as long as anything that was made from it.
#[derive(Clone)]
pub struct Context(Arc<Inner>);

impl Context {
    /// The best device, with all defaults.
    pub fn new() -> Result<Context> {
        Context::builder().build()
    }

    pub fn builder() -> ContextBuilder {
        ContextBuilder::default()
    }

    /// The devices that the system's Vulkan loader shows.
    pub fn devices() -> Result<Vec<DeviceInfo>> {
        check_version()?;
        let mut count = 0;
        // SAFETY: without an array the function only counts; with one it writes at most as many as that has.
        check(unsafe { sys::vkf_enumerate_devices(ptr::null(), &mut count, ptr::null_mut()) })?;
        let mut infos = vec![sys::vkf_device_info::default(); count as usize];
        check(unsafe { sys::vkf_enumerate_devices(ptr::null(), &mut count, infos.as_mut_ptr()) })?;
        infos.truncate(count as usize);
        Ok(infos.iter().map(DeviceInfo::new).collect())
    }

    pub fn device_info(&self) -> DeviceInfo {
        let mut raw = sys::vkf_device_info::default();
        // SAFETY: both pointers are valid.
        unsafe { sys::vkf_context_get_device_info(self.as_ptr(), &mut raw) };
        DeviceInfo::new(&raw)
    }

    /// Gives the cache what it should keep. The end of the context does so, too.
    pub fn save_cache(&self) -> Result<()> {
        // SAFETY: the context is alive.
        check(unsafe { sys::vkf_context_save_cache(self.as_ptr()) })
    }

    /// Forgets what was found out about kernels, here and in the cache: each is tested again before its next use.
    pub fn forget_verdicts(&self) -> Result<()> {
        // SAFETY: the context is alive.
        check(unsafe { sys::vkf_context_forget_verdicts(self.as_ptr()) })
    }

    /// The C library's handle, for what only `vkformer-sys` has. It lives as long as the context.
    pub fn as_ptr(&self) -> *mut sys::vkf_context {
        self.0.raw
    }
}
