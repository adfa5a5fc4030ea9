// What views showed at earlier steps, in the file of a run: whole, thinned, torn, damaged, on a full disk.

#include "gpu/runs/view_file.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/runs/run_views.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/random_message.h"

namespace warpscope::runs::view_file_test {
namespace {

using training::Inspection;
using training::KeptView;
using training::Return;
using training::ViewKind;

constexpr std::uint64_t kNetwork = 7;
constexpr std::size_t kMost = std::size_t{1} << 20;

KeptView view_at(std::uint64_t step, std::int64_t image = 0, std::size_t floats = 16,
                 std::uint64_t generation = 0) {
  auto seen = std::make_shared<Inspection>();
  seen->step = step;
  seen->image = image;
  seen->parameters.assign(floats, static_cast<float>(step));
  seen->gradients.resize(floats);
  return {generation, kNetwork, std::shared_ptr<const Inspection>(seen)};
}

std::vector<std::uint64_t> steps_of(const std::vector<KeptView>& views) {
  std::vector<std::uint64_t> steps;
  for (const KeptView& view : views) steps.push_back(step_of(view.seen));
  return steps;
}

using Steps = std::vector<std::uint64_t>;

class Views : public testing::Test {
 protected:
  std::filesystem::path file() const { return views_file(folder_.path()); }
  std::vector<KeptView> read(std::uint64_t generation = 0) {
    ViewReader reader(folder_.path());
    auto views = reader.take(generation, kNetwork);
    objection_ = reader.objection(true);
    return views;
  }
  /// Records of steps 1, 2, ...; returns where each begins, and the end.
  std::vector<std::size_t> write(std::uint64_t count) {
    ViewFile written(folder_.path(), kMost);
    std::vector<std::size_t> begins;
    for (std::uint64_t step = 1; step <= count; ++step) {
      begins.push_back(written.bytes());
      written.add(view_at(step));
    }
    begins.push_back(written.bytes());
    return begins;
  }

  const tests::TemporaryFolder folder_;
  std::string objection_;
};

TEST_F(Views, OfEachKindComeBackBitForBit) {
  for (std::size_t kind = 0; kind < std::variant_size_v<KeptView::Seen>; ++kind) {
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      KeptView sent{0, kNetwork, {}};
      tests::RandomMessage(seed).fill_variant(
          sent.seen, kind, std::make_index_sequence<std::variant_size_v<KeptView::Seen>>());
      make_consistent(sent);
      ViewFile(folder_.path(), std::size_t{1} << 30).add(sent);
      const std::vector<KeptView> views = read();
      ASSERT_EQ(views.size(), 1u) << objection_;
      EXPECT_TRUE(tests::same(views[0], sent)) << "kind " << kind << ", seed " << seed;
    }
  }
}

TEST_F(Views, OfARunWithoutAFileAreNone) {
  EXPECT_TRUE(read().empty());
  EXPECT_EQ(objection_, "");
}

TEST_F(Views, AreReadWhileTheyAreWritten) {
  ViewFile written(folder_.path(), kMost);
  ViewReader reader(folder_.path());
  EXPECT_TRUE(reader.take(0, kNetwork).empty());
  written.add(view_at(1));
  EXPECT_EQ(steps_of(reader.take(0, kNetwork)), Steps{1});
  EXPECT_TRUE(reader.take(0, kNetwork).empty()) << "each comes once";
  written.add(view_at(2));
  written.add(view_at(3));
  EXPECT_EQ(steps_of(reader.take(0, kNetwork)), (Steps{2, 3}));
  EXPECT_TRUE(reader.take(0, kNetwork + 1).empty()) << "of another network";
  EXPECT_EQ(steps_of(reader.take(0, kNetwork)), (Steps{1, 2, 3})) << "of this one again";
}

TEST_F(Views, ALastRecordThatIsNotWholeIsLeftOutWhereverThePowerWasCut) {
  const std::vector<std::size_t> begins = write(3);
  const std::string whole = tests::read_text(file());
  for (std::size_t end = begins[2] + 1; end < begins[3]; end += 7) {
    tests::write_text(file(), whole.substr(0, end));
    EXPECT_EQ(steps_of(read()), (Steps{1, 2})) << end;
    EXPECT_TRUE(tests::holds(objection_, {"views.bin", "a last one that is not whole"})) << end;
    ViewReader reader(folder_.path());
    reader.take(0, kNetwork);
    EXPECT_EQ(reader.objection(false), "") << "it may still come";
    tests::write_text(file(), whole);
    EXPECT_EQ(steps_of(reader.take(0, kNetwork)), Steps{3});
  }
  tests::write_text(file(), whole.substr(0, begins[2]) + std::string(5000, '\0'));
  EXPECT_EQ(steps_of(read()), (Steps{1, 2})) << "zeros, as some file systems leave them";
}

TEST_F(Views, OfWhatIsDamagedOnlyThatIsLeftOut) {
  const std::vector<std::size_t> begins = write(4);
  const std::string whole = tests::read_text(file());
  for (std::size_t at = begins[1]; at < begins[2]; at += 5) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    tests::write_text(file(), damaged);
    EXPECT_EQ(steps_of(read()), (Steps{1, 3, 4})) << at;
    EXPECT_TRUE(tests::holds(objection_, {"some that are damaged", "the others are"})) << at;
  }
  std::string missing = whole;
  missing.erase(begins[1] + 20, 100);
  tests::write_text(file(), missing);
  EXPECT_EQ(steps_of(read()), (Steps{1, 3, 4}));
  std::string begin = whole;
  begin[0] = 'x';
  tests::write_text(file(), begin);
  EXPECT_EQ(steps_of(read()), (Steps{1, 2, 3, 4}));
}

TEST_F(Views, OfAnotherVersionAreLeftOutInASentence) {
  write(2);
  std::string other = tests::read_text(file());
  other[kViewsMagic.size() - 1] = '\2';
  tests::write_text(file(), other);
  EXPECT_TRUE(read().empty());
  EXPECT_TRUE(tests::holds(objection_, {"views.bin is of another version of warpscope"}));
  EXPECT_THROW(ViewFile(folder_.path(), kMost, 0, 9), core::BadInput);
  EXPECT_EQ(tests::read_text(file()), other) << "it stays as it is";
}

TEST_F(Views, WhoseMembersAreOthersAreLeftOut) {
  const std::string record = record_of(view_at(5));
  ViewHead head = *ViewHead::read(record);
  ++head.shape;
  write(1);
  tests::write_text(file(), tests::read_text(file()) + head.text() + record.substr(ViewHead::kBytes) +
                                record_of(view_at(6)));
  EXPECT_EQ(steps_of(read()), (Steps{1, 6}));
  EXPECT_TRUE(tests::holds(objection_, {"1 of another version of warpscope"}));
}

TEST_F(Views, StayWithinTheBudgetEvenOnALogarithm) {
  constexpr std::size_t kFloats = 2048;  // 16 KiB: some sixty have room
  ViewFile written(folder_.path(), kMost);
  for (std::uint64_t step = 1; step <= 1000; ++step) {
    written.add(view_at(step, static_cast<std::int64_t>(step % 2), kFloats));
    ASSERT_LE(std::filesystem::file_size(file()), kMost) << step;
  }
  const Steps steps = steps_of(read());
  EXPECT_EQ(objection_, "");
  EXPECT_GT(steps.size(), 20u);
  EXPECT_LE(*std::ranges::min_element(steps), 2u) << "the first";
  EXPECT_EQ(*std::ranges::max_element(steps), 1000u) << "the newest";
  EXPECT_GT(std::ranges::count_if(steps, [](auto step) { return step < 100; }), 5) << "and of the beginning";
}

TEST_F(Views, ThatLeaveNoRoomForOthersAreNotWritten) {
  ViewFile written(folder_.path(), kMost);
  written.add(view_at(1));
  written.add(view_at(2, 0, kMost / 8));
  EXPECT_EQ(steps_of(read()), Steps{1});
}

TEST_F(Views, AReaderFollowsAFileThatWasThinnedOut) {
  constexpr std::size_t kFloats = 2048;
  ViewFile written(folder_.path(), kMost);
  ViewReader reader(folder_.path());
  std::set<std::uint64_t> seen;
  for (std::uint64_t step = 1; step <= 200; ++step) {
    written.add(view_at(step, 0, kFloats));
    for (const std::uint64_t each : steps_of(reader.take(0, kNetwork))) seen.insert(each);
    ASSERT_TRUE(seen.contains(step));
  }
  EXPECT_EQ(reader.objection(true), "");
}

TEST_F(Views, FollowTheLineOfATrainingThatWentBack) {
  ViewFile written(folder_.path(), kMost);
  for (const std::uint64_t step : {100u, 200u, 400u}) written.add(view_at(step));
  written.add(Return{1, 0, 250});
  written.add(view_at(300, 0, 16, 1));
  EXPECT_EQ(steps_of(read(1)), (Steps{100, 200, 300}));
  EXPECT_EQ(steps_of(read(0)), (Steps{100, 200, 400}));
  written.add(Return{2, 0, 400});  // back to what was left
  EXPECT_EQ(steps_of(read(2)), (Steps{100, 200, 400}));
  EXPECT_TRUE(read(3).empty()) << "a reset";
  for (const KeptView& view : read(2)) EXPECT_EQ(view.generation, 2u);
}

TEST_F(Views, WhatTheTrainingHasLeftGoesFirst) {
  constexpr std::size_t kFloats = 8192;  // 64 KiB
  ViewFile written(folder_.path(), kMost);
  for (std::uint64_t step = 1; step <= 8; ++step) written.add(view_at(step, 0, kFloats));
  for (std::uint64_t step = 1; step <= 10; ++step) written.add(view_at(step, 0, kFloats, 1));
  EXPECT_EQ(read(1).size(), 10u);
  EXPECT_TRUE(read(0).empty());
}

TEST_F(Views, ARunGoesOnWithThoseUpToItsStep) {
  write(5);
  const std::string whole = tests::read_text(file());
  tests::write_text(file(), whole + "not whole");
  {
    ViewFile again(folder_.path(), kMost, 0, 3);
    again.add(view_at(4, 9));
  }
  EXPECT_EQ(steps_of(read()), (Steps{1, 2, 3, 4}));
  EXPECT_EQ(objection_, "");
  EXPECT_EQ(key_of(read().back().seen).second, 9) << "and not the one before";
  const std::string kept = tests::read_text(file());
  { const ViewFile same(folder_.path(), kMost, 0, 4); }
  EXPECT_EQ(tests::read_text(file()), kept);
}

TEST_F(Views, AFullDiskLeavesWhatIsThereAndIsToldOnce) {
  const std::vector<std::size_t> begins = write(3);
  training::RunViews views;
  views.begin(std::make_unique<ViewFile>(folder_.path(), kMost, 0, 3));
  {
    const tests::FileSizeLimit limit(begins[3] + 100);
    views.take(view_at(4));
    views.write();
  }
  EXPECT_TRUE(tests::holds(views.take_warning(), {"cannot write", "views.bin"}));
  EXPECT_EQ(steps_of(read()), (Steps{1, 2, 3}));
  EXPECT_EQ(objection_, "") << "nothing torn is left";
  views.take(view_at(5));
  views.write();
  EXPECT_EQ(views.take_warning(), "");
  EXPECT_EQ(steps_of(read()), (Steps{1, 2, 3})) << "no more is written";
}

TEST(RunViews, LeaveTheRestOfASmallDiskToOtherFiles) {
  const tests::SmallDisk disk(std::size_t{8} << 20);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  training::RunViews views;
  views.begin(std::make_unique<ViewFile>(disk.path(), kMost));
  views.take(view_at(1));
  views.write();
  EXPECT_TRUE(tests::holds(views.take_warning(), {"views.bin", "less than 1 GiB is free"}));
  EXPECT_EQ(std::filesystem::file_size(views_file(disk.path())), kViewsMagic.size());
}

}  // namespace
}  // namespace warpscope::runs::view_file_test
