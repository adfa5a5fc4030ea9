#include <set>
#include <string>

#include <gtest/gtest.h>

#include "app/fetch/fetch.h"
#include "gpu/data/sets.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::fetch::sources_test {
namespace {

/// The hint "warpscope fetch NAME brings it" is given for each published set that does not say how else it comes.
TEST(Sources, BringEveryPublishedSet) {
  std::set<std::string> expected;
  for (const data::SetRow& row : data::sets()) {
    if (row.published() && row.brought_by.empty()) expected.emplace(row.name);
  }
  std::set<std::string> found;
  for (const Source& source : sources()) EXPECT_TRUE(found.insert(source.data_set).second) << source.data_set;
  EXPECT_EQ(found, expected);
}

TEST(Sources, NameAddressesAndChecksums) {
  for (const Source& source : sources()) {
    ASSERT_FALSE(source.mirrors.empty()) << source.data_set;
    for (const std::string& mirror : source.mirrors) {
      EXPECT_TRUE(mirror.starts_with("http") && mirror.ends_with("/")) << mirror;
    }
    EXPECT_EQ(source.files.size(), source.archive_folder.empty() ? 4U : 1U) << source.data_set;
    std::set<std::string> sums;
    for (const SourceFile& file : source.files) {
      EXPECT_EQ(file.md5.size(), 32U) << file.name;
      EXPECT_EQ(file.md5.find_first_not_of("0123456789abcdef"), std::string::npos) << file.name;
      EXPECT_TRUE(sums.insert(file.md5).second) << file.name;
      EXPECT_TRUE(file.name.ends_with(".gz")) << file.name;
      EXPECT_EQ(file.bytes > 0, source.archive_folder.empty()) << file.name;
    }
  }
}

TEST(Sources, AreFoundByTheNameOfTheirSet) {
  EXPECT_EQ(find_source("fashion_mnist").data_set, "fashion_mnist");
  EXPECT_TRUE(tests::holds(tests::message_of<core::BadInput>([] { find_source("digits"); }),
                           {"'digits'", "valid: cifar10, cifar100, mnist, fashion_mnist"}));
}

}  // namespace
}  // namespace warpscope::fetch::sources_test
