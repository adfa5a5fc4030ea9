#pragma once
// Serves a training to another process: carries out what comes, and tells what is new.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "gpu/messages/source.h"
#include "gpu/remote/channel.h"
#include "gpu/remote/updates.h"

namespace warpscope::remote {

class Server {
 public:
  /// Holds `channel`. `left` tells what the training leaves, if it leaves something.
  Server(std::shared_ptr<training::Source> source, const Channel& channel, std::function<Left()> left = {});

  /// Until nothing more is asked and all is answered, or the other end is closed. Throws core::BadInput for what is no
  /// message.
  void serve();

 private:
  void take(training::NumberedCommand& asked);
  void take(jobs::Request& request);
  void take(const AskedImage& asked);
  bool tell();
  std::optional<training::ShownImages> shown();
  training::ShownImages copy_of(const training::ImageSlot& slot);
  std::vector<training::ShownImages> past();

  std::shared_ptr<training::Source> source_;
  const Channel& channel_;
  std::function<Left()> left_;
  std::shared_ptr<training::Feed> feed_;
  training::MessageReader reader_;
  training::MessageWriter writer_;
  // What was told last.
  std::shared_ptr<const training::Snapshot> snapshot_;
  training::Observations seen_;
  std::shared_ptr<training::ImageExchange> exchange_;
  std::unique_ptr<core::Stream> stream_;  ///< on which pictures are fetched
  std::uint64_t shown_ = 0, version_ = 0, newest_ = 0, generation_ = 0;
  std::set<std::uint64_t> past_;  ///< steps whose pictures were sent
  std::vector<std::pair<AskedImage, training::OneImage>> images_;
  jobs::States jobs_;
  Left told_;
};

}  // namespace warpscope::remote
