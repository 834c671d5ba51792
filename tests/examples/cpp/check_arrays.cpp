// check_arrays PRETRAINED HEADERS: every container that the C++ header takes has as many elements as the library reads
// or writes: a sweep over all functions that take one, with the models of tests/pretrained. HEADERS is the directory of
// the header, whose declarations say which functions these are.
#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <limits>
#include <set>

#include "checks.hpp"

namespace
{

constexpr std::uint32_t LEN = 3, DIM = 8;
// More elements than a uint32_t counts, where there can be so many.
constexpr std::size_t BEYOND = std::size_t{std::numeric_limits<std::uint32_t>::max()} + 1;
constexpr std::string_view TEXTS[] = {"A cat sat there.", "rain"};

std::set<std::string> swept;

// `call` is refused by a sentence in which `names` stands.
void refuse(const std::string &function, const std::string &way, const std::string &names,
            const std::function<void()> &call, vkf_status expected = VKF_ERROR_INVALID_ARGUMENT)
{
    swept.insert(function);
    const vkf_status status = status_of(call);
    const std::string text = thrown_by<vkf::error>(call);
    expect(status == expected && text.find(names) != std::string::npos,
           (function + ", " + way + ": " + std::to_string(status) + ", " + text).c_str(), __FILE__, __LINE__);
}

// `call` takes a span, of which it may read no element.
template <typename T, typename Call>
void refuse_beyond(const std::string &function, const std::string &names, const T &element, Call call)
{
    if (BEYOND > 0)
        refuse(function, "more than are counted", names, [&] { call(vkf::span<const T>(&element, BEYOND)); });
}

struct Base {
    int number;
};
struct Derived : Base {
    int another;
};
static_assert(!std::is_constructible_v<vkf::span<const Base>, std::vector<Derived> &>);
static_assert(std::is_constructible_v<vkf::span<const Base>, std::vector<Base> &>);
static_assert(!std::is_constructible_v<vkf::span<float>, const std::vector<float> &>);

void sweep_tensors(const vkf::Context &context)
{
    vkf::Buffer buffer(context, 4 * sizeof(float));
    vkf::Tensor tensor(context, {2, 3}, std::vector<float>(6, 1.0f));
    std::vector<float> five(5), six(6, 2.0f), seven(7), none;
    std::vector<double> three(3);
    refuse("Buffer::write", "too long", "buffer", [&] { buffer.write<float>(0, five); });
    refuse("Buffer::write", "too far", "buffer",
           [&] { buffer.write<float>(4, vkf::span<const float>(five.data(), 4)); });
    refuse("Buffer::read", "too long", "buffer", [&] { buffer.read<float>(0, five); });
    refuse("Buffer::read", "too far", "buffer", [&] { buffer.read<float>(~std::uint64_t{0} - 3, five); });
    const std::vector<std::pair<std::string, std::vector<float>>> wrong = {
        {"too short", five}, {"too long", seven}, {"empty", none}};
    for (const auto &[way, values] : wrong) {
        refuse("Tensor::write", way, "tensor", [&, v = &values] { tensor.write(*v); });
        refuse("Tensor::Tensor", way, "tensor", [&, v = &values] { vkf::Tensor(context, {2, 3}, *v); });
    }
    refuse("Tensor::write", "as many bytes", "values has elements of 8 bytes", [&] { tensor.write<double>(three); });
    refuse("Tensor::Tensor", "no dimension", "", [&] { vkf::Tensor(context, VKF_DTYPE_F32, {}); });
    refuse("Tensor::Tensor", "five dimensions", "", [&] { vkf::Tensor(context, VKF_DTYPE_F32, {1, 1, 1, 1, 1}); });
    EXPECT(thrown_by<vkf::error>([&] { (void)tensor.read<double>(); }).find("of 8 bytes") != std::string::npos);
    EXPECT(tensor.read() == std::vector<float>(6, 1.0f));
    tensor.write<unsigned char>({reinterpret_cast<const unsigned char *>(six.data()), 6 * sizeof(float)});
    EXPECT(tensor.read() == six);
    EXPECT(std::memcmp(tensor.read<unsigned char>().data(), six.data(), 6 * sizeof(float)) == 0);
}

// Tensors in blocks are read and written as their bytes, or as whole blocks.
void sweep_blocks(const vkf::Context &context)
{
    for (vkf_dtype dtype : {VKF_DTYPE_Q8, VKF_DTYPE_Q4}) {
        std::vector<float> values(3 * 64);
        for (std::size_t i = 0; i < values.size(); i++)
            values[i] = static_cast<float>(i % 37) - 18.0f;
        const vkf::Tensor weight(context, {3, 64}, values);
        vkf_tensor quantized = {};
        EXPECT(vkf_quantize_weight(context.get(), &weight.view(), dtype, nullptr, &quantized) == VKF_OK);
        const vkf::Tensor blocks = vkf::Tensor::adopt(context, quantized);
        const std::vector<std::uint8_t> bytes = blocks.read<std::uint8_t>();
        EXPECT(bytes.size() == 6 * vkf_dtype_block_bytes(dtype) && bytes.size() == blocks.size_bytes());
        vkf::Tensor copy(context, dtype, {3, 64});
        copy.write<std::uint8_t>(bytes);
        EXPECT(copy.read<std::uint8_t>() == bytes);
        refuse("Tensor::write", "as many bytes", "values has elements of 4 bytes", [&] { copy.write(values); });
        EXPECT(thrown_by<vkf::error>([&] { (void)copy.read(); }).find("of 4 bytes") != std::string::npos);
    }
    struct Block {
        std::uint16_t scale;
        std::int8_t elements[32];
    };
    vkf::Tensor tensor(context, VKF_DTYPE_Q8, {2, 32});
    const Block written[] = {{0x3c00, {1, -2, 3}}, {0x4000, {-128, 127}}};
    tensor.write<Block>(written);
    const std::vector<Block> read = tensor.read<Block>();
    EXPECT(read.size() == 2 && std::memcmp(read.data(), written, sizeof written) == 0);
}

// Fewer elements than a port has are those of a smaller run, so that the layer takes and gives them.
void sweep_layers(const vkf::Context &context)
{
    vkf::Tensor zeros(context, VKF_DTYPE_F32, {DIM, DIM});
    vkf_feed_forward_desc desc = {};
    desc.d_model = desc.dim_feedforward = DIM;
    desc.params.weight1 = desc.params.weight2 = zeros;
    desc.max_sizes = {1, LEN, 0};
    vkf::FeedForward layer(context, desc);
    std::vector<float> longer(LEN * DIM + 1), shorter(LEN * DIM - 1, 1.0f);
    std::vector<double> doubles(LEN * DIM / 2);
    refuse("Layer::write", "too long", "port", [&] { layer.write(VKF_PORT_QUERY, longer); });
    refuse("Layer::read", "too long", "port", [&] { layer.read(VKF_PORT_OUTPUT, longer); });
    refuse("Layer::write", "as many bytes", "data has elements of 8 bytes",
           [&] { layer.write<double>(VKF_PORT_QUERY, doubles); });
    refuse("Layer::read", "as many bytes", "out_data has elements of 8 bytes",
           [&] { layer.read<double>(VKF_PORT_OUTPUT, doubles); });
    layer.write(VKF_PORT_QUERY, shorter);
    layer.run({1, LEN, 0});
    layer.read(VKF_PORT_OUTPUT, shorter);
    EXPECT(shorter == std::vector<float>(LEN * DIM - 1, 0.0f));
}

void sweep_sessions(const vkf::Context &context, const std::string &pretrained)
{
    vkf::Model model(context, pretrained + "/gpt2");
    vkf_session_desc sizes = {};
    sizes.max_batch = 2;
    sizes.max_target_len = 8;
    vkf::Session session(model, sizes);
    vkf_generate_args args = {};
    args.max_new_tokens = 2;
    using Prompts = std::vector<std::vector<std::int32_t>>;
    auto with = [&](Prompts prompts) { return [&, prompts] { session.generate(prompts, args); }; };
    refuse("Session::generate", "no prompts", "", with({}));
    refuse("Session::generate", "an empty prompt", "", with({{11, 70}, {}}));
    refuse("Session::generate", "too many prompts", "3", with({{11}, {70}, {72}}), VKF_ERROR_TOO_LARGE);
    refuse("Session::generate", "too long a prompt", "8", with({{11}, std::vector<std::int32_t>(7, 11)}),
           VKF_ERROR_TOO_LARGE);
    refuse_beyond("Session::generate", "generate: prompts", std::vector<std::int32_t>{11},
                  [&](auto prompts) { session.generate(prompts, args); });
    std::vector<vkf::GeneratedIds> rows = session.generate(Prompts{{11, 70, 72}, {95}}, args);
    EXPECT(rows.size() == 2 && rows[0].ids.size() == 2 && rows[1].ids.size() == 2);
}

// Gives the trainer a batch that it takes, but for one array, which has not the length that it stands beside.
void sweep_batches(vkf::Trainer &trainer, const vkf::TrainBatch &good)
{
    using Rows = vkf::TrainBatch::Rows;
    auto sweep = [&](const std::string &way, const std::string &names, Rows vkf::TrainBatch::*array, const Rows &rows) {
        vkf::TrainBatch batch = good;
        batch.*array = rows;
        refuse("Trainer::step", way, names, [&] { trainer.step(batch); });
        refuse("Trainer::evaluate", way, names, [&] { trainer.evaluate(batch); });
        refuse("Trainer::gradient", way, names, [&] { trainer.gradient(batch, 0); });
    };
    Rows shorter = good.labels, longer = good.labels, more = good.labels, fewer = good.labels;
    shorter.back().pop_back();
    longer.back().push_back(1);
    more.push_back({1});
    fewer.pop_back();
    sweep("a label less", " labels in row 1, and not", &vkf::TrainBatch::labels, shorter);
    sweep("a label more", " labels in row 1, and not", &vkf::TrainBatch::labels, longer);
    sweep("a row of labels more", "rows of labels as of ids: 2, and not 3", &vkf::TrainBatch::labels, more);
    sweep("a row of labels less", "rows of labels as of ids: 2, and not 1", &vkf::TrainBatch::labels, fewer);
    sweep("a row of types", "types", &vkf::TrainBatch::types, {{0, 0, 0}});
    sweep("rows of the other side", "as many rows of its source as of its target",
          good.source.empty() ? &vkf::TrainBatch::source : &vkf::TrainBatch::target, {{1, 2, 3}});
}

void sweep_trainers(const vkf::Context &context, const std::string &pretrained)
{
    vkf_trainer_desc settings = {};
    settings.max_batch = 2;
    settings.max_source_len = settings.max_target_len = 3;
    settings.rate = 1e-3;
    vkf::TrainBatch decoder, encoder;
    decoder.target = {{11, 70, 72}, {95}};
    decoder.labels = {{70, 72, 61}, {6}};
    encoder.source = decoder.target;
    encoder.labels = {{0}, {1}};
    for (const auto &[name, batch] : {std::pair{"/llama", decoder}, {"/bert-sequence-classification", encoder}}) {
        const std::string directory = pretrained + name;
        vkf_model_desc desc = {};
        desc.directory = directory.c_str();
        desc.trainable = true;
        vkf::Model model(context, desc);
        vkf::Trainer trainer(model, settings);
        refuse("Trainer::step", "no batches", "", [&] { trainer.step(vkf::span<const vkf::TrainBatch>()); });
        refuse_beyond("Trainer::step", "step: batches", batch, [&](auto batches) { trainer.step(batches); });
        sweep_batches(trainer, batch);
        EXPECT(trainer.steps() == 0 && trainer.evaluate(batch).labels == (batch.target.empty() ? 2 : 4));
    }
}

// A function with the texts, and with arrays in `args` for another number of texts. Its own output it sets itself.
template <typename Run> void sweep_texts(const std::string &function, const std::string &own_output, Run run)
{
    const vkf_text pairs[3] = {{"a", 1}, {"b", 1}, {"c", 1}};
    const vkf_encode_options options[3] = {};
    std::uint32_t counts[3] = {};
    std::vector<float> embeddings(3 * 1024);
    vkf_prediction predictions[3] = {};
    for (std::uint32_t count : {0u, 1u, 3u})
        for (const char *array : {"pairs", "options", "out_token_counts", "out_embeddings", "out_predictions"}) {
            const std::string name = array;
            vkf_embed_args args = {};
            args.count = count;
            args.pairs = name == "pairs" ? pairs : nullptr;
            args.options = name == "options" ? options : nullptr;
            args.out_token_counts = name == "out_token_counts" ? counts : nullptr;
            args.out_embeddings = name == "out_embeddings" ? embeddings.data() : nullptr;
            args.out_predictions = name == "out_predictions" ? predictions : nullptr;
            if (name != own_output)
                refuse(function, std::to_string(count) + " " + name, "args.count", [&] { run(TEXTS, args); });
        }
    vkf_embed_args args = {};
    args.count = 2;
    args.pairs = pairs;
    args.options = options;
    args.out_token_counts = counts;
    EXPECT(run(TEXTS, args).size() > 0 && counts[0] > 0 && counts[1] > 0 && counts[2] == 0);
    refuse(function, "no texts", "count is 0", [&] { run({}, vkf_embed_args{}); });
    refuse_beyond(function, ": texts", TEXTS[0], [&](auto texts) { run(texts, vkf_embed_args{}); });
}

void sweep_text(const vkf::Context &context, const std::string &pretrained)
{
    vkf::Tokenizer tokenizer(pretrained + "/gpt2");
    EXPECT(tokenizer.decode({}).empty());
    refuse_beyond("Tokenizer::decode", "decode: ids", std::int32_t{5}, [&](auto ids) { tokenizer.decode(ids); });
    const vkf::Vocabulary vocabulary(context, pretrained + "/../../tools/demo-model");
    refuse_beyond("Vocabulary::decode", "decode: ids", std::int32_t{5},
                  [&](auto ids) { (void)vocabulary.decode(ids); });

    vkf_embedder_desc desc = {};
    const std::string directory = pretrained + "/bert-sequence-classification";
    desc.directory = directory.c_str();
    desc.head = true;
    vkf::Embedder embedder(context, desc);
    using Texts = vkf::span<const std::string_view>;
    sweep_texts("Embedder::embed", "out_embeddings",
                [&](Texts texts, const vkf_embed_args &args) { return embedder.embed(texts, args); });
    sweep_texts("Embedder::predict", "out_predictions",
                [&](Texts texts, const vkf_embed_args &args) { return embedder.predict(texts, args); });

    vkf::Generator generator(context, pretrained + "/gpt2");
    refuse("Generator::generate", "no prompts", "", [&] { generator.generate(Texts()); });
    refuse_beyond("Generator::generate", "generate: prompts", TEXTS[0],
                  [&](Texts texts) { generator.generate(texts); });
}

// The word that ends before `end`.
std::string word_before(const std::string &line, std::size_t end)
{
    std::size_t begin = end;
    while (begin > 0 && (std::isalnum(static_cast<unsigned char>(line[begin - 1])) || line[begin - 1] == '_'))
        begin--;
    return line.substr(begin, end - begin);
}

bool has_array(const std::string &parameters)
{
    for (const char *container : {"span<", "initializer_list<", "vector<", "array<", "TrainBatch"})
        if (parameters.find(container) != std::string::npos)
            return true;
    return false;
}

// What gives a result is swept by what throws in its place, and make() by the constructor.
std::string named(const std::string &of, const std::string &function)
{
    if (function == "make" && !of.empty())
        return of + of.substr(0, of.size() - 2);
    return of + (function.compare(0, 4, "try_") == 0 ? function.substr(4) : function);
}

// The functions of a header that take a container, by their class and name. Members are indented once; what stands
// deeper is inside functions, or goes on with the line above.
std::set<std::string> functions_with_arrays(const std::string &path)
{
    std::ifstream file(path);
    std::set<std::string> found;
    std::string line, more, of;
    while (std::getline(file, line)) {
        while (line.find("//") == std::string::npos && !line.empty() && line.back() == ',' && std::getline(file, more))
            line += more;
        const std::size_t begin = line.find_first_not_of(' '), open = line.find('(');
        const std::size_t opened = line.find("class ");
        if (begin == 0 && opened != std::string::npos)
            of = word_before(line, std::min(line.size(), line.find_first_of(" :;", opened + 6))) + "::";
        else if (line == "};")
            of.clear();
        else if ((begin == 0 || begin == 4) && open != std::string::npos && has_array(line.substr(open)))
            found.insert(named(of, word_before(line, open)));
    }
    EXPECT(file.eof());
    return found;
}

void check_every_function_is_swept(const std::string &headers)
{
    std::set<std::string> found;
    for (const auto &file : std::filesystem::directory_iterator(headers))
        if (file.path().extension() == ".hpp")
            found.merge(functions_with_arrays(file.path().string()));
    // Those that callers do not see: what others hand on to them is swept above.
    swept.insert(
        {"texts_of", "Embedder::give_texts", "PaddedBatch::fill", "PaddedBatch::pad", "PaddedBatch::pad_beside"});
    for (const std::string &name : found)
        expect(swept.count(name) == 1, (name + " takes an array, and is not swept").c_str(), __FILE__, __LINE__);
    for (const std::string &name : swept)
        expect(found.count(name) == 1, (name + " is swept, and takes no array").c_str(), __FILE__, __LINE__);
}

void check_all(const std::string &pretrained, const std::string &headers)
{
    vkf::Context context;
    sweep_tensors(context);
    sweep_blocks(context);
    sweep_layers(context);
    sweep_sessions(context, pretrained);
    sweep_trainers(context, pretrained);
    sweep_text(context, pretrained);
    check_every_function_is_swept(headers);
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 3) {
        std::fprintf(stderr, "usage: check_arrays PRETRAINED HEADERS\n");
        return 2;
    }
    return run_checks([&] { check_all(argv[1], argv[2]); });
}
