// The loss at the root of a tape.
#include <assert.h>

#include "op/train/cross_entropy.h"
#include "training/records.h"

vkf_status vkf__record_cross_entropy(vkf__tape *tape, const char *label, vkf__value logits, const vkf__loss_state *loss,
                                     vkf__value *out_value)
{
    VKF_RETURN_IF_ERROR(vkf__tape_result(tape, vkf__tape_at(tape, logits)->rows, 1, out_value));
    vkf__tape_value *at = vkf__tape_at(tape, logits);
    vkf__cross_entropy_args args = {
        .label = label,
        .logits = at->span,
        .labels = loss->labels,
        .loss = *vkf__tape_span(tape, *out_value),
        .rows = at->rows,
        .cols = at->cols,
        .ignored = loss->ignored,
        .smoothing = loss->smoothing,
        .factor = loss->factor,
    };
    assert(!at->begun);
    // One pass gives both, so that nothing is left for the way back: it begins with what made the logits.
    if (at->wanted) {
        at->gradient = vkf__present(&at->gradient) ? at->gradient : at->span;
        at->begun = true;
        args.gradient = at->gradient;
    }
    return vkf__emit_cross_entropy(tape->work, &args);
}
