// Public entry points that run a DECODER token by token. All arguments are checked here, before anything is written.
#include "api/models/session_check.h"
#include "base/sized.h"
#include "model/session/cached_rows.h"
#include "model/session/session_flight.h"
#include "model/session/session_prefill.h"
#include "model/session/session_save.h"

static vkf_status fail_argument(const vkf_session *session, const char *function, const char *why)
{
    return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT, "%s: %s", function, why);
}

vkf_status vkf__session_check_tokens(const vkf_session *session, const char *function)
{
    if (!vkf__facts_of(&session->model->config)->prompts)
        return fail_argument(session, function, "the model is no DECODER");
    if (session->desc.attention_weights)
        return fail_argument(session, function, "the session keeps attention_weights, which are of whole runs");
    return VKF_OK;
}

static vkf_status check_batch(const vkf_session *session, const char *function, uint32_t batch)
{
    if (batch == 0)
        return fail_argument(session, function, "batch is 0");
    if (batch > session->desc.max_batch)
        return vkf__fail(vkf__limited(&session->context->host, "max_batch", batch, session->desc.max_batch),
                         VKF_ERROR_TOO_LARGE, "%s: batch %u beyond the session's %u", function, batch,
                         session->desc.max_batch);
    return VKF_OK;
}

static vkf_status check_row(const vkf_session *session, const char *function, uint32_t row, const int32_t *ids,
                            uint32_t count)
{
    const vkf__host *host = &session->context->host;
    const uint32_t vocab = session->model->config.target_vocab, context = session->desc.max_target_len;
    const uint32_t position = session->rows[row].count;
    if (count > context - position)
        return vkf__fail(vkf__limited(host, "max_target_len", position + (uint64_t)count, context), VKF_ERROR_TOO_LARGE,
                         "%s: row %u has %u tokens and gets %u, there is room for %u (max_target_len)", function, row,
                         position, count, context);
    for (uint32_t i = 0; i < count; i++)
        if (ids[i] < 0 || (uint32_t)ids[i] >= vocab)
            return vkf__fail(host, VKF_ERROR_INVALID_ARGUMENT,
                             "%s: token id %d, number %u of row %u, is outside the vocabulary of %u", function, ids[i],
                             i, row, vocab);
    return VKF_OK;
}

vkf_status vkf__session_check_prefill(const vkf_session *session, const vkf_prefill_args *args, const char *function)
{
    const int32_t *ids = args->ids;
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, function));
    VKF_RETURN_IF_ERROR(check_batch(session, function, args->batch));
    if (!args->ids || !args->counts)
        return fail_argument(session, function, "ids or counts is NULL");
    if (args->out_all_logits && session->desc.max_logit_rows == 0)
        return fail_argument(session, function, "out_all_logits is for sessions with max_logit_rows above 0");
    for (uint32_t row = 0; row < args->batch; row++) {
        VKF_RETURN_IF_ERROR(check_row(session, function, row, ids, args->counts[row]));
        ids += args->counts[row];
    }
    return ids > args->ids ? VKF_OK : fail_argument(session, function, "no row has a new token");
}

vkf_status vkf_session_prefill_sized(vkf_session *session, const vkf_prefill_args *args, size_t args_bytes)
{
    if (!session || !args)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, "vkf_session_prefill"));
    VKF_TAKE_SIZED(&session->context->host, "vkf_session_prefill", vkf_prefill_args, args, args_bytes);
    VKF_RETURN_IF_ERROR(vkf__session_check_prefill(session, args, "vkf_session_prefill"));
    return vkf__session_prefill(session, args);
}

// Leaves out rows without a token.
static void compact(const vkf_step_args *args, int32_t *out_ids, uint32_t *out_counts)
{
    for (uint32_t row = 0; row < args->batch; row++) {
        out_counts[row] = args->ids[row] != -1;
        if (args->ids[row] != -1)
            *out_ids++ = args->ids[row];
    }
}

static vkf_status check_and_run(vkf_session *session, const vkf_step_args *args, const char *function, vkf__step_fn run,
                                const void *user)
{
    vkf_status status = VKF_OK;
    const vkf__host *host = &session->context->host;
    int32_t *ids = NULL;
    uint32_t *counts = NULL;
    VKF_ALLOC(host, ids, args->batch);
    VKF_ALLOC(host, counts, args->batch);
    compact(args, ids, counts);
    const vkf_prefill_args tokens = {
        .batch = args->batch, .ids = ids, .counts = counts, .out_logits = args->out_logits};
    VKF_TRY(vkf__session_check_prefill(session, &tokens, function));
    VKF_TRY(run(session, &tokens, user));
fail:
    vkf__free(host, ids);
    vkf__free(host, counts);
    return status;
}

vkf_status vkf__session_run_step(vkf_session *session, const vkf_step_args *args, const char *function,
                                 vkf__step_fn run, const void *user)
{
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, function));
    VKF_RETURN_IF_ERROR(check_batch(session, function, args->batch));
    if (!args->ids)
        return fail_argument(session, function, "ids is NULL");
    return check_and_run(session, args, function, run, user);
}

static vkf_status prefill(vkf_session *session, const vkf_prefill_args *args, const void *user)
{
    (void)user;
    return vkf__session_prefill(session, args);
}

vkf_status vkf_session_step_sized(vkf_session *session, const vkf_step_args *args, size_t args_bytes)
{
    static const char function[] = "vkf_session_step";
    if (!session || !args)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, function));
    VKF_TAKE_SIZED(&session->context->host, function, vkf_step_args, args, args_bytes);
    return vkf__session_run_step(session, args, function, prefill, NULL);
}

vkf_status vkf_session_truncate(vkf_session *session, uint32_t row, uint32_t position)
{
    if (!session)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, __func__));
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, __func__));
    if (row >= session->desc.max_batch || position > session->rows[row].count)
        return vkf__fail(&session->context->host, VKF_ERROR_INVALID_ARGUMENT,
                         "%s: there is no row %u, or it has fewer than %u tokens", __func__, row, position);
    session->rows[row].count = position;
    return VKF_OK;
}

uint32_t vkf_session_get_position(const vkf_session *session, uint32_t row)
{
    return session && session->rows && row < session->desc.max_batch ? session->rows[row].count : 0;
}

const int32_t *vkf_session_get_tokens(const vkf_session *session, uint32_t row)
{
    return vkf_session_get_position(session, row) > 0 ? vkf__row_ids(session, row) : NULL;
}

// ---- saved caches

vkf_status vkf_session_save(vkf_session *session, const char *path)
{
    if (!session || !path)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, __func__));
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, __func__));
    return vkf__session_save(session, path);
}

vkf_status vkf_session_save_to(vkf_session *session, vkf_write_fn write, void *user)
{
    if (!session || !write)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, __func__));
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, __func__));
    return vkf__session_save_to(session, __func__, write, user);
}

vkf_status vkf_session_restore(vkf_session *session, const char *path)
{
    if (!session || !path)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, __func__));
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, __func__));
    return vkf__session_load(session, path);
}

vkf_status vkf_session_restore_from(vkf_session *session, vkf_read_fn read, void *user)
{
    if (!session || !read)
        return vkf__null_argument(__func__);
    VKF_RETURN_IF_ERROR(vkf__session_enter(session, __func__));
    VKF_RETURN_IF_ERROR(vkf__session_check_tokens(session, __func__));
    return vkf__session_load_from(session, __func__, read, user);
}
