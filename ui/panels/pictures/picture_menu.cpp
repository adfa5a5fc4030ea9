#include "ui/panels/pictures/picture_menu.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <system_error>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/plan/presets.h"
#include "gpu/plan/selection.h"
#include "gpu/runs/checkpoint_store.h"
#include "gpu/runs/references.h"
#include "gpu/runs/run_reader.h"
#include "gpu/runs/user_runs.h"
#include "ui/input/cursor.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/pictures/image_timeline.h"
#include "ui/panels/runs/run_loader.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPopup = "images.rows.popup";

constexpr std::array<const char*, kPictureRows> kTitles{"original",   "newest",    "A/B",       "earlier",
                                                        "checkpoint", "other run", "difference"};
constexpr std::array<const char*, kPictureRows> kTips{
    "The images as they are.",
    "What the network makes of them now.",
    "The same weights of the same step by other variants or in another precision.",
    "A moment of this run of which pictures are kept.",
    "The weights of a checkpoint of this run.",
    "The newest or the best checkpoint of another run of the same model.",
    "The difference of two rows.",
};

template <class Value, std::size_t N>
void choose(const Frame& frame, const char* name, std::span<const char* const, N> labels, Value& value,
            float width, std::string_view tip) {
  const auto now = static_cast<std::size_t>(value);
  if (!begin_combo(frame, name, labels[now], width, tip)) return;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const std::string item = fmt::format("{}={}", name, labels[i]);
    if (combo_item(frame, item.c_str(), labels[i], i == now)) value = static_cast<Value>(i);
  }
  end_combo();
}

void next_in_row(const Frame& frame, float width) {
  const float right = ImGui::GetItemRectMax().x + 8 * frame.scale + width;
  if (right <= ImGui::GetWindowPos().x + ImGui::GetWindowContentRegionMax().x)
    ImGui::SameLine(0, 8 * frame.scale);
}

void draw_class_choice(const Frame& frame, PictureSettings& settings) {
  const auto& data = frame.snapshot.data;
  if (!data || data->test.labels.empty() || data->classes.size() < 2) return;
  const float width = std::floor(112 * frame.scale);
  const auto wanted = static_cast<std::size_t>(settings.wanted_class);
  if (settings.wanted_class != kAllClasses && wanted >= data->classes.size())
    settings.wanted_class = kAllClasses;
  const std::string preview =
      settings.wanted_class == kAllClasses ? "all classes" : class_name(data.get(), wanted);
  next_in_row(frame, width);
  if (!begin_combo(frame, "images.class", preview, width, "Only the images of one class.")) return;
  if (combo_item(frame, "images.class=all", "all classes", settings.wanted_class == kAllClasses)) {
    settings.wanted_class = kAllClasses;
  }
  for (std::size_t i = 0; i < data->classes.size(); ++i) {
    const std::string item = fmt::format("images.class={}", i);
    const bool chosen = settings.wanted_class == static_cast<int>(i);
    if (!combo_item(frame, item.c_str(), class_name(data.get(), i).c_str(), chosen)) continue;
    settings.wanted_class = static_cast<int>(i);
    point_at_class(frame, static_cast<int>(i));
  }
  end_combo();
}

void draw_own(const Frame& frame, OwnPictures& own) {
  if (!own.images()) return;
  const std::string label = fmt::format("yours: {}", own.images()->set.count);
  next_in_row(frame, text_button_width(frame, label));
  const training::ImageShape shape{0, own.images()->set.height, own.images()->set.width,
                                   own.images()->set.channels};
  bool shown = true;
  if (toggle(frame, "images.own", label.c_str(), &shown,
             fmt::format("Your own images, cut to the middle and resized to {} x {} pixels by the mean over "
                         "the area that each pixel covers. Click to go back to the held-out images.",
                         shape.width, shape.height))) {
    own.close();
  }
}

constexpr std::size_t kMostRuns = 50;
constexpr const char* kBest = "best.safetensors";

std::string model_of(const fs::path& run) {
  const nlohmann::json head = runs::read_head(run);
  const nlohmann::json::json_pointer place("/configuration/model");
  if (!head.contains(place) || !head.at(place).is_string()) return "";
  return head.at(place).get<std::string>();
}

std::optional<WeightsFile> best_of(const fs::path& run, const std::string& name) {
  const fs::path best = training::checkpoint_folder(run) / kBest;
  std::error_code failure;
  if (!fs::exists(best, failure)) return std::nullopt;
  return WeightsFile{best.string(), name};
}

void add_run(const fs::path& run, const std::string& model, WeightsChoices& choices) {
  const auto files = training::list_checkpoints(run);
  const std::string name = runs::run_name(run);
  const auto best = best_of(run, name + ", best");
  if (files.empty() && !best) return;
  try {
    if (const std::string other = model_of(run); other != model && !other.empty()) {
      choices.refused.push_back(name + " trained " + other);
      return;
    }
  } catch (const core::BadInput& error) {
    choices.refused.emplace_back(error.what());
    return;
  }
  if (!files.empty()) {
    choices.runs.push_back(
        {files.front().path.string(), name + ", step " + with_thousands(files.front().step)});
  }
  if (best) choices.runs.push_back(*best);
}

void draw_other(const Frame& frame, PictureChoices& choices) {
  const core::DeviceInfo& device = frame.snapshot.device;
  const core::Precision training = frame.snapshot.selection.precision;
  const float width = std::floor(136 * frame.scale);
  const auto changed = [&] {
    if (!choices.shows(PictureRow::other)) set_shown(choices, PictureRow::other, true);
  };
  const std::string precision =
      choices.precision ? std::string(core::to_string(*choices.precision)) : "same precision";
  if (begin_combo(frame, "images.other.precision", precision, width, "The precision of A/B")) {
    if (combo_item(frame, "images.other.precision=same", "same precision", !choices.precision)) {
      choices.precision.reset();
      changed();
    }
    for (const core::Precision one : core::selectable_precisions()) {
      const std::string label(core::to_string(one));
      std::string refusal = precision_refusal(device, one);
      if (refusal.empty() && !choices.preset.empty())
        refusal = plan::preset_unavailable_reason(choices.preset, device, one);
      if (combo_item(frame, ("images.other.precision=" + label).c_str(), label.c_str(),
                     choices.precision == one, {}, refusal)) {
        choices.precision = one;
        changed();
      }
    }
    end_combo();
  }
  ImGui::SameLine(0, 8 * frame.scale);
  const auto presets = plan::presets(device.kind);
  const auto now =
      std::find_if(presets.begin(), presets.end(), [&](const auto& one) { return choices.preset == one.id; });
  if (!begin_combo(frame, "images.other.preset", now == presets.end() ? "same variants" : now->label, width,
                   "The variants of A/B")) {
    return;
  }
  if (combo_item(frame, "images.other.preset=same", "same variants", now == presets.end())) {
    choices.preset.clear();
    changed();
  }
  for (const plan::Preset& preset : presets) {
    const std::string item = fmt::format("images.other.preset={}", preset.id);
    const std::string refusal =
        plan::preset_unavailable_reason(preset.id, device, choices.precision.value_or(training));
    if (combo_item(frame, item.c_str(), preset.label, choices.preset == preset.id, {}, refusal)) {
      choices.preset = preset.id;
      changed();
    }
  }
  end_combo();
}

void draw_earlier(const Frame& frame, PictureScene& scene) {
  const auto steps = frame.history ? frame.history->steps() : std::vector<std::uint64_t>{};
  if (steps.size() < 2) return row_text(frame, frame.fonts.text, frame.palette.muted, "nothing is kept yet");
  PictureChoices& choices = scene.settings.choices;
  const std::size_t index = kept_index(steps, choices.earlier.value_or(0));
  auto place = static_cast<float>(index);
  const std::string text = "step " + with_thousands(steps[index]);
  if (slider(frame, "images.earlier.step", &place, 0, static_cast<float>(steps.size() - 1), text.c_str(),
             std::floor(280 * frame.scale), "The step whose pictures are shown", false,
             "step " + with_thousands(steps.back()))) {
    choices.earlier = steps[std::min(steps.size() - 1, static_cast<std::size_t>(std::lround(place)))];
    if (!choices.shows(PictureRow::earlier)) set_shown(choices, PictureRow::earlier, true);
  }
}

void draw_difference(const Frame& frame, PictureScene& scene) {
  PictureChoices& choices = scene.settings.choices;
  const auto refusal = [&](PictureRow row) {
    const bool missing = (row == PictureRow::checkpoint && choices.checkpoint.path.empty()) ||
                         (row == PictureRow::run && choices.run.path.empty());
    return missing ? "None is chosen above." : "";
  };
  const auto choice = [&](const char* name, PictureRow& value, const char* tip) {
    if (!begin_combo(frame, name, scene.name(value), std::floor(128 * frame.scale), tip)) return;
    for (std::size_t i = 0; i < index_of(PictureRow::difference); ++i) {
      const auto row = static_cast<PictureRow>(i);
      const std::string item = fmt::format("{}={}", name, row_key(row));
      if (combo_item(frame, item.c_str(), scene.name(row).c_str(), row == value, {}, refusal(row)))
        value = row;
    }
    end_combo();
  };
  choice("images.minuend", choices.minuend, "What the other is taken from");
  ImGui::SameLine(0, 8 * frame.scale);
  row_text(frame, frame.fonts.text, frame.palette.muted, "\u2212");
  ImGui::SameLine(0, 8 * frame.scale);
  choice("images.subtrahend", choices.subtrahend, "What is taken away");
}

/// For a row of weights in a file where there is none.
const char* why_no_file(const training::Snapshot& snapshot, PictureRow row) {
  if (row == PictureRow::run) return "no other run here has checkpoints";
  return snapshot.run_dir.empty() ? "no run is written, so no checkpoints" : "this run has no checkpoint yet";
}

}  // namespace

WeightsChoices find_weights(const fs::path& run_dir, const std::string& model) {
  WeightsChoices choices;
  if (!run_dir.empty()) {
    if (const auto best = best_of(run_dir, "best checkpoint")) choices.checkpoints.push_back(*best);
    for (const training::CheckpointFile& file : training::list_checkpoints(run_dir)) {
      choices.checkpoints.push_back({file.path.string(), "step " + with_thousands(file.step)});
    }
  }
  std::vector<fs::path> folders;
  std::error_code failure;
  std::vector<fs::path> parents{folder_of_runs(run_dir.string())};
  if (runs::is_user_run(run_dir)) parents.push_back(folder_of_user_runs());
  for (const fs::path& parent : parents) {
    for (const fs::directory_entry& entry : files::entries_of(parent, failure)) {
      std::error_code other;
      if (!run_dir.empty() && fs::equivalent(entry.path(), run_dir, other)) continue;
      folders.push_back(entry.path());
    }
  }
  std::sort(folders.begin(), folders.end(), std::greater<>());
  if (folders.size() > kMostRuns) folders.resize(kMostRuns);
  for (const fs::path& folder : folders) add_run(folder, model, choices);
  return choices;
}

void WeightsList::look(const std::string& run_dir, const std::string& model) {
  if (job_.valid()) return;
  job_ = std::async(std::launch::async, [run_dir, model] { return find_weights(run_dir, model); });
}

bool WeightsList::advance() {
  if (!job_.valid() || job_.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return false;
  choices_ = job_.get();
  return true;
}

void PictureMenu::draw(const Frame& frame, PictureScene& scene, OwnPictures& own) {
  const float s = frame.scale;
  PictureSettings& settings = scene.settings;
  if (text_button(frame, "images.rows", "rows",
                  "Which versions of each image stand below each other: other variants or precisions, "
                  "earlier steps, checkpoints, other runs")) {
    weights_.look(run_folder_here(frame.snapshot), frame.snapshot.model);
    ImGui::OpenPopup(kPopup);
  }
  draw_rows_menu(frame, scene);
  next_in_row(frame, 76 * s);
  choose<PictureMetric>(frame, "images.metric", std::span(kPictureMetrics), settings.metric,
                        std::floor(76 * s), tip_of(settings.metric));
  next_in_row(frame, 120 * s);
  choose<PictureOrder>(frame, "images.order", std::span(kPictureOrders), settings.order, std::floor(120 * s),
                       "The order of the images: as they are stored, by the figure of now, or by how much "
                       "the two rows of the difference differ. While the training runs it is renewed once a "
                       "second, with the figures below the images, and not while the pointer is on them.");
  draw_class_choice(frame, settings);
  next_in_row(frame, text_button_width(frame, "curve"));
  toggle(frame, "images.show_curve", "curve", &settings.curve,
         "The figure over the steps of which pictures are kept: the chosen image, and the mean of all");
  draw_own(frame, own);
}

void PictureMenu::draw_rows_menu(const Frame& frame, PictureScene& scene) {
  const float s = frame.scale;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(12 * s, 8 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * s, 4 * s));
  const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
  ImGui::SetNextWindowPos(ImVec2(min.x, max.y + 2 * s));
  open_ = ImGui::BeginPopup(kPopup, ImGuiWindowFlags_NoMove);
  if (open_) {
    float left = 0;
    for (const char* const title : kTitles) left = std::max(left, text_button_width(frame, title));
    for (std::size_t i = 0; i < kPictureRows; ++i) {
      draw_row(frame, scene, static_cast<PictureRow>(i), left + 24 * s);
    }
    caption(frame, "Drop or paste pictures or a folder to see your own images.");
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

/// Why a row that is not shown can have no pictures, in one sentence; "" if it can.
std::string PictureMenu::why_no_row(const Frame& frame, const PictureChoices& choices, PictureRow row) const {
  const bool of_file = row == PictureRow::checkpoint || row == PictureRow::run;
  if (frame.request == nullptr && (of_file || row == PictureRow::other))
    return why_no_look(frame.snapshot, "This window shows a run and has no network to ask.");
  if (row == PictureRow::earlier && (!frame.history || frame.history->steps().size() < 2))
    return "No earlier pictures are kept yet.";
  const bool chosen = row == PictureRow::run ? !choices.run.path.empty() : !choices.checkpoint.path.empty();
  const bool any =
      row == PictureRow::run ? !weights_.choices().runs.empty() : !weights_.choices().checkpoints.empty();
  if (of_file && !chosen && !any) return sentence(why_no_file(frame.snapshot, row));
  return "";
}

void PictureMenu::draw_row(const Frame& frame, PictureScene& scene, PictureRow row, float left) {
  PictureChoices& choices = scene.settings.choices;
  bool shown = choices.shows(row);
  const std::string name = fmt::format("images.row.{}", row_key(row));
  const bool last = shown && scene.rows.size() == 1;
  const std::string why_not = shown ? std::string() : why_no_row(frame, choices, row);
  ImGui::BeginDisabled(!why_not.empty());
  if (toggle(frame, name.c_str(), kTitles[index_of(row)], &shown,
             why_not.empty() ? kTips[index_of(row)] : why_not) &&
      !last) {
    set_shown(choices, row, shown);
  }
  ImGui::EndDisabled();
  if (row == PictureRow::original || row == PictureRow::now) return;
  ImGui::SameLine(left);
  if (row == PictureRow::other) {
    draw_other(frame, choices);
  } else if (row == PictureRow::earlier) {
    draw_earlier(frame, scene);
  } else if (row == PictureRow::difference) {
    draw_difference(frame, scene);
  } else {
    draw_file(frame, choices, row);
  }
}

void PictureMenu::draw_file(const Frame& frame, PictureChoices& choices, PictureRow row) const {
  const bool of_run = row == PictureRow::run;
  WeightsFile& chosen = of_run ? choices.run : choices.checkpoint;
  const auto& files = of_run ? weights_.choices().runs : weights_.choices().checkpoints;
  const std::string name = fmt::format("images.{}.file", row_key(row));
  if (files.empty() && chosen.path.empty()) {
    return row_text(frame, frame.fonts.text, frame.palette.muted, why_no_file(frame.snapshot, row));
  }
  const std::string preview = chosen.path.empty() ? "choose" : chosen.name;
  if (!begin_combo(frame, name.c_str(), preview, std::floor(280 * frame.scale), kTips[index_of(row)])) return;
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!combo_item(frame, fmt::format("{}={}", name, i).c_str(), files[i].name.c_str(), files[i] == chosen))
      continue;
    chosen = files[i];
    set_shown(choices, row, true);
  }
  if (of_run) {
    for (const std::string& refused : weights_.choices().refused) {
      combo_item(frame, fmt::format("{}.{}", name, refused).c_str(), refused.c_str(), false, {},
                 "Its weights do not fit this network.");
    }
  }
  end_combo();
}

}  // namespace warpscope::ui
