// How the threads of OpenMP, which oneDNN computes with on the CPU, wait for work: they spin for some ten
// microseconds and then sleep, instead of spinning for milliseconds. On cores that something else uses too
// (the window, another program, another training) spinning threads take the time that the working ones need,
// and a step takes many times as long; sleeping at once would make the short steps of small networks four
// times as long.
//
// libgomp takes this only from the environment, once, when it is initialised, which is before main(). What
// an executable lists in .preinit_array runs before any shared library is initialised (System V gABI,
// "Initialization and Termination Functions"). The environment is then a block on the stack that has no room
// for one more variable, and setenv() would be undone by the C library's own initialisation. So
// GOMP_SPINCOUNT stands in for a variable that no library looks at while it is initialised, which comes back
// once all are. Where there is none of those, threads spin for longer.

#include <string_view>

#include <unistd.h>

namespace {

char setting[] = "GOMP_SPINCOUNT=3000";
char* replaced = nullptr;

bool is_variable(const char* entry, std::string_view name) {
  const std::string_view text(entry);
  return text.size() > name.size() && text.starts_with(name) && text[name.size()] == '=';
}

char** find_variable(char** variables, std::string_view name) {
  for (; *variables != nullptr; ++variables) {
    if (is_variable(*variables, name)) return variables;
  }
  return nullptr;
}

void let_waiting_threads_sleep(int, char**, char** variables) {
  for (const char* chosen : {"OMP_WAIT_POLICY", "GOMP_SPINCOUNT"}) {
    if (find_variable(variables, chosen) != nullptr) return;
  }
  for (const char* name : {"_", "OLDPWD", "SHLVL", "PWD", "HOME"}) {
    char** place = find_variable(variables, name);
    if (place == nullptr) continue;
    replaced = *place;
    *place = setting;
    return;
  }
}

/// The program's own constructors run after those of all libraries.
[[gnu::constructor]] void bring_back_the_variable() {
  if (replaced == nullptr) return;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (*variable == setting) *variable = replaced;
  }
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const kBeforeLibraries)(int, char**, char**) = let_waiting_threads_sleep;

}  // namespace
