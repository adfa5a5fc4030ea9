// What a run keeps of kernels that people write.

#include "gpu/runs/run_kernels.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/files/text.h"

namespace warpscope::runs::run_kernels_test {
namespace {

namespace fs = std::filesystem;

class RunKernels : public testing::Test {
 protected:
  RunKernels() : run_(fs::path(testing::TempDir()) / fmt::format("run_kernels_{}", ::getpid())) {
    fs::create_directories(run_);
  }
  ~RunKernels() override {
    std::error_code ignored;
    fs::remove_all(run_, ignored);
  }

  static KernelFile kernel(const std::string& text, std::vector<user_kernels::Header> headers = {}) {
    return {ops::Op::relu_forward, "user:mine", "mine.cpp", text, std::move(headers)};
  }
  std::string text_of(const nlohmann::json& name) const {
    return files::read_text(run_ / name.get<std::string>());
  }

  fs::path run_;
};

TEST_F(RunKernels, AreKeptWithTheirHeadersWhereACompilerFindsThem) {
  const nlohmann::json kept =
      keep_kernels(run_, {kernel("text", {{"near.h", "near"}, {"../common/far.h", "far"}})});
  ASSERT_EQ(kept.size(), 1u);
  EXPECT_EQ(kept[0]["file"], "kernels/mine.cpp");
  ASSERT_EQ(kept[0]["headers"].size(), 2u);
  EXPECT_EQ(kept[0]["headers"][0], "kernels/mine.headers/beside/near.h");
  EXPECT_EQ(kept[0]["headers"][1], "kernels/mine.headers/common/far.h");
  EXPECT_EQ(text_of(kept[0]["file"]), "text");
  EXPECT_EQ(text_of(kept[0]["headers"][0]), "near");
  EXPECT_EQ(text_of(kept[0]["headers"][1]), "far");
}

TEST_F(RunKernels, AreAnotherVersionWhereOnlyAHeaderIsAnother) {
  const KernelFile first = kernel("text", {{"near.h", "one"}});
  const KernelFile second = kernel("text", {{"near.h", "two"}});
  const nlohmann::json kept = keep_kernels(run_, {first, second, kernel("text"), first});
  ASSERT_EQ(kept.size(), 3u) << "the same version is kept once";
  EXPECT_EQ(kept[0]["file"], "kernels/mine.2.cpp");
  EXPECT_EQ(text_of(kept[0]["headers"][0]), "two");
  EXPECT_EQ(kept[1]["file"], "kernels/mine.3.cpp");
  EXPECT_FALSE(kept[1].contains("headers"));
  EXPECT_EQ(kept[2]["file"], "kernels/mine.cpp") << "the newest last";
  EXPECT_EQ(text_of(kept[2]["headers"][0]), "one");
  EXPECT_EQ(keep_kernels(run_, {first, second}).size(), 2u);
}

}  // namespace
}  // namespace warpscope::runs::run_kernels_test
