#pragma once
// The table of settings: one row says all there is to know of a setting. The command line, TOML files,
// run.json, the fields of the window, `warpscope config` and docs/options.md are made from the rows; code
// elsewhere names a setting only where it uses the field that the row fills. A new setting is a field
// (training_settings.h) and its row (one of *_rows.cpp).

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/settings/training_settings.h"

namespace warpscope::core {
struct DeviceInfo;
}

namespace warpscope::training {

class Configuration;

/// A value as files and the command line hold it.
using Value = std::variant<bool, std::int64_t, double, std::string>;

enum class Kind : std::uint8_t { boolean, integer, real, text };

/// When a setting may become another one.
enum class Changes : std::uint8_t {
  while_training,  ///< by training::Change, from the next step on
  by_select,       ///< while training as well, by training::Select
  at_start,        ///< when a training starts, or a run goes on
  never_in_run,    ///< when a training starts; a run that goes on keeps it
};

/// What a number may be: from `least` to `most`, without the ends that are open. Always finite.
struct Range {
  double least = 0;
  double most = std::numeric_limits<float>::max();
  bool above_least = false;  ///< `least` itself is not valid
  bool below_most = false;   ///< `most` itself is not valid
};

/// The slider beside a number in the window. What lies beyond its ends can be typed.
struct Slider {
  double low = 0;
  double high = 1;
  bool logarithmic = false;
  bool zero = false;  ///< of a logarithmic one: its left end stands for 0
};

/// How a row reaches the field that it fills.
struct Field {
  Kind kind = Kind::text;
  bool single = false;  ///< the field is a float: more digits than it holds are dropped
  /// Nothing where the field is unset.
  std::optional<Value> (*get)(const TrainingSettings&) = nullptr;
  /// The value is one that check_value() has passed.
  void (*set)(TrainingSettings&, const Value&) = nullptr;
  float OptimizerSettings::*number = nullptr;  ///< of the optimizer's numbers
};

struct Setting {
  const char* table = nullptr;    ///< in TOML: "optimizer"; see of_table()
  const char* key = nullptr;      ///< in TOML: "learning_rate"
  const char* name = nullptr;     ///< in run.json, unique; nullptr: the key
  const char* option = nullptr;   ///< on the command line, without the dashes; nullptr: the name with - for _
  const char* label = nullptr;    ///< in the window; nullptr: the key, of a text the name, with spaces for _
  const char* meaning = nullptr;  ///< one sentence or part of one, what it does
  const char* unit = "";          ///< "images"
  Range range = {};               ///< of numbers
  Field field = {};
  std::vector<std::string> (*names)() = nullptr;  ///< texts: all that are valid, where they can be listed
  void (*check)(const std::string&) = nullptr;    ///< texts: throws core::BadInput
  /// Texts: what is kept of one that was given, which may be a file (FILE.toml) beside `names`; throws core::BadInput.
  std::string (*settle)(const std::string&) = nullptr;
  const char* example = "";          ///< texts: a valid one that is not the default
  const char* placeholder = "TEXT";  ///< texts: what stands in the help, "FILE"
  Changes changes = Changes::while_training;
  const char* zero = "";  ///< numbers: what 0 means, "off"; "" if it is a number like others
  std::optional<Slider> slider = std::nullopt;
  /// For a setting whose default depends on rows above it or on the device; nothing while that is not known.
  std::optional<Value> (*standard)(const Setting&, const Configuration& known,
                                   const core::DeviceInfo* device) = nullptr;
  const char* standard_text = "";  ///< the same in words
  bool shapes_weights = true;      ///< false: it only says when to stop, test or save
};

/// All rows, those of a table one after the other, in the order of files and help.
std::span<const Setting> settings();

/// The row of that name. Throws std::logic_error if there is none.
const Setting& setting(std::string_view name);
/// The same, or nullptr.
const Setting* find_setting(std::string_view name);

/// Makes `value` one that the setting can have (a whole number becomes a real one, a file what it holds), or
/// returns the rest of a sentence that begins with the setting's name: " takes a whole number, not 4.5".
std::string check_value(const Setting& setting, Value& value);

/// What stands on a command line: a number if the setting is one and all of `text` reads as one, else the
/// text.
Value parse_value(const Setting& setting, const std::string& text);

/// "true", "64", "0.1", "adam".
std::string to_string(const Value& value);

/// The shortest digits that read back as the same number, with a point or an exponent: "0.1", "1.0", "1e-08".
std::string decimal(double value);

/// The same for people: "on", "0.1", "off" where 0 means that; of a network that stands in a file only its name.
std::string shown(const Setting& setting, const Value& value);

/// "learning-rate" or what the row says, without the dashes.
std::string option_of(const Setting& setting);
/// "learning rate" or what the row says.
std::string label_of(const Setting& setting);
/// "images, from 1 to 65536", "from 0 to below 1 (0: off)", "batch or per_sample".
std::string values_of(const Setting& setting);
/// The default in words: "0.9", "the optimizer's own", "none".
std::string standard_of(const Setting& setting);
/// The meaning, with unit and valid names, for help and comments in files.
std::string describe(const Setting& setting);

/// The precision that is fastest and as good: bf16 where CUDA has tensor cores for it (compute capability
/// 8.0), else fp32.
core::Precision standard_precision(const core::DeviceInfo& device);

/// FP16 gradients are clipped to a norm of 1, others are not.
float standard_clip_norm(core::Precision precision);

/// The table of options as docs/options.md holds it, for `warpscope config --markdown`.
std::string options_markdown();

}  // namespace warpscope::training
