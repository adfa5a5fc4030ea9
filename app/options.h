#pragma once
// The options that `warpscope`, `warpscope train` and `warpscope config` share: every setting of a training.

#include <string>
#include <vector>

#include "gpu/settings/configuration.h"
#include "gpu/training/trainer.h"

namespace CLI {  // NOLINT(readability-identifier-naming): the name is the library's
class App;
class Option;
}  // namespace CLI

namespace warpscope::app {

/// What stands on the command line.
struct TrainingArguments {
  training::Configuration given;
  std::string config;  ///< TOML file or run.json; "" for none
  std::string resume;  ///< folder of a run to go on with; "" for none
};

/// A check for options that hold counts: without it "-1" would count as 2^64 - 1. Returns the objection, or
/// "".
std::string refuse_negative(const std::string& text);
/// A check for options that hold finite numbers above 0.
std::string refuse_not_positive(const std::string& text);

/// Lets an option take only whole numbers, from `least` to `most`.
void whole_numbers(CLI::Option& option, int least, int most);

/// Throws core::BadInput that names the option and what its list has twice, if anything.
void refuse_repeated(const std::string& option, const std::vector<std::string>& list);

/// Adds an option for each setting. A value that does not fit throws core::BadInput from CLI::App::parse().
void add_training_options(CLI::App& app, TrainingArguments& arguments);

/// The settings that are given: the command line over --config's file, or over the run.json of the run to
/// resume, whose folder is then run_dir. What a run.json says of variants goes where the command line asks
/// for another device or precision. Where no network is named it is that of the initial weights, if they tell it.
/// Throws core::BadInput for a file that cannot be read, and for another
/// model, other data or another folder of a resumed run.
training::Configuration parse(const TrainingArguments& typed);

/// What the trainer takes: parse() with defaults filled in, but for those that depend on the device. What stands on the
/// command line and has no effect with the optimizer is told on standard error. Throws core::BadInput as parse(), and
/// if the file to save could not be written.
training::TrainerOptions training_options(const TrainingArguments& typed);

/// The folder of what was measured of variants; "" where nobody knows one of the user: nothing is measured then.
std::string measured_dir();

}  // namespace warpscope::app
