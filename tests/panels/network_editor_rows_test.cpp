// Editing a network: what edits do, what is wrong with them, what is carried over.

#include "ui/panels/network/network_editor_rows.h"

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/models/model_file.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/tiny.h"

namespace warpscope::ui::network_editor_rows_test {
namespace {

using models::LayerKind;

const models::LayerField& field(LayerKind kind, std::string_view key) {
  for (const models::LayerField& each : models::row_of(kind).fields) {
    if (each.key == key) return each;
  }
  throw std::logic_error("no such field");
}

std::vector<std::string> names(const NetworkDraft& draft) {
  std::vector<std::string> all;
  for (const models::Layer& layer : draft.network().layers) all.push_back(layer.name);
  return all;
}

/// conv1 4, relu1, conv2 4, add1 from conv1, conv3 3; 8x8x3 are reconstructed.
models::Model residual() {
  return models::parse_model(R"(
input = [8, 8, 3]
loss = "mse"
layers = [
  {type = "conv2d", channels = 4},
  {type = "relu"},
  {type = "conv2d", channels = 4},
  {type = "add", from = "conv1"},
  {type = "conv2d", channels = 3},
])",
                             "text", "residual");
}

TEST(NetworkDraft, BeginsAsWhatIsTrained) {
  const NetworkDraft draft(tests::tiny_model());
  EXPECT_FALSE(draft.changed());
  EXPECT_FALSE(draft.fault());
  EXPECT_FALSE(draft.can_undo());
  EXPECT_EQ(draft.network(), tests::tiny_model());
  ASSERT_TRUE(draft.summary());
  EXPECT_EQ(draft.summary()->parameters_before, 435U);
  EXPECT_EQ(draft.summary()->parameters_after, 435U);
  EXPECT_EQ(draft.summary()->carried, 6U);
  EXPECT_EQ(draft.summary()->tensors, 6U);
}

TEST(NetworkDraft, ANumberChangesSizesAndWhatIsCarriedOver) {
  NetworkDraft draft(tests::tiny_model());
  draft.set(0, field(LayerKind::conv2d, "channels"), 8);
  EXPECT_TRUE(draft.changed());
  EXPECT_EQ(draft.rows()[0].output, (models::Extent{8, 8, 8}));
  EXPECT_EQ(draft.rows()[0].parameters, 8U * 27 + 8);
  EXPECT_EQ(draft.network().layers[3].in_channels, 8) << "conv2 takes what it gets";
  ASSERT_TRUE(draft.summary());
  EXPECT_EQ(draft.summary()->carried, 3U) << "conv2.bias, conv3.weight and conv3.bias";
  EXPECT_EQ(draft.summary()->parameters_after, 8U * 27 + 8 + 5 * 9 * 8 + 5 + 3 * 9 * 5 + 3);
}

TEST(NetworkDraft, FieldsOfAllKindsAreSet) {
  NetworkDraft draft(tests::tiny_model());
  draft.add(1, LayerKind::dropout);
  EXPECT_FLOAT_EQ(draft.network().layers[1].rate, 0.5f) << "its default";
  draft.set(1, field(LayerKind::dropout, "rate"), 0.25);
  EXPECT_FLOAT_EQ(draft.network().layers[1].rate, 0.25f);
  EXPECT_EQ(value_of(field(LayerKind::dropout, "rate"), draft.network().layers[1]), 0.25);
  draft.set(0, field(LayerKind::conv2d, "bias"), 0);
  EXPECT_FALSE(draft.network().layers[0].bias);
  EXPECT_EQ(value_of(field(LayerKind::conv2d, "bias"), draft.network().layers[0]), 0);
}

TEST(NetworkDraft, AFactorBeginsAtOneAndIsNotZero) {
  NetworkDraft draft(tests::tiny_model());
  draft.add(1, LayerKind::scale);
  EXPECT_EQ(draft.network().layers[1].factor, 1.0f);
  EXPECT_FALSE(draft.fault());
  draft.set(1, field(LayerKind::scale, "factor"), 0);
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->why, "multiplies by 0, but a factor is finite and not 0");
  draft.set(1, field(LayerKind::scale, "factor"), 0.125);
  EXPECT_FALSE(draft.fault());
}

TEST(NetworkDraft, EveryKindCanBeAddedAnywhere) {
  for (const models::LayerRow& row : models::layer_rows()) {
    const std::size_t layers = tests::tiny_model().layers.size();
    for (std::size_t at = 0; at <= layers; ++at) {
      NetworkDraft draft(tests::tiny_model());
      draft.add(at, row.kind);
      ASSERT_EQ(draft.network().layers.size(), layers + 1);
      EXPECT_EQ(draft.network().layers[at].kind, row.kind);
      for (const models::LayerField& each : row.fields) {
        if (each.number == nullptr && each.real == nullptr) continue;
        const double value = value_of(each, draft.network().layers[at]);
        EXPECT_TRUE(value >= each.least && value <= each.most) << row.name << "." << each.key << " " << value;
      }
    }
  }
}

TEST(NetworkDraft, ANewLayerFitsItsPlace) {
  NetworkDraft draft(residual());
  draft.add(1, LayerKind::conv2d);
  EXPECT_FALSE(draft.fault()) << draft.fault()->why;
  EXPECT_EQ(draft.network().layers[1].name, "conv4") << "conv1 to conv3 are taken";
  EXPECT_EQ(draft.network().layers[1].out_channels, 4) << "as many as it gets";
  draft.add(3, LayerKind::add);
  EXPECT_FALSE(draft.fault()) << draft.fault()->why;
  EXPECT_EQ(draft.network().layers[3].from, "conv4") << "the nearest one but that before it";
}

TEST(NetworkDraft, TheFirstLayerThatDoesNotFitIsToldAndNothingBehindItIsKnown) {
  NetworkDraft draft(residual());
  draft.set(2, field(LayerKind::conv2d, "channels"), 5);
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->layer, 3U);
  EXPECT_NE(draft.fault()->why.find("8x8x4, to 8x8x5"), std::string::npos) << draft.fault()->why;
  EXPECT_FALSE(draft.summary());
  EXPECT_EQ(draft.rows()[2].output, (models::Extent{8, 8, 5}));
  EXPECT_EQ(draft.rows()[3].input, (models::Extent{8, 8, 5}));
  EXPECT_FALSE(draft.rows()[3].output);
  EXPECT_FALSE(draft.rows()[4].input);
  draft.undo();
  EXPECT_FALSE(draft.fault());
}

TEST(NetworkDraft, AnOutputThatDoesNotFitIsAFaultOfTheWholeNetwork) {
  NetworkDraft draft(tests::tiny_model());
  draft.set(6, field(LayerKind::conv2d, "channels"), 2);
  ASSERT_TRUE(draft.fault());
  EXPECT_FALSE(draft.fault()->layer);
  EXPECT_TRUE(draft.fault()->why.starts_with("the network: the output is 8x8x2")) << draft.fault()->why;
  for (std::size_t at = draft.network().layers.size(); at > 0; --at) draft.remove(at - 1);
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->why, "the network has no layer to train");
}

TEST(NetworkDraft, ManyUpsamplingsAreRefusedAndOverflowNothing) {
  NetworkDraft draft(tests::tiny_model());
  for (int i = 0; i < 40; ++i) draft.add(1, LayerKind::upsample2d);
  ASSERT_TRUE(draft.fault());
  EXPECT_NE(draft.fault()->why.find("more than fit"), std::string::npos) << draft.fault()->why;
}

TEST(NetworkDraft, MoreParametersThanANetworkMayHaveAreRefused) {
  NetworkDraft draft(tests::tiny_model());
  draft.set(0, field(LayerKind::conv2d, "channels"), 65536);
  draft.set(3, field(LayerKind::conv2d, "channels"), 65536);
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->layer, 3U);
  EXPECT_NE(draft.fault()->why.find("2,147,483,648 parameters in all"), std::string::npos)
      << draft.fault()->why;
}

TEST(NetworkDraft, ALayerWithoutANameIsCalledByItsNumber) {
  NetworkDraft draft(tests::tiny_model());
  EXPECT_EQ(draft.called(1), draft.network().layers[1].name);
  EXPECT_EQ(draft.rename(1, ""), "");
  EXPECT_EQ(draft.called(1), "layer 2");
}

TEST(NetworkDraft, NamesAreUniqueAndReferencesFollow) {
  NetworkDraft draft(residual());
  EXPECT_EQ(draft.rename(0, "relu1"), "another layer is called relu1");
  EXPECT_EQ(draft.network().layers[0].name, "conv1");
  EXPECT_EQ(draft.rename(0, "stem"), "");
  EXPECT_EQ(draft.network().layers[3].from, "stem");
  EXPECT_FALSE(draft.fault());
  EXPECT_EQ(draft.summary()->carried, 4U) << "all but those of the layer with another name";
  EXPECT_EQ(draft.rename(0, "no spaces"), "");
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->layer, 0U);
}

TEST(NetworkDraft, LayersMoveAreDoubledAndTakenOut) {
  NetworkDraft draft(residual());
  draft.move_down(0);
  EXPECT_EQ(names(draft), (std::vector<std::string>{"relu1", "conv1", "conv2", "add1", "conv3"}));
  draft.move_up(1);
  EXPECT_FALSE(draft.changed());
  draft.move_up(0);
  draft.move_down(4);
  EXPECT_FALSE(draft.changed()) << "at the ends nothing happens";
  draft.duplicate(2);
  EXPECT_EQ(names(draft), (std::vector<std::string>{"conv1", "relu1", "conv2", "conv4", "add1", "conv3"}));
  EXPECT_FALSE(draft.fault());
  draft.remove(0);
  ASSERT_TRUE(draft.fault()) << "add1 adds it";
  EXPECT_EQ(draft.network().layers[*draft.fault()->layer].name, "add1");
}

TEST(NetworkDraft, EditsAreTakenBackAndMadeAgain) {
  NetworkDraft draft(residual());
  draft.add(0, LayerKind::relu);
  draft.rename(0, "first");
  draft.undo();
  EXPECT_EQ(draft.network().layers[0].name, "relu2");
  draft.undo();
  EXPECT_FALSE(draft.changed());
  EXPECT_FALSE(draft.can_undo());
  draft.redo();
  draft.redo();
  EXPECT_EQ(draft.network().layers[0].name, "first");
  EXPECT_FALSE(draft.can_redo());
  draft.undo();
  draft.rename(0, "other");
  EXPECT_FALSE(draft.can_redo()) << "another way was taken";
  draft.revert();
  EXPECT_FALSE(draft.changed());
  draft.undo();
  EXPECT_EQ(draft.network().layers[0].name, "other") << "a revert can be taken back too";
}

TEST(NetworkDraft, AnEditedBuiltInNetworkHasAnotherName) {
  NetworkDraft draft(models::find_model("classifier"));
  EXPECT_EQ(draft.network().name, "classifier");
  draft.add(1, LayerKind::dropout);
  EXPECT_EQ(draft.network().name, "classifier-edited");
  EXPECT_EQ(models::model_of(models::text_of(draft.network())), draft.network());
  draft.remove(1);
  EXPECT_EQ(draft.network().name, "classifier");
}

TEST(NetworkDraft, FollowsWhatIsTrainedUnlessItWasEdited) {
  NetworkDraft draft(tests::tiny_model());
  draft.set_trained(residual());
  EXPECT_EQ(draft.network(), residual());
  draft.add(1, LayerKind::gelu);
  const models::Model edited = draft.network();
  draft.set_trained(tests::tiny_model());
  EXPECT_EQ(draft.network(), edited);
  EXPECT_TRUE(draft.changed());
  draft.set_trained(edited);
  EXPECT_FALSE(draft.changed()) << "it was applied";
}

/// fc1 3 of 8 characters of three.
models::Model of_texts() {
  return models::parse_model(R"(
text = {length = 8, alphabet = "abc"}
loss = "cross_entropy"
classes = 3
layers = [{type = "one_hot"}, {type = "linear", features = 3}]
)",
                             "text", "texts");
}

const NetworkField& field(const NetworkDraft& draft, std::string_view key) {
  static std::vector<NetworkField> fields;
  fields = network_fields(draft.network());
  for (const NetworkField& each : fields) {
    if (each.key == key) return each;
  }
  throw std::logic_error("no such field");
}

TEST(NetworkDraft, TellsThatANetworkDoesNotFitTheData) {
  NetworkDraft draft(tests::tiny_model());
  EXPECT_EQ(draft.misfit("tiny waves", 3), "");
  draft.open(models::find_model("classifier"));
  EXPECT_EQ(draft.misfit("tiny waves", 3), "the images of tiny waves are 8x8x3, this network takes 32x32x3");
  EXPECT_EQ(draft.network().name, "classifier");
  draft.undo();
  EXPECT_EQ(draft.network(), tests::tiny_model());
  draft.set_loss(models::Loss::cross_entropy);
  EXPECT_EQ(draft.misfit("tiny waves", 3), "this training reconstructs, this network classifies");
  draft.take_texts(true);
  EXPECT_EQ(draft.misfit("tiny waves", 3), "tiny waves holds images, this network takes texts");

  NetworkDraft classifier(models::find_model("classifier"));
  classifier.set(field(classifier, "classes"), 9);
  EXPECT_EQ(classifier.misfit("CIFAR-10", 10), "CIFAR-10 has 10 classes, this network tells 9 apart");
  EXPECT_EQ(classifier.misfit("CIFAR-10", 0), "") << "not known how many";
  classifier.set(field(classifier, "classes"), 11);
  EXPECT_EQ(classifier.misfit("CIFAR-10", 10), "");
  classifier.set_loss(models::Loss::mse);
  EXPECT_EQ(classifier.misfit("CIFAR-10", 10), "this training classifies, this network reconstructs");

  NetworkDraft texts(of_texts());
  EXPECT_EQ(texts.misfit("some texts", 3), "");
  texts.set(field(texts, "length"), 9);
  EXPECT_EQ(texts.misfit("some texts", 3),
            "the texts of some texts have a length of 8, this network takes 9");
  texts.undo();
  texts.set_alphabet("abd");
  EXPECT_EQ(texts.misfit("some texts", 3),
            "the texts of some texts were read by another alphabet than this network's");
  texts.take_texts(false);
  EXPECT_EQ(texts.misfit("some texts", 3), "some texts holds texts, this network takes images");
}

TEST(NetworkDraft, TheInputIsEditedAndSizesFollow) {
  NetworkDraft draft(tests::tiny_model());
  draft.set(field(draft, "height"), 12);
  draft.set(field(draft, "width"), 10);
  EXPECT_FALSE(draft.fault()) << draft.fault()->why;
  EXPECT_TRUE(draft.changed());
  EXPECT_EQ(draft.rows()[0].output, (models::Extent{12, 10, 4}));
  draft.set(field(draft, "channels"), 1);
  EXPECT_EQ(draft.network().layers[0].in_channels, 1);
  ASSERT_TRUE(draft.fault()) << "three channels are made of one";
  EXPECT_TRUE(draft.fault()->why.starts_with("the network: the output is 12x10x3")) << draft.fault()->why;
  draft.set(field(draft, "height"), 11);
  ASSERT_TRUE(draft.fault());
  draft.revert();
  EXPECT_FALSE(draft.changed());
  EXPECT_THROW(field(draft, "classes"), std::logic_error) << "it reconstructs";
}

TEST(NetworkDraft, ALossBringsItsClassesAndTheOutputHasToFit) {
  NetworkDraft draft(tests::tiny_model());
  draft.set_loss(models::Loss::cross_entropy);
  EXPECT_EQ(draft.network().classes, 10);
  ASSERT_TRUE(draft.fault());
  EXPECT_TRUE(draft.fault()->why.starts_with("the network: the output is 8x8x3; 10 classes"))
      << draft.fault()->why;
  draft.set(field(draft, "classes"), 7);
  draft.add(7, LayerKind::linear);
  draft.set(7, field(LayerKind::linear, "features"), 7);
  EXPECT_FALSE(draft.fault()) << draft.fault()->why;
  draft.set_loss(models::Loss::mse);
  EXPECT_EQ(draft.network().classes, 0);
  EXPECT_TRUE(draft.fault());
  draft.undo();
  EXPECT_EQ(draft.network().classes, 7);
}

TEST(NetworkDraft, LayersThatReadCharactersFollowTheAlphabet) {
  NetworkDraft draft(of_texts());
  EXPECT_EQ(draft.rows()[0].output, (models::Extent{1, 8, 3}));
  EXPECT_EQ(draft.set_alphabet("abcde"), "");
  EXPECT_EQ(draft.rows()[0].output, (models::Extent{1, 8, 5}));
  EXPECT_EQ(draft.set_alphabet(""), "the alphabet has no characters");
  EXPECT_EQ(draft.network().alphabet, "abcde");
  EXPECT_EQ(draft.set_alphabet("abca"), "");
  ASSERT_TRUE(draft.fault());
  EXPECT_EQ(draft.fault()->why, "the network: the alphabet has 'a' twice");
  draft.undo();
  draft.set(0, field(LayerKind::one_hot, "classes"), 9);
  draft.set_alphabet("ab");
  EXPECT_EQ(draft.network().layers[0].symbols, 9) << "not as many as there were characters";
  draft.set_loss(models::Loss::mse);
  ASSERT_TRUE(draft.fault());
  EXPECT_NE(draft.fault()->why.find("classifies"), std::string::npos) << draft.fault()->why;
}

TEST(NetworkDraft, TextsAndImagesTakeEachOthersPlace) {
  NetworkDraft draft(of_texts());
  draft.take_texts(false);
  EXPECT_EQ(draft.rows()[0].input, (models::Extent{32, 32, 3}));
  EXPECT_FALSE(draft.network().reads_text());
  ASSERT_TRUE(draft.fault()) << "one_hot takes bytes of one channel";
  EXPECT_EQ(draft.fault()->layer, 0U);
  draft.take_texts(true);
  EXPECT_FALSE(draft.changed()) << "as it is trained";
  NetworkDraft images(tests::tiny_model());
  images.take_texts(true);
  EXPECT_EQ(images.rows()[0].input->height, 1);
  EXPECT_TRUE(images.network().reads_text());
  images.take_texts(false);
  EXPECT_FALSE(images.changed());
}

TEST(NetworkDraft, OffersTheEarlierLayersOfTheSameSize) {
  const NetworkDraft draft(residual());
  EXPECT_EQ(draft.earlier(3), (std::vector<std::string>{"conv1", "relu1", "conv2"}));
  EXPECT_TRUE(draft.earlier(0).empty());
}

class NetworkFiles : public testing::Test {
 protected:
  const tests::TemporaryFolder folder;
};

TEST_F(NetworkFiles, AreReadAsTheyWereWritten) {
  NetworkDraft draft(models::find_model("classifier"));
  draft.add(1, LayerKind::dropout);
  const std::filesystem::path file = folder / "mine.toml";
  save_network(draft.network(), file);
  models::Model read = models::read_model(file);
  EXPECT_EQ(read.name, "mine");
  read.name = draft.network().name;
  EXPECT_EQ(read, draft.network());
}

TEST_F(NetworkFiles, ThatCouldNotBeReadAgainAreNotWritten) {
  NetworkDraft draft(models::find_model("classifier"));
  draft.add(1, LayerKind::dropout);
  const std::filesystem::path file = folder / "mlp.toml";
  EXPECT_THROW(save_network(draft.network(), file), core::BadInput) << "a built-in network is called so";
  EXPECT_FALSE(std::filesystem::exists(file));
  EXPECT_THROW(save_network(draft.network(), folder / "missing/mine.toml"), core::Error);
}

TEST(NetworkPath, IsWhatAPersonMeans) {
  EXPECT_EQ(network_path("mine"), "mine.toml");
  EXPECT_EQ(network_path("  a/mine.toml "), "a/mine.toml");
  EXPECT_EQ(network_path(" "), "");
  EXPECT_TRUE(network_path("~/mine").is_absolute());
}

}  // namespace
}  // namespace warpscope::ui::network_editor_rows_test
