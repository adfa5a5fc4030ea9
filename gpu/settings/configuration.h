#pragma once
// The settings that somebody has given, and the two files they are kept in: a TOML file that a person writes
// (`--config`), and the "configuration" object of a run's run.json.
//
// A setting that is not given is unset. resolve() says what then applies; some of that depends on other
// settings (the learning rate on the optimizer) and on the device, so what a person has given is kept apart
// from it.

#include <cstddef>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "gpu/settings/setting.h"

namespace warpscope::training {

/// A file with more bytes than this holds no settings.
inline constexpr std::size_t kMostText = std::size_t{64} << 20;

/// Values by the names of their settings (setting.h).
class Configuration {
 public:
  /// nullptr if it is unset.
  const Value* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  /// Throw std::logic_error if there is no such setting, or it is unset or of another kind.
  const std::string& text(std::string_view name) const;
  double number(std::string_view name) const;
  /// Throws std::logic_error for an unknown name and core::BadInput for a value that does not fit.
  void set(std::string_view name, Value value);
  /// The same for values that are known to fit, since they come from fields: those may be of a model without
  /// a name.
  void put(const Setting& setting, Value value);
  void erase(std::string_view name);

  bool empty() const { return values_.empty(); }
  bool shares_name(const Configuration& other) const;

  bool operator==(const Configuration&) const = default;

 private:
  std::map<std::string, Value, std::less<>> values_;
};

/// The defaults that depend on nothing; the others are unset.
Configuration defaults();

/// What `over` gives, and `base` where it gives nothing.
Configuration merge(const Configuration& base, const Configuration& over);

/// `given` with what is unset filled in: defaults(), and those that depend on other settings and on `device`.
/// Without a device those that depend on it stay unset.
Configuration resolve(const Configuration& given, const core::DeviceInfo* device = nullptr);

/// `base` with what is given. Throws core::BadInput for names that are not valid.
void apply(const Configuration& given, TrainingSettings& base);
/// Fills in what is unset and depends on the device.
void complete(TrainingSettings& fields, const core::DeviceInfo& device);
/// All fields that are set.
Configuration configuration_of(const TrainingSettings& fields);

/// The values in `of` of the settings in which it differs from `from`.
Configuration difference(const TrainingSettings& from, const TrainingSettings& of);
/// The values in `fields` of the settings that `names` has.
Configuration values_of(const TrainingSettings& fields, const Configuration& names);

/// `now` with `change`, all of it, while a training runs. Throws core::BadInput that names the first setting that
/// cannot change then (Setting::changes) or has no valid value, and as check() does.
TrainingSettings changed(const TrainingSettings& now, const Configuration& change);

/// "optimizer: adam -> lion; beta 2: 0.999 -> 0.99; batch: 8 -> 4"; of the optimizer's numbers only those that matter
/// to the rule of `after`, if that is another one. "" if nothing has changed.
std::string describe_change(const Configuration& before, const Configuration& after);

/// Reads TOML in which every setting may be left out; `name` stands for the file in messages. Throws core::BadInput
/// with one sentence that begins with FILE:LINE:COLUMN for the first mistake: bad syntax, an unknown key (with the
/// nearest valid one), a value of another type or out of range, an unknown name.
Configuration parse_toml(std::string_view text, std::string_view name);

/// The settings in the order of the table, each with a comment; unset ones as comments with the value that
/// applies on `device`. parse_toml() gives an equal configuration: a text that is not UTF-8 has a key of its own
/// (files::kBytesOf).
std::string to_toml(const Configuration& configuration, const core::DeviceInfo& device);
/// Replaces `file` by to_toml(), whole or not at all. Throws core::Error if writing fails.
void write_toml(const Configuration& configuration, const core::DeviceInfo& device,
                const std::filesystem::path& file);

/// The settings that are given, flat, by their names in run.json: "model", "batch", "learning_rate", ... A text that is
/// not UTF-8 has an entry of its own beside it (files::kBytesOf).
nlohmann::json to_json(const Configuration& configuration);

/// Reads to_json()'s object; the object "chosen" (operation to variant), where there is one, becomes `select`. Other
/// keys are skipped: they tell of the run and set nothing. Throws core::BadInput that begins with `where` and names
/// the key.
Configuration from_json(const nlohmann::json& object, std::string_view where);

/// The configuration in a run.json. Throws core::BadInput that names the file, with line and column if it is
/// no JSON.
Configuration read_run(const std::filesystem::path& file);

struct ConfigurationFile {
  Configuration configuration;
  bool of_run = false;  ///< read from a run.json: `select` says what ran there, on that device
};

/// `--config`: a TOML file, or a run.json, which is told by its first character. What a run.json says of its
/// folder and of the file its weights went to is left out, since neither is to be overwritten.
ConfigurationFile read_configuration(const std::filesystem::path& file);

}  // namespace warpscope::training
