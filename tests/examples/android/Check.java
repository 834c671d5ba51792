package org.vkformer.example;

import java.util.Random;

/** Compares Attention with the same computed here in doubles, and looks whether mistakes become exceptions. */
public final class Check {
    private static final int DIM = 48;
    private static final int HEADS = 3;
    private static final int BATCH = 2;
    private static final int LENGTH = 7;
    private static final double BOUND = 1e-5;

    private static float[] random(Random source, int count, double scale) {
        float[] values = new float[count];
        for (int i = 0; i < count; i++) {
            values[i] = (float) (scale * source.nextGaussian());
        }
        return values;
    }

    /** rows of DIM, times the transpose of a (DIM, DIM) weight. */
    private static double[] product(double[] rows, float[] weight) {
        double[] result = new double[rows.length];
        for (int i = 0; i < rows.length; i++) {
            for (int k = 0; k < DIM; k++) {
                result[i] += rows[i / DIM * DIM + k] * weight[i % DIM * DIM + k];
            }
        }
        return result;
    }

    /** Adds to `out` what one head of one query attends to. */
    private static void attend(double[] query, double[] key, double[] value, int first, int row, int head, int length,
                               double[] out) {
        int width = DIM / HEADS;
        double[] weights = new double[length];
        double sum = 0;
        for (int s = 0; s < length; s++) {
            double score = 0;
            for (int d = head * width; d < (head + 1) * width; d++) {
                score += query[row * DIM + d] * key[(first + s) * DIM + d];
            }
            weights[s] = Math.exp(score / Math.sqrt(width));
            sum += weights[s];
        }
        for (int d = head * width; d < (head + 1) * width; d++) {
            for (int s = 0; s < length; s++) {
                out[row * DIM + d] += weights[s] / sum * value[(first + s) * DIM + d];
            }
        }
    }

    private static double[] expected(float[] input, int length, float[][] weights) {
        double[] x = new double[input.length];
        for (int i = 0; i < x.length; i++) {
            x[i] = input[i];
        }
        double[] query = product(x, weights[0]);
        double[] key = product(x, weights[1]);
        double[] value = product(x, weights[2]);
        double[] attended = new double[x.length];
        for (int row = 0; row < x.length / DIM; row++) {
            for (int head = 0; head < HEADS; head++) {
                attend(query, key, value, row / length * length, row, head, length, attended);
            }
        }
        return product(attended, weights[3]);
    }

    private static void compare(Attention attention, Random source, int batch, int length, float[][] weights) {
        float[] input = random(source, batch * length * DIM, 1);
        float[] output = attention.run(batch, length, input);
        double[] right = expected(input, length, weights);
        double worst = 0;
        for (int i = 0; i < right.length; i++) {
            worst = Math.max(worst, Math.abs(output[i] - right[i])); // a NaN stays
        }
        System.out.printf("%d x %d x %d: the largest difference is %.2g%n", batch, length, DIM, worst);
        if (!(worst < BOUND)) {
            throw new AssertionError("the numbers differ by more than " + BOUND);
        }
    }

    private static void refused(String what, Runnable call) {
        try {
            call.run();
        } catch (IllegalArgumentException | IllegalStateException exception) {
            System.out.println(what + ": " + exception.getMessage());
            return;
        }
        throw new AssertionError(what + " is no exception");
    }

    public static void main(String[] arguments) {
        Random source = new Random(1);
        float[][] weights = new float[4][];
        for (int i = 0; i < weights.length; i++) {
            weights[i] = random(source, DIM * DIM, 1 / Math.sqrt(DIM));
        }
        Attention attention =
            new Attention(DIM, HEADS, BATCH, LENGTH, weights[0], weights[1], weights[2], weights[3]);
        compare(attention, source, BATCH, LENGTH, weights);
        compare(attention, source, 1, 3, weights);
        refused("too long", () -> attention.run(1, LENGTH + 1, new float[(LENGTH + 1) * DIM]));
        refused("heads that do not divide", () ->
            new Attention(DIM, 7, BATCH, LENGTH, weights[0], weights[1], weights[2], weights[3]));
        attention.close();
        attention.close();
        refused("closed", () -> attention.run(1, 1, new float[DIM]));
    }
}
