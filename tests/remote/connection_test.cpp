// Messages between two ends of a connection, and a training that is seen through one.

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/core/error.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/remote/channel.h"
#include "gpu/remote/remote_source.h"
#include "gpu/remote/server.h"
#include "tests/support/pipe_source.h"
#include "tests/support/tiny_trainer.h"

namespace warpscope::remote::connection_test {
namespace {

using std::chrono::milliseconds;

std::string message(const std::string& text) {
  return training::MessageWriter().write(text);
}

std::string text_of(const std::string& message) {
  return training::MessageReader().read<std::string>(message);
}

TEST(Connection, BringsMessagesOfAnyLengthWholeAndInOrderBothWays) {
  const auto [near, far] = make_connection();
  const std::string large(std::size_t{5} << 20, 'x');  // more than a socket holds
  std::jthread writer([&from = near, &large] {
    EXPECT_TRUE(from.write(message("one")));
    EXPECT_TRUE(from.write(message(large)));
  });
  EXPECT_TRUE(far.write(message("back")));
  EXPECT_EQ(text_of(far.read().value()), "one");
  EXPECT_EQ(text_of(far.read().value()), large);
  EXPECT_EQ(text_of(near.read().value()), "back");
}

TEST(Connection, ThatIsHalfClosedIsReadToItsEnd) {
  const auto [near, far] = make_connection();
  EXPECT_FALSE(far.readable(milliseconds(0)));
  EXPECT_TRUE(near.write(message("last")));
  near.end_writing();
  EXPECT_TRUE(far.readable(milliseconds(0)));
  EXPECT_EQ(text_of(far.read().value()), "last");
  EXPECT_FALSE(far.read().has_value());
  EXPECT_TRUE(far.write(message("still open")));
  EXPECT_EQ(text_of(near.read().value()), "still open");
}

TEST(Connection, WhoseOtherEndHasGoneTakesNothingAndGivesNoPartOfAMessage) {
  auto [near, far] = make_connection();
  EXPECT_TRUE(far.write(message("cut off").substr(0, 40)));
  { const Channel gone = std::move(far); }
  EXPECT_FALSE(near.read().has_value());
  EXPECT_FALSE(near.write(message("lost")));
}

TEST(Connection, RefusesWhatIsNoMessage) {
  const auto [near, far] = make_connection();
  EXPECT_TRUE(near.write(std::string(64, 'x')));
  EXPECT_THROW(far.read(), core::BadInput);
}

TEST(RemoteTraining, IsSeenAndSteeredThroughAConnection) {
  training::TrainerOptions options = tests::tiny_trainer_options();
  options.shown_images = 4;
  options.start_paused = true;
  const auto trainer = std::make_shared<training::Trainer>(std::move(options));
  const auto seen = tests::through_pipes(trainer);
  tests::FeedLog log(seen->subscribe());
  ASSERT_TRUE(tests::eventually([&] { return seen->snapshot()->state == training::TrainerState::paused; }));
  for (std::uint64_t number = 1; number <= 3; ++number) seen->send(training::StepOnce{}, number);
  ASSERT_TRUE(tests::eventually([&] { return seen->snapshot()->step == 3; }));
  ASSERT_TRUE(tests::eventually([&] { return log.steps().size() == 3; }));
  EXPECT_EQ(seen->snapshot()->answers.last, 3u);
  EXPECT_EQ(log.steps().back()[training::Metric::loss], trainer->snapshot()->last[training::Metric::loss]);
  EXPECT_TRUE(tests::eventually([&] { return seen->images() && seen->images()->acquire() != nullptr; }));
}

/// A training that ends while its snapshot is asked for.
class EndsMeanwhile : public training::Source, private jobs::Jobs {
 public:
  std::shared_ptr<const training::Snapshot> snapshot() const override {
    ended_ = true;
    return finished_;
  }
  std::shared_ptr<training::Feed> subscribe() override { return std::make_shared<training::Feed>(); }
  std::shared_ptr<training::ImageExchange> images() const override { return nullptr; }
  jobs::Jobs* jobs() override { return this; }
  Left left() const {
    return {ended_ ? std::make_shared<const std::vector<float>>(1, 0.5f) : nullptr, nullptr, nullptr};
  }

 private:
  static std::shared_ptr<const training::Snapshot> finished() {
    auto made = std::make_shared<training::Snapshot>();
    made->state = training::TrainerState::finished;
    return made;
  }
  void queue(training::Command /*command*/, std::uint64_t /*number*/) override {}
  void ask(jobs::Request /*request*/) override {}
  jobs::States states() const override { return {}; }

  const std::shared_ptr<const training::Snapshot> finished_ = finished();
  mutable std::atomic<bool> ended_ = false;
};

TEST(RemoteTraining, WhoseEndIsSeenHasItsWeights) {
  const auto ends = make_connection();
  const auto source = std::make_shared<EndsMeanwhile>();
  const std::jthread server([&source, &channel = ends.second] {
    Server(source, channel, [source] { return source->left(); }).serve();
    channel.end_writing();
  });
  RemoteSource seen(ends.first);
  seen.end();
  bool told = false;
  seen.follow([&] {
    told = true;
    EXPECT_EQ(seen.snapshot()->state, training::TrainerState::finished);
    EXPECT_NE(seen.left().parameters, nullptr);
  });
  EXPECT_TRUE(told);
}

}  // namespace
}  // namespace warpscope::remote::connection_test
