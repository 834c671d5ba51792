// Makes contexts that describe a chip, and plans sessions in them.
#include "plan/plan_make.h"

#include "command/precision.h"
#include "command/session_context.h"
#include "plan/plan_beside.h"
#include "ranks/cut_plan.h"

static uint32_t at_most(uint32_t value, uint32_t limit)
{
    return limit > 0 && value > limit ? limit : value;
}

static bool generates(const vkf_model_config *config)
{
    return config->kind == VKF_MODEL_SEQ2SEQ || config->kind == VKF_MODEL_DECODER;
}

static bool plan_run(vkf_context *context, const vkf_model_desc *model, const vkf_session_desc *session,
                     const char *what, const char *group, vkf_plan_report *report)
{
    vkf_plan_run *run = &report->runs[report->run_count];
    *run = (vkf_plan_run){.what = what, .group = group, .chip = report->chip};
    if (vkf_model_plan_dispatches(context, model, session, vkf_plan_run_take, run) != VKF_OK)
        return false;
    vkf_plan_run_finish(run);
    report->run_count += run->dispatches > 0;
    return !run->failed;
}

// The sessions of both runs: the prompt's holds no more than the prompt.
typedef struct sessions {
    vkf_session_desc prompt, token;
} sessions;

static sessions sessions_of(const vkf_plan_report *report, const vkf_model_config *config)
{
    const bool encoder = config->kind == VKF_MODEL_ENCODER;
    const vkf_session_desc base = {
        .max_batch = report->batch,
        .max_source_len = report->prompt,
        .max_logit_rows = encoder && config->head != VKF_HEAD_NONE ? 1 : 0,
    };
    sessions s = {base, base};
    s.prompt.max_target_len = config->kind == VKF_MODEL_DECODER ? report->prompt : report->context;
    s.prompt.max_prompt_len = report->prompt;
    s.token.max_target_len = report->context;
    s.token.max_prompt_len = report->prompt;
    return s;
}

static bool plan_runs(vkf_context *context, const vkf_model_desc *model, const vkf_model_config *config,
                      vkf_plan_report *report)
{
    const sessions s = sessions_of(report, config);
    if (vkf_model_plan(context, model, &report->weights) != VKF_OK ||
        vkf_model_plan_session(context, model, &s.token, &report->session) != VKF_OK)
        return false;
    if (!generates(config))
        return plan_run(context, model, &s.prompt, "text", "encoder", report);
    return plan_run(context, model, &s.prompt, "prompt", config->kind == VKF_MODEL_DECODER ? "decoder" : "encoder",
                    report) &&
           plan_run(context, model, &s.token, "token", "step", report);
}

// Each process has a batch to work on while the others have theirs.
static bool cut_ranks(vkf_context *context, const vkf_model_desc *model, const vkf_model_config *config, uint32_t count,
                      vkf_plan_report *report)
{
    const sessions s = sessions_of(report, config);
    const vkf_cut_plan plan = {
        context, model, &s.token, count, config->num_encoder_layers, config->num_decoder_layers,
    };
    vkf_cut_rank ranks[VKF_PLAN_MAX_RANKS];
    vkf_cut_model parts;
    if (!generates(config)) {
        vkf_print_error("plan: --ranks is for models that generate: no other one is cut between its layers");
        return false;
    }
    for (uint32_t i = 0; i < count; i++)
        ranks[i] = (vkf_cut_rank){vkf_cut_memory(&report->device), 1.0};
    report->rank_count = count;
    return vkf_cut_plan_parts(&plan, &parts) == VKF_OK && vkf_cut_layers(&parts, ranks, count, report->ranks);
}

static bool plan_model(vkf_context *context, const vkf_plan_request *request, vkf_plan_report *report)
{
    const vkf_model_desc model = {
        .directory = request->directory,
        .precision = request->precision,
        .quantization = request->quantization,
    };
    vkf_model_config config;
    if (vkf_model_plan_config(context, &model, &config, NULL) != VKF_OK)
        return false;
    const bool decoder = config.kind == VKF_MODEL_DECODER;
    report->prompt = at_most(request->prompt, decoder ? config.max_target_len : config.max_source_len);
    report->context = at_most(request->context, config.max_target_len);
    report->context = report->context < report->prompt && decoder ? report->prompt : report->context;
    if (request->peer && !vkf_plan_peer_knows(&config, request->precision)) {
        vkf_print_error("plan: of ggml no estimate is known but for decoders with a gated feed-forward in f16");
        return false;
    }
    if (!plan_runs(context, &model, &config, report))
        return false;
    if (request->ranks > 1 && !cut_ranks(context, &model, &config, request->ranks, report))
        return false;
    if (request->peer)
        vkf_plan_beside_ggml(&config, request->quantization, report);
    return true;
}

bool vkf_plan_make(const vkf_common_options *common, const vkf_plan_request *request, vkf_plan_report *out_report)
{
    vkf_context_desc desc = vkf_common_context_desc(common);
    vkf_context *context = NULL;
    *out_report = (vkf_plan_report){
        .model = request->directory,
        .chip = request->chip,
        .precision = vkf_name_of_precision(request->precision),
        .quantization = request->quantization == VKF_QUANTIZATION_Q8   ? "q8"
                        : request->quantization == VKF_QUANTIZATION_Q4 ? "q4"
                                                                       : NULL,
        .batch = request->batch,
    };
    desc.described = request->chip->device;
    if (vkf_context_create(&desc, &context) != VKF_OK)
        return false;
    vkf_context_get_device_info(context, &out_report->device);
    bool planned = plan_model(context, request, out_report);
    vkf_context_destroy(&context);
    return planned;
}

void vkf_plan_report_free(vkf_plan_report *report)
{
    for (size_t i = 0; i < VKF_PLAN_MAX_RUNS; i++)
        vkf_plan_run_free(&report->runs[i]);
}
