// What Attention.java calls: a context and one attention layer of vkformer.
#include <jni.h>
#include <stdio.h>
#include <stdlib.h>
#include <vkformer/vkformer.h>

typedef struct attention {
    vkf_context *context;
    vkf_layer *layer;
    char message[256]; // the last one; the library says in it what is wrong
} attention;

static void keep_message(void *user, vkf_severity severity, const char *text)
{
    attention *a = user;
    if (severity >= VKF_SEVERITY_WARNING)
        snprintf(a->message, sizeof a->message, "%s", text);
}

// Whether it went well; otherwise Java gets an exception when the native function returns.
static bool check(JNIEnv *env, const attention *a, vkf_status status)
{
    if (status == VKF_OK)
        return true;
    jclass class = (*env)->FindClass(env, "java/lang/IllegalStateException");
    if (class)
        (*env)->ThrowNew(env, class, a->message[0] ? a->message : vkf_status_text(status));
    return false;
}

// A (dim, dim) weight with the array's values. False with an exception; *out_weight is then to be destroyed, too.
static bool make_weight(JNIEnv *env, attention *a, uint32_t dim, jfloatArray array, vkf_tensor *out_weight)
{
    if (!check(env, a, vkf_tensor_create(a->context, VKF_DTYPE_F32, 2, (uint32_t[]){dim, dim}, NULL, out_weight)))
        return false;
    jfloat *values = (*env)->GetFloatArrayElements(env, array, NULL);
    if (!values)
        return false; // Java has thrown OutOfMemoryError
    vkf_status status = vkf_tensor_write(out_weight, values, (uint64_t)dim * dim * sizeof *values);
    (*env)->ReleaseFloatArrayElements(env, array, values, JNI_ABORT);
    return check(env, a, status);
}

static void destroy_attention(attention *a)
{
    if (!a)
        return;
    vkf_layer_destroy(&a->layer);
    vkf_context_destroy(&a->context);
    free(a);
}

JNIEXPORT jlong JNICALL Java_org_vkformer_example_Attention_create(JNIEnv *env, jclass class, jint embed_dim,
                                                                   jint heads, jint max_batch, jint max_length,
                                                                   jfloatArray query, jfloatArray key,
                                                                   jfloatArray value, jfloatArray out)
{
    (void)class;
    attention *a = calloc(1, sizeof *a);
    if (!a)
        return 0;
    vkf_attention_desc desc = {
        .embed_dim = (uint32_t)embed_dim,
        .num_heads = (uint32_t)heads,
        .self_attention = true,
        .max_sizes = {.batch = (uint32_t)max_batch, .query_len = (uint32_t)max_length},
    };
    vkf_attention_weights *params = &desc.params;
    bool made =
        check(env, a,
              vkf_context_create(&(vkf_context_desc){.message = keep_message, .message_user = a}, &a->context)) &&
        make_weight(env, a, desc.embed_dim, query, &params->q_weight) &&
        make_weight(env, a, desc.embed_dim, key, &params->k_weight) &&
        make_weight(env, a, desc.embed_dim, value, &params->v_weight) &&
        make_weight(env, a, desc.embed_dim, out, &params->out_weight) &&
        check(env, a, vkf_attention_create(a->context, &desc, &a->layer));
    // The layer keeps what it reads.
    vkf_tensor_destroy(&params->q_weight);
    vkf_tensor_destroy(&params->k_weight);
    vkf_tensor_destroy(&params->v_weight);
    vkf_tensor_destroy(&params->out_weight);
    if (!made) {
        destroy_attention(a);
        a = NULL;
    }
    return (jlong)(intptr_t)a;
}

JNIEXPORT void JNICALL Java_org_vkformer_example_Attention_run(JNIEnv *env, jclass class, jlong handle, jint batch,
                                                               jint length, jfloatArray input, jfloatArray output)
{
    (void)class;
    attention *a = (attention *)(intptr_t)handle;
    uint64_t bytes = (uint64_t)(*env)->GetArrayLength(env, input) * sizeof(jfloat);
    vkf_layer_sizes sizes = {.batch = (uint32_t)batch, .query_len = (uint32_t)length};
    jfloat *in = (*env)->GetFloatArrayElements(env, input, NULL);
    jfloat *out = (*env)->GetFloatArrayElements(env, output, NULL);
    if (in && out && check(env, a, vkf_layer_write(a->layer, VKF_PORT_QUERY, in, bytes)) &&
        check(env, a, vkf_layer_run(a->layer, &sizes)))
        check(env, a, vkf_layer_read(a->layer, VKF_PORT_OUTPUT, out, bytes));
    if (in)
        (*env)->ReleaseFloatArrayElements(env, input, in, JNI_ABORT);
    if (out)
        (*env)->ReleaseFloatArrayElements(env, output, out, 0);
}

JNIEXPORT void JNICALL Java_org_vkformer_example_Attention_destroy(JNIEnv *env, jclass class, jlong handle)
{
    (void)env;
    (void)class;
    destroy_attention((attention *)(intptr_t)handle);
}
