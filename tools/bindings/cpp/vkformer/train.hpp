// Training for C++: a trainer over a model that was loaded with `trainable`.
#ifndef VKFORMER_TRAIN_HPP
#define VKFORMER_TRAIN_HPP

#include <algorithm>
#include <deque>

#include <vkformer/model.hpp>
#include <vkformer/train.h>

namespace vkf
{

// A batch by its rows, each of its own length: the trainer pads them, and labels and types stand beside as many ids.
struct TrainBatch {
    using Rows = std::vector<std::vector<std::int32_t>>;
    Rows source; // ids of an encoder
    Rows types;  // optional, of the source
    Rows target; // what a decoder reads
    // What each position of the target is to say next; of an encoder's row its one class, or the classes of its
    // positions. Empty of sentences that belong together.
    Rows labels;
};

namespace detail
{

// The C batch of a TrainBatch, and the padded arrays that it points to.
class PaddedBatch
{
  public:
    PaddedBatch() = default;
    result<void> fill(const TrainBatch &rows, const vkf_model_config &config, std::int32_t ignored_label)
    {
        const std::int32_t pad_id = std::max(config.pad_id, 0);
        const bool encodes = config.kind == VKF_MODEL_ENCODER;
        const bool classifies = encodes && config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
        if (!rows.source.empty() && !rows.target.empty() && rows.source.size() != rows.target.size())
            return wrong("a batch has as many rows of its source as of its target");
        batch_.source_ids = pad(rows.source, pad_id, batch_.source_len);
        for (const std::vector<std::int32_t> &row : rows.source)
            lengths_.push_back(static_cast<std::uint32_t>(row.size()));
        if (!rows.source.empty())
            batch_.source_lengths = lengths_.data();
        batch_.target_ids = pad(rows.target, pad_id, batch_.target_len);
        result<std::uint32_t> count = count_of(std::max(rows.source.size(), rows.target.size()), "a batch: rows");
        if (!count)
            return count.why();
        batch_.batch = *count;
        const TrainBatch::Rows classes(classifies ? rows.source.size() : 0, {0});
        const TrainBatch::Rows &labelled = classifies ? classes : encodes ? rows.source : rows.target;
        if (result<void> fits = pad_beside(rows.source, rows.types, 0, "types", batch_.source_types); !fits)
            return fits;
        if (result<void> fits =
                pad_beside(labelled, rows.labels, classifies ? 0 : ignored_label, "labels", batch_.labels);
            !fits)
            return fits;
        return failure_;
    }
    PaddedBatch(const PaddedBatch &) = delete;
    PaddedBatch &operator=(const PaddedBatch &) = delete;
    const vkf_train_batch &get() const noexcept
    {
        return batch_;
    }

  private:
    // NULL for no rows.
    const std::int32_t *pad(const TrainBatch::Rows &rows, std::int32_t filler, std::uint32_t &length)
    {
        for (const std::vector<std::int32_t> &row : rows) {
            result<std::uint32_t> count = count_of(row.size(), "a batch: ids of a row");
            if (!count)
                failure_ = count.why();
            length = std::max(length, std::move(count).value_or(0u));
        }
        if (rows.empty() || failure_.status != VKF_OK)
            return nullptr;
        arrays_.emplace_back(rows.size() * length, filler);
        for (std::size_t i = 0; i < rows.size(); i++)
            std::copy(rows[i].begin(), rows[i].end(), arrays_.back().data() + i * length);
        return arrays_.back().data();
    }
    result<void> pad_beside(const TrainBatch::Rows &ids, const TrainBatch::Rows &rows, std::int32_t filler,
                            const std::string &what, const std::int32_t *&out_array)
    {
        if (rows.empty())
            return {};
        if (rows.size() != ids.size())
            return wrong("a batch has as many rows of " + what + " as of ids: " + std::to_string(ids.size()) +
                         ", and not " + std::to_string(rows.size()));
        for (std::size_t i = 0; i < rows.size(); i++)
            if (rows[i].size() != ids[i].size())
                return wrong("a batch has " + std::to_string(ids[i].size()) + " " + what + " in row " +
                             std::to_string(i) + ", and not " + std::to_string(rows[i].size()));
        std::uint32_t length = 0;
        out_array = pad(rows, filler, length);
        return {};
    }

    vkf_train_batch batch_ = {};
    failure failure_;
    std::deque<std::vector<std::int32_t>> arrays_; // whose elements stay where they are
    std::vector<std::uint32_t> lengths_;
};

} // namespace detail

class Trainer : public detail::Handle<vkf_trainer, vkf_trainer_destroy>
{
  public:
    static result<Trainer> make(const Model &model, const vkf_trainer_desc &desc)
    {
        vkf_trainer *raw = nullptr;
        const vkf_status status = vkf_trainer_create(model.get(), &desc, &raw);
        return detail::give(status, adopt(model, raw, desc.ignored_label));
    }
    // Takes over a C handle, which was made of the model, and with this `ignored_label`.
    static Trainer adopt(const Model &model, vkf_trainer *raw, std::int32_t ignored_label = 0)
    {
        Trainer trainer(raw, model.log());
        trainer.config_ = model.config();
        trainer.ignored_label_ = ignored_label != 0 ? ignored_label : -100;
        return trainer;
    }
    static result<vkf_memory_plan> try_plan(const Model &model, const vkf_trainer_desc &desc)
    {
        vkf_memory_plan plan = {};
        const vkf_status status = vkf_trainer_plan(model.get(), &desc, &plan);
        return detail::give(status, plan);
    }
    // One step over all of the batches.
    result<vkf_train_result> try_step(span<const TrainBatch> batches)
    {
        result<std::uint32_t> count = detail::count_of(batches.size(), "step: batches");
        if (!count)
            return count.why();
        std::deque<detail::PaddedBatch> padded;
        std::vector<vkf_train_batch> all;
        for (const TrainBatch &batch : batches) {
            if (result<void> fits = padded.emplace_back().fill(batch, config_, ignored_label_); !fits)
                return fits.why();
            all.push_back(padded.back().get());
        }
        vkf_train_result result = {};
        const vkf_status status = vkf_trainer_step(get(), all.data(), *count, &result);
        return detail::give(status, result);
    }
    result<vkf_train_result> try_step(const TrainBatch &batch)
    {
        return try_step({&batch, 1});
    }
    result<vkf_train_result> try_evaluate(const TrainBatch &batch)
    {
        detail::PaddedBatch padded;
        if (result<void> fits = padded.fill(batch, config_, ignored_label_); !fits)
            return fits.why();
        vkf_train_result result = {};
        const vkf_status status = vkf_trainer_evaluate(get(), &padded.get(), &result);
        return detail::give(status, result);
    }
    // Those that train. Names live as long as the trainer.
    std::vector<vkf_train_parameter> parameters() const
    {
        std::vector<vkf_train_parameter> all;
        vkf_train_parameter parameter = {};
        while (vkf_trainer_get_parameter(get(), static_cast<std::uint32_t>(all.size()), &parameter))
            all.push_back(parameter);
        return all;
    }
    // The gradient of parameters()[index].
    result<std::vector<float>> try_gradient(const TrainBatch &batch, std::uint32_t index)
    {
        detail::PaddedBatch padded;
        if (result<void> fits = padded.fill(batch, config_, ignored_label_); !fits)
            return fits.why();
        vkf_train_parameter parameter = {};
        (void)vkf_trainer_get_parameter(get(), index, &parameter); // the call below says what is wrong with an index
        std::vector<float> values(parameter.count + 1);
        const vkf_status status = vkf_trainer_compute_gradient(get(), &padded.get(), index, values.data());
        values.pop_back();
        return detail::give(status, std::move(values));
    }
    result<void> try_save(const std::string &directory)
    {
        return detail::done(vkf_trainer_save(get(), directory.c_str()));
    }
    result<void> try_save_adapter(const std::string &directory)
    {
        return detail::done(vkf_trainer_save_adapter(get(), directory.c_str()));
    }
    result<void> try_restore(const std::string &directory)
    {
        return detail::done(vkf_trainer_restore(get(), directory.c_str()));
    }
    std::uint64_t steps() const noexcept
    {
        return vkf_trainer_get_steps(get());
    }
#if VKF_CPP_EXCEPTIONS
    Trainer(const Model &model, const vkf_trainer_desc &desc) : Trainer(make(model, desc).value())
    {
    }
    static vkf_memory_plan plan(const Model &model, const vkf_trainer_desc &desc)
    {
        return try_plan(model, desc).value();
    }
    vkf_train_result step(span<const TrainBatch> batches)
    {
        return try_step(batches).value();
    }
    vkf_train_result step(const TrainBatch &batch)
    {
        return try_step(batch).value();
    }
    vkf_train_result evaluate(const TrainBatch &batch)
    {
        return try_evaluate(batch).value();
    }
    std::vector<float> gradient(const TrainBatch &batch, std::uint32_t index)
    {
        return try_gradient(batch, index).value();
    }
    void save(const std::string &directory)
    {
        try_save(directory).value();
    }
    void save_adapter(const std::string &directory)
    {
        try_save_adapter(directory).value();
    }
    void restore(const std::string &directory)
    {
        try_restore(directory).value();
    }
#endif

  private:
    using Handle::Handle;
    vkf_model_config config_ = {};
    std::int32_t ignored_label_ = -100;
};

} // namespace vkf

#endif
