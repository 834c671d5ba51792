package org.vkformer.example;

/**
 * Self attention of (batch, length, embedDim) floats on the device's GPU. This is plain Java, for Android and desktops
 * alike. An object may be used by one thread at a time.
 */
public final class Attention implements AutoCloseable {
    static {
        System.loadLibrary("attention_jni");
    }

    private final int embedDim;
    private final int maxBatch;
    private final int maxLength;
    private long handle;

    /**
     * Makes a context and the layer. Weights are (embedDim, embedDim), row by row, as PyTorch keeps them.
     *
     * @throws IllegalStateException with the library's message, if there is no device or the sizes do not fit together
     */
    public Attention(int embedDim, int heads, int maxBatch, int maxLength, float[] query, float[] key, float[] value,
                     float[] out) {
        this.embedDim = embedDim;
        this.maxBatch = maxBatch;
        this.maxLength = maxLength;
        for (float[] weight : new float[][] {query, key, value, out}) {
            if (weight.length != (long) embedDim * embedDim) {
                throw new IllegalArgumentException("a weight has " + weight.length + " elements");
            }
        }
        handle = create(embedDim, heads, maxBatch, maxLength, query, key, value, out);
        if (handle == 0) {
            throw new OutOfMemoryError("no memory for an attention");
        }
    }

    /** Computes (batch, length, embedDim) of as many inputs, of at most the sizes that the layer was made for. */
    public float[] run(int batch, int length, float[] input) {
        if (handle == 0) {
            throw new IllegalStateException("the attention is closed");
        }
        if (batch < 1 || batch > maxBatch || length < 1 || length > maxLength
                || input.length != (long) batch * length * embedDim) {
            throw new IllegalArgumentException("the input has " + input.length + " elements, or a size is too large");
        }
        float[] output = new float[input.length];
        run(handle, batch, length, input, output);
        return output;
    }

    @Override
    public void close() {
        destroy(handle);
        handle = 0;
    }

    /** 0 when memory is exhausted. */
    private static native long create(int embedDim, int heads, int maxBatch, int maxLength, float[] query, float[] key,
                                      float[] value, float[] out);

    private static native void run(long handle, int batch, int length, float[] input, float[] output);

    private static native void destroy(long handle);
}
