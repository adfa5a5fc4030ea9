// Moments that memory has no room for, and a training that goes back and forth between them.

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/models/model.h"
#include "gpu/training/moments.h"
#include "gpu/training/trainer.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/changes.h"
#include "tests/support/tiny_classifier.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::training::moments_on_disk_test {
namespace {

namespace fs = std::filesystem;
using tests::eventually;
using tests::FeedLog;
using tests::TemporaryFolder;
using tests::wait_until;

/// Another one for each step.
EngineState state_after(std::uint64_t step) {
  const models::Model model = tests::tiny_classifier();
  EngineState state;
  state.parameters = models::initial_parameters(model, 3 * step);
  state.rule = ops::UpdateRule::adam;
  state.states = {models::initial_parameters(model, 3 * step + 1),
                  models::initial_parameters(model, 3 * step + 2)};
  state.control.loss_scale = 128;
  state.control.good_steps = static_cast<std::uint32_t>(step);
  state.control.updates = static_cast<std::uint32_t>(step + 1);
  state.steps = step;
  state.epochs_done = step / 4;
  state.position = static_cast<std::uint32_t>(step % 4);
  return state;
}

void expect_same(const EngineState& a, const EngineState& b) {
  EXPECT_EQ(a.parameters, b.parameters);
  EXPECT_EQ(a.states, b.states);
  EXPECT_EQ(a.control.loss_scale, b.control.loss_scale);
  EXPECT_EQ(a.control.good_steps, b.control.good_steps);
  EXPECT_EQ(a.control.updates, b.control.updates);
  EXPECT_EQ(a.steps, b.steps);
  EXPECT_EQ(a.epochs_done, b.epochs_done);
  EXPECT_EQ(a.position, b.position);
}

std::size_t bytes_of_one() {
  Moment moment;
  moment.engine = std::make_shared<const EngineState>(state_after(0));
  return moment.bytes();
}

constexpr std::size_t kInMemory = 8;       ///< one of which waits for the disk
constexpr std::uint64_t kLastMoment = 40;  ///< after each step up to it

void take(Moments& moments, std::uint64_t step) {
  static const auto settings = [] {
    auto own = std::make_shared<TrainingSettings>();
    own->model = tests::tiny_classifier();
    return own;
  }();
  Moment moment;
  moment.step = step;
  moment.settings = settings;
  moments.expect(std::move(moment));
  moments.before_point(kNoLastStep, {}, {}, {});
  moments.arrive(state_after(step));
}

/// Takes one after each step; what has no room is on the disk then, or dropped. Returns what was told.
std::string take_all(Moments& moments) {
  std::string told;
  for (std::uint64_t step = 0; step <= kLastMoment; ++step) {
    take(moments, step);
    EXPECT_LE(moments.bytes(), kInMemory * bytes_of_one());
    EXPECT_TRUE(eventually([&] {
      told += moments.settle_files();
      return !told.empty() || moments.bytes() < kInMemory * bytes_of_one();
    }));
  }
  return told;
}

Moments moments_in(const fs::path& folder, std::size_t on_disk) {
  Moments moments(kInMemory * bytes_of_one());
  moments.use(std::make_unique<MomentFiles>(
      MomentFiles::Options{.budget = on_disk * bytes_of_one(),
                           .images = 48,
                           .place = [folder] { return MomentFiles::Place{.folder = folder}; },
                           .least_free = 0}));
  moments.begin(0);
  return moments;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  return files;
}

TEST(MomentsOnDisk, HaveTheSameBitsAndGoWithTheTraining) {
  const TemporaryFolder folder;
  const fs::path place = folder / "moments";
  {
    Moments moments = moments_in(place, 100);
    EXPECT_EQ(take_all(moments), "");
    std::size_t on_disk = 0;
    for (std::uint64_t step = 0; step <= kLastMoment; ++step) {
      const Moment* const moment = moments.find(step);
      ASSERT_NE(moment, nullptr);
      ASSERT_EQ(moment->step, step) << "none is dropped";
      on_disk += moment->engine ? 0 : 1;
      expect_same(*moments.state_of(*moment), state_after(step));
    }
    EXPECT_EQ(on_disk, kLastMoment + 1 - (kInMemory - 1));
    EXPECT_EQ(files_in(place).size(), on_disk);
  }
  EXPECT_FALSE(fs::exists(place));
}

TEST(MomentsOnDisk, TakeNoMoreThanTheirBudget) {
  constexpr std::size_t kOnDisk = 5;
  const TemporaryFolder folder;
  Moments moments = moments_in(folder / "moments", kOnDisk);
  EXPECT_EQ(take_all(moments), "");
  EXPECT_EQ(moments.take_list()->size(), kInMemory - 1 + kOnDisk);
  EXPECT_TRUE(eventually([&] { return files_in(folder / "moments").size() == kOnDisk; }));
}

TEST(MomentsOnDisk, ThatAreDamagedAreNamedAndTheOneBeforeIsThere) {
  const TemporaryFolder folder;
  Moments moments = moments_in(folder.path() / "moments", 100);
  take_all(moments);
  std::uint64_t step = 1;
  while (step < kLastMoment && moments.find(step)->engine) ++step;
  const Moment damaged = *moments.find(step);
  ASSERT_EQ(damaged.engine, nullptr);
  const auto files = files_in(folder / "moments");
  const auto file = std::find_if(files.begin(), files.end(), [step](const fs::path& path) {
    return path.filename().string().starts_with(fmt::format("step-{:09}-", step));
  });
  ASSERT_NE(file, files.end());
  fs::resize_file(*file, fs::file_size(*file) - 1);
  try {
    moments.state_of(damaged);
    ADD_FAILURE() << "it was read";
  } catch (const core::BadInput& error) {
    EXPECT_NE(std::string(error.what()).find(file->string()), std::string::npos) << error.what();
  }
  moments.lose(damaged.number);
  EXPECT_EQ(moments.find(step)->step, step - 1);
}

TEST(MomentsOnDisk, StayInMemoryWhereTheDiskIsFullWhichIsToldOnce) {
  const TemporaryFolder folder;
  Moments moments = moments_in(folder / "moments", 100);
  std::string told;
  {
    const tests::FileSizeLimit full(1000);
    told = take_all(moments);
  }
  EXPECT_TRUE(told.starts_with("cannot write ")) << told;
  EXPECT_EQ(told.find("cannot write", 1), std::string::npos) << "told again";
  EXPECT_EQ(moments.take_list()->size(), kInMemory);
  EXPECT_EQ(moments.settle_files(), "");
}

TEST(MomentsOnDisk, ThatAreHandedOverHaveTheSameBitsWithinTheSameBudget) {
  constexpr std::size_t kOnDisk = 12;
  const TemporaryFolder folder;
  Moments before = moments_in(folder / "moments", kOnDisk);
  EXPECT_EQ(take_all(before), "");
  const Moment last = *before.find(kLastMoment);
  std::string error;
  const std::string sent = MessageWriter().write(before.hand_over(
      last, [] { return false; }, error));
  EXPECT_EQ(error, "");
  EXPECT_FALSE(before.wanted());
  const auto handed = MessageReader().read<HandedMoments>(sent);
  ASSERT_EQ(handed.kept.size(), kOnDisk);
  EXPECT_EQ(handed.kept.front().step, 0u);
  EXPECT_EQ(handed.kept.back().step, kLastMoment);
  EXPECT_TRUE(eventually([&] { return files_in(folder / "moments").size() == kOnDisk; }));
  {
    Moments after = moments_in(folder / "others", kOnDisk);
    EXPECT_EQ(after.take_on(handed, nullptr), "");
    for (const Moment& each : handed.kept) {
      const Moment* const moment = after.find(each.step);
      ASSERT_NE(moment, nullptr);
      ASSERT_EQ(moment->step, each.step);
      expect_same(*after.state_of(*moment), state_after(each.step));
    }
  }
  EXPECT_EQ(files_in(folder / "moments").size(), kOnDisk) << "who has handed them over removes them";
  fs::remove(folder / "moments" / handed.files.at(handed.kept[1].number).name);
  Moments after = moments_in(folder / "others", kOnDisk);
  const std::string told = after.take_on(handed, nullptr);
  EXPECT_TRUE(told.starts_with("1 moment of the process before is not in ")) << told;
  EXPECT_EQ(after.find(handed.kept[1].step)->step, 0u);
  EXPECT_EQ(after.take_list()->size(), kOnDisk - 1);
}

TEST(MomentsOnDisk, OfWhichTheDiskTakesFewerThanMemoryAreHandedOverFromTheFirstToTheLast) {
  constexpr std::size_t kOnDisk = 4;
  const TemporaryFolder folder;
  Moments moments = moments_in(folder / "moments", kOnDisk);
  EXPECT_EQ(take_all(moments), "");
  const Moment last = *moments.find(kLastMoment);
  std::string error;
  const HandedMoments handed = moments.hand_over(
      last, [] { return false; }, error);
  EXPECT_EQ(error, "");
  ASSERT_EQ(handed.kept.size(), kOnDisk);
  EXPECT_EQ(handed.kept.front().step, 0u);
  EXPECT_EQ(handed.kept.back().step, kLastMoment);
  EXPECT_TRUE(eventually([&] { return files_in(folder / "moments").size() == kOnDisk; }));
}

TEST(MomentsOnDisk, AreNotHandedOverWithoutADisk) {
  Moments moments(kInMemory * bytes_of_one());
  moments.begin(0);
  take(moments, 0);
  const Moment last = *moments.find(0);
  std::string error;
  const HandedMoments handed = moments.hand_over(
      last, [] { return false; }, error);
  EXPECT_EQ(error, "");
  EXPECT_TRUE(handed.kept.empty());
  EXPECT_FALSE(moments.wanted());
}

TEST(MomentsOnDisk, AreHandedOverAsFarAsTheDiskHasTakenThem) {
  const TemporaryFolder folder;
  Moments moments = moments_in(folder / "moments", 100);
  take_all(moments);
  const Moment last = *moments.find(kLastMoment);
  HandedMoments handed;
  std::string error;
  {
    const tests::FileSizeLimit full(1000);
    handed = moments.hand_over(
        last, [] { return false; }, error);
  }
  EXPECT_TRUE(error.starts_with("cannot write ")) << error;
  EXPECT_EQ(handed.kept.size(), kLastMoment + 1 - (kInMemory - 1));
  EXPECT_EQ(handed.files.size(), handed.kept.size());
}

/// As if its branches were trainings that nobody brought back: by the rates of all steps up to each its loss.
class Losses {
 public:
  void compare(const std::vector<float>& rates, const std::vector<float>& losses, std::size_t from) {
    ASSERT_EQ(losses.size(), rates.size());
    for (std::size_t step = from + 1; step <= rates.size(); ++step) {
      const std::vector<float> upto(rates.begin(), rates.begin() + static_cast<std::ptrdiff_t>(step));
      const auto [known, is_new] = known_.emplace(upto, losses[step - 1]);
      EXPECT_EQ(known->second, losses[step - 1]) << "of step " << step;
      repeated_ += is_new ? 0 : 1;
    }
  }
  int repeated() const { return repeated_; }

 private:
  std::map<std::vector<float>, float> known_;
  int repeated_ = 0;
};

/// A MiB has room for four of its moments.
TrainerOptions options_of_rewinds() {
  TrainerOptions options = tests::tiny_trainer_options();
  options.model = tests::tiny_classifier();
  options.model.layers[3].out_channels = 300;
  options.model.layers[5].in_channels = 300;
  models::fit_layers(options.model);
  options.data_set = std::make_shared<data::DataSet>(tests::labelled_data(48, 12));
  options.optimizer = defaults_of(ops::UpdateRule::adam);
  options.moments_mib = 1;
  options.spikes.threshold = options.spikes.leap = 0;
  options.start_paused = true;
  return options;
}

void make_steps(Trainer& trainer, std::uint64_t until) {
  for (std::uint64_t step = trainer.snapshot()->step; step < until; ++step) trainer.send(StepOnce{});
  ASSERT_TRUE(tests::wait_for_step(trainer, until));
}

void set_rate(Trainer& trainer, float rate) {
  trainer.send(tests::change("learning_rate", static_cast<double>(rate)));
}

std::vector<float> ended(Trainer& trainer) {
  trainer.send(Finish{});
  EXPECT_TRUE(tests::wait_for_state(trainer, TrainerState::finished));
  return *trainer.ending().parameters;
}

/// The weights of a training that makes these steps one after the other.
std::vector<float> undisturbed(const std::vector<float>& rates) {
  Trainer trainer(options_of_rewinds());
  for (std::size_t step = 0; step < rates.size();) {
    const float rate = rates[step];
    set_rate(trainer, rate);
    while (step < rates.size() && rates[step] == rate) ++step;
    make_steps(trainer, step);
  }
  return ended(trainer);
}

struct Seen {
  int repeated = 0;         ///< losses that were compared
  std::ptrdiff_t read = 0;  ///< moments, from the disk
};

/// Rewinds and returns, and steps by the one rate or the other between them. None is refused, and the end has the bits
/// of a training that never did.
Seen rewind_at_random(const TrainerOptions& options, int times) {
  constexpr std::size_t kMostSteps = 30;
  const TemporaryFolder cache;
  const tests::Variable cached("XDG_CACHE_HOME", cache.path().c_str());
  Trainer trainer(options);
  FeedLog feed(trainer.subscribe());
  std::map<std::uint64_t, std::vector<float>> left;  // rates of all steps of each training
  std::vector<float> rates;                          // those of the present one
  Losses losses;
  std::uint64_t drawn = 0;
  const auto below = [&drawn](std::size_t end) {
    return static_cast<std::size_t>(core::random_bits(11, drawn++) % end);
  };
  for (int time = 0; time < times && !testing::Test::HasFailure(); ++time) {
    const auto before = trainer.snapshot();
    left[before->training] = rates;
    if (time % 5 == 4) {
      const std::uint64_t branch = before->left->at(below(before->left->size())).number;
      trainer.send(ReturnTo{branch});
      EXPECT_TRUE(wait_until(trainer, [branch](const Snapshot& now) { return now.training == branch; }));
      rates = left.at(branch);
    } else if (!rates.empty()) {
      rates.resize(below(rates.size()));
      const auto number = static_cast<std::uint64_t>(time) + 1;
      trainer.send(RewindTo{rates.size()}, number);
      EXPECT_TRUE(wait_until(trainer, [&](const Snapshot& now) {
        const bool there = now.generation > before->generation && now.step == rates.size();
        return now.answers.is_refused(number) || (there && !now.rewind.running);
      }));
      EXPECT_FALSE(trainer.snapshot()->answers.is_refused(number)) << trainer.snapshot()->notice;
    }
    const std::size_t from = rates.size();
    if (time % 2 == 1 || from >= kMostSteps) continue;
    float rate = trainer.snapshot()->settings->optimizer.learning_rate;
    if (below(3) == 0) set_rate(trainer, rate = below(2) == 0 ? 0.003f : 0.0005f);
    rates.resize(from + 1 + below(6), rate);
    make_steps(trainer, rates.size());
    losses.compare(rates, feed.curves().back(), from);
  }
  const auto lines = feed.all<LogLine>();
  const auto read = std::count_if(lines.begin(), lines.end(), [](const LogLine& line) {
    return line.text.ends_with("is read from the disk");
  });
  EXPECT_EQ(trainer.snapshot()->step, rates.size());
  EXPECT_TRUE(ended(trainer) == undisturbed(rates));
  return {losses.repeated(), read};
}

TEST(Rewind, TwoHundredTimesAtRandomEndsWithTheBitsOfATrainingThatNeverDid) {
  constexpr int kTimes = 200;
  const Seen seen = rewind_at_random(options_of_rewinds(), kTimes);
  EXPECT_GT(seen.repeated, kTimes / 4);
  EXPECT_GT(seen.read, 10);
}

TEST(Rewind, ReachesAnyStepThoughMemoryHasNoRoomForWhereBranchesBegan) {
  TrainerOptions options = options_of_rewinds();
  options.moments_disk_mib = 0;
  EXPECT_EQ(rewind_at_random(options, 60).read, 0);
}

}  // namespace
}  // namespace warpscope::training::moments_on_disk_test
