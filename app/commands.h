#pragma once
// The commands: a file and a row each.

#include <functional>
#include <span>
#include <string>

#include "gpu/training/trainer.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
}

namespace warpscope::app {

/// What a command does, with the options that were given. Returns the exit code: 0, or 1 if what it did failed. Bad
/// input is a thrown core::BadInput, one sentence, which is exit code 2.
using Run = std::function<int()>;

struct Command {
  const char* name;
  const char* summary;        ///< in the help
  const char* less;           ///< what takes less memory; "" if nothing that is typed does
  Run (*add)(CLI::App& app);  ///< adds its options
};

/// In the order of the help.
std::span<const Command> commands();

/// Without a command: the window. Without a display it says so and trains headless.
Run window(CLI::App& app);

/// Trains without a window, with a progress bar on a terminal and plain lines elsewhere.
/// `then`: a classifier that judges the features of the trained network at the end, "" for none.
int train_headless(training::TrainerOptions options, const std::string& then = "");

}  // namespace warpscope::app
