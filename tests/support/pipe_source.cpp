#include "tests/support/pipe_source.h"

#include <thread>
#include <utility>

#include "gpu/remote/remote_source.h"
#include "gpu/remote/server.h"

namespace warpscope::tests {
namespace {

/// Both sides.
struct Piped {
  Piped(std::shared_ptr<training::Source> served, std::pair<remote::Channel, remote::Channel> ends)
      : near(std::move(ends.first)),
        far(std::move(ends.second)),
        seen(near),
        server([this, source = std::move(served)]() mutable {
          remote::Server(std::move(source), far).serve();
          far.end_writing();
        }),
        reader([this] { seen.follow(); }) {}
  ~Piped() { seen.end(); }  // which ends the server, and that the reader
  Piped(const Piped&) = delete;
  Piped& operator=(const Piped&) = delete;

  remote::Channel near, far;
  remote::RemoteSource seen;
  std::jthread server, reader;
};

}  // namespace

std::shared_ptr<training::Source> through_pipes(std::shared_ptr<training::Source> served) {
  const auto piped = std::make_shared<Piped>(std::move(served), remote::make_connection());
  return {piped, &piped->seen};
}

}  // namespace warpscope::tests
