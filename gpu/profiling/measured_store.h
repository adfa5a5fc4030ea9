#pragma once
// Measurements that are kept from one start of the program to the next: a file for each step on each machine, so that
// processes which keep theirs at the same time do not meet.

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>

#include "gpu/profiling/measure.h"

namespace warpscope::profiling {

/// As JSON, for the store and for run.json: {"linear.forward fp32 ...": {"variant": "loops", "microseconds": 2.1,
/// ...}}.
nlohmann::json to_json(const plan::MeasuredChoices& choices);
/// Nothing where `value` is no such object: it may come from anywhere.
std::optional<plan::MeasuredChoices> choices_from_json(const nlohmann::json& value);

/// All that a measurement depends on, as text: this build of the program, device, driver, threads, what was chosen, and
/// the calls of a step with their shapes.
std::string measurement_key(const ops::Context& context, const models::Model& model, const StepSetup& setup,
                            const plan::Selection& selection);

class MeasuredStore {
 public:
  explicit MeasuredStore(std::filesystem::path folder) : folder_(std::move(folder)) {}

  /// Where that of `key` is, or would be.
  std::filesystem::path file_of(const std::string& key) const;
  /// Nothing if there is none or it is damaged, which `warning` then tells in a sentence.
  std::optional<Measurement> find(const std::string& key, std::string& warning) const;
  /// Replaces what was there of `key`; of very many the oldest go. Throws core::Error, with nothing changed.
  void keep(const std::string& key, const Measurement& measurement) const;

  static constexpr std::size_t kMostFiles = 512;

 private:
  std::filesystem::path folder_;
};

/// What came of looking and measuring.
struct FoundMeasurement {
  Measurement measurement;
  bool kept_before = false;  ///< it was measured by an earlier start of the program
  std::string warning;       ///< about the store, in a sentence; "" if there is none
};

/// What is kept in `folder`, else what is measured now, which is then kept there if it is final.
FoundMeasurement find_or_measure(const ops::Context& context, const models::Model& model,
                                 const StepSetup& setup, const plan::Selection& selection,
                                 const std::filesystem::path& folder, const MeasureOptions& options = {});

/// "measured: 3 calls by other variants, 812 µs a step instead of 910 µs", "measured: the rules hold, ...".
std::string describe(const FoundMeasurement& found);

}  // namespace warpscope::profiling
