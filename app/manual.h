#pragma once
// The manual page, from the tables that the help is made of.

#include <string>

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}

namespace warpscope::app {

/// The page warpscope(1) in roff's language: each command of the program `app` and each option, in the order of the
/// help.
std::string manual(const CLI::App& app);

}  // namespace warpscope::app
