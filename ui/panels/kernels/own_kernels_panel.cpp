#include "ui/panels/kernels/own_kernels_panel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/text.h"
#include "ui/frame/trace.h"
#include "ui/panels/kernels/ladder_rows.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::UserKernel;

constexpr float kBeside = 860;      // design pixels from which the list and what is chosen stand side by side
constexpr float kListPart = 0.38f;  // of the width, there
constexpr std::size_t kMostRows = 4;
constexpr float kChosenOpacity = 0.24f;

enum : std::size_t { kOwnFile, kOwnOp, kOwnState, kOwnTime, kOwnRatio, kOwnCompiled, kOwnProved };

constexpr std::array<Column, 7> kOwnColumns{{
    {"kernel", "The file, whose name is that of the variant: user:NAME in all menus.", 96},
    text_column("operation", "What it computes.", 112, 2),
    {"state", "How far the newest content of the file has come, and what runs.", 104},
    number_column("\u00b5s",
                  "Microseconds in one training step: the medians of one call of each layer, added up.", 64,
                  1),
    number_column("of best",
                  "What part of the time of the fastest other variant it takes: below 1x it is the fastest.",
                  56, 3),
    number_column("compiled", "Milliseconds of the compiler, both builds.", 64, 5),
    number_column("proved", "Milliseconds of the proof, in a process of its own.", 56, 4),
}};

std::string time_text(const UserKernel& kernel) {
  const training::KernelVersion* const newest = kernel.newest();
  const double own = newest == nullptr ? 0 : own_microseconds(kernel, *newest);
  return own > 0 ? with_thousands(own, own < 1000 ? 1 : 0) : "";
}

std::string ratio_to_best(const UserKernel& kernel) {
  const training::KernelVersion* const newest = kernel.newest();
  if (newest == nullptr) return "";
  const double own = own_microseconds(kernel, *newest);
  const auto rival = best_rival(*newest);
  return own > 0 && rival ? ratio_text(own / rival->microseconds) : "";
}

std::string milliseconds_of(double milliseconds) {
  return milliseconds > 0 ? with_thousands(milliseconds, 0) : "";
}

}  // namespace

OwnKernelsPanel::OwnKernelsPanel() {
  std::error_code unknown;
  files_.begin_at(std::filesystem::current_path(unknown));
}

std::span<const Column> OwnKernelsPanel::columns() {
  return kOwnColumns;
}

bool OwnKernelsPanel::advance() {
  bool newer = desk_.advance();
  newer = form_.advance() || newer;
  newer = files_.advance() || newer;
  return details_.advance() || newer;
}

void OwnKernelsPanel::send_agreed(const Frame& frame) {
  for (training::Command& command : desk_.take_commands()) frame.send(std::move(command));
}

void OwnKernelsPanel::watch(const Frame& frame) {
  send_agreed(frame);
  if (const auto made = desk_.take_made()) {
    form_.close();
    chosen_ = made->string();
  }
  // What was loaded last is looked at.
  const auto& kernels = frame.snapshot.user_kernels->kernels;
  if (kernels.size() > loaded_) chosen_ = kernels.back().file;
  loaded_ = kernels.size();
}

void OwnKernelsPanel::make_new(const training::Snapshot& snapshot, std::optional<ops::Op> op) {
  form_.open(snapshot, desk_.services(), op);
}

const UserKernel* OwnKernelsPanel::chosen(const training::Snapshot& snapshot) const {
  const auto& kernels = snapshot.user_kernels->kernels;
  if (kernels.empty()) return nullptr;
  const auto found = std::ranges::find(kernels, chosen_, &UserKernel::file);
  return found == kernels.end() ? &kernels.back() : &*found;
}

void OwnKernelsPanel::draw_controls(const Frame& frame) {
  const std::string why = why_no_loading(frame.snapshot);
  const bool makes = why.empty() && desk_.services().write_new;
  const char* const tip = "Makes a file to start from: the simplest kernel of an operation, which is right";
  if (text_button(frame, "own_kernels.new", "New kernel...",
                  makes         ? tip
                  : why.empty() ? "This window makes no files."
                                : why,
                  makes))
    make_new(frame.snapshot);
  next_in_row(frame, 4, files_.width(frame));
  if (const auto path = files_.draw(frame, why.empty(), why)) desk_.take({*path});
  if (desk_.services().write_example) {
    next_in_row(frame, 4, text_button_width(frame, "Lesson"));
    if (text_button(
            frame, "own_kernels.lesson", "Lesson",
            "Kernels of the convolution, from the simplest to a fast one, each beside the one before"))
      lesson_ = true;
  }
  if (desk_.busy()) {
    ImGui::SameLine(0, std::floor(12 * frame.scale));
    caption(frame, "looking at the file");
  }
  if (!form_.is_open() && !desk_.error().empty())
    paragraph(frame.fonts.small, frame.palette.error, sentence(files::sayable(desk_.error())));
}

void OwnKernelsPanel::draw_folders(const Frame& frame) {
  for (const training::KernelFolder& folder : frame.snapshot.user_kernels->folders) {
    const Steering steering(frame);
    const std::string id = "own_kernels.unwatch." + folder.path;
    if (icon_button(frame, id.c_str(), Icon::close, "Watch it no longer; the kernels that are loaded stay"))
      frame.send(training::WatchKernels{folder.path, false});
    ImGui::SameLine(0, std::floor(8 * frame.scale));
    const std::string text = fmt::format("watched: {}{}", files::sayable(folder.path),
                                         folder.problem.empty() ? "" : ": " + files::sayable(folder.problem));
    row_text(frame, frame.fonts.small, folder.problem.empty() ? frame.palette.muted : frame.palette.error,
             ellipsize(frame.fonts.small, text, ImGui::GetContentRegionAvail().x));
  }
}

void OwnKernelsPanel::draw_question(const Frame& frame) {
  if (desk_.question().empty()) return;
  paragraph(frame.fonts.text, frame.palette.warning, desk_.question());
  trace_item("own_kernels.question");
  const bool yes =
      text_button(frame, "own_kernels.yes", "Load",
                  "Compiles and proves it; nothing is asked of later files in this session, but for "
                  "those of runs");
  ImGui::SameLine(0, std::floor(8 * frame.scale));
  const bool no = text_button(frame, "own_kernels.no", "Do not load", "Nothing of it is compiled or run");
  if (!yes && !no) return;
  desk_.answer(yes);
  send_agreed(frame);
}

void OwnKernelsPanel::draw_row(const Frame& frame, Table& table, const UserKernel& kernel) {
  const bool is_chosen = &kernel == chosen(frame.snapshot);
  if (is_chosen) table.mark(kChosenOpacity);
  const std::string id = fmt::format("own_kernels.row.{}", short_name(kernel));
  table.span(kOwnFile, kOwnProved, [&](ImVec2 min, ImVec2 max) {
    ImGui::SetCursorScreenPos(min);
    if (hit_area(id.c_str(), ImVec2(max.x - min.x, max.y - min.y))) chosen_ = kernel.file;
    trace_item(id);
  });
  const TonedText state = state_of(kernel);
  const training::KernelVersion* const newest = kernel.newest();
  const std::string tip = sentence(verdict_of(kernel, newest).text);
  table.text(kOwnFile, short_name(kernel), frame.palette.text, files::sayable(kernel.file));
  table.text(kOwnOp, kernel.op ? ops::to_string(*kernel.op) : "", frame.palette.text);
  table.text(kOwnState, state.text, tone_color(frame, state.tone), tip);
  table.number(kOwnTime, time_text(kernel), frame.palette.text);
  table.number(kOwnRatio, ratio_to_best(kernel), frame.palette.text);
  if (newest == nullptr) return;
  table.number(kOwnCompiled, milliseconds_of(newest->compile_milliseconds), frame.palette.muted, "", "ms");
  table.number(kOwnProved, milliseconds_of(newest->proof_milliseconds), frame.palette.muted, "", "ms");
}

void OwnKernelsPanel::draw_list(const Frame& frame, float width, float height) {
  Table table(frame, "own_kernels.table", kOwnColumns, ImVec2(width, height));
  for (const UserKernel& kernel : frame.snapshot.user_kernels->kernels) {
    if (table.row()) draw_row(frame, table, kernel);
  }
}

void OwnKernelsPanel::draw_chosen(const Frame& frame) {
  if (form_.is_open()) {
    if (const auto wanted = form_.draw(frame, desk_)) desk_.make(*wanted);
    return;
  }
  if (const UserKernel* const kernel = chosen(frame.snapshot))
    details_.draw(frame, *kernel, desk_.services());
}

void OwnKernelsPanel::draw(const Frame& frame) {
  const training::UserKernels& kernels = *frame.snapshot.user_kernels;
  const std::string summary = kernels.kernels.empty() ? "" : own_kernels_summary(kernels);
  if (!summary.empty() && text_width(frame.fonts.small, summary) <= title_room(frame))
    row_text(frame, frame.fonts.small, frame.palette.muted, summary);
  panel_body(frame);
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  draw_controls(frame);
  draw_folders(frame);
  draw_question(frame);
  trace(frame);
  const std::string why = why_no_own_kernels(frame.snapshot);
  if (kernels.kernels.empty() && !form_.is_open()) {
    return centered_text(
        frame, !why.empty() ? why
                            : "Write a kernel in your editor and see it proved, timed and put into "
                              "this training each time you save it. \"New kernel...\" writes one that "
                              "works, to start from; files can also be dropped on the window.");
  }
  if (!why.empty()) paragraph(frame.fonts.small, frame.palette.warning, why);
  const float room = ImGui::GetContentRegionAvail().x, gap = std::floor(16 * frame.scale);
  const bool beside = room >= kBeside * frame.scale && !kernels.kernels.empty();
  const float row = std::max(ImGui::GetFrameHeight(), std::floor(24 * frame.scale));
  const std::size_t rows = std::min(kernels.kernels.size(), kMostRows);
  if (beside) {
    const float height = std::max(ImGui::GetContentRegionAvail().y, 4 * row);
    draw_list(frame, std::floor(kListPart * (room - gap)), height);
    ImGui::SameLine(0, gap);
    ImGui::BeginChild("own_kernels.chosen", ImVec2(0, height));
    draw_chosen(frame);
    ImGui::EndChild();
  } else {
    if (rows > 0) draw_list(frame, 0, row * static_cast<float>(rows + 1) + std::floor(2 * frame.scale));
    draw_chosen(frame);
  }
}

// What tests wait for.
void OwnKernelsPanel::trace(const Frame& frame) {
  if (!trace_enabled()) return;
  std::string kernels;
  for (const UserKernel& kernel : frame.snapshot.user_kernels->kernels) {
    const training::KernelVersion* const newest = kernel.newest();
    kernels += fmt::format(
        "{}{{\"variant\":{},\"state\":{},\"verdict\":{},\"version\":{},\"used\":{},\"errors\":{},\"timed\":{}"
        "}}",
        kernels.empty() ? "" : ",", json_string(kernel.variant), json_string(state_of(kernel).text),
        json_string(verdict_of(kernel, newest).text), newest == nullptr ? 0 : newest->number, kernel.used(),
        newest == nullptr ? 0 : newest->errors.size(), newest != nullptr && !newest->times.empty());
  }
  const UserKernel* const shown = chosen(frame.snapshot);
  trace_change(
      traced_, "own_kernels",
      fmt::format(
          "\"kernels\":[{}],\"chosen\":{},\"form\":{},\"file\":{},\"question\":{},\"error\":{},\"source\":{}",
          kernels, json_string(shown == nullptr ? "" : shown->variant), form_.is_open(),
          json_string(path_of(form_.kernel()).string()), json_string(desk_.question()),
          json_string(desk_.error()), details_.shows_source()));
}

}  // namespace warpscope::ui
