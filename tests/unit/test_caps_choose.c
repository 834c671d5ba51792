// Which of several devices is chosen: the best, by index, by name, by type or by UUID.
#include "caps_fixture.h"

enum { CPU, INTEGRATED, DISCRETE_A, DISCRETE_B, VIRTUAL, CANDIDATES };

static void make_candidates(vkf__caps out_candidates[CANDIDATES])
{
    out_candidates[CPU] = cpu_caps();
    out_candidates[INTEGRATED] = integrated_caps();
    out_candidates[DISCRETE_A] = rich_caps("GeForce Alpha", VKF_DEVICE_TYPE_DISCRETE);
    out_candidates[DISCRETE_B] = rich_caps("GeForce Beta", VKF_DEVICE_TYPE_DISCRETE);
    out_candidates[VIRTUAL] = rich_caps("Virtio", VKF_DEVICE_TYPE_VIRTUAL);
    memset(out_candidates[DISCRETE_B].device_uuid, 0xb0, VKF_UUID_SIZE);
}

// Fails with the given status, says something, and leaves the index alone.
static void assert_refused(const vkf__caps *candidates, uint32_t count, vkf_device_choice choice, vkf_status status,
                           const char *said)
{
    message_record record;
    vkf__host host = recording_host(&record);
    uint32_t index = 77;
    assert_int_equal(vkf__caps_choose(&host, candidates, NULL, count, &choice, &index), status);
    assert_int_equal(index, 77);
    assert_int_equal(record.count, 1);
    assert_said(&record, said);
}

// `kernels` may be NULL.
static void assert_chosen_by(const vkf__caps *candidates, const uint32_t *kernels, uint32_t count,
                             vkf_device_choice choice, uint32_t expected)
{
    message_record record;
    vkf__host host = recording_host(&record);
    uint32_t index = 77;
    vkf_status status = vkf__caps_choose(&host, candidates, kernels, count, &choice, &index);
    if (status != VKF_OK)
        fail_msg("status %d: %s", (int)status, record.text);
    assert_int_equal(index, expected);
}

static void assert_chosen(const vkf__caps *candidates, uint32_t count, vkf_device_choice choice, uint32_t expected)
{
    assert_chosen_by(candidates, NULL, count, choice, expected);
}

static void test_caps_choose_best_by_type(void **state)
{
    const vkf_device_choice best = {0};
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    assert_chosen(candidates, CANDIDATES, best, DISCRETE_A);
    candidates[DISCRETE_A].type = VKF_DEVICE_TYPE_OTHER;
    assert_chosen(candidates, CANDIDATES, best, DISCRETE_B);
    candidates[DISCRETE_B].type = VKF_DEVICE_TYPE_OTHER;
    assert_chosen(candidates, CANDIDATES, best, INTEGRATED);
    candidates[INTEGRATED].type = VKF_DEVICE_TYPE_OTHER;
    assert_chosen(candidates, CANDIDATES, best, VIRTUAL);
    candidates[VIRTUAL].type = VKF_DEVICE_TYPE_OTHER;
    assert_chosen(candidates, CANDIDATES, best, CPU);
    candidates[CPU].type = VKF_DEVICE_TYPE_OTHER;
    assert_chosen(candidates, CANDIDATES, best, INTEGRATED); // which has the most memory
}

// Two rasterisers, or two GPUs: the driver's order says nothing about them.
static void test_caps_choose_among_equals(void **state)
{
    const vkf_device_choice ways[] = {{0}, {.kind = VKF_CHOOSE_TYPE, .type = VKF_DEVICE_TYPE_CPU}};
    const struct {
        uint32_t kernels[3];
        uint64_t bytes[3];
        uint32_t expected;
    } rows[] = {
        {{178, 287, 287}, {8, 8, 8}, 1}, {{287, 178, 287}, {8, 8, 8}, 0}, {{9, 8, 7}, {1, 2, 3}, 0},
        {{9, 9, 7}, {1, 2, 3}, 1},       {{9, 9, 9}, {2, 3, 2}, 1},       {{5, 5, 5}, {4, 4, 4}, 0},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        vkf__caps candidates[4] = {cpu_caps(), cpu_caps(), cpu_caps(), rich_caps("other", VKF_DEVICE_TYPE_OTHER)};
        const uint32_t kernels[4] = {rows[i].kernels[0], rows[i].kernels[1], rows[i].kernels[2], 500};
        for (size_t c = 0; c < 3; c++)
            candidates[c].memory = (VkPhysicalDeviceMemoryProperties){
                .memoryHeapCount = 2,
                .memoryHeaps = {{.size = 100 - rows[i].bytes[c]}, // the host's
                                {.size = rows[i].bytes[c], .flags = VK_MEMORY_HEAP_DEVICE_LOCAL_BIT}},
            };
        for (size_t w = 0; w < sizeof ways / sizeof ways[0]; w++)
            assert_chosen_by(candidates, kernels, 4, ways[w], rows[i].expected);
    }
}

static void test_caps_choose_best_passes_over_unusable(void **state)
{
    const vkf_device_choice best = {0};
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    candidates[DISCRETE_A].api_version = VK_API_VERSION_1_0;
    candidates[DISCRETE_B].queue_family_index = UINT32_MAX;
    assert_chosen(candidates, CANDIDATES, best, INTEGRATED);
    assert_refused(&candidates[DISCRETE_A], 2, best, VKF_ERROR_NO_DEVICE,
                   "0: GeForce Alpha (discrete), 1: GeForce Beta");
}

static void test_caps_choose_no_candidates(void **state)
{
    (void)state;
    for (int kind = VKF_CHOOSE_BEST; kind <= VKF_CHOOSE_TYPE; kind++)
        assert_refused(NULL, 0, (vkf_device_choice){.kind = (vkf_device_choice_kind)kind, .name = "x"},
                       VKF_ERROR_NO_DEVICE, "install a driver");
}

static void test_caps_choose_index(void **state)
{
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    candidates[VIRTUAL].api_version = VK_API_VERSION_1_0; // asked for by number: the plan will say what is wrong
    assert_chosen(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_INDEX, .index = VIRTUAL}, VIRTUAL);
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_INDEX, .index = CANDIDATES},
                   VKF_ERROR_NO_DEVICE, "no device with index 5; there is 0: Software rasterizer (CPU)");
}

static void test_caps_choose_name(void **state)
{
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    assert_chosen(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "gefORCE bE"},
                  DISCRETE_B);
    assert_chosen(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "io"}, VIRTUAL);
    assert_chosen(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "Software rasterizer"},
                  CPU);
}

static void test_caps_choose_name_twice_the_same_device(void **state)
{
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    memcpy(candidates[DISCRETE_B].name, candidates[DISCRETE_A].name, sizeof candidates[DISCRETE_A].name);
    assert_chosen(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "geforce"}, DISCRETE_A);
}

static void test_caps_choose_name_refused(void **state)
{
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "geforce"},
                   VKF_ERROR_INVALID_ARGUMENT, "3: GeForce Beta");
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = "Radeon"},
                   VKF_ERROR_NO_DEVICE, "no device has \"Radeon\" in its name; there is 0: Software");
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME, .name = ""},
                   VKF_ERROR_INVALID_ARGUMENT, "empty");
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = VKF_CHOOSE_NAME}, VKF_ERROR_INVALID_ARGUMENT,
                   "empty");
}

static void test_caps_choose_uuid(void **state)
{
    vkf__caps candidates[CANDIDATES];
    vkf_device_choice choice = {.kind = VKF_CHOOSE_UUID};
    (void)state;
    make_candidates(candidates);
    memset(choice.uuid, 0xb0, VKF_UUID_SIZE);
    assert_chosen(candidates, CANDIDATES, choice, DISCRETE_B);
    choice.uuid[15] = 0xb1;
    assert_refused(candidates, CANDIDATES, choice, VKF_ERROR_NO_DEVICE, "UUID b0b0b0b0b0b0b0b0b0b0b0b0b0b0b0b1; there");
}

static void test_caps_choose_type(void **state)
{
    vkf__caps candidates[CANDIDATES];
    vkf_device_choice choice = {.kind = VKF_CHOOSE_TYPE, .type = VKF_DEVICE_TYPE_DISCRETE};
    (void)state;
    make_candidates(candidates);
    assert_chosen(candidates, CANDIDATES, choice, DISCRETE_A);
    candidates[DISCRETE_A].queue_family_index = UINT32_MAX;
    assert_chosen(candidates, CANDIDATES, choice, DISCRETE_B);
    choice.type = VKF_DEVICE_TYPE_OTHER;
    assert_refused(candidates, CANDIDATES, choice, VKF_ERROR_NO_DEVICE, "type other");
    choice.type = (vkf_device_type)99;
    assert_refused(candidates, CANDIDATES, choice, VKF_ERROR_INVALID_ARGUMENT, "99 is no device type");
}

static void test_caps_choose_bad_kind(void **state)
{
    vkf__caps candidates[CANDIDATES];
    (void)state;
    make_candidates(candidates);
    assert_refused(candidates, CANDIDATES, (vkf_device_choice){.kind = (vkf_device_choice_kind)9},
                   VKF_ERROR_INVALID_ARGUMENT, "9 is no way");
}

// More devices than the message has room for.
static void test_caps_choose_long_list(void **state)
{
    static vkf__caps many[40];
    (void)state;
    for (size_t i = 0; i < 40; i++) {
        many[i] = cpu_caps();
        memset(many[i].name, 'n', sizeof many[i].name - 1);
    }
    assert_refused(many, 40, (vkf_device_choice){.kind = VKF_CHOOSE_INDEX, .index = 40}, VKF_ERROR_NO_DEVICE, "nnnn");
}

static void test_caps_queue_family_prefers_compute_alone(void **state)
{
    const vkf__queue_family graphics = {
        .compute = true, .graphics = true, .queue_count = 1, .timestamp_valid_bits = 64};
    const vkf__queue_family alone = {.compute = true, .queue_count = 4, .timestamp_valid_bits = 64};
    const vkf__queue_family untimed = {.compute = true, .queue_count = 4};
    const vkf__queue_family copies = {.queue_count = 2, .timestamp_valid_bits = 64};
    const vkf__queue_family empty = {.compute = true, .timestamp_valid_bits = 64};
    const struct {
        vkf__queue_family families[3];
        uint32_t chosen;
    } rows[] = {
        {{graphics, copies, alone}, 2},        {{alone, graphics, alone}, 0},  {{graphics, untimed, copies}, 0},
        {{untimed, copies, graphics}, 2},      {{copies, untimed, copies}, 1}, {{empty, copies, graphics}, 2},
        {{copies, copies, empty}, UINT32_MAX},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        assert_int_equal(vkf__caps_queue_family(rows[i].families, 3), rows[i].chosen);
    assert_int_equal(vkf__caps_queue_family(NULL, 0), UINT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_caps_queue_family_prefers_compute_alone),
        cmocka_unit_test(test_caps_choose_best_by_type),
        cmocka_unit_test(test_caps_choose_among_equals),
        cmocka_unit_test(test_caps_choose_best_passes_over_unusable),
        cmocka_unit_test(test_caps_choose_no_candidates),
        cmocka_unit_test(test_caps_choose_index),
        cmocka_unit_test(test_caps_choose_name),
        cmocka_unit_test(test_caps_choose_name_twice_the_same_device),
        cmocka_unit_test(test_caps_choose_name_refused),
        cmocka_unit_test(test_caps_choose_uuid),
        cmocka_unit_test(test_caps_choose_type),
        cmocka_unit_test(test_caps_choose_bad_kind),
        cmocka_unit_test(test_caps_choose_long_list),
    };
    return cmocka_run_group_tests_name("caps_choose", tests, NULL, NULL);
}
