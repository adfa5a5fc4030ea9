#pragma once
// What the start page asks of the program, which knows the command line, downloads and other windows.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "gpu/data/sets.h"
#include "gpu/settings/configuration.h"
#include "gpu/training/trainer.h"

namespace warpscope::ui {

struct StartServices {
  /// What a new training with these settings is made of. Makes all checks by which it may be refused, on another
  /// thread, until `stopped`. Throws core::Error; this window still trains then. nullptr: this window begins none.
  std::function<training::TrainerOptions(const training::Configuration&, const data::Stopped& stopped)> make =
      {};
  /// Data sets that fetch() brings.
  std::vector<std::string> fetchable = {};
  /// Downloads one, on another thread; `told` gets the bytes that are there and those of all, 0 while that is unknown,
  /// and returns false to cancel. Throws core::Error.
  std::function<void(const std::string& set, const std::function<bool(std::int64_t, std::int64_t)>& told)>
      fetch = {};
  /// Opens a window of its own on a run. Throws core::Error.
  std::function<void(const std::filesystem::path& run)> view = {};
};

}  // namespace warpscope::ui
