#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "tests/support/random_message.h"

namespace warpscope::training {
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

/// Reading throws nothing but a sentence; true if it throws.
template <class T>
bool is_refused(const auto& read) {
  try {
    read();
    return false;
  } catch (const core::BadInput& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.starts_with("a message from the other process is damaged: ") ||
                text.starts_with("the other process is another version of warpscope"))
        << text;
    EXPECT_EQ(text.find('\n'), std::string::npos);
    return true;
  }
}

TYPED_TEST(Messages, ThatAreCutOffOrChangedAreRefused) {
  const std::string whole = MessageWriter().write(RandomMessage(7).make<TypeParam>());
  const auto refused = [](const std::string& text) {
    return is_refused<TypeParam>([&] { MessageReader().read<TypeParam>(text); });
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

// As if the checksum were right: what is read then may be wrong, but is whole.
TYPED_TEST(Messages, AreReadWithoutHarmWhateverTheirBytes) {
  std::mt19937 bits(3);
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::string body =
        MessageWriter().write(RandomMessage(seed).make<TypeParam>()).substr(MessageHead::kBytes);
    const auto read = [](const std::string& text) {
      return is_refused<TypeParam>([&] { MessageReader().read_body<TypeParam>(text); });
    };
    for (int change = 0; change < 60; ++change) {
      std::string other = body;
      other[bits() % other.size()] = static_cast<char>(bits());
      read(other);
      std::string huge = body;  // a count, as it may stand anywhere
      const std::uint64_t count =
          bits() % 2 == 0 ? ~std::uint64_t{0} : std::uint64_t{1} << (20 + bits() % 40);
      if (huge.size() >= 8) std::memcpy(huge.data() + bits() % (huge.size() - 7), &count, 8);
      read(huge);
      EXPECT_TRUE(read(body.substr(0, bits() % body.size()))) << "cut off";
    }
  }
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
}  // namespace warpscope::training
