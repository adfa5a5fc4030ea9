#include "ui/panels/start/challenge_rows.h"

#include <algorithm>
#include <string>
#include <variant>

#include <gtest/gtest.h>

#include "gpu/plan/presets.h"
#include "ui/panels/panel_table.h"

namespace warpscope::ui::challenge_rows_test {
namespace {

using training::Metric;
using training::Snapshot;
using training::TrainerState;

const ChallengeRow& row(const std::string& id) {
  const auto rows = challenges();
  return *std::find_if(rows.begin(), rows.end(), [&](const ChallengeRow& each) { return each.id == id; });
}

Snapshot running(std::uint64_t step, float loss) {
  Snapshot snapshot;
  snapshot.state = TrainerState::running;
  snapshot.step = step;
  snapshot.last[Metric::loss] = loss;
  return snapshot;
}

/// Shows steps of one loss; true if any command came back.
bool train(Challenge& challenge, Snapshot& snapshot, std::uint64_t to, float loss) {
  bool any = false;
  snapshot.last[Metric::loss] = loss;
  for (snapshot.step = std::min(snapshot.step + 5, to); snapshot.step < to; snapshot.step += 5)
    any = !challenge.follow(snapshot).empty() || any;
  snapshot.step = to;
  return !challenge.follow(snapshot).empty() || any;
}

TEST(Challenges, NameAPanelAndSayWhatIsToBeReached) {
  EXPECT_EQ(challenges().size(), 3U);
  for (const ChallengeRow& each : challenges()) {
    EXPECT_NE(find_panel(each.panel), nullptr) << each.id;
    EXPECT_EQ(std::string(each.goal).back(), '.') << each.id;
    Snapshot preparing;
    EXPECT_NE(each.why_not(preparing), "") << each.id;
  }
}

/// Shows a speed with the selection that there is.
std::vector<training::Command> timed_at(Challenge& challenge, Snapshot& snapshot, double speed) {
  training::LadderEntry entry;
  entry.selection = snapshot.selection;
  entry.batch = snapshot.settings->batch;
  entry.images_per_second = speed;
  entry.timed = 9;
  snapshot.ladder = std::make_shared<const std::vector<training::LadderEntry>>(1, entry);
  return challenge.follow(snapshot);
}

TEST(Challenges, TenTimesAsFastIsHeldAgainstTheSlowKernels) {
  Snapshot snapshot = running(10, 1);
  Challenge challenge(row("faster"), snapshot);
  const auto with = [&](double speed) { return timed_at(challenge, snapshot, speed); };
  const auto commands = with(2000);
  snapshot.selection = std::get<training::Select>(commands.front()).selection;
  with(100);
  snapshot.selection.variants.clear();
  with(900);
  EXPECT_FALSE(challenge.done()) << challenge.told();
  EXPECT_NEAR(challenge.part(), 0.9, 1e-9);
  EXPECT_EQ(challenge.line(), "Make this 10 times faster: 9.0 times as fast, of 10.0");
  with(1001);
  EXPECT_TRUE(challenge.done()) << challenge.told();
}

TEST(Challenges, TenTimesIsNotAskedForWhereItWasNeverSoFast) {
  Snapshot snapshot = running(10, 1);
  Challenge challenge(row("faster"), snapshot);
  const plan::Selection fast = snapshot.selection;
  const auto with = [&](double speed) { return timed_at(challenge, snapshot, speed); };
  snapshot.selection = std::get<training::Select>(with(200).front()).selection;
  with(100);
  snapshot.selection = fast;
  with(150);
  EXPECT_FALSE(challenge.done()) << challenge.told();
  with(195);
  EXPECT_TRUE(challenge.done()) << challenge.told();
}

TEST(Challenges, ADivergedTrainingIsBroughtBelowTheLossThatItHad) {
  Snapshot snapshot = running(0, 0.5f);
  Challenge challenge(row("diverge"), snapshot);
  EXPECT_FALSE(train(challenge, snapshot, 15, 0.5f)) << "nobody knows yet what the loss was";
  EXPECT_TRUE(train(challenge, snapshot, 100, 0.5f)) << "now something is changed";
  train(challenge, snapshot, 150, 0.1f);
  EXPECT_FALSE(challenge.done()) << "the guard has not paused it";
  snapshot.divergence.id = 1;
  snapshot.state = TrainerState::paused;
  challenge.follow(snapshot);
  snapshot.state = TrainerState::running;
  train(challenge, snapshot, 300, 0.6f);
  EXPECT_FALSE(challenge.done()) << challenge.told();
  train(challenge, snapshot, 500, 0.4f);
  EXPECT_TRUE(challenge.done()) << challenge.told();
}

TEST(Challenges, LossesFromBeforeItWentBackDoNotCount) {
  Snapshot snapshot = running(0, 0.0003f);
  Challenge challenge(row("diverge"), snapshot);
  train(challenge, snapshot, 100, 0.0003f);
  snapshot.divergence.id = 1;
  snapshot.state = TrainerState::paused;
  train(challenge, snapshot, 120, 2000);
  snapshot.state = TrainerState::running;
  challenge.follow(snapshot);  // as it was shown while it was paused
  train(challenge, snapshot, 160, 0.0002f);
  EXPECT_TRUE(challenge.done()) << challenge.told();
  EXPECT_EQ(challenge.line(), "Why did it diverge? Done: the loss is 0.00020");
}

TEST(Challenges, AdamIsBeatenByItsLossInFewerSteps) {
  Snapshot snapshot = running(100, 0.5f);
  Challenge challenge(row("adam"), snapshot);
  snapshot.generation = 1;
  snapshot.step = 0;
  EXPECT_TRUE(train(challenge, snapshot, 205, 0.3f)) << "Adam has ended: the weights are reset";
  snapshot.generation = 2;
  snapshot.step = 0;
  train(challenge, snapshot, 250, 0.2f);
  const bool early = challenge.done();
  EXPECT_TRUE(early) << challenge.told();
  Challenge late(row("adam"), running(100, 0.5f));
  snapshot.generation = 1;
  snapshot.step = 0;
  train(late, snapshot, 205, 0.3f);
  snapshot.generation = 2;
  snapshot.step = 0;
  train(late, snapshot, 200, 0.4f);
  train(late, snapshot, 400, 0.1f);
  EXPECT_FALSE(late.done()) << "it took more steps";
}

}  // namespace
}  // namespace warpscope::ui::challenge_rows_test
