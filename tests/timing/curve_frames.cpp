// How long the CPU works on the curves' part of a frame, for curves of more and more points: all of it in view, then a
// part, a range measured, and another choice of curves. Milliseconds of the processor, so that other work beside counts
// for little. Not a test: its figures are those of the machine.
//
//   curve_frames [POINTS...]     10,000, 1,000,000 and 10,000,000 by default

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <vector>

#include "gpu/core/quantile.h"
#include "ui/panels/curves/loss_history.h"
#include "ui/plot/plot.h"
#include "ui/widgets/fonts.h"
#include "ui/widgets/theme.h"
#include "ui/widgets/widgets.h"

namespace {

using namespace warpscope;
using namespace warpscope::ui;
using Clock = std::chrono::steady_clock;

constexpr int kFrames = 200;

// This thread's time on the processor.
double milliseconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return 1e3 * static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_nsec);
}

struct Scene {
  Fonts fonts;
  Palette palette = facts_of(Theme::dark).palette;
  training::Snapshot snapshot;
  std::function<void(training::Command)> send = [](const training::Command&) {};
  std::vector<plot::View> views = std::vector<plot::View>(2);
  std::vector<plot::Hold> holds = std::vector<plot::Hold>(2);
};

// One frame of two plots, 1,200 x 400 pixels each; its milliseconds.
double frame(Scene& scene, const LossHistory& history, float pointer, std::optional<plot::Span> measured) {
  ImGui::GetIO().DeltaTime = 1.0f / 60;
  ImGui::GetIO().MousePos = ImVec2(pointer, 300);
  const double start = milliseconds();
  ImGui::NewFrame();
  const Frame now{scene.snapshot, scene.send, scene.fonts, scene.palette, 1};
  ImGui::SetNextWindowPos(ImVec2(0, 0));
  ImGui::SetNextWindowSize(ImVec2(1200, 840));
  begin_panel(now, "plots");
  panel_body(now, false);
  for (std::size_t i = 0; i < 2; ++i) {
    const MetricCurves& curves = history.curves(i);
    const std::vector<plot::Line> lines{{.name = "train",
                                         .series = &curves.smoothed,
                                         .beneath = &curves.train,
                                         .beneath_name = "this step",
                                         .color = scene.palette.series[0]}};
    const plot::Content content{.lines = lines,
                                .markers = {},
                                .x_label = "step",
                                .logarithmic = true,
                                .describe = [&](double x) { return history.describe(x); },
                                .measured = measured};
    plot::draw(now, i == 0 ? "first" : "second", ImVec2(1180, 390), content, scene.views[i], scene.holds[i]);
  }
  end_panel();
  ImGui::Render();
  return milliseconds() - start;
}

void tell(const char* what, Scene& scene, const LossHistory& history,
          std::optional<plot::Span> measured = {}) {
  std::vector<double> times;
  for (int i = 0; i < kFrames; ++i)
    times.push_back(frame(scene, history, 100 + 5 * static_cast<float>(i), measured));
  const double first = times.front();
  std::sort(times.begin(), times.end());
  std::printf("  %-28s first %7.2f ms   median %6.2f ms   p99 %6.2f ms\n", what, first,
              core::quantile(times, 0.5), core::quantile(times, 0.99));
}

// Frames from a change of the curves until they are whole: the longest of them, by the processor and by the clock, and
// how long all took.
void change(const char* what, Scene& scene, LossHistory& history, const std::vector<CurveChoice>& choices) {
  std::vector<double> times;
  const double start = milliseconds();
  double longest = 0;  // by the clock
  do {
    const double begin = milliseconds();
    const auto began = Clock::now(), end = began + std::chrono::milliseconds(4);
    history.choose(choices);
    while (history.busy() && Clock::now() < end) history.advance(10'000);
    const double made = milliseconds() - begin;
    times.push_back(made + frame(scene, history, 300, {}));
    longest = std::max(longest, std::chrono::duration<double, std::milli>(Clock::now() - began).count());
  } while (history.busy());
  std::printf(
      "  %-28s longest frame %6.2f ms (%6.2f by the clock)   whole after %4zu frames, %7.1f ms of work\n",
      what, *std::max_element(times.begin(), times.end()), longest, times.size(), milliseconds() - start);
}

void measure(std::uint64_t points) {
  Scene scene;
  scene.fonts = load_fonts(1, 1);
  unsigned char* pixels = nullptr;
  int width = 0, height = 0;
  ImGui::GetIO().Fonts->GetTexDataAsRGBA32(&pixels, &width, &height);
  LossHistory history;
  const std::vector<CurveChoice> choices{{}, {.metric = Metric::gradient_norm}};
  history.choose(choices);
  const double start = milliseconds();
  std::uint32_t noise = 1;
  for (std::uint64_t i = 1; i <= points; ++i) {
    noise = noise * 1664525u + 1013904223u;
    training::Point point{i, 0, static_cast<double>(i) * 1e-3};
    float& loss = point[Metric::loss];
    loss = 0.05f + std::exp(-5.0f * static_cast<float>(i) / static_cast<float>(points)) +
           1e-11f * static_cast<float>(noise);
    point[Metric::gradient_norm] = 1 + loss;
    history.consume(point);
  }
  std::printf("%llu points: %.0f ns a point to take in\n", static_cast<unsigned long long>(points),
              1e6 * (milliseconds() - start) / static_cast<double>(points));
  const auto all = static_cast<double>(points);
  tell("everything", scene, history);
  for (plot::View& view : scene.views) plot::show_x(view, 0.4 * all, 0.6 * all, all);
  tell("a fifth of it", scene, history);
  for (plot::View& view : scene.views) plot::set_log_x(view, true);
  tell("logarithmic x", scene, history);
  tell("a range measured", scene, history, plot::Span{0.2 * all, 0.9 * all});
  const CurveChoice loss{.over = runs::Over::seconds};
  const CurveChoice gradient{.metric = Metric::gradient_norm, .over = runs::Over::seconds};
  change("another axis", scene, history, {loss, gradient});
  change("another smoothing", scene, history,
         {{.over = runs::Over::seconds, .smoothing = 100},
          {.metric = Metric::gradient_norm, .over = runs::Over::seconds, .smoothing = 100}});
  change("another metric", scene, history,
         {{.over = runs::Over::seconds, .smoothing = 100}, {.over = runs::Over::seconds}});
}

}  // namespace

int main(int count, char** words) {
  std::vector<std::uint64_t> points{10'000, 1'000'000, 10'000'000};
  if (count > 1) {
    points.clear();
    for (int i = 1; i < count; ++i) points.push_back(std::strtoull(words[i], nullptr, 10));
  }
  for (const std::uint64_t some : points) {
    ImGui::CreateContext();
    ImGui::GetIO().IniFilename = nullptr;
    ImGui::GetIO().DisplaySize = ImVec2(1600, 1000);
    apply_theme(facts_of(Theme::dark).palette, 1);
    measure(some);
    ImGui::DestroyContext();
  }
}
