// The program `vkformer`: finds the subcommand, and makes sure that all output has reached its destination.
#include <stdio.h>
#include <string.h>

#include <vkformer/vkformer.h>

#include "command/commands.h"
#include "command/nearest_name.h"
#include "command/options.h"
#include "output/standard_output.h"
#include "output/visible_text.h"
#include "system/hand_over.h"
#include "system/terminal.h"

static const struct command {
    const char *name;
    char full_name[20]; // becomes argv[0]
    int (*run)(int argc, char **argv);
    const char *summary;
} commands[] = {
    {"info", "vkformer info", vkf_cmd_info, "list the Vulkan devices and the kernels that each would take"},
    {"inspect", "vkformer inspect", vkf_cmd_inspect, "say what is in a model directory"},
    {"plan", "vkformer plan", vkf_cmd_plan, "say how a model would run on a GPU that is not there, and how fast"},
    {"run", "vkformer run", vkf_cmd_run, "run a model on lines of text"},
    {"embed", "vkformer embed", vkf_cmd_embed, "turn texts into vectors, compare and search them"},
    {"rerank", "vkformer rerank", vkf_cmd_rerank, "sort documents by how well they answer a query"},
    {"quantize", "vkformer quantize", vkf_cmd_quantize, "write a model with its weights in blocks of 8 or 4 bits"},
    {"eval", "vkformer eval", vkf_cmd_eval, "answer stored cases of operators, layers and models"},
    {"compare", "vkformer compare", vkf_cmd_compare, "show how far the tensors of two files are apart"},
    {"bench", "vkformer bench", vkf_cmd_bench, "measure operators, layers and models"},
    {"profile", "vkformer profile", vkf_cmd_profile, "say where the time of a model's run goes, and what changed"},
    {"shaders", "vkformer shaders", vkf_cmd_shaders, "what the driver's compiler makes of the kernels, or of a shader"},
    {"tokenize", "vkformer tokenize", vkf_cmd_tokenize, "turn text into token ids, or ids into text"},
    {"train", "vkformer train", vkf_cmd_train, "train a model, or a new one, on lines of examples"},
    {"tune", "vkformer tune", vkf_cmd_tune, "find the fastest kernels for this device, and keep them"},
};

#define COMMAND_COUNT (sizeof commands / sizeof commands[0])

static void print_help(FILE *out)
{
    fputs("usage: vkformer COMMAND [OPTIONS] [ARGUMENTS]\n"
          "\n"
          "Runs Transformers on any device that has Vulkan.\n"
          "\n",
          out);
    for (size_t i = 0; i < COMMAND_COUNT; i++)
        vkf_print_on(out, "  %-8s %s\n", commands[i].name, commands[i].summary);
    fputs("\n"
          "  -h, --help  print this; vkformer COMMAND --help, or vkformer help COMMAND, describes a command\n"
          "  --version   print the version\n"
          "\n"
          "Exit codes: 0 done, 1 failed (the reason is on stderr), 2 wrong command line, 3 a comparison found more\n"
          "than it allows.\n",
          out);
}

// Runs the command that argv[1] names with what follows it.
static int run_command(int argc, char **argv)
{
    vkf_nearest_name nearest = {.word = argv[1]};
    for (size_t i = 0; i < COMMAND_COUNT; i++) {
        vkf_nearest_name_offer(&nearest, commands[i].name);
        if (strcmp(argv[1], commands[i].name) != 0)
            continue;
        char full_name[sizeof commands[i].full_name];
        memcpy(full_name, commands[i].full_name, sizeof full_name);
        argv[1] = full_name;
        return commands[i].run(argc - 1, argv + 1);
    }
    static const char *const others[] = {"help", "--help", "--version"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        vkf_nearest_name_offer(&nearest, others[i]);
    vkf_nearest_name_refuse(&nearest, "", "there is no such command", "vkformer");
    return VKF_EXIT_USAGE;
}

// `help COMMAND...` is `COMMAND... --help`.
static int help(int argc, char **argv)
{
    char flag[] = "--help";
    if (argc == 2) {
        print_help(stdout);
        return VKF_EXIT_DONE;
    }
    memmove(argv + 1, argv + 2, (size_t)(argc - 2) * sizeof *argv);
    argv[argc - 1] = flag;
    return run_command(argc, argv);
}

static int dispatch(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return VKF_EXIT_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
        print_help(stdout);
        return VKF_EXIT_DONE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        printf("vkformer %d.%d.%d\n", VKF_VERSION_MAJOR, VKF_VERSION_MINOR, VKF_VERSION_PATCH);
        return VKF_EXIT_DONE;
    }
    return strcmp(argv[1], "help") == 0 ? help(argc, argv) : run_command(argc, argv);
}

// mpirun's processes are those of another program, where this build has one.
static void hand_over_to_ranks(char **argv)
{
    char size[16];
    if (vkf_environment("OMPI_COMM_WORLD_SIZE", size, sizeof size) && strcmp(size, "1") != 0)
        vkf_hand_over("-mpi", argv);
}

int main(int argc, char **argv)
{
    hand_over_to_ranks(argv);
    vkf_prepare_streams();
    char **arguments = vkf_arguments(argc, argv);
    if (!arguments) {
        vkf_print_error("memory is exhausted");
        return VKF_EXIT_FAILED;
    }
    int code = dispatch(argc, arguments);
    // A full disk is noticed here at the latest.
    if (!vkf_check_stdout() && code == VKF_EXIT_DONE)
        code = VKF_EXIT_FAILED;
    return code;
}
