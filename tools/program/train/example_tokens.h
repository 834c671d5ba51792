// Token ids of examples, as batches ask for them: by the model's tokenizer or vocabularies, and by its labels for
// classes.
#ifndef VKF_PROGRAM_EXAMPLE_TOKENS_H
#define VKF_PROGRAM_EXAMPLE_TOKENS_H

#include <vkformer/vkformer.h>

#include "io/token_table.h"
#include "train/batches.h"
#include "train/examples.h"

typedef struct vkf_id_list {
    int32_t *ids; // (count)
    size_t count, capacity;
} vkf_id_list;

// Everything that is pointed to must outlive it.
typedef struct vkf_example_tokens {
    const vkf__host *host;
    vkf_examples *examples;
    const vkf_tokenizer *tokenizer;
    const vkf__token_tables *tables; // of vocabulary.json, in the tokenizer's place; NULL: none
    bool class_targets;        // the target is a label, and no text
    const char *const *labels; // (label_count) names of classes
    uint32_t label_count;      // of class_targets
    bool plain_targets;        // without the special tokens that the tokenizer adds around a text
    int32_t first_target_id;   // stands before the target's tokens; negative: nothing does
    int32_t last_target_id;    // and behind them
    bool ends_sources;         // last_target_id stands behind the source, too, where it does not already
    vkf_id_list source, target; // private: of the last example
} vkf_example_tokens;

// A vkf_example_ids_fn with a vkf_example_tokens as `user`. Texts are not cut: what is too long for a model the batches
// leave out. Statuses: FORMAT (a label is none of the model's), those of vkf_examples_get() and vkf_tokenizer_encode().
VKF_MUST_CHECK vkf_status vkf_example_tokens_get(void *user, uint32_t example, vkf_example_ids *out_ids);

// Releases what is private. Accepts {0}.
void vkf_example_tokens_clear(vkf_example_tokens *tokens);

#endif
