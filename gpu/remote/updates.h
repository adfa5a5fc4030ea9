#pragma once
// What a process that shows a training and the one that trains tell each other.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <variant>
#include <vector>

#include "gpu/jobs/bytes_of_jobs.h"
#include "gpu/jobs/jobs.h"
#include "gpu/messages/bytes_of_messages.h"
#include "gpu/messages/image_exchange.h"
#include "gpu/training/hand_over.h"

namespace warpscope::remote {

struct AskedImage {
  std::uint64_t data = 0;  ///< the number under which its DataView was sent
  training::DataPart part = training::DataPart::test;
  std::int64_t number = 0;

  auto operator<=>(const AskedImage&) const = default;
};

/// To the process that trains.
using Request = std::variant<training::NumberedCommand, AskedImage, jobs::Request>;

/// What the training leaves.
struct Left {
  std::shared_ptr<const std::vector<float>> parameters;  ///< training::Ending::parameters
  std::shared_ptr<const training::HandOver> hand_over;   ///< training::Ending::hand_over
  std::shared_ptr<const std::vector<training::NumberedCommand>>
      late;  ///< commands that came behind that; or nullptr
  bool operator==(const Left&) const = default;
};

/// From the process that trains: what has changed since the one before. What is shared is sent once, so that what has
/// not changed costs its number.
struct Update {
  std::shared_ptr<const training::Snapshot> snapshot;
  training::Observations seen;
  std::vector<training::FeedItem> items;
  std::optional<training::ShownImages> shown;
  std::vector<training::ShownImages> past;  ///< for the history
  std::vector<std::pair<AskedImage, training::OneImage>> images;
  jobs::States jobs;
  Left left;
};

}  // namespace warpscope::remote
