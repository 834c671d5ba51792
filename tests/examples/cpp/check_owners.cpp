// check_owners PRETRAINED: numbers, errors, moves and callbacks of the C++ header, with the models of tests/pretrained.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <type_traits>

#include "checks.hpp"

namespace
{

static_assert(!std::is_copy_constructible_v<vkf::Context> && std::is_nothrow_move_constructible_v<vkf::Context>);
static_assert(!std::is_copy_constructible_v<vkf::Tensor> && std::is_nothrow_move_assignable_v<vkf::Tensor>);
static_assert(!std::is_copy_assignable_v<vkf::AttentionLayer> && !std::is_copy_assignable_v<vkf::Continuation>);

constexpr std::uint32_t LEN = 3, DIM = 8;

// Softmax attention over `input` (LEN, DIM) with one head, whose weights are the identity.
std::vector<double> reference(const std::vector<float> &input)
{
    std::vector<double> output(LEN * DIM);
    for (std::size_t i = 0; i < LEN; i++) {
        double weights[LEN], sum = 0.0;
        for (std::size_t j = 0; j < LEN; j++) {
            double score = 0.0;
            for (std::size_t d = 0; d < DIM; d++)
                score += double{input[i * DIM + d]} * double{input[j * DIM + d]};
            sum += weights[j] = std::exp(score / std::sqrt(double{DIM}));
        }
        for (std::size_t j = 0; j < LEN; j++)
            for (std::size_t d = 0; d < DIM; d++)
                output[i * DIM + d] += weights[j] / sum * double{input[j * DIM + d]};
    }
    return output;
}

vkf_attention_desc attention_desc(const vkf_tensor &identity)
{
    vkf_attention_desc desc = {};
    desc.embed_dim = DIM;
    desc.num_heads = 1;
    desc.self_attention = true;
    desc.params.q_weight = desc.params.k_weight = desc.params.v_weight = desc.params.out_weight = identity;
    desc.max_sizes = {1, LEN, 0};
    return desc;
}

void check_attention(const vkf::Context &context)
{
    std::vector<float> values(DIM * DIM), input(LEN * DIM), output(LEN * DIM);
    for (std::size_t i = 0; i < DIM; i++)
        values[i * DIM + i] = 1.0f;
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i % 7) / 3.0f - 1.0f;
    vkf::Tensor identity(context, {DIM, DIM}, values, "identity");
    EXPECT(identity.read() == values);
    vkf_attention_desc desc = attention_desc(identity);
    EXPECT(vkf::AttentionLayer::plan(context, desc).activations_bytes > 0);
    vkf::AttentionLayer made(context, desc);
    vkf::AttentionLayer layer(std::move(made));
    EXPECT(!made && layer);
    EXPECT(!layer.port(VKF_PORT_KEY) && layer.port(VKF_PORT_OUTPUT)->rank == 3);
    layer.write(VKF_PORT_QUERY, input);
    layer.run({1, LEN, 0});
    layer.read(VKF_PORT_OUTPUT, output);
    const std::vector<double> expected = reference(input);
    for (std::size_t i = 0; i < output.size(); i++)
        EXPECT(std::abs(double{output[i]} - expected[i]) <= 5e-5 + 1e-4 * std::abs(expected[i]));

    auto too_long = [&] { layer.run({1, LEN + 1, 0}); };
    EXPECT(status_of(too_long) == VKF_ERROR_TOO_LARGE);
    EXPECT(thrown_by<vkf::error>(too_long) != vkf_status_text(VKF_ERROR_TOO_LARGE)); // the library's own sentence
    EXPECT(thrown_by<vkf::error>([&] { made.run({1, LEN, 0}); }).find("vkf_layer_run") == 0);
}

std::vector<float> output_of(vkf::Layer &layer, const std::vector<float> &input)
{
    std::vector<float> output(input.size());
    layer.write(VKF_PORT_QUERY, input);
    layer.run({1, LEN, LEN});
    layer.read(VKF_PORT_OUTPUT, output);
    return output;
}

// Whose attention and feed-forward weights are zeros: what is left of the layer is its norms.
vkf_transformer_layer_desc norms_alone(const vkf_tensor &zeros)
{
    vkf_transformer_layer_desc desc = {};
    desc.d_model = desc.dim_feedforward = DIM;
    desc.num_heads = 2;
    desc.self.q_weight = desc.self.k_weight = desc.self.v_weight = desc.self.out_weight = zeros;
    desc.cross = desc.self;
    desc.feed_forward.weight1 = desc.feed_forward.weight2 = zeros;
    desc.max_sizes = {1, LEN, LEN};
    return desc;
}

void check_other_layers(const vkf::Context &context)
{
    std::vector<float> values(DIM * DIM), input(LEN * DIM);
    for (std::size_t i = 0; i < DIM; i++)
        values[i * DIM + i] = 2.0f;
    for (std::size_t i = 0; i < input.size(); i++)
        input[i] = static_cast<float>(i % 7) / 3.0f - 1.0f;
    vkf::Tensor twice(context, {DIM, DIM}, values), zeros(context, VKF_DTYPE_F32, {DIM, DIM});
    vkf_feed_forward_desc desc = {};
    desc.d_model = desc.dim_feedforward = DIM;
    desc.activation = VKF_ACTIVATION_RELU;
    desc.params.weight1 = desc.params.weight2 = twice;
    desc.max_sizes = {1, LEN, 0};
    EXPECT(vkf::FeedForward::plan(context, desc).activations_bytes > 0);
    vkf::FeedForward feed_forward(context, desc);
    const std::vector<float> output = output_of(feed_forward, input);
    for (std::size_t i = 0; i < output.size(); i++)
        EXPECT(std::abs(output[i] - 4.0f * std::max(input[i], 0.0f)) <= 1e-5f);

    const vkf_transformer_layer_desc norms = norms_alone(zeros);
    EXPECT(vkf::EncoderLayer::plan(context, norms).activations_bytes > 0);
    EXPECT(vkf::DecoderLayer::plan(context, norms).activations_bytes > 0);
    vkf::EncoderLayer encoder(context, norms);
    vkf::DecoderLayer decoder(context, norms);
    const std::vector<float> encoded = output_of(encoder, input), decoded = output_of(decoder, input);
    float sum = 0.0f, squares = 0.0f;
    for (std::size_t i = 0; i < DIM; i++) {
        EXPECT(std::abs(encoded[i] - decoded[i]) <= 1e-4f);
        sum += encoded[i];
        squares += encoded[i] * encoded[i];
    }
    EXPECT(std::abs(sum) <= 1e-4f && std::abs(squares / float{DIM} - 1.0f) <= 1e-3f);
}

// Owners outlive the context that they come from, and then still say what is wrong.
void check_lifetimes()
{
    std::optional<vkf::Context> context(std::in_place);
    vkf::Buffer buffer(*context, 16);
    context.reset();
    const std::uint32_t written[] = {1, 2, 3, 4};
    std::uint32_t read[4] = {};
    buffer.write<std::uint32_t>(0, written);
    buffer.read<std::uint32_t>(0, read);
    EXPECT(std::equal(written, written + 4, read));
    EXPECT(thrown_by<vkf::error>([&] { buffer.read<std::uint32_t>(4, read); }).find("buffer") != std::string::npos);
}

void check_messages()
{
    std::vector<std::string> said;
    vkf_context_desc desc = {};
    desc.variant = "no_such_kernel";
    auto collect = [&](vkf_severity severity, std::string_view text) {
        if (severity == VKF_SEVERITY_ERROR)
            said.emplace_back(text);
        throw std::runtime_error("messages throw nothing into the library");
    };
    std::string thrown = thrown_by<vkf::error>([&] { vkf::Context context(desc, collect); });
    EXPECT(said.size() == 1 && said[0] == thrown && thrown.find("no_such_kernel") != std::string::npos);
}

// Whether a function for messages is still there, and hears what `fail` makes the library say of what `give_away` has
// released, once no owner is left.
template <typename GiveAway, typename Fail> bool is_heard(GiveAway give_away, Fail fail)
{
    auto count = std::make_shared<int>(0);
    const std::weak_ptr<int> kept = count;
    auto raw = give_away([count = std::move(count)](vkf_severity, std::string_view) { ++*count; });
    const int before = kept.expired() ? 0 : *kept.lock();
    if (!kept.expired())
        fail(raw);
    return !kept.expired() && *kept.lock() > before;
}

void check_messages_of_released(const std::string &pretrained)
{
    using Message = vkf::MessageFunction;
    EXPECT(is_heard([](Message message) { return vkf::Context({}, std::move(message)).release(); },
                    [](vkf_context *context) {
                        vkf_buffer *none = nullptr;
                        EXPECT(vkf_buffer_create(context, 0, nullptr, &none) == VKF_ERROR_INVALID_ARGUMENT);
                        vkf_context_destroy(&context);
                    }));
    EXPECT(is_heard(
        [&](Message message) {
            return vkf::Model(vkf::Context({}, std::move(message)), pretrained + "/gpt2").release();
        },
        [](vkf_model *model) {
            vkf_session *none = nullptr;
            const vkf_session_desc sizes = {};
            EXPECT(vkf_session_create(model, &sizes, &none) == VKF_ERROR_INVALID_ARGUMENT);
            vkf_model_destroy(&model);
        }));
    EXPECT(is_heard(
        [](Message message) { return vkf::Tensor(vkf::Context({}, std::move(message)), VKF_DTYPE_F32, {2}).release(); },
        [](vkf_tensor tensor) {
            EXPECT(vkf_tensor_read(&tensor, nullptr, 1) == VKF_ERROR_INVALID_ARGUMENT);
            vkf_tensor_destroy(&tensor);
        }));
    EXPECT(is_heard(
        [&](Message message) { return vkf::Tokenizer(pretrained + "/gpt2", {}, std::move(message)).release(); },
        [](vkf_tokenizer *tokenizer) {
            const vkf_text text = {"rain", 4};
            vkf_encode_options options = {};
            options.truncation = VKF_TRUNCATION_COUNT;
            vkf_encoding none = {};
            EXPECT(vkf_tokenizer_encode(tokenizer, &text, nullptr, &options, &none) == VKF_ERROR_INVALID_ARGUMENT);
            vkf_tokenizer_destroy(&tokenizer);
        }));
}

void check_messages_of_c()
{
    int count = 0;
    vkf_tokenizer_desc desc = {};
    desc.message = [](void *user, vkf_severity, const char *) { ++*static_cast<int *>(user); };
    desc.message_user = &count;
    EXPECT(!vkf::Tokenizer::make("/no/such/directory", desc) && count == 1);
    EXPECT(!vkf::Tokenizer::make("/no/such/directory", desc, [&](vkf_severity, std::string_view) { count += 10; }));
    EXPECT(count == 12);
}

std::uint64_t used_bytes(const vkf::Context &context)
{
    const vkf_memory_usage usage = context.memory_usage();
    return std::accumulate(usage.used_bytes, usage.used_bytes + usage.heap_count, std::uint64_t{0});
}

// What is assigned to lets go of what it had, and what was assigned has nothing.
void check_assignments(const vkf::Context &context, const std::string &directory)
{
    vkf::Buffer small(context, 16), large(context, 1 << 20);
    vkf::Tensor few(context, VKF_DTYPE_F32, {4}), many(context, VKF_DTYPE_F32, {1 << 18});
    const std::uint64_t used = used_bytes(context);
    large = std::move(small);
    EXPECT(!small && large.size_bytes() == 16 && used_bytes(context) <= used - (1 << 20));
    many = std::move(few);
    EXPECT(!few.view().buffer && many.count() == 4 && used_bytes(context) <= used - (2 << 20));
    const vkf::Tokenizer tokenizer(directory);
    vkf::Encoding text = tokenizer.encode("A cat sat there."), nothing = tokenizer.encode("");
    nothing = std::move(text);
    EXPECT(text.ids().size() == 0 && nothing.ids().size() == 6);
}

// Room for other heads or keys than the run had would be too small, or its end unwritten.
void check_attention_weights(const vkf::Model &model)
{
    vkf_session_desc sizes = {};
    sizes.max_batch = 1;
    sizes.max_target_len = 8;
    sizes.max_logit_rows = 4;
    sizes.attention_weights = VKF_ATTENTION_DECODER;
    vkf::Session session(model, sizes);
    const std::int32_t ids[] = {11, 70, 72};
    std::vector<float> logits(3 * model.config().target_vocab);
    vkf_decode_args args = {};
    args.batch = 1;
    args.target_len = 3;
    args.target_ids = ids;
    args.out_logits = logits.data();
    session.decode(args);
    const std::uint32_t heads = model.config().num_heads;
    const std::vector<float> weights = session.attention(VKF_ATTENTION_DECODER, 0, 0, heads, 3, 3);
    EXPECT(weights.size() == 9u * heads && weights[0] == 1.0f && weights[1] == 0.0f);
    for (auto [wrong_heads, wrong_keys] : {std::pair{heads - 1, 3u}, {heads + 1, 3u}, {heads, 2u}, {heads, 4u}}) {
        auto ask = [&, h = wrong_heads, k = wrong_keys] {
            (void)session.attention(VKF_ATTENTION_DECODER, 0, 0, h, 3, k);
        };
        EXPECT(status_of(ask) == VKF_ERROR_INVALID_ARGUMENT);
        EXPECT(thrown_by<vkf::error>(ask).find("the last run has") != std::string::npos);
    }
    EXPECT(status_of([&] { session.attention(VKF_ATTENTION_DECODER, 0, 0, heads, 4, 4); }) ==
           VKF_ERROR_INVALID_ARGUMENT);
}

// Handles go from C to C++ and back, and results say what exceptions say.
void check_handles(const vkf::Context &context)
{
    vkf_buffer *raw = nullptr;
    EXPECT(vkf_buffer_create(context.get(), 16, nullptr, &raw) == VKF_OK);
    vkf::Buffer buffer = vkf::Buffer::adopt(context, raw);
    EXPECT(buffer.get() == raw && buffer.size_bytes() == 16 && buffer.release() == raw && !buffer);
    vkf_buffer_destroy(&raw);

    const std::vector<std::uint32_t> shape(2, DIM); // a rank that is known at run time
    const vkf::Tensor weight(context, shape, std::vector<float>(DIM * DIM, 0.5f));
    vkf_tensor packed = {};
    EXPECT(vkf_pack_weight(context.get(), &weight.view(), nullptr, &packed) == VKF_OK);
    vkf::Tensor owned = vkf::Tensor::adopt(context, packed);
    EXPECT(owned.view().layout == VKF_LAYOUT_PANELS && owned.count() == DIM * DIM);
    packed = owned.release();
    EXPECT(owned.count() == 1 && !owned.view().buffer);
    vkf_tensor_destroy(&packed);

    vkf::result<vkf::Tensor> made = vkf::Tensor::make(context, {2, 3}, std::vector<float>(6, 1.0f));
    EXPECT(made && made.status() == VKF_OK && made->try_read().value() == std::vector<float>(6, 1.0f));
    EXPECT(std::as_const(made)->count() == 6 && (*std::as_const(made)).count() == 6);
    vkf::result<void> wrong = made->try_write(std::vector<float>(5));
    EXPECT(!wrong && wrong.status() == VKF_ERROR_INVALID_ARGUMENT && !wrong.message().empty());
    EXPECT(thrown_by<vkf::error>([&] { std::move(wrong).value(); }).find("tensor") != std::string::npos);
    vkf::result<vkf::Tensor> none = vkf::Tensor::make(context, VKF_DTYPE_F32, {1, 1, 1, 1, 1});
    EXPECT(!none && !none.message().empty());
    EXPECT(status_of([&] { (void)std::move(none).value(); }) == VKF_ERROR_INVALID_ARGUMENT);
}

void check_frames(const vkf::Context &context)
{
    const vkf::Tensor zeros(context, VKF_DTYPE_F32, {DIM, DIM});
    vkf_attention_desc desc = attention_desc(zeros);
    desc.frames_in_flight = 2;
    vkf::AttentionLayer layer(context, desc);
    layer.set_sizes({1, 2, 0}, 1);
    layer.wait(1); // nothing is under way
    EXPECT(layer.ended(0) && layer.ended(1));
    EXPECT(status_of([&] { layer.wait(2); }) == VKF_ERROR_INVALID_ARGUMENT);
    EXPECT(status_of([&] { layer.set_sizes({1, 2, 0}, 2); }) == VKF_ERROR_INVALID_ARGUMENT);
}

void check_turns(const vkf::Model &model, const std::vector<std::int32_t> &prompt, vkf::span<const std::int32_t> rest)
{
    vkf_session_desc sizes = {};
    sizes.max_batch = 1;
    sizes.max_target_len = 48;
    vkf::Session session(model, sizes);
    const auto length = static_cast<std::uint32_t>(prompt.size());
    std::vector<std::int32_t> ids(12);
    std::uint32_t made = 0;
    vkf_generate_args args = {};
    args.batch = 1;
    args.prompt_ids = prompt.data();
    args.prompt_lengths = &length;
    args.max_new_tokens = 12;
    args.out_ids = ids.data();
    args.out_lengths = &made;
    vkf::Generation generation = vkf::Generation::submit(session, args).value();
    do
        while (!session.ended())
            ;
    while (generation.turn());
    EXPECT(made == rest.size() && std::equal(rest.begin(), rest.end(), ids.begin()));
    EXPECT(status_of([&] { session.wait(); }) == VKF_ERROR_INVALID_ARGUMENT); // until the generation is gone
    generation = vkf::Generation::begin(session, args).value_or(std::move(generation));
    EXPECT(generation.get()); // the one that was there
}

void check_model(const vkf::Context &context, const std::string &directory)
{
    vkf_model_desc desc = {};
    desc.directory = directory.c_str();
    auto interrupted = [](std::uint32_t done, std::uint32_t, std::string_view) -> bool {
        if (done >= 1)
            throw std::out_of_range("enough");
        return true;
    };
    EXPECT(thrown_by<std::out_of_range>([&] { vkf::Model(context, desc, interrupted); }) == "enough");
    vkf::Model model(context, desc);
    EXPECT(model.config().kind == VKF_MODEL_DECODER && model.precision() == VKF_MODEL_PRECISION_F32);
    vkf_session_desc sizes = {};
    sizes.max_batch = 2;
    sizes.max_target_len = 48;
    vkf::Session session(model, sizes);
    vkf_generate_args args = {};
    args.max_new_tokens = 12;
    const std::vector<std::int32_t> prompts[] = {{11, 70, 72, 61, 67, 6}, {95}};
    std::vector<vkf::GeneratedIds> rows = session.generate(prompts, args);
    EXPECT((rows[0].ids == std::vector<std::int32_t>{53, 54, 64, 87, 87, 52, 2} && rows[0].reason == VKF_STOP_EOS));
    EXPECT((rows[1].ids == std::vector<std::int32_t>{100, 100, 64, 64, 3, 3, 87, 64, 87, 52, 52, 2}));
    check_attention_weights(model);
    check_turns(model, prompts[0], rows[0].ids);
}

// Two steps of all parameters make the loss smaller.
void check_trainer(const vkf::Context &context, const std::string &directory)
{
    vkf_model_desc desc = {};
    desc.directory = directory.c_str();
    desc.trainable = true;
    vkf::Model model(context, desc);
    vkf_trainer_desc settings = {};
    settings.max_batch = 1;
    settings.max_target_len = 3;
    settings.rate = 1e-3;
    vkf::Trainer trainer(model, settings);
    EXPECT(vkf::Trainer::plan(model, settings).activations_bytes > 0);
    vkf::TrainBatch batch;
    batch.target = {{11, 70, 72}};
    batch.labels = {{70, 72, 61}};
    const double before = trainer.evaluate(batch).loss;
    EXPECT(std::fabs(trainer.step(batch).loss - before) < 1e-5 && trainer.step(batch).loss < before);
    EXPECT(trainer.steps() == 2 && trainer.gradient(batch, 0).size() == trainer.parameters()[0].count);
    EXPECT(thrown_by<vkf::error>([&] { trainer.save_adapter("none"); }).find("lora_rank") != std::string::npos);
    EXPECT(thrown_by<vkf::error>([&] { trainer.gradient(batch, 9999); }).find("9999") != std::string::npos);
}

void check_tokenizer(const std::string &directory)
{
    vkf::Tokenizer tokenizer(directory);
    vkf::Encoding encoding = tokenizer.encode("A cat sat there.");
    const std::vector<std::int32_t> expected{11, 70, 72, 61, 67, 6};
    EXPECT(std::equal(expected.begin(), expected.end(), encoding.ids().begin(), encoding.ids().end()));
    EXPECT(tokenizer.decode(encoding.ids()) == "A cat sat there.");
    EXPECT(!tokenizer.token_to_id("no such token") && !tokenizer.id_to_token(-1));
    EXPECT(tokenizer.token_to_id(std::string(*tokenizer.id_to_token(53))) == 53);
    EXPECT(tokenizer.encode("").ids().size() == 0);
    std::string thrown = thrown_by<vkf::error>([] { vkf::Tokenizer missing("/no/such/directory"); });
    EXPECT(thrown.find("/no/such/directory") != std::string::npos);
}

void check_directories(const vkf::Context &context, const std::string &pretrained)
{
    const vkf::Inspection inspection(pretrained + "/gpt2");
    EXPECT(inspection.info().has_weights && inspection.config().kind == VKF_MODEL_DECODER);
    const vkf::result<vkf::Inspection> none = vkf::Inspection::make("/no/such/directory");
    EXPECT(!none && none.message().find("/no/such/directory") != std::string::npos);

    const vkf::Vocabulary vocabulary(context, pretrained + "/../../tools/demo-model");
    EXPECT((vocabulary.encode("one two") == std::vector<std::int32_t>{5, 38, 2}));
    EXPECT(vocabulary.decode(std::vector<std::int32_t>{1, 5, 2}) == "eins");
    EXPECT(!vocabulary.try_decode(std::vector<std::int32_t>{-1}));

    vkf_device_description_desc desc = {};
    desc.text = "no profile";
    desc.text_bytes = 10;
    EXPECT(vkf::DeviceDescription::make(desc).status() == VKF_ERROR_FORMAT);
}

void check_generator(const vkf::Context &context, const std::string &directory)
{
    const std::string expected = "believable unbelievableaigelgelbeliev";
    vkf::Generator generator(context, directory);
    vkf_generator_args args = {};
    args.max_new_tokens = 12;
    std::string heard, streamed;
    auto hear = [&](std::uint32_t, std::string_view text) {
        heard += text;
        return true;
    };
    vkf::Continuation continuation = generator.generate("A cat sat there.", args, hear);
    EXPECT(heard == expected && continuation.text() == expected && continuation.reason() == VKF_STOP_EOS);
    for (const std::string &part : generator.stream("A cat sat there.", args))
        streamed += part;
    EXPECT(streamed == expected);
    for (const std::string &part : generator.stream("A cat sat there.", args)) {
        EXPECT(expected.compare(0, part.size(), part) == 0);
        break; // the stream ends the generation, and the generator is free again
    }
    auto interrupted = [](std::uint32_t, std::string_view) -> bool { throw std::out_of_range("enough"); };
    auto interrupt = [&] { generator.generate("A cat sat there.", args, interrupted); };
    EXPECT(thrown_by<std::out_of_range>(interrupt) == "enough");
    args.max_new_tokens = 100000;
    auto too_long = [&] { generator.stream("A cat sat there.", args).next(); };
    EXPECT(thrown_by<vkf::error>(too_long).find("100000") != std::string::npos);
}

void check_embedder(const vkf::Context &context, const std::string &directory)
{
    vkf::Embedder embedder(context, directory);
    const std::string_view texts[] = {"A cat sat there.", "rain"};
    std::vector<float> embeddings = embedder.embed(texts);
    const float expected[] = {0.115844994f, 0.148054974f, -0.187249922f, 0.142225895f};
    for (std::size_t i = 0; i < 4; i++)
        EXPECT(std::abs(embeddings[i] - expected[i]) <= 1e-5f);
    EXPECT(embeddings.size() == 2 * std::size_t{embedder.dim()});
    auto cancel = [](std::uint32_t, std::uint32_t, std::string_view) { return false; };
    EXPECT(status_of([&] { embedder.embed(texts, {}, cancel); }) == VKF_ERROR_CANCELLED);
}

void check_predictions(const vkf::Context &context, const std::string &directory)
{
    vkf_embedder_desc desc = {};
    desc.directory = directory.c_str();
    desc.head = true;
    vkf::Embedder embedder(context, desc);
    const std::string_view texts[] = {"A cat sat there."};
    std::vector<vkf::Prediction> predictions = embedder.predict(texts);
    EXPECT(predictions.size() == 1 && predictions[0].get().rows == 1 && embedder.label(0));
    EXPECT(predictions[0].logits().size() == embedder.config().head_outputs);
    EXPECT(!embedder.label(embedder.config().head_outputs));
}

void check_all(const std::string &pretrained)
{
    vkf::Context context;
    EXPECT(context.device_info().name[0] != '\0' && !vkf::enumerate_devices().empty());
    check_attention(context);
    check_other_layers(context);
    check_lifetimes();
    check_messages();
    check_messages_of_released(pretrained);
    check_messages_of_c();
    check_assignments(context, pretrained + "/gpt2");
    check_handles(context);
    check_frames(context);
    check_model(context, pretrained + "/gpt2");
    check_trainer(context, pretrained + "/llama");
    check_tokenizer(pretrained + "/gpt2");
    check_directories(context, pretrained);
    check_generator(context, pretrained + "/gpt2");
    check_embedder(context, pretrained + "/sentence-mean");
    check_predictions(context, pretrained + "/bert-sequence-classification");
}

} // namespace

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: check_owners PRETRAINED\n");
        return 2;
    }
    return run_checks([&] { check_all(argv[1]); });
}
