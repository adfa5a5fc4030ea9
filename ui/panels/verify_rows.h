#pragma once
// What verify found, in words. No drawing here.

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/verify/verify.h"

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

}  // namespace warpscope::ui
