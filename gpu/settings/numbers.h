#pragma once
// Numbers in settings and checkpoints: read strictly, written so that they read well and come back as they
// were.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string_view>

namespace warpscope::training {

/// The whole of `text` as a finite number ("0.3", "1e4", "-2"; no spaces, no "inf"), or nothing. Independent
/// of the locale.
std::optional<double> parse_number(std::string_view text);

/// The number with the fewest decimal digits that is `value` again when it is made a float: 0.005f gives
/// 0.005, not 0.004999999888. `value` must be finite.
double shortest(float value);

/// object[name] as a finite number within [least, most]. Throws BadInput that names `where` ("the spike
/// monitor"), the field and the range.
double number_field(const nlohmann::json& object, const char* name, std::string_view where, double least,
                    double most);

/// object[name] as a whole number within [0, most]. Throws BadInput as number_field does.
std::uint64_t count_field(const nlohmann::json& object, const char* name, std::string_view where,
                          std::uint64_t most);

/// As number_field, but nothing where object[name] is null.
std::optional<double> optional_number_field(const nlohmann::json& object, const char* name,
                                            std::string_view where);

/// Throws BadInput that names `where` unless `object` is a JSON object.
void require_object(const nlohmann::json& object, std::string_view where);

}  // namespace warpscope::training
