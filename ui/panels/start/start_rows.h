#pragma once
// What the start page offers and what is chosen there, as rows, settings and a command line. No drawing here.

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gpu/core/device.h"
#include "gpu/data/inventory.h"
#include "gpu/messages/snapshot.h"
#include "gpu/models/model.h"
#include "gpu/runs/recents.h"
#include "gpu/settings/configuration.h"

namespace warpscope::ui {

/// When a training ends by itself.
enum class Goal : std::uint8_t { none, epochs, time, accuracy };

/// Names of settings (gpu/settings/setting.h) with the texts that options take; of a flag "true" or "false".
using SettingTexts = std::vector<std::pair<std::string, std::string>>;

/// What is chosen; "" everywhere: the default.
struct StartChoices {
  std::string data = {};     ///< as --data takes it
  std::string network = {};  ///< a name or FILE.toml
  std::string init = {};     ///< file or run with the first weights
  Goal goal = Goal::none;
  std::string goal_text = {};  ///< as somebody has typed it; of an accuracy a share or percent
  std::string device = {};
  std::string precision = {};
  SettingTexts more = {};  ///< other settings

  bool operator==(const StartChoices&) const = default;
};

/// All that is chosen.
SettingTexts setting_texts(const StartChoices& choices);
/// Throws core::BadInput in one sentence, for a goal that is no number, for a file that is no network.
training::Configuration configuration_of(const StartChoices& choices);
/// "warpscope --model mlp --epochs 10"
std::string command_line_of(const StartChoices& choices);
/// Why there is no goal in `goal_text`, or why its network cannot have it; "" if all is well.
std::string goal_refusal(const StartChoices& choices, const models::Model& network);

/// Whether network_of() reads a file: one with a network, or weights that tell theirs.
bool tells_network_in_file(const StartChoices& choices);
/// The network that is chosen, or that of the weights where none is. Throws core::BadInput.
models::Model network_of(const StartChoices& choices);
/// The networks that come along, read once.
std::span<const models::Model> known_networks();

struct StartRow {
  std::string value;  ///< for StartChoices
  std::string label;
  std::string note = {};
  std::string why_not = {};  ///< why it cannot be chosen; "" if it can
};
/// Automatic, built-in, `found` sets by name, then folders, each once. `chosen` is among them.
std::vector<StartRow> data_rows(std::span<const std::string> found, std::span<const std::string> folders,
                                const std::string& chosen);
/// All networks that come along, and the chosen one; with weights theirs. What does not suit the data says why; nothing
/// is held against them as long as there is no inventory. `chosen`: what network_of() says; nullptr while it is read.
std::vector<StartRow> network_rows(const data::Inventory* inventory, const StartChoices& choices,
                                   const models::Model* chosen);
/// New weights, those of `present`, which is the run of the window's training ("": it has none), and the chosen ones.
std::vector<StartRow> weight_rows(const std::string& present, const std::string& chosen);
/// Data, network and device of the window's training; a network that does not come along is left out.
StartChoices choices_of(const training::Snapshot& snapshot);
/// A setting that only a new training takes, in its place.
void add_choice(StartChoices& choices, const std::string& name, const std::string& text);
std::vector<StartRow> device_rows(std::span<const core::DeviceInfo> devices);
/// On the device of that name (core::DeviceInfo::id(); "" for the first one).
std::vector<StartRow> precision_rows(std::span<const core::DeviceInfo> devices, const std::string& device);

/// "classes: airplane, automobile, ...", at most about `letters` long. Their number is told with the images.
std::string class_text(std::span<const std::string> classes, std::size_t letters);

/// What a recent training was, and how it ended: "mlp, built-in digits, 4.00 epochs" and "14:03, finished, test loss
/// 0.05, test accuracy 91.24 %".
struct CardText {
  std::string title;
  std::string result;
};
/// `here`: it is the training of this window, whose state the toolbar tells.
CardText card_text(const runs::RecentTraining& training, std::time_t now, bool here = false);

/// " --gpus 0,2", " --ranks 4": the ranks of the window's training, where those of the new one are as many; else "".
std::string rank_options(const training::Snapshot& snapshot, const StartChoices& choices);
/// How many ranks the new one has, as sentences that others follow; "" where the present one has no others.
std::string ranks_text(const training::Snapshot& snapshot, const StartChoices& choices);

/// What becomes of the window's training when another one starts.
std::string leaving_text(const training::Snapshot& snapshot);

/// "12 of 170 MB", "12 MB" while nobody knows how much there is.
std::string fetched_text(std::int64_t done, std::int64_t total);

/// What somebody drops on the window or types as a path.
enum class PathKind : std::uint8_t { nothing, run, weights, network, data, pictures };
/// Looks at the disk. A folder that holds no data set holds pictures.
PathKind kind_of(const std::filesystem::path& path);
/// Why that is PathKind::nothing, in a sentence.
std::string tell_nothing(const std::filesystem::path& path);
/// What somebody typed; "~" is the home folder, as in a shell.
std::filesystem::path typed_path(const std::string& typed);

}  // namespace warpscope::ui
