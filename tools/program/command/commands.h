// The subcommands of the program `vkformer`.
#ifndef VKF_PROGRAM_COMMANDS_H
#define VKF_PROGRAM_COMMANDS_H

enum vkf_exit_code {
    VKF_EXIT_DONE = 0,
    VKF_EXIT_FAILED = 1, // the reason was printed on stderr
    VKF_EXIT_USAGE = 2,  // the command line is wrong; the reason was printed on stderr
    VKF_EXIT_BEYOND = 3, // a comparison found more than it allows
};

// argv[0] is the command's full name ("vkformer info"), which messages name as the place for help; the arguments
// follow from argv[1]. getopt has not been used before. Each command returns an exit code.
int vkf_cmd_info(int argc, char **argv);
int vkf_cmd_inspect(int argc, char **argv);
int vkf_cmd_plan(int argc, char **argv);
int vkf_cmd_run(int argc, char **argv);
int vkf_cmd_embed(int argc, char **argv);
int vkf_cmd_rerank(int argc, char **argv);
int vkf_cmd_quantize(int argc, char **argv);
int vkf_cmd_eval(int argc, char **argv);
int vkf_cmd_compare(int argc, char **argv);
int vkf_cmd_bench(int argc, char **argv);
int vkf_cmd_profile(int argc, char **argv);
int vkf_cmd_tune(int argc, char **argv);
int vkf_cmd_shaders(int argc, char **argv);
int vkf_cmd_tokenize(int argc, char **argv);
int vkf_cmd_train(int argc, char **argv);

#endif
