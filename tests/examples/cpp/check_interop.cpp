// check_interop PRETRAINED: what <vkformer/vulkan.hpp> has: wrapped and imported buffers, semaphores between
// submissions, recordings, and sessions that nobody waits for.
#include <algorithm>
#include <cmath>

#include <vkformer/vulkan.hpp>

#include "checks.hpp"

namespace
{

constexpr std::uint32_t DIM = 8, LEN = 3;

// A binary semaphore on the context's own device.
class Semaphore
{
  public:
    explicit Semaphore(const vkf::Context &context) : handles_(vkf::vulkan_handles(context))
    {
        const VkSemaphoreCreateInfo info = {VK_STRUCTURE_TYPE_SEMAPHORE_CREATE_INFO, nullptr, 0};
        auto create = find<PFN_vkCreateSemaphore>("vkCreateSemaphore");
        if (create(handles_.device, &info, nullptr, &semaphore_) != VK_SUCCESS)
            throw std::runtime_error("no semaphore");
    }
    Semaphore(const Semaphore &) = delete;
    Semaphore &operator=(const Semaphore &) = delete;
    ~Semaphore()
    {
        find<PFN_vkDestroySemaphore>("vkDestroySemaphore")(handles_.device, semaphore_, nullptr);
    }
    vkf_semaphore_value value() const noexcept
    {
        return {semaphore_, 0};
    }

  private:
    template <typename Function> Function find(const char *name) const
    {
        auto get = reinterpret_cast<PFN_vkGetDeviceProcAddr>(
            handles_.get_instance_proc_addr(handles_.instance, "vkGetDeviceProcAddr"));
        return reinterpret_cast<Function>(get(handles_.device, name));
    }
    vkf_vulkan_handles handles_;
    VkSemaphore semaphore_ = VK_NULL_HANDLE;
};

void check_buffers(const vkf::Context &context)
{
    vkf::Tensor tensor(context, {2, 4}, std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7});
    const vkf::VulkanRange range = vkf::vulkan_range(tensor);
    EXPECT(range.buffer != VK_NULL_HANDLE);
    vkf_wrapped_buffer_desc desc = {};
    desc.buffer = range.buffer;
    desc.offset_bytes = range.offset_bytes + 16;
    desc.size_bytes = 16;
    desc.usage = VK_BUFFER_USAGE_STORAGE_BUFFER_BIT | VK_BUFFER_USAGE_TRANSFER_SRC_BIT;
    const vkf::Buffer second = vkf::wrap(context, desc);
    float row[4] = {};
    second.read<float>(0, row);
    EXPECT(row[0] == 4.0f && row[3] == 7.0f);
    desc.offset_bytes += 4;
    EXPECT(thrown_by<vkf::error>([&] { vkf::wrap(context, desc); }).find("16") != std::string::npos);
    const vkf_imported_memory nothing = {};
    EXPECT(!vkf::Buffer::import_memory(context, nothing) &&
           !vkf::Buffer::import_memory(context, nothing).message().empty());
}

// The second layer waits for the first one's semaphore, and the host for the second alone.
void check_semaphores(const vkf::Context &context)
{
    std::vector<float> values(DIM * DIM), input(LEN * DIM), output(LEN * DIM);
    for (std::size_t i = 0; i < DIM; i++)
        values[i * DIM + i] = 2.0f;
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i);
    const vkf::Tensor twice(context, {DIM, DIM}, values);
    vkf_feed_forward_desc desc = {};
    desc.d_model = desc.dim_feedforward = DIM;
    desc.params.weight1 = desc.params.weight2 = twice;
    desc.max_sizes = {1, LEN, 0};
    vkf::FeedForward first(context, desc);
    desc.ports[VKF_PORT_QUERY] = *first.port(VKF_PORT_OUTPUT);
    vkf::FeedForward second(context, desc);
    const Semaphore between(context);
    const vkf_semaphore_value value = between.value();
    first.write(VKF_PORT_QUERY, input);
    vkf::submit(first, {1, LEN, 0}, 0, {{}, {&value, 1}});
    vkf::submit(second, {1, LEN, 0}, 0, {{&value, 1}, {}});
    second.wait();
    first.wait();
    EXPECT(first.ended() && second.ended());
    second.read(VKF_PORT_OUTPUT, output);
    for (std::size_t i = 0; i < output.size(); i++)
        EXPECT(std::abs(output[i] - 16.0f * input[i]) <= 1e-3f);
    EXPECT(status_of([&] { vkf::submit(first, {1, LEN, 0}, 1); }) == VKF_ERROR_INVALID_ARGUMENT);
    EXPECT(status_of([&] { vkf::record(first, VK_NULL_HANDLE); }) == VKF_ERROR_INVALID_ARGUMENT);
    const vkf::QueueLock lock(context);
}

void check_sessions(const vkf::Context &context, const std::string &directory)
{
    const vkf::Model model(context, directory);
    vkf_session_desc sizes = {};
    sizes.max_batch = 1;
    sizes.max_target_len = 16;
    sizes.max_logit_rows = 1;
    vkf::Session session(model, sizes), plain(model, sizes);
    const std::int32_t ids[] = {11, 70, 72, 61};
    const std::uint32_t count = 3;
    std::vector<float> expected(model.config().target_vocab), got(expected.size());
    vkf_prefill_args prompt = {};
    prompt.batch = 1;
    prompt.ids = ids;
    prompt.counts = &count;
    plain.prefill(prompt);
    vkf::submit_prefill(session, prompt);
    session.wait();
    vkf_step_args step = {};
    step.batch = 1;
    step.ids = ids + 3;
    vkf::submit_step(session, step);
    session.wait();
    step.out_logits = expected.data();
    plain.step(step);
    EXPECT(session.ended() && session.tokens(0).size() == 4 && session.tokens(0)[3] == 61);
    const std::optional<vkf_tensor> logits = session.tensor(VKF_SESSION_LOGITS);
    EXPECT(logits &&
           vkf_buffer_read(logits->buffer, logits->offset_bytes, got.data(), got.size() * sizeof(float)) == VKF_OK);
    EXPECT(got == expected);
    session.truncate(0, 1);
    EXPECT(session.tokens(0).size() == 1);
    EXPECT(!vkf::try_record_encode(session, VK_NULL_HANDLE) && !vkf::try_record_step(session, VK_NULL_HANDLE));
    EXPECT(!vkf::try_submit_encode(session, {}) && !vkf::try_prepare_encode(session, {}));
    EXPECT(status_of([&] { vkf::prepare_step(session, {}); }) == VKF_ERROR_INVALID_ARGUMENT);
}

void check_setup(const vkf::Context &context)
{
    vkf_external_device device = {};
    const vkf_vulkan_handles handles = vkf::vulkan_handles(context);
    device.instance = handles.instance;
    device.physical_device = handles.physical_device;
    device.api_version = handles.api_version;
    vkf_context_desc desc = {};
    desc.external = &device;
    desc.get_instance_proc_addr = handles.get_instance_proc_addr;
    vkf::DeviceSetup setup(desc);
    EXPECT(setup.features() && setup.queue_family() == handles.queue_family_index);
    VkDeviceCreateInfo info = {};
    info.sType = VK_STRUCTURE_TYPE_DEVICE_CREATE_INFO;
    setup.fill(info);
    EXPECT(info.enabledExtensionCount == setup.extensions().size() && info.queueCreateInfoCount == 1);
}

void check_all(const std::string &pretrained)
{
    vkf::Context context;
    check_buffers(context);
    check_semaphores(context);
    check_sessions(context, pretrained + "/llama");
    check_setup(context);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: check_interop PRETRAINED\n");
        return 2;
    }
    return run_checks([&] { check_all(argv[1]); });
}
