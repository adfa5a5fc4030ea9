#include <cmath>
#include <limits>
#include <memory>

#include <gtest/gtest.h>

#include "tests/support/tiny_classifier.h"
#include "ui/jobs/features_controller.h"

namespace warpscope::ui::features_rows_test {
namespace {

using features::Pooling;
using features::TrialFigures;

TEST(FeatureChoices, NameTheLayerAndItsPooling) {
  const models::Model model = models::find_model("autoencoder");
  FeatureChoice choice;
  EXPECT_EQ(layers_text(choice, model), "pool2") << "the latent";
  choice.pooling = Pooling::mean;
  choice.side = 4;
  EXPECT_EQ(layers_text(choice, model), "pool2:mean=4");
  choice.layer = "conv1";
  choice.pooling = Pooling::max;
  EXPECT_EQ(layers_text(choice, model), "conv1:max=4");
  choice.side = 5;
  EXPECT_EQ(layers_text(choice, model), "conv1:max=4") << "the nearest that divides 32";
  choice.layer = "no such layer";
  EXPECT_EQ(layer_of(choice, model), "pool2");
  EXPECT_EQ(sides_of("pool2", model), (std::vector<int>{1, 2, 4}));
}

TEST(FeatureChoices, OfLayersWithoutPlacesAreWhole) {
  const models::Model model = tests::tiny_classifier();
  FeatureChoice choice;
  choice.layer = "fc1";
  choice.pooling = Pooling::max;
  EXPECT_TRUE(sides_of("fc1", model).empty());
  EXPECT_EQ(layers_text(choice, model), "fc1");
}

TEST(FeatureChoices, SayHowManyNumbersThereAre) {
  const models::Model model = models::find_model("autoencoder");
  EXPECT_EQ(layer_note("pool2", model), "8 x 8 x 128 = 8,192 numbers an image");
  EXPECT_EQ(layer_note("conv1:max=4", model), "4 x 4 x 256 = 4,096 numbers an image");
  EXPECT_EQ(layer_note("fc1", tests::tiny_classifier()), "6 = 6 numbers an image");
}

TEST(FeatureChoices, KeepACOfEachClassifier) {
  FeatureChoice choice;
  EXPECT_EQ(choice.c(), 10) << "the table's own";
  choice.cs["rbf"] = 3;
  choice.classifier = "linear";
  EXPECT_EQ(choice.c(), 1e-4);
  choice.classifier = "rbf";
  EXPECT_EQ(judgement_of(choice).settings.c, 3);
}

TrialFigures tried(const std::string& layers, const std::string& classifier, double c) {
  TrialFigures made;
  made.layers = layers;
  made.classifier = classifier;
  made.c = c;
  return made;
}

TEST(FeatureChoices, PutLayersSideBySide) {
  const models::Model model = models::find_model("autoencoder");
  FeatureChoice choice;
  choice.layer = "pool2";
  EXPECT_EQ(further_text("conv1", model), "conv1:max=4");
  EXPECT_EQ(further_text("fc1", tests::tiny_classifier()), "fc1");
  choice.further = {further_text("pool1", model), "conv9", "pool2"};
  EXPECT_EQ(layers_text(choice, model), "pool2+pool1:max=4")
      << "neither what the model lacks nor the same again";
  EXPECT_EQ(layer_note(layers_text(choice, model), model),
            "8 x 8 x 128 + 4 x 4 x 256 = 12,288 numbers an image");
  FeatureChoice again;
  take_choice(tried(layers_text(choice, model), "rbf", 10), model, again);
  EXPECT_EQ(again.further, std::vector<std::string>{"pool1:max=4"});
  EXPECT_EQ(layers_text(again, model), layers_text(choice, model));
  take_choice(tried("pool1", "rbf", 10), model, again);
  EXPECT_TRUE(again.further.empty());
}

TEST(FeatureChoices, TellGammaAsTheClassifierReadsIt) {
  FeatureChoice choice;
  EXPECT_EQ(judgement_of(choice).settings.gamma, "scale");
  choice.gamma = GammaChoice::automatic;
  EXPECT_EQ(judgement_of(choice).settings.gamma, "auto");
  choice.gamma = GammaChoice::number;
  choice.gamma_number = 1.25e-4;
  EXPECT_EQ(judgement_of(choice).settings.gamma, "0.000125");
  EXPECT_EQ(classifiers::rbf_options(judgement_of(choice).settings).gamma, 1.25e-4);
}

TEST(FeatureChoices, ComeBackFromATry) {
  const models::Model model = models::find_model("autoencoder");
  FeatureChoice wanted;
  wanted.layer = "pool1";
  wanted.pooling = Pooling::mean;
  wanted.side = 8;
  wanted.standardize = false;
  wanted.cs["rbf"] = 30;
  wanted.gamma = GammaChoice::number;
  wanted.gamma_number = 0.02;
  TrialFigures made = tried(layers_text(wanted, model), "rbf", 30);
  made.standardized = false;
  made.gamma = judgement_of(wanted).settings.gamma;
  made.gamma_value = 0.02;
  FeatureChoice choice;
  choice.classifier = "softmax";
  take_choice(made, model, choice);
  EXPECT_EQ(choice, wanted);
  take_choice(tried("conv9", "linear", 0.5), model, choice);
  EXPECT_EQ(choice.layer, "pool1") << "a layer of another model changes nothing";
  EXPECT_EQ(choice.classifier, "linear");
}

TEST(FeatureWords, ForetellTheRestOfAJob) {
  EXPECT_EQ(time_left(0.5, 0.1), "") << "too early to say";
  EXPECT_EQ(time_left(0.001, 60), "") << "too little done to say";
  EXPECT_EQ(time_left(0.5, 0.8), "less than 1 s left");
  EXPECT_EQ(time_left(0.25, 30), "1:30 left");
}

TEST(FeatureWords, SayNumbersShortly) {
  EXPECT_EQ(seconds_text(0), "-");
  EXPECT_EQ(seconds_text(0.0123), "12 ms");
  EXPECT_EQ(seconds_text(0.836), "0.84 s");
  EXPECT_EQ(seconds_text(66.04), "66.0 s");
  EXPECT_EQ(accuracy_text(0.67563), "67.56 %");
  TrialFigures rbf = tried("pool2", "rbf", 10);
  EXPECT_EQ(gamma_text(rbf), "-");
  rbf.gamma = "scale";
  rbf.gamma_value = 0.0001220703;
  EXPECT_EQ(gamma_text(rbf), "0.000122 (scale)");
  rbf.gamma = "0.5";
  rbf.gamma_value = 0.5;
  EXPECT_EQ(gamma_text(rbf), "0.5");
}

TEST(FeatureSearches, HaveTheClassifiersOwnCInTheMiddle) {
  for (const char* const name : {"rbf", "linear"}) {
    const features::GridAxes axes = search_axes(name);
    const double own = classifiers::classifier_named(name).c;
    EXPECT_NE(std::find(axes.cs.begin(), axes.cs.end(), own), axes.cs.end());
    EXPECT_TRUE(std::is_sorted(axes.cs.begin(), axes.cs.end()));
    EXPECT_LT(axes.cs.front(), own);
    EXPECT_GT(axes.cs.back(), own);
  }
}

/// Five test images, 10 to 14, of which the second and the fourth are taken for something else.
features::TrialResult five_images() {
  features::TrialResult made;
  made.step = 40;
  made.test_images = {10, 11, 12, 13, 14};
  made.truth = {0, 1, 2, 0, 1};
  made.judgement.prediction.labels = {0, 2, 2, 1, 1};
  made.judgement.prediction.margins = {0.5f, 0.1f, 0.3f, 2.0f, 0.2f};
  made.judgement.test = classifiers::measure(made.truth, made.judgement.prediction.labels, 3);
  made.heaviest = {{4, 9.5}, {2, 1.5}};
  made.subject.data = training::view_of(std::make_shared<const data::DataSet>(tests::labelled_data(6, 20)));
  return made;
}

std::vector<std::int64_t> images_of(const std::vector<FeaturePicture>& pictures) {
  std::vector<std::int64_t> images;
  for (const FeaturePicture& picture : pictures) images.push_back(picture.image);
  return images;
}

TEST(FeaturePictures, NearestToTheBorderComeFirst) {
  const auto pictures = pictures_of(five_images(), FeatureOrder::border, {}, 4);
  EXPECT_EQ(images_of(pictures), (std::vector<std::int64_t>{11, 14, 12, 10}));
  EXPECT_FALSE(pictures[0].right());
  EXPECT_EQ(pictures[0].truth, 1);
  EXPECT_EQ(pictures[0].label, 2);
  EXPECT_TRUE(pictures[1].right());
}

TEST(FeaturePictures, OfWrongOnesTheSurestComeFirst) {
  const auto pictures = pictures_of(five_images(), FeatureOrder::wrong, {}, 10);
  EXPECT_EQ(images_of(pictures), (std::vector<std::int64_t>{13, 11}));
}

TEST(FeaturePictures, KeepToTheSelectedImages) {
  const auto pictures = pictures_of(five_images(), FeatureOrder::border, {3, 11, 12}, 10);
  EXPECT_EQ(images_of(pictures), (std::vector<std::int64_t>{11, 12}));
}

TEST(FeaturePictures, OfSupportVectorsAreTrainingImages) {
  const features::TrialResult result = five_images();
  const auto pictures = pictures_of(result, FeatureOrder::support, {11}, 10);
  EXPECT_EQ(images_of(pictures), (std::vector<std::int64_t>{4, 2}));
  EXPECT_TRUE(pictures[0].of_training);
  EXPECT_EQ(pictures[0].truth, result.subject.data->whole->train.labels[4]);
  EXPECT_EQ(pictures[0].figure, 9.5);
}

TEST(FeatureClasses, StandWorstFirstWithWhatTheyWereTakenFor) {
  classifiers::Metrics metrics = five_images().judgement.test;
  auto rows = class_rows(metrics);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[0].truth, 0);
  EXPECT_EQ(rows[0].rows, 2);
  EXPECT_EQ(rows[0].right, 1);
  EXPECT_EQ(rows[0].most, 1);
  EXPECT_EQ(rows[0].taken, 1);
  EXPECT_EQ(rows[2].truth, 2);
  EXPECT_EQ(rows[2].most, -1) << "all of them are right";
  metrics.class_accuracy[0] = std::numeric_limits<double>::quiet_NaN();
  rows = class_rows(metrics);
  EXPECT_EQ(rows[2].truth, 0) << "without images it is the last";
}

TEST(FeatureClasses, CountAsTheConfusionMatrixDoes) {
  const auto evaluation = evaluation_of(five_images());
  EXPECT_EQ(evaluation->confusion, (std::vector<std::uint32_t>{1, 1, 0, 0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(evaluation->step, 40u);
  EXPECT_DOUBLE_EQ(evaluation->accuracy, 0.6);
}

TEST(FeatureTries, AreOrderedByAColumn) {
  std::vector<TrialFigures> tries{tried("pool2", "rbf", 10), tried("conv1", "linear", 1),
                                  tried("pool1", "rbf", 3)};
  tries[0].accuracy = 0.6;
  tries[1].accuracy = 0.9;
  tries[2].accuracy = 0.6;
  tries[0].fit_seconds = 2;
  tries[1].fit_seconds = 3;
  tries[2].fit_seconds = 1;
  using Order = std::vector<std::size_t>;
  EXPECT_EQ(order_of(tries, TryColumn::number), (Order{2, 1, 0}));
  EXPECT_EQ(order_of(tries, TryColumn::accuracy), (Order{1, 2, 0})) << "of equals the newest first";
  EXPECT_EQ(order_of(tries, TryColumn::seconds), (Order{2, 0, 1}));
  EXPECT_EQ(order_of(tries, TryColumn::layers), (Order{1, 2, 0}));
  EXPECT_EQ(order_of(tries, TryColumn::c), (Order{1, 2, 0}));
}

TEST(FeatureFigures, SayWhatWasUsedAgain) {
  features::TrialResult result = five_images();
  const auto value = [&](const std::string& label, std::size_t nth = 0) {
    for (const JobFigure& figure : figures_of(result)) {
      if (figure.label == label && nth-- == 0) return figure.value;
    }
    return std::string("missing");
  };
  EXPECT_EQ(value("features", 1), "as before");
  EXPECT_EQ(value("support"), "missing") << "no RBF SVM";
  result.feature_seconds = 1.5;
  result.support_vectors = 1234;
  EXPECT_EQ(value("features", 1), "1.50 s");
  EXPECT_EQ(value("support"), "1,234");
}

}  // namespace
}  // namespace warpscope::ui::features_rows_test
