// Controls of a window that cannot steer its training (ui/settings/steering.h).

#include "ui/settings/steering.h"

#include <gtest/gtest.h>

namespace warpscope::ui {
namespace {

TEST(Steering, AnEmptyPanelInvitesWhereItsButtonWorksAndElseSaysWhyNot) {
  training::Snapshot snapshot;
  snapshot.can.steer = true;
  EXPECT_EQ(invitation_or_why_not(snapshot, "Not measured yet."), "Not measured yet.");
  snapshot.can.steer = false;
  snapshot.can.why_not = "finished";
  EXPECT_EQ(invitation_or_why_not(snapshot, "Not measured yet."),
            "This window shows a training that is finished; it cannot be steered from here.");
}

}  // namespace
}  // namespace warpscope::ui
