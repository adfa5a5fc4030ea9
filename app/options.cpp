#include "app/options.h"

#include <cmath>
#include <filesystem>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/models/model.h"

namespace warpscope::app {
namespace {

namespace fs = std::filesystem;

constexpr float kDefaultSgdRate = 0.005f;

/// Found out now, not when hours of training are to be saved. The run folder is made before anything is saved in it.
void check_save_file(const fs::path& file, const fs::path& run_dir) {
  if (file.empty()) return;
  std::error_code error;
  if (fs::is_directory(file, error)) {
    throw core::BadInput(fmt::format("--save: {} is a folder; name a file", file.string()));
  }
  const fs::path folder = file.has_parent_path() ? file.parent_path() : fs::path(".");
  if (!run_dir.empty() &&
      fs::weakly_canonical(folder / ".", error) == fs::weakly_canonical(run_dir / ".", error)) {
    return;
  }
  if (!fs::is_directory(folder, error)) {
    throw core::BadInput(fmt::format("--save: there is no folder {}; make it first", folder.string()));
  }
  if (::access(folder.c_str(), W_OK) != 0) {
    throw core::BadInput(
        fmt::format("--save: the folder {} cannot be written to; choose another", folder.string()));
  }
}

}  // namespace

std::string refuse_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("{} is negative", text) : std::string();
}

void add_training_options(CLI::App& app, TrainingArguments& a) {
  app.add_option("--model", a.model, "Network")->capture_default_str();
  app.add_option(
      "--data", a.data,
      "Folder with CIFAR-10's binary files, 'cifar10' or 'builtin' (default: $WARPSCOPE_DATA, the user's "
      "cache, else the built-in scenes)");
  app.add_option("--device", a.device, "auto, cpu or cuda:N")->capture_default_str();
  app.add_option("--precision", a.precision, "fp32, tf32, fp16 or bf16")->capture_default_str();
  app.add_option("--select", a.select, "Variants: conv2d.forward=naive,..., all=naive or preset=tensor_cores")
      ->type_name("OP=VARIANT,...");
  app.add_option("--optimizer", a.optimizer, "sgd")->capture_default_str();
  app.add_option("--lr", a.learning_rate, fmt::format("Learning rate (default: {:g})", kDefaultSgdRate));
  app.add_option("--batch", a.batch, "Images a step")->capture_default_str();
  app.add_option("--epochs", a.epochs, "Stop after N passes over the training images")
      ->type_name("N")
      ->check(refuse_negative);
  app.add_option("--steps", a.steps, "Stop after N steps")->type_name("N")->check(refuse_negative);
  app.add_option("--seed", a.seed, "Seed of weights and order")
      ->capture_default_str()
      ->check(refuse_negative);
  app.add_flag("--no-shuffle", a.no_shuffle, "Take the images in their stored order");
  app.add_option("--test-images", a.test_images,
                 "Images of the test set used by a test (default: all; 256 on the CPU)")
      ->type_name("N")
      ->check(refuse_negative);
  app.add_option("--init", a.init, "Initial weights (safetensors, PyTorch layout)")->type_name("FILE");
  app.add_option("--save", a.save, "Save the weights at the end (safetensors)")->type_name("FILE");
  app.add_option("--run-dir", a.run_dir, "Folder to record the run in")->type_name("DIR");
}

training::TrainerOptions training_options(const TrainingArguments& a) {
  if (!std::isfinite(a.learning_rate) || a.learning_rate < 0) {
    throw core::BadInput("--lr: the learning rate must be a positive number");
  }
  if (a.batch < 1) throw core::BadInput("--batch: at least one image a step is needed");
  check_save_file(a.save, a.run_dir);
  training::TrainerOptions options;
  options.model = models::find_model(a.model);
  options.data = a.data;
  options.device = a.device;
  options.precision = core::parse_precision(a.precision);
  options.select = a.select;
  options.optimizer = a.optimizer;
  options.learning_rate = a.learning_rate > 0 ? a.learning_rate : kDefaultSgdRate;
  options.batch = a.batch;
  options.epochs = a.epochs;
  options.steps = a.steps;
  options.seed = a.seed;
  options.shuffle = !a.no_shuffle;
  options.test_images = a.test_images;
  options.init_file = a.init;
  options.save_file = a.save;
  options.run_dir = a.run_dir;
  return options;
}

}  // namespace warpscope::app
