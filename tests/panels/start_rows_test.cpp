#include "ui/panels/start/start_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "gpu/core/error.h"
#include "tests/core/temporary_folder.h"
#include "ui/panels/start/start_desk.h"

namespace warpscope::ui::start_rows_test {
namespace {

const StartRow* find(const std::vector<StartRow>& rows, const std::string& label) {
  const auto found =
      std::find_if(rows.begin(), rows.end(), [&](const StartRow& row) { return row.label == label; });
  return found == rows.end() ? nullptr : &*found;
}

TEST(StartRows, DefaultsAreTheCommandWithoutOptions) {
  EXPECT_EQ(command_line_of({}), "warpscope");
  EXPECT_TRUE(configuration_of({}).empty());
}

TEST(StartRows, ChoicesAreTheSameAsSettingsAndAsACommandLine) {
  StartChoices choices{.data = "/my pictures", .network = "mlp", .init = {}, .goal_text = "90 %"};
  choices.goal = Goal::accuracy;
  choices.device = "cpu";
  add_choice(choices, "seed", "4");
  add_choice(choices, "precision", "fp32");
  EXPECT_EQ(command_line_of(choices),
            "warpscope --model mlp --data '/my pictures' --target-accuracy 0.9 --device cpu --precision fp32 "
            "--seed 4");
  const training::Configuration configuration = configuration_of(choices);
  EXPECT_EQ(configuration.number("target_accuracy"), 0.9);
  EXPECT_EQ(configuration.text("data_source"), "/my pictures");
}

TEST(StartRows, RanksGoOnWhereTheProgramStartsThem) {
  training::Snapshot snapshot;
  EXPECT_EQ(ranks_text(snapshot, {}) + rank_options(snapshot, {}), "");
  snapshot.ranks.resize(2);
  snapshot.ranks[0].device = "cuda:0";
  snapshot.ranks[1].device = "cuda:2";
  EXPECT_NE(ranks_text(snapshot, {}).find("did not start"), std::string::npos);
  EXPECT_EQ(rank_options(snapshot, {}), "");
  snapshot.most_ranks = 4;
  EXPECT_EQ(rank_options(snapshot, {}), " --gpus 0,2");
  EXPECT_EQ(rank_options(snapshot, {.device = "cpu"}), "") << "one rank, on that device";
  snapshot.ranks[1].device = "cuda:0";
  EXPECT_EQ(rank_options(snapshot, {}), " --ranks 2");
}

TEST(StartRows, AFlagHasNoValueOnTheCommandLine) {
  StartChoices choices;
  add_choice(choices, "deterministic", "true");
  add_choice(choices, "record", "false");
  EXPECT_EQ(command_line_of(choices), "warpscope --deterministic --no-record");
  const training::Configuration configuration = configuration_of(choices);
  EXPECT_EQ(*configuration.find("deterministic"), training::Value(true));
  EXPECT_EQ(*configuration.find("record"), training::Value(false));
}

TEST(StartRows, AGoalThatIsNoneSaysWhy) {
  const models::Model autoencoder = models::find_model("autoencoder");
  const models::Model classifier = models::find_model("classifier");
  StartChoices choices;
  EXPECT_EQ(goal_refusal(choices, autoencoder), "");
  choices.goal = Goal::epochs;
  EXPECT_NE(goal_refusal(choices, autoencoder), "") << "nothing is typed";
  choices.goal_text = "many";
  EXPECT_NE(goal_refusal(choices, autoencoder), "");
  choices.goal_text = "3";
  EXPECT_EQ(goal_refusal(choices, autoencoder), "");
  choices.goal = Goal::accuracy;
  choices.goal_text = "0.9";
  EXPECT_EQ(goal_refusal(choices, classifier), "");
  EXPECT_NE(goal_refusal(choices, autoencoder).find("does not classify"), std::string::npos);
}

TEST(StartRows, ACardSaysHowItsTrainingEndedOrThatItIsHere) {
  runs::RecentTraining recent;
  recent.run.model = "mlp";
  recent.end = "running";
  EXPECT_NE(card_text(recent, 0).result.find("running"), std::string::npos);
  const std::string here = card_text(recent, 0, true).result;
  EXPECT_EQ(here.find("running"), std::string::npos) << here;
  EXPECT_NE(here.find("in this window"), std::string::npos) << here;
}

TEST(StartRows, OnlyATrainingWithStepsIsKept) {
  training::Snapshot snapshot;
  snapshot.run_dir = "runs/1";
  EXPECT_EQ(leaving_text(snapshot), "The window opens anew.");
  snapshot.step = 1;
  EXPECT_NE(leaving_text(snapshot).find("stays in the list of runs"), std::string::npos);
}

TEST(StartRows, NetworksThatDoNotSuitTheDataSayWhy) {
  data::Inventory inventory;
  inventory.option = "mnist";
  inventory.title = "MNIST";
  inventory.shape = {28, 28, 1};
  inventory.classes = std::vector<std::string>(10, "digit");
  const auto rows = network_rows(&inventory, {}, nullptr);
  ASSERT_NE(find(rows, "mlp"), nullptr);
  EXPECT_EQ(find(rows, "mlp")->why_not, "");
  EXPECT_NE(find(rows, "autoencoder")->why_not.find("28x28x1"), std::string::npos);
  EXPECT_NE(find(rows, "char_cnn")->why_not.find("takes texts"), std::string::npos);
  EXPECT_EQ(find(network_rows(nullptr, {}, nullptr), "autoencoder")->why_not, "")
      << "nobody knows the data yet";
}

TEST(StartRows, ANetworkOfAFileIsNamedOnceItIsRead) {
  const StartChoices file{.network = "folder/mine.toml"}, weights{.init = "run"};
  models::Model own = models::find_model("mlp");
  own.name = "own";
  EXPECT_TRUE(tells_network_in_file(file) && tells_network_in_file(weights));
  EXPECT_FALSE(tells_network_in_file({.network = "mlp"}));
  EXPECT_NE(find(network_rows(nullptr, file, nullptr), "mine.toml: reading ..."), nullptr);
  EXPECT_NE(find(network_rows(nullptr, file, &own), "own"), nullptr);
  EXPECT_NE(find(network_rows(nullptr, weights, nullptr), "that of the weights: reading ..."), nullptr);
  EXPECT_EQ(find(network_rows(nullptr, weights, &own), "that of the weights")->note, "own");
}

TEST(StartRows, PathsAreToldApartByWhatTheyHold) {
  const tests::TemporaryFolder folder;
  tests::write_text(folder.path() / "run" / "run.json", "{}");
  tests::write_text(folder.path() / "net.toml", "");
  tests::write_text(folder.path() / "w.safetensors", "");
  tests::write_text(folder.path() / "texts" / "train.csv", "a,b\n");
  std::filesystem::create_directories(folder.path() / "empty");
  EXPECT_EQ(kind_of(folder.path() / "run"), PathKind::run);
  EXPECT_EQ(kind_of(folder.path() / "net.toml"), PathKind::network);
  EXPECT_EQ(kind_of(folder.path() / "w.safetensors"), PathKind::weights);
  EXPECT_EQ(kind_of(folder.path() / "texts"), PathKind::data);
  EXPECT_EQ(kind_of(folder.path() / "empty"), PathKind::pictures);
  EXPECT_EQ(kind_of(folder.path() / "gone"), PathKind::nothing);
}

TEST(StartRows, ThePathOfNothingIsToldAsWhatItIs) {
  const tests::TemporaryFolder folder;
  const std::string gone = (folder / "gone").string(), loop = (folder / "loop").string(),
                    pipe = (folder / "pipe").string();
  std::filesystem::create_symlink(loop, loop);
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(kind_of(pipe), PathKind::nothing);
  EXPECT_EQ(tell_nothing(gone), "there is no " + gone);
  EXPECT_EQ(tell_nothing(pipe), pipe + " is neither a file nor a folder");
  EXPECT_TRUE(tests::holds(tell_nothing(loop), {"cannot read " + loop + ": "}));
}

TEST(StartRows, AHomeFolderMayBeTypedAsInAShell) {
  const std::string home = std::getenv("HOME") == nullptr ? "~" : std::getenv("HOME");
  EXPECT_EQ(typed_path("~/a b").string(), home + "/a b");
  EXPECT_EQ(typed_path("~").string(), home);
  for (const char* const typed : {"~a/b", "a/~", "/a", ""}) EXPECT_EQ(typed_path(typed).string(), typed);
}

TEST(StartRows, ACardNamesItsFiguresAsTablesOfRunsDo) {
  runs::RecentTraining training;
  training.run.test_loss = 0.286711;
  training.run.accuracy = 0.93174;
  training.run.validation_loss = 0.5;
  training.run.validation_accuracy = 0.25;
  training.end = "finished";
  training.run.model = "mlp";
  training.run.epochs = 3.489;
  EXPECT_EQ(card_text(training, 0).title, "mlp, 3.49 epochs");
  EXPECT_TRUE(tests::holds(card_text(training, 0).result,
                           {"finished", ", test loss 0.28671, test accuracy 93.17 %"}));
  training.run.test_loss = training.run.accuracy = NAN;
  EXPECT_TRUE(
      tests::holds(card_text(training, 0).result, {", validation loss 0.5", "validation accuracy 25.00 %"}));
}

TEST(StartRows, ClassesAreNamedAsFarAsThereIsRoomAndNotCountedAgain) {
  const std::vector<std::string> classes{"blue sky", "bricks", "plasma"};
  EXPECT_EQ(class_text(classes, 100), "classes: blue sky, bricks, plasma");
  EXPECT_EQ(class_text(classes, 20), "classes: blue sky, ...");
}

}  // namespace
}  // namespace warpscope::ui::start_rows_test
