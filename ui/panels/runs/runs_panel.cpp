#include "ui/panels/runs/runs_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "gpu/core/error.h"
#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "gpu/runs/run_reader.h"
#include "ui/frame/trace.h"
#include "ui/panels/curves/loss_lines.h"
#include "ui/settings/command_lines.h"
#include "ui/settings/steering.h"
#include "ui/text/numbers.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

enum : std::size_t {
  kSwatch,
  kName,
  kStarted,
  kModel,
  kOptimizer,
  kRate,
  kBatch,
  kPrecision,
  kEpochs,
  kTrain,
  kTest,
  kAccuracy,
  kSpeed,
  kTime,
  kStatus,
  kMenu,
  kRemove
};

// The table of settings, design pixels.
constexpr float kLeastKey = 120, kLeastValue = 96;
// The list: loss and accuracy of the test images stay beside the names.
constexpr float kLeastList = 448;

constexpr int kDroppedFirst = 99;

constexpr const char* kOptimizerTip = "As it is now. * was changed during the run.";
constexpr const char* kPrecisionTip =
    "Precision of the operands of the matrix products, as it is now. * was changed during the run.";

constexpr std::array<Column, 17> kColumns{{
    {.label = "", .tip = "Colour of the run's curves; click to choose another.", .width = 16, .fixed = true},
    {"run", "Folder of the run. Click to show its curves with the present ones, click again to hide them.",
     112},
    text_column("started", "Local time.", 80, 7),
    text_column("model", "The network that was trained.", 80, 11),
    text_column("optimizer", kOptimizerTip, 72, 5),
    number_column("rate", "Learning rate, as it is now. * was changed during the run.", 56, 6),
    number_column("batch", "Images a step, as it is now. * was changed during the run.", 48, 10),
    text_column("precision", kPrecisionTip, 56, 13),
    number_column("epochs", "", 56, 8),
    number_column("mean train loss", "", 96, 3),
    number_column("test loss", "", 72, 1),
    number_column("test accuracy", "", 80, 2),
    number_column("median images/s", "", 100, 4),
    number_column("time", "Hours, minutes and seconds.", 56, 12),
    text_column("status", "Whether the run ended, and how.", 72, 9),
    {.label = "", .tip = "What can be done with the run.", .width = 24, .fixed = true},
    {.label = "", .tip = "", .width = 24, .fixed = true},
}};

std::string number_text(double value) {
  return std::isfinite(value) ? compact_number(value) : "-";
}

ImU32 status_color(const Frame& frame, const std::string& status) {
  if (status == "failed") return frame.palette.error;
  if (status == "running") return frame.palette.good;
  return frame.palette.muted;
}

std::string rate_text(double rate) {
  return std::isfinite(rate) ? fmt::format("{:.4g}", rate) : "-";
}

std::string batch_text(double batch) {
  return std::isfinite(batch) ? fmt::format("{:.0f}", batch) : "-";
}

std::string changed_tip(const std::string& at_first) {
  return fmt::format("Changed during the run: at first {}.", at_first);
}

// A star behind the content of a cell. It may stand in the gap before the next column, so that digits stay
// aligned and it is seen where text is cut.
void draw_star(const Frame& frame, const Table& table, std::size_t column, float width) {
  if (!table.shows(column)) return;
  const float left = table.cell_min(column).x, right = table.cell_max(column).x;
  const float x = kColumns[column].right ? right : std::min(left + width, right);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.numbers, x, table.baseline(), frame.palette.accent, "*");
}

// Settings as they are now, starred where they were changed during the run.
void draw_settings_of(const Frame& frame, Table& table, const runs::RunSummary& run, ImU32 color) {
  const runs::RunSummary::AtFirst& first = run.at_first;
  const auto text = [&](std::size_t column, const std::string& now, const std::string& before) {
    if (before.empty()) return table.text(column, now.empty() ? "-" : now, color);
    table.text(column, now, color, changed_tip(before));
    draw_star(frame, table, column, text_width(frame.fonts.text, now));
  };
  const auto number = [&](std::size_t column, const std::string& now, double before, const std::string& was) {
    if (!std::isfinite(before)) return table.number(column, now, color);
    table.number(column, now, color, changed_tip(was));
    draw_star(frame, table, column, 0);
  };
  text(kOptimizer, run.optimizer, first.optimizer);
  number(kRate, rate_text(run.learning_rate), first.learning_rate, rate_text(first.learning_rate));
  number(kBatch, batch_text(run.batch), first.batch, batch_text(first.batch));
  text(kPrecision, run.precision, first.precision);
}

void draw_figures(const Frame& frame, Table& table, const runs::RunSummary& run, ImU32 color) {
  table.text(kStarted, started_text(run.started, std::time(nullptr)), color);
  table.text(kModel, run.model.empty() ? "-" : run.model, color,
             run.data.empty() ? "" : "Data: " + run.data + "\nDevice: " + run.device);
  draw_settings_of(frame, table, run, color);
  table.number(kEpochs,
               std::isfinite(run.epochs) ? with_thousands(run.epochs, run.epochs < 100 ? 2 : 0) : "-", color,
               files::counted(static_cast<std::int64_t>(run.steps), "step"));
  table.number(kTrain, number_text(run.final_train_loss), color);
  const auto held_out = [&](std::size_t column, double test, double validation, const auto& text) {
    if (std::isfinite(test) || !std::isfinite(validation)) return table.quantity(column, text(test), color);
    table.quantity(column, text(validation), frame.palette.muted,
                   "It is of the validation images: the test comes at the end.");
  };
  held_out(kTest, run.test_loss, run.validation_loss, number_text);
  held_out(kAccuracy, run.accuracy, run.validation_accuracy,
           [](double share) { return std::isfinite(share) ? fmt::format("{:.2f} %", 100 * share) : "-"; });
  const double speed = run.median_images_per_second;
  table.number(kSpeed, std::isfinite(speed) ? with_thousands(speed, speed < 100 ? 1 : 0) : "-", color);
  table.number(kTime, std::isfinite(run.seconds) ? clock_text(run.seconds) : "-", color);
  table.text(kStatus, run.status, status_color(frame, run.status));
}

// The end of a name: names begin with the time of the run and are alike there.
std::string end_of(const Frame& frame, std::string name, float width) {
  if (text_width(frame.fonts.small, name) <= width) return name;
  while (!name.empty() && text_width(frame.fonts.small, "..." + name) > width) {
    // A whole character at a time, which in UTF-8 may be several bytes.
    do {
      name.erase(0, 1);
    } while (!name.empty() && (static_cast<unsigned char>(name.front()) & 0xC0U) == 0x80U);
  }
  return "..." + name;
}

// The running training, above the others: two bars in the colours of its curves.
void draw_present(const Frame& frame, Table& table, const RunList& runs) {
  const auto& palette = frame.palette;
  const float s = frame.scale;
  table.enter(kSwatch);
  const ImVec2 min = table.cell_min(kSwatch), max = table.cell_max(kSwatch);
  const float middle = std::floor((min.y + max.y) / 2);
  auto* const list = ImGui::GetWindowDrawList();
  list->AddRectFilled(ImVec2(min.x, middle - 4 * s), ImVec2(min.x + 14 * s, middle - s),
                      palette.series[kTrainColor]);
  list->AddRectFilled(ImVec2(min.x, middle + s), ImVec2(min.x + 14 * s, middle + 4 * s),
                      palette.series[kTestColor]);
  const runs::RunSummary run = summary_of(frame.snapshot, runs.present ? &*runs.present : nullptr);
  table.text(kName, row_name(run.name), palette.accent, "The training of this window.");
  draw_figures(frame, table, run, palette.text);
}

// What the training was before it was left: a click returns to it, and what is left for it is a branch then.
void draw_branch(const Frame& frame, Table& table, const training::LeftTraining& left) {
  const std::string why_not = why_no_steering(frame.snapshot);
  table.enter(kName);
  const ImVec2 min = table.cell_min(kName), max = table.cell_max(kName);
  ImGui::SetCursorScreenPos(min);
  const std::string name = fmt::format("runs.branch.{}", left.number);
  const bool clicked = hit_area(name.c_str(), ImVec2(max.x - min.x, max.y - min.y));
  const bool hovered = ImGui::IsItemHovered();
  trace_item(name);
  const std::string step = with_thousands(left.step);
  table.text(kName, "branch at " + step, hovered ? frame.palette.accent : frame.palette.muted,
             why_not.empty()
                 ? fmt::format("The training as it was left at step {}, {}.\nClick to return to it.", step,
                               root_text(left))
                 : why_not);
  table.span_text(kStarted, kTime, root_text(left), frame.palette.muted);
  table.text(kStatus, "left", frame.palette.muted);
  if (clicked && why_not.empty()) frame.send(training::ReturnTo{left.number});
}

// A row of the list: the present run (no `run`), a branch of it, an earlier run, or below it what is wrong with it.
struct Line {
  const runs::RunSummary* run;
  std::string problem;
  const training::LeftTraining* branch;
};

std::vector<Line> lines_of(const RunList& list, const std::vector<training::LeftTraining>& branches) {
  std::vector<Line> lines{{nullptr, {}, nullptr}};
  for (const training::LeftTraining& branch : std::views::reverse(branches)) {
    if (branch.step > 0) lines.push_back({nullptr, {}, &branch});  // else there is nothing to return to
  }
  for (const runs::RunSummary& run : list.runs) {
    lines.push_back({&run, {}, nullptr});
    if (std::string problem = problem_of(run); !problem.empty()) {
      lines.push_back({&run, std::move(problem), nullptr});
    }
  }
  return lines;
}

// Why nobody can go on with a run here; "" if one can.
std::string why_no_going_on(const Frame& frame, const runs::RunSummary& run) {
  if (!frame.snapshot.can.steer) return "This window shows a run and trains nothing.";
  return run.status == "running" ? "A process trains it." : "";
}

}  // namespace

std::span<const Column> RunsPanel::columns() {
  return kColumns;
}

void RunsPanel::draw_swatch(const Frame& frame, Trainings& trainings, Table& table,
                            const runs::RunSummary& run) {
  const float s = frame.scale;
  table.enter(kSwatch);
  const ImVec2 min = table.cell_min(kSwatch), max = table.cell_max(kSwatch);
  const ShownTraining* const shown = trainings.find(run.folder);
  ImGui::SetCursorScreenPos(min);
  const std::string name = "runs.swatch." + run.name;
  const bool clicked = hit_area(name.c_str(), ImVec2(max.x - min.x, max.y - min.y));
  const bool hovered = ImGui::IsItemHovered();
  trace_item(name);
  tooltip(frame, shown == nullptr ? "Show its curves with the present ones." : "Choose another colour.");
  const float top = std::floor((min.y + max.y) / 2 - 7 * s);
  const ImVec2 a(min.x, top), b(min.x + 14 * s, top + 14 * s);
  auto* const list = ImGui::GetWindowDrawList();
  const ImU32 line = hovered ? frame.palette.text : frame.palette.muted;
  if (shown != nullptr && shown->visible) {
    list->AddRectFilled(a, b, frame.palette.series[shown->color], 3 * s);
    if (hovered) list->AddRect(a, b, line, 3 * s);
  } else {
    list->AddRect(a, b, shown != nullptr ? frame.palette.series[shown->color] : line, 3 * s);
  }
  if (!clicked) return;
  if (shown == nullptr) {
    trainings.show(run.folder, run.name);
    return;
  }
  recolored_ = run.folder;
  open_palette_ = true;
}

void RunsPanel::draw_run(const Frame& frame, Trainings& trainings, Table& table,
                         const runs::RunSummary& run) {
  const auto& palette = frame.palette;
  draw_swatch(frame, trainings, table, run);
  ShownTraining* const before = trainings.find(run.folder);
  const bool visible = before != nullptr && before->visible;
  const ImU32 color = visible ? palette.text : blend(palette.text, palette.panel, 0.7f);
  table.enter(kName);
  const ImVec2 min = table.cell_min(kName), max = table.cell_max(kName);
  ImGui::SetCursorScreenPos(min);
  const std::string name = "runs.run." + run.name;
  if (hit_area(name.c_str(), ImVec2(max.x - min.x, max.y - min.y))) {
    if (visible) {
      before->visible = false;
    } else {
      trainings.show(run.folder, run.name);
    }
  }
  const bool hovered = ImGui::IsItemHovered();
  trace_item(name);
  table.text(kName, row_name(run.name), hovered ? palette.accent : color,
             run.folder.string() + (visible ? "\nClick to hide its curves." : "\nClick to show its curves."));
  draw_figures(frame, table, run, color);
  table.enter(kMenu);
  ImGui::SetCursorScreenPos(table.cell_min(kMenu));
  ImGui::PushID(run.name.c_str());
  const std::string menu = "runs.menu." + run.name;
  if (icon_button(frame, menu.c_str(), Icon::down, "Go on with it, compare or delete it")) {
    choose(run);
  }
  ImGui::PopID();
  if (before == nullptr) return;
  table.enter(kRemove);
  ImGui::SetCursorScreenPos(table.cell_min(kRemove));
  ImGui::PushID(run.name.c_str());
  const std::string remove = "runs.remove." + run.name;
  if (icon_button(frame, remove.c_str(), Icon::close, "Remove it from the view"))
    trainings.remove(run.folder);
  ImGui::PopID();
}

// The eight colours of Okabe and Ito, side by side.
void RunsPanel::draw_palette(const Frame& frame, const Trainings& trainings) {
  const float s = frame.scale, side = std::floor(24 * s);
  if (std::exchange(open_palette_, false)) ImGui::OpenPopup("runs.palette");
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(6 * s, 6 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(4 * s, 4 * s));
  if (ImGui::BeginPopup("runs.palette", ImGuiWindowFlags_NoMove)) {
    trace_open_list("runs.palette");
    ShownTraining* const run = trainings.find(recolored_);
    for (int i = 0; i < kRunColors; ++i) {
      if (i > 0) ImGui::SameLine();
      const std::string name = fmt::format("runs.color.{}", i);
      if (hit_area(name.c_str(), ImVec2(side, side))) {
        if (run != nullptr) run->color = i;
        ImGui::CloseCurrentPopup();
      }
      trace_item(name);
      const ImVec2 min = ImGui::GetItemRectMin(), max = ImGui::GetItemRectMax();
      auto* const list = ImGui::GetWindowDrawList();
      list->AddRectFilled(min, max, frame.palette.series[i], 3 * s);
      if (ImGui::IsItemHovered() || (run != nullptr && run->color == i))
        list->AddRect(min, max, frame.palette.text, 3 * s, 0, 2 * s);
    }
    ImGui::EndPopup();
  }
  ImGui::PopStyleVar(2);
}

void RunsPanel::go_on_with(const runs::RunSummary& run) {
  const double started = std::isfinite(run.started) ? run.started : 0;
  go_on_ = runs::UnsavedTraining{.folder = run.folder,
                                 .model = run.model,
                                 .step = run.steps,
                                 .written = static_cast<std::int64_t>(started)};
}

// What can be done with a run. True if something was chosen.
bool RunsPanel::draw_choices(const Frame& frame, Trainings& trainings, const runs::RunSummary& run) {
  const bool free = run.status != "running";
  const std::string why_not = why_no_going_on(frame, run);
  const std::string path = files::escaped(run.folder.string());
  if (text_button(frame, "runs.go_on", "Go on with it",
                  why_not.empty()
                      ? "Leaves the present training and goes on from the newest checkpoint of this one"
                      : why_not,
                  why_not.empty())) {
    go_on_with(run);
    return true;
  }
  if (text_button(frame, "runs.compare", "Compare", "Shows its curves with the present ones")) {
    trainings.show(run.folder, run.name);
    compared_ = true;
    return true;
  }
  if (draw_further_choices(frame, run)) return true;
  if (text_button(frame, "runs.copy_view", "Copy command",
                  "Copies what opens a window of its own on it: warpscope view " + path)) {
    ImGui::SetClipboardText(("warpscope view " + shell_word(run.folder.string())).c_str());
    return true;
  }
  if (text_button(
          frame, "runs.delete", "Delete",
          free ? "Moves it to the folder .deleted beside it, for a week: " + path : "A process writes to it.",
          free)) {
    remove(trainings, run.folder);
    return true;
  }
  return false;
}

bool RunsPanel::draw_further_choices(const Frame& frame, const runs::RunSummary& run) {
  if (text_button(frame, "runs.weights", "Start with its weights",
                  frame.snapshot.can.steer ? "Another training that begins with them: opens the start page"
                                           : "This window shows a run and trains nothing.",
                  frame.snapshot.can.steer)) {
    weights_ = run.folder;
    return true;
  }
  if (!text_button(frame, "runs.view", "Open", "Opens a window of its own on it")) return false;
  view_ = run.folder;
  return true;
}

void RunsPanel::draw_menu(const Frame& frame, Trainings& trainings) {
  const float s = frame.scale;
  if (std::exchange(open_menu_, false)) {
    ImGui::OpenPopup("runs.menu");
    menu_opened_ = ImGui::GetTime();
  }
  // The first click has opened the menu; the second one may have closed it.
  const bool goes_on =
      doubled_ && ImGui::IsMouseDoubleClicked(ImGuiMouseButton_Left) &&
      ImGui::GetTime() - menu_opened_ <= static_cast<double>(ImGui::GetIO().MouseDoubleClickTime) &&
      why_no_going_on(frame, chosen_).empty();
  if (goes_on) go_on_with(chosen_);
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(6 * s, 6 * s));
  if (ImGui::BeginPopup("runs.menu", ImGuiWindowFlags_NoMove)) {
    trace_open_list("runs.menu");
    if (draw_choices(frame, trainings, chosen_) || goes_on) ImGui::CloseCurrentPopup();
    ImGui::EndPopup();
  } else {
    doubled_ = false;
  }
  ImGui::PopStyleVar();
}

void RunsPanel::remove(Trainings& trainings, const std::filesystem::path& run) {
  try {
    deleted_ = runs::delete_run(run);
    ++deletions_;
    if (trainings.find(run) != nullptr) trainings.remove(run);
  } catch (const core::Error& error) {
    message_ = error.what();
  }
}

void RunsPanel::draw_deleted(const Frame& frame) {
  if (!deleted_) return;
  const float gap = 12 * frame.scale;
  const float undo = text_button_width(frame, "Undo"), close = ImGui::GetFrameHeight();
  const float room = ImGui::GetContentRegionAvail().x - undo - close - 2 * gap;
  row_text(frame, frame.fonts.text, frame.palette.text,
           ellipsize(frame.fonts.text, "Deleted: " + runs::run_name(deleted_->from), room));
  ImGui::SameLine(0, gap);
  const bool back = text_button(frame, "runs.undo_delete", "Undo", "Brings the run back");
  ImGui::SameLine(0, gap);
  const bool dismissed =
      icon_button(frame, "runs.deleted.close", Icon::close, "Dismiss; it stays in .deleted for a week");
  if (back) {
    try {
      runs::restore_run(*deleted_);
      ++deletions_;
    } catch (const core::Error& error) {
      message_ = error.what();
    }
  }
  if (back || dismissed) deleted_.reset();
}

void RunsPanel::draw_list(const Frame& frame, Trainings& trainings, const RunList& list) {
  {
    const std::vector<Line> lines = lines_of(list, *frame.snapshot.left);
    auto columns = kColumns;
    // Where nothing classifies, the others have the room.
    const bool any = frame.snapshot.classifies ||
                     std::any_of(list.runs.begin(), list.runs.end(), [](const runs::RunSummary& run) {
                       return std::isfinite(run.accuracy) || std::isfinite(run.validation_accuracy);
                     });
    if (!any) columns[kAccuracy].rank = kDroppedFirst;
    Table table(frame, "runs.table", columns);
    table.rows(static_cast<int>(lines.size()), [&](int i) {
      const Line& line = lines[static_cast<std::size_t>(i)];
      if (line.branch != nullptr) return draw_branch(frame, table, *line.branch);
      if (line.run == nullptr) return draw_present(frame, table, list);
      if (line.problem.empty()) return draw_run(frame, trainings, table, *line.run);
      table.span_text(kName, kStatus, line.problem, frame.palette.warning);
    });
  }
  draw_palette(frame, trainings);
  draw_menu(frame, trainings);
}

void RunsPanel::draw_settings(const Frame& frame, const Trainings& trainings, const RunSettings& settings) {
  const auto rows = setting_rows(settings);
  if (rows.empty()) {
    centered_text(frame, settings.runs.size() < 2 ? "Only one of the runs says how it was set."
                                                  : "The runs that are shown have the same settings.");
    return;
  }
  std::vector<std::string> names, labels;
  for (const auto& folder : settings.runs) {
    const ShownTraining* const run = trainings.find(folder);
    names.push_back(run != nullptr ? run->name : "this run");
    labels.push_back(end_of(frame, names.back(), kLeastValue * frame.scale));
  }
  std::vector<Column> columns{
      {"setting that differs",
       "What each of the runs shown has; in brackets what it was at first, where it was changed.",
       kLeastKey}};
  for (std::size_t i = 0; i < names.size(); ++i)
    columns.push_back({labels[i].c_str(), names[i].c_str(), kLeastValue});
  Table table(frame, "runs.settings", columns);
  table.rows(static_cast<int>(rows.size()), [&](int line) {
    const SettingRow& row = rows[static_cast<std::size_t>(line)];
    table.text(0, row.key, frame.palette.muted);
    for (std::size_t i = 0; i < row.values.size(); ++i)
      table.text(i + 1, row.values[i], row.differs[i] ? frame.palette.text : frame.palette.muted);
  });
}

void RunsPanel::watch(const Frame& frame, const Trainings& trainings, bool shown) {
  version_ = loader_.version();
  if (!shown) return loader_.request(std::nullopt);
  const std::string present = run_folder_here(frame.snapshot);
  RunRequest request{folder_of_runs(present), present, {}, folder_of_user_runs()};
  for (const auto& overlay : trainings.overlays()) request.shown.push_back(overlay->folder);
  loader_.request(std::move(request));
}

void RunsPanel::draw(const Frame& frame, Trainings& trainings) {
  panel_body(frame, false);
  draw_deleted(frame);
  const float s = frame.scale;
  const auto list = loader_.list();
  const auto settings = loader_.settings();
  const bool any_shown = !trainings.overlays().empty();
  const bool has_branches = !frame.snapshot.left->empty();
  if (!list || !list->error.empty() || (list->runs.empty() && !has_branches)) {
    const std::string folder = folder_of_runs(run_folder_here(frame.snapshot)).string();
    centered_text(frame, !list ? "Looking at " + folder + " ..."
                         : !list->error.empty()
                             ? list->error
                             : fmt::format("There are no earlier runs yet in the folders {} and {}.", folder,
                                           folder_of_user_runs().string()));
    if (!any_shown) return;
  }
  if (!list) return;
  const ImVec2 room = ImGui::GetContentRegionAvail();
  // The settings stand beside the list where it is wide, below it where it is high, else nowhere: L makes
  // room.
  const bool beside = room.x > 620 * s;
  if (!any_shown || (!beside && room.y < 240 * s)) {
    draw_list(frame, trainings, *list);
    return;
  }
  const float wanted = (kLeastKey + 24 + (kLeastValue + 16) * static_cast<float>(settings->runs.size())) * s;
  const float least = room.x * 0.3f, most = std::min(room.x * 0.46f, room.x - (kLeastList + 24) * s);
  const float width = std::clamp(wanted, least, std::max(least, most));
  const ImVec2 size =
      beside ? ImVec2(std::floor(room.x - width - 24 * s), 0) : ImVec2(0, std::floor(room.y * 0.58f));
  ImGui::BeginChild("runs.list", size);
  draw_list(frame, trainings, *list);
  ImGui::EndChild();
  if (beside) ImGui::SameLine(0, 24 * s);
  ImGui::BeginChild("runs.differences", ImVec2(0, 0));
  draw_settings(frame, trainings, *settings);
  ImGui::EndChild();
}

}  // namespace warpscope::ui
