// Texts for C++: tokenizers, embeddings, and generation.
#ifndef VKFORMER_TEXT_HPP
#define VKFORMER_TEXT_HPP

#include <vkformer/model.hpp>

#include <condition_variable>
#include <iterator>
#include <mutex>
#include <thread>

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
        Result taken(std::move(other));
        std::swap(value_, taken.value_);
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
    static result<Tokenizer> make(const std::string &path, vkf_tokenizer_desc desc = {}, MessageFunction message = {})
    {
        detail::SharedLog log = detail::listen(desc, std::move(message));
        desc.path = path.c_str();
        vkf_tokenizer *raw = nullptr;
        const vkf_status status = vkf_tokenizer_load(&desc, &raw);
        return detail::give(status, Tokenizer(raw, std::move(log)));
    }
    // Takes over a C handle.
    static Tokenizer adopt(vkf_tokenizer *raw) noexcept
    {
        return Tokenizer(raw, nullptr);
    }
    result<Encoding> try_encode(std::string_view text, const vkf_encode_options &options = {}) const
    {
        return encoded(text, std::nullopt, options);
    }
    result<Encoding> try_encode_pair(std::string_view text, std::string_view pair,
                                     const vkf_encode_options &options = {}) const
    {
        return encoded(text, pair, options);
    }
    result<std::string> try_decode(span<const std::int32_t> ids, bool skip_special_tokens = true) const
    {
        result<std::uint32_t> count = detail::count_of(ids.size(), "decode: ids");
        if (!count)
            return count.why();
        return detail::decoded([&](std::size_t *inout_bytes, char *out_text) {
            return vkf_tokenizer_decode(get(), ids.data(), *count, skip_special_tokens, inout_bytes, out_text);
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
#if VKF_CPP_EXCEPTIONS
    explicit Tokenizer(const std::string &path, vkf_tokenizer_desc desc = {}, MessageFunction message = {})
        : Tokenizer(make(path, desc, std::move(message)).value())
    {
    }
    Encoding encode(std::string_view text, const vkf_encode_options &options = {}) const
    {
        return try_encode(text, options).value();
    }
    Encoding encode_pair(std::string_view text, std::string_view pair, const vkf_encode_options &options = {}) const
    {
        return try_encode_pair(text, pair, options).value();
    }
    std::string decode(span<const std::int32_t> ids, bool skip_special_tokens = true) const
    {
        return try_decode(ids, skip_special_tokens).value();
    }
#endif

  private:
    using Handle::Handle;
    result<Encoding> encoded(std::string_view text, std::optional<std::string_view> pair,
                             const vkf_encode_options &options) const
    {
        vkf_encoding encoding = {};
        const vkf_text first = {text.data(), text.size()};
        const vkf_text second = pair ? vkf_text{pair->data(), pair->size()} : vkf_text{};
        const vkf_status status = vkf_tokenizer_encode(get(), &first, pair ? &second : nullptr, &options, &encoding);
        return detail::give(status, Encoding(encoding));
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
    static result<Embedder> make(const Context &context, const vkf_embedder_desc &desc)
    {
        vkf_embedder *raw = nullptr;
        const vkf_status status = vkf_embedder_load(context.get(), &desc, &raw);
        return detail::give(status, adopt(context, raw));
    }
    static result<Embedder> make(const Context &context, const std::string &directory)
    {
        vkf_embedder_desc desc = {};
        desc.directory = directory.c_str();
        return make(context, desc);
    }
    // Takes over a C handle.
    static Embedder adopt(const Context &context, vkf_embedder *raw) noexcept
    {
        return Embedder(raw, context.log());
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
    result<std::vector<float>> try_embed(span<const std::string_view> texts, vkf_embed_args args = {},
                                         ProgressFunction progress = {})
    {
        args.out_embeddings = nullptr;
        const result<std::vector<vkf_text>> views = give_texts(texts, args, "embed: texts");
        if (!views)
            return views.why();
        std::vector<float> embeddings(texts.size() * dim());
        args.out_embeddings = embeddings.data();
        if (result<void> ran = run_told(args, std::move(progress)); !ran)
            return ran.why();
        return embeddings;
    }
    // What the head of an embedder with `head` says; as embed() otherwise.
    result<std::vector<Prediction>> try_predict(span<const std::string_view> texts, vkf_embed_args args = {},
                                                ProgressFunction progress = {})
    {
        args.out_predictions = nullptr;
        const result<std::vector<vkf_text>> views = give_texts(texts, args, "predict: texts");
        if (!views)
            return views.why();
        std::vector<vkf_prediction> predictions(texts.size());
        args.out_predictions = predictions.data();
        std::vector<Prediction> results;
        results.reserve(texts.size());
        if (result<void> ran = run_told(args, std::move(progress)); !ran)
            return ran.why();
        for (const vkf_prediction &prediction : predictions)
            results.emplace_back(prediction);
        return results;
    }
    // As the C function; callbacks in `args` are the caller's, and throw nothing.
    result<void> try_run(const vkf_embed_args &args)
    {
        return detail::done(vkf_embedder_run(get(), &args));
    }
#if VKF_CPP_EXCEPTIONS
    Embedder(const Context &context, const vkf_embedder_desc &desc) : Embedder(make(context, desc).value())
    {
    }
    Embedder(const Context &context, const std::string &directory) : Embedder(make(context, directory).value())
    {
    }
    std::vector<float> embed(span<const std::string_view> texts, const vkf_embed_args &args = {},
                             ProgressFunction progress = {})
    {
        return try_embed(texts, args, std::move(progress)).value();
    }
    std::vector<Prediction> predict(span<const std::string_view> texts, const vkf_embed_args &args = {},
                                    ProgressFunction progress = {})
    {
        return try_predict(texts, args, std::move(progress)).value();
    }
    void run(const vkf_embed_args &args)
    {
        try_run(args).value();
    }
#endif

  private:
    using Handle::Handle;
    // Puts texts into `args`, whose other arrays have args.count elements. The texts are where the result is.
    static result<std::vector<vkf_text>> give_texts(span<const std::string_view> texts, vkf_embed_args &args,
                                                    const char *what)
    {
        result<std::vector<vkf_text>> views = detail::texts_of(texts, what);
        if (!views)
            return views;
        const bool has_others =
            args.pairs || args.options || args.out_embeddings || args.out_predictions || args.out_token_counts;
        if (has_others && args.count != views->size())
            return detail::wrong(std::string(what) + " are " + std::to_string(views->size()) +
                                 ", and args.count says that the pairs, options and outputs of args are " +
                                 std::to_string(args.count));
        args.texts = views->data(); // which stay there when the vector moves
        args.count = static_cast<std::uint32_t>(views->size());
        return views;
    }
    result<void> run_told(vkf_embed_args args, ProgressFunction progress)
    {
        detail::Guarded<ProgressFunction> guarded(std::move(progress));
        if (guarded) {
            args.progress = detail::Guarded<ProgressFunction>::progress;
            args.progress_user = guarded.user();
        }
        const vkf_status status = vkf_embedder_run(get(), &args);
        guarded.rethrow();
        return detail::done(status);
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
    static result<Generator> make(const Context &context, const vkf_generator_desc &desc)
    {
        vkf_generator *raw = nullptr;
        const vkf_status status = vkf_generator_load(context.get(), &desc, &raw);
        return detail::give(status, adopt(context, raw));
    }
    static result<Generator> make(const Context &context, const std::string &directory)
    {
        vkf_generator_desc desc = {};
        desc.directory = directory.c_str();
        return make(context, desc);
    }
    // Takes over a C handle.
    static Generator adopt(const Context &context, vkf_generator *raw) noexcept
    {
        return Generator(raw, context.log());
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
    result<std::vector<Continuation>> try_generate(span<const std::string_view> prompts, vkf_generator_args args = {},
                                                   TextFunction on_text = {})
    {
        result<std::vector<vkf_text>> views = detail::texts_of(prompts, "generate: prompts");
        if (!views)
            return views.why();
        std::vector<vkf_continuation> continuations(prompts.size());
        args.prompts = views->data();
        args.count = static_cast<std::uint32_t>(views->size());
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
        guarded.rethrow();
        return detail::give(status, std::move(results));
    }
    result<Continuation> try_generate(std::string_view prompt, const vkf_generator_args &args = {},
                                      TextFunction on_text = {})
    {
        result<std::vector<Continuation>> all =
            try_generate(span<const std::string_view>(&prompt, 1), args, std::move(on_text));
        if (!all)
            return all.why();
        return std::move(all->front());
    }
    // The parts of one continuation, for a loop over them. The generator does nothing else until the stream is gone,
    // and what `args` points to lives as long. Who links a program with this links the system's threads.
    TextStream stream(std::string_view prompt, const vkf_generator_args &args = {});
#if VKF_CPP_EXCEPTIONS
    Generator(const Context &context, const vkf_generator_desc &desc) : Generator(make(context, desc).value())
    {
    }
    Generator(const Context &context, const std::string &directory) : Generator(make(context, directory).value())
    {
    }
    std::vector<Continuation> generate(span<const std::string_view> prompts, const vkf_generator_args &args = {},
                                       TextFunction on_text = {})
    {
        return try_generate(prompts, args, std::move(on_text)).value();
    }
    Continuation generate(std::string_view prompt, const vkf_generator_args &args = {}, TextFunction on_text = {})
    {
        return try_generate(prompt, args, std::move(on_text)).value();
    }
#endif

  private:
    using Handle::Handle;
};

// Text as it comes: for (const std::string &part : generator.stream("Once")) ...
// A thread generates, at most one part ahead of the loop. A loop that is left ends the generation. Without exceptions a
// loop ends with the text, and status() says afterwards whether it was whole.
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
    // The next part; nothing at the end. What ended the generation otherwise comes in its place, once.
    result<std::optional<std::string>> try_next()
    {
        std::unique_lock<std::mutex> guard(mutex_);
        changed_.wait(guard, [this] { return part_ || ended_; });
        if (!part_ && why_.status != VKF_OK && !std::exchange(told_, true))
            return why_;
        std::optional<std::string> part = std::exchange(part_, std::nullopt);
        changed_.notify_all();
        return part;
    }
    // How the generation ended, once there is no next part.
    vkf_status status()
    {
        std::lock_guard<std::mutex> guard(mutex_);
        return why_.status;
    }
#if VKF_CPP_EXCEPTIONS
    std::optional<std::string> next()
    {
        return try_next().value();
    }
#endif

    class iterator
    {
      public:
        using iterator_category = std::input_iterator_tag;
        using value_type = std::string;
        using difference_type = std::ptrdiff_t;
        using pointer = const std::string *;
        using reference = const std::string &;
        iterator() = default;
        explicit iterator(TextStream *stream) : stream_(stream), part_(stream->next_of_loop())
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
            part_ = stream_->next_of_loop();
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
    std::optional<std::string> next_of_loop()
    {
#if VKF_CPP_EXCEPTIONS
        return next();
#else
        return try_next().value_or(std::nullopt);
#endif
    }
    failure generated(Generator &generator, const vkf_generator_args &args)
    {
        auto hear = [this](std::uint32_t, std::string_view text) { return hand_on(text); };
        return generator.try_generate(prompt_, args, hear).why();
    }
    void generate(Generator &generator, const vkf_generator_args &args) noexcept
    {
        failure why;
#if VKF_CPP_EXCEPTIONS
        try {
            why = generated(generator, args);
        } catch (...) {
            why.status = VKF_ERROR_OUT_OF_HOST_MEMORY; // nothing else is thrown there
        }
#else
        why = generated(generator, args);
#endif
        std::lock_guard<std::mutex> guard(mutex_);
        why_ = std::move(why);
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
    bool told_ = false;
    failure why_;
    std::thread thread_; // the last member: it uses the others
};

inline TextStream Generator::stream(std::string_view prompt, const vkf_generator_args &args)
{
    return TextStream(*this, prompt, args);
}

// What a model directory has, without a device: see <vkformer/directory.h>, whose functions take get() for the rest.
class Inspection : public detail::Handle<vkf_inspection, vkf_inspection_destroy>
{
  public:
    static result<Inspection> make(vkf_inspection_desc desc, MessageFunction message = {})
    {
        detail::SharedLog log = detail::listen(desc, std::move(message));
        vkf_inspection *raw = nullptr;
        const vkf_status status = vkf_inspection_load(&desc, &raw);
        return detail::give(status, Inspection(raw, std::move(log)));
    }
    static result<Inspection> make(const std::string &directory)
    {
        vkf_inspection_desc desc = {};
        desc.directory = directory.c_str();
        return make(desc);
    }
    // Takes over a C handle.
    static Inspection adopt(vkf_inspection *raw) noexcept
    {
        return Inspection(raw, nullptr);
    }
    vkf_inspection_info info() const
    {
        vkf_inspection_info info = {};
        vkf_inspection_get_info(get(), &info);
        return info;
    }
    vkf_model_config config() const
    {
        vkf_model_config config = {};
        vkf_inspection_get_config(get(), &config);
        return config;
    }
#if VKF_CPP_EXCEPTIONS
    explicit Inspection(const vkf_inspection_desc &desc, MessageFunction message = {})
        : Inspection(make(desc, std::move(message)).value())
    {
    }
    explicit Inspection(const std::string &directory) : Inspection(make(directory).value())
    {
    }
#endif

  private:
    using Handle::Handle;
};

} // namespace vkf

#endif
