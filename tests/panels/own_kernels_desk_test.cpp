#include "ui/panels/kernels/own_kernels_desk.h"

#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/waiting.h"

namespace warpscope::ui::own_kernels_desk_test {
namespace {

namespace fs = std::filesystem;
using ops::Op;

KernelServices services() {
  return {
      .ops = {{Op::relu_forward}, {Op::conv2d_forward}, {Op::optimizer_update, "it reads the control block"}},
      .write_new = [](Op, const fs::path& file) {
        if (fs::exists(file)) throw core::BadInput(file.string() + " is there already");
        tests::write_text(file, "a kernel");
      }};
}

class OwnKernelsDeskTest : public testing::Test {
 protected:
  OwnKernelsDeskTest() { desk_.serve(services()); }

  void settle() {
    EXPECT_TRUE(tests::eventually([this] {
      desk_.advance();
      return !desk_.busy();
    }));
  }
  std::string file(const std::string& name) const {
    fs::create_directories((folder_.path() / name).parent_path());
    tests::write_text(folder_.path() / name, "");
    return (folder_.path() / name).string();
  }
  /// The files that are to be loaded since the last call.
  std::vector<std::string> loaded() {
    std::vector<std::string> files;
    for (const training::Command& command : desk_.take_commands())
      files.push_back(std::get<training::LoadKernel>(command).file);
    return files;
  }

  tests::TemporaryFolder folder_;
  OwnKernelsDesk desk_;
};

using Names = std::vector<std::string>;

TEST_F(OwnKernelsDeskTest, AsksOnceBeforeFilesAreLoaded) {
  const std::string first = file("a.cpp"), second = file("b.cu");
  desk_.take({first});
  settle();
  EXPECT_TRUE(desk_.question().starts_with("a.cpp is code that will run with your rights"))
      << desk_.question();
  EXPECT_EQ(loaded(), Names{});
  desk_.answer(true);
  EXPECT_EQ(desk_.question(), "");
  EXPECT_EQ(loaded(), Names{first});
  desk_.take({second});
  settle();
  EXPECT_EQ(desk_.question(), "");
  EXPECT_EQ(loaded(), Names{second});
}

TEST_F(OwnKernelsDeskTest, ANoIsAskedAboutAgain) {
  desk_.take({file("a.cpp")});
  settle();
  desk_.answer(false);
  EXPECT_EQ(loaded(), Names{});
  desk_.take({file("a.cpp"), file("b.cpp")});
  settle();
  EXPECT_TRUE(desk_.question().starts_with("2 files are code")) << desk_.question();
}

TEST_F(OwnKernelsDeskTest, AFileOfARunIsAskedAboutEachTime) {
  desk_.take({file("mine.cpp")});
  settle();
  desk_.answer(true);
  loaded();
  static_cast<void>(file("run/metrics.jsonl"));
  for (int turn = 0; turn < 2; ++turn) {
    desk_.take({file("run/kernels/theirs.cpp")});
    settle();
    EXPECT_NE(desk_.question().find("whoever wrote that run"), std::string::npos) << desk_.question();
    EXPECT_EQ(loaded(), Names{});
    desk_.answer(true);
    EXPECT_EQ(loaded().size(), 1u);
  }
}

TEST_F(OwnKernelsDeskTest, AFolderIsWatched) {
  desk_.take({folder_.path()});
  settle();
  EXPECT_NE(desk_.question().find("now and later"), std::string::npos) << desk_.question();
  desk_.answer(true);
  const auto commands = desk_.take_commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_TRUE(std::get<training::WatchKernels>(commands.front()).on);
}

TEST_F(OwnKernelsDeskTest, WhatIsMadeHereIsLoadedAtOnceAndReplacesNothing) {
  const NewKernel wanted{Op::relu_forward, false, folder_.path().string(), "my_relu.cpp"};
  desk_.make(wanted);
  settle();
  EXPECT_EQ(desk_.question(), "");
  EXPECT_EQ(desk_.take_made(), path_of(wanted));
  EXPECT_EQ(loaded(), Names{path_of(wanted).string()});
  desk_.make(wanted);
  settle();
  EXPECT_NE(desk_.error().find("is there already"), std::string::npos) << desk_.error();
  EXPECT_FALSE(desk_.take_made());
  EXPECT_EQ(loaded(), Names{});
}

TEST(NewKernel, IsOfTheOpThatTakesTheMostTime) {
  training::Snapshot snapshot;
  for (const auto& [op, microseconds] :
       {std::pair(Op::relu_forward, 5.0), std::pair(Op::conv2d_forward, 40.0),
        std::pair(Op::optimizer_update, 90.0)}) {
    training::OpTiming timing;
    timing.op = op;
    timing.layer = "layer";
    timing.microseconds = microseconds;
    snapshot.timings.push_back(timing);
  }
  snapshot.device.kind = core::DeviceKind::cuda;
  const NewKernel kernel = suggested(snapshot, services());
  EXPECT_EQ(kernel.op, Op::conv2d_forward);
  EXPECT_TRUE(kernel.cuda);
  EXPECT_EQ(kernel.name, "my_conv2d_forward.cu");
  EXPECT_EQ(why_not(kernel, services(), {}), "");
}

TEST(NewKernel, HasANameThatNoLoadedFileHas) {
  training::UserKernels loaded;
  loaded.kernels.resize(1);
  loaded.kernels.front().file = "/tmp/my_relu_forward.cpp";
  EXPECT_EQ(suggested_name(Op::relu_forward, false, loaded), "my_relu_forward_2.cpp");
  EXPECT_NE(why_not({Op::relu_forward, false, "/tmp", "my_relu_forward.cpp"}, services(), loaded), "");
}

TEST(NewKernel, SaysWhyItCannotBeMade) {
  core::DeviceInfo gpu;
  gpu.kind = core::DeviceKind::cuda;
  EXPECT_EQ(why_other_device(true, gpu), "");
  EXPECT_NE(why_other_device(false, gpu), "");
  EXPECT_NE(why_not({Op::relu_forward, false, "/tmp", ""}, services(), {}), "");
  EXPECT_NE(why_not({Op::relu_forward, false, "/tmp", "a/b.cpp"}, services(), {}), "");
  EXPECT_NE(why_not({Op::relu_forward, true, "/tmp", "a.cpp"}, services(), {}), "");
  EXPECT_NE(why_not({Op::relu_forward, false, "/tmp", ".cpp"}, services(), {}), "");
  EXPECT_EQ(why_not({Op::optimizer_update, false, "/tmp", "a.cpp"}, services(), {}),
            "Nobody can write kernels of optimizer.update: it reads the control block.");
  EXPECT_NE(why_not({Op::relu_forward, false, "/tmp", "a.cpp"}, {}, {}), "");
}

TEST_F(OwnKernelsDeskTest, MakesAFileOfTheLessonAndAsksAboutOneThatWasThere) {
  KernelServices lesson = services();
  const fs::path folder = folder_.path();
  lesson.write_example = [folder](const std::string& name, const fs::path&, bool& is_new) {
    is_new = !fs::exists(folder / name);
    if (is_new) tests::write_text(folder / name, "an example");
    return folder / name;
  };
  desk_.serve(lesson);
  desk_.make_example("1_naive.cpp");
  settle();
  const std::vector<training::Command> commands = desk_.take_commands();
  ASSERT_EQ(commands.size(), 1u);
  EXPECT_EQ(std::get<training::LoadKernel>(commands[0]).file, (folder / "1_naive.cpp").string());
  EXPECT_TRUE(std::get<training::LoadKernel>(commands[0]).apply_when_proved);
  EXPECT_EQ(desk_.take_made(), folder / "1_naive.cpp");
  file("2_order.cpp");
  desk_.make_example("2_order.cpp");
  settle();
  EXPECT_TRUE(desk_.question().starts_with("2_order.cpp is code")) << "somebody else may have written it";
  EXPECT_EQ(loaded(), Names{});
  EXPECT_FALSE(desk_.take_made());
  desk_.answer(true);
  EXPECT_EQ(loaded(), Names{(folder / "2_order.cpp").string()});
}

}  // namespace
}  // namespace warpscope::ui::own_kernels_desk_test
