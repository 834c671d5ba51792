// What batches are made of: examples, of which long ones are cut, or are several; or a decoder's texts one after the
// other, in blocks.
#ifndef VKF_PROGRAM_PIECES_H
#define VKF_PROGRAM_PIECES_H

#include "train/example_tokens.h"
#include "train/train_config.h"

// Where a piece begins: in which example, and at which of its tokens, without those around the text.
typedef struct vkf_piece {
    uint32_t example, begin;
} vkf_piece;

typedef struct vkf_pieces {
    vkf_example_tokens *tokens; // must outlive the pieces
    vkf_train_long how;         // not AUTO
    bool pack;
    bool stream;                     // what is added around a text is cut like the rest: a decoder's
    bool by_token;                   // there is a label for each token of the source
    uint32_t max_source, max_target; // tokens; 0: any number
    uint32_t long_texts;             // how many are longer: known when all pieces were asked for
    // The rest is private.
    vkf_piece *pieces; // (count) of BLOCK; the others have an example each
    size_t count, capacity;
    uint32_t asked; // the first piece that was not asked for yet
    bool has_last;  // the ids of example `last` are `last_ids`
    uint32_t last;  //
    vkf_example_ids last_ids;
    vkf_id_list source, target; // of the last piece
} vkf_pieces;

// Finds the pieces; the members that are not private are set. Of BLOCK that reads all examples. The pieces are to be
// closed whether this succeeds or not. Statuses: TOO_LARGE (more than UINT32_MAX), those of vkf_example_tokens_get().
VKF_MUST_CHECK vkf_status vkf_pieces_open(vkf_pieces *pieces);
// Accepts {0}.
void vkf_pieces_close(vkf_pieces *pieces);

uint32_t vkf_pieces_count(const vkf_pieces *pieces);
// The example that a piece begins in.
uint32_t vkf_pieces_example(const vkf_pieces *pieces, uint32_t index);

// A vkf_example_ids_fn with a vkf_pieces as `user`. A piece in which nothing is to be learned has no target. Statuses:
// those of vkf_example_tokens_get().
VKF_MUST_CHECK vkf_status vkf_pieces_get(void *user, uint32_t index, vkf_example_ids *out_ids);

#endif
