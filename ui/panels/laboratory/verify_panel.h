#pragma once
// Verify: every variant in every precision against the double-precision reference, as a table.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "gpu/verify/verify.h"
#include "ui/frame/frame.h"
#include "ui/jobs/laboratory_controller.h"
#include "ui/widgets/table.h"

namespace warpscope::ui {

enum class Verdict : std::uint8_t { right, wrong, skipped };

Verdict verdict(const verify::VerifyRow& row);

/// "right", "wrong", "skipped".
const char* to_string(Verdict verdict);

/// "212 right, 1 wrong, 31 skipped": what does not occur is left out, but for "right".
std::string verify_summary(const std::vector<verify::VerifyRow>& rows);

/// Part of the tolerance that the worst error takes, from 0; 0 if nothing was checked.
double part_of_tolerance(const verify::VerifyRow& row);

/// "same bits", "differs, as declared", "differs", "" if nothing was checked.
std::string determinism_text(const verify::VerifyRow& row);

/// Everything about a row, a line each.
std::string verify_tip(const verify::VerifyRow& row);

class VerifyPanel {
 public:
  static std::span<const Column> columns();
  /// Draws the rest of the title row of the panel that the caller has begun, and the body.
  void draw(const Frame& frame, LaboratoryController& controller);

 private:
  bool failures_only_ = false;
};

}  // namespace warpscope::ui
