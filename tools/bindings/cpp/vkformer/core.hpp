// Contexts, tensors and layers for C++, and what all owners share; <vkformer/vkformer.hpp> has the conventions.
#ifndef VKFORMER_CORE_HPP
#define VKFORMER_CORE_HPP

#include <vkformer/vkformer.h>

#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace vkf
{

class error : public std::runtime_error
{
  public:
    error(vkf_status status, const std::string &message) : std::runtime_error(message), status_(status)
    {
    }
    vkf_status status() const noexcept
    {
        return status_;
    }

  private:
    vkf_status status_;
};

// Elements that lie behind each other in memory of somebody else.
template <typename T> class span
{
  public:
    constexpr span() noexcept = default;
    constexpr span(T *data, std::size_t size) noexcept : data_(data), size_(size)
    {
    }
    template <std::size_t N> constexpr span(T (&array)[N]) noexcept : data_(array), size_(N)
    {
    }
    // Anything with data() and size(): a vector, an array, a string, another span. Its elements are of T itself:
    // those of a derived class may be larger.
    template <typename C, typename U = std::remove_pointer_t<decltype(std::declval<C &>().data())>,
              typename = std::enable_if_t<std::is_convertible_v<U (*)[], T (*)[]>>>
    constexpr span(C &&container) noexcept : data_(container.data()), size_(container.size())
    {
    }
    constexpr T *data() const noexcept
    {
        return data_;
    }
    constexpr std::size_t size() const noexcept
    {
        return size_;
    }
    constexpr std::size_t size_bytes() const noexcept
    {
        return size_ * sizeof(T);
    }
    constexpr T *begin() const noexcept
    {
        return data_;
    }
    constexpr T *end() const noexcept
    {
        return data_ + size_;
    }
    constexpr T &operator[](std::size_t index) const noexcept
    {
        return data_[index];
    }

  private:
    T *data_ = nullptr;
    std::size_t size_ = 0;
};

using MessageFunction = std::function<void(vkf_severity severity, std::string_view text)>;
// Called with what is done of how much; false cancels.
using ProgressFunction = std::function<bool(std::uint32_t done, std::uint32_t total, std::string_view what)>;
// Called with each part of the continuation of a prompt; false ends it there.
using TextFunction = std::function<bool(std::uint32_t prompt, std::string_view text)>;

namespace detail
{

// Keeps the last error that each thread was told, until it is thrown. The library may call it as long as anything
// lives that was made from the context, so everything that was made has a share in it.
class Log
{
  public:
    Log(MessageFunction forward, vkf_message_fn then, void *then_user)
        : forward_(std::move(forward)), then_(then), then_user_(then_user)
    {
    }

    static void receive(void *user, vkf_severity severity, const char *text) noexcept
    {
        auto *log = static_cast<Log *>(user);
        try {
            if (severity == VKF_SEVERITY_ERROR) {
                std::lock_guard<std::mutex> guard(log->mutex_);
                log->errors_[std::this_thread::get_id()] = text;
            }
            if (log->forward_)
                log->forward_(severity, text);
        } catch (...) {
            // A message that finds no memory, or no reader, is no reason to end the work that it is about.
        }
        if (log->then_)
            log->then_(log->then_user_, severity, text);
    }

    // What the calling thread was told; a thread that the library started may have been told it instead.
    std::string take()
    {
        std::lock_guard<std::mutex> guard(mutex_);
        auto found = errors_.find(std::this_thread::get_id());
        if (found == errors_.end())
            found = errors_.begin();
        if (found == errors_.end())
            return {};
        std::string text = std::move(found->second);
        errors_.erase(found);
        return text;
    }

  private:
    MessageFunction forward_;
    vkf_message_fn then_;
    void *then_user_;
    std::mutex mutex_;
    std::map<std::thread::id, std::string> errors_;
};

using SharedLog = std::shared_ptr<Log>;

inline void check(vkf_status status, const SharedLog &log)
{
    if (status == VKF_OK)
        return;
    std::string text = log ? log->take() : std::string();
    throw error(status, text.empty() ? vkf_status_text(status) : text);
}

// Owns a C handle, and has a share in the log of the context that it comes from.
template <typename T, void (*Destroy)(T **)> class Handle
{
  public:
    Handle() noexcept = default;
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)), log_(std::move(other.log_))
    {
    }
    Handle &operator=(Handle &&other) noexcept
    {
        std::swap(raw_, other.raw_);
        std::swap(log_, other.log_);
        return *this;
    }
    Handle(const Handle &) = delete;
    Handle &operator=(const Handle &) = delete;
    ~Handle()
    {
        Destroy(&raw_);
    }
    T *get() const noexcept
    {
        return raw_;
    }
    explicit operator bool() const noexcept
    {
        return raw_ != nullptr;
    }
    const SharedLog &log() const noexcept
    {
        return log_;
    }

  protected:
    explicit Handle(SharedLog log) noexcept : log_(std::move(log))
    {
    }
    T **out() noexcept
    {
        return &raw_;
    }
    void check(vkf_status status) const
    {
        detail::check(status, log_);
    }

  private:
    T *raw_ = nullptr;
    SharedLog log_;
};

// A callback of the caller's as the C functions take it: what it throws is kept until the library has returned.
template <typename Function> class Guarded
{
  public:
    explicit Guarded(Function function) : function_(std::move(function))
    {
    }
    explicit operator bool() const noexcept
    {
        return static_cast<bool>(function_);
    }
    void *user() noexcept
    {
        return this;
    }
    // What the library said meanwhile is about this exception, and about nothing that comes later.
    void rethrow(const SharedLog &log) const
    {
        if (!thrown_)
            return;
        log->take();
        std::rethrow_exception(thrown_);
    }
    static bool progress(void *user, std::uint32_t done, std::uint32_t total, const char *what) noexcept
    {
        return static_cast<Guarded *>(user)->call(done, total, std::string_view(what ? what : ""));
    }
    static bool text(void *user, std::uint32_t prompt, const char *bytes, std::size_t size_bytes) noexcept
    {
        return static_cast<Guarded *>(user)->call(prompt, std::string_view(bytes, size_bytes));
    }

  private:
    template <typename... Arguments> bool call(Arguments... arguments) noexcept
    {
        if (thrown_)
            return false;
        try {
            return function_(arguments...);
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
    }
    Function function_;
    std::exception_ptr thrown_;
};

// A number of elements as the C functions take it. `what` names the function and its argument.
inline std::uint32_t count_of(std::size_t size, const char *what)
{
    const auto count = static_cast<std::uint32_t>(size);
    if (count != size)
        throw error(VKF_ERROR_INVALID_ARGUMENT, std::string(what) + " are " + std::to_string(size) + ", and at most " +
                                                    std::to_string(UINT32_MAX) + " are taken");
    return count;
}

// The library counts bytes, which are so many elements only where T is as large as those of the tensor. What has
// elements of one byte is taken as bytes.
template <typename T> void check_element(const vkf_tensor &tensor, const char *what)
{
    const std::size_t own = vkf_dtype_size(tensor.dtype);
    if (sizeof(T) != 1 && sizeof(T) != own)
        throw error(VKF_ERROR_INVALID_ARGUMENT, std::string(what) + " has elements of " + std::to_string(sizeof(T)) +
                                                    " bytes, and those of " + vkf_dtype_name(tensor.dtype) + " have " +
                                                    std::to_string(own));
}

inline vkf_text text_of(std::string_view text) noexcept
{
    vkf_text view = {};
    view.bytes = text.data();
    view.size_bytes = text.size();
    return view;
}

inline std::vector<vkf_text> texts_of(span<const std::string_view> texts, const char *what)
{
    std::vector<vkf_text> views;
    views.reserve(count_of(texts.size(), what));
    for (std::string_view text : texts)
        views.push_back(text_of(text));
    return views;
}

} // namespace detail

// A device with its kernels. `message` gets what desc.min_severity lets through; desc.message is called as well.
class Context : public detail::Handle<vkf_context, vkf_context_destroy>
{
  public:
    explicit Context(vkf_context_desc desc = {}, MessageFunction message = {})
        : Handle(std::make_shared<detail::Log>(std::move(message), desc.message, desc.message_user))
    {
        desc.message = detail::Log::receive;
        desc.message_user = log().get();
        check(vkf_context_create(&desc, out()));
    }
    vkf_device_info device_info() const
    {
        vkf_device_info info = {};
        vkf_context_get_device_info(get(), &info);
        return info;
    }
    vkf_memory_usage memory_usage() const
    {
        vkf_memory_usage usage = {};
        vkf_context_get_memory_usage(get(), &usage);
        return usage;
    }
    void save_cache()
    {
        check(vkf_context_save_cache(get()));
    }
    void forget_verdicts()
    {
        check(vkf_context_forget_verdicts(get()));
    }
};

// The devices that the loader of `desc` shows.
inline std::vector<vkf_device_info> enumerate_devices(const vkf_context_desc &desc = {})
{
    std::uint32_t count = 0;
    detail::check(vkf_enumerate_devices(&desc, &count, nullptr), nullptr);
    std::vector<vkf_device_info> infos(count);
    if (count > 0)
        detail::check(vkf_enumerate_devices(&desc, &count, infos.data()), nullptr);
    if (count < infos.size()) // there may also be more by now, which have not been told
        infos.resize(count);
    return infos;
}

// Device memory, zero-filled.
class Buffer : public detail::Handle<vkf_buffer, vkf_buffer_destroy>
{
  public:
    Buffer(const Context &context, std::uint64_t size_bytes, const char *name = nullptr) : Handle(context.log())
    {
        check(vkf_buffer_create(context.get(), size_bytes, name, out()));
    }
    std::uint64_t size_bytes() const noexcept
    {
        return vkf_buffer_get_size(get());
    }
    template <typename T> void write(std::uint64_t offset_bytes, span<const T> data)
    {
        check(vkf_buffer_write(get(), offset_bytes, data.data(), data.size_bytes()));
    }
    template <typename T> void read(std::uint64_t offset_bytes, span<T> out_data) const
    {
        check(vkf_buffer_read(get(), offset_bytes, out_data.data(), out_data.size_bytes()));
    }
};

// A tensor with memory of its own. It converts to the vkf_tensor of descriptors, which is a view and owns nothing.
class Tensor
{
  public:
    Tensor(const Context &context, vkf_dtype dtype, std::initializer_list<std::uint32_t> shape,
           const char *name = nullptr)
        : log_(context.log())
    {
        const std::uint32_t rank = detail::count_of(shape.size(), "Tensor: dimensions of shape");
        detail::check(vkf_tensor_create(context.get(), dtype, rank, shape.begin(), name, &view_), log_);
    }
    // The values are f32, as many as the shape has.
    Tensor(const Context &context, std::initializer_list<std::uint32_t> shape, span<const float> values,
           const char *name = nullptr)
        : Tensor(context, VKF_DTYPE_F32, shape, name)
    {
        write(values);
    }
    Tensor(Tensor &&other) noexcept : view_(std::exchange(other.view_, vkf_tensor{})), log_(std::move(other.log_))
    {
    }
    Tensor &operator=(Tensor &&other) noexcept
    {
        std::swap(view_, other.view_);
        std::swap(log_, other.log_);
        return *this;
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor()
    {
        vkf_tensor_destroy(&view_);
    }
    const vkf_tensor &view() const noexcept
    {
        return view_;
    }
    operator const vkf_tensor &() const noexcept
    {
        return view_;
    }
    std::uint64_t count() const noexcept
    {
        std::uint64_t count = 0;
        return vkf_tensor_count(&view_, &count) ? count : 0;
    }
    template <typename T> void write(span<const T> values)
    {
        detail::check_element<T>(view_, "Tensor::write: values");
        detail::check(vkf_tensor_write(&view_, values.data(), values.size_bytes()), log_);
    }
    void write(span<const float> values)
    {
        write<float>(values);
    }
    template <typename T = float> std::vector<T> read() const
    {
        detail::check_element<T>(view_, "Tensor::read: the result");
        std::vector<T> values(static_cast<std::size_t>(count()));
        detail::check(vkf_tensor_read(&view_, values.data(), values.size() * sizeof(T)), log_);
        return values;
    }

  private:
    vkf_tensor view_ = {};
    detail::SharedLog log_;
};

// What the layers below have in common. The sizes of data are those of the run: see <vkformer/layer.h>.
class Layer : public detail::Handle<vkf_layer, vkf_layer_destroy>
{
  public:
    std::optional<vkf_tensor> port(vkf_port port) const noexcept
    {
        vkf_tensor view = {};
        return vkf_layer_get_port(get(), port, &view) ? std::optional<vkf_tensor>(view) : std::nullopt;
    }
    template <typename T> void write(vkf_port port, span<const T> data)
    {
        check_element<T>(port, "Layer::write: data");
        check(vkf_layer_write(get(), port, data.data(), data.size_bytes()));
    }
    void write(vkf_port port, span<const float> data)
    {
        write<float>(port, data);
    }
    template <typename T> void read(vkf_port port, span<T> out_data) const
    {
        check_element<T>(port, "Layer::read: out_data");
        check(vkf_layer_read(get(), port, out_data.data(), out_data.size_bytes()));
    }
    void read(vkf_port port, span<float> out_data) const
    {
        read<float>(port, out_data);
    }
    void set_sizes(const vkf_layer_sizes &sizes)
    {
        check(vkf_layer_set_sizes(get(), 0, &sizes));
    }
    void run(const vkf_layer_sizes &sizes)
    {
        check(vkf_layer_run(get(), &sizes));
    }

  protected:
    using Handle::Handle;

  private:
    template <typename T> void check_element(vkf_port index, const char *what) const
    {
        if (const std::optional<vkf_tensor> tensor =
                port(index)) // the call that follows says what is wrong with others
            detail::check_element<T>(*tensor, what);
    }
};

// A layer of one kind.
template <typename Functions> class LayerOf : public Layer
{
  public:
    using Desc = typename Functions::Desc;
    LayerOf(const Context &context, const Desc &desc) : Layer(context.log())
    {
        check(Functions::create(context.get(), &desc, out()));
    }
    // The bytes that the constructor will allocate.
    static vkf_memory_plan plan(const Context &context, const Desc &desc)
    {
        vkf_memory_plan plan = {};
        detail::check(Functions::plan(context.get(), &desc, &plan), context.log());
        return plan;
    }
};

namespace detail
{

struct AttentionFunctions {
    using Desc = vkf_attention_desc;
    static vkf_status create(vkf_context *context, const Desc *desc, vkf_layer **out_layer)
    {
        return vkf_attention_create(context, desc, out_layer);
    }
    static vkf_status plan(vkf_context *context, const Desc *desc, vkf_memory_plan *out_plan)
    {
        return vkf_attention_plan(context, desc, out_plan);
    }
};

struct FeedForwardFunctions {
    using Desc = vkf_feed_forward_desc;
    static vkf_status create(vkf_context *context, const Desc *desc, vkf_layer **out_layer)
    {
        return vkf_feed_forward_create(context, desc, out_layer);
    }
    static vkf_status plan(vkf_context *context, const Desc *desc, vkf_memory_plan *out_plan)
    {
        return vkf_feed_forward_plan(context, desc, out_plan);
    }
};

struct EncoderFunctions {
    using Desc = vkf_transformer_layer_desc;
    static vkf_status create(vkf_context *context, const Desc *desc, vkf_layer **out_layer)
    {
        return vkf_encoder_layer_create(context, desc, out_layer);
    }
    static vkf_status plan(vkf_context *context, const Desc *desc, vkf_memory_plan *out_plan)
    {
        return vkf_encoder_layer_plan(context, desc, out_plan);
    }
};

struct DecoderFunctions {
    using Desc = vkf_transformer_layer_desc;
    static vkf_status create(vkf_context *context, const Desc *desc, vkf_layer **out_layer)
    {
        return vkf_decoder_layer_create(context, desc, out_layer);
    }
    static vkf_status plan(vkf_context *context, const Desc *desc, vkf_memory_plan *out_plan)
    {
        return vkf_decoder_layer_plan(context, desc, out_plan);
    }
};

} // namespace detail

using AttentionLayer = LayerOf<detail::AttentionFunctions>;
using FeedForward = LayerOf<detail::FeedForwardFunctions>;
using EncoderLayer = LayerOf<detail::EncoderFunctions>;
using DecoderLayer = LayerOf<detail::DecoderFunctions>;

} // namespace vkf

#endif
