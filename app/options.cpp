#include "app/options.h"

#include <array>
#include <cctype>
#include <filesystem>
#include <string_view>

#include <fmt/format.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/models/model.h"
#include "gpu/settings/configuration_settings.h"

namespace warpscope::app {
namespace {

namespace fs = std::filesystem;
using training::Configuration;
using training::Setting;

constexpr const char* kRunGroup = "Run";

/// Under which heading the help shows the settings of a table.
struct OptionGroup {
  std::string_view table;
  const char* heading;
};

constexpr std::array<OptionGroup, 8> kGroups{{{"model", "Network and data"},
                                              {"data", "Network and data"},
                                              {"device", "Device"},
                                              {"optimizer", "Optimizer"},
                                              {"schedule", "Optimizer"},
                                              {"stop", "When to stop"},
                                              {"checkpoints", kRunGroup},
                                              {"run", kRunGroup}}};

const char* group_of(const Setting& setting) {
  for (const OptionGroup& group : kGroups) {
    if (group.table == setting.table) return group.heading;
  }
  return kRunGroup;
}

/// "--weight-decay"; short where a setting is typed all the time.
std::string option_name(const Setting& setting) {
  std::string name = setting.name;
  if (name == "data_source") name = "data";
  if (name == "learning_rate") name = "lr";
  for (char& c : name) c = c == '_' ? '-' : c;
  return "--" + name;
}

std::string type_name(const Setting& setting, const std::optional<std::string>&) {
  const std::string_view name = setting.name;
  if (name == "init" || name == "save") return "FILE";
  if (name == "run_dir") return "DIR";
  if (name == "select") return "OP=VARIANT,...";
  return "TEXT";
}

template <class T>
std::string type_name(const Setting&, const std::optional<T>&) {
  return std::is_integral_v<T> ? "N" : "X";
}

std::string text_of(const std::string& value) {
  return value;
}

template <class T>
std::string text_of(T value) {
  return fmt::format("{}", value);
}

template <class T>
std::string help_of(const Setting& setting, const std::optional<T>& standard) {
  std::string help = training::describe(setting);
  help[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(help[0])));
  if (*setting.otherwise != '\0' || !standard) return help;
  const std::string value = text_of(*standard);
  return value.empty() ? help : fmt::format("{} (default: {})", help, value);
}

template <class T>
void add_setting(CLI::App& app, const Setting& setting, std::optional<T>& given,
                 const std::optional<T>& standard) {
  const std::string name = option_name(setting);
  const auto read = [setting, name, &given](const std::string& text) {
    training::Value value = text;
    if constexpr (std::is_integral_v<T>) value = training::parse_whole(text);
    if constexpr (std::is_floating_point_v<T>) value = training::parse_real(text);
    const std::string objection = training::assign(setting, value, given);
    if (!objection.empty()) throw core::BadInput(name + objection);
  };
  app.add_option_function<std::string>(name, read, help_of(setting, standard))
      ->type_name(type_name(setting, given))
      ->group(group_of(setting));
}

/// The one setting that is a flag.
void add_setting(CLI::App& app, const Setting& setting, std::optional<bool>& given,
                 const std::optional<bool>& standard) {
  const auto read = [&given](std::int64_t count) { given = count > 0; };
  app.add_flag_function(fmt::format("{0},!--no-{1}", option_name(setting), setting.key), read,
                        help_of(setting, standard))
      ->group(group_of(setting));
}

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

/// The command line over what was read from a run.json: variants belong to a device and a precision.
Configuration over_run(Configuration run, const Configuration& given) {
  const bool moved = (given.device.name && given.device.name != run.device.name) ||
                     (given.device.precision && given.device.precision != run.device.precision);
  if (moved) run.device.select.reset();
  return training::merge(run, given);
}

void refuse_changes(const Configuration& run, const Configuration& given) {
  const auto refuse = [](const Setting& setting, const auto& was, const auto& now, const auto& standard) {
    if (!now || now == (was ? was : standard) || std::string_view(setting.name) == "test_images") return;
    throw core::BadInput(
        fmt::format("{} cannot change in a resumed run, whose {} is {}; leave it out, or start a new run",
                    option_name(setting), setting.name, text_of(was ? *was : *standard)));
  };
  const Configuration standard = training::defaults();
  training::visit_model_and_data(refuse, run, given, standard);
}

Configuration resumed(const TrainingArguments& arguments) {
  if (!arguments.config.empty()) {
    throw core::BadInput("--resume takes the configuration of the run; leave --config out");
  }
  const fs::path folder = arguments.resume;
  const auto& asked = arguments.given.run.folder;
  std::error_code error;
  if (asked && !fs::equivalent(*asked, folder, error)) {
    throw core::BadInput(fmt::format("--resume goes on in {}; leave --run-dir out", folder.string()));
  }
  const Configuration run = training::read_run(folder / "run.json");
  refuse_changes(run, arguments.given);
  Configuration configuration = over_run(run, arguments.given);
  configuration.run.folder = arguments.resume;
  return configuration;
}

training::OptimizerSettings optimizer_settings(const Configuration::Optimizer& c) {
  training::OptimizerSettings settings;
  settings.rule = ops::parse_update_rule(*c.name);
  settings.learning_rate = *c.learning_rate;
  settings.momentum = *c.momentum;
  settings.beta1 = *c.beta1;
  settings.beta2 = *c.beta2;
  settings.alpha = *c.alpha;
  settings.epsilon = *c.epsilon;
  settings.weight_decay = *c.weight_decay;
  settings.clip_norm = *c.clip_norm;
  settings.clip_value = *c.clip_value;
  settings.accumulate = *c.accumulate;
  settings.per_sample = *c.update == "per_sample";
  return settings;
}

training::StopRules stop_rules(const Configuration::Stop& c) {
  training::StopRules rules;
  rules.patience = *c.early_stop;
  if (*c.target_loss > 0) rules.target_loss = static_cast<double>(*c.target_loss);
  rules.seconds = c.time->empty() ? 0.0 : training::parse_time_span(*c.time);
  return rules;
}

}  // namespace

std::string refuse_negative(const std::string& text) {
  return text.starts_with('-') ? fmt::format("{} is negative", text) : std::string();
}

void add_training_options(CLI::App& app, TrainingArguments& a) {
  const Configuration standard = training::defaults();
  training::visit_settings([&app](const Setting& setting, auto& given,
                                  const auto& otherwise) { add_setting(app, setting, given, otherwise); },
                           a.given, standard);
  app.add_option("--config", a.config,
                 "Settings from a TOML file or a run.json; the command line overrides them")
      ->type_name("FILE")
      ->group(kRunGroup);
  app.add_option("--resume", a.resume, "Go on with a run, from its newest checkpoint")
      ->type_name("DIR")
      ->group(kRunGroup);
}

Configuration parse(const TrainingArguments& arguments) {
  if (!arguments.resume.empty()) return resumed(arguments);
  if (arguments.config.empty()) return arguments.given;
  training::ConfigurationFile file = training::read_configuration(arguments.config);
  if (file.of_run) return over_run(std::move(file.configuration), arguments.given);
  return training::merge(file.configuration, arguments.given);
}

training::TrainerOptions training_options(const TrainingArguments& arguments) {
  const Configuration configuration = parse(arguments);
  const Configuration c = training::resolve(configuration);
  check_save_file(*c.run.save, *c.run.folder);
  training::TrainerOptions options;
  options.model = models::find_model(*c.model.name);
  options.data = *c.data.source;
  options.device = *c.device.name;
  options.precision = core::parse_precision(*c.device.precision);
  options.select = *c.device.select;
  options.optimizer = optimizer_settings(c.optimizer);
  options.clip_chosen = configuration.optimizer.clip_norm.has_value();
  options.schedule = training::parse_schedule(*c.schedule.text);
  options.stop = stop_rules(c.stop);
  options.spikes.threshold = static_cast<double>(*c.stop.zscore);
  options.validation = *c.data.validation;
  options.checkpoint_epochs = *c.checkpoints.every_epochs;
  options.keep_checkpoints = *c.checkpoints.keep;
  options.batch = *c.optimizer.batch;
  options.epochs = *c.stop.epochs;
  options.steps = *c.stop.steps;
  options.seed = *c.data.seed;
  options.shuffle = *c.data.shuffle;
  options.test_images = *c.data.test_images;
  options.init_file = *c.model.init;
  options.save_file = *c.run.save;
  options.run_dir = *c.run.folder;
  options.resume_dir = arguments.resume;
  if (!arguments.config.empty() && !training::read_configuration(arguments.config).of_run) {
    options.settings_file = arguments.config;
  }
  options.pause_on_divergence = *c.stop.on_divergence == "pause";
  return options;
}

}  // namespace warpscope::app
