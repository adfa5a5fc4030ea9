#include "ui/panels/panel_table.h"

#include <algorithm>
#include <array>

#include "ui/frame/kept_views.h"

namespace warpscope::ui {
namespace {

void draw_images(Panels& panels, const Frame& frame) {
  if (frame.snapshot.classifies) {
    panels.predictions.draw(frame);
  } else {
    panels.images.draw(frame);
  }
}

std::optional<std::uint64_t> step_of_images(const Panels&, const Frame& frame) {
  return frame.snapshot.classifies ? step_of_evaluation(frame)
                                   : std::nullopt;  // pictures have a slider that tells it
}

std::optional<std::uint64_t> step_of_times(const Panels&, const Frame& frame) {
  return step_of_calls(frame);
}

// The least sizes of panels that are tables, of pictures and plots, and of the training's settings.
constexpr float kTableWidth = 440, kTableHeight = 176;
constexpr float kPictureWidth = 360, kPictureHeight = 200;
constexpr float kSettingsWidth = 280;

constexpr PanelRow workbench_panel(const char* id, const char* title, decltype(PanelRow::draw) draw,
                                   decltype(PanelRow::step) step = nullptr,
                                   decltype(PanelRow::watch) watch = nullptr, bool computes = false) {
  return {id, title, Place::workbench, kTableWidth, kTableHeight, draw, watch, step, false, computes};
}

constexpr std::array kPanels{
    PanelRow{"curves", "Curves", Place::curves, kPictureWidth, kPictureHeight,
             [](Panels& p, const Frame& f) { p.loss.draw(f, p.plot); }, nullptr, nullptr, true},
    PanelRow{"images", "Images", Place::images, kPictureWidth, kPictureHeight, draw_images, nullptr,
             step_of_images, true, true},
    workbench_panel(
        "kernels", "Kernels",
        [](Panels& p, const Frame& f) {
          p.kernels.draw(f, p.laboratory.state(), p.judging.busy() || p.mapping.busy());
        },
        step_of_times),
    workbench_panel(
        "time", "Time", [](Panels& p, const Frame& f) { p.time.draw(f); }, step_of_times,
        [](Panels& p, const Frame& f, bool) { p.time.watch(f); }),
    workbench_panel("memory", "Memory", [](Panels& p, const Frame& f) { p.memory.draw(f); }),
    workbench_panel(
        "network", "Network", [](Panels& p, const Frame& f) { p.network.draw(f); },
        [](const Panels& p, const Frame& f) { return p.network.step(f); }, nullptr, true),
    workbench_panel(
        "distributions", "Distributions", [](Panels& p, const Frame& f) { p.distributions.draw(f); },
        [](const Panels&, const Frame& f) { return step_of_distributions(f); }, nullptr, true),
    workbench_panel(
        "latent", "Latent", [](Panels& p, const Frame& f) { p.latent.draw(f, p.mapping); },
        [](const Panels& p, const Frame& f) {
          return p.mapping.method().empty() ? step_of_latents(f) : std::nullopt;
        },
        nullptr, true),
    workbench_panel("features", "Features", [](Panels& p, const Frame& f) { p.features.draw(f, p.judging); }),
    workbench_panel("bench", "Bench", [](Panels& p, const Frame& f) { p.bench.draw(f, p.laboratory); }),
    workbench_panel("verify", "Verify", [](Panels& p, const Frame& f) { p.verify.draw(f, p.laboratory); }),
    workbench_panel("determinism", "Determinism", [](Panels& p, const Frame& f) { p.determinism.draw(f); }),
    workbench_panel("ladder", "Ladder", [](Panels& p, const Frame& f) { p.ladder.draw(f, p.laboratory); }),
    workbench_panel(
        "runs", "Runs", [](Panels& p, const Frame& f) { p.runs.draw(f, p.trainings); }, nullptr,
        [](Panels& p, const Frame& f, bool shown) { p.runs.watch(f, p.trainings, shown); }),
    workbench_panel("ranks", "Ranks", [](Panels& p, const Frame& f) { p.ranks.draw(f); }),
    workbench_panel(
        "own_kernels", "Own kernels", [](Panels& p, const Frame& f) { p.own_kernels.draw(f); }, nullptr,
        [](Panels& p, const Frame& f, bool) { p.own_kernels.watch(f); }),
    PanelRow{"training", "Training", Place::training, kSettingsWidth, kTableHeight,
             [](Panels& p, const Frame& f) { p.training.draw(f); }, nullptr, nullptr, true},
};

}  // namespace

std::span<const PanelRow> panel_table() {
  return kPanels;
}

const PanelRow* find_panel(std::string_view id) {
  const auto* const found =
      std::find_if(kPanels.begin(), kPanels.end(), [id](const PanelRow& row) { return row.id == id; });
  return found == kPanels.end() ? nullptr : found;
}

}  // namespace warpscope::ui
