// Texts for C++: tokenizers, embeddings, and generation.
#ifndef VKFORMER_TEXT_HPP
#define VKFORMER_TEXT_HPP

#include <vkformer/model.hpp>

#include <condition_variable>

namespace vkf
{

namespace detail
{

// A struct of results that a C function fills and another one frees.
template <typename T, void (*Free)(T *)> class Result
{
  public:
    Result() noexcept = default;
    explicit Result(const T &value) noexcept : value_(value)
    {
    }
    Result(Result &&other) noexcept : value_(std::exchange(other.value_, T{}))
    {
    }
    Result &operator=(Result &&other) noexcept
    {
        std::swap(value_, other.value_);
        return *this;
    }
    Result(const Result &) = delete;
    Result &operator=(const Result &) = delete;
    ~Result()
    {
        Free(&value_);
    }
    const T &get() const noexcept
    {
        return value_;
    }

  protected:
    T value_ = {};
};

// The text that a function with the protocol of vkf_tokenizer_decode() writes.
template <typename Decode> std::string decoded(const SharedLog &log, Decode decode)
{
    std::size_t size_bytes = 0;
    check(decode(&size_bytes, nullptr), log);
    std::string text(size_bytes + 1, '\0');
    size_bytes = text.size();
    check(decode(&size_bytes, text.data()), log);
    text.resize(size_bytes);
    return text;
}

inline void free_encoding(vkf_encoding *encoding) noexcept
{
    vkf_encoding_free(encoding);
}

inline void free_prediction(vkf_prediction *prediction) noexcept
{
    vkf_prediction_free(prediction);
}

inline void free_continuation(vkf_continuation *continuation) noexcept
{
    vkf_continuation_free(continuation);
}

} // namespace detail

// The tokens of a text; get() has offsets, words and the rest.
class Encoding : public detail::Result<vkf_encoding, detail::free_encoding>
{
  public:
    using Result::Result;
    span<const std::int32_t> ids() const noexcept
    {
        return {value_.ids, value_.count};
    }
};

class Tokenizer : public detail::Handle<vkf_tokenizer, vkf_tokenizer_destroy>
{
  public:
    // `path` is a tokenizer.json, or a directory.
    explicit Tokenizer(const std::string &path, vkf_tokenizer_desc desc = {}, MessageFunction message = {})
        : Handle(std::make_shared<detail::Log>(std::move(message), desc.message, desc.message_user))
    {
        desc.message = detail::Log::receive;
        desc.message_user = log().get();
        desc.path = path.c_str();
        check(vkf_tokenizer_load(&desc, out()));
    }
    Encoding encode(std::string_view text, const vkf_encode_options &options = {}) const
    {
        return encoded(text, std::nullopt, options);
    }
    Encoding encode_pair(std::string_view text, std::string_view pair, const vkf_encode_options &options = {}) const
    {
        return encoded(text, pair, options);
    }
    std::string decode(span<const std::int32_t> ids, bool skip_special_tokens = true) const
    {
        const std::uint32_t count = detail::count_of(ids.size(), "decode: ids");
        return detail::decoded(log(), [&](std::size_t *inout_bytes, char *out_text) {
            return vkf_tokenizer_decode(get(), ids.data(), count, skip_special_tokens, inout_bytes, out_text);
        });
    }
    std::optional<std::int32_t> token_to_id(const std::string &token) const
    {
        std::int32_t id = vkf_tokenizer_token_to_id(get(), token.c_str());
        return id >= 0 ? std::optional<std::int32_t>(id) : std::nullopt;
    }
    // Valid as long as the tokenizer.
    std::optional<std::string_view> id_to_token(std::int32_t id) const
    {
        const char *token = vkf_tokenizer_id_to_token(get(), id);
        return token ? std::optional<std::string_view>(token) : std::nullopt;
    }
    std::uint32_t vocab_size() const noexcept
    {
        return vkf_tokenizer_get_vocab_size(get());
    }
    vkf_tokenizer_info info() const noexcept
    {
        vkf_tokenizer_info info = {};
        vkf_tokenizer_get_info(get(), &info);
        return info;
    }

  private:
    Encoding encoded(std::string_view text, std::optional<std::string_view> pair,
                     const vkf_encode_options &options) const
    {
        vkf_encoding encoding = {};
        const vkf_text first = {text.data(), text.size()};
        const vkf_text second = pair ? vkf_text{pair->data(), pair->size()} : vkf_text{};
        check(vkf_tokenizer_encode(get(), &first, pair ? &second : nullptr, &options, &encoding));
        return Encoding(encoding);
    }
};

// What a model's head says of one text; get() has the tokens.
class Prediction : public detail::Result<vkf_prediction, detail::free_prediction>
{
  public:
    using Result::Result;
    // (rows, cols) of get()
    span<const float> logits() const noexcept
    {
        return {value_.logits, std::size_t{value_.rows} * value_.cols};
    }
};

class Embedder : public detail::Handle<vkf_embedder, vkf_embedder_destroy>
{
  public:
    Embedder(const Context &context, const vkf_embedder_desc &desc) : Handle(context.log())
    {
        check(vkf_embedder_load(context.get(), &desc, out()));
    }
    Embedder(const Context &context, const std::string &directory) : Embedder(context, desc_of(directory.c_str()))
    {
    }
    vkf_model_config config() const
    {
        vkf_model_config config = {};
        vkf_embedder_get_config(get(), &config);
        return config;
    }
    // How many elements an embedding has.
    std::uint32_t dim() const
    {
        return config().embedding_dim;
    }
    // The label of a classifier; valid as long as the embedder.
    std::optional<std::string_view> label(std::uint32_t index) const
    {
        const char *label = vkf_embedder_get_label(get(), index);
        return label ? std::optional<std::string_view>(label) : std::nullopt;
    }
    // (texts, dim()). Of `args`, the texts are set here, and the output. Whatever else it has for each text (pairs,
    // options, other outputs), it has args.count times, and another count than that of the texts is refused.
    std::vector<float> embed(span<const std::string_view> texts, vkf_embed_args args = {},
                             ProgressFunction progress = {})
    {
        args.out_embeddings = nullptr;
        const std::vector<vkf_text> views = give_texts(texts, args, "embed: texts");
        std::vector<float> embeddings(texts.size() * dim());
        args.out_embeddings = embeddings.data();
        run(args, std::move(progress));
        return embeddings;
    }
    // What the head of an embedder with `head` says; as embed() otherwise.
    std::vector<Prediction> predict(span<const std::string_view> texts, vkf_embed_args args = {},
                                    ProgressFunction progress = {})
    {
        args.out_predictions = nullptr;
        const std::vector<vkf_text> views = give_texts(texts, args, "predict: texts");
        std::vector<vkf_prediction> predictions(texts.size());
        args.out_predictions = predictions.data();
        std::vector<Prediction> results;
        results.reserve(texts.size());
        run(args, std::move(progress));
        for (const vkf_prediction &prediction : predictions)
            results.emplace_back(prediction);
        return results;
    }
    // As the C function; callbacks in `args` are the caller's, and throw nothing.
    void run(const vkf_embed_args &args)
    {
        check(vkf_embedder_run(get(), &args));
    }

  private:
    static vkf_embedder_desc desc_of(const char *directory)
    {
        vkf_embedder_desc desc = {};
        desc.directory = directory;
        return desc;
    }
    // Puts texts into `args`, whose other arrays have args.count elements.
    static std::vector<vkf_text> give_texts(span<const std::string_view> texts, vkf_embed_args &args, const char *what)
    {
        std::vector<vkf_text> views = detail::texts_of(texts, what);
        const bool has_others =
            args.pairs || args.options || args.out_embeddings || args.out_predictions || args.out_token_counts;
        if (has_others && args.count != views.size())
            throw error(VKF_ERROR_INVALID_ARGUMENT,
                        std::string(what) + " are " + std::to_string(views.size()) + ", and args.count says that the " +
                            "pairs, options and outputs of args are " + std::to_string(args.count));
        args.texts = views.data();
        args.count = static_cast<std::uint32_t>(views.size());
        return views;
    }
    void run(vkf_embed_args args, ProgressFunction progress)
    {
        detail::Guarded<ProgressFunction> guarded(std::move(progress));
        if (guarded) {
            args.progress = detail::Guarded<ProgressFunction>::progress;
            args.progress_user = guarded.user();
        }
        detail::run_guarded(guarded, log(), [&] { return vkf_embedder_run(get(), &args); });
    }
};

// What was generated for one prompt; get() has the numbers of tokens.
class Continuation : public detail::Result<vkf_continuation, detail::free_continuation>
{
  public:
    using Result::Result;
    std::string_view text() const noexcept
    {
        return {value_.text ? value_.text : "", value_.size_bytes};
    }
    span<const std::int32_t> ids() const noexcept
    {
        return {value_.ids, value_.id_count};
    }
    vkf_stop_reason reason() const noexcept
    {
        return value_.reason;
    }
};

class TextStream;

class Generator : public detail::Handle<vkf_generator, vkf_generator_destroy>
{
  public:
    Generator(const Context &context, const vkf_generator_desc &desc) : Handle(context.log())
    {
        check(vkf_generator_load(context.get(), &desc, out()));
    }
    Generator(const Context &context, const std::string &directory) : Generator(context, desc_of(directory.c_str()))
    {
    }
    vkf_model_config config() const
    {
        vkf_model_config config = {};
        vkf_generator_get_config(get(), &config);
        return config;
    }
    // How many tokens a prompt and its continuation may have together.
    std::uint32_t context_len() const noexcept
    {
        return vkf_generator_get_max_context(get());
    }
    // The prompts, count and outputs of `args` are set here, and with `on_text` its callback.
    std::vector<Continuation> generate(span<const std::string_view> prompts, vkf_generator_args args = {},
                                       TextFunction on_text = {})
    {
        std::vector<vkf_text> views = detail::texts_of(prompts, "generate: prompts");
        std::vector<vkf_continuation> continuations(prompts.size());
        args.prompts = views.data();
        args.count = static_cast<std::uint32_t>(views.size());
        args.out_continuations = continuations.data();
        std::vector<Continuation> results;
        results.reserve(prompts.size());
        detail::Guarded<TextFunction> guarded(std::move(on_text));
        if (guarded) {
            args.on_text = detail::Guarded<TextFunction>::text;
            args.on_text_user = guarded.user();
        }
        vkf_status status = vkf_generator_run(get(), &args);
        if (status == VKF_OK)
            for (const vkf_continuation &continuation : continuations)
                results.emplace_back(continuation);
        guarded.rethrow(log());
        check(status);
        return results;
    }
    Continuation generate(std::string_view prompt, const vkf_generator_args &args = {}, TextFunction on_text = {})
    {
        return std::move(generate(span<const std::string_view>(&prompt, 1), args, std::move(on_text)).front());
    }
    // The parts of one continuation, for a loop over them. The generator does nothing else until the stream is gone,
    // and what `args` points to lives as long. Who links a program with this links the system's threads.
    TextStream stream(std::string_view prompt, const vkf_generator_args &args = {});

  private:
    static vkf_generator_desc desc_of(const char *directory)
    {
        vkf_generator_desc desc = {};
        desc.directory = directory;
        return desc;
    }
};

// Text as it comes: for (const std::string &part : generator.stream("Once")) ...
// A thread generates, at most one part ahead of the loop. A loop that is left ends the generation.
class TextStream
{
  public:
    TextStream(Generator &generator, std::string_view prompt, const vkf_generator_args &args)
        : prompt_(prompt), thread_([this, &generator, args] { generate(generator, args); })
    {
    }
    TextStream(const TextStream &) = delete;
    TextStream &operator=(const TextStream &) = delete;
    ~TextStream()
    {
        {
            std::lock_guard<std::mutex> guard(mutex_);
            left_ = true;
        }
        changed_.notify_all();
        thread_.join();
    }
    // The next part; nothing at the end. Throws what ended the generation.
    std::optional<std::string> next()
    {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [this] { return part_ || ended_; });
        if (!part_ && thrown_)
            std::rethrow_exception(std::exchange(thrown_, nullptr));
        std::optional<std::string> part = std::exchange(part_, std::nullopt);
        changed_.notify_all();
        return part;
    }

    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string *;
        using reference = const std::string &;
        iterator() = default;
        explicit iterator(TextStream *stream) : stream_(stream), part_(stream->next())
        {
        }
        reference operator*() const
        {
            return *part_;
        }
        pointer operator->() const
        {
            return &*part_;
        }
        iterator &operator++()
        {
            part_ = stream_->next();
            return *this;
        }
        void operator++(int)
        {
            ++*this;
        }
        bool operator==(const iterator &other) const noexcept
        {
            return part_.has_value() == other.part_.has_value();
        }
        bool operator!=(const iterator &other) const noexcept
        {
            return !(*this == other);
        }

      private:
        TextStream *stream_ = nullptr;
        std::optional<std::string> part_;
    };
    iterator begin()
    {
        return iterator(this);
    }
    iterator end()
    {
        return iterator();
    }

  private:
    void generate(Generator &generator, const vkf_generator_args &args) noexcept
    {
        std::exception_ptr thrown;
        try {
            generator.generate(prompt_, args, [this](std::uint32_t, std::string_view text) { return hand_on(text); });
        } catch (...) {
            thrown = std::current_exception();
        }
        std::lock_guard<std::mutex> guard(mutex_);
        thrown_ = thrown;
        ended_ = true;
        changed_.notify_all();
    }
    bool hand_on(std::string_view text)
    {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [this] { return !part_ || left_; });
        if (left_)
            return false;
        part_ = std::string(text);
        changed_.notify_all();
        return true;
    }

    std::string prompt_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::optional<std::string> part_; // made, and not yet taken
    bool left_ = false;
    bool ended_ = false;
    std::exception_ptr thrown_;
    std::thread thread_; // the last member: it uses the others
};

inline TextStream Generator::stream(std::string_view prompt, const vkf_generator_args &args)
{
    return TextStream(*this, prompt, args);
}

} // namespace vkf

#endif
