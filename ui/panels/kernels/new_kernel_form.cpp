#include "ui/panels/kernels/new_kernel_form.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "gpu/files/text.h"
#include "ui/panels/kernels/own_kernels_rows.h"
#include "ui/settings/steering.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

// Design pixels.
constexpr float kNewLabelWidth = 76, kNewFieldWidth = 320, kNewOpWidth = 240;

constexpr std::array<const char*, 2> kNewLanguages{"C++", "CUDA"};

void new_label(const Frame& frame, const char* text) {
  const float left = ImGui::GetCursorPosX();
  caption(frame, text);
  ImGui::SameLine(left + std::floor(kNewLabelWidth * frame.scale));
}

template <std::size_t Size>
void set_buffer(std::array<char, Size>& buffer, const std::string& text) {
  buffer.fill('\0');
  text.copy(buffer.data(), Size - 1);
}

}  // namespace

void NewKernelForm::open(const training::Snapshot& snapshot, const KernelServices& services,
                         std::optional<ops::Op> op) {
  const std::string folder = folder_.front() == '\0' ? "" : folder_.data();
  kernel_ = suggested(snapshot, services);
  if (op) kernel_.op = *op;
  if (folder.empty()) set_folder(kernel_.folder);
  suggest(snapshot);
  open_ = true;
}

void NewKernelForm::set_folder(const std::string& folder) {
  set_buffer(folder_, folder);
  folders_.begin_at(folder);
}

void NewKernelForm::set_name(const std::string& name) {
  set_buffer(name_, name);
}

void NewKernelForm::suggest(const training::Snapshot& snapshot) {
  suggested_ = suggested_name(kernel_.op, kernel_.cuda, *snapshot.user_kernels);
  set_name(suggested_);
}

void NewKernelForm::draw_op(const Frame& frame, const KernelServices& services) {
  const float s = frame.scale;
  const std::string name(ops::to_string(kernel_.op));
  new_label(frame, "operation");
  const float width = std::min(std::floor(kNewOpWidth * s), ImGui::GetContentRegionAvail().x);
  if (!begin_combo(frame, "own_kernels.new.op", name, width, "What the kernel computes")) return;
  for (const bool offered : {true, false}) {
    for (const OpForKernels& row : services.ops) {
      if (row.why_not.empty() != offered) continue;
      const std::string label(ops::to_string(row.op));
      if (combo_item(frame, ("own_kernels.new.op=" + label).c_str(), label.c_str(), row.op == kernel_.op, {},
                     row.why_not))
        kernel_.op = row.op;
      if (offered) tooltip(frame, ops::contract(row.op).summary);
    }
  }
  end_combo();
}

void NewKernelForm::draw_folder(const Frame& frame) {
  const float s = frame.scale, browse = folders_.width(frame) + std::floor(8 * s);
  new_label(frame, "folder");
  ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x - browse, 48 * s, kNewFieldWidth * s));
  ImGui::InputTextWithHint("##own_kernels.new.folder", "folder", folder_.data(), folder_.size(),
                           ImGuiInputTextFlags_AutoSelectAll);
  if (ImGui::IsItemActive()) outline_typed(frame);
  trace_item("own_kernels.new.folder");
  if (!ImGui::IsItemActive()) tooltip(frame, files::sayable(folder_.data()));
  ImGui::SameLine(0, std::floor(8 * s));
  if (const auto chosen = folders_.draw(frame)) set_folder(chosen->string());
}

/// True if Enter was pressed in it.
bool NewKernelForm::draw_name(const Frame& frame) {
  const float s = frame.scale;
  new_label(frame, "name");
  ImGui::SetNextItemWidth(std::clamp(ImGui::GetContentRegionAvail().x, 48 * s, kNewFieldWidth * s));
  const bool entered =
      ImGui::InputTextWithHint("##own_kernels.new.name", "my_kernel.cpp", name_.data(), name_.size(),
                               ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_AutoSelectAll);
  if (ImGui::IsItemActive()) outline_typed(frame);
  trace_item("own_kernels.new.name");
  if (!ImGui::IsItemActive()) tooltip(frame, "The variant is called like it: mine.cpp is user:mine");
  return entered;
}

std::optional<NewKernel> NewKernelForm::draw(const Frame& frame, const OwnKernelsDesk& desk) {
  const NewKernel before = kernel_;
  draw_op(frame, desk.services());
  new_label(frame, "language");
  int language = kernel_.cuda ? 1 : 0;
  segmented(frame, "own_kernels.new.language", kNewLanguages, &language,
            "C++ runs on the CPU, CUDA on an NVIDIA GPU");
  kernel_.cuda = language == 1;
  const bool other = !(kernel_ == before);
  if (other && suggested_ == name_.data()) suggest(frame.snapshot);
  draw_folder(frame);
  const bool entered = draw_name(frame);
  kernel_.folder = folder_.data();
  kernel_.name = name_.data();
  std::string why = why_no_loading(frame.snapshot);
  if (why.empty()) why = why_not(kernel_, desk.services(), *frame.snapshot.user_kernels);
  if (why.empty()) why = why_other_device(kernel_.cuda, frame.snapshot.device);
  if (desk.busy()) why = "It is being made.";
  new_label(frame, "");
  const bool pressed = text_button(
      frame, "own_kernels.new.make", "Create",
      why.empty() ? "Writes the simplest kernel of the operation, which is right, and loads it" : why,
      why.empty());
  ImGui::SameLine(0, std::floor(8 * frame.scale));
  if (text_button(frame, "own_kernels.new.cancel", "Cancel", "Makes no file")) close();
  const std::string said = desk.error().empty() ? why : sentence(files::sayable(desk.error()));
  if (!said.empty()) {
    paragraph(frame.fonts.small, desk.error().empty() ? frame.palette.warning : frame.palette.error, said);
    trace_item("own_kernels.new.said");
  }
  return (pressed || entered) && why.empty() ? std::optional(kernel_) : std::nullopt;
}

}  // namespace warpscope::ui
