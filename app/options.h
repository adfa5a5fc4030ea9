#pragma once
// The options that `warpscope` and `warpscope train` share.

#include <CLI/App.hpp>
#include <cstdint>
#include <string>

#include "gpu/training/trainer.h"

namespace warpscope::app {

/// As typed; checked by training_options().
struct TrainingArguments {
  std::string model = "autoencoder";
  std::string data;
  std::string device = "auto";
  std::string precision = "fp32";
  std::string select;
  std::string optimizer = "sgd";
  float learning_rate = 0;  ///< 0: the optimizer's default
  int batch = 64;
  std::uint64_t epochs = 0;
  std::uint64_t steps = 0;
  std::uint64_t seed = 1;
  std::int64_t test_images = 0;
  bool no_shuffle = false;
  std::string init;
  std::string save;
  std::string run_dir;
};

/// A check for options that hold counts: without it "-1" would count as 2^64 - 1. Returns the objection, or "".
std::string refuse_negative(const std::string& text);

void add_training_options(CLI::App& app, TrainingArguments& arguments);

/// Throws core::BadInput for unknown names, listing the valid ones, and if the file to save could not be written.
training::TrainerOptions training_options(const TrainingArguments& arguments);

}  // namespace warpscope::app
