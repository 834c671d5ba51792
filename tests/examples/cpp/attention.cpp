// Self attention under a causal mask, as in README's C program: torch.nn.MultiheadAttention(64, 4, batch_first=True).
#include <cstdio>
#include <vector>

#include <vkformer/vkformer.hpp>

namespace
{

constexpr std::uint32_t BATCH = 2, LEN = 5, DIM = 64, HEADS = 4;

// A (DIM, DIM) weight on the device; here k times the identity, in your program what training gave.
vkf::Tensor make_weight(const vkf::Context &context, float k, const char *name)
{
    std::vector<float> values(DIM * DIM);
    for (std::uint32_t i = 0; i < DIM; i++)
        values[i * DIM + i] = k;
    return vkf::Tensor(context, {DIM, DIM}, values, name);
}

void run()
{
    vkf::Context context;
    vkf::Tensor q = make_weight(context, 0.5f, "q"), k = make_weight(context, 0.5f, "k");
    vkf::Tensor v = make_weight(context, 1.0f, "v"), out = make_weight(context, 1.0f, "out");

    vkf_attention_desc desc = {};
    desc.embed_dim = DIM;
    desc.num_heads = HEADS;
    desc.self_attention = true;
    desc.mask.causal = VKF_CAUSAL_TOP_LEFT;
    desc.params.q_weight = q;
    desc.params.k_weight = k;
    desc.params.v_weight = v;
    desc.params.out_weight = out;
    desc.max_sizes = {BATCH, LEN, 0};
    vkf::AttentionLayer attention(context, desc); // allocates, and records the command buffer

    std::vector<float> query(BATCH * LEN * DIM), output(BATCH * LEN * DIM); // (BATCH, LEN, DIM)
    for (std::size_t i = 0; i < query.size(); i++)
        query[i] = static_cast<float>(i % 13) / 13.0f;
    attention.write(VKF_PORT_QUERY, query);
    attention.run({BATCH, LEN, 0}); // or smaller sizes
    attention.read(VKF_PORT_OUTPUT, output);
    std::printf("output[0, 0, :3] = %.4f %.4f %.4f\n", double{output[0]}, double{output[1]}, double{output[2]});
}

} // namespace

int main()
{
    try {
        run();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
