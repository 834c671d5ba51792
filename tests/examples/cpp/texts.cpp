// texts SENTENCE-MODEL DECODER: how alike two sentences are, and a text that is printed as it is generated.
#include <cmath>
#include <cstdio>
#include <string>

#include <vkformer/vkformer.hpp>

namespace
{

double cosine(vkf::span<const float> a, vkf::span<const float> b)
{
    double product = 0.0, length_a = 0.0, length_b = 0.0;
    for (std::size_t i = 0; i < a.size(); i++) {
        product += double{a[i]} * double{b[i]};
        length_a += double{a[i]} * double{a[i]};
        length_b += double{b[i]} * double{b[i]};
    }
    return product / std::sqrt(length_a * length_b);
}

void run(const std::string &sentence_model, const std::string &decoder)
{
    vkf::Context context;
    vkf::Embedder embedder(context, sentence_model);
    const std::string_view sentences[] = {"The small grey cat sat on the warm stone wall.", "A cat sat there."};
    std::vector<float> embeddings = embedder.embed(sentences); // (2, dim)
    const std::size_t dim = embedder.dim();
    std::printf("cosine: %.4f\n", cosine({embeddings.data(), dim}, {embeddings.data() + dim, dim}));

    vkf::Generator generator(context, decoder);
    vkf_generator_args args = {};
    args.max_new_tokens = 12;
    for (const std::string &part : generator.stream("A cat sat there.", args)) {
        std::fputs(part.c_str(), stdout);
        std::fflush(stdout);
    }
    std::putchar('\n');
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: texts SENTENCE-MODEL DECODER\n");
        return 2;
    }
    try {
        run(argv[1], argv[2]);
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "%s\n", failure.what());
        return 1;
    }
    return 0;
}
