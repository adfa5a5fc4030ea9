#include "ui/panels/kernels/own_kernel_details.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <exception>
#include <filesystem>

#include <fmt/format.h>

#include "gpu/core/host_memory.h"
#include "gpu/files/text.h"
#include "ui/plot/bars.h"
#include "ui/settings/steering.h"
#include "ui/widgets/table.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::KernelVersion;
using training::UserKernel;

// Design pixels.
constexpr float kRowsHeight = 24, kLeastSource = 160, kVersionsWidth = 160, kFactsWidth = 420;

constexpr plot::BarNames kOwnBars{
    .label = "variant",
    .label_tip = "This version, the one before, and the other variants on the shapes of this training.",
    .bar_tip = "The median time of one call; the whisker spans the middle half of the samples.",
    .text = "\u00b5s",
    .text_tip = "Microseconds of one call, the median.",
    .detail = "of yours",
    .detail_tip = "What part of the time of this version it is: above 1 it is slower."};

void copy_text(const std::string& text) {
  ImGui::SetClipboardText(text.c_str());
  trace_event("copied", fmt::format("\"text\":{}", json_string(text)));
}

float table_height(const Frame& frame, std::size_t rows) {
  const float row = std::max(ImGui::GetFrameHeight(), std::floor(kRowsHeight * frame.scale));
  return row * static_cast<float>(rows + 1) + std::floor(4 * frame.scale);
}

// One message of the compiler: where, what, and the line. A click copies it.
void draw_error(const Frame& frame, std::size_t number, const user_kernels::Diagnostic& error) {
  const float s = frame.scale, indent = std::floor(12 * s);
  const std::string place = place_of(error), message = files::sayable(error.message);
  const ShownLine line = shown_line(error);
  const ImVec2 min = ImGui::GetCursorScreenPos();
  ImGui::BeginGroup();
  paragraph(frame.fonts.text, frame.palette.error, fmt::format("{}: {}", place, message));
  if (!line.text.empty()) {
    const ImFont* const font = frame.fonts.numbers;
    const ImVec2 at = ImGui::GetCursorScreenPos();
    const float room = ImGui::GetContentRegionAvail().x - indent;
    const float baseline = at.y + font->Ascent * ImGui::GetIO().FontGlobalScale;
    ImDrawList* const list = ImGui::GetWindowDrawList();
    draw_text(list, font, at.x + indent, baseline, frame.palette.text, ellipsize(font, line.text, room));
    if (line.mark >= 0) {
      const float x =
          at.x + indent +
          text_width(font, std::string_view(line.text).substr(0, static_cast<std::size_t>(line.mark)));
      const float width = text_width(font, "0"), y = at.y + line_height(font);
      if (x + width <= at.x + indent + room)
        list->AddRectFilled(ImVec2(x, y - std::floor(2 * s)), ImVec2(x + width, y), frame.palette.error);
    }
    ImGui::Dummy(ImVec2(1, line_height(font) + std::floor(4 * s)));
  }
  ImGui::EndGroup();
  const ImVec2 max(min.x + ImGui::GetContentRegionAvail().x, ImGui::GetItemRectMax().y);
  const std::string id = fmt::format("own_kernels.error.{}", number);
  const ImVec2 after = ImGui::GetCursorScreenPos();
  ImGui::SetCursorScreenPos(min);
  if (hit_area(id.c_str(), ImVec2(max.x - min.x, max.y - min.y)))
    copy_text(line.text.empty() ? fmt::format("{}: {}", place, message)
                                : fmt::format("{}: {}\n{}", place, message, line.text));
  trace_item(id);
  tooltip(frame, "Click: copies it");
  ImGui::SetCursorScreenPos(after);
}

plot::Bar plot_bar(const Frame& frame, const KernelBar& bar, bool fastest) {
  plot::Bar drawn;
  drawn.label = bar.label;
  drawn.note = bar.note.empty() && fastest ? "fastest" : bar.note;
  drawn.best = fastest;
  drawn.value = bar.microseconds.median;
  drawn.low = bar.microseconds.median - bar.microseconds.spread / 2;
  drawn.high = bar.microseconds.median + bar.microseconds.spread / 2;
  drawn.text = with_thousands(bar.microseconds.median, bar.microseconds.median < 1000 ? 1 : 0);
  drawn.detail = bar.owner == BarOwner::version || bar.ratio <= 0 ? "" : fmt::format("{:.2f} x", bar.ratio);
  drawn.color = bar.owner == BarOwner::version  ? frame.palette.accent
                : bar.owner == BarOwner::before ? blend(frame.palette.accent, frame.palette.panel, 0.5f)
                                                : frame.palette.series[0];
  drawn.tip = fmt::format("{}{}{}: {} \u00b5s a call, the median of {} samples", bar.label,
                          bar.note.empty() ? "" : ", ", bar.note, drawn.text, bar.microseconds.samples);
  return drawn;
}

void draw_times(const Frame& frame, const UserKernel& kernel, const KernelVersion& version) {
  std::vector<plot::BarGroup> groups;
  std::size_t lines = 0;
  for (const KernelBars& bars : bars_of(kernel, version)) {
    plot::BarGroup group{bars.title, bars.subtitle, 0, {}};
    for (const KernelBar& bar : bars.bars) group.bars.push_back(plot_bar(frame, bar, group.bars.empty()));
    lines += 1 + group.bars.size();
    groups.push_back(std::move(group));
  }
  if (groups.empty()) return;
  plot::draw_bars(frame, "own_kernels.bars", ImVec2(0, table_height(frame, lines)), groups, kOwnBars, false);
}

void draw_facts(const Frame& frame, const UserKernel& kernel, const KernelVersion& version) {
  const KernelVersion* const before = version_before(kernel, version);
  const std::vector<KernelFact> facts = facts_of(version, before);
  if (facts.empty()) return;
  const std::string now = fmt::format("version {}", version.number);
  const std::string was = before == nullptr ? "" : fmt::format("version {}", before->number);
  const std::array<Column, 3> columns{
      {{"figure", "How it was compiled and proved, and what the build tells.", 120},
       number_column(now.c_str(), "The version that is shown.", 120),
       number_column(was.c_str(), "The newest one before it that was proved.", 88)}};
  const float width = std::min(ImGui::GetContentRegionAvail().x, std::floor(kFactsWidth * frame.scale));
  Table table(frame, "own_kernels.facts", columns, ImVec2(width, table_height(frame, facts.size())));
  for (const KernelFact& fact : facts) {
    if (!table.row()) continue;
    table.text(0, fact.name, frame.palette.muted, fact.tip);
    table.number(1, fact.now, frame.palette.text, fact.tip);
    if (before != nullptr) table.number(2, fact.before, frame.palette.muted, fact.tip);
  }
}

}  // namespace

ImU32 tone_color(const Frame& frame, Tone tone) {
  switch (tone) {
    case Tone::plain:
      return frame.palette.text;
    case Tone::muted:
      return frame.palette.muted;
    case Tone::good:
      return frame.palette.good;
    case Tone::warning:
      return frame.palette.warning;
    case Tone::error:
      break;
  }
  return frame.palette.error;
}

void OwnKernelDetails::draw_title(const Frame& frame, const UserKernel& kernel) {
  row_text(frame, frame.fonts.strong, frame.palette.text, kernel.variant);
  ImGui::SameLine(0, std::floor(8 * frame.scale));
  const std::string of = kernel.op ? fmt::format("{}, ", ops::to_string(*kernel.op)) : "";
  const std::string path = files::sayable(kernel.file);
  const std::string text =
      ellipsize(frame.fonts.small, of + path, std::max(1.0f, ImGui::GetContentRegionAvail().x));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  if (hit_area("own_kernels.path", ImVec2(text_width(frame.fonts.small, text), ImGui::GetFrameHeight())))
    copy_text(kernel.file);
  draw_text(ImGui::GetWindowDrawList(), frame.fonts.small, at.x, row_baseline(frame, at.y),
            frame.palette.muted, text);
  trace_item("own_kernels.path");
  tooltip(frame, path + "\nClick: copies the path");
}

void OwnKernelDetails::draw_versions(const Frame& frame, const UserKernel& kernel,
                                     const KernelVersion& version) {
  if (kernel.versions.size() < 2) return;
  const float width = std::floor(kVersionsWidth * frame.scale);
  next_in_row(frame, 12, width);
  if (!begin_combo(
          frame, "own_kernels.version", version_text(kernel, version), width,
          "The version that is shown: the newest, or one before it that was proved, which can be applied "
          "again"))
    return;
  for (auto each = kernel.versions.rbegin(); each != kernel.versions.rend(); ++each) {
    const std::string label = version_text(kernel, **each);
    const std::string id = fmt::format("own_kernels.version={}", (*each)->number);
    if (combo_item(frame, id.c_str(), label.c_str(), each->get() == &version))
      chosen_ = each->get() == kernel.newest() ? 0 : (*each)->number;
  }
  end_combo();
}

void OwnKernelDetails::draw_buttons(const Frame& frame, const UserKernel& kernel,
                                    const KernelVersion* version, const KernelServices& services) {
  {
    const Steering steering(frame);
    const std::string none = why_no_own_kernels(frame.snapshot);
    bool first = true;
    for (const KernelChoice& choice : choices_of(kernel, version)) {
      const std::string& why_not = none.empty() ? choice.why_not : none;
      if (!first) next_in_row(frame, 4, text_button_width(frame, choice.label));
      first = false;
      if (text_button(frame, fmt::format("own_kernels.{}", choice.id).c_str(), choice.label,
                      why_not.empty() ? choice.tip : why_not, why_not.empty()))
        frame.send(choice.command);
    }
    constexpr const char* kApply = "apply when proved";
    next_in_row(frame, 12, toggle_width(frame, kApply));
    bool applies = kernel.apply_when_proved;
    if (toggle(frame, "own_kernels.apply_when_proved", kApply, &applies,
               "Each version that is proved runs from the next step on; what is wrong never does"))
      frame.send(training::ApplyWhenProved{kernel.file, applies});
  }
  const bool files = frame.snapshot.can.files;
  const char* const no_files = "The training runs on another machine, which has the file.";
  next_in_row(frame, 12, text_button_width(frame, "Open"));
  const std::string why = !files          ? no_files
                          : services.edit ? services.why_no_editor
                                          : "This window opens no editor.";
  if (text_button(frame, "own_kernels.edit", "Open",
                  why.empty() ? "Opens the file in the editor that your desktop has for it" : why,
                  why.empty())) {
    try {
      services.edit(kernel.file);
    } catch (const std::exception& error) {
      message_ = core::sentence_of(error);
    }
  }
  next_in_row(frame, 4, toggle_width(frame, "source"));
  bool shows = shows_source_ && files;
  if (!files) ImGui::BeginDisabled();
  toggle(frame, "own_kernels.source", "source", &shows,
         files ? "The text of the file, to be read; a line with an error is marked" : no_files);
  if (!files) ImGui::EndDisabled();
  shows_source_ = shows;
  next_in_row(frame, 4, text_button_width(frame, "Copy"));
  if (text_button(frame, "own_kernels.copy", "Copy", "Copies what is said of this version, errors and all"))
    copy_text(report_of(kernel, version));
  draw_racecheck(frame, kernel, services);
  if (version != nullptr) draw_versions(frame, kernel, *version);
}

bool OwnKernelDetails::advance() {
  const bool newer = source_.advance() && shows_source_;
  auto races = races_.take();
  if (!races) return newer;
  races_said_ = races->result ? *races->result : "Races were not looked for: " + races->error;
  return true;
}

void OwnKernelDetails::draw_racecheck(const Frame& frame, const UserKernel& kernel,
                                      const KernelServices& services) {
  if (std::filesystem::path(kernel.file).extension() != ".cu") return;
  std::string why = services.racecheck ? services.why_no_racecheck : "This window looks for no races.";
  if (!frame.snapshot.can.files) why = "The training runs on another machine, which has the file.";
  if (races_.busy()) why = "They are being looked for.";
  next_in_row(frame, 4, text_button_width(frame, "Races"));
  if (!text_button(frame, "own_kernels.races", "Races",
                   why.empty()
                       ? "Looks for races in shared memory, by compute-sanitizer, in a process of its own"
                       : why,
                   why.empty()))
    return;
  races_said_.clear();
  races_.ask([check = services.racecheck, file = kernel.file, device = frame.snapshot.device.id()](
                 const data::Stopped& stopped) { return check(file, device, stopped); });
}

void OwnKernelDetails::draw(const Frame& frame, const UserKernel& kernel, const KernelServices& services) {
  if (file_ != kernel.file) {
    file_ = kernel.file;
    chosen_ = 0;
    races_.stop();
    races_said_.clear();
  }
  const KernelVersion* const version = version_of(kernel, chosen_);
  shown_ = version == nullptr ? 0 : version->number;
  draw_title(frame, kernel);
  draw_buttons(frame, kernel, version, services);
  const TonedText verdict = verdict_of(kernel, version);
  paragraph(frame.fonts.text, tone_color(frame, verdict.tone), sentence(verdict.text));
  trace_item("own_kernels.verdict");
  if (!races_said_.empty())
    paragraph(frame.fonts.text, frame.palette.text, sentence(files::sayable(races_said_)));
  if (version != nullptr) {
    for (std::size_t i = 0; i < version->errors.size(); ++i) draw_error(frame, i, version->errors[i]);
  }
  if (shows_source_) return source_.draw(frame, kernel, version, kLeastSource);
  if (version == nullptr) return;
  if (const std::string text = comparison_of(kernel, *version); !text.empty())
    paragraph(frame.fonts.text, frame.palette.text, text + ".");
  draw_times(frame, kernel, *version);
  draw_facts(frame, kernel, *version);
}

}  // namespace warpscope::ui
