#include "gpu/runs/references.h"

#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include "tests/runs/run_maker.h"

namespace warpscope::runs::references_test {
namespace {

TEST(RanksOfARun, AreThoseThatItsHeadTellsAndOneWhereThatCannotBe) {
  const tests::TemporaryFolder folder;
  nlohmann::json head = tests::run_head("finished");
  const auto ranks = [&](const nlohmann::json& told) {
    head[kRanks] = told;
    tests::make_run(folder / "run", head, "");
    return ranks_of(folder / "run");
  };
  EXPECT_EQ(ranks(4), 4);
  for (const nlohmann::json& wrong :
       {nlohmann::json(0), nlohmann::json(-2), nlohmann::json(65), nlohmann::json("4")})
    EXPECT_EQ(ranks(wrong), 1) << wrong;
  EXPECT_EQ(ranks_of(folder / "no run"), 1);
}

}  // namespace
}  // namespace warpscope::runs::references_test
