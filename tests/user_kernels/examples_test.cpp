// The lesson's kernels, what a GPU's compiler is told and tells, and kernels of chains of ops. Nothing here needs a
// GPU.

#include "gpu/user_kernels/examples.h"

#include <filesystem>
#include <fstream>
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/user_kernels/gpu_build.h"
#include "gpu/user_kernels/kernels.h"
#include "gpu/user_kernels/nvrtc.h"

namespace warpscope::user_kernels::examples_test {
namespace {

namespace fs = std::filesystem;

class ExampleKernels : public testing::Test {
 protected:
  ExampleKernels() : folder_(fs::path(testing::TempDir()) / fmt::format("example_kernels_{}", ::getpid())) {
    fs::create_directories(folder_);
    compiling_.cache = folder_;
    compiling_.compute_capability = 90;
    trial_.program = WARPSCOPE_PROGRAM;
  }
  ~ExampleKernels() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path write(std::string_view name, std::string_view text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  Compilation compiled(std::string_view name, std::string_view text) const {
    return compile(read_source(write(name, text)), compiling_);
  }

  fs::path folder_;
  CompileOptions compiling_;
  TrialOptions trial_;
};

TEST_F(ExampleKernels, RiseInOneOrderAndSayWhatTheyAdd) {
  int gpu = 0, cpu = 0;
  for (const Example& each : examples()) {
    const int place = each.language == Language::cuda ? ++gpu : ++cpu;
    EXPECT_TRUE(each.name.starts_with(fmt::format("{}_", place))) << each.file;
    EXPECT_TRUE(each.adds.ends_with('.')) << each.adds;
    EXPECT_EQ(find_example(each.name, each.language).text, each.text);
    EXPECT_EQ(read_source(write(each.file, each.text)).task().op, task_of(each.of).op);
  }
  EXPECT_EQ(gpu, 6);
  EXPECT_GE(cpu, 3);
  EXPECT_THROW(find_example("2_tiles", Language::cpp), core::BadInput);
}

TEST_F(ExampleKernels, OfTheCpuAreRight) {
  for (const Example& each : examples()) {
    if (each.language != Language::cpp) continue;
    const Kernel kernel = try_kernel(write(each.file, each.text), compiling_, trial_);
    EXPECT_TRUE(kernel.usable()) << each.file << ": " << refusal(kernel);
  }
}

TEST_F(ExampleKernels, OfAGpuAreTakenByNvrtc) {
  if (!no_nvrtc().empty()) GTEST_SKIP() << no_nvrtc();
  for (const Example& each : examples()) {
    if (each.language != Language::cuda) continue;
    const Compilation made = compiled(each.file, each.text);
    EXPECT_TRUE(made.errors.empty()) << to_string(made.errors.front());
  }
}

TEST_F(ExampleKernels, WhatAGpuCannotLaunchIsToldWhereItIsCompiled) {
  if (!no_nvrtc().empty()) GTEST_SKIP() << no_nvrtc();
  const std::string include = "#include <warpscope/relu.forward.h>\n", body = "{ call.output[0] = 1; }\n";
  const auto told = [&](const std::string& text) {
    const Compilation made = compiled("wrong.cu", include + text);
    return made.errors.empty() ? "" : made.errors.front().message;
  };
  EXPECT_EQ(told("WARPSCOPE_KERNEL(call) " + body),
            "WARPSCOPE_LAUNCH(call, THREADS, BLOCKS) has to stand before WARPSCOPE_KERNEL");
  EXPECT_EQ(told("WARPSCOPE_LAUNCH(call, 32, 1)\n"), "the file has no WARPSCOPE_KERNEL(call) { ... }");
  EXPECT_NE(told("WARPSCOPE_LAUNCH(call, 2048, 1)\nWARPSCOPE_KERNEL(call) " + body)
                .find("a block has 1 to 1,024 threads"),
            std::string::npos);
  EXPECT_TRUE(told("WARPSCOPE_LAUNCH(call, 32, 1)\nWARPSCOPE_KERNEL(call) { __shared__ float x[1 << 16]; "
                   "x[threadIdx.x] = 1; call.output[0] = x[0]; }\n")
                  .starts_with("a block uses 262144 bytes of shared memory, and may use "));
}

TEST_F(ExampleKernels, OfAChainAreGivenItsOperandsAndHeldAgainstAllOfIt) {
  const Task task = parse_offered_task("linear.forward+bias.forward+relu.forward");
  EXPECT_EQ(to_string(task), "linear.forward+bias.forward+relu.forward");
  EXPECT_NE(header_of(task).find("View<const float, 1> bias;"), std::string::npos) << header_of(task);
  for (const Task& each : offered_tasks()) {
    if (each.chain.empty()) continue;
    const std::string text = template_of(each, Language::cpp, "fused.cpp");
    const Kernel kernel = try_kernel(write("fused.cpp", text), compiling_, trial_);
    EXPECT_TRUE(kernel.usable()) << to_string(each) << ": " << refusal(kernel);
    EXPECT_EQ(loaded(kernel).chain.size(), 3u);
    std::string wrong = text;
    const std::string_view biased = "float sum = call.bias(k)";
    wrong.replace(wrong.find(biased), biased.size(), "float sum = 0");
    const std::string told = refusal(try_kernel(write("wrong.cpp", wrong), compiling_, trial_));
    EXPECT_NE(told.find(" is right: a relative error of "), std::string::npos) << told;
  }
  EXPECT_THROW(parse_offered_task("linear.forward+relu.forward"), core::BadInput);
  EXPECT_THROW(parse_offered_task("+"), core::BadInput);
}

TEST(InstructionMixes, CountWhatCuobjdumpWritesOfTheKernel) {
  const InstructionMix mix = mix_in(
      "\tFunction : warpscope_kernel_launch\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;        /* 0x00000a00ff017b82 */\n"
      "\tFunction : warpscope_kernel_run\n"
      "\t.headerflags\t@\"EF_CUDA_SM90\"\n"
      "        /*0000*/                   LDC R1, c[0x0][0x28] ;        /* 0x00000a00ff017b82 */\n"
      "                                                                 /* 0x000fe40000000f00 */\n"
      "        /*0010*/              @!P0 FFMA R1, R2, R3, R4 ;         /* 0x0000000000000000 */\n"
      "        /*0020*/                   FFMA.FTZ R1, R2, R3, R4 ;     /* 0x0000000000000000 */\n"
      "        /*0030*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ; /* 0x0000000000000000 */\n"
      "        /*0040*/                   EXIT ;                        /* 0x0000000000000000 */\n"
      "        /*0050*/                   NOP;                          /* 0x0000000000000000 */\n");
  EXPECT_EQ(to_string(mix), "2 FFMA, 1 LDC, 1 BAR, 1 others");
}

}  // namespace
}  // namespace warpscope::user_kernels::examples_test
