// Several ranks answer as one does, bit by bit, and tell what goes wrong on which.

#include "gpu/inference/ranks.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stb_image_write.h>

#include "gpu/core/error.h"
#include "gpu/core/random.h"
#include "gpu/data/requirements.h"
#include "gpu/inference/report.h"
#include "tests/core/temporary_folder.h"
#include "tests/support/plan_memory.h"
#include "tests/support/rank_threads.h"
#include "tests/support/tiny_classifier.h"

namespace warpscope::inference::ranks_test {
namespace {

constexpr int kImages = 37;

/// How to open the images, on rank 0.
using Open = std::function<std::unique_ptr<DividedSource>(const models::Model&)>;

std::unique_ptr<DividedSource> in_memory(const models::Model& model) {
  const bool classifies = model.loss == models::Loss::cross_entropy;
  return test_images_of(std::make_shared<data::DataSet>(classifies ? tests::labelled_data(1, kImages)
                                                                   : tests::tiny_data(1, kImages)));
}

struct Asked {
  models::Model model = tests::tiny_classifier();
  int batch = 4;
  Open open = in_memory;
  std::string data = "nowhere";  ///< where others look for the images
  std::string devices = "cpu";   ///< of the others
  Inference::GoOn go_on = {};
};

std::string csv(const Outcome& outcome) {
  return csv_of({.weights = "", .model = "", .data = "", .device = "", .precision = "", .classes = {}},
                outcome);
}

Outcome by_one(const Asked& asked) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  Inference network(asked.model, models::initial_parameters(asked.model, 3), tests::all_of("loops"),
                    asked.batch, device, *stream);
  return network.run(*asked.open(asked.model));
}

Outcome lead_one(ranks::Meeting& meeting, const Asked& asked) {
  const auto device = core::open_device("cpu");
  const auto stream = device->make_stream();
  const auto source = asked.open(asked.model);
  Question question{asked.model, tests::all_of("loops"), {}, asked.batch, Pace::overlapped, asked.data, {},
                    {}};
  question.devices.resize(static_cast<std::size_t>(meeting.place().size), asked.devices);
  return lead(meeting, question, models::initial_parameters(asked.model, 3), device, *stream, *source,
              asked.go_on);
}

Outcome by_ranks(int ranks, const Asked& asked) {
  Outcome outcome;
  ranks::as_ranks(ranks, [&](ranks::SharedMeeting& meeting) {
    if (meeting.place().leads()) {
      outcome = lead_one(meeting, asked);
    } else {
      EXPECT_EQ(follow(meeting), 0);
    }
  });
  return outcome;
}

void expect_same(const Outcome& found, const Outcome& wanted, int ranks) {
  EXPECT_EQ(csv(found), csv(wanted));
  EXPECT_EQ(found.refused, wanted.refused);
  EXPECT_EQ(found.accuracy, wanted.accuracy);
  EXPECT_EQ(found.mse, wanted.mse);
  EXPECT_EQ(found.batches, wanted.batches);
  EXPECT_FALSE(found.interrupted);
  std::int64_t images = 0;
  for (const RankShare& share : found.ranks) {
    images += share.images;
    EXPECT_LE(share.seconds, found.seconds);
    EXPECT_NEAR(share.times.device + share.times.idle, found.seconds, 1e-9);
  }
  EXPECT_EQ(found.ranks.size(), static_cast<std::size_t>(ranks));
  EXPECT_EQ(images, static_cast<std::int64_t>(found.answers.size()));
}

TEST(RanksOfAnInference, HaveWholeBatchesThatTogetherAreAll) {
  const auto pieces = [](std::int64_t images, int batch, int ranks) {
    std::vector<std::array<std::int64_t, 2>> all;
    for (int rank = 0; rank < ranks; ++rank) {
      const Piece piece = piece_of(images, batch, {rank, ranks});
      all.push_back({piece.begin, piece.end});
    }
    return all;
  };
  using Pieces = std::vector<std::array<std::int64_t, 2>>;
  EXPECT_EQ(pieces(37, 4, 1), (Pieces{{0, 37}}));
  EXPECT_EQ(pieces(37, 4, 3), (Pieces{{0, 16}, {16, 28}, {28, 37}}));
  EXPECT_EQ(pieces(37, 20, 3), (Pieces{{0, 20}, {20, 37}, {37, 37}}));
  EXPECT_EQ(pieces(1, 1, 2), (Pieces{{0, 1}, {1, 1}}));
}

TEST(RanksOfAnInference, AnswerWhatTheyAreSentAsOneDoes) {
  for (const models::Model& model : {tests::tiny_classifier(), tests::tiny_model()}) {
    for (const int batch : {1, 4, 20, 37}) {  // the last two leave ranks without images
      SCOPED_TRACE(testing::Message() << model.name << ' ' << batch);
      const Asked asked{.model = model, .batch = batch};
      const Outcome wanted = by_one(asked);
      ASSERT_EQ(wanted.answers.size(), std::size_t{kImages});
      for (const int ranks : {2, 3}) expect_same(by_ranks(ranks, asked), wanted, ranks);
    }
  }
}

/// Twenty pictures, of which some cannot be read: all of a batch of three among them.
void write_pictures(const tests::TemporaryFolder& folder) {
  for (int i = 0; i < 20; ++i) {
    const std::string file = folder / fmt::format("{:02}.png", i);
    if (i == 1 || (i >= 9 && i < 12)) {
      std::ofstream(file) << "no picture";
      continue;
    }
    std::vector<std::uint8_t> pixels(8 * 8);
    for (std::size_t n = 0; n < pixels.size(); ++n)
      pixels[n] = static_cast<std::uint8_t>(core::random_bits(static_cast<std::uint64_t>(i), n) % 256);
    ASSERT_NE(stbi_write_png(file.c_str(), 8, 8, 1, pixels.data(), 0), 0);
  }
}

TEST(RanksOfAnInference, ReadTheirFilesThemselvesAndTellThoseThatTheyCannot) {
  const tests::TemporaryFolder folder;
  write_pictures(folder);
  const Open open = [&](const models::Model& model) {
    std::string notice;
    return open_images(folder.path().string(), data::requirements_of(model), {}, notice);
  };
  Asked asked{.batch = 3, .open = open, .data = folder.path().string()};
  const Outcome wanted = by_one(asked);
  EXPECT_EQ(wanted.refused.size(), 4u);
  for (const int ranks : {2, 3}) expect_same(by_ranks(ranks, asked), wanted, ranks);
  asked.data = "nowhere";
  expect_same(by_ranks(3, asked), wanted, 3);
}

TEST(RanksOfAnInference, AllEndWhereRankZeroSaysNo) {
  const Outcome found = by_ranks(3, {.batch = 1, .go_on = [](std::int64_t answers) { return answers < 2; }});
  EXPECT_TRUE(found.interrupted);
  ASSERT_GE(found.answers.size(), 2u);
  for (std::size_t i = 1; i < found.answers.size(); ++i)
    EXPECT_LT(found.answers[i - 1].image.index, found.answers[i].image.index);
}

TEST(RanksOfAnInference, OneThatCannotBeginIsNamed) {
  ranks::as_ranks(3, [](ranks::SharedMeeting& meeting) {
    if (!meeting.place().leads()) {
      EXPECT_EQ(follow(meeting, meeting.place().rank == 2 ? "no such device" : "cpu"), 1);
      return;
    }
    try {
      lead_one(meeting, {});
      ADD_FAILURE() << "nothing was refused";
    } catch (const core::BadInput& error) {
      EXPECT_TRUE(std::string(error.what()).starts_with("rank 2: ")) << error.what();
    }
  });
}

TEST(RanksOfAnInference, OneThatEndsIsNamed) {
  ranks::as_ranks(3, [](ranks::SharedMeeting& meeting) {
    if (meeting.place().rank == 1) return;
    if (!meeting.place().leads()) {
      EXPECT_EQ(follow(meeting), ranks::kOthersMissing);
      return;
    }
    try {
      lead_one(meeting, {});
      ADD_FAILURE() << "nobody was missing";
    } catch (const ranks::RankMissing& error) {
      EXPECT_STREQ(error.what(), "rank 1 ended; it was to come to the beginning of the inference");
    }
  });
}

}  // namespace
}  // namespace warpscope::inference::ranks_test
