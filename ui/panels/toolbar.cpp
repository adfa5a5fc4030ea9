#include "ui/panels/toolbar.h"

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "gpu/files/file.h"
#include "gpu/files/utf8.h"
#include "ui/panels/data_texts.h"
#include "ui/panels/menu_choices.h"
#include "ui/panels/selection_text.h"
#include "ui/panels/training/ranks_number.h"
#include "ui/panels/training/results_rows.h"
#include "ui/settings/steering.h"
#include "ui/text/terms.h"
#include "ui/widgets/widgets.h"

namespace warpscope::ui {
namespace {

using training::TrainerState;

std::string_view state_tip(TrainerState state) {
  switch (state) {
    case TrainerState::preparing:
      return "Opening the device, loading the data and choosing the kernels.";
    case TrainerState::paused:
      return "Ready; no step is running. Space starts, the right arrow does one step.";
    case TrainerState::running:
      return "Training. Space pauses after the running step.";
    case TrainerState::finished:
      return "All steps are done and the results are written. Reset starts again.";
    case TrainerState::failed:
      return "The training ended with an error; the notice says which.";
    case TrainerState::interrupted:
      return "The process that trained has ended without finishing the run. It can be gone on with: "
             "warpscope train --resume.";
  }
  return {};
}

// A piece of the toolbar with its width; the highest rank is left out first.
struct Piece {
  int rank;
  float width;
  std::function<void()> draw;
};

float total_width(const std::vector<Piece>& pieces, float gap) {
  float width = 0;
  for (const Piece& piece : pieces) width += piece.width + gap;
  return width;
}

void drop_until_it_fits(std::vector<Piece>& left, std::vector<Piece>& right, float room, float gap) {
  while (total_width(left, gap) + total_width(right, gap) > room) {
    auto* from = &left;
    auto worst = left.end();
    for (auto* list : {&left, &right}) {
      for (auto it = list->begin(); it != list->end(); ++it) {
        if (worst == from->end() || it->rank > worst->rank) {
          from = list;
          worst = it;
        }
      }
    }
    if (worst == from->end() || worst->rank == 0) return;
    from->erase(worst);
  }
}

// `label` stands before the text, small and muted; it may be empty.
Piece text_piece(const Frame& frame, int rank, std::string label, std::string text, std::string tip) {
  const float gap = label.empty() ? 0 : 6 * frame.scale;
  const float width = text_width(frame.fonts.small, label) + gap + text_width(frame.fonts.text, text);
  return {rank, width, [&frame, gap, label = std::move(label), text = std::move(text), tip = std::move(tip)] {
            if (!label.empty()) {
              caption(frame, label);
              tooltip(frame, tip);
              ImGui::SameLine(0, gap);
            }
            row_text(frame, frame.fonts.text, frame.palette.text, text);
            tooltip(frame, tip);
          }};
}

// A number in the room of `widest`, so that what follows does not move.
Piece number_piece(const Frame& frame, int rank, std::string value, const char* widest,
                   const std::string& unit, const std::string& tip) {
  const float digits =
      std::max(text_width(frame.fonts.numbers, widest), text_width(frame.fonts.numbers, value));
  const float width = digits + text_width(frame.fonts.small, unit) + (unit.empty() ? 0.0f : 5 * frame.scale);
  return {rank, width, [&frame, value = std::move(value), unit, tip, width] {
            value_with_unit(frame, value, unit, tip, width);
          }};
}

Piece state_piece(const Frame& frame) {
  const std::string word(training::to_string(frame.snapshot.state));
  const float dot = 14 * frame.scale;
  const float room =
      std::max(text_width(frame.fonts.strong, "preparing"), text_width(frame.fonts.strong, word));
  return {0, dot + room, [&frame, word, dot, room] {
            const ImVec2 at = ImGui::GetCursorScreenPos();
            const float width = dot + room, height = ImGui::GetFrameHeight();
            auto* const list = ImGui::GetWindowDrawList();
            list->AddCircleFilled(ImVec2(at.x + 4 * frame.scale, at.y + height / 2), 4 * frame.scale,
                                  state_color(frame), 20);
            draw_text(list, frame.fonts.strong, at.x + dot, row_baseline(frame, at.y), frame.palette.text,
                      word);
            ImGui::Dummy(ImVec2(width, height));
            trace_item("toolbar.state");
            tooltip(frame, state_tip(frame.snapshot.state));
          }};
}

Piece faulty_piece(const Frame& frame) {
  constexpr const char* kText = "updates after each image";
  return {1, text_width(frame.fonts.text, kText), [&frame] {
            row_text(frame, frame.fonts.text, frame.palette.warning, kText);
            trace_item("toolbar.faulty");
            tooltip(frame,
                    "Each image changes weights and optimizer state, not the batch as a whole: a mistake, "
                    "kept to watch it fail. The Optimizer tab switches it off.");
          }};
}

// "NVIDIA H100 80GB HBM3" is long for a toolbar; the maker is in the tool-tip.
std::string short_device_name(std::string name) {
  for (const std::string_view maker : {"NVIDIA ", "AMD ", "Intel(R) "}) {
    if (name.starts_with(maker)) name.erase(0, maker.size());
  }
  constexpr std::size_t kMost = 24;
  if (name.size() > kMost) name.replace(kMost - 3, std::string::npos, "...");
  return name;
}

std::string device_tip(const core::DeviceInfo& device) {
  std::string tip = fmt::format("{} ({})", device.name, device.id());
  if (device.kind == core::DeviceKind::cuda) {
    tip +=
        fmt::format("\ncompute capability {}.{}, {}, {}", device.compute_capability / 10,
                    device.compute_capability % 10, files::counted(device.multiprocessors, "multiprocessor"),
                    bytes_text(static_cast<double>(device.memory_bytes)));
  } else {
    tip += "\n" + files::counted(device.multiprocessors, "core");
  }
  return device.driver.empty() ? tip : tip + "\n" + device.driver;
}

std::string data_tip(const training::Snapshot& snapshot) {
  std::string tip =
      fmt::format("The data set: {}, {} a test",
                  files::counted(static_cast<std::int64_t>(snapshot.train_images), "training image"),
                  files::counted(static_cast<std::int64_t>(snapshot.test_images), "test image"));
  if (snapshot.validation_images > 0) {
    tip += fmt::format(", {} kept back for validation", with_thousands(snapshot.validation_images));
  }
  if (snapshot.classifies && snapshot.data)
    tip +=
        "; " + files::counted(static_cast<std::int64_t>(snapshot.data->classes.size()), "class", "classes");
  return tip + ".";
}

const char* precision_note(core::Precision precision) {
  switch (precision) {
    case core::Precision::fp32:
      return "multiplies in FP32";
    case core::Precision::tf32:
      return "FP32 in memory, multiplies in TF32";
    case core::Precision::fp16:
      return "16 bits in memory, FP32 weights, loss scaling";
    case core::Precision::bf16:
      return "16 bits in memory, FP32 weights";
    case core::Precision::fp64:
      return "";
  }
  return "";
}

std::string speed_text(double images_per_second) {
  return with_thousands(images_per_second, images_per_second < 100 ? 1 : 0);
}

std::vector<Piece> progress_pieces(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const bool any = snapshot.step > 0;
  std::vector<Piece> pieces;
  const Speed speed = speed_of(snapshot);
  pieces.push_back(
      number_piece(frame, 1, speed.images_per_second > 0 ? speed_text(speed.images_per_second) : "-",
                   "999,999", said_of_data(frame, speed.label), said_of_data(frame, explain(speed.label))));
  pieces.push_back(number_piece(frame, 3, any ? with_thousands(snapshot.epoch, 2) : "-", "99.99", "epochs",
                                said_of_data(frame, explain("epochs"))));
  std::string steps = with_thousands(snapshot.step);
  if (snapshot.steps_planned > 0) steps += " / " + with_thousands(snapshot.steps_planned);
  pieces.push_back(number_piece(frame, 2, std::move(steps), "99,999",
                                snapshot.step == 1 && snapshot.steps_planned == 0 ? "step" : "steps",
                                "Steps whose loss has arrived, and the steps planned if there is a limit."));
  pieces.push_back(
      number_piece(frame, 4, clock_text(snapshot.seconds), "0:00:00", "trained", explain("time")));
  return pieces;
}

void draw_progress(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  if (snapshot.steps_planned == 0) return;
  const double part = static_cast<double>(snapshot.step) / static_cast<double>(snapshot.steps_planned);
  const ImVec2 at = ImGui::GetWindowPos(), size = ImGui::GetWindowSize();
  const float thick = std::max(1.0f, 2 * frame.scale);
  const float end = at.x + size.x * static_cast<float>(std::clamp(part, 0.0, 1.0));
  auto* const list = ImGui::GetWindowDrawList();
  list->PushClipRectFullScreen();  // up to the window's edges, over its padding
  list->AddRectFilled(ImVec2(at.x, at.y + size.y - thick), ImVec2(end, at.y + size.y), frame.palette.accent);
  list->PopClipRect();
}

void draw_transport(const Frame& frame) {
  const Steering steering(frame);
  const float s = frame.scale;
  const TrainerState state = frame.snapshot.state;
  const bool running = state == TrainerState::running;
  const bool ready = running || state == TrainerState::paused;
  const std::string stands = frame.snapshot.can.steer ? why_it_stands(frame.snapshot) : "";
  const auto tip = [&](const char* text) {
    return stands.empty() ? text : fmt::format("{}\n{}", text, stands);
  };
  if (icon_button(frame, running ? "toolbar.pause" : "toolbar.start", running ? Icon::pause : Icon::play,
                  running ? "Pause after the running step (space)" : tip("Start (space)"), ready)) {
    send_start_or_pause(frame);
  }
  ImGui::SameLine(0, 4 * s);
  if (icon_button(frame, "toolbar.step", Icon::step, tip("One step (right arrow)"),
                  state == TrainerState::paused)) {
    frame.send(training::StepOnce{});
  }
  ImGui::SameLine(0, 4 * s);
  if (icon_button(frame, "toolbar.reset", Icon::reset,
                  "Reset: the first weights again, step 0 (R). Undo (Ctrl Z) brings the training back.",
                  state != TrainerState::preparing && state != TrainerState::failed)) {
    frame.send(training::Reset{});
  }
}

// Whether the training is recorded, and where. Tests look at "toolbar.record" and "toolbar.not_recorded".
void draw_recording(const Frame& frame) {
  const Steering steering(frame);
  const training::Snapshot& snapshot = frame.snapshot;
  const bool recorded = !snapshot.run_dir.empty();
  const bool ready = snapshot.state == TrainerState::running || snapshot.state == TrainerState::paused;
  const std::string tip =
      recorded ? fmt::format("Recorded in {}\nA click stops recording; the training goes on.",
                             files::escaped(snapshot.run_dir))
               : "Not recorded. A click records it, with its curve so far, in a new folder among your data.";
  if (icon_button(frame, recorded ? "toolbar.record" : "toolbar.not_recorded",
                  recorded ? Icon::record : Icon::not_recorded, tip, ready)) {
    frame.send(training::Record{!recorded});
  }
}

void draw_precision(const Frame& frame) {
  const auto& snapshot = frame.snapshot;
  const std::string now(core::to_string(snapshot.selection.precision));
  if (!begin_combo(frame, "toolbar.precision", now, 72 * frame.scale,
                   "Precision of the whole step. Master weights stay FP32 and go on.")) {
    return;
  }
  for (const core::Precision precision : core::selectable_precisions()) {
    const std::string label(core::to_string(precision));
    const std::string name = "toolbar.precision." + label;
    if (combo_item(frame, name.c_str(), label.c_str(), precision == snapshot.selection.precision,
                   precision_note(precision), precision_refusal(machine_of(snapshot), precision)) &&
        precision != snapshot.selection.precision) {
      frame.send(training::Select{plan::with_precision(snapshot.selection, precision, machine_of(snapshot))});
    }
  }
  end_combo();
}

}  // namespace

ImU32 state_color(const Frame& frame) {
  switch (frame.snapshot.state) {
    case TrainerState::preparing:
      return frame.palette.muted;
    case TrainerState::paused:
    case TrainerState::interrupted:
      return frame.palette.warning;
    case TrainerState::running:
      return frame.palette.good;
    case TrainerState::finished:
      return frame.palette.accent;
    case TrainerState::failed:
      return frame.palette.error;
  }
  return frame.palette.muted;
}

void send_start_or_pause(const Frame& frame) {
  if (frame.snapshot.state == TrainerState::running) frame.send(training::Pause{});
  if (frame.snapshot.state == TrainerState::paused) frame.send(training::Resume{});
}

void Toolbar::describe(const training::Snapshot& snapshot) {
  if (!word_.empty() && described_ == snapshot.selection) return;
  described_ = snapshot.selection;
  word_ = selection_word(snapshot.selection, machine_of(snapshot));
  list_ = selection_list(snapshot.selection);
}

ToolbarRequests Toolbar::draw(const Frame& frame) {
  const float s = frame.scale, gap = 20 * s;
  const auto& snapshot = frame.snapshot;
  ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(10 * s, 8 * s));
  ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0);
  ImGui::Begin("toolbar", nullptr, kLowWindow);
  ImGui::PopStyleVar(2);
  draw_transport(frame);
  std::vector<Piece> left{state_piece(frame)};
  if (snapshot.settings->optimizer.per_sample) left.push_back(faulty_piece(frame));
  if (!snapshot.model.empty())
    left.push_back(text_piece(frame, 5, "", snapshot.model, "The network that is trained."));
  if (!snapshot.data_name.empty()) {
    left.push_back(text_piece(frame, 7, "", files::escaped(snapshot.data_name),
                              said_of_data(frame, data_tip(snapshot))));
  }
  if (!snapshot.device.name.empty()) {
    left.push_back(
        text_piece(frame, 6, "", short_device_name(snapshot.device.name), device_tip(snapshot.device)));
  }
  if (!snapshot.device.name.empty()) {
    left.push_back({0, 72 * s, [&] {
                      const Steering steering(frame);
                      ImGui::BeginDisabled(snapshot.state != TrainerState::running &&
                                           snapshot.state != TrainerState::paused);
                      draw_precision(frame);
                      ImGui::EndDisabled();
                    }});
    if (const RanksNumber number = ranks_number_of(snapshot); !number.choices.empty()) {
      left.push_back({2, ranks_number_width(frame),
                      [&frame, number] { draw_ranks_number(frame, "toolbar.ranks", number); }});
    }
    describe(snapshot);
    left.push_back(text_piece(frame, 8, "kernels", word_,
                              "Which variants run, in a word. Choose them in the kernels panel.\n" + list_));
  }
  auto right = progress_pieces(frame);
  const float buttons_width = 3 * ImGui::GetFrameHeight() + 8 * s;
  ImGui::SameLine(0, gap);
  const float start = ImGui::GetCursorPosX(), edge = ImGui::GetWindowContentRegionMax().x - buttons_width;
  drop_until_it_fits(left, right, edge - start, gap);
  for (const Piece& piece : left) {
    piece.draw();
    ImGui::SameLine(0, gap);
  }
  ImGui::SetCursorPosX(std::max(ImGui::GetCursorPosX(), edge - total_width(right, gap)));
  for (const Piece& piece : right) {
    piece.draw();
    ImGui::SameLine(0, gap);
  }
  ImGui::SetCursorPosX(edge);
  draw_recording(frame);
  ImGui::SameLine(0, 4 * s);
  ToolbarRequests requests;
  requests.menu =
      icon_button(frame, "toolbar.window", Icon::sliders, "The window: layouts, themes, sizes, panels");
  ImGui::SameLine(0, 4 * s);
  requests.help = icon_button(frame, "toolbar.help", Icon::help, "Help (F1)");
  draw_progress(frame);
  ImGui::End();
  return requests;
}

}  // namespace warpscope::ui
