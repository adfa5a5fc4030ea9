#include "ui/panels/start/lesson_rows.h"

#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "ui/panels/panel_table.h"

namespace warpscope::ui::lesson_rows_test {
namespace {

std::vector<LessonFile> lesson_files() {
  return {{"1_naive.cu", "A thread for each element.", true},
          {"1_naive.cpp", "A loop for each index.", false},
          {"2_order.cpp", "Another order.", false}};
}

core::DeviceInfo device_of(core::DeviceKind kind) {
  core::DeviceInfo device;
  device.kind = kind;
  return device;
}

training::UserKernel loaded(const std::string& name, double microseconds, const std::string& rival = "") {
  auto version = std::make_shared<training::KernelVersion>();
  version->number = 1;
  version->stage = microseconds > 0 ? training::KernelStage::ready : training::KernelStage::compiling;
  training::UserKernel kernel;
  kernel.file = "/home/me/warpscope_lesson/" + name;
  kernel.op = ops::Op::conv2d_forward;
  kernel.variant = "user:" + name.substr(0, name.find('.'));
  if (microseconds > 0) {
    version->times.push_back({{}, {"conv1"}, {{kernel.variant, 1, {microseconds, 1, 20}}}});
    if (!rival.empty()) version->times[0].times.push_back({rival, 0, {50, 1, 20}});
  }
  kernel.versions.push_back(version);
  return kernel;
}

training::Snapshot snapshot_with(std::vector<training::UserKernel> kernels) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  snapshot.selection.precision = core::Precision::fp32;
  auto told = std::make_shared<training::UserKernels>();
  told->kernels = std::move(kernels);
  snapshot.user_kernels = told;
  return snapshot;
}

TEST(LessonRows, HaveAStopForEachFileOfTheTrainingsLanguage) {
  const std::vector<TourStop> cpu = lesson_stops(lesson_files(), device_of(core::DeviceKind::cpu));
  ASSERT_EQ(cpu.size(), 4u);
  EXPECT_EQ(cpu[0].example, "");
  EXPECT_EQ(cpu[1].example, "1_naive.cpp");
  EXPECT_EQ(cpu[2].title, "2_order.cpp");
  EXPECT_EQ(cpu[2].text, "Another order.");
  EXPECT_EQ(cpu[3].example, "");
  for (const TourStop& stop : cpu) EXPECT_NE(find_panel(stop.panel), nullptr) << stop.panel;
  EXPECT_EQ(lesson_stops(lesson_files(), device_of(core::DeviceKind::cuda)).size(), 3u);
  EXPECT_TRUE(lesson_stops({}, device_of(core::DeviceKind::cpu)).empty()) << "a window without the lesson";
}

TEST(LessonRows, TellWhatAKernelTakesBesideTheOneBeforeIt) {
  const std::vector<TourStop> stops = lesson_stops(lesson_files(), device_of(core::DeviceKind::cpu));
  const LessonRow none = lesson_row(stops, "1_naive.cpp", snapshot_with({}), false);
  EXPECT_FALSE(none.is_loaded);
  EXPECT_EQ(none.why_not, "");
  EXPECT_EQ(none.said.text, "");
  EXPECT_NE(lesson_row(stops, "1_naive.cpp", snapshot_with({}), true).why_not, "") << "it is being made";

  const LessonRow under_way =
      lesson_row(stops, "1_naive.cpp", snapshot_with({loaded("1_naive.cpp", 0)}), false);
  EXPECT_TRUE(under_way.is_loaded);
  EXPECT_NE(under_way.why_not, "");
  EXPECT_EQ(under_way.said.text, "compiling");

  const training::Snapshot both =
      snapshot_with({loaded("1_naive.cpp", 400), loaded("2_order.cpp", 100, "loops")});
  EXPECT_EQ(lesson_row(stops, "1_naive.cpp", both, false).said.text, "ready: 400.0 \u00b5s in a step");
  training::Snapshot other = snapshot_with({});
  other.selection.precision = core::Precision::bf16;
  EXPECT_NE(lesson_row(stops, "1_naive.cpp", other, false).why_not.find("FP32"), std::string::npos);
  other.selection.precision = core::Precision::fp32;
  other.network = std::make_shared<const models::Model>();  // of no layer, so of no convolution
  EXPECT_NE(lesson_row(stops, "1_naive.cpp", other, false).why_not.find("convolution"), std::string::npos);

  const std::string second = lesson_row(stops, "2_order.cpp", both, false).said.text;
  EXPECT_EQ(second, "ready: 100.0 \u00b5s in a step, 0.25\u00d7 the time of 1_naive; loops takes 50");
}

}  // namespace
}  // namespace warpscope::ui::lesson_rows_test
