#pragma once
// What opens a window.

#include <cstdint>
#include <string>

#include "gpu/training/trainer.h"

namespace warpscope::app {

struct WindowArguments {
  std::string screenshot;
  std::uint64_t exit_after_steps = 0;
  std::string size;           ///< "1600x1000"; "" for the remembered one
  std::string draw = "auto";  ///< who draws: "auto", "gpu" or "cpu"
  bool bare = false;          ///< nobody has said what is to be trained
};

// A build with the window has these in window.cpp and view.cpp, one without it in no_window.cpp.

/// Opens the window. Without a display it says so and trains headless.
int open_window(training::TrainerOptions options, const WindowArguments& arguments);

/// Opens the window on a run, a folder or the name of one in the default folder of runs, that another process trains or
/// has trained. Throws core::BadInput if there is no such run or no display.
int view_run(const std::string& run, const WindowArguments& arguments);

}  // namespace warpscope::app
