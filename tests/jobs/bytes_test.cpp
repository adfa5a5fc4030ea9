#include <cstdint>

#include <gtest/gtest.h>

#include "gpu/jobs/bytes_of_jobs.h"
#include "tests/support/random_message.h"

namespace warpscope::jobs {
namespace {

template <class T>
void expect_comes_back(std::uint32_t seed) {
  const T sent = tests::RandomMessage(seed).make<T>();
  training::MessageWriter writer;
  EXPECT_TRUE(tests::same(training::MessageReader().read<T>(writer.write(sent)), sent)) << seed;
}

TEST(JobMessages, ComeBackAsTheyWereSent) {
  for (std::uint32_t seed = 0; seed < 40; ++seed) {
    expect_comes_back<Request>(seed);
    expect_comes_back<States>(seed);
  }
}

}  // namespace
}  // namespace warpscope::jobs
