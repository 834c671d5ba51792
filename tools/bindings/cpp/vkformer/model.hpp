// Whole models for C++: weights, and sessions that run them on token ids.
#ifndef VKFORMER_MODEL_HPP
#define VKFORMER_MODEL_HPP

#include <vkformer/core.hpp>

namespace vkf
{

namespace detail
{

// The run of a function that takes a struct with a progress callback, or with other callbacks that may throw.
template <typename Function, typename Run> void run_guarded(Guarded<Function> &guarded, const SharedLog &log, Run run)
{
    vkf_status status = run();
    guarded.rethrow(log);
    check(status, log);
}

} // namespace detail

class Model : public detail::Handle<vkf_model, vkf_model_destroy>
{
  public:
    Model(const Context &context, vkf_model_desc desc, ProgressFunction progress = {}) : Handle(context.log())
    {
        detail::Guarded<ProgressFunction> guarded(std::move(progress));
        if (guarded) {
            desc.progress = detail::Guarded<ProgressFunction>::progress;
            desc.progress_user = guarded.user();
        }
        detail::run_guarded(guarded, log(), [&] { return vkf_model_load(context.get(), &desc, out()); });
    }
    Model(const Context &context, const std::string &directory) : Model(context, desc_of(directory.c_str()))
    {
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
    static vkf_memory_plan plan(const Context &context, const vkf_model_desc &desc)
    {
        vkf_memory_plan plan = {};
        detail::check(vkf_model_plan(context.get(), &desc, &plan), context.log());
        return plan;
    }

  private:
    static vkf_model_desc desc_of(const char *directory)
    {
        vkf_model_desc desc = {};
        desc.directory = directory;
        return desc;
    }
};

// What generate() gives for one prompt.
struct GeneratedIds {
    std::vector<std::int32_t> ids;
    vkf_stop_reason reason;
};

class Session : public detail::Handle<vkf_session, vkf_session_destroy>
{
  public:
    Session(const Model &model, const vkf_session_desc &desc) : Handle(model.log())
    {
        check(vkf_session_create(model.get(), &desc, out()));
    }
    static vkf_memory_plan plan(const Model &model, const vkf_session_desc &desc)
    {
        vkf_memory_plan plan = {};
        detail::check(vkf_session_plan(model.get(), &desc, &plan), model.log());
        return plan;
    }
    void encode(const vkf_encode_args &args)
    {
        check(vkf_session_encode(get(), &args));
    }
    void decode(const vkf_decode_args &args)
    {
        check(vkf_session_decode(get(), &args));
    }
    void greedy(const vkf_greedy_args &args)
    {
        check(vkf_session_greedy(get(), &args));
    }
    // As the C function; the callbacks in `args` are the caller's, and throw nothing.
    void generate(const vkf_generate_args &args)
    {
        check(vkf_session_generate(get(), &args));
    }
    // Continues each prompt of ids by up to args.max_new_tokens, which is above 0. The prompts and the outputs of
    // `args` are set here.
    std::vector<GeneratedIds> generate(span<const std::vector<std::int32_t>> prompts, vkf_generate_args args)
    {
        if (args.max_new_tokens == 0)
            throw error(VKF_ERROR_INVALID_ARGUMENT, "generate: max_new_tokens is 0; say how many tokens may be made");
        args.batch = detail::count_of(prompts.size(), "generate: prompts");
        std::vector<std::int32_t> ids;
        std::vector<std::uint32_t> lengths;
        for (const std::vector<std::int32_t> &prompt : prompts) {
            ids.insert(ids.end(), prompt.begin(), prompt.end());
            lengths.push_back(detail::count_of(prompt.size(), "generate: ids of a prompt"));
        }
        std::vector<std::int32_t> out_ids(prompts.size() * args.max_new_tokens);
        std::vector<std::uint32_t> out_lengths(prompts.size());
        std::vector<vkf_stop_reason> out_reasons(prompts.size());
        args.prompt_ids = ids.data();
        args.prompt_lengths = lengths.data();
        args.out_ids = out_ids.data();
        args.out_lengths = out_lengths.data();
        args.out_reasons = out_reasons.data();
        generate(args);
        std::vector<GeneratedIds> results;
        for (std::size_t i = 0; i < prompts.size(); i++) {
            const std::int32_t *row = out_ids.data() + i * args.max_new_tokens;
            results.push_back({std::vector<std::int32_t>(row, row + out_lengths[i]), out_reasons[i]});
        }
        return results;
    }
    // (H, query_len, S), see vkf_session_get_attention(); `heads` is H and `keys` is S, and others are refused.
    std::vector<float> attention(vkf_attention_kind kind, std::uint32_t layer, std::uint32_t row, std::uint32_t heads,
                                 std::uint32_t query_len, std::uint32_t keys)
    {
        std::uint32_t own_heads = 0, own_keys = 0;
        check(vkf_session_get_attention_shape(get(), kind, query_len, &own_heads, &own_keys));
        if (heads != own_heads || keys != own_keys)
            throw error(VKF_ERROR_INVALID_ARGUMENT, "attention: the last run has " + std::to_string(own_heads) +
                                                        " heads and " + std::to_string(own_keys) + " keys, and not " +
                                                        std::to_string(heads) + " and " + std::to_string(keys));
        std::vector<float> weights(std::size_t{heads} * query_len * keys);
        check(vkf_session_get_attention(get(), kind, layer, row, query_len, weights.data()));
        return weights;
    }
};

} // namespace vkf

#endif
