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
    PaddedBatch(const TrainBatch &rows, const vkf_model_config &config, std::int32_t ignored_label)
    {
        const std::int32_t pad_id = std::max(config.pad_id, 0);
        const bool encodes = config.kind == VKF_MODEL_ENCODER;
        const bool classifies = encodes && config.head == VKF_HEAD_SEQUENCE_CLASSIFICATION;
        if (!rows.source.empty() && !rows.target.empty())
            refuse(rows.source.size() != rows.target.size(), "as many rows of its source as of its target");
        if (!rows.source.empty()) {
            batch_.source_ids = pad(rows.source, pad_id, batch_.source_len);
            for (const std::vector<std::int32_t> &row : rows.source)
                lengths_.push_back(static_cast<std::uint32_t>(row.size()));
            batch_.source_lengths = lengths_.data();
        }
        if (!rows.target.empty())
            batch_.target_ids = pad(rows.target, pad_id, batch_.target_len);
        batch_.batch = count_of(std::max(rows.source.size(), rows.target.size()), "a batch: rows");
        if (!rows.types.empty())
            batch_.source_types = pad_beside(rows.source, rows.types, 0, "types");
        if (!rows.labels.empty() && classifies)
            batch_.labels = pad_beside(TrainBatch::Rows(rows.source.size(), {0}), rows.labels, 0, "labels");
        else if (!rows.labels.empty())
            batch_.labels = pad_beside(encodes ? rows.source : rows.target, rows.labels, ignored_label, "labels");
    }
    PaddedBatch(const PaddedBatch &) = delete;
    PaddedBatch &operator=(const PaddedBatch &) = delete;
    const vkf_train_batch &get() const noexcept
    {
        return batch_;
    }

  private:
    static void refuse(bool wrong, const std::string &wanted)
    {
        if (wrong)
            throw error(VKF_ERROR_INVALID_ARGUMENT, "a batch has " + wanted);
    }
    const std::int32_t *pad(const TrainBatch::Rows &rows, std::int32_t filler, std::uint32_t &length)
    {
        for (const std::vector<std::int32_t> &row : rows)
            length = std::max(length, count_of(row.size(), "a batch: ids of a row"));
        arrays_.emplace_back(rows.size() * length, filler);
        for (std::size_t i = 0; i < rows.size(); i++)
            std::copy(rows[i].begin(), rows[i].end(), arrays_.back().data() + i * length);
        return arrays_.back().data();
    }
    const std::int32_t *pad_beside(const TrainBatch::Rows &ids, const TrainBatch::Rows &rows, std::int32_t filler,
                                   const std::string &what)
    {
        refuse(rows.size() != ids.size(), "as many rows of " + what + " as of ids: " + std::to_string(ids.size()) +
                                              ", and not " + std::to_string(rows.size()));
        for (std::size_t i = 0; i < rows.size(); i++)
            refuse(rows[i].size() != ids[i].size(), std::to_string(ids[i].size()) + " " + what + " in row " +
                                                        std::to_string(i) + ", and not " +
                                                        std::to_string(rows[i].size()));
        std::uint32_t length = 0;
        return pad(rows, filler, length);
    }

    vkf_train_batch batch_ = {};
    std::deque<std::vector<std::int32_t>> arrays_; // whose elements stay where they are
    std::vector<std::uint32_t> lengths_;
};

} // namespace detail

class Trainer : public detail::Handle<vkf_trainer, vkf_trainer_destroy>
{
  public:
    Trainer(const Model &model, const vkf_trainer_desc &desc)
        : Handle(model.log()), config_(model.config()),
          ignored_label_(desc.ignored_label != 0 ? desc.ignored_label : -100)
    {
        check(vkf_trainer_create(model.get(), &desc, out()));
    }
    static vkf_memory_plan plan(const Model &model, const vkf_trainer_desc &desc)
    {
        vkf_memory_plan plan = {};
        detail::check(vkf_trainer_plan(model.get(), &desc, &plan), model.log());
        return plan;
    }
    // One step over all of the batches.
    vkf_train_result step(span<const TrainBatch> batches)
    {
        const std::uint32_t count = detail::count_of(batches.size(), "step: batches");
        std::deque<detail::PaddedBatch> padded;
        std::vector<vkf_train_batch> all;
        for (const TrainBatch &batch : batches)
            all.push_back(padded.emplace_back(batch, config_, ignored_label_).get());
        vkf_train_result result = {};
        check(vkf_trainer_step(get(), all.data(), count, &result));
        return result;
    }
    vkf_train_result step(const TrainBatch &batch)
    {
        return step({&batch, 1});
    }
    vkf_train_result evaluate(const TrainBatch &batch)
    {
        const detail::PaddedBatch padded(batch, config_, ignored_label_);
        vkf_train_result result = {};
        check(vkf_trainer_evaluate(get(), &padded.get(), &result));
        return result;
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
    std::vector<float> gradient(const TrainBatch &batch, std::uint32_t index)
    {
        const detail::PaddedBatch padded(batch, config_, ignored_label_);
        vkf_train_parameter parameter = {};
        (void)vkf_trainer_get_parameter(get(), index, &parameter); // the call below says what is wrong with an index
        std::vector<float> values(parameter.count + 1);
        check(vkf_trainer_compute_gradient(get(), &padded.get(), index, values.data()));
        values.pop_back();
        return values;
    }
    void save(const std::string &directory)
    {
        check(vkf_trainer_save(get(), directory.c_str()));
    }
    void save_adapter(const std::string &directory)
    {
        check(vkf_trainer_save_adapter(get(), directory.c_str()));
    }
    void resume(const std::string &directory)
    {
        check(vkf_trainer_restore(get(), directory.c_str()));
    }
    std::uint64_t steps() const noexcept
    {
        return vkf_trainer_get_steps(get());
    }

  private:
    vkf_model_config config_;
    std::int32_t ignored_label_;
};

} // namespace vkf

#endif
