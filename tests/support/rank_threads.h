#pragma once
// Ranks that are threads of a test.

#include <exception>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "gpu/ranks/shared_meeting.h"

namespace warpscope::ranks {

/// Calls `body` as each of `size` ranks that meet, and waits for all. What is thrown fails the test.
inline void as_ranks(int size, const std::function<void(SharedMeeting&)>& body) {
  const auto run = [&](std::shared_ptr<SharedMeeting> meeting) {
    try {
      body(*meeting);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << meeting->place().rank << " threw: " << error.what();
    }
  };
  auto founded = found_meeting(size);
  std::vector<std::jthread> threads;
  for (int rank = 1; rank < size; ++rank) threads.emplace_back(run, join_meeting(*founded, rank));
  run(std::move(founded));  // it has ended when its body has
}

}  // namespace warpscope::ranks
