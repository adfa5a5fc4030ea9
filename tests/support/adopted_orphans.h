#pragma once
// Processes whose parents are killed, as children of a test that waits for them.

#include <gtest/gtest.h>
#include <sys/prctl.h>

namespace warpscope::tests {

/// While it lives, what the children of this process leave behind comes to it. Those of other tests go to the system.
class AdoptedOrphans {
 public:
  AdoptedOrphans() { EXPECT_EQ(::prctl(PR_SET_CHILD_SUBREAPER, 1), 0); }
  AdoptedOrphans(const AdoptedOrphans&) = delete;
  AdoptedOrphans& operator=(const AdoptedOrphans&) = delete;
  ~AdoptedOrphans() { ::prctl(PR_SET_CHILD_SUBREAPER, 0); }
};

}  // namespace warpscope::tests
