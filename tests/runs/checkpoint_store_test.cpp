#include "gpu/runs/checkpoint_store.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <filesystem>
#include <new>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/files/atomic_file.h"
#include "gpu/runs/find_checkpoint.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/checkpoints.h"
#include "tests/support/each_state.h"
#include "tests/support/tiny.h"

namespace warpscope::training::checkpoint_store_test {
namespace {

namespace fs = std::filesystem;
using ops::UpdateRule;
using tests::holds;
using tests::message_of;

class Checkpoints : public testing::Test {
 protected:
  Checkpoint at(std::uint64_t step, std::uint64_t generation = 2) const {
    Checkpoint checkpoint = tests::sample_checkpoint(model, UpdateRule::momentum, step);
    checkpoint.generation = generation;
    return checkpoint;
  }
  /// The names in the folder, hidden ones too.
  std::set<std::string> names() const {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(checkpoint_folder(run)))
      found.insert(entry.path().filename().string());
    return found;
  }
  fs::path file(const char* name) const { return checkpoint_folder(run) / name; }
  static void damage(const fs::path& path) {
    std::string text = tests::read_text(path);
    text[text.size() / 2] = static_cast<char>(text[text.size() / 2] ^ 1);
    // Under a new name first: best.safetensors may be the same file.
    files::write_file_atomically(path, text);
  }
  std::uint64_t best_step() const { return load_checkpoint(file("best.safetensors"), model).step; }

  const tests::TemporaryFolder folder;
  const fs::path run = folder / "run";
  const models::Model model = tests::tiny_model();
};

TEST_F(Checkpoints, AreNamedByTheirSteps) {
  CheckpointStore store(run, model);
  EXPECT_EQ(store.folder(), run / "checkpoints");
  store.save(at(0), false);
  store.save(at(1234), false);
  store.save(at(12'345'678'901), false);
  EXPECT_EQ(names(), (std::set<std::string>{"step-000000000.safetensors", "step-000001234.safetensors",
                                            "step-12345678901.safetensors"}));
  const std::vector<CheckpointFile> files = list_checkpoints(run);
  ASSERT_EQ(files.size(), 3u);
  EXPECT_EQ(files[0].step, 12'345'678'901u) << "newest first, by number";
  EXPECT_EQ(files[1].path, file("step-000001234.safetensors"));
  tests::expect_same(load_checkpoint(files[1].path, model), at(1234));
}

TEST_F(Checkpoints, OtherFilesAreNotListed) {
  const CheckpointStore store(run, model);
  for (const char* name : {"step-1.safetensors", "step-000000001.safetensors.bak", "step-.safetensors",
                           "step-00000000x.safetensors", "step-0000000001.safetensors", "notes.txt",
                           "step-99999999999999999999999.safetensors"}) {
    tests::write_text(file(name), "x");
  }
  EXPECT_TRUE(list_checkpoints(run).empty());
  EXPECT_TRUE(list_checkpoints(folder / "no").empty());
}

TEST_F(Checkpoints, TheLastOnesAndTheBestStay) {
  CheckpointStore store(run, model, 2);
  for (std::uint64_t step = 1; step <= 6; ++step) store.save(at(step), step == 2 || step == 3);
  EXPECT_EQ(names(), (std::set<std::string>{"best.safetensors", "step-000000005.safetensors",
                                            "step-000000006.safetensors"}));
  tests::expect_same(load_checkpoint(file("best.safetensors"), model), at(3));
}

TEST_F(Checkpoints, TheBestIsASecondNameOfItsFile) {
  CheckpointStore store(run, model);
  store.save(at(1), true);
  EXPECT_TRUE(fs::equivalent(file("best.safetensors"), file("step-000000001.safetensors")));
  store.save(at(1), true);
  EXPECT_EQ(names().size(), 2u);
  EXPECT_EQ(best_step(), 1u);
}

TEST_F(Checkpoints, OfASecondSaveAtOneStepTheLaterStays) {
  CheckpointStore store(run, model, 1);
  store.save(at(5), true);
  Checkpoint later = at(5);
  later.control.updates = 7;
  store.save(later, false);
  EXPECT_EQ(store.newest_valid().checkpoint->control.updates, 7u);
  EXPECT_EQ(load_checkpoint(file("best.safetensors"), model).control.updates, 121u);
}

TEST_F(Checkpoints, TheNewestIsFound) {
  CheckpointStore store(run, model);
  EXPECT_FALSE(store.newest_valid().checkpoint.has_value());
  for (const std::uint64_t step : {10, 20, 30}) store.save(at(step), step == 10);
  const NewestCheckpoint newest = store.newest_valid();
  ASSERT_TRUE(newest.checkpoint.has_value());
  tests::expect_same(*newest.checkpoint, at(30));
  EXPECT_EQ(newest.path, file("step-000000030.safetensors"));
  EXPECT_TRUE(newest.skipped.empty());
  EXPECT_FALSE(newest_valid(folder / "no", model).checkpoint.has_value());
}

TEST_F(Checkpoints, DamagedOnesAreSkippedAndReported) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20, 30}) store.save(at(step), step == 10);
  damage(file("step-000000030.safetensors"));
  fs::resize_file(file("step-000000020.safetensors"), 100);
  NewestCheckpoint newest = newest_valid(run, model);
  ASSERT_TRUE(newest.checkpoint.has_value());
  EXPECT_EQ(newest.checkpoint->step, 10u);
  ASSERT_EQ(newest.skipped.size(), 2u);
  EXPECT_TRUE(holds(newest.skipped[0], {"step-000000030.safetensors", "damaged", "older checkpoint"}));
  EXPECT_TRUE(holds(newest.skipped[1], {"step-000000020.safetensors"}));

  damage(file("step-000000010.safetensors"));
  newest = newest_valid(run, model);
  ASSERT_TRUE(newest.checkpoint.has_value()) << "the best one is left";
  EXPECT_EQ(newest.path, file("best.safetensors"));
  EXPECT_EQ(newest.skipped.size(), 3u);
  damage(file("best.safetensors"));
  newest = newest_valid(run, model);
  EXPECT_FALSE(newest.checkpoint.has_value());
  EXPECT_EQ(newest.skipped.size(), 4u);
}

TEST_F(Checkpoints, OfATrainingLeftBehindGoOnTheNextSave) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20, 30}) store.save(at(step), false);
  damage(file("step-000000030.safetensors"));
  // Resumed from 20, the training reaches 25.
  CheckpointStore resumed(run, model);
  EXPECT_EQ(resumed.newest_valid().checkpoint->step, 20u);
  EXPECT_EQ(names().size(), 3u) << "looking changes nothing";
  resumed.save(at(25), false);
  EXPECT_EQ(names(), (std::set<std::string>{"step-000000010.safetensors", "step-000000020.safetensors",
                                            "step-000000025.safetensors"}));
}

TEST_F(Checkpoints, OfAnEarlierGenerationAreSetAsideOnTheNextSave) {
  for (const bool after_resume : {false, true}) {
    CheckpointStore first(run, model);
    for (const std::uint64_t step : {10, 20, 30}) first.save(at(step, 0), step == 20);
    CheckpointStore second(run, model);
    if (after_resume) second.goes_on_with(0);
    CheckpointStore& store = after_resume ? second : first;
    // After a reset the new training may save first at a step beyond the old ones.
    store.save(at(40, 1), false);
    EXPECT_EQ(names(), (std::set<std::string>{"generation-0", "step-000000040.safetensors"}));
    for (const char* name : {"step-000000010", "step-000000020", "step-000000030", "best"}) {
      EXPECT_TRUE(fs::exists(file("generation-0") / (std::string(name) + ".safetensors"))) << name;
    }
    store.save(at(50, 1), false);
    EXPECT_EQ(names().size(), 3u);
    fs::remove_all(run);
  }
}

TEST_F(Checkpoints, OfAnEarlierGenerationStayWhereTheNextOneDoesNotFit) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20}) store.save(at(step, 0), step == 10);
  const std::set<std::string> before = names();
  {
    const tests::FileSizeLimit limit(2000);
    EXPECT_TRUE(holds(message_of<core::Error>([&] { store.save(at(15, 1), false); }), {"File too large"}));
  }
  EXPECT_EQ(names(), before);
  EXPECT_EQ(store.newest_valid().checkpoint->step, 20u);
  store.save(at(15, 1), false);
  EXPECT_EQ(names(), (std::set<std::string>{"generation-0", "step-000000015.safetensors"}));
}

TEST_F(Checkpoints, OfAnEarlierGenerationThatCannotBeReadAreSetAsideToo) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20}) store.save(at(step, 0), false);
  tests::write_text(file("step-000000020.safetensors"), "not to be read");
  store.save(at(15, 1), false);
  EXPECT_EQ(names(), (std::set<std::string>{"generation-0", "step-000000015.safetensors"}));
  EXPECT_EQ(tests::read_text(file("generation-0/step-000000020.safetensors")), "not to be read");
}

TEST_F(Checkpoints, TheLastIsOfTheLastGeneration) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20}) store.save(at(step, 0), false);
  EXPECT_EQ(runs::find_checkpoint(run, "last"), file("step-000000020.safetensors"));
  // What a save leaves that is killed before it sets the others aside.
  save_checkpoint(file("step-000000005.safetensors"), at(5, 1), model);
  EXPECT_EQ(runs::find_checkpoint(run, "last"), file("step-000000005.safetensors"));
  EXPECT_EQ(newest_valid(run, model).checkpoint->step, 5u);
}

/// What a save that begins generation 1 does to a run with steps 10, the best, and 20 of generation 0.
struct FirstOfGeneration {
  std::uint64_t step = 0;
  bool is_best = false;
};

void PrintTo(const FirstOfGeneration& first, std::ostream* out) {
  *out << "step " << first.step << (first.is_best ? ", the best" : "");
}

class NextGeneration : public Checkpoints, public testing::WithParamInterface<FirstOfGeneration> {
 protected:
  void SetUp() override {
    CheckpointStore store(run, model);
    for (const std::uint64_t step : {10, 20}) store.save(at(step, 0), step == 10);
  }
  void save_first() const {
    CheckpointStore store(run, model);
    store.goes_on_with(0);
    store.save(at(GetParam().step, 1), GetParam().is_best);
  }
  /// What a process that is killed now leaves, second names of files too; nothing if that is known.
  std::optional<fs::path> new_state() {
    std::string now;
    for (const auto& entry : fs::recursive_directory_iterator(run)) {
      struct stat status {};
      if (::stat(entry.path().c_str(), &status) != 0) return std::nullopt;
      now += fmt::format("{} {}\n", entry.path().string(), status.st_ino);
    }
    if (now == known_) return std::nullopt;
    known_ = now;
    fs::path left = folder / fmt::format("left-{}", count_++);
    fs::copy(run, left, fs::copy_options::recursive | fs::copy_options::create_hard_links);
    return left;
  }
  void expect_goes_on_in(const fs::path& left, std::uint64_t generation);

 private:
  std::string known_;
  int count_ = 0;
};

/// The run that a killed process has left goes on, with all that it had.
void NextGeneration::expect_goes_on_in(const fs::path& left, std::uint64_t generation) {
  CheckpointStore store(left, model);
  store.goes_on_with(generation);
  std::set<std::uint64_t> steps;
  for (const CheckpointFile& each : list_checkpoints(left)) {
    EXPECT_EQ(load_checkpoint(each.path, model).generation, generation);
    steps.insert(each.step);
  }
  const fs::path kept = checkpoint_folder(left), aside = kept / "generation-0";
  const fs::path best = kept / "best.safetensors";
  if (generation == 0) {
    EXPECT_EQ(steps, (std::set<std::uint64_t>{10, 20}));
    EXPECT_FALSE(fs::exists(aside));
    tests::expect_same(load_checkpoint(best, model), at(10, 0));
  } else {
    EXPECT_EQ(steps, (std::set<std::uint64_t>{GetParam().step}));
    EXPECT_EQ(fs::exists(best), GetParam().is_best);
    for (const std::uint64_t step : {10, 20}) {
      const fs::path file = aside / fmt::format("step-{:09}.safetensors", step);
      tests::expect_same(load_checkpoint(file, model), at(step, 0));
    }
    tests::expect_same(load_checkpoint(aside / "best.safetensors", model), at(10, 0));
  }
  store.save(at(50, generation), false);
  tests::expect_same(*newest_valid(left, model).checkpoint, at(50, generation));
}

TEST_P(NextGeneration, IsThereOrTheOneBeforeWhereverItsFirstSaveIsKilled) {
  std::vector<std::uint64_t> generations;
  const auto look = [&] {
    const auto left = new_state();
    if (!left || HasFailure()) return;
    const NewestCheckpoint newest = newest_valid(*left, model);
    ASSERT_TRUE(newest.skipped.empty()) << newest.skipped.front();
    ASSERT_TRUE(newest.checkpoint.has_value());
    const std::uint64_t generation = newest.checkpoint->generation;
    tests::expect_same(*newest.checkpoint, at(generation == 0 ? 20 : GetParam().step, generation));
    generations.push_back(generation);
    expect_goes_on_in(*left, generation);
  };
  if (!tests::look_at_each_state([this] { save_first(); }, look))
    GTEST_SKIP() << "this process may not stop another";
  EXPECT_TRUE(std::ranges::is_sorted(generations));
  EXPECT_EQ(std::set<std::uint64_t>(generations.begin(), generations.end()), (std::set<std::uint64_t>{0, 1}));
}

INSTANTIATE_TEST_SUITE_P(Steps, NextGeneration,
                         testing::Values(FirstOfGeneration{15, false}, FirstOfGeneration{15, true},
                                         FirstOfGeneration{10, false}, FirstOfGeneration{20, true},
                                         FirstOfGeneration{40, false}));

TEST_F(Checkpoints, OfAnEarlierGenerationStayAsTheyWereWhereTheNextBestOneDoesNotFit) {
  CheckpointStore store(run, model);
  for (const std::uint64_t step : {10, 20}) store.save(at(step, 0), step == 10);
  const std::set<std::string> before = names();
  {
    const tests::FileSizeLimit limit(2000);
    EXPECT_THROW(store.save(at(20, 1), true), core::Error);
  }
  EXPECT_EQ(names(), before);
  tests::expect_same(*store.newest_valid().checkpoint, at(20, 0));
  tests::expect_same(load_checkpoint(file("best.safetensors"), model), at(10, 0));
}

TEST_F(Checkpoints, LeftoversOfKilledWritersGo) {
  tests::write_text(file(".step-000000010.safetensors.17-3.tmp"), "half");
  tests::write_text(file("notes.txt"), "mine");
  const CheckpointStore store(run, model);
  EXPECT_EQ(names(), (std::set<std::string>{"notes.txt"}));
}

TEST_F(Checkpoints, NeedAFolderAndANumber) {
  EXPECT_TRUE(holds(message_of<core::BadInput>([&] { CheckpointStore(run, model, 0); }), {"keep 0"}));
  EXPECT_FALSE(fs::exists(run));
  tests::write_text(folder / "x" / "checkpoints", "a file");
  EXPECT_TRUE(holds(message_of<core::BadInput>([&] { CheckpointStore(folder / "x", model); }),
                    {(folder / "x" / "checkpoints").string(), "another run folder"}));
}

TEST_F(Checkpoints, StayWhenANewOneDoesNotFit) {
  CheckpointStore store(run, model, 1);
  store.save(at(1), true);
  {
    const tests::FileSizeLimit limit(2000);
    EXPECT_TRUE(holds(message_of<core::Error>([&] { store.save(at(2), true); }),
                      {"best.safetensors", "File too large"}));
    EXPECT_TRUE(holds(message_of<core::Error>([&] { store.save(at(2), false); }),
                      {"step-000000002.safetensors", "File too large"}));
  }
  EXPECT_EQ(store.newest_valid().checkpoint->step, 1u);
  EXPECT_EQ(best_step(), 1u);
  EXPECT_EQ(names().size(), 2u);
  store.save(at(3), false);
  EXPECT_EQ(store.newest_valid().checkpoint->step, 3u);
}

TEST_F(Checkpoints, StayLoadableOnADiskThatFillsUp) {
  const tests::SmallDisk disk(64 * 1024);
  if (!disk.mounted()) GTEST_SKIP() << "this process may not mount a small disk";
  CheckpointWriter writer(CheckpointStore(disk.path(), model, 100));
  std::uint64_t step = 1;
  for (; step < 100 && writer.error().empty(); ++step) {
    writer.save(at(step), step == 3);
    writer.flush();
  }
  EXPECT_GT(step, 5u);
  ASSERT_TRUE(holds(writer.error(), {"step-", "No space left on device"}));
  EXPECT_EQ(writer.saved_step(), step - 2);
  for (const CheckpointFile& old : list_checkpoints(disk.path()))
    tests::expect_same(load_checkpoint(old.path, model), at(old.step));
  EXPECT_EQ(list_checkpoints(disk.path()).size(), step - 2);
  EXPECT_EQ(newest_valid(disk.path(), model).checkpoint->step, step - 2);
  // With space again the error goes.
  fs::remove(list_checkpoints(disk.path()).back().path);
  writer.save(at(step), false);
  writer.flush();
  EXPECT_EQ(writer.error(), "");
  EXPECT_EQ(newest_valid(disk.path(), model).checkpoint->step, step);
}

TEST_F(Checkpoints, AreWrittenByTheWriter) {
  CheckpointWriter writer(CheckpointStore(run, model));
  EXPECT_FALSE(writer.saved_step().has_value());
  writer.flush();
  writer.save(at(1), true);
  writer.flush();
  EXPECT_EQ(writer.error(), "");
  EXPECT_EQ(writer.saved_step(), 1u);
  tests::expect_same(*newest_valid(run, model).checkpoint, at(1));
  EXPECT_EQ(best_step(), 1u);
}

TEST_F(Checkpoints, TheWriterFirstWritesWhatTheyRelyOn) {
  std::vector<std::size_t> files_before;
  CheckpointWriter writer(CheckpointStore(run, model),
                          [&] { files_before.push_back(list_checkpoints(run).size()); });
  for (std::uint64_t step = 1; step <= 2; ++step) {
    writer.save(at(step), false);
    writer.flush();
  }
  EXPECT_EQ(files_before, (std::vector<std::size_t>{0, 1}));
}

TEST_F(Checkpoints, TheWriterTakesTheNewestAndTheBest) {
  constexpr std::uint64_t kBest = 57;
  {
    CheckpointWriter writer(CheckpointStore(run, model));
    for (std::uint64_t step = 1; step <= 100; ++step) writer.save(at(step), step == 3 || step == kBest);
  }
  // Whatever was dropped on the way, these two were not, and the destructor wrote them.
  EXPECT_EQ(newest_valid(run, model).checkpoint->step, 100u);
  EXPECT_EQ(best_step(), kBest);
}

TEST_F(Checkpoints, TheWriterTellsOfABestOneThatIsLost) {
  CheckpointWriter writer(CheckpointStore(run, model));
  {
    const tests::FileSizeLimit limit(2000);
    writer.save(at(1), true);
    writer.flush();
  }
  EXPECT_TRUE(holds(writer.error(), {"best.safetensors", "File too large"}));
  EXPECT_FALSE(writer.saved_step().has_value());
  writer.save(at(2), false);
  writer.flush();
  EXPECT_TRUE(holds(writer.error(), {"best.safetensors"})) << "a newer one does not replace it";
  EXPECT_EQ(writer.saved_step(), 2u);
  writer.save(at(3), true);
  writer.flush();
  EXPECT_EQ(writer.error(), "");
}

TEST_F(Checkpoints, TheWriterTellsOfWhatCannotBeACheckpoint) {
  CheckpointWriter writer(CheckpointStore(run, model));
  Checkpoint bad = at(1);
  bad.weights.clear();
  writer.save(bad, false);
  writer.flush();
  EXPECT_TRUE(holds(writer.error(), {"weights"}));
}

/// Saves in a loop until it is killed; `saved` is the last step on the disk, and each save puts a byte into
/// `pipe`.
[[noreturn]] void save_until_killed(const fs::path& run, const models::Model& model, Checkpoint checkpoint,
                                    std::atomic<std::uint64_t>& saved, int pipe) {
  try {
    CheckpointStore store(run, model, 2);
    for (;;) {
      ++checkpoint.step;
      checkpoint.weights = tests::counting_buffer(model, static_cast<float>(checkpoint.step));
      store.save(checkpoint, checkpoint.step % 3 == 0);
      saved = checkpoint.step;
      if (::write(pipe, "s", 1) != 1) ::_exit(1);
    }
  } catch (const std::exception&) {
    ::_exit(1);
  }
}

/// Microseconds that a save takes on this disk.
double save_time(const fs::path& run, const models::Model& model, const Checkpoint& checkpoint) {
  CheckpointStore store(run, model, 2);
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 5; ++i) store.save(checkpoint, i == 0);
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - start;
  return time.count() / 5;
}

TEST_F(Checkpoints, SurviveWritersKilledAtAnyMoment) {
  void* shared = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(shared, MAP_FAILED);
  auto& saved = *new (shared) std::atomic<std::uint64_t>(0);
  Checkpoint last = at(0);
  const double longest = save_time(run, model, last);
  for (std::uint64_t kill = 0; kill < 100; ++kill) {
    int pipe[2];
    ASSERT_EQ(::pipe(pipe), 0);
    const pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) save_until_killed(run, model, last, saved, pipe[1]);
    ::close(pipe[1]);
    // After up to two saves, somewhere in the next: where does not matter, the sleep only makes it differ.
    char byte = 0;
    for (std::uint64_t saves = kill % 3; saves > 0; --saves) ASSERT_EQ(::read(pipe[0], &byte, 1), 1);
    ::usleep(static_cast<useconds_t>(longest * core::random_unit(11, kill)));
    ::kill(child, SIGKILL);
    ::close(pipe[0]);
    int status = 0;
    ::waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "a save failed";
    const NewestCheckpoint newest = newest_valid(run, model);
    ASSERT_TRUE(newest.skipped.empty()) << newest.skipped.front();
    ASSERT_TRUE(newest.checkpoint.has_value());
    ASSERT_GE(newest.checkpoint->step, saved) << "a finished save was lost";
    ASSERT_LE(newest.checkpoint->step, saved + 1);
    last = *newest.checkpoint;
    ASSERT_EQ(last.weights, tests::counting_buffer(model, static_cast<float>(last.step)));
    // Every third is the best.
    ASSERT_GE(best_step(), last.step / 3 * 3);
    ASSERT_LE(best_step(), last.step + 1);
    saved = last.step;
  }
  EXPECT_GE(last.step, 99u) << "as many saves at least were waited for";
  CheckpointStore store(run, model, 2);
  store.save(at(last.step + 1), false);
  EXPECT_LE(names().size(), 3u) << "two and the best: what killed writers did not delete any more goes too";
  ::munmap(shared, 4096);
}

}  // namespace
}  // namespace warpscope::training::checkpoint_store_test
