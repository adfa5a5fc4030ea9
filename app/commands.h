#pragma once
// One function per command, each in a file of its own. They return the exit code: 0, 1 (the run failed), 2 (bad input).

#include <cstdint>
#include <string>

#include "gpu/training/trainer.h"

namespace warpscope::app {

struct WindowArguments {
  std::string screenshot;
  std::uint64_t exit_after_steps = 0;
  std::string size;  ///< "1600x1000"; "" for the remembered one
};

/// Trains without a window, with a progress bar on a terminal and plain lines elsewhere.
int train(training::TrainerOptions options);

/// Opens the window. Without a display it says so and trains headless.
int window(training::TrainerOptions options, const WindowArguments& arguments);

/// Lists the devices and what each can run.
int devices();

/// Downloads a data set ("cifar10") into `directory` ("" for the user's cache folder).
int fetch(const std::string& data_set, const std::string& directory);

}  // namespace warpscope::app
