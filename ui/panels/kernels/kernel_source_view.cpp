#include "ui/panels/kernels/kernel_source_view.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <sstream>
#include <utility>

#include <fmt/format.h>

#include "gpu/files/text.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

constexpr std::size_t kMostSourceBytes = std::size_t{4} << 20;
constexpr float kErrorOpacity = 0.25f;

}  // namespace

bool KernelSourceView::advance() {
  auto answer = reader_.take();
  if (!answer) return false;
  error_ = std::move(answer->error);
  if (answer->result) {
    text_ = std::move(*answer->result);
    lines_.clear();
    std::istringstream lines(text_);
    for (std::string line; std::getline(lines, line);) lines_.push_back(untabbed(line));
  }
  return true;
}

void KernelSourceView::follow(const training::UserKernel& kernel) {
  const training::KernelVersion* const newest = kernel.newest();
  std::string wanted = fmt::format("{}\n{}\n{}", kernel.file, newest == nullptr ? "" : newest->sha256,
                                   newest == nullptr ? 0 : newest->number);
  if (wanted == read_) return;
  if (!read_.starts_with(kernel.file + "\n")) {
    text_.clear();
    lines_.clear();
  }
  read_ = std::move(wanted);
  reader_.ask([file = std::filesystem::path(kernel.file)](const data::Stopped&) {
    return files::read_text(file, kMostSourceBytes);
  });
}

void KernelSourceView::draw_line(const Frame& frame, int number, float left) const {
  const ImVec2 at = ImGui::GetCursorScreenPos();
  const float line = line_height(frame.fonts.numbers);
  const float ascent = frame.fonts.numbers->Ascent * ImGui::GetIO().FontGlobalScale;
  const float baseline = at.y + (line - font_size(frame.fonts.numbers)) / 2 + ascent;
  ImDrawList* const list = ImGui::GetWindowDrawList();
  const auto marked = marked_.find(number);
  const float right = ImGui::GetWindowPos().x + ImGui::GetWindowWidth();
  if (marked != marked_.end()) {
    list->AddRectFilled(at, ImVec2(right, at.y + line),
                        blend(frame.palette.error, frame.palette.panel, kErrorOpacity));
  }
  const std::string label = std::to_string(number);
  const float gap = std::floor(8 * frame.scale);
  draw_text(list, frame.fonts.small, at.x + left - gap - text_width(frame.fonts.small, label), baseline,
            frame.palette.muted, label);
  const std::string& text = lines_[static_cast<std::size_t>(number) - 1];
  draw_text(list, frame.fonts.numbers, at.x + left, baseline, frame.palette.text, text);
  ImGui::Dummy(ImVec2(left + text_width(frame.fonts.numbers, text), line));
  if (marked != marked_.end()) area_tooltip(frame, at, ImVec2(right, at.y + line), marked->second);
}

void KernelSourceView::draw(const Frame& frame, const training::UserKernel& kernel,
                            const training::KernelVersion* version, float least) {
  follow(kernel);
  marked_.clear();
  if (version != nullptr && version == kernel.newest()) {
    for (const user_kernels::Diagnostic& error : version->errors) {
      if (error.text.empty() || error.line <= 0) continue;  // of a header
      std::string& said = marked_[error.line];
      said += (said.empty() ? "" : "\n") + files::sayable(error.message);
    }
  }
  if (!error_.empty())
    return paragraph(frame.fonts.small, frame.palette.error, sentence(files::sayable(error_)));
  const float height = std::max(ImGui::GetContentRegionAvail().y, std::floor(least * frame.scale));
  ImGui::BeginChild("own_kernels.text", ImVec2(0, height), false, ImGuiWindowFlags_HorizontalScrollbar);
  const float left =
      text_width(frame.fonts.small, std::to_string(lines_.size())) + std::floor(16 * frame.scale);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(0, 0));
  ImGuiListClipper clipper;
  clipper.Begin(static_cast<int>(lines_.size()), line_height(frame.fonts.numbers));
  while (clipper.Step()) {
    for (int i = clipper.DisplayStart; i < clipper.DisplayEnd; ++i) draw_line(frame, i + 1, left);
  }
  ImGui::PopStyleVar();
  ImGui::EndChild();
  trace_item("own_kernels.text");
}

}  // namespace warpscope::ui
