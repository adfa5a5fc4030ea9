// Measurements that are kept in files, which may be damaged, of others, or not be written.

#include "gpu/profiling/measured_store.h"

#include <nlohmann/json.hpp>
#include <string>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::profiling::measured_store_test {
namespace {

Measurement measurement() {
  Measurement measured;
  measured.choices = {{"relu.forward fp32 8x1x1x6>1", {"loops", 1.5, "onednn", 9.25}}};
  measured.step_microseconds = 100;
  measured.by_rules_microseconds = 120;
  return measured;
}

TEST(MeasuredStore, KeepsWhatWasMeasured) {
  const tests::TemporaryFolder folder;
  const MeasuredStore store(folder / "not" / "yet");
  std::string warning;
  EXPECT_FALSE(store.find("a", warning));
  store.keep("a", measurement());
  store.keep("b", {});
  const auto found = store.find("a", warning);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->choices, measurement().choices);
  EXPECT_EQ(found->step_microseconds, 100);
  EXPECT_TRUE(store.find("b", warning)->choices.empty());
  EXPECT_EQ(warning, "");
}

TEST(MeasuredStore, TellsOfDamagedFilesAndReplacesThem) {
  const tests::TemporaryFolder folder;
  const MeasuredStore store(folder.path());
  store.keep("a", measurement());
  const std::string whole = tests::read_text(store.file_of("a"));
  std::string other = whole;
  other.replace(other.find("loops"), 5, "lo\\u0007");
  std::string endless = whole;
  endless.replace(endless.find("9.25"), 4, "-1.0");
  for (const std::string& text : {std::string(), whole.substr(0, whole.size() / 2), std::string("[1]"),
                                  std::string(R"({"format": "1"})"), other, endless}) {
    tests::write_text(store.file_of("a"), text);
    std::string warning;
    EXPECT_FALSE(store.find("a", warning)) << text;
    EXPECT_TRUE(tests::holds(warning, {store.file_of("a").string(), " is damaged"}));
  }
  store.keep("a", measurement());
  std::string warning;
  EXPECT_TRUE(store.find("a", warning));
}

TEST(MeasuredStore, KeysTellWhatATimeDependsOn) {
  const ops::Context cpu(core::open_device("cpu"));
  const models::Model model = tests::tiny_classifier();
  const std::string key = measurement_key(cpu, model, {.batch = 8}, {});
  EXPECT_EQ(measurement_key(cpu, model, {.batch = 8}, {}), key);
  EXPECT_NE(measurement_key(cpu, model, {.batch = 9}, {}), key);
  EXPECT_NE(measurement_key(cpu, model, {.batch = 8}, {core::Precision::bf16, {}}), key);
  EXPECT_NE(measurement_key(cpu, model, {.batch = 8}, {{}, {{ops::Op::relu_forward, "loops"}}}), key);
  EXPECT_TRUE(tests::holds(key, {cpu.device->info().name, "linear.forward fp32 8x1x1x64>6"}));
}

TEST(MeasuredStore, WhatCannotBeKeptIsToldAndUsed) {
  const tests::TemporaryFolder folder;
  tests::write_text(folder / "file", "no folder");
  MeasureOptions stopped;
  stopped.go_on = [] { return false; };
  const ops::Context cpu(core::open_device("cpu"));
  EXPECT_FALSE(find_or_measure(cpu, tests::tiny_classifier(), {.batch = 2}, {}, folder / "file", stopped)
                   .measurement.final);
  EXPECT_THROW(MeasuredStore(folder / "file").keep("a", measurement()), core::Error);
  EXPECT_EQ(tests::read_text(folder / "file"), "no folder");
}

TEST(MeasuredStore, IsFoundInsteadOfMeasuring) {
  const tests::TemporaryFolder folder;
  const ops::Context cpu(core::open_device("cpu"));
  const models::Model model = tests::tiny_classifier();
  MeasuredStore(folder.path()).keep(measurement_key(cpu, model, {.batch = 2}, {}), measurement());
  MeasureOptions never;
  never.stopwatch = [](core::Device&, core::Stream&) -> Stopwatch { throw core::Error("measured anew"); };
  const FoundMeasurement found = find_or_measure(cpu, model, {.batch = 2}, {}, folder.path(), never);
  EXPECT_TRUE(found.kept_before);
  EXPECT_EQ(found.measurement.choices, measurement().choices);
  EXPECT_EQ(describe(found),
            "measured before: 1 kind of calls by other variants, 100 \u00b5s a step instead of 120 \u00b5s");
}

}  // namespace
}  // namespace warpscope::profiling::measured_store_test
