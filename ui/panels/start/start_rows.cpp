#include "ui/panels/start/start_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/core/types.h"
#include "gpu/data/picture.h"
#include "gpu/files/text.h"
#include "gpu/files/utf8.h"
#include "gpu/models/model_file.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/trained_network.h"
#include "gpu/settings/setting.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/runs/run_rows.h"
#include "ui/settings/command_lines.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

/// "90" and "90 %" are a share of 0.9, "1 %" of 0.01 and "1" of 1.
std::string typed_share(std::string text) {
  const bool percent = text.find('%') != std::string::npos;
  while (!text.empty() && (text.back() == '%' || text.back() == ' ')) text.pop_back();
  const auto number = files::number_in<double>(text);
  return number && (percent || *number > 1) ? fmt::format("{:g}", *number / 100) : text;
}

bool is_flag(const training::Setting& row) {
  return row.field.kind == training::Kind::boolean;
}

std::string takes_text(const models::Model& model) {
  const std::string what = model.reads_text()
                               ? "texts"
                               : "images of " + data::describe({model.height, model.width, model.channels});
  return fmt::format("{} {}", model.classes > 0 ? "classifies" : "reconstructs", what);
}

/// What is started on the automatic device has the ranks of the present training, if it is this program that starts
/// them.
bool ranks_go_on(const training::Snapshot& snapshot, const StartChoices& choices) {
  return snapshot.ranks.size() > 1 && snapshot.most_ranks > 1 && choices.device.empty();
}

std::string standard_network() {
  return training::standard_settings()->model.name;
}

/// A run that has no checkpoint yet tells its network in run.json: it writes one when it is left.
models::Model network_of_weights(const std::string& init) {
  try {
    return runs::network_held_in(init).value_or(training::standard_settings()->model);
  } catch (const core::BadInput&) {
    if (!runs::is_run(init)) throw;
    return models::model_of(training::read_run(fs::path(init) / "run.json").text("model"));
  }
}

}  // namespace

SettingTexts setting_texts(const StartChoices& choices) {
  SettingTexts texts;
  const auto add = [&](const char* name, const std::string& text) {
    if (!text.empty()) texts.emplace_back(name, text);
  };
  add("model", choices.network);
  add("init", choices.init);
  add("data_source", choices.data);
  if (choices.goal == Goal::epochs) add("epochs", choices.goal_text);
  if (choices.goal == Goal::time) add("time", choices.goal_text);
  if (choices.goal == Goal::accuracy) add("target_accuracy", typed_share(choices.goal_text));
  add("device", choices.device);
  add("precision", choices.precision);
  for (const auto& [name, text] : choices.more) add(name.c_str(), text);
  return texts;
}

training::Configuration configuration_of(const StartChoices& choices) {
  training::Configuration configuration;
  for (const auto& [name, text] : setting_texts(choices)) {
    const training::Setting& row = training::setting(name);
    training::Value value = is_flag(row) ? training::Value(text == "true") : training::parse_value(row, text);
    const std::string objection = training::check_value(row, value);
    if (!objection.empty()) throw core::BadInput(training::label_of(row) + objection);
    configuration.put(row, std::move(value));
  }
  return configuration;
}

std::string command_line_of(const StartChoices& choices) {
  std::string line = "warpscope";
  for (const auto& [name, text] : setting_texts(choices)) {
    const training::Setting& row = training::setting(name);
    const std::string option = training::option_of(row);
    line += is_flag(row) ? fmt::format(" --{}{}", text == "true" ? "" : "no-", option)
                         : fmt::format(" --{} {}", option, shell_word(text));
  }
  return line;
}

std::string goal_refusal(const StartChoices& choices, const models::Model& network) {
  if (choices.goal == Goal::none) return "";
  if (choices.goal == Goal::accuracy && network.classes == 0)
    return fmt::format("{} does not classify, so that it has no accuracy", network.name);
  if (choices.goal_text.empty()) return "type when it ends";
  StartChoices only;
  only.goal = choices.goal;
  only.goal_text = choices.goal_text;
  try {
    configuration_of(only);
  } catch (const core::BadInput& error) {
    return error.what();
  }
  return "";
}

bool tells_network_in_file(const StartChoices& choices) {
  if (choices.network.empty()) return !choices.init.empty();
  return choices.network.find('\n') == std::string::npos && choices.network.ends_with(".toml");
}

models::Model network_of(const StartChoices& choices) {
  if (choices.network.empty() && !choices.init.empty()) return network_of_weights(choices.init);
  return models::model_of(choices.network.empty() ? standard_network() : choices.network);
}

std::span<const models::Model> known_networks() {
  static const std::vector<models::Model> networks = [] {
    std::vector<models::Model> made;
    for (const std::string& name : models::model_names()) made.push_back(models::find_model(name));
    return made;
  }();
  return networks;
}

std::vector<StartRow> data_rows(std::span<const std::string> found, std::span<const std::string> folders,
                                const std::string& chosen) {
  std::vector<StartRow> rows{{"", "automatic", "the first set at hand that suits the network"},
                             {"builtin", "built-in", "drawn by the program"}};
  for (const std::string& name : found) {
    const data::SetRow* const set = data::find_set(name);
    rows.push_back({name, set == nullptr ? name : std::string(set->title), "on this machine"});
  }
  const auto add = [&](const std::string& option) {
    const auto is = [&](const StartRow& row) { return row.value == option; };
    if (std::any_of(rows.begin(), rows.end(), is)) return;
    const data::SetRow* const set = data::find_set(option);
    rows.push_back({option, set == nullptr ? files::escaped(option) : std::string(set->title)});
  };
  for (const std::string& folder : folders) add(folder);
  add(chosen);
  return rows;
}

std::vector<StartRow> network_rows(const data::Inventory* inventory, const StartChoices& choices,
                                   const models::Model* chosen) {
  std::vector<StartRow> rows;
  const bool weights = !choices.init.empty();
  if (weights) {
    const bool theirs = choices.network.empty();
    rows.push_back({"",
                    theirs && chosen == nullptr ? "that of the weights: reading ..." : "that of the weights",
                    theirs && chosen != nullptr ? files::escaped(chosen->name) : ""});
  }
  for (const models::Model& model : known_networks()) {
    const std::string why_not =
        inventory == nullptr ? "" : data::why_not(*inventory, data::requirements_of(model));
    const bool standard = !weights && model.name == standard_network();
    rows.push_back({standard ? "" : model.name, model.name, takes_text(model), why_not});
  }
  const auto is = [&](const StartRow& row) {
    return row.value == choices.network || row.label == choices.network;
  };
  if (std::any_of(rows.begin(), rows.end(), is)) return rows;
  const std::string file = files::escaped(fs::path(choices.network).filename().string());
  rows.push_back({choices.network, chosen == nullptr ? file + ": reading ..." : files::escaped(chosen->name),
                  "your file"});
  return rows;
}

std::vector<StartRow> weight_rows(const std::string& present, const std::string& chosen) {
  std::vector<StartRow> rows{{"", "new, from the seed", "start anew"}};
  if (!present.empty()) rows.push_back({present, "of the present training", "as they are now"});
  if (!chosen.empty() && chosen != present) rows.push_back({chosen, files::escaped(chosen)});
  return rows;
}

StartChoices choices_of(const training::Snapshot& snapshot) {
  StartChoices choices;
  choices.data = snapshot.settings->data;
  if (snapshot.settings->device != "auto") choices.device = snapshot.settings->device;
  const auto networks = known_networks();
  const bool known =
      snapshot.network && std::find(networks.begin(), networks.end(), *snapshot.network) != networks.end();
  if (known && snapshot.network->name != standard_network()) choices.network = snapshot.network->name;
  return choices;
}

void add_choice(StartChoices& choices, const std::string& name, const std::string& text) {
  struct ChoiceField {
    std::string_view name;
    std::string StartChoices::*field;
  };
  constexpr std::array kPlaces{
      ChoiceField{"model", &StartChoices::network}, ChoiceField{"init", &StartChoices::init},
      ChoiceField{"data_source", &StartChoices::data}, ChoiceField{"device", &StartChoices::device},
      ChoiceField{"precision", &StartChoices::precision}};
  for (const ChoiceField& place : kPlaces) {
    if (place.name != name) continue;
    choices.*place.field = text;
    return;
  }
  std::erase_if(choices.more, [&](const auto& each) { return each.first == name; });
  choices.more.emplace_back(name, text);
}

std::vector<StartRow> device_rows(std::span<const core::DeviceInfo> devices) {
  std::vector<StartRow> rows{{"", "automatic", devices.empty() ? "" : devices.front().name}};
  for (const core::DeviceInfo& device : devices) rows.push_back({device.id(), device.id(), device.name});
  return rows;
}

std::vector<StartRow> precision_rows(std::span<const core::DeviceInfo> devices, const std::string& device) {
  const auto found = std::find_if(devices.begin(), devices.end(), [&](const core::DeviceInfo& each) {
    return device.empty() || device == "auto" || each.id() == device;
  });
  const bool known = found != devices.end();
  std::vector<StartRow> rows{
      {"", "automatic", known ? std::string(core::to_string(training::standard_precision(*found))) : ""}};
  for (const core::Precision precision : core::selectable_precisions()) {
    const std::string name(core::to_string(precision));
    rows.push_back({name, name, "", known ? precision_refusal(plan::Machine(*found), precision) : ""});
  }
  return rows;
}

std::string class_text(std::span<const std::string> classes, std::size_t letters) {
  std::string text = "classes: ";
  for (std::size_t i = 0; i < classes.size(); ++i) {
    const std::string name = files::sayable(classes[i]);
    if (i > 0 && text.size() + name.size() > letters) return text + ", ...";
    text += (i == 0 ? "" : ", ") + name;
  }
  return text;
}

CardText card_text(const runs::RecentTraining& training, std::time_t now, bool here) {
  const runs::RunSummary& run = training.run;
  CardText card;
  card.title = run.model.empty() ? files::sayable(run.name) : run.model;
  if (!run.data.empty()) card.title += ", " + files::sayable(run.data);
  if (std::isfinite(run.epochs)) card.title += fmt::format(", {:.2f} epochs", run.epochs);
  card.result = fmt::format("{}, {}", started_text(run.started, now), here ? "in this window" : training.end);
  const char* const half = std::isfinite(run.test_loss) ? "test" : "validation";
  const double loss = std::isfinite(run.test_loss) ? run.test_loss : run.validation_loss;
  if (std::isfinite(loss)) card.result += fmt::format(", {} loss {}", half, compact_number(loss));
  const double accuracy = std::isfinite(run.test_loss) ? run.accuracy : run.validation_accuracy;
  if (std::isfinite(accuracy)) card.result += fmt::format(", {} accuracy {:.2f} %", half, 100 * accuracy);
  return card;
}

std::string rank_options(const training::Snapshot& snapshot, const StartChoices& choices) {
  if (!ranks_go_on(snapshot, choices)) return "";
  constexpr std::string_view kGpu = "cuda:";
  std::set<std::string> gpus;
  std::string list;
  for (const training::RankFigures& rank : snapshot.ranks) {
    const bool other = rank.device.starts_with(kGpu) && gpus.insert(rank.device).second;
    if (!other) return fmt::format(" --ranks {}", snapshot.ranks.size());
    if (!list.empty()) list += ',';
    list += rank.device.substr(kGpu.size());
  }
  return fmt::format(" --gpus {}", list);
}

std::string ranks_text(const training::Snapshot& snapshot, const StartChoices& choices) {
  if (snapshot.ranks.size() < 2) return "";
  if (ranks_go_on(snapshot, choices))
    return fmt::format("The new training has {} ranks. ", snapshot.ranks.size());
  return snapshot.most_ranks > 1
             ? "The new training has one rank, on the chosen device; the panel Ranks adds others. "
             : "The new training has one rank, since this program did not start the present ones. ";
}

std::string leaving_text(const training::Snapshot& snapshot) {
  if (snapshot.step == 0) return "The window opens anew.";
  return fmt::format("The window opens anew. The present training {}.",
                     snapshot.run_dir.empty()
                         ? "is kept, and the new window offers to go on with it"
                         : "stays in the list of runs, from where you can go on with it");
}

std::string fetched_text(std::int64_t done, std::int64_t total) {
  constexpr double kMega = 1e6;
  const double megabytes = static_cast<double>(done) / kMega;
  return total > 0 ? fmt::format("{:.0f} of {:.0f} MB", megabytes, static_cast<double>(total) / kMega)
                   : fmt::format("{:.0f} MB", megabytes);
}

fs::path typed_path(const std::string& typed) {
  const char* const home = std::getenv("HOME");
  const bool at_home = typed == "~" || typed.starts_with("~/");
  return home == nullptr || !at_home ? fs::path(typed) : fs::path(fmt::format("{}{}", home, typed.substr(1)));
}

std::string tell_nothing(const fs::path& path) {
  std::error_code failure;
  const fs::file_status status = fs::status(path, failure);
  if (status.type() == fs::file_type::not_found) return fmt::format("there is no {}", path.string());
  if (failure) return fmt::format("cannot read {}: {}", path.string(), failure.message());
  return fmt::format("{} is neither a file nor a folder", path.string());
}

PathKind kind_of(const fs::path& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    if (runs::is_run(path)) return PathKind::run;
    return data::holds_set(path) ? PathKind::data : PathKind::pictures;
  }
  if (!fs::is_regular_file(path, error)) return PathKind::nothing;
  if (path.extension() == ".toml") return PathKind::network;
  if (path.extension() == ".safetensors") return PathKind::weights;
  return PathKind::pictures;
}

}  // namespace warpscope::ui
