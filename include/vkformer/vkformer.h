// vkformer: a portable Transformer backend on Vulkan compute.
//
// This is the one header a user includes. Programs that share their own Vulkan device or command buffers with the
// library include <vkformer/vulkan.h> beside it.
//
// Conventions that hold for every function:
// - A fallible function returns vkf_status. On failure nothing is left half-made, out-parameters are untouched, the
//   caller's data is untouched, and the context's message callback has said what went wrong, where, and what to do.
//   vkf_last_error() has the same sentence for the calling thread. (A NULL handle, descriptor or out-pointer is
//   VKF_ERROR_INVALID_ARGUMENT without a message.)
// - Names say what happens: create makes an object from a description, and load from files; restore puts what save has
//   saved into an object that is there; get asks an object, and visit calls back for each of its things; plan says what
//   creating or loading would take; submit begins what run, or another verb, does at once.
// - Handles are opaque. vkf_x_destroy() takes the address of the handle, accepts NULL content, and nulls it.
// - What is made from an object keeps it alive: handles are destroyed in any order, and memory is freed with its last
//   user.
// - Objects of another context, and all objects of the parent in a child of fork(), are INVALID_ARGUMENT: see
//   <vkformer/context.h>.
// - In descriptor structs zero means the default, so start from `= {0}`. A field says so where its 0 is a value like
//   others; a factor of exactly 0 is VKF_ZERO. Structs may grow in later versions, and programs keep running:
//   docs/abi.md. What is `reserved` is 0. Pointers in them need to live only until the call returns, unless the field
//   says otherwise.
// - Shapes are row-major (C order), written (B, L, E). Sizes are in elements unless the name says bytes.
// - Contexts and models may be shared between threads; a layer or a session belongs to one thread at a time.
#ifndef VKFORMER_VKFORMER_H
#define VKFORMER_VKFORMER_H

#include <vkformer/context.h>
#include <vkformer/directory.h>
#include <vkformer/embed.h>
#include <vkformer/file_source.h>
#include <vkformer/generate.h>
#include <vkformer/kernels.h>
#include <vkformer/layer.h>
#include <vkformer/measure.h>
#include <vkformer/model.h>
#include <vkformer/op.h>
#include <vkformer/plan.h>
#include <vkformer/profile.h>
#include <vkformer/status.h>
#include <vkformer/tensor.h>
#include <vkformer/tokenizer.h>
#include <vkformer/train.h>
#include <vkformer/tune.h>

#endif
