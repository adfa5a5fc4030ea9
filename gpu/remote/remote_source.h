#pragma once
// A training of another process, as that tells of it.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "gpu/jobs/jobs.h"
#include "gpu/messages/source.h"
#include "gpu/remote/channel.h"
#include "gpu/remote/updates.h"

namespace warpscope::remote {

/// What is known of a training before its process tells anything.
struct KnownBefore {
  std::shared_ptr<const training::Snapshot> snapshot = std::make_shared<const training::Snapshot>();
  std::shared_ptr<training::ImageHistory> history = nullptr;  ///< to go on with; nullptr: none
  std::uint64_t images_arrived = 0;                           ///< Observations::images_arrived
};

/// Its pictures lie in host memory.
class RemoteSource final : public training::Source, public jobs::Jobs {
 public:
  /// Holds `channel`.
  explicit RemoteSource(const Channel& channel, KnownBefore before = {});
  ~RemoteSource() override;
  RemoteSource(const RemoteSource&) = delete;
  RemoteSource& operator=(const RemoteSource&) = delete;

  /// Takes what is told, in the calling thread, until the other end is closed or end() is called; `taken` is called
  /// behind each message. Throws core::BadInput for what is no message.
  void follow(const std::function<void()>& taken = [] {});
  /// Nothing more is asked: the other end closes then.
  void end();
  /// `feed` gets what is told from now on.
  void feed(const std::shared_ptr<training::Feed>& feed);
  Left left() const;

  std::shared_ptr<const training::Snapshot> snapshot() const override;
  std::shared_ptr<training::Feed> subscribe() override;
  std::shared_ptr<training::ImageExchange> images() const override;
  std::shared_ptr<const training::ImageHistory> history() const override;
  training::Observations observations() const override;
  jobs::Jobs* jobs() override { return this; }
  void ask(jobs::Request request) override;
  jobs::States states() const override;

 private:
  class Told;
  void queue(training::Command command, std::uint64_t number) override;
  void write();

  const Channel& channel_;
  std::shared_ptr<Told> told_;
  std::jthread writer_;
};

}  // namespace warpscope::remote
