#pragma once
// Answers and latencies as text for other programs.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "gpu/inference/inference.h"

namespace warpscope::inference {

enum class RowFormat : std::uint8_t { csv, json };

/// By a name, or if it is "" by what the file's name ends with; of "-" that is csv. Throws core::BadInput that lists
/// the valid names.
RowFormat row_format(std::string_view name, std::string_view file);

/// What was asked, beside what came of it.
struct Subject {
  std::string weights, model, data, device, precision;
  std::vector<std::string> classes;  ///< their names; numbers stand for those that have none
};

std::string class_name(const Subject& subject, int label);

/// RFC 4180 with LF, a title line and a line an image: "file" or "index"; of a text "text", and "line" where it stands
/// in a file; "label" where labels are known; then "class", "probability", "second", "second_probability", "third",
/// "third_probability" of a network that classifies, "mse" and "psnr" of one that reconstructs. Numbers have the fewest
/// digits that give the same double again; those that are not finite, and the classes of an answer that is not, are
/// empty cells.
std::string csv_of(const Subject& subject, const Outcome& outcome);

/// {"weights", "model", "data", "device", "precision", "images", "not_finite", "batch", "batches", "seconds",
/// "images_per_second", "device_images_per_second", "network_images_per_second", "interrupted", "accuracy" or "mse" and
/// "psnr", "refused", "microseconds": {"read": {"median", "p99"}, "to_device", "network", "layers": [{"layer",
/// "median", "p99"} or {"layer", "inside"}], "back", "total"}, "milliseconds": {"scatter", "read", "to_device",
/// "network", "back", "gather", "idle"}}, and where there are several, instead of these, "ranks": [{"device", "images",
/// "seconds", "images_per_second", "milliseconds", "layers": [{"layer", "median" in microseconds}]}]
nlohmann::json figures_of(const Subject& subject, const Outcome& outcome);

/// The same with "answers": a list of {"file" or "index", "line", "text", "label", "class", "probability", "guesses":
/// [{"class", "probability"}]} ("class" and "probability" null and no guesses where the answer is not finite) or {...,
/// "mse", "psnr"}.
nlohmann::json answers_of(const Subject& subject, const Outcome& outcome);

/// What answers are written as.
std::string text_of(const Subject& subject, const Outcome& outcome, RowFormat format);

}  // namespace warpscope::inference
