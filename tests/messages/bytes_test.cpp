#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/damaged_message.h"
#include "tests/support/random_message.h"

namespace warpscope::training::bytes_test {
namespace {

using tests::RandomMessage;
using tests::same;

template <class T>
class Messages : public testing::Test {};
using All = testing::Types<Command, ObservationRequest, Observations, Snapshot, FeedItem,
                           std::vector<FeedItem>, ShownImages>;
TYPED_TEST_SUITE(Messages, All);

TYPED_TEST(Messages, ComeBackAsTheyWereSent) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    const auto sent = RandomMessage(seed).make<TypeParam>();
    MessageWriter writer;
    MessageReader reader;
    EXPECT_TRUE(same(reader.read<TypeParam>(writer.write(sent)), sent)) << seed;
  }
}

TEST(Commands, OfEachKindComeBack) {
  for (std::size_t kind = 0; kind < std::variant_size_v<Command>; ++kind) {
    Command sent;
    RandomMessage(1).fill_variant(sent, kind, std::make_index_sequence<std::variant_size_v<Command>>());
    ASSERT_EQ(sent.index(), kind);
    EXPECT_TRUE(same(MessageReader().read<Command>(MessageWriter().write(sent)), sent)) << kind;
  }
}

TYPED_TEST(Messages, ThatAreCutOffOrChangedAreRefused) {
  const std::string whole = MessageWriter().write(RandomMessage(7).make<TypeParam>());
  const auto refused = [](const std::string& text) {
    return tests::is_refused([&] { MessageReader().read<TypeParam>(text); });
  };
  const std::size_t step = 1 + whole.size() / 200;
  for (std::size_t end = 0; end < whole.size(); end += step)
    EXPECT_TRUE(refused(whole.substr(0, end))) << end;
  EXPECT_TRUE(refused(whole + "x"));
  for (std::size_t at = 0; at < whole.size(); at += at < MessageHead::kBytes ? 1 : step) {
    std::string other = whole;
    other[at] = static_cast<char>(other[at] ^ 0x10);
    EXPECT_TRUE(refused(other)) << at;
  }
}

TYPED_TEST(Messages, AreReadWithoutHarmWhateverTheirBytes) {
  tests::read_damaged<TypeParam>();
}

template <class T>
void expect_refused(const char* why, void (*spoil)(T&)) {
  EXPECT_TRUE(
      tests::holds(tests::refusal_of<T>(spoil), {"a message from the other process is damaged", why}));
}

TEST(Inconsistent, OpsAndNetworksAreRefused) {
  expect_refused<ops::OpShape>("the shape of an op", [](auto& shape) { shape.stride = 0; });
  expect_refused<ops::OpShape>("the shape of an op", [](auto& shape) { shape.factor = std::nanf(""); });
  expect_refused<ops::OpShape>("the shape of an op", [](auto& shape) { shape.width = -1; });
  expect_refused<OpTiming>("the shape of an op", [](auto& timing) { timing.shape.dilation = 0; });
  expect_refused<Snapshot>("the network", [](auto& snapshot) {
    models::Model network = models::find_model("mlp");
    network.layers.pop_back();
    snapshot.network = std::make_shared<const models::Model>(network);
  });
  expect_refused<Snapshot>("the network", [](auto& snapshot) {
    models::Model network = models::find_model("autoencoder");
    network.layers.front().kernel = 0;
    snapshot.network = std::make_shared<const models::Model>(network);
  });
}

TEST(Inconsistent, TheLargestRateThatANetworkMayHaveIsNot) {
  models::Model network = models::find_model("char_cnn");
  for (models::Layer& layer : network.layers) {
    if (layer.kind == models::LayerKind::dropout) layer.rate = 0.99f;
  }
  Snapshot snapshot;
  snapshot.network = std::make_shared<const models::Model>(network);
  EXPECT_EQ(inconsistency_in(snapshot), "");
}

TEST(Inconsistent, EvaluationsAreRefused) {
  expect_refused<Evaluation>("the confusion matrix", [](auto& e) { e.classes = 4; });
  expect_refused<Evaluation>("the confusion matrix", [](auto& e) { e.classes = -3; });
  expect_refused<Evaluation>("as many predictions",
                             [](auto& e) { e.predicted.resize(e.image_losses.size() + 1); });
  expect_refused<Evaluation>("a class is predicted", [](auto& e) {
    e.image_losses = {1};
    e.predicted = {3};
  });
  expect_refused<Evaluation>("as many places",
                             [](auto& e) { e.positions.resize(e.image_losses.size() + 1); });
  expect_refused<Evaluation>("do not rise", [](auto& e) {
    e.image_losses = {1, 1};
    e.predicted.clear();
    e.positions = {5, 5};
  });
  expect_refused<ImageFacts>("as many labels",
                             [](auto& facts) { facts.labels.resize(facts.labels.size() + 1); });
  expect_refused<Snapshot>("an image has a class", [](auto& snapshot) {
    Evaluation evaluation;
    evaluation.classes = 2;
    evaluation.confusion.resize(4);
    DataView data;
    data.test = {1, 1, 1, 1, false, {2}};
    snapshot.evaluation = std::make_shared<const Evaluation>(evaluation);
    snapshot.data = std::make_shared<const DataView>(data);
  });
}

TEST(Inconsistent, ObservationsAreRefused) {
  expect_refused<LayerOutput>("the output of a layer", [](auto& output) { output.values.push_back(0); });
  expect_refused<LayerOutput>("the output of a layer", [](auto& output) {
    output.values.clear();
    output.height = output.width = output.channels = 1 << 22;  // whose product is 4 * 2^64
  });
  expect_refused<Inspection>("as many gradients", [](auto& inspection) {
    inspection.gradients.resize(inspection.parameters.size() + 1);
  });
  expect_refused<LatentMap>("the map of the latents", [](auto& map) { map.count = 4; });
  expect_refused<LatentMap>("the map of the latents", [](auto& map) { map.sigmas.clear(); });
  expect_refused<LatentMap>("the size of the latents is impossible",
                            [](auto& map) { map.latent.extent.height = -1; });
  expect_refused<LatentMap>("a reason why", [](auto& map) { map.problem = "too few images"; });
  expect_refused<LatentPictures>("as many pictures of latents",
                                 [](auto& pictures) { pictures.places.push_back({}); });
  expect_refused<ComparisonRequest>("a negative number of images", [](auto& request) { request.count = -1; });
  expect_refused<Comparison>("not each network",
                             [](auto& comparison) { comparison.reconstructions.push_back({}); });
  expect_refused<Comparison>("pictures have another size",
                             [](auto& comparison) { comparison.original.push_back(0); });
  expect_refused<Distributions>("a moment is missing", [](auto& seen) { seen.moments.push_back(nullptr); });
  expect_refused<ChannelActivations>("as many activations", [](auto& a) { a.maxima.push_back(0); });
  expect_refused<TextAttribution>("a class that does not exist", [](auto& text) { text.target = 2; });
  expect_refused<TextAttribution>("as many shares", [](auto& text) { text.known.push_back(1); });
  expect_refused<AugmentedImages>("images have another size",
                                  [](auto& seen) { seen.images.pixels.push_back(0); });
  expect_refused<data::OwnImages>("as many names", [](auto& own) { own.names.emplace_back(); });
  expect_refused<ShownImages>("pictures have another size", [](auto& images) { images.errors.push_back(0); });
}

TEST(Inconsistent, KernelsOfUsersAreRefused) {
  expect_refused<UserKernel>("a version of a kernel is missing",
                             [](auto& kernel) { kernel.versions.push_back(nullptr); });
  expect_refused<UserKernel>("the versions of a kernel do not rise", [](auto& kernel) {
    kernel.versions = {std::make_shared<KernelVersion>(), std::make_shared<KernelVersion>()};
  });
}

TEST(MessageHead, OfAnotherVersionIsToldAsSuch) {
  const std::string text = MessageWriter().write(Command{Pause{}});
  try {
    MessageReader().read<ObservationRequest>(text);
    ADD_FAILURE() << "what is made of other members is read";
  } catch (const core::BadInput& error) {
    EXPECT_STREQ(error.what(),
                 "the other process is another version of warpscope, whose messages this one cannot read");
  }
}

TEST(MessageHead, OfAHugeMessageIsRefusedBeforeAnythingIsRead) {
  EXPECT_THROW(MessageHead::read(MessageHead{0, MessageHead::kMost + 1, 0}.text()), core::BadInput);
  EXPECT_EQ(MessageHead::read(MessageHead{1, 2, 3}.text()).length, 2u);
}

class SharedObjects : public testing::Test {
 protected:
  Observations over(const Observations& seen) { return reader.read<Observations>(last = writer.write(seen)); }
  static std::shared_ptr<const Inspection> inspection() {
    Inspection made;
    made.parameters.resize(1000);
    made.gradients.resize(1000);
    return std::make_shared<const Inspection>(made);
  }
  MessageWriter writer;
  MessageReader reader;
  std::string last;
};

TEST_F(SharedObjects, AreSentOnceAndStayTheSame) {
  Observations seen;
  seen.inspection = inspection();
  const Observations first = over(seen);
  const std::size_t size = last.size();
  EXPECT_GT(size, 4000u);
  seen.time_share = 0.5;
  const Observations second = over(seen);
  EXPECT_LT(last.size(), size - 4000);
  EXPECT_EQ(first.inspection, second.inspection);
  EXPECT_EQ(writer.find<Inspection>(1), seen.inspection);
  EXPECT_EQ(writer.find<Comparison>(1), nullptr);
}

TEST_F(SharedObjects, AreForgottenOnceTheSenderHasThemNoMore) {
  Observations seen;
  seen.inspection = inspection();
  const std::weak_ptr<const Inspection> read = over(seen).inspection;
  EXPECT_FALSE(read.expired()) << "it may be named again";
  seen.inspection = nullptr;
  over(seen);
  EXPECT_TRUE(read.expired());
  seen.inspection = inspection();
  EXPECT_EQ(over(seen).inspection->parameters.size(), 1000u) << "whatever its address";
}

TEST_F(SharedObjects, OfAnotherKindOrOfNobodyAreRefused) {
  MessageWriter other;
  Observations seen;
  seen.inspection = inspection();
  other.write(seen);
  EXPECT_THROW(reader.read<Observations>(other.write(seen)), core::BadInput) << "the reader has never got it";
}

}  // namespace
}  // namespace warpscope::training::bytes_test
