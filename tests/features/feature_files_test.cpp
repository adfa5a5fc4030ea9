#include "gpu/features/feature_files.h"

#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/features/npy.h"
#include "gpu/files/safetensors.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/feature_rows.h"

namespace warpscope::features::feature_files_test {
namespace {

/// More rows than are written at once, some zeros, very large and very small numbers.
FeatureTable table_of(std::int64_t rows, int columns) {
  FeatureTable table;
  table.columns = columns;
  table.layers = "pool1";
  for (std::int64_t row = 0; row < rows; ++row) table.labels.push_back(static_cast<int>(row % 10));
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    const double unit = core::random_unit(9, static_cast<std::uint64_t>(i));
    table.values.push_back(unit < 0.2 ? 0.0f : static_cast<float>(std::pow(10.0, 60 * unit - 30)));
  }
  return table;
}

std::vector<std::string> lines_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class FeatureFiles : public testing::Test {
 protected:
  std::filesystem::path file(const char* name) const { return folder.path() / name; }
  const tests::TemporaryFolder folder;
};

TEST_F(FeatureFiles, OfNumPyAreReadBack) {
  const FeatureTable table = table_of(23, 7);
  write_features(file("a.npy"), FeatureFormat::npy, table);
  const tests::FeatureRows again =
      tests::read_feature_rows(file("a.npy").string(), labels_file(file("a.npy")).string());
  EXPECT_EQ(again.values, table.values);
  EXPECT_EQ(again.labels, table.labels);
  EXPECT_EQ(again.columns, 7);
  EXPECT_EQ(labels_file("b/latents.npy"), std::filesystem::path("b/latents.labels.npy"));
}

TEST_F(FeatureFiles, AsCsvHoldEveryNumberExactly) {
  const FeatureTable table = table_of(4200, 3);
  write_features(file("a.csv"), FeatureFormat::csv, table);
  const auto lines = lines_of(file("a.csv"));
  ASSERT_EQ(lines.size(), 4201u);
  EXPECT_EQ(lines[0], "label,f0,f1,f2");
  for (std::size_t row = 0; row < 4200; ++row) {
    std::istringstream cells(lines[row + 1]);
    std::string cell;
    std::getline(cells, cell, ',');
    ASSERT_EQ(std::stoi(cell), table.labels[row]);
    for (std::size_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(std::getline(cells, cell, ','));
      ASSERT_EQ(std::strtof(cell.c_str(), nullptr), table.values[row * 3 + i]);
    }
  }
}

TEST_F(FeatureFiles, AsLibsvmLeaveZerosOutAndCountFromOne) {
  FeatureTable table;
  table.columns = 4;
  table.values = {0, 1.5f, 0, -2, 0, 0, 0, 0};
  table.labels = {3, 0};
  write_features(file("a.libsvm"), FeatureFormat::libsvm, table);
  EXPECT_EQ(lines_of(file("a.libsvm")), (std::vector<std::string>{"3 2:1.5 4:-2", "0"}));
}

TEST_F(FeatureFiles, AsSafetensorsHoldFeaturesAndLabels) {
  const FeatureTable table = table_of(5, 6);
  write_features(file("a.safetensors"), FeatureFormat::safetensors, table);
  std::map<std::string, std::string> metadata;
  const auto tensors = files::read_safetensors(file("a.safetensors"), &metadata);
  ASSERT_EQ(tensors.size(), 2u);
  const bool swapped = tensors[0].name == "labels";
  EXPECT_EQ(tensors[swapped ? 1 : 0].name, "features");
  EXPECT_EQ(tensors[swapped ? 1 : 0].values, table.values);
  EXPECT_EQ(tensors[swapped ? 0 : 1].values, (std::vector<float>{0, 1, 2, 3, 4}));
  EXPECT_EQ(metadata["layers"], "pool1");
}

TEST_F(FeatureFiles, AreOfTheKindThatTheirNameSays) {
  EXPECT_EQ(feature_format("", "x.libsvm"), FeatureFormat::libsvm);
  EXPECT_EQ(feature_format("csv", "x.npy"), FeatureFormat::csv);
  EXPECT_THROW(feature_format("", "x.txt"), core::BadInput);
  EXPECT_THROW(feature_format("", "x"), core::BadInput);
  EXPECT_THROW(feature_format("xml", "x.npy"), core::BadInput);
}

TEST_F(FeatureFiles, ThatAreDamagedAreRefusedByName) {
  write_features(file("a.npy"), FeatureFormat::npy, table_of(9, 2));
  const auto refusal = [&] {
    try {
      read_npy(file("a.npy"), "<f4");
    } catch (const core::BadInput& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  std::filesystem::resize_file(file("a.npy"), std::filesystem::file_size(file("a.npy")) - 1);
  EXPECT_NE(refusal().find("a.npy: its header tells of 72 bytes of numbers, but there are 71"),
            std::string::npos)
      << refusal();
  std::filesystem::resize_file(file("a.npy"), 20);
  EXPECT_NE(refusal().find("header"), std::string::npos);
  std::ofstream(file("a.npy")) << "not an array";
  EXPECT_NE(refusal().find("no .npy file"), std::string::npos);
  std::filesystem::remove(file("a.npy"));
  EXPECT_NE(refusal().find("a.npy"), std::string::npos);
}

}  // namespace
}  // namespace warpscope::features::feature_files_test
