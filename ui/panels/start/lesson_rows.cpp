#include "ui/panels/start/lesson_rows.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "ui/panels/kernels/ladder_rows.h"
#include "ui/text/numbers.h"

namespace warpscope::ui {
namespace {

using training::UserKernel;

constexpr const char* kLessonPanel = "own_kernels";

/// Why the lesson's kernels would not run in this training, in a sentence; "" if they would.
std::string why_no_lesson(const training::Snapshot& snapshot) {
  const auto convolves = [](const models::Layer& layer) { return layer.convolves(); };
  if (snapshot.network && std::ranges::none_of(snapshot.network->layers, convolves))
    return "The lesson is about a convolution, and this network has none.";
  if (snapshot.selection.precision != core::Precision::fp32)
    return "Kernels of your own compute in FP32: choose that precision in the toolbar first.";
  return why_no_loading(snapshot);
}

const UserKernel* kernel_of(const std::string& example, const training::UserKernels& kernels) {
  const auto found = std::ranges::find_if(kernels.kernels, [&](const UserKernel& each) {
    return std::filesystem::path(each.file).filename() == example;
  });
  return found == kernels.kernels.end() ? nullptr : &*found;
}

/// Microseconds in a step of the newest version; 0 where it was not timed.
double microseconds_of(const UserKernel* kernel) {
  if (kernel == nullptr || kernel->newest() == nullptr) return 0;
  return own_microseconds(*kernel, *kernel->newest());
}

/// The nearest stop before that of `example` whose file was timed; nullptr if there is none.
const UserKernel* timed_before(std::span<const TourStop> stops, const std::string& example,
                               const training::UserKernels& kernels) {
  const UserKernel* before = nullptr;
  for (const TourStop& each : stops) {
    if (each.example == example) break;
    const UserKernel* const kernel = each.example.empty() ? nullptr : kernel_of(each.example, kernels);
    if (microseconds_of(kernel) > 0) before = kernel;
  }
  return before;
}

}  // namespace

std::vector<TourStop> lesson_stops(const std::vector<LessonFile>& lesson, const core::DeviceInfo& device) {
  const bool cuda = device.kind == core::DeviceKind::cuda;
  std::vector<TourStop> stops{
      {"A lesson: kernels",
       fmt::format(
           "The convolution of a network, from the simplest kernel on {} to a fast one, in FP32. Each stop "
           "makes a file, which is compiled, proved and timed here while the training goes on, and then runs "
           "in it. "
           "The file says what the next one does better. Change it in your editor: each time you save it, "
           "you see what that did.",
           cuda ? "a GPU" : "the CPU"),
       kLessonPanel}};
  for (const LessonFile& each : lesson) {
    if (each.cuda == cuda) stops.push_back({each.name, each.adds, kLessonPanel, each.name});
  }
  if (stops.size() == 1) return {};
  stops.push_back(
      {"Your own",
       "The panel keeps the versions of each file: Apply puts one into the training, Ctrl Z takes it back, "
       "and Kernels lists it beside the others. In the last file there is still something to gain: calls "
       "with few output channels leave most of a tile unused. Can you beat it?",
       kLessonPanel});
  return stops;
}

LessonRow lesson_row(std::span<const TourStop> stops, const std::string& example,
                     const training::Snapshot& snapshot, bool busy) {
  const training::UserKernels& kernels = *snapshot.user_kernels;
  const UserKernel* const kernel = kernel_of(example, kernels);
  LessonRow row;
  row.is_loaded = kernel != nullptr;
  row.why_not = why_no_lesson(snapshot);
  if (row.why_not.empty() && busy) row.why_not = "It is being made.";
  if (row.why_not.empty() && row.is_loaded) row.why_not = "It is loaded: the panel shows it.";
  if (kernel == nullptr) return row;
  row.said = state_of(*kernel);
  const double own = microseconds_of(kernel);
  if (own <= 0) return row;
  row.said.text += fmt::format(": {} \u00b5s in a step", with_thousands(own, own < 1000 ? 1 : 0));
  if (const UserKernel* const before = timed_before(stops, example, kernels))
    row.said.text +=
        fmt::format(", {} the time of {}", ratio_text(own / microseconds_of(before)), short_name(*before));
  if (const auto rival = best_rival(*kernel->newest()))
    row.said.text += fmt::format("; {} takes {}", rival->variant, with_thousands(rival->microseconds, 0));
  return row;
}

}  // namespace warpscope::ui
