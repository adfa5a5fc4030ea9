#pragma once
// Inference of several ranks. Each answers a run of the batches that one rank would make, so that the answers have the
// same bits; rank 0 has those of all.

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "gpu/inference/image_source.h"
#include "gpu/inference/inference.h"
#include "gpu/ranks/group.h"
#include "gpu/ranks/looking.h"

namespace warpscope::inference {

/// Images [begin, end).
struct Piece {
  std::int64_t begin = 0;
  std::int64_t end = 0;

  bool operator==(const Piece&) const = default;
};

/// What a rank answers of so many images: whole batches but for the last of all, as many as each other rank or one
/// more.
Piece piece_of(std::int64_t images, int batch, const ranks::Place& place);

/// What rank 0 has to tell the others.
struct Question {
  models::Model model;
  plan::Selection selection;
  plan::ViewSettings views;
  int batch = 1;
  Pace pace = Pace::overlapped;
  std::string data;                  ///< as open_images() takes it
  std::vector<std::string> classes;  ///< likewise
  std::vector<std::string> devices;  ///< of each rank, as core::open_device takes them
};

/// Bytes of images that rank 0 sends to others at most.
inline constexpr std::int64_t kMostSentBytes = std::int64_t{1} << 30;

/// Rank 0 of ranks that have met, once a meeting. The others wait for its questions until it ends. One that stands
/// still is named on standard error within a second or two, and missing after half a minute.
class Lead {
 public:
  explicit Lead(ranks::Meeting& meeting);
  ~Lead();
  Lead(const Lead&) = delete;
  Lead& operator=(const Lead&) = delete;

  /// With its device and images: the outcome of all ranks. A rank that cannot read `question.data`, or finds other
  /// images there, is sent its piece before the first image counts. `stop` ends it on all ranks, as `go_on` does on
  /// this one. Throws core::BadInput where there is nothing to answer, more than kMostSentBytes are to be sent, or a
  /// rank cannot begin, which it names; core::Error that names a rank where one fails or ends later. After that ask
  /// nothing.
  Outcome ask(const Question& question, std::span<const float> parameters,
              const std::shared_ptr<core::Device>& device, core::Stream& stream, DividedSource& source,
              const Inference::GoOn& go_on = {}, const std::stop_token& stop = {});

 private:
  ranks::Meeting& meeting_;
  std::unique_ptr<ranks::Group> orders_, sums_;
  ranks::Looking looking_;
};

/// One question only.
Outcome lead(ranks::Meeting& meeting, const Question& question, std::span<const float> parameters,
             const std::shared_ptr<core::Device>& device, core::Stream& stream, DividedSource& source,
             const Inference::GoOn& go_on = {}, const std::stop_token& stop = {});

/// What every rank but the first does. Returns the exit code of the process: 0, 1 where something failed, which rank 0
/// tells, or ranks::kOthersMissing. `device`: as core::open_device takes it; "" for what rank 0 says.
int follow(ranks::Meeting& meeting, const std::string& device = "");

}  // namespace warpscope::inference
