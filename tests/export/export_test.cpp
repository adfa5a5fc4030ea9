#include "gpu/export/export.h"

#include <cstring>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/export/tf_record.h"
#include "gpu/files/safetensors.h"
#include "gpu/runs/find_checkpoint.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::export_test {
namespace {

using tests::marker_line;
using tests::step_line;
using tests::test_line;

class ExportTest : public testing::Test {
 protected:
  runs::Run run_of(const std::string& lines) {
    tests::make_run(path(), tests::run_head("finished"), lines);
    return read_run(path());
  }
  std::filesystem::path path() const { return folder / "20260131T235959Z-1"; }
  const tests::TemporaryFolder folder;
};

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = text.find("\r\n", at);
    if (end == std::string::npos) break;
    lines.push_back(text.substr(at, end - at));
    at = end + 2;
  }
  return lines;
}

TEST_F(ExportTest, CsvHasARowAStep) {
  const runs::Run run = run_of(step_line(1, 0.384648204) + step_line(2, 0.5, R"(,"loss_scale":8)") +
                               test_line(2, 0.75) + step_line(3, 0.125));
  EXPECT_EQ(
      lines_of(csv_of(run.points)),
      (std::vector<std::string>{
          "step,epoch,seconds,train_loss,scheduled_rate,images_per_second,loss_scale,test_loss,test_psnr",
          "1,0.1,0.25,0.384648204,0.00499999989,100,,,", "2,0.2,0.5,0.5,0.00499999989,200,8,0.75,12.5",
          "3,0.3,0.75,0.125,0.00499999989,300,,,"}));
}

TEST_F(ExportTest, CsvHasARowAStepWithTheNewestTestAndAllMarkers) {
  const runs::Run run =
      run_of(test_line(0, 0.1) + step_line(2, 1) + marker_line(2, "a, \"b\"") + marker_line(2, "c") +
             R"({"step":2,"split":"validation","test_loss":0.3})"
             "\n" +
             test_line(2, 0.2) + test_line(2, 0.4) + marker_line(3, "d") + step_line(4, 2) +
             test_line(5, 0.5) + marker_line(6, "e") + marker_line(3, "back"));
  EXPECT_EQ(lines_of(csv_of(run.points)),
            (std::vector<std::string>{
                "step,epoch,seconds,train_loss,scheduled_rate,images_per_second,test_loss,"
                "test_psnr,validation_loss,markers",
                "0,0,0,,,,0.1,12.5,,", "2,0.2,0.5,1,0.00499999989,200,0.4,12.5,0.3,\"a, \"\"b\"\"; c\"",
                "3,,,,,,,,,d; back", "4,0.4,1,2,0.00499999989,400,,,,", "5,0.5,1.25,,,,0.5,12.5,,",
                "6,,,,,,,,,e"}));
}

TEST_F(ExportTest, CsvNumbersRoundTrip) {
  RunPoints points;
  MetricsLine line;
  const std::vector<double> values{1.0 / 3, 1e-300, 123456789.123456789, 1.7976931348623157e308, 0.1, 17};
  for (const double value : values) {
    line.step += 1;
    line.values = {{"train_loss", value}};
    points.add(line);
  }
  const std::vector<std::string> rows = lines_of(csv_of(points));
  ASSERT_EQ(rows.size(), values.size() + 1);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_EQ(std::stod(rows[i + 1].substr(rows[i + 1].rfind(',') + 1)), values[i]);
  }
  EXPECT_EQ(csv_cell("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_cell("\x1b[0m"), "\"\x1b[0m\"");
  EXPECT_EQ(csv_cell("plain text, \u00e4"), "\"plain text, \u00e4\"");
  EXPECT_EQ(csv_cell("plain text \u00e4"), "plain text \u00e4");
}

TEST_F(ExportTest, JsonHoldsEverything) {
  const runs::Run run = run_of(step_line(1, 0.5) +
                               R"({"step":2,"loss":null})"
                               "\n" +
                               test_line(1, 0.75) + marker_line(1, "m") + "x\n");
  const nlohmann::json parsed = nlohmann::json::parse(json_text(json_of(run)));
  EXPECT_EQ(parsed["run"]["configuration"]["batch"], 64);
  EXPECT_EQ(parsed["steps"]["step"], nlohmann::json({1, 2}));
  EXPECT_EQ(parsed["steps"]["train_loss"], nlohmann::json({0.5, nullptr}));
  EXPECT_EQ(parsed["tests"]["test_loss"], nlohmann::json::array({0.75}));
  EXPECT_EQ(parsed["markers"][0]["marker"], "m");
  EXPECT_EQ(parsed["damaged_lines"], 1);
}

TEST(TfRecordTest, Crc32cIsThatOfTheStandard) {
  // RFC 3720, section B.4, and the usual check value.
  EXPECT_EQ(crc32c(std::string(32, '\0')), 0x8A9136AAu);
  EXPECT_EQ(crc32c(std::string(32, '\xFF')), 0x62A8AB43u);
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c(""), 0u);
}

TEST(TfRecordTest, MessagesAreEncodedAsTheGuideSays) {
  // The examples of the encoding guide: field 1 = 150, field 2 = "testing".
  EXPECT_EQ(ProtoMessage().add_varint(1, 150).bytes(), "\x08\x96\x01");
  EXPECT_EQ(ProtoMessage().add_bytes(2, "testing").bytes(), "\x12\x07testing");
  EXPECT_EQ(ProtoMessage().add_varint(1, 0).bytes(), std::string("\x08\0", 2));
  EXPECT_EQ(ProtoMessage().add_float(2, 1.0f).bytes(), std::string("\x15\0\0\x80\x3F", 5));
  EXPECT_EQ(ProtoMessage().add_double(1, 1.0).bytes(), std::string("\x09\0\0\0\0\0\0\xF0\x3F", 9));
  EXPECT_EQ(ProtoMessage().add_varint(16, ~std::uint64_t{0}).bytes().size(), 12u);
}

TEST(TfRecordTest, ARecordIsFramed) {
  const std::string record = tf_record("abc");
  ASSERT_EQ(record.size(), 8u + 4 + 3 + 4);
  EXPECT_EQ(record.substr(0, 8), std::string("\x03\0\0\0\0\0\0\0", 8));
  EXPECT_EQ(record.substr(12, 3), "abc");
  std::uint32_t masked = 0;
  std::memcpy(&masked, record.data() + 15, 4);
  const std::uint32_t turned = masked - 0xA282EAD8u;
  EXPECT_EQ(turned >> 17 | turned << 15, crc32c("abc"));
}

TEST_F(ExportTest, TensorBoardTagsAreGroupedBySplit) {
  EXPECT_EQ(tensorboard_tag("train_loss"), "train/loss");
  EXPECT_EQ(tensorboard_tag("test_psnr"), "test/psnr");
  EXPECT_EQ(tensorboard_tag("validation_accuracy"), "validation/accuracy");
  EXPECT_EQ(tensorboard_tag("scheduled_rate"), "scheduled_rate");
}

TEST_F(ExportTest, TensorBoardShowsSettingsAsTheyAreNow) {
  runs::Run run = run_of(step_line(1, 0.5));
  run.head["current"] = run.head["configuration"];
  run.head["current"]["learning_rate"] = 0.25;
  const std::string events = tensorboard_events(run);
  EXPECT_NE(events.find("| learning\\_rate | 0.25 (at first 0.005) |\n"), std::string::npos);
  EXPECT_NE(events.find("| batch | 64 |\n"), std::string::npos);
}

TEST_F(ExportTest, TensorBoardFoldersAreNotMixedUp) {
  const runs::Run run = run_of(step_line(1, 0.5));
  export_tensorboard({run}, folder / "tb");
  const auto file = folder / "tb/events.out.tfevents.1769903999.warpscope";
  EXPECT_EQ(tests::read_text(file), tensorboard_events(run));
  export_tensorboard({run}, folder / "tb");
  EXPECT_EQ(tests::count_entries(folder / "tb"), 1) << "a second export replaces the first";
  tests::write_text(folder / "tb/events.out.tfevents.1.other", "");
  EXPECT_TRUE(
      tests::holds(tests::message_of<core::BadInput>([&] { export_tensorboard({run}, folder / "tb"); }),
                   {(folder / "tb").string(), "another run"}));
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] {
                             export_tensorboard({run, run}, folder / "tb2");
                           }),
                           {"20260131T235959Z-1", "one by one"}));
  tests::write_text(folder / "file", "");
  tests::message_of<core::BadInput>([&] { export_tensorboard({run}, folder / "file"); });

  tests::make_run(folder / "b", tests::run_head("finished"), step_line(1, 0.25));
  export_tensorboard({run, read_run(folder / "b")}, folder / "both");
  EXPECT_EQ(tests::count_entries(folder / "both"), 2);
  EXPECT_EQ(tests::count_entries(folder / "both/b"), 1);
}

TEST_F(ExportTest, WeightsLeaveTheOptimizerBehind) {
  run_of("");
  const auto checkpoints = path() / "checkpoints";
  std::filesystem::create_directories(checkpoints);
  const auto write = [&](const char* name, float value) {
    files::write_safetensors(checkpoints / name,
                             {{"conv1.weight", {1, 2}, {value, 2}},
                              {"optimizer.momentum.conv1.weight", {2}, {5, 6}},
                              {"conv1.bias", {1}, {3}}},
                             {{"step", "7"}});
  };
  write("step-9.safetensors", 9);
  write("step-100.safetensors", 100);
  write("best.safetensors", 50);
  tests::write_text(checkpoints / ".step-200.safetensors.1-1.tmp", "half");
  EXPECT_EQ(find_checkpoint(path(), "last"), checkpoints / "step-100.safetensors");
  EXPECT_EQ(find_checkpoint(path(), "best"), checkpoints / "best.safetensors");
  EXPECT_EQ(find_checkpoint(path(), "step-9.safetensors"), checkpoints / "step-9.safetensors");
  EXPECT_EQ(find_checkpoint(path(), (checkpoints / "step-9.safetensors").string()),
            checkpoints / "step-9.safetensors");
  EXPECT_TRUE(
      tests::holds(tests::message_of<core::BadInput>([&] { find_checkpoint(path(), "step-1"); }),
                   {"'step-1'", "valid: best.safetensors, step-9.safetensors, step-100.safetensors"}));

  const auto out = folder / "weights.safetensors";
  export_weights(find_checkpoint(path(), "last"), out);
  std::map<std::string, std::string> metadata;
  const auto tensors = files::read_safetensors(out, &metadata);
  ASSERT_EQ(tensors.size(), 2u);
  EXPECT_EQ(tensors[0].name, "conv1.weight");
  EXPECT_EQ(tensors[0].shape, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(tensors[0].values, (std::vector<float>{100, 2}));
  EXPECT_EQ(tensors[1].name, "conv1.bias");
  EXPECT_EQ(metadata["format"], "pt");
  EXPECT_EQ(metadata["checkpoint"], "step-100.safetensors");
}

TEST_F(ExportTest, BadCheckpointsAreRefusedAndLeaveNothing) {
  run_of("");
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { find_checkpoint(path(), "last"); }),
                           {path().string(), "no checkpoints"}));
  const auto file = path() / "checkpoints/best.safetensors";
  tests::write_text(file, "nonsense");
  tests::message_of<core::BadInput>([&] { find_checkpoint(path(), "last"); });
  tests::message_of<core::BadInput>([&] { export_weights(file, folder / "out"); });
  files::write_safetensors(file, {{"optimizer.m", {1}, {1}}});
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([&] { export_weights(file, folder / "out"); }),
                           {"no weights"}));
  EXPECT_FALSE(std::filesystem::exists(folder / "out"));
}

}  // namespace
}  // namespace warpscope::runs::export_test
