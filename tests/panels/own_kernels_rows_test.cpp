#include "ui/panels/kernels/own_kernels_rows.h"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

namespace warpscope::ui::own_kernels_rows_test {
namespace {

using training::KernelStage;
using training::KernelVersion;
using training::UserKernel;

KernelVersion version(int number, KernelStage stage) {
  KernelVersion version;
  version.number = number;
  version.stage = stage;
  version.sentence = stage == KernelStage::ready     ? "it is right in 40 calls"
                     : stage == KernelStage::refused ? "element 3 of 'output' is wrong"
                                                     : "";
  return version;
}

UserKernel kernel(const std::vector<KernelVersion>& versions) {
  UserKernel kernel;
  kernel.file = "/home/me/my_conv.cpp";
  kernel.op = ops::Op::conv2d_forward;
  kernel.variant = "user:my_conv";
  for (const KernelVersion& each : versions) kernel.versions.push_back(std::make_shared<KernelVersion>(each));
  return kernel;
}

training::KernelTime time(const char* variant, int number, double microseconds) {
  return {variant, number, {microseconds, 0.1 * microseconds, 20}};
}

/// Version 2 beside version 1 and two others; two layers have the second shape.
KernelVersion timed() {
  KernelVersion now = version(2, KernelStage::ready);
  now.times.push_back({{},
                       {"conv1"},
                       {time("user:my_conv", 2, 10), time("tiled", 0, 20), time("user:my_conv", 1, 25),
                        time("naive", 0, 90)}});
  now.times.push_back({{},
                       {"conv2", "conv3"},
                       {time("tiled", 0, 15), time("user:my_conv", 2, 20), time("user:my_conv", 1, 30),
                        time("naive", 0, 10)}});
  return now;
}

TEST(OwnKernels, TellTheirStateInAWord) {
  const auto told = [](const UserKernel& kernel) { return state_of(kernel).text; };
  EXPECT_EQ(told(kernel({})), "waiting");
  EXPECT_EQ(told(kernel({version(1, KernelStage::compiling)})), "compiling");
  EXPECT_EQ(told(kernel({version(1, KernelStage::ready)})), "ready");
  EXPECT_EQ(state_of(kernel({version(1, KernelStage::refused)})).tone, Tone::error);
  UserKernel used = kernel({version(1, KernelStage::ready), version(2, KernelStage::refused)});
  used.in_table = 1;
  EXPECT_EQ(told(used), "refused") << "a version that nobody chooses does not run";
  used.in_use = true;
  EXPECT_EQ(told(used), "refused, version 1 runs");
  used.in_table = 2;
  used.versions.back() = std::make_shared<KernelVersion>(version(2, KernelStage::ready));
  EXPECT_EQ(told(used), "in use");
  EXPECT_EQ(state_of(used).tone, Tone::good);
  used.gone = true;
  EXPECT_EQ(told(used), "no file, version 2 runs");
  UserKernel unread = kernel({});
  unread.problem = "it includes no header of an operation";
  EXPECT_EQ(told(unread), "refused");
}

TEST(OwnKernels, TheVerdictIsOneSentenceAboutTheVersionThatIsShown) {
  const UserKernel own = kernel({version(1, KernelStage::ready), version(2, KernelStage::refused)});
  EXPECT_EQ(verdict_of(own, own.versions.front().get()).text, "it is right in 40 calls");
  EXPECT_EQ(verdict_of(own, own.versions.front().get()).tone, Tone::good);
  EXPECT_EQ(verdict_of(own, own.newest()).text, "element 3 of 'output' is wrong");
  EXPECT_EQ(verdict_of(own, own.newest()).tone, Tone::error);
  const UserKernel under_way = kernel({version(1, KernelStage::proving)});
  EXPECT_EQ(verdict_of(under_way, under_way.newest()).text, "It is being proved, in a process of its own.");
  UserKernel gone = kernel({version(1, KernelStage::ready)});
  gone.problem = "the folder\x1b[31m is gone";
  EXPECT_EQ(verdict_of(gone, gone.newest()).text.find('\x1b'), std::string::npos)
      << "what files hold controls nothing";
}

TEST(OwnKernels, TheNewestVersionIsShownWhereNoneIsChosen) {
  const UserKernel own = kernel(
      {version(1, KernelStage::ready), version(3, KernelStage::ready), version(4, KernelStage::refused)});
  EXPECT_EQ(version_of(own, 0)->number, 4);
  EXPECT_EQ(version_of(own, 1)->number, 1);
  EXPECT_EQ(version_of(own, 2)->number, 4) << "version 2 is not kept";
  EXPECT_EQ(version_of(kernel({}), 0), nullptr);
  EXPECT_EQ(version_before(own, *own.newest())->number, 3);
  EXPECT_EQ(version_before(own, *own.versions.front()), nullptr);
}

TEST(OwnKernels, ATimeInAStepAddsUpAllLayers) {
  const KernelVersion now = timed();
  const UserKernel own = kernel({version(1, KernelStage::ready), now});
  EXPECT_DOUBLE_EQ(own_microseconds(own, now), 10 + 2 * 20);
  EXPECT_DOUBLE_EQ(step_microseconds(now, "tiled", 0), 20 + 2 * 15);
  EXPECT_EQ(step_microseconds(now, "hopper", 0), 0);
  ASSERT_TRUE(best_rival(now));
  EXPECT_EQ(best_rival(now)->variant, "tiled") << "naive is faster in one of the shapes only";
  EXPECT_EQ(comparison_of(own, now),
            "50.0 \u00b5s in a step: about the time of tiled, the fastest of the others, and 0.59\u00d7 the "
            "time of "
            "version 1");
  EXPECT_EQ(comparison_of(own, version(2, KernelStage::ready)), "") << "it was not timed";
  EXPECT_FALSE(best_rival(version(2, KernelStage::ready)));
}

TEST(OwnKernels, BarsTellTheVersionFromTheOneBeforeAndTheOthers) {
  const KernelVersion now = timed();
  const std::vector<KernelBars> groups = bars_of(kernel({version(1, KernelStage::ready), now}), now);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].title, "conv2, conv3");
  const std::vector<KernelBar>& bars = groups[0].bars;
  ASSERT_EQ(bars.size(), 4u);
  EXPECT_EQ(bars[0].owner, BarOwner::version);
  EXPECT_EQ(bars[1].owner, BarOwner::other);
  EXPECT_DOUBLE_EQ(bars[1].ratio, 2);
  EXPECT_EQ(bars[2].owner, BarOwner::before);
  EXPECT_EQ(bars[2].note, "version 1");
}

TEST(OwnKernels, FactsThatAreNotKnownAreLeftOut) {
  KernelVersion now = version(2, KernelStage::ready), before = version(1, KernelStage::ready);
  now.compile_milliseconds = 212;
  before.cached = true;
  const auto named = [](const std::vector<KernelFact>& facts, const std::string& name) {
    const auto found = std::ranges::find(facts, name, &KernelFact::name);
    return found == facts.end() ? KernelFact{} : *found;
  };
  EXPECT_EQ(named(facts_of(now, &before), "compiled").now, "212 ms");
  EXPECT_EQ(named(facts_of(now, &before), "compiled").before, "kept from before");
  EXPECT_EQ(named(facts_of(now, nullptr), "registers").name, "");
  now.gpu = training::GpuBuild{.registers = 40,
                               .shared_bytes = 2048,
                               .spill_bytes = 0,
                               .occupancy = 0.75,
                               .instructions = {{"FFMA", 120}, {"LDG", 9}}};
  before.gpu = training::GpuBuild{.registers = 32, .instructions = {{"FFMA", 100}}};
  const std::vector<KernelFact> facts = facts_of(now, &before);
  EXPECT_EQ(named(facts, "registers").now, "40");
  EXPECT_EQ(named(facts, "registers").before, "32");
  EXPECT_EQ(named(facts, "occupancy").now, "75 %");
  EXPECT_EQ(named(facts, "FFMA").before, "100");
  EXPECT_EQ(named(facts, "LDG").before, "0");
}

TEST(OwnKernels, ErrorsAreTextsWithPlaceAndLine) {
  const user_kernels::Diagnostic error{"/home/me/my_conv.cpp", 12, 4, "'summ' was not declared",
                                       "\t\tx = summ;"};
  EXPECT_EQ(place_of(error), "my_conv.cpp:12:4");
  EXPECT_EQ(shown_line(error).text, "        x = summ;");
  EXPECT_EQ(shown_line(error).mark, 9) << "behind two tabs and a letter";
  EXPECT_EQ(shown_line({"a.cpp", 1, 40, "", "short"}).mark, -1);
  KernelVersion refused = version(1, KernelStage::refused);
  refused.errors = {error};
  const UserKernel own = kernel({refused});
  EXPECT_EQ(
      report_of(own, own.newest()),
      "/home/me/my_conv.cpp\nelement 3 of 'output' is wrong\nmy_conv.cpp:12:4: 'summ' was not declared\n"
      "          x = summ;\n           ^\n");
}

TEST(OwnKernels, ChoicesSayWhyTheyCannotBeTaken) {
  const auto why = [](const UserKernel& kernel, std::size_t choice) {
    return choices_of(kernel, kernel.newest())[choice].why_not;
  };
  UserKernel own = kernel({version(1, KernelStage::ready)});
  EXPECT_EQ(why(own, 0), "");
  EXPECT_EQ(why(own, 1), "It does not run.");
  const auto apply = std::get<training::UseKernel>(choices_of(own, own.newest())[0].command);
  EXPECT_EQ(apply.version, 1);
  own.in_table = 1;
  own.in_use = true;
  EXPECT_EQ(why(own, 0), "It runs already.");
  EXPECT_EQ(why(own, 1), "");
  EXPECT_NE(why(kernel({version(1, KernelStage::refused)}), 0), "");
  EXPECT_NE(why(kernel({version(1, KernelStage::timing)}), 0), "");
  EXPECT_NE(why(kernel({}), 0), "");
  EXPECT_EQ(why(kernel({}), 2), "") << "anything can be forgotten";
}

TEST(OwnKernels, AreLoadedOnlyWhereTheTrainingTakesThem) {
  training::Snapshot snapshot;
  snapshot.state = training::TrainerState::running;
  EXPECT_EQ(why_no_loading(snapshot), "");
  snapshot.can.files = false;
  EXPECT_NE(why_no_loading(snapshot), "");
  EXPECT_EQ(why_no_own_kernels(snapshot), "") << "those that are loaded can be applied";
  snapshot.can.files = true;
  snapshot.state = training::TrainerState::finished;
  EXPECT_NE(why_no_loading(snapshot), "");
  training::UserKernels none;
  none.why_not = "kernels of your own run in one process";
  snapshot.user_kernels = std::make_shared<training::UserKernels>(none);
  EXPECT_EQ(why_no_loading(snapshot), "Kernels of your own run in one process.");
  snapshot.can.steer = false;
  snapshot.can.why_not = "running in another process";
  EXPECT_NE(why_no_own_kernels(snapshot).find("another process"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::ui::own_kernels_rows_test
