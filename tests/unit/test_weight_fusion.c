// What is multiplied as one: in which order the tables of each family list it, and when it lies as one operand.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "model/family/weight_fusion.h"
#include "model/load/model_directory.h"
#include "model/load/weight_resolution.h"

#include "recording_host.h"

#define ROWS 64
#define COLS 8

typedef struct listed {
    recording_host recording;
    vkf__model_source source;
    vkf__weight_resolution found;
} listed;

static void list(listed *l, const char *directory)
{
    *l = (listed){0};
    recording_host_init(&l->recording);
    const vkf__host *host = &l->recording.host;
    vkf__model_place place;
    assert_int_equal(vkf__model_place_find(host, directory, NULL, &place), VKF_OK);
    assert_int_equal(vkf__model_place_load(host, &place, &l->source), VKF_OK);
    assert_int_equal(vkf__model_place_open(host, &place, &l->source), VKF_OK);
    vkf__model_place_free(host, &place);
    assert_int_equal(vkf__weights_list(host, &l->source, &l->found), VKF_OK);
}

static void release(listed *l)
{
    vkf__weight_resolution_free(&l->recording.host, &l->found);
    vkf__model_source_close(&l->source);
    assert_int_equal(l->recording.live, 0);
}

// The first slot that is such a part.
static vkf__weight_slot *find(listed *l, vkf__fusion fusion, uint32_t part)
{
    for (size_t i = 0; i < l->found.count; i++)
        if (l->found.slots[i].fusion == fusion && l->found.slots[i].fusion_part == part)
            return &l->found.slots[i];
    return NULL;
}

static const char *const families[] = {
    "bart",    "bert",       "distilbert", "gpt2",  "gpt_neox", "llama", "marian",
    "mistral", "modernbert", "qwen2",      "qwen3", "roberta",  "t5",
};

static void path_of(const char *family, char out_path[256])
{
    (void)snprintf(out_path, 256, VKF_TEST_SOURCE_DIR "/tests/pretrained/%s", family);
}

static void test_families_list_queries_keys_and_values_in_order(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof families / sizeof families[0]; i++) {
        char path[256];
        listed l;
        path_of(families[i], path);
        list(&l, path);
        vkf__weight_slot *q = find(&l, VKF_FUSION_QKV, 0);
        assert_non_null(q);
        assert_true(find(&l, VKF_FUSION_QKV, 1) == q + 1 && find(&l, VKF_FUSION_QKV, 2) == q + 2);
        vkf__weight_slot *bias = find(&l, VKF_FUSION_QKV_BIAS, 0);
        assert_true(!bias || find(&l, VKF_FUSION_QKV_BIAS, 2) == bias + 2);
        vkf__weight_slot *gate = find(&l, VKF_FUSION_GATE, 0);
        assert_true(!gate || find(&l, VKF_FUSION_GATE, 1) == gate + 1);
        release(&l);
    }
}

static void refuse(const char *family, vkf__fusion fusion, uint32_t part, const char *message)
{
    char path[256];
    listed l;
    path_of(family, path);
    list(&l, path);
    vkf__weight_slot *a = find(&l, fusion, part), other = a[1];
    a[1] = a[0];
    a[0] = other;
    assert_int_equal(vkf__fusions_check(&l.recording.host, l.found.slots, l.found.count), VKF_ERROR_UNSUPPORTED);
    assert_non_null(strstr(l.recording.text, message));
    release(&l);
}

// A model would still be right, but slower, and nothing else would tell.
static void test_fusions_check_of_another_order(void **state)
{
    (void)state;
    refuse("bert", VKF_FUSION_QKV, 0, "queries, keys and values are not listed");
    refuse("bert", VKF_FUSION_QKV_BIAS, 2, "biases of queries, keys and values are not listed");
    refuse("llama", VKF_FUSION_QKV, 1, "queries, keys and values are not listed");
    refuse("llama", VKF_FUSION_GATE, 0, "the gate and the first matrix are not listed");
    refuse("modernbert", VKF_FUSION_GATE, 1, "the gate and the first matrix are not listed");
}

static void test_fusions_settle_of_an_own_model(void **state)
{
    (void)state;
    listed l;
    list(&l, VKF_TEST_SOURCE_DIR "/tools/demo-model");
    vkf__fusions_settle(l.found.slots, l.found.count);
    assert_true(l.found.weights.encoder[0].fused_qkv && l.found.weights.decoder[0].fused_qkv);
    assert_false(l.found.weights.encoder[0].fused_gate);
    release(&l);
}

// Slots of one layer without biases, whose tensors lie side by side.
typedef struct layer_slots {
    vkf__layer_weights layer;
    vkf__weight_slot slots[5];
} layer_slots;

static void lay_out(layer_slots *s, vkf_layout layout, uint32_t rows)
{
    static const vkf__weight_slot parts[] = {
        {.fusion = VKF_FUSION_QKV, .fusion_part = 0},  {.fusion = VKF_FUSION_QKV, .fusion_part = 1},
        {.fusion = VKF_FUSION_QKV, .fusion_part = 2},  {.fusion = VKF_FUSION_GATE, .fusion_part = 0},
        {.fusion = VKF_FUSION_GATE, .fusion_part = 1},
    };
    *s = (layer_slots){0};
    vkf_tensor *const targets[] = {&s->layer.self.q_weight, &s->layer.self.k_weight, &s->layer.self.v_weight,
                                   &s->layer.gate.weight, &s->layer.feed_forward.weight1};
    uint64_t offset = 0, bytes = 0;
    for (size_t i = 0; i < 5; i++) {
        s->slots[i] = parts[i];
        s->slots[i].layer = &s->layer;
        s->slots[i].target = targets[i];
        *targets[i] = (vkf_tensor){.offset_bytes = offset, .rank = 2, .shape = {rows, COLS}, .layout = layout};
        assert_true(vkf_tensor_bytes(targets[i], &bytes));
        offset += bytes;
    }
}

static void test_fusions_settle_side_by_side(void **state)
{
    (void)state;
    layer_slots s;
    lay_out(&s, VKF_LAYOUT_ROWS, ROWS + 1);
    vkf__fusions_settle(s.slots, 5);
    assert_true(s.layer.fused_qkv && s.layer.fused_gate);
    lay_out(&s, VKF_LAYOUT_PANELS, ROWS);
    vkf__fusions_settle(s.slots, 5);
    assert_true(s.layer.fused_qkv && s.layer.fused_gate);
    lay_out(&s, VKF_LAYOUT_PANELS, ROWS + 1); // panels are filled up
    vkf__fusions_settle(s.slots, 5);
    assert_false(s.layer.fused_qkv || s.layer.fused_gate);
}

static void test_fusions_settle_apart(void **state)
{
    (void)state;
    layer_slots s;
    lay_out(&s, VKF_LAYOUT_ROWS, ROWS);
    s.layer.self.v_weight.offset_bytes += 16;
    vkf__fusions_settle(s.slots, 5);
    assert_true(!s.layer.fused_qkv && s.layer.fused_gate);
    lay_out(&s, VKF_LAYOUT_ROWS, ROWS);
    s.layer.feed_forward.weight1.dtype = VKF_DTYPE_F16;
    vkf__fusions_settle(s.slots, 5);
    assert_true(s.layer.fused_qkv && !s.layer.fused_gate);
    lay_out(&s, VKF_LAYOUT_ROWS, ROWS);
    vkf__fusions_settle(s.slots, 4); // no first matrix
    assert_true(s.layer.fused_qkv && !s.layer.fused_gate);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_families_list_queries_keys_and_values_in_order),
        cmocka_unit_test(test_fusions_check_of_another_order),
        cmocka_unit_test(test_fusions_settle_of_an_own_model),
        cmocka_unit_test(test_fusions_settle_side_by_side),
        cmocka_unit_test(test_fusions_settle_apart),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
