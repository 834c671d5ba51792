// Contexts, tensors and layers for C++, and what all owners share; <vkformer/vkformer.hpp> has the conventions.
#ifndef VKFORMER_CORE_HPP
#define VKFORMER_CORE_HPP

#include <vkformer/vkformer.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// 1 where the compiler has exceptions: what throws is there then, beside what returns results.
#if defined(__cpp_exceptions) || defined(__EXCEPTIONS) || defined(_CPPUNWIND)
#define VKF_CPP_EXCEPTIONS 1
#include <exception>
#include <stdexcept>
#else
#define VKF_CPP_EXCEPTIONS 0
#endif

namespace vkf
{

// Why something failed: the status, and the sentence that the library said about it.
struct failure {
    vkf_status status = VKF_OK;
    std::string message;
};

#if VKF_CPP_EXCEPTIONS
class error : public std::runtime_error
{
  public:
    error(vkf_status status, const std::string &message) : std::runtime_error(message), status_(status)
    {
    }
    explicit error(const failure &why) : error(why.status, why.message)
    {
    }
    vkf_status status() const noexcept
    {
        return status_;
    }

  private:
    vkf_status status_;
};
#endif

// A value, or why there is none.
template <typename T> class [[nodiscard]] result
{
  public:
    result(T value) : value_(std::move(value))
    {
    }
    result(failure why) : why_(std::move(why))
    {
    }
    explicit operator bool() const noexcept
    {
        return value_.has_value();
    }
    // These are for results that have a value.
    T &operator*() &noexcept
    {
        return *value_;
    }
    T &&operator*() &&noexcept
    {
        return std::move(*value_);
    }
    const T &operator*() const &noexcept
    {
        return *value_;
    }
    T *operator->() noexcept
    {
        return &*value_;
    }
    const T *operator->() const noexcept
    {
        return &*value_;
    }
    template <typename U> T value_or(U &&otherwise) &&
    {
        return value_ ? std::move(*value_) : static_cast<T>(std::forward<U>(otherwise));
    }
    // VKF_OK with a value.
    vkf_status status() const noexcept
    {
        return why_.status;
    }
    const std::string &message() const noexcept
    {
        return why_.message;
    }
    const failure &why() const noexcept
    {
        return why_;
    }
#if VKF_CPP_EXCEPTIONS
    // The value; throws what failed.
    T value() &&
    {
        if (!value_)
            throw error(why_);
        return std::move(*value_);
    }
#endif

  private:
    std::optional<T> value_;
    failure why_;
};

// Whether something was done, or why not.
template <> class [[nodiscard]] result<void>
{
  public:
    result() noexcept = default;
    result(failure why) : why_(std::move(why))
    {
    }
    explicit operator bool() const noexcept
    {
        return why_.status == VKF_OK;
    }
    vkf_status status() const noexcept
    {
        return why_.status;
    }
    const std::string &message() const noexcept
    {
        return why_.message;
    }
    const failure &why() const noexcept
    {
        return why_;
    }
#if VKF_CPP_EXCEPTIONS
    // Throws what failed.
    void value() &&
    {
        if (why_.status != VKF_OK)
            throw error(why_);
    }
#endif

  private:
    failure why_;
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

// Where messages go that a function of the caller's gets. The library may call it as long as anything lives that was
// made from the context, so everything that was made has a share in it.
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
        log->forward(severity, text);
        if (log->then_)
            log->then_(log->then_user_, severity, text);
    }
    // Of a handle that is released: nobody tells of its end, so the log stays until that of the process.
    static void keep(std::shared_ptr<Log> log) noexcept
    {
        static std::atomic<Log *> last{nullptr}; // a leak checker finds all from here
        Log *kept = log.get();
        if (!kept || kept->is_kept_.exchange(true))
            return;
        kept->self_ = std::move(log);
        kept->before_ = last.exchange(kept);
    }

  private:
    void forward(vkf_severity severity, const char *text) noexcept
    {
#if VKF_CPP_EXCEPTIONS
        try {
            forward_(severity, text);
        } catch (...) {
            // A message that finds no reader is no reason to end the work that it is about.
        }
#else
        forward_(severity, text);
#endif
    }
    MessageFunction forward_;
    vkf_message_fn then_;
    void *then_user_;
    std::atomic<bool> is_kept_{false};
    std::shared_ptr<Log> self_;
    Log *before_ = nullptr;
};

using SharedLog = std::shared_ptr<Log>;

// Puts the caller's function, if there is one, before desc.message. What is made with `desc` has a share in the log.
template <typename Desc> SharedLog listen(Desc &desc, MessageFunction forward)
{
    if (!forward)
        return nullptr;
    auto log = std::make_shared<Log>(std::move(forward), desc.message, desc.message_user);
    desc.message = Log::receive;
    desc.message_user = log.get();
    return log;
}

// Of what a C function has just returned on this thread.
inline result<void> done(vkf_status status)
{
    if (status == VKF_OK)
        return {};
    return failure{status, vkf_last_error(status)};
}

template <typename T> result<T> give(vkf_status status, T value)
{
    if (status == VKF_OK)
        return value;
    return failure{status, vkf_last_error(status)};
}

inline failure wrong(std::string message)
{
    return {VKF_ERROR_INVALID_ARGUMENT, std::move(message)};
}

// Owns a C handle, and has a share in the log of the context that it comes from.
template <typename T, void (*Destroy)(T **)> class Handle
{
  public:
    using Raw = T;
    Handle(Handle &&other) noexcept : raw_(std::exchange(other.raw_, nullptr)), log_(std::move(other.log_))
    {
    }
    Handle &operator=(Handle &&other) noexcept
    {
        Handle taken(std::move(other));
        std::swap(raw_, taken.raw_);
        std::swap(log_, taken.log_);
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
    // Gives the C handle away: whoever takes it destroys it. The function that gets its messages is never destroyed.
    T *release() noexcept
    {
        Log::keep(std::move(log_));
        return std::exchange(raw_, nullptr);
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
    Handle(T *raw, SharedLog log) noexcept : raw_(raw), log_(std::move(log))
    {
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
    void rethrow() const
    {
#if VKF_CPP_EXCEPTIONS
        if (thrown_)
            std::rethrow_exception(thrown_);
#endif
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
#if VKF_CPP_EXCEPTIONS
        if (thrown_)
            return false;
        try {
            return function_(arguments...);
        } catch (...) {
            thrown_ = std::current_exception();
            return false;
        }
#else
        return function_(arguments...);
#endif
    }
    Function function_;
#if VKF_CPP_EXCEPTIONS
    std::exception_ptr thrown_;
#endif
};

// A number of elements as the C functions take it. `what` names the function and its argument.
inline result<std::uint32_t> count_of(std::size_t size, const char *what)
{
    const auto count = static_cast<std::uint32_t>(size);
    if (count != size)
        return wrong(std::string(what) + " are " + std::to_string(size) + ", and at most " +
                     std::to_string(UINT32_MAX) + " are taken");
    return count;
}

// The library counts bytes, which are so many elements only where T is as large as those of the tensor, or as its
// blocks. What has elements of one byte is taken as bytes.
template <typename T> result<void> check_element(const vkf_tensor &tensor, const char *what)
{
    const std::size_t own = vkf_dtype_block_bytes(tensor.dtype);
    if (sizeof(T) != 1 && sizeof(T) != own)
        return wrong(std::string(what) + " has elements of " + std::to_string(sizeof(T)) + " bytes, and those of " +
                     vkf_dtype_name(tensor.dtype) + " have " + std::to_string(own));
    return {};
}

inline vkf_text text_of(std::string_view text) noexcept
{
    vkf_text view = {};
    view.bytes = text.data();
    view.size_bytes = text.size();
    return view;
}

inline result<std::vector<vkf_text>> texts_of(span<const std::string_view> texts, const char *what)
{
    if (result<std::uint32_t> count = count_of(texts.size(), what); !count)
        return count.why();
    std::vector<vkf_text> views;
    views.reserve(texts.size());
    for (std::string_view text : texts)
        views.push_back(text_of(text));
    return views;
}

} // namespace detail

// A device with its kernels. `message` gets what desc.min_severity lets through; desc.message is called as well.
class Context : public detail::Handle<vkf_context, vkf_context_destroy>
{
  public:
    static result<Context> make(vkf_context_desc desc = {}, MessageFunction message = {})
    {
        detail::SharedLog log = detail::listen(desc, std::move(message));
        vkf_context *raw = nullptr;
        const vkf_status status = vkf_context_create(&desc, &raw);
        return detail::give(status, Context(raw, std::move(log)));
    }
    // Takes over a C handle, whose messages go where its descriptor said.
    static Context adopt(vkf_context *raw) noexcept
    {
        return Context(raw, nullptr);
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
    result<void> try_save_cache()
    {
        return detail::done(vkf_context_save_cache(get()));
    }
    result<void> try_forget_verdicts()
    {
        return detail::done(vkf_context_forget_verdicts(get()));
    }
#if VKF_CPP_EXCEPTIONS
    explicit Context(vkf_context_desc desc = {}, MessageFunction message = {})
        : Context(make(desc, std::move(message)).value())
    {
    }
    void save_cache()
    {
        try_save_cache().value();
    }
    void forget_verdicts()
    {
        try_forget_verdicts().value();
    }
#endif

  private:
    using Handle::Handle;
};

// The devices that the loader of `desc` shows.
inline result<std::vector<vkf_device_info>> try_enumerate_devices(const vkf_context_desc &desc = {})
{
    std::uint32_t count = 0;
    vkf_status status = vkf_enumerate_devices(&desc, &count, nullptr);
    std::vector<vkf_device_info> infos(count);
    if (status == VKF_OK && count > 0)
        status = vkf_enumerate_devices(&desc, &count, infos.data());
    if (count < infos.size()) // there may also be more by now, which have not been told
        infos.resize(count);
    return detail::give(status, std::move(infos));
}

// Device memory, zero-filled.
class Buffer : public detail::Handle<vkf_buffer, vkf_buffer_destroy>
{
  public:
    static result<Buffer> make(const Context &context, std::uint64_t size_bytes, const char *name = nullptr)
    {
        vkf_buffer *raw = nullptr;
        const vkf_status status = vkf_buffer_create(context.get(), size_bytes, name, &raw);
        return detail::give(status, adopt(context, raw));
    }
    // Memory that export_memory() gives away: see vkf_buffer_create_exportable().
    static result<Buffer> make_exportable(const Context &context, vkf_memory_kind kind, std::uint64_t size_bytes,
                                          const char *name = nullptr)
    {
        vkf_buffer *raw = nullptr;
        const vkf_status status = vkf_buffer_create_exportable(context.get(), kind, size_bytes, name, &raw);
        return detail::give(status, adopt(context, raw));
    }
    // Memory of somebody else's: see vkf_buffer_import(). wrap() of <vkformer/vulkan.hpp> takes a VkBuffer.
    static result<Buffer> import_memory(const Context &context, const vkf_imported_memory &from)
    {
        vkf_buffer *raw = nullptr;
        const vkf_status status = vkf_buffer_import(context.get(), &from, &raw);
        return detail::give(status, adopt(context, raw));
    }
    // Takes over a C handle.
    static Buffer adopt(const Context &context, vkf_buffer *raw) noexcept
    {
        return Buffer(raw, context.log());
    }
    std::uint64_t size_bytes() const noexcept
    {
        return vkf_buffer_get_size(get());
    }
    result<vkf_exported_memory> try_export_memory()
    {
        vkf_exported_memory memory = {};
        const vkf_status status = vkf_buffer_export(get(), &memory);
        return detail::give(status, memory);
    }
    template <typename T> result<void> try_write(std::uint64_t offset_bytes, span<const T> data)
    {
        return detail::done(vkf_buffer_write(get(), offset_bytes, data.data(), data.size_bytes()));
    }
    template <typename T> result<void> try_read(std::uint64_t offset_bytes, span<T> out_data) const
    {
        return detail::done(vkf_buffer_read(get(), offset_bytes, out_data.data(), out_data.size_bytes()));
    }
#if VKF_CPP_EXCEPTIONS
    Buffer(const Context &context, std::uint64_t size_bytes, const char *name = nullptr)
        : Buffer(make(context, size_bytes, name).value())
    {
    }
    vkf_exported_memory export_memory()
    {
        return try_export_memory().value();
    }
    template <typename T> void write(std::uint64_t offset_bytes, span<const T> data)
    {
        try_write(offset_bytes, data).value();
    }
    template <typename T> void read(std::uint64_t offset_bytes, span<T> out_data) const
    {
        try_read(offset_bytes, out_data).value();
    }
#endif

  private:
    using Handle::Handle;
};

// A tensor with memory of its own. It converts to the vkf_tensor of descriptors, which is a view and owns nothing.
class Tensor
{
  public:
    static result<Tensor> make(const Context &context, vkf_dtype dtype, span<const std::uint32_t> shape,
                               const char *name = nullptr)
    {
        const result<std::uint32_t> rank = detail::count_of(shape.size(), "Tensor: dimensions of shape");
        if (!rank)
            return rank.why();
        vkf_tensor view = {};
        const vkf_status status = vkf_tensor_create(context.get(), dtype, *rank, shape.data(), name, &view);
        return detail::give(status, Tensor(view, context.log()));
    }
    // The values are f32, as many as the shape has.
    static result<Tensor> make(const Context &context, span<const std::uint32_t> shape, span<const float> values,
                               const char *name = nullptr)
    {
        result<Tensor> made = make(context, VKF_DTYPE_F32, shape, name);
        if (!made)
            return made;
        if (result<void> written = made->try_write(values); !written)
            return written.why();
        return made;
    }
    static result<Tensor> make(const Context &context, vkf_dtype dtype, std::initializer_list<std::uint32_t> shape,
                               const char *name = nullptr)
    {
        return make(context, dtype, span<const std::uint32_t>(shape.begin(), shape.size()), name);
    }
    static result<Tensor> make(const Context &context, std::initializer_list<std::uint32_t> shape,
                               span<const float> values, const char *name = nullptr)
    {
        return make(context, span<const std::uint32_t>(shape.begin(), shape.size()), values, name);
    }
    // Takes over what a C function has made, as vkf_pack_weight() does.
    static Tensor adopt(const Context &context, const vkf_tensor &owned) noexcept
    {
        return Tensor(owned, context.log());
    }
    Tensor(Tensor &&other) noexcept : view_(std::exchange(other.view_, vkf_tensor{})), log_(std::move(other.log_))
    {
    }
    Tensor &operator=(Tensor &&other) noexcept
    {
        Tensor taken(std::move(other));
        std::swap(view_, taken.view_);
        std::swap(log_, taken.log_);
        return *this;
    }
    Tensor(const Tensor &) = delete;
    Tensor &operator=(const Tensor &) = delete;
    ~Tensor()
    {
        vkf_tensor_destroy(&view_);
    }
    // Gives the tensor away: whoever takes it destroys its buffer. See Handle::release().
    vkf_tensor release() noexcept
    {
        detail::Log::keep(std::move(log_));
        return std::exchange(view_, vkf_tensor{});
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
    // Those that write() takes and read() gives.
    std::uint64_t size_bytes() const noexcept
    {
        const std::uint32_t elements = vkf_dtype_block_elements(view_.dtype);
        return elements ? count() / elements * vkf_dtype_block_bytes(view_.dtype) : 0;
    }
    template <typename T> result<void> try_write(span<const T> values)
    {
        if (result<void> fits = detail::check_element<T>(view_, "Tensor::write: values"); !fits)
            return fits;
        return detail::done(vkf_tensor_write(&view_, values.data(), values.size_bytes()));
    }
    result<void> try_write(span<const float> values)
    {
        return try_write<float>(values);
    }
    template <typename T = float> result<std::vector<T>> try_read() const
    {
        if (result<void> fits = detail::check_element<T>(view_, "Tensor::read: the result"); !fits)
            return fits.why();
        std::vector<T> values(static_cast<std::size_t>(size_bytes()) / sizeof(T));
        const vkf_status status = vkf_tensor_read(&view_, values.data(), values.size() * sizeof(T));
        return detail::give(status, std::move(values));
    }
#if VKF_CPP_EXCEPTIONS
    Tensor(const Context &context, vkf_dtype dtype, span<const std::uint32_t> shape, const char *name = nullptr)
        : Tensor(make(context, dtype, shape, name).value())
    {
    }
    Tensor(const Context &context, vkf_dtype dtype, std::initializer_list<std::uint32_t> shape,
           const char *name = nullptr)
        : Tensor(make(context, dtype, shape, name).value())
    {
    }
    Tensor(const Context &context, span<const std::uint32_t> shape, span<const float> values,
           const char *name = nullptr)
        : Tensor(make(context, shape, values, name).value())
    {
    }
    Tensor(const Context &context, std::initializer_list<std::uint32_t> shape, span<const float> values,
           const char *name = nullptr)
        : Tensor(make(context, shape, values, name).value())
    {
    }
    template <typename T> void write(span<const T> values)
    {
        try_write(values).value();
    }
    void write(span<const float> values)
    {
        try_write(values).value();
    }
    template <typename T = float> std::vector<T> read() const
    {
        return try_read<T>().value();
    }
#endif

  private:
    Tensor(const vkf_tensor &owned, detail::SharedLog log) noexcept : view_(owned), log_(std::move(log))
    {
    }
    vkf_tensor view_ = {};
    detail::SharedLog log_;
};

// What the layers below have in common. The sizes of data are those of the run: see <vkformer/layer.h>. submit() of
// <vkformer/vulkan.hpp> begins a run and returns.
class Layer : public detail::Handle<vkf_layer, vkf_layer_destroy>
{
  public:
    // Takes over a C handle.
    static Layer adopt(const Context &context, vkf_layer *raw) noexcept
    {
        return Layer(raw, context.log());
    }
    std::optional<vkf_tensor> port(vkf_port port) const noexcept
    {
        vkf_tensor view = {};
        return vkf_layer_get_port(get(), port, &view) ? std::optional<vkf_tensor>(view) : std::nullopt;
    }
    template <typename T> result<void> try_write(vkf_port port, span<const T> data)
    {
        if (result<void> fits = check_element<T>(port, "Layer::write: data"); !fits)
            return fits;
        return detail::done(vkf_layer_write(get(), port, data.data(), data.size_bytes()));
    }
    result<void> try_write(vkf_port port, span<const float> data)
    {
        return try_write<float>(port, data);
    }
    template <typename T> result<void> try_read(vkf_port port, span<T> out_data) const
    {
        if (result<void> fits = check_element<T>(port, "Layer::read: out_data"); !fits)
            return fits;
        return detail::done(vkf_layer_read(get(), port, out_data.data(), out_data.size_bytes()));
    }
    result<void> try_read(vkf_port port, span<float> out_data) const
    {
        return try_read<float>(port, out_data);
    }
    // Of one of the layer's frames, which are numbered from 0.
    result<void> try_set_sizes(const vkf_layer_sizes &sizes, std::uint32_t frame = 0)
    {
        return detail::done(vkf_layer_set_sizes(get(), frame, &sizes));
    }
    result<void> try_run(const vkf_layer_sizes &sizes)
    {
        return detail::done(vkf_layer_run(get(), &sizes));
    }
    result<void> try_wait(std::uint32_t frame = 0)
    {
        return detail::done(vkf_layer_wait(get(), frame));
    }
    result<bool> try_ended(std::uint32_t frame = 0)
    {
        bool ended = false;
        const vkf_status status = vkf_layer_ended(get(), frame, &ended);
        return detail::give(status, ended);
    }
#if VKF_CPP_EXCEPTIONS
    template <typename T> void write(vkf_port port, span<const T> data)
    {
        try_write(port, data).value();
    }
    void write(vkf_port port, span<const float> data)
    {
        try_write(port, data).value();
    }
    template <typename T> void read(vkf_port port, span<T> out_data) const
    {
        try_read(port, out_data).value();
    }
    void read(vkf_port port, span<float> out_data) const
    {
        try_read(port, out_data).value();
    }
    void set_sizes(const vkf_layer_sizes &sizes, std::uint32_t frame = 0)
    {
        try_set_sizes(sizes, frame).value();
    }
    void run(const vkf_layer_sizes &sizes)
    {
        try_run(sizes).value();
    }
    void wait(std::uint32_t frame = 0)
    {
        try_wait(frame).value();
    }
    bool ended(std::uint32_t frame = 0)
    {
        return try_ended(frame).value();
    }
#endif

  protected:
    using Handle::Handle;

  private:
    template <typename T> result<void> check_element(vkf_port index, const char *what) const
    {
        const std::optional<vkf_tensor> tensor = port(index); // the call that follows says what is wrong with others
        return tensor ? detail::check_element<T>(*tensor, what) : result<void>();
    }
};

// A layer of one kind.
template <typename Functions> class LayerOf : public Layer
{
  public:
    using Desc = typename Functions::Desc;
    static result<LayerOf> make(const Context &context, const Desc &desc)
    {
        vkf_layer *raw = nullptr;
        const vkf_status status = Functions::create(context.get(), &desc, &raw);
        return detail::give(status, LayerOf(raw, context.log()));
    }
    // The bytes that making it will allocate.
    static result<vkf_memory_plan> try_plan(const Context &context, const Desc &desc)
    {
        vkf_memory_plan plan = {};
        const vkf_status status = Functions::plan(context.get(), &desc, &plan);
        return detail::give(status, plan);
    }
#if VKF_CPP_EXCEPTIONS
    LayerOf(const Context &context, const Desc &desc) : LayerOf(make(context, desc).value())
    {
    }
    static vkf_memory_plan plan(const Context &context, const Desc &desc)
    {
        return try_plan(context, desc).value();
    }
#endif

  private:
    using Layer::Layer;
};

#if VKF_CPP_EXCEPTIONS
inline std::vector<vkf_device_info> enumerate_devices(const vkf_context_desc &desc = {})
{
    return try_enumerate_devices(desc).value();
}
#endif

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
