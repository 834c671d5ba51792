// The same attention without exceptions, as engines are built, with two runs under way at once: each call gives a
// vkf::result.
#include <cstdio>

#include <vkformer/vulkan.hpp>

namespace
{

constexpr std::uint32_t BATCH = 2, LEN = 5, DIM = 64, HEADS = 4, FRAMES = 2;

// (DIM, DIM) on the device: k times the identity.
vkf::result<vkf::Tensor> make_weight(const vkf::Context &context, float k, const char *name)
{
    std::vector<float> values(DIM * DIM);
    for (std::uint32_t i = 0; i < DIM; i++)
        values[i * DIM + i] = k;
    const std::vector<std::uint32_t> shape = {DIM, DIM}; // or whatever rank a file has
    return vkf::Tensor::make(context, shape, values, name);
}

vkf::result<vkf::AttentionLayer> make_layer(const vkf::Context &context)
{
    vkf::result<vkf::Tensor> half = make_weight(context, 0.5f, "half"), one = make_weight(context, 1.0f, "one");
    if (!half || !one)
        return half ? one.why() : half.why();
    vkf_attention_desc desc = {};
    desc.embed_dim = DIM;
    desc.num_heads = HEADS;
    desc.self_attention = true;
    desc.mask.causal = VKF_CAUSAL_TOP_LEFT;
    desc.params.q_weight = desc.params.k_weight = *half;
    desc.params.v_weight = desc.params.out_weight = *one;
    desc.max_sizes = {BATCH, LEN, 0};
    desc.frames_in_flight = FRAMES;
    return vkf::AttentionLayer::make(context, desc); // which keeps the weights' buffers
}

vkf::result<float> run()
{
    vkf::result<vkf::Context> context = vkf::Context::make();
    if (!context)
        return context.why();
    vkf::result<vkf::AttentionLayer> layer = make_layer(*context);
    if (!layer)
        return layer.why();
    std::vector<float> query(BATCH * LEN * DIM), output(BATCH * LEN * DIM); // (BATCH, LEN, DIM)
    for (std::size_t i = 0; i < query.size(); i++)
        query[i] = static_cast<float>(i % 13) / 13.0f;
    if (vkf::result<void> written = layer->try_write(VKF_PORT_QUERY, query); !written)
        return written.why();
    for (std::uint32_t frame = 0; frame < FRAMES; frame++) // nobody waits between them
        if (vkf::result<void> begun = vkf::try_submit(*layer, {BATCH, LEN - frame, 0}, frame); !begun)
            return begun.why();
    for (std::uint32_t frame = 0; frame < FRAMES; frame++)
        if (vkf::result<void> ended = layer->try_wait(frame); !ended)
            return ended.why();
    if (vkf::result<void> read = layer->try_read(VKF_PORT_OUTPUT, output); !read)
        return read.why();
    return output[2];
}

} // namespace

int main()
{
    vkf::result<float> element = run();
    if (!element) {
        std::fprintf(stderr, "%s\n", element.message().c_str());
        return 1;
    }
    std::printf("output[0, 0, 2] = %.4f\n", double{*element});
    return 0;
}
