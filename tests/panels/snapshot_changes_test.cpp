#include "ui/frame/snapshot_changes.h"

#include <functional>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/changes.h"

namespace warpscope::ui::snapshot_changes_test {
namespace {

using training::Snapshot;

TEST(SnapshotNews, EqualSnapshotsAndThoseOfOtherMemoryLookTheSame) {
  const Snapshot before;
  Snapshot after;
  after.ladder = std::make_shared<std::vector<training::LadderEntry>>();
  after.memory.free_bytes = 1 << 20;
  EXPECT_FALSE(looks_different(before, after));
}

TEST(SnapshotNews, NewTimesOfARankMakeThemDifferent) {
  Snapshot before;
  before.ranks = {{"cpu", "a CPU", 4, 100, 10, 0, 1}, {"cpu", "a CPU", 4, 100, 20, 10, 1}};
  Snapshot after = before;
  after.ranks[1].memory_bytes = 2;
  EXPECT_FALSE(looks_different(before, after)) << "memory is renewed with the next frame";
  after.ranks[1].allreduce_microseconds = 21;
  EXPECT_TRUE(looks_different(before, after));
}

TEST(SnapshotNews, WhatAPersonSeesMakesThemDifferent) {
  const std::vector<std::function<void(Snapshot&)>> changes = {
      [](Snapshot& s) { s.state = training::TrainerState::paused; },
      [](Snapshot& s) { ++s.notice_id; },
      [](Snapshot& s) { ++s.divergence.id; },
      [](Snapshot& s) { ++s.step; },
      [](Snapshot& s) { ++s.generation; },
      [](Snapshot& s) { tests::settings_of(s).batch = 7; },
      [](Snapshot& s) { ++s.network_number; },
      [](Snapshot& s) { tests::settings_of(s).optimizer.learning_rate = 1; },
      [](Snapshot& s) { tests::settings_of(s).spikes.threshold = 3; },
      [](Snapshot& s) { tests::settings_of(s).augment.crop = 2; },
      [](Snapshot& s) { s.plan_bytes = 9; },
      [](Snapshot& s) { s.checkpoint_step = 5; },
      [](Snapshot& s) { s.step_microseconds = 1.5; },
      [](Snapshot& s) { s.can.why_not = "ended"; },
      [](Snapshot& s) { s.awaited = "rank 1 stands still"; },
      [](Snapshot& s) { s.run_dir = "runs/1"; },
      [](Snapshot& s) { s.rewind.at = 7; },
      [](Snapshot& s) { s.ladder = std::make_shared<std::vector<training::LadderEntry>>(1); },
      [](Snapshot& s) { s.evaluation = std::make_shared<training::Evaluation>(); },
      [](Snapshot& s) { s.rate_search = std::make_shared<training::RateSearch>(); },
      [](Snapshot& s) {
        s.ranks = {{}, {}};
      },
      [](Snapshot& s) {
        auto kernels = std::make_shared<training::UserKernels>();
        kernels->kernels.emplace_back();
        s.user_kernels = kernels;
      },
      [](Snapshot& s) { s.determinism = std::make_shared<training::DeterminismReport>(); },
  };
  for (std::size_t i = 0; i < changes.size(); ++i) {
    Snapshot after;
    changes[i](after);
    EXPECT_TRUE(looks_different(Snapshot(), after)) << "change " << i;
  }
}

}  // namespace
}  // namespace warpscope::ui::snapshot_changes_test
