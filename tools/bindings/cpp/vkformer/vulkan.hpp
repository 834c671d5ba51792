// Interop for C++ programs with a Vulkan device of their own: what <vkformer/vulkan.h> has, for the owners of
// <vkformer/vkformer.hpp>. It is not included by that header, because it names Vulkan's types.
#ifndef VKFORMER_VULKAN_HPP
#define VKFORMER_VULKAN_HPP

#include <vkformer/vulkan.h>

#include <vkformer/model.hpp>

namespace vkf
{

// What a device should be created with; it lives until the device, or the context on it, has been made.
class DeviceSetup : public detail::Handle<vkf_device_setup, vkf_device_setup_destroy>
{
  public:
    static result<DeviceSetup> make(const vkf_context_desc &desc)
    {
        vkf_device_setup *raw = nullptr;
        const vkf_status status = vkf_device_setup_create(&desc, &raw);
        return detail::give(status, adopt(raw));
    }
    // Takes over a C handle.
    static DeviceSetup adopt(vkf_device_setup *raw) noexcept
    {
        return DeviceSetup(raw, nullptr);
    }
    const VkPhysicalDeviceFeatures2 *features() const noexcept
    {
        return vkf_device_setup_get_features(get());
    }
    span<const char *const> extensions() const noexcept
    {
        std::uint32_t count = 0;
        const char *const *names = vkf_device_setup_get_extensions(get(), &count);
        return {names, count};
    }
    std::uint32_t queue_family() const noexcept
    {
        return vkf_device_setup_get_queue_family(get());
    }
    result<void> try_fill(VkDeviceCreateInfo &info)
    {
        return detail::done(vkf_device_setup_fill_create_info(get(), &info));
    }
#if VKF_CPP_EXCEPTIONS
    explicit DeviceSetup(const vkf_context_desc &desc) : DeviceSetup(make(desc).value())
    {
    }
    void fill(VkDeviceCreateInfo &info)
    {
        try_fill(info).value();
    }
#endif

  private:
    using Handle::Handle;
};

inline vkf_vulkan_handles vulkan_handles(const Context &context)
{
    vkf_vulkan_handles handles = {};
    vkf_context_get_vulkan(context.get(), &handles);
    return handles;
}

// Holds the lock that the library holds while it uses the queue.
class QueueLock
{
  public:
    explicit QueueLock(const Context &context) noexcept : context_(context.get())
    {
        vkf_context_lock_queue(context_);
    }
    QueueLock(const QueueLock &) = delete;
    QueueLock &operator=(const QueueLock &) = delete;
    ~QueueLock()
    {
        vkf_context_unlock_queue(context_);
    }

  private:
    vkf_context *context_;
};

// A buffer of a range of the caller's VkBuffer, which outlives it.
inline result<Buffer> try_wrap(const Context &context, const vkf_wrapped_buffer_desc &desc)
{
    vkf_buffer *raw = nullptr;
    const vkf_status status = vkf_buffer_wrap(context.get(), &desc, &raw);
    return detail::give(status, Buffer::adopt(context, raw));
}

// The VkBuffer behind a buffer, and where in it the buffer's bytes begin.
struct VulkanRange {
    VkBuffer buffer;
    VkDeviceSize offset_bytes;
};

inline VulkanRange vulkan_range(const vkf_buffer *buffer) noexcept
{
    VulkanRange range = {};
    vkf_buffer_get_vulkan(buffer, &range.buffer, &range.offset_bytes);
    return range;
}

// Of a tensor: where its first element is.
inline VulkanRange vulkan_range(const vkf_tensor &tensor) noexcept
{
    VulkanRange range = vulkan_range(tensor.buffer);
    range.offset_bytes += tensor.offset_bytes;
    return range;
}

// What a run waits for, and what it signals when it has ended.
struct Semaphores {
    span<const vkf_semaphore_value> waits;
    span<const vkf_semaphore_value> signals;
};

namespace detail
{

// Counts beyond what the library takes are refused there.
inline std::uint32_t clamped(std::size_t size) noexcept
{
    return size < UINT32_MAX ? static_cast<std::uint32_t>(size) : UINT32_MAX;
}

inline vkf_session_submit_desc submit_desc(const Semaphores &semaphores) noexcept
{
    vkf_session_submit_desc desc = {};
    desc.waits = semaphores.waits.data();
    desc.wait_count = clamped(semaphores.waits.size());
    desc.signals = semaphores.signals.data();
    desc.signal_count = clamped(semaphores.signals.size());
    return desc;
}

} // namespace detail

// These begin a run and return; wait() and ended() of the layer's frame, or of the session, tell of its end.
inline result<void> try_submit(Layer &layer, const vkf_layer_sizes &sizes, std::uint32_t frame = 0,
                               const Semaphores &semaphores = {})
{
    const vkf_session_submit_desc common = detail::submit_desc(semaphores);
    vkf_layer_submit_desc desc = {};
    desc.frame = frame;
    desc.sizes = sizes;
    desc.waits = common.waits;
    desc.wait_count = common.wait_count;
    desc.signals = common.signals;
    desc.signal_count = common.signal_count;
    return detail::done(vkf_layer_submit(layer.get(), &desc));
}

inline result<void> try_submit_encode(Session &session, const vkf_encode_args &args, const Semaphores &semaphores = {})
{
    const vkf_session_submit_desc desc = detail::submit_desc(semaphores);
    return detail::done(vkf_session_submit_encode(session.get(), &args, &desc));
}

inline result<void> try_submit_prefill(Session &session, const vkf_prefill_args &args,
                                       const Semaphores &semaphores = {})
{
    const vkf_session_submit_desc desc = detail::submit_desc(semaphores);
    return detail::done(vkf_session_submit_prefill(session.get(), &args, &desc));
}

inline result<void> try_submit_step(Session &session, const vkf_step_args &args, const Semaphores &semaphores = {})
{
    const vkf_session_submit_desc desc = detail::submit_desc(semaphores);
    return detail::done(vkf_session_submit_step(session.get(), &args, &desc));
}

// These record into a command buffer of the caller's; prepare_encode() and prepare_step() come before each submission.
inline result<void> try_record(Layer &layer, VkCommandBuffer commands, std::uint32_t frame = 0)
{
    return detail::done(vkf_layer_record(layer.get(), frame, commands));
}

inline result<void> try_record_encode(Session &session, VkCommandBuffer commands)
{
    return detail::done(vkf_session_record_encode(session.get(), commands));
}

inline result<void> try_record_step(Session &session, VkCommandBuffer commands)
{
    return detail::done(vkf_session_record_step(session.get(), commands));
}

inline result<void> try_prepare_encode(Session &session, const vkf_encode_args &args)
{
    return detail::done(vkf_session_prepare_encode(session.get(), &args));
}

inline result<void> try_prepare_step(Session &session, const vkf_step_args &args)
{
    return detail::done(vkf_session_prepare_step(session.get(), &args));
}

#if VKF_CPP_EXCEPTIONS
inline Buffer wrap(const Context &context, const vkf_wrapped_buffer_desc &desc)
{
    return try_wrap(context, desc).value();
}

inline void submit(Layer &layer, const vkf_layer_sizes &sizes, std::uint32_t frame = 0,
                   const Semaphores &semaphores = {})
{
    try_submit(layer, sizes, frame, semaphores).value();
}

inline void submit_encode(Session &session, const vkf_encode_args &args, const Semaphores &semaphores = {})
{
    try_submit_encode(session, args, semaphores).value();
}

inline void submit_prefill(Session &session, const vkf_prefill_args &args, const Semaphores &semaphores = {})
{
    try_submit_prefill(session, args, semaphores).value();
}

inline void submit_step(Session &session, const vkf_step_args &args, const Semaphores &semaphores = {})
{
    try_submit_step(session, args, semaphores).value();
}

inline void record(Layer &layer, VkCommandBuffer commands, std::uint32_t frame = 0)
{
    try_record(layer, commands, frame).value();
}

inline void record_encode(Session &session, VkCommandBuffer commands)
{
    try_record_encode(session, commands).value();
}

inline void record_step(Session &session, VkCommandBuffer commands)
{
    try_record_step(session, commands).value();
}

inline void prepare_encode(Session &session, const vkf_encode_args &args)
{
    try_prepare_encode(session, args).value();
}

inline void prepare_step(Session &session, const vkf_step_args &args)
{
    try_prepare_step(session, args).value();
}
#endif

} // namespace vkf

#endif
