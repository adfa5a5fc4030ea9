#include "ui/panels/training_panel.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "ui/widgets.h"

namespace warpscope::ui {
namespace {

constexpr float kLeastRate = 1e-5f, kMostRate = 10.0f;
constexpr int kMostBatch = 65536;
// The trainer takes a value at its next step; until then the sent one is shown.
constexpr double kHoldSeconds = 1.0;

std::string psnr_text(double mean_squared_error) {
  if (!(mean_squared_error > 0)) return "-";
  return fmt::format("{:.2f}", -10 * std::log10(mean_squared_error));
}

// A label in the left column; the cursor then stands at `left`.
void label(const Frame& frame, const char* text, float left) {
  row_text(frame, frame.fonts.text, frame.palette.muted, text);
  ImGui::SameLine(left);
}

// A hairline with some air between groups of rows.
void separate(const Frame& frame) {
  ImGui::Dummy(ImVec2(1, 3 * frame.scale));
  const ImVec2 at = ImGui::GetCursorScreenPos();
  ImGui::GetWindowDrawList()->AddRectFilled(
      at, ImVec2(at.x + ImGui::GetContentRegionAvail().x, at.y + hairline(frame)), frame.palette.grid);
  ImGui::Dummy(ImVec2(1, 4 * frame.scale));
}

void loss_row(const Frame& frame, const char* name, bool known, double loss, const std::string& psnr,
              float left, const char* loss_tip, const char* psnr_tip) {
  const float s = frame.scale;
  label(frame, name, left);
  value_with_unit(frame, known ? compact_number(loss) : "-", "", loss_tip);
  ImGui::SameLine(left + 96 * s);
  value_with_unit(frame, known ? psnr : "-", known ? "dB" : "", psnr_tip);
}

void draw_loss_scale(const Frame& frame, float left) {
  const auto& snapshot = frame.snapshot;
  if (snapshot.selection.precision != core::Precision::fp16 && snapshot.skipped_steps == 0) return;
  label(frame, "loss scale", left);
  value_with_unit(
      frame, with_thousands(static_cast<double>(snapshot.loss_scale)), "",
      "FP16 gradients are multiplied by this, so that small ones do not vanish; the update divides by it. It "
      "doubles after enough good steps and halves when a gradient overflows.");
  ImGui::SameLine(left + 96 * frame.scale);
  value_with_unit(
      frame, with_thousands(snapshot.skipped_steps), "skipped",
      "Steps whose gradients overflowed: their update was skipped, the weights stayed as they were.");
}

void draw_results(const Frame& frame, const LossHistory& history, float left) {
  const auto& snapshot = frame.snapshot;
  const double train = static_cast<double>(snapshot.train_loss);
  loss_row(frame, "train loss", snapshot.step > 0, train, psnr_text(train), left,
           "Mean squared error of the last step's batch, computed on the device.",
           "Peak signal-to-noise ratio that this error stands for: -10 log10(error), for pixels in [0, 1].");
  const auto& test = history.last_test();
  loss_row(frame, "test loss", test.step > 0, static_cast<double>(test.loss),
           fmt::format("{:.2f}", static_cast<double>(test.psnr)), left,
           "Mean squared error over the test images at the last test.",
           "Peak signal-to-noise ratio: the mean over the test images of -10 log10(error of the image).");
}

void draw_facts(const Frame& frame, float left) {
  const auto& snapshot = frame.snapshot;
  label(frame, "parameters", left);
  value_with_unit(frame, snapshot.parameters > 0 ? with_thousands(snapshot.parameters) : "-", "",
                  "Trained parameters of the network.");
  ImGui::SameLine(left + 96 * frame.scale);
  value_with_unit(
      frame, snapshot.plan_bytes > 0 ? bytes_text(static_cast<double>(snapshot.plan_bytes)) : "-",
      snapshot.plan_bytes > 0 ? "plan" : "",
      "Memory of the plan: activations, gradients and workspace of the training step, on the device.");
  label(frame, "run folder", left);
  const std::string folder = snapshot.run_dir.empty() ? "not written" : snapshot.run_dir;
  const float room = ImGui::GetContentRegionAvail().x;
  // The end of a path tells more than its start.
  std::string shown = folder;
  while (shown.size() > 4 && text_width(frame.fonts.text, shown) > room) shown = "..." + shown.substr(4);
  row_text(frame, frame.fonts.text, snapshot.run_dir.empty() ? frame.palette.muted : frame.palette.text,
           shown);
  tooltip(frame,
          snapshot.run_dir.empty() ? "No run is written; start with a run folder to keep one." : folder);
}

}  // namespace

bool TrainingPanel::input(const Frame& frame, const char* name, Edit& edit, const std::string& current,
                          float width, std::string_view tip) {
  if (!edit.active && ImGui::GetTime() >= edit.hold_until) edit.text = current;
  char buffer[32] = {};
  edit.text.copy(buffer, sizeof buffer - 1);
  ImGui::PushFont(frame.fonts.numbers);
  // Numbers are a pixel smaller than text: the same frame height as the other controls.
  const float pad = std::max(0.0f, (ImGui::GetStyle().FramePadding.y * 2 + font_size(frame.fonts.text) -
                                    font_size(frame.fonts.numbers)) /
                                       2);
  ImGui::PushStyleVar(ImGuiStyleVar_FramePadding, ImVec2(8 * frame.scale, pad));
  ImGui::SetNextItemWidth(width);
  const bool entered =
      ImGui::InputText(fmt::format("##{}", name).c_str(), buffer, sizeof buffer,
                       ImGuiInputTextFlags_EnterReturnsTrue | ImGuiInputTextFlags_CharsScientific |
                           ImGuiInputTextFlags_AutoSelectAll);
  ImGui::PopStyleVar();
  ImGui::PopFont();
  edit.text = buffer;
  edit.active = ImGui::IsItemActive();
  if (edit.active) {
    ImGui::GetWindowDrawList()->AddRect(ImGui::GetItemRectMin(), ImGui::GetItemRectMax(),
                                        frame.palette.accent, 3 * frame.scale);
  }
  if (entered) edit.hold_until = ImGui::GetTime() + kHoldSeconds;
  trace_item(name);
  if (!edit.active) tooltip(frame, tip);
  return entered;
}

void TrainingPanel::draw_learning_rate(const Frame& frame, float left) {
  const float s = frame.scale;
  label(frame, "learning rate", left);
  const bool held = rate_dragged_ || ImGui::GetTime() < rate_hold_until_;
  const bool known = frame.snapshot.learning_rate > 0;
  if (!held && known) rate_ = frame.snapshot.learning_rate;
  if (input(frame, "training.rate", rate_edit_, known ? fmt::format("{:.4g}", rate_) : "-", 88 * s,
            "Learning rate; Enter applies it at the next step.")) {
    float value = 0;
    const char* const end = rate_edit_.text.data() + rate_edit_.text.size();
    const auto read = std::from_chars(rate_edit_.text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && std::isfinite(value) && value > 0) {
      refusal_.clear();
      rate_ = value;
      rate_hold_until_ = ImGui::GetTime() + kHoldSeconds;
      frame.send(training::SetLearningRate{value});
    } else {
      refusal_ = "the learning rate must be a number above 0";
      rate_edit_.hold_until = 0;
    }
  }
  ImGui::SameLine(0, 8 * s);
  const float width = std::clamp(ImGui::GetContentRegionAvail().x, 40 * s, 240 * s);
  slider(frame, "training.rate_slider", &rate_, kLeastRate, kMostRate, "", width,
         "Learning rate from 0.00001 to 10, logarithmic; applied when let go.", true);
  if (ImGui::IsItemActive()) {
    // Four digits are as many as are shown.
    const float unit = std::pow(10.0f, std::floor(std::log10(rate_)) - 2);
    rate_ = std::round(rate_ / unit) * unit;
    rate_dragged_ = true;
  } else if (rate_dragged_) {
    rate_dragged_ = false;
    rate_hold_until_ = ImGui::GetTime() + kHoldSeconds;
    refusal_.clear();
    frame.send(training::SetLearningRate{rate_});
  }
}

void TrainingPanel::draw_batch(const Frame& frame, float left) {
  label(frame, "batch", left);
  if (input(frame, "training.batch", batch_edit_,
            frame.snapshot.batch > 0 ? std::to_string(frame.snapshot.batch) : "-", 88 * frame.scale,
            "Images a step; Enter applies it. The plan is built anew, the weights go on.")) {
    int value = 0;
    const char* const end = batch_edit_.text.data() + batch_edit_.text.size();
    const auto read = std::from_chars(batch_edit_.text.data(), end, value);
    if (read.ec == std::errc() && read.ptr == end && value >= 1 && value <= kMostBatch) {
      refusal_.clear();
      frame.send(training::SetBatch{value});
    } else {
      refusal_ = fmt::format("the batch must be a whole number from 1 to {}", with_thousands(kMostBatch));
      batch_edit_.hold_until = 0;
    }
  }
  ImGui::SameLine(0, 8 * frame.scale);
  caption(frame, "images");
}

void TrainingPanel::draw(const Frame& frame, const LossHistory& history) {
  const float left = 104 * frame.scale;
  begin_panel(frame, "Training");
  panel_body(frame);
  ImGui::PushStyleVar(ImGuiStyleVar_ItemSpacing, ImVec2(8 * frame.scale, frame.scale));
  ImGui::Dummy(ImVec2(1, 2 * frame.scale));
  label(frame, "optimizer", left);
  row_text(frame, frame.fonts.text, frame.palette.text,
           frame.snapshot.optimizer.empty() ? "-" : frame.snapshot.optimizer);
  tooltip(frame, "The rule that changes the weights from their gradients.");
  ImGui::BeginDisabled(frame.snapshot.state == training::TrainerState::preparing ||
                       frame.snapshot.state == training::TrainerState::finished ||
                       frame.snapshot.state == training::TrainerState::failed);
  draw_learning_rate(frame, left);
  draw_batch(frame, left);
  ImGui::EndDisabled();
  if (!refusal_.empty()) row_text(frame, frame.fonts.small, frame.palette.warning, refusal_);
  separate(frame);
  draw_results(frame, history, left);
  draw_loss_scale(frame, left);
  separate(frame);
  draw_facts(frame, left);
  ImGui::PopStyleVar();
  end_panel();
}

}  // namespace warpscope::ui
