#include "gpu/runs/marker_names.h"

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"

namespace warpscope::runs::marker_names_test {
namespace {

TEST(MarkerNames, ComeBackAsTheyWereSaved) {
  const tests::TemporaryFolder folder;
  EXPECT_TRUE(load_marker_names(folder.path()).empty()) << "a run without names";
  std::vector<MarkerName> names;
  set_name(names, 1200, "fp32 -> bf16", "half the bits");
  set_name(names, 1200, "batch: 4 -> 8", "\"twice\" \xC3\xA4");
  save_marker_names(folder.path(), names);
  EXPECT_EQ(load_marker_names(folder.path()), names);
}

TEST(MarkerNames, AreOfOneMarkerAndCanBeTakenAway) {
  std::vector<MarkerName> names;
  set_name(names, 1, "a", "one");
  set_name(names, 2, "a", "two");
  set_name(names, 1, "a", "first");
  EXPECT_EQ(names.size(), 2u);
  EXPECT_EQ(name_of(names, 1, "a"), "first");
  EXPECT_EQ(name_of(names, 2, "a"), "two");
  EXPECT_EQ(name_of(names, 2, "b"), "");
  set_name(names, 1, "a", "");
  EXPECT_EQ(name_of(names, 1, "a"), "");
  EXPECT_EQ(names.size(), 1u);
}

TEST(MarkerNames, ADamagedFileIsToldAndLeftAsItIs) {
  const tests::TemporaryFolder folder;
  for (const char* text : {"", "{", "[]", R"({"names": 3})", R"({"names": [{"step": -1, "text": 1}]})"}) {
    tests::write_text(folder / "markers.json", text);
    EXPECT_THROW((void)load_marker_names(folder.path()), core::BadInput) << text;
  }
}

TEST(MarkerNames, ThatCannotBeWrittenAreToldWithThePath) {
  const tests::TemporaryFolder folder;
  EXPECT_THROW(save_marker_names(folder / "none", std::vector<MarkerName>{{1, "a", "b"}}), core::Error);
}

}  // namespace
}  // namespace warpscope::runs::marker_names_test
