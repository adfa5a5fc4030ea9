// Kernels that people write, from their files to a verdict: the program itself is the trial process.

#include "gpu/user_kernels/kernels.h"

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/plan/selection.h"
#include "gpu/user_kernels/cache.h"
#include "gpu/user_kernels/watch.h"

namespace warpscope::user_kernels::kernels_test {
namespace {

namespace fs = std::filesystem;
using ops::Op;

class UserKernels : public testing::Test {
 protected:
  UserKernels() : folder_(fs::path(testing::TempDir()) / fmt::format("user_kernels_{}", ::getpid())) {
    fs::create_directories(folder_);
    compiling_.cache = folder_;
    trial_.program = WARPSCOPE_PROGRAM;
  }
  ~UserKernels() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  /// A kernel of relu.forward.
  Kernel tried(const std::string& name, const std::string& body) const {
    const std::string text =
        "#include <warpscope/relu.forward.h>\nWARPSCOPE_KERNEL(call) {\n" + body + "\n}\n";
    return try_kernel(write(name + ".cpp", text), compiling_, trial_);
  }

  fs::path folder_;
  CompileOptions compiling_;
  TrialOptions trial_;
};

constexpr const char* kRight =
    "for (Index i = 0; i < call.output.size(); ++i) call.output[i] = call.input[i] < 0 ? 0 : call.input[i];";

TEST_F(UserKernels, NewFilesReplaceNothing) {
  const fs::path file = folder_ / "new.cpp";
  const std::string text = template_of(Op::relu_forward, Language::cpp, "new.cpp");
  write_new(file, text);
  EXPECT_EQ(read_source(file).op, Op::relu_forward);
  std::ofstream(file) << "mine";
  EXPECT_THROW(write_new(file, text), core::BadInput);
  EXPECT_EQ(fs::file_size(file), 4u);
  EXPECT_THROW(write_new(folder_ / "gone" / "new.cpp", text), core::BadInput);
}

TEST_F(UserKernels, BeginAsFilesThatAreRight) {
  EXPECT_GE(offered_ops().size(), 7u);
  for (const Op op : offered_ops()) {
    const std::string text = template_of(op, Language::cpp, "mine.cpp");
    const Kernel kernel = try_kernel(write("mine.cpp", text), compiling_, trial_);
    EXPECT_TRUE(kernel.usable()) << ops::to_string(op) << ": " << refusal(kernel) << "\n" << text;
    EXPECT_EQ(kernel.source.op, op);
    EXPECT_EQ(kernel.source.variant, "user:mine");
  }
}

TEST_F(UserKernels, EndTheirTrialsWithASentenceThatNamesWhatHappened) {
  struct Fault {
    const char* name;
    std::string body;
    const char* sentence;  ///< behind "relu.forward user:NAME "
  };
  trial_.call_seconds = 0.5;
  const std::string right = kRight;
  const Fault faults[] = {
      {"reads_outside", "\ncall.output[0] = call.input[call.input.size()];",
       "leaves the operand 'input' at line 4: its element is 4 there, and may be 0 to 3, on 1x2x2x1"},
      {"writes_outside", "call.output(0, 0, -1, 0) = 1;",
       "leaves the operand 'output' at line 3: its index 3 is -1 there, and may be 0 to 1, on 1x2x2x1"},
      {"writes_past", right + "call.output.data()[call.output.size()] = 1;",
       "wrote past the end of the operand 'output'"},
      {"hangs", "call.output[0] = 1;\nfor (volatile int i = 1; i != 0;) {}",
       "does not end within 0.5 s, last at line 3"},
      {"points_nowhere", "*reinterpret_cast<volatile int*>(16) = 1;", "touches memory that is not its own"},
      {"divides", "volatile int zero = 0;\ncall.output[0] = static_cast<float>(7 / zero);",
       "divides a whole number by zero"},
      {"traps", "__builtin_trap();", "runs into an instruction"},
      {"aborts", "__builtin_abort();", "calls abort()"},
      {"exits", "__builtin_exit(0);", "ends its process, with exit code 0"},
      {"throws", "throw 1;", "threw an exception on 1x2x2x1"},
      {"hangs_at_its_end",
       "static const struct Last { ~Last() { for (volatile int i = 1; i != 0;) {} } } last;\n" + right,
       "does not end within 0.5 s when it is unloaded"},
      {"gives_nan", "for (Index i = 0; i < call.output.size(); ++i) call.output[i] = __builtin_nanf(\"\");",
       "gives NaN for output(0, 0, 0, 0), where "},
      {"is_wrong", right + "call.output(0, 1, 0, 0) = 7;", "gives 7 for output(0, 1, 0, 0), where "},
      {"leaves_some",
       "for (Index i = 0; i + 1 < call.output.size(); ++i) call.output[i] = call.input[i] < 0 ? 0 : "
       "call.input[i];",
       "does not write output(0, 1, 1, 0), on 1x2x2x1"},
      {"changes_inputs", right + "const_cast<float*>(call.input.data())[0] += 1;",
       "changed the operand 'input', which it may only read"},
      {"keeps_results",
       "static const float* where;\nstatic float kept[1 << 20];\nif (where != call.input.data()) for (Index "
       "i = 0; i < "
       "call.input.size(); ++i) kept[i] = call.input[i] < 0 ? 0 : call.input[i];\nwhere = "
       "call.input.data();\nfor (Index i = "
       "0; i < call.output.size(); ++i) call.output[i] = kept[i];",
       "where other numbers lie in the same memory"},
  };
  for (const Fault& fault : faults) {
    const Kernel kernel = tried(fault.name, fault.body);
    ASSERT_TRUE(kernel.compiled.errors.empty()) << refusal(kernel);
    EXPECT_FALSE(kernel.verdict.proved) << fault.name;
    const std::string told = kernel.verdict.sentence;
    EXPECT_TRUE(told.starts_with(fmt::format("relu.forward user:{} ", fault.name))) << told;
    EXPECT_NE(told.find(std::string(fault.sentence).substr(0, std::string(fault.sentence).find(", which"))),
              std::string::npos)
        << told;
    EXPECT_THROW(loaded(kernel), std::logic_error);
  }
}

TEST_F(UserKernels, ThatDoNotCompileTellLineColumnAndText) {
  const Kernel kernel = tried("typo", "  call.output[0] = \x1b inptu[0];\n  call.output(0, 0) = 1;");
  ASSERT_GE(kernel.compiled.errors.size(), 2u);
  bool found = false;
  for (const Diagnostic& each : kernel.compiled.errors) {
    if (each.line != 3 || each.message.find("inptu") == std::string::npos) continue;
    found = true;
    EXPECT_EQ(each.file, "typo.cpp");
    EXPECT_EQ(each.column, 22);
    EXPECT_NE(to_string(each).find("typo.cpp:3:22: "), std::string::npos);
    EXPECT_NE(to_string(each).find("call.output[0] = \\x1b inptu[0];\n"), std::string::npos)
        << to_string(each);
  }
  EXPECT_TRUE(found);
  EXPECT_EQ(kernel.compiled.errors.back().line, 4);
  EXPECT_FALSE(kernel.usable());
}

TEST_F(UserKernels, AreCompiledAnewOnlyWhereTheyOrTheirHeadersChange) {
  write("factor.h", "constexpr float kFactor = 1;\n");
  const std::string text =
      "#include \"factor.h\"\n#include <warpscope/relu.forward.h>\nWARPSCOPE_KERNEL(call) {\n"
      "  for (Index i = 0; i < call.output.size(); ++i) call.output[i] = call.input[i] < 0 ? 0 : kFactor * "
      "call.input[i];\n}\n";
  const Source source = read_source(write("scaled.cpp", text));
  const Compilation first = compile(source, compiling_);
  ASSERT_TRUE(first.errors.empty());
  EXPECT_FALSE(first.cached);
  EXPECT_TRUE(prove(source, first, trial_).proved);
  EXPECT_TRUE(compile(source, compiling_).cached);
  write("factor.h", "constexpr float kFactor = 2;\n");
  const Compilation other = compile(source, compiling_);
  EXPECT_FALSE(other.cached);
  EXPECT_NE(other.fast, first.fast) << "who has loaded the one before would get it again";
  EXPECT_FALSE(prove(source, other, trial_).proved);
}

TEST_F(UserKernels, ThatAreFoundCompiledCountAsUsedAndThePrunedAreMadeAgain) {
  const Source source = read_source(write(
      "again.cpp",
      std::string("#include <warpscope/relu.forward.h>\nWARPSCOPE_KERNEL(call) {\n") + kRight + "\n}\n"));
  const Compilation first = compile(source, compiling_);
  ASSERT_TRUE(first.errors.empty());
  const auto before = fs::last_write_time(first.fast) - std::chrono::hours(24 * 40);
  for (const fs::directory_entry& each : fs::directory_iterator(folder_)) {
    if (each.is_regular_file()) fs::last_write_time(each.path(), before);
  }
  EXPECT_TRUE(compile(source, compiling_).cached);
  prune(folder_);
  EXPECT_TRUE(compile(source, compiling_).cached) << "it was used just before";
  fs::last_write_time(first.fast, before);
  prune(folder_);
  const Compilation again = compile(source, compiling_);
  EXPECT_FALSE(again.cached);
  EXPECT_TRUE(again.errors.empty());
  EXPECT_TRUE(fs::exists(again.fast));
}

TEST_F(UserKernels, AreTimedBesideTheOthersOnTheShapesOfATraining) {
  const Kernel before = tried("before", kRight);
  const Kernel kernel = tried("mine", std::string(kRight) + "  // again");
  ASSERT_TRUE(before.usable() && kernel.usable()) << refusal(before) << refusal(kernel);
  trial_.shapes = {{.batch = 8, .height = 16, .width = 16, .in_channels = 4, .out_channels = 4},
                   {.batch = 2, .height = 4, .width = 4, .in_channels = 4, .out_channels = 4}};
  const Times times = time_kernel(kernel.source, kernel.compiled,
                                  {{before.source.variant, 3, before.source, before.compiled.fast}}, trial_);
  EXPECT_EQ(times.sentence, "");
  for (const std::size_t shape : {0u, 1u}) {
    for (const char* name : {"", "user:before", "loops"}) {
      const auto found = std::ranges::find_if(
          times.calls, [&](const TimedCall& call) { return call.shape == shape && call.variant == name; });
      ASSERT_NE(found, times.calls.end()) << name;
      EXPECT_GT(found->median, 0);
      EXPECT_GE(found->samples, 3);
      EXPECT_EQ(found->version, std::string(name) == "user:before" ? 3 : 0);
    }
  }
}

TEST_F(UserKernels, ThatFailOnlyOnLargeShapesOfATrainingAreToldWhereTheyAreTimed) {
  const Kernel kernel =
      tried("large", "if (call.output.size() > 1000000) __builtin_trap();\n" + std::string(kRight));
  ASSERT_TRUE(kernel.usable()) << refusal(kernel);
  trial_.shapes = {{.batch = 64, .height = 64, .width = 64, .in_channels = 8, .out_channels = 8}};
  const std::string told = time_kernel(kernel.source, kernel.compiled, {}, trial_).sentence;
  EXPECT_TRUE(told.starts_with("relu.forward user:large runs into an instruction")) << told;
  EXPECT_NE(told.find("on 64x64x64x8"), std::string::npos) << told;
  EXPECT_NE(told.find("right on smaller shapes"), std::string::npos) << told;
}

TEST_F(UserKernels, AreMadeOfTheirFileAndOfHeadersAlsoOfThoseThatAreNotThereYet) {
  const fs::path file = write("made.cpp", "#include \"near.h\"\n#include <warpscope/relu.forward.h>\n");
  write("near.h", " #  include \"deep.h\" // more\n#include <vector>\n");
  const std::vector<fs::path> files = files_behind(file, {folder_ / "far"});
  EXPECT_EQ(files, (std::vector<fs::path>{file, folder_ / "near.h", folder_ / "deep.h",
                                          folder_ / "far/deep.h", folder_ / "far/vector"}));
  const auto looks = look_at(files);
  const std::string sum = checksum_of_all(files);
  EXPECT_EQ(look_at(files), looks);
  write("deep.h", "");
  EXPECT_NE(look_at(files), looks);
  EXPECT_NE(checksum_of_all(files), sum);
}

TEST_F(UserKernels, AreMadeOfTheHeadersThatARunKeepsBesideThem) {
  fs::create_directories(folder_ / "mine/sub");
  fs::create_directories(folder_ / "common");
  fs::create_directories(folder_ / "far");
  write("mine/sub/near.h", "#include \"deep.h\"\n");
  write("mine/sub/deep.h", "constexpr float kOne = 1;\n");
  write("common/zero.h", "constexpr float kZero = 0;\n");
  write("far/far.h", "#include <vector>\n");
  const fs::path file = write(
      "mine/kept.cpp",
      "#include \"sub/near.h\"\n#include \"../common/zero.h\"\n#include <far.h>\n"
      "#include <warpscope/relu.forward.h>\nWARPSCOPE_KERNEL(call) {\n"
      "  for (Index i = 0; i < call.output.size(); ++i) call.output[i] = call.input[i] < kZero ? kZero : "
      "kOne * call.input[i];\n}\n");
  const std::vector<Header> headers = headers_of(file, {folder_ / "far"});
  ASSERT_EQ(headers.size(), 4u);
  EXPECT_EQ(headers[0], (Header{"sub/near.h", "#include \"deep.h\"\n"}));
  EXPECT_EQ(headers[1].name, "../common/zero.h");
  EXPECT_EQ(headers[2].name, "far.h");
  EXPECT_EQ(headers[3].name, "sub/deep.h");

  const fs::path kept = folder_ / "run/kept.2.cpp";
  fs::create_directories(kept_headers_of(kept));
  fs::copy_file(file, kept);
  for (const Header& each : headers) {
    fs::create_directories((kept_headers_of(kept) / each.name).parent_path());
    std::ofstream(kept_headers_of(kept) / each.name) << each.text;
  }
  fs::remove_all(folder_ / "mine");
  fs::remove_all(folder_ / "common");
  const Source source = read_source(kept);
  const Compilation made = compile(source, compiling_);
  EXPECT_TRUE(made.errors.empty()) << to_string(made.errors.front());
  EXPECT_EQ(source.variant, "user:kept");
  EXPECT_EQ(headers_of(kept, {}).size(), 4u) << "who goes on with the run keeps them as well";
}

TEST_F(UserKernels, RunWhereTheyAreChosenOnlyAndAVersionLastsAsLongAsItsTable) {
  const auto code = std::make_shared<int>();
  const auto version = [&](const char* summary) {
    ops::Variant made{.op = Op::relu_forward, .name = "user:mine", .summary = summary};
    made.launch = [held = code](const ops::OpCall&) {};
    return made;
  };
  const auto before = code.use_count();
  ops::Variants first = ops::with_variant(*ops::built_in_variants(), version("one"));
  EXPECT_THROW(ops::with_variant(*first, version("two")), core::BadInput);
  ops::Variants second = ops::with_new_version(*first, version("two"));
  EXPECT_EQ(first->size(), second->size());
  EXPECT_EQ(ops::without_variant(*second, Op::relu_forward, core::DeviceKind::cpu, "user:mine")->size(),
            ops::built_in_variants()->size());
  const core::DeviceInfo cpu;
  const ops::Variant* found = ops::find_variant(*first, Op::relu_forward, core::DeviceKind::cpu, "user:mine");
  EXPECT_EQ(found->summary, "one") << "plans of the table before go on with it";
  first.reset();
  EXPECT_EQ(code.use_count(), before + 1) << "it goes with the last of them";
  const plan::Machine machine(cpu, *second);
  EXPECT_NE(plan::automatic_variant(Op::relu_forward, machine, core::Precision::fp32)->name, "user:mine");
  plan::Selection selection;
  plan::apply(selection, "relu.forward=user:mine", machine);
  EXPECT_EQ(plan::selection_text(selection), "relu.forward=user:mine");
}

TEST_F(UserKernels, OfOtherFilesAreRefusedWithWhatIsMissing) {
  const auto refused = [&](const std::string& name, const std::string& text) {
    try {
      read_source(write(name, text));
    } catch (const core::BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_NE(refused("a.txt", "").find("ends in .cpp"), std::string::npos);
  EXPECT_NE(refused("a.cpp", "int x;").find("includes no header of an operation"), std::string::npos);
  EXPECT_NE(refused("a.cpp", "#include <warpscope/step.record.h>").find("valid: conv2d.forward"),
            std::string::npos);
  EXPECT_NE(refused("a.cpp", "#include <warpscope/relu.forward.h>\n#include <warpscope/bias.forward.h>")
                .find("two operations"),
            std::string::npos);
  ASSERT_EQ(::mkfifo((folder_ / "pipe.cpp").c_str(), 0600), 0);
  EXPECT_THROW(read_source(folder_ / "pipe.cpp"), core::BadInput) << "nobody waits for who writes into it";
  EXPECT_EQ(refused("a.cpp", "#include <warpscope/relu.forward.h>\r\n"), "");
  EXPECT_EQ(variant_name_of("a/My conv-2.cpp"), "user:my_conv_2");
  EXPECT_EQ(variant_name_of("run/kernels/my_conv.2.cpp"), "user:my_conv") << "as a run keeps it";
  EXPECT_EQ(variant_name_of("my_conv.v2.cpp"), "user:my_conv_v2");
}

TEST_F(UserKernels, ErrorsOfOtherCompilersAreReadToo) {
  const Source source = source_of("mine.cu", "#include <warpscope/relu.forward.h>\nbad line\n");
  const auto nvrtc =
      diagnostics_in("warpscope_user_kernel(2): error: identifier \"bad\" is undefined\n", source);
  ASSERT_EQ(nvrtc.size(), 1u);
  EXPECT_EQ(to_string(nvrtc[0]), "mine.cu:2: identifier \"bad\" is undefined\n    bad line");
  const auto inside = diagnostics_in(
      "warpscope_user_kernel:2:5:   required from here\n/usr/include/x.h:7:1: error: static assertion "
      "failed\n",
      source);
  ASSERT_EQ(inside.size(), 1u);
  EXPECT_EQ(inside[0].line, 2);
  EXPECT_EQ(diagnostics_in("Killed\n", source)[0].message, "Killed");
  EXPECT_EQ(diagnostics_in("c++: fatal error: Killed signal terminated program cc1plus\n", source)[0].file,
            "mine.cu");
  EXPECT_EQ(diagnostics_in("ld: no space\ncollect2: error: ld returned 1 exit status\n", source)[0].message,
            "ld: no space");
}

TEST_F(UserKernels, RacesAreToldAsTheToolTellsThem) {
  EXPECT_EQ(
      races_in("========= COMPUTE-SANITIZER\n========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 "
               "warnings)\n"),
      "");
  EXPECT_EQ(
      races_in(
          "========= COMPUTE-SANITIZER\n"
          "========= Error: Race reported between Write access at warpscope_kernel_run+0x90 in mine.cu:9\n"
          "=========     and Read access at warpscope_kernel_run+0xa0 in mine.cu:10 [252 hazards]\n"
          "=========\n"
          "========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)\n"),
      "races in shared memory: Write access at warpscope_kernel_run+0x90 in mine.cu:9 and Read access at "
      "warpscope_kernel_run+0xa0 in mine.cu:10 [252 hazards]");
  for (const char* output : {"", "========= Error: Target application returned an error\n"})
    EXPECT_THROW(races_in(output), core::Error) << output;
  const Source source = source_of("mine.cpp", "#include <warpscope/relu.forward.h>\n");
  EXPECT_THROW(racecheck(source, {}, trial_), core::BadInput) << "of a kernel for the CPU";
}

}  // namespace
}  // namespace warpscope::user_kernels::kernels_test
