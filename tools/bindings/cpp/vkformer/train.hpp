// Training for C++: a trainer over a model that was loaded with `trainable`.
#ifndef VKFORMER_TRAIN_HPP
#define VKFORMER_TRAIN_HPP

#include <vkformer/model.hpp>
#include <vkformer/train.h>

namespace vkf
{

class Trainer : public detail::Handle<vkf_trainer, vkf_trainer_destroy>
{
  public:
    Trainer(const Model &model, const vkf_trainer_desc &desc) : Handle(model.log())
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
    vkf_train_result step(span<const vkf_train_batch> batches)
    {
        const std::uint32_t count = detail::count_of(batches.size(), "step: batches");
        vkf_train_result result = {};
        check(vkf_trainer_step(get(), batches.data(), count, &result));
        return result;
    }
    vkf_train_result step(const vkf_train_batch &batch)
    {
        return step({&batch, 1});
    }
    vkf_train_result evaluate(const vkf_train_batch &batch)
    {
        vkf_train_result result = {};
        check(vkf_trainer_evaluate(get(), &batch, &result));
        return result;
    }
    // Those that train. Names live as long as the trainer.
    std::vector<vkf_train_parameter> parameters() const
    {
        std::vector<vkf_train_parameter> all;
        vkf_train_parameter parameter = {};
        while (vkf_trainer_parameter(get(), static_cast<std::uint32_t>(all.size()), &parameter))
            all.push_back(parameter);
        return all;
    }
    // Of the parameter parameters()[index].
    std::vector<float> gradient(const vkf_train_batch &batch, std::uint32_t index)
    {
        vkf_train_parameter parameter = {};
        (void)vkf_trainer_parameter(get(), index, &parameter); // the call below says what is wrong with an index
        std::vector<float> values(parameter.count + 1);
        check(vkf_trainer_gradient(get(), &batch, index, values.data()));
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
        check(vkf_trainer_resume(get(), directory.c_str()));
    }
    std::uint64_t steps() const noexcept
    {
        return vkf_trainer_steps(get());
    }
};

} // namespace vkf

#endif
