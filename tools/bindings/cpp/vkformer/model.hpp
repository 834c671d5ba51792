// Whole models for C++: weights, and sessions that run them on token ids.
#ifndef VKFORMER_MODEL_HPP
#define VKFORMER_MODEL_HPP

#include <vkformer/core.hpp>

namespace vkf
{

namespace detail
{

// The text that a function with the protocol of vkf_tokenizer_decode() writes.
template <typename Decode> result<std::string> decoded(Decode decode)
{
    std::size_t size_bytes = 0;
    if (result<void> asked = done(decode(&size_bytes, nullptr)); !asked)
        return asked.why();
    std::string text(size_bytes + 1, '\0');
    size_bytes = text.size();
    const vkf_status status = decode(&size_bytes, text.data());
    text.resize(size_bytes);
    return give(status, std::move(text));
}

} // namespace detail

class Model : public detail::Handle<vkf_model, vkf_model_destroy>
{
  public:
    static result<Model> make(const Context &context, vkf_model_desc desc, ProgressFunction progress = {})
    {
        detail::Guarded<ProgressFunction> guarded(std::move(progress));
        if (guarded) {
            desc.progress = detail::Guarded<ProgressFunction>::progress;
            desc.progress_user = guarded.user();
        }
        vkf_model *raw = nullptr;
        const vkf_status status = vkf_model_load(context.get(), &desc, &raw);
        guarded.rethrow();
        return detail::give(status, adopt(context, raw));
    }
    static result<Model> make(const Context &context, const std::string &directory)
    {
        vkf_model_desc desc = {};
        desc.directory = directory.c_str();
        return make(context, desc);
    }
    // Takes over a C handle.
    static Model adopt(const Context &context, vkf_model *raw) noexcept
    {
        return Model(raw, context.log());
    }
    vkf_model_config config() const
    {
        vkf_model_config config = {};
        vkf_model_get_config(get(), &config);
        return config;
    }
    vkf_model_precision precision() const noexcept
    {
        return vkf_model_get_precision(get());
    }
    // The bytes that loading will allocate.
    static result<vkf_memory_plan> try_plan(const Context &context, const vkf_model_desc &desc)
    {
        vkf_memory_plan plan = {};
        const vkf_status status = vkf_model_plan(context.get(), &desc, &plan);
        return detail::give(status, plan);
    }
#if VKF_CPP_EXCEPTIONS
    Model(const Context &context, const vkf_model_desc &desc, ProgressFunction progress = {})
        : Model(make(context, desc, std::move(progress)).value())
    {
    }
    Model(const Context &context, const std::string &directory) : Model(make(context, directory).value())
    {
    }
    static vkf_memory_plan plan(const Context &context, const vkf_model_desc &desc)
    {
        return try_plan(context, desc).value();
    }
#endif

  private:
    using Handle::Handle;
};

// What generate() gives for one prompt.
struct GeneratedIds {
    std::vector<std::int32_t> ids;
    vkf_stop_reason reason;
};

// submit_encode() and its like of <vkformer/vulkan.hpp> begin a run and return.
class Session : public detail::Handle<vkf_session, vkf_session_destroy>
{
  public:
    static result<Session> make(const Model &model, const vkf_session_desc &desc)
    {
        vkf_session *raw = nullptr;
        const vkf_status status = vkf_session_create(model.get(), &desc, &raw);
        return detail::give(status, adopt(model, raw));
    }
    // Takes over a C handle.
    static Session adopt(const Model &model, vkf_session *raw) noexcept
    {
        return Session(raw, model.log());
    }
    static result<vkf_memory_plan> try_plan(const Model &model, const vkf_session_desc &desc)
    {
        vkf_memory_plan plan = {};
        const vkf_status status = vkf_session_plan(model.get(), &desc, &plan);
        return detail::give(status, plan);
    }
    // These are as the C functions; callbacks in `args` are the caller's, and throw nothing.
    result<void> try_encode(const vkf_encode_args &args)
    {
        return detail::done(vkf_session_encode(get(), &args));
    }
    result<void> try_decode(const vkf_decode_args &args)
    {
        return detail::done(vkf_session_decode(get(), &args));
    }
    result<void> try_greedy(const vkf_greedy_args &args)
    {
        return detail::done(vkf_session_greedy(get(), &args));
    }
    result<void> try_generate(const vkf_generate_args &args)
    {
        return detail::done(vkf_session_generate(get(), &args));
    }
    result<void> try_prefill(const vkf_prefill_args &args)
    {
        return detail::done(vkf_session_prefill(get(), &args));
    }
    result<void> try_step(const vkf_step_args &args)
    {
        return detail::done(vkf_session_step(get(), &args));
    }
    result<void> try_truncate(std::uint32_t row, std::uint32_t position)
    {
        return detail::done(vkf_session_truncate(get(), row, position));
    }
    // The tokens that a row of a decoder holds; valid until the next call for the session.
    span<const std::int32_t> tokens(std::uint32_t row) const noexcept
    {
        return {vkf_session_get_tokens(get(), row), vkf_session_get_position(get(), row)};
    }
    // What the session reads and leaves on the device; valid as long as the session.
    std::optional<vkf_tensor> tensor(vkf_session_data data) const noexcept
    {
        vkf_tensor view = {};
        return vkf_session_get_tensor(get(), data, &view) ? std::optional<vkf_tensor>(view) : std::nullopt;
    }
    // Of a run that was submitted.
    result<void> try_wait()
    {
        return detail::done(vkf_session_wait(get()));
    }
    result<bool> try_ended()
    {
        bool ended = false;
        const vkf_status status = vkf_session_ended(get(), &ended);
        return detail::give(status, ended);
    }
    // Continues each prompt of ids by up to args.max_new_tokens, which is above 0. The prompts and the outputs of
    // `args` are set here.
    result<std::vector<GeneratedIds>> try_generate(span<const std::vector<std::int32_t>> prompts,
                                                   vkf_generate_args args)
    {
        if (args.max_new_tokens == 0)
            return detail::wrong("generate: max_new_tokens is 0; say how many tokens may be made");
        result<std::uint32_t> batch = detail::count_of(prompts.size(), "generate: prompts");
        if (!batch)
            return batch.why();
        std::vector<std::int32_t> ids;
        std::vector<std::uint32_t> lengths;
        for (const std::vector<std::int32_t> &prompt : prompts) {
            result<std::uint32_t> length = detail::count_of(prompt.size(), "generate: ids of a prompt");
            if (!length)
                return length.why();
            ids.insert(ids.end(), prompt.begin(), prompt.end());
            lengths.push_back(*length);
        }
        std::vector<std::int32_t> out_ids(prompts.size() * args.max_new_tokens);
        std::vector<std::uint32_t> out_lengths(prompts.size());
        std::vector<vkf_stop_reason> out_reasons(prompts.size());
        args.batch = *batch;
        args.prompt_ids = ids.data();
        args.prompt_lengths = lengths.data();
        args.out_ids = out_ids.data();
        args.out_lengths = out_lengths.data();
        args.out_reasons = out_reasons.data();
        if (result<void> generated = try_generate(args); !generated)
            return generated.why();
        std::vector<GeneratedIds> results;
        for (std::size_t i = 0; i < prompts.size(); i++) {
            const std::int32_t *row = out_ids.data() + i * args.max_new_tokens;
            results.push_back({std::vector<std::int32_t>(row, row + out_lengths[i]), out_reasons[i]});
        }
        return results;
    }
    // (H, query_len, S), see vkf_session_get_attention(); `heads` is H and `keys` is S, and others are refused.
    result<std::vector<float>> try_attention(vkf_attention_kind kind, std::uint32_t layer, std::uint32_t row,
                                             std::uint32_t heads, std::uint32_t query_len, std::uint32_t keys)
    {
        std::uint32_t own_heads = 0, own_keys = 0;
        vkf_status status = vkf_session_get_attention_shape(get(), kind, query_len, &own_heads, &own_keys);
        if (status != VKF_OK)
            return detail::done(status).why();
        if (heads != own_heads || keys != own_keys)
            return detail::wrong("attention: the last run has " + std::to_string(own_heads) + " heads and " +
                                 std::to_string(own_keys) + " keys, and not " + std::to_string(heads) + " and " +
                                 std::to_string(keys));
        std::vector<float> weights(std::size_t{heads} * query_len * keys);
        status = vkf_session_get_attention(get(), kind, layer, row, query_len, weights.data());
        return detail::give(status, std::move(weights));
    }
#if VKF_CPP_EXCEPTIONS
    Session(const Model &model, const vkf_session_desc &desc) : Session(make(model, desc).value())
    {
    }
    static vkf_memory_plan plan(const Model &model, const vkf_session_desc &desc)
    {
        return try_plan(model, desc).value();
    }
    void encode(const vkf_encode_args &args)
    {
        try_encode(args).value();
    }
    void decode(const vkf_decode_args &args)
    {
        try_decode(args).value();
    }
    void greedy(const vkf_greedy_args &args)
    {
        try_greedy(args).value();
    }
    void generate(const vkf_generate_args &args)
    {
        try_generate(args).value();
    }
    void prefill(const vkf_prefill_args &args)
    {
        try_prefill(args).value();
    }
    void step(const vkf_step_args &args)
    {
        try_step(args).value();
    }
    void truncate(std::uint32_t row, std::uint32_t position)
    {
        try_truncate(row, position).value();
    }
    void wait()
    {
        try_wait().value();
    }
    bool ended()
    {
        return try_ended().value();
    }
    std::vector<GeneratedIds> generate(span<const std::vector<std::int32_t>> prompts, const vkf_generate_args &args)
    {
        return try_generate(prompts, args).value();
    }
    std::vector<float> attention(vkf_attention_kind kind, std::uint32_t layer, std::uint32_t row, std::uint32_t heads,
                                 std::uint32_t query_len, std::uint32_t keys)
    {
        return try_attention(kind, layer, row, heads, query_len, keys).value();
    }
#endif

  private:
    using Handle::Handle;
};

// A generation in turns: see <vkformer/model.h>. What `args` points to lives as long.
class Generation : public detail::Handle<vkf_generation, vkf_generation_destroy>
{
  public:
    static result<Generation> begin(const Session &session, const vkf_generate_args &args)
    {
        vkf_generation *raw = nullptr;
        const vkf_status status = vkf_generation_begin(session.get(), &args, &raw);
        return detail::give(status, adopt(session, raw));
    }
    // Without waiting: Session::ended() says when the next turn() does not wait.
    static result<Generation> submit(const Session &session, const vkf_generate_args &args)
    {
        vkf_generation *raw = nullptr;
        const vkf_status status = vkf_generation_submit(session.get(), &args, &raw);
        return detail::give(status, adopt(session, raw));
    }
    // Takes over a C handle.
    static Generation adopt(const Session &session, vkf_generation *raw) noexcept
    {
        return Generation(raw, session.log());
    }
    // Whether there is more to run.
    result<bool> try_turn()
    {
        bool more = false;
        const vkf_status status = vkf_generation_turn(get(), &more);
        return detail::give(status, more);
    }
#if VKF_CPP_EXCEPTIONS
    bool turn()
    {
        return try_turn().value();
    }
#endif

  private:
    using Handle::Handle;
};

// What a device can do, read from a file: for contexts that only plan. desc.message is called as it is.
class DeviceDescription : public detail::Handle<vkf_device_description, vkf_device_description_destroy>
{
  public:
    static result<DeviceDescription> make(const vkf_device_description_desc &desc)
    {
        vkf_device_description *raw = nullptr;
        const vkf_status status = vkf_device_description_create(&desc, &raw);
        return detail::give(status, adopt(raw));
    }
    // Takes over a C handle.
    static DeviceDescription adopt(vkf_device_description *raw) noexcept
    {
        return DeviceDescription(raw, nullptr);
    }
#if VKF_CPP_EXCEPTIONS
    explicit DeviceDescription(const vkf_device_description_desc &desc) : DeviceDescription(make(desc).value())
    {
    }
#endif

  private:
    using Handle::Handle;
};

// The vocabulary.json of a directory.
class Vocabulary : public detail::Handle<vkf_vocabulary, vkf_vocabulary_destroy>
{
  public:
    static result<Vocabulary> make(const Context &context, const std::string &directory)
    {
        vkf_vocabulary *raw = nullptr;
        const vkf_status status = vkf_vocabulary_load(context.get(), directory.c_str(), &raw);
        return detail::give(status, adopt(context, raw));
    }
    // Takes over a C handle.
    static Vocabulary adopt(const Context &context, vkf_vocabulary *raw) noexcept
    {
        return Vocabulary(raw, context.log());
    }
    // Ids of source tokens.
    result<std::vector<std::int32_t>> try_encode(std::string_view text) const
    {
        std::uint32_t count = 0;
        vkf_status status = vkf_vocabulary_encode(get(), text.data(), text.size(), &count, nullptr);
        std::vector<std::int32_t> ids(count);
        if (status == VKF_OK)
            status = vkf_vocabulary_encode(get(), text.data(), text.size(), &count, ids.data());
        return detail::give(status, std::move(ids));
    }
    // The text of target tokens.
    result<std::string> try_decode(span<const std::int32_t> ids) const
    {
        result<std::uint32_t> count = detail::count_of(ids.size(), "decode: ids");
        if (!count)
            return count.why();
        return detail::decoded([&](std::size_t *inout_bytes, char *out_text) {
            return vkf_vocabulary_decode(get(), ids.data(), *count, inout_bytes, out_text);
        });
    }
#if VKF_CPP_EXCEPTIONS
    Vocabulary(const Context &context, const std::string &directory) : Vocabulary(make(context, directory).value())
    {
    }
    std::vector<std::int32_t> encode(std::string_view text) const
    {
        return try_encode(text).value();
    }
    std::string decode(span<const std::int32_t> ids) const
    {
        return try_decode(ids).value();
    }
#endif

  private:
    using Handle::Handle;
};

} // namespace vkf

#endif
