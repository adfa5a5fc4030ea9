#pragma once
// Every setting of a training as plain data, and the two files it is kept in: a TOML file that a person writes
// (`--config`), and the "configuration" object of a run's run.json.
//
// A setting that is not given is unset. resolve() says what then applies; some of that depends on other settings (the
// learning rate on the optimizer), so what a person has given is kept apart from it.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

namespace warpscope::training {

/// Grouped as the TOML file is. What each setting means, its unit, range and default: configuration_settings.h.
struct Configuration {
  struct Model {
    std::optional<std::string> name, init;
    bool operator==(const Model&) const = default;
  } model;
  struct Data {
    std::optional<std::string> source;
    std::optional<double> validation;
    std::optional<bool> shuffle;
    std::optional<std::uint64_t> seed;
    std::optional<std::int64_t> test_images;
    bool operator==(const Data&) const = default;
  } data;
  struct Device {
    std::optional<std::string> name, precision, select;
    bool operator==(const Device&) const = default;
  } device;
  struct Optimizer {
    std::optional<std::string> name;
    std::optional<float> learning_rate, momentum, beta1, beta2, alpha, epsilon, weight_decay;
    std::optional<float> clip_norm, clip_value;
    std::optional<int> batch, accumulate;
    std::optional<std::string> update;
    bool operator==(const Optimizer&) const = default;
  } optimizer;
  struct Schedule {
    std::optional<std::string> text;
    bool operator==(const Schedule&) const = default;
  } schedule;
  struct Stop {
    std::optional<std::uint64_t> epochs, steps;
    std::optional<int> early_stop;
    std::optional<float> target_loss;
    std::optional<std::string> time;
    std::optional<float> zscore;
    std::optional<std::string> on_divergence;
    bool operator==(const Stop&) const = default;
  } stop;
  struct Checkpoints {
    std::optional<int> every_epochs, keep;
    bool operator==(const Checkpoints&) const = default;
  } checkpoints;
  struct Run {
    std::optional<std::string> folder, save;
    bool operator==(const Run&) const = default;
  } run;

  bool operator==(const Configuration&) const = default;
};

/// The defaults that depend on no other setting; the others are unset.
Configuration defaults();

/// What `over` gives, and `base` where it gives nothing.
Configuration merge(const Configuration& base, const Configuration& over);

/// `given` with everything filled in that is unset: defaults(), and by the optimizer learning_rate, beta2 and weight_decay,
/// by the precision clip_norm (1 in fp16, else 0). Throws core::BadInput for an unknown optimizer or precision.
Configuration resolve(const Configuration& given);

/// Reads a TOML file in which every setting may be left out. Throws core::BadInput with one sentence that begins with
/// FILE:LINE:COLUMN for the first mistake in the file: bad syntax, an unknown key (with the nearest valid one), a value of
/// another type or out of range, an unknown name.
Configuration read_toml(const std::filesystem::path& file);
/// The same for text; `name` stands for the file in messages.
Configuration parse_toml(std::string_view text, std::string_view name);

/// The settings in a fixed order, each with a comment; unset ones as comments with the value that applies. parse_toml()
/// gives an equal configuration. Throws core::BadInput if a text is not UTF-8, which TOML cannot hold, and as resolve().
std::string to_toml(const Configuration& configuration);
/// Replaces `file` by to_toml(), whole or not at all. Throws core::BadInput as to_toml(), core::Error if writing fails.
void write_toml(const Configuration& configuration, const std::filesystem::path& file);

/// The settings that are given, flat, by their names in run.json: "model", "batch", "learning_rate", ...
nlohmann::json to_json(const Configuration& configuration);

/// Reads to_json()'s object, and those of earlier versions: the object "selection" (operation to variant), where there is one,
/// becomes device.select, since it tells what ran. Other keys are skipped: they tell of the run and set nothing. Throws
/// core::BadInput that begins with `where` and names the key.
Configuration from_json(const nlohmann::json& object, std::string_view where);

/// The configuration in a run.json. Throws core::BadInput that names the file, with line and column if it is no JSON.
Configuration read_run(const std::filesystem::path& file);

struct ConfigurationFile {
  Configuration configuration;
  bool of_run = false;  ///< read from a run.json: device.select says what ran there, on that device
};

/// `--config`: a TOML file, or a run.json, which is told by its first character. What a run.json says of its folder and of
/// the file its weights went to is left out, since neither is to be overwritten.
ConfigurationFile read_configuration(const std::filesystem::path& file);

}  // namespace warpscope::training
