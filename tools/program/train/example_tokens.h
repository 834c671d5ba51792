// Token ids of examples, as batches ask for them: by the model's tokenizer or vocabularies, and by its labels for
// classes.
#ifndef VKF_PROGRAM_EXAMPLE_TOKENS_H
#define VKF_PROGRAM_EXAMPLE_TOKENS_H

#include <vkformer/vkformer.h>

#include "io/token_table.h"
#include "train/batches.h"
#include "train/examples.h"

#define VKF_IGNORED_LABEL (-100) // of tokens that say nothing

// What the ids of a target are.
typedef enum vkf_example_targets {
    VKF_TARGETS_TEXT = 0, // tokens of a text of its own
    VKF_TARGETS_CLASS,    // the number of a class
    // A label for each token of the source: the class of the word that begins with it. As in transformers' example of
    // token classification, the other tokens of a word have none.
    VKF_TARGETS_TAGS,
    // For each token of the source itself, if it may be masked, as all but special ones may.
    VKF_TARGETS_MASKABLE,
    // For each token of the source, which is a prompt and its completion, itself where it is to be learned.
    VKF_TARGETS_COMPLETION,
} vkf_example_targets;

typedef struct vkf_id_list {
    int32_t *ids; // (count)
    size_t count, capacity;
    uint32_t head, tail; // how many at the begin and at the end were added around a text
} vkf_id_list;

// Words with a blank between each two.
typedef struct vkf_joined_words {
    char *text; // (size_bytes)
    size_t size_bytes, capacity;
    size_t *begins; // (count) of the words, with the blank before them
    size_t count, begin_capacity;
} vkf_joined_words;

// Everything that is pointed to must outlive it.
typedef struct vkf_example_tokens {
    const vkf__host *host;
    vkf_examples *examples;
    const vkf_tokenizer *tokenizer;
    const vkf__token_tables *tables; // of vocabulary.json, in the tokenizer's place; NULL: none
    vkf_example_targets targets;
    const char *const *labels;  // (label_count) names of classes
    uint32_t label_count;       // of CLASS and TAGS
    bool plain_targets;         // without the special tokens that the tokenizer adds around a text
    int32_t first_target_id;    // stands before the target's tokens; negative: nothing does
    int32_t last_target_id;     // and behind them, where it does not already
    bool ends_sources;          // last_target_id stands behind the source, too
    bool learns_prompts;        // of COMPLETION: their tokens have labels, too
    vkf_id_list source, target; // private: of the last example
    vkf_id_list classes;        // private: of its words
    vkf_joined_words words;     // private
} vkf_example_tokens;

// A vkf_example_ids_fn with a vkf_example_tokens as `user`. Texts are not cut: see train/pieces.h. Statuses:
// FORMAT (a label is none of the model's), those of vkf_examples_get() and vkf_tokenizer_encode().
VKF_MUST_CHECK vkf_status vkf_example_tokens_get(void *user, uint32_t example, vkf_example_ids *out_ids);

// Releases what is private. Accepts {0}.
void vkf_example_tokens_clear(vkf_example_tokens *tokens);

#endif
