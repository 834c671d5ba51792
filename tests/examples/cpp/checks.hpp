// What the checks of the C++ header have in common.
#include <cstdio>
#include <exception>
#include <string>
#include <vector>

#include <vkformer/vkformer.hpp>

inline int failures = 0;

inline void expect(bool holds, const char *what, const char *file, int line)
{
    if (holds)
        return;
    failures++;
    std::fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
}
#define EXPECT(condition) expect((condition), #condition, __FILE__, __LINE__)

template <typename Exception, typename Function> std::string thrown_by(Function function)
{
    try {
        function();
    } catch (const Exception &exception) {
        return exception.what();
    }
    return "nothing was thrown";
}

template <typename Function> vkf_status status_of(Function function)
{
    try {
        function();
    } catch (const vkf::error &failure) {
        return failure.status();
    }
    return VKF_OK;
}

// The exit status of a program that makes these checks.
template <typename Checks> int run_checks(Checks checks)
{
    try {
        checks();
    } catch (const std::exception &failure) {
        std::fprintf(stderr, "thrown: %s\n", failure.what());
        return 1;
    }
    return failures == 0 ? 0 : 1;
}
