#include "app/options.h"

#include <CLI/App.hpp>
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "app/choices.h"
#include "app/run_folders.h"
#include "app/table.h"
#include "gpu/core/error.h"
#include "gpu/files/paths.h"
#include "gpu/files/streams.h"
#include "gpu/models/model_file.h"
#include "gpu/runs/references.h"
#include "gpu/runs/trained_network.h"

namespace warpscope::app {
namespace {

namespace fs = std::filesystem;
using training::Configuration;
using training::Kind;
using training::Setting;
using training::Value;

constexpr const char* kRunGroup = "Run";

/// Under which heading the help shows the settings of a table.
struct OptionGroup {
  std::string_view table;
  const char* heading;
};

constexpr std::array<OptionGroup, 9> kGroups{{{"model", "Network and data"},
                                              {"data", "Network and data"},
                                              {"augment", "Augmentation"},
                                              {"device", "Device"},
                                              {"optimizer", "Optimizer"},
                                              {"schedule", "Optimizer"},
                                              {"stop", "When to stop"},
                                              {"checkpoints", kRunGroup},
                                              {"run", kRunGroup}}};

const char* group_of(const Setting& row) {
  for (const OptionGroup& group : kGroups) {
    if (group.table == row.table) return group.heading;
  }
  return kRunGroup;
}

std::string type_name(const Setting& row) {
  if (row.field.kind == Kind::text) return row.placeholder;
  return row.field.kind == Kind::integer ? "N" : "X";
}

std::string help_of(const Setting& row) {
  std::string help = training::describe(row);
  help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  const std::string standard = training::standard_of(row);
  return row.standard != nullptr || standard.empty() ? help : fmt::format("{} (default: {})", help, standard);
}

/// A flag and its opposite.
void add_flag(CLI::App& app, const Setting& row, Configuration& given) {
  const auto read = [&row, &given](std::int64_t count) { given.put(row, count > 0); };
  app.add_flag_function(fmt::format("--{0},!--no-{0}", training::option_of(row)), read, help_of(row))
      ->multi_option_policy(CLI::MultiOptionPolicy::Throw)
      ->group(group_of(row));
}

void add_setting(CLI::App& app, const Setting& row, Configuration& given) {
  if (row.field.kind == Kind::boolean) return add_flag(app, row, given);
  const std::string name = "--" + training::option_of(row);
  const auto read = [&row, name, &given](const std::string& text) {
    training::Value value = training::parse_value(row, text);
    const std::string objection = training::check_value(row, value);
    if (!objection.empty()) throw core::BadInput(name + objection);
    given.put(row, std::move(value));
  };
  app.add_option_function<std::string>(name, read, help_of(row))
      ->type_name(type_name(row))
      ->group(group_of(row));
}

/// Checked now rather than after hours of training. The run folder is made before anything is saved
/// in it.
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
  check_folder_of("--save", file);
}

/// True if the setting is given and has another value than in `run`.
bool differs(const Configuration& given, const Configuration& run, const char* name) {
  const Value* const now = given.find(name);
  const Value* const was = run.find(name);
  return now != nullptr && (was == nullptr || *now != *was);
}

/// `given` over the settings of a run.json. Variants that were chosen for another device or precision are
/// dropped.
Configuration over_run(Configuration run, const Configuration& given) {
  if (differs(given, run, "device") || differs(given, run, "precision")) run.erase("select");
  return training::merge(run, given);
}

/// Refuses to change what must stay the same in a run, such as its model and data.
void refuse_changes(const Configuration& run, const Configuration& given) {
  const Configuration known = training::merge(training::defaults(), run);
  for (const Setting& row : training::settings()) {
    if (row.changes != training::Changes::never_in_run || !differs(given, known, row.name)) continue;
    const std::string value = training::shown(row, *known.find(row.name));
    throw core::BadInput(fmt::format(
        "--{} cannot change in a resumed run, {}; leave it out, or start a new run", training::option_of(row),
        value.empty() ? "which began without" : fmt::format("whose {} is {}", row.name, value)));
  }
}

Configuration resumed(const TrainingArguments& arguments) {
  if (!arguments.config.empty()) {
    throw core::BadInput("--resume takes the configuration of the run; leave --config out");
  }
  const fs::path folder = arguments.resume;
  std::error_code error;
  if (arguments.given.has("run_dir") && !fs::equivalent(arguments.given.text("run_dir"), folder, error)) {
    throw core::BadInput(fmt::format("--resume goes on in {}; leave --run-dir out", folder.string()));
  }
  const Configuration run = training::read_run(folder / "run.json");
  refuse_changes(run, arguments.given);
  Configuration configuration = over_run(run, arguments.given);
  configuration.set("run_dir", arguments.resume);
  return configuration;
}

/// What a run that is gone on with, or whose settings are taken, tells of its data. Where others are named instead
/// all but what they hold is known, and nothing where a training is new.
data::KnownData known_data(const TrainingArguments& arguments) {
  const bool named = arguments.given.has("data_source");
  const bool of_run = !arguments.config.empty() && training::read_configuration(arguments.config).of_run;
  if (arguments.resume.empty() && (named || !of_run)) return {};
  const fs::path folder =
      arguments.resume.empty() ? fs::path(arguments.config).parent_path() : fs::path(arguments.resume);
  data::KnownData known = runs::known_data(folder);
  return named ? data::KnownData{known.checksum, {}, false} : known;
}

/// "momentum, nesterov"
std::string optimizers_that_read(const Setting& number) {
  std::vector<std::string_view> names;
  for (const ops::RuleRow& rule : ops::kUpdateRules) {
    const auto read = training::numbers_of(ops::parse_update_rule(rule.name));
    if (std::ranges::find(read, &number) != read.end()) names.emplace_back(rule.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Tells, in a sentence each, the typed numbers that nothing reads, but for 0, as good as none. A file may hold the
/// numbers of all optimizers.
void tell_ignored(const Configuration& typed, const training::OptimizerSettings& optimizer) {
  const auto of_rule = training::numbers_of(optimizer.rule);
  const auto read = training::numbers_of(optimizer.rule, optimizer.per_sample);
  for (const Setting& row : training::settings()) {
    if (row.field.number == nullptr || !typed.has(row.name) || typed.number(row.name) == 0) continue;
    if (std::ranges::find(read, &row) != read.end()) continue;
    const bool by_sample = std::ranges::find(of_rule, &row) != of_rule.end();
    files::warn(by_sample
                    ? fmt::format("--{} has no effect with --update per_sample", training::option_of(row))
                    : fmt::format("--{} has no effect with the optimizer {}; those that read it: {}",
                                  training::option_of(row), ops::to_string(optimizer.rule),
                                  optimizers_that_read(row)));
  }
}

/// Weights bring their network along.
Configuration with_network_of_weights(Configuration configuration) {
  if (configuration.has("model") || !configuration.has("init") || configuration.text("init").empty())
    return configuration;
  if (const auto held = runs::network_held_in(configuration.text("init")))
    configuration.set("model", models::text_of(*held));
  return configuration;
}

}  // namespace

std::string measured_dir() {
  try {
    return (files::cache_dir() / "measured").string();
  } catch (const core::Error&) {
    return "";
  }
}

std::string refuse_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("{} is negative", text) : std::string();
}

std::string refuse_not_positive(const std::string& text) {
  double number = 0;
  const bool fits = CLI::detail::lexical_cast(text, number) && std::isfinite(number) && number > 0;
  return fits ? std::string() : fmt::format("'{}' is not a number above 0", text);
}

void refuse_repeated(const std::string& option, const std::vector<std::string>& list) {
  std::set<std::string_view> before;
  for (const std::string& name : list) {
    if (!before.insert(name).second)
      throw core::BadInput(fmt::format("{} names {} twice; give it once", option, files::sayable(name)));
  }
}

void whole_numbers(CLI::Option& option, int least, int most) {
  const std::string valid = fmt::format("from {} to {}", least, most);
  option.check(
      [least, most, valid](const std::string& text) {
        int number = 0;
        const bool fits = CLI::detail::lexical_cast(text, number) && number >= least && number <= most;
        return fits ? std::string() : fmt::format("'{}' is no whole number {}", text, valid);
      },
      valid);
}

void add_training_options(CLI::App& app, TrainingArguments& a) {
  for (const Setting& row : training::settings()) add_setting(app, row, a.given);
  app.add_option("--config", a.config,
                 "Settings from a TOML file or a run.json; the command line overrides them")
      ->type_name("FILE")
      ->group(kRunGroup);
  app.add_option("--resume", a.resume, "Go on with a run, from its newest checkpoint")
      ->type_name("DIR")
      ->group(kRunGroup);
}

void add_choice_options(CLI::App& app, ChoiceArguments& arguments) {
  app.add_option("--device", arguments.device, "auto, cpu or cuda:N")->capture_default_str();
  app.add_option("--op", arguments.ops, "Operations: conv2d.forward,... (default: all)")
      ->type_name("OP,...")
      ->delimiter(',');
  app.add_option("--variant", arguments.variant, "Variants whose name contains this (default: all)")
      ->type_name("NAME");
  app.add_option("--precision", arguments.precisions, "Precisions: fp32,tf32,fp16,bf16 (default: all)")
      ->type_name("P,...")
      ->delimiter(',');
  add_kernel_options(app, arguments.kernels);
}

namespace {

/// With the folder of the run that goes on, which may be typed by its name only.
TrainingArguments with_run_found(TrainingArguments arguments) {
  if (!arguments.resume.empty()) arguments.resume = find_run(arguments.resume, kRunsFolder).string();
  return arguments;
}

}  // namespace

Configuration parse(const TrainingArguments& typed) {
  const TrainingArguments arguments = with_run_found(typed);
  if (!arguments.resume.empty()) return resumed(arguments);
  if (arguments.config.empty()) return with_network_of_weights(arguments.given);
  training::ConfigurationFile file = training::read_configuration(arguments.config);
  if (file.of_run) return over_run(std::move(file.configuration), arguments.given);
  return with_network_of_weights(training::merge(file.configuration, arguments.given));
}

training::TrainerOptions training_options(const TrainingArguments& typed) {
  const TrainingArguments arguments = with_run_found(typed);
  const Configuration given = parse(arguments);
  training::TrainerOptions options;
  training::apply(training::resolve(given), options);
  check_save_file(options.save_file, options.run_dir);
  tell_ignored(arguments.given, options.optimizer);
  options.clip_chosen = given.has("clip_norm");
  options.given = given;
  options.measured_dir = measured_dir();
  options.resume_dir = arguments.resume;
  options.known_data = known_data(arguments);
  if (!arguments.config.empty() && !training::read_configuration(arguments.config).of_run) {
    options.settings_file = arguments.config;
  }
  return options;
}

}  // namespace warpscope::app
