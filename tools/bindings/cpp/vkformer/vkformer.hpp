// vkformer for C++17: owners of the C handles, and nothing else. <vkformer/vulkan.hpp> has interop beside it.
//
// Conventions that hold for every class:
// - A descriptor is the C struct itself. Start from `= {}`; what its fields mean stands in the C header.
// - The size of every container is checked against what the library reads or writes; ports of layers take and give
//   fewer elements, those of a smaller run. What a C struct points to has no size to look at: its fields say it, and
//   the caller answers for them.
// - What can fail is there twice. try_run() gives a vkf::result, with the status and the sentence that the library said
//   about it, and so does make() of each class. run(), and the constructor, throw vkf::error with the same; without
//   exceptions (-fno-exceptions) they are not there. Run-time types (-fno-rtti) are never needed.
// - Owners are movable and not copyable. get() gives the C handle, for whatever this header leaves out; release() gives
//   it away, and adopt() takes one over. A moved-from owner holds NULL, which every function answers with
//   VKF_ERROR_INVALID_ARGUMENT.
// - Owners are destroyed in any order, because in the library what is made from an object keeps it alive.
// - No exception passes through the library. One that a callback throws ends the run, and is thrown again from there,
//   also where the run gives a result.
//   The callback of messages may throw nothing: whatever it throws is dropped. It lives as long as an owner, and for
//   good once one was released. What C functions make of get() is adopted, or does not outlive the owners.
// - Threads are as in the C headers: contexts, models and tokenizers are shared, all else belongs to one at a time.
#ifndef VKFORMER_VKFORMER_HPP
#define VKFORMER_VKFORMER_HPP

#include <vkformer/core.hpp>
#include <vkformer/model.hpp>
#include <vkformer/text.hpp>
#include <vkformer/train.hpp>

#endif
